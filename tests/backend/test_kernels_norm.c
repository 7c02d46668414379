/* RMSNorm: in one kernel, in single steps, and backward. */
#include "tests/backend/kernels/kernels.h"

static const double eps = (double)1e-6f;

struct norm {
    int64_t rows, cols;
};

/* y = x · rstd · weight; rstd may be NULL. */
static void norm_forward(const struct norm *n, const double *x, const double *weight, double *y, double *rstd)
{
    for (int64_t r = 0; r < n->rows; r++) {
        const double *row = x + r * n->cols;
        double sum = 0;
        for (int64_t c = 0; c < n->cols; c++) sum += row[c] * row[c];
        double scale = 1 / sqrt(sum / (double)n->cols + eps);
        for (int64_t c = 0; c < n->cols; c++) y[r * n->cols + c] = row[c] * scale * weight[c];
        if (rstd) rstd[r] = scale;
    }
}

static void norm_backward(const struct norm *n, const double *x, const double *weight, const double *rstd,
                          const double *dy, double *dx)
{
    for (int64_t r = 0; r < n->rows; r++) {
        const double *row = x + r * n->cols, *d = dy + r * n->cols;
        double dot = 0;
        for (int64_t c = 0; c < n->cols; c++) dot += d[c] * weight[c] * row[c];
        double coef = dot * rstd[r] * rstd[r] * rstd[r] / (double)n->cols;
        for (int64_t c = 0; c < n->cols; c++) dx[r * n->cols + c] = d[c] * weight[c] * rstd[r] - row[c] * coef;
    }
}

/* The weight's gradient, for each of `parts` runs of rows. */
static void norm_weight_parts(const struct norm *n, const double *x, const double *rstd, const double *dy,
                              int64_t parts, double *partial)
{
    int64_t run = (n->rows + parts - 1) / parts;
    for (int64_t r = 0; r < n->rows; r++)
        for (int64_t c = 0; c < n->cols; c++)
            partial[r / run * n->cols + c] += dy[r * n->cols + c] * x[r * n->cols + c] * rstd[r];
}

/* ---- the references ---- */

/* Input: the weight, then x. */
static void norm_packed(const double *packed, double *y, const void *context)
{
    const struct norm *n = context;
    norm_forward(n, packed + n->cols, packed, y, NULL);
}

static void references_differentiate(void)
{
    for EACH (cols, 1, 7, 20) {
        new_case("%" PRId64 " columns", *cols);
        struct norm n = {3, *cols};
        int64_t size = n.rows * n.cols;
        struct tensor *packed = input("weight and x", TT_F32, n.rows + 1, n.cols, 0, 1);
        struct tensor *dy = input("dy", TT_F32, n.rows, n.cols, 0, 1);
        double *x = packed->v + n.cols, *y = doubles(size), *rstd = doubles(n.rows), *dpacked = doubles(size + n.cols);
        norm_forward(&n, x, packed->v, y, rstd);
        norm_weight_parts(&n, x, rstd, dy->v, 1, dpacked);
        norm_backward(&n, x, packed->v, rstd, dy->v, dpacked + n.cols);
        check_gradient("rmsnorm", norm_packed, &n, packed->v, size + n.cols, dy->v, size, dpacked);
    }
}

/* ---- forward ---- */

enum sum_place { NO_DELTA, SUM_APART, SUM_ON_X, SUM_ON_DELTA };

/* With amax, y may be left out. */
static void check_without_result(const struct tensor *x, const struct tensor *weight, const struct tensor *y)
{
    double zero = 0;
    struct tensor *amax = given("amax", TT_F32, 1, 1, 0, &zero), *rstd = output("rstd", TT_F32, x->rows, 1, 0);
    LAUNCH(rmsnorm, .x = x->data, .weight = weight->data, .rstd = (float *)rstd->data, .amax = (float *)amax->data,
           .rows = x->rows, .cols = x->cols, .eps = (float)eps);
    amax_is_of(amax, 0, y);
}

static void check_rmsnorm(int64_t rows, int64_t cols, double scale, enum sum_place place)
{
    new_case("%" PRId64 " x %" PRId64 ", scale %g, sum %d", rows, cols, scale, place);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, scale), *weight = input("weight", kt.dtype, 1, cols, 0, 1);
    struct tensor *delta = place == NO_DELTA ? NULL : input("delta", kt.dtype, rows, cols, 0, scale);
    struct tensor *sum = place == SUM_ON_X       ? x
                         : place == SUM_ON_DELTA ? delta
                         : place == SUM_APART    ? output("sum", kt.dtype, rows, cols, 0)
                                                 : NULL;
    struct tensor *y = output("y", kt.dtype, rows, cols, 0), *rstd = output("rstd", TT_F32, rows, 1, 0);
    double *want_sum = copy_doubles(x->v, rows * cols), *want = doubles(rows * cols), *want_rstd = doubles(rows);
    for (int64_t i = 0; delta && i < rows * cols; i++) want_sum[i] += delta->v[i];
    norm_forward(&(struct norm){rows, cols}, want_sum, weight->v, want, want_rstd);
    struct tensor *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    LAUNCH(rmsnorm, .x = x->data, .delta = data_or_null(delta), .weight = weight->data, .sum = data_or_null(sum),
           .y = y->data, .rstd = (float *)rstd->data, .amax = data_or_null(amax), .rows = rows, .cols = cols,
           .eps = (float)eps);
    double slack = roundoff(kt.dtype);
    if (sum) close_to(sum, want_sum, 1e-7, 0);
    close_to(rstd, want_rstd, 2e-6 + slack, 0);
    close_to(y, want, 2e-6 + slack, (1e-6 + slack) * 0.1);
    amax_is_of(amax, before, y);
    if (!delta) check_without_result(x, weight, y);
}

static void rmsnorm(int64_t rows, int64_t cols)
{
    for (int place = NO_DELTA; place <= SUM_ON_DELTA; place++) check_rmsnorm(rows, cols, 1, (enum sum_place)place);
}

static void normalises(void)
{
    for_shapes(rmsnorm);
    for_row_widths(rmsnorm);
}

/* eps dominates when x is tiny; squares must not overflow when x is large. */
static void normalises_extremes(void)
{
    check_rmsnorm(5, 100, 1e-4, NO_DELTA);
    check_rmsnorm(5, 100, 1e-8, NO_DELTA);
    check_rmsnorm(5, 100, 1e4, SUM_APART);
}

/* ---- backward ---- */

enum residual { NO_DRES, DRES_APART, DRES_IS_DX };
static enum tt_dtype code_type = TT_E5M2;
static bool in_codes;

/* With codes in at least every other call; some values exceed the code format. */
static void launch_backward(struct tt_rmsnorm_backward_args a, const struct tensor *dx)
{
    static int calls;
    const double small = 0x1p-16;
    struct tensor *codes = NULL, *transposed = NULL;
    if (in_codes || calls++ % 2) {
        codes = new_tensor("codes", BYTES, dx->rows, dx->cols, 0);
        transposed = new_tensor("transposed", BYTES, dx->cols, dx->rows, 0);
        a.to = code_type, a.codes = codes->data, a.transposed = transposed->data;
        a.code_scale = (float *)given("code_scale", TT_F32, 1, 1, 0, &small)->data;
    }
    a.dtype = kt.dtype;
    launch(TT_K_rmsnorm_backward, &a);
    codes_are_of(codes, dx, (float)small, code_type, false);
    codes_are_of(transposed, dx, (float)small, code_type, true);
}

static void check_rmsnorm_backward(int64_t rows, int64_t cols, int64_t parts, enum residual residual)
{
    new_case("%" PRId64 " x %" PRId64 ", %" PRId64 " parts, dres %d", rows, cols, parts, residual);
    struct norm n = {rows, cols};
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, 2), *weight = input("weight", kt.dtype, 1, cols, 0, 1);
    struct tensor *dy = input("dy", kt.dtype, rows, cols, 0, 1);
    struct tensor *dres = residual == NO_DRES ? NULL : input("dres", kt.dtype, rows, cols, 0, 1);
    struct tensor *dx = residual == DRES_IS_DX ? dres : output("dx", kt.dtype, rows, cols, 0);
    struct tensor *partial = output("partial", TT_F32, parts, cols, 0);
    double *scratch = doubles(rows * cols), *scale = doubles(rows);
    norm_forward(&n, x->v, weight->v, scratch, scale);
    struct tensor *rstd = given("rstd", TT_F32, rows, 1, 0, scale);

    double *want = doubles(rows * cols), *want_partial = doubles(parts * cols);
    norm_backward(&n, x->v, weight->v, rstd->v, dy->v, want);
    norm_weight_parts(&n, x->v, rstd->v, dy->v, parts, want_partial);
    for (int64_t i = 0; dres && i < rows * cols; i++) want[i] += dres->v[i];
    double terms = 1; /* the largest term that cancels in dx; with one column all cancel */
    for (int64_t i = 0; i < rows * cols; i++)
        terms = fmax(terms, fabs(dy->v[i] * weight->v[i % cols] * rstd->v[i / cols]));
    struct tensor *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    struct tt_rmsnorm_backward_args a = {.dy = dy->data, .x = x->data, .weight = weight->data, .dx = dx->data};
    a.rstd = (float *)rstd->data, a.dres = data_or_null(dres), a.partial = (float *)partial->data;
    a.amax = data_or_null(amax), a.rows = rows, a.cols = cols, a.parts = parts;
    launch_backward(a, dx);
    close_to(dx, want, 2e-6, 1e-6 * terms);
    amax_is_of(amax, before, dx);
    close_to(partial, want_partial, 2e-6, 1e-5);
}

static void rmsnorm_backward(int64_t rows, int64_t cols)
{
    for EACH (parts, 1, 3, 8)
        for (int residual = NO_DRES; residual <= DRES_IS_DX; residual++)
            check_rmsnorm_backward(rows, cols, *parts, (enum residual)residual);
}

static void goes_back(void)
{
    for_shapes(rmsnorm_backward);
    for_row_widths(rmsnorm_backward);
    check_rmsnorm_backward(5, 7, 64, NO_DRES);
    check_rmsnorm_backward(130, 65, 64, DRES_IS_DX);
}

/* Row counts as products of codes need them: runs of whole chunks and others, a shorter last run, and thread teams of
 * all sizes. */
static void goes_back_in_codes(void)
{
    static const int64_t runs[][2] = {{16, 1}, {32, 1}, {48, 1}, {64, 1}, {64, 2}, {96, 1}, {96, 2}, {128, 1}};
    in_codes = true;
    for EACH (cols, 272, 512, 768, 2048)
        for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
            code_type = i % 2 ? TT_E5M2_FNUZ : TT_E5M2;
            if (kt.dtype == TT_BF16 || *cols == 272) check_rmsnorm_backward(runs[i][0], *cols, runs[i][1], DRES_IS_DX);
        }
    code_type = TT_E5M2;
    if (kt.dtype == TT_BF16) check_rmsnorm_backward(2080, 272, 33, DRES_IS_DX);
    for EACH (cols, 256, 512, 2064) check_rmsnorm_backward(64, *cols, 1, NO_DRES);
    in_codes = false;
}

static void check_reduce_parts(int64_t parts, int64_t cols, bool accumulate)
{
    new_case("%" PRId64 " x %" PRId64 ", accumulate %d", parts, cols, accumulate);
    struct tensor *partial = input("partial", TT_F32, parts, cols, 0, 1);
    struct tensor *out = accumulate ? input("out", TT_F32, 1, cols, 0, 1) : output("out", TT_F32, 1, cols, 0);
    double *want = accumulate ? copy_doubles(out->v, cols) : doubles(cols);
    for (int64_t i = 0; i < parts * cols; i++) want[i % cols] += partial->v[i];
    LAUNCH(reduce_parts, .partial = (float *)partial->data, .out = (float *)out->data, .parts = parts, .cols = cols,
           .accumulate = accumulate);
    close_to(out, want, 1e-6, 1e-5);
}

static void reduce_parts(int64_t parts, int64_t cols)
{
    check_reduce_parts(parts, cols, false);
    check_reduce_parts(parts, cols, true);
}

static void reduces_parts(void) { for_shapes(reduce_parts); }

/* ---- in single steps ---- */

static void inverse_root(int64_t n)
{
    new_case("%" PRId64, n);
    struct tensor *mean = input("mean", TT_F32, 1, n, 0, 1), *rstd = output("rstd", TT_F32, 1, n, 0);
    for (int64_t i = 0; i < n; i++) mean->v[i] = i % 5 == 4 ? 0 : mean->v[i] * mean->v[i];
    encode(mean);
    double *want = doubles(n);
    for (int64_t i = 0; i < n; i++) want[i] = 1 / sqrt(mean->v[i] + eps);
    LAUNCH(rsqrt, .mean = (float *)mean->data, .rstd = (float *)rstd->data, .n = n, .eps = (float)eps);
    close_to(rstd, want, 1e-6, 0);
}

static void check_rsqrt_backward(int64_t n, bool in_place)
{
    new_case("%" PRId64 ", in place %d", n, in_place);
    int64_t cols = 24;
    struct tensor *drstd = input("drstd", TT_F32, 1, n, 0, 1), *rstd = input("rstd", TT_F32, 1, n, 0, 1);
    struct tensor *coef = in_place ? drstd : output("coef", TT_F32, 1, n, 0);
    double *want = doubles(n);
    for (int64_t i = 0; i < n; i++) want[i] = -drstd->v[i] * pow(rstd->v[i], 3) / (double)cols;
    LAUNCH(rsqrt_backward, .drstd = (float *)drstd->data, .rstd = (float *)rstd->data, .coef = (float *)coef->data,
           .n = n, .cols = cols);
    close_to(coef, want, 1e-6, 0);
}

static void rsqrt_backward(int64_t n)
{
    check_rsqrt_backward(n, false);
    check_rsqrt_backward(n, true);
}

static void takes_roots(void)
{
    for_lengths(inverse_root);
    for_lengths(rsqrt_backward);
}

/* square, mean, rsqrt, two products: together they equal the one kernel. */
static void check_steps(int64_t rows, int64_t cols)
{
    new_case("%" PRId64 " x %" PRId64 " in steps", rows, cols);
    int64_t n = rows * cols;
    struct tensor *x = input("x", TT_F32, rows, cols, 0, 1), *weight = input("weight", TT_F32, 1, cols, 0, 1);
    struct tensor *t = output("squares", TT_F32, rows, cols, 0), *y = output("y", TT_F32, rows, cols, 0);
    struct tensor *mean = output("mean", TT_F32, rows, 1, 0), *rstd = output("rstd", TT_F32, rows, 1, 0);
    LAUNCH(square, .x = x->data, .out = t->data, .n = n);
    LAUNCH(row_sum, .x = t->data, .out = (float *)mean->data, .rows = rows, .cols = cols, .factor = 1 / (float)cols);
    LAUNCH(rsqrt, .mean = (float *)mean->data, .rstd = (float *)rstd->data, .n = rows, .eps = (float)eps);
    LAUNCH(mul_rows, .x = x->data, .s = (float *)rstd->data, .out = y->data, .rows = rows, .cols = cols);
    LAUNCH(mul_cols, .x = y->data, .w = weight->data, .out = y->data, .rows = rows, .cols = cols);
    double *want = doubles(n);
    norm_forward(&(struct norm){rows, cols}, x->v, weight->v, want, NULL);
    close_to(y, want, 2e-6, 1e-7);
}

/* g = dy·weight; drstd = rowsum(g·x); dx = g·rstd + x·coef(drstd). */
static void check_steps_backward(int64_t rows, int64_t cols)
{
    new_case("%" PRId64 " x %" PRId64 " backward in steps", rows, cols);
    struct norm n = {rows, cols};
    struct tensor *x = input("x", TT_F32, rows, cols, 0, 1), *weight = input("weight", TT_F32, 1, cols, 0, 1);
    struct tensor *dy = input("dy", TT_F32, rows, cols, 0, 1);
    struct tensor *g = output("g", TT_F32, rows, cols, 0), *t = output("t", TT_F32, rows, cols, 0);
    struct tensor *drstd = output("drstd", TT_F32, rows, 1, 0);
    double *want = doubles(rows * cols), *scale = doubles(rows);
    norm_forward(&n, x->v, weight->v, want, scale);
    norm_backward(&n, x->v, weight->v, scale, dy->v, want);
    struct tensor *rstd = given("rstd", TT_F32, rows, 1, 0, scale);
    LAUNCH(mul_cols, .x = dy->data, .w = weight->data, .out = g->data, .rows = rows, .cols = cols);
    LAUNCH(mul, .x = g->data, .y = x->data, .out = t->data, .rows = rows, .cols = cols, .ldx = cols, .ldy = cols,
           .ldo = cols);
    LAUNCH(row_sum, .x = t->data, .out = (float *)drstd->data, .rows = rows, .cols = cols, .factor = 1);
    LAUNCH(rsqrt_backward, .drstd = (float *)drstd->data, .rstd = (float *)rstd->data, .coef = (float *)drstd->data,
           .n = rows, .cols = cols);
    LAUNCH(mul_rows, .x = x->data, .s = (float *)drstd->data, .out = t->data, .rows = rows, .cols = cols);
    LAUNCH(mul_rows, .x = g->data, .s = (float *)rstd->data, .out = g->data, .rows = rows, .cols = cols);
    LAUNCH(add, .x = g->data, .y = t->data, .out = g->data, .rows = rows, .cols = cols, .ldx = cols, .ldy = cols,
           .ldo = cols);
    close_to(g, want, 2e-6, 1e-5);
}

static void steps_equal_the_one_kernel(void)
{
    for EACH (cols, 3, 65, 1000) {
        check_steps(17, *cols);
        check_steps_backward(17, *cols);
    }
}

/* ---- norms of each head of q and k, in packed rows ---- */

struct packed {
    int64_t T, heads, kv_heads, D;
};

/* The weight of head h: heads of q share one, heads of k another. */
static const double *own_weight(const struct packed *p, int64_t h, const double *q, const double *k)
{
    return h < p->heads ? q : k;
}

static void check_head_norm(const struct packed *p, int64_t gap, bool keep)
{
    new_case("%" PRId64 " rows, %" PRId64 " + %" PRId64 " heads of %" PRId64 ", gap %" PRId64 ", keep %d", p->T,
             p->heads, p->kv_heads, p->D, gap, keep);
    int64_t all = p->heads + p->kv_heads, cols = (all + p->kv_heads) * p->D, D = p->D;
    struct tensor *x = input("x", kt.dtype, p->T, cols, gap, 2);
    struct tensor *q = input("q_weight", kt.dtype, 1, D, 0, 1), *k = input("k_weight", kt.dtype, 1, D, 0, 1);
    struct tensor *raw = keep ? output("raw", kt.dtype, p->T, all * D, 0) : NULL;
    double *want = copy_doubles(x->v, p->T * cols), *want_raw = doubles(p->T * all * D);
    for (int64_t i = 0; i < p->T * all; i++) {
        const double *head = x->v + i / all * cols + i % all * D;
        norm_forward(&(struct norm){1, D}, head, own_weight(p, i % all, q->v, k->v),
                     want + i / all * cols + i % all * D, NULL);
        memcpy(want_raw + i * D, head, (size_t)D * sizeof *head);
    }
    LAUNCH(head_norm, .x = x->data, .q_weight = q->data, .k_weight = k->data, .raw = data_or_null(raw), .T = p->T,
           .heads = p->heads, .kv_heads = p->kv_heads, .D = D, .ld = x->ld, .eps = (float)eps);
    double slack = roundoff(kt.dtype);
    close_to(x, want, 2e-6 + slack, (1e-6 + slack) * 0.1);
    if (raw) exactly(raw, want_raw);
}

static void check_head_norm_backward(const struct packed *p, int64_t gap, int64_t parts)
{
    new_case("%" PRId64 " rows, %" PRId64 " + %" PRId64 " heads of %" PRId64 ", gap %" PRId64 ", %" PRId64 " parts",
             p->T, p->heads, p->kv_heads, p->D, gap, parts);
    int64_t all = p->heads + p->kv_heads, cols = (all + p->kv_heads) * p->D, D = p->D, run = (p->T + parts - 1) / parts;
    struct tensor *dx = input("dx", kt.dtype, p->T, cols, gap, 1), *raw = input("raw", kt.dtype, p->T, all * D, 0, 2);
    struct tensor *q = input("q_weight", kt.dtype, 1, D, 0, 1), *k = input("k_weight", kt.dtype, 1, D, 0, 1);
    struct tensor *partial = output("partial", TT_F32, parts, 2 * D, 0);
    double *want = copy_doubles(dx->v, p->T * cols), *want_partial = doubles(parts * 2 * D), *y = doubles(D), rstd;
    double terms = 1; /* the largest term that cancels in dx */
    struct norm one = {1, D};
    for (int64_t i = 0; i < p->T * all; i++) {
        int64_t t = i / all, h = i % all, at = t * cols + h * D;
        const double *w = own_weight(p, h, q->v, k->v), *x = raw->v + i * D;
        norm_forward(&one, x, w, y, &rstd);
        norm_backward(&one, x, w, &rstd, dx->v + at, want + at);
        norm_weight_parts(&one, x, &rstd, dx->v + at, 1, want_partial + t / run * 2 * D + (h < p->heads ? 0 : D));
        for (int64_t c = 0; c < D; c++) terms = fmax(terms, fabs(dx->v[at + c] * w[c] * rstd));
    }
    LAUNCH(head_norm_backward, .dx = dx->data, .raw = raw->data, .q_weight = q->data, .k_weight = k->data,
           .partial = (float *)partial->data, .T = p->T, .heads = p->heads, .kv_heads = p->kv_heads, .D = D,
           .ld = dx->ld, .parts = parts, .eps = (float)eps);
    close_to(dx, want, 4e-6, 2e-6 * terms);
    close_to(partial, want_partial, 4e-6, 2e-5);
}

static void normalises_heads(void)
{
    static const struct packed shapes[] = {{1, 1, 1, 2},   {5, 3, 1, 6},   {19, 4, 2, 16},  {7, 2, 2, 64},
                                           {33, 5, 1, 20}, {3, 2, 1, 128}, {17, 3, 3, 130}, {2, 1, 1, 256},
                                           {3, 2, 1, 300}, {70, 1, 1, 8}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int64_t gap = 0; gap < 4; gap += 3) {
            for (int keep = 0; keep < 2; keep++) check_head_norm(&shapes[i], gap, keep);
            for EACH (parts, 1, 3, 64) check_head_norm_backward(&shapes[i], gap, *parts);
        }
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(references_differentiate);
    TEST_TYPES(normalises);
    TEST(normalises_extremes);
    TEST_TYPES(goes_back);
    TEST_TYPES(goes_back_in_codes);
    TEST_TYPES(normalises_heads);
    TEST(reduces_parts);
    TEST(takes_roots);
    TEST(steps_equal_the_one_kernel);
    END_KERNEL_TESTS(COVER_NORM);
}
