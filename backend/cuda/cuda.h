/* What the files of the CUDA backend share. Host code is C and calls the runtime and cuBLASLt; kernels are in
 * backend/gpu. One thread works through a backend; memory, copies and events may also be used by a loader thread. */
#ifndef TT_CUDA_H
#define TT_CUDA_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "backend/backend.h"

enum { TT_CUDA_FLASH_HEAD = 256 }; /* FLASH_D_MAX of backend/gpu/flash.h */

/* A stream and the scratch of the matrix multiplies on it: two streams must not share one. */
struct tt_stream_s {
    cudaStream_t cuda;
    void *workspace; /* NULL until the first multiply */
};

struct cuda_block {
    void *p;
    size_t bytes;
};

/* memory.c: what is allocated, since CUDA does not say how large an allocation was. */
struct cuda_ledger {
    pthread_mutex_t lock;
    struct cuda_block *blocks;
    size_t count, room;
    size_t used, peak; /* bytes */
};

struct cuda_gemms; /* gemm_cache.c */

struct cuda {
    int device;
    char name[96];   /* "NVIDIA H200" */
    int sm;          /* 90 for compute capability 9.0 */
    int units;       /* multiprocessors */
    bool portable;   /* none of the kernels that only some chips can run */
    bool tf32;       /* fp32 matrices are multiplied in tf32 */
    bool sync;       /* wait after every launch, so that an error names its kernel: TT_CUDA_SYNC=1 */
    struct tt_stream_s compute; /* the stream that NULL means */
    struct cuda_ledger ledger;
    cublasLtHandle_t lt;
    size_t workspace_bytes; /* of each stream that multiplies */
    struct cuda_gemms *gemms;
};

static inline struct tt_stream_s *cuda_stream(struct cuda *cuda, tt_stream s) { return s ? s : &cuda->compute; }

/* ---- errors: error.c ---- */

tt_status tt_cuda_failed(const struct cuda *cuda, const char *function, const char *expression, cudaError_t e);
tt_status tt_cublas_failed(const struct cuda *cuda, const char *function, const char *expression, cublasStatus_t e);

/* Returns from the function with a status when a call of CUDA or of cuBLASLt fails. */
#define CHECK(cuda, call)                                                                                              \
    do {                                                                                                               \
        __typeof__(call) check_ = (call);                                                                              \
        if (check_ != 0)                                                                                               \
            return _Generic(check_, cublasStatus_t: tt_cublas_failed, cudaError_t: tt_cuda_failed)(cuda, __func__,     \
                                                                                                   #call, check_);     \
    } while (0)

/* ---- device.c ---- */

/* Fills device, name, sm and units, and makes the GPU the current one. Failures are TT_NO_DEVICE. */
tt_status tt_cuda_choose(struct cuda *cuda, int device);
tt_status tt_cuda_info(void *self, struct tt_device_info *out);

static inline bool cuda_has_bf16(const struct cuda *cuda) { return cuda->sm >= 80; }
static inline bool cuda_has_type(const struct cuda *cuda, enum tt_dtype type)
{
    return type != TT_BF16 || cuda_has_bf16(cuda);
}

/* peaks.c: published rates by the device's name; zeros when it is not known. */
struct cuda_peaks {
    const char *name;
    double half, tf32, fp32; /* TFLOP/s without sparsity; half is bf16 and fp16 with fp32 sums */
    double bandwidth;        /* GB/s */
};
struct cuda_peaks tt_cuda_peaks(const char *name);

/* ---- memory.c ---- */

tt_status tt_cuda_alloc(void *self, size_t bytes, void **out);
void tt_cuda_free(void *self, void *p);
tt_status tt_cuda_host_alloc(void *self, size_t bytes, void **out);
void tt_cuda_host_free(void *self, void *p);
tt_status tt_cuda_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s);
tt_status tt_cuda_fill(void *self, void *dst, int byte, size_t bytes, tt_stream s);
void tt_cuda_reset_peak(void *self);

/* ---- order.c ---- */

tt_status tt_cuda_stream_create(void *self, tt_stream *out);
void tt_cuda_stream_destroy(void *self, tt_stream s);
tt_status tt_cuda_stream_sync(void *self, tt_stream s);
tt_status tt_cuda_stream_wait(void *self, tt_stream s, tt_event e);
tt_status tt_cuda_event_create(void *self, tt_event *out);
void tt_cuda_event_destroy(void *self, tt_event e);
tt_status tt_cuda_event_record(void *self, tt_event e, tt_stream s);
tt_status tt_cuda_event_query(void *self, tt_event e, bool *done);
tt_status tt_cuda_event_sync(void *self, tt_event e);
tt_status tt_cuda_event_elapsed(void *self, tt_event from, tt_event to, double *seconds);

/* ---- graph.c ---- */

tt_status tt_cuda_graph_begin(void *self, tt_stream s);
tt_status tt_cuda_graph_end(void *self, tt_stream s, tt_graph *out);
tt_status tt_cuda_graph_replay(void *self, tt_graph g, tt_stream s);
void tt_cuda_graph_destroy(void *self, tt_graph g);
bool tt_cuda_capturing(const struct tt_stream_s *s);

/* ---- gemm.c ---- */

tt_status tt_cuda_gemm(void *self, const struct tt_gemm *g, tt_stream s);

#endif
