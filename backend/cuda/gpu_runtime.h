/* The vendor-neutral names of the host code in backend/gpu, for the CUDA runtime. Most are macros, so that a failure is
 * reported with CUDA's name of the call. */
#ifndef TT_GPU_RUNTIME_H
#define TT_GPU_RUNTIME_H

#include <cuda_runtime_api.h>

#include "backend/backend.h"

#define GPU_RT_BACKEND "cuda"
#define GPU_RT_NAME "CUDA"
#define GPU_RT_MONITOR "nvidia-smi" /* shows who uses the GPU */

typedef cudaError_t gpu_rt_error;
typedef cudaStream_t gpu_rt_stream;
typedef cudaEvent_t gpu_rt_event;
typedef cudaGraphExec_t gpu_rt_graph;

/* ---- errors ---- */

#define GPU_RT_SUCCESS cudaSuccess
#define GPU_RT_OUT_OF_MEMORY cudaErrorMemoryAllocation
#define GPU_RT_NOT_READY cudaErrorNotReady
#define GPU_RT_BAD_HANDLE cudaErrorInvalidResourceHandle
#define GPU_RT_NO_DEVICE cudaErrorNoDevice
#define GPU_RT_BUSY cudaErrorDevicesUnavailable

#define gpu_rt_error_text cudaGetErrorString
#define gpu_rt_error_name cudaGetErrorName
static inline void gpu_rt_clear_error(void) { (void)cudaGetLastError(); }

/* ---- devices and memory ---- */

#define gpu_rt_device_count cudaGetDeviceCount
#define gpu_rt_set_device cudaSetDevice
#define gpu_rt_memory_info cudaMemGetInfo
#define gpu_rt_malloc cudaMalloc
#define gpu_rt_free cudaFree
#define gpu_rt_host_alloc(out, bytes) cudaHostAlloc(out, bytes, cudaHostAllocDefault)
#define gpu_rt_host_free cudaFreeHost

static inline enum cudaMemcpyKind gpu_rt_kind(enum tt_direction d)
{
    return d == TT_TO_DEVICE ? cudaMemcpyHostToDevice
           : d == TT_TO_HOST ? cudaMemcpyDeviceToHost
                             : cudaMemcpyDeviceToDevice;
}
#define gpu_rt_copy(to, from, bytes, direction, s) cudaMemcpyAsync(to, from, bytes, gpu_rt_kind(direction), s)
#define gpu_rt_fill cudaMemsetAsync
/* rows of `width` bytes with a stride of `pitch` bytes */
#define gpu_rt_fill_rows(to, pitch, byte, width, rows, s) cudaMemset2DAsync(to, pitch, byte, width, rows, s)

/* ---- streams, which do not synchronise with the legacy stream, and events with times ---- */

#define gpu_rt_stream_create(out) cudaStreamCreateWithFlags(out, cudaStreamNonBlocking)
#define gpu_rt_stream_destroy cudaStreamDestroy
#define gpu_rt_stream_sync cudaStreamSynchronize
#define gpu_rt_stream_wait(s, e) cudaStreamWaitEvent(s, e, 0)
#define gpu_rt_event_create(out) cudaEventCreateWithFlags(out, cudaEventDefault)
#define gpu_rt_event_destroy cudaEventDestroy
#define gpu_rt_event_record cudaEventRecord
#define gpu_rt_event_query cudaEventQuery
#define gpu_rt_event_sync cudaEventSynchronize
#define gpu_rt_event_elapsed cudaEventElapsedTime

/* ---- graphs ---- */

static inline bool gpu_rt_capturing(gpu_rt_stream s)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return !cudaStreamIsCapturing(s, &status) && status != cudaStreamCaptureStatusNone;
}

/* Relaxed mode: during the capture a library may load kernels or allocate, and loader threads may copy. */
#define gpu_rt_capture_begin(s) cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed)

typedef cudaGraph_t gpu_rt_capture; /* the captured graph, before it is instantiated */
#define gpu_rt_capture_end cudaStreamEndCapture
#define gpu_rt_capture_destroy cudaGraphDestroy
#define gpu_rt_graph_create(out, capture) cudaGraphInstantiate(out, capture, 0)
#define gpu_rt_graph_upload cudaGraphUpload
#define gpu_rt_graph_launch cudaGraphLaunch
#define gpu_rt_graph_destroy cudaGraphExecDestroy

#endif
