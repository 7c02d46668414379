#include "profiling/import/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "profiling/import/sqlite.h"

const char *const tt_tool_names[] = {"nsys", "ncu", "rocprofv3", "rocprof-sys", "rocprof-compute", NULL};

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

/* Where a program lies on PATH or in the vendors' usual folders: false when nowhere. */
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

/* ---- the commands of each tool ---- */

/* {out} stands for the folder. A tool that can record a range alone has words for that. */
struct tool {
    const char *name, *program;
    const char *ranged[16], *whole[16]; /* words before the program that is profiled */
    const char *option, *older[8];      /* and those for a version whose help does not know the option */
    const char *environment[3];         /* NAME=VALUE for it */
    const char *exports[16];            /* a second command */
    const char *output;                 /* file that standard output of the second goes to; NULL: none */
    /* What tt report --import takes of what it leaves, with the ranges by which it is cut to the measured steps:
     * the database whose name fits a pattern, where SQLite is here to read it, else texts. */
    const char *database, *reads[6];
    const char *instead; /* where to look when nothing of it can be imported */
    const char *get;
};

static const struct tool tools[] = {
    {.name = "nsys",
     .program = "nsys",
     .ranged = {"profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none", "--cpuctxsw=none",
                "--capture-range=nvtx", "--nvtx-capture=" TT_TOOL_RANGE, "--capture-range-end=stop",
                "--force-overwrite=true", "--output={out}/nsys", NULL},
     .whole = {"profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none", "--cpuctxsw=none",
               "--force-overwrite=true", "--output={out}/nsys", NULL},
     .environment = {"NSYS_NVTX_PROFILER_REGISTER_ONLY=0", NULL}, /* our ranges are plain strings */
     .exports = {"stats", "--report=cuda_gpu_trace,cuda_api_trace,nvtx_pushpop_trace,cuda_gpu_kern_sum,nvtx_sum",
                 "--format=csv", "--force-export=true", "--output={out}/nsys", "{out}/nsys.nsys-rep", NULL},
     .database = "nsys.sqlite", /* nsys stats makes it on its way */
     .reads = {"{out}/nsys_cuda_gpu_trace.csv", "{out}/nsys_cuda_api_trace.csv", "{out}/nsys_nvtx_pushpop_trace.csv",
               NULL},
     .get = "Nsight Systems comes with the CUDA toolkit, and alone from developer.nvidia.com/nsight-systems; on a "
            "cluster try: module load cuda"},
    {.name = "ncu",
     .program = "ncu",
     .ranged = {"--nvtx", "--nvtx-include=" TT_TOOL_RANGE "/",
                "--metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,"
                "sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__compute_memory_throughput.avg.pct_of_peak_"
                "sustained_elapsed",
                "--force-overwrite", "--export={out}/ncu", NULL},
     .whole = {"--launch-count=2000",
               "--metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,"
               "sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__compute_memory_throughput.avg.pct_of_peak_"
               "sustained_elapsed",
               "--force-overwrite", "--export={out}/ncu", NULL},
     .exports = {"--import={out}/ncu.ncu-rep", "--csv", "--page=raw", NULL},
     .output = "{out}/ncu.csv",
     .reads = {"{out}/ncu.csv", NULL},
     .get = "Nsight Compute comes with the CUDA toolkit, and alone from developer.nvidia.com/nsight-compute; reading "
            "counters may need "
            "the administrator's leave (ERR_NVGPUCTRPERM)"},
    {.name = "rocprofv3",
     .program = "rocprofv3",
     /* In its default format: rocpd since ROCm 7, csv before, which knows no other name for it. */
     .whole = {"--kernel-trace", "--memory-copy-trace", "--hip-trace", "--marker-trace", "--output-directory", "{out}",
               "--output-file", "rocprofv3", "--", NULL},
     .database = "rocprofv3_results.db",
     .reads = {"{out}/rocprofv3_kernel_trace.csv", "{out}/rocprofv3_memory_copy_trace.csv",
               "{out}/rocprofv3_hip_api_trace.csv", "{out}/rocprofv3_marker_api_trace.csv", NULL},
     .get = "rocprofv3 comes with ROCm 6.2 and later, package rocprofiler-sdk (from 7.14 on "
            "amdrocm-profiler-base); on a cluster try: module load rocm"},
    {.name = "rocprof-sys",
     .program = "rocprof-sys-sample",
     .whole = {"--trace", "--output", "{out}", "--", NULL},
     /* The option --output-format rocpd, which says the same as the first, came later. */
     .environment = {"ROCPROFSYS_USE_ROCPD=true", "ROCPROFSYS_TIME_OUTPUT=false", NULL},
     .database = "rocpd*.db",
     .instead = "its trace (*.proto) opens in ui.perfetto.dev; tt report reads its rocpd database, from ROCm 7.1 on",
     .get = "rocprof-sys (once Omnitrace) comes with ROCm 6.3 and later, package rocprofiler-systems (from 7.14 on "
            "amdrocm-profiler)"},
    {.name = "rocprof-compute",
     .program = "rocprof-compute",
     .whole = {"profile", "--output-directory", "{out}/rocprof-compute", "--", NULL},
     .option = "--output-directory", /* since ROCm 7.12; --path was removed in 7.14 */
     .older = {"profile", "--name", "tt", "--path", "{out}/rocprof-compute", "--", NULL},
     .exports = {"analyze", "--path", "{out}/rocprof-compute", NULL},
     .output = "{out}/rocprof-compute.txt",
     .instead = "its analysis is in rocprof-compute.txt; tt report does not read its counters, and has times from "
                "--with rocprofv3",
     .get = "rocprof-compute (once Omniperf) comes with ROCm 6.3 and later, package rocprofiler-compute (from 7.14 on "
            "amdrocm-profiler), and needs its Python requirements; before ROCm 7.12 write --name tt --path instead of "
            "--output-directory"},
};

static const struct tool *find_tool(const char *name)
{
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0) return &tools[i];
    return NULL;
}

/* ---- a command as a list of words ---- */

enum { WORDS = 256 };

struct command {
    char *words[WORDS + 1];
    int n;
    bool failed;
};

static void free_command(struct command *c)
{
    for (int i = 0; i < c->n; i++) free(c->words[i]);
    *c = (struct command){0};
}

/* The word with {out} replaced. */
static void add_word(struct command *c, const char *word, const char *out)
{
    struct tt_text t = {0};
    const char *mark = strstr(word, "{out}");
    tt_text_add(&t, word, mark ? (size_t)(mark - word) : strlen(word));
    if (mark) tt_text_printf(&t, "%s%s", out, mark + 5);
    if (t.failed || !t.s || c->n == WORDS) {
        c->failed = true;
        tt_text_free(&t);
        return;
    }
    c->words[c->n++] = t.s;
    c->words[c->n] = NULL;
}

static void add_words(struct command *c, const char *const *words, const char *out)
{
    for (; *words; words++) add_word(c, *words, out);
}

static void quote(struct tt_text *out, const char *word)
{
    if (word[0] && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:@%")]) {
        tt_text_puts(out, word);
        return;
    }
    tt_text_puts(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            tt_text_puts(out, "'\\''");
        else
            tt_text_add(out, word, 1);
    }
    tt_text_puts(out, "'");
}

/* Asks the tool for its help; one that cannot be asked, because it is not here, is taken for a new one. */
static bool knows_option(const struct tool *tool, const char *program)
{
    struct tt_text line = {0};
    char answer[400];
    bool known = false;
    if (!strchr(program, '/')) return true;
    quote(&line, program);
    tt_text_printf(&line, " %s --help 2>/dev/null", tool->whole[0]);
    fflush(NULL);
    FILE *help = line.failed ? NULL : popen(line.s, "r");
    while (help && fgets(answer, sizeof answer, help)) known |= strstr(answer, tool->option) != NULL;
    if (help) pclose(help);
    tt_text_free(&line);
    return known;
}

static tt_status record_command(const struct tool *tool, const struct tt_tool_run *r, const char *program,
                                struct command *c)
{
    bool ranged = r->marks_range && tool->ranged[0], older = tool->option && !knows_option(tool, program);
    add_word(c, program, "");
    add_words(c, ranged ? tool->ranged : older ? tool->older : tool->whole, r->out);
    for (const char *const *w = r->command; *w; w++) {
        if (c->n == WORDS) break;
        char *copy = strdup(*w); /* a user's word may hold anything, also {out} */
        if (!copy) return tt_no_memory("the command");
        c->words[c->n++] = copy;
        c->words[c->n] = NULL;
    }
    if (c->failed || c->n == WORDS) return tt_fail(TT_FAILED, "the command for %s is too long", tool->name);
    return TT_OK;
}

static tt_status export_command(const struct tool *tool, const struct tt_tool_run *r, const char *program,
                                struct command *c)
{
    add_word(c, program, "");
    add_words(c, tool->exports, r->out);
    return c->failed ? tt_no_memory("the command") : TT_OK;
}

/* The newest file of the folder that fits the pattern, as a word with {out}; false when there is none. */
static bool newest(const char *out, const char *pattern, char *word, size_t size)
{
    DIR *folder = opendir(out);
    struct timespec last = {0};
    bool found = false;
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        struct stat s;
        if (fnmatch(pattern, e->d_name, 0) != 0 || fstatat(dirfd(folder), e->d_name, &s, 0) != 0) continue;
        if (found &&
            (s.st_mtim.tv_sec < last.tv_sec || (s.st_mtim.tv_sec == last.tv_sec && s.st_mtim.tv_nsec < last.tv_nsec)))
            continue;
        last = s.st_mtim;
        found = true;
        snprintf(word, size, "{out}/%s", e->d_name);
    }
    if (folder) closedir(folder);
    return found;
}

/* Where nothing was recorded yet, the database is called what it will be called, where that is known. */
static void add_database(struct command *c, const struct tool *tool, const struct tt_tool_run *r, bool recorded)
{
    char word[300];
    if (!tool->database || !tt_sqlite_here()) return;
    snprintf(word, sizeof word, "{out}/%s", tool->database);
    if (recorded ? newest(r->out, tool->database, word, sizeof word) : !strchr(word, '*')) add_word(c, word, r->out);
}

static void add_texts(struct command *c, const struct tool *tool, const struct tt_tool_run *r, bool recorded)
{
    for (const char *const *w = tool->reads; *w && !c->failed; w++) {
        add_word(c, *w, r->out);
        if (c->failed || !recorded || tt_is_file(c->words[c->n - 1])) continue;
        free(c->words[--c->n]);
        c->words[c->n] = NULL;
    }
}

/* The import of what was recorded, or will be; empty when there is nothing. A tool that records the whole run is cut by
 * its ranges, which also tell how many steps there are. */
static tt_status import_command(const struct tool *tool, const struct tt_tool_run *r, bool recorded, struct command *c)
{
    enum { WORDS_BEFORE = 3 };
    char steps[32];
    add_word(c, "tt", "");
    add_word(c, "report", "");
    add_word(c, "--import", "");
    add_database(c, tool, r, recorded);
    if (c->n == WORDS_BEFORE) add_texts(c, tool, r, recorded);
    if (c->n == WORDS_BEFORE) {
        free_command(c);
        return TT_OK;
    }
    if (r->marks_range && tool->ranged[0]) {
        snprintf(steps, sizeof steps, "%lld", (long long)r->steps);
        add_word(c, "--num-steps", "");
        add_word(c, steps, "");
    }
    add_word(c, "--out", "");
    add_word(c, "{out}/report", r->out);
    return c->failed ? tt_no_memory("the command") : TT_OK;
}

/* ---- as lines for a shell ---- */

static void write_line(struct tt_text *out, const struct command *c, const char *const *environment, const char *output)
{
    for (; environment && *environment; environment++) tt_text_printf(out, "%s ", *environment);
    for (int i = 0; i < c->n; i++) {
        if (i) tt_text_puts(out, " ");
        quote(out, c->words[i]);
    }
    if (output) {
        tt_text_puts(out, " > ");
        quote(out, output);
    }
    tt_text_puts(out, "\n");
}

static void output_path(const struct tool *tool, const struct tt_tool_run *r, char *path, size_t size)
{
    if (tool->output) snprintf(path, size, "%s%s", r->out, tool->output + 5); /* {out}/name */
}

tt_status tt_tool_script(const struct tt_tool_run *r, struct tt_text *out)
{
    const struct tool *tool = find_tool(r->tool);
    struct command record = {0}, export = {0}, import = {0};
    char path[1200] = "";
    if (!tool) return tt_fail(TT_USAGE, "there is no profiler \"%s\" here", r->tool);
    tt_status st = record_command(tool, r, tool->program, &record);
    if (!st && tool->exports[0]) st = export_command(tool, r, tool->program, &export);
    if (!st) st = import_command(tool, r, false, &import);
    if (!st) {
        output_path(tool, r, path, sizeof path);
        tt_text_puts(out, "mkdir -p ");
        quote(out, r->out);
        tt_text_puts(out, "\n");
        write_line(out, &record, tool->environment, NULL);
        if (tool->exports[0]) write_line(out, &export, NULL, tool->output ? path : NULL);
        if (import.n) write_line(out, &import, NULL, NULL);
        st = tt_text_status(out);
    }
    free_command(&record);
    free_command(&export);
    free_command(&import);
    return st;
}

/* ---- running ---- */

static void become(const struct command *c, const char *const *environment, const char *output)
{
    if (output && !freopen(output, "w", stdout)) _exit(126);
    for (; environment && *environment; environment++) putenv((char *)(uintptr_t)*environment);
    execv(c->words[0], c->words);
    fprintf(stderr, "tt: cannot start %s: %s\n", c->words[0], strerror(errno));
    _exit(127);
}

static tt_status execute(const struct command *c, const char *const *environment, const char *output)
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

/* The files are named as they are there, in words for a shell. */
static tt_status say_what_to_import(const struct tool *tool, const struct tt_tool_run *r)
{
    struct command import = {0};
    struct tt_text line = {0};
    tt_status st = import_command(tool, r, true, &import);
    if (!st && import.n) {
        write_line(&line, &import, NULL, NULL);
        st = tt_text_status(&line);
    }
    if (!st && line.s) printf("next    %s", line.s);
    if (!st && !line.s && tool->instead) printf("look    %s\n", tool->instead);
    tt_text_free(&line);
    free_command(&import);
    return st;
}

static tt_status run_tool(const struct tool *tool, const struct tt_tool_run *r, const char *program)
{
    struct command record = {0}, export = {0};
    struct tt_text line = {0};
    char path[1200] = "";
    output_path(tool, r, path, sizeof path);
    tt_status st = tt_make_dirs(r->out);
    if (!st) st = record_command(tool, r, program, &record);
    if (!st && tool->exports[0]) st = export_command(tool, r, program, &export);
    if (!st) {
        write_line(&line, &record, tool->environment, NULL);
        printf("running %s", line.s ? line.s : tool->name);
        st = execute(&record, tool->environment, NULL);
    }
    if (!st && tool->exports[0]) st = execute(&export, NULL, tool->output ? path : NULL);
    if (!st) printf("saved   %s\n", r->out);
    if (!st) st = say_what_to_import(tool, r);
    tt_text_free(&line);
    free_command(&record);
    free_command(&export);
    return st;
}

tt_status tt_profile_with(const struct tt_tool_run *r)
{
    const struct tool *tool = find_tool(r->tool);
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
