/* hipBLAS as a thin header over cuBLAS, with as much of it as tt calls: for HIP on an NVIDIA GPU, where AMD's library
 * is not built. Values are hipBLAS's own; types of data have the same numbers in both. */
#ifndef TT_TEST_HIPBLAS_H
#define TT_TEST_HIPBLAS_H

#include <cublas_v2.h>
#include <hip/hip_runtime_api.h>
#include <hip/library_types.h>

#define hipblasVersionMajor (CUBLAS_VER_MAJOR)
#define hipblasVersionMinor (CUBLAS_VER_MINOR)
#define hipblasVersionPatch (CUBLAS_VER_PATCH)

typedef cublasHandle_t hipblasHandle_t;

typedef enum {
    HIPBLAS_STATUS_SUCCESS,
    HIPBLAS_STATUS_NOT_INITIALIZED,
    HIPBLAS_STATUS_ALLOC_FAILED,
    HIPBLAS_STATUS_INVALID_VALUE,
    HIPBLAS_STATUS_MAPPING_ERROR,
    HIPBLAS_STATUS_EXECUTION_FAILED,
    HIPBLAS_STATUS_INTERNAL_ERROR,
    HIPBLAS_STATUS_NOT_SUPPORTED,
    HIPBLAS_STATUS_ARCH_MISMATCH,
    HIPBLAS_STATUS_HANDLE_IS_NULLPTR,
    HIPBLAS_STATUS_INVALID_ENUM,
    HIPBLAS_STATUS_UNKNOWN,
} hipblasStatus_t;
typedef enum { HIPBLAS_OP_N = 111, HIPBLAS_OP_T = 112 } hipblasOperation_t;
typedef enum { HIPBLAS_COMPUTE_32F = 2, HIPBLAS_COMPUTE_32F_FAST_TF32 = 6 } hipblasComputeType_t;
typedef enum { HIPBLAS_GEMM_DEFAULT = 160 } hipblasGemmAlgo_t;
typedef enum { HIPBLAS_ATOMICS_NOT_ALLOWED, HIPBLAS_ATOMICS_ALLOWED } hipblasAtomicsMode_t;
typedef enum { HIPBLAS_DEFAULT_MATH, HIPBLAS_XF32_XDL_MATH } hipblasMath_t;

static inline hipblasStatus_t hipblas_status(cublasStatus_t s)
{
    switch (s) {
    case CUBLAS_STATUS_SUCCESS: return HIPBLAS_STATUS_SUCCESS;
    case CUBLAS_STATUS_NOT_INITIALIZED: return HIPBLAS_STATUS_NOT_INITIALIZED;
    case CUBLAS_STATUS_ALLOC_FAILED: return HIPBLAS_STATUS_ALLOC_FAILED;
    case CUBLAS_STATUS_INVALID_VALUE: return HIPBLAS_STATUS_INVALID_VALUE;
    case CUBLAS_STATUS_MAPPING_ERROR: return HIPBLAS_STATUS_MAPPING_ERROR;
    case CUBLAS_STATUS_EXECUTION_FAILED: return HIPBLAS_STATUS_EXECUTION_FAILED;
    case CUBLAS_STATUS_INTERNAL_ERROR: return HIPBLAS_STATUS_INTERNAL_ERROR;
    case CUBLAS_STATUS_NOT_SUPPORTED: return HIPBLAS_STATUS_NOT_SUPPORTED;
    case CUBLAS_STATUS_ARCH_MISMATCH: return HIPBLAS_STATUS_ARCH_MISMATCH;
    default: return HIPBLAS_STATUS_UNKNOWN;
    }
}

static inline const char *hipblasStatusToString(hipblasStatus_t s)
{
    static const char *names[] = {"success",           "not initialized", "allocation failed", "invalid value",
                                  "mapping error",     "execution failed", "internal error",   "not supported",
                                  "architecture mismatch"};
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "unknown";
}

static inline cublasOperation_t hipblas_op(hipblasOperation_t op)
{
    return op == HIPBLAS_OP_T ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static inline hipblasStatus_t hipblasCreate(hipblasHandle_t *h) { return hipblas_status(cublasCreate(h)); }
static inline hipblasStatus_t hipblasDestroy(hipblasHandle_t h) { return hipblas_status(cublasDestroy(h)); }
static inline hipblasStatus_t hipblasSetStream(hipblasHandle_t h, hipStream_t s)
{
    return hipblas_status(cublasSetStream(h, s));
}
static inline hipblasStatus_t hipblasSetAtomicsMode(hipblasHandle_t h, hipblasAtomicsMode_t mode)
{
    return hipblas_status(cublasSetAtomicsMode(h, mode ? CUBLAS_ATOMICS_ALLOWED : CUBLAS_ATOMICS_NOT_ALLOWED));
}
static inline hipblasStatus_t hipblasSetMathMode(hipblasHandle_t h, hipblasMath_t mode)
{
    return hipblas_status(cublasSetMathMode(h, mode ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
}

static inline hipblasStatus_t
hipblasGemmStridedBatchedEx(hipblasHandle_t h, hipblasOperation_t op_a, hipblasOperation_t op_b, int m, int n, int k,
                            const void *alpha, const void *a, hipDataType type_a, int lda, long long stride_a,
                            const void *b, hipDataType type_b, int ldb, long long stride_b, const void *beta, void *c,
                            hipDataType type_c, int ldc, long long stride_c, int batch, hipblasComputeType_t compute,
                            hipblasGemmAlgo_t algorithm)
{
    (void)algorithm;
    return hipblas_status(cublasGemmStridedBatchedEx(
        h, hipblas_op(op_a), hipblas_op(op_b), m, n, k, alpha, a, (cudaDataType)type_a, lda, stride_a, b,
        (cudaDataType)type_b, ldb, stride_b, beta, c, (cudaDataType)type_c, ldc, stride_c, batch,
        compute == HIPBLAS_COMPUTE_32F_FAST_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT));
}

#endif
