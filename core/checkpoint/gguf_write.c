/* Writes GGUF files in one pass. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/staged.h"
#include "core/checkpoint/gguf.h"

enum { ALIGNMENT = 32 }; /* the default of the format, so it need not be written */

/* ---- values ---- */

static void add(struct tt_text *t, const void *data, size_t n) { tt_text_add(t, data, n); }

static void add_u32(struct tt_text *t, uint32_t value) { add(t, &value, sizeof value); }

static void add_u64(struct tt_text *t, uint64_t value) { add(t, &value, sizeof value); }

static void add_string(struct tt_text *t, const char *s, size_t n)
{
    add_u64(t, n);
    add(t, s, n);
}

static void begin(struct tt_gguf_writer *w, const char *key, enum tt_gguf_type type)
{
    add_string(&w->values, key, strlen(key));
    add_u32(&w->values, type);
    w->count++;
}

void tt_gguf_put_u32(struct tt_gguf_writer *w, const char *key, uint32_t value)
{
    begin(w, key, TT_GGUF_U32);
    add_u32(&w->values, value);
}

void tt_gguf_put_f32(struct tt_gguf_writer *w, const char *key, float value)
{
    begin(w, key, TT_GGUF_F32);
    add(&w->values, &value, sizeof value);
}

void tt_gguf_put_bool(struct tt_gguf_writer *w, const char *key, bool value)
{
    begin(w, key, TT_GGUF_BOOL);
    add(&w->values, &(char){value}, 1);
}

void tt_gguf_put_string(struct tt_gguf_writer *w, const char *key, const char *value)
{
    begin(w, key, TT_GGUF_STRING);
    add_string(&w->values, value, strlen(value));
}

void tt_gguf_begin_array(struct tt_gguf_writer *w, const char *key, enum tt_gguf_type type, uint64_t n)
{
    begin(w, key, TT_GGUF_ARRAY);
    add_u32(&w->values, type);
    add_u64(&w->values, n);
}

void tt_gguf_add_string(struct tt_gguf_writer *w, const char *s, size_t n) { add_string(&w->values, s, n); }

void tt_gguf_add_i32(struct tt_gguf_writer *w, int32_t value) { add(&w->values, &value, sizeof value); }

void tt_gguf_writer_free(struct tt_gguf_writer *w) { tt_text_free(&w->values); }

/* ---- the file ---- */

struct sink {
    int fd;
    const char *path;
    uint64_t size;
};

static tt_status put(void *to, const void *data, uint64_t n)
{
    struct sink *s = to;
    s->size += n;
    return tt_write_all(s->fd, data, (size_t)n, s->path);
}

static uint64_t padding(uint64_t size) { return (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT; }

static tt_status pad(struct sink *s)
{
    static const char zeros[ALIGNMENT];
    return put(s, zeros, padding(s->size));
}

static tt_status describe(struct tt_text *head, const struct tt_tensor_source *t, uint64_t *offset)
{
    uint64_t count;
    TT_TRY(tt_tensor_count(t, &count));
    add_string(head, t->name, strlen(t->name));
    add_u32(head, (uint32_t)t->rank);
    for (int i = t->rank - 1; i >= 0; i--) add_u64(head, (uint64_t)t->shape[i]); /* the fastest dimension first */
    add_u32(head, (uint32_t)tt_gguf_tensor_type(t->type ? t->type : "F32"));
    add_u64(head, *offset);
    *offset += tt_tensor_bytes(t, count);
    *offset += padding(*offset);
    return TT_OK;
}

static tt_status put_all(struct sink *s, const struct tt_gguf_writer *w, const struct tt_tensor_source *tensors, int n)
{
    struct tt_text head = {0};
    uint64_t offset = 0;
    tt_status st = tt_text_status(&w->values);
    add(&head, "GGUF", 4);
    add_u32(&head, 3);
    add_u64(&head, (uint64_t)n);
    add_u64(&head, w->count);
    if (w->values.n) add(&head, w->values.s, w->values.n);
    for (int i = 0; i < n && !st; i++) st = describe(&head, &tensors[i], &offset);
    if (!st) st = tt_text_status(&head);
    if (!st) st = put(s, head.s, head.n);
    tt_text_free(&head);
    for (int i = 0; i < n && !st; i++) {
        st = pad(s);
        if (!st) st = tt_tensor_emit(&tensors[i], put, s);
    }
    return st ? st : pad(s);
}

tt_status tt_gguf_write(const char *path, const struct tt_gguf_writer *w, const struct tt_tensor_source *tensors, int n)
{
    struct tt_staged b = {.fd = -1};
    if (!access(path, F_OK)) return tt_file_error(EEXIST, "write", path);
    TT_TRY(tt_stage_file(path, &b));
    struct sink s = {.fd = b.fd, .path = path};
    tt_status st = put_all(&s, w, tensors, n);
    if (!st) return tt_staged_add(&b);
    tt_staged_drop(&b);
    return st;
}
