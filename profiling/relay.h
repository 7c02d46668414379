/* A backend around another one. It hands every call on, counts, and lets a recorder see work, copies, waits and ranges
 * as they pass. Whoever does not profile never meets it, so that profiling costs nothing when it is off. */
#ifndef TT_RELAY_H
#define TT_RELAY_H

#include "backend/backend.h"

enum tt_relay_call { TT_RELAY_WORK, TT_RELAY_COPY, TT_RELAY_WAIT };

/* What the recorder does before and after a call; each may be NULL. */
struct tt_relay_hooks {
    tt_status (*before)(void *user, enum tt_relay_call call, size_t bytes, tt_stream s);
    tt_status (*after)(void *user, enum tt_relay_call call, size_t bytes, tt_stream s);
    void (*push)(void *user, const char *name);
    void (*pop)(void *user);
};

struct tt_relay {
    struct tt_backend real;
    struct tt_backend_ops ops;
    struct tt_relay_hooks hooks;
    void *user;
    int64_t work, copies, waits; /* calls so far: gemm and launch; copy; stream_sync, event_sync, event_elapsed */
};

/* *r must stay where it is as long as the returned backend is used. Closing that closes nothing: the real one has an
 * owner. */
struct tt_backend tt_relay_open(struct tt_relay *r, const struct tt_backend *real);

#endif
