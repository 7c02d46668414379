/* Links of a walkthrough that is copied away from the course. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exercise.h"

/* Whether a link leads to what is not copied: "../04-fused/README.md" does, "kernel.c" does not unless it is left
 * behind. A target with a colon is an address and does not. */
static bool leaves(const char *target, size_t n, bool (*left_behind)(const char *name))
{
    char name[256];
    if (n == 0 || n >= sizeof name || strchr("/<", target[0])) return false;
    snprintf(name, sizeof name, "%.*s", (int)n, target);
    return !strchr(name, ':') && (strchr(name, '/') || left_behind(name));
}

/* The full path of a link's target; false: there is no such file. */
static bool whole_path(const char *folder, const char *target, size_t n, char out[PATH_MAX])
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%.*s", folder, (int)n, target);
    return length > 0 && (size_t)length < sizeof path && realpath(path, out) && !strpbrk(out, "<>\n");
}

void tt_exercise_links(const char *text, const char *folder, bool (*left_behind)(const char *name), struct tt_text *out)
{
    char path[PATH_MAX];
    const char *done = text;
    for (const char *at = text; (at = strstr(at, "]("));) {
        const char *target = at += 2;
        size_t all = strcspn(target, ")\n"), n = strcspn(target, "#)\n");
        if (target[all] != ')' || !leaves(target, n, left_behind) || !whole_path(folder, target, n, path)) continue;
        bool bracketed = strpbrk(path, " ()") != NULL; /* as Markdown wants it */
        tt_text_add(out, done, (size_t)(target - done));
        tt_text_printf(out, "%s%s%.*s%s", bracketed ? "<" : "", path, (int)(all - n), target + n, bracketed ? ">" : "");
        done = target + all;
    }
    tt_text_puts(out, done);
}
