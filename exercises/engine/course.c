#include "exercises/engine/course.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/config/run_options.h"
#include "exercises/engine/fault.h"
#include "exercises/engine/own_kernel.h"

/* ---- options ---- */

_Static_assert(sizeof(struct tt_course_options) <= sizeof((struct tt_config *)0)->guest,
               "give the guests of a run more room");

enum { T = 1 << TT_CMD_TRAIN | 1 << TT_CMD_DIAGNOSE, I = 1 << TT_CMD_INFO, P = 1 << TT_CMD_PROFILE,
      K = 1 << TT_CMD_CHECK };
#define AT(field)                                                                                  \
    TT_OF_RUN, offsetof(struct tt_config, guest) + offsetof(struct tt_course_options, field),      \
        sizeof((struct tt_course_options *)0)->field, TT_OPTION_TEXT

// clang-format off
static const struct tt_option rows[] = {
    {"own-kernel", AT(own_kernel), TT_S_COMPUTE, T | I | P | K, "", NULL, "FILE",
     .help = "a shared library whose residual_norm() does residual + RMSNorm, for exercise 10; \"\" = none",
     .here = true, .flag_only = true}, /* it runs what is in the file, so no other file may ask for it */
    {"fault", AT(fault), TT_S_COMPUTE, T | P | K, "", NULL, "NAME|random:SEED",
     .help = "break the run on purpose, for exercise 9: a fault by name, or one that is not told; \"\" = none", .check = tt_fault_check},
};
// clang-format on
const struct tt_rows tt_course_rows = TT_ROWS(rows);

/* ---- hooks ---- */

static tt_status edit_plan(const struct tt_config *c, struct tt_plan *p, bool trains)
{
    if (tt_course_of(c)->own_kernel[0]) tt_own_kernel_name(p);
    return trains ? tt_fault_edit(tt_fault_of(c), p) : TT_OK;
}

static bool validates(const struct tt_config *c) { return tt_fault_of(c) == TT_FAULT_EVAL_EVERY_STEP; }

const struct tt_hooks tt_course = {
    .check = tt_own_kernel_check,
    .edit_plan = edit_plan,
    .validates = validates,
    .open = tt_fault_open,
    .after_step = tt_fault_step,
    .close = tt_fault_close,
};

/* A GPU's has no place for a function of C; tt_own_kernel_check says so where anything is to run. */
tt_status tt_course_wrap(const struct tt_config *c, struct tt_backend *b)
{
    if (!tt_course_of(c)->own_kernel[0] || strcmp(b->ops->name, "cpu")) return TT_OK;
    tt_status st = tt_own_kernel_wrap(tt_course_of(c)->own_kernel, b);
    if (st) tt_backend_close(b);
    return st;
}

/* Which kernel of the learner's it was, so that two profiles can be told apart. */
static tt_status label_own_kernel(const char *path, struct tt_profile_run *run)
{
    char *bytes, sha[TT_SHA256_DIGITS + 1];
    size_t size;
    if (!path[0]) return TT_OK;
    TT_TRY(tt_file_read(path, (size_t)1 << 28, &bytes, &size));
    tt_sha256(bytes, size, sha);
    free(bytes);
    const char *slash = strrchr(path, '/');
    snprintf(run->own_kernel, sizeof run->own_kernel, "%.63s", slash ? slash + 1 : path);
    snprintf(run->own_kernel_sha, sizeof run->own_kernel_sha, "%.16s", sha);
    return TT_OK;
}

tt_status tt_course_label(const struct tt_config *c, const struct tt_backend *b, struct tt_profile_run *run)
{
    snprintf(run->fault, sizeof run->fault, "%s", tt_fault_shown(c));
    run->own_kernel_scratch = tt_own_kernel_writes_scratch(b);
    return label_own_kernel(tt_course_of(c)->own_kernel, run);
}
