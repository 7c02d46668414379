/* Tensors of a file: what the formats that hold them (safetensors.h, gguf.h) have in common. */
#ifndef TT_TENSOR_H
#define TT_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

enum { TT_TENSOR_RANK = 8 };

/* A tensor in a file. */
struct tt_tensor {
    const char *name;
    const char *type; /* "F32", "BF16", "I64", ... */
    int rank;
    int64_t shape[TT_TENSOR_RANK];
    int64_t count;         /* elements */
    uint64_t offset, size; /* bytes, from the start of the data */
};

/* A tensor to write. */
struct tt_tensor_source {
    const char *name;
    int rank;
    int64_t shape[TT_TENSOR_RANK];
    const void *data;
    const char *type; /* "F32" (or NULL), "BF16", "F16", "Q8_0": data are floats, which are converted; "I32": data are
                         int32_t */
};

/* Q8_0 stores rows in blocks of 32 numbers: a scale in fp16, then each number as an 8-bit multiple of the scale. */
enum { TT_Q8_BLOCK = 32, TT_Q8_BYTES = 34 };

/* "[64, 32]", for messages. */
void tt_tensor_shape_text(int rank, const int64_t *shape, char *out, int size);

/* A list of tensors sorted by name. tt_tensors_find returns NULL if there is none of this name; tt_tensors_twice
 * returns a name that two of them have, or NULL. */
void tt_tensors_sort(struct tt_tensor **by_name, int n);
const struct tt_tensor *tt_tensors_find(struct tt_tensor *const *by_name, int n, const char *name);
const char *tt_tensors_twice(struct tt_tensor *const *by_name, int n);

/* ---- files ---- */

/* Opens a regular file for reading; `what` it should be is for the message: "a safetensors file". */
tt_status tt_tensor_file_open(const char *path, const char *what, int *fd, uint64_t *size);

/* Reads n bytes from `offset` on. */
tt_status tt_tensor_file_read(int fd, const char *path, uint64_t offset, void *out, size_t n);

/* Reads the numbers of a tensor of type F32, F16, BF16 or Q8_0 as floats; another type is an error. `start` is where
 * the data of the file begin. */
tt_status tt_tensor_read(int fd, const char *path, uint64_t start, const struct tt_tensor *t, float *out);

/* ---- writing ---- */

/* How many numbers, and how many bytes, a source has. */
tt_status tt_tensor_count(const struct tt_tensor_source *t, uint64_t *count);
uint64_t tt_tensor_bytes(const struct tt_tensor_source *t, uint64_t count);

/* Hands the bytes of a source, converted to its type, to `put`, piece by piece. */
tt_status tt_tensor_emit(const struct tt_tensor_source *t, tt_status (*put)(void *to, const void *data, uint64_t n),
                         void *to);

#endif
