/* Made-up measured rates for a profile to compare with, for tests that do not measure them. */
#ifndef TT_CEILINGS_FIXTURE_H
#define TT_CEILINGS_FIXTURE_H

#include "core/base/file.h"
#include "core/base/json.h"
#include "tests/test.h"

/* Higher than any device's: a copy faster than the kept rate would cause a new measurement. */
#define FIXTURE_GEMM_RATE 4e15
#define FIXTURE_COPY_RATE 5e13

/* Writes the rates as an earlier run would have left them: known numbers, without measuring. */
static inline void fixture_ceilings_at(const struct tt_backend *backend, const char *path, double flops, double bytes)
{
    struct tt_device_info info;
    struct tt_json_writer w = {0};
    CHECK_OK(backend->ops->info(backend->self, &info));
    tt_json_begin(&w, NULL, '{');
    tt_json_begin(&w, "ceilings", '[');
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "backend", backend->ops->name);
    tt_json_put_string(&w, "device", info.name);
    tt_json_put_string(&w, "library", info.library);
    tt_json_put_string(&w, "precision", "fp32");
    tt_json_put_number(&w, "flops_per_second", flops);
    tt_json_put_number(&w, "bytes_per_second", bytes);
    tt_json_end(&w, '}');
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    CHECK_OK(tt_file_replace(path, w.text.s, w.text.n));
    tt_text_free(&w.text);
}

static inline void fixture_ceilings(const struct tt_backend *backend, const char *path)
{
    fixture_ceilings_at(backend, path, FIXTURE_GEMM_RATE, FIXTURE_COPY_RATE);
}

/* With TT_TEST_FEW the device is assumed small and unshared: timed copies and fills use an eighth of the free memory
 * instead of half a gigabyte. */
static inline void fixture_small(struct tt_device_info *out)
{
    out->memory_free = 1 << 25;
    out->memory_total = out->memory_free + out->memory_used;
}

static const struct tt_backend_ops *fixture_real;
static struct tt_backend_ops fixture_told;

static inline tt_status fixture_info(void *self, struct tt_device_info *out)
{
    TT_TRY(fixture_real->info(self, out));
    fixture_small(out);
    return TT_OK;
}

static inline void fixture_few(struct tt_backend *b)
{
    if (!test_few()) return;
    fixture_real = b->ops;
    fixture_told = *b->ops;
    fixture_told.info = fixture_info;
    b->ops = &fixture_told;
}

#endif
