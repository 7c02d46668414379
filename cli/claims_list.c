/* The claims: figures from texts that people follow to train faster. Each pair is tt's step without and with one thing.
 * The rest of the step is as --version flash has it, so that the two differ in that thing only. */
#include <math.h>

#include "cli/claims.h"
#include "profiling/compare/compare.h"

#define T4 "bottleneck report of a T4"
#define WORKSHOP "workshop, exercise 3"
#define SUMMARY "profiling summary"
#define CARD "guide for a 16 GiB card"

/* A figure that was rounded to this unit. */
#define ROUND(x, unit) (x) - (unit) / 2, (x) + (unit) / 2

// clang-format off
#define CLAIMS(X)                                                                                                          \
    X("host-sync", "no waiting for the device after every step", T4, "2-3x", 2, 3,                                          \
      .off = "flash --fault host-wait", .on = "flash")                                                                      \
    X("mask", "the causal mask made once, not in every step", T4, "1.2x", ROUND(1.2, 0.1),                                  \
      .off = "flash --fault mask-rebuild", .on = "flash")                                                                   \
    X("host-norm", "norms of the gradients on the device, not on the host", T4, "1.4x", ROUND(1.4, 0.1),                    \
      .off = "flash --fault host-norm", .on = "flash")                                                                      \
    X("data-loading", "batches loaded ahead of time", CARD, "1.1x", ROUND(1.1, 0.1),                                        \
      .off = "flash --prefetch off", .on = "flash")                                                                         \
    X("compile", "chains of small kernels fused, as a compiler does", CARD, "1.4x", ROUND(1.4, 0.1),                        \
      .off = "flash --fuse no-rope,no-norm,no-swiglu", .on = "flash")                                                       \
    X("graph", "the step captured once and replayed", CARD, "1.4x", ROUND(1.4, 0.1),                                        \
      .off = "flash --graph off", .on = "flash", .gpu = "only a GPU has graphs of kernels")                                 \
    X("adamw", "AdamW in one kernel", CARD, "1.1x", ROUND(1.1, 0.1),                                                        \
      .off = "flash --fuse no-optimizer", .on = "flash")                                                                    \
    X("flash", "attention in tiles, without scores in memory", CARD, "1.2x", ROUND(1.2, 0.1),                               \
      .off = "flash --fuse no-attention", .on = "flash")                                                                    \
    X("qkv", "one product for Q, K and V", WORKSHOP, "1.2-1.5x", 1.2, 1.5,                                                  \
      .off = "flash --fuse no-qkv", .on = "flash")                                                                          \
    X("swiglu", "one product for gate and up, SiLU and product in one kernel", WORKSHOP, "1.1-1.3x", 1.1, 1.3,              \
      .off = "flash --fuse no-gate-up,no-swiglu", .on = "flash")                                                            \
    X("tuned", "algorithms of matrix products chosen by timing them", T4, "1.05-1.1x", 1.05, 1.1,                           \
      .off = "flash --gemm-tune off", .on = "flash", .gpu = "only a GPU's library has algorithms to choose from")           \
    X("tf32", "matrix products in TF32 instead of fp32", CARD, "1.5x", ROUND(1.5, 0.1),                                     \
      .off = "flash --precision fp32", .on = "flash --precision tf32", .precision = TT_TF32)                                \
    X("amp", "mixed precision (bf16) instead of TF32", CARD, "1.3x", ROUND(1.3, 0.1),                                       \
      .off = "flash --precision tf32", .on = "flash --precision bf16", .precision = TT_PREC_BF16)                           \
    X("batch", "batches of 256 instead of 32, per token", T4, "2x", ROUND(2., 1.),                                          \
      .off = "flash --batch-size 32", .on = "flash --batch-size 256", .on_weight = 8)                                       \
    X("cumulative", "everything together", CARD, "5.3x", ROUND(5.3, 0.1),                                                   \
      .off = "baseline --precision fp32 --graph off --gemm-tune off --prefetch off", .on = "flash", .off_weight = 1.5)      \
    X("evaluation", "share of validation: every 100 steps about 300 forward passes", SUMMARY, "24 %", ROUND(24., 1.),       \
      .share = true, .on = "--num-steps 10 --val-interval 5 --val-batches 15 --gemm-tune off", .on_weight = 4,               \
      .on_gpu = "--num-steps 100 --val-interval 50 --val-batches 150 --gemm-tune off")
// clang-format on

#define X(...) {__VA_ARGS__},
const struct tt_claim tt_claims[] = {CLAIMS(X)};
#undef X
#define X(claim, ...) claim,
const char *const tt_claim_names[] = {CLAIMS(X) NULL};
#undef X
const int tt_claim_count = sizeof tt_claims / sizeof *tt_claims;

/* ---- verdicts ---- */

const char *const tt_verdict_names[TT_VERDICTS] = {"confirmed", "smaller", "larger", "not seen", "undecided",
                                                   "not on this device", "not run"};
const char *const tt_verdict_words[TT_VERDICTS] = {
    "the interval overlaps the claim and shows an effect",
    "there is an effect, but less than claimed",
    "the effect exceeds the claim",
    "the interval lies below the claim, and reaches down to no effect or to a loss",
    "too much noise, or too few turns",
    "this device cannot do it",
    "it failed here, or was stopped before"};

enum tt_verdict tt_claim_judge(const struct tt_claim *c, const struct tt_range *m)
{
    const double none = c->share ? 0 : 1, narrow = 1.1;
    if (!isfinite(m->low) || !isfinite(m->high) || !(m->confidence >= TT_GATE_CONFIDENCE)) return TT_NOT_DECIDED;
    if (m->low > c->high) return TT_LARGER;
    if (m->high < c->low) return m->low > none ? TT_SMALLER : TT_NOT_SEEN;
    bool inside = m->low >= c->low && m->high <= c->high;
    return m->low > none && (inside || m->high <= narrow * m->low) ? TT_CONFIRMED : TT_NOT_DECIDED;
}
