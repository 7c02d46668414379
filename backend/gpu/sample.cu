/* The choice of the next token of each row, as core/base/sample.c makes it. A block has a row; its threads go over the
 * logits a few times. Weights are whole numbers, so their sums have the same value in any order. */
#include "backend/gpu/gpu.h"

enum { SAMPLE_THREADS = 1024, SAMPLE_BITS = 28, SAMPLE_BINS = 256, SAMPLE_PARTS = 3, SAMPLE_PART_BITS = 10 };

GPU_DEVICE uint32_t sample_key(float x)
{
    uint32_t bits = gpu_float_bits(x + 0.0f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* The larger of two numbers, each of which encodes a logit and its place: larger for a larger logit, and of equal ones
 * for a lower place. */
struct sample_largest {
    GPU_MEMBER uint64_t operator()(uint64_t a, uint64_t b) const { return a > b ? a : b; }
};

/* Applies the penalty and finds the likeliest token. False: a logit is not finite. */
GPU_DEVICE bool sample_look(const tt_sample_args &a, float *logits, const uint32_t *seen, uint64_t *best)
{
    uint64_t mine = 0;
    int bad = 0;
    for (int64_t i = gpu_thread(); i < a.V; i += SAMPLE_THREADS) {
        float x = logits[i];
        bad |= !gpu_finite(x);
        if (i >= a.known) continue;
        if (a.penalty != 1.0f && seen[i / 32] >> (i % 32) & 1)
            logits[i] = x = x > 0.0f ? gpu_divide(x, a.penalty) : x * a.penalty;
        uint64_t one = (uint64_t)sample_key(x) << 32 | (0xffffffffu - (uint32_t)i);
        mine = one > mine ? one : mine;
    }
    *best = gpu_block_reduce<SAMPLE_THREADS>(mine, sample_largest());
    return gpu_block_sum<SAMPLE_THREADS>(bad) == 0;
}

/* Tokens with a larger key may be drawn, and the first `ties` with this one. */
struct sample_threshold {
    uint32_t key;
    uint64_t ties;
};

struct sample_row {
    const tt_sample_args &a;
    const float *logits;
    float top, factor;
    uint32_t *weights; /* of all known tokens */

    GPU_MEMBER uint32_t weigh(float x) const
    {
        return (uint32_t)(gpu_exp((x - top) * factor) * (float)(1 << SAMPLE_BITS));
    }
};

/* The sum over a bin, 64 bits, from three counters of 32 bits, each of which takes 10 bits of every term. */
GPU_DEVICE uint64_t sample_bin(const int *bins, int i)
{
    uint64_t sum = 0;
    GPU_UNROLL
    for (int p = SAMPLE_PARTS - 1; p >= 0; p--) sum = (sum << SAMPLE_PART_BITS) + (uint32_t)bins[p * SAMPLE_BINS + i];
    return sum;
}

/* The same as reach() of core/base/sample.c. */
GPU_DEVICE sample_threshold sample_reach(const sample_row &r, uint64_t target, bool by_weight)
{
    GPU_SHARED int bins[SAMPLE_PARTS * SAMPLE_BINS];
    GPU_SHARED uint64_t left;
    GPU_SHARED int bin;
    uint32_t prefix = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = gpu_thread(); i < SAMPLE_PARTS * SAMPLE_BINS; i += SAMPLE_THREADS) bins[i] = 0;
        gpu_block_sync();
        for (int64_t i = gpu_thread(); i < r.a.known; i += SAMPLE_THREADS) {
            uint32_t key = sample_key(r.logits[i]), measure = by_weight ? r.weights[i] : 1;
            if ((shift < 24 && key >> (shift + 8) != prefix) || !measure) continue;
            for (int p = 0; measure; p++, measure >>= SAMPLE_PART_BITS)
                gpu_atomic_add(&bins[p * SAMPLE_BINS + (key >> shift & 255)],
                               (int)(measure & ((1u << SAMPLE_PART_BITS) - 1)));
        }
        gpu_block_sync();
        if (gpu_thread() == 0) {
            int b = SAMPLE_BINS - 1;
            uint64_t t = target;
            for (; b > 0 && sample_bin(bins, b) < t; b--) t -= sample_bin(bins, b);
            bin = b, left = t;
        }
        gpu_block_sync();
        target = left;
        prefix = prefix << 8 | (uint32_t)bin;
        gpu_block_sync();
    }
    uint32_t bits = prefix >> 31 ? prefix & 0x7fffffffu : ~prefix,
             weight = by_weight ? r.weigh(gpu_bits_float(bits)) : 1;
    return {prefix, weight ? (target + weight - 1) / weight : 0};
}

/* The sum of `mine` over the threads before this one; *all is the sum over the block. */
GPU_DEVICE uint64_t sample_before(uint64_t mine, uint64_t *all)
{
    constexpr int WAVES = SAMPLE_THREADS / GPU_WAVE;
    GPU_SHARED uint64_t waves[WAVES];
    uint64_t sum = mine;
    for (int by = 1; by < GPU_WAVE; by *= 2) {
        uint64_t other = gpu_shfl_up(sum, by);
        if (gpu_lane() >= by) sum += other;
    }
    if (gpu_lane() == GPU_WAVE - 1) waves[gpu_wave()] = sum;
    gpu_block_sync();
    uint64_t before = 0, total = 0;
    for (int w = 0; w < WAVES; w++) {
        if (w < gpu_wave()) before += waves[w];
        total += waves[w];
    }
    gpu_block_sync();
    *all = total;
    return before + sum - mine;
}

struct sample_run {
    int64_t from, to;
};
GPU_DEVICE sample_run sample_run_of(int64_t n)
{
    int64_t each = gpu_divide_up(n, SAMPLE_THREADS), from = gpu_smaller(gpu_thread() * each, n);
    return {from, gpu_smaller(from + each, n)};
}

/* Tokens beyond the threshold lose their weight. Returns the sum of the others. */
GPU_DEVICE uint64_t sample_cut(const sample_row &r, sample_threshold t)
{
    sample_run run = sample_run_of(r.a.known);
    uint64_t equal = 0, sum = 0, all;
    for (int64_t i = run.from; i < run.to; i++) equal += sample_key(r.logits[i]) == t.key;
    uint64_t at = sample_before(equal, &all);
    for (int64_t i = run.from; i < run.to; i++) {
        uint32_t key = sample_key(r.logits[i]);
        bool out = key < t.key || (key == t.key && at >= t.ties);
        at += key == t.key;
        if (out) r.weights[i] = 0;
        sum += r.weights[i];
    }
    gpu_block_sync();
    return gpu_block_sum<SAMPLE_THREADS>(sum);
}

/* The token at the drawn place in the running sum of weights, in the order of tokens. */
GPU_DEVICE int32_t sample_draw(const sample_row &r, uint32_t draw, int32_t otherwise)
{
    GPU_SHARED int32_t token;
    sample_run run = sample_run_of(r.a.known);
    uint64_t mine = 0, total;
    for (int64_t i = run.from; i < run.to; i++) mine += r.weights[i];
    uint64_t before = sample_before(mine, &total);
    uint64_t at = (total >> 32) * draw + ((total & 0xffffffffu) * draw >> 32);
    if (gpu_thread() == 0) token = otherwise;
    gpu_block_sync();
    if (before <= at && at < before + mine) {
        int64_t i = run.from;
        for (at -= before; at >= r.weights[i]; i++) at -= r.weights[i];
        token = (int32_t)i;
    }
    gpu_block_sync();
    return token;
}

GPU_DEVICE int32_t sample_choose(const tt_sample_args &a, float *logits, uint32_t *weights, uint64_t best,
                                 uint32_t draw)
{
    int32_t likeliest = (int32_t)(0xffffffffu - (uint32_t)best);
    if (!(a.temperature > 0.0f)) return likeliest;
    sample_row r = {a, logits, logits[likeliest], gpu_divide(1.0f, a.temperature), weights};
    uint64_t total = 0;
    for (int64_t i = gpu_thread(); i < a.known; i += SAMPLE_THREADS) total += weights[i] = r.weigh(logits[i]);
    total = gpu_block_sum<SAMPLE_THREADS>(total); /* its barriers make the weights visible to all */
    if (a.top_k > 0 && a.top_k < a.known) total = sample_cut(r, sample_reach(r, (uint64_t)a.top_k, false));
    if (a.top_p < 1.0f) {
        uint64_t target = (uint64_t)((double)a.top_p * (double)total);
        if ((double)target < (double)a.top_p * (double)total || !target) target++;
        sample_cut(r, sample_reach(r, target, true));
    }
    gpu_block_sync();
    return sample_draw(r, draw, likeliest);
}

GPU_KERNEL GPU_BOUNDS_MIN(SAMPLE_THREADS, 1) sample(struct tt_sample_args a)
{
    int64_t r = gpu_block_x(), pos = a.pos[r];
    float *logits = a.logits + r * a.V;
    uint32_t *seen = a.seen + r * TT_SEEN_WORDS(a.V);
    uint64_t best;
    bool finite = sample_look(a, logits, seen, &best);
    int32_t token = 0;
    if (finite) token = sample_choose(a, logits, a.work + 2 * r * a.V, best, a.draws[r * a.length + pos]);
    gpu_block_sync();
    if (gpu_thread() != 0) return;
    seen[token / 32] |= 1u << token % 32;
    a.tokens[2 * r] = token;
    a.chosen[r] = finite ? token : -1;
    if (pos + 1 < a.length) a.pos[r] = (int32_t)(pos + 1);
}

gpu_error tt_gpu_sample(const struct tt_sample_args *a, gpu_stream s)
{
    return GPU_LAUNCH(sample, gpu_grid_of(a->rows), SAMPLE_THREADS, 0, s, *a);
}
