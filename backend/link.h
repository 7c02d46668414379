/* Simulates links of a given speed: wraps a backend so that collectives take as long as they would between `ranks`
 * ranks on such links. This shows on one machine what overlapping communication with computation gains. It assumes a
 * ring: reduce-scatter and all-gather move (n-1)/n of the bytes in n-1 messages, all-reduce twice as much.
 *
 * In a job the real collective runs first, and the simulated time is added. Without a job, a single rank pretends to be
 * one of `ranks`, and the data are not changed. It needs a backend with `delay`; only the CPU has it. */
#ifndef TT_LINK_H
#define TT_LINK_H

#include "backend/relay.h"

struct tt_link {
    struct tt_relay relay; /* first: it is the `self` of the calls */
    int ranks;
    double bytes_per_second, seconds_latency; /* of a rank's link, per direction; per message */
    bool joined; /* the real backend has joined a job */
};

/* *l must not move while *out is used. Closing *out does not close the real backend. */
tt_status tt_link_open(struct tt_link *l, const struct tt_backend *real, int ranks, double bytes_per_second,
                       double seconds_latency, struct tt_backend *out);

/* The same around *b, which becomes the simulated backend; closing it closes both. On failure *b is unchanged. */
tt_status tt_link_wrap(struct tt_backend *b, int ranks, double bytes_per_second, double seconds_latency);

/* The time of a reduce-scatter or all-gather of so many bytes; an all-reduce takes twice as long. */
double tt_link_seconds(const struct tt_link *l, double bytes);

#endif
