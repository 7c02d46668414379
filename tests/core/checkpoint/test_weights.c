/* fp32 weights that a device stores as two 16-bit halves: written and read, whole or as a rank's parts, to the bit.
 * Nothing outside those parts is touched. */
#include "core/checkpoint/weights.h"
#include "tests/test.h"

enum { TOTAL = 1200, RANKS = 3 };
static struct tt_bucket buckets[] = {{0, 300}, {300, 900}};

static bool is_mine(const struct tt_params *p, int64_t i)
{
    for (int b = 0; b < p->bucket_count; b++) {
        struct tt_part part = tt_part_of(p, b);
        if (i >= part.begin && i < part.begin + part.count) return true;
    }
    return false;
}

static struct tt_backend device;

static void check_rank(int rank, bool low, bool weights)
{
    struct tt_params p = {.total = TOTAL, .buckets = buckets, .bucket_count = 2, .rank = rank, .ranks = RANKS};
    struct tt_engine e = {0};
    float in[TOTAL], out[TOTAL];
    p.sharded[TT_X_LOW] = low;
    p.sharded[TT_X_WEIGHTS] = weights;
    e.bytes[TT_X_WEIGHTS] = (size_t)tt_arena_count(&p, TT_X_WEIGHTS) * sizeof(uint16_t);
    e.bytes[TT_X_LOW] = (size_t)tt_arena_count(&p, TT_X_LOW) * sizeof(uint16_t);
    for (int i = 0; i < TOTAL; i++) in[i] = (float)(i - 600) / 7, out[i] = -1e30f;
    CHECK_OK(tt_engine_alloc(&e, &device));
    CHECK_OK(tt_weights_write(&e, &p, TT_BF16, in));
    CHECK_OK(tt_weights_read(&e, &p, out));
    for (int i = 0; i < TOTAL; i++) {
        float want = !low || is_mine(&p, i) ? in[i] : -1e30f;
        CHECK(out[i] == want, "rank %d, low %d, weights %d: %d is %g", rank, low, weights, i, (double)out[i]);
    }
    tt_engine_free(&e);
}

static void halves_come_back(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        check_rank(rank, false, false);
        check_rank(rank, true, false); /* --shard optimizer and gradients */
        check_rank(rank, true, true);  /* --shard weights */
    }
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &device));
    TEST(halves_come_back);
    tt_backend_close(&device);
    return test_end();
}
