/* The product of q, k and v fused with RoPE (tt_gemm.with) against fp64. Covers sizes with and without a fused kernel,
 * and both ways: one kernel, or the product followed by RoPE's kernel. Skipped if the device has no such kernel. */
#include <math.h>
#include <string.h>

#include "tests/backend/kernels/half_matrix.h"
#include "tests/backend/products_or_skip.h"

struct size {
    int64_t T, S, K, heads, kv_heads, D;
};

/* One tile, many with a remainder, half a tile at the end, positions that restart inside a tile; then what does not fit
 * the kernel: heads of 32, and an inner size that is no multiple of 64. */
static const struct size sizes[] = {{1, 1, 64, 1, 1, 64},    {300, 100, 128, 3, 1, 64}, {130, 65, 192, 1, 1, 128},
                                    {257, 257, 64, 4, 2, 64}, {70, 35, 448, 2, 2, 128},  {40, 20, 64, 4, 2, 32},
                                    {33, 33, 72, 2, 1, 64}};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct product {
    enum tt_dtype type;
    struct size s;
    int64_t N;
    struct half_matrix x, w, qkv;
    float *angles[2], *tables[2]; /* cos and sin, on the host and on the device */
};

static struct product product_new(enum tt_dtype type, struct size s)
{
    struct product p = {.type = type, .s = s, .N = (s.heads + 2 * s.kv_heads) * s.D};
    int64_t n = s.S * s.D / 2;
    p.x = matrix_new(type, s.T * s.K, 1, 1);
    p.w = matrix_new(type, s.K * p.N, 1 / sqrt((double)s.K), 2);
    p.qkv = matrix_new(type, s.T * p.N, 0, 0);
    for (int t = 0; t < 2; t++) {
        size_t bytes = (size_t)n * sizeof(float);
        p.angles[t] = malloc(bytes);
        for (int64_t i = 0; i < n; i++) {
            double angle = 3 * tt_normal(7, 3, (uint64_t)i);
            p.angles[t][i] = (float)(t ? sin(angle) : cos(angle));
        }
        CHECK_OK(backend.ops->alloc(backend.self, bytes, (void **)&p.tables[t]));
        CHECK_OK(backend.ops->copy(backend.self, p.tables[t], p.angles[t], bytes, TT_TO_DEVICE, NULL));
    }
    return p;
}

/* Every other call uses only a few blocks. */
static void product_run(struct product *p)
{
    static int runs;
    const struct size *s = &p->s;
    struct tt_gemm g = {.a = p->x.device, .b = p->w.device, .c = p->qkv.device, .m = s->T, .n = p->N, .k = s->K,
                        .lda = s->K, .ldb = s->K, .ldc = p->N, .batch = 1, .alpha = 1, .trans_b = true,
                        .type_a = p->type, .type_b = p->type, .type_c = p->type, .units = runs++ % 2 * 3,
                        .with = TT_WITH_ROPE,
                        .rope = {p->tables[0], p->tables[1], s->S, s->heads, s->kv_heads, s->D}};
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(&p->qkv);
}

static void product_free(struct product *p)
{
    for (int t = 0; t < 2; t++) free(p->angles[t]), backend.ops->free(backend.self, p->tables[t]);
    matrix_free(&p->x), matrix_free(&p->w), matrix_free(&p->qkv);
}

/* An element of the product without RoPE, and the sum of its terms' magnitudes. */
static double dot(const struct product *p, int64_t row, int64_t col, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t k = 0; k < p->s.K; k++) {
        double t = wide(p->type, p->x.host[row * p->s.K + k]) * wide(p->type, p->w.host[col * p->s.K + k]);
        sum += t;
        *size += fabs(t);
    }
    return sum;
}

/* The worst error of a pair relative to what rounding allows. There is one rounding, or two if a kernel rotates a
 * stored product. */
static double pair(const struct product *p, int64_t row, int64_t col)
{
    double unit = p->type == TT_BF16 ? 0x1p-8 : 0x1p-11, size[2], worst = 0;
    double x = dot(p, row, col, &size[0]), y = dot(p, row, col + 1, &size[1]), c = 1, s = 0;
    if (col < (p->s.heads + p->s.kv_heads) * p->s.D) {
        int64_t angle = row % p->s.S * (p->s.D / 2) + col % p->s.D / 2;
        c = (double)p->angles[0][angle], s = (double)p->angles[1][angle];
    }
    double want[2] = {x * c - y * s, x * s + y * c};
    double before = unit * (fabs(x) + fabs(y)) + 0x1p-20 * (size[0] + size[1]);
    for (int i = 0; i < 2; i++) {
        double error = fabs(wide(p->type, p->qkv.host[row * p->N + col + i]) - want[i]);
        double allowed = 1.01 * unit * fabs(want[i]) + before + 1e-6;
        worst = fmax(worst, error <= allowed ? error / allowed : (double)INFINITY);
    }
    return worst;
}

static void check_product(const struct product *p)
{
    double worst = 0;
    for (int64_t r = 0; r < p->s.T; r++)
        for (int64_t c = 0; c < p->N; c += 2) worst = fmax(worst, pair(p, r, c));
    CHECK(worst <= 1, "%g of the tolerance: %s, %d x %d x %d, heads of %d", worst,
          p->type == TT_BF16 ? "bf16" : "fp16", (int)p->s.T, (int)p->N, (int)p->s.K, (int)p->s.D);
}

static void open_with(int threads, const char *way)
{
    setenv("TT_GEMM_ROPE", way, 1);
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = threads}, &backend));
}

static void every_size(const char *by)
{
    open_with(1, by);
    for (int i = 0; i < SIZES; i += test_few() ? 2 : 1)
        for (int half = 0; half < 2; half++) {
            struct product p = product_new(half ? TT_F16 : TT_BF16, sizes[i]);
            product_run(&p);
            check_product(&p);
            product_free(&p);
        }
    tt_backend_close(&backend);
}

static void product_and_kernel(void) { every_size("0"); }
static void one_kernel(void) { every_size("1"); }

/* A GPU repeats the run; the SIMT machine uses another order for each number of threads. */
static void same_bits_every_time(void)
{
    static const int threads[] = {1, 4, 2};
    uint16_t *first = NULL;
    for (int i = 0; i < 3; i++) {
        open_with(threads[i], "1");
        struct product p = product_new(TT_BF16, sizes[1]);
        product_run(&p);
        size_t bytes = (size_t)p.qkv.n * 2;
        if (!first) first = memcpy(malloc(bytes), p.qkv.host, bytes);
        CHECK(!memcmp(first, p.qkv.host, bytes), "run %d gives other bits than run 0", i);
        product_free(&p);
        tt_backend_close(&backend);
    }
    free(first);
}

int main(void)
{
    PRODUCTS_OR_SKIP(&backend);
    TEST(product_and_kernel);
    TEST(one_kernel);
    TEST(same_bits_every_time);
    return test_end();
}
