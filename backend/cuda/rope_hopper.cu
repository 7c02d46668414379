/* q|k|v (M, N) = x (M, K)·W^T, W (N, K), with the columns of q and k rotated before they are stored. A lane has both
 * numbers of a pair. */
#include "backend/cuda/product_hopper.h"

/* 16 rows of 64 columns of one head, of which this lane has pairs at, at + 4, ... of rows g and g + 8. */
template <typename T>
GPU_DEVICE void rope_slab(const struct product_args &a, const float *c, int row, int at, uint32_t (&w)[4][4])
{
    GPU_UNROLL
    for (int r = 0; r < 2; r++) {
        int64_t angle = (int64_t)((row + gpu_lane() / 4 + 8 * r) % a.S) * (a.D / 2) + at;
        float cosine[8], sine[8];
        GPU_UNROLL
        for (int j = 0; j < 8; j++) cosine[j] = a.cos[angle + 4 * j], sine[j] = a.sin[angle + 4 * j];
        GPU_UNROLL
        for (int j = 0; j < 8; j++) {
            float p = c[4 * j + 2 * r], q = c[4 * j + 2 * r + 1];
            w[j / 2][j % 2 * 2 + r] = gpu_pack2<T>(p * cosine[j] - q * sine[j], p * sine[j] + q * cosine[j]);
        }
    }
}

template <typename T_> struct rope_shape {
    typedef T_ T;
    static constexpr bool COLUMNS = false, SLABS = true;
    static constexpr int WIDTH = PRODUCT_COLS;
    static GPU_MEMBER int w_row(const struct product_args &, int half, int col) { return half * PRODUCT_HALF + col; }
    static GPU_MEMBER void ahead(const struct product_args &, struct product_tile) {}
    static GPU_MEMBER void rows(const struct product_args &a, struct product_slabs &slabs,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            uint32_t w[4][4];
            const float *mine = c + half * PRODUCT_COLS / 4;
            int from = col + half * PRODUCT_HALF;
            if (from < a.turned) {
                rope_slab<T>(a, mine, row, from % a.D / 2 + gpu_lane() % 4, w);
            } else {
                GPU_UNROLL
                for (int i = 0; i < 16; i++) w[i / 4][i % 4] = gpu_pack2<T>(mine[2 * i], mine[2 * i + 1]);
            }
            if (from < a.F) slabs.store(&a.out, row, from / PRODUCT_HALF, w);
        }
    }
};

bool rope_hopper(const struct rope_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = p->D > 0 && p->D % PRODUCT_HALF == 0 && p->D <= INT32_MAX && p->S > 0 && p->S <= INT32_MAX &&
                product_map_x(&a, p->x, p->dtype, p->M, p->K) && product_map_w(&a, p->w, p->dtype, p->N, p->K) &&
                product_map_out(&a.out, p->qkv, p->dtype, p->M, p->N);
    if (!good) return false;
    a.cos = p->cos, a.sin = p->sin, a.S = (int)p->S, a.D = (int)p->D, a.turned = (int)p->turned;
    return p->dtype == TT_BF16 ? product_launch<rope_shape<gpu_bf16>>(a, p->M, p->N, p->K, s, e)
                               : product_launch<rope_shape<gpu_half>>(a, p->M, p->N, p->K, s, e);
}
