/* Curves for TensorBoard: a file of records (length, its checksum, data, its checksum), each an Event of the protocol
 * buffer that TensorBoard reads. Nothing is allocated after opening. */
#ifndef TT_TENSORBOARD_H
#define TT_TENSORBOARD_H

#include <stdint.h>

#include "backend/status.h"

struct tt_tensorboard;

struct tt_scalar {
    const char *tag; /* "loss/train" */
    double value;
};

/* A new file in `dir`, which is made. TensorBoard forgets what earlier files of the folder have after step `first`: those
 * steps are run again. */
tt_status tt_tensorboard_open(const char *dir, int64_t first, struct tt_tensorboard **out);
/* What cannot be written is left out; close tells. */
void tt_tensorboard_add(struct tt_tensorboard *t, int64_t step, const struct tt_scalar *scalars, int n);
void tt_tensorboard_flush(struct tt_tensorboard *t);
tt_status tt_tensorboard_close(struct tt_tensorboard *t); /* NULL is fine */

#endif
