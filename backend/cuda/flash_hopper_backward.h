/* Causal attention without S×S on Hopper, backward: the two kernels of backend/gpu/flash_backward.h, with Hopper's
 * instructions. Both are in one launch: some blocks own keys, the others queries, so that blocks of one kind fill the
 * chip when those of the other do not.
 *
 *              owns ROWS of   streams COLS of           scores     dP         adds up
 *   keys       x = k, y = v   u = q, w = dout, G heads  S^T = x·u^T  dP^T = y·w^T  dK += dS^T·u, dV += P^T·w
 *   queries    x = q, y = dout  u = k, w = v            S = x·u^T    dP = y·w^T    dQ += dS·u
 *
 * One warp copies; each of two warpgroups owns 64 rows. P and dS stay in registers from one product to the next.
 * Products are asynchronous: dP runs while P is computed, P^T·w runs while dS is computed, and the last product of a
 * step overlaps with the first of the next. The warpgroups alternate: one computes exponentials while the other
 * multiplies. RoPE is undone before the result is stored, since a lane holds whole pairs. */
#ifndef TT_CUDA_FLASH_HOPPER_BACKWARD_H
#define TT_CUDA_FLASH_HOPPER_BACKWARD_H

#include "backend/cuda/flash_hopper.h"

template <typename T_, int D_, int COLS_, int STAGES_, bool KEYS_> struct backward_shape {
    typedef T_ T;
    static constexpr int D = D_, COLS = COLS_, STAGES = STAGES_;
    static constexpr bool KEYS = KEYS_, DOCUMENTS = false;
    static constexpr bool DRAIN = KEYS && D > 64; /* too few registers to overlap with the next step */
    static constexpr int GROUPS = 2, ROWS = GROUPS * HOPPER_ROWS, THREADS = (GROUPS + 1) * HOPPER_GROUP;
    static constexpr int X_BYTES = ROWS * D * 2, U_BYTES = COLS * D * 2;
    static constexpr int WARPS = GROUPS * HOPPER_GROUP / GPU_WAVE; /* consumer warps */
    static constexpr size_t bytes = 2 * X_BYTES + 2 * STAGES * U_BYTES + HOPPER_ALIGN;
};

struct backward_args {
    struct hopper_map x, y, u, w;
    struct hopper_work work;
    const float *lse, *delta, *cos, *sin; /* cos and sin may be NULL */
    void *dx, *dy;                        /* dK and dV, or dQ and NULL */
    const int32_t *starts, *bounds;       /* bounds: ends of keys, starts of queries */
    int64_t ld;
    int S, heads, group;
    float scale;
};

template <typename C> struct backward_shared {
    unsigned char *x, *y, *stages; /* a stage: u, then w */
    float *stats;                  /* (STAGES, 2, COLS): lse·log2(e) and delta of the streamed queries */
    uint64_t *own_full, *own_empty, *full, *empty;
};

/* What an owned tile streams: columns `begin` to `end`, for each head of the group if they are queries. */
struct backward_range {
    int begin, end, steps;
};
template <typename C> GPU_DEVICE struct backward_range backward_range_of(const struct backward_args &a, int b, int tile)
{
    struct backward_range r = {0, (tile + 1) * C::ROWS, 0};
    if (C::KEYS) r.begin = tile * C::ROWS / C::COLS * C::COLS;
    if (C::KEYS || r.end > a.S) r.end = a.S;
    if (C::DOCUMENTS && C::KEYS) r.end = hopper_bound(a.bounds, b, a.S, (tile + 1) * C::ROWS - 1);
    if (C::DOCUMENTS && !C::KEYS) r.begin = hopper_bound(a.bounds, b, a.S, tile * C::ROWS) / C::COLS * C::COLS;
    r.steps = (r.end - r.begin + C::COLS - 1) / C::COLS * (C::KEYS ? a.group : 1);
    return r;
}

/* The producer, a whole warp: each lane loads a part of lse and delta, before it waits for a free stage. */
template <typename C> GPU_DEVICE void backward_copies(const struct backward_args &a, const backward_shared<C> &m)
{
    constexpr int EACH = C::COLS / GPU_WAVE;
    hopper_ring<1> own = {0, 0};
    hopper_ring<C::STAGES> ring = {0, 0};
    bool copies = gpu_lane() == 0;
    for (int n = hopper_first(a.work); hopper_in(a.work, n); n = hopper_next(a.work, n)) {
        struct hopper_item at = hopper_item_of(a.work, n);
        if (copies) {
            hopper_wait(m.own_empty, own.parity ^ 1);
            hopper_arrive_bytes(m.own_full, 2 * C::X_BYTES);
            hopper_copy(m.x, &a.x, at.tile * C::ROWS, at.h, at.b, m.own_full);
            hopper_copy(m.y, &a.y, at.tile * C::ROWS, at.h, at.b, m.own_full);
        }
        own.next();
        struct backward_range r = backward_range_of<C>(a, at.b, at.tile);
        int head = C::KEYS ? at.h * a.group : at.h / a.group;
        FLASH_NO_UNROLL
        for (int col = r.begin; r.steps > 0; r.steps--) {
            float lse[EACH], delta[EACH];
            GPU_UNROLL
            for (int i = 0; C::KEYS && i < EACH; i++) {
                int query = col + i * GPU_WAVE + gpu_lane();
                int64_t q = ((int64_t)at.b * a.heads + head) * a.S + query;
                lse[i] = query < a.S ? a.lse[q] * FLASH_LOG2E : GPU_INFINITY; /* makes P 0 beyond the end */
                delta[i] = query < a.S ? a.delta[q] : 0.0f;
            }
            hopper_wait(m.empty + ring.stage, ring.parity ^ 1);
            float *stats = m.stats + ring.stage * 2 * C::COLS + gpu_lane();
            GPU_UNROLL
            for (int i = 0; C::KEYS && i < EACH; i++)
                stats[i * GPU_WAVE] = lse[i], stats[C::COLS + i * GPU_WAVE] = delta[i];
            uint64_t *full = m.full + ring.stage;
            hopper_arrive_warp_bytes(full, 2 * C::U_BYTES);
            if (copies) {
                unsigned char *u = m.stages + ring.stage * 2 * C::U_BYTES;
                hopper_copy(u, &a.u, col, head, at.b, full);
                hopper_copy(u + C::U_BYTES, &a.w, col, head, at.b, full);
            }
            ring.next();
            col += C::COLS;
            if (col >= r.end) col = r.begin, head++;
        }
    }
}

struct alignas(8) backward_pair {
    float x, y;
};

/* lse·log2(e) or delta of a lane's queries: its two rows, or its columns, two in every eight. */
template <typename C> struct backward_stats {
    float of[C::KEYS ? C::COLS / 4 : 2];
    GPU_MEMBER void load(const float *cols)
    {
        GPU_UNROLL
        for (int j = 0; C::KEYS && j < C::COLS / 8; j++) {
            struct backward_pair two = *(const struct backward_pair *)(cols + 8 * j + gpu_lane() % 4 * 2);
            of[2 * j] = two.x, of[2 * j + 1] = two.y;
        }
    }
    GPU_MEMBER float at(int i) const { return of[C::KEYS ? i / 4 * 2 + i % 2 : i % 4 / 2]; } /* for element i */
};

/* Loads lse and delta of a lane's rows, which are queries. */
template <typename C>
GPU_DEVICE void backward_own(const struct backward_args &a, struct hopper_item at, int warp_row, backward_stats<C> &lse,
                             backward_stats<C> &delta)
{
    GPU_UNROLL
    for (int r = 0; r < 2; r++) {
        int i = warp_row + gpu_lane() / 4 + 8 * r;
        int64_t q = ((int64_t)at.b * a.heads + at.h) * a.S + i;
        lse.of[r] = i < a.S ? a.lse[q] * FLASH_LOG2E : GPU_INFINITY;
        delta.of[r] = i < a.S ? a.delta[q] : 0.0f;
    }
}

/* The least and the largest bound of a warpgroup's rows in sequence b. */
struct backward_documents {
    int b, least, most;
};

/* The bounds of a lane's two rows, from memory whenever they are needed: there are no registers to keep them in. */
template <typename C> struct backward_bounds {
    int of[2] = {0, 0};
    GPU_MEMBER void load(const int32_t *bounds, const backward_documents &documents, int S, int warp_row)
    {
        GPU_UNROLL
        for (int r = 0; C::DOCUMENTS && r < 2; r++)
            of[r] = hopper_bound(bounds, documents.b, S, warp_row + gpu_lane() / 4 + 8 * r);
    }
    GPU_MEMBER bool apart(int other, int i) const /* for element i */
    {
        return C::DOCUMENTS && (C::KEYS ? other >= of[i % 4 / 2] : other < of[i % 4 / 2]);
    }
};

/* Scores become P, for rows from `row` (the warp's first) and columns from `col` on; 0 where a query does not see a
 * key. `edge`: there are such pairs. */
template <typename C>
GPU_DEVICE void backward_p(const struct backward_args &a, float (&s)[C::COLS / 2], const backward_stats<C> &lse,
                           int row, int col, bool edge, float c, const backward_documents &documents)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    if (edge) {
        backward_bounds<C> bounds;
        bounds.load(a.bounds, documents, a.S, row);
        GPU_UNROLL
        for (int i = 0; i < C::COLS / 2; i++) {
            int own = row + g + i % 4 / 2 * 8, other = col + i / 4 * 8 + 2 * t + i % 2;
            if ((C::KEYS ? other < own : other > own) || bounds.apart(other, i)) s[i] = -GPU_INFINITY;
        }
    }
    GPU_UNROLL
    for (int i = 0; i < C::COLS / 2; i++) s[i] = gpu_exp2_fast(gpu_fma(s[i], c, -lse.at(i)));
}

/* dP becomes dS = P·(dP - delta), and 0 where a query does not see a key, even if dP is NaN there. The first query sees
 * only one key, so its dS is set to exactly 0, instead of the rounding error of dP - delta. */
template <typename C>
GPU_DEVICE void backward_ds(const struct backward_args &a, float (&dp)[C::COLS / 2], const float (&p)[C::COLS / 2],
                            const backward_stats<C> &delta, int row, int col, bool edge,
                            const backward_documents &documents)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    GPU_UNROLL
    for (int i = 0; i < C::COLS / 2; i++) dp[i] = p[i] * (dp[i] - delta.at(i));
    if (edge) {
        backward_bounds<C> bounds, starts;
        bounds.load(a.bounds, documents, a.S, row);
        starts.load(a.starts, documents, a.S, row);
        GPU_UNROLL
        for (int i = 0; i < C::COLS / 2; i++) {
            int own = row + g + i % 4 / 2 * 8, other = col + i / 4 * 8 + 2 * t + i % 2, query = C::KEYS ? other : own;
            bool alone = C::DOCUMENTS ? other == own && starts.of[i % 4 / 2] == own : query == 0;
            if ((C::KEYS ? other < own : other > own) || alone || bounds.apart(other, i)) dp[i] = 0.0f;
        }
    }
}

/* Rotates the pairs of a lane's two rows back. */
template <typename C>
GPU_DEVICE void backward_rotate(const struct backward_args &a, int warp_row, float (&dx)[C::D / 2])
{
    GPU_UNROLL
    for (int r = 0; r < 2; r++) {
        int row = warp_row + gpu_lane() / 4 + 8 * r, at = (row < a.S ? row : 0) * (C::D / 2) + gpu_lane() % 4;
        GPU_UNROLL
        for (int j = 0; j < C::D / 8; j++) {
            float c = a.cos[at + 4 * j], s = a.sin[at + 4 * j], p = dx[4 * j + 2 * r], q = dx[4 * j + 2 * r + 1];
            dx[4 * j + 2 * r] = p * c + q * s;
            dx[4 * j + 2 * r + 1] = q * c - p * s;
        }
    }
}

template <typename C>
GPU_DEVICE void backward_emit(const struct backward_args &a, struct hopper_item at, int warp_row, float (&dx)[C::D / 2],
                              const float (&dy)[C::KEYS ? C::D / 2 : 1])
{
    typedef typename C::T T;
    if (a.cos) backward_rotate<C>(a, warp_row, dx);
    const float scales[2] = {a.scale, a.scale}, ones[2] = {1.0f, 1.0f};
    int64_t to = ((int64_t)at.b * a.S + warp_row) * a.ld + at.h * C::D;
    hopper_store<T, C::D>((T *)a.dx + to, a.ld, dx, scales, a.S - warp_row);
    if constexpr (C::KEYS) hopper_store<T, C::D>((T *)a.dy + to, a.ld, dy, ones, a.S - warp_row);
}

template <typename C> GPU_DEVICE void backward_products(const struct backward_args &a, const backward_shared<C> &m)
{
    typedef typename C::T T;
    int group = hopper_group() - 1, own_parity = 0;
    uint32_t below = group * HOPPER_ROWS * HOPPER_ROW_BYTES, x = hopper_address(m.x) + below;
    uint32_t y = hopper_address(m.y) + below, stages = hopper_address(m.stages);
    hopper_ring<C::STAGES> ring = {0, 0};
    float c = a.scale * FLASH_LOG2E;
    hopper_turns<C::GROUPS> turns(group);

    FLASH_NO_UNROLL
    for (int n = hopper_first(a.work); hopper_in(a.work, n); n = hopper_next(a.work, n)) {
        int b = C::DOCUMENTS ? hopper_item_of(a.work, n).b : 0;
        struct backward_range r = backward_range_of<C>(a, b, hopper_item_of(a.work, n).tile);
        int row = hopper_item_of(a.work, n).tile * C::ROWS + group * HOPPER_ROWS, warp_row = row + gpu_wave() % 4 * 16;
        backward_stats<C> lse, delta;
        if (!C::KEYS) backward_own(a, hopper_item_of(a.work, n), warp_row, lse, delta);
        struct backward_documents documents = {b, 0, 0};
        if (C::DOCUMENTS) {
            documents.least = hopper_bound(a.bounds, b, a.S, row);
            documents.most = hopper_bound(a.bounds, b, a.S, row + HOPPER_ROWS - 1);
        }
        float dx[C::D / 2], dy[C::KEYS ? C::D / 2 : 1];
        GPU_UNROLL
        for (int i = 0; i < C::D / 2; i++) dx[i] = dy[C::KEYS ? i : 0] = 0.0f;
        int held = -1; /* the stage that the last product still reads; -1: none */
        hopper_wait(m.own_full, own_parity);
        own_parity ^= 1;
        FLASH_NO_UNROLL
        for (int col = r.begin; r.steps > 0; r.steps--, col = col + C::COLS < r.end ? col + C::COLS : r.begin) {
            int stage = hopper_uniform(ring.stage);
            hopper_wait(m.full + stage, ring.parity);
            ring.next();
            bool hidden = C::KEYS ? col + C::COLS <= row : col >= row + HOPPER_ROWS; /* keys after all queries */
            if (C::DOCUMENTS && (C::KEYS ? col >= documents.most : col + C::COLS <= documents.least)) hidden = true;
            if (hidden) {
                turns.take(), turns.pass();
                if (held >= 0)
                    hopper_mma_wait<0>(), hopper_arrive_warp(m.empty + held), held = -1; /* the producer may need it */
                hopper_arrive_warp(m.empty + stage);
                if (r.steps == 1) hopper_arrive_warp(m.own_empty);
                continue;
            }
            float s[C::COLS / 2], dp[C::COLS / 2];
            uint32_t p[C::COLS / 4]; /* P, then dS */
            uint32_t u = stages + stage * 2 * C::U_BYTES, w = u + C::U_BYTES;
            const float *cols = m.stats + stage * 2 * C::COLS;
            hopper_mma_begin();
            hopper_product<T, C::COLS, C::D, C::ROWS>(s, x, u);
            hopper_mma_commit();
            hopper_product<T, C::COLS, C::D, C::ROWS>(dp, y, w);
            hopper_mma_commit();
            lse.load(cols);
            hopper_mma_wait<1>();
            hopper_hold(s);
            if (held >= 0) hopper_arrive_warp(m.empty + held);
            bool edge = C::KEYS ? col < row + HOPPER_ROWS - 1 : col + C::COLS - 1 > row; /* on the diagonal */
            if (C::DOCUMENTS && (C::KEYS ? col + C::COLS > documents.least : col < documents.most)) edge = true;
            turns.take();
            backward_p<C>(a, s, lse, warp_row, col, edge, c, documents);
            if constexpr (C::KEYS) {
                hopper_round<T>(p, s);
                delta.load(cols + C::COLS);
                hopper_mma_begin();
                hopper_accumulate<T, C::COLS, C::D>(dy, p, w, true);
                hopper_mma_commit();
                turns.pass();
                hopper_mma_wait<1>();
            } else {
                hopper_mma_wait<0>();
            }
            hopper_hold(dp);
            if (r.steps == 1) hopper_arrive_warp(m.own_empty);
            backward_ds<C>(a, dp, s, delta, warp_row, col, edge, documents);
            if constexpr (C::KEYS) hopper_mma_wait<0>(), hopper_hold(p), hopper_hold(dy);
            hopper_round<T>(p, dp);
            hopper_mma_begin();
            hopper_accumulate<T, C::COLS, C::D>(dx, p, u, true);
            hopper_mma_commit();
            if (!C::KEYS) turns.pass();
            if constexpr (C::DRAIN) hopper_mma_wait<0>(), hopper_hold(dx);
            held = stage;
        }
        hopper_mma_wait<0>();
        hopper_hold(dx);
        hopper_hold(dy);
        if (held >= 0) hopper_arrive_warp(m.empty + held);
        backward_emit<C>(a, hopper_item_of(a.work, n), warp_row, dx, dy);
    }
}

template <typename C> GPU_DEVICE void backward_block(const struct backward_args &a, unsigned char *tiles)
{
    GPU_SHARED uint64_t barriers[2 + 2 * C::STAGES];
    alignas(16) GPU_SHARED float stats[C::KEYS ? C::STAGES * 2 * C::COLS : 1];
    backward_shared<C> m = {tiles,    tiles + C::X_BYTES, tiles + 2 * C::X_BYTES, stats,
                            barriers, barriers + 1,       barriers + 2,           barriers + 2 + C::STAGES};
    if (gpu_thread() == 0) {
        constexpr int ARRIVALS = C::WARPS * HOPPER_ARRIVALS;
        hopper_map_prefetch(&a.x), hopper_map_prefetch(&a.y), hopper_map_prefetch(&a.u), hopper_map_prefetch(&a.w);
        hopper_barrier_init(m.own_full, 1), hopper_barrier_init(m.own_empty, ARRIVALS);
        for (int s = 0; s < C::STAGES; s++)
            hopper_barrier_init(m.full + s, HOPPER_ARRIVALS), hopper_barrier_init(m.empty + s, ARRIVALS);
        hopper_barrier_publish();
    }
    gpu_block_sync();
    if (gpu_wave() < 4) {
        hopper_registers_give<24>();
        if (gpu_wave() == 0) backward_copies<C>(a, m);
    } else {
        hopper_registers_take<240>();
        backward_products<C>(a, m);
    }
}

struct backward_sides {
    struct backward_args keys, queries;
};

template <typename Keys, typename Queries>
HOPPER_KERNEL(Keys::THREADS)
flash_backward_hopper(HOPPER_ARGUMENT struct backward_sides a)
{
#ifdef HOPPER_CODE
    GPU_DYNAMIC_SHARED(shared);
    unsigned char *tiles = hopper_tiles(shared);
    if ((int)gpu_block_x() < a.queries.work.first)
        backward_block<Keys>(a.keys, tiles);
    else
        backward_block<Queries>(a.queries, tiles);
#endif
}

/* The arguments of the keys' or the queries' blocks, which start at `first`. False if TMA cannot read an operand. */
template <typename C>
static bool backward_side(struct backward_args *f, const struct tt_flash_backward_args *a, int first, bool crowded)
{
    int64_t heads = C::KEYS ? a->kv_heads : a->heads, others = C::KEYS ? a->heads : a->kv_heads, o_ld = a->heads * a->D;
    f->work = hopper_work_of(a->S, C::ROWS, a->B, heads, first, crowded);
    f->lse = a->lse, f->delta = a->delta, f->cos = a->cos, f->sin = a->sin, f->ld = a->ld;
    f->starts = a->starts, f->bounds = C::KEYS ? a->ends : a->starts;
    f->dx = C::KEYS ? a->dk : a->dq, f->dy = C::KEYS ? a->dv : NULL;
    f->S = (int)a->S, f->heads = (int)a->heads, f->group = (int)(a->heads / a->kv_heads), f->scale = a->scale;
    auto map = [&](struct hopper_map *to, const void *view, int64_t of, int64_t ld, int rows) {
        return hopper_map_rows(to, view, a->dtype, a->B, a->S, of, a->D, ld, rows);
    };
    return gpu_aligned(f->dx) && gpu_aligned(f->dy) && map(&f->x, C::KEYS ? a->k : a->q, heads, a->ld, C::ROWS) &&
           map(&f->y, C::KEYS ? a->v : a->dout, heads, C::KEYS ? a->ld : o_ld, C::ROWS) &&
           map(&f->u, C::KEYS ? a->q : a->k, others, a->ld, C::COLS) &&
           map(&f->w, C::KEYS ? a->dout : a->v, others, C::KEYS ? o_ld : a->ld, C::COLS);
}

/* Computes delta, then dK, dV and dQ. */
template <typename Keys, typename Queries>
static gpu_error backward_launch_one(const struct tt_flash_backward_args *a, gpu_stream s, bool crowded, bool *mine)
{
    static_assert(Keys::THREADS == Queries::THREADS, "a block is either");
    constexpr size_t bytes = Keys::bytes > Queries::bytes ? Keys::bytes : Queries::bytes;
    void (*kernel)(struct backward_sides) = flash_backward_hopper<Keys, Queries>;
    struct backward_sides f;
    *mine = hopper_has(kernel) && backward_side<Keys>(&f.keys, a, 0, crowded) &&
            backward_side<Queries>(&f.queries, a, f.keys.work.blocks, crowded);
    if (!*mine) return 0;
    gpu_error e = flash_backward_delta(a, s);
    if (!e) e = gpu_allow_shared(kernel, bytes);
    unsigned blocks = (unsigned)(f.keys.work.blocks + f.queries.work.blocks);
    return e ? e : GPU_LAUNCH(kernel, gpu_grid(blocks), Keys::THREADS, bytes, s, f);
}

template <typename Keys, typename Queries>
static gpu_error backward_launch(const struct tt_flash_backward_args *a, gpu_stream s, bool crowded, bool *mine)
{
    return a->starts ? backward_launch_one<hopper_documents<Keys>, hopper_documents<Queries>>(a, s, crowded, mine)
                     : backward_launch_one<Keys, Queries>(a, s, crowded, mine);
}

#endif
