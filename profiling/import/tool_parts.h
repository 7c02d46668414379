/* Shared by the files that run a vendor's profiler: the table of tools, and the commands that are made from its
 * rows. */
#ifndef TT_TOOL_PARTS_H
#define TT_TOOL_PARTS_H

#include "profiling/import/tools.h"

/* ---- tool_table.c ---- */

/* In all words {out} stands for the folder. `ranged` is empty for a tool that cannot record a range alone. */
struct tt_tool {
    const char *name, *program;
    const char *ranged[16], *whole[16]; /* words before the profiled program: to record the range alone, or all */
    const char *option, *older[8];      /* words in place of `whole` for a version whose help does not know `option` */
    const char *environment[3];         /* NAME=VALUE for it */
    const char *exports[16];            /* words of a second command, which exports */
    const char *output;                 /* file that standard output of the second goes to; NULL: none */
    /* The files that tt report --import takes. They have the ranges by which a recording is cut to the measured steps.
     * `database`: its name or a pattern of it, taken if SQLite is here to read it; else `reads`: texts. */
    const char *database, *reads[6];
    const char *instead; /* where to look when nothing of it can be imported */
    const char *get;     /* how to get the tool */
};

const struct tt_tool *tt_tool_find(const char *name); /* NULL: there is none of that name */

/* ---- tool_commands.c ---- */

enum { TT_TOOL_WORDS = 256 };

struct tt_tool_command {
    char *words[TT_TOOL_WORDS + 1];
    int n;
    bool failed;
};

void tt_tool_command_free(struct tt_tool_command *c);

/* The commands that record and export. Each is added to an empty command; free it also after a failure. `program` is
 * the tool's own name, or its path. */
tt_status tt_tool_record(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program,
                         struct tt_tool_command *c);
tt_status tt_tool_export(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program,
                         struct tt_tool_command *c);
/* The command that imports what was recorded, or will be; empty when there is nothing to import. If the whole run was
 * recorded, the import is cut by the ranges in it, which also tell the number of steps; so only a recording of the
 * range alone gets --num-steps. */
tt_status tt_tool_import(const struct tt_tool *tool, const struct tt_tool_run *r, bool recorded,
                         struct tt_tool_command *c);

/* The command as a line for a shell; `output`: the file that its standard output goes to, or NULL. */
void tt_tool_line(struct tt_text *out, const struct tt_tool_command *c, const char *const *environment,
                  const char *output);
/* Sets `path` to the file that the export goes to; leaves it unchanged where there is none. */
void tt_tool_output(const struct tt_tool *tool, const struct tt_tool_run *r, char *path, size_t size);

#endif
