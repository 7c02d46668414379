/* The types of cuBLASLt that a header of ours names, and no more. */
#include <stdint.h>

typedef void *cublasLtHandle_t, *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t;
typedef int cublasStatus_t;
typedef struct {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;
