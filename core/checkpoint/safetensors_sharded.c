#include "core/checkpoint/safetensors_sharded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/crc32.h"
#include "core/base/file.h"

/* A contiguous range of floats in the file that belongs to one rank. */
struct piece {
    const float *data;
    uint64_t at, count; /* offset in the file, in bytes; number of floats */
    int owner;
};

struct pieces {
    struct piece *p;
    int n;
};

/* ---- the pieces: the same list on every rank ---- */

/* The rank that has the float at `offset` of the arena, the offset where its part ends, and where the float is in the
 * parts of that rank. */
static int owner_of(const struct tt_params *p, int64_t offset, int64_t *end, int64_t *at)
{
    int b = 0;
    while (offset >= p->buckets[b].offset + p->buckets[b].count) b++;
    int64_t part = p->buckets[b].count / p->ranks, owner = (offset - p->buckets[b].offset) / part;
    *end = p->buckets[b].offset + (owner + 1) * part;
    *at = p->buckets[b].offset / p->ranks + (offset - p->buckets[b].offset) % part;
    return (int)owner;
}

/* Cuts the file into pieces, in file order, at every end of a tensor and of a part. */
static tt_status cut(const struct tt_tensor_source *tensors, const struct tt_placed *places, int n, uint64_t at,
                     const struct tt_params *p, struct pieces *out)
{
    size_t most = (size_t)n + (size_t)n * (size_t)p->bucket_count * (size_t)p->ranks;
    out->p = malloc(most * sizeof *out->p);
    if (!out->p) return tt_no_memory("a checkpoint");
    for (int i = 0; i < n; i++) {
        int64_t count = tensors[i].shape[0] * (tensors[i].rank > 1 ? tensors[i].shape[1] : 1);
        for (int64_t done = 0, end, from; done < count;) {
            int64_t begin = places[i].offset + done;
            int owner = owner_of(p, begin, &end, &from);
            int64_t here = end - begin < count - done ? end - begin : count - done;
            const float *data = (const float *)tensors[i].data + (places[i].parts ? from : done);
            out->p[out->n++] = (struct piece){data, at, (uint64_t)here, owner};
            at += (uint64_t)here * sizeof(float);
            done += here;
        }
    }
    return TT_OK;
}

/* ---- writing ---- */

static tt_status write_at(int fd, const char *path, const void *data, uint64_t size, uint64_t at)
{
    for (const char *p = data; size;) {
        ssize_t n = pwrite(fd, p, size < (1u << 30) ? (size_t)size : 1u << 30, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return tt_file_error(n < 0 ? errno : EIO, "write", path);
        p += n, at += (uint64_t)n, size -= (uint64_t)n;
    }
    return TT_OK;
}

/* Rank 0 creates the file in its full length and writes the header. */
static tt_status begin(const char *path, const struct tt_text *header, uint64_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return tt_file_error(errno, "write", path);
    tt_status st = ftruncate(fd, (off_t)size) ? tt_file_error(errno, "write", path) : TT_OK;
    if (!st) st = write_at(fd, path, header->s, header->n, 0);
    if (!st && fsync(fd)) st = tt_file_error(errno, "write", path);
    close(fd);
    return st;
}

static tt_status write_mine(const char *path, const struct pieces *all, int rank, uint32_t *crcs)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? tt_fail(TT_FAILED,
                                         "%s, which rank 0 has just created, does not exist here; all ranks need the "
                                         "same --out, on a file system that they share",
                                         path)
                               : tt_file_error(errno, "write", path);
    tt_status st = TT_OK;
    for (int i = 0; i < all->n && !st; i++) {
        const struct piece *p = &all->p[i];
        if (p->owner != rank) continue;
        crcs[i] = tt_crc32(0, p->data, p->count * sizeof(float));
        st = write_at(fd, path, p->data, p->count * sizeof(float), p->at);
    }
    if (!st && fsync(fd)) st = tt_file_error(errno, "write", path);
    close(fd);
    return st;
}

/* Gathers the checksums of all pieces and combines them into that of the file. */
static tt_status join(struct tt_job *job, const struct pieces *all, const uint32_t *mine, uint32_t *crc)
{
    size_t ranks = (size_t)tt_job_ranks(job), n = (size_t)all->n;
    uint32_t *crcs = malloc(ranks * n * sizeof *crcs);
    tt_status st = crcs ? TT_OK : tt_no_memory("a checkpoint");
    st = tt_job_agree(job, st);
    if (!st) st = tt_job_gather(job, mine, n * sizeof *mine, crcs);
    for (size_t i = 0; i < n && !st; i++)
        *crc = tt_crc32_join(*crc, crcs[(size_t)all->p[i].owner * n + i], all->p[i].count * sizeof(float));
    free(crcs);
    return st;
}

tt_status tt_safetensors_write_sharded(const char *path, const struct tt_tensor_source *tensors,
                                       const struct tt_placed *places, int n, const struct tt_metadata *metadata,
                                       int n_metadata, const struct tt_params *p, struct tt_job *job, uint64_t *size,
                                       uint32_t *crc)
{
    struct tt_text header = {0};
    struct pieces all = {0};
    uint32_t *crcs = NULL;
    tt_status st = tt_safetensors_header(tensors, n, metadata, n_metadata, &header);
    if (!st) st = cut(tensors, places, n, header.n, p, &all);
    if (!st) {
        const struct piece *last = &all.p[all.n - 1];
        *size = last->at + last->count * sizeof(float);
        crcs = calloc((size_t)all.n, sizeof *crcs);
        if (!crcs) st = tt_no_memory("a checkpoint");
    }
    if (!st && tt_job_leads(job)) st = begin(path, &header, *size);
    st = tt_job_agree(job, st);
    if (!st) st = tt_job_agree(job, write_mine(path, &all, tt_job_rank(job), crcs));
    if (!st) {
        *crc = tt_crc32(0, header.s, header.n);
        st = join(job, &all, crcs, crc);
    }
    tt_text_free(&header);
    free(all.p);
    free(crcs);
    return st;
}
