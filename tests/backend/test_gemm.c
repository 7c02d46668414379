/* Matrix multiplies of the backend against a triple loop in fp64: awkward sizes, transposes, views, batches, alpha and
 * beta, and nothing written outside C. On the CPU, the matrix units, the BLAS and the built-in multiply are tested; on
 * an AMD GPU, hipBLASLt and hipBLAS. */
#include <unistd.h>

#include "tests/backend/matrix_fixture.h"

struct shape {
    int64_t m, n, k, batch, gap;
    bool trans_a, trans_b;
    float alpha, beta;
    bool from; /* beta multiplies another matrix, not C */
    int units;
};

static double wanted(const struct shape *s, const struct matrix *a, const struct matrix *b, double old, int64_t bt,
                     int64_t i, int64_t j, double *size)
{
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < s->k; k++) {
        double t = (double)(s->trans_a ? *at(a, bt, k, i) : *at(a, bt, i, k)) *
                   (double)(s->trans_b ? *at(b, bt, j, k) : *at(b, bt, k, j));
        sum += t;
        magnitude += fabs(t);
    }
    *size = fabs(s->alpha) * magnitude + fabs(old);
    return s->alpha * sum + old;
}

/* Every element is within the rounding of a float sum, and every gap is unchanged. */
static void compare(const struct shape *s, const struct matrix *a, const struct matrix *b, const struct matrix *before,
                    const struct matrix *c)
{
    double worst = 0;
    for (int64_t bt = 0; bt < s->batch; bt++)
        for (int64_t i = 0; i < s->m; i++)
            for (int64_t j = 0; j < s->n; j++) {
                double old = s->beta == 0 ? 0 : s->beta * *at(before, bt, i, j);
                double size, want = wanted(s, a, b, old, bt, i, j, &size), got = *at(c, bt, i, j);
                double error = fabs(got - want) / (size + 1e-30);
                if (!(error <= worst)) worst = error;
            }
    CHECK(worst < 2e-6, "error %g at m %d n %d k %d batch %d gap %d trans %d%d alpha %g beta %g", worst, (int)s->m,
          (int)s->n, (int)s->k, (int)s->batch, (int)s->gap, s->trans_a, s->trans_b, s->alpha, s->beta);

    int touched = 0;
    for (int64_t n = 0; n < c->total; n++) {
        int64_t stride = c->stride ? c->stride : 1, ld = c->ld ? c->ld : 1; /* an empty C has neither */
        int64_t in_batch = n % stride, row = in_batch / ld, col = in_batch % ld;
        bool inside = n / stride < c->batch && row < c->rows && col < c->cols;
        touched += !inside && c->host[n] != GAP;
    }
    CHECK(!touched, "%d elements outside C were written at m %d n %d k %d", touched, (int)s->m, (int)s->n, (int)s->k);
}

static void check_shape(const struct shape *s)
{
    struct matrix a = matrix_new(s->batch, s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->gap);
    struct matrix b = matrix_new(s->batch, s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->gap);
    struct matrix c = matrix_new(s->batch, s->m, s->n, s->gap), before = matrix_new(s->batch, s->m, s->n, s->gap);
    matrix_random(&a, 1);
    matrix_random(&b, 2);
    matrix_random(&before, 3);
    if (s->beta == 0 || s->from)
        matrix_set(&c, NAN); /* must not be read */
    else
        matrix_random(&c, 3);
    struct tt_gemm g = {
        .a = a.device, .b = b.device, .c = c.device, .from = s->from ? before.device : NULL,
        .m = s->m, .n = s->n, .k = s->k, .lda = a.ld, .ldb = b.ld, .ldc = c.ld,
        .batch = s->batch, .stride_a = a.stride, .stride_b = b.stride, .stride_c = c.stride,
        .alpha = s->alpha, .beta = s->beta, .trans_a = s->trans_a, .trans_b = s->trans_b, .units = s->units,
    };
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(&c);
    compare(s, &a, &b, &before, &c);
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
    matrix_free(&before);
}

/* The shape with all four combinations of transposes. */
static void check_transposes(struct shape s)
{
    for (int t = 0; t < 4; t++) {
        s.trans_a = t & 1;
        s.trans_b = t >> 1;
        check_shape(&s);
    }
}

static void awkward_sizes(void)
{
    static const int64_t sizes[] = {1, 3, 17, 64, 65, 129};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    int stride = test_few() ? 2 : 1;
    for (int i = 0; i < COUNT; i += stride)
        for (int j = 0; j < COUNT; j += stride)
            for (int k = 0; k < COUNT; k += stride) {
                struct shape s = {.m = sizes[i], .n = sizes[j], .k = sizes[k], .batch = 1, .alpha = 1};
                if (s.m * s.n * s.k < 50000) {
                    check_transposes(s);
                } else { /* slow to check, so the combinations take turns */
                    s.trans_a = (i + j + k) & 1;
                    s.trans_b = (i + j + k) >> 1 & 1;
                    check_shape(&s);
                }
            }
}

/* Larger than any cache block or tile, with a remainder in each dimension. */
static void large_sizes(void)
{
    check_transposes((struct shape){.m = 270, .n = 515, .k = 37, .batch = 1, .alpha = 1});
    check_transposes((struct shape){.m = 35, .n = 40, .k = 1100, .batch = 1, .alpha = 1, .beta = 1});
    check_transposes((struct shape){.m = 1, .n = 2050, .k = 70, .batch = 1, .alpha = 1});
    check_transposes((struct shape){.m = 2050, .n = 1, .k = 70, .batch = 1, .alpha = 1});
    check_transposes((struct shape){.m = 515, .n = 7, .k = 300, .batch = 1, .gap = 1, .alpha = -1, .beta = 0.5f});
    check_transposes((struct shape){.m = 37, .n = 1061, .k = 9, .batch = 1, .alpha = 1, .beta = 1});
    check_transposes((struct shape){.m = 4103, .n = 9, .k = 530, .batch = 1, .gap = 1, .alpha = 2, .beta = 0.5f});
}

/* From 2^24 multiplications on, which is where a CPU uses its matrix units. */
static void largest_sizes(void)
{
    if (!test_few()) check_transposes((struct shape){.m = 270, .n = 515, .k = 137, .batch = 1, .alpha = 1});
    check_transposes((struct shape){.m = 67, .n = 260, .k = 1100, .batch = 1, .alpha = 1, .beta = 1});
    check_transposes((struct shape){.m = 515, .n = 65, .k = 530, .batch = 1, .gap = 1, .alpha = -1, .beta = 0.5f});
    check_transposes((struct shape){.m = 64, .n = 8200, .k = 33, .batch = 1, .alpha = 2, .beta = 1, .from = true});
}

static void views_and_batches(void)
{
    check_transposes((struct shape){.m = 17, .n = 33, .k = 29, .batch = 1, .gap = 5, .alpha = 1});
    check_transposes((struct shape){.m = 64, .n = 64, .k = 64, .batch = 3, .gap = 16, .alpha = 1});
    check_transposes((struct shape){.m = 19, .n = 21, .k = 16, .batch = 37, .gap = 1, .alpha = 1, .beta = 1});
    check_transposes((struct shape){.m = 128, .n = 128, .k = 64, .batch = 5, .alpha = 0.125f});
    check_transposes((struct shape){.m = 1, .n = 1, .k = 1, .batch = 9, .alpha = 2});
}

static void alpha_and_beta(void)
{
    static const float values[] = {0, 1, -1, 0.25f};
    int stride = test_few() ? 3 : 1;
    for (int i = 0; i < 4; i += stride)
        for (int j = 0; j < 4; j += stride)
            check_transposes((struct shape){
                .m = 35, .n = 67, .k = 31, .batch = 2, .gap = 3, .alpha = values[i], .beta = values[j]});
}

static void adds_another_matrix(void)
{
    check_transposes((struct shape){
        .m = 35, .n = 67, .k = 31, .batch = 2, .gap = 3, .alpha = 1, .beta = 1, .from = true});
    check_transposes((struct shape){.m = 1, .n = 130, .k = 70, .batch = 1, .alpha = 1, .beta = 0.5f, .from = true});
    check_transposes((struct shape){.m = 129, .n = 64, .k = 200, .batch = 1, .alpha = -1, .beta = 1, .from = true});
    check_transposes((struct shape){.m = 9, .n = 8, .k = 5, .batch = 1, .alpha = 1, .beta = 0, .from = true});
}

/* With fewer multiprocessors (`units`), another algorithm may be chosen. */
static void beside_others(void)
{
    check_transposes((struct shape){.m = 35, .n = 67, .k = 31, .batch = 1, .alpha = 1, .units = 64});
    check_transposes((struct shape){.m = 96, .n = 200, .k = 130, .batch = 1, .alpha = 1, .beta = 1, .units = 64});
    check_transposes((struct shape){.m = 130, .n = 64, .k = 515, .batch = 1, .gap = 1, .alpha = 1, .units = 64});
}

static void empty_products(void)
{
    check_transposes((struct shape){.m = 5, .n = 7, .k = 0, .batch = 2, .alpha = 1});
    check_transposes((struct shape){.m = 5, .n = 7, .k = 0, .batch = 1, .alpha = 1, .beta = 2});
    check_transposes((struct shape){.m = 0, .n = 7, .k = 3, .batch = 1, .alpha = 1});
    check_transposes((struct shape){.m = 5, .n = 0, .k = 3, .batch = 1, .alpha = 1});
    check_transposes((struct shape){.m = 5, .n = 7, .k = 3, .batch = 0, .alpha = 1});
}

/* A sum of ones is exact, so pieces that overlap or are forgotten show as whole numbers. */
static void counts_exactly(void)
{
    enum { M = 330, N = 340 };
    for (int64_t k = 1; k < 1200; k += test_few() ? 397 : 97) {
        struct matrix a = matrix_new(1, M, k, 0), b = matrix_new(1, k, N, 0), c = matrix_new(1, M, N, 0);
        matrix_set(&a, 1);
        matrix_set(&b, 1);
        matrix_set(&c, NAN);
        struct tt_gemm g = {.a = a.device, .b = b.device, .c = c.device, .m = M, .n = N, .k = k,
                            .lda = k, .ldb = N, .ldc = N, .batch = 1, .alpha = 1};
        CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
        matrix_download(&c);
        int wrong = 0;
        for (int64_t i = 0; i < M * N; i++) wrong += c.host[i] != (float)k;
        CHECK(!wrong, "%d elements are not %d", wrong, (int)k);
        matrix_free(&a);
        matrix_free(&b);
        matrix_free(&c);
    }
}

/* A is diagonal, so every element of C is one product, which fp32 rounds once. An algorithm that splits factors must
 * not lose bits of them. NaN, with whatever bits, must arrive, and only in its own row. */
static void keeps_every_bit(void)
{
    enum { N = 272 };
    static const union { uint32_t bits; float number; } nans[] = {{0x7fffffff}, {0xffffffff}, {0x7fc00000}};
    struct matrix a = matrix_new(1, N, N, 0), b = matrix_new(1, N, N, 0), c = matrix_new(1, N, N, 0);
    matrix_random(&a, 1);
    matrix_random(&b, 2);
    for (int i = 0; i < N * N; i++) a.host[i] = i % (N + 1) ? 0 : ldexpf(a.host[i], i % 41 - 20);
    for (int i = 0; i < 3; i++) a.host[(10 + i) * N + 7] = nans[i].number;
    matrix_upload(&a);
    struct tt_gemm g = {.a = a.device, .b = b.device, .c = c.device, .m = N, .n = N, .k = N, .lda = a.ld, .ldb = b.ld,
                        .ldc = c.ld, .batch = 1, .alpha = 1};
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(&c);
    double worst = 0;
    int lost = 0;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            double want = (double)*at(&a, 0, i, i) * (double)*at(&b, 0, i, j), got = *at(&c, 0, i, j);
            bool nan = i >= 10 && i < 13;
            lost += nan && !isnan(got);
            if (!nan && !(fabs(got - want) <= worst * fabs(want))) worst = fabs(got / want - 1);
        }
    CHECK(!lost, "%d elements are numbers though a factor is NaN", lost);
    CHECK(worst < 1.8e-7, "a product is wrong by %g of itself", worst); /* 1.5 units in the last place */
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
}

static void multiply_on(int threads, const struct shape *s, float *out)
{
    struct tt_backend saved = backend;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = threads}, &backend));
    struct matrix a = matrix_new(s->batch, s->m, s->k, 0), b = matrix_new(s->batch, s->k, s->n, 0);
    struct matrix c = matrix_new(s->batch, s->m, s->n, 0);
    matrix_random(&a, 1);
    matrix_random(&b, 2);
    matrix_set(&c, 0);
    struct tt_gemm g = {.a = a.device, .b = b.device, .c = c.device, .m = s->m, .n = s->n, .k = s->k, .lda = s->k,
                        .ldb = s->n, .ldc = s->n, .batch = s->batch, .stride_a = a.stride, .stride_b = b.stride,
                        .stride_c = c.stride, .alpha = 1};
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(&c);
    memcpy(out, c.host, (size_t)(s->batch * s->m * s->n) * sizeof *out);
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
    tt_backend_close(&backend);
    backend = saved;
}

static void same_bits_on_any_number_of_threads(void)
{
    static const struct shape shapes[] = {
        {.m = 333, .n = 1027, .k = 301, .batch = 1}, {.m = 64, .n = 65, .k = 66, .batch = 13},
        {.m = 70, .n = 300, .k = 1100, .batch = 1}};
    for (int i = 0; i < 3; i++) {
        const struct shape *s = &shapes[i];
        size_t bytes = (size_t)(s->batch * s->m * s->n) * sizeof(float);
        float *one = malloc(bytes), *many = malloc(bytes);
        multiply_on(1, s, one);
        for (int threads = 2; threads <= (test_few() ? 2 : 33); threads += threads < 5 ? 1 : 28) {
            multiply_on(threads, s, many);
            CHECK(!memcmp(one, many, bytes), "%d threads give other bits than one", threads);
        }
        free(one);
        free(many);
    }
}

static void refuses_other_types(void)
{
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (info.has[TT_PREC_BF16]) SKIP("this device multiplies in bf16");
    float x = 1;
    struct tt_gemm g = {.a = &x, .b = &x, .c = &x, .m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1, .batch = 1,
                        .alpha = 1, .type_a = TT_BF16, .type_b = TT_BF16, .type_c = TT_BF16};
    tt_status st = backend.ops->gemm(backend.self, &g, NULL);
    CHECK(st && st->code == TT_UNSUPPORTED);
    tt_status_free(st);
}

/* ---- timed choices: a GPU's library has many algorithms, and the file records which was the fastest ---- */

static void multiply_tuned(const char *cache, struct matrix *c)
{
    struct matrix a, b;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.gemm_tune = TT_TUNE_QUICK, .gemm_cache = cache}, &backend));
    a = matrix_new(1, 96, 64, 0);
    b = matrix_new(1, 64, 80, 0);
    *c = matrix_new(1, 96, 80, 0);
    matrix_random(&a, 1);
    matrix_random(&b, 2);
    matrix_set(c, 1);
    struct tt_gemm g = {.a = a.device, .b = b.device, .c = c->device, .m = 96, .n = 80, .k = 64, .lda = a.ld,
                        .ldb = b.ld,
                        .ldc = c->ld, .batch = 1, .alpha = 1, .beta = 1, .type_a = TT_F32, .type_b = TT_F32,
                        .type_c = TT_F32};
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(c);
    struct shape s = {.m = 96, .n = 80, .k = 64, .batch = 1, .alpha = 1, .beta = 1};
    struct matrix ones = matrix_new(1, 96, 80, 0);
    matrix_set(&ones, 1);
    compare(&s, &a, &b, &ones, c); /* timing did not add to C more than once */
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&ones);
}

static int lines_of(const char *path)
{
    FILE *f = fopen(path, "r");
    int lines = 0;
    for (int c; f && (c = getc(f)) != EOF;) lines += c == '\n';
    if (f) fclose(f);
    return lines;
}

static void remembers_the_fastest(void)
{
    char path[] = "/tmp/tt-gemm-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    struct matrix c[2];
    int kept[2];
    for (int i = 0; i < 2; i++) {
        multiply_tuned(path, &c[i]);
        backend.ops->free(backend.self, c[i].device);
        tt_backend_close(&backend);
        kept[i] = lines_of(path);
    }
    CHECK(kept[0] == (strcmp(tt_backend_name(), "cpu") != 0), "%d choices are kept", kept[0]);
    CHECK(kept[1] == kept[0], "a choice is kept twice");
    CHECK(!memcmp(c[0].host, c[1].host, (size_t)c[0].total * sizeof(float)), "the same choice gives other bits");
    free(c[0].host);
    free(c[1].host);
    unlink(path);
}

static void everything(void)
{
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    printf("-- %s\n", info.library);
    TEST(awkward_sizes);
    TEST(large_sizes);
    TEST(largest_sizes);
    TEST(views_and_batches);
    TEST(alpha_and_beta);
    TEST(beside_others);
    TEST(adds_another_matrix);
    TEST(empty_products);
    TEST(counts_exactly);
    TEST(keeps_every_bit);
    TEST(same_bits_on_any_number_of_threads);
    TEST(refuses_other_types);
    tt_backend_close(&backend);
    TEST(remembers_the_fastest);
}

int main(void) { return with_each_library(everything); }
