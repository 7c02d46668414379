/* Shared by the host code of the GPU backends: C, in vendor-neutral names. gpu_runtime.h of the vendor's folder
 * (backend/cuda or backend/hip) defines them; kernels are launched through launch.h. One thread uses a backend, but a
 * loader thread may also use memory, copies and events. The current device of a new thread is GPU 0, so these calls set
 * the device first; otherwise they would create a context there. */
#ifndef TT_GPU_HOST_H
#define TT_GPU_HOST_H

#include "gpu_runtime.h"

#include <pthread.h>

#include "backend/backend.h"

/* GEMM workspace and library handles of a stream. Streams multiply concurrently, so no two may share them. */
struct gemm_scratch {
    void *workspace;
    void *handles; /* of the vendor's blas.c; NULL if all streams can share one */
};

struct tt_stream_s {
    gpu_rt_stream rt;
    struct gemm_scratch scratch; /* empty until the first multiply */
};

struct gpu_block {
    void *p;
    size_t bytes;
};

/* memory.c: all allocations with their sizes, since the runtime does not report them. */
struct gpu_ledger {
    pthread_mutex_t lock;
    struct gpu_block *blocks;
    size_t count, room;
    size_t used, peak; /* bytes */
};

struct gpu_gemms;       /* gemm_cache.c */
struct gpu_blas;        /* the vendor's blas.c */
struct gpu_collectives; /* collectives.c */
struct gpu_monitor;     /* the vendor's usage.c */

struct gpu {
    int device;
    char name[96];       /* "NVIDIA H200" */
    char arch[32];       /* "sm_90", "gfx942" */
    int units;           /* multiprocessors, compute units */
    int wave;            /* lanes of a warp or wavefront */
    size_t shared_bytes; /* shared memory available to a block */
    bool has[TT_PRECISIONS];
    bool fp8_fnuz;              /* the chip's 8-bit numbers are FNUZ, not OCP */
    bool fp8_rows;              /* the library multiplies 8-bit factors with a scale per row; set by tt_blas_open */
    bool asks_units;            /* the library can be asked for algorithms for some units; set by tt_blas_open */
    bool tf32;                  /* fp32 matrices are multiplied in tf32 */
    bool tf32_as_fp32;          /* if there is no tf32, a request for it is accepted and gets fp32 */
    char arithmetic[60];        /* for tt info: "fp32 as tf32", "fp32 in place of tf32, ..."; or "" */
    bool portable;              /* --kernels portable */
    bool crowded;               /* collectives of several ranks run beside the kernels */
    bool sync;                  /* TT_GPU_SYNC=1: wait after every launch, so that an error names its kernel */
    struct tt_stream_s compute; /* the main stream: that of a NULL tt_stream */
    struct gpu_ledger ledger;
    size_t workspace_bytes;    /* per stream */
    struct gemm_scratch spare; /* for the next stream that multiplies, since nothing can be allocated in a capture */
    struct gpu_gemms *gemms;
    struct gpu_blas *blas;
    struct gpu_collectives *collectives; /* NULL until join has loaded their library */
    char collectives_name[32];           /* its name and version: "NCCL 2.28.9" */
    void (*leave)(struct gpu *gpu);      /* undoes join; NULL before */
    struct gpu_monitor *monitor;         /* NULL until usage has loaded its library */
};

static inline struct tt_stream_s *gpu_stream_of(struct gpu *gpu, tt_stream s) { return s ? s : &gpu->compute; }
static inline bool gpu_has_type(const struct gpu *gpu, enum tt_dtype type)
{
    return type != TT_BF16 || gpu->has[TT_PREC_BF16];
}

/* Returns from the function with a status when a call of the runtime fails. */
#define CHECK(gpu, call) CHECK_AS_(gpu, call, GPU_TEXT_(call))
#define CHECK_OF(gpu, error, call) CHECK_AS_(gpu, error, GPU_TEXT_(call)) /* for an error that `call` has returned */
#define GPU_TEXT_(...) #__VA_ARGS__
#define CHECK_AS_(gpu, call, text)                                                                                     \
    do {                                                                                                               \
        gpu_rt_error check_ = (call);                                                                                  \
        if (check_ != GPU_RT_SUCCESS) return tt_gpu_failed(gpu, __func__, text, check_);                               \
    } while (0)

/* ---- defined in the vendor's folder ---- */

/* The error of a failed call: the call, the function it is in, the device, what to do. */
tt_status tt_gpu_failed(const struct gpu *gpu, const char *function, const char *expression, gpu_rt_error e);

/* The error when the runtime finds no GPU: why, and what to do. */
tt_status tt_gpu_none(gpu_rt_error e);

/* Why GPUs cannot be used, and what to do; NULL: use the text of the runtime. */
const char *tt_gpu_reason(gpu_rt_error e);

/* Sets name, arch, units, wave, shared_bytes, has, fp8_fnuz and tf32_as_fp32 from gpu->device, which is the current
 * device. */
gpu_rt_error tt_gpu_describe(struct gpu *gpu);

/* "driver for CUDA 13.0, runtime 13.0" */
void tt_gpu_versions(char *out, size_t size);

/* Accepts the precision of a run and sets tf32 and arithmetic, or returns why it cannot. */
tt_status tt_gpu_accept(struct gpu *gpu, enum tt_precision precision);

/* Ranges for the vendor's profiler, when there is a library for them (TT_GPU_MARKS). */
void tt_gpu_range_push(void *self, const char *name);
void tt_gpu_range_pop(void *self);

/* How busy the GPU is, as the vendor's monitoring library says. The library is loaded at the first call. */
tt_status tt_gpu_usage(void *self, struct tt_usage *out);
void tt_gpu_usage_close(struct gpu *gpu);

/* ---- device.c ---- */

/* Makes the GPU the current one and describes it. Failures are TT_NO_DEVICE. */
tt_status tt_gpu_choose(struct gpu *gpu, int device);
tt_status tt_gpu_info(void *self, struct tt_device_info *out);

/* ---- memory.c ---- */

tt_status tt_gpu_alloc(void *self, size_t bytes, void **out);
void tt_gpu_free(void *self, void *p);
tt_status tt_gpu_host_alloc(void *self, size_t bytes, void **out);
void tt_gpu_host_free(void *self, void *p);
tt_status tt_gpu_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s);
tt_status tt_gpu_fill(void *self, void *dst, int byte, size_t bytes, tt_stream s);
void tt_gpu_reset_peak(void *self);

/* Checks that so many bytes could be allocated now. For a library that aborts when it cannot allocate them. */
tt_status tt_gpu_has_room(struct gpu *gpu, size_t bytes);

/* ---- streams.c ---- */

tt_status tt_gpu_stream_create(void *self, tt_stream *out);
void tt_gpu_stream_destroy(void *self, tt_stream s);
tt_status tt_gpu_stream_sync(void *self, tt_stream s);
tt_status tt_gpu_stream_wait(void *self, tt_stream s, tt_event e);
tt_status tt_gpu_event_create(void *self, tt_event *out);
void tt_gpu_event_destroy(void *self, tt_event e);
tt_status tt_gpu_event_record(void *self, tt_event e, tt_stream s);
tt_status tt_gpu_event_query(void *self, tt_event e, bool *done);
tt_status tt_gpu_event_sync(void *self, tt_event e);
tt_status tt_gpu_event_elapsed(void *self, tt_event from, tt_event to, double *seconds);

/* ---- graph.c ---- */

tt_status tt_gpu_graph_begin(void *self, tt_stream s);
tt_status tt_gpu_graph_end(void *self, tt_stream s, tt_graph *out);
tt_status tt_gpu_graph_replay(void *self, tt_graph g, tt_stream s);
void tt_gpu_graph_destroy(void *self, tt_graph g);

/* ---- collectives.c (TT_GPU_COLLECTIVES) ---- */

tt_status tt_gpu_join(void *self, const struct tt_ranks *ranks);
tt_status tt_gpu_collective(void *self, const struct tt_collective *c, tt_stream s);
tt_status tt_gpu_split(void *self, int group);

/* ---- gemm.c ---- */

tt_status tt_gpu_gemm(void *self, const struct tt_gemm *g, tt_stream s);

#endif
