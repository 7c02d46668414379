/* exp(logits - shift) (M, N) of logits = x (M, K)·W^T, W (N, K), and its sums over the columns of a tile. */
#include "backend/cuda/product_hopper.h"

/* 16 rows of a tile. Of a row, four lanes have a quarter each. */
template <typename T>
GPU_DEVICE void exp_rows(const struct product_args &a, struct product_slabs &slabs,
                         const float (&c)[PRODUCT_COLS / 2], int row, int col)
{
    constexpr float UNIT = 1.44269504088896f, MOST = 110;
    int first = row + gpu_lane() / 4;
    float shift[2], sum[2] = {0, 0};
    GPU_UNROLL
    for (int r = 0; r < 2; r++) shift[r] = first + 8 * r < a.M ? UNIT * a.shift[first + 8 * r] : GPU_INFINITY;
    GPU_UNROLL
    for (int half = 0; half < 2; half++) {
        int from = col + half * PRODUCT_HALF;
        if (from >= a.F) continue;
        uint32_t w[4][4];
        GPU_UNROLL
        for (int i = 0; i < 16; i++) {
            int at = half * PRODUCT_COLS / 4 + 2 * i, r = i % 2;
            float p = gpu_exp2_fast(hopper_least(gpu_fma(UNIT, c[at], -shift[r]), MOST));
            float q = gpu_exp2_fast(hopper_least(gpu_fma(UNIT, c[at + 1], -shift[r]), MOST));
            sum[r] += p + q;
            w[i / 4][i % 4] = gpu_pack2<T>(p, q);
        }
        slabs.store(&a.out, row, from / PRODUCT_HALF, w);
    }
    GPU_UNROLL
    for (int r = 0; r < 2; r++) {
        sum[r] += gpu_shfl_xor(sum[r], 1);
        sum[r] += gpu_shfl_xor(sum[r], 2);
        if (gpu_lane() % 4 == 0 && first + 8 * r < a.M)
            a.sums[(int64_t)(col / PRODUCT_COLS) * a.M + first + 8 * r] = sum[r];
    }
}

struct exp_shape {
    typedef gpu_bf16 T;
    static constexpr bool COLUMNS = false, SLABS = true;
    static constexpr int WIDTH = PRODUCT_COLS;
    static GPU_MEMBER int w_row(const struct product_args &, int half, int col) { return half * PRODUCT_HALF + col; }
    static GPU_MEMBER void ahead(const struct product_args &, struct product_tile) {}
    static GPU_MEMBER void rows(const struct product_args &a, struct product_slabs &slabs,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        exp_rows<T>(a, slabs, c, row, col);
    }
};

bool exp_hopper(const struct exp_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = product_map_x(&a, p->x, TT_BF16, p->M, p->K) && product_map_w(&a, p->w, TT_BF16, p->N, p->K) &&
                product_map_out(&a.out, p->out, TT_BF16, p->M, p->N);
    if (!good) return false;
    a.shift = p->shift, a.sums = p->sums;
    return product_launch<exp_shape>(a, p->M, p->N, p->K, s, e);
}
