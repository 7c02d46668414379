/* Memory of the GPU and pinned memory of the host, copies between them, and the count of what is in use. */
#include <stdlib.h>

#include "backend/cuda/cuda.h"

static const double MIB = 1048576;

/* ---- what is in use ---- */

static bool remember(struct cuda_ledger *l, void *p, size_t bytes)
{
    bool kept = false;
    pthread_mutex_lock(&l->lock);
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        struct cuda_block *grown = realloc(l->blocks, room * sizeof *grown);
        if (grown) l->blocks = grown, l->room = room;
    }
    if (l->count < l->room) {
        l->blocks[l->count++] = (struct cuda_block){p, bytes};
        l->used += bytes;
        if (l->used > l->peak) l->peak = l->used;
        kept = true;
    }
    pthread_mutex_unlock(&l->lock);
    return kept;
}

static void forget(struct cuda_ledger *l, const void *p)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = l->count; i-- > 0;) {
        if (l->blocks[i].p != p) continue;
        l->used -= l->blocks[i].bytes;
        l->blocks[i] = l->blocks[--l->count];
        break;
    }
    pthread_mutex_unlock(&l->lock);
}

void tt_cuda_reset_peak(void *self)
{
    struct cuda_ledger *l = &((struct cuda *)self)->ledger;
    pthread_mutex_lock(&l->lock);
    l->peak = l->used;
    pthread_mutex_unlock(&l->lock);
}

/* ---- device memory ---- */

static tt_status no_memory(struct cuda *cuda, size_t bytes)
{
    size_t available = 0, total = 0;
    cudaGetLastError();
    cudaMemGetInfo(&available, &total);
    pthread_mutex_lock(&cuda->ledger.lock);
    size_t used = cuda->ledger.used;
    pthread_mutex_unlock(&cuda->ledger.lock);
    return tt_fail(TT_FAILED,
                   "alloc: GPU %d, %s, has no memory for %.1f MiB: %.1f of %.1f MiB are free, this program holds "
                   "%.1f; use a smaller --batch-size or model, or free the GPU (nvidia-smi lists who uses it)",
                   cuda->device, cuda->name, (double)bytes / MIB, (double)available / MIB, (double)total / MIB,
                   (double)used / MIB);
}

tt_status tt_cuda_alloc(void *self, size_t bytes, void **out)
{
    struct cuda *cuda = self;
    void *p = NULL;
    *out = NULL;
    CHECK(cuda, cudaSetDevice(cuda->device));
    cudaError_t e = cudaMalloc(&p, bytes ? bytes : 1); /* of nothing it would give NULL */
    if (e == cudaErrorMemoryAllocation) return no_memory(cuda, bytes);
    CHECK(cuda, e);
    if (!remember(&cuda->ledger, p, bytes)) {
        cudaFree(p);
        return tt_fail(TT_FAILED, "alloc: no host memory to note an allocation");
    }
    *out = p;
    return TT_OK;
}

void tt_cuda_free(void *self, void *p)
{
    struct cuda *cuda = self;
    if (!p) return;
    forget(&cuda->ledger, p);
    cudaFree(p);
}

/* ---- pinned host memory ---- */

tt_status tt_cuda_host_alloc(void *self, size_t bytes, void **out)
{
    struct cuda *cuda = self;
    *out = NULL;
    CHECK(cuda, cudaSetDevice(cuda->device));
    cudaError_t e = cudaHostAlloc(out, bytes ? bytes : 1, cudaHostAllocDefault);
    if (e != cudaErrorMemoryAllocation) CHECK(cuda, e);
    if (!e) return TT_OK;
    cudaGetLastError();
    return tt_fail(TT_FAILED,
                   "host_alloc: no %.1f MiB of pinned host memory; free some, or raise the limit (ulimit -l)",
                   (double)bytes / MIB);
}

void tt_cuda_host_free(void *self, void *p)
{
    (void)self;
    if (p) cudaFreeHost(p);
}

/* ---- moving bytes ---- */

tt_status tt_cuda_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s)
{
    static const enum cudaMemcpyKind kinds[] = {
        [TT_TO_DEVICE] = cudaMemcpyHostToDevice,
        [TT_TO_HOST] = cudaMemcpyDeviceToHost,
        [TT_ON_DEVICE] = cudaMemcpyDeviceToDevice,
    };
    struct cuda *cuda = self;
    if (bytes) CHECK(cuda, cudaMemcpyAsync(dst, src, bytes, kinds[dir], cuda_stream(cuda, s)->cuda));
    return TT_OK;
}

tt_status tt_cuda_fill(void *self, void *dst, int byte, size_t bytes, tt_stream s)
{
    struct cuda *cuda = self;
    if (bytes) CHECK(cuda, cudaMemsetAsync(dst, byte, bytes, cuda_stream(cuda, s)->cuda));
    return TT_OK;
}
