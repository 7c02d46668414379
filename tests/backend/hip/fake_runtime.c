/* The fake HIP runtime, hipBLAS and hipBLASLt behind tests/backend/gpu/fake.h. */
#include <hip/hip_runtime_api.h>
#include <hipblas/hipblas.h>

#include "tests/backend/hip/fake_lt.h"

#define RT(name) hip##name
#define RT_ENUM(name) hip##name
#define FAKE_RUNTIME 60443484
#define FAKE_ERROR hipErrorUnknown
#include "tests/backend/gpu/fake_runtime.h"

/* ---- what differs from CUDA ---- */

hipError_t hipRuntimeGetVersion(int *version) { return *version = fake.runtime, hipSuccess; }

hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int device)
{
    RUNTIME();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "Fake GPU %d", device);
    snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s:sramecc+:xnack-", fake.chip ? fake.chip : "gfx942");
    p->multiProcessorCount = 100;
    p->warpSize = 64;
    p->sharedMemPerBlock = 64 << 10;
    return hipSuccess;
}

hipError_t hipHostMalloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(bytes);
    return hipSuccess;
}

hipError_t hipHostFree(void *p) { return unmake(p); }

hipError_t hipGraphInstantiate(hipGraphExec_t *out, hipGraph_t graph, hipGraphNode_t *node, char *log, size_t size)
{
    (void)graph, (void)node, (void)log, (void)size;
    WORK();
    *out = make(1);
    return hipSuccess;
}

/* ---- hipBLAS ---- */

#define BLAS()                                                                                                         \
    do {                                                                                                               \
        if (fails(__func__)) return HIPBLAS_STATUS_INTERNAL_ERROR;                                                     \
    } while (0)

struct fake_blas {
    hipStream_t stream;
};

const char *hipblasStatusToString(hipblasStatus_t e) { return e ? "HIPBLAS_STATUS_FAKE" : "HIPBLAS_STATUS_SUCCESS"; }

hipblasStatus_t hipblasCreate(hipblasHandle_t *out)
{
    BLAS();
    fake.made_in_capture += fake.capturing;
    *out = make(sizeof(struct fake_blas));
    return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasDestroy(hipblasHandle_t h)
{
    unmake(h);
    return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasSetAtomicsMode(hipblasHandle_t h, hipblasAtomicsMode_t mode)
{
    (void)h, (void)mode;
    BLAS();
    return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasSetMathMode(hipblasHandle_t h, hipblasMath_t mode)
{
    (void)h, (void)mode;
    BLAS();
    return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasSetStream(hipblasHandle_t h, hipStream_t s)
{
    BLAS();
    ((struct fake_blas *)h)->stream = s;
    return HIPBLAS_STATUS_SUCCESS;
}

static void note_product(const void *handle, const void *workspace, const void *stream)
{
    fake.used[current] = true;
    fake.products[fake.multiplied++ % FAKE_PRODUCTS] = (struct fake_product){handle, workspace, stream};
}

hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t h, hipblasOperation_t ta, hipblasOperation_t tb, int m,
                                            int n, int k, const void *alpha, const void *a, hipDataType type_a, int lda,
                                            hipblasStride stride_a, const void *b, hipDataType type_b, int ldb,
                                            hipblasStride stride_b, const void *beta, void *c, hipDataType type_c,
                                            int ldc, hipblasStride stride_c, int batch, hipblasComputeType_t compute,
                                            hipblasGemmAlgo_t algorithm)
{
    (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)type_a, (void)lda, (void)stride_a,
        (void)b;
    (void)type_b, (void)ldb, (void)stride_b, (void)beta, (void)c, (void)type_c, (void)ldc, (void)stride_c, (void)batch;
    (void)compute, (void)algorithm;
    if (fails("hipblasGemmStridedBatchedEx")) return HIPBLAS_STATUS_INTERNAL_ERROR; /* its name without _v2 */
    note_product(h, NULL, ((struct fake_blas *)h)->stream);
    return HIPBLAS_STATUS_SUCCESS;
}

/* ---- hipBLASLt, as blaslt.cpp wraps it ---- */

struct fake_lt fake_lt;

int tt_lt_open(void **lt)
{
    if (fails("hipblasLtCreate")) return HIPBLAS_STATUS_INTERNAL_ERROR;
    fake.made_in_capture += fake.capturing;
    *lt = make(1);
    return 0;
}

void tt_lt_close(void *lt) { unmake(lt); }
int tt_lt_version(void *lt) { return (void)lt, 100100; }

int tt_lt_plan(const struct lt_shape *shape, void **plan)
{
    *plan = NULL;
    BLAS();
    *plan = make(sizeof *shape);
    memcpy(*plan, shape, sizeof *shape);
    return 0;
}

void tt_lt_plan_free(void *plan) { unmake(plan); }

int tt_lt_propose(void *lt, const void *plan, size_t workspace_bytes, int most, unsigned char (*found)[LT_ALGORITHM],
                  int *count)
{
    const struct lt_shape *shape = plan;
    (void)lt, (void)workspace_bytes;
    *count = 0;
    BLAS();
    bool lacks = (fake_lt.no_fp8 && shape->scaled) || (fake_lt.no_rows && shape->row_scales);
    *count = lacks ? 0 : most < 2 ? most : 2;
    memset(found, 0, (size_t)*count * sizeof *found);
    return 0;
}

int tt_lt_multiply(void *lt, const void *plan, const unsigned char algorithm[LT_ALGORITHM], const struct lt_call *call)
{
    (void)algorithm;
    BLAS();
    fake_lt.shape = *(const struct lt_shape *)plan;
    fake_lt.call = *call;
    note_product(lt, call->workspace, call->stream);
    return 0;
}

#ifdef TT_GPU_COLLECTIVES
#include "tests/backend/gpu/fake_collectives.h"
#endif
