/* Gate, up and h in one kernel. */
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

template <typename T_> struct swiglu_forward_shape : product_shape {
    typedef T_ T;
    static constexpr bool COLUMNS = false;
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

bool swiglu_hopper_forward(const struct swiglu_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = product_map_x(&a, p->x, p->dtype, p->M, p->K) && product_map_w(&a, p->w, p->dtype, 2 * p->F, p->K) &&
                product_map_out(&a.h_map, p->h, p->dtype, p->M, p->F) &&
                product_map_out(&a.out, p->gu, p->dtype, p->M, 2 * p->F);
    if (!good) return false;
    return p->dtype == TT_BF16 ? product_launch<swiglu_forward_shape<gpu_bf16>>(a, p->M, p->F, p->K, p->units, s, e)
                               : product_launch<swiglu_forward_shape<gpu_half>>(a, p->M, p->F, p->K, p->units, s, e);
}
