/* The vendors' profilers: makes the command that each needs to profile tt, and runs it. */
#ifndef TT_TOOLS_H
#define TT_TOOLS_H

#include <stdint.h>

#include "core/base/text.h"

/* nsys, ncu, rocprofv3, rocprof-sys, rocprof-compute; NULL at the end. */
extern const char *const tt_tool_names[];

/* If a program marks the range TT_TOOL_RANGE around the steps worth recording, only those are recorded, where the tool
 * can do so, and only those are imported. A range TT_TOOL_STEP around each step inside it tells how many there are. */
#define TT_TOOL_RANGE "measured_steps"
#define TT_TOOL_STEP "step"

struct tt_tool_run {
    const char *tool;           /* one of tt_tool_names */
    const char *out;            /* folder for what the tool writes; it is made if needed */
    const char *const *command; /* the program to profile and its words, NULL at the end */
    bool marks_range;           /* the program marks TT_TOOL_RANGE */
    int64_t steps;              /* number of steps in that range */
};

/* Runs the tool over the command, then has it export what `tt report --import` reads, and says where that lies. When
 * the tool is not installed: prints the commands to run by hand and how to get the tool, and fails with TT_NO_TOOL. */
tt_status tt_profile_with(const struct tt_tool_run *r);

/* The commands of such a run as lines for a shell, with the import at the end. */
tt_status tt_tool_script(const struct tt_tool_run *r, struct tt_text *out);

#endif
