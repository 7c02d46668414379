/* Products fused with SwiGLU (tt_gemm.with) against fp64. Covers sizes with and without a fused kernel, and both ways:
 * one kernel, or the product followed by SwiGLU's kernel. Skipped if the device has no such kernel. */
#include <stdint.h>

#include "backend/backend.h"
#include "tests/backend/kernels/half_matrix.h"
#include "tests/backend/products_or_skip.h"
#include "tests/test.h"

struct size {
    int64_t M, K, F;
};

/* Sizes of one tile, of many with a remainder, and (the last three) sizes that do not fit the kernel. */
static const struct size sizes[] = {{1, 64, 256},   {64, 128, 256},  {333, 192, 512}, {257, 64, 768},
                                    {40, 448, 256}, {130, 320, 128}, {70, 72, 256},   {33, 64, 200}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- one product ---- */

struct product {
    enum tt_dtype type;
    bool backward;
    struct size s;
    struct half_matrix x, w, gu, h;
    uint16_t *before; /* gate and up before the backward pass */
};

static struct product product_new(enum tt_dtype type, bool backward, struct size s)
{
    struct product p = {.type = type, .backward = backward, .s = s};
    p.x = matrix_new(type, s.M * s.K, 1, 1);
    p.w = matrix_new(type, s.K * s.F * (backward ? 1 : 2), 1 / sqrt((double)s.K), 2);
    p.gu = matrix_new(type, s.M * 2 * s.F, backward ? 1.5 : 0, 3);
    p.h = matrix_new(type, s.M * s.F, 0, 0);
    p.before = malloc((size_t)p.gu.n * 2);
    memcpy(p.before, p.gu.host, (size_t)p.gu.n * 2);
    return p;
}

/* Every other call uses only a few blocks. */
static void product_run(struct product *p)
{
    static int runs;
    int64_t n = p->backward ? p->s.F : 2 * p->s.F;
    struct tt_gemm g = {.a = p->x.device, .b = p->w.device, .m = p->s.M, .n = n, .k = p->s.K, .lda = p->s.K,
                        .ldb = p->backward ? n : p->s.K, .ldc = n, .batch = 1, .alpha = 1, .trans_b = !p->backward,
                        .type_a = p->type, .type_b = p->type, .type_c = p->type, .units = runs++ % 2 * 3,
                        .c = p->backward ? p->h.device : p->gu.device,
                        .also = p->backward ? p->gu.device : p->h.device,
                        .with = p->backward ? TT_WITH_SWIGLU_BACKWARD : TT_WITH_SWIGLU};
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(&p->gu);
    matrix_download(&p->h);
}

static void product_free(struct product *p)
{
    matrix_free(&p->x);
    matrix_free(&p->w);
    matrix_free(&p->gu);
    matrix_free(&p->h);
    free(p->before);
}

/* ---- expected results ---- */

static double dot(const struct product *p, int64_t row, int64_t col, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t k = 0; k < p->s.K; k++) {
        double w = wide(p->type, p->w.host[p->backward ? k * p->s.F + col : col * p->s.K + k]);
        double t = wide(p->type, p->x.host[row * p->s.K + k]) * w;
        sum += t;
        *size += fabs(t);
    }
    return sum;
}

/* The error of `got` relative to what rounding allows: its own rounding, and the error of what it was computed from. */
static double share(const struct product *p, uint16_t got, double want, double size)
{
    double unit = p->type == TT_BF16 ? 0x1p-8 : 0x1p-11;
    double error = fabs(wide(p->type, got) - want), allowed = 1.01 * unit * fabs(want) + size + 1e-6;
    return error <= allowed ? error / allowed : (double)INFINITY;
}

/* The worst relative error of an element of gate, up and h; h is compared with the stored gate and up. */
static double element(const struct product *p, int64_t r, int64_t c)
{
    int64_t F = p->s.F, gate = r * 2 * F + c, h = r * F + c;
    double unit = p->type == TT_BF16 ? 0x1p-8 : 0x1p-11, fast = 0x1p-18;
    const uint16_t *from = p->backward ? p->before : p->gu.host;
    double g = wide(p->type, from[gate]), u = wide(p->type, from[gate + F]), s = 1 / (1 + exp(-g)), size, worst;
    worst = share(p, p->h.host[h], g * s * u, fast * fabs(g * s * u));
    if (p->backward) {
        double dh = dot(p, r, c, &size), slope = s * (1 + g * (1 - s));
        double off = unit * fabs(dh) + 0x1p-20 * size; /* dh is rounded too */
        worst = fmax(worst, share(p, p->gu.host[gate], dh * u * slope,
                                  off * fabs(u * slope) + fast * fabs(dh * u) * (1 + fabs(g))));
        return fmax(worst, share(p, p->gu.host[gate + F], dh * g * s, (off + fast * fabs(dh)) * fabs(g * s)));
    }
    double x = dot(p, r, c, &size);
    worst = fmax(worst, share(p, p->gu.host[gate], x, 0x1p-20 * size));
    x = dot(p, r, F + c, &size);
    return fmax(worst, share(p, p->gu.host[gate + F], x, 0x1p-20 * size));
}

static void check_product(const struct product *p)
{
    double worst = 0;
    for (int64_t r = 0; r < p->s.M; r++)
        for (int64_t c = 0; c < p->s.F; c++) worst = fmax(worst, element(p, r, c));
    CHECK(worst <= 1, "%g of the tolerance: %s, %s, %d x %d x %d", worst, p->type == TT_BF16 ? "bf16" : "fp16",
          p->backward ? "backward" : "forward", (int)p->s.M, (int)p->s.K, (int)p->s.F);
}

/* ---- tests ---- */

static void open_with(int threads, const char *way)
{
    setenv("TT_GEMM_SWIGLU", way, 1);
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = threads}, &backend));
}

static void every_size(const char *by)
{
    open_with(1, by);
    for (int i = 0; i < SIZES; i += test_few() ? 2 : 1)
        for (int way = 0; way < 4; way++) {
            struct product p = product_new(way / 2 ? TT_F16 : TT_BF16, way % 2, sizes[i]);
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
    for (int way = 0; way < 2; way++) {
        uint16_t *first = NULL;
        for (int i = 0; i < 3; i++) {
            open_with(threads[i], "1");
            struct product p = product_new(TT_BF16, way, sizes[2]);
            product_run(&p);
            if (!first) first = memcpy(malloc((size_t)p.gu.n * 2), p.gu.host, (size_t)p.gu.n * 2);
            CHECK(!memcmp(first, p.gu.host, (size_t)p.gu.n * 2), "run %d gives other bits than run 0", i);
            product_free(&p);
            tt_backend_close(&backend);
        }
        free(first);
    }
}

/* Timing both ways must not change what the backward pass overwrites. */
static void timing_changes_nothing(void)
{
    unsetenv("TT_GEMM_SWIGLU");
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.gemm_tune = TT_TUNE_QUICK}, &backend));
    for (int way = 0; way < 2; way++) {
        struct product p = product_new(TT_BF16, way, sizes[2]);
        product_run(&p);
        check_product(&p);
        product_free(&p);
    }
    tt_backend_close(&backend);
}

int main(void)
{
    PRODUCTS_OR_SKIP(&backend);
    TEST(product_and_kernel);
    TEST(one_kernel);
    TEST(same_bits_every_time);
    TEST(timing_changes_nothing);
    return test_end();
}
