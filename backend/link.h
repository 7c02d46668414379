/* A backend around another one, on which collectives take as long as they would between `ranks` ranks on links of a
 * given speed, so that what a job gains by hiding them can be seen on one machine. A ring is assumed: reduce-scatter
 * and all-gather move (n-1)/n of the bytes in n-1 messages, all-reduce twice as much.
 *
 * In a job the real collective comes first, and its time adds to that. Without one this is a single rank that pretends:
 * the data stay as they are. It needs a backend that can wait on a stream (`delay`), which the CPU's does. */
#ifndef TT_LINK_H
#define TT_LINK_H

#include "backend/relay.h"

struct tt_link {
    struct tt_relay relay; /* first: it is the `self` of the calls */
    int ranks;
    double bytes_per_second, seconds_latency; /* of one rank's link, each way; of a message */
    bool joined; /* the real backend has joined a job: by a call of this one, or before */
};

/* *l must stay where it is as long as *out is used. Closing *out does not close the real backend. */
tt_status tt_link_open(struct tt_link *l, const struct tt_backend *real, int ranks, double bytes_per_second,
                       double seconds_latency, struct tt_backend *out);

/* The same around *b, which from now on is the simulated one, and closes both. After an error it is as it was. */
tt_status tt_link_wrap(struct tt_backend *b, int ranks, double bytes_per_second, double seconds_latency);

/* How long reduce-scatter and all-gather of so many bytes take; all-reduce takes twice as long. */
double tt_link_seconds(const struct tt_link *l, double bytes);

#endif
