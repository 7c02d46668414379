/* kernels.def says of each operand whether it may be NULL. This test compares the plans of all versions, fusions,
 * precisions and recomputations with that: a required operand is always given, and an optional one is sometimes left
 * out. */
#include "core/plan/plan.h"
#include "tests/model/model_fixture.h"

/* ---- what kernels.def says ---- */

static struct optional {
    const char *kernel, *field;
    bool given, left_out; /* by at least one plan */
} optionals[80];
static int optional_count;
static bool launched[TT_KERNELS];

static void note(const char *kernel, const char *field, bool given)
{
    struct optional *o = optionals;
    while (o < optionals + optional_count && (strcmp(o->kernel, kernel) || strcmp(o->field, field))) o++;
    if (o == optionals + optional_count) {
        CHECK(++optional_count <= (int)(sizeof optionals / sizeof *optionals));
        *o = (struct optional){.kernel = kernel, .field = field};
    }
    o->given |= given;
    o->left_out |= !given;
}

#define NEEDS(f) CHECK(a->f, "%s has no %s", kernel, #f);
#define MAY_HAVE(f) note(kernel, #f, a->f != NULL);
#define IN(f, n) NEEDS(f)
#define OUT(f, n) NEEDS(f)
#define INOUT(f, n) NEEDS(f)
#define SCRATCH(f, n) NEEDS(f)
#define OUT_UNLESS(other, f, n) NEEDS(f)
#define IN_OPT(f, n) MAY_HAVE(f)
#define OUT_OPT(f, n) MAY_HAVE(f)
#define INOUT_OPT(f, n) MAY_HAVE(f)
#define REACHES(n)
#define REACHES_OF(f, n)

#define TT_KERNEL(name, flops, operands)                                                           \
    static void look_at_##name(const struct tt_##name##_args *a)                                   \
    {                                                                                              \
        static const char kernel[] = #name;                                                        \
        operands                                                                                   \
    }
#include "backend/kernels.def"
#undef TT_KERNEL

static void look_at_product(const struct tt_gemm *g)
{
    bool swiglu = g->with == TT_WITH_SWIGLU || g->with == TT_WITH_SWIGLU_BACKWARD;
    bool rope = g->with == TT_WITH_ROPE, powers = g->with == TT_WITH_EXP;
    CHECK(g->a && g->b && g->c && (!g->from || g->beta != 0));
    CHECK(swiglu == (g->also != NULL) && rope == (g->rope.cos && g->rope.sin) && rope == (g->rope.D > 0));
    CHECK(powers == (g->exp.shift && g->exp.sums));
}

static void look_at(const struct tt_op *op)
{
    if (op->kind == TT_OP_GEMM) {
        look_at_product(&op->args.gemm);
        return;
    }
    launched[op->kernel] = true;
    switch (op->kernel) {
#define TT_KERNEL(name, flops, operands)                                                           \
    case TT_K_##name: look_at_##name(&op->args.name); break;
#include "backend/kernels.def"
#undef TT_KERNEL
    case TT_KERNELS: break;
    }
}

/* ---- all plans ---- */

static void look_at_plan(tt_status st, struct tt_plan *p)
{
    CHECK_OK(st);
    if (st) return;
    for (int i = 0; i < p->count; i++) look_at(&p->ops[i]);
    tt_plan_free(p);
}

static bool epilogues; /* whether the device has products with epilogues */

static void look_at_model(const struct tt_config *c)
{
    struct tt_model *m;
    struct tt_plan *p = NULL;
    tt_status st = tt_model_create(c, &m);
    CHECK_OK(st);
    if (st) return;
    m->product_epilogues = epilogues;
    st = tt_model_plan_train(m, &p);
    look_at_plan(st, p);
    if (c->update == TT_UPDATE_TOP_K) {
        st = tt_model_plan_between(m, &p);
        look_at_plan(st, p);
    }
    if (m->fuse[TT_FUSE_OPTIMIZER] && c->update != TT_UPDATE_TOP_K) {
        st = tt_model_plan_late(m, &p);
        look_at_plan(st, p);
        st = tt_model_plan_update(m, &p);
        look_at_plan(st, p);
    }
    st = tt_model_plan_eval(m, &p);
    look_at_plan(st, p);
    st = tt_model_plan_logits(m, &p);
    look_at_plan(st, p);
    st = tt_model_plan_fill(m, 4, 2, 8, &p);
    look_at_plan(st, p);
    st = tt_model_plan_decode(m, 2, 8, &(struct tt_sampling){0}, 8, &p);
    look_at_plan(st, p);
    tt_model_free(m);
}

static void look_at_fusions(struct tt_config *c)
{
    c->fuse[0] = '\0';
    look_at_model(c);
    for (int f = 0; f < TT_FUSION_COUNT; f++) {
        bool has = tt_version_has(c->version, (enum tt_fusion)f);
        snprintf(c->fuse, sizeof c->fuse, "%s%s", has ? "no-" : "", tt_fusion_names[f]);
        look_at_model(c);
    }
}

static void look_at_all(void)
{
    struct tt_config c = tiny_config();
    for (int v = 0; v < TT_VERSIONS; v++)
        for (int precision = 0; precision < TT_PRECISIONS; precision++)
            for (int r = 0; r <= TT_RECOMPUTE_BLOCK; r++) {
                c.version = (enum tt_version)v;
                c.precision = (enum tt_precision)precision;
                c.recompute = (enum tt_recompute)r;
                c.tie_embeddings = r & 1;
                c.grad_accum = 1 + (r & 1);
                c.qkv_bias = c.qk_norm = r > 0;
                look_at_fusions(&c);
            }
}

static void look_at_eight_bits(void)
{
    struct tt_config c = tiny_config();
    make_even(&c);
    c.version = TT_FLASH;
    c.precision = TT_PREC_FP8;
    c.fp8 = TT_FP8_ALL;
    look_at_model(&c);
    c.fp8_scaling = TT_SCALING_DELAYED;
    look_at_model(&c);
    c.fp8_scaling = TT_SCALING_ROW;
    look_at_model(&c);
}

static void look_at_products_that_do_more(void)
{
    struct tt_config c = tiny_config();
    make_even(&c);
    c.vocab_size = 128;
    c.version = TT_FLASH;
    c.precision = TT_PREC_BF16;
    epilogues = true;
    look_at_fusions(&c);
    epilogues = false;
}

static void look_at_separate_documents(void)
{
    struct tt_config c = tiny_config();
    c.documents = TT_DOCUMENTS_SEPARATE;
    for (int v = 0; v < TT_VERSIONS; v++) {
        c.version = (enum tt_version)v;
        look_at_model(&c);
    }
}

static void look_at_selective_updates(void)
{
    struct tt_config c = tiny_config();
    c.version = TT_FUSED;
    c.update = TT_UPDATE_TOP_K;
    for (int precision = 0; precision < TT_PRECISIONS; precision++)
        for (int by = TT_BY_NORM; by <= TT_BY_RANDOM; by++) {
            c.precision = (enum tt_precision)precision;
            c.update_by = (enum tt_update_by)by;
            look_at_model(&c);
        }
}

/* ---- what the plans show ---- */

/* Operands that every plan gives, and why they are optional anyway. */
static const struct {
    const char *kernel, *field, *why;
} always[] = {
    {"embedding_backward", "state", "finds its tokens as embedding does, which a forward pass alone runs without"},
    {"target_logit", "state", "finds its tokens as cross_entropy does, which an evaluation runs without"},
    {"loss_of_sums", "state", "finds its tokens as cross_entropy does, which an evaluation runs without"},
    {"sub_target", "state", "finds its tokens as gather_nll does, which an evaluation runs without"},
};

static bool always_given(const struct optional *o)
{
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!strcmp(o->kernel, always[i].kernel) && !strcmp(o->field, always[i].field)) return true;
    return false;
}

static void optional_operands_are(void)
{
    for (int i = 0; i < optional_count; i++) {
        const struct optional *o = &optionals[i];
        CHECK(o->given, "no plan gives %s its %s: why have it?", o->kernel, o->field);
        CHECK(o->left_out != always_given(o), "plans give %s its %s %s", o->kernel, o->field,
              o->left_out ? "not always: strike it from the list" : "always: it is not optional");
    }
    CHECK(optional_count > 5, "%d operands may be NULL", optional_count);
}

static void every_kernel_is_launched(void)
{
    for (int k = 0; k < TT_KERNELS; k++) CHECK(launched[k], "no plan launches %s", tt_kernel_name((enum tt_kernel)k));
}

/* A plan with a missing operand fails with a message, before the device crashes. */
static void a_forgotten_operand_is_named(void)
{
    struct tt_plan *p;
    CHECK_OK(tt_plan_create(TT_F32, &p));
    void *x = tt_plan_buffer(p, "x", 64);
    LAUNCH(p, silu, .x = x, .rows = 1, .cols = 16);
    tt_status st = tt_plan_finish(p);
    CHECK(st && !strcmp(st->text, "plan: silu has no operand out"), "%s", st ? st->text : "nothing is said");
    tt_status_free(st);
    tt_plan_free(p);
}

int main(void)
{
    TEST(look_at_all);
    TEST(look_at_eight_bits);
    TEST(look_at_products_that_do_more);
    TEST(look_at_separate_documents);
    TEST(look_at_selective_updates);
    TEST(optional_operands_are);
    TEST(every_kernel_is_launched);
    TEST(a_forgotten_operand_is_named);
    return test_end();
}
