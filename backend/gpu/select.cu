/* Selective updates: the norms of groups, from the same pass as the norm of all gradients; the choice of the largest;
 * and AdamW on what was chosen. The pass reads 4 bytes per parameter as sum_squares does. AdamW then moves 28 bytes (30
 * in fp16) for each chosen parameter, and 16 for a tile that is not chosen. The choice goes over a few thousand words,
 * in one block. */
#include "backend/gpu/optimizer.h"

#include <float.h>

/* ---- squares of the gradients, run by run and span by span ---- */

enum { SQUARE_TILE = SQUARE_THREADS * SQUARE_LOADS }; /* vectors that a block has at a time */

/* What a thread has of a tile: vectors (0 after the last of the run), and at most one edge element, before the first
 * vector or after the last. */
struct square_loads {
    gpu_bytes16 b[SQUARE_LOADS];
    float edge;
    int edge_at; /* relative to the first element of the tile's vectors; outside every span if there is none */
};

/* The sum of squares of the thread's elements in [from, to), positions as in edge_at. Others are set to 0 first. */
GPU_DEVICE double squares_between(const square_loads &l, int from, int to)
{
    float part = 0;
    unsigned count = (unsigned)(to - from);
    GPU_UNROLL
    for (int k = 0; k < SQUARE_LOADS; k++) {
        int at = 4 * (gpu_thread() + k * SQUARE_THREADS) - from;
        gpu_bytes16 b = l.b[k];
        GPU_UNROLL
        for (int j = 0; j < 4; j++) b.w[j] = (unsigned)(at + j) < count ? b.w[j] : 0;
        part += vector_squares(b);
    }
    if (l.edge_at >= from && l.edge_at < to) part += l.edge * l.edge;
    return part;
}

/* partial[block] is summed in the same order as in sum_squares; the added zeros do not change its bits. */
GPU_KERNEL GPU_BOUNDS(SQUARE_THREADS) group_squares(struct tt_group_squares_args a, int64_t run)
{
    constexpr int ELEMENTS = 4 * SQUARE_TILE, NOWHERE = 2 * ELEMENTS;
    int64_t from = gpu_smaller(gpu_block_x() * run, a.n), n = gpu_smaller(run, a.n - from);
    const float *x = a.x + from;
    int64_t head = gpu_smaller((16 - (int)((uintptr_t)x % 16)) % 16 / 4, n), vectors = (n - head) / 4;
    int64_t edges = n - 4 * vectors, tiles = gpu_larger(1, gpu_divide_up(vectors, SQUARE_TILE));
    int span = a.first[gpu_block_x()], behind = a.first[gpu_block_x() + 1];
    int64_t e = gpu_thread(), edge_at = e < head ? e : e + 4 * vectors;
    square_loads l;
    l.edge = e < edges ? x[edge_at] : 0;
    double sum = 0, mine = 0;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t origin = head + ELEMENTS * t, left = vectors - SQUARE_TILE * t;
        int64_t end = t + 1 == tiles ? n : origin + ELEMENTS; /* of the tile, in the run */
        l.edge_at = e < edges && (e < head ? t == 0 : t + 1 == tiles) ? (int)(edge_at - origin) : NOWHERE;
        GPU_UNROLL
        for (int k = 0; k < SQUARE_LOADS; k++) {
            int v = gpu_thread() + k * SQUARE_THREADS;
            l.b[k] = v < left ? gpu_load16_stream(x + origin + 4 * v) : gpu_bytes16{};
        }
        bool full = gpu_thread() + (SQUARE_LOADS - 1) * SQUARE_THREADS < left;
        float part = 0;
        GPU_UNROLL
        for (int k = 0; k < SQUARE_LOADS; k++) {
            float square = vector_squares(l.b[k]);
            part += square;
            if (!full) sum += square;
        }
        if (full) sum += part;
        while (span < behind) {
            int64_t begin = a.spans[span].begin - from, stop = begin + a.spans[span].count;
            if (begin >= end) break;
            mine += squares_between(l, (int)gpu_larger(begin - origin, -4), (int)(gpu_smaller(stop, end) - origin));
            if (stop > end) break;
            mine = gpu_block_sum<SQUARE_THREADS>(mine);
            if (gpu_thread() == 0) a.square[span] = (float)mine;
            mine = 0;
            span++;
        }
    }
    if (e < edges) sum += l.edge * l.edge;
    sum = gpu_block_sum<SQUARE_THREADS>(sum);
    if (gpu_thread() == 0) a.partial[gpu_block_x()] = (float)sum;
}

gpu_error tt_gpu_group_squares(const struct tt_group_squares_args *a, gpu_stream s)
{
    return GPU_LAUNCH(group_squares, gpu_grid_of(a->parts), SQUARE_THREADS, 0, s, *a, gpu_divide_up(a->n, a->parts));
}

/* ---- squares of a tensor of any type, span by span: a block each ---- */

template <typename T> GPU_KERNEL GPU_BOUNDS(SQUARE_THREADS) span_squares(struct tt_span_squares_args a)
{
    constexpr int N = gpu_vec<T>::n;
    struct tt_update_span span = a.spans[gpu_block_x()];
    if (a.group && a.group[span.group].last != a.state->step - a.state->skipped - 1) { /* not in the update before */
        if (gpu_thread() == 0) a.square[gpu_block_x()] = 0;
        return;
    }
    const T *x = (const T *)a.x + span.begin;
    int64_t n = span.count;
    int64_t head = gpu_smaller((16 - (int)((uintptr_t)x % 16)) % 16 / (int)sizeof(T), n), vectors = (n - head) / N;
    double sum = 0;
    GPU_UNROLL_BY(4)
    for (int64_t v = gpu_thread(); v < vectors; v += SQUARE_THREADS) {
        gpu_vec<T> y = gpu_vec_load(x + head + N * v);
        float part = 0;
        GPU_UNROLL
        for (int i = 0; i < N; i++) part += y.v[i] * y.v[i];
        sum += part;
    }
    int64_t e = gpu_thread();
    if (e < n - N * vectors) {
        float y = gpu_to_float(x[e < head ? e : e + N * vectors]);
        sum += y * y;
    }
    sum = gpu_block_sum<SQUARE_THREADS>(sum);
    if (gpu_thread() == 0) a.square[gpu_block_x()] = (float)sum;
}

gpu_error tt_gpu_span_squares(const struct tt_span_squares_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T,
                        GPU_LAUNCH(span_squares<T>, gpu_grid_of(a->count), SQUARE_THREADS, 0, s, *a));
}

/* ---- sums of groups: a wave each ---- */

enum { SUM_THREADS = 256 };

GPU_KERNEL GPU_BOUNDS(SUM_THREADS) group_sums(struct tt_group_sums_args a)
{
    int64_t g = gpu_block_x() * (SUM_THREADS / GPU_WAVE) + gpu_wave();
    if (g >= a.groups) return;
    double sum = 0;
    for (int i = a.begin[g] + gpu_lane(); i < a.begin[g + 1]; i += GPU_WAVE) sum += a.square[a.order[i]];
    sum = gpu_wave_sum(sum);
    if (gpu_lane() == 0) a.sum[g] = (float)sum;
}

gpu_error tt_gpu_group_sums(const struct tt_group_sums_args *a, gpu_stream s)
{
    int64_t waves = SUM_THREADS / gpu_wave_width();
    return GPU_LAUNCH(group_sums, gpu_grid_of(gpu_divide_up(a->groups, waves)), SUM_THREADS, 0, s, *a);
}

/* ---- the choice: one block. The smallest chosen key is found digit by digit from the top. Of the keys that begin with
 * the digits found so far, it counts how many have each next digit ---- */

enum { CHOOSE_THREADS = 1024, DIGITS = 256 };

/* The same as tt_random of core/base/rng.h. */
GPU_DEVICE uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
GPU_DEVICE uint64_t random_bits(uint64_t key, uint64_t stream, uint64_t index)
{
    uint64_t h = mix(key + 0x9e3779b97f4a7c15u);
    h = mix(h ^ (stream + 0xd1b54a32d192ed03u));
    return mix(h + index * 0x9e3779b97f4a7c15u);
}

/* Floats that are not negative compare like their bits. */
GPU_DEVICE uint32_t key_of(const struct tt_choose_groups_args &a, int64_t g, int64_t update)
{
    if (a.by == TT_BY_RANDOM) return (uint32_t)(random_bits(a.seed, (uint64_t)update, (uint64_t)g) >> 33);
    double by = a.by == TT_BY_RMS        ? a.size[g]
                : a.by == TT_BY_RELATIVE ? gpu_max(a.weight_square[g], FLT_MIN)
                                         : 1.0;
    return gpu_float_bits((float)(a.square[g] / by)) & 0x7fffffffu;
}

/* The sum over threads before this one; all threads of the block call it. */
GPU_DEVICE int sum_before(int x)
{
    GPU_SHARED int sums[2][CHOOSE_THREADS];
    int t = gpu_thread(), now = 0;
    sums[0][t] = x;
    for (int step = 1; step < CHOOSE_THREADS; step *= 2) {
        gpu_block_sync();
        sums[1 - now][t] = sums[now][t] + (t >= step ? sums[now][t - step] : 0);
        now = 1 - now;
    }
    int before = sums[now][t] - x;
    gpu_block_sync(); /* the next call writes them again */
    return before;
}

struct least_key {
    uint32_t key;
    int equal, wanted; /* groups with that key; how many of them are chosen, the first ones */
};

GPU_DEVICE least_key find_least(const uint32_t *keys, int groups, int chosen)
{
    GPU_SHARED int counts[DIGITS];
    GPU_SHARED least_key found;
    least_key least = {0, groups, chosen};
    int t = gpu_thread();
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (t < DIGITS) counts[t] = 0;
        gpu_block_sync();
        for (int g = t; g < groups; g += CHOOSE_THREADS)
            if (((uint64_t)(keys[g] ^ least.key) >> (shift + 8)) == 0)
                gpu_atomic_add(&counts[keys[g] >> shift & (DIGITS - 1)], 1);
        gpu_block_sync();
        int digit = DIGITS - 1 - t, here = t < DIGITS ? counts[digit] : 0; /* the largest first */
        int before = sum_before(here);
        if (here && before < least.wanted && least.wanted <= before + here)
            found = {least.key | (uint32_t)digit << shift, here, least.wanted - before};
        gpu_block_sync();
        least = found;
    }
    return least;
}

/* steps[g].chosen: keys above the least one, and the first ones equal to it. */
GPU_DEVICE void choose_by_key(const struct tt_choose_groups_args &a, int groups)
{
    least_key least = find_least(a.keys, groups, (int)a.chosen);
    int seen = 0; /* keys equal to the least one, before this round */
    for (int first = 0; first < groups; first += CHOOSE_THREADS) {
        int g = first + gpu_thread();
        uint32_t key = g < groups ? a.keys[g] : 0;
        int equal = g < groups && key == least.key, before = 0;
        if (least.wanted < least.equal) { /* the same for all threads */
            before = seen + sum_before(equal);
            seen += gpu_block_sum<CHOOSE_THREADS>(equal);
        }
        if (g < groups) a.steps[g].chosen = key > least.key || (equal && before < least.wanted);
    }
}

/* Counts the update of a chosen group, and writes its step for AdamW. The four powers are computed in a loop: unrolled,
 * they would need more registers than there are. */
GPU_DEVICE void count_update(const struct tt_choose_groups_args &a, int64_t g, int64_t update)
{
    struct tt_update_group was = a.group[g];
    struct tt_update_step step = {1, 0, 0, 0, 0};
    double seen = (double)(a.decays ? update : was.updates + 1);
    double between = a.decays ? (double)(update - was.last - 1) : 0.0;
    GPU_UNROLL_BY(1)
    for (int k = 0; k < 4; k++) {
        double power = pow((double)(k % 2 ? a.beta2 : a.beta1), k < 2 ? seen : between);
        if (k == 0) step.bias1 = (float)(1.0 - power);
        if (k == 1) step.bias2 = (float)(1.0 - power);
        if (k == 2) step.keep1 = (float)power;
        if (k == 3) step.keep2 = (float)power;
    }
    a.group[g] = {was.updates + 1, update};
    a.steps[g] = step;
}

GPU_DEVICE void write_choice(const struct tt_choose_groups_args &a, int groups, bool apply)
{
    int64_t words = TT_CHOICE_WORDS(a.groups);
    uint32_t *bits = a.choices + (a.state->step - 1) % a.entries * words;
    for (int64_t w = gpu_thread(); w < words; w += CHOOSE_THREADS) {
        uint32_t word = 0;
        int count = (int)gpu_smaller(32, groups - 32 * w); /* 32 bits of a word, whatever the width of a wave */
        for (int i = 0; i < count && apply; i++) word |= (uint32_t)(a.steps[32 * w + i].chosen != 0) << i;
        bits[w] = word;
    }
}

GPU_KERNEL GPU_BOUNDS(CHOOSE_THREADS) choose_groups(struct tt_choose_groups_args a)
{
    int groups = (int)a.groups;
    int64_t update = a.state->step - a.state->skipped;
    struct tt_update_group choice = a.group[groups];
    bool apply = a.state->apply != 0, anew = a.anew;
    if (apply && anew) {
        for (int g = gpu_thread(); g < groups; g += CHOOSE_THREADS) a.keys[g] = key_of(a, g, update);
        gpu_block_sync();
        choose_by_key(a, groups);
    }
    for (int g = gpu_thread(); g < groups; g += CHOOSE_THREADS) {
        bool chosen = apply && (anew ? a.steps[g].chosen != 0 : a.group[g].last == update - 1);
        if (chosen)
            count_update(a, g, update);
        else
            a.steps[g] = {0, 1, 1, 1, 1};
    }
    gpu_block_sync();
    write_choice(a, groups, apply);
    if (gpu_thread() == 0 && apply && anew) a.group[groups] = {choice.updates + 1, a.state->step};
}

gpu_error tt_gpu_choose_groups(const struct tt_choose_groups_args *a, gpu_stream s)
{
    return GPU_LAUNCH(choose_groups, gpu_grid_of(1), CHOOSE_THREADS, 0, s, *a);
}

/* ---- AdamW on what was chosen: a block per tile; blocks of other tiles end at once ---- */

struct adam_late_step : adam_step {
    float keep1, keep2;
    GPU_MEMBER void operator()(float grad, float &w, float &m, float &v, bool decays) const
    {
        m *= keep1;
        v *= keep2;
        adam_step::operator()(grad, w, m, v, decays);
    }
};

/* Vectors of four begin at element `head` and at every fourth after it; head < 0: there are none. */
template <typename W, typename M>
GPU_KERNEL GPU_BOUNDS(ADAM_THREADS) adamw_chosen(struct tt_adamw_chosen_args c, W weights, M moments, int head)
{
    const struct tt_adamw_args &a = c.all;
    const struct tt_state *s = a.state;
    struct tt_update_span tile = c.tiles[gpu_block_x()];
    struct tt_update_step group = c.steps[tile.group];
    if (!group.chosen || !s->apply) return;
    moments.begin(s->step);
    adam_late_step step = {{s->clip, s->lr / group.bias1, 1.0f / group.bias2, s->lr * a.decay, a.beta1, a.beta2, a.eps},
                           group.keep1, group.keep2};
    int64_t before = head < 0 ? tile.count : gpu_smaller((head - tile.begin % 4 + 4) % 4, tile.count);
    int64_t vectors = (tile.count - before) / 4, edges = tile.count - 4 * vectors;
    for (int64_t v = gpu_thread(); v < vectors; v += ADAM_VECTORS * ADAM_THREADS)
        adam_each(a, weights, moments, step, tile.begin + before, v, vectors);
    for (int64_t e = gpu_thread(); e < edges; e += ADAM_THREADS)
        adam_one(a, weights, moments, step, tile.begin + (e < before ? e : e + 4 * vectors));
}

gpu_error tt_gpu_adamw_chosen(const struct tt_adamw_chosen_args *c, gpu_stream s)
{
    return adam_launch(&c->all, [&](auto weights, auto moments) {
        int head = (int)adam_head(&c->all, weights, moments);
        return GPU_LAUNCH((adamw_chosen<decltype(weights), decltype(moments)>), gpu_grid_of(c->count), ADAM_THREADS, 0,
                          s, *c, weights, moments, head);
    });
}
