#include "core/checkpoint/weights.h"

#include <stdlib.h>

#include "core/base/half.h"

float *tt_weights_in_place(const struct tt_engine *e, bool shares_memory)
{
    return shares_memory && !e->bytes[TT_X_MASTER] && !e->bytes[TT_X_LOW] ? e->externals[TT_X_WEIGHTS] : NULL;
}

/* Two arrays of n 16-bit numbers, one after the other; free it. */
static tt_status new_halves(int64_t n, uint16_t **out)
{
    *out = malloc(2 * (size_t)n * sizeof **out);
    return *out ? TT_OK : tt_no_memory("%.0f MiB of weights", 2.0 * (double)n * sizeof **out / 0x1p20);
}

tt_status tt_weights_read(struct tt_engine *e, int64_t n, float *out)
{
    size_t bytes = (size_t)n * sizeof(uint16_t);
    if (!e->bytes[TT_X_LOW])
        return tt_engine_download(e, e->bytes[TT_X_MASTER] ? TT_X_MASTER : TT_X_WEIGHTS, 0, out,
                                  (size_t)n * sizeof *out);
    uint16_t *halves;
    TT_TRY(new_halves(n, &halves));
    tt_status st = tt_engine_download(e, TT_X_WEIGHTS, 0, halves, bytes);
    if (!st) st = tt_engine_download(e, TT_X_LOW, 0, halves + n, bytes);
    if (!st) tt_join_halves(halves, halves + n, out, n);
    free(halves);
    return st;
}

tt_status tt_weights_write(struct tt_engine *e, int64_t n, enum tt_dtype type, const float *weights)
{
    size_t bytes = (size_t)n * sizeof(uint16_t);
    uint16_t *halves;
    if (type == TT_F32) return tt_engine_upload(e, TT_X_WEIGHTS, 0, weights, (size_t)n * sizeof *weights);
    if (e->bytes[TT_X_MASTER]) TT_TRY(tt_engine_upload(e, TT_X_MASTER, 0, weights, (size_t)n * sizeof *weights));
    TT_TRY(new_halves(n, &halves));
    if (e->bytes[TT_X_LOW])
        tt_split_halves(weights, halves, halves + n, n);
    else
        tt_narrow(weights, halves, n, type);
    tt_status st = tt_engine_upload(e, TT_X_WEIGHTS, 0, halves, bytes);
    if (!st && e->bytes[TT_X_LOW]) st = tt_engine_upload(e, TT_X_LOW, 0, halves + n, bytes);
    free(halves);
    return st;
}
