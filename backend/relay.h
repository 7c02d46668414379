/* A backend around another one: it hands every call on. Whoever wants to replace a call sets its slot in `ops` after
 * opening; the relay is the `self` it gets, so a struct that begins with one has room for more. Whoever only wants to
 * look says so with tt_relay_watch. Who needs neither never meets a relay, and it costs nothing. */
#ifndef TT_RELAY_H
#define TT_RELAY_H

#include "backend/backend.h"

enum tt_relay_call { TT_RELAY_WORK, TT_RELAY_COPY, TT_RELAY_WAIT };

/* What is done before and after a call; each may be NULL. */
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

/* *r must stay where it is as long as the returned backend is used. Closing that closes nothing: the real one has an
 * owner. */
struct tt_backend tt_relay_open(struct tt_relay *r, const struct tt_backend *real);

/* From here on `hooks` see the calls pass, instead of those before; NULL: nobody does. Ranges pass where the real
 * backend marks them or `push` is given. */
void tt_relay_watch(struct tt_relay *r, const struct tt_relay_hooks *hooks, void *user);

#endif
