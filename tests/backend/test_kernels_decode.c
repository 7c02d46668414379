/* Text generation: products of a few rows, attention over a cache, and sampling of tokens. A row's results must not
 * depend on the other rows. */
#include "core/base/sample.h"
#include "tests/backend/kernels/kernels.h"
#include "tests/backend/kernels/softmax.h"

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* ---- rows times a matrix ---- */

struct product {
    int64_t rows, in, out;
    bool norm, residual, gated, single;
    double x, weight; /* scales of x and of the norm's weights; 0: 1 */
};

static const float EPS = 1e-5f;

static void launch_linear(const struct product *p, const void *x, const struct tensor *w, const struct tensor *norm,
                          const struct tensor *residual, const struct tensor *y, int64_t rows)
{
    LAUNCH(rows_linear, .type_y = p->single ? TT_F32 : kt.dtype, .x = x, .w = w->data, .norm = data_or_null(norm),
           .residual = data_or_null(residual), .y = y->data, .rows = rows, .in = p->in, .out = p->out, .eps = EPS,
           .gated = p->gated);
}

static double linear_one(const struct product *p, const double *x, const double *norm, const double *w)
{
    double sum = 0, square = dot(x, x, p->in) / (double)p->in;
    for (int64_t k = 0; k < p->in; k++) sum += x[k] * (p->norm ? norm[k] : 1) * w[k];
    return p->norm ? sum / sqrt(square + (double)EPS) : sum;
}

/* Row r alone gives the same bits as among the others. */
static void alone_the_same(const struct product *p, const struct tensor *x, const struct tensor *w,
                           const struct tensor *norm, const double *want, int64_t r)
{
    struct tensor *one = given("one", kt.dtype, 1, p->in, 0, x->v + r * p->in);
    struct tensor *y = output("y of one", p->single ? TT_F32 : (int)kt.dtype, 1, p->out, 0);
    launch_linear(p, one->data, w, norm, NULL, y, 1);
    exactly(y, want + r * p->out);
}

static void check_linear(struct product p)
{
    new_case("rows %" PRId64 ", in %" PRId64 ", out %" PRId64 ", norm %d, residual %d, gated %d", p.rows, p.in, p.out,
             p.norm, p.residual, p.gated);
    int64_t n = p.rows * p.out;
    double size = 1 / sqrt((double)p.in), off = 2 * roundoff(kt.dtype) + 4e-6;
    struct tensor *x = input("x", kt.dtype, p.rows, p.in, 0, p.x > 0 ? p.x : 1),
                  *w = input("w", kt.dtype, (1 + p.gated) * p.out, p.in, 0, size);
    struct tensor *norm = p.norm ? input("norm", kt.dtype, 1, p.in, 0, p.weight > 0 ? p.weight : 1) : NULL;
    struct tensor *residual = p.residual ? input("residual", kt.dtype, p.rows, p.out, 0, 1) : NULL;
    struct tensor *y = output("y", p.single ? TT_F32 : (int)kt.dtype, p.rows, p.out, 0);
    double *want = doubles(n);
    for (int64_t i = 0; i < n; i++) {
        const double *row = x->v + i / p.out * p.in, *column = w->v + i % p.out * p.in;
        double sum = linear_one(&p, row, norm ? norm->v : NULL, column);
        if (p.gated) sum = sum / (1 + exp(-sum)) * linear_one(&p, row, norm ? norm->v : NULL, column + p.out * p.in);
        want[i] = sum + (residual ? residual->v[i] : 0);
    }
    launch_linear(&p, x->data, w, norm, residual, y, p.rows);
    close_to(y, want, off, 6 * off * (p.weight > 0 ? p.weight : 1));
    if (p.residual || p.rows == 1) return;
    double *got = copy_doubles(y->v, n);
    alone_the_same(&p, x, w, norm, got, 0);
    alone_the_same(&p, x, w, norm, got, p.rows - 1);
}

static void multiplies_rows(void)
{
    for EACH (rows, 1, 2, 3, 4, 5, 16, 17)
        for EACH (in, 1, 7, 64, 72, 264, 600) {
            check_linear((struct product){*rows, *in, 33, .norm = *in % 2 == 0});
            check_linear((struct product){*rows, *in, 17, .residual = true});
            check_linear((struct product){*rows, *in, 21, .norm = true, .gated = true});
            check_linear((struct product){*rows, *in, 5, .norm = true, .single = true});
        }
    check_linear((struct product){3, 16, 8200, .norm = true, .single = true}); /* wide blocks */
    check_linear((struct product){1, 40, 128, .gated = true});
    check_linear((struct product){2, 264, 33, .norm = true, .x = 4e3, .weight = 40}); /* x · norm overflows fp16 */
    check_linear((struct product){2, 264, 33, .norm = true, .x = 0.02});
}

/* ---- the cache ---- */

static void check_fill(int64_t T, int64_t KV, int64_t D, int64_t length, int32_t sequence)
{
    new_case("T %" PRId64 ", KV %" PRId64 ", D %" PRId64 ", length %" PRId64 ", sequence %d", T, KV, D, length,
             sequence);
    int64_t cols = KV * D, rows = 3 * length;
    struct tensor *kv = input("kv", kt.dtype, T, 2 * cols, 5, 1), *which = integer("sequence", sequence);
    struct tensor *k = input("k_cache", kt.dtype, rows, cols, 0, 1), *v = input("v_cache", kt.dtype, rows, cols, 0, 1);
    double *want_k = copy_doubles(k->v, rows * cols), *want_v = copy_doubles(v->v, rows * cols);
    for (int64_t t = 0; t < T; t++) {
        memcpy(want_k + (sequence * length + t) * cols, kv->v + t * 2 * cols, (size_t)cols * sizeof *want_k);
        memcpy(want_v + (sequence * length + t) * cols, kv->v + t * 2 * cols + cols, (size_t)cols * sizeof *want_v);
    }
    LAUNCH(cache_fill, .k = kv->data, .v = column(kv, cols), .k_cache = k->data, .v_cache = v->data,
           .sequence = (int32_t *)which->data, .T = T, .kv_heads = KV, .D = D, .ld = kv->ld, .length = length);
    exactly(k, want_k);
    exactly(v, want_v);
}

static void fills_the_cache(void)
{
    for EACH (D, 2, 6, 64)
        for EACH (T, 1, 16, 33) {
            check_fill(*T, 1, *D, 33, 0);
            check_fill(*T, 3, *D, 40, 2);
        }
    if (kt.dtype != TT_F16) check_fill(65537, 1, 2, 65537, 0); /* more rows than a grid may have */
}

/* ---- attention ---- */

struct attention {
    int64_t rows, H, KV, D, length;
    double spread;
};

/* A cache whose positions from pos[r] on are NaN: they must not be read before they are written. */
static struct tensor *make_cache(const char *name, const struct attention *a, const int32_t *pos, double size)
{
    int64_t cols = a->KV * a->D;
    struct tensor *t = input(name, kt.dtype, a->rows * a->length, cols, 0, size);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t i = pos[r] * cols; i < a->length * cols; i++) t->v[r * a->length * cols + i] = (double)NAN;
    encode(t);
    return t;
}

static double rounded(double x)
{
    uint8_t bytes[8];
    write_element((int)kt.dtype, bytes, x);
    return read_element((int)kt.dtype, bytes);
}

static void rotate(double *x, const double *cosines, const double *sines, int64_t D)
{
    for (int64_t i = 0; i < D / 2; i++) {
        double p = x[2 * i], q = x[2 * i + 1];
        x[2 * i] = rounded(p * cosines[i] - q * sines[i]);
        x[2 * i + 1] = rounded(p * sines[i] + q * cosines[i]);
    }
}

static void attend(const struct attention *a, const double *q, const double *k, const double *v, int64_t n,
                   double scale, double *o)
{
    double *p = doubles(n);
    int64_t cols = a->KV * a->D;
    for (int64_t j = 0; j < n; j++) p[j] = dot(q, k + j * cols, a->D);
    softmax_row(p, n, scale, p);
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < a->D; d++) o[d] += p[j] * v[j * cols + d];
}

static void check_decode(struct attention a, const int32_t *pos)
{
    new_case("rows %" PRId64 ", H %" PRId64 ", KV %" PRId64 ", D %" PRId64 ", length %" PRId64 ", pos %d, spread %g",
             a.rows, a.H, a.KV, a.D, a.length, pos[0], a.spread);
    double scale = (float)(1 / sqrt((double)a.D)), size = sqrt(a.spread / scale / sqrt((double)a.D));
    double off = 2e-6 + (16 * 0x1p-24 + 4 * (kt.dtype == TT_F32 ? 0 : roundoff(kt.dtype))) * a.spread;
    int64_t cols = a.KV * a.D, P = (a.H + 2 * a.KV) * a.D, half = a.D / 2;
    struct tensor *qkv = input("qkv", kt.dtype, a.rows, P, 0, size);
    struct tensor *c = input("cos", TT_F32, a.length, half, 0, 0.7), *s = input("sin", TT_F32, a.length, half, 0, 0.7);
    struct tensor *at = structure("pos", pos, (size_t)a.rows * sizeof *pos);
    struct tensor *k = make_cache("k_cache", &a, pos, size), *v = make_cache("v_cache", &a, pos, size);
    struct tensor *o = output("o", kt.dtype, a.rows, a.H * a.D, 0);
    struct tensor *parts = output("parts", TT_F32, a.rows * a.H * TT_DECODE_PARTS(a.length), a.D + 2, 0);
    double *want = doubles(a.rows * a.H * a.D), *q = copy_doubles(qkv->v, a.rows * P);
    double *keys = copy_doubles(k->v, a.rows * a.length * cols), *values = copy_doubles(v->v, a.rows * a.length * cols);
    for (int64_t r = 0; r < a.rows; r++) {
        double *row = q + r * P, *first = keys + r * a.length * cols, *second = values + r * a.length * cols;
        for (int64_t h = 0; h < a.H + a.KV; h++) rotate(row + h * a.D, c->v + pos[r] * half, s->v + pos[r] * half, a.D);
        memcpy(first + pos[r] * cols, row + a.H * a.D, (size_t)cols * sizeof *row);
        memcpy(second + pos[r] * cols, row + (a.H + a.KV) * a.D, (size_t)cols * sizeof *row);
        for (int64_t h = 0; h < a.H; h++)
            attend(&a, row + h * a.D, first + h / (a.H / a.KV) * a.D, second + h / (a.H / a.KV) * a.D, pos[r] + 1,
                   scale, want + (r * a.H + h) * a.D);
    }
    LAUNCH(attention_decode, .qkv = qkv->data, .cos = (float *)c->data, .sin = (float *)s->data,
           .pos = (int32_t *)at->data, .k_cache = k->data, .v_cache = v->data, .o = o->data,
           .parts = (float *)parts->data, .rows = a.rows, .heads = a.H, .kv_heads = a.KV, .D = a.D, .length = a.length,
           .scale = (float)scale);
    close_to(o, want, off, size * off);
    for (int64_t r = 0; r < a.rows; r++) /* what was written is in its place; it may be rounded the other way */
        for (int64_t d = 0; d < cols; d++) {
            int64_t i = (r * a.length + pos[r]) * cols + d;
            CHECK(v->v[i] == values[i] && fabs(k->v[i] - keys[i]) <= 2 * roundoff(kt.dtype) * (fabs(keys[i]) + size),
                  "the cache [%s] has %g, not %g", kt.label, k->v[i], keys[i]);
        }
}

static void decodes(void)
{
    for EACH (D, 2, 6, 16, 64, 80)
        for EACH (pos, 0, 16, 63, 64, 129)
            for EACH (KV, 1, 2) {
                int32_t some[] = {(int32_t)*pos, 129, 0};
                check_decode((struct attention){3, 4, *KV, *D, 130, 1}, some);
                check_decode((struct attention){1, *KV, *KV, *D, *pos + 1, 10}, some);
            }
    check_decode((struct attention){1, 20, 2, 16, 70, 1}, (int32_t[]){66}); /* more heads than a block takes */
    check_decode((struct attention){1, 2, 1, 4096, 3, 1}, (int32_t[]){2});  /* a head as large as few are */
    if (kt.dtype == TT_F32) check_decode((struct attention){1, 4, 2, 16, 130, 1e3}, (int32_t[]){100});
}

/* ---- sampling the next token ---- */

struct choice {
    int64_t rows, V, known;
    float temperature, top_p, penalty;
    int64_t top_k;
};

/* The probabilities computed plainly: sorted, cut off, then listed in token order. */
static void shares(const struct choice *c, const double *logits, double *share)
{
    double *p = doubles(c->known), top = -INFINITY, total = 0, sum = 0;
    bool *taken = must(calloc((size_t)c->known, sizeof *taken));
    for (int64_t i = 0; i < c->known; i++) top = logits[i] > top ? logits[i] : top;
    for (int64_t i = 0; i < c->known; i++) p[i] = exp((logits[i] - top) / (double)c->temperature);
    int64_t most = c->top_k > 0 && c->top_k < c->known ? c->top_k : c->known;
    int64_t *order = must(calloc((size_t)c->known, sizeof *order));
    for (int64_t n = 0; n < most; n++) {
        int64_t best = -1;
        for (int64_t i = 0; i < c->known; i++)
            if (!taken[i] && (best < 0 || logits[i] > logits[best])) best = i;
        taken[best] = true;
        order[n] = best;
        total += p[best];
    }
    int64_t n = 0;
    while (n < most && (n == 0 || sum < (double)c->top_p * total * (1 - 1e-9))) sum += p[order[n++]];
    memset(share, 0, (size_t)c->known * sizeof *share);
    for (int64_t i = 0; i < n; i++) share[order[i]] = p[order[i]] / sum;
    free(taken);
    free(order);
}

static void check_token(const struct choice *c, const double *logits, uint32_t draw, int64_t token)
{
    double *share = doubles(c->known), u = (double)draw * 0x1p-32, before = 0;
    CHECK(token >= 0 && token < c->known, "token %" PRId64 " [%s]", token, kt.label);
    if (token < 0 || token >= c->known) return;
    if (!(c->temperature > 0)) {
        for (int64_t i = 0; i < c->known; i++)
            CHECK(logits[i] < logits[token] || (logits[i] == logits[token] && i >= token),
                  "[%s]: %" PRId64 " is likelier", kt.label, i);
        return;
    }
    shares(c, logits, share);
    for (int64_t i = 0; i < token; i++) before += share[i];
    CHECK(share[token] > 0 && u > before - 1e-5 && u < before + share[token] + 1e-5,
          "[%s]: token %" PRId64 " has %g to %g, not %g", kt.label, token, before, before + share[token], u);
}

static void penalise(const struct choice *c, double *logits, const uint32_t *seen)
{
    for (int64_t i = 0; i < c->known; i++)
        if (seen[i / 32] >> i % 32 & 1) {
            float x = (float)logits[i];
            logits[i] = x > 0 ? x / c->penalty : x * c->penalty;
        }
}

static void check_sample(struct choice c)
{
    enum { LENGTH = 7 };
    new_case("rows %" PRId64 ", V %" PRId64 ", known %" PRId64 ", temperature %g, top-p %g, top-k %" PRId64
             ", penalty %g",
             c.rows, c.V, c.known, (double)c.temperature, (double)c.top_p, c.top_k, (double)c.penalty);
    int64_t words = TT_SEEN_WORDS(c.V);
    struct tensor *logits = input("logits", TT_F32, c.rows, c.V, 0, 2);
    for (int64_t i = 0; i < c.rows * c.V; i++)
        logits->v[i] = i % 3 ? logits->v[i] : round(2 * logits->v[i]) / 2; /* ties */
    encode(logits);
    decode(logits);
    uint32_t *draws = must(calloc((size_t)(c.rows * LENGTH), 4)), *seen = must(calloc((size_t)(c.rows * words), 4));
    int32_t *pos = must(calloc((size_t)c.rows, 4)), *tokens = must(calloc((size_t)c.rows, 8));
    for (int64_t i = 0; i < c.rows * LENGTH; i++) draws[i] = (uint32_t)tt_random(5, kt.draws, (uint64_t)i);
    for (int64_t i = 0; i < c.rows * words; i++) seen[i] = (uint32_t)tt_random(6, kt.draws, (uint64_t)i);
    for (int64_t r = 0; r < c.rows; r++) pos[r] = (int32_t)(r % LENGTH);
    kt.draws++;
    struct tensor *d = structure("draws", draws, (size_t)(c.rows * LENGTH) * 4);
    struct tensor *s = structure("seen", seen, (size_t)(c.rows * words) * 4),
                  *p = structure("pos", pos, (size_t)c.rows * 4);
    struct tensor *t = structure("tokens", tokens, (size_t)c.rows * 8),
                  *chosen = structure("chosen", pos, (size_t)c.rows * 4);
    struct tensor *work = output("work", TT_F32, c.rows, 2 * c.V, 0);
    double *before = copy_doubles(logits->v, c.rows * c.V);
    LAUNCH(sample, .logits = (float *)logits->data, .draws = (uint32_t *)d->data, .seen = (uint32_t *)s->data,
           .work = (uint32_t *)work->data, .tokens = (int32_t *)t->data, .pos = (int32_t *)p->data,
           .chosen = (int32_t *)chosen->data, .rows = c.rows, .V = c.V, .length = LENGTH, .known = c.known,
           .top_k = c.top_k, .temperature = c.temperature, .top_p = c.top_p, .penalty = c.penalty);
    for (int64_t r = 0; r < c.rows; r++) {
        int32_t token, next, at;
        memcpy(&token, chosen->data + 4 * r, 4);
        memcpy(&next, t->data + 8 * r, 4);
        memcpy(&at, p->data + 4 * r, 4);
        if (c.penalty != 1) penalise(&c, before + r * c.V, seen + r * words);
        check_token(&c, before + r * c.V, draws[r * LENGTH + pos[r]], token);
        CHECK(next == token && at == (pos[r] + 1 < LENGTH ? pos[r] + 1 : pos[r]), "[%s]: the next step's input",
              kt.label);
        uint32_t word;
        memcpy(&word, s->data + 4 * (r * words + token / 32), 4);
        CHECK(word == (seen[r * words + token / 32] | 1u << token % 32), "[%s]: seen", kt.label);
    }
    free(draws);
    free(seen);
    free(pos);
    free(tokens);
}

static void samples(void)
{
    for EACH (V, 1, 61, 1000, 3001)
        for EACH (rows, 1, 5) {
            int64_t known = *V > 100 ? *V - 3 : *V;
            check_sample((struct choice){*rows, *V, known, 0, 1, 1, 0});
            check_sample((struct choice){*rows, *V, known, 0, 1, 1.3f, 0});
            check_sample((struct choice){*rows, *V, known, 0.8f, 1, 1, 0});
            check_sample((struct choice){*rows, *V, known, 1.5f, 1, 0.5f, 0});
            check_sample((struct choice){*rows, *V, known, 1, 1, 1, 7});
            check_sample((struct choice){*rows, *V, known, 1, 0.7f, 1, 0});
            check_sample((struct choice){*rows, *V, known, 5, 0.4f, 1.1f, 40});
        }
}

static void names_logits_that_are_none(void)
{
    new_case("a logit that is NaN");
    int32_t zero[2] = {0}, token;
    struct tensor *logits = input("logits", TT_F32, 1, 40, 0, 1), *work = output("work", TT_F32, 1, 80, 0);
    logits->v[39] = (double)NAN;
    encode(logits);
    struct tensor *draws = structure("draws", zero, 4), *seen = structure("seen", zero, 8),
                  *pos = structure("pos", zero, 4);
    struct tensor *tokens = structure("tokens", zero, 8), *chosen = structure("chosen", zero, 4);
    LAUNCH(sample, .logits = (float *)logits->data, .draws = (uint32_t *)draws->data, .seen = (uint32_t *)seen->data,
           .work = (uint32_t *)work->data, .tokens = (int32_t *)tokens->data, .pos = (int32_t *)pos->data,
           .chosen = (int32_t *)chosen->data, .rows = 1, .V = 40, .length = 1, .known = 30, .top_p = 1, .penalty = 1);
    memcpy(&token, chosen->data, 4);
    CHECK(token == -1, "token %d of logits that are not finite", token);
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST_TYPES(multiplies_rows);
    TEST_TYPES(fills_the_cache);
    TEST_TYPES(decodes);
    TEST(samples);
    TEST(names_logits_that_are_none);
    END_KERNEL_TESTS(COVER_DECODE);
}
