/* Matrix multiplies through the vendor's library, in seven files:
 *   gemm.c          the function of the vtable: row-major to column-major, empty products
 *   gemm_scratch.c  workspace and handles of each stream
 *   gemm_cache.c    one plan (descriptors, algorithm) per shape, in a hash table
 *   gemm_tune.c     which of the library's algorithms a new plan gets
 *   gemm_with.c     products with an epilogue (tt_gemm.with): in the same kernel, or in a kernel after the product
 *   gemm_file.c     the text file that keeps timed choices from run to run
 *   blas.c          in the vendor's folder: the library itself, behind the tt_blas_ functions below
 *
 * Reproducibility: an algorithm is chosen once per shape and run. Without tuning it is the library's first proposal,
 * the same in every run on the same GPU, driver and library. With tuning it is the fastest as measured, which may
 * differ from run to run; runs that must agree to the bit share a cache file, which gives every shape the same
 * algorithm again. Algorithms that add partial products in no fixed order are excluded: cuBLASLt and hipBLAS have a
 * setting for that. hipBLASLt has none, so there only test_curve and test_train would notice. */
#ifndef TT_GPU_GEMM_H
#define TT_GPU_GEMM_H

#include "backend/gpu/host.h"

/* Everything that the choice of an algorithm depends on. All int64_t, so that there is no padding and memcmp works. */
struct gemm_key {
    int64_t m, n, k;
    int64_t batch, stride_a, stride_b, stride_c; /* strides are 0 when batch is 1 */
    int64_t lda, ldb, ldc;
    int64_t trans_a, trans_b;
    int64_t type_a, type_b, type_out;           /* enum tt_dtype */
    int64_t align_a, align_b, align_c, align_d; /* bytes, a power of two */
    int64_t reads_c;                            /* beta is not 0 */
    int64_t with;                               /* enum tt_gemm_with */
    int64_t row_scales;
    int64_t units;                              /* multiprocessors that the library is asked to use; 0: all */
};

/* An algorithm of the library, as opaque bytes; unused ones are 0. */
struct gemm_algorithm {
    _Alignas(8) unsigned char bytes[64];
};

struct gemm_plan {
    struct gemm_key key;
    uint64_t hash;
    struct gemm_algorithm algorithm;
    void *library; /* descriptors of blas.c */
};

/* The arguments of one multiply: d = alpha · a · b + beta · c. d is c, except with tt_gemm.from and while algorithms
 * are timed. */
struct gemm_call {
    const void *a, *b, *c;
    void *d;
    float alpha, beta;
    struct tt_stream_s *stream;
    const struct tt_gemm *product; /* the product that was asked for */
    void *also;                    /* product->also, except while candidates are timed */
};

/* ---- blas.c of the vendor ---- */

size_t tt_blas_workspace(const struct gpu *gpu); /* bytes of workspace per stream */
tt_status tt_blas_open(struct gpu *gpu);         /* also the handles of gpu->compute, which has a workspace already */
void tt_blas_close(struct gpu *gpu);             /* also after a failed open */
tt_status tt_blas_handles_open(struct gpu *gpu, void **out); /* the library's handles for one more stream, or NULL */
void tt_blas_handles_close(void *handles);                   /* may be NULL */
void tt_blas_name(const struct gpu *gpu, char *out, size_t size); /* "cuBLASLt 13.1.0" */

tt_status tt_blas_plan(struct gpu *gpu, struct gemm_plan *p); /* sets p->library from p->key */
void tt_blas_plan_free(struct gemm_plan *p);

/* Up to `most` algorithms that fit the workspace and add in a fixed order, the most promising first. Finding none is
 * not an error; tt_blas_no_algorithm is the message for the user. */
tt_status tt_blas_propose(struct gpu *gpu, const struct gemm_plan *p, int most, struct gemm_algorithm *found,
                          int *count);
tt_status tt_blas_no_algorithm(const struct gpu *gpu, const char *shape);
bool tt_blas_takes(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *remembered);
tt_status tt_blas_multiply(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                           const struct gemm_call *call);

/* ---- gemm_with.c: the same for every product, with or without an epilogue ---- */

tt_status tt_gpu_gemm_propose(struct gpu *gpu, const struct gemm_plan *p, int most, struct gemm_algorithm *found,
                              int *count);
bool tt_gpu_gemm_takes(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *remembered);
tt_status tt_gpu_gemm_multiply(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                               const struct gemm_call *call);

/* ---- gemm_scratch.c ---- */

tt_status tt_gpu_scratch_take(struct gpu *gpu, struct tt_stream_s *s);   /* before s multiplies; no-op if it has one */
void tt_gpu_scratch_return(struct gpu *gpu, struct tt_stream_s *s);      /* waits for s, and for gpu->compute */
tt_status tt_gpu_scratch_reserve(struct gpu *gpu); /* a spare, for a stream that first multiplies in a capture */
void tt_gpu_scratch_close(struct gpu *gpu);        /* of gpu->compute, and the spare one */

/* ---- gemm_file.c ---- */

struct gemm_choice {
    char *shape;
    struct gemm_algorithm algorithm;
    bool replaces; /* it replaces a choice in the file that the library no longer takes */
};

struct gemm_file {
    char *path; /* NULL: no file */
    char device[200];
    struct gemm_choice *choices;
    size_t count, room;
    bool changed;
};

void tt_gemm_file_open(struct gemm_file *f, const char *path, const char *device);
void tt_gemm_file_close(struct gemm_file *f); /* does not save */
bool tt_gemm_file_find(const struct gemm_file *f, const char *shape, struct gemm_algorithm *out);
void tt_gemm_file_add(struct gemm_file *f, const char *shape, const struct gemm_algorithm *algorithm);
void tt_gemm_file_save(struct gemm_file *f);

/* ---- gemm.c ---- */

const char *tt_gpu_type_name(int64_t type); /* "bf16", "e4m3" */

/* ---- gemm_cache.c ---- */

struct gpu_gemms {
    enum tt_gemm_tune tune;
    struct gemm_file file;
    struct gemm_plan **slots; /* open addressing; a power of two of them */
    size_t count, room;
};

tt_status tt_gpu_gemms_open(struct gpu *gpu, const struct tt_backend_options *options);
void tt_gpu_gemms_save(struct gpu *gpu); /* saves the file if there are new choices */
void tt_gpu_gemms_close(struct gpu *gpu);

/* The plan of a shape; makes it at the first use. */
tt_status tt_gpu_gemm_plan(struct gpu *gpu, const struct gemm_key *key, const struct gemm_call *call,
                           struct gemm_plan **out);

/* ---- gemm_tune.c ---- */

/* Sets p->algorithm. */
tt_status tt_gpu_gemm_choose(struct gpu *gpu, struct gemm_plan *p, const struct gemm_call *call);

#endif
