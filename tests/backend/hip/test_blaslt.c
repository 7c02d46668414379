/* blaslt.cpp with a fake hipBLASLt that multiplies: types, scales, strides and transposition of 8-bit factors must
 * reach the library correctly. */
#include "backend/hip/blaslt.h"
#include "core/base/fp8.h"
#include "core/base/rng.h"
#include "tests/test.h"

enum { M = 32, N = 16, K = 48 };

extern int fake_hipblaslt_live;

/* Formats of the left and right factor, and the hipDataType of each. */
struct pair {
    enum tt_dtype left, right;
    int type_left, type_right;
};

static void fill(uint8_t *codes, int64_t n, enum tt_dtype type, uint64_t stream)
{
    for (int64_t i = 0; i < n; i++) codes[i] = tt_to_fp8((float)tt_normal(5, stream, (uint64_t)i) * 3, type);
}

/* d (M, N) = right (M, K) · leftᵀ with left (N, K), all row-major, as blas.c calls it. */
static void check_pair(const struct pair *t, float beta, bool rows)
{
    static uint8_t left[N * K], right[M * K];
    static float c[M * N], d[M * N];
    static float scale_left[N], scale_right[M];
    void *lt, *plan;
    unsigned char way[4][LT_ALGORITHM];
    int count = 0;
    fill(left, N * K, t->left, 1);
    fill(right, M * K, t->right, 2);
    for (int i = 0; i < M * N; i++) c[i] = (float)i;
    for (int i = 0; i < N; i++) scale_left[i] = ldexpf(0.5f, i % 7);
    for (int i = 0; i < M; i++) scale_right[i] = ldexpf(0x1p-3f, i % 5);
    struct lt_shape shape = {.left = {K, N, K, 0}, .right = {K, M, K, 0}, .out = {N, M, N, 0}, .batch = 1,
                             .transpose_left = 1, .type_left = t->type_left, .type_right = t->type_right,
                             .type_out = 0, .compute = 2, .scaled = scale_left, .row_scales = rows};
    struct lt_call call = {.left = left, .right = right, .c = c, .d = d, .alpha = 1, .beta = beta,
                           .scale_left = scale_left, .scale_right = scale_right};
    CHECK(!tt_lt_open(&lt));
    int e = tt_lt_plan(&shape, &plan);
    CHECK(!e || rows, "error %d", e);
    if (e) { /* a hipBLASLt that is too old for row scales refuses */
        tt_lt_plan_free(plan);
        tt_lt_close(lt);
        return;
    }
    CHECK(!tt_lt_propose(lt, plan, 1 << 20, 4, way, &count) && count == 1, "%d ways", count);
    CHECK(!tt_lt_multiply(lt, plan, way[0], &call));
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int l = 0; l < K; l++)
            sum += (double)tt_from_fp8(right[i / N * K + l], t->right) *
                   (double)tt_from_fp8(left[i % N * K + l], t->left);
        double scale = (double)scale_left[rows ? i % N : 0] * (double)scale_right[rows ? i / N : 0];
        double want = sum * scale + (double)beta * i;
        CHECK(fabs((double)d[i] - want) <= 1e-5 * (1 + fabs(want)), "%d and %d: d[%d] is %g, not %g", t->type_left,
              t->type_right, i, (double)d[i], want);
    }
    tt_lt_plan_free(plan);
    tt_lt_close(lt);
    CHECK(fake_hipblaslt_live == 0, "%d things were left", fake_hipblaslt_live);
}

static void multiplies_both_kinds_of_numbers(void)
{
    const struct pair pairs[] = {{TT_E4M3, TT_E4M3, 28, 28},
                                 {TT_E4M3, TT_E5M2, 28, 29},
                                 {TT_E4M3_FNUZ, TT_E4M3_FNUZ, 1000, 1000},
                                 {TT_E4M3_FNUZ, TT_E5M2_FNUZ, 1000, 1001}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int beta = 0; beta < 2; beta++) {
            check_pair(&pairs[i], (float)beta, false);
            check_pair(&pairs[i], (float)beta, true);
        }
}

int main(void)
{
    TEST(multiplies_both_kinds_of_numbers);
    return test_end();
}
