/* 8-bit factors: the largest magnitudes of tensors, and their codes. The conversions themselves are tested in
 * tests/core/base/test_fp8.c; here the kernels must give the same codes, whole and transposed. */
#include "core/base/fp8.h"
#include "tests/backend/kernels/kernels.h"

static const enum tt_dtype formats[] = {TT_E4M3, TT_E5M2, TT_E4M3_FNUZ, TT_E5M2_FNUZ};
enum { FORMATS = sizeof formats / sizeof *formats };

static double most_of(const struct tensor *x, int64_t from, int64_t to)
{
    double most = 0;
    for (int64_t i = from * x->cols; i < to * x->cols; i++) {
        double a = fabs(x->v[i]);
        if (isnan(a)) return a;
        if (a > most) most = a;
    }
    return most;
}

/* ---- largest magnitudes ---- */

static void check_amax(struct tensor *x, int64_t parts)
{
    struct tensor *partial = output("partial", TT_F32, 1, parts, 0);
    double *want = doubles(parts);
    int64_t step = (x->rows + parts - 1) / parts;
    for (int64_t i = 0; i < parts; i++) {
        int64_t to = (i + 1) * step < x->rows ? (i + 1) * step : x->rows;
        want[i] = i * step < to ? most_of(x, i * step, to) : 0;
    }
    LAUNCH(fp8_amax, .x = x->data, .partial = (float *)partial->data, .rows = x->rows, .cols = x->cols, .ldx = x->ld,
           .parts = parts);
    for (int64_t i = 0; i < parts; i++)
        CHECK(isnan(want[i]) ? isnan(partial->v[i]) : partial->v[i] == want[i], "[%s]: part %" PRId64 " is %g, not %g",
              kt.label, i, partial->v[i], want[i]);
}

static void check_amax_shape(int64_t rows, int64_t cols, int64_t gap)
{
    for (int parts = 1; parts <= 8; parts += 7) {
        new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", %d parts", rows, cols, gap, parts);
        check_amax(input("x", kt.dtype, rows, cols, gap, 3), parts);
    }
}

static void amax_of_all_shapes(void)
{
    for_shapes_and_gaps(check_amax_shape);
    check_amax_shape(6, 8192, 0);
}

static void amax_keeps_nan_and_infinity(void)
{
    new_case("zeros, an infinity, a NaN");
    double v[3 * 40] = {0};
    v[40 + 17] = -(double)INFINITY;
    v[80 + 39] = (double)NAN;
    v[80 + 3] = (double)INFINITY;
    check_amax(given("x", kt.dtype, 3, 40, 0, v), 3);
}

/* ---- codes ---- */

struct how {
    enum tt_dtype to;
    bool plain, transposed, makes_scale;
};

static void compare_codes(const struct tensor *t, const struct tensor *x, float scale, enum tt_dtype to, bool turned)
{
    for (int64_t i = 0; t && i < x->rows * x->cols; i++) {
        int64_t r = i / x->cols, c = i % x->cols, at = turned ? c * x->rows + r : i;
        uint8_t want = tt_to_fp8((float)x->v[i] * tt_fp8_inverse(scale), to);
        if (t->data[at] == want) continue;
        CHECK(false, "fp8_cast [%s]: %s[%" PRId64 ",%" PRId64 "] of %a is %02x, should be %02x", kt.label, t->name, r,
              c, x->v[i], t->data[at], want);
        return;
    }
}

static void check_cast(struct tensor *x, struct how how, float given_scale)
{
    enum { PARTS = 3 };
    int64_t rows = x->rows, cols = x->cols;
    double most = most_of(x, 0, rows), parts[PARTS] = {most / 2, isnan(most) ? 0 : most, isnan(most) ? most : 0};
    struct tensor *out = how.plain ? new_tensor("out", BYTES, rows, cols, 0) : NULL;
    struct tensor *turned = how.transposed ? new_tensor("transposed", BYTES, cols, rows, 0) : NULL;
    double one = (double)given_scale;
    struct tensor *partial = how.makes_scale ? given("partial", TT_F32, 1, PARTS, 0, parts) : NULL;
    struct tensor *made = how.makes_scale ? output("new_scale", TT_F32, 1, 1, 0) : NULL;
    struct tensor *scale = how.makes_scale ? NULL : given("scale", TT_F32, 1, 1, 0, &one);
    LAUNCH(fp8_cast, .to = how.to, .x = x->data, .partial = data_or_null(partial), .new_scale = data_or_null(made),
           .scale = data_or_null(scale), .out = data_or_null(out), .transposed = data_or_null(turned), .rows = rows,
           .cols = cols, .ldx = x->ld, .parts = PARTS);
    float used = how.makes_scale ? tt_fp8_scale((float)most, how.to) : given_scale;
    if (made)
        CHECK(isnan(used) ? isnan(made->v[0]) : made->v[0] == (double)used, "[%s]: the scale is %g, not %g", kt.label,
              made->v[0], (double)used);
    compare_codes(out, x, used, how.to, false);
    compare_codes(turned, x, used, how.to, true);
}

/* Every way at one of the formats, the next at the next shape. */
static void check_cast_shape(int64_t rows, int64_t cols, int64_t gap)
{
    static int shapes;
    enum tt_dtype to = formats[shapes++ % FORMATS];
    for (int way = 0; way < 6; way++) {
        struct how how = {to, way % 3 != 1, way % 3 != 0, way < 3};
        new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", format %d, way %d", rows, cols, gap, (int)to, way);
        check_cast(input("x", kt.dtype, rows, cols, gap, 1e-3), how, 0x1p-17f);
    }
}

static void casts_of_all_shapes(void)
{
    for_shapes_and_gaps(check_cast_shape);
    for EACH (rows, 16, 128, 144, 272) /* with vectors, in whole and in partial squares */
        for EACH (cols, 16, 128, 144, 256, 400) check_cast_shape(*rows, *cols, 0);
    check_cast_shape(144, 128, 16);
}

/* Every bf16 number (in the other types, what it becomes in them) in every format. */
static void every_number_has_its_code(void)
{
    double *all = must(calloc(65536, sizeof *all));
    for (int i = 0; i < 65536; i++) all[i] = from_bf16((uint16_t)i);
    for (int i = 0; i < FORMATS; i++) {
        new_case("every bf16, format %d", (int)formats[i]);
        check_cast(given("x", kt.dtype, 256, 256, 0, all), (struct how){formats[i], true, true, false}, 1);
    }
    free(all);
}

/* ---- what would be cast, made on the way ---- */

/* As rmsnorm stores it and fp8_cast casts it. */
static void check_normed(int64_t rows, int64_t cols)
{
    new_case("%" PRId64 " x %" PRId64 ", normalised", rows, cols);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 3), *w = input("weight", kt.dtype, 1, cols, 0, 1);
    struct tensor *rstd = output("rstd", TT_F32, rows, 1, 0), *y = output("y", kt.dtype, rows, cols, 0);
    struct tensor *out = new_tensor("out", BYTES, rows, cols, 0), *turned = new_tensor("turned", BYTES, cols, rows, 0);
    double one = 0x1p-7;
    struct tensor *scale = given("scale", TT_F32, 1, 1, 0, &one);
    LAUNCH(rmsnorm, .x = x->data, .weight = w->data, .y = y->data, .rstd = (float *)rstd->data, .rows = rows,
           .cols = cols, .eps = 1e-6f);
    LAUNCH(fp8_cast, .to = TT_E4M3, .x = x->data, .scale = (float *)scale->data, .rstd = (float *)rstd->data,
           .weight = w->data, .out = out->data, .transposed = turned->data, .rows = rows, .cols = cols, .ldx = cols);
    compare_codes(out, y, (float)one, TT_E4M3, false);
    compare_codes(turned, y, (float)one, TT_E4M3, true);
}

static void normalises_on_the_way(void)
{
    for_shapes(check_normed);
    for EACH (cols, 16, 144, 256) check_normed(144, *cols);
}

/* As swiglu_backward stores them and fp8_cast casts them. */
static void check_glu(int64_t rows, int64_t F, enum tt_dtype to)
{
    new_case("%" PRId64 " x %" PRId64 ", SwiGLU, format %d", rows, F, (int)to);
    enum tt_dtype to_h = to == TT_E5M2 ? TT_E4M3 : TT_E4M3_FNUZ;
    struct tensor *gu = input("gu", kt.dtype, rows, 2 * F, 0, 2), *dh = input("dh", kt.dtype, rows, F, 0, 1e-3);
    struct tensor *dgu = output("dgu", kt.dtype, rows, 2 * F, 0), *h = output("h", kt.dtype, rows, F, 0);
    struct tensor *out = new_tensor("codes", BYTES, rows, 2 * F, 0), *scale = output("scale", TT_F32, 1, 1, 0);
    struct tensor *turned = new_tensor("turned", BYTES, 2 * F, rows, 0), *h8 = new_tensor("h8", BYTES, F, rows, 0);
    double zero = 0, h_scale = 0x1p-5;
    struct tensor *amax = given("amax", TT_F32, 1, 1, 0, &zero), *given_h = given("h_scale", TT_F32, 1, 1, 0, &h_scale);
    LAUNCH(swiglu_backward, .gu = gu->data, .dh = dh->data, .dgu = dgu->data, .h = h->data, .amax = (float *)amax->data,
           .rows = rows, .F = F);
    LAUNCH(fp8_swiglu_backward, .to = to, .gu = gu->data, .dh = dh->data, .amax = (float *)amax->data,
           .h_scale = (float *)given_h->data, .scale = (float *)scale->data, .dgu = out->data,
           .dgu_transposed = turned->data, .h_transposed = h8->data, .rows = rows, .F = F);
    CHECK(scale->v[0] == (double)tt_fp8_scale((float)amax->v[0], to), "[%s]: the scale is %g", kt.label, scale->v[0]);
    compare_codes(out, dgu, (float)scale->v[0], to, false);
    compare_codes(turned, dgu, (float)scale->v[0], to, true);
    compare_codes(h8, h, (float)h_scale, to_h, true);
}

static void swiglu_on_the_way(void)
{
    for EACH (rows, 16, 48, 128, 272)
        for EACH (F, 16, 144, 256, 400) {
            check_glu(*rows, *F, TT_E5M2);
            check_glu(*rows, *F, TT_E5M2_FNUZ);
        }
}

static void extremes_have_scales(void)
{
    static const double most[] = {0, 1e-45, 1e-38, 448, 449, 57344, 3e38, (double)INFINITY, (double)NAN};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        for (int f = 0; f < FORMATS; f++) {
            double v[2 * 16] = {0};
            v[5] = -most[i];
            v[20] = most[i] / 3;
            new_case("largest %g, format %d", most[i], (int)formats[f]);
            check_cast(given("x", kt.dtype, 2, 16, 0, v), (struct how){formats[f], true, true, true}, 0);
        }
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST_TYPES(amax_of_all_shapes);
    TEST_TYPES(amax_keeps_nan_and_infinity);
    TEST_TYPES(casts_of_all_shapes);
    TEST_TYPES(every_number_has_its_code);
    TEST_TYPES(extremes_have_scales);
    TEST_TYPES(normalises_on_the_way);
    TEST_TYPES(swiglu_on_the_way);
    END_KERNEL_TESTS(COVER_FP8);
}
