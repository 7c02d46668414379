/* A device and a small model whose sizes are multiples of 16, so that its products can have 8-bit factors. */
#ifndef TT_FP8_FIXTURE_H
#define TT_FP8_FIXTURE_H

#include "tests/model/model_fixture.h"

static struct tt_backend backend;
static struct tt_device_info info;

static inline struct tt_config even_config(enum tt_version v, enum tt_precision p)
{
    struct tt_config c = tiny_config();
    make_even(&c);
    c.batch_size = 4;
    c.version = v;
    c.precision = p;
    return c;
}

#endif
