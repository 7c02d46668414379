/* GGUF files, the format of llama.cpp: "GGUF", a version, the numbers of tensors and of values, the values (key, type,
 * value), the tensors (name, dimensions from the fastest on, type, offset), then the data. Each tensor begins at a
 * multiple of the alignment, which is 32 bytes unless general.alignment says otherwise. Everything is little-endian.
 *
 * The reader does not trust the file: counts, lengths, types, shapes and offsets are checked against each other and
 * against the size of the file when it opens it. It reads versions 2 and 3, and the writer writes version 3. */
#ifndef TT_GGUF_H
#define TT_GGUF_H

#include <stdbool.h>

#include "core/base/text.h"
#include "core/checkpoint/tensor.h"

enum tt_gguf_type { /* of values, as numbered in the files */
                    TT_GGUF_U8,
                    TT_GGUF_I8,
                    TT_GGUF_U16,
                    TT_GGUF_I16,
                    TT_GGUF_U32,
                    TT_GGUF_I32,
                    TT_GGUF_F32,
                    TT_GGUF_BOOL,
                    TT_GGUF_STRING,
                    TT_GGUF_ARRAY,
                    TT_GGUF_U64,
                    TT_GGUF_I64,
                    TT_GGUF_F64,
                    TT_GGUF_TYPES
};

/* ---- reading ---- */

struct tt_gguf;

tt_status tt_gguf_open(const char *path, struct tt_gguf **out);
void tt_gguf_close(struct tt_gguf *g); /* g may be NULL */

/* Shapes are as everywhere in tt: the last dimension is the fastest. */
int tt_gguf_count(const struct tt_gguf *g);
const struct tt_tensor *tt_gguf_at(const struct tt_gguf *g, int i);              /* in file order */
const struct tt_tensor *tt_gguf_find(const struct tt_gguf *g, const char *name); /* NULL when absent */

/* Reads t->count values of type F32, F16, BF16 or Q8_0 as floats; another type is an error. */
tt_status tt_gguf_read(const struct tt_gguf *g, const struct tt_tensor *t, float *out);

/* Read a value by its key; false if there is none of this kind. tt_gguf_int takes any integer type, if the value is
 * from min to max. tt_gguf_number takes any integer or float that is finite. */
bool tt_gguf_has(const struct tt_gguf *g, const char *key);
bool tt_gguf_int(const struct tt_gguf *g, const char *key, int64_t min, int64_t max, int64_t *out);
bool tt_gguf_number(const struct tt_gguf *g, const char *key, double *out);
bool tt_gguf_bool(const struct tt_gguf *g, const char *key, bool *out);
/* The first size - 1 bytes, with '?' for control characters and the byte 0. */
bool tt_gguf_string(const struct tt_gguf *g, const char *key, char *out, size_t size);
/* The whole string as it is in the file: not 0-terminated; valid until close. */
bool tt_gguf_text(const struct tt_gguf *g, const char *key, const char **s, size_t *n);

/* An array of strings or of numbers, element by element. */
struct tt_gguf_array {
    const struct tt_gguf *g;
    enum tt_gguf_type type;
    uint64_t n, at;
    uint64_t i; /* the next element */
};
bool tt_gguf_array(const struct tt_gguf *g, const char *key, struct tt_gguf_array *a);
bool tt_gguf_next_string(struct tt_gguf_array *a, const char **s, size_t *n); /* not 0-terminated; valid until close */
bool tt_gguf_next_int(struct tt_gguf_array *a, int64_t *out);

/* ---- writing ---- */

/* Zero-initialise, put the values, write, free. */
struct tt_gguf_writer {
    struct tt_text values;
    uint64_t count;
};
void tt_gguf_put_u32(struct tt_gguf_writer *w, const char *key, uint32_t value);
void tt_gguf_put_f32(struct tt_gguf_writer *w, const char *key, float value);
void tt_gguf_put_bool(struct tt_gguf_writer *w, const char *key, bool value);
void tt_gguf_put_string(struct tt_gguf_writer *w, const char *key, const char *value);
/* Begins an array. Add n elements of that type with the functions below. */
void tt_gguf_begin_array(struct tt_gguf_writer *w, const char *key, enum tt_gguf_type type, uint64_t n);
void tt_gguf_add_string(struct tt_gguf_writer *w, const char *s, size_t n);
void tt_gguf_add_i32(struct tt_gguf_writer *w, int32_t value);
void tt_gguf_writer_free(struct tt_gguf_writer *w);

/* Writes a new file and syncs it; an error if it exists. Tensors are F32, F16, BF16 or Q8_0. */
tt_status tt_gguf_write(const char *path, const struct tt_gguf_writer *w, const struct tt_tensor_source *tensors,
                        int n);

/* The number that stands for a type of tensors in the files, by the type's name; -1: unknown name. */
int tt_gguf_tensor_type(const char *name);

#endif
