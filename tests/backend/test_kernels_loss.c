/* From tokens to the loss: the embedding, and cross-entropy in one kernel and in single steps. */
#include "tests/backend/kernels/documents.h"
#include "tests/backend/kernels/kernels.h"

/* Tokens of B sequences in rows of S + 1, in slots that are slot_stride apart. */
struct text {
    int64_t B, S, V, slot_stride;
    struct tensor *tokens, *state; /* state or NULL */
    const double *base;            /* the slot that the state selects */
};

/* Which targets are ignored: none, every third token, or all. */
static enum { COUNTED, THIRDS, IGNORED } masks;

static struct text make_text(int64_t B, int64_t S, int64_t V, int slot, float loss_scale)
{
    struct text t = {.B = B, .S = S, .V = V, .slot_stride = B * (S + 1) + 5};
    t.tokens = integers("tokens", 2, t.slot_stride, V);
    for (int64_t i = 0; i < 2 * t.slot_stride && masks; i++)
        if (masks == IGNORED || i % 3 == 1) t.tokens->v[i] = -1 - t.tokens->v[i]; /* ~token */
    if (masks) encode(t.tokens);
    t.base = t.tokens->v + (slot > 0 ? t.slot_stride : 0);
    struct tt_state state = {.step = 3, .slot = slot, .apply = 1, .loss_scale = loss_scale};
    if (slot >= 0) t.state = structure("state", &state, sizeof state);
    return t;
}

static int64_t token(const struct text *t, int64_t row)
{
    int64_t stored = (int64_t)t->base[row / t->S * (t->S + 1) + row % t->S];
    return stored < 0 ? ~stored : stored;
}

/* Negative if it is ignored. */
static int64_t target(const struct text *t, int64_t row)
{
    return (int64_t)t->base[row / t->S * (t->S + 1) + row % t->S + 1];
}

enum { NO_STATE = -1 };

#define TEXT "B %" PRId64 ", S %" PRId64 ", V %" PRId64 ", slot %" PRId64

/* ---- embedding ---- */

static void check_embedding(int64_t B, int64_t S, int64_t V, int64_t C, int64_t slot)
{
    new_case(TEXT ", C %" PRId64, B, S, V, slot, C);
    struct text t = make_text(B, S, V, (int)slot, 1);
    struct tensor *weight = input("weight", kt.dtype, V, C, 0, 1), *y = output("y", kt.dtype, B * S, C, 0);
    double *want = doubles(B * S * C);
    for (int64_t i = 0; i < B * S * C; i++) want[i] = weight->v[token(&t, i / C) * C + i % C];
    LAUNCH(embedding, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state), .weight = weight->data,
           .y = y->data, .T = B * S, .S = S, .C = C, .V = V, .slot_stride = t.slot_stride);
    exactly(y, want);
}

/* The tokens of the slot end documents where `cut` says so. The last token of a row is only a target, and an end there
 * belongs to no document of the row. Tokens of the other slot and other tokens end nothing. */
static void check_document_bounds(int64_t B, int64_t S, int64_t slot, enum cut cut, bool with_ends)
{
    enum { END = 7 };
    new_case("B %" PRId64 ", S %" PRId64 ", slot %" PRId64 ", cut %d", B, S, slot, cut);
    struct text t = make_text(B, S, END, (int)slot, 1);
    struct documents want = cut_rows(cut, B, S);
    double *base = t.tokens->v + (slot > 0 ? t.slot_stride : 0);
    for (int64_t n = 0; n < B * (S + 1); n++)
        if (n % (S + 1) == S || ends_document(cut, n / (S + 1), n % (S + 1))) base[n] = END;
    encode(t.tokens);
    struct tensor *starts = new_tensor("starts_out", INT32, B, S, 0),
                  *ends = new_tensor("ends_out", INT32, B, S, 0);
    LAUNCH(document_bounds, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .starts = (int32_t *)starts->data, .ends = with_ends ? (int32_t *)ends->data : NULL, .B = B, .S = S,
           .slot_stride = t.slot_stride, .end = END);
    exactly(starts, want.starts->v);
    if (with_ends) exactly(ends, want.ends->v);
}

static void finds_documents(void)
{
    for (enum cut cut = WHOLE; cut < CUTS; cut++)
        for EACH (S, 1, 2, 63, 64, 65, 255, 256, 257, 1000) {
            check_document_bounds(1, *S, NO_STATE, cut, false);
            check_document_bounds(5, *S, 1, cut, true);
        }
}

static void check_embedding_backward(int64_t B, int64_t S, int64_t V, int64_t C, int64_t slot)
{
    new_case(TEXT ", C %" PRId64, B, S, V, slot, C);
    struct text t = make_text(B, S, V, (int)slot, 1);
    struct tensor *dy = input("dy", kt.dtype, B * S, C, 0, 1), *dweight = input("dweight", TT_F32, V, C, 0, 1);
    struct tensor *work = new_tensor("work", INT32, 1, TT_EMBEDDING_WORK(B * S, V), 0);
    double *want = copy_doubles(dweight->v, V * C);
    for (int64_t i = 0; i < B * S * C; i++) want[token(&t, i / C) * C + i % C] += dy->v[i];
    LAUNCH(embedding_backward, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state), .dy = dy->data,
           .dweight = (float *)dweight->data, .work = (int32_t *)work->data, .T = B * S, .S = S, .C = C, .V = V,
           .slot_stride = t.slot_stride);
    close_to(dweight, want, 2e-6, 1e-5);
}

static void embeds(void)
{
    for EACH (slot, NO_STATE, 0, 1)
        for EACH (V, 1, 7, 1000)
            for EACH (C, 1, 3, 65, 100) {
                check_embedding(1, 1, *V, *C, *slot);
                check_embedding(3, 17, *V, *C, *slot);
                check_embedding_backward(1, 1, *V, *C, *slot);
                check_embedding_backward(3, 17, *V, *C, *slot);
            }
    check_embedding(4, 130, 1000, 256, 1);
    check_embedding_backward(4, 130, 50, 256, 1);
    check_embedding_backward(4, 130, 3, 65, 1); /* long runs of one token; rows that are not whole vectors */
    check_embedding_backward(1, 2048, 15, 5, 0);
    check_embedding_backward(1, 2049, 15, 5, 0); /* too many to count one by one; tokens of one digit */
    check_embedding_backward(21, 100, 1000, 8, 1); /* tokens of several digits */
    check_embedding_backward(21, 100, 20000, 3, 1);
}

/* ---- the reference ---- */

static double logsumexp(const double *x, int64_t n)
{
    double top = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++) top = fmax(top, x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - top);
    return top + log(sum);
}

struct loss {
    const struct text *text;
    int64_t rows, first;
};

static void losses_of(const double *x, double *losses, const void *context)
{
    const struct loss *l = context;
    int64_t V = l->text->V;
    for (int64_t r = 0; r < l->rows; r++) {
        int64_t wanted = target(l->text, l->first + r);
        losses[r] = wanted < 0 ? (double)TT_NO_LOSS : logsumexp(x + r * V, V) - x[r * V + wanted];
    }
}

/* (softmax(x) - onehot)·factor */
static void loss_backward(const struct loss *l, const double *x, double factor, double *dx)
{
    int64_t V = l->text->V;
    for (int64_t r = 0; r < l->rows; r++) {
        double lse = logsumexp(x + r * V, V);
        int64_t wanted = target(l->text, l->first + r);
        for (int64_t c = 0; c < V; c++)
            dx[r * V + c] = wanted < 0 ? 0 : (exp(x[r * V + c] - lse) - (c == wanted)) * factor;
    }
}

static void references_differentiate(void)
{
    new_case("cross entropy");
    struct text t = make_text(2, 5, 7, 1, 1);
    struct loss l = {&t, 6, 3};
    struct tensor *x = input("x", TT_F32, l.rows, t.V, 0, 2);
    double *dx = doubles(l.rows * t.V), *dy = doubles(l.rows);
    for (int64_t r = 0; r < l.rows; r++) dy[r] = 0.7;
    loss_backward(&l, x->v, 0.7, dx);
    check_gradient("cross entropy", losses_of, &l, x->v, l.rows * t.V, dy, l.rows, dx);
}

/* ---- cross-entropy ---- */

/* What a case varies: the rows of logits within the text, their size, and the options. */
struct loss_case {
    int64_t rows, V, first, slot;
    double spread;
    bool grad;
};

static struct text case_text(const struct loss_case *c)
{
    new_case("rows %" PRId64 " from %" PRId64 ", V %" PRId64 ", slot %" PRId64 ", spread %g, grad %d", c->rows,
             c->first, c->V, c->slot, c->spread, c->grad);
    int64_t S = 5;
    return make_text((c->first + c->rows + S - 1) / S, S, c->V, (int)c->slot, 512);
}

/* The gradients of ignored targets are exactly 0. */
static void zero_where_ignored(const struct tensor *x, const struct text *t, const struct loss_case *c)
{
    int64_t other = 0;
    for (int64_t i = 0; i < c->rows * c->V; i++)
        other += target(t, c->first + i / c->V) < 0 && (x->v[i] != 0 || signbit(x->v[i]));
    CHECK(other == 0, "[%s] %" PRId64 " gradients of ignored targets are not 0", kt.label, other);
}

/* The error of a fp32 logit of this size, which is also the relative error of its exponential. */
static double logit_error(double spread) { return 2e-6 + 4 * 0x1p-24 * spread; }

static void check_cross_entropy_apart(const struct loss_case *c, int64_t gap)
{
    struct text t = case_text(c);
    struct loss l = {&t, c->rows, c->first};
    struct tensor *x = input("x", kt.dtype, c->rows, c->V, gap, c->spread);
    struct tensor *losses = output("losses", TT_F32, c->rows, 1, 0);
    float factor = 0.01f;
    double *want_losses = doubles(c->rows), *want = copy_doubles(x->v, c->rows * c->V);
    losses_of(x->v, want_losses, &l);
    double total = (double)factor * (t.state ? 512 : 1);
    if (c->grad) loss_backward(&l, x->v, total, want);
    struct tensor *amax = new_amax();
    double before = amax ? amax->v[0] : 0;
    LAUNCH(cross_entropy, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .losses = (float *)losses->data, .amax = data_or_null(amax), .rows = c->rows, .cols = c->V, .ldx = x->ld,
           .first = c->first, .S = t.S, .slot_stride = t.slot_stride, .factor = factor, .grad = c->grad);
    close_to(losses, want_losses, 1e-6, logit_error(c->spread));
    if (c->grad) zero_where_ignored(x, &t, c);
    if (c->grad) close_to(x, want, logit_error(c->spread), total * 1e-6);
    else exactly(x, want);
    if (!amax) return;
    double most = c->grad ? largest(x, before) : before; /* a target's may be off by its row's rounded sum */
    close_to(amax, &most, 1e-6 + 2 * roundoff(kt.dtype), total * 1e-6);
}

/* Rows without gaps, rows that begin at multiples of 16 bytes, and rows that begin anywhere. */
static void check_cross_entropy(const struct loss_case *c)
{
    int64_t unit = 16 / (int64_t)tt_dtype_size(kt.dtype), aligned = (c->V + unit - 1) / unit * unit - c->V;
    check_cross_entropy_apart(c, 0);
    if (aligned > 0) check_cross_entropy_apart(c, aligned);
    check_cross_entropy_apart(c, 3);
}

/* ---- the kernels around a product that stores exponentials ---- */

static void check_target_logit(const struct loss_case *c, int64_t cols)
{
    struct text t = case_text(c);
    struct tensor *x = input("x", kt.dtype, c->rows, cols, 0, 1), *w = input("w", kt.dtype, c->V, cols, 0, 1);
    struct tensor *logits = output("logits", TT_F32, c->rows, 1, 0);
    double *want = doubles(c->rows), size = 0;
    for (int64_t r = 0; r < c->rows; r++) {
        int64_t wanted = target(&t, c->first + r);
        want[r] = wanted < 0 ? (double)INFINITY : 0;
        for (int64_t i = 0; wanted >= 0 && i < cols; i++) {
            want[r] += x->v[r * cols + i] * w->v[wanted * cols + i];
            size = fmax(size, fabs(x->v[r * cols + i] * w->v[wanted * cols + i]));
        }
    }
    LAUNCH(target_logit, .x = x->data, .w = w->data, .tokens = (int32_t *)t.tokens->data,
           .state = data_or_null(t.state), .logits = (float *)logits->data, .rows = c->rows, .cols = cols, .V = c->V,
           .first = c->first, .S = t.S, .slot_stride = t.slot_stride);
    for (int64_t r = 0; r < c->rows; r++) { /* infinities cannot be subtracted */
        if (!isinf(want[r])) continue;
        CHECK(isinf(logits->v[r]) && logits->v[r] > 0, "[%s] row %" PRId64, kt.label, r);
        want[r] = logits->v[r] = 0;
    }
    close_to(logits, want, 1e-6, 0x1p-23 * size * (double)cols);
}

/* Computes losses and gradients from exponentials and their partial sums. */
static void check_loss_of_sums(const struct loss_case *c, int64_t parts)
{
    struct text t = case_text(c);
    struct tensor *x = input("x", kt.dtype, c->rows, c->V, 0, c->spread);
    struct tensor *sums = input("sums", TT_F32, parts, c->rows, 0, 1);
    struct tensor *losses = output("losses", TT_F32, c->rows, 1, 0), *scale = output("scale", TT_F32, c->rows, 1, 0);
    double *want = copy_doubles(x->v, c->rows * c->V), *want_losses = doubles(c->rows), *want_scale = doubles(c->rows);
    for (int64_t i = 0; i < parts * c->rows; i++) sums->v[i] = (double)(float)(0.1 + fabs(sums->v[i]));
    encode(sums);
    float factor = 0.01f;
    for (int64_t r = 0; r < c->rows; r++) {
        int64_t wanted = target(&t, c->first + r);
        double sum = 0;
        for (int64_t p = 0; p < parts; p++) sum += sums->v[p * c->rows + r];
        want_losses[r] = wanted < 0 ? (double)TT_NO_LOSS : log(sum);
        want_scale[r] = wanted < 0 ? 0 : (double)factor * (t.state ? 512 : 1) / sum;
        if (wanted >= 0) want[r * c->V + wanted] = 1 - sum;
    }
    LAUNCH(loss_of_sums, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .sums = (float *)sums->data, .losses = (float *)losses->data, .scale = (float *)scale->data,
           .rows = c->rows, .cols = c->V, .parts = parts, .first = c->first, .S = t.S, .slot_stride = t.slot_stride,
           .factor = factor);
    close_to(losses, want_losses, 1e-6, 1e-6);
    close_to(scale, want_scale, 1e-6, 0);
    close_to(x, want, 2e-6, 1e-6 * (double)parts);
}

static void around_exponentials(void)
{
    for (int how = COUNTED; how <= IGNORED; how++) {
        masks = how;
        for EACH (slot, NO_STATE, 1) {
            for EACH (cols, 1, 7, 64, 100, 1000, 2048)
                check_target_logit(&(struct loss_case){17, 65, 2, *slot, 1, true}, *cols);
            for EACH (parts, 1, 3, 8, 100)
                for EACH (rows, 1, 33) check_loss_of_sums(&(struct loss_case){*rows, 65, 2, *slot, 2, true}, *parts);
        }
    }
    masks = COUNTED;
}

/* ---- in single steps ---- */

static void check_row_logsumexp(const struct loss_case *c)
{
    case_text(c);
    struct tensor *x = input("x", kt.dtype, c->rows, c->V, 0, c->spread), *lse = output("lse", TT_F32, c->rows, 1, 0);
    double *want = doubles(c->rows);
    for (int64_t r = 0; r < c->rows; r++) want[r] = logsumexp(x->v + r * c->V, c->V);
    LAUNCH(row_logsumexp, .x = x->data, .lse = (float *)lse->data, .rows = c->rows, .cols = c->V);
    close_to(lse, want, 1e-6, 2e-6);
}

static void check_gather_nll(const struct loss_case *c)
{
    struct text t = case_text(c);
    struct tensor *x = input("x", kt.dtype, c->rows, c->V, 0, c->spread);
    struct tensor *losses = output("losses", TT_F32, c->rows, 1, 0);
    double *want = doubles(c->rows);
    for (int64_t r = 0; r < c->rows; r++) {
        int64_t wanted = target(&t, c->first + r);
        want[r] = wanted < 0 ? (double)TT_NO_LOSS : -x->v[r * c->V + wanted];
    }
    LAUNCH(gather_nll, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .losses = (float *)losses->data, .rows = c->rows, .cols = c->V, .first = c->first, .S = t.S,
           .slot_stride = t.slot_stride);
    exactly(losses, want);
}

static void check_sub_target(const struct loss_case *c)
{
    struct text t = case_text(c);
    struct tensor *x = input("x", kt.dtype, c->rows, c->V, 0, 1);
    double *want = copy_doubles(x->v, c->rows * c->V);
    for (int64_t r = 0; r < c->rows; r++) {
        int64_t wanted = target(&t, c->first + r);
        if (wanted >= 0) want[r * c->V + wanted] -= 1;
        for (int64_t i = 0; wanted < 0 && i < c->V; i++) want[r * c->V + i] = 0;
    }
    LAUNCH(sub_target, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .rows = c->rows, .cols = c->V, .first = c->first, .S = t.S, .slot_stride = t.slot_stride);
    close_to(x, want, 1e-7, 1e-7);
    zero_where_ignored(x, &t, c);
}

static void for_loss_cases(void (*check)(const struct loss_case *))
{
    for EACH (slot, NO_STATE, 0, 1)
        for EACH (V, 1, 7, 65, 1000)
            for EACH (rows, 1, 3, 17, 70)
                for EACH (first, 0, 7) check(&(struct loss_case){*rows, *V, *first, *slot, 2, *first == 0});
    for (int i = 0; i < ROW_WIDTHS; i++) check(&(struct loss_case){5, row_widths[i], 0, 1, 2, true});
    for EACH (V, 1, 7, 1000)
        for EACH (spread, 80, 10000)
            for (int grad = 0; grad < 2; grad++)
                if (kt.dtype != TT_F16 || *spread < 1000)
                    check(&(struct loss_case){17, *V, 2, grad, (double)*spread, grad});
}

/* A NaN or infinite logit must reach the loss, so that the step is skipped. */
static void losses_show_what_is_not_finite(void)
{
    const double bad[] = {(double)NAN, (double)INFINITY};
    for (int i = 0; i < 2; i++)
        for EACH (at, 0, 64, 99) {
            struct text t = case_text(&(struct loss_case){3, 100, 0, 0, bad[i], true});
            struct tensor *x = input("x", kt.dtype, 3, 100, 0, 1), *losses = output("losses", TT_F32, 3, 1, 0);
            struct tensor *lse = output("lse", TT_F32, 3, 1, 0);
            x->v[100 + *at] = bad[i];
            encode(x);
            LAUNCH(row_logsumexp, .x = x->data, .lse = (float *)lse->data, .rows = 3, .cols = 100);
            CHECK(isfinite(lse->v[0]) && !isfinite(lse->v[1]) && isfinite(lse->v[2]), "[%s] lse %g", kt.label,
                  lse->v[1]);
            LAUNCH(cross_entropy, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
                   .losses = (float *)losses->data, .rows = 3, .cols = 100, .ldx = 100, .S = t.S,
                   .slot_stride = t.slot_stride, .factor = 1, .grad = true);
            CHECK(isfinite(losses->v[0]) && !isfinite(losses->v[1]) && isfinite(losses->v[2]), "[%s] loss %g", kt.label,
                  losses->v[1]);
        }
}

/* Rows for one warp, for a block, and longer than a block's registers hold. */
static void ignores_targets(void)
{
    for (int how = THIRDS; how <= IGNORED; how++) {
        masks = how;
        for EACH (V, 1, 7, 65, 1000, 20000)
            for EACH (slot, NO_STATE, 1) {
                struct loss_case c = {*V > 1000 ? 3 : 17, *V, 2, *slot, 2, true}, forward = c;
                forward.grad = false;
                check_cross_entropy(&c);
                check_cross_entropy(&forward);
                check_gather_nll(&c);
                check_sub_target(&c);
            }
        check_embedding(3, 17, 7, 65, 1);
        check_embedding_backward(3, 17, 7, 65, 1);
        check_embedding_backward(4, 130, 50, 256, 1);
    }
    masks = COUNTED;
}

static void cross_entropies(void) { for_loss_cases(check_cross_entropy); }
static void logs_sums_of_exponentials(void) { for_loss_cases(check_row_logsumexp); }
static void gathers_targets(void) { for_loss_cases(check_gather_nll); }
static void subtracts_targets(void) { for_loss_cases(check_sub_target); }

/* logsumexp, subtract, gather; exp, subtract one, scale: together they equal the one kernel. */
static void check_steps(const struct loss_case *c)
{
    struct text t = case_text(c);
    struct loss l = {&t, c->rows, c->first};
    int64_t n = c->rows * c->V;
    struct tensor *x = input("x", TT_F32, c->rows, c->V, 0, c->spread), *lse = output("lse", TT_F32, c->rows, 1, 0);
    struct tensor *losses = output("losses", TT_F32, c->rows, 1, 0);
    double *want_losses = doubles(c->rows), *want = doubles(n);
    losses_of(x->v, want_losses, &l);
    loss_backward(&l, x->v, 0.25, want);
    LAUNCH(row_logsumexp, .x = x->data, .lse = (float *)lse->data, .rows = c->rows, .cols = c->V);
    LAUNCH(sub_rows, .x = x->data, .s = (float *)lse->data, .rows = c->rows, .cols = c->V);
    LAUNCH(gather_nll, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .losses = (float *)losses->data, .rows = c->rows, .cols = c->V, .first = c->first, .S = t.S,
           .slot_stride = t.slot_stride);
    LAUNCH(exp, .x = x->data, .n = n);
    LAUNCH(sub_target, .x = x->data, .tokens = (int32_t *)t.tokens->data, .state = data_or_null(t.state),
           .rows = c->rows, .cols = c->V, .first = c->first, .S = t.S, .slot_stride = t.slot_stride);
    LAUNCH(scale, .x = x->data, .n = n, .factor = 0.25f);
    close_to(losses, want_losses, 1e-6, logit_error(c->spread));
    close_to(x, want, logit_error(c->spread), 1e-6);
}

static void steps_equal_the_one_kernel(void)
{
    for EACH (V, 1, 7, 1000) check_steps(&(struct loss_case){17, *V, 2, 1, 3, true});
}

static void check_loss_sum(int64_t n)
{
    new_case("%" PRId64, n);
    struct tensor *losses = input("losses", TT_F32, 1, n, 0, 1), *out = input("out", TT_F32, 1, 2, 0, 1);
    double want[2] = {out->v[0], out->v[1]}, factor = (float)(1 / (double)n), size = fabs(want[0]);
    for (int64_t i = 0; i < n; i++) {
        want[0] += factor * losses->v[i];
        size += factor * fabs(losses->v[i]);
    }
    LAUNCH(loss_sum, .losses = (float *)losses->data, .out = (float *)out->data, .ignored = (float *)out->data + 1,
           .n = n, .factor = (float)factor);
    CHECK(out->v[1] == want[1], "[%s] %g ignored instead of %g", kt.label, out->v[1], want[1]);
    close_to(out, want, 1e-6, 1e-6 * size);
}

static void sums_only_what_counts(int64_t n)
{
    new_case("%" PRId64 ", some ignored", n);
    struct tensor *losses = input("losses", TT_F32, 1, n, 0, 1), *out = given("out", TT_F32, 1, 2, 0, (double[]){3, 5});
    double want[2] = {3, 5}, size = 3;
    for (int64_t i = 0; i < n; i++) {
        bool ignored = i % 5 == 2 || i == n - 1;
        if (ignored) losses->v[i] = (double)TT_NO_LOSS;
        want[0] += ignored ? 0 : 0.25 * losses->v[i];
        want[1] += ignored;
        size += ignored ? 0 : 0.25 * fabs(losses->v[i]);
    }
    encode(losses);
    LAUNCH(loss_sum, .losses = (float *)losses->data, .out = (float *)out->data, .ignored = (float *)out->data + 1,
           .n = n, .factor = 0.25f);
    CHECK(out->v[1] == want[1], "[%s] %g ignored instead of %g", kt.label, out->v[1], want[1]);
    want[1] = out->v[1];
    close_to(out, want, 1e-6, 1e-6 * size);
}

/* torch.nn.functional.cross_entropy(x, targets, ignore_index=-100) of PyTorch 2.15 in float64, and its gradient in row
 * 4, for x[r][c] = ((37 r + 11 c) mod 23 - 11) / 8. clip_scale computes the mean over the counted targets. */
static void as_pytorch(bool one_kernel, const bool ignored[10], double want_loss, const double want_row[7])
{
    static const int targets[10] = {3, 0, 6, 2, 5, 1, 1, 4, 0, 6};
    new_case("as PyTorch, %s", one_kernel ? "in one kernel" : "in steps");
    double logits[70], tokens[12] = {0};
    for (int i = 0; i < 70; i++) logits[i] = ((i / 7 * 37 + i % 7 * 11) % 23 - 11) / 8.0;
    for (int i = 0; i < 10; i++) tokens[i / 5 * 6 + i % 5 + 1] = ignored[i] ? -1 - targets[i] : targets[i];
    struct tensor *x = given("x", TT_F32, 10, 7, 0, logits), *losses = output("losses", TT_F32, 10, 1, 0);
    struct tensor *text = integers("tokens", 1, 12, 7), *lse = output("lse", TT_F32, 10, 1, 0);
    memcpy(text->v, tokens, sizeof tokens);
    encode(text);
    struct tt_state before = {.step = 1, .loss_scale = 1};
    struct tensor *state = structure("state", &before, sizeof before);
    struct tensor *partial = given("partial", TT_F32, 1, 1, 0, (double[]){4});
    struct tt_state *s = (struct tt_state *)state->data;
    int32_t *stored = (int32_t *)text->data;
    if (one_kernel) {
        LAUNCH(cross_entropy, .x = x->data, .tokens = stored, .losses = (float *)losses->data, .rows = 10, .cols = 7,
               .ldx = 7, .S = 5, .factor = 0.1f, .grad = true);
    } else {
        LAUNCH(row_logsumexp, .x = x->data, .lse = (float *)lse->data, .rows = 10, .cols = 7);
        LAUNCH(sub_rows, .x = x->data, .s = (float *)lse->data, .rows = 10, .cols = 7);
        LAUNCH(gather_nll, .x = x->data, .tokens = stored, .losses = (float *)losses->data, .rows = 10, .cols = 7,
               .S = 5);
        LAUNCH(exp, .x = x->data, .n = 70);
        LAUNCH(sub_target, .x = x->data, .tokens = stored, .rows = 10, .cols = 7, .S = 5);
        LAUNCH(scale, .x = x->data, .n = 70, .factor = 0.1f);
    }
    LAUNCH(loss_sum, .losses = (float *)losses->data, .out = &s->loss, .ignored = &s->ignored, .n = 10, .factor = 0.1f);
    LAUNCH(clip_scale, .state = s, .partial = (float *)partial->data, .count = 1, .targets = 10);
    struct tt_state after;
    memcpy(&after, state->data, sizeof after);
    CHECK(fabs(after.loss - want_loss) < 1e-5, "[%s] loss %.9g instead of %.9g", kt.label, after.loss, want_loss);
    for (int i = 0; i < 7; i++)
        CHECK(fabs(x->v[4 * 7 + i] * after.clip - want_row[i]) < 2e-6, "[%s] gradient %.9g instead of %.9g", kt.label,
              x->v[4 * 7 + i] * after.clip, want_row[i]);
}

static void means_are_those_of_pytorch(void)
{
    static const bool some[10] = {true, false, true, true, false, false, false, false, false, true};
    static const bool most[10] = {true, true, true, true, false, true, true, true, true, true};
    static const double row[7] = {0.012012684294856347, 0.047511088034379936, 0.010601156681937342,
                                  0.041928388028764335, 0.00935548793562369,  -0.1296649941009171,
                                  0.008256189125355458};
    static const double alone[7] = {0.07207610576913809,  0.28506652820627965, 0.06360694009162406, 0.251570328172586,
                                    0.056132927613742147, -0.7779899646055026, 0.04953713475213275};
    for (int one = 0; one < 2; one++) {
        as_pytorch(one, some, 2.0455614987413253, row);
        as_pytorch(one, most, 1.5050326936518317, alone);
    }
}

static void sums_losses(void)
{
    for_lengths(check_loss_sum);
    for_lengths(sums_only_what_counts);
}

/* The sum goes to the state's loss, as in the plan. No other field of the state changes. */
static void sums_losses_into_the_state(void)
{
    new_case("into the state");
    struct tt_state before = {.step = 7, .slot = 1, .apply = 1, .lr = 0.5f, .loss = 2, .loss_scale = 4, .skipped = 9};
    struct tensor *state = structure("state", &before, sizeof before), *losses = input("losses", TT_F32, 1, 65, 0, 1);
    double want = 2;
    for (int64_t i = 0; i < 65; i++) want += 0.125 * losses->v[i];
    struct tt_state *into = (struct tt_state *)state->data;
    LAUNCH(loss_sum, .losses = (float *)losses->data, .out = &into->loss, .ignored = &into->ignored, .n = 65,
           .factor = 0.125f);
    struct tt_state after;
    memcpy(&after, state->data, sizeof after);
    CHECK(fabs(after.loss - want) < 1e-5, "%g instead of %g", after.loss, want);
    after.loss = before.loss;
    CHECK(!memcmp(&after, &before, sizeof after), "another field of the state was changed");
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(references_differentiate);
    TEST_TYPES(embeds);
    TEST(finds_documents);
    TEST_TYPES(cross_entropies);
    TEST_TYPES(around_exponentials);
    TEST_TYPES(losses_show_what_is_not_finite);
    TEST_TYPES(logs_sums_of_exponentials);
    TEST_TYPES(gathers_targets);
    TEST_TYPES(subtracts_targets);
    TEST_TYPES(ignores_targets);
    TEST(means_are_those_of_pytorch);
    TEST(steps_equal_the_one_kernel);
    TEST(sums_losses);
    TEST(sums_losses_into_the_state);
    END_KERNEL_TESTS(COVER_LOSS);
}
