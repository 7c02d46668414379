/* The interface to a device.
 *
 * A backend is {ops, self}. One backend is compiled in (-DBACKEND=cpu|cuda|hip) and opened with tt_backend_open().
 * Work is enqueued on streams and runs in stream order; only stream_sync, event_sync and event_elapsed wait for it.
 * Functions marked optional are NULL on a device that does not support them. */
#ifndef TT_BACKEND_H
#define TT_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/kernels.h"
#include "core/base/status.h"

/* Alignment in bytes of every device allocation and of every buffer in a plan's arena. */
enum { TT_ALIGN = 256 };

enum tt_direction { TT_TO_DEVICE, TT_TO_HOST, TT_ON_DEVICE };

/* The epilogue of a product: what it computes before it stores, on devices whose info has product_epilogues. C is
 * dense, the batch is 1, alpha is 1 and beta is 0. The result is that of the plain product followed by the named
 * kernel, except for the rounding in between. */
enum tt_gemm_with {
    TT_WITH_NOTHING,
    TT_WITH_SWIGLU,          /* swiglu: gu = c, h = also */
    TT_WITH_SWIGLU_BACKWARD, /* swiglu_backward: gu = dgu = also, dh = h = c */
    TT_WITH_ROPE,            /* rope: c = q|k|v */
    TT_WITH_EXP,             /* see tt_gemm_exp; no kernel does the same after a product */
};

/* For TT_WITH_ROPE: as in tt_rope_args. */
struct tt_gemm_rope {
    const float *cos, *sin;
    int64_t S, heads, kv_heads, D;
};

/* For TT_WITH_EXP, in bf16, with n and k multiples of 64, A and trans B dense: C[r,c] = exp(product[r,c] - shift[r]),
 * at most 2^110. sums[p,r] is the sum of row r over the TT_EXP_COLS columns from p·TT_EXP_COLS on, before rounding. */
enum { TT_EXP_COLS = 128 };
#define TT_EXP_PARTS(n) (((n) + TT_EXP_COLS - 1) / TT_EXP_COLS)
struct tt_gemm_exp {
    const float *shift; /* (m) */
    float *sums;        /* (TT_EXP_PARTS(n), m) */
};

/* C[m,n] = alpha · op(A)[m,k] · op(B)[k,n] + beta · C, all row-major, ld* in elements between rows.
 * With trans_a, A is stored [k,m]; with trans_b, B is stored [n,k]. Batch i uses a + i·stride_a and so on.
 * With `from`, beta multiplies that matrix instead of C. It has the same ld and stride as C, and C is only written;
 * then k > 0.
 *
 * On devices that have TT_PREC_FP8, A and B may be 8-bit (core/base/fp8.h). Then
 *   - both are 8-bit, in the variant of the device (FNUZ if its info has fp8_fnuz, else OCP), and not both E5M2;
 *   - each has a scale, whose address is a multiple of 16;
 *   - trans_b is set and trans_a is not, so that the stored rows of both run along k;
 *   - the batch is 1, and m, n, k and ld* are multiples of 16.
 * With row_scales, on devices whose info has fp8_rows, both are E4M3 and each row of A and of B as stored has its own
 * scale. */
struct tt_gemm {
    const void *a, *b;
    const void *from; /* NULL: C itself */
    void *c;
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    int64_t batch, stride_a, stride_b, stride_c;
    float alpha, beta;
    bool trans_a, trans_b;
    enum tt_dtype type_a, type_b, type_c;
    int units; /* multiprocessors that it should use, since other kernels run at the same time; 0: all */
    enum tt_gemm_with with;
    void *also; /* the second matrix of SwiGLU's epilogues */
    struct tt_gemm_rope rope;
    struct tt_gemm_exp exp;
    const float *scale_a, *scale_b; /* of 8-bit A and B, on the device: a code means its number times the scale */
    bool row_scales;                /* scale_a is (m) and scale_b is (n), one per row; else one scale each */
};

/* Collectives over `count` elements of `type`. A buffer that is split has one part per rank, of equal size and in rank
 * order; then `count` must be a multiple of the number of ranks. Results are deterministic for a given number of ranks,
 * and after all-reduce and all-gather the same to the bit on every rank. */
enum tt_collective_kind {
    TT_ALL_REDUCE,     /* to = the sum of `from` over all ranks; in place only: from == to */
    TT_REDUCE_SCATTER, /* to (one part) = the sum over all ranks of this rank's part of `from`; `to` may be that part of
                          `from`, whose other parts are not changed */
    TT_ALL_GATHER,     /* to = the `from` (one part) of every rank; `from` may be this rank's part of `to` */
    TT_COLLECTIVES
};

struct tt_collective {
    enum tt_collective_kind kind;
    const void *from;
    void *to;
    int64_t count; /* elements of all parts together */
    enum tt_dtype type;
    int ranks; /* number of ranks */
};

struct tt_device_info {
    char name[128];       /* "Neoverse-N1, 2 threads", "NVIDIA H200" */
    char arch[32];        /* "aarch64", "sm_90", "gfx942" */
    char library[128];    /* GEMM library: "OpenBLAS 0.3.21", "cuBLASLt 13.0" */
    char collectives[64]; /* library of collectives: "Open MPI 4.1.4", "NCCL 2.28.9" (after join); "": none */
    char versions[128];   /* of driver, runtime and system, for reports: "driver for CUDA 13.0, runtime 13.0" */
    char kernels[64];     /* "native (flash, products: sm_90a), else portable"; "": there is only one set */
    bool shares_memory;   /* the host can read and write device memory in place */
    int wave_width;       /* threads of a warp or wavefront; 1 on a CPU */
    int units;            /* cores, SMs, CUs */
    size_t shared_bytes;  /* shared memory (LDS) available to a block; 0 on a CPU */
    bool product_epilogues; /* its 16-bit products compute epilogues without a pass of their own (tt_gemm.with), and
                               add another matrix than C for less than a pass (tt_gemm.from) */
    int flash_head;       /* largest head dimension of its flash attention; 0 = any */
    size_t memory_total, memory_free;
    size_t memory_used, memory_peak; /* allocated through this backend; the peak since opening or reset_peak */
    double peak_flops[TT_DTYPES];    /* published FLOP/s of a matrix multiply by type; 0 when unknown */
    double peak_fp8;                 /* the same with 8-bit factors */
    double peak_bandwidth;           /* published bytes/s; 0 when unknown */
    bool has[TT_PRECISIONS];         /* which precisions are supported */
    bool fp8_fnuz;                   /* its 8-bit numbers are FNUZ, not OCP (core/base/fp8.h) */
    bool fp8_rows;                   /* its 8-bit products take a scale per row (tt_gemm.row_scales) */
    bool tf32_as_fp32;               /* if it has no tf32, a request for it gets fp32, and `library` says so */
};

/* How much of a device is in use, by all programs. */
struct tt_usage {
    double busy;                      /* share of the last second or less in which it computed: 0 to 1 */
    double memory_used, memory_total; /* bytes; 0: not known */
    int others;                       /* programs besides this one that have the device open; 0 also if not known */
    char source[32];                  /* who says so: "NVML", "rocm-smi", "getrusage" */
};

typedef struct tt_stream_s *tt_stream; /* NULL is the main stream */
typedef struct tt_event_s *tt_event;
typedef struct tt_graph_s *tt_graph;

/* The ranks of a job, for the collectives of a device. `share` broadcasts rank 0's bytes; all ranks call it with the
 * same size. */
struct tt_ranks {
    int rank, count;
    tt_status (*share)(void *user, void *bytes, size_t size);
    void *user;
};

struct tt_backend_ops {
    const char *name; /* "cpu", "cuda", "hip" */

    /* device */
    void (*close)(void *self);
    tt_status (*info)(void *self, struct tt_device_info *out);
    void (*reset_peak)(void *self);

    /* memory: alloc returns TT_ALIGN-aligned device memory with undefined contents, host_alloc pinned host memory. copy
     * and fill are enqueued; a host buffer must live until they are done. */
    tt_status (*alloc)(void *self, size_t bytes, void **out);
    void (*free)(void *self, void *p);
    tt_status (*host_alloc)(void *self, size_t bytes, void **out);
    void (*host_free)(void *self, void *p);
    tt_status (*copy)(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s);
    tt_status (*fill)(void *self, void *dst, int byte, size_t bytes, tt_stream s);

    /* work: args points to the struct of that kernel (kernels.h) and is copied before launch returns. */
    tt_status (*gemm)(void *self, const struct tt_gemm *g, tt_stream s);
    tt_status (*launch)(void *self, enum tt_kernel kernel, const void *args, tt_stream s);

    /* streams and events */
    tt_status (*stream_create)(void *self, tt_stream *out);
    void (*stream_destroy)(void *self, tt_stream s);
    tt_status (*stream_sync)(void *self, tt_stream s);
    tt_status (*stream_wait)(void *self, tt_stream s, tt_event e); /* later work on s starts after e */
    tt_status (*event_create)(void *self, tt_event *out);
    void (*event_destroy)(void *self, tt_event e);
    tt_status (*event_record)(void *self, tt_event e, tt_stream s);
    tt_status (*event_query)(void *self, tt_event e, bool *done); /* never waits */
    tt_status (*event_sync)(void *self, tt_event e);
    tt_status (*event_elapsed)(void *self, tt_event from, tt_event to, double *seconds); /* waits for `to` */

    /* optional (both or neither): nested named ranges for the vendor's profiler (NVTX, ROCTx) */
    void (*range_push)(void *self, const char *name);
    void (*range_pop)(void *self);

    /* optional: capture what is enqueued on s between begin and end as a graph, and replay it */
    tt_status (*graph_begin)(void *self, tt_stream s);
    tt_status (*graph_end)(void *self, tt_stream s, tt_graph *out);
    tt_status (*graph_replay)(void *self, tt_graph g, tt_stream s);
    void (*graph_destroy)(void *self, tt_graph g);

    /* optional (both or neither): collectives over the ranks of a job, enqueued on s like other work. Every rank must
     * enqueue the same ones in the same order. join is called once, before the first of them; with NULL it only loads
     * the library, and fails if it is missing. */
    tt_status (*join)(void *self, const struct tt_ranks *ranks);
    tt_status (*collective)(void *self, const struct tt_collective *c, tt_stream s);
    /* optional, only beside join: all ranks call it while no collective is under way. From then on a collective spans
     * the ranks that passed the same group, in rank order. If all ranks pass a negative group, collectives span all
     * ranks again. */
    tt_status (*split)(void *self, int group);

    /* optional: enqueues a wait of so many seconds on s, for simulated collectives (link.h) */
    tt_status (*delay)(void *self, double seconds, tt_stream s);

    /* optional: how much of the device is in use. It never waits for work, but may take a millisecond, so once a second
     * is often enough. Where the figure cannot be had, it fails with the reason. On a CPU `busy` is the share of its
     * cores that this process has used since the last call. */
    tt_status (*usage)(void *self, struct tt_usage *out);
};

struct tt_backend {
    const struct tt_backend_ops *ops;
    void *self;
};

/* How the algorithm for a GEMM shape is chosen: by the library's heuristic, or by timing a few, or many. */
enum tt_gemm_tune { TT_TUNE_OFF, TT_TUNE_QUICK, TT_TUNE_FULL };
enum tt_kernel_set { TT_NATIVE, TT_PORTABLE }; /* with or without kernels written for this architecture */

struct tt_backend_options {
    int threads; /* CPU threads; 0 = OMP_NUM_THREADS, or all of the machine */
    int device;  /* which GPU; 0 is the first */
    enum tt_precision precision; /* tf32 changes how fp32 matrices are multiplied; others change nothing here */
    enum tt_kernel_set kernels;
    enum tt_gemm_tune gemm_tune;
    const char *gemm_cache; /* file that keeps timed choices from run to run; NULL: none */
};

/* The backend this program was built with. */
tt_status tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out);
void tt_backend_close(struct tt_backend *b);
const char *tt_backend_name(void);
int tt_backend_devices(void); /* how many devices this process can open; 1 on a CPU, 0 without a GPU */
/* The launcher (mpirun) that the collectives need; NULL: none. */
const char *tt_backend_mpirun(void);

#endif
