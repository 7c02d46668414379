/* What every exchange of weights checks. */
#ifndef TT_EXCHANGE_WEIGHTS_H
#define TT_EXCHANGE_WEIGHTS_H

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/tensor.h"

/* Before writing: fp16 ends at 65504, and larger weights would become infinite. The same for the scales of Q8_0, which
 * are fp16, and which cannot store what is not finite. */
tt_status tt_weights_fit(const struct tt_param *p, const float *weights, const char *type);

/* Before reading: a tensor of the file has the shape that the parameter table gives it. `by` says so: "config.json". */
tt_status tt_weights_check_shape(const char *file, const struct tt_tensor *t, const struct tt_param *p, const char *by);

/* After reading: every weight is finite. */
tt_status tt_weights_finite(const char *file, const char *name, const float *w, int64_t n);

#endif
