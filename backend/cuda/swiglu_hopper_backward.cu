/* The gradients of gate and up, and h in one kernel. */
#include "backend/cuda/swiglu_hopper_sets.h"

/* ---- blocks of several tiles ---- */

template <typename T_> struct swiglu_backward_shape {
    typedef T_ T;
    typedef struct swiglu_sets slabs;
    static constexpr bool COLUMNS = true, BRINGS = true;
    static constexpr int WIDTH = PRODUCT_COLS, STAGES = 5;
    struct held {};
    template <int N> static GPU_MEMBER void ahead(const struct product_args &, struct product_tile, int, held &) {}
    template <int N>
    static GPU_MEMBER void rows(const struct product_args &a, swiglu_sets &sets, held &, int m,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        GPU_UNROLL
        for (int half = 0; half < swiglu_sets::HALVES; half++)
            sets.turn<T>(a, m * swiglu_sets::HALVES + half, c + half * PRODUCT_COLS / 4, row,
                         col / PRODUCT_HALF + half);
        if (m + 1 == N) sets.end_tile();
    }
};

/* ---- blocks of a single tile: the threads themselves read and write memory, which takes less to set up ---- */

/* Prefetches what a tile will read of gate and up to the cache, while it multiplies. The copy engine could do this too,
 * but then the operands would have to wait. */
template <int N> GPU_DEVICE void swiglu_ahead(const struct product_args &a, struct product_tile at)
{
    constexpr int LINE = HOPPER_ROW_BYTES / 2, LINES = 2 * PRODUCT_COLS / LINE; /* of a row */
    GPU_UNROLL
    for (int i = 0; i < N * HOPPER_ROWS * LINES / HOPPER_GROUP; i++) {
        int n = i * HOPPER_GROUP + (int)gpu_thread() % HOPPER_GROUP, line = n % LINES;
        int64_t row = at.row + n / LINES, col = at.col + line / 2 * LINE;
        if (row < a.M) hopper_prefetch((const uint16_t *)a.gu + row * 2 * a.F + line % 2 * a.F + col);
    }
}

/* 16 rows of the gradients of gate and up, and of h: 16 bytes a lane. */
template <typename T>
GPU_DEVICE void swiglu_backward_rows(const struct product_args &a, const float (&c)[PRODUCT_COLS / 2], int row, int col)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    constexpr int AT_ONCE = 4;
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        GPU_UNROLL
        for (int j = 0; j < PRODUCT_COLS / 8; j += 4 * AT_ONCE) {
            bool inside = row + g + 8 * r < a.M;
            int64_t at_row = inside ? row + g + 8 * r : row;
            T *gate = (T *)a.gu + at_row * 2 * a.F + col + 8 * (j + t);
            T *h = (T *)a.h + at_row * a.F + col + 8 * (j + t);
            gpu_bytes16 x[AT_ONCE], y[AT_ONCE];
            if (inside) {
                GPU_UNROLL
                for (int n = 0; n < AT_ONCE; n++)
                    x[n] = gpu_load16(gate + 32 * n), y[n] = gpu_load16(gate + a.F + 32 * n);
            }
            GPU_UNROLL
            for (int n = 0; n < AT_ONCE; n++) {
                gpu_bytes16 dh;
                GPU_UNROLL
                for (int i = 0; i < 4; i++) {
                    int at = 4 * (j + 4 * n + i) + 2 * r;
                    dh.w[i] = gpu_pack2<T>(c[at], c[at + 1]);
                }
                hopper_transpose4(dh.w);
                if (!inside) continue;
                gpu_vec<T> u = gpu_vec_from<T>(x[n]), v = gpu_vec_from<T>(y[n]), d = gpu_vec_from<T>(dh);
                GPU_UNROLL
                for (int i = 0; i < gpu_vec<T>::n; i++) swiglu_back<T>(u.v[i], v.v[i], d.v[i]);
                gpu_vec_store(gate + 32 * n, u);
                gpu_vec_store(gate + a.F + 32 * n, v);
                gpu_vec_store(h + 32 * n, d);
            }
        }
}

template <typename T_> struct swiglu_backward_one : product_shape {
    typedef T_ T;
    static constexpr bool COLUMNS = true;
    static constexpr int WIDTH = PRODUCT_COLS;
    struct held {};
    template <int N>
    static GPU_MEMBER void ahead(const struct product_args &a, struct product_tile at, int, held &)
    {
        swiglu_ahead<N>(a, at);
    }
    template <int N>
    static GPU_MEMBER void rows(const struct product_args &a, struct product_slabs &, held &, int,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        swiglu_backward_rows<T>(a, c, row, col);
    }
};

template <typename T>
static bool launch(const struct product_args &a, const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    return product_launch<swiglu_backward_shape<T>, swiglu_backward_one<T>>(a, p->M, p->F, p->K, p->units, s, e);
}

bool swiglu_hopper_backward(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = p->F > 0 && p->F % PRODUCT_COLS == 0 && product_map_x(&a, p->x, p->dtype, p->M, p->K) &&
                product_map_out(&a.out, p->gu, p->dtype, p->M, 2 * p->F) &&
                product_map_out(&a.h_map, p->h, p->dtype, p->M, p->F) &&
                hopper_map_rows(&a.w, p->w, p->dtype, 1, p->K, p->F / PRODUCT_HALF, PRODUCT_HALF, p->F, PRODUCT_STEP);
    if (!good) return false;
    a.gu = p->gu, a.h = p->h;
    return p->dtype == TT_BF16 ? launch<gpu_bf16>(a, p, s, e) : launch<gpu_half>(a, p, s, e);
}
