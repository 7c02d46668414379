#include "exercises/engine/course.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/link.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/config/run_options.h"
#include "exercises/engine/fault.h"
#include "exercises/engine/own_kernel.h"

/* ---- options ---- */

_Static_assert(sizeof(struct tt_course_options) <= sizeof((struct tt_config *)0)->guest,
               "give the guests of a run more room");

enum { T = 1 << TT_CMD_TRAIN | 1 << TT_CMD_DIAGNOSE, I = 1 << TT_CMD_INFO,
      P = 1 << TT_CMD_PROFILE, K = 1 << TT_CMD_CHECK, B = 1 << TT_CMD_BENCH };
/* Reads "0.5" or "0.5,20": GB/s of a rank's link, and microseconds per message. "" and "0" mean no link. False: it is
 * none of these. */
static bool read_link(const char *text, double *gigabytes, double *microseconds)
{
    char *end;
    *gigabytes = *microseconds = 0;
    if (!text[0]) return true;
    *gigabytes = strtod(text, &end);
    if (end == text) return false;
    if (*end == ',') *microseconds = strtod(text = end + 1, &end);
    return end > text && !*end && *gigabytes >= 0 && *gigabytes <= 1e6 && *microseconds >= 0 && *microseconds <= 1e6;
}

tt_status tt_course_check_link(const char *text)
{
    double gigabytes, microseconds;
    if (read_link(text, &gigabytes, &microseconds)) return TT_OK;
    return tt_fail(TT_USAGE, "\"%s\" is no link; write GB/s, or GB/s,microseconds: 0.5 or 0.5,20", text);
}

#define AT(field)                                                                                  \
    TT_OF_RUN, offsetof(struct tt_config, guest) + offsetof(struct tt_course_options, field),      \
        sizeof((struct tt_course_options *)0)->field, TT_OPTION_TEXT

// clang-format off
static const struct tt_option rows[] = {
    {"own-kernel", AT(own_kernel), TT_S_COMPUTE, T | I | P | K, "", NULL, "FILE",
     .help = "shared library whose function residual_norm computes residual + RMSNorm, for exercise 10; \"\" = none",
     .here = true, .flag_only = true}, /* it runs the code in FILE, so no configuration file may set it */
    {"fault", AT(fault), TT_S_COMPUTE, T | P | K | B, "", NULL, "NAME|random:SEED",
     .help = "break the run on purpose, for exercises 9 and 11: a fault by name, or a hidden one drawn by SEED; \"\" "
             "= none",
     .check = tt_fault_check},
    {"link", AT(link), TT_S_RANKS, T | P | B, "", NULL, "GB/S[,US]",
     .help = "simulate links of this speed between ranks, with this many microseconds per message, for exercise 11; "
             "on the CPU only; \"\" = do not",
     .check = tt_course_check_link, .here = true},
};
// clang-format on
const struct tt_rows tt_course_rows = TT_ROWS(rows);

/* ---- hooks ---- */

static tt_status edit_plan(const struct tt_config *c, struct tt_plan *p, bool trains)
{
    if (tt_course_of(c)->own_kernel[0]) tt_own_kernel_name(p);
    return trains ? tt_fault_edit(c, p) : TT_OK;
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

/* Only the CPU backend can call a C function; on another one, tt_own_kernel_check refuses the run. */
static tt_status wrap_kernel(const struct tt_config *c, struct tt_backend *b)
{
    bool own = tt_course_of(c)->own_kernel[0] && !strcmp(b->ops->name, "cpu");
    return own ? tt_own_kernel_wrap(tt_course_of(c)->own_kernel, b) : TT_OK;
}

double tt_course_link(const struct tt_config *c, double *latency)
{
    double gigabytes, microseconds;
    bool there = read_link(tt_course_of(c)->link, &gigabytes, &microseconds) && gigabytes > 0;
    if (latency) *latency = 1e-6 * microseconds;
    return there ? 1e9 * gigabytes : NAN;
}

static tt_status wrap_link(const struct tt_config *c, struct tt_backend *b)
{
    double latency, bytes_per_second = tt_course_link(c, &latency);
    bool wanted = c->ranks > 1 && bytes_per_second > 0;
    return wanted ? tt_link_wrap(b, (int)c->ranks, bytes_per_second, latency) : TT_OK;
}

tt_status tt_course_wrap(const struct tt_config *c, struct tt_backend *b)
{
    tt_status st = wrap_kernel(c, b);
    if (!st) st = wrap_link(c, b);
    if (st) tt_backend_close(b);
    return st;
}

/* The file name of the learner's library and the start of its SHA-256: profiles of two kernels can be told apart. */
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
    const char *seed = strchr(tt_course_of(c)->fault, ':');
    snprintf(run->fault, sizeof run->fault, "%s", tt_fault_shown(c));
    snprintf(run->fault_seed, sizeof run->fault_seed, "%.20s", seed ? seed + 1 : "");
    run->own_kernel_scratch = tt_own_kernel_writes_scratch(b);
    return label_own_kernel(tt_course_of(c)->own_kernel, run);
}
