/* What the files share that run a vendor's profiler: the table of tools, and the commands that are made of a row. */
#ifndef TT_TOOL_PARTS_H
#define TT_TOOL_PARTS_H

#include "profiling/import/tools.h"

/* ---- tool_table.c ---- */

/* {out} stands for the folder. A tool that can record a range alone has words for that. */
struct tt_tool {
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

const struct tt_tool *tt_tool_find(const char *name); /* NULL: there is none of that name */

/* ---- tool_commands.c ---- */

enum { TT_TOOL_WORDS = 256 };

struct tt_tool_command {
    char *words[TT_TOOL_WORDS + 1];
    int n;
    bool failed;
};

void tt_tool_command_free(struct tt_tool_command *c);

/* Each adds to an empty command; free it also after a failure. `program` is the tool's own name, or its path. */
tt_status tt_tool_record(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program,
                         struct tt_tool_command *c);
tt_status tt_tool_export(const struct tt_tool *tool, const struct tt_tool_run *r, const char *program,
                         struct tt_tool_command *c);
/* The import of what was recorded, or will be; empty when there is nothing. A tool that records the whole run is cut by
 * its ranges, which also tell how many steps there are. */
tt_status tt_tool_import(const struct tt_tool *tool, const struct tt_tool_run *r, bool recorded,
                         struct tt_tool_command *c);

/* The command as a line for a shell. */
void tt_tool_line(struct tt_text *out, const struct tt_tool_command *c, const char *const *environment,
                  const char *output);
/* The file that the export goes to; unchanged where there is none. */
void tt_tool_output(const struct tt_tool *tool, const struct tt_tool_run *r, char *path, size_t size);

#endif
