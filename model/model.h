/* The TinyTransformer: LLaMA in a few sizes. A model is its shape, its parameter table and the plans it writes.
 *
 *   x = embedding(tokens)
 *   for each layer:  x += attention(rmsnorm(x));  x += swiglu(rmsnorm(x))
 *   loss = cross_entropy(rmsnorm(x) · headᵀ, next token)
 *
 * The versions compute the same thing. What differs is which kernels do it: baseline.c, fused.c and flash.c hold the
 * pieces, model.c puts them together as the switches say. */
#ifndef TT_MODEL_H
#define TT_MODEL_H

#include "core/base/sample.h"
#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"
#include "core/plan/engine.h"

struct tt_model {
    struct tt_config config;
    bool fuse[TT_FUSION_COUNT];
    bool no_bf16; /* the device has none: with fp8 the rest is fp32 then */
    bool fp8_fnuz; /* the device's 8-bit numbers are FNUZ, not OCP */
    bool tf32; /* asked for, and not fp32 on the device in its place */
    bool product_epilogues; /* the device's products may do more than store C (tt_gemm.with, .from) */
    double small_product; /* FLOPs: smaller ones may run beside others */
    int units; /* multiprocessors of the device; 0: it is no GPU */
    int beside_units; /* of these, for the optimiser when it runs beside others; 0: all */
    bool flash_refused; /* the heads are too large for the device's flash attention; the fused one runs */
    struct tt_params params;
    int64_t head_dim;
    int64_t rope_prompt; /* tokens that are read at once, for --rope-scaling dynamic; 0: all that the tables have */
};

tt_status tt_model_create(const struct tt_config *c, struct tt_model **out);
void tt_model_free(struct tt_model *m);

/* To be called before a plan is written: attention as this device computes it. Heads too large for its flash attention
 * get the fused one; a device that computes in fp32 where tf32 is asked for does so in attention too. */
void tt_model_fit(struct tt_model *m, const struct tt_device_info *device);
/* What is not computed as asked for, in words; "" when all is. */
void tt_model_note(const struct tt_model *m, char out[160]);
/* The same for heads of that size in a profile. */
void tt_flash_refused_note(int64_t head_dim, char out[160]);
/* Of a run in fp8, what has no 8-bit factors though they are asked for, in words; "" when nothing is. */
void tt_fp8_note(const struct tt_model *m, char out[160]);

/* N(0, init_std) for matrices, 1 for norms, 0 for biases; the same for a seed on every backend and in every version. */
void tt_model_init_weights(const struct tt_model *m, float *weights);
/* The same, of this rank's parts of each bucket alone; the rest of the arena is not touched. */
void tt_model_init_parts(const struct tt_model *m, float *weights);

int64_t tt_model_param_count(const struct tt_model *m); /* without padding */

/* What activations and their copy of the weights are stored in. */
enum tt_dtype tt_model_dtype(const struct tt_model *m);

/* tokens × (6·params + 6·layers·S·heads·D): the tied head counted once, causal attention halved. */
double tt_model_step_flops(const struct tt_model *m);

/* cos and sin for `positions` positions: (positions, D/2) each, cos first. With --rope-scaling dynamic, a position
 * has the frequencies of the sequence as it is read there: those of the prompt, or of what ends with the position. */
void tt_model_rope_tables(const struct tt_model *m, int64_t positions, float *tables);
/* The same into an engine's TT_X_ROPE, when its plans have one. */
tt_status tt_model_upload_rope(const struct tt_model *m, struct tt_engine *e, int64_t positions);

/* One optimiser step over grad_accum micro-batches. */
tt_status tt_model_plan_train(const struct tt_model *m, struct tt_plan **out);
/* The same, but it makes the update of such a step before it, if one is due, and leaves its own to the next: those of
 * tt_model_plan_train in another order. tt_model_plan_update makes one that is due by itself. Of one rank, with the
 * optimiser in one kernel, on all weights. */
tt_status tt_model_plan_late(const struct tt_model *m, struct tt_plan **out);
tt_status tt_model_plan_update(const struct tt_model *m, struct tt_plan **out);
/* The same between two choices of --update-every: the groups that the update before changed are changed again, and the
 * norm that clips is that of their gradients alone. tt_between_reduce leaves out what the others would need. */
tt_status tt_model_plan_between(const struct tt_model *m, struct tt_plan **out);
/* Forward and loss over one batch of the validation tokens, added to the validation loss. */
tt_status tt_model_plan_eval(const struct tt_model *m, struct tt_plan **out);
/* Forward over one batch of the validation tokens; all logits into TT_X_LOGITS. */
tt_status tt_model_plan_logits(const struct tt_model *m, struct tt_plan **out);
/* The keys and values of the first `tokens` validation tokens, into one of `rows` caches of `length` positions. */
tt_status tt_model_plan_fill(const struct tt_model *m, int64_t tokens, int64_t rows, int64_t length,
                             struct tt_plan **out);
/* One new token of each of `rows` sequences against caches of `length` positions; its logits into TT_X_LOGITS. With
 * `how`, the tokens that follow are chosen too, among those below `known`, and become the input of the next run. */
tt_status tt_model_plan_decode(const struct tt_model *m, int64_t rows, int64_t length, const struct tt_sampling *how,
                               int64_t known, struct tt_plan **out);

/* Entries in the metrics ring. */
enum { TT_RING_ENTRIES = 1024 };

#endif
