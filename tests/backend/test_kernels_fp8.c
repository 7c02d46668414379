/* 8-bit factors: the largest magnitudes of tensors, and their codes. tests/core/base/test_fp8.c tests the conversions
 * themselves; here the kernels must give the same codes, plain and transposed. */
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
    bool plain, transposed, makes_scale, takes_amax;
};

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
    double before = rows % 2 ? 0 : 1e-3;
    struct tensor *amax = how.takes_amax ? given("amax", TT_F32, 1, 1, 0, &before) : NULL;
    LAUNCH(fp8_cast, .to = how.to, .x = x->data, .partial = data_or_null(partial), .new_scale = data_or_null(made),
           .scale = data_or_null(scale), .amax = data_or_null(amax), .out = data_or_null(out),
           .transposed = data_or_null(turned), .rows = rows, .cols = cols, .ldx = x->ld, .parts = PARTS);
    float used = how.makes_scale ? tt_fp8_scale((float)most, how.to) : given_scale;
    if (made)
        CHECK(isnan(used) ? isnan(made->v[0]) : made->v[0] == (double)used, "[%s]: the scale is %g, not %g", kt.label,
              made->v[0], (double)used);
    amax_is_of(amax, (double)(float)before, x);
    codes_are_of(out, x, used, how.to, false);
    codes_are_of(turned, x, used, how.to, true);
}

/* Every variant in one of the formats; the next shape takes the next format. */
static void check_cast_shape(int64_t rows, int64_t cols, int64_t gap)
{
    static int shapes;
    enum tt_dtype to = formats[shapes++ % FORMATS];
    for (int way = 0; way < 6; way++) {
        struct how how = {to, way % 3 != 1, way % 3 != 0, way < 3, way > 2};
        new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", format %d, way %d", rows, cols, gap, (int)to, way);
        check_cast(input("x", kt.dtype, rows, cols, gap, 1e-3), how, 0x1p-17f);
    }
}

static void casts_of_all_shapes(void)
{
    for_shapes_and_gaps(check_cast_shape);
    for EACH (rows, 16, 128, 144, 272) /* vectorised, in whole and in partial squares */
        for EACH (cols, 16, 128, 144, 256, 400) check_cast_shape(*rows, *cols, 0);
    check_cast_shape(144, 128, 16);
}

/* Every bf16 number (rounded to the other activation types) in every format. */
static void every_number_has_its_code(void)
{
    double *all = must(calloc(65536, sizeof *all));
    for (int i = 0; i < 65536; i++) all[i] = from_bf16((uint16_t)i);
    for (int i = 0; i < FORMATS; i++) {
        new_case("every bf16, format %d", (int)formats[i]);
        check_cast(given("x", kt.dtype, 256, 256, 0, all), (struct how){formats[i], true, true, false, true}, 1);
    }
    free(all);
}

/* ---- by rows ---- */

/* The largest magnitude of a row, or of column i - rows. */
static double most_of_line(const struct tensor *x, int64_t i)
{
    bool row = i < x->rows;
    double most = 0;
    for (int64_t k = 0; k < (row ? x->cols : x->rows); k++) {
        double a = fabs(x->v[row ? i * x->cols + k : k * x->cols + i - x->rows]);
        if (isnan(a)) return a;
        if (a > most) most = a;
    }
    return most;
}

static void compare_row_codes(const struct tensor *t, const struct tensor *x, const double *scale, enum tt_dtype to,
                              bool turned)
{
    for (int64_t i = 0; t && i < x->rows * x->cols; i++) {
        int64_t r = i / x->cols, c = i % x->cols, at = turned ? c * x->rows + r : i;
        float by = (float)scale[turned ? x->rows + c : r];
        uint8_t want = tt_fp8_code((float)x->v[i], tt_fp8_inverse(by), to);
        if (t->data[at] == want) continue;
        CHECK(false, "fp8_cast_rows [%s]: %s[%" PRId64 ",%" PRId64 "] of %a is %02x, should be %02x", kt.label,
              t->name, r, c, x->v[i], t->data[at], want);
        return;
    }
}

/* Takes the magnitudes, then makes codes by them, plain and transposed; then makes only one of the two by the same
 * scales. */
static void check_rows(struct tensor *x, enum tt_dtype to)
{
    int64_t rows = x->rows, cols = x->cols, n = rows + cols;
    double *before = doubles(n);
    for (int64_t i = 0; i < n; i++) before[i] = i % 3 ? 0 : 0x1p-12;
    struct tensor *amax = given("amax", TT_F32, 1, n, 0, before), *scale = output("new_scale", TT_F32, 1, n, 0);
    struct tensor *out = new_tensor("out", BYTES, rows, cols, 0), *turned = new_tensor("turned", BYTES, cols, rows, 0);
    struct tensor *again = new_tensor("again", BYTES, cols, rows, 0);
    struct tensor *alone = new_tensor("alone", BYTES, rows, cols, 0);
    LAUNCH(fp8_amax_rows, .x = x->data, .amax = (float *)amax->data, .rows = rows, .cols = cols, .ldx = x->ld);
    LAUNCH(fp8_cast_rows, .to = to, .x = x->data, .amax = (float *)amax->data, .new_scale = (float *)scale->data,
           .out = out->data, .transposed = turned->data, .rows = rows, .cols = cols, .ldx = x->ld);
    LAUNCH(fp8_cast_rows, .to = to, .x = x->data, .scale = (float *)scale->data, .transposed = again->data,
           .rows = rows, .cols = cols, .ldx = x->ld);
    LAUNCH(fp8_cast_rows, .to = to, .x = x->data, .scale = (float *)scale->data, .out = alone->data, .rows = rows,
           .cols = cols, .ldx = x->ld);
    for (int64_t i = 0; i < n; i++) {
        double most = most_of_line(x, i), want = most <= before[i] ? before[i] : most;
        float wanted = tt_fp8_scale((float)want, to);
        CHECK(isnan(want) ? isnan(amax->v[i]) : amax->v[i] == want, "[%s]: magnitude %" PRId64 " is %g, not %g",
              kt.label, i, amax->v[i], want);
        CHECK(isnan(wanted) ? isnan(scale->v[i]) : scale->v[i] == (double)wanted,
              "[%s]: scale %" PRId64 " is %g, not %g", kt.label, i, scale->v[i], (double)wanted);
    }
    compare_row_codes(out, x, scale->v, to, false);
    compare_row_codes(alone, x, scale->v, to, false);
    compare_row_codes(turned, x, scale->v, to, true);
    compare_row_codes(again, x, scale->v, to, true);
}

static void check_rows_shape(int64_t rows, int64_t cols, int64_t gap)
{
    static int shapes;
    enum tt_dtype to = tt_fp8_e4m3(shapes++ % 2);
    new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", format %d, by rows", rows, cols, gap, (int)to);
    check_rows(input("x", kt.dtype, rows, cols, gap, 1e-3), to);
}

static void casts_by_rows(void)
{
    for_shapes_and_gaps(check_rows_shape);
    for EACH (rows, 16, 128, 144, 272)
        for EACH (cols, 16, 128, 144, 256, 400) check_rows_shape(*rows, *cols, 0);
    check_rows_shape(144, 128, 16);
}

/* Each row and column has a different extreme: zeros, infinity, NaN, very large and very small numbers. */
static void rows_with_extremes(void)
{
    double v[5 * 40] = {0};
    v[40 + 17] = -(double)INFINITY;
    v[80 + 39] = (double)NAN;
    v[80 + 3] = (double)INFINITY;
    v[120 + 20] = 6e4, v[120 + 21] = 1e-7, v[120 + 17] = 449;
    v[160 + 21] = 1e-7;
    for (int fnuz = 0; fnuz < 2; fnuz++) {
        new_case("zeros, infinities, a NaN, fnuz %d, by rows", fnuz);
        check_rows(given("x", kt.dtype, 5, 40, 0, v), tt_fp8_e4m3(fnuz));
    }
}

/* ---- casts fused with the kernel that makes their input ---- */

/* The same codes as rmsnorm followed by fp8_cast. */
static void check_normed(int64_t rows, int64_t cols)
{
    new_case("%" PRId64 " x %" PRId64 ", normalised", rows, cols);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 3), *w = input("weight", kt.dtype, 1, cols, 0, 1);
    struct tensor *rstd = output("rstd", TT_F32, rows, 1, 0), *y = output("y", kt.dtype, rows, cols, 0);
    struct tensor *out = new_tensor("out", BYTES, rows, cols, 0), *turned = new_tensor("turned", BYTES, cols, rows, 0);
    double one = 0x1p-7;
    double zero = 0;
    struct tensor *scale = given("scale", TT_F32, 1, 1, 0, &one), *amax = given("amax", TT_F32, 1, 1, 0, &zero);
    LAUNCH(rmsnorm, .x = x->data, .weight = w->data, .y = y->data, .rstd = (float *)rstd->data, .rows = rows,
           .cols = cols, .eps = 1e-6f);
    LAUNCH(fp8_cast, .to = TT_E4M3, .x = x->data, .scale = (float *)scale->data, .rstd = (float *)rstd->data,
           .weight = w->data, .amax = (float *)amax->data, .out = out->data, .transposed = turned->data, .rows = rows,
           .cols = cols, .ldx = cols);
    amax_is_of(amax, 0, y);
    codes_are_of(out, y, (float)one, TT_E4M3, false);
    codes_are_of(turned, y, (float)one, TT_E4M3, true);
}

static void normalises_on_the_way(void)
{
    for_shapes(check_normed);
    for EACH (cols, 16, 144, 256) check_normed(144, *cols);
}

/* The same codes as swiglu_backward followed by fp8_cast. */
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
    LAUNCH(fp8_swiglu_backward, .to = to, .gu = gu->data, .dh = dh->data, .partial = (float *)amax->data,
           .h_scale = (float *)given_h->data, .new_scale = (float *)scale->data, .dgu = out->data,
           .dgu_transposed = turned->data, .h_transposed = h8->data, .rows = rows, .F = F);
    CHECK(scale->v[0] == (double)tt_fp8_scale((float)amax->v[0], to), "[%s]: the scale is %g", kt.label, scale->v[0]);
    codes_are_of(out, dgu, (float)scale->v[0], to, false);
    codes_are_of(turned, dgu, (float)scale->v[0], to, true);
    codes_are_of(h8, h, (float)h_scale, to_h, true);
}

/* With given scales, forward and backward; the kernels also take the largest magnitudes. */
static void check_glu_by_scale(int64_t rows, int64_t F, enum tt_dtype to)
{
    new_case("%" PRId64 " x %" PRId64 ", SwiGLU by scales, format %d", rows, F, (int)to);
    enum tt_dtype to_h = to == TT_E5M2 ? TT_E4M3 : TT_E4M3_FNUZ;
    struct tensor *gu = input("gu", kt.dtype, rows, 2 * F, 0, 2), *dh = input("dh", kt.dtype, rows, F, 0, 1e-3);
    struct tensor *h_there = output("h_there", kt.dtype, rows, F, 0), *h = output("h", kt.dtype, rows, F, 0);
    struct tensor *dgu = output("dgu", kt.dtype, rows, 2 * F, 0), *out = new_tensor("codes", BYTES, rows, 2 * F, 0);
    struct tensor *turned = new_tensor("turned", BYTES, 2 * F, rows, 0), *h8 = new_tensor("h8", BYTES, F, rows, 0);
    struct tensor *plain = new_tensor("h codes", BYTES, rows, F, 0);
    double zero = 0, one = 0x1p-26, h_one = 0x1p-8; /* so that some values exceed the format */
    struct tensor *most = given("amax", TT_F32, 1, 1, 0, &zero), *most_h = given("amax of h", TT_F32, 1, 1, 0, &zero);
    struct tensor *scale = given("scale", TT_F32, 1, 1, 0, &one), *h_scale = given("h_scale", TT_F32, 1, 1, 0, &h_one);
    LAUNCH(swiglu, .gu = gu->data, .h = h_there->data, .rows = rows, .F = F);
    LAUNCH(fp8_swiglu, .to = to_h, .gu = gu->data, .scale = (float *)h_scale->data, .amax = (float *)most_h->data,
           .h = plain->data, .rows = rows, .F = F);
    codes_are_of(plain, h_there, (float)h_one, to_h, false);
    amax_is_of(most_h, 0, h_there);
    if (rows % 16 || F % 16) return;
    LAUNCH(swiglu_backward, .gu = gu->data, .dh = dh->data, .dgu = dgu->data, .h = h->data, .rows = rows, .F = F);
    LAUNCH(fp8_swiglu_backward, .to = to, .gu = gu->data, .dh = dh->data, .scale = (float *)scale->data,
           .amax = (float *)most->data, .h_scale = (float *)h_scale->data, .dgu = out->data,
           .dgu_transposed = turned->data, .h_transposed = h8->data, .rows = rows, .F = F);
    codes_are_of(out, dgu, (float)one, to, false);
    codes_are_of(turned, dgu, (float)one, to, true);
    codes_are_of(h8, h, (float)h_one, to_h, true);
    amax_is_of(most, 0, dgu);
}

static void swiglu_with_scales(void)
{
    for EACH (rows, 1, 16, 51, 272)
        for EACH (F, 1, 16, 19, 144, 400) {
            check_glu_by_scale(*rows, *F, TT_E5M2);
            check_glu_by_scale(*rows, *F, TT_E5M2_FNUZ);
        }
}

/* ---- scales from a history ---- */

/* Simulates steps of n tensors on `ranks` ranks. Tensor 0 is always 0; tensor 1 has an outlier in step 3; in step 5
 * tensor 2 has a NaN and tensor 3 an infinity; the others are random. */
static double magnitude(int64_t step, int64_t i, int64_t rank)
{
    if (i == 0) return 0;
    if (i == 1 && step == 3) return 1e6;
    if (step == 5 && (i == 2 || i == 3)) return i == 2 ? (double)NAN : (double)INFINITY;
    return exp2(floor(12 * sin((double)(step * 7 + i * 3 + rank)))) * 1.25;
}

static void check_history(int64_t n, int64_t ranks, bool fnuz)
{
    enum { STEPS = TT_FP8_HISTORY + 6, STOPS = STEPS - 2 };
    new_case("%" PRId64 " tensors, %" PRId64 " ranks, fnuz %d", n, ranks, (int)fnuz);
    int64_t numbers = n * 2 / 3;
    double *seen = doubles(STEPS * n), *start = doubles(n), *none = doubles(16 * n);
    double *apart = doubles(TT_FP8_APART * n);
    for (int64_t i = 0; i < n; i++) start[i] = exp2((double)(i % 5));
    for (int64_t i = 0; i < TT_FP8_APART * n; i++) apart[i] = i % TT_FP8_APART ? 77 : start[i / TT_FP8_APART];
    for (int64_t i = 0; i < 16 * n; i++) none[i] = 0;
    struct tensor *scale = given("scale", TT_F32, n, TT_FP8_APART, 0, apart);
    struct tensor *history = given("history", TT_F32, TT_FP8_HISTORY, n, 0, none);
    struct tensor *state = structure("state", &(struct tt_state){0}, sizeof(struct tt_state));
    struct tensor *amax = given("amax", TT_F32, ranks, n, 0, none);
    for (int64_t step = 1; step <= STEPS; step++) {
        struct tt_state s = {.step = step, .stopped = step >= STOPS};
        memcpy(state->data, &s, sizeof s);
        for (int64_t i = 0; i < n * ranks; i++) ((float *)amax->data)[i] = (float)magnitude(step, i % n, i / n);
        LAUNCH(fp8_history, .state = (struct tt_state *)state->data, .scale = (float *)scale->data,
               .history = (float *)history->data, .amax = (float *)amax->data, .n = n, .numbers = numbers,
               .ranks = ranks, .fnuz = fnuz);
        for (int64_t i = 0; i < n; i++) {
            double *now = &seen[(step - 1) * n + i], largest = 0;
            *now = 0;
            for (int64_t r = 0; r < ranks; r++)
                if (!(magnitude(step, i, r) <= *now)) *now = magnitude(step, i, r);
            if (!isfinite(*now)) *now = 0;
            int64_t last = step < STOPS ? step : STOPS - 1;
            for (int64_t k = last > TT_FP8_HISTORY ? last - TT_FP8_HISTORY : 0; k < last; k++)
                largest = fmax(largest, seen[k * n + i]);
            enum tt_dtype to = i < numbers ? tt_fp8_e4m3(fnuz) : tt_fp8_e5m2(fnuz);
            float want = tt_fp8_next_scale((float)largest, (float)start[i], to);
            double got = scale->v[i * TT_FP8_APART];
            CHECK(got == (double)want && scale->v[i * TT_FP8_APART + 1] == 77,
                  "[%s]: step %" PRId64 ", tensor %" PRId64 ": %g, not %g", kt.label, step, i, got, (double)want);
            if (step < STOPS) CHECK(amax->v[i] == 0, "[%s]: amax %g", kt.label, amax->v[i]);
        }
    }
}

static void histories_make_scales(void)
{
    for EACH (n, 7, 300)
        for EACH (ranks, 1, 3) check_history(*n, *ranks, *n == 7);
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
            check_cast(given("x", kt.dtype, 2, 16, 0, v), (struct how){formats[f], true, true, true, false}, 0);
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
    TEST_TYPES(casts_by_rows);
    TEST_TYPES(rows_with_extremes);
    TEST_TYPES(normalises_on_the_way);
    TEST_TYPES(swiglu_on_the_way);
    TEST_TYPES(swiglu_with_scales);
    TEST_TYPES(histories_make_scales);
    END_KERNEL_TESTS(COVER_FP8);
}
