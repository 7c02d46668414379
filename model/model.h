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
    bool no_bf16; /* the device has no bf16: with fp8, what is not 8-bit is fp32 */
    bool fp8_fnuz; /* the device's 8-bit numbers are FNUZ, not OCP */
    bool tf32; /* --precision tf32, on a device that has it; else fp32 takes its place */
    bool product_epilogues; /* the device's products may do more than store C (tt_gemm.with, .from) */
    double small_product; /* FLOPs: smaller products may run beside others */
    int units; /* multiprocessors of the device; 0: it is no GPU */
    int beside_units; /* of these, how many the optimiser takes when it runs beside others; 0: all */
    bool flash_refused; /* the heads are too large for the device's flash attention; the fused one runs */
    struct tt_params params;
    int64_t head_dim;
    int64_t rope_prompt; /* tokens of the prompt, for --rope-scaling dynamic; 0: all positions of the tables */
};

/* A model of this shape that is not yet fitted to a device. Free it with tt_model_free. */
tt_status tt_model_create(const struct tt_config *c, struct tt_model **out);
void tt_model_free(struct tt_model *m);

/* Fits the model to a device; to be called before a plan is written. Heads too large for the device's flash attention
 * get the fused one. On a device that computes in fp32 where tf32 is asked for, attention does so too. */
void tt_model_fit(struct tt_model *m, const struct tt_device_info *device);
/* A note on what is not computed as asked for; "" when all is. */
void tt_model_note(const struct tt_model *m, char out[160]);
/* The note on attention alone, for a profile of heads of that size. */
void tt_flash_refused_note(int64_t head_dim, char out[160]);
/* A note on a run in fp8 where no product, or not every product of the head, has 8-bit factors although asked for; else
 * "". */
void tt_fp8_note(const struct tt_model *m, char out[160]);

/* N(0, init_std) for matrices, 1 for norms, 0 for biases; the same for a seed on every backend and in every version. */
void tt_model_init_weights(const struct tt_model *m, float *weights);
/* The same for this rank's parts of each bucket only; the rest of the arena is not touched. */
void tt_model_init_parts(const struct tt_model *m, float *weights);

int64_t tt_model_param_count(const struct tt_model *m); /* without padding */

/* The type of activations and of the weights that they are computed with. */
enum tt_dtype tt_model_dtype(const struct tt_model *m);

/* FLOPs of a training step: tokens × (6·params + 6·layers·S·heads·D), the tied head counted once, causal attention
 * halved. */
double tt_model_step_flops(const struct tt_model *m);

/* cos and sin for `positions` positions: (positions, D/2) each, cos first. With --rope-scaling dynamic, the frequencies
 * depend on how long the sequence is when a position is read: as long as the prompt for its positions (rope_prompt),
 * and up to the position itself for later ones. */
void tt_model_rope_tables(const struct tt_model *m, int64_t positions, float *tables);
/* The same into an engine's TT_X_ROPE, when its plans have one. */
tt_status tt_model_upload_rope(const struct tt_model *m, struct tt_engine *e, int64_t positions);

/* One optimiser step over grad_accum micro-batches. This plan and those below are finished and not bound. */
tt_status tt_model_plan_train(const struct tt_model *m, struct tt_plan **out);
/* A training step that first makes the update which the step before it left, if one is due, and leaves its own to the
 * next step. Its updates are those of tt_model_plan_train, only later. tt_model_plan_update makes a due update by
 * itself. For one rank, with the optimiser in one kernel, without --update top-k. */
tt_status tt_model_plan_late(const struct tt_model *m, struct tt_plan **out);
tt_status tt_model_plan_update(const struct tt_model *m, struct tt_plan **out);
/* A training step between two choices of --update-every. It changes the same groups as the update before it, and clips
 * by the norm of their gradients alone. tt_between_reduce then removes what only the other groups need. */
tt_status tt_model_plan_between(const struct tt_model *m, struct tt_plan **out);
/* Forward pass over one batch of validation tokens; its loss is added to the validation loss. */
tt_status tt_model_plan_eval(const struct tt_model *m, struct tt_plan **out);
/* Forward pass over one batch of validation tokens; all logits go to TT_X_LOGITS. */
tt_status tt_model_plan_logits(const struct tt_model *m, struct tt_plan **out);
/* Computes keys and values of the first `tokens` validation tokens into one of `rows` caches of `length` positions,
 * that of TT_X_SEQUENCE. */
tt_status tt_model_plan_fill(const struct tt_model *m, int64_t tokens, int64_t rows, int64_t length,
                             struct tt_plan **out);
/* One new token of each of `rows` sequences, with caches of `length` positions; its logits go to TT_X_LOGITS. With
 * `how`, the next tokens are chosen too, among those below `known`, and become the input of the next run. */
tt_status tt_model_plan_decode(const struct tt_model *m, int64_t rows, int64_t length, const struct tt_sampling *how,
                               int64_t known, struct tt_plan **out);

/* Entries in the metrics ring. */
enum { TT_RING_ENTRIES = 1024 };

#endif
