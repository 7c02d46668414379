/* Which test program covers which kernel. A kernel in no list or in two does not compile. A program that does not
 * launch every kernel of its list fails. */
#ifndef TT_TEST_COVERAGE_H
#define TT_TEST_COVERAGE_H

#include "backend/kernels.h"

#define COVER_ELEMENTWISE(X)                                                                       \
    X(add) X(mul) X(scale) X(cast) X(zero) X(square) X(row_sum) X(col_sum) X(mul_rows) X(mul_cols) \
    X(add_cols) X(silu) X(silu_backward) X(swiglu) X(swiglu_backward) X(exp) X(sub_rows)

#define COVER_NORM(X)                                                                              \
    X(rsqrt) X(rsqrt_backward) X(rmsnorm) X(rmsnorm_backward) X(reduce_parts) \
    X(head_norm) X(head_norm_backward)

#define COVER_ROPE(X)                                                                              \
    X(rope) X(rope_cos) X(rope_sin) X(rope_rotate) X(rope_split) X(rope_merge)                     \
    X(heads_split) X(heads_merge) X(repeat_kv) X(repeat_kv_backward)

#define COVER_SOFTMAX(X)                                                                           \
    X(causal_mask) X(softmax) X(softmax_backward) X(causal_softmax) X(causal_softmax_backward)

#define COVER_ATTENTION(X) X(flash) X(flash_backward)

#define COVER_DECODE(X) X(rows_linear) X(cache_fill) X(attention_decode) X(sample)

#define COVER_FP8(X)                                                                               \
    X(fp8_amax) X(fp8_cast) X(fp8_amax_rows) X(fp8_cast_rows) X(fp8_swiglu) X(fp8_swiglu_backward) \
    X(fp8_history)

#define COVER_LOSS(X)                                                                              \
    X(embedding) X(embedding_backward) X(document_bounds) X(row_logsumexp) X(gather_nll)           \
    X(sub_target) X(cross_entropy) X(target_logit) X(loss_of_sums) X(loss_sum)

#define COVER_STATE(X) X(step_begin) X(clip_scale) X(record) X(sum_squares)

#define COVER_OPTIMIZER(X) X(adamw) X(clip_grad) X(adam_m) X(adam_v) X(weight_decay) X(adam_update)

#define COVER_SELECT(X) X(group_squares) X(span_squares) X(group_sums) X(choose_groups) X(adamw_chosen)

#define COVERED(name) covered_##name,
enum kernels_covered {
    COVER_ELEMENTWISE(COVERED)
    COVER_NORM(COVERED)
    COVER_ROPE(COVERED)
    COVER_SOFTMAX(COVERED)
    COVER_ATTENTION(COVERED)
    COVER_DECODE(COVERED)
    COVER_FP8(COVERED)
    COVER_LOSS(COVERED)
    COVER_STATE(COVERED)
    COVER_OPTIMIZER(COVERED)
    COVER_SELECT(COVERED)
};
#undef COVERED

#define TT_KERNEL(name, flops, operands) _Static_assert(covered_##name >= 0, "no test for " #name);
#include "backend/kernels.def"
#undef TT_KERNEL

#endif
