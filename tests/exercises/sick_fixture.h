/* Profiles of exercise 9 by hand: a healthy run, and patients. */
#ifndef TT_TEST_EXERCISES_SICK_FIXTURE_H
#define TT_TEST_EXERCISES_SICK_FIXTURE_H

#include "tests/exercises/course_fixture.h"

/* Behind a figure of the step: speeds that are not known. */
#define NO_SPEED                                                                                                    \
    "\"tokens_per_second\": null, \"samples_per_second\": null}, \"efficiency\": {\"mfu_percent\": null}, "

/* A healthy run and a patient that rebuilds its mask: one more wait, one more copy, and as many bytes. The kernels of
 * both take 3.3 s. */
static const char sick_format[] =
    "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, "
    "\"backend\": \"cpu\", \"load\": %g, \"waited\": %g, \"steps\": 3}, \"step\": {\"kernels\": 143, "
    "\"loss\": %g, \"seconds\": %g, \"deviation\": 0.01, \"gap_seconds\": %g, \"grad_norm\": 7.7, "
    "\"peak_memory_bytes\": 5e7, " NO_SPEED "\"launch\": {\"waits\": %d}, \"phases\": [{\"name\": "
    "\"other\", \"wall\": 0}], "
    "\"samples\": [{\"step\": 1, \"seconds\": %g, \"loss\": %g, \"grad_norm\": 2.6}, "
    "{\"step\": 2, \"seconds\": %g, \"loss\": %g, \"grad_norm\": %g}, "
    "{\"step\": 3, \"seconds\": %g, \"loss\": 3.95, \"grad_norm\": 1.1}], \"groups\": [{\"name\": "
    "\"copies\", \"count\": %d, \"bytes\": 4444, \"seconds\": 6e-6}], \"gradients\": [{\"name\": \"w\", "
    "\"norm\": 1, \"first_norm\": %g}]}";

/* With a loss and a norm of its second step. */
static inline struct tt_json *sick_then(double waited, double loss, double seconds, int count, double first,
                                        double norm, double second, double second_norm)
{
    char text[1200];
    snprintf(text, sizeof text, sick_format, waited > 0.1 ? 5.6 : 0.1, waited, loss, seconds, seconds - 3.3, count,
             seconds - 0.01, first, seconds, second, second_norm, seconds + 0.01, count, norm);
    return json(text);
}

static inline struct tt_json *sick(double waited, double loss, double seconds, int count, double first, double norm)
{
    return sick_then(waited, loss, seconds, count, first, norm, 4.1, 2.5);
}

#endif
