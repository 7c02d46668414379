/* A file of tensors that several ranks write at once, each what it has. */
#ifndef TT_TOGETHER_H
#define TT_TOGETHER_H

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/safetensors.h"

/* Tensor i holds the floats of the arena from offsets[i] on; of them a rank has its parts (struct tt_params), and of
 * the rest of `data` nothing is read. All ranks call it, and all get the same answer, size and CRC-32: the bytes are
 * those that tt_safetensors_write would write. */
tt_status tt_safetensors_write_together(const char *path, const struct tt_tensor_source *tensors,
                                        const int64_t *offsets, int n, const struct tt_metadata *metadata,
                                        int n_metadata, const struct tt_params *p, struct tt_job *job, uint64_t *size,
                                        uint32_t *crc);

#endif
