/* --documents separate: a row of several documents gives what the documents give alone, in every version. Versions and
 * ways of computing agree tensor by tensor, and two runs have the same bits. */
#include "tests/model/model_fixture.h"

static struct tt_backend backend;

enum { END = 3, ROW = 45 };

/* One row of documents: of one token (at the start, in the middle and in a run), of several tokens, and one that
 * continues beyond the row. The token after the row is only a target. */
static const int lengths[] = {1, 12, 1, 1, 5, 17, 8};
enum { DOCUMENTS = sizeof lengths / sizeof *lengths };

static struct tt_config separate(enum tt_version v)
{
    struct tt_config c = tiny_config();
    c.version = v;
    c.batch_size = 1;
    c.seq_len = ROW;
    c.documents = TT_DOCUMENTS_SEPARATE;
    c.end_token = END;
    return c;
}

static void make_row(int32_t row[ROW + 1])
{
    int at = 0;
    for (int d = 0; d < DOCUMENTS; d++) {
        for (int i = 0; i < lengths[d]; i++) {
            row[at + i] = (int32_t)(4 + tt_random(17, (uint64_t)d, (uint64_t)i) % 50);
            if (i == lengths[d] - 1 && d < DOCUMENTS - 1) row[at + i] = END;
        }
        at += lengths[d];
    }
    CHECK(at == ROW, "the documents fill the row");
    row[ROW] = 9;
}

/* Loss and gradients of a step on these tokens, with B rows of S + 1; the caller frees grads. */
static double step_on(const struct tt_config *c, const int32_t *tokens, float **grads)
{
    struct tt_session s;
    size_t count = (size_t)(c->batch_size * c->grad_accum * (c->seq_len + 1));
    CHECK_OK(tt_session_open(&s, &backend, c, TT_USE_TRAIN));
    fixture_weights(&s);
    CHECK_OK(tt_engine_upload(&s.engine, TT_X_TOKENS, 0, tokens, count * sizeof *tokens));
    CHECK_OK(tt_plan_run(s.step, &backend, NULL));
    double loss = fixture_loss(&s);
    *grads = fixture_read(&s, TT_X_GRADS);
    tt_session_close(&s);
    return loss;
}

static void compare_gradients(const struct tt_config *c, const float *x, const float *y, const char *what)
{
    struct tt_model *m;
    CHECK_OK(tt_model_create(c, &m));
    for (int i = 0; i < m->params.n; i++) {
        const struct tt_param *t = &m->params.items[i];
        double error = relative_error(x + t->offset, y + t->offset, t->count), size = 0;
        for (int64_t j = 0; j < t->count; j++) size += fabs((double)x[t->offset + j]);
        CHECK(error < 2e-5, "%s: gradient of %s differs by %g", what, t->name, error);
        CHECK(size > 1e-7 * (double)t->count, "%s: gradient of %s sums to %g", what, t->name, size);
    }
    tt_model_free(m);
}

/* Each document by itself, as a row of its own length. The target of its last token is the first token of the next
 * document, as in the row. The row's mean is the mean of the documents weighted by their lengths. */
static double apart(const struct tt_config *c, const int32_t *row, float **grads)
{
    struct tt_model *m;
    CHECK_OK(tt_model_create(c, &m));
    int64_t n = m->params.total;
    tt_model_free(m);
    double loss = 0;
    *grads = calloc((size_t)n, sizeof **grads);
    for (int d = 0, at = 0; d < DOCUMENTS; at += lengths[d++]) {
        struct tt_config one = *c;
        float *own;
        one.documents = TT_DOCUMENTS_JOINED;
        one.seq_len = lengths[d];
        loss += lengths[d] * step_on(&one, row + at, &own) / ROW;
        for (int64_t i = 0; i < n; i++) (*grads)[i] += (float)(lengths[d] / (double)ROW) * own[i];
        free(own);
    }
    return loss;
}

static void a_row_equals_its_documents_alone(void)
{
    int32_t row[ROW + 1];
    make_row(row);
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = separate((enum tt_version)v), joined = c;
        float *whole, *parts, *across;
        joined.documents = TT_DOCUMENTS_JOINED;
        double loss = step_on(&c, row, &whole), alone = apart(&c, row, &parts), other = step_on(&joined, row, &across);
        CHECK(fabs(loss - alone) < 2e-6 * alone, "%s: loss %.8f against %.8f", tt_version_names[v], loss, alone);
        CHECK(fabs(loss - other) > 1e-3, "%s: loss %.8f as if documents were joined", tt_version_names[v], loss);
        compare_gradients(&c, whole, parts, tt_version_names[v]);
        free(whole), free(parts), free(across);
    }
}

/* Without an end token there is only one document and nothing changes, to the bit. The exception is flash on a GPU,
 * which has other kernels for documents. */
static void one_document_is_the_whole_row(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = separate((enum tt_version)v), joined = c;
        int32_t row[ROW + 1];
        float *x, *y;
        make_row(row);
        c.end_token = 60;
        joined.documents = TT_DOCUMENTS_JOINED;
        double a = step_on(&c, row, &x), b = step_on(&joined, row, &y);
        CHECK(fabs(a - b) < 1e-6 * b, "%s: loss %.8f against %.8f", tt_version_names[v], a, b);
        compare_gradients(&c, x, y, "one document");
        free(x), free(y);
    }
}

/* Random rows in which one token in three ends a document. */
static double random_step(const struct tt_config *c, float **grads)
{
    int64_t n = c->batch_size * c->grad_accum * (c->seq_len + 1);
    int32_t *tokens = malloc((size_t)n * sizeof *tokens);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = tt_random(23, 1, (uint64_t)i);
        tokens[i] = x % 3 == 0 ? END : (int32_t)(x / 3 % 61);
    }
    double loss = step_on(c, tokens, grads);
    free(tokens);
    return loss;
}

static void check_same(const struct tt_config *a, const struct tt_config *b, const char *what)
{
    float *x, *y;
    double loss_a = random_step(a, &x), loss_b = random_step(b, &y);
    CHECK(fabs(loss_a - loss_b) < 2e-6 * loss_b, "%s: loss %.8f against %.8f", what, loss_a, loss_b);
    compare_gradients(a, x, y, what);
    free(x), free(y);
}

static void versions_agree(void)
{
    static const int64_t shapes[][4] = {{6, 2, 19, 3}, {6, 6, 70, 1}, {3, 1, 130, 2}}; /* heads, kv, seq, batch */
    for (size_t i = test_few() ? 2 : 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct tt_config base = separate(TT_BASELINE);
        base.num_heads = shapes[i][0], base.num_kv_heads = shapes[i][1];
        base.seq_len = shapes[i][2], base.batch_size = shapes[i][3];
        struct tt_config fused = base, flash = base;
        fused.version = TT_FUSED, flash.version = TT_FLASH;
        check_same(&fused, &base, "fused");
        check_same(&flash, &base, "flash");
    }
}

/* Micro-batches have their own documents, and recomputing gives the same. */
static void ways_of_computing_agree(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config whole = separate((enum tt_version)v), micro, again;
        whole.batch_size = 4;
        micro = again = whole;
        micro.batch_size = 1, micro.grad_accum = 4;
        again.recompute = v == TT_FUSED ? TT_RECOMPUTE_ATTENTION : TT_RECOMPUTE_BLOCK;
        check_same(&micro, &whole, "micro-batches");
        check_same(&again, &whole, "recomputed");
    }
}

static void every_token_may_end_a_document(void)
{
    int32_t row[ROW + 1];
    for (int i = 0; i <= ROW; i++) row[i] = END;
    for (int v = first_version(); v < TT_VERSIONS; v++) {
        struct tt_config c = separate((enum tt_version)v);
        struct tt_model *m;
        float *grads;
        double loss = step_on(&c, row, &grads);
        CHECK(isfinite(loss) && loss > 0, "%s: loss %g", tt_version_names[v], loss);
        CHECK_OK(tt_model_create(&c, &m));
        for (int i = 0; i < m->params.n; i++) { /* with one key to attend to, attention has no gradient */
            const struct tt_param *t = &m->params.items[i];
            bool scores = strstr(t->name, ".wq.") || strstr(t->name, ".wk.");
            for (int64_t j = 0; j < t->count && scores; j++)
                if (grads[t->offset + j] != 0) {
                    CHECK(false, "%s: %s has a gradient, %g", tt_version_names[v], t->name,
                          (double)grads[t->offset + j]);
                    break;
                }
        }
        tt_model_free(m);
        free(grads);
    }
}

static void two_runs_have_the_same_bits(void)
{
    struct tt_config c = separate(TT_FLASH);
    struct tt_model *m;
    float *x, *y;
    c.seq_len = 130, c.batch_size = 3;
    CHECK_OK(tt_model_create(&c, &m));
    random_step(&c, &x);
    random_step(&c, &y);
    CHECK(!memcmp(x, y, (size_t)m->params.total * sizeof *x), "gradients of two runs have other bits");
    tt_model_free(m);
    free(x), free(y);
}

static void an_unknown_end_is_refused(void)
{
    struct tt_session s = {0};
    struct tt_config c = separate(TT_FLASH);
    c.end_token = -1;
    CHECK_FAILS(tt_session_open(&s, &backend, &c, TT_USE_TRAIN), "--document-end");
    tt_session_close(&s);
    c.end_token = c.vocab_size;
    s = (struct tt_session){0};
    CHECK_FAILS(tt_session_open(&s, &backend, &c, TT_USE_TRAIN), "not below the vocabulary");
    tt_session_close(&s);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    TEST(a_row_equals_its_documents_alone);
    TEST(one_document_is_the_whole_row);
    TEST(versions_agree);
    TEST(ways_of_computing_agree);
    TEST(every_token_may_end_a_document);
    TEST(two_runs_have_the_same_bits);
    TEST(an_unknown_end_is_refused);
    tt_backend_close(&backend);
    return test_end();
}
