/* q|k|v (M, N) = x (M, K)·W^T, W (N, K), with the columns of q and k rotated before they are stored. A lane has both
 * numbers of a pair. */
#include "backend/cuda/product_hopper.h"
#include "backend/gpu/rotate.h"

/* Cosines and sines of what a lane has of 16 rows and 64 columns of one head: every fourth pair of rows g and g + 8. */
struct rope_angles {
    float cosine[2][8], sine[2][8];

    /* row: the first of the 16; col: of the result. */
    GPU_MEMBER void load(const struct product_args &a, int row, int col)
    {
        if (col >= a.turned) return;
        GPU_UNROLL
        for (int r = 0; r < 2; r++) {
            int position = (row + gpu_lane() / 4 + 8 * r) % a.S;
            int64_t at = (int64_t)position * (a.D / 2) + col % a.D / 2 + gpu_lane() % 4;
            GPU_UNROLL
            for (int j = 0; j < 8; j++) cosine[r][j] = a.cos[at + 4 * j], sine[r][j] = a.sin[at + 4 * j];
        }
    }

    template <typename T> GPU_MEMBER void rotate(const float *c, uint32_t (&w)[4][4]) const
    {
        GPU_UNROLL
        for (int i = 0; i < 16; i++) {
            float p = c[2 * i], q = c[2 * i + 1];
            rotate_floats(p, q, cosine[i % 2][i / 2], sine[i % 2][i / 2]);
            w[i / 4][i % 4] = gpu_pack2<T>(p, q);
        }
    }
};

/* Angles take long to load, so they are loaded before the product. With heads of 64 (SAME) both halves of a tile have
 * the same angles, and a lane holds those of both blocks of rows. Else it holds those of both halves, and loads those
 * of the second block when the first block's have been used. */
template <typename T_, bool SAME> struct rope_shape : product_shape {
    typedef T_ T;
    static constexpr bool COLUMNS = false;
    static constexpr int WIDTH = PRODUCT_COLS;
    struct held {
        struct rope_angles angles[2]; /* by block with SAME, else by half */
    };

    static GPU_MEMBER int w_row(const struct product_args &, int half, int col) { return half * PRODUCT_HALF + col; }

    template <int N>
    static GPU_MEMBER void ahead(const struct product_args &a, struct product_tile at, int row, held &h)
    {
        GPU_UNROLL
        for (int i = 0; i < (SAME ? N : 2); i++)
            h.angles[i].load(a, SAME ? row + i * HOPPER_ROWS : row, SAME ? at.col : at.col + i * PRODUCT_HALF);
    }

    template <int N>
    static GPU_MEMBER void rows(const struct product_args &a, struct product_slabs &slabs, held &h, int m,
                                const float (&c)[PRODUCT_COLS / 2], int row, int col)
    {
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            uint32_t w[4][4];
            const float *mine = c + half * PRODUCT_COLS / 4;
            int from = col + half * PRODUCT_HALF;
            if (from < a.turned) {
                h.angles[SAME ? m : half].template rotate<T>(mine, w);
            } else {
                GPU_UNROLL
                for (int i = 0; i < 16; i++) w[i / 4][i % 4] = gpu_pack2<T>(mine[2 * i], mine[2 * i + 1]);
            }
            if (from < a.F) slabs.store(&a.out, row, from / PRODUCT_HALF, w);
            /* after the store, whose fence would wait for this load */
            if (!SAME && m + 1 < N) h.angles[half].load(a, row + HOPPER_ROWS, from);
        }
    }
};

template <typename T>
static bool rope_launch(const struct product_args &a, const struct rope_product *p, gpu_stream s, gpu_error *e)
{
    return a.D == PRODUCT_HALF ? product_launch<rope_shape<T, true>>(a, p->M, p->N, p->K, p->units, s, e)
                               : product_launch<rope_shape<T, false>>(a, p->M, p->N, p->K, p->units, s, e);
}

bool rope_hopper(const struct rope_product *p, gpu_stream s, gpu_error *e)
{
    struct product_args a = {};
    bool good = p->D > 0 && p->D % PRODUCT_HALF == 0 && p->D <= INT32_MAX && p->S > 0 && p->S <= INT32_MAX &&
                product_map_x(&a, p->x, p->dtype, p->M, p->K) && product_map_w(&a, p->w, p->dtype, p->N, p->K) &&
                product_map_out(&a.out, p->qkv, p->dtype, p->M, p->N);
    if (!good) return false;
    a.cos = p->cos, a.sin = p->sin, a.S = (int)p->S, a.D = (int)p->D, a.turned = (int)p->turned;
    return p->dtype == TT_BF16 ? rope_launch<gpu_bf16>(a, p, s, e) : rope_launch<gpu_half>(a, p, s, e);
}
