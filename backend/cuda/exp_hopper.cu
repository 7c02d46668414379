/* exp(logits - shift) (M, N) of logits = x (M, K)·W^T, W (N, K), and its sums over the columns of a tile. */
#include "backend/cuda/product_hopper.h"

struct exp_shape : product_shape {
    typedef gpu_bf16 T;
    static constexpr bool COLUMNS = false;
    static constexpr int WIDTH = PRODUCT_COLS;
    static constexpr float UNIT = 1.44269504088896f, MOST = 110;
    struct held {
        float shift[PRODUCT_BLOCKS][2];
    };

    static GPU_MEMBER int w_row(const struct product_args &, int half, int col) { return half * PRODUCT_HALF + col; }

    template <int N>
    static GPU_MEMBER void ahead(const struct product_args &a, struct product_tile, int row, held &h)
    {
        GPU_UNROLL
        for (int i = 0; i < 2 * N; i++) {
            int at = row + i / 2 * HOPPER_ROWS + i % 2 * 8 + gpu_lane() / 4;
            h.shift[i / 2][i % 2] = at < a.M ? a.shift[at] : GPU_INFINITY;
        }
    }

    /* Stores 64 columns of 16 rows, and adds them to the lane's sums. */
    static GPU_MEMBER void powers(const struct product_args &a, struct product_slabs &slabs, const float (&shift)[2],
                                  float (&sum)[2], const float *c, int row, int col)
    {
        uint32_t w[4][4];
        GPU_UNROLL
        for (int i = 0; i < 16; i++) {
            float p = gpu_exp2_fast(hopper_least(gpu_fma(UNIT, c[2 * i], -shift[i % 2]), MOST));
            float q = gpu_exp2_fast(hopper_least(gpu_fma(UNIT, c[2 * i + 1], -shift[i % 2]), MOST));
            sum[i % 2] += p + q;
            w[i / 4][i % 4] = gpu_pack2<T>(p, q);
        }
        slabs.store(&a.out, row, col / PRODUCT_HALF, w);
    }

    /* Four lanes have a quarter of a row each. */
    template <int N>
    static GPU_MEMBER void rows(const struct product_args &a, struct product_slabs &slabs, held &h, int m,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        float shift[2] = {UNIT * h.shift[m][0], UNIT * h.shift[m][1]}, sum[2] = {0, 0};
        powers(a, slabs, shift, sum, c, row, col);
        if (col + PRODUCT_HALF < a.F) powers(a, slabs, shift, sum, c + PRODUCT_COLS / 4, row, col + PRODUCT_HALF);
        GPU_UNROLL
        for (int r = 0; r < 2; r++) {
            int at = row + 8 * r + gpu_lane() / 4;
            sum[r] += gpu_shfl_xor(sum[r], 1);
            sum[r] += gpu_shfl_xor(sum[r], 2);
            if (gpu_lane() % 4 == 0 && at < a.M) a.sums[(int64_t)(col / PRODUCT_COLS) * a.M + at] = sum[r];
        }
    }
};

bool exp_hopper(const struct exp_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = product_map_x(&a, p->x, TT_BF16, p->M, p->K) && product_map_w(&a, p->w, TT_BF16, p->N, p->K) &&
                product_map_out(&a.out, p->out, TT_BF16, p->M, p->N);
    if (!good) return false;
    a.shift = p->shift, a.sums = p->sums;
    return product_launch<exp_shape>(a, p->M, p->N, p->K, 0, s, e);
}
