/* The gradient of the embedding without float atomics: positions are sorted by token, with a stable sort, and the rows
 * of each token are summed in that order.
 *
 * The sort is a radix sort of positions by the digits of their token. Blocks take consecutive runs of positions;
 * `count` writes a histogram per block, from which `place` computes where the block's first position with each digit
 * goes. Up to FEW positions take one kernel instead, which counts for each position how many come before it.
 *
 * A token with up to LONG positions is summed by a group of lanes, which share the columns of a row. A token with more
 * is summed by several blocks, each for a slice of the columns, with many rows in flight. */
#include "backend/gpu/tokens.h"

enum {
    THREADS = 256,
    DIGITS_MAX = 256,
    BLOCKS_MAX = 128,
    BLOCKS_ENOUGH = 60,
    FEW = 2048,
    LONG = 128,
    SLICE_BYTES = 128
};

struct sort_pass {
    const int32_t *from;  /* positions; NULL: 0, 1, 2, ... */
    int32_t *to, *counts; /* counts: (blocks, digits) */
    int T, blocks, digits, shift;
};

GPU_DEVICE int run_start(const sort_pass &p, int64_t block) { return (int)(p.T * block / p.blocks); }
GPU_DEVICE int position_at(const sort_pass &p, int i) { return p.from ? p.from[i] : i; }
GPU_DEVICE int digit_of(const sort_pass &p, const int32_t *base, int position, int64_t S)
{
    return (int)((uint32_t)token_at(base, position, S) >> p.shift & (uint32_t)(p.digits - 1));
}

GPU_KERNEL GPU_BOUNDS(THREADS) count(sort_pass p, struct tt_embedding_backward_args a)
{
    GPU_SHARED int counts[DIGITS_MAX];
    const int32_t *base = step_tokens(a.tokens, a.state, a.slot_stride);
    counts[gpu_thread()] = 0;
    gpu_block_sync();
    int end = run_start(p, gpu_block_x() + 1);
    for (int i = run_start(p, gpu_block_x()) + gpu_thread(); i < end; i += THREADS)
        gpu_atomic_add(&counts[digit_of(p, base, position_at(p, i), a.S)], 1);
    gpu_block_sync();
    if (gpu_thread() < p.digits) p.counts[gpu_block_x() * p.digits + gpu_thread()] = counts[gpu_thread()];
}

/* Exclusive prefix sum over the block. All THREADS threads call it; it may be used only once in a kernel. */
GPU_DEVICE int sum_before(int x)
{
    GPU_SHARED int sums[2][THREADS];
    int t = gpu_thread(), now = 0;
    sums[0][t] = x;
    for (int step = 1; step < THREADS; step *= 2) {
        gpu_block_sync();
        sums[1 - now][t] = sums[now][t] + (t >= step ? sums[now][t - step] : 0);
        now = 1 - now;
    }
    return sums[now][t] - x;
}

/* The lanes of the wave that are `valid` and have the same digit. */
GPU_DEVICE uint64_t peers_of(int digit, int digits, bool valid)
{
    uint64_t peers = gpu_ballot(valid);
    for (int bit = 1; bit < digits; bit *= 2) {
        uint64_t set = gpu_ballot((digit & bit) != 0);
        peers &= digit & bit ? set : ~set;
    }
    return peers;
}

GPU_KERNEL GPU_BOUNDS(THREADS) place(sort_pass p, struct tt_embedding_backward_args a)
{
    constexpr int WAVES = THREADS / GPU_WAVE;
    GPU_SHARED int next[WAVES][DIGITS_MAX]; /* counts, then the output index of a wave's next position with a digit */
    const int32_t *base = step_tokens(a.tokens, a.state, a.slot_stride);
    int t = gpu_thread(), wave = gpu_wave(), lane = gpu_lane();
    int start = run_start(p, gpu_block_x()), size = run_start(p, gpu_block_x() + 1) - start;
    int from = start + size * wave / WAVES, end = start + size * (wave + 1) / WAVES;

    for (int w = 0; w < WAVES; w++) next[w][t] = 0;
    gpu_block_sync();
    for (int i = from + lane; i < end; i += GPU_WAVE)
        gpu_atomic_add(&next[wave][digit_of(p, base, position_at(p, i), a.S)], 1);

    int before = 0, total = 0; /* positions with digit t: in the blocks before this one, in all blocks */
    if (t < p.digits) {
        for (int b = 0; b < p.blocks; b++) {
            int n = p.counts[b * p.digits + t];
            if (b < gpu_block_x()) before += n;
            total += n;
        }
    }
    int at = sum_before(total) + before;
    gpu_block_sync();
    for (int w = 0; w < WAVES; w++) {
        int n = next[w][t];
        next[w][t] = at;
        at += n;
    }
    gpu_block_sync();

    for (int i = from; i < end; i += GPU_WAVE) { /* all lanes of the wave, for the ballots */
        bool valid = i + lane < end;
        int position = valid ? position_at(p, i + lane) : 0;
        int digit = valid ? digit_of(p, base, position, a.S) : 0;
        uint64_t peers = peers_of(digit, p.digits, valid);
        int rank = gpu_count_below(peers, lane), first = next[wave][digit];
        gpu_wave_sync();
        if (valid && rank == 0) next[wave][digit] = first + gpu_count(peers);
        gpu_wave_sync();
        if (valid) p.to[first + rank] = position;
    }
}

/* A group of lanes for each position: its place is the number of positions with a smaller token, or with the same one
 * before it. */
GPU_KERNEL GPU_BOUNDS(THREADS) place_few(sort_pass p, struct tt_embedding_backward_args a)
{
    const int32_t *base = step_tokens(a.tokens, a.state, a.slot_stride);
    int i = (int)gpu_block_x() * (THREADS / GPU_GROUP) + gpu_thread() / GPU_GROUP, before = 0;
    if (i >= p.T) return;
    int token = token_at(base, i, a.S);
    for (int k = gpu_thread() % GPU_GROUP; k < p.T; k += GPU_GROUP) {
        int other = token_at(base, k, a.S);
        before += other < token || (other == token && k < i);
    }
    before = gpu_group_sum<GPU_GROUP>(before);
    if (gpu_thread() % GPU_GROUP == 0) p.to[before] = i;
}

/* ---- sums; `order` lists the positions, equal tokens together ---- */

struct sum_args {
    const int32_t *order;
    struct tt_embedding_backward_args a;
};

struct op_smaller {
    GPU_MEMBER int operator()(int a, int b) const { return a < b ? a : b; }
};

GPU_DEVICE int token_of(const sum_args &s, const int32_t *base, int64_t i) { return token_at(base, s.order[i], s.a.S); }

/* Adds rows of dy to dw, one after another: `rows` of them, at `positions`. */
template <typename T>
GPU_DEVICE void add_rows_vector(float *dw, const T *dy, const int32_t *positions, int rows, int64_t C)
{
    constexpr int N = gpu_vec<T>::n;
    gpu_vec<float> sum[N / 4];
    GPU_UNROLL
    for (int k = 0; k < N / 4; k++) sum[k] = gpu_vec_load(dw + 4 * k);
    GPU_UNROLL_BY(4)
    for (int r = 0; r < rows; r++) {
        gpu_vec<T> x = gpu_vec_load(dy + positions[r] * C);
        GPU_UNROLL
        for (int i = 0; i < N; i++) sum[i / 4].v[i % 4] += x.v[i];
    }
    GPU_UNROLL
    for (int k = 0; k < N / 4; k++) gpu_vec_store(dw + 4 * k, sum[k]);
}

/* A group of lanes per sorted position; only the group at a token's first position works. */
template <typename T, bool VECTORS> GPU_KERNEL GPU_BOUNDS(THREADS) sum_short(sum_args s)
{
    const int32_t *base = step_tokens(s.a.tokens, s.a.state, s.a.slot_stride);
    int64_t i = gpu_block_x() * (THREADS / GPU_GROUP) + gpu_thread() / GPU_GROUP, C = s.a.C;
    int lane = gpu_thread() % GPU_GROUP, rows = 0;
    if (i >= s.a.T) return;
    int token = token_of(s, base, i);
    if (i > 0 && token_of(s, base, i - 1) == token) return;
    for (int from = 0; rows == from && from <= LONG; from += GPU_GROUP) {
        bool same = i + from + lane < s.a.T && token_of(s, base, i + from + lane) == token;
        rows = from + gpu_group_reduce<GPU_GROUP>(same ? GPU_GROUP : lane, op_smaller());
    }
    if (rows > LONG) return;
    float *dw = s.a.dweight + token * C;
    const T *dy = (const T *)s.a.dy;
    const int32_t *positions = s.order + i;
    if constexpr (VECTORS) {
        for (int64_t c = lane * gpu_vec<T>::n; c < C; c += GPU_GROUP * gpu_vec<T>::n)
            add_rows_vector(dw + c, dy + c, positions, rows, C);
    } else {
        for (int64_t c = lane; c < C; c += GPU_GROUP) {
            float sum = dw[c];
            for (int r = 0; r < rows; r++) sum += gpu_to_float(dy[positions[r] * C + c]);
            dw[c] = sum;
        }
    }
}

/* The end of the run of `token` that contains sorted position i. In each round all threads probe a different place. */
GPU_DEVICE int64_t run_end(const sum_args &s, const int32_t *base, int64_t i, int token)
{
    int64_t low = i, high = s.a.T; /* low is in the run, high is not */
    while (high - low > 1) {
        int64_t step = gpu_divide_up(high - low, THREADS + 1), at = low + (gpu_thread() + 1) * step;
        bool in = at < high && token_of(s, base, at) == token;
        int64_t reached = gpu_block_sum<THREADS>((int)in);
        high = gpu_smaller(high, low + (reached + 1) * step);
        low += reached * step;
    }
    return high;
}

/* Block (j, slice) sums a slice of the row of the token at sorted position j·LONG, if it has more than LONG positions.
 * The rows of the run are distributed over teams of threads round-robin; the sums of the teams are added in order. */
template <typename T, bool VECTORS> GPU_KERNEL GPU_BOUNDS(THREADS) sum_long(sum_args s)
{
    constexpr int N = VECTORS ? gpu_vec<T>::n : 1, COLUMNS = SLICE_BYTES / (int)sizeof(T);
    constexpr int TEAM = COLUMNS / N, TEAMS = THREADS / TEAM;
    GPU_SHARED float sums[TEAMS][COLUMNS + 1];
    const int32_t *base = step_tokens(s.a.tokens, s.a.state, s.a.slot_stride);
    int64_t p = gpu_block_x() * LONG, C = s.a.C;
    int token = token_of(s, base, p), t = gpu_thread();

    /* if the run starts LONG or more before p, an earlier block has it */
    int64_t q = p - t - 1;
    bool before = t < LONG && q >= 0 && token_of(s, base, q) == token;
    int back = gpu_block_reduce<THREADS>(before ? THREADS : t, op_smaller());
    if (back >= LONG) return;
    int64_t start = p - back, end = run_end(s, base, p, token);
    if (end - start <= LONG) return;

    int team = t / TEAM, first = t % TEAM * N;
    int64_t c = gpu_block_y() * COLUMNS + first;
    float sum[N];
    GPU_UNROLL
    for (int i = 0; i < N; i++) sum[i] = 0;
    if (c < C) {
        const T *dy = (const T *)s.a.dy + c;
        GPU_UNROLL_BY(4)
        for (int64_t r = start + team; r < end; r += TEAMS) {
            const T *row = dy + s.order[r] * C;
            if constexpr (VECTORS) {
                gpu_vec<T> x = gpu_vec_load(row);
                GPU_UNROLL
                for (int i = 0; i < N; i++) sum[i] += x.v[i];
            } else {
                sum[0] += gpu_to_float(*row);
            }
        }
    }
    GPU_UNROLL
    for (int i = 0; i < N; i++) sums[team][first + i] = sum[i];
    gpu_block_sync();
    c = gpu_block_y() * COLUMNS + t;
    if (t >= COLUMNS || c >= C) return;
    float all = 0;
    for (int k = 0; k < TEAMS; k++) all += sums[k][t];
    s.a.dweight[token * C + c] += all;
}

/* ---- host ---- */

/* Leaves the sorted positions in the first or second T ints of work. */
static gpu_error sort_positions(const struct tt_embedding_backward_args *a, const int32_t **order, gpu_stream s)
{
    int64_t room = TT_EMBEDDING_WORK(a->T, a->V) - 2 * a->T;
    int bits = room >= DIGITS_MAX * BLOCKS_ENOUGH ? 8 : 4;
    sort_pass p = {NULL, a->work, a->work + 2 * a->T, (int)a->T, 0, 1 << bits, 0};
    *order = p.to;
    if (a->T <= FEW)
        return GPU_LAUNCH(place_few, gpu_grid_of(gpu_divide_up(a->T, THREADS / GPU_GROUP)), THREADS, 0, s, p, *a);
    p.blocks = (int)gpu_smaller(gpu_smaller(BLOCKS_MAX, room / p.digits), gpu_divide_up(a->T, THREADS));
    do {
        gpu_error e = GPU_LAUNCH(count, gpu_grid_of(p.blocks), THREADS, 0, s, p, *a);
        if (!e) e = GPU_LAUNCH(place, gpu_grid_of(p.blocks), THREADS, 0, s, p, *a);
        if (e) return e;
        *order = p.to;
        p.from = p.to;
        p.to = p.to == a->work ? a->work + a->T : a->work;
        p.shift += bits;
    } while ((a->V - 1) >> p.shift);
    return 0;
}

template <typename T, bool VECTORS> static gpu_error sum_all(const sum_args &args, gpu_stream s)
{
    int64_t slices = gpu_divide_up(args.a.C * (int64_t)sizeof(T), SLICE_BYTES);
    gpu_grid groups = gpu_grid_of(gpu_divide_up(args.a.T, THREADS / GPU_GROUP));
    gpu_error e = GPU_LAUNCH(sum_short<T, VECTORS>, groups, THREADS, 0, s, args);
    if (e || args.a.T <= LONG) return e;
    gpu_grid runs((unsigned)gpu_divide_up(args.a.T, LONG), (unsigned)slices);
    return GPU_LAUNCH(sum_long<T, VECTORS>, runs, THREADS, 0, s, args);
}

template <typename T> static gpu_error embedding_backward(const sum_args &args, gpu_stream s)
{
    const struct tt_embedding_backward_args *a = &args.a;
    bool vectors = a->C % gpu_vec<T>::n == 0 && gpu_aligned(a->dy) && gpu_aligned(a->dweight);
    return vectors ? sum_all<T, true>(args, s) : sum_all<T, false>(args, s);
}

gpu_error tt_gpu_embedding_backward(const struct tt_embedding_backward_args *a, gpu_stream s)
{
    sum_args args = {NULL, *a};
    if (a->T == 0) return 0;
    gpu_error e = sort_positions(a, &args.order, s);
    if (e) return e;
    return GPU_DISPATCH(a->dtype, T, embedding_backward<T>(args, s));
}
