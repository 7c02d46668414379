/* How a plan depends on its device: products with epilogues if the device has them, and small products beside others
 * according to the number of multiprocessors. */
#include "tests/core/plan/plan_check.h"
#include "tests/model/model_fixture.h"

static struct tt_config config_of(enum tt_precision precision)
{
    struct tt_config c = tiny_config();
    c.version = TT_FLASH;
    c.precision = precision;
    c.num_layers = 3;
    c.hidden_dim = 512, c.num_heads = 8, c.num_kv_heads = 4, c.ffn_dim = 2048;
    c.seq_len = 128, c.batch_size = 8;
    return c;
}

static struct tt_plan *plan_for(const struct tt_config *c, const struct tt_device_info *device)
{
    struct tt_model *m;
    struct tt_plan *p = NULL;
    tt_status st = tt_model_create(c, &m);
    CHECK_OK(st);
    if (st) return NULL;
    tt_model_fit(m, device);
    CHECK_OK(tt_model_plan_train(m, &p));
    CHECK_OK(plan_check(p, true));
    tt_model_free(m);
    return p;
}

static int named(const struct tt_plan *p, const char *name)
{
    int n = 0;
    for (int i = 0; i < p->count; i++) n += !strcmp(tt_op_name(&p->ops[i]), name);
    return n;
}

static void sums(const struct tt_plan *p, double *flops, double *bytes)
{
    *flops = *bytes = 0;
    for (int i = 0; i < p->count; i++) *flops += tt_op_flops(&p->ops[i]), *bytes += tt_op_bytes(&p->ops[i]);
}

/* The same computation with less memory traffic: gate and up are not read again, and the gradient of h is neither
 * written nor read. q and k are rotated before they are stored. What a product adds to the residual stream is not
 * stored and read. */
static void more_in_products(void)
{
    struct tt_config c = config_of(TT_PREC_BF16);
    struct tt_plan *apart = plan_for(&c, &(struct tt_device_info){0});
    struct tt_plan *one = plan_for(&c, &(struct tt_device_info){.product_epilogues = true});
    double flops[2], bytes[2], row = 2 * (double)(c.batch_size * c.seq_len);
    double heads = (double)(c.num_heads + c.num_kv_heads);
    double less = row * 3 * (4 * (double)c.ffn_dim + 2 * heads * (double)(c.hidden_dim / c.num_heads) +
                             2 * (double)c.hidden_dim);
    CHECK(named(apart, "swiglu") == 3 && named(apart, "swiglu_backward") == 3 && !named(apart, "gemm_swiglu"));
    CHECK(named(one, "gemm_swiglu") == 3 && named(one, "gemm_swiglu_backward") == 3);
    CHECK(named(apart, "rope") == 3 && named(one, "gemm_rope") == 3 && !named(one, "rope"));
    CHECK(!named(one, "swiglu") && !named(one, "swiglu_backward") && one->count == apart->count - 9);
    sums(apart, &flops[0], &bytes[0]);
    sums(one, &flops[1], &bytes[1]);
    CHECK(fabs(flops[0] - flops[1]) < 1e-9 * flops[0], "%.0f and %.0f FLOPs", flops[0], flops[1]);
    CHECK(fabs(bytes[0] - bytes[1] - less) < 1, "%.0f bytes less, not %.0f", bytes[0] - bytes[1], less);
    /* The sum of the residual stream now lives at the same time as the hidden values: one more buffer of its size. */
    double most = 1.01 * (double)apart->arena_bytes + row * (double)c.hidden_dim;
    CHECK((double)one->arena_bytes <= most, "%zu bytes instead of %zu", one->arena_bytes, apart->arena_bytes);
    tt_plan_free(apart);
    tt_plan_free(one);
}

/* Exponentials replace the logits; also with ranks that shard the weights, and with several chunks. */
static void loss_in_the_head(void)
{
    struct tt_config c = config_of(TT_PREC_BF16);
    c.vocab_size = 192, c.batch_size = 1, c.head_chunk = 64;
    for (int ranks = 1; ranks <= 2; ranks++) {
        c.ranks = ranks, c.shard = ranks > 1 ? TT_SHARD_WEIGHTS : TT_SHARD_NONE;
        struct tt_plan *p = plan_for(&c, &(struct tt_device_info){.product_epilogues = true});
        CHECK(named(p, "gemm_exp") == 2 && named(p, "target_logit") == 2 && named(p, "loss_of_sums") == 2);
        CHECK(!named(p, "cross_entropy"));
        tt_plan_free(p);
    }
    c.vocab_size = 200, c.ranks = 0, c.shard = TT_SHARD_NONE;
    struct tt_plan *p = plan_for(&c, &(struct tt_device_info){.product_epilogues = true});
    CHECK(!named(p, "gemm_exp") && named(p, "cross_entropy") == 2);
    tt_plan_free(p);
}

static int products(const struct tt_plan *p, int64_t columns, int64_t apart)
{
    int n = 0;
    for (int i = 0; i < p->count; i++) {
        const struct tt_gemm *g = &p->ops[i].args.gemm;
        n += p->ops[i].kind == TT_OP_GEMM && g->n == columns && g->ldc == apart;
    }
    return n;
}

/* Rows of logits begin at multiples of 16 bytes. In 16 bits the remaining columns have their own products, forward and
 * for the gradient of the weights, if that pays off. */
static void odd_vocabularies(void)
{
    struct tt_device_info device = {.product_epilogues = true};
    struct tt_config narrow = config_of(TT_PREC_BF16), full = config_of(TT_FP32);
    narrow.vocab_size = full.vocab_size = 523;
    struct tt_plan *p = plan_for(&narrow, &device), *q = plan_for(&full, &device);
    CHECK(products(p, 520, 528) == 1 && products(p, 3, 528) == 1 && !products(p, 523, 528));
    CHECK(products(q, 523, 524) == 1 && !products(q, 520, 524));
    int sums[2] = {0}; /* over 520 columns, and over 3 */
    for (int i = 0; i < p->count; i++) {
        const struct tt_gemm *g = &p->ops[i].args.gemm;
        bool of_head = p->ops[i].kind == TT_OP_GEMM && g->lda == 528 && !g->trans_a;
        sums[0] += of_head && g->k == 520 && g->beta == 1, sums[1] += of_head && g->k == 3 && g->beta == 0;
    }
    CHECK(sums[0] == 1 && sums[1] == 1, "%d and %d", sums[0], sums[1]);
    tt_plan_free(p);
    tt_plan_free(q);
    narrow.vocab_size = 101;
    p = plan_for(&narrow, &device);
    CHECK(products(p, 101, 104) == 1 && !products(p, 96, 104));
    tt_plan_free(p);
    narrow.version = TT_BASELINE;
    p = plan_for(&narrow, &device);
    CHECK(products(p, 101, 101) == 1);
    tt_plan_free(p);
}

/* Whichever wait is removed, plan_check finds two operations that touch the same bytes at once. */
static void check_waits(struct tt_plan *p, const char *what)
{
    int found = 0, waits = 0;
    CHECK_OK(plan_check(p, true));
    for (int i = 0; i < p->count; i++) {
        struct tt_op *op = &p->ops[i];
        int *wait = &op->wait[op->stream == TT_STREAM_MAIN ? TT_STREAM_SIDE : TT_STREAM_MAIN], kept = *wait;
        if (kept < 0) continue;
        waits++;
        *wait = -1;
        tt_status st = plan_check(p, true);
        found += st && strstr(st->text, "the same bytes");
        tt_status_free(st);
        *wait = kept;
    }
    CHECK(waits > 4 && found == waits, "%s: %d of %d missing waits were found", what, found, waits);
}

/* Products with epilogues, 8-bit products with all three scalings, and the previous step's update beside all of
 * them. */
static void late_updates_beside_them(void)
{
    struct tt_device_info device = {.product_epilogues = true, .units = 132, .wave_width = 32};
    for (int p = 0; p < TT_PRECISIONS; p++) device.has[p] = true;
    const enum tt_precision precisions[] = {TT_PREC_BF16, TT_PREC_FP16, TT_PREC_FP8, TT_PREC_FP8,
                                             TT_PREC_FP8};
    for (int i = 0; i < 5; i++) {
        struct tt_config c = config_of(precisions[i]);
        struct tt_model *m;
        struct tt_plan *p;
        c.vocab_size = 192, c.clip_norm = 1;
        c.fp8_scaling = i == 4 ? TT_SCALING_ROW : i == 3 ? TT_SCALING_DELAYED : TT_SCALING_TENSOR;
        CHECK_OK(tt_model_create(&c, &m));
        tt_model_fit(m, &device);
        CHECK_OK(tt_model_plan_late(m, &p));
        CHECK(precisions[i] != TT_PREC_BF16 || (named(p, "gemm_rope") == 3 && named(p, "gemm_exp") > 0));
        CHECK(named(p, "adamw_beside") + named(p, "adamw") > 1, "no update by layers");
        if (i == 4) /* the same streams as the others, and many more operations */
            CHECK_OK(plan_check(p, true));
        else
            check_waits(p, tt_precision_names[precisions[i]]);
        tt_plan_free(p);
        tt_model_free(m);
    }
}

static void not_in_fp32_or_unfused(void)
{
    struct tt_device_info device = {.product_epilogues = true};
    struct tt_config c = config_of(TT_FP32);
    struct tt_plan *p = plan_for(&c, &device);
    CHECK(!named(p, "gemm_swiglu") && named(p, "swiglu") == 3 && !named(p, "gemm_rope") && named(p, "rope") == 3);
    tt_plan_free(p);
    c = config_of(TT_PREC_BF16);
    c.version = TT_BASELINE;
    p = plan_for(&c, &device);
    CHECK(!named(p, "gemm_swiglu") && !named(p, "gemm_swiglu_backward") && named(p, "silu") == 3);
    tt_plan_free(p);
}

static int aside(int units)
{
    struct tt_config c = config_of(TT_PREC_BF16);
    struct tt_plan *p = plan_for(&c, &(struct tt_device_info){.wave_width = 32, .units = units});
    int n = 0;
    for (int i = 0; i < p->count; i++) n += p->ops[i].kind == TT_OP_GEMM && p->ops[i].stream == TT_STREAM_SIDE;
    tt_plan_free(p);
    return n;
}

static void small_products_by_multiprocessors(void)
{
    int all = aside(132);
    CHECK(all > 0 && aside(1 << 20) >= all, "%d products aside, then %d", all, aside(1 << 20));
    CHECK(aside(1) < all, "%d products aside on one multiprocessor, %d on 132", aside(1), all);
}

int main(void)
{
    TEST(more_in_products);
    TEST(loss_in_the_head);
    TEST(odd_vocabularies);
    TEST(late_updates_beside_them);
    TEST(not_in_fp32_or_unfused);
    TEST(small_products_by_multiprocessors);
    return test_end();
}
