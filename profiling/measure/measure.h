/* Measuring a profile: steps of a real training run, undisturbed and recorded. */
#ifndef TT_MEASURE_H
#define TT_MEASURE_H

#include "core/config/config.h"
#include "core/data/data.h"
#include "core/job/job.h"
#include "profiling/profile.h"

struct tt_profile_options {
    struct tt_backend *backend;
    struct tt_job *job; /* the job that the backend has joined; NULL: one rank. All measure; rank 0 gets the profile */
    const struct tt_config *config; /* already checked: the step, its shape and precision */
    tt_status (*open_data)(const struct tt_config *c, struct tt_data **out); /* opens data of that shape */
    int64_t steps, warmup;                                                   /* measured in each pass; before them */
    const char *ceilings;                                                    /* file of measured roofs; NULL: none */
    bool measure_ceilings;                                                   /* again, though the file has them */
    int launches;                  /* of an empty kernel in a row, to time one; 0: as many as a device queues */
    bool sweep_batch, sweep_seq;   /* run the points of these sweeps that fit into memory */
    void (*say)(const char *what); /* is told what is done now; may be NULL */
};

/* Free with tt_profile_free, also after a failure. */
tt_status tt_profile_measure(const struct tt_profile_options *o, struct tt_profile *out);

#endif
