/* Kernels that do one mathematical operation per element, row or column, and SwiGLU. */
#include "tests/backend/kernels/kernels.h"

static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double silu(double x) { return x * sigmoid(x); }
static double silu_slope(double x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }

/* Values whose exponentials overflow or vanish. */
static const double extremes[] = {80, -80, 1e4, -1e4, 88.5, -88.5, -103.5, 20, -20, 1e-6, -1e-6, 0};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

static void make_extreme(struct tensor *t)
{
    for (int64_t i = 0; i < t->rows * t->cols; i++) t->v[i] = extremes[i % EXTREMES];
    encode(t);
}

/* ---- two operands ---- */

enum in_place { APART, ON_X, ON_Y };

static void check_binary(bool product, int64_t rows, int64_t cols, int64_t gap, enum in_place where)
{
    new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", in place %d", rows, cols, gap, where);
    struct tensor *x = input("x", kt.dtype, rows, cols, gap, 1), *y = input("y", kt.dtype, rows, cols, gap * 2, 1);
    struct tensor *out = where == ON_X ? x : where == ON_Y ? y : output("out", kt.dtype, rows, cols, gap * 3);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = product ? x->v[i] * y->v[i] : x->v[i] + y->v[i];
    if (product)
        LAUNCH(mul, .x = x->data, .y = y->data, .out = out->data, .rows = rows, .cols = cols, .ldx = x->ld,
               .ldy = y->ld, .ldo = out->ld);
    else
        LAUNCH(add, .x = x->data, .y = y->data, .out = out->data, .rows = rows, .cols = cols, .ldx = x->ld,
               .ldy = y->ld, .ldo = out->ld);
    close_to(out, want, 1e-7, 0);
}

static void binary(int64_t rows, int64_t cols, int64_t gap)
{
    for (int product = 0; product < 2; product++)
        for (int where = APART; where <= ON_Y; where++) check_binary(product, rows, cols, gap, (enum in_place)where);
}

static void adds_and_multiplies(void) { for_shapes_and_gaps(binary); }

/* ---- one operand of any length ---- */

static void check_scale(int64_t n, bool with_state)
{
    new_case("%" PRId64 ", state %d", n, with_state);
    struct tt_state loss_scaled = {.step = 1, .loss_scale = 512};
    struct tensor *x = input("x", kt.dtype, 1, n, 0, 1);
    struct tensor *state = with_state ? structure("state", &loss_scaled, sizeof loss_scaled) : NULL;
    double *want = doubles(n), factor = (float)-0.37;
    for (int64_t i = 0; i < n; i++) want[i] = x->v[i] * factor * (with_state ? 512 : 1);
    LAUNCH(scale, .x = x->data, .state = data_or_null(state), .n = n, .factor = (float)factor);
    close_to(x, want, 1e-7, 0);
}

static void scale(int64_t n)
{
    check_scale(n, false);
    check_scale(n, true);
}

/* Rounds to nearest, ties to even, like the formats of the tests. */
static void cast(int64_t n)
{
    new_case("%" PRId64, n);
    struct tensor *x = input("x", TT_F32, 1, n, 0, 1), *out = output("out", kt.dtype, 1, n, 0);
    for (int64_t i = 0; i < n; i++)
        x->v[i] = i % 7 == 6 ? 1 + (double)(i % 64) * 0x1p-12 : ldexp(x->v[i], (int)(i % 40) - 30);
    encode(x);
    LAUNCH(cast, .x = (float *)x->data, .out = out->data, .n = n);
    exactly(out, given("rounded", kt.dtype, 1, n, 0, x->v)->v);
}

static void zero(int64_t n)
{
    new_case("%" PRId64, n);
    struct tensor *x = output("x", TT_F32, 1, n, 0);
    LAUNCH(zero, .x = (float *)x->data, .n = n);
    exactly(x, doubles(n));
}

static void square(int64_t n)
{
    new_case("%" PRId64, n);
    struct tensor *x = input("x", kt.dtype, 1, n, 0, 3), *out = output("out", kt.dtype, 1, n, 0);
    double *want = doubles(n);
    for (int64_t i = 0; i < n; i++) want[i] = x->v[i] * x->v[i];
    LAUNCH(square, .x = x->data, .out = out->data, .n = n);
    close_to(out, want, 1e-7, 0);
}

static void check_exp(int64_t n, double spread)
{
    new_case("%" PRId64 ", spread %g", n, spread);
    struct tensor *x = input("x", kt.dtype, 1, n, 0, spread);
    if (spread > 10) {
        make_extreme(x);
        for (int64_t i = 0; i < n; i++) x->v[i] = fmin(x->v[i], kt.dtype == TT_F16 ? 11 : 88.5);
        encode(x);
    }
    double *want = doubles(n);
    for (int64_t i = 0; i < n; i++) want[i] = exp(x->v[i]);
    LAUNCH(exp, .x = x->data, .n = n);
    close_to(x, want, 1e-6, 1e-37);
}

static void exponential(int64_t n)
{
    check_exp(n, 2);
    check_exp(n, 80);
}

static void scales(void) { for_lengths(scale); }
static void casts(void) { for_lengths(cast); }
static void zeroes(void) { for_lengths(zero); }
static void squares(void) { for_lengths(square); }
static void exponentials(void) { for_lengths(exponential); }

/* ---- rows and columns ---- */

static void row_sum(int64_t rows, int64_t cols)
{
    new_case("%" PRId64 " x %" PRId64, rows, cols);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1), *out = output("out", TT_F32, rows, 1, 0);
    double *want = doubles(rows), factor = 1 / (double)cols;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) want[r] += x->v[r * cols + c] * factor;
    LAUNCH(row_sum, .x = x->data, .out = (float *)out->data, .rows = rows, .cols = cols, .factor = (float)factor);
    close_to(out, want, 1e-6, 1e-6);
}

static void check_col_sum(int64_t rows, int64_t cols, bool accumulate)
{
    new_case("%" PRId64 " x %" PRId64 ", accumulate %d", rows, cols, accumulate);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1);
    struct tensor *out = accumulate ? input("out", TT_F32, 1, cols, 0, 1) : output("out", TT_F32, 1, cols, 0);
    double *want = accumulate ? copy_doubles(out->v, cols) : doubles(cols);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) want[c] += x->v[r * cols + c];
    LAUNCH(col_sum, .x = x->data, .out = (float *)out->data, .rows = rows, .cols = cols, .accumulate = accumulate);
    close_to(out, want, 1e-6, 1e-5);
}

static void col_sum(int64_t rows, int64_t cols)
{
    check_col_sum(rows, cols, false);
    check_col_sum(rows, cols, true);
}

static void check_mul_rows(int64_t rows, int64_t cols, bool in_place)
{
    new_case("%" PRId64 " x %" PRId64 ", in place %d", rows, cols, in_place);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1), *s = input("s", TT_F32, rows, 1, 0, 1);
    struct tensor *out = in_place ? x : output("out", kt.dtype, rows, cols, 0);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = x->v[i] * s->v[i / cols];
    LAUNCH(mul_rows, .x = x->data, .s = (float *)s->data, .out = out->data, .rows = rows, .cols = cols);
    close_to(out, want, 1e-7, 0);
}

static void check_mul_cols(int64_t rows, int64_t cols, bool in_place)
{
    new_case("%" PRId64 " x %" PRId64 ", in place %d", rows, cols, in_place);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1), *w = input("w", kt.dtype, 1, cols, 0, 1);
    struct tensor *out = in_place ? x : output("out", kt.dtype, rows, cols, 0);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = x->v[i] * w->v[i % cols];
    LAUNCH(mul_cols, .x = x->data, .w = w->data, .out = out->data, .rows = rows, .cols = cols);
    close_to(out, want, 1e-7, 0);
}

static void check_add_cols(int64_t rows, int64_t cols, bool in_place)
{
    new_case("%" PRId64 " x %" PRId64 ", in place %d", rows, cols, in_place);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1), *w = input("w", kt.dtype, 1, cols, 0, 1);
    struct tensor *out = in_place ? x : output("out", kt.dtype, rows, cols, 0);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = x->v[i] + w->v[i % cols];
    LAUNCH(add_cols, .x = x->data, .w = w->data, .out = out->data, .rows = rows, .cols = cols);
    close_to(out, want, 1e-7, 0);
}

static void mul_rows_and_cols(int64_t rows, int64_t cols)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        check_mul_rows(rows, cols, in_place);
        check_mul_cols(rows, cols, in_place);
        check_add_cols(rows, cols, in_place);
    }
}

static void sub_rows(int64_t rows, int64_t cols)
{
    new_case("%" PRId64 " x %" PRId64, rows, cols);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1), *s = input("s", TT_F32, rows, 1, 0, 1);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = x->v[i] - s->v[i / cols];
    LAUNCH(sub_rows, .x = x->data, .s = (float *)s->data, .rows = rows, .cols = cols);
    close_to(x, want, 1e-7, 0);
}

static void sums_rows(void)
{
    for_shapes(row_sum);
    for_row_widths(row_sum);
}
static void sums_columns(void) { for_shapes(col_sum); }
static void multiplies_rows_and_columns(void) { for_shapes(mul_rows_and_cols); }
static void subtracts_from_rows(void) { for_shapes(sub_rows); }

/* ---- SiLU ---- */

static void check_silu(int64_t rows, int64_t cols, int64_t gap, bool extreme)
{
    new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", extreme %d", rows, cols, gap, extreme);
    struct tensor *x = input("x", kt.dtype, rows, cols, gap, 3), *out = output("out", kt.dtype, rows, cols, gap * 2);
    if (extreme) make_extreme(x);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = silu(x->v[i]);
    LAUNCH(silu, .x = x->data, .out = out->data, .rows = rows, .cols = cols, .ldx = x->ld, .ldo = out->ld);
    close_to(out, want, 1e-6, 1e-30);
}

static void check_silu_backward(int64_t rows, int64_t cols, int64_t gap, bool extreme, bool in_place)
{
    new_case("%" PRId64 " x %" PRId64 ", gap %" PRId64 ", extreme %d, in place %d", rows, cols, gap, extreme, in_place);
    struct tensor *x = input("x", kt.dtype, rows, cols, gap, 3), *dy = input("dy", kt.dtype, rows, cols, gap * 2, 1);
    struct tensor *dx = in_place ? dy : output("dx", kt.dtype, rows, cols, gap * 3);
    if (extreme) make_extreme(x);
    double *want = doubles(rows * cols);
    for (int64_t i = 0; i < rows * cols; i++) want[i] = dy->v[i] * silu_slope(x->v[i]);
    LAUNCH(silu_backward, .x = x->data, .dy = dy->data, .dx = dx->data, .rows = rows, .cols = cols, .ldx = x->ld,
           .lddy = dy->ld, .lddx = dx->ld);
    close_to(dx, want, 1e-6, 1e-6);
}

static void silu_both_ways(int64_t rows, int64_t cols, int64_t gap)
{
    for (int extreme = 0; extreme < 2; extreme++) {
        check_silu(rows, cols, gap, extreme);
        check_silu_backward(rows, cols, gap, extreme, false);
        check_silu_backward(rows, cols, gap, extreme, true);
    }
}

static void silus(void) { for_shapes_and_gaps(silu_both_ways); }

/* ---- SwiGLU: each row has the gate (F), then up (F) ---- */

struct glu {
    int64_t rows, F;
};

static void swiglu_forward(const double *gu, double *h, const void *context)
{
    const struct glu *g = context;
    for (int64_t i = 0; i < g->rows * g->F; i++) {
        const double *row = gu + i / g->F * 2 * g->F + i % g->F;
        h[i] = silu(row[0]) * row[g->F];
    }
}

static void swiglu_backward(const struct glu *g, const double *gu, const double *dh, double *dgu)
{
    for (int64_t i = 0; i < g->rows * g->F; i++) {
        int64_t at = i / g->F * 2 * g->F + i % g->F;
        dgu[at] = dh[i] * gu[at + g->F] * silu_slope(gu[at]);
        dgu[at + g->F] = dh[i] * silu(gu[at]);
    }
}

static void check_swiglu(int64_t rows, int64_t F, bool extreme)
{
    new_case("%" PRId64 " x %" PRId64 ", extreme %d", rows, F, extreme);
    struct tensor *gu = input("gu", kt.dtype, rows, 2 * F, 0, 2), *h = output("h", kt.dtype, rows, F, 0);
    if (extreme) make_extreme(gu);
    double *want = doubles(rows * F);
    swiglu_forward(gu->v, want, &(struct glu){rows, F});
    struct tensor *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    LAUNCH(swiglu, .gu = gu->data, .h = h->data, .amax = data_or_null(amax), .rows = rows, .F = F);
    amax_is_of(amax, before, h);
    close_to(h, want, 1e-6, 1e-25);
}

static void check_swiglu_backward(int64_t rows, int64_t F, bool extreme, bool in_place, bool again)
{
    new_case("%" PRId64 " x %" PRId64 ", extreme %d, in place %d, h again %d", rows, F, extreme, in_place, again);
    struct tensor *gu = input("gu", kt.dtype, rows, 2 * F, 0, 2), *dh = input("dh", kt.dtype, rows, F, 0, 1);
    struct tensor *dgu = in_place ? gu : output("dgu", kt.dtype, rows, 2 * F, 0);
    if (extreme) make_extreme(gu);
    struct tensor *h = !again ? NULL : in_place ? dh : output("h", kt.dtype, rows, F, 0);
    double *want = doubles(2 * rows * F), *want_h = doubles(rows * F);
    swiglu_backward(&(struct glu){rows, F}, gu->v, dh->v, want);
    swiglu_forward(gu->v, want_h, &(struct glu){rows, F});
    struct tensor *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    double zero = 0;
    struct tensor *alone = given("amax alone", TT_F32, 1, 1, 0, &zero);
    LAUNCH(swiglu_backward, .gu = gu->data, .dh = dh->data, .amax = (float *)alone->data, .rows = rows, .F = F);
    LAUNCH(swiglu_backward, .gu = gu->data, .dh = dh->data, .dgu = dgu->data, .h = h ? h->data : NULL,
           .amax = data_or_null(amax), .rows = rows, .F = F);
    amax_is_of(amax, before, dgu);
    amax_is_of(alone, 0, dgu);
    close_to(dgu, want, 1e-6, extreme ? 1e-2 : 1e-6);
    if (h) close_to(h, want_h, 1e-6, 1e-25);
}

static void swiglu_both_ways(int64_t rows, int64_t F)
{
    for (int extreme = 0; extreme < 2; extreme++) {
        check_swiglu(rows, F, extreme);
        for (int way = 0; way < 4; way++) check_swiglu_backward(rows, F, extreme, way % 2, way / 2);
    }
}

static void swiglus(void) { for_shapes(swiglu_both_ways); }

/* ---- the references and the harness themselves ---- */

static void silu_elements(const double *x, double *y, const void *context)
{
    for (int64_t i = 0; i < *(const int64_t *)context; i++) y[i] = silu(x[i]);
}

static void references_differentiate(void)
{
    int64_t n = 40;
    new_case("silu");
    struct tensor *x = input("x", TT_F32, 1, n, 0, 3), *dy = input("dy", TT_F32, 1, n, 0, 1);
    double *dx = doubles(n);
    for (int64_t i = 0; i < n; i++) dx[i] = dy->v[i] * silu_slope(x->v[i]);
    check_gradient("silu", silu_elements, &n, x->v, n, dy->v, n, dx);

    new_case("swiglu");
    struct glu g = {3, 7};
    struct tensor *gu = input("gu", TT_F32, g.rows, 2 * g.F, 0, 2), *dh = input("dh", TT_F32, g.rows, g.F, 0, 1);
    double *dgu = doubles(2 * g.rows * g.F);
    swiglu_backward(&g, gu->v, dh->v, dgu);
    check_gradient("swiglu", swiglu_forward, &g, gu->v, 2 * g.rows * g.F, dh->v, g.rows * g.F, dgu);
}

static void half_formats_keep_every_value(void)
{
    int lost = 0;
    for (unsigned h = 0; h <= 0xffff; h++) {
        double b = from_bf16((uint16_t)h), f = from_f16((uint16_t)h);
        lost += !isnan(b) && to_bf16(b) != h;
        lost += !isnan(f) && to_f16(f) != h;
    }
    CHECK(lost == 0, "%d patterns changed", lost);
    CHECK(to_f16(1 + 0x1p-11) == 0x3c00 && to_f16(1 + 3 * 0x1p-11) == 0x3c02, "ties go to even");
    CHECK(to_bf16(1 + 0x1p-8) == 0x3f80 && to_bf16(1 + 3 * 0x1p-8) == 0x3f82, "ties go to even");
    CHECK(isnan(from_f16(to_f16((double)NAN))) && isinf(from_f16(to_f16(1e9))));
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(half_formats_keep_every_value);
    TEST(references_differentiate);
    TEST_TYPES(adds_and_multiplies);
    TEST_TYPES(scales);
    TEST_TYPES(casts);
    TEST(zeroes);
    TEST_TYPES(squares);
    TEST_TYPES(exponentials);
    TEST_TYPES(sums_rows);
    TEST_TYPES(sums_columns);
    TEST_TYPES(multiplies_rows_and_columns);
    TEST_TYPES(subtracts_from_rows);
    TEST_TYPES(silus);
    TEST_TYPES(swiglus);
    END_KERNEL_TESTS(COVER_ELEMENTWISE);
}
