/* Plans of models with 8-bit factors: which products have them, which passes they need, and how much memory they
 * take. */
#include "cli/paper.h"
#include "core/base/fp8.h"
#include "tests/core/plan/plan_check.h"
#include "tests/model/fp8_fixture.h"

static int products_in_fp8(const struct tt_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->count; i++) n += p->ops[i].kind == TT_OP_GEMM && tt_is_fp8(p->ops[i].args.gemm.type_a);
    return n;
}

static void check_plan(tt_status st, struct tt_plan *p, bool all_read, bool eight)
{
    CHECK_OK(st);
    if (st) return;
    CHECK_OK(plan_check(p, all_read));
    CHECK((products_in_fp8(p) > 0) == eight, "%d products in 8 bits", products_in_fp8(p));
    tt_plan_free(p);
}

static void plans_are_sound(void)
{
    for (int v = 0; v < TT_VERSIONS; v++)
        for (int r = 0; r <= TT_RECOMPUTE_BLOCK; r++)
            for (int way = 0; way < 6; way++) {
                int head = way % 2;
                struct tt_config c = even_config((enum tt_version)v, TT_PREC_FP8);
                struct tt_model *m;
                struct tt_plan *p = NULL;
                c.recompute = (enum tt_recompute)r;
                c.fp8 = head ? TT_FP8_ALL : TT_FP8_LINEAR;
                c.grad_accum = 1 + head;
                c.fp8_scaling = (enum tt_fp8_scaling)(way / 2);
                CHECK_OK(tt_model_create(&c, &m));
                tt_status st = tt_model_plan_train(m, &p);
                check_plan(st, p, r == TT_RECOMPUTE_NONE, true); /* recomputation leaves some unread */
                st = tt_model_plan_eval(m, &p);
                check_plan(st, p, false, true);
                st = tt_model_plan_fill(m, 16, 2, 32, &p);
                check_plan(st, p, false, false);
                tt_model_free(m);
            }
}

/* The note is given only for a plan without 8-bit products, whichever size is odd. */
static void notes_are_of_the_plan(void)
{
    for (int odd = 0; odd < 32; odd++) {
        struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
        struct tt_session s;
        char note[160];
        c.fp8 = odd & 16 ? TT_FP8_ALL : TT_FP8_LINEAR;
        if (odd & 1) c.batch_size = 1, c.seq_len = 17;
        if (odd & 2) c.ffn_dim += 4;
        if (odd & 4) c.vocab_size += 1;
        if (odd & 8) c.hidden_dim = 6 * c.num_heads; /* 24 */
        CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN));
        int products = products_in_fp8(s.step);
        tt_fp8_note(s.model, note);
        CHECK(!strncmp(note, "no product", 10) == !products, "%d: %d products, \"%s\"", odd, products, note);
        if (products) CHECK(!note[0] == !(odd & 16 && odd & 4), "%d: \"%s\"", odd, note);
        tt_session_close(&s);
    }
}

/* Only weights need a separate pass for their largest magnitude. */
static void writers_take_magnitudes(void)
{
    for (int head = 0; head < 2; head++) {
        struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
        struct tt_model *m;
        struct tt_plan *p = NULL;
        int passes = 0, taken = 0, layers = (int)c.num_layers;
        c.fp8 = head ? TT_FP8_ALL : TT_FP8_LINEAR;
        CHECK_OK(tt_model_create(&c, &m));
        CHECK_OK(tt_model_plan_train(m, &p));
        for (int i = 0; i < p->count; i++) {
            const struct tt_op *op = &p->ops[i];
            if (op->kind != TT_OP_KERNEL) continue;
            passes += op->kernel == TT_K_fp8_amax;
            taken += op->kernel == TT_K_fp8_swiglu_backward ||
                     (op->kernel == TT_K_fp8_cast && op->args.fp8_cast.partial && op->args.fp8_cast.parts == 1);
            if (op->kernel == TT_K_rmsnorm && op->layer >= 0)
                CHECK(!op->args.rmsnorm.y, "a norm is stored beside its codes");
        }
        CHECK(passes == 4 * layers + head && taken == 8 * layers + 2 * head,
              "%d passes, %d magnitudes taken on the way", passes, taken);
        tt_plan_free(p);
        tt_model_free(m);
    }
}

/* With scales from a history no pass only takes magnitudes. Written only as codes: SwiGLU's results and attention's
 * gradient. Attention writes codes of its output (transposed in the backward pass), and norms write codes of the
 * gradient of the residual stream. Separate casts remain for norms, the logits' gradient and weights. */
static void no_pass_is_for_magnitudes(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    struct tt_model *m;
    struct tt_plan *p = NULL;
    int casts = 0, codes = 0, attention = 0, backward = 0, norms = 0, again = 0, records = 0;
    int layers = (int)c.num_layers;
    c.fp8 = TT_FP8_ALL, c.fp8_scaling = TT_SCALING_DELAYED;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK_OK(tt_model_plan_train(m, &p));
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        if (op->kind != TT_OP_KERNEL) continue;
        CHECK(op->kernel != TT_K_fp8_amax && op->kernel != TT_K_swiglu && op->kernel != TT_K_swiglu_backward,
              "operation %d is %s", i, tt_op_name(op));
        casts += op->kernel == TT_K_fp8_cast && op->args.fp8_cast.amax;
        codes += op->kernel == TT_K_fp8_swiglu || op->kernel == TT_K_fp8_swiglu_backward;
        again += op->kernel == TT_K_fp8_cast && !op->args.fp8_cast.amax;
        attention += op->kernel == TT_K_flash && op->args.flash.codes && op->args.flash.amax;
        const struct tt_flash_backward_args *last = &op->args.flash_backward;
        backward += op->kernel == TT_K_flash_backward && last->codes && last->transposed && last->o_codes && last->amax;
        const struct tt_rmsnorm_backward_args *norm = &op->args.rmsnorm_backward;
        norms += op->kernel == TT_K_rmsnorm_backward && norm->codes && norm->transposed && norm->amax;
        records += op->kernel == TT_K_fp8_history;
    }
    CHECK(casts == 6 * layers + 3 && again == 4 * layers + 1, "%d casts, %d of weights and the head's input again",
          casts, again);
    CHECK(codes == 2 * layers && attention == layers && backward == layers && norms == 2 * layers && records == 1,
          "%d of SwiGLU, %d and %d of attention, %d of norms, %d records", codes, attention, backward, norms, records);
    tt_plan_free(p);
    tt_model_free(m);
}

/* Less is kept of a layer for the backward pass: its inputs as codes. The head's chunks shrink by what 8-bit gradients
 * beside the logits need. */
static void less_memory(void)
{
    size_t arena[7];
    for (int eight = 0; eight < 7; eight++) {
        struct tt_config c = even_config(TT_FLASH, eight ? TT_PREC_FP8 : TT_PREC_BF16);
        struct tt_model *m;
        struct tt_plan *p = NULL;
        c.num_layers = 12, c.batch_size = 32, c.seq_len = 1024, c.vocab_size = 50304; /* roughly gpt2 */
        c.hidden_dim = 768, c.num_heads = c.num_kv_heads = 12, c.ffn_dim = 2048, c.head_dim = 64;
        c.fp8 = eight > 3 ? TT_FP8_ALL : TT_FP8_LINEAR;
        c.fp8_scaling = eight ? (enum tt_fp8_scaling)((eight - 1) % 3) : TT_SCALING_TENSOR;
        CHECK_OK(tt_model_create(&c, &m));
        CHECK_OK(tt_model_plan_train(m, &p));
        arena[eight] = p->arena_bytes;
        tt_plan_free(p);
        tt_model_free(m);
    }
    for (int i = 1; i < 7; i++)
        CHECK(arena[i] < arena[0], "way %d: %zu bytes of activations, %zu in bf16", i, arena[i], arena[0]);
}

/* A predicted plan is a GPU's, even in a program for the CPU only. */
static void predictions_are_of_a_gpu(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    struct tt_paper paper;
    CHECK_OK(tt_paper_plan(&c, &paper));
    CHECK(paper.plan && paper.plan->dtype == TT_BF16, "activations of fp8 are predicted in another type than bf16");
    tt_paper_free(&paper);
}

/* A plan that is only predicted equals the one that runs, if the device has the precision. */
static void plans_are_of_this_device(void)
{
    struct tt_config c = even_config(TT_FLASH, TT_PREC_FP8);
    struct tt_session run, told;
    if (!info.has[TT_PREC_FP8]) SKIP("this device has no fp8");
    CHECK_OK(tt_session_plan(&run, &backend, &c, TT_USE_TRAIN));
    CHECK_OK(tt_session_plan(&told, &backend, &c, TT_USE_TRAIN | TT_USE_PREDICT));
    CHECK(tt_engine_total(&run.engine) == tt_engine_total(&told.engine), "%zu bytes, told %zu",
          tt_engine_total(&run.engine), tt_engine_total(&told.engine));
    tt_session_close(&run);
    tt_session_close(&told);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    CHECK_OK(backend.ops->info(backend.self, &info));
    TEST(plans_are_sound);
    TEST(writers_take_magnitudes);
    TEST(no_pass_is_for_magnitudes);
    TEST(less_memory);
    TEST(predictions_are_of_a_gpu);
    TEST(plans_are_of_this_device);
    if (tested_in(&info, TT_PREC_FP8)) TEST(notes_are_of_the_plan);
    tt_backend_close(&backend);
    return test_end();
}
