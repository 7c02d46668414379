/* The vendor-neutral names of the host code in backend/gpu, for the HIP runtime. Most are macros, so that a failure is
 * reported with HIP's name of the call. */
#ifndef TT_GPU_RUNTIME_H
#define TT_GPU_RUNTIME_H

#include <hip/hip_runtime_api.h>

#include "backend/backend.h"

#define GPU_RT_BACKEND "hip"
#define GPU_RT_NAME "HIP"
#ifdef __HIP_PLATFORM_NVIDIA__
#define GPU_RT_MAKER "NVIDIA"
#define GPU_RT_MONITOR "nvidia-smi"
#else
#define GPU_RT_MAKER "AMD"
#define GPU_RT_MONITOR "rocm-smi or amd-smi" /* shows who uses the GPU */
#endif

typedef hipError_t gpu_rt_error;
typedef hipStream_t gpu_rt_stream;
typedef hipEvent_t gpu_rt_event;
typedef hipGraphExec_t gpu_rt_graph;

/* ---- errors ---- */

#define GPU_RT_SUCCESS hipSuccess
#define GPU_RT_OUT_OF_MEMORY hipErrorOutOfMemory
#define GPU_RT_NOT_READY hipErrorNotReady
#define GPU_RT_BAD_HANDLE hipErrorInvalidHandle
#define GPU_RT_NO_DEVICE hipErrorNoDevice
#define GPU_RT_BUSY hipErrorContextAlreadyInUse

#define gpu_rt_error_text hipGetErrorString
#define gpu_rt_error_name hipGetErrorName
static inline void gpu_rt_clear_error(void) { (void)hipGetLastError(); }

/* ---- devices and memory ---- */

#define gpu_rt_device_count hipGetDeviceCount
#define gpu_rt_set_device hipSetDevice
#define gpu_rt_memory_info hipMemGetInfo
#define gpu_rt_malloc hipMalloc
#define gpu_rt_free hipFree
#define gpu_rt_host_alloc(out, bytes) hipHostMalloc(out, bytes, hipHostMallocDefault)
#define gpu_rt_host_free hipHostFree

static inline hipMemcpyKind gpu_rt_kind(enum tt_direction d)
{
    return d == TT_TO_DEVICE ? hipMemcpyHostToDevice
           : d == TT_TO_HOST ? hipMemcpyDeviceToHost
                             : hipMemcpyDeviceToDevice;
}
#define gpu_rt_copy(to, from, bytes, direction, s) hipMemcpyAsync(to, from, bytes, gpu_rt_kind(direction), s)
#define gpu_rt_fill hipMemsetAsync
/* rows of `width` bytes with a stride of `pitch` bytes */
#define gpu_rt_fill_rows(to, pitch, byte, width, rows, s) hipMemset2DAsync(to, pitch, byte, width, rows, s)

/* ---- streams, which do not synchronise with the legacy stream, and events with times ---- */

#define gpu_rt_stream_create(out) hipStreamCreateWithFlags(out, hipStreamNonBlocking)
#define gpu_rt_stream_destroy hipStreamDestroy
#define gpu_rt_stream_sync hipStreamSynchronize
#define gpu_rt_stream_wait(s, e) hipStreamWaitEvent(s, e, 0)
#define gpu_rt_event_create(out) hipEventCreateWithFlags(out, hipEventDefault)
#define gpu_rt_event_destroy hipEventDestroy
#define gpu_rt_event_record hipEventRecord
#define gpu_rt_event_query hipEventQuery
#define gpu_rt_event_sync hipEventSynchronize
#define gpu_rt_event_elapsed hipEventElapsedTime

/* ---- graphs ---- */

static inline bool gpu_rt_capturing(gpu_rt_stream s)
{
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    return hipStreamIsCapturing(s, &status) == hipSuccess && status != hipStreamCaptureStatusNone;
}

/* Relaxed mode: during the capture a library may load kernels or allocate, and loader threads may copy. */
#define gpu_rt_capture_begin(s) hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed)

typedef hipGraph_t gpu_rt_capture; /* the captured graph, before it is instantiated */
#define gpu_rt_capture_end hipStreamEndCapture
#define gpu_rt_capture_destroy hipGraphDestroy
#define gpu_rt_graph_create(out, capture) hipGraphInstantiate(out, capture, NULL, NULL, 0)
#define gpu_rt_graph_upload hipGraphUpload
#define gpu_rt_graph_launch hipGraphLaunch
#define gpu_rt_graph_destroy hipGraphExecDestroy

#endif
