/* SwiGLU in matrix products on Hopper.
 *
 *   forward    gate|up (M, 2F) = x (M, K)·W^T, W (2F, K); h = silu(gate)·up from the rounded numbers
 *   backward   dh (M, F) = dy (M, K)·W, W (K, F), which is only rounded and never stored; gate|up become their
 *              gradients, and h is computed again
 *
 * In the forward pass half of a tile's columns are of the gate and half of up: a lane has both at the same place. The
 * copy engine stores them. The backward pass reads and writes memory by its threads. */
#ifndef TT_CUDA_SWIGLU_HOPPER_H
#define TT_CUDA_SWIGLU_HOPPER_H

#include "backend/cuda/product_hopper.h"
#include "backend/gpu/activation.h"

/* 16 rows of gate, up and h. */
template <typename T>
GPU_DEVICE void swiglu_forward_rows(const struct product_args &a, struct product_slabs &slabs,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
{
    uint32_t gate[4][4], up[4][4], h[4][4];
    int head = col / PRODUCT_HALF;
    GPU_UNROLL
    for (int i = 0; i < 16; i++) gate[i / 4][i % 4] = gpu_pack2<T>(c[2 * i], c[2 * i + 1]);
    slabs.store(&a.out, row, head, gate);
    GPU_UNROLL
    for (int i = 0; i < 16; i++) {
        float x[2], y[2];
        uint32_t &word = up[i / 4][i % 4];
        word = gpu_pack2<T>(c[PRODUCT_COLS / 4 + 2 * i], c[PRODUCT_COLS / 4 + 2 * i + 1]);
        gpu_unpack2<T>(gate[i / 4][i % 4], x[0], x[1]);
        gpu_unpack2<T>(word, y[0], y[1]);
        h[i / 4][i % 4] = gpu_pack2<T>(swiglu<T>(x[0], y[0]), swiglu<T>(x[1], y[1]));
    }
    slabs.store(&a.out, row, a.F / PRODUCT_HALF + head, up);
    slabs.store(&a.h_map, row, head, h);
}

/* What a tile will read of gate and up goes to the cache while it multiplies. The copy engine could do this too, but
 * the operands would wait behind it. */
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

template <typename T_> struct swiglu_forward_shape {
    typedef T_ T;
    static constexpr bool COLUMNS = false, SLABS = true;
    static constexpr int WIDTH = PRODUCT_HALF;
    static GPU_MEMBER int w_row(const struct product_args &a, int half, int col) { return half * a.F + col; }
    struct held {};
    template <int N> static GPU_MEMBER void ahead(const struct product_args &, struct product_tile, int, held &) {}
    template <int N>
    static GPU_MEMBER void rows(const struct product_args &a, struct product_slabs &slabs, held &, int,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        swiglu_forward_rows<T>(a, slabs, c, row, col);
    }
};

template <typename T_> struct swiglu_backward_shape {
    typedef T_ T;
    static constexpr bool COLUMNS = true, SLABS = false;
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

#endif
