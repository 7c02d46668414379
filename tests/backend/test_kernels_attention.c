/* Attention that never stores S x S scores. */
#include "core/base/fp8.h"
#include "tests/backend/kernels/attention.h"

/* Settings for the following cases: */
static bool tf32;                  /* multiply floats in tf32 */
static struct tt_flash_tile asked; /* tile size; {0}: the kernel's own */
static enum tt_dtype code_type = TT_E4M3;
static bool always_codes;
static int rise;                   /* scores grow towards the end of a sequence, or with -1 towards its beginning */

/* Relative error of a factor that the kernel computes: in tf32 less than its last digit (gpu_tf32), otherwise half of
 * it. */
static double loss(void) { return tf32 ? 0x1p-10 : kt.dtype == TT_F32 ? 0 : roundoff(kt.dtype); }

/* Input factors have no rounding error: for tf32 they are rounded to its precision. */
static struct tensor *factors(const char *name, int64_t rows, int64_t cols, int64_t gap, double size)
{
    struct tensor *t = input(name, kt.dtype, rows, cols, gap, size);
    for (int64_t i = 0; i < rows * cols && tf32; i++) {
        int exponent;
        double digits = frexp(t->v[i], &exponent);
        t->v[i] = ldexp(nearbyint(ldexp(digits, 11)), exponent - 11);
    }
    if (tf32) encode(t);
    return t;
}

/* Random q, k, v whose scores have the given spread. With `rise`, the scores double three times along the sequence, so
 * a kernel that reads the keys in that direction meets new maxima until the end. */
static struct tensor *make_qkv(const struct dims *d, int64_t gap, double spread)
{
    double size = sqrt(spread / d->scale / sqrt((double)d->D));
    struct tensor *qkv = factors("qkv", d->B * d->S, columns(d), gap, size);
    for (int64_t i = 0; i < d->B * d->S * columns(d) && rise; i++) {
        int64_t row = i / columns(d) % d->S, head = i % columns(d) / d->D, left = rise > 0 ? d->S - 1 - row : row;
        if (head >= d->H && head < d->H + d->KV) qkv->v[i] = ldexp(qkv->v[i], (int)(-4 * left / d->S));
    }
    encode(qkv);
    return qkv;
}

/* The error of float32 scores of size `spread`, and the relative error of their exponentials. Adding D products rounds
 * like the steps of a random walk; scaling, maximum and logarithm round too. The scores that matter are the largest,
 * four times that size. In tf32 a matrix unit adds the products of half as many factors at a time as in 16 bits, so
 * there are twice as many sums to round. */
static double score_error(const struct dims *d, double spread)
{
    return 2e-6 + (tf32 ? 2 : 1) * (8 + 2 * sqrt((double)d->D)) * 0x1p-24 * spread;
}

/* A probability carries the errors of its score and of its denominator, and is then rounded. If it is so small that
 * fp16 has few digits for it, its error is fp16's smallest number. */
static struct rounding rounding_at(const struct dims *d, double spread)
{
    double relative = 2 * score_error(d, spread) + loss(), least = kt.dtype == TT_F16 ? 0x1p-24 : 1e-30;
    return (struct rounding){relative, least, roundoff(kt.dtype), 2e-6};
}

/* With amax in two calls of three, and with codes in every other call. Some values exceed the code format. */
static void launch_flash(const struct dims *d, const struct tensor *qkv, const struct tensor *o,
                         const struct tensor *lse)
{
    static int calls;
    const double small = 0x1p-9;
    struct tensor *codes = calls++ % 2 ? new_tensor("codes", BYTES, o->rows, o->cols, 0) : NULL;
    struct tensor *scale = codes ? given("code_scale", TT_F32, 1, 1, 0, &small) : NULL, *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    LAUNCH(flash, .q = qkv->data, .k = column(qkv, d->H * d->D), .v = column(qkv, (d->H + d->KV) * d->D),
           .o = o->data, .lse = (float *)lse->data, .amax = data_or_null(amax), .to = code_type,
           .code_scale = data_or_null(scale), .codes = data_or_null(codes),
           .starts = data_or_null(cut_rows(cut, d->B, d->S).starts), .B = d->B, .S = d->S, .heads = d->H,
           .kv_heads = d->KV, .D = d->D, .ld = qkv->ld, .scale = (float)d->scale, .tf32 = tf32, .tile = asked);
    amax_is_of(amax, before, o);
    codes_are_of(codes, o, (float)small, code_type, false);
}

static void check_flash(const struct dims *d, int64_t gap, double spread)
{
    new_case(DIMS ", gap %" PRId64 ", spread %g, tile %dx%d, rise %d, cut %d", DIMS_OF(*d), gap, spread, asked.rows,
             asked.cols, rise, cut);
    int64_t T = d->B * d->S;
    struct tensor *qkv = make_qkv(d, gap, spread), *o = output("o", kt.dtype, T, d->H * d->D, 0);
    struct tensor *lse = output("lse", TT_F32, d->B * d->H, d->S, 0);
    double *want = doubles(T * d->H * d->D), *want_lse = doubles(d->B * d->H * d->S);
    attend(d, qkv->v, want, want_lse);
    launch_flash(d, qkv, o, lse);
    struct rounding r = rounding_at(d, spread);
    double *most = doubles(T * d->H * d->D), largest = 0;
    for (int64_t i = 0; i < T * columns(d); i++) largest = fmax(largest, fabs(qkv->v[i]));
    attend_sizes(d, qkv->v, most, NULL, true);
    for (int64_t i = 0; i < T * d->H * d->D; i++) most[i] = r.relative * most[i] + r.least * (double)d->S * largest;
    within(o, want, most);
    close_to(lse, want_lse, 1e-6, score_error(d, spread));
}

/* Rotates the gradients of q and k back by the angles of their rows; with `sizes`, the bounds of their errors. */
static void rotate_back(const struct dims *d, const double *cosines, const double *sines, double *dqkv, bool sizes)
{
    int64_t pairs = d->D / 2;
    for (int64_t t = 0; t < d->B * d->S; t++)
        for (int64_t i = 0; i < (d->H + d->KV) * pairs; i++) {
            double *pair = dqkv + t * columns(d) + 2 * i, x = pair[0], y = pair[1];
            double c = cosines[t % d->S * pairs + i % pairs], s = sines[t % d->S * pairs + i % pairs];
            pair[0] = sizes ? fabs(c * x) + fabs(s * y) : c * x + s * y;
            pair[1] = sizes ? fabs(c * y) + fabs(s * x) : c * y - s * x;
        }
}

/* The first query of a document sees one key, whatever its score. So no gradient flows back through it to the query or
 * the key, not even a rounding error. `alone`: no other query has a gradient. */
static void check_first_queries(const struct dims *d, const struct tensor *dqkv, bool alone)
{
    int64_t cols = columns(d), keys_end = (d->H + d->KV) * d->D;
    for (int64_t i = 0; i < d->B * d->S * cols; i++) {
        int64_t b = i / cols / d->S, row = i / cols % d->S, col = i % cols;
        bool first = document_start(cut, b, row) == row, only = first && document_end(cut, b, row, d->S) == row + 1;
        bool zero = alone || only ? col < keys_end : first && col < d->H * d->D;
        if (zero && dqkv->v[i] != 0) {
            CHECK(false, "%s [%s]: dqkv[%" PRId64 ",%" PRId64 "] is %g, should be 0", tt_kernel_name(kt.kernel),
                  kt.label, i / cols, col, dqkv->v[i]);
            return;
        }
    }
}

static struct tt_device_info device(void)
{
    struct tt_device_info info = {0};
    CHECK_OK(kt.backends[0].ops->info(kt.backends[0].self, &info));
    return info;
}

/* Whether the device has native attention kernels, which know only their own chip's code formats. */
static bool has_native(void) { return !strncmp(device().kernels, "native", 6); }

/* In every fourth call, or always with always_codes, launches again to write codes of o, of the gradients, or of
 * both. */
static void launch_with_codes(struct tt_flash_backward_args a, const struct tensor *o, const struct tensor *dqkv)
{
    static int calls, launches;
    const double small = 0x1p-9, smaller = 0x1p-12;
    enum tt_dtype to = code_type == TT_E4M3 ? TT_E5M2 : TT_E5M2_FNUZ;
    struct tensor *codes = NULL, *transposed = NULL, *o_codes = NULL, *amax = NULL;
    if (calls++ % 4 && !always_codes) return;
    int way = (launches + launches / 3) % 3; /* so that the choices do not stay in step with the sizes */
    launches++;
    if (code_type != TT_E4M3 && has_native()) way = 2; /* the portable kernel would compute dqkv with other last bits */
    if (way != 1) {
        o_codes = new_tensor("o_codes", BYTES, o->cols, o->rows, 0);
        a.o_to = code_type, a.o_codes = o_codes->data;
        a.o_scale = (float *)given("o_scale", TT_F32, 1, 1, 0, &small)->data;
    }
    if (way != 2) {
        struct tensor *scratch = output("scratch", kt.dtype, dqkv->rows, dqkv->cols, dqkv->ld - dqkv->cols);
        int64_t k = a.heads * a.D, v = (a.heads + a.kv_heads) * a.D;
        codes = new_tensor("codes", BYTES, dqkv->rows, dqkv->cols, 0);
        transposed = new_tensor("transposed", BYTES, dqkv->cols, dqkv->rows, 0);
        a.to = to, a.codes = codes->data, a.transposed = transposed->data;
        a.code_scale = (float *)given("code_scale", TT_F32, 1, 1, 0, &smaller)->data;
        a.dq = scratch->data, a.dk = column(scratch, k), a.dv = column(scratch, v);
        amax = new_amax();
    }
    double before = amax ? amax->v[0] : 0;
    a.amax = data_or_null(amax);
    launch(TT_K_flash_backward, &a);
    amax_is_of(amax, before, dqkv);
    codes_are_of(o_codes, o, (float)small, code_type, true);
    codes_are_of(codes, dqkv, (float)smaller, to, false);
    codes_are_of(transposed, dqkv, (float)smaller, to, true);
}

/* Runs the backward on q, k, v, dout and the forward's results; then perhaps once more for codes. */
static void launch_flash_backward(const struct dims *d, const struct tensor *qkv, const struct tensor *dout,
                                  const struct tensor *o, const struct tensor *lse, const struct tensor *dqkv,
                                  const struct tensor *cosines, const struct tensor *sines)
{
    int64_t k = d->H * d->D, v = (d->H + d->KV) * d->D;
    struct tensor *delta = output("delta", TT_F32, d->B * d->H, d->S, 0);
    struct documents documents = cut_rows(cut, d->B, d->S);
    struct tensor *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    struct tt_flash_backward_args a = {
        .dtype = kt.dtype, .q = qkv->data, .k = column(qkv, k), .v = column(qkv, v), .o = o->data, .dout = dout->data,
        .lse = (float *)lse->data, .delta = (float *)delta->data, .dq = dqkv->data, .dk = column(dqkv, k),
        .dv = column(dqkv, v), .amax = data_or_null(amax), .cos = data_or_null(cosines), .sin = data_or_null(sines),
        .B = d->B, .S = d->S, .heads = d->H, .kv_heads = d->KV, .D = d->D, .ld = qkv->ld, .scale = (float)d->scale,
        .starts = data_or_null(documents.starts), .ends = data_or_null(documents.ends), .tf32 = tf32, .tile = asked};
    launch(TT_K_flash_backward, &a);
    amax_is_of(amax, before, dqkv);
    launch_with_codes(a, o, dqkv);
}

static void check_flash_backward(const struct dims *d, int64_t gap, double spread, bool turned)
{
    new_case(DIMS ", gap %" PRId64 ", spread %g, tile %dx%d, rise %d, turned %d, cut %d", DIMS_OF(*d), gap, spread,
             asked.rows, asked.cols, rise, turned, cut);
    int64_t T = d->B * d->S, cols = columns(d);
    struct tensor *qkv = make_qkv(d, gap, spread), *dout = factors("dout", T, d->H * d->D, 0, 1);
    double *o_values = doubles(T * d->H * d->D), *lse_values = doubles(d->B * d->H * d->S);
    attend(d, qkv->v, o_values, lse_values);
    struct tensor *o = given("o", kt.dtype, T, d->H * d->D, 0, o_values);
    struct tensor *lse = given("lse", TT_F32, d->B * d->H, d->S, 0, lse_values);
    struct tensor *dqkv = output("dqkv", kt.dtype, T, cols, gap);
    double *want = doubles(T * cols), *most = doubles(T * cols);
    struct tensor *cosines = input("cos", TT_F32, d->S, d->D / 2, 0, 1),
                  *sines = input("sin", TT_F32, d->S, d->D / 2, 0, 1);
    attend_backward(d, qkv->v, dout->v, want, rounding_at(d, spread), most);
    if (turned) rotate_back(d, cosines->v, sines->v, want, false), rotate_back(d, cosines->v, sines->v, most, true);
    launch_flash_backward(d, qkv, dout, o, lse, dqkv, turned ? cosines : NULL, turned ? sines : NULL);
    check_first_queries(d, dqkv, false);
    within(dqkv, want, most);
}

/* Only the first query of each document has a gradient, so only dv is not 0. */
static void check_flash_first(const struct dims *d)
{
    new_case(DIMS ", first queries, cut %d", DIMS_OF(*d), cut);
    int64_t T = d->B * d->S, cols = columns(d);
    struct tensor *qkv = make_qkv(d, 0, 10), *dout = factors("dout", T, d->H * d->D, 0, 1);
    for (int64_t i = 0; i < T * d->H * d->D; i++) {
        int64_t row = i / (d->H * d->D);
        if (document_start(cut, row / d->S, row % d->S) != row % d->S) dout->v[i] = 0;
    }
    encode(dout);
    double *o_values = doubles(T * d->H * d->D), *lse_values = doubles(d->B * d->H * d->S);
    attend(d, qkv->v, o_values, lse_values);
    struct tensor *o = given("o", kt.dtype, T, d->H * d->D, 0, o_values);
    struct tensor *lse = given("lse", TT_F32, d->B * d->H, d->S, 0, lse_values);
    struct tensor *dqkv = output("dqkv", kt.dtype, T, cols, 0);
    launch_flash_backward(d, qkv, dout, o, lse, dqkv, NULL, NULL);
    check_first_queries(d, dqkv, true);
}

/* Writes NaN to row `at` of a sequence, in columns `from` up to `to`. */
static void spoil(const struct dims *d, struct tensor *qkv, int64_t b, int64_t at, int64_t from, int64_t to)
{
    for (int64_t c = from; c < to; c++) qkv->v[(b * d->S + at) * columns(d) + c] = (double)NAN;
    encode(qkv);
}

/* Checks that `width` columns are unchanged in the rows before row `at` of sequence b and in all other sequences. */
static void check_unspoilt(const struct dims *d, const struct tensor *t, const double *before, int64_t width, int64_t b,
                           int64_t at)
{
    for (int64_t i = 0; i < d->B * d->S * t->cols; i++) {
        int64_t row = i / t->cols;
        if (i % t->cols >= width || (row / d->S == b && row % d->S >= at) || t->v[i] == before[i]) continue;
        CHECK(false, "%s [%s]: %s[%" PRId64 ",%" PRId64 "] was %g and is %g", tt_kernel_name(kt.kernel), kt.label,
              t->name, row, i % t->cols, before[i], t->v[i]);
        return;
    }
}

/* The rule of kernels.h for NaN in keys and values: a key does not affect o and lse of earlier queries, and a value not
 * their dq, even in a shared tile. The key affects every query from its own position on. */
static void check_flash_spoilt(const struct dims *d, int64_t at)
{
    new_case(DIMS ", NaN at %" PRId64, DIMS_OF(*d), at);
    int64_t T = d->B * d->S, width = d->H * d->D, k = width, v = (d->H + d->KV) * d->D, b = d->B - 1;
    struct tensor *qkv = make_qkv(d, 0, 10), *dout = factors("dout", T, width, 0, 1);
    struct tensor *o = output("o", kt.dtype, T, width, 0), *lse = output("lse", TT_F32, d->B * d->H, d->S, 0);
    struct tensor *dqkv = output("dqkv", kt.dtype, T, columns(d), 0);
    double *whole = copy_doubles(qkv->v, T * columns(d));
    launch_flash(d, qkv, o, lse);
    launch_flash_backward(d, qkv, dout, o, lse, dqkv, NULL, NULL);
    double *o_was = copy_doubles(o->v, T * width), *lse_was = copy_doubles(lse->v, d->B * d->H * d->S);
    double *dqkv_was = copy_doubles(dqkv->v, T * columns(d));

    spoil(d, qkv, b, at, v, columns(d));
    launch_flash_backward(d, qkv, dout, o, lse, dqkv, NULL, NULL);
    check_unspoilt(d, dqkv, dqkv_was, width, b, at);

    memcpy(qkv->v, whole, (size_t)(T * columns(d)) * sizeof *whole);
    spoil(d, qkv, b, at, k, v);
    launch_flash(d, qkv, o, lse);
    check_unspoilt(d, o, o_was, width, b, at);
    for (int64_t n = 0; n < d->B * d->H * d->S; n++) {
        bool reached = n / d->S / d->H == b && n % d->S >= at;
        CHECK(reached ? isnan(lse->v[n]) : lse->v[n] == lse_was[n], "%s [%s]: lse[%" PRId64 "] was %g and is %g",
              tt_kernel_name(kt.kernel), kt.label, n, lse_was[n], lse->v[n]);
    }
}

static void flash_keeps_to_what_is_seen(void)
{
    for (int64_t D = 16; D <= 256; D *= 2) {
        struct dims d = {2, 70, 2, 1, D, (float)(1 / sqrt((double)D))};
        check_flash_first(&d);
        check_flash_spoilt(&d, 40);
    }
}

static void flash_both_ways(int64_t B, int64_t S, int64_t H, int64_t KV, int64_t D, int64_t gap, double spread)
{
    struct dims d = {B, S, H, KV, D, (float)(1 / sqrt((double)D))};
    check_flash(&d, gap, spread);
    /* Alternates RoPE, since each variant costs as much as everything else here. */
    check_flash_backward(&d, gap, spread, (S + H + D / 2) % 2);
}

static void flash_attends(void)
{
    for EACH (D, 2, 6, 16, 32, 64, 80)
        for EACH (S, 1, 17, 65, 130) {
            if (*S < 130) flash_both_ways(2, *S, 4, 1, *D, 3, 1);
            if (*S != 65) flash_both_ways(1, *S, 2, 2, *D, 0, 1);
        }
    for EACH (S, 8, 16, 31, 32, 33, 63, 64, 127, 128, 129, 300) flash_both_ways(2, *S, 2, 1, 16, 0, 1);
    for EACH (D, 96, 104, 128, 200, 256) { /* the largest heads have their own block shapes */
        flash_both_ways(1, 67, 2, 1, *D, 0, 1);
        flash_both_ways(1, 35, 2, 2, *D, 3, 1);
    }
    flash_both_ways(3, 33, 8, 2, 16, 0, 1);
    flash_both_ways(1, 130, 3, 1, 32, 1, 1);
}

/* Token counts as products of codes need them. */
static void flash_writes_codes(void)
{
    always_codes = true;
    for EACH (D, 8, 24, 64, 128, 136)
        for EACH (S, 16, 72, 48) flash_both_ways(2, *S, 2, 1, *D, 0, 1);
    flash_both_ways(1, 144, 2, 1, 128, 0, 1);
    always_codes = false;
}

/* Codes in other chips' number formats, in every second launch. */
static void flash_writes_other_codes(void)
{
    code_type = TT_E4M3_FNUZ, always_codes = true;
    for EACH (D, 6, 64, 128)
        for EACH (S, 17, 66) flash_both_ways(1, *S, 2, 1, *D, 0, 1);
    code_type = TT_E4M3, always_codes = false;
}

/* Number of sequences of four heads each that give more heads than a GPU has multiprocessors. */
static int64_t crowd(void) { return test_few() ? device().units / 2 + 4 : 70; }

/* Heads, lengths and sequence counts that exceed the tiles of the kernels that some chips have for them. */
static void flash_attends_in_large_tiles(void)
{
    for (int64_t D = 64; D <= 128; D += 64)
        for EACH (S, 1, 64, 129, 257) {
            flash_both_ways(1, *S, 4, 2, D, 8 * (*S % 2), 1);
            flash_both_ways(1, *S, 3, 1, D, 8 * (*S % 2), 1); /* the RoPE setting that the case above did not have */
        }
    flash_both_ways(1, 400, 1, 1, 64, 0, 1);
    flash_both_ways(1, 400, test_few() ? 1 : 3, 1, 128, 0, 1);
    flash_both_ways(crowd(), 33, 4, 2, 64, 0, 1);
}

/* A NaN in a document, which may begin at a tile or inside one, does not reach the queries of other documents: a key
 * not their o and lse, a value not their dq. */
static void check_documents_apart(const struct dims *d, int64_t at)
{
    new_case(DIMS ", NaN at %" PRId64 ", cut %d", DIMS_OF(*d), at, cut);
    int64_t T = d->B * d->S, width = d->H * d->D, k = width, v = (d->H + d->KV) * d->D, b = d->B - 1;
    int64_t first = document_start(cut, b, at), end = document_end(cut, b, at, d->S);
    struct tensor *qkv = make_qkv(d, 0, 10), *dout = factors("dout", T, width, 0, 1);
    struct tensor *o = output("o", kt.dtype, T, width, 0), *lse = output("lse", TT_F32, d->B * d->H, d->S, 0);
    struct tensor *dqkv = output("dqkv", kt.dtype, T, columns(d), 0);
    double *whole = copy_doubles(qkv->v, T * columns(d));
    launch_flash(d, qkv, o, lse);
    launch_flash_backward(d, qkv, dout, o, lse, dqkv, NULL, NULL);
    double *lse_was = copy_doubles(lse->v, d->B * d->H * d->S), *dqkv_was = copy_doubles(dqkv->v, T * columns(d));
    spoil(d, qkv, b, at, v, columns(d));
    launch_flash_backward(d, qkv, dout, o, lse, dqkv, NULL, NULL);
    for (int64_t i = 0; i < T * columns(d); i++) {
        int64_t row = i / columns(d);
        bool reached = row / d->S == b && row % d->S >= at && row % d->S < end;
        if (i % columns(d) >= width || reached || dqkv->v[i] == dqkv_was[i]) continue;
        CHECK(false, "%s [%s]: dq of row %" PRId64 " was %g and is %g", tt_kernel_name(kt.kernel), kt.label, row,
              dqkv_was[i], dqkv->v[i]);
        break;
    }
    memcpy(qkv->v, whole, (size_t)(T * columns(d)) * sizeof *whole);
    spoil(d, qkv, b, at, k, v);
    launch_flash(d, qkv, o, lse);
    for (int64_t n = 0; n < d->B * d->H * d->S; n++) {
        bool reached = n / d->S / d->H == b && n % d->S >= at && n % d->S < end;
        CHECK(reached ? isnan(lse->v[n]) : lse->v[n] == lse_was[n], "%s [%s]: lse[%" PRId64 "] was %g and is %g",
              tt_kernel_name(kt.kernel), kt.label, n, lse_was[n], lse->v[n]);
    }
    CHECK(first > 0 && end < d->S, "%s: the document is between others", kt.label);
}

static void flash_keeps_to_documents(void)
{
    for (cut = WHOLE; cut < CUTS; cut++)
        for EACH (S, 130, 1, 64) flash_both_ways(2, *S, 4, 2, 16, 3, 1);
    cut = MIXED;
    for EACH (D, 32, 64, 96, 128, 200) flash_both_ways(1, 131, 2, 1, *D, 0, 1);
    flash_both_ways(2, 200, 3, 1, 16, 0, 80);
    for (int64_t D = 16; D <= 256; D *= 4) {
        struct dims d = {2, 130, 2, 1, D, (float)(1 / sqrt((double)D))};
        cut = MIXED, check_flash_first(&d);
        cut = AROUND_TILES, check_documents_apart(&d, 70);
    }
    struct dims d = {1, 200, 2, 1, 16, 0.25};
    cut = AT_TILES, check_documents_apart(&d, 100);
    cut = JOINED;
}

/* The same for the large tiles that some chips' own kernels have for these heads. */
static void flash_keeps_to_documents_in_large_tiles(void)
{
    for (cut = WHOLE; cut < CUTS; cut++) flash_both_ways(1, 257, 2, 1, cut % 2 ? 64 : 128, 0, 1);
    cut = MIXED;
    flash_both_ways(1, 600, 2, 1, 64, 0, 1);
    flash_both_ways(1, 300, 3, 1, 128, 8, 1);
    flash_both_ways(crowd(), 65, 4, 2, 64, 0, 1);
    for (int64_t D = 64; D <= 128; D += 64) {
        struct dims d = {2, 130, 2, 1, D, (float)(1 / sqrt((double)D))};
        cut = MIXED, check_flash_first(&d);
        cut = AROUND_TILES, check_documents_apart(&d, 70);
    }
    cut = JOINED;
}

/* Odd tiles: sizes that divide nothing, one query or key at a time, and larger than everything. */
static void flash_attends_in_any_tile(void)
{
    for EACH (rows, 1, 7, 33, 4096)
        for EACH (cols, 1, 5, 64, 65, 4096) {
            asked = (struct tt_flash_tile){(int32_t)*rows, (int32_t)*cols};
            for EACH (S, 1, 31, 130) flash_both_ways(1, *S, 4, 2, 6, 3, 1);
            flash_both_ways(2, 67, 3, 1, 16, 0, 80);
            cut = MIXED;
            flash_both_ways(2, 131, 4, 2, 6, 3, 1);
            cut = JOINED;
        }
    asked = (struct tt_flash_tile){0};
}

/* Rows over several tiles, with a new maximum in each, from whichever end a kernel begins. */
static void flash_attends_with_rising_scores(void)
{
    for EACH (S, 260, 600)
        for (int64_t D = 64; D <= 128; D += 64)
            for (double spread = 80; spread <= 1e4; spread *= 125)
                for (rise = -1; rise <= 1; rise += 2)
                    if (kt.dtype != TT_F16 || spread < 1000) flash_both_ways(1, *S, 1, 1, D, 0, spread);
    rise = 0;
}

static void flash_attends_with_large_scores(void)
{
    for EACH (S, 1, 17, 130)
        for EACH (spread, 10, 80, 10000)
            if (kt.dtype != TT_F16 || *spread < 1000) flash_both_ways(1, *S, 4, 2, 16, 0, (double)*spread);
    flash_attends_with_rising_scores();
}

static void flash_attends_in_tf32(void)
{
    tf32 = true;
    flash_attends();
    flash_attends_in_large_tiles();
    flash_attends_with_large_scores();
    flash_keeps_to_what_is_seen();
    flash_keeps_to_documents();
    tf32 = false;
}

/* ---- the references ---- */

static void references_differentiate(void)
{
    for EACH (H, 2, 4) {
        new_case("H %" PRId64, *H);
        struct dims d = {2, 5, *H, 2, 6, 0.4};
        int64_t n = d.B * d.S * columns(&d), m = d.B * d.S * d.H * d.D;
        struct tensor *qkv = input("qkv", TT_F32, d.B * d.S, columns(&d), 0, 1);
        struct tensor *dout = input("dout", TT_F32, d.B * d.S, d.H * d.D, 0, 1);
        double *dqkv = doubles(n);
        attend_backward(&d, qkv->v, dout->v, dqkv, (struct rounding){0}, NULL);
        check_gradient("attention", attend_packed, &d, qkv->v, n, dout->v, m, dqkv);
    }
}

/* With TT_TEST_NATIVE set: only what a chip's own kernels compute. They have no fp32. */
static int test_native(void)
{
    CHECK(has_native(), "this device has no kernels of its own");
    kt.has[TT_F32] = false;
    TEST_TYPES(flash_attends_with_rising_scores);
    TEST_TYPES(flash_keeps_to_what_is_seen);
    TEST_TYPES(flash_writes_codes);
    TEST_TYPES(flash_attends_in_large_tiles);
    TEST_TYPES(flash_keeps_to_documents_in_large_tiles);
    close_backends();
    return test_end();
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    if (getenv("TT_TEST_NATIVE")) return test_native();
    TEST(references_differentiate);
    TEST_TYPES(flash_attends);
    TEST_TYPES(flash_writes_codes);
    TEST_TYPES(flash_writes_other_codes);
    TEST_TYPES(flash_attends_in_large_tiles);
    TEST_TYPES(flash_attends_with_large_scores);
    TEST_TYPES(flash_keeps_to_what_is_seen);
    TEST_TYPES(flash_keeps_to_documents);
    TEST_TYPES(flash_keeps_to_documents_in_large_tiles);
    if (device().has[TT_TF32]) TEST(flash_attends_in_tf32);
    if (!strcmp(tt_backend_name(), "cpu")) TEST_TYPES(flash_attends_in_any_tile);
    if (reopen_portable()) {
        TEST_TYPES(flash_attends);
        TEST_TYPES(flash_writes_codes);
        TEST_TYPES(flash_writes_other_codes);
        TEST_TYPES(flash_attends_in_large_tiles);
        TEST_TYPES(flash_attends_with_large_scores);
        TEST_TYPES(flash_keeps_to_what_is_seen);
        TEST_TYPES(flash_keeps_to_documents);
        TEST_TYPES(flash_keeps_to_documents_in_large_tiles);
    }
    END_KERNEL_TESTS(COVER_ATTENTION);
}
