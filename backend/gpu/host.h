/* What the host files of a GPU backend share: C, in neutral names. gpu_runtime.h comes from the backend's own folder
 * (backend/cuda or backend/hip) and says what they mean there; kernels are launched through launch.h. One thread works
 * through a backend; memory, copies and events may also be used by a loader thread, which begins on GPU 0: before it is
 * given the right one, any call would take memory there. */
#ifndef TT_GPU_HOST_H
#define TT_GPU_HOST_H

#include "gpu_runtime.h"

#include <pthread.h>

#include "backend/backend.h"

/* What a stream multiplies with: memory for partial sums, and what the library keeps for one stream alone. Streams
 * multiply at the same time, so no two may share it. */
struct gemm_scratch {
    void *workspace;
    void *handles; /* of the vendor's blas.c; NULL when its library keeps nothing for a stream */
};

struct tt_stream_s {
    gpu_rt_stream rt;
    struct gemm_scratch scratch; /* without a workspace until the first multiply */
};

struct gpu_block {
    void *p;
    size_t bytes;
};

/* memory.c: what is allocated, since the runtime does not say how large an allocation was. */
struct gpu_ledger {
    pthread_mutex_t lock;
    struct gpu_block *blocks;
    size_t count, room;
    size_t used, peak; /* bytes */
};

struct gpu_gemms;       /* gemm_cache.c */
struct gpu_blas;        /* the vendor's blas.c */
struct gpu_collectives; /* collectives.c */

struct gpu {
    int device;
    char name[96];       /* "NVIDIA H200" */
    char arch[32];       /* "sm_90", "gfx942" */
    int units;           /* multiprocessors, compute units */
    int wave;            /* lanes */
    size_t shared_bytes; /* that a block may ask for */
    bool has[TT_PRECISIONS];
    bool tf32;                  /* fp32 matrices are multiplied in tf32 */
    bool tf32_as_fp32;          /* tf32 may be asked for where it is not had */
    char arithmetic[60];        /* what was made of the precision asked for, when that is worth saying */
    bool portable;              /* no kernels of this chip alone */
    bool sync;                  /* wait after every launch, so that an error names its kernel: TT_GPU_SYNC=1 */
    struct tt_stream_s compute; /* the stream that NULL means */
    struct gpu_ledger ledger;
    size_t workspace_bytes;    /* of each stream that multiplies */
    struct gemm_scratch spare; /* for the next one, which may be in a capture, where nothing can be allocated */
    struct gpu_gemms *gemms;
    struct gpu_blas *blas;
    struct gpu_collectives *collectives; /* NULL until join has loaded their library */
    char carrier[32];                    /* its name and version then */
    void (*leave)(struct gpu *gpu);      /* what join has to be followed by; NULL before */
};

static inline struct tt_stream_s *gpu_stream_of(struct gpu *gpu, tt_stream s) { return s ? s : &gpu->compute; }
static inline bool gpu_has_type(const struct gpu *gpu, enum tt_dtype type)
{
    return type != TT_BF16 || gpu->has[TT_PREC_BF16];
}

/* Returns from the function with a status when a call of the runtime fails. */
#define CHECK(gpu, call) CHECK_AS_(gpu, call, GPU_TEXT_(call))
#define CHECK_OF(gpu, error, call) CHECK_AS_(gpu, error, GPU_TEXT_(call)) /* what the call answered before */
#define GPU_TEXT_(...) #__VA_ARGS__
#define CHECK_AS_(gpu, call, text)                                                                                     \
    do {                                                                                                               \
        gpu_rt_error check_ = (call);                                                                                  \
        if (check_ != GPU_RT_SUCCESS) return tt_gpu_failed(gpu, __func__, text, check_);                               \
    } while (0)

/* ---- what the vendor's folder supplies ---- */

/* A failed call as one line: the call, the place, the device, what to do. */
tt_status tt_gpu_failed(const struct gpu *gpu, const char *function, const char *expression, gpu_rt_error e);

/* The runtime finds no GPU: why, and what to do. */
tt_status tt_gpu_none(gpu_rt_error e);

/* Why GPUs cannot be used, and what to do; NULL when the runtime's own words must do. */
const char *tt_gpu_reason(gpu_rt_error e);

/* Fills name, arch, units, wave, shared_bytes and has of gpu->device, which is the current one. */
gpu_rt_error tt_gpu_describe(struct gpu *gpu);

/* "driver for CUDA 13.0, runtime 13.0" */
void tt_gpu_versions(char *out, size_t size);

/* Takes the precision of a run, or says why not: sets tf32, tf32_as_fp32 and arithmetic. */
tt_status tt_gpu_accept(struct gpu *gpu, enum tt_precision precision);

/* Ranges for the vendor's profiler, when there is a library for them (TT_GPU_MARKS). */
void tt_gpu_range_push(void *self, const char *name);
void tt_gpu_range_pop(void *self);

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

/* Could so much be allocated now? For a library that ends the program when it cannot. */
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
