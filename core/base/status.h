/* The one status type. NULL is success; anything else is an error with a code and a message.
 *
 *     TT_TRY(tt_file_read(path, &buf));                    // pass a failure on
 *     return tt_fail(TT_FAILED, "%s: %s; free some space", path, strerror(errno));
 *
 * A message names what was done, what went wrong and what to do about it, in one line. Nothing below main() exits. */
#ifndef TT_STATUS_H
#define TT_STATUS_H

/* Also the exit codes of `tt`; those from 1000 on are for callers inside and end as TT_FAILED. */
enum tt_code {
    TT_FAILED = 1,    /* asked rightly, but it could not be done: a damaged file, no permission, space or memory */
    TT_USAGE = 2,     /* asked wrongly, and nothing was written: an option, a value, a configuration, a name of
                         something that is not there or is of another kind, data that do not fit the model */
    TT_NO_DEVICE = 3, /* no usable GPU, driver or runtime */
    TT_NO_TOOL = 4,   /* a program that is needed is not installed; what to do was printed */
    TT_GATE = 5,      /* the work was done, and a condition of --fail-if holds */
    TT_WARNED = 6,    /* `tt diagnose`: the run would work, but there are warnings; `tt exercise check`: not all is
                         right yet */
    TT_RANK_LOST = 7, /* another process of the job is gone; the run can go on from its last checkpoint */
    TT_UNDECIDED = 8, /* the work was done, no condition of --fail-if holds, and one cannot be decided */
    TT_INTERRUPTED = 130, /* stopped by a signal after saving */
    TT_UNSUPPORTED = 1000, /* this backend does not offer that; the caller has another way */
    TT_DAMAGED = 1001,     /* a file was read, and is not what was once written */
};

struct tt_error {
    enum tt_code code;
    char text[1000];
};

typedef struct tt_error *tt_status;

#define TT_OK ((tt_status)0)

#define TT_TRY(expr)                                                                               \
    do {                                                                                           \
        tt_status tt_try_ = (expr);                                                                \
        if (tt_try_) return tt_try_;                                                               \
    } while (0)

/* Like TT_TRY, but leaves through a label that cleans up; `st` is a tt_status of the function. */
#define TT_GOTO(st, label, expr)                                                                   \
    do {                                                                                           \
        (st) = (expr);                                                                             \
        if (st) goto label;                                                                        \
    } while (0)

tt_status tt_fail(enum tt_code code, const char *format, ...) __attribute__((format(printf, 2, 3), returns_nonnull));

/* "out of memory for WHAT; free some memory": the memory of the host, where nothing else can be advised. */
tt_status tt_no_memory(const char *what, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* Puts "format: " before the message of st (which may be TT_OK) and returns it. */
tt_status tt_context(tt_status st, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A status that was handled instead of passed on. TT_OK is fine. */
void tt_status_free(tt_status st);

#endif
