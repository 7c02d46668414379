#include "cli/open_page.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/terminal.h"
#include "core/config/config.h"

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0];
}

static bool in_path(const char *program)
{
    char folder[PATH_MAX], file[PATH_MAX + 300];
    if (strchr(program, '/')) return access(program, X_OK) == 0;
    for (const char *at = getenv("PATH"); at && tt_list_next(&at, ':', folder, sizeof folder);) {
        snprintf(file, sizeof file, "%s/%s", folder, program);
        if (access(file, X_OK) == 0) return true;
    }
    return false;
}

/* A desktop's own opener needs a screen; $BROWSER need not. */
static const char *find_opener(void)
{
    static const char *const openers[] = {"xdg-open", "wslview", "open"};
    if (is_set("BROWSER")) return in_path(getenv("BROWSER")) ? getenv("BROWSER") : NULL;
    if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("WSL_DISTRO_NAME")) return NULL;
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++)
        if (in_path(openers[i])) return openers[i];
    return NULL;
}

/* In the child. Its standard streams become /dev/null, since a browser prints a lot. */
static _Noreturn void become(const char *opener, const char *path)
{
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && nothing >= 0; i++) dup2(nothing, i);
    setsid();
    execlp(opener, opener, path, (char *)NULL);
    _exit(127);
}

void tt_open_page(const char *path)
{
    char whole[PATH_MAX];
    const char *opener = find_opener();
    if (!realpath(path, whole)) snprintf(whole, sizeof whole, "%s", path);
    fflush(stdout);
    pid_t pid = opener ? fork() : -1;
    if (pid == 0) become(opener, whole);
    if (pid < 0) tt_say("no browser can be started here (set BROWSER to name one); open file://%s", whole);
}
