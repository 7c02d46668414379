/* Profiles of a tiny model on the device of this build, with known ceilings, in a temporary folder. */
#ifndef TT_PROFILE_FIXTURE_H
#define TT_PROFILE_FIXTURE_H

#include <unistd.h>

#include "core/base/file.h"
#include "core/data/data.h"
#include "profiling/measure/measure.h"
#include "tests/model/model_fixture.h"
#include "tests/profiling/ceilings_fixture.h"

static struct tt_backend backend;
static char dir[256], ceilings[300];

enum { STEPS = 3 };
static const double GEMM_RATE = FIXTURE_GEMM_RATE, COPY_RATE = FIXTURE_COPY_RATE;

static inline tt_status open_data(const struct tt_config *c, struct tt_data **out)
{
    struct tt_data_options options = {.source = "random", .seq_len = c->seq_len, .vocab_size = c->vocab_size,
                                      .seed = (uint64_t)c->seed};
    return tt_data_open(&options, out);
}

static inline struct tt_profile_options options_for(const struct tt_config *c)
{
    return (struct tt_profile_options){.backend = &backend, .config = c, .open_data = open_data, .steps = STEPS,
                                       .warmup = 1, .ceilings = ceilings, .launches = test_few() ? 20 : 0};
}

static inline bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-15; }

static inline void measure(const struct tt_config *c, struct tt_profile *p)
{
    struct tt_profile_options o = options_for(c);
    CHECK_OK(tt_profile_measure(&o, p));
}

static inline tt_status begin_profiles(void)
{
    TT_TRY(tt_backend_open(&(struct tt_backend_options){.precision = TT_FP32}, &backend));
    fixture_few(&backend);
    snprintf(dir, sizeof dir, "/tmp/tt-profile-XXXXXX");
    CHECK(mkdtemp(dir));
    snprintf(ceilings, sizeof ceilings, "%s.ceilings", dir);
    fixture_ceilings(&backend, ceilings);
    return TT_OK;
}

static inline int end_profiles(void)
{
    CHECK_OK(tt_remove_tree(dir));
    unlink(ceilings);
    tt_backend_close(&backend);
    return test_end();
}

#endif
