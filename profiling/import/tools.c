#include "profiling/import/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "profiling/import/tool_parts.h"

/* ---- finding programs ---- */

static bool executable(const char *folder, size_t n, const char *name, char *path, size_t size)
{
    size_t length = strlen(name);
    if (n + length + 2 > size) return false;
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, length + 1);
    return tt_is_file(path) && access(path, X_OK) == 0;
}

/* Looks for a program on PATH and in the vendors' usual folders; false when it is nowhere. */
static bool find_program(const char *name, char *path, size_t size)
{
    static const char *const usual[] = {"/usr/local/cuda/bin", "/opt/nvidia/nsight-compute", "/opt/rocm/bin",
                                        "/opt/rocm/core/bin"};
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH", "ROCM_PATH"};
    static const char *const below[] = {"bin", "core/bin"}; /* the second from ROCm 7.14 on */
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t n = strcspn(at, ":");
        if (n && executable(at, n, name, path, size)) return true;
        at += n + (at[n] == ':');
    }
    for (size_t i = 0; i < 2 * sizeof homes / sizeof *homes; i++) {
        char folder[1024];
        const char *home = getenv(homes[i / 2]);
        if (home && snprintf(folder, sizeof folder, "%s/%s", home, below[i % 2]) < (int)sizeof folder &&
            executable(folder, strlen(folder), name, path, size))
            return true;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (executable(usual[i], strlen(usual[i]), name, path, size)) return true;
    return false;
}

/* ---- running ---- */

static void become(const struct tt_tool_command *c, const char *const *environment, const char *output)
{
    if (output && !freopen(output, "w", stdout)) _exit(126);
    for (; environment && *environment; environment++) putenv((char *)(uintptr_t)*environment);
    execv(c->words[0], c->words);
    fprintf(stderr, "tt: cannot start %s: %s\n", c->words[0], strerror(errno));
    _exit(127);
}

static tt_status execute(const struct tt_tool_command *c, const char *const *environment, const char *output)
{
    int state;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return tt_fail(TT_FAILED, "cannot start %s: %s", c->words[0], strerror(errno));
    if (!child) become(c, environment, output);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return tt_fail(TT_FAILED, "cannot wait for %s: %s", c->words[0], strerror(errno));
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return TT_OK;
    if (WIFSIGNALED(state)) return tt_fail(TT_FAILED, "%s was ended by signal %d", c->words[0], WTERMSIG(state));
    return tt_fail(TT_FAILED, "%s failed with exit code %d; its output is above", c->words[0], WEXITSTATUS(state));
}

/* Prints the command to import, as a line for a shell, with the files that are really there. */
static tt_status say_what_to_import(const struct tt_tool *tool, const struct tt_tool_run *r)
{
    struct tt_tool_command import = {0};
    struct tt_text line = {0};
    tt_status st = tt_tool_import(tool, r, true, &import);
    if (!st && import.n) {
        tt_tool_line(&line, &import, NULL, NULL);
        st = tt_text_status(&line);
    }
    if (!st && line.s) printf("next    %s", line.s);
    if (!st && !line.s && tool->instead) printf("look    %s\n", tool->instead);
    tt_text_free(&line);
    tt_tool_command_free(&import);
    return st;
}

static tt_status run_tool(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program)
{
    struct tt_tool_command record = {0}, export = {0};
    struct tt_text line = {0};
    char path[1200] = "";
    tt_tool_output(tool, r, path, sizeof path);
    tt_status st = tt_make_dirs(r->out);
    if (!st) st = tt_tool_record(tool, r, program, &record);
    if (!st && tool->exports[0]) st = tt_tool_export(tool, r, program, &export);
    if (!st) {
        tt_tool_line(&line, &record, tool->environment, NULL);
        printf("running %s", line.s ? line.s : tool->name);
        st = execute(&record, tool->environment, NULL);
    }
    if (!st && tool->exports[0]) st = execute(&export, NULL, tool->output ? path : NULL);
    if (!st) printf("saved   %s\n", r->out);
    if (!st) st = say_what_to_import(tool, r);
    tt_text_free(&line);
    tt_tool_command_free(&record);
    tt_tool_command_free(&export);
    return st;
}

tt_status tt_profile_with(const struct tt_tool_run *r)
{
    const struct tt_tool *tool = tt_tool_find(r->tool);
    char program[1200];
    if (!tool) return tt_fail(TT_USAGE, "there is no profiler \"%s\" here", r->tool);
    if (find_program(tool->program, program, sizeof program)) return run_tool(tool, r, program);
    struct tt_text script = {0};
    tt_status st = tt_tool_script(r, &script);
    if (!st) printf("# %s is not installed here. %s.\n# Then, or where it is:\n%s", tool->program, tool->get, script.s);
    tt_text_free(&script);
    return st ? st
              : tt_fail(TT_NO_TOOL, "%s is not installed; the commands to run where it is were printed", tool->program);
}
