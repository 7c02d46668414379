/* A safetensors file that all ranks write at the same time, each its own parts. */
#ifndef TT_SAFETENSORS_SHARDED_H
#define TT_SAFETENSORS_SHARDED_H

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/safetensors.h"

/* Where a tensor lies in the arena: its offset in floats. Its `data` is the tensor itself or, with `parts`, the start
 * of this rank's parts of the arena, which follow each other as on the device (tt_part_of). */
struct tt_placed {
    int64_t offset;
    bool parts;
};

/* Each rank writes its parts of the tensors (struct tt_params), and reads nothing else of `data`. Called by all ranks;
 * all get the same status, size and CRC-32. The file has the same bytes as one of tt_safetensors_write. */
tt_status tt_safetensors_write_sharded(const char *path, const struct tt_tensor_source *tensors,
                                       const struct tt_placed *places, int n, const struct tt_metadata *metadata,
                                       int n_metadata, const struct tt_params *p, struct tt_job *job, uint64_t *size,
                                       uint32_t *crc);

#endif
