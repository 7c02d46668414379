/* Device memory, pinned host memory, copies, and the accounting of what is in use. */
#include <stdlib.h>

#include "backend/gpu/host.h"
#include "core/base/grow.h"

static const double MIB = 1048576;

/* ---- what is in use ---- */

static bool remember(struct gpu_ledger *l, void *p, size_t bytes)
{
    pthread_mutex_lock(&l->lock);
    bool kept = tt_grow(&l->blocks, sizeof *l->blocks, l->count, &l->room);
    if (kept) {
        l->blocks[l->count++] = (struct gpu_block){p, bytes};
        l->used += bytes;
        if (l->used > l->peak) l->peak = l->used;
    }
    pthread_mutex_unlock(&l->lock);
    return kept;
}

static void forget(struct gpu_ledger *l, const void *p)
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

void tt_gpu_reset_peak(void *self)
{
    struct gpu_ledger *l = &((struct gpu *)self)->ledger;
    pthread_mutex_lock(&l->lock);
    l->peak = l->used;
    pthread_mutex_unlock(&l->lock);
}

/* ---- device memory ---- */

static tt_status no_memory(struct gpu *gpu, size_t bytes)
{
    size_t available = 0, total = 0;
    gpu_rt_clear_error();
    (void)gpu_rt_memory_info(&available, &total);
    pthread_mutex_lock(&gpu->ledger.lock);
    size_t used = gpu->ledger.used;
    pthread_mutex_unlock(&gpu->ledger.lock);
    return tt_fail(TT_FAILED,
                   "alloc: GPU %d, %s, has no memory for %.1f MiB: %.1f of %.1f MiB are free, this program holds "
                   "%.1f; use a smaller --batch-size or model, or free the GPU (" GPU_RT_MONITOR " lists who uses it)",
                   gpu->device, gpu->name, (double)bytes / MIB, (double)available / MIB, (double)total / MIB,
                   (double)used / MIB);
}

static tt_status take(struct gpu *gpu, size_t bytes, void **out)
{
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    gpu_rt_error e = gpu_rt_malloc(out, bytes ? bytes : 1); /* 0 bytes would give NULL */
    if (e == GPU_RT_OUT_OF_MEMORY) return no_memory(gpu, bytes);
    CHECK_OF(gpu, e, gpu_rt_malloc(out, bytes));
    return TT_OK;
}

tt_status tt_gpu_has_room(struct gpu *gpu, size_t bytes)
{
    void *p = NULL;
    TT_TRY(take(gpu, bytes, &p));
    (void)gpu_rt_free(p);
    return TT_OK;
}

tt_status tt_gpu_alloc(void *self, size_t bytes, void **out)
{
    struct gpu *gpu = self;
    void *p = NULL;
    *out = NULL;
    TT_TRY(take(gpu, bytes, &p));
    if (!remember(&gpu->ledger, p, bytes)) {
        (void)gpu_rt_free(p);
        return tt_no_memory("the list of allocations");
    }
    *out = p;
    return TT_OK;
}

void tt_gpu_free(void *self, void *p)
{
    struct gpu *gpu = self;
    if (!p) return;
    forget(&gpu->ledger, p);
    (void)gpu_rt_free(p);
}

/* ---- pinned host memory ---- */

tt_status tt_gpu_host_alloc(void *self, size_t bytes, void **out)
{
    struct gpu *gpu = self;
    *out = NULL;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    gpu_rt_error e = gpu_rt_host_alloc(out, bytes ? bytes : 1);
    if (e != GPU_RT_OUT_OF_MEMORY) CHECK_OF(gpu, e, gpu_rt_host_alloc(out, bytes));
    if (!e) return TT_OK;
    gpu_rt_clear_error();
    return tt_fail(TT_FAILED,
                   "host_alloc: no %.1f MiB of pinned host memory; free some, or raise the limit (ulimit -l)",
                   (double)bytes / MIB);
}

void tt_gpu_host_free(void *self, void *p)
{
    (void)self;
    if (p) (void)gpu_rt_host_free(p);
}

/* ---- copies ---- */

tt_status tt_gpu_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    if (bytes) CHECK(gpu, gpu_rt_copy(dst, src, bytes, dir, gpu_stream_of(gpu, s)->rt));
    return TT_OK;
}

tt_status tt_gpu_fill(void *self, void *dst, int byte, size_t bytes, tt_stream s)
{
    struct gpu *gpu = self;
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    if (bytes) CHECK(gpu, gpu_rt_fill(dst, byte, bytes, gpu_stream_of(gpu, s)->rt));
    return TT_OK;
}
