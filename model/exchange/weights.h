/* Checks that every export or import of weights makes. */
#ifndef TT_EXCHANGE_WEIGHTS_H
#define TT_EXCHANGE_WEIGHTS_H

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/tensor.h"

/* Before writing weights as `type`: they must fit. fp16 ends at 65504, and larger weights would become infinite. So
 * would the scales of Q8_0, which are fp16. Q8_0 cannot store numbers that are not finite either. */
tt_status tt_weights_fit(const struct tt_param *p, const float *weights, const char *type);

/* Before reading: a tensor of the file must have the shape that the parameter table gives it. `by` names where that
 * shape comes from: "config.json". */
tt_status tt_weights_check_shape(const char *file, const struct tt_tensor *t, const struct tt_param *p, const char *by);

/* After reading: every weight must be finite. */
tt_status tt_weights_finite(const char *file, const char *name, const float *w, int64_t n);

#endif
