/* The gradients of one step, tensor by tensor: what has none, and how two sets of them differ. */
#ifndef TT_GRADS_H
#define TT_GRADS_H

#include "core/base/text.h"
#include "core/checkpoint/safetensors.h"
#include "model/session.h"

struct tt_grad {
    char name[96];
    int rank;
    int64_t shape[TT_TENSOR_RANK], count, zeros, nonfinite;
    double norm;
    const float *data;
};

struct tt_grads {
    struct tt_grad *rows;
    int n;
    float *data; /* all of them, unclipped and without the loss scale */
    double loss;
};

struct tt_grad_sums {
    int64_t zeros, nonfinite;
    double norm; /* NaN where anything is not finite */
};
struct tt_grad_sums tt_grad_sums(const float *g, int64_t n);

/* From a session after its first step that was applied. */
tt_status tt_grads_take(struct tt_session *s, const struct tt_metrics *step, struct tt_grads *out);

/* To a safetensors file, and back. */
tt_status tt_grads_save(const struct tt_grads *g, const char *path);
tt_status tt_grads_load(const char *path, struct tt_grads *out);
void tt_grads_free(struct tt_grads *g);

const struct tt_grad *tt_grads_find(const struct tt_grads *g, const char *name); /* NULL when absent */

/* Only zeros, or anything that is not finite. */
bool tt_grad_missing(const struct tt_grad *g);

/* With one position the attention weight is always 1, so the gradient of queries and keys is zero, or rounding. */
bool tt_grad_vanishes(const char *name, int64_t seq_len);

/* |a - b| / |b|, or over `floor` where b is smaller; infinite when shapes differ. */
double tt_grad_difference(const struct tt_grad *a, const struct tt_grad *b, double floor);

/* A norm that is small beside the gradient of the whole model. Where a tensor's gradient cancels out, its rounding
 * error does not, so that smaller differences mean nothing. */
double tt_grads_floor(const struct tt_grads *g);

/* Fails with the first tensor that only one has, or that has another shape there. */
tt_status tt_grads_fit(const struct tt_grads *here, const struct tt_grads *other);

#endif
