/* Writes safetensors files in one pass. */
#include <errno.h>
#include <unistd.h>

#include "core/base/crc32.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/staged.h"
#include "core/checkpoint/safetensors.h"

enum { PIECE = 1 << 20 }; /* bytes written at a time */

static const char *type_of(const struct tt_tensor_source *t) { return t->type ? t->type : "F32"; }

/* ---- the header ---- */

static tt_status describe(struct tt_json_writer *w, const struct tt_tensor_source *t, uint64_t *offset)
{
    uint64_t count;
    TT_TRY(tt_tensor_count(t, &count));
    tt_json_begin(w, t->name, '{');
    tt_json_put_string(w, "dtype", type_of(t));
    tt_json_begin(w, "shape", '[');
    for (int i = 0; i < t->rank; i++) tt_json_put_int(w, NULL, t->shape[i]);
    tt_json_end(w, ']');
    tt_json_begin(w, "data_offsets", '[');
    tt_json_put_uint(w, NULL, *offset);
    *offset += tt_tensor_bytes(t, count); /* cannot overflow: the tensors are in memory */
    tt_json_put_uint(w, NULL, *offset);
    tt_json_end(w, ']');
    tt_json_end(w, '}');
    return TT_OK;
}

/* The header is padded so that the data start at a multiple of 8 bytes. */
tt_status tt_safetensors_header(const struct tt_tensor_source *tensors, int n, const struct tt_metadata *metadata,
                                int n_metadata, struct tt_text *out)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    if (n_metadata) {
        tt_json_begin(&w, "__metadata__", '{');
        for (int i = 0; i < n_metadata; i++) tt_json_put_string(&w, metadata[i].key, metadata[i].value);
        tt_json_end(&w, '}');
    }
    uint64_t offset = 0;
    tt_status st = TT_OK;
    for (int i = 0; i < n && !st; i++) st = describe(&w, &tensors[i], &offset);
    tt_json_end(&w, '}');
    while (w.text.n % 8 && !w.text.failed) tt_text_add(&w.text, " ", 1);
    if (!st) st = tt_text_status(&w.text);
    uint64_t length = w.text.n;
    tt_text_add(out, (const char *)&length, sizeof length);
    tt_text_add(out, w.text.s, w.text.n);
    tt_text_free(&w.text);
    return st ? st : tt_text_status(out);
}

/* ---- the bytes ---- */

struct sink {
    int fd;
    const char *path;
    uint64_t size;
    uint32_t crc;
};

/* In pieces, so that the write finds in the cache what the checksum has just read. */
static tt_status put(void *to, const void *data, uint64_t n)
{
    struct sink *s = to;
    for (const char *p = data; n;) {
        size_t piece = n < PIECE ? (size_t)n : PIECE;
        s->crc = tt_crc32(s->crc, p, piece);
        TT_TRY(tt_write_all(s->fd, p, piece, s->path));
        s->size += piece;
        p += piece;
        n -= piece;
    }
    return TT_OK;
}

static tt_status put_all(struct sink *s, const struct tt_text *header, const struct tt_tensor_source *tensors, int n)
{
    TT_TRY(put(s, header->s, header->n));
    for (int i = 0; i < n; i++) TT_TRY(tt_tensor_emit(&tensors[i], put, s));
    return TT_OK;
}

tt_status tt_safetensors_write(const char *path, const struct tt_tensor_source *tensors, int n,
                               const struct tt_metadata *metadata, int n_metadata, uint64_t *size, uint32_t *crc)
{
    struct tt_text header = {0};
    struct tt_staged b = {.fd = -1};
    tt_status st;
    TT_GOTO(st, done, tt_safetensors_header(tensors, n, metadata, n_metadata, &header));
    if (!access(path, F_OK)) {
        st = tt_file_error(EEXIST, "write", path);
        goto done;
    }
    TT_GOTO(st, done, tt_stage_file(path, &b));
    struct sink s = {.fd = b.fd, .path = path};
    TT_GOTO(st, done, put_all(&s, &header, tensors, n));
    st = tt_staged_add(&b);
    if (size) *size = s.size;
    if (crc) *crc = s.crc;
done:
    tt_staged_drop(&b);
    tt_text_free(&header);
    return st;
}
