/* RoPE, in one kernel and in single steps, and the kernels that rearrange heads. */
#include "tests/backend/kernels/kernels.h"

struct dims {
    int64_t B, S, H, KV, D;
};

static const struct dims shapes[] = {
    {1, 1, 1, 1, 2},   {2, 1, 4, 1, 6},   {1, 17, 2, 2, 6},   {3, 17, 4, 1, 16},  {1, 65, 3, 3, 32},
    {2, 65, 4, 1, 64}, {1, 130, 8, 2, 80}, {2, 130, 2, 2, 64}, {5, 7, 12, 3, 2},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

#define DIMS "B %" PRId64 ", S %" PRId64 ", H %" PRId64 ", KV %" PRId64 ", D %" PRId64
#define DIMS_OF(d) (d).B, (d).S, (d).H, (d).KV, (d).D

/* cos and sin for a number of positions. */
struct tables {
    struct tensor *cos, *sin;
};

static struct tables make_tables(int64_t positions, int64_t D)
{
    struct tables t = {new_tensor("cos", TT_F32, positions, D / 2, 0), new_tensor("sin", TT_F32, positions, D / 2, 0)};
    for (int64_t i = 0; i < positions * (D / 2); i++) {
        double angle = (double)(i / (D / 2)) * pow(10000, -2.0 * (double)(i % (D / 2)) / (double)D);
        t.cos->v[i] = cos(angle);
        t.sin->v[i] = sin(angle);
    }
    encode(t.cos);
    encode(t.sin);
    return t;
}

/* Rotates one head of D in place, by a position's angles; sign -1 rotates back. */
static void turn(double *x, int64_t D, int64_t position, const struct tables *t, double sign)
{
    for (int64_t i = 0; i < D / 2; i++) {
        double c = t->cos->v[position * (D / 2) + i], s = sign * t->sin->v[position * (D / 2) + i];
        double a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * c - b * s;
        x[2 * i + 1] = a * s + b * c;
    }
}

/* Rotates the first `heads` heads of T rows of `cols`. */
static void turn_rows(double *x, int64_t T, int64_t cols, int64_t heads, const struct dims *d, const struct tables *t,
                      double sign)
{
    for (int64_t r = 0; r < T; r++)
        for (int64_t h = 0; h < heads; h++) turn(x + r * cols + h * d->D, d->D, r % d->S, t, sign);
}

/* ---- rope ---- */

static void check_rope(const struct dims *d, int64_t gap, bool inverse)
{
    new_case(DIMS ", gap %" PRId64 ", inverse %d", DIMS_OF(*d), gap, inverse);
    int64_t T = d->B * d->S, turned = d->H + d->KV, cols = (turned + d->KV) * d->D;
    struct tables t = make_tables(d->S, d->D);
    struct tensor *qkv = input("qkv", kt.dtype, T, cols, gap, 1);
    double *want = copy_doubles(qkv->v, T * cols);
    turn_rows(want, T, cols, turned, d, &t, inverse ? -1 : 1);
    LAUNCH(rope, .q = qkv->data, .k = column(qkv, d->H * d->D), .cos = (float *)t.cos->data,
           .sin = (float *)t.sin->data, .T = T, .S = d->S, .heads = d->H,
           .kv_heads = d->KV, .D = d->D, .ld = qkv->ld, .inverse = inverse);
    close_to(qkv, want, 5e-7, 5e-7);
}

static void turns(void)
{
    for (int i = 0; i < SHAPES; i++)
        for EACH (gap, 0, 3)
            for (int inverse = 0; inverse < 2; inverse++) check_rope(&shapes[i], *gap, inverse);
}

/* So many rows that a GPU thread rotates several, with ends of sequences among them. */
static void turns_many_rows(void)
{
    struct dims many = {9, 123, 12, 4, 64};
    for (int inverse = 0; inverse < 2; inverse++) check_rope(&many, 0, inverse);
}

/* ---- in steps ---- */

static void check_rope_by_table(const struct dims *d, int64_t gap, bool sine, bool in_place)
{
    new_case(DIMS ", gap %" PRId64 ", in place %d", DIMS_OF(*d), gap, in_place);
    int64_t T = d->B * d->S, cols = d->H * d->D;
    struct tables t = make_tables(d->S, d->D);
    struct tensor *table = sine ? t.sin : t.cos, *x = input("x", kt.dtype, T, cols, gap, 1);
    struct tensor *out = in_place ? x : output("out", kt.dtype, T, cols, gap * 2);
    double *want = doubles(T * cols);
    for (int64_t i = 0; i < T * cols; i++)
        want[i] = x->v[i] * table->v[i / cols % d->S * (d->D / 2) + i % d->D / 2];
    if (sine)
        LAUNCH(rope_sin, .x = x->data, .out = out->data, .table = (float *)table->data, .T = T, .S = d->S,
               .heads = d->H, .D = d->D, .ldx = x->ld, .ldo = out->ld);
    else
        LAUNCH(rope_cos, .x = x->data, .out = out->data, .table = (float *)table->data, .T = T, .S = d->S,
               .heads = d->H, .D = d->D, .ldx = x->ld, .ldo = out->ld);
    close_to(out, want, 1e-7, 0);
}

static void check_rotate(const struct dims *d, int64_t gap, bool inverse)
{
    new_case(DIMS ", gap %" PRId64 ", inverse %d", DIMS_OF(*d), gap, inverse);
    int64_t T = d->B * d->S, cols = d->H * d->D;
    struct tensor *x = input("x", kt.dtype, T, cols, gap, 1), *out = output("out", kt.dtype, T, cols, gap * 2);
    double *want = doubles(T * cols), sign = inverse ? -1 : 1;
    for (int64_t i = 0; i < T * cols; i += 2) {
        want[i] = -sign * x->v[i + 1];
        want[i + 1] = sign * x->v[i];
    }
    LAUNCH(rope_rotate, .x = x->data, .out = out->data, .T = T, .heads = d->H, .D = d->D, .ldx = x->ld,
           .ldo = out->ld, .inverse = inverse);
    exactly(out, want);
}

static void takes_single_steps(void)
{
    for (int i = 0; i < SHAPES; i++)
        for EACH (gap, 0, 3)
            for (int flag = 0; flag < 2; flag++) {
                check_rope_by_table(&shapes[i], *gap, flag, false);
                check_rotate(&shapes[i], *gap, flag);
                if (flag) check_rope_by_table(&shapes[i], *gap, true, true);
            }
}

/* x·cos + rotate(x)·sin, or back: x·cos + rotate_back(x·sin). */
static void check_sequence(const struct dims *d, bool inverse)
{
    new_case(DIMS " in steps, inverse %d", DIMS_OF(*d), inverse);
    int64_t T = d->B * d->S, cols = d->H * d->D, ld = cols;
    struct tables t = make_tables(d->S, d->D);
    struct tensor *x = input("x", TT_F32, T, cols, 0, 1), *a = output("x cos", TT_F32, T, cols, 0);
    struct tensor *b = output("rotated", TT_F32, T, cols, 0), *c = output("x sin", TT_F32, T, cols, 0);
    LAUNCH(rope_cos, .x = x->data, .out = a->data, .table = (float *)t.cos->data, .T = T, .S = d->S, .heads = d->H,
           .D = d->D, .ldx = ld, .ldo = ld);
    if (!inverse)
        LAUNCH(rope_rotate, .x = x->data, .out = b->data, .T = T, .heads = d->H, .D = d->D, .ldx = ld, .ldo = ld);
    LAUNCH(rope_sin, .x = inverse ? x->data : b->data, .out = inverse ? c->data : b->data,
           .table = (float *)t.sin->data, .T = T, .S = d->S, .heads = d->H, .D = d->D, .ldx = ld, .ldo = ld);
    if (inverse)
        LAUNCH(rope_rotate, .x = c->data, .out = b->data, .T = T, .heads = d->H, .D = d->D, .ldx = ld, .ldo = ld,
               .inverse = true);
    LAUNCH(add, .x = a->data, .y = b->data, .out = a->data, .rows = T, .cols = cols, .ldx = ld, .ldy = ld, .ldo = ld);

    struct tensor *k = input("k", TT_F32, T, cols, 0, 1);
    LAUNCH(rope, .q = x->data, .k = k->data, .cos = (float *)t.cos->data, .sin = (float *)t.sin->data, .T = T,
           .S = d->S, .heads = d->H, .kv_heads = d->H, .D = d->D, .ld = ld, .inverse = inverse);
    close_to(a, x->v, 5e-7, 5e-7);
}

static void steps_equal_the_one_kernel(void)
{
    for (int i = 0; i < SHAPES; i++)
        for (int inverse = 0; inverse < 2; inverse++) check_sequence(&shapes[i], inverse);
}

/* ---- layouts ---- */

/* The index of row (b, s) and column (h, i) of a view in (B, heads, S, D). */
static int64_t in_heads(const struct dims *d, int64_t heads, int64_t row, int64_t col)
{
    return ((row / d->S * heads + col / d->D) * d->S + row % d->S) * d->D + col % d->D;
}

static void check_heads(const struct dims *d, int64_t gap, bool merge)
{
    new_case(DIMS ", gap %" PRId64, DIMS_OF(*d), gap);
    int64_t T = d->B * d->S, cols = d->H * d->D, heads_rows = d->B * d->H * d->S;
    double *want = doubles(T * cols);
    struct tensor *x = merge ? input("x", kt.dtype, heads_rows, d->D, 0, 1) : input("x", kt.dtype, T, cols, gap, 1);
    struct tensor *out = merge ? output("out", kt.dtype, T, cols, gap) : output("out", kt.dtype, heads_rows, d->D, 0);
    for (int64_t i = 0; i < T * cols; i++) {
        int64_t at = in_heads(d, d->H, i / cols, i % cols);
        if (merge) want[i] = x->v[at];
        else want[at] = x->v[i];
    }
    if (merge)
        LAUNCH(heads_merge, .x = x->data, .out = out->data, .B = d->B, .S = d->S, .heads = d->H, .D = d->D,
               .ldo = out->ld);
    else
        LAUNCH(heads_split, .x = x->data, .out = out->data, .B = d->B, .S = d->S, .heads = d->H, .D = d->D,
               .ldx = x->ld);
    exactly(out, want);
}

static void splits_and_merges_heads(void)
{
    for (int i = 0; i < SHAPES; i++)
        for EACH (gap, 0, 3)
            for (int merge = 0; merge < 2; merge++) check_heads(&shapes[i], *gap, merge);
}

/* Copies one row of q, k and v to the three tensors of heads (or back). */
static void move_row(const struct dims *d, int64_t row, double *packed, double *const parts[3], bool merge)
{
    const int64_t heads[3] = {d->H, d->KV, d->KV};
    double *x = packed;
    for (int p = 0; p < 3; p++)
        for (int64_t c = 0; c < heads[p] * d->D; c++, x++) {
            double *y = parts[p] + in_heads(d, heads[p], row, c);
            if (merge) *x = *y;
            else *y = *x;
        }
}

static void check_rope_split(const struct dims *d)
{
    new_case(DIMS, DIMS_OF(*d));
    int64_t T = d->B * d->S, cols = (d->H + 2 * d->KV) * d->D, many = T * d->H * d->D, few = T * d->KV * d->D;
    struct tables t = make_tables(d->S, d->D);
    struct tensor *qkv = input("qkv", kt.dtype, T, cols, 0, 1), *q = output("q", kt.dtype, d->B * d->H * d->S, d->D, 0);
    struct tensor *k = output("k", kt.dtype, d->B * d->KV * d->S, d->D, 0);
    struct tensor *v = output("v", kt.dtype, d->B * d->KV * d->S, d->D, 0);
    double *turned = copy_doubles(qkv->v, T * cols), *want[3] = {doubles(many), doubles(few), doubles(few)};
    turn_rows(turned, T, cols, d->H + d->KV, d, &t, 1);
    for (int64_t r = 0; r < T; r++) move_row(d, r, turned + r * cols, want, false);
    LAUNCH(rope_split, .qkv = qkv->data, .cos = (float *)t.cos->data, .sin = (float *)t.sin->data, .q = q->data,
           .k = k->data, .v = v->data, .B = d->B, .S = d->S, .heads = d->H, .kv_heads = d->KV, .D = d->D);
    close_to(q, want[0], 5e-7, 5e-7);
    close_to(k, want[1], 5e-7, 5e-7);
    exactly(v, want[2]);
}

static void check_rope_merge(const struct dims *d)
{
    new_case(DIMS, DIMS_OF(*d));
    int64_t T = d->B * d->S, cols = (d->H + 2 * d->KV) * d->D;
    struct tables t = make_tables(d->S, d->D);
    struct tensor *dq = input("dq", kt.dtype, d->B * d->H * d->S, d->D, 0, 1);
    struct tensor *dk = input("dk", kt.dtype, d->B * d->KV * d->S, d->D, 0, 1);
    struct tensor *dv = input("dv", kt.dtype, d->B * d->KV * d->S, d->D, 0, 1);
    struct tensor *dqkv = output("dqkv", kt.dtype, T, cols, 0);
    double *want = doubles(T * cols);
    for (int64_t r = 0; r < T; r++) move_row(d, r, want + r * cols, (double *[]){dq->v, dk->v, dv->v}, true);
    turn_rows(want, T, cols, d->H + d->KV, d, &t, -1);
    LAUNCH(rope_merge, .dq = dq->data, .dk = dk->data, .dv = dv->data, .cos = (float *)t.cos->data,
           .sin = (float *)t.sin->data, .dqkv = dqkv->data, .B = d->B, .S = d->S, .heads = d->H, .kv_heads = d->KV,
           .D = d->D);
    close_to(dqkv, want, 5e-7, 5e-7);
}

static void turns_while_splitting_and_merging(void)
{
    for (int i = 0; i < SHAPES; i++) {
        check_rope_split(&shapes[i]);
        check_rope_merge(&shapes[i]);
    }
}

/* ---- grouped heads ---- */

static void repeat(const double *x, double *y, const void *context)
{
    const struct dims *d = context;
    int64_t n = d->S * d->D, G = d->H / d->KV;
    for (int64_t i = 0; i < d->B * d->H * n; i++) {
        int64_t b = i / n / d->H, h = i / n % d->H;
        y[i] = x[(b * d->KV + h / G) * n + i % n];
    }
}

static void repeat_backward(const struct dims *d, const double *dy, double *dx)
{
    int64_t n = d->S * d->D, G = d->H / d->KV;
    for (int64_t i = 0; i < d->B * d->H * n; i++) {
        int64_t b = i / n / d->H, h = i / n % d->H;
        dx[(b * d->KV + h / G) * n + i % n] += dy[i];
    }
}

static void check_repeat(const struct dims *d)
{
    new_case(DIMS, DIMS_OF(*d));
    int64_t n = d->S * d->D;
    struct tensor *x = input("x", kt.dtype, d->B * d->KV, n, 0, 1), *out = output("out", kt.dtype, d->B * d->H, n, 0);
    double *want = doubles(d->B * d->H * n);
    repeat(x->v, want, d);
    LAUNCH(repeat_kv, .x = x->data, .out = out->data, .B = d->B, .heads = d->H, .kv_heads = d->KV, .n = n);
    exactly(out, want);

    struct tensor *dy = input("dy", kt.dtype, d->B * d->H, n, 0, 1), *dx = output("dx", kt.dtype, d->B * d->KV, n, 0);
    double *want_dx = doubles(d->B * d->KV * n);
    repeat_backward(d, dy->v, want_dx);
    LAUNCH(repeat_kv_backward, .dy = dy->data, .dx = dx->data, .B = d->B, .heads = d->H, .kv_heads = d->KV, .n = n);
    close_to(dx, want_dx, 1e-6, 1e-6);
}

static void repeats_key_value_heads(void)
{
    for (int i = 0; i < SHAPES; i++) check_repeat(&shapes[i]);
}

/* ---- the references ---- */

struct turning {
    const struct dims *d;
    const struct tables *t;
};

static void turn_all(const double *x, double *y, const void *context)
{
    const struct turning *c = context;
    int64_t T = c->d->B * c->d->S, cols = c->d->H * c->d->D;
    memcpy(y, x, (size_t)(T * cols) * sizeof *y);
    turn_rows(y, T, cols, c->d->H, c->d, c->t, 1);
}

static void references_differentiate(void)
{
    new_case("rope");
    struct dims d = {2, 5, 4, 2, 6};
    int64_t n = d.B * d.S * d.H * d.D;
    struct tables t = make_tables(d.S, d.D);
    struct tensor *x = input("x", TT_F32, d.B * d.S, d.H * d.D, 0, 1);
    struct tensor *dy = input("dy", TT_F32, d.B * d.S, d.H * d.D, 0, 1);
    double *dx = copy_doubles(dy->v, n);
    turn_rows(dx, d.B * d.S, d.H * d.D, d.H, &d, &t, -1);
    check_gradient("rope", turn_all, &(struct turning){&d, &t}, x->v, n, dy->v, n, dx);

    double *dkv = doubles(n / 2);
    repeat_backward(&d, dy->v, dkv);
    check_gradient("repeat_kv", repeat, &d, x->v, n / 2, dy->v, n, dkv);
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(references_differentiate);
    TEST_TYPES(turns);
    TEST_TYPES(turns_many_rows);
    TEST_TYPES(takes_single_steps);
    TEST(steps_equal_the_one_kernel);
    TEST_TYPES(splits_and_merges_heads);
    TEST_TYPES(turns_while_splitting_and_merging);
    TEST_TYPES(repeats_key_value_heads);
    END_KERNEL_TESTS(COVER_ROPE);
}
