/* A wrapper around a backend that forwards every call. To replace a call, set its pointer in `ops` after opening;
 * `self` is then the relay, so put it first in a larger struct to add data. To observe calls, use tt_relay_watch. */
#ifndef TT_RELAY_H
#define TT_RELAY_H

#include "backend/backend.h"

enum tt_relay_call { TT_RELAY_WORK, TT_RELAY_COPY, TT_RELAY_WAIT };

/* Called before and after work, copies and waits, and at ranges; each may be NULL. */
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
    int64_t work, copies, waits; /* calls so far: gemm, launch, collective; copy; stream_sync,
                                    event_sync, event_elapsed */
};

/* *r must not move while the returned backend is used. Closing that does not close the real backend. */
struct tt_backend tt_relay_open(struct tt_relay *r, const struct tt_backend *real);

/* Sets the hooks, replacing earlier ones; NULL: none. range_push and range_pop exist if the real backend has them or
 * hooks->push is set. */
void tt_relay_watch(struct tt_relay *r, const struct tt_relay_hooks *hooks, void *user);

#endif
