/* The one status type. NULL is success; anything else is an error with a code and a message.
 *
 *     TT_TRY(tt_file_read(path, &buf));                    // pass a failure on
 *     return tt_fail(TT_FAILED, "%s: %s; free some space", path, strerror(errno));
 *
 * A message names what was done, what went wrong and what to do about it, in one line. Nothing below main() exits. */
#ifndef TT_STATUS_H
#define TT_STATUS_H

/* Also the exit codes of `tt`. Codes from 1000 on are internal: if one reaches main, tt exits with TT_FAILED. */
enum tt_code {
    TT_FAILED = 1,    /* a valid request that failed: a damaged file, no permission, no disk space, no memory */
    TT_USAGE = 2,     /* an invalid request, nothing was written: a bad option, value or configuration, a path that
                         does not exist or is of the wrong kind, data that do not fit the model */
    TT_NO_DEVICE = 3, /* no usable GPU, driver or runtime */
    TT_NO_TOOL = 4,   /* a required program is not installed; the message says what to do */
    TT_GATE = 5,      /* the work is done, and a condition of --fail-if holds */
    TT_WARNED = 6,    /* `tt diagnose`: the run would work, but there are warnings; `tt exercise check`: something is
                         still wrong */
    TT_RANK_LOST = 7, /* another process of the job is gone; the run can resume from its last checkpoint */
    TT_UNDECIDED = 8, /* the work is done, no condition of --fail-if holds, and one cannot be decided */
    TT_INTERRUPTED = 130,  /* stopped by a signal after saving */
    TT_UNSUPPORTED = 1000, /* this backend cannot do it; the caller has a fallback */
    TT_DAMAGED = 1001,     /* the file could be read, but its contents are corrupt */
};

struct tt_error {
    enum tt_code code;
    char text[1000];
};

typedef struct tt_error *tt_status;

#define TT_OK ((tt_status)0)

#define TT_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        tt_status tt_try_ = (expr);                                                                                    \
        if (tt_try_) return tt_try_;                                                                                   \
    } while (0)

/* Like TT_TRY, but leaves through a label that cleans up; `st` is a tt_status of the function. */
#define TT_GOTO(st, label, expr)                                                                                       \
    do {                                                                                                               \
        (st) = (expr);                                                                                                 \
        if (st) goto label;                                                                                            \
    } while (0)

tt_status tt_fail(enum tt_code code, const char *format, ...) __attribute__((format(printf, 2, 3), returns_nonnull));

/* Host memory ran out: "out of memory for WHAT; free some memory". */
tt_status tt_no_memory(const char *what, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* Puts "format: " before the message of st (which may be TT_OK) and returns it. */
tt_status tt_context(tt_status st, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For a status that is handled instead of passed on. TT_OK is allowed. */
void tt_status_free(tt_status st);

#endif
