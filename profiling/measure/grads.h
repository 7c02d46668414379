/* The gradients of one step, tensor by tensor: which tensors have none, and how two sets of gradients differ. */
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

/* Reads them from the device. To be called after a session's first step that was applied; `step` has its metrics. */
tt_status tt_grads_take(struct tt_session *s, const struct tt_metrics *step, struct tt_grads *out);

/* To a safetensors file, and back. */
tt_status tt_grads_save(const struct tt_grads *g, const char *path);
tt_status tt_grads_load(const char *path, struct tt_grads *out);
void tt_grads_free(struct tt_grads *g);

const struct tt_grad *tt_grads_find(const struct tt_grads *g, const char *name); /* NULL when absent */

/* Whether the gradient is all zeros, or has a value that is not finite. */
bool tt_grad_missing(const struct tt_grad *g);

/* Whether this tensor's gradient has to be zero, or rounding noise: with one position the attention weight is always 1,
 * so queries and keys do not matter. */
bool tt_grad_vanishes(const char *name, int64_t seq_len);

/* |a - b| / |b|, or over `floor` where |b| is smaller; infinite when shapes differ or a value is not finite. */
double tt_grad_difference(const struct tt_grad *a, const struct tt_grad *b, double floor);

/* The `floor` for tt_grad_difference: a norm that is small beside the gradient of the whole model. Where a tensor's
 * gradient cancels out its rounding error does not, so differences below that mean nothing. */
double tt_grads_floor(const struct tt_grads *g);

/* Checks that two sets can be compared. Fails with the first tensor that `other` does not have or has in another shape,
 * or when it has more tensors. */
tt_status tt_grads_fit(const struct tt_grads *here, const struct tt_grads *other);

#endif
