/* safetensors files: the length of a JSON header (8 bytes, little-endian), the header (for each tensor dtype, shape and
 * data_offsets; and __metadata__, a map of strings), then the data.
 *
 * The reader does not trust the file: it checks header, offsets, shapes and types against each other and against the
 * size of the file when it opens it. */
#ifndef TT_SAFETENSORS_H
#define TT_SAFETENSORS_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/checkpoint/tensor.h"

/* ---- reading ---- */

struct tt_safetensors;

tt_status tt_safetensors_open(const char *path, struct tt_safetensors **out);
void tt_safetensors_close(struct tt_safetensors *s); /* s may be NULL */

int tt_safetensors_count(const struct tt_safetensors *s);
const struct tt_tensor *tt_safetensors_at(const struct tt_safetensors *s, int i);              /* in file order */
const struct tt_tensor *tt_safetensors_find(const struct tt_safetensors *s, const char *name); /* NULL when absent */
const char *tt_safetensors_metadata(const struct tt_safetensors *s, const char *key);          /* NULL when absent */

/* Reads t->count values of type F32, F16 or BF16 as floats; another type is an error. */
tt_status tt_safetensors_read(const struct tt_safetensors *s, const struct tt_tensor *t, float *out);

/* Reads t->count values of type I32; another type is an error. */
tt_status tt_safetensors_read_i32(const struct tt_safetensors *s, const struct tt_tensor *t, int32_t *out);

/* ---- writing ---- */

struct tt_metadata {
    const char *key, *value;
};

/* Writes a new file and syncs it; an error if it exists. Returns size and CRC-32 of the whole file (either may be
 * NULL).
 */
tt_status tt_safetensors_write(const char *path, const struct tt_tensor_source *tensors, int n,
                               const struct tt_metadata *metadata, int n_metadata, uint64_t *size, uint32_t *crc);

/* Appends the start of such a file: the length of the header and the header. */
tt_status tt_safetensors_header(const struct tt_tensor_source *tensors, int n, const struct tt_metadata *metadata,
                                int n_metadata, struct tt_text *out);

#endif
