#include "tests/cuda/fake_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/launch.h"

struct fake fake;
static _Thread_local int current; /* a new thread begins on GPU 0, as with CUDA */
static _Thread_local cudaError_t last;

void fake_reset(void)
{
    fake = (struct fake){.devices = 2, .driver = 13000, .runtime = CUDART_VERSION, .error = cudaErrorUnknown};
    current = 0;
    last = cudaSuccess;
}

static bool fails(const char *name)
{
    fake.calls++;
    bool now = fake.calls == fake.fail_at;
    if (fake.fails && !strcmp(fake.fails, name)) now |= ++fake.seen >= fake.fails_from;
    if (now) fake.failed = name;
    return now;
}

/* Every call but those that end something begins with one of these. */
#define RUNTIME()                                                                                                      \
    do {                                                                                                               \
        if (fails(__func__)) return last = fake.error;                                                                 \
    } while (0)
#define WORK() /* of the current device */                                                                             \
    do {                                                                                                               \
        fake.used[current] = true;                                                                                     \
        RUNTIME();                                                                                                     \
    } while (0)
#define BLAS()                                                                                                         \
    do {                                                                                                               \
        if (fails(__func__)) return CUBLAS_STATUS_INTERNAL_ERROR;                                                      \
    } while (0)

static void *make(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) abort();
    fake.live++;
    return p;
}

static cudaError_t unmake(void *p)
{
    if (p) fake.live--;
    free(p);
    return cudaSuccess;
}

/* ---- devices ---- */

cudaError_t cudaDriverGetVersion(int *version) { return *version = fake.driver, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = fake.runtime, cudaSuccess; }

cudaError_t cudaGetDeviceCount(int *count)
{
    RUNTIME();
    *count = fake.devices;
    return last = fake.count;
}

cudaError_t cudaSetDevice(int device)
{
    RUNTIME();
    if (device < 0 || device >= fake.devices) return last = cudaErrorInvalidDevice;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    RUNTIME();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Fake GPU %d", device);
    p->major = 9;
    p->multiProcessorCount = 100;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    (void)device;
    RUNTIME();
    *value = which == cudaDevAttrWarpSize ? 32 : 200 << 10;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    WORK();
    *available = (size_t)1 << 30;
    *total = (size_t)2 << 30;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = last;
    last = cudaSuccess;
    return e;
}

const char *cudaGetErrorName(cudaError_t e)
{
    static _Thread_local char name[32];
    snprintf(name, sizeof name, "cudaError%d", (int)e);
    return name;
}

const char *cudaGetErrorString(cudaError_t e) { return e ? "as the test wants" : "no error"; }

/* ---- memory: that of the host ---- */

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    WORK();
    *out = make(bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    if (!p) WORK(); /* makes the context */
    return unmake(p);
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p) { return unmake(p); }

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s)
{
    (void)kind, (void)s;
    WORK();
    memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t s)
{
    (void)s;
    WORK();
    memset(to, byte, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                              enum cudaMemcpyKind kind, cudaStream_t s)
{
    (void)kind, (void)s;
    WORK();
    for (size_t i = 0; i < rows; i++) memmove((char *)to + i * pitch, (const char *)from + i * from_pitch, width);
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int byte, size_t width, size_t rows, cudaStream_t s)
{
    (void)s;
    WORK();
    for (size_t i = 0; i < rows; i++) memset((char *)to + i * pitch, byte, width);
    return cudaSuccess;
}

/* ---- order ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(1);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s) { return unmake(s); }

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    (void)s;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    (void)s, (void)e, (void)flags;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(1);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e) { return unmake(e); }

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    (void)e, (void)s;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    (void)e;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    (void)e;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    (void)from, (void)to;
    WORK();
    *ms = 1;
    return cudaSuccess;
}

/* ---- graphs ---- */

cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status)
{
    (void)s;
    *status = fake.capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    (void)s, (void)mode;
    WORK();
    fake.capturing = true;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out)
{
    (void)s;
    fake.capturing = false;
    *out = NULL;
    WORK();
    *out = make(1);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)graph, (void)flags;
    WORK();
    *out = make(1);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t s)
{
    (void)graph, (void)s;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t s)
{
    (void)graph, (void)s;
    WORK();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return unmake(graph); }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return unmake(graph); }

/* ---- kernels ---- */

static gpu_error launch(void)
{
    if (fails("kernel")) return (int)(last = fake.error);
    fake.used[current] = true;
    return 0;
}

gpu_error tt_gpu_launch(enum tt_kernel kernel, const void *args, gpu_stream s)
{
    (void)kernel, (void)args, (void)s;
    return launch();
}

gpu_error tt_gpu_launch_native(enum tt_kernel kernel, const void *args, gpu_stream s)
{
    (void)kernel, (void)args, (void)s;
    return launch();
}

const char *tt_gpu_native(void) { return NULL; }

/* ---- cuBLASLt ---- */

static cublasStatus_t give(void **out)
{
    *out = make(1);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t take(void *p)
{
    unmake(p);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusName(cublasStatus_t e) { return e ? "CUBLAS_STATUS_FAKE" : "CUBLAS_STATUS_SUCCESS"; }
const char *cublasLtGetStatusString(cublasStatus_t e) { return e ? "as the test wants" : "success"; }
size_t cublasLtGetVersion(void) { return 120000; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    BLAS();
    return give((void **)out);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lt) { return take(lt); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType_t scale)
{
    (void)compute, (void)scale;
    BLAS();
    return give((void **)out);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return take(d); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t name,
                                              const void *value, size_t size)
{
    (void)d, (void)name, (void)value, (void)size;
    BLAS();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld)
{
    (void)type, (void)rows, (void)cols, (void)ld;
    BLAS();
    return give((void **)out);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return take(l); }

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t name,
                                                const void *value, size_t size)
{
    (void)l, (void)name, (void)value, (void)size;
    BLAS();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    BLAS();
    return give((void **)out);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return take(p); }

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void *value,
                                                    size_t size)
{
    (void)p, (void)name, (void)value, (void)size;
    BLAS();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lt, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t out, cublasLtMatmulPreference_t p, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *returned)
{
    (void)lt, (void)d, (void)a, (void)b, (void)c, (void)out, (void)p;
    BLAS();
    *returned = most < 2 ? most : 2;
    memset(results, 0, (size_t)*returned * sizeof *results);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lt, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,
                                       const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulHeuristicResult_t *result)
{
    (void)lt, (void)d, (void)a, (void)b, (void)c, (void)out, (void)algorithm;
    BLAS();
    memset(result, 0, sizeof *result);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lt, cublasLtMatmulDesc_t d, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb, const void *beta,
                              const void *c, cublasLtMatrixLayout_t lc, void *out, cublasLtMatrixLayout_t lout,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes, cudaStream_t s)
{
    (void)lt, (void)d, (void)alpha, (void)a, (void)la, (void)b, (void)lb, (void)beta, (void)c, (void)lc, (void)out;
    (void)lout, (void)algorithm, (void)workspace, (void)bytes, (void)s;
    BLAS();
    fake.used[current] = true;
    return CUBLAS_STATUS_SUCCESS;
}
