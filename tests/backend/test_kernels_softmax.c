/* Softmax of rows and of causal rows, with S x S scores in memory. */
#include "tests/backend/kernels/documents.h"
#include "tests/backend/kernels/kernels.h"
#include "tests/backend/kernels/softmax.h"

/* ---- rows ---- */

static void check_softmax(int64_t rows, int64_t cols, double spread)
{
    new_case("%" PRId64 " x %" PRId64 ", spread %g", rows, cols, spread);
    struct tensor *x = input("x", kt.dtype, rows, cols, 0, spread);
    for (int64_t i = 0; i < rows * cols; i++)
        if (i % cols && i % 11 == 3) x->v[i] = -(double)INFINITY;
    encode(x);
    double *want = doubles(rows * cols);
    for (int64_t r = 0; r < rows; r++) softmax_row(x->v + r * cols, cols, 1, want + r * cols);
    LAUNCH(softmax, .x = x->data, .rows = rows, .cols = cols);
    close_to(x, want, spread > 10 ? 1e-5 : 3e-6, 1e-30); /* x - max has its own rounding error */
}

static void check_softmax_backward(int64_t rows, int64_t cols, bool in_place)
{
    new_case("%" PRId64 " x %" PRId64 ", in place %d", rows, cols, in_place);
    struct tensor *y = input("y", kt.dtype, rows, cols, 0, 2), *dy = input("dy", kt.dtype, rows, cols, 0, 1);
    struct tensor *dx = in_place ? dy : output("dx", kt.dtype, rows, cols, 0);
    double *want = doubles(rows * cols), *p = doubles(cols);
    for (int64_t r = 0; r < rows; r++) {
        softmax_row(y->v + r * cols, cols, 1, p);
        memcpy(y->v + r * cols, p, (size_t)cols * sizeof *p);
    }
    encode(y);
    for (int64_t r = 0; r < rows; r++)
        softmax_row_backward(y->v + r * cols, dy->v + r * cols, cols, 1, want + r * cols);
    LAUNCH(softmax_backward, .y = y->data, .dy = dy->data, .dx = dx->data, .rows = rows, .cols = cols);
    close_to(dx, want, 3e-6, 1e-6);
}

static void softmax(int64_t rows, int64_t cols)
{
    check_softmax(rows, cols, 1);
    check_softmax(rows, cols, 80);
    if (kt.dtype != TT_F16) check_softmax(rows, cols, 1e4);
    check_softmax_backward(rows, cols, false);
    check_softmax_backward(rows, cols, true);
}

static void softmaxes(void)
{
    for_shapes(softmax);
    for_row_widths(softmax);
}

/* ---- causal: (count, S, S) ---- */

/* Settings for the following cases: how rows are cut into documents, and heads per sequence. */
static enum cut cut;
static int64_t heads = 1;

/* The first key that row r sees. */
static int64_t first_seen(int64_t r, int64_t S) { return document_start(cut, r / S / heads, r % S); }

static bool hidden(int64_t i, int64_t S) { return i % S > i / S % S || i % S < first_seen(i / S, S); }

static int32_t *starts_of(int64_t count, int64_t S) { return data_or_null(cut_rows(cut, count / heads, S).starts); }

/* softmax of what row r sees, 0 elsewhere */
static void seen_softmax(const double *x, int64_t r, int64_t S, double scale, double *p)
{
    int64_t first = first_seen(r, S), at = r * S + first;
    softmax_row(x + at, r % S + 1 - first, scale, p + at);
}

static void check_causal_mask(int64_t count, int64_t S)
{
    new_case("%" PRId64 " of %" PRId64 ", cut %d", count, S, cut);
    struct tensor *x = input("x", kt.dtype, count * S, S, 0, 1);
    double *want = copy_doubles(x->v, count * S * S);
    for (int64_t i = 0; i < count * S * S; i++)
        if (hidden(i, S)) want[i] = -(double)INFINITY;
    LAUNCH(causal_mask, .x = x->data, .starts = starts_of(count, S), .count = count, .S = S, .heads = heads);
    exactly(x, want);
}

/* Scores that a row does not see are NaN, to show that they are not read. */
static void check_causal_softmax(int64_t count, int64_t S, double spread)
{
    new_case("%" PRId64 " of %" PRId64 ", spread %g, cut %d", count, S, spread, cut);
    double scale = (double)0.3f, *want = doubles(count * S * S);
    struct tensor *x = input("x", kt.dtype, count * S, S, 0, spread / scale);
    for (int64_t i = 0; i < count * S * S; i++)
        if (hidden(i, S)) x->v[i] = (double)NAN;
    encode(x);
    for (int64_t r = 0; r < count * S; r++) seen_softmax(x->v, r, S, scale, want);
    LAUNCH(causal_softmax, .x = x->data, .starts = starts_of(count, S), .count = count, .S = S,
           .heads = heads, .scale = (float)scale);
    close_to(x, want, spread > 1e3 ? 2e-3 : spread > 10 ? 5e-5 : 3e-6, 1e-30);
}

static void check_causal_softmax_backward(int64_t count, int64_t S, bool in_place)
{
    new_case("%" PRId64 " of %" PRId64 ", in place %d, cut %d", count, S, in_place, cut);
    double scale = (double)0.3f, *want = doubles(count * S * S), *p = doubles(count * S * S);
    struct tensor *x = input("x", TT_F32, count * S, S, 0, 4);
    for (int64_t r = 0; r < count * S; r++) seen_softmax(x->v, r, S, scale, p);
    struct tensor *y = given("y", kt.dtype, count * S, S, 0, p), *dy = input("dy", kt.dtype, count * S, S, 0, 1);
    struct tensor *dx = in_place ? dy : output("dx", kt.dtype, count * S, S, 0);
    for (int64_t r = 0; r < count * S; r++)
        softmax_row_backward(y->v + r * S, dy->v + r * S, r % S + 1, scale, want + r * S);
    LAUNCH(causal_softmax_backward, .y = y->data, .dy = dy->data, .dx = dx->data, .starts = starts_of(count, S),
           .count = count, .S = S, .heads = heads, .scale = (float)scale);
    close_to(dx, want, 3e-6, 1e-6);
}

/* The first row of a document sees one score, whose softmax is 1 whatever it is. So nothing of dy flows back through
 * it, not even a rounding error, which an optimizer that normalises would turn into a step. */
static void check_first_rows(int64_t count, int64_t S, bool fused)
{
    new_case("%" PRId64 " of %" PRId64 ", first rows, fused %d, cut %d", count, S, fused, cut);
    struct tensor *x = input("x", kt.dtype, count * S, S, 0, 40), *dy = input("dy", kt.dtype, count * S, S, 0, 1);
    float scale = 0.3f;
    if (fused) {
        LAUNCH(causal_softmax, .x = x->data, .starts = starts_of(count, S), .count = count, .S = S, .heads = heads,
               .scale = scale);
        LAUNCH(causal_softmax_backward, .y = x->data, .dy = dy->data, .dx = dy->data, .starts = starts_of(count, S),
               .count = count, .S = S, .heads = heads, .scale = scale);
    } else {
        LAUNCH(causal_mask, .x = x->data, .starts = starts_of(count, S), .count = count, .S = S, .heads = heads);
        LAUNCH(softmax, .x = x->data, .rows = count * S, .cols = S);
        LAUNCH(softmax_backward, .y = x->data, .dy = dy->data, .dx = dy->data, .rows = count * S, .cols = S);
    }
    for (int64_t i = 0; i < count * S * S; i++)
        if (first_seen(i / S, S) == i / S % S)
            CHECK(dy->v[i] == 0, "%s [%s]: dx[%" PRId64 "] is %g, should be 0", tt_kernel_name(kt.kernel), kt.label, i,
                  dy->v[i]);
}

static void causal_softmaxes(void)
{
    for EACH (count, 1, 5)
        for EACH (S, 1, 2, 17, 65, 130) {
            check_causal_mask(*count, *S);
            check_first_rows(*count, *S, false);
            check_first_rows(*count, *S, true);
            for EACH (spread, 1, 80, 10000)
                if (kt.dtype != TT_F16 || *spread < 1000) check_causal_softmax(*count, *S, (double)*spread);
            check_causal_softmax_backward(*count, *S, false);
            check_causal_softmax_backward(*count, *S, true);
        }
    for (int64_t S = 264; S <= 520; S += 256) { /* longer rows, which are distributed over threads differently */
        check_causal_mask(1, S);
        check_causal_softmax(1, S, 1);
        check_causal_softmax_backward(1, S, false);
    }
}

static void softmaxes_inside_documents(void)
{
    heads = 2;
    for (cut = WHOLE; cut < CUTS; cut++) {
        for EACH (S, 1, 17, 65, 130) {
            check_causal_mask(4, *S);
            check_first_rows(4, *S, false);
            check_first_rows(4, *S, true);
            check_causal_softmax(4, *S, 80);
            check_causal_softmax_backward(4, *S, false);
            check_causal_softmax_backward(4, *S, true);
        }
        check_causal_mask(2, 520);
        check_causal_softmax(2, 520, 1);
        check_causal_softmax_backward(2, 520, true);
    }
    cut = JOINED, heads = 1;
}

/* ---- the references ---- */

struct row {
    int64_t n;
    double scale;
};

static void softmax_of(const double *x, double *y, const void *context)
{
    const struct row *r = context;
    softmax_row(x, r->n, r->scale, y);
}

static void references_differentiate(void)
{
    new_case("softmax");
    struct row r = {20, 0.3};
    struct tensor *x = input("x", TT_F32, 1, r.n, 0, 2), *dy = input("dy", TT_F32, 1, r.n, 0, 1);
    double *y = doubles(r.n), *dx = doubles(r.n);
    softmax_of(x->v, y, &r);
    softmax_row_backward(y, dy->v, r.n, r.scale, dx);
    check_gradient("softmax", softmax_of, &r, x->v, r.n, dy->v, r.n, dx);
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(references_differentiate);
    TEST_TYPES(softmaxes);
    TEST_TYPES(causal_softmaxes);
    TEST_TYPES(softmaxes_inside_documents);
    END_KERNEL_TESTS(COVER_SOFTMAX);
}
