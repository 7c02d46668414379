/* Causal attention without S×S on Hopper, forward.
 *
 * One warp copies; each of GROUPS warpgroups owns 64 queries. Q is read from shared memory; tiles of KEYS keys and
 * values come through rings of STAGES buffers. A warpgroup goes through the tiles from the diagonal backwards, so that
 * only its first tile needs a mask. The scores of a tile are computed while the values of the tile before are
 * accumulated; P stays in registers. The warpgroups take turns at multiplying, so that one computes exponentials while
 * another's products run.
 *
 * With DOCUMENTS, tiles of keys before the document of a block's first query are not copied. A warpgroup whose
 * documents start later releases the last tiles unread, as it does the first ones beyond its diagonal. */
#include "backend/cuda/flash_hopper.h"
#include "backend/cuda/hopper_codes.h"

template <typename T_, int D_, int GROUPS_, int KEYS_, int STAGES_> struct forward_shape {
    typedef T_ T;
    static constexpr bool DOCUMENTS = false;
    static constexpr int D = D_, GROUPS = GROUPS_, KEYS = KEYS_, STAGES = STAGES_;
    static constexpr int ROWS = GROUPS * HOPPER_ROWS, THREADS = (GROUPS + 1) * HOPPER_GROUP;
    static constexpr int Q_BYTES = ROWS * D * 2, KV_BYTES = KEYS * D * 2;
    static constexpr int WARPS = GROUPS * HOPPER_GROUP / GPU_WAVE; /* consumer warps */
    static constexpr int TAKE = GROUPS == 2 ? 240 : 160, GIVE = GROUPS == 2 ? 24 : 32;
    static constexpr size_t bytes = Q_BYTES + 2 * STAGES * KV_BYTES + HOPPER_ALIGN;
};

struct forward_args {
    struct hopper_map q, k, v;
    struct hopper_work work;
    void *o;
    float *lse, *amax;
    uint8_t *codes; /* E4M3; or NULL */
    const float *code_scale;
    int S, heads, group; /* query heads; query heads per key/value head */
    float scale;
    const int32_t *starts;
};

template <typename C> struct forward_shared {
    unsigned char *q, *k, *v;
    uint64_t *q_full, *q_empty, *k_full, *k_empty, *v_full, *v_empty;
};

template <typename C> GPU_DEVICE int forward_tiles(int S, int tile) /* tiles of keys that a tile of queries sees */
{
    int end = (tile + 1) * C::ROWS;
    return ((end < S ? end : S) + C::KEYS - 1) / C::KEYS;
}

/* The first tile of keys that queries from `row` on see. */
template <typename C> GPU_DEVICE int forward_least(const struct forward_args &a, int b, int row)
{
    return C::DOCUMENTS ? hopper_bound(a.starts, b, a.S, row) / C::KEYS : 0;
}

template <typename C> GPU_DEVICE void forward_copies(const struct forward_args &a, const forward_shared<C> &m)
{
    hopper_ring<1> q = {0, 0};
    hopper_ring<C::STAGES> kv = {0, 0};
    for (int n = hopper_first(a.work); hopper_in(a.work, n); n = hopper_next(a.work, n)) {
        struct hopper_item at = hopper_item_of(a.work, n);
        hopper_wait(m.q_empty, q.parity ^ 1);
        hopper_arrive_bytes(m.q_full, C::Q_BYTES);
        hopper_copy(m.q, &a.q, at.tile * C::ROWS, at.h, at.b, m.q_full);
        q.next();
        int least = forward_least<C>(a, at.b, at.tile * C::ROWS);
        for (int j = forward_tiles<C>(a.S, at.tile) - 1; j >= least; j--) {
            int s = kv.stage;
            hopper_wait(m.k_empty + s, kv.parity ^ 1);
            hopper_arrive_bytes(m.k_full + s, C::KV_BYTES);
            hopper_copy(m.k + s * C::KV_BYTES, &a.k, j * C::KEYS, at.h / a.group, at.b, m.k_full + s);
            hopper_wait(m.v_empty + s, kv.parity ^ 1);
            hopper_arrive_bytes(m.v_full + s, C::KV_BYTES);
            hopper_copy(m.v + s * C::KV_BYTES, &a.v, j * C::KEYS, at.h / a.group, at.b, m.v_full + s);
            kv.next();
        }
    }
}

/* The running maxima of a lane's two rows, and its part of their sums. */
struct forward_rows {
    float top[2], sum[2];
};

/* The maxima of the rows of a tile. */
template <int N> GPU_DEVICE void forward_maxima(const float (&s)[N], float (&top)[2])
{
    float part[2][4];
    GPU_UNROLL
    for (int i = 0; i < N; i++) {
        float &x = part[i % 4 / 2][i / 4 % 2 * 2 + i % 2];
        x = i < 8 ? s[i] : gpu_max(x, s[i]);
    }
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        top[r] = gpu_tile_row_max(gpu_max(gpu_max(part[r][0], part[r][1]), gpu_max(part[r][2], part[r][3])));
}

/* Scores become e^(scale·(score - w.top)), c = scale·log2(e). w.top is an earlier maximum; it is kept as long as no
 * score is far above it, since P is then still in the range of T. Returns true if it was raised: then the caller must
 * multiply the outputs by `factor`, as this has done with the sums. */
template <int N> GPU_DEVICE bool forward_softmax(float (&s)[N], struct forward_rows &w, float (&factor)[2], float c)
{
    const float far = 8.0f; /* P is at most 2^8 */
    float top[2];
    forward_maxima(s, top);
    bool rises = (top[0] - w.top[0]) * c > far || (top[1] - w.top[1]) * c > far;
    rises = gpu_ballot(rises) != 0;
    if (rises) {
        GPU_UNROLL
        for (int r = 0; r < 2; r++) {
            top[r] = gpu_max(top[r], w.top[r]);
            factor[r] = gpu_exp2_fast((w.top[r] - top[r]) * c);
            w.top[r] = top[r];
            w.sum[r] *= factor[r];
        }
    }
    float shift[2] = {w.top[0] * c, w.top[1] * c}, sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    GPU_UNROLL
    for (int i = 0; i < N; i++) {
        s[i] = gpu_exp2_fast(gpu_fma(s[i], c, -shift[i % 4 / 2]));
        sums[i % 4] += s[i];
    }
    w.sum[0] += sums[0] + sums[1];
    w.sum[1] += sums[2] + sums[3];
    return rises;
}

/* Masks keys after their query; `ahead` is the query of the first row minus the first key. */
template <int N> GPU_DEVICE void forward_mask(float (&s)[N], int ahead)
{
    int row = ahead + gpu_wave() % 4 * 16 + gpu_lane() / 4, col = gpu_lane() % 4 * 2;
    GPU_UNROLL
    for (int i = 0; i < N; i++)
        if (col + i / 4 * 8 + i % 2 > row + i % 4 / 2 * 8) s[i] = -GPU_INFINITY;
}

/* Masks keys before the documents of a lane's two rows; `first` is where they start, minus the first key. */
template <int N> GPU_DEVICE void forward_mask_before(float (&s)[N], const int (&first)[2])
{
    int col = gpu_lane() % 4 * 2;
    GPU_UNROLL
    for (int i = 0; i < N; i++)
        if (col + i / 4 * 8 + i % 2 < first[i % 4 / 2]) s[i] = -GPU_INFINITY;
}

template <typename C>
GPU_DEVICE void forward_finish(const struct forward_args &a, struct forward_rows &w, const float (&o)[C::D / 2],
                               struct hopper_item at, int row)
{
    typedef typename C::T T;
    int first = row + gpu_wave() % 4 * 16, g = gpu_lane() / 4;
    float *lse = a.lse + ((int64_t)at.b * a.heads + at.h) * a.S + first, inverse[2];
    GPU_UNROLL
    for (int r = 0; r < 2; r++) {
        float sum = gpu_tile_row_sum(w.sum[r]);
        inverse[r] = gpu_divide(1.0f, sum);
        if (gpu_lane() % 4 == 0 && first + g + 8 * r < a.S) lse[g + 8 * r] = w.top[r] * a.scale + gpu_log(sum);
    }
    int64_t ld = (int64_t)a.heads * C::D, to = ((int64_t)at.b * a.S + first) * ld + at.h * C::D;
    hopper_amax<T, C::D>(a.amax, o, inverse, a.S - first);
    hopper_store<T, C::D>((T *)a.o + to, ld, o, inverse, a.S - first);
    if (a.codes) {
        uint32_t words[C::D / 8];
        hopper_codes<T, C::D, TT_E4M3>(words, o, inverse, *a.code_scale);
        hopper_store_codes<C::D>(a.codes + to, ld, words, a.S - first);
    }
}

template <typename C> GPU_DEVICE void forward_products(const struct forward_args &a, const forward_shared<C> &m)
{
    typedef typename C::T T;
    int group = hopper_group() - 1;
    bool arrives = gpu_lane() == 0; /* on behalf of its warp */
    uint32_t q = hopper_address(m.q) + group * HOPPER_ROWS * HOPPER_ROW_BYTES;
    uint32_t k = hopper_address(m.k), v = hopper_address(m.v);
    float c = a.scale * FLASH_LOG2E;
    int q_parity = 0;
    hopper_ring<C::STAGES> at_k = {0, 0}, at_v = {0, 0}; /* values are one tile behind their keys */
    auto release = [&](uint64_t *empty) {
        if (arrives) hopper_arrive(empty);
    };
    /* Releases a buffer that no product has read. No lane may still be waiting for its phase, which is over as soon as
     * the buffer is filled again. */
    auto release_unread = [&](uint64_t *empty) { gpu_wave_sync(), release(empty); };
    hopper_turns<C::GROUPS> turns(group);

    FLASH_NO_UNROLL
    for (int n = hopper_first(a.work); hopper_in(a.work, n); n = hopper_next(a.work, n)) {
        int tile = hopper_item_of(a.work, n).tile;
        int row = tile * C::ROWS + group * HOPPER_ROWS, tiles = forward_tiles<C>(a.S, tile);
        bool seen = row / C::KEYS < tiles; /* false: all its queries are beyond S */
        int j = row / C::KEYS;
        int b = C::DOCUMENTS ? hopper_item_of(a.work, n).b : 0;
        int least = forward_least<C>(a, b, tile * C::ROWS), last = seen ? forward_least<C>(a, b, row) : least;
        auto skip_tile = [&](bool turn) { /* that only the other warpgroups need */
            if (turn) turns.take(), turns.pass();
            hopper_wait(m.k_full + at_k.stage, at_k.parity), release_unread(m.k_empty + at_k.stage), at_k.next();
            hopper_wait(m.v_full + at_v.stage, at_v.parity), release_unread(m.v_empty + at_v.stage), at_v.next();
        };
        if (!seen) j = least - 1;
        for (int skip = tiles - 1; skip > j; skip--) skip_tile(skip > least);
        int starts[2] = {0, 0};
        if (C::DOCUMENTS) {
            int own = row + gpu_wave() % 4 * 16 + gpu_lane() / 4;
            starts[0] = hopper_bound(a.starts, b, a.S, own), starts[1] = hopper_bound(a.starts, b, a.S, own + 8);
        }
        auto mask_before = [&](float (&s)[C::KEYS / 2]) {
            int first[2] = {starts[0] - j * C::KEYS, starts[1] - j * C::KEYS};
            if (gpu_ballot(first[0] > 0 || first[1] > 0)) forward_mask_before(s, first);
        };
        float s[C::KEYS / 2], o[C::D / 2], factor[2];
        uint32_t p[C::KEYS / 4];
        struct forward_rows w = {{-GPU_INFINITY, -GPU_INFINITY}, {0.0f, 0.0f}};
        bool begun = false;
        auto scores = [&]() {
            hopper_wait(m.k_full + at_k.stage, at_k.parity);
            hopper_mma_begin();
            hopper_product<T, C::KEYS, C::D, C::ROWS>(s, q, k + hopper_uniform(at_k.stage) * C::KV_BYTES);
            hopper_mma_commit();
        };
        auto values = [&]() {
            hopper_wait(m.v_full + at_v.stage, at_v.parity);
            hopper_mma_begin();
            hopper_accumulate<T, C::KEYS, C::D>(o, p, v + hopper_uniform(at_v.stage) * C::KV_BYTES, begun);
            hopper_mma_commit();
            begun = true;
        };

        hopper_wait(m.q_full, q_parity);
        q_parity ^= 1;
        if (seen) {
            scores();
            hopper_mma_wait<0>();
            hopper_hold(s);
            release(m.k_empty + at_k.stage), at_k.next();
            if (j == last) release(m.q_empty);
            forward_mask(s, row - j * C::KEYS);
            if constexpr (C::DOCUMENTS) mask_before(s);
            forward_softmax(s, w, factor, c);
            hopper_round<T>(p, s);
            FLASH_NO_UNROLL
            while (--j >= last) {
                turns.take();
                scores();
                values();
                turns.pass();
                hopper_mma_wait<1>();
                hopper_hold(s);
                release(m.k_empty + at_k.stage), at_k.next();
                if (j == last) release(m.q_empty);
                if constexpr (C::DOCUMENTS) mask_before(s);
                bool rises = forward_softmax(s, w, factor, c);
                hopper_hold(s);
                hopper_mma_wait<0>();
                hopper_hold(o);
                hopper_hold(p);
                release(m.v_empty + at_v.stage), at_v.next();
                if (rises) {
                    GPU_UNROLL
                    for (int i = 0; i < C::D / 2; i++) o[i] *= factor[i % 4 / 2];
                }
                hopper_round<T>(p, s);
            }
            values();
            hopper_mma_wait<0>();
            hopper_hold(o);
            release(m.v_empty + at_v.stage), at_v.next();
            for (int skip = last; skip > least; skip--) skip_tile(true);
            forward_finish<C>(a, w, o, hopper_item_of(a.work, n), row);
        } else {
            release_unread(m.q_empty);
        }
    }
}

template <typename C> HOPPER_KERNEL(C::THREADS) flash_forward_hopper(HOPPER_ARGUMENT struct forward_args a)
{
#ifdef HOPPER_CODE
    GPU_DYNAMIC_SHARED(shared);
    GPU_SHARED uint64_t barriers[2 + 4 * C::STAGES];
    uint64_t *ring = barriers + 2;
    unsigned char *tiles = hopper_tiles(shared);
    forward_shared<C> m = {tiles,
                           tiles + C::Q_BYTES,
                           tiles + C::Q_BYTES + C::STAGES * C::KV_BYTES,
                           barriers,
                           barriers + 1,
                           ring,
                           ring + C::STAGES,
                           ring + 2 * C::STAGES,
                           ring + 3 * C::STAGES};
    if (gpu_thread() == 0) {
        hopper_map_prefetch(&a.q), hopper_map_prefetch(&a.k), hopper_map_prefetch(&a.v);
        hopper_barrier_init(m.q_full, 1), hopper_barrier_init(m.q_empty, C::WARPS);
        for (int s = 0; s < C::STAGES; s++) {
            hopper_barrier_init(m.k_full + s, 1), hopper_barrier_init(m.k_empty + s, C::WARPS);
            hopper_barrier_init(m.v_full + s, 1), hopper_barrier_init(m.v_empty + s, C::WARPS);
        }
        hopper_barrier_publish();
    }
    gpu_block_sync();
    if (gpu_wave() < 4) {
        hopper_registers_give<C::GIVE>();
        if (gpu_thread() == 0) forward_copies<C>(a, m);
    } else {
        hopper_registers_take<C::TAKE>();
        forward_products<C>(a, m);
    }
#endif
}

template <typename C>
static gpu_error forward_launch_one(const struct tt_flash_args *a, gpu_stream s, bool crowded, bool *mine)
{
    struct forward_args f;
    f.work = hopper_work_of(a->S, C::ROWS, a->B, a->heads, 0, crowded);
    f.heads = (int)a->heads;
    f.group = (int)(a->heads / a->kv_heads);
    f.o = a->o, f.lse = a->lse, f.starts = a->starts, f.S = (int)a->S, f.scale = a->scale;
    f.amax = a->amax, f.codes = a->codes, f.code_scale = a->code_scale;
    *mine = hopper_has(flash_forward_hopper<C>) && gpu_aligned(a->o) && gpu_aligned(a->codes) &&
            (!a->codes || a->to == TT_E4M3) &&
            hopper_map_rows(&f.q, a->q, a->dtype, a->B, a->S, a->heads, a->D, a->ld, C::ROWS) &&
            hopper_map_rows(&f.k, a->k, a->dtype, a->B, a->S, a->kv_heads, a->D, a->ld, C::KEYS) &&
            hopper_map_rows(&f.v, a->v, a->dtype, a->B, a->S, a->kv_heads, a->D, a->ld, C::KEYS);
    if (!*mine) return 0;
    gpu_error e = gpu_allow_shared(flash_forward_hopper<C>, C::bytes);
    return e ? e : GPU_LAUNCH(flash_forward_hopper<C>, gpu_grid((unsigned)f.work.blocks), C::THREADS, C::bytes, s, f);
}

template <typename C>
static gpu_error forward_launch(const struct tt_flash_args *a, gpu_stream s, bool crowded, bool *mine)
{
    return a->starts ? forward_launch_one<hopper_documents<C>>(a, s, crowded, mine)
                     : forward_launch_one<C>(a, s, crowded, mine);
}

template <typename T>
static gpu_error forward_choose(const struct tt_flash_args *a, gpu_stream s, bool crowded, bool *mine)
{
    if (a->D == 64) return forward_launch<forward_shape<T, 64, 3, 128, 2>>(a, s, crowded, mine);
    return forward_launch<forward_shape<T, 128, 2, 128, 2>>(a, s, crowded, mine);
}

bool flash_hopper(const struct tt_flash_args *a, gpu_stream s, bool crowded, gpu_error *e)
{
    bool mine = false;
    if (!hopper_flash_supported(a->dtype, a->B, a->S, a->heads, a->kv_heads, a->D)) return false;
    *e = a->dtype == TT_BF16 ? forward_choose<gpu_bf16>(a, s, crowded, &mine)
                             : forward_choose<gpu_half>(a, s, crowded, &mine);
    return mine;
}

bool flash_hopper_here(void) { return hopper_has(flash_forward_hopper<forward_shape<gpu_bf16, 128, 2, 128, 2>>); }
