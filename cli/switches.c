#include "cli/switches.h"

#include <stdio.h>
#include <string.h>

#include "core/base/fp8.h"

/* "fp8 factors in 28 of 30 matrix products" */
static void print_fp8(const struct tt_model *m, const struct tt_plan *step)
{
    static const char *const scales[] = {[TT_SCALING_TENSOR] = "",
                                         [TT_SCALING_DELAYED] = "; scales from magnitudes of the last 16 steps",
                                         [TT_SCALING_ROW] = "; a scale for each row of a factor"};
    int in_fp8 = 0, all = 0;
    for (int i = 0; i < step->count; i++) {
        const struct tt_op *op = &step->ops[i];
        all += op->kind == TT_OP_GEMM;
        in_fp8 += op->kind == TT_OP_GEMM && tt_is_fp8(op->args.gemm.type_a);
    }
    printf("math    fp8 factors in %d of %d matrix products, %s for the rest%s%s\n", in_fp8, all,
           m->no_bf16 ? "fp32" : "bf16", m->no_bf16 ? "" : ", with fp32 for sums and weights",
           scales[m->config.fp8_scaling]);
}

static void print_math(const struct tt_model *m, const struct tt_plan *step)
{
    const char *words = "fp32";
    if (m->config.precision == TT_TF32)
        words = m->tf32 ? "fp32, matrix products in tf32" : "fp32, since this device has no tf32";
    if (m->config.precision == TT_PREC_BF16) words = "bf16, with fp32 for sums and weights";
    if (m->config.precision == TT_PREC_FP16) words = "fp16 with a scaled loss, and fp32 for sums and weights";
    if (m->config.precision == TT_PREC_FP8)
        print_fp8(m, step);
    else
        printf("math    %s\n", words);
}

static void print_optimizer(const struct tt_model *m)
{
    const char *words = "not fused: a kernel for each operation on each tensor";
    if (m->fuse[TT_FUSE_OPTIMIZER]) words = "fused: one kernel over all parameters";
    if (m->fuse[TT_FUSE_LATE]) words = "fused: one kernel, layer by layer beside the forward pass of the next step";
    printf("adamw   %s%s\n", words, m->config.moments == TT_MOMENTS_BF16 ? "; moments in bf16" : "");
    const struct tt_config *c = &m->config;
    if (c->update != TT_UPDATE_TOP_K) return;
    int64_t groups = m->params.groups.count;
    printf("update  %lld of %lld groups in a step (level %s, by %s)", (long long)tt_config_chosen(c, groups),
           (long long)groups, tt_update_level_names[c->update_level], tt_update_by_names[c->update_by]);
    if (c->update_every > 1) printf(", one choice for %lld steps", (long long)c->update_every);
    putchar('\n');
}

static void print_graph(const struct tt_backend *b, const struct tt_model *m, const struct tt_run *run)
{
    if (!b->ops->graph_begin) return;
    const char *off = m->fuse[TT_FUSE_GRAPH] ? "off, as --graph says" : "off: this version launches each operation";
    printf("graph   %s\n", run->graph ? "on: captured in the second step, then replayed" : off);
}

static void print_attention(const struct tt_model *m, const struct tt_device_info *info)
{
    const char *words = "scores in memory, a kernel for each operation on them";
    if (m->fuse[TT_FUSE_SOFTMAX]) words = "scores in memory; scale, mask and softmax in one kernel";
    if (m->fuse[TT_FUSE_ATTENTION]) words = "flash: in tiles, scores never in memory";
    bool choice = m->fuse[TT_FUSE_ATTENTION] && info->kernels[0];
    printf("attn    %s%s%s\n", words, choice ? "; kernels " : "", choice ? info->kernels : "");
}

static void print_gemm(const struct tt_backend *b, const struct tt_config *c)
{
    static const char *const words[] = {"the algorithm that the library would take (--gemm-tune off)",
                                        "the fastest of a few algorithms, each shape timed once (--gemm-tune quick)",
                                        "the fastest of many algorithms, each shape timed once (--gemm-tune full)"};
    /* A library for CPUs does not let anyone choose. */
    if (strcmp(b->ops->name, "cpu")) printf("gemm    %s\n", words[c->gemm_tune]);
}

void tt_print_switches(const struct tt_backend *b, const struct tt_session *s, const struct tt_run *run)
{
    struct tt_device_info info = {0};
    tt_status st = b->ops->info(b->self, &info);
    print_math(s->model, s->step);
    print_optimizer(s->model);
    print_graph(b, s->model, run);
    print_attention(s->model, &info);
    print_gemm(b, &s->model->config);
    tt_status_free(st);
}
