/* The commands that record, export and import, as words and as lines for a shell. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "profiling/import/sqlite.h"
#include "profiling/import/tool_parts.h"

void tt_tool_command_free(struct tt_tool_command *c)
{
    for (int i = 0; i < c->n; i++) free(c->words[i]);
    *c = (struct tt_tool_command){0};
}

/* Adds a word, with {out} in it replaced. */
static void add_word(struct tt_tool_command *c, const char *word, const char *out)
{
    struct tt_text t = {0};
    const char *mark = strstr(word, "{out}");
    tt_text_add(&t, word, mark ? (size_t)(mark - word) : strlen(word));
    if (mark) tt_text_printf(&t, "%s%s", out, mark + 5);
    if (t.failed || !t.s || c->n == TT_TOOL_WORDS) {
        c->failed = true;
        tt_text_free(&t);
        return;
    }
    c->words[c->n++] = t.s;
    c->words[c->n] = NULL;
}

static void add_words(struct tt_tool_command *c, const char *const *words, const char *out)
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

/* Whether the help of the tool names its option. A tool that is not installed here is taken to be a new one. */
static bool knows_option(const struct tt_tool *tool, const char *program)
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

tt_status tt_tool_record(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program,
                         struct tt_tool_command *c)
{
    bool ranged = r->marks_range && tool->ranged[0], older = tool->option && !knows_option(tool, program);
    add_word(c, program, "");
    add_words(c, ranged ? tool->ranged : older ? tool->older : tool->whole, r->out);
    for (const char *const *w = r->command; *w; w++) {
        if (c->n == TT_TOOL_WORDS) break;
        char *copy = strdup(*w); /* a user's word may hold anything, also {out} */
        if (!copy) return tt_no_memory("the command");
        c->words[c->n++] = copy;
        c->words[c->n] = NULL;
    }
    if (c->failed || c->n == TT_TOOL_WORDS) return tt_fail(TT_FAILED, "the command for %s is too long", tool->name);
    return TT_OK;
}

tt_status tt_tool_export(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program,
                         struct tt_tool_command *c)
{
    add_word(c, program, "");
    add_words(c, tool->exports, r->out);
    return c->failed ? tt_no_memory("the command") : TT_OK;
}

/* The newest file of the folder that matches the pattern, as a word with {out}; false when there is none. */
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

/* Before anything is recorded, adds the name that the database will have, unless only a pattern of it is known. */
static void add_database(struct tt_tool_command *c, const struct tt_tool *tool, const struct tt_tool_run *r,
                         bool recorded)
{
    char word[300];
    if (!tool->database || !tt_sqlite_here()) return;
    snprintf(word, sizeof word, "{out}/%s", tool->database);
    if (recorded ? newest(r->out, tool->database, word, sizeof word) : !strchr(word, '*')) add_word(c, word, r->out);
}

static void add_texts(struct tt_tool_command *c, const struct tt_tool *tool, const struct tt_tool_run *r, bool recorded)
{
    for (const char *const *w = tool->reads; *w && !c->failed; w++) {
        add_word(c, *w, r->out);
        if (c->failed || !recorded || tt_is_file(c->words[c->n - 1])) continue;
        free(c->words[--c->n]);
        c->words[c->n] = NULL;
    }
}

tt_status tt_tool_import(const struct tt_tool *tool, const struct tt_tool_run *r, bool recorded,
                         struct tt_tool_command *c)
{
    enum { WORDS_BEFORE = 3 };
    char steps[32];
    add_word(c, "tt", "");
    add_word(c, "report", "");
    add_word(c, "--import", "");
    add_database(c, tool, r, recorded);
    if (c->n == WORDS_BEFORE) add_texts(c, tool, r, recorded);
    if (c->n == WORDS_BEFORE) {
        tt_tool_command_free(c);
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

void tt_tool_line(struct tt_text *out, const struct tt_tool_command *c, const char *const *environment,
                  const char *output)
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

void tt_tool_output(const struct tt_tool *tool, const struct tt_tool_run *r, char *path, size_t size)
{
    if (tool->output) snprintf(path, size, "%s%s", r->out, tool->output + 5); /* {out}/name */
}

tt_status tt_tool_script(const struct tt_tool_run *r, struct tt_text *out)
{
    const struct tt_tool *tool = tt_tool_find(r->tool);
    struct tt_tool_command record = {0}, export = {0}, import = {0};
    char path[1200] = "";
    if (!tool) return tt_fail(TT_USAGE, "there is no profiler \"%s\" here", r->tool);
    tt_status st = tt_tool_record(tool, r, tool->program, &record);
    if (!st && tool->exports[0]) st = tt_tool_export(tool, r, tool->program, &export);
    if (!st) st = tt_tool_import(tool, r, false, &import);
    if (!st) {
        tt_tool_output(tool, r, path, sizeof path);
        tt_text_puts(out, "mkdir -p ");
        quote(out, r->out);
        tt_text_puts(out, "\n");
        tt_tool_line(out, &record, tool->environment, NULL);
        if (tool->exports[0]) tt_tool_line(out, &export, NULL, tool->output ? path : NULL);
        if (import.n) tt_tool_line(out, &import, NULL, NULL);
        st = tt_text_status(out);
    }
    tt_tool_command_free(&record);
    tt_tool_command_free(&export);
    tt_tool_command_free(&import);
    return st;
}
