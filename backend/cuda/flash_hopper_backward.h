/* Causal attention without S×S on Hopper, backward: the two kernels of backend/gpu/flash_backward.h, with Hopper's
 * instructions. Both are in one launch: some blocks own keys, the others queries, so that blocks of one kind fill the
 * chip when those of the other do not.
 *
 *              owns ROWS of   streams COLS of           scores     dP         adds up
 *   keys       x = k, y = v   u = q, w = dout, G heads  S^T = x·u^T  dP^T = y·w^T  dK += dS^T·u, dV += P^T·w
 *   queries    x = q, y = dout  u = k, w = v            S = x·u^T    dP = y·w^T    dQ += dS·u
 *
 * One warp copies; each of two warpgroups owns 64 rows. P and dS stay in registers from one product to the next.
 * Products are asynchronous: dP runs while P is computed, and the last products of a step run before the first of the
 * next, without a gap. So a warpgroup computes P and dS in one go and then multiplies four times, while the other
 * computes. With heads of 128 they take turns at computing; with heads of 64 they are faster without. RoPE is undone
 * before the result is stored, since a lane holds whole pairs. */
#ifndef TT_CUDA_FLASH_HOPPER_BACKWARD_H
#define TT_CUDA_FLASH_HOPPER_BACKWARD_H

#include "backend/cuda/flash_hopper.h"
#include "backend/cuda/hopper_codes.h"
#include "backend/gpu/rotate.h"

template <typename T_, int D_, int COLS_, int STAGES_, bool KEYS_> struct backward_shape {
    typedef T_ T;
    static constexpr int D = D_, COLS = COLS_, STAGES = STAGES_;
    static constexpr bool KEYS = KEYS_, DOCUMENTS = false;
    static constexpr bool TURNS = D > 64;
    static constexpr bool DRAIN = KEYS && D == 64 && COLS > 64; /* too few registers to overlap with the next */
    static constexpr int OWN = D == 64 ? 2 : 1; /* buffers of owned rows: with two, the next ones are copied ahead */
    static constexpr int COPIER = D == 64 ? 40 : 24, MULTIPLIER = D == 64 ? 232 : 240; /* registers of a thread */
    static constexpr int GROUPS = 2, ROWS = GROUPS * HOPPER_ROWS, THREADS = (GROUPS + 1) * HOPPER_GROUP;
    static constexpr int X_BYTES = ROWS * D * 2, U_BYTES = COLS * D * 2;
    static constexpr int WARPS = GROUPS * HOPPER_GROUP / GPU_WAVE; /* consumer warps */
    static constexpr size_t bytes = 2 * OWN * X_BYTES + 2 * STAGES * U_BYTES + HOPPER_ALIGN;
};

/* Where the codes of dx or dy go, in place of these; rows NULL: there are no codes. */
struct backward_codes {
    uint8_t *rows, *transposed; /* (T, ld), (ld, T) from this matrix's columns on */
};

struct backward_args {
    struct hopper_map x, y, u, w;
    struct hopper_work work;
    const float *lse, *delta, *cos, *sin; /* cos and sin may be NULL */
    void *dx, *dy;                        /* dK and dV, or dQ and NULL */
    float *amax;
    struct backward_codes dx_codes, dy_codes; /* E5M2 */
    const float *code_scale;
    bool wide; /* 16 neighbouring rows of a warp are aligned in `transposed`, and all in one sequence */
    const int32_t *starts, *bounds;       /* bounds: ends of keys, starts of queries */
    int64_t ld, code_ld, tokens; /* tokens: B·S */
    int S, heads, group;
    float scale;
};

template <typename C> struct backward_shared {
    unsigned char *own, *stages; /* owned rows: x, then y; a stage: u, then w */
    float *stats;                /* (STAGES, 2, COLS): lse·log2(e) and delta of the streamed queries */
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
    hopper_ring<C::OWN> own = {0, 0};
    hopper_ring<C::STAGES> ring = {0, 0};
    bool copies = gpu_lane() == 0;
    for (int n = hopper_first(a.work); hopper_in(a.work, n); n = hopper_next(a.work, n)) {
        struct hopper_item at = hopper_item_of(a.work, n);
        if (copies) {
            unsigned char *x = m.own + own.stage * 2 * C::X_BYTES;
            uint64_t *full = m.own_full + own.stage;
            hopper_wait(m.own_empty + own.stage, own.parity ^ 1);
            hopper_arrive_bytes(full, 2 * C::X_BYTES);
            hopper_copy(x, &a.x, at.tile * C::ROWS, at.h, at.b, full);
            hopper_copy(x + C::X_BYTES, &a.y, at.tile * C::ROWS, at.h, at.b, full);
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

/* lse·log2(e) or delta of a lane's queries: its two rows, in registers; or its columns, two in every eight, in shared
 * memory, since there are no registers for all of them. */
template <typename C> struct backward_stats {
    float of[2];
    const float *cols;
    /* For the four elements from 4·j on. */
    GPU_MEMBER void load(int j, float (&x)[4]) const
    {
        struct backward_pair two = {of[0], of[1]};
        if (C::KEYS) two = *(const struct backward_pair *)(cols + 8 * j + gpu_lane() % 4 * 2);
        GPU_UNROLL
        for (int i = 0; i < 4; i++) x[i] = (C::KEYS ? i % 2 : i / 2) ? two.y : two.x;
    }
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
    for (int j = 0; j < C::COLS / 8; j++) {
        float l[4];
        lse.load(j, l);
        GPU_UNROLL
        for (int i = 0; i < 4; i++) s[4 * j + i] = gpu_exp2_fast(gpu_fma(s[4 * j + i], c, -l[i]));
    }
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
    for (int j = 0; j < C::COLS / 8; j++) {
        float d[4];
        delta.load(j, d);
        GPU_UNROLL
        for (int i = 4 * j; i < 4 * j + 4; i++) dp[i] = p[i] * (dp[i] - d[i % 4]);
    }
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
        for (int j = 0; j < C::D / 8; j++)
            rotate_floats(dx[4 * j + 2 * r], dx[4 * j + 2 * r + 1], a.cos[at + 4 * j], -a.sin[at + 4 * j]);
    }
}

/* The codes of those of a warp's 16 rows that are in the sequence. */
template <typename C>
GPU_DEVICE void backward_store_codes(const struct backward_args &a, const struct backward_codes &to,
                                     struct hopper_item at, int warp_row, const float (&c)[C::D / 2],
                                     const float (&factor)[2])
{
    int64_t row = (int64_t)at.b * a.S + warp_row;
    uint32_t words[C::D / 8];
    hopper_codes<typename C::T, C::D, TT_E5M2>(words, c, factor, *a.code_scale);
    hopper_store_codes<C::D>(to.rows + row * a.code_ld + at.h * C::D, a.code_ld, words, a.S - warp_row);
    hopper_store_transposed<C::D>(to.transposed + at.h * C::D * a.tokens + row, a.tokens, words, a.S - warp_row,
                                  a.wide);
}

template <typename C>
GPU_DEVICE void backward_emit(const struct backward_args &a, struct hopper_item at, int warp_row, float (&dx)[C::D / 2],
                              const float (&dy)[C::KEYS ? C::D / 2 : 1])
{
    typedef typename C::T T;
    if (a.cos) backward_rotate<C>(a, warp_row, dx);
    const float scales[2] = {a.scale, a.scale}, ones[2] = {1.0f, 1.0f};
    int64_t to = ((int64_t)at.b * a.S + warp_row) * a.ld + at.h * C::D;
    hopper_amax<T, C::D>(a.amax, dx, scales, a.S - warp_row);
    if (a.dx_codes.rows)
        backward_store_codes<C>(a, a.dx_codes, at, warp_row, dx, scales);
    else
        hopper_store<T, C::D>((T *)a.dx + to, a.ld, dx, scales, a.S - warp_row);
    if constexpr (C::KEYS) {
        hopper_amax<T, C::D>(a.amax, dy, ones, a.S - warp_row);
        if (a.dx_codes.rows)
            backward_store_codes<C>(a, a.dy_codes, at, warp_row, dy, ones);
        else
            hopper_store<T, C::D>((T *)a.dy + to, a.ld, dy, ones, a.S - warp_row);
    }
}

template <typename C> GPU_DEVICE void backward_products(const struct backward_args &a, const backward_shared<C> &m)
{
    typedef typename C::T T;
    int group = hopper_group() - 1;
    uint32_t owned = hopper_address(m.own) + group * HOPPER_ROWS * HOPPER_ROW_BYTES, stages = hopper_address(m.stages);
    hopper_ring<C::STAGES> ring = {0, 0};
    int before = 0; /* tiles before this one */
    float c = a.scale * FLASH_LOG2E;
    hopper_turns<C::GROUPS> turns(C::TURNS ? group : 0);

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
        uint32_t p[C::KEYS ? C::COLS / 4 : 1], ds[C::COLS / 4]; /* P and dS, which the last products still read */
        int held = -1;                                          /* and their stage; -1: none */
        int mine = hopper_uniform(before % C::OWN);
        uint32_t x = owned + mine * 2 * C::X_BYTES, y = x + C::X_BYTES;
        hopper_wait(m.own_full + mine, before++ / C::OWN & 1);
        FLASH_NO_UNROLL
        for (int col = r.begin; r.steps > 0; r.steps--, col = col + C::COLS < r.end ? col + C::COLS : r.begin) {
            int stage = hopper_uniform(ring.stage);
            hopper_wait(m.full + stage, ring.parity);
            ring.next();
            bool hidden = C::KEYS ? col + C::COLS <= row : col >= row + HOPPER_ROWS; /* keys after all queries */
            if (C::DOCUMENTS && (C::KEYS ? col >= documents.most : col + C::COLS <= documents.least)) hidden = true;
            if (hidden) {
                if (C::TURNS) turns.take(), turns.pass();
                if (held >= 0)
                    hopper_mma_wait<0>(), hopper_arrive_warp(m.empty + held), held = -1; /* the producer may need it */
                hopper_arrive_warp(m.empty + stage);
                if (r.steps == 1) hopper_arrive_warp(m.own_empty + mine);
                continue;
            }
            float s[C::COLS / 2], dp[C::COLS / 2];
            uint32_t u = stages + stage * 2 * C::U_BYTES, w = u + C::U_BYTES;
            if (C::KEYS) lse.cols = m.stats + stage * 2 * C::COLS, delta.cols = lse.cols + C::COLS;
            if (C::DRAIN) hopper_mma_wait<0>();
            hopper_mma_begin();
            hopper_product<T, C::COLS, C::D, C::ROWS>(s, x, u);
            hopper_mma_commit();
            hopper_mma_wait<1>(); /* for the last products of the step before */
            if (held >= 0) hopper_arrive_warp(m.empty + held);
            hopper_mma_begin();
            hopper_product<T, C::COLS, C::D, C::ROWS>(dp, y, w);
            hopper_mma_commit();
            hopper_mma_wait<1>();
            hopper_hold(s);
            bool edge = C::KEYS ? col < row + HOPPER_ROWS - 1 : col + C::COLS - 1 > row; /* on the diagonal */
            if (C::DOCUMENTS && (C::KEYS ? col + C::COLS > documents.least : col < documents.most)) edge = true;
            if (C::TURNS) turns.take();
            backward_p<C>(a, s, lse, warp_row, col, edge, c, documents);
            hopper_mma_wait<0>();
            hopper_hold(dp);
            if (r.steps == 1) hopper_arrive_warp(m.own_empty + mine);
            backward_ds<C>(a, dp, s, delta, warp_row, col, edge, documents);
            hopper_round<T>(ds, dp);
            if constexpr (C::KEYS) hopper_round<T>(p, s);
            hopper_mma_begin();
            if constexpr (C::KEYS) hopper_accumulate<T, C::COLS, C::D>(dy, p, w, true);
            hopper_accumulate<T, C::COLS, C::D>(dx, ds, u, true);
            hopper_mma_commit();
            if (C::TURNS) turns.pass();
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
    GPU_SHARED uint64_t barriers[2 * C::OWN + 2 * C::STAGES];
    alignas(16) GPU_SHARED float stats[C::KEYS ? C::STAGES * 2 * C::COLS : 1];
    uint64_t *streamed = barriers + 2 * C::OWN;
    backward_shared<C> m = {
        tiles, tiles + 2 * C::OWN * C::X_BYTES, stats, barriers, barriers + C::OWN, streamed, streamed + C::STAGES};
    if (gpu_thread() == 0) {
        constexpr int ARRIVALS = C::WARPS * HOPPER_ARRIVALS;
        hopper_map_prefetch(&a.x), hopper_map_prefetch(&a.y), hopper_map_prefetch(&a.u), hopper_map_prefetch(&a.w);
        for (int s = 0; s < C::OWN; s++)
            hopper_barrier_init(m.own_full + s, 1), hopper_barrier_init(m.own_empty + s, ARRIVALS);
        for (int s = 0; s < C::STAGES; s++)
            hopper_barrier_init(m.full + s, HOPPER_ARRIVALS), hopper_barrier_init(m.empty + s, ARRIVALS);
        hopper_barrier_publish();
    }
    gpu_block_sync();
    if (gpu_wave() < 4) {
        hopper_registers_give<C::COPIER>();
        if (gpu_wave() == 0) backward_copies<C>(a, m);
    } else {
        hopper_registers_take<C::MULTIPLIER>();
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

static struct backward_codes backward_codes_at(const struct tt_flash_backward_args *a, int64_t heads_before)
{
    int64_t col = heads_before * a->D;
    if (!a->codes) return {};
    return {a->codes + col, a->transposed + col * a->B * a->S};
}

/* The arguments of the keys' or the queries' blocks, which start at `first`. False if TMA cannot read an operand. */
template <typename C>
static bool backward_side(struct backward_args *f, const struct tt_flash_backward_args *a, int first, bool crowded)
{
    int64_t heads = C::KEYS ? a->kv_heads : a->heads, others = C::KEYS ? a->heads : a->kv_heads, o_ld = a->heads * a->D;
    f->work = hopper_work_of(a->S, C::ROWS, a->B, heads, first, crowded);
    f->lse = a->lse, f->delta = a->delta, f->cos = a->cos, f->sin = a->sin, f->ld = a->ld;
    f->starts = a->starts, f->bounds = C::KEYS ? a->ends : a->starts;
    f->dx = C::KEYS ? a->dk : a->dq, f->dy = C::KEYS ? a->dv : NULL, f->amax = a->amax;
    f->dx_codes = backward_codes_at(a, C::KEYS ? a->heads : 0);
    f->dy_codes = backward_codes_at(a, a->heads + a->kv_heads);
    f->code_scale = a->code_scale, f->code_ld = (a->heads + 2 * a->kv_heads) * a->D, f->tokens = a->B * a->S;
    f->wide = a->S % 16 == 0 && gpu_aligned(a->transposed);
    f->S = (int)a->S, f->heads = (int)a->heads, f->group = (int)(a->heads / a->kv_heads), f->scale = a->scale;
    auto map = [&](struct hopper_map *to, const void *view, int64_t of, int64_t ld, int rows) {
        return hopper_map_rows(to, view, a->dtype, a->B, a->S, of, a->D, ld, rows);
    };
    return gpu_aligned(f->dx) && gpu_aligned(f->dy) && gpu_aligned(a->codes) && (!a->codes || a->to == TT_E5M2) &&
           map(&f->x, C::KEYS ? a->k : a->q, heads, a->ld, C::ROWS) &&
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
