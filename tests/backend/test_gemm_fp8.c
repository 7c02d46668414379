/* Products of 8-bit factors against a triple loop in fp64, with one scale per factor or per row, with the libraries
 * that test_gemm.c names. */
#include "core/base/fp8.h"
#include "tests/backend/matrix_fixture.h"

/* A factor (rows, k) and its scales, which are powers of two: either one, or one per row, the largest 2^15 times the
 * smallest. */
struct codes {
    uint8_t *host, *device;
    float *scales, *device_scales;
    enum tt_dtype type;
    bool by_rows;
    int64_t rows, k;
};

static void to_device(void **out, const void *from, size_t bytes)
{
    CHECK_OK(backend.ops->alloc(backend.self, bytes, out));
    CHECK_OK(backend.ops->copy(backend.self, *out, from, bytes, TT_TO_DEVICE, NULL));
    CHECK_OK(backend.ops->stream_sync(backend.self, NULL));
}

static struct codes codes_new(int64_t rows, int64_t k, enum tt_dtype type, bool by_rows, uint64_t stream)
{
    size_t count = (size_t)(rows * k), scales = by_rows ? (size_t)rows : 1;
    struct codes x = {.host = malloc(count), .scales = malloc(scales * sizeof(float)), .type = type,
                      .by_rows = by_rows, .rows = rows, .k = k};
    for (size_t i = 0; i < count; i++) x.host[i] = tt_to_fp8((float)tt_normal(9, stream, i) * 4, type);
    for (size_t i = 0; i < scales; i++)
        x.scales[i] = by_rows ? ldexpf(1, (int)(i * 5 % 16) - 12) : stream == 1 ? 0x1p-5f : 0x1p3f;
    to_device((void **)&x.device, x.host, count);
    to_device((void **)&x.device_scales, x.scales, scales * sizeof(float));
    return x;
}

static void codes_free(struct codes *x)
{
    backend.ops->free(backend.self, x->device);
    backend.ops->free(backend.self, x->device_scales);
    free(x->host);
    free(x->scales);
}

static double number(const struct codes *x, int64_t row, int64_t i)
{
    return (double)tt_from_fp8(x->host[row * x->k + i], x->type) * (double)x->scales[x->by_rows ? row : 0];
}

static struct tt_gemm product_of(const struct codes *a, const struct codes *b, const struct matrix *c)
{
    return (struct tt_gemm){.a = a->device, .b = b->device, .c = c->device, .m = c->rows, .n = c->cols, .k = a->k,
                            .lda = a->k, .ldb = b->k, .ldc = c->ld, .batch = 1, .alpha = 1, .trans_b = true,
                            .type_a = a->type, .type_b = b->type, .type_c = TT_F32, .scale_a = a->device_scales,
                            .scale_b = b->device_scales, .row_scales = a->by_rows};
}

/* The worst error relative to the sum of the magnitudes of the terms. */
static double error_of(const struct codes *a, const struct codes *b, const struct matrix *c, double before)
{
    double worst = 0;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            double sum = before, size = before;
            for (int64_t l = 0; l < a->k; l++) {
                double t = number(a, i, l) * number(b, j, l);
                sum += t;
                size += fabs(t);
            }
            double off = fabs((double)*at(c, 0, i, j) - sum) / (size + 1e-30);
            if (!(off <= worst)) worst = off; /* NaN too */
        }
    return worst;
}

/* The tensor cores of a GPU add 8-bit products with less precision than fp32. */
static void check_product(int64_t m, int64_t n, int64_t k, enum tt_dtype type_a, enum tt_dtype type_b, bool by_rows,
                          float beta)
{
    struct codes a = codes_new(m, k, type_a, by_rows, 1), b = codes_new(n, k, type_b, by_rows, 2);
    struct matrix c = matrix_new(1, m, n, 16);
    struct tt_gemm g = product_of(&a, &b, &c);
    double allowed = strcmp(tt_backend_name(), "cpu") ? 1e-3 : 2e-6;
    matrix_set(&c, beta != 0 ? 3 : NAN);
    g.beta = beta;
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    matrix_download(&c);
    double worst = error_of(&a, &b, &c, 3 * (double)beta);
    CHECK(worst < allowed, "%d x %d x %d in %d and %d%s: error %g", (int)m, (int)n, (int)k, (int)type_a, (int)type_b,
          by_rows ? " by rows" : "", worst);
    codes_free(&a);
    codes_free(&b);
    matrix_free(&c);
}

static void check_sizes(enum tt_dtype type_a, enum tt_dtype type_b, bool by_rows)
{
    for (int beta = 0; beta < 2; beta++) {
        check_product(16, 16, 16, type_a, type_b, by_rows, (float)beta);
        check_product(48, 80, 112, type_a, type_b, by_rows, (float)beta);
        check_product(272, 144, 512, type_a, type_b, by_rows, (float)beta);
    }
}

static void a_scale_for_each_factor(void)
{
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (!info.has[TT_PREC_FP8]) SKIP("this device does not multiply 8-bit numbers");
    enum tt_dtype e4m3 = tt_fp8_e4m3(info.fp8_fnuz), e5m2 = tt_fp8_e5m2(info.fp8_fnuz);
    check_sizes(e4m3, e4m3, false);
    check_sizes(e5m2, e4m3, false);
    check_sizes(e4m3, e5m2, false);
    if (strcmp(tt_backend_name(), "cpu")) return;
    check_product(32, 48, 64, TT_E4M3_FNUZ, TT_E4M3_FNUZ, false, 0);
    check_product(32, 48, 64, TT_E5M2_FNUZ, TT_E4M3_FNUZ, false, 0);
}

static void a_scale_for_each_row(void)
{
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (!info.fp8_rows) SKIP("this device does not multiply 8-bit numbers with scales of rows");
    check_sizes(tt_fp8_e4m3(info.fp8_fnuz), tt_fp8_e4m3(info.fp8_fnuz), true);
    if (!strcmp(tt_backend_name(), "cpu")) check_product(32, 48, 64, TT_E4M3_FNUZ, TT_E4M3_FNUZ, true, 0);
}

static void refuses_other_shapes(void)
{
    struct tt_device_info info;
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (!info.has[TT_PREC_FP8]) SKIP("this device does not multiply 8-bit numbers");
    enum tt_dtype type = tt_fp8_e4m3(info.fp8_fnuz);
    struct codes a = codes_new(32, 32, type, false, 1), b = codes_new(32, 32, type, false, 2);
    struct matrix c = matrix_new(1, 32, 32, 0);
    struct tt_gemm good = product_of(&a, &b, &c);
    for (int i = 0; i < 5; i++) {
        struct tt_gemm g = good;
        if (i == 0) g.trans_a = true;
        if (i == 1) g.trans_b = false;
        if (i == 2) g.scale_a = NULL;
        if (i == 3) g.type_b = TT_F32;
        if (i == 4) g.scale_b++;
        tt_status st = backend.ops->gemm(backend.self, &g, NULL);
        CHECK(st && st->code == TT_UNSUPPORTED, "way %d", i);
        tt_status_free(st);
    }
    codes_free(&a);
    codes_free(&b);
    matrix_free(&c);
}

static void everything(void)
{
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(a_scale_for_each_factor);
    TEST(a_scale_for_each_row);
    TEST(refuses_other_shapes);
    tt_backend_close(&backend);
}

int main(void) { return with_each_library(everything); }
