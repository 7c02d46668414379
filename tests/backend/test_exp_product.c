/* Cross-entropy fused into the head's product (TT_WITH_EXP and the kernels around it) against fp64. Checks the losses,
 * and the gradient: what replaces the logits, times each row's factor. Skipped if the device has no such product. */
#include <math.h>
#include <string.h>

#include "tests/backend/kernels/half_matrix.h"
#include "tests/backend/products_or_skip.h"

struct size {
    int64_t T, S, C, V;
    double spread; /* of logits */
};

/* One tile, many with a remainder, half a tile at the end; some with widely spread logits. */
static const struct size sizes[] = {
    {1, 1, 64, 64, 1}, {300, 100, 128, 320, 1}, {140, 70, 64, 256, 8}, {257, 257, 192, 128, 4}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void *device_of(const void *host, size_t bytes)
{
    void *p;
    CHECK_OK(backend.ops->alloc(backend.self, bytes, &p));
    if (host) CHECK_OK(backend.ops->copy(backend.self, p, host, bytes, TT_TO_DEVICE, NULL));
    return p;
}

static void *host_of(void *device, size_t bytes)
{
    void *p = malloc(bytes);
    CHECK_OK(backend.ops->copy(backend.self, p, device, bytes, TT_TO_HOST, NULL));
    CHECK_OK(backend.ops->stream_sync(backend.self, NULL));
    return p;
}

struct head {
    struct size s;
    struct half_matrix x, w, powers;
    int32_t *tokens; /* rows of S + 1 */
    float *losses, *scale;
};

static int32_t target(const struct head *h, int64_t r) { return h->tokens[r / h->s.S * (h->s.S + 1) + r % h->s.S + 1]; }

static const float FACTOR = 0.125f;

static void head_run(struct head *h)
{
    const struct size *s = &h->s;
    int64_t parts = TT_EXP_PARTS(s->V), text = s->T / s->S * (s->S + 1);
    int32_t *tokens = device_of(h->tokens, (size_t)text * 4);
    float *shift = device_of(NULL, (size_t)s->T * 4), *sums = device_of(NULL, (size_t)(parts * s->T) * 4);
    float *losses = device_of(NULL, (size_t)s->T * 4), *scale = device_of(NULL, (size_t)s->T * 4);
    struct tt_target_logit_args before = {.dtype = TT_BF16, .x = h->x.device, .w = h->w.device, .tokens = tokens,
                                          .logits = shift, .rows = s->T, .cols = s->C, .V = s->V, .S = s->S};
    struct tt_gemm g = {.a = h->x.device, .b = h->w.device, .c = h->powers.device, .m = s->T, .n = s->V, .k = s->C,
                        .lda = s->C, .ldb = s->C, .ldc = s->V, .batch = 1, .alpha = 1, .trans_b = true,
                        .type_a = TT_BF16, .type_b = TT_BF16, .type_c = TT_BF16, .with = TT_WITH_EXP,
                        .exp = {shift, sums}};
    struct tt_loss_of_sums_args after = {.dtype = TT_BF16, .x = h->powers.device, .tokens = tokens, .sums = sums,
                                         .losses = losses, .scale = scale, .rows = s->T, .cols = s->V, .parts = parts,
                                         .S = s->S, .factor = FACTOR};
    CHECK_OK(backend.ops->launch(backend.self, TT_K_target_logit, &before, NULL));
    CHECK_OK(backend.ops->gemm(backend.self, &g, NULL));
    CHECK_OK(backend.ops->launch(backend.self, TT_K_loss_of_sums, &after, NULL));
    matrix_download(&h->powers);
    h->losses = host_of(losses, (size_t)s->T * 4);
    h->scale = host_of(scale, (size_t)s->T * 4);
    void *all[] = {tokens, shift, sums, losses, scale};
    for (int i = 0; i < 5; i++) backend.ops->free(backend.self, all[i]);
}

/* Every seventh target is ignored. */
static struct head head_new(struct size s)
{
    struct head h = {.s = s};
    int64_t text = s.T / s.S * (s.S + 1);
    h.x = matrix_new(TT_BF16, s.T * s.C, 1, 1);
    h.w = matrix_new(TT_BF16, s.V * s.C, s.spread / sqrt((double)s.C), 2);
    h.powers = matrix_new(TT_BF16, s.T * s.V, 0, 0);
    h.tokens = malloc((size_t)text * 4);
    for (int64_t i = 0; i < text; i++) {
        int32_t token = (int32_t)(i * 37 % s.V);
        h.tokens[i] = i % 7 == 5 ? ~token : token;
    }
    return h;
}

static void head_free(struct head *h)
{
    free(h->tokens), free(h->losses), free(h->scale);
    matrix_free(&h->x), matrix_free(&h->w), matrix_free(&h->powers);
}

/* Computes the logits of row r. Returns the largest rounding error of a float sum. */
static double logits_of(const struct head *h, int64_t r, double *logits)
{
    double off = 0;
    for (int64_t v = 0; v < h->s.V; v++) {
        double size = 0;
        logits[v] = 0;
        for (int64_t k = 0; k < h->s.C; k++) {
            double t = from_bf16(h->x.host[r * h->s.C + k]) * from_bf16(h->w.host[v * h->s.C + k]);
            logits[v] += t, size += fabs(t);
        }
        off = fmax(off, 0x1p-20 * size);
    }
    return off;
}

static void check_row(const struct head *h, int64_t r, double *logits)
{
    int32_t wanted = target(h, r);
    const uint16_t *got = h->powers.host + r * h->s.V;
    double off = logits_of(h, r, logits), top = -(double)INFINITY, sum = 0, worst = 0;
    for (int64_t v = 0; v < h->s.V; v++) top = fmax(top, logits[v]);
    for (int64_t v = 0; v < h->s.V; v++) sum += exp(logits[v] - top);
    for (int64_t v = 0; v < h->s.V; v++) {
        double want = wanted < 0 ? 0 : (double)FACTOR * (exp(logits[v] - top) / sum - (v == wanted));
        double error = fabs(from_bf16(got[v]) * (double)h->scale[r] - want);
        worst = fmax(worst, error / ((0x1p-8 + 2 * off) * fabs(want) + 1e-6 * (double)FACTOR));
        if (error != error) worst = (double)INFINITY;
    }
    CHECK(worst <= 1, "row %d, target %d: the gradient has %g of the allowed error", (int)r, wanted, worst);
    double loss = wanted < 0 ? (double)TT_NO_LOSS : log(sum) + top - logits[wanted];
    CHECK(wanted < 0 ? h->losses[r] == TT_NO_LOSS && h->scale[r] == 0
                     : fabs((double)h->losses[r] - loss) <= 2 * off + 1e-6 * (1 + fabs(loss)),
          "row %d, target %d: loss %g instead of %g", (int)r, wanted, (double)h->losses[r], loss);
}

static void losses_and_gradients(void)
{
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &backend));
    for (int i = 0; i < SIZES; i += test_few() ? 2 : 1) {
        struct head h = head_new(sizes[i]);
        double *logits = malloc((size_t)h.s.V * sizeof *logits);
        head_run(&h);
        for (int64_t r = 0; r < h.s.T; r++) check_row(&h, r, logits);
        free(logits);
        head_free(&h);
    }
    tt_backend_close(&backend);
}

/* A GPU repeats the run; the SIMT machine uses another order for each number of threads. */
static void same_bits_every_time(void)
{
    static const int threads[] = {1, 4, 2};
    uint16_t *first = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = threads[i]}, &backend));
        struct head h = head_new(sizes[2]);
        head_run(&h);
        size_t bytes = (size_t)h.powers.n * 2;
        if (!first) first = memcpy(malloc(bytes), h.powers.host, bytes);
        CHECK(!memcmp(first, h.powers.host, bytes), "run %d gives other bits than run 0", i);
        head_free(&h);
        tt_backend_close(&backend);
    }
    free(first);
}

/* A NaN logit makes the loss of its own row NaN and of no other. Logits more than 76 apart do not overflow. */
static void nan_and_overflow(void)
{
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &backend));
    struct head h = head_new(sizes[2]);
    for (int64_t k = 0; k < h.s.C; k++) {
        h.x.host[k] = to_bf16(200 * from_bf16(h.x.host[k]));
        h.x.host[h.s.C + k] = 0x7fff;
    }
    CHECK_OK(backend.ops->copy(backend.self, h.x.device, h.x.host, (size_t)h.x.n * 2, TT_TO_DEVICE, NULL));
    head_run(&h);
    CHECK(isfinite(h.losses[0]) && h.losses[0] > 70 && isfinite(h.scale[0]), "loss %g", (double)h.losses[0]);
    for (int64_t v = 0; v < h.s.V; v++) CHECK(isfinite(from_bf16(h.powers.host[v])), "column %d", (int)v);
    CHECK(isnan(h.losses[1]) && isfinite(h.losses[2]), "losses %g, %g", (double)h.losses[1], (double)h.losses[2]);
    head_free(&h);
    tt_backend_close(&backend);
}

int main(void)
{
    PRODUCTS_OR_SKIP(&backend);
    TEST(losses_and_gradients);
    TEST(same_bits_every_time);
    TEST(nan_and_overflow);
    return test_end();
}
