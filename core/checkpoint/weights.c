#include "core/checkpoint/weights.h"

#include <stdlib.h>

#include "core/base/half.h"

float *tt_weights_in_place(const struct tt_engine *e, const struct tt_params *p, bool shares_memory)
{
    bool whole = !e->bytes[TT_X_MASTER] && !e->bytes[TT_X_LOW] && !p->sharded[TT_X_WEIGHTS];
    return shares_memory && whole ? e->externals[TT_X_WEIGHTS] : NULL;
}

/* Allocates two arrays of n 16-bit numbers in one block. */
static tt_status new_halves(int64_t n, uint16_t **out)
{
    *out = calloc(2 * (size_t)n, sizeof **out);
    return *out ? TT_OK : tt_no_memory("%.0f MiB of weights", 2.0 * (double)n * sizeof **out / 0x1p20);
}

tt_status tt_weights_read(struct tt_engine *e, const struct tt_params *p, float *out)
{
    enum tt_external floats = e->bytes[TT_X_MASTER] ? TT_X_MASTER : TT_X_WEIGHTS;
    if (!e->bytes[TT_X_LOW]) return tt_arena_download(e, p, floats, sizeof *out, out);
    uint16_t *halves;
    TT_TRY(new_halves(p->total, &halves));
    tt_status st = tt_arena_download(e, p, TT_X_WEIGHTS, sizeof *halves, halves);
    if (!st) st = tt_arena_download(e, p, TT_X_LOW, sizeof *halves, halves + p->total);
    bool parts = p->sharded[TT_X_LOW]; /* this rank has no low halves of the other parts */
    if (!st && !parts) tt_join_halves(halves, halves + p->total, out, p->total);
    for (int i = 0; !st && parts && i < p->bucket_count; i++) {
        int64_t at = tt_part_of(p, i).begin;
        tt_join_halves(halves + at, halves + p->total + at, out + at, tt_part_of(p, i).count);
    }
    free(halves);
    return st;
}

/* Converts n weights to the form that the device has. `low` is NULL unless it has the low halves too. */
static void to_halves(const float *weights, uint16_t *halves, uint16_t *low, int64_t n, enum tt_dtype type)
{
    if (low)
        tt_split_halves(weights, halves, low, n);
    else
        tt_narrow(weights, halves, n, type);
}

tt_status tt_weights_write(struct tt_engine *e, const struct tt_params *p, enum tt_dtype type, const float *weights)
{
    uint16_t *halves;
    if (type == TT_F32) return tt_arena_upload(e, p, TT_X_WEIGHTS, sizeof *weights, weights);
    if (e->bytes[TT_X_MASTER]) TT_TRY(tt_arena_upload(e, p, TT_X_MASTER, sizeof *weights, weights));
    TT_TRY(new_halves(p->total, &halves));
    uint16_t *low = e->bytes[TT_X_LOW] ? halves + p->total : NULL;
    bool parts = p->sharded[TT_X_WEIGHTS]; /* fills only this rank's: memory that is not touched is not taken */
    if (!parts) to_halves(weights, halves, low, p->total, type);
    for (int i = 0; parts && i < p->bucket_count; i++) {
        int64_t at = tt_part_of(p, i).begin;
        to_halves(weights + at, halves + at, low ? low + at : NULL, tt_part_of(p, i).count, type);
    }
    tt_status st = tt_arena_upload(e, p, TT_X_WEIGHTS, sizeof *halves, halves);
    if (!st && low) st = tt_arena_upload(e, p, TT_X_LOW, sizeof *halves, low);
    free(halves);
    return st;
}
