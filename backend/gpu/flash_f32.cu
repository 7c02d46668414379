/* Causal attention without S×S in fp32, forward and backward, without matrix tiles.
 *
 * A block is 16 threads wide and THREADS/16 high. Thread (x, y) computes R rows y, y + HIGH, … and C columns of a
 * product, in runs of V columns: (x + 16·j)·V. Operands are read from shared memory four floats at a time: R + C reads
 * for R·C products, which is best if R = C. So for the scores of a tall tile the block is taken as 8 threads wide;
 * scores go through shared memory between the two products anyway. Names, and the two kernels of the backward pass, are
 * those of flash_backward.h. */
#include "backend/gpu/flash.h"

enum { ACROSS = 16, THREADS = GPU_FULL_BLOCK, HIGH = THREADS / ACROSS };

template <int DP> GPU_BOTH constexpr int run_of() { return DP % 64 == 0 ? 4 : 2; }

template <int N> struct alignas(4 * N) floats {
    float v[N];
};
template <int N> GPU_DEVICE floats<N> read(const float *p) { return *(const floats<N> *)p; }

/* s[i][j] = the dot product of row y + i·THREADS/X of a and row x + X·j of b, in a block X threads wide. */
template <int R, int C, int DP, int X = ACROSS>
GPU_DEVICE void products(float (&s)[R][C], const float *a, const float *b)
{
    constexpr int LD = flash_ld<float>(DP);
    a += gpu_thread() / X * LD, b += gpu_thread() % X * LD;
    GPU_UNROLL
    for (int i = 0; i < R; i++)
        GPU_UNROLL
        for (int j = 0; j < C; j++) s[i][j] = 0.0f;
    FLASH_UNROLL_TWICE
    for (int d = 0; d < DP; d += 4) {
        floats<4> u[R], w[C];
        GPU_UNROLL
        for (int i = 0; i < R; i++) u[i] = read<4>(a + i * (THREADS / X) * LD + d);
        GPU_UNROLL
        for (int j = 0; j < C; j++) w[j] = read<4>(b + j * X * LD + d);
        GPU_UNROLL
        for (int i = 0; i < R; i++)
            GPU_UNROLL
            for (int j = 0; j < C; j++)
                GPU_UNROLL
                for (int e = 0; e < 4; e++) s[i][j] = gpu_fma(u[i].v[e], w[j].v[e], s[i][j]);
    }
}

/* sum (rows y + HIGH·i, DP/16 columns) += p (rows, COLS) · w (COLS, DP). */
template <int R, int COLS, int DP>
GPU_DEVICE void accumulate(float (&sum)[R][DP / ACROSS], const float *p, const float *w)
{
    constexpr int LD = flash_ld<float>(DP), P_LD = flash_ld<float>(COLS), V = run_of<DP>();
    p += gpu_thread() / ACROSS * P_LD, w += gpu_thread() % ACROSS * V;
    FLASH_UNROLL_TWICE
    for (int k = 0; k < COLS; k += 4) {
        floats<4> u[R];
        GPU_UNROLL
        for (int i = 0; i < R; i++) u[i] = read<4>(p + i * HIGH * P_LD + k);
        GPU_UNROLL
        for (int e = 0; e < 4; e++)
            GPU_UNROLL
            for (int j = 0; j < DP / ACROSS / V; j++) {
                floats<V> x = read<V>(w + (k + e) * LD + j * ACROSS * V);
                GPU_UNROLL
                for (int i = 0; i < R; i++)
                    GPU_UNROLL
                    for (int v = 0; v < V; v++)
                        sum[i][j * V + v] = gpu_fma(u[i].v[e], x.v[v], sum[i][j * V + v]);
            }
    }
}

/* Row y + HIGH·i of out = sum[i], for rows below count and columns below D. amax: of these, or NULL. */
template <int R, int DP>
GPU_DEVICE void emit(const float (&sum)[R][DP / ACROSS], float *out, int64_t ld, int count, int D, bool wide,
                     float *amax)
{
    constexpr int V = run_of<DP>();
    uint32_t most = 0;
    GPU_UNROLL
    for (int i = 0; i < R; i++) {
        int r = gpu_thread() / ACROSS + i * HIGH;
        GPU_UNROLL
        for (int j = 0; j < DP / ACROSS / V; j++) {
            int x = (gpu_thread() % ACROSS + j * ACROSS) * V;
            if (r >= count || x >= D) continue;
            floats<V> y;
            GPU_UNROLL
            for (int v = 0; v < V; v++) {
                y.v[v] = sum[i][j * V + v];
                if (x + v < D) most = gpu_most(most, y.v[v]);
            }
            if (wide) {
                *(floats<V> *)(out + r * ld + x) = y;
                continue;
            }
            GPU_UNROLL
            for (int v = 0; v < V; v++)
                if (x + v < D) out[r * ld + x + v] = y.v[v];
        }
    }
    if (amax) gpu_wave_amax<float>(amax, most);
}

/* The codes of the same, which begin at `at` in o. */
template <int R, int DP>
GPU_DEVICE void emit_codes(const float (&sum)[R][DP / ACROSS], const struct tt_flash_args &a, int64_t at, int count)
{
    constexpr int V = run_of<DP>();
    float inverse = tt_fp8_inverse(*a.code_scale);
    GPU_UNROLL
    for (int i = 0; i < R; i++) {
        int r = gpu_thread() / ACROSS + i * HIGH;
        GPU_UNROLL
        for (int n = 0; n < DP / ACROSS; n += 2) {
            int x = (gpu_thread() % ACROSS + n / V * ACROSS) * V + n % V;
            if (r < count && x < a.D)
                flash_code_pair(a, at + r * a.heads * a.D + x, sum[i][n], sum[i][n + 1], inverse);
        }
    }
}

/* The index of a thread's element (i, j) in a tile (rows, COLS). */
template <int COLS, int X = ACROSS> GPU_DEVICE int place(int i, int j)
{
    return (gpu_thread() / X + i * (THREADS / X)) * flash_ld<float>(COLS) + gpu_thread() % X + j * X;
}

/* Waits until all copies of the block are done and visible to all threads. */
GPU_DEVICE void settle()
{
    gpu_copy_commit();
    gpu_copy_wait<0>();
    gpu_block_sync();
}

/* ---- forward ---- */

template <int DP, int ROWS, int KEYS> GPU_BOTH constexpr size_t forward_bytes()
{
    return ((size_t)(ROWS + KEYS) * flash_ld<float>(DP) + (size_t)ROWS * flash_ld<float>(KEYS)) * sizeof(float);
}

/* Writes e^(scale·(score - maximum)) to p; sums and outputs are rescaled to the new maximum. c = scale·log2(e). */
template <int R, int C, int N, int COLS>
GPU_DEVICE void softmax_tile(float (&s)[R][C], float (&top)[R], float (&sum)[R], float (&o)[R][N], float *p, float c)
{
    GPU_UNROLL
    for (int i = 0; i < R; i++) {
        float new_top = top[i];
        GPU_UNROLL
        for (int j = 0; j < C; j++) new_top = gpu_max(new_top, s[i][j]);
        new_top = gpu_group_max<ACROSS>(new_top);
        float shift = flash_shift(new_top, c);
        float factor = gpu_exp2_fast(top[i] * c - shift), part = 0.0f;
        top[i] = new_top;
        GPU_UNROLL
        for (int j = 0; j < C; j++) {
            float e = gpu_exp2_fast(gpu_fma(s[i][j], c, -shift));
            p[place<COLS>(i, j)] = e;
            part += e;
        }
        sum[i] = sum[i] * factor + part;
        GPU_UNROLL
        for (int n = 0; n < N; n++) o[i][n] *= factor;
    }
}

template <int DP, int ROWS, int KEYS>
GPU_KERNEL GPU_BOUNDS_MIN(THREADS, 2) forward(struct tt_flash_args a, bool wide)
{
    constexpr int LD = flash_ld<float>(DP), R = ROWS / HIGH, C = KEYS / ACROSS, N = DP / ACROSS;
    GPU_DYNAMIC_SHARED(shared);
    float *q = (float *)shared, *kv = q + ROWS * LD, *p = kv + KEYS * LD; /* keys, then values, of a tile */

    int S = (int)a.S, D = (int)a.D, first = (int)((a.S - 1) / ROWS - gpu_block_y()) * ROWS;
    int64_t b = gpu_block_x() / a.heads, h = gpu_block_x() % a.heads;
    int64_t at = b * S * a.ld + h / (a.heads / a.kv_heads) * D;
    const float *k_rows = (const float *)a.k + at, *v_rows = (const float *)a.v + at;
    int end = first + ROWS < S ? first + ROWS : S;
    const float *q_rows = (const float *)a.q + (b * S + first) * a.ld + h * D;
    flash_load<float, ROWS, DP, THREADS>(q, q_rows, a.ld, S - first, D, wide);

    flash_padding<float, DP> starts = {q};
    starts.put(ROWS, a.starts, 0, a.starts, b, S, first);
    int begin = flash_bound(a.starts, 0, b, S, first) / KEYS * KEYS;
    float top[R], sum[R], o[R][N], c = a.scale * FLASH_LOG2E;
    GPU_UNROLL
    for (int i = 0; i < R; i++) {
        top[i] = -GPU_INFINITY, sum[i] = 0.0f;
        GPU_UNROLL
        for (int n = 0; n < N; n++) o[i][n] = 0.0f;
    }
    auto fetch = [&](const float *rows, int key) {
        flash_load<float, KEYS, DP, THREADS>(kv, rows + key * a.ld, a.ld, S - key, D, wide);
        settle();
    };
    for (int key = begin; key < end; key += KEYS) {
        float s[R][C];
        fetch(k_rows, key);
        products<R, C, DP>(s, q, kv);
        GPU_UNROLL
        for (int i = 0; i < R; i++) {
            int y = gpu_thread() / ACROSS + i * HIGH, start = starts.bound(y);
            GPU_UNROLL
            for (int j = 0; j < C; j++) {
                int other = key + gpu_thread() % ACROSS + j * ACROSS;
                if (other > first + y || other < start) s[i][j] = -GPU_INFINITY;
            }
        }
        softmax_tile<R, C, N, KEYS>(s, top, sum, o, p, c);
        gpu_block_sync();
        fetch(v_rows, key);
        accumulate<R, KEYS, DP>(o, p, kv);
        gpu_block_sync();
    }
    GPU_UNROLL
    for (int i = 0; i < R; i++) {
        int row = first + gpu_thread() / ACROSS + i * HIGH;
        sum[i] = gpu_group_sum<ACROSS>(sum[i]);
        float inverse = gpu_divide(1.0f, sum[i]);
        GPU_UNROLL
        for (int n = 0; n < N; n++) o[i][n] *= inverse;
        if (row < S && gpu_thread() % ACROSS == 0)
            a.lse[(b * a.heads + h) * S + row] = top[i] * c * FLASH_LN2 + gpu_log(sum[i]);
    }
    int64_t to = ((b * S + first) * a.heads + h) * D;
    emit<R, DP>(o, (float *)a.o + to, a.heads * D, S - first, D, wide, a.amax);
    if (a.codes) emit_codes<R, DP>(o, a, to, S - first);
}

template <int DP, int ROWS, int KEYS> static gpu_error forward_launch(const struct tt_flash_args *a, gpu_stream s)
{
    bool wide = flash_wide(a->q, a->ld, a->D, sizeof(float)) && gpu_aligned(a->k) && gpu_aligned(a->v) &&
                gpu_aligned(a->o);
    size_t bytes = forward_bytes<DP, ROWS, KEYS>();
    gpu_grid grid((unsigned)(a->B * a->heads), (unsigned)gpu_divide_up(a->S, ROWS));
    gpu_error e = gpu_allow_shared(forward<DP, ROWS, KEYS>, bytes);
    return e ? e : GPU_LAUNCH(forward<DP, ROWS, KEYS>, grid, THREADS, bytes, s, *a, wide);
}

/* Larger tiles need fewer reads per product: FULL keys if they fit into shared memory, which they can only on chips
 * with asynchronous copies. */
template <int DP, int ROWS, int FULL, int KEYS>
static gpu_error forward_fitting(const struct tt_flash_args *a, gpu_stream s)
{
    if constexpr (!GPU_COPY_HELD)
        if (forward_bytes<DP, ROWS, FULL>() <= (size_t)gpu_shared_limit()) return forward_launch<DP, ROWS, FULL>(a, s);
    return forward_launch<DP, ROWS, KEYS>(a, s);
}

gpu_error flash_f32(const struct tt_flash_args *a, gpu_stream s)
{
    if (a->D <= 32) return forward_launch<32, 64, 64>(a, s);
    if (a->D <= 64) return forward_launch<64, 64, 64>(a, s);
    if (a->D <= 96) return forward_launch<96, 64, 32>(a, s);
    if (a->D <= 128) return forward_fitting<128, 64, 64, 32>(a, s);
    return forward_launch<256, 32, 16>(a, s);
}

/* ---- backward ---- */

/* For large heads, if a tall tile does not fit, both streamed operands share one buffer, and one of them is read twice.
 */
template <int DP, int ROWS, int COLS> GPU_BOTH constexpr bool one_buffer() { return DP >= 128 && ROWS == COLS; }

template <int DP, int ROWS, int COLS> GPU_BOTH constexpr size_t backward_bytes()
{
    return ((size_t)(2 * ROWS + (one_buffer<DP, ROWS, COLS>() ? 1 : 2) * COLS) * flash_ld<float>(DP) +
            (size_t)ROWS * flash_ld<float>(COLS)) * sizeof(float);
}

/* Scores become P, dP becomes dS, for rows from `row` and columns from `col` on. Both are 0 where the query does not
 * see the key. The first query of a document sees only one key, so its dS is set to exactly 0, instead of the rounding
 * error of dP - delta. lse and delta belong to the queries: to a thread's columns if KEYS, else to its rows. */
template <bool KEYS, int X, int DP, int R, int C, int Q>
GPU_DEVICE void probabilities(float (&s)[R][C], float (&dp)[R][C], int row, int col, int S, const float (&lse)[Q],
                              const float (&delta)[Q], const flash_padding<float, DP> &bounds, float c)
{
    col += gpu_thread() % X;
    GPU_UNROLL
    for (int i = 0; i < R; i++) {
        int y = gpu_thread() / X + i * (THREADS / X), mine = row + y, bound = bounds.bound(y);
        bool first = bounds.start(y) == mine;
        GPU_UNROLL
        for (int j = 0; j < C; j++) {
            int other = col + j * X, n = KEYS ? j : i, query = KEYS ? other : mine, key = KEYS ? mine : other;
            bool seen = query < S && key <= query && (KEYS ? query < bound : key >= bound);
            bool alone = first && query == key;
            s[i][j] = seen ? gpu_exp2_fast(gpu_fma(s[i][j], c, -lse[n] * FLASH_LOG2E)) : 0.0f;
            dp[i][j] = seen && !alone ? s[i][j] * (dp[i][j] - delta[n]) : 0.0f;
        }
    }
}

template <int COLS, int X, int R, int C> GPU_DEVICE void put(float *p, const float (&s)[R][C])
{
    GPU_UNROLL
    for (int i = 0; i < R; i++)
        GPU_UNROLL
        for (int j = 0; j < C; j++) p[place<COLS, X>(i, j)] = s[i][j];
}

/* The tiles that a block streams: `each` tiles of one head, then those of the next. */
template <int DP, int COLS, bool KEYS> struct streamed {
    const struct tt_flash_backward_args &a;
    int b, head, kv, begin, each; /* head: of the queries; the first of a group if KEYS */
    bool wide;

    GPU_MEMBER int col(int t) const { return begin + t % each * COLS; }
    GPU_MEMBER void fetch(float *tile, const void *base, int64_t ld, int h, int t) const
    {
        const float *from = (const float *)base + (b * a.S + col(t)) * ld + h * a.D;
        flash_load<float, COLS, DP, THREADS>(tile, from, ld, (int)a.S - col(t), (int)a.D, wide);
    }
    GPU_MEMBER void fetch_u(float *u, int t) const { fetch(u, KEYS ? a.q : a.k, a.ld, KEYS ? head + t / each : kv, t); }
    GPU_MEMBER void fetch_w(float *w, int t) const
    {
        if (KEYS) fetch(w, a.dout, a.heads * a.D, head + t / each, t);
        else fetch(w, a.v, a.ld, kv, t);
    }
    /* lse and delta of N queries from `first` on, in steps of `step`; 0 beyond the end. */
    template <int N> GPU_MEMBER void stats(float (&lse)[N], float (&delta)[N], int first, int step, int t) const
    {
        int64_t row = (b * a.heads + head + t / each) * a.S;
        GPU_UNROLL
        for (int n = 0; n < N; n++) {
            int q = first + n * step;
            lse[n] = q < a.S ? a.lse[row + q] : 0.0f, delta[n] = q < a.S ? a.delta[row + q] : 0.0f;
        }
    }
};

template <int DP, int ROWS, int COLS, bool KEYS>
GPU_KERNEL GPU_BOUNDS_MIN(THREADS, 2) gradients(struct tt_flash_backward_args a, bool wide)
{
    constexpr int LD = flash_ld<float>(DP), R = ROWS / HIGH, N = DP / ACROSS;
    constexpr int X = ROWS > COLS ? 8 : ACROSS, Y = THREADS / X, SR = ROWS / Y, SC = COLS / X;
    constexpr bool ONE = one_buffer<DP, ROWS, COLS>();
    static_assert(ROWS % COLS == 0, "tiles of keys and of queries begin together");
    GPU_DYNAMIC_SHARED(shared);
    float *x = (float *)shared, *y = x + ROWS * LD, *u = y + ROWS * LD, *w = ONE ? u : u + COLS * LD,
          *p = w + COLS * LD;

    int S = (int)a.S, D = (int)a.D, G = (int)(a.heads / a.kv_heads), owners = (int)(KEYS ? a.kv_heads : a.heads);
    int b = (int)gpu_block_x() / owners, h = (int)gpu_block_x() % owners, kv = KEYS ? h : h / G;
    int first = (int)(KEYS ? gpu_block_y() : (a.S - 1) / ROWS - gpu_block_y()) * ROWS;
    const int32_t *of = KEYS ? a.ends : a.starts;
    int begin = KEYS ? first : flash_bound(of, 0, b, S, first) / COLS * COLS;
    int end = KEYS ? flash_bound(of, S, b, S, first + ROWS - 1) : first + ROWS < S ? first + ROWS : S;
    flash_padding<float, DP> bounds = {x};
    bounds.put(ROWS, of, KEYS ? S : 0, a.starts, b, S, first);
    int each = (end - begin + COLS - 1) / COLS, tiles = KEYS ? each * G : each;
    streamed<DP, COLS, KEYS> from = {a, b, KEYS ? h * G : h, kv, begin, each, wide};

    int64_t row = (int64_t)b * S + first, at = row * a.ld + h * D, o_ld = a.heads * a.D;
    const float *own_y = KEYS ? (const float *)a.v + at : (const float *)a.dout + row * o_ld + h * D;
    flash_load<float, ROWS, DP, THREADS>(x, (const float *)(KEYS ? a.k : a.q) + at, a.ld, S - first, D, wide);
    flash_load<float, ROWS, DP, THREADS>(y, own_y, KEYS ? a.ld : o_ld, S - first, D, wide);
    from.fetch_u(u, 0);
    if (!ONE) from.fetch_w(w, 0);
    float sum_p[R][N], sum_ds[R][N], lse[KEYS ? SC : SR], delta[KEYS ? SC : SR], c = a.scale * FLASH_LOG2E;
    GPU_UNROLL
    for (int i = 0; i < R; i++)
        GPU_UNROLL
        for (int n = 0; n < N; n++) sum_p[i][n] = sum_ds[i][n] = 0.0f;
    if (!KEYS) from.stats(lse, delta, first + gpu_thread() / X, Y, 0);
    for (int t = 0; t < tiles; t++) {
        float s[SR][SC], dp[SR][SC];
        bool more = t + 1 < tiles;
        if (KEYS) from.stats(lse, delta, from.col(t) + gpu_thread() % X, X, t);
        settle();
        products<SR, SC, DP, X>(s, x, u);
        if (ONE) {
            gpu_block_sync();
            from.fetch_w(w, t);
            settle();
        }
        products<SR, SC, DP, X>(dp, y, w);
        probabilities<KEYS, X>(s, dp, first, from.col(t), S, lse, delta, bounds, c);
        if (KEYS) {
            put<COLS, X>(p, s);
            gpu_block_sync();
            accumulate<R, COLS, DP>(sum_p, p, w);
            gpu_block_sync();
        }
        put<COLS, X>(p, dp);
        gpu_block_sync();
        if (!ONE && more) from.fetch_w(w, t + 1); /* in flight during the next product */
        if (ONE) {
            from.fetch_u(u, t);
            settle();
        }
        accumulate<R, COLS, DP>(sum_ds, p, u);
        gpu_block_sync();
        if (more) from.fetch_u(u, t + 1);
    }
    GPU_UNROLL
    for (int i = 0; i < R; i++)
        GPU_UNROLL
        for (int n = 0; n < N; n++) sum_ds[i][n] *= a.scale;
    emit<R, DP>(sum_ds, (float *)(KEYS ? a.dk : a.dq) + at, a.ld, S - first, D, wide, nullptr);
    if (KEYS) emit<R, DP>(sum_p, (float *)a.dv + at, a.ld, S - first, D, wide, nullptr);
}

template <int DP, int ROWS, int COLS>
static gpu_error backward_launch(const struct tt_flash_backward_args *a, gpu_stream s)
{
    bool wide = flash_wide(a->q, a->ld, a->D, sizeof(float)) && gpu_aligned(a->k) && gpu_aligned(a->v) &&
                gpu_aligned(a->dout) && gpu_aligned(a->dq) && gpu_aligned(a->dk) && gpu_aligned(a->dv);
    size_t bytes = backward_bytes<DP, ROWS, COLS>();
    unsigned tiles = (unsigned)gpu_divide_up(a->S, ROWS);
    gpu_grid keys((unsigned)(a->B * a->kv_heads), tiles), queries((unsigned)(a->B * a->heads), tiles);
    gpu_error e = gpu_allow_shared(gradients<DP, ROWS, COLS, true>, bytes);
    if (!e) e = gpu_allow_shared(gradients<DP, ROWS, COLS, false>, bytes);
    if (!e) e = GPU_LAUNCH(gradients<DP, ROWS, COLS, true>, keys, THREADS, bytes, s, *a, wide);
    return e ? e : GPU_LAUNCH(gradients<DP, ROWS, COLS, false>, queries, THREADS, bytes, s, *a, wide);
}

template <int DP, int FULL, int ROWS, int COLS>
static gpu_error backward_fitting(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if constexpr (!GPU_COPY_HELD)
        if (backward_bytes<DP, FULL, COLS>() <= (size_t)gpu_shared_limit())
            return backward_launch<DP, FULL, COLS>(a, s);
    return backward_launch<DP, ROWS, COLS>(a, s);
}

gpu_error flash_backward_f32(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if (a->D <= 32) return backward_launch<32, 32, 32>(a, s);
    if (a->D <= 64) return backward_fitting<64, 64, 32, 32>(a, s);
    if (a->D <= 96) return backward_launch<96, 32, 32>(a, s);
    if (a->D <= 128) return backward_fitting<128, 64, 32, 32>(a, s);
    return backward_launch<256, 16, 16>(a, s);
}
