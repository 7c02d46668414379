/* Safetensors: an opened file can be read completely, with the number of floats that it declares. */
#include "core/checkpoint/safetensors.h"
#include "tests/fuzz/fuzz.h"

static void read_tensor(const struct tt_safetensors *s, const struct tt_tensor *t, size_t file)
{
    char shape[100];
    tt_tensor_shape_text(t->rank, t->shape, shape, sizeof shape);
    PROMISE(t->offset + t->size <= file && tt_safetensors_find(s, t->name) == t);
    PROMISE(!t->size || (uint64_t)t->count <= file);
    float *out = malloc(t->size ? (size_t)t->count * sizeof *out : 1);
    PROMISE(out);
    if (t->size) {
        fuzz_refused(tt_safetensors_read(s, t, out));
        fuzz_refused(tt_safetensors_read_i32(s, t, (int32_t *)out));
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tt_safetensors *s;
    if (fuzz_refused(tt_safetensors_open(fuzz_file(data, n), &s))) return 0;
    for (int i = 0; i < tt_safetensors_count(s); i++) read_tensor(s, tt_safetensors_at(s, i), n);
    tt_safetensors_metadata(s, "format");
    tt_safetensors_close(s);
    return 0;
}
