#include "core/checkpoint/moments.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/half.h"

/* The halves are read into the end of the floats' own memory and widened from the front, so none is overwritten before
 * it is used. */
tt_status tt_moments_read(struct tt_engine *e, const struct tt_params *p, enum tt_external x, float *out)
{
    int64_t n = tt_arena_count(p, x);
    if (p->moments == TT_F32) return tt_engine_download(e, x, 0, out, (size_t)n * sizeof *out);
    uint16_t *halves = (uint16_t *)(void *)out + n;
    TT_TRY(tt_engine_download(e, x, 0, halves, (size_t)n * sizeof *halves));
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, halves + i, sizeof half);
        float wide = tt_from_bf16(half);
        memcpy(out + i, &wide, sizeof wide);
    }
    return TT_OK;
}

tt_status tt_moments_write(struct tt_engine *e, const struct tt_params *p, enum tt_external x, const float *host)
{
    if (p->moments == TT_F32) return tt_arena_upload(e, p, x, sizeof *host, host);
    uint16_t *halves = malloc((size_t)p->total * sizeof *halves);
    if (!halves) return tt_no_memory("%.0f MiB of moments", (double)p->total * sizeof *halves / 0x1p20);
    if (!p->sharded[x]) tt_narrow(host, halves, p->total, TT_BF16);
    for (int i = 0; p->sharded[x] && i < p->bucket_count; i++) {
        struct tt_part part = tt_part_of(p, i);
        tt_narrow(host + part.begin, halves + part.begin, part.count, TT_BF16);
    }
    tt_status st = tt_arena_upload(e, p, x, sizeof *halves, halves);
    free(halves);
    return st;
}
