/* The fake CUDA runtime and cuBLASLt behind tests/backend/gpu/fake.h. */
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#define RT(name) cuda##name
#define RT_ENUM(name) enum cuda##name
#define FAKE_RUNTIME CUDART_VERSION
#define FAKE_ERROR cudaErrorUnknown
#include "tests/backend/gpu/fake_runtime.h"

/* ---- what differs from HIP ---- */

cudaError_t cudaDriverGetVersion(int *version) { return *version = fake.driver, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = fake.runtime, cudaSuccess; }

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

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p) { return unmake(p); }

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)graph, (void)flags;
    WORK();
    *out = make(1);
    return cudaSuccess;
}

/* ---- cuBLASLt ---- */

#define BLAS()                                                                                                         \
    do {                                                                                                               \
        if (fails(__func__)) return CUBLAS_STATUS_INTERNAL_ERROR;                                                      \
    } while (0)

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
size_t fake_cublaslt = 130100; /* its version */
size_t cublasLtGetVersion(void) { return fake_cublaslt; }

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
    (void)d, (void)alpha, (void)a, (void)la, (void)b, (void)lb, (void)beta, (void)c, (void)lc, (void)out;
    (void)lout, (void)algorithm, (void)bytes;
    BLAS();
    fake.products[fake.multiplied++ % FAKE_PRODUCTS] = (struct fake_product){lt, workspace, s};
    fake.used[current] = true;
    return CUBLAS_STATUS_SUCCESS;
}

#ifdef TT_GPU_COLLECTIVES
#include "tests/backend/gpu/fake_collectives.h"
#endif
