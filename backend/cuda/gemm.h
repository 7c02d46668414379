/* Matrix multiplies through cuBLASLt, in four files:
 *   gemm.c        the slot of the vtable: row-major onto column-major, products that are empty
 *   gemm_cache.c  one plan (descriptors, layouts, algorithm) per shape, found again by hash, never rebuilt
 *   gemm_tune.c   which of the library's algorithms a new plan gets
 *   gemm_file.c   the text file in which timed choices are kept from run to run
 *
 * Bits: an algorithm is chosen once per shape and run. Without tuning it is the library's first answer, the same in
 * every run on the same GPU, driver and library. With tuning it is the fastest as measured, and a measurement may come
 * out differently next time: runs that must agree to the bit share a cache file, which gives every shape in it the same
 * algorithm again. Algorithms that sum partial products in the order in which blocks happen to finish are never taken.
 */
#ifndef TT_CUDA_GEMM_H
#define TT_CUDA_GEMM_H

#include "backend/cuda/cuda.h"

/* All that the choice of an algorithm depends on. Integers of one size only, so that keys compare as bytes. */
struct gemm_key {
    int64_t m, n, k;
    int64_t batch, stride_a, stride_b, stride_c; /* strides are 0 when batch is 1 */
    int64_t lda, ldb, ldc;
    int64_t trans_a, trans_b;
    int64_t type_in, type_out;                  /* enum tt_dtype */
    int64_t align_a, align_b, align_c, align_d; /* bytes, a power of two */
    int64_t reads_c;                            /* beta is not 0, or there is an addend */
};

struct gemm_plan {
    struct gemm_key key;
    uint64_t hash;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t left, right, out; /* as cuBLASLt sees them: left is our B, right our A */
    cublasLtMatmulAlgo_t algorithm;
};

/* The pointers of one multiply: d = alpha · a · b + beta · c. */
struct gemm_call {
    const void *a, *b, *c;
    void *d;
    float alpha, beta;
    struct tt_stream_s *stream;
};

cublasStatus_t tt_cuda_multiply(struct cuda *cuda, const struct gemm_plan *p, const cublasLtMatmulAlgo_t *algorithm,
                                const struct gemm_call *call);

/* ---- gemm_file.c ---- */

struct gemm_choice {
    char *shape;
    cublasLtMatmulAlgo_t algorithm;
};

struct gemm_file {
    char *path; /* NULL: nothing is kept */
    char device[160];
    struct gemm_choice *choices;
    size_t count, room;
    bool changed;
};

void tt_gemm_file_open(struct gemm_file *f, const char *path, const char *device);
void tt_gemm_file_close(struct gemm_file *f); /* does not save */
bool tt_gemm_file_find(const struct gemm_file *f, const char *shape, cublasLtMatmulAlgo_t *out);
void tt_gemm_file_add(struct gemm_file *f, const char *shape, const cublasLtMatmulAlgo_t *algorithm);
void tt_gemm_file_save(struct gemm_file *f);

/* ---- gemm_cache.c ---- */

struct cuda_gemms {
    enum tt_gemm_tune tune;
    struct gemm_file file;
    struct gemm_plan **slots; /* open addressing; a power of two of them */
    size_t count, room;
};

tt_status tt_cuda_gemms_open(struct cuda *cuda, const struct tt_backend_options *options);
void tt_cuda_gemms_save(struct cuda *cuda); /* the file of choices, when there are new ones */
void tt_cuda_gemms_close(struct cuda *cuda);

/* The plan of a shape; a new one when it is the first of its kind. */
tt_status tt_cuda_gemm_plan(struct cuda *cuda, const struct gemm_key *key, const struct gemm_call *call,
                            struct gemm_plan **out);

/* ---- gemm_tune.c ---- */

/* Sets p->algorithm. */
tt_status tt_cuda_gemm_choose(struct cuda *cuda, struct gemm_plan *p, const struct gemm_call *call);

#endif
