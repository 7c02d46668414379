/* Matrix products on AMD GPUs: by hipBLASLt if it was found and works on this chip, by hipBLAS for shapes that it does
 * not support. A gemm_algorithm is a byte that says which of the two, and hipBLASLt's own bytes. TT_HIPBLASLT=0 in the
 * environment does not use hipBLASLt. */
#include <hipblas/hipblas.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gemm.h"
#include "backend/hip/blaslt.h"
#include "backend/hip/rocblas.h"
#include "core/base/fp8.h"

enum { BY_HIPBLAS = 1, BY_LT = 2 };

/* A handle owns device memory (the workspace of rocBLAS, the flags by which blocks of hipBLASLt synchronise), so every
 * stream that multiplies has its own. With a shared one, blocks of one product would wait for flags that another
 * product has cleared. */
struct handles {
    hipblasHandle_t hipblas; /* NULL if rocBLAS has no kernels for the chip */
    void *lt;                /* NULL if hipBLASLt is not used */
};

struct gpu_blas {
    bool hipblas, lt; /* which of the two are used */
};

struct way {
    unsigned char by;
    unsigned char lt[LT_ALGORITHM];
};
_Static_assert(sizeof(struct way) <= sizeof(struct gemm_algorithm), "a way fits into gemm_algorithm");

static const struct handles *handles_of(const struct tt_stream_s *s) { return s->scratch.handles; }

/* ---- errors ---- */

static const char *hint(hipblasStatus_t e)
{
    switch (e) {
    case HIPBLAS_STATUS_ALLOC_FAILED:
        return "use a smaller --batch-size, or free the GPU (" GPU_RT_MONITOR " lists who uses it)";
    case HIPBLAS_STATUS_NOT_INITIALIZED:
        return "the hipBLAS that was found does not match the driver or the HIP runtime; check LD_LIBRARY_PATH and "
               "ROCM_PATH";
    case HIPBLAS_STATUS_ARCH_MISMATCH:
    case HIPBLAS_STATUS_NOT_SUPPORTED:
        return "this GPU or this hipBLAS cannot multiply that; try --precision fp32";
    case HIPBLAS_STATUS_EXECUTION_FAILED:
        return "an earlier kernel may have failed; TT_GPU_SYNC=1 with --graph off names it";
    default:
        return "ROCBLAS_LAYER=1 or HIPBLASLT_LOG_LEVEL=2 in the environment shows what the library was asked; "
               "TT_HIPBLASLT=0 goes without hipBLASLt";
    }
}

static tt_status failed(const struct gpu *gpu, const char *function, const char *expression, hipblasStatus_t e)
{
    gpu_rt_clear_error();
    return tt_fail(TT_FAILED, "%s: %s: %s on GPU %d, %s; %s", function, expression, hipblasStatusToString(e),
                   gpu->device, gpu->name, hint(e));
}

#define BLAS(gpu, call)                                                                                                \
    do {                                                                                                               \
        hipblasStatus_t blas_ = (hipblasStatus_t)(call);                                                               \
        if (blas_ != HIPBLAS_STATUS_SUCCESS) return failed(gpu, __func__, #call, blas_);                               \
    } while (0)

/* ---- shapes for hipBLASLt ---- */

/* HIP's 8-bit types, which hipDataType has since ROCm 6.3; 6.2 has only the FNUZ ones. */
enum { R_8F_E4M3 = 28, R_8F_E5M2 = 29, R_8F_E4M3_FNUZ = 1000, R_8F_E5M2_FNUZ = 1001 };
#if HIP_VERSION >= 60300000 && defined(__HIP_PLATFORM_AMD__)
_Static_assert((int)HIP_R_8F_E4M3 == R_8F_E4M3 && (int)HIP_R_8F_E5M2 == R_8F_E5M2, "OCP's");
_Static_assert((int)HIP_R_8F_E4M3_FNUZ == R_8F_E4M3_FNUZ && (int)HIP_R_8F_E5M2_FNUZ == R_8F_E5M2_FNUZ, "FNUZ's");
#endif

static int hip_type(int64_t type)
{
    static const int types[TT_FACTOR_DTYPES] = {[TT_F32] = HIP_R_32F,
                                                [TT_BF16] = HIP_R_16BF,
                                                [TT_F16] = HIP_R_16F,
                                                [TT_E4M3] = R_8F_E4M3,
                                                [TT_E5M2] = R_8F_E5M2,
                                                [TT_E4M3_FNUZ] = R_8F_E4M3_FNUZ,
                                                [TT_E5M2_FNUZ] = R_8F_E5M2_FNUZ};
    return types[type];
}

/* A row-major matrix of `rows` rows with stride `ld` is a column-major one of `rows` columns. */
static struct lt_matrix seen(int64_t rows, int64_t cols, int64_t ld, int64_t stride)
{
    return (struct lt_matrix){.rows = cols, .cols = rows, .ld = ld, .stride = stride};
}

static struct lt_shape lt_shape_of(const struct gpu *gpu, const struct gemm_key *k)
{
    return (struct lt_shape){
        .left = seen(k->trans_b ? k->n : k->k, k->trans_b ? k->k : k->n, k->ldb, k->stride_b),
        .right = seen(k->trans_a ? k->k : k->m, k->trans_a ? k->m : k->k, k->lda, k->stride_a),
        .out = seen(k->m, k->n, k->ldc, k->stride_c),
        .batch = (int32_t)k->batch,
        .transpose_left = k->trans_b != 0,
        .transpose_right = k->trans_a != 0,
        .type_left = hip_type(k->type_b),
        .type_right = hip_type(k->type_a),
        .type_out = hip_type(k->type_out),
        .compute = gpu->tf32 && k->type_a == TT_F32 ? HIPBLAS_COMPUTE_32F_FAST_TF32 : HIPBLAS_COMPUTE_32F,
        .scaled = tt_is_fp8((enum tt_dtype)k->type_a) ? gpu->compute.scratch.workspace : NULL,
        .row_scales = k->row_scales != 0,
    };
}

static struct lt_call lt_call_of(const struct gpu *gpu, const struct gemm_call *c)
{
    return (struct lt_call){.left = c->b,
                            .right = c->a,
                            .scale_left = c->product->scale_b,
                            .scale_right = c->product->scale_a,
                            .c = c->c,
                            .d = c->d,
                            .alpha = c->alpha,
                            .beta = c->beta,
                            .workspace = c->stream->scratch.workspace,
                            .workspace_bytes = gpu->workspace_bytes,
                            .stream = c->stream->rt};
}

tt_status tt_blas_plan(struct gpu *gpu, struct gemm_plan *p)
{
    if (!gpu->blas->lt) return TT_OK;
    struct lt_shape shape = lt_shape_of(gpu, &p->key);
    if (!tt_lt_plan(&shape, &p->library)) return TT_OK;
    tt_blas_plan_free(p); /* hipBLASLt cannot describe the shape: hipBLAS multiplies it */
    return TT_OK;
}

void tt_blas_plan_free(struct gemm_plan *p)
{
    tt_lt_plan_free(p->library);
    p->library = NULL;
}

/* ---- candidates ---- */

static bool fits_hipblas(const struct gemm_key *k)
{
    bool eight = tt_is_fp8((enum tt_dtype)k->type_a);
    return !eight && k->m <= INT_MAX && k->n <= INT_MAX && k->k <= INT_MAX && k->lda <= INT_MAX && k->ldb <= INT_MAX &&
           k->ldc <= INT_MAX;
}

static void put_way(struct gemm_algorithm *out, int by, const unsigned char *lt)
{
    struct way way = {.by = (unsigned char)by};
    if (lt) memcpy(way.lt, lt, sizeof way.lt);
    memset(out, 0, sizeof *out);
    memcpy(out, &way, sizeof way);
}

/* hipBLAS comes last, so that without timing it is chosen only if hipBLASLt proposes nothing. */
tt_status tt_blas_propose(struct gpu *gpu, const struct gemm_plan *p, int most, struct gemm_algorithm *found,
                          int *count)
{
    unsigned char lt[64][LT_ALGORITHM];
    int returned = 0;
    *count = 0;
    if (p->library && tt_lt_propose(handles_of(&gpu->compute)->lt, p->library, gpu->workspace_bytes,
                                    most < 64 ? most : 64, lt, &returned))
        returned = 0;
    for (int i = 0; i < returned && *count < most - 1; i++) put_way(&found[(*count)++], BY_LT, lt[i]);
    if (gpu->blas->hipblas && fits_hipblas(&p->key)) put_way(&found[(*count)++], BY_HIPBLAS, NULL);
    return TT_OK;
}

tt_status tt_blas_no_algorithm(const struct gpu *gpu, const char *shape)
{
    return tt_fail(TT_FAILED, "neither hipBLASLt nor hipBLAS multiplies %s on %s; make batch-size or seq-len smaller, "
                   "or choose another --precision",
                   shape, gpu->name);
}

/* hipBLASLt's C API cannot check an algorithm, so look for it among those that it proposes. */
bool tt_blas_takes(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *remembered)
{
    struct gemm_algorithm found[64];
    int count = 0;
    tt_status st = tt_blas_propose(gpu, p, 64, found, &count);
    tt_status_free(st);
    for (int i = 0; i < count; i++)
        if (!memcmp(&found[i], remembered, sizeof *remembered)) return true;
    return false;
}

/* ---- multiplying ---- */

/* hipBLAS adds to its output d, so while algorithms are timed, when d is not c, c is copied first. */
static tt_status copy_c(struct gpu *gpu, const struct gemm_key *k, const struct gemm_call *c)
{
    size_t size = tt_dtype_size((enum tt_dtype)k->type_out);
    for (int64_t i = 0; i < k->batch; i++) {
        size_t offset = (size_t)(i * k->stride_c) * size, pitch = (size_t)k->ldc * size;
        CHECK(gpu, hipMemcpy2DAsync((char *)c->d + offset, pitch, (const char *)c->c + offset, pitch,
                                    (size_t)k->n * size, (size_t)k->m, hipMemcpyDeviceToDevice, c->stream->rt));
    }
    return TT_OK;
}

static tt_status by_hipblas(struct gpu *gpu, const struct gemm_key *k, const struct gemm_call *c)
{
    hipblasHandle_t h = handles_of(c->stream)->hipblas;
    hipblasOperation_t left = k->trans_b ? HIPBLAS_OP_T : HIPBLAS_OP_N,
                       right = k->trans_a ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    hipDataType in = (hipDataType)hip_type(k->type_a), out = (hipDataType)hip_type(k->type_out);
    if (c->beta != 0 && c->c != c->d) TT_TRY(copy_c(gpu, k, c));
    BLAS(gpu, hipblasSetStream(h, c->stream->rt));
    BLAS(gpu,
         hipblasGemmStridedBatchedEx(h, left, right, (int)k->n, (int)k->m, (int)k->k, &c->alpha, c->b, in, (int)k->ldb,
                                     k->stride_b, c->a, in, (int)k->lda, k->stride_a, &c->beta, c->d, out, (int)k->ldc,
                                     k->stride_c, (int)k->batch, HIPBLAS_COMPUTE_32F, HIPBLAS_GEMM_DEFAULT));
    return TT_OK;
}

tt_status tt_blas_multiply(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                           const struct gemm_call *call)
{
    struct way way;
    memcpy(&way, algorithm, sizeof way);
    if (way.by == BY_HIPBLAS) return by_hipblas(gpu, &p->key, call);
    struct lt_call c = lt_call_of(gpu, call);
    BLAS(gpu, tt_lt_multiply(handles_of(call->stream)->lt, p->library, way.lt, &c));
    return TT_OK;
}

/* ---- opening ---- */

/* The large tiles of the newer chips need more memory for partial sums. */
size_t tt_blas_workspace(const struct gpu *gpu)
{
    bool large = !strncmp(gpu->arch, "gfx94", 5) || !strncmp(gpu->arch, "gfx95", 5);
    return (size_t)(large ? 32 : 16) << 20;
}

static tt_status open_hipblas(struct gpu *gpu, struct handles *h)
{
    BLAS(gpu, hipblasCreate(&h->hipblas));
    /* a fixed order of sums */
    BLAS(gpu, hipblasSetAtomicsMode(h->hipblas, HIPBLAS_ATOMICS_NOT_ALLOWED));
    return TT_OK;
}

/* hipBLASLt allocates device memory, and aborts the program if there is none. */
static tt_status open_lt(struct gpu *gpu, struct handles *h)
{
    TT_TRY(tt_gpu_has_room(gpu, (size_t)32 << 20)); /* for its 25 MiB */
    hipblasStatus_t e = (hipblasStatus_t)tt_lt_open(&h->lt);
    if (e == HIPBLAS_STATUS_SUCCESS) return TT_OK;
    h->lt = NULL;
    return failed(gpu, __func__, "hipblasLtCreate", e);
}

static void close_lt(struct handles *h)
{
    if (h->lt) tt_lt_close(h->lt);
    h->lt = NULL;
}

tt_status tt_blas_handles_open(struct gpu *gpu, void **out)
{
    struct handles *h = *out = calloc(1, sizeof *h);
    if (!h) return tt_no_memory("hipBLAS");
    if (gpu->blas->hipblas) TT_TRY(open_hipblas(gpu, h));
    if (gpu->blas->hipblas && gpu->tf32) (void)hipblasSetMathMode(h->hipblas, HIPBLAS_XF32_XDL_MATH);
    return gpu->blas->lt ? open_lt(gpu, h) : TT_OK;
}

void tt_blas_handles_close(void *handles)
{
    struct handles *h = handles;
    if (!h) return;
    close_lt(h);
    if (h->hipblas) (void)hipblasDestroy(h->hipblas);
    free(h);
}

/* On chips that it has no kernels for, hipBLASLt opens but fails to multiply. So this tries a small product in the
 * workspace. */
static bool lt_multiplies(struct gpu *gpu, enum tt_dtype type, enum tt_dtype type_out, bool row_scales)
{
    enum { SIDE = 128 };
    void *lt = handles_of(&gpu->compute)->lt;
    char *at = gpu->compute.scratch.workspace;
    size_t bytes = SIDE * SIDE * sizeof(float);
    bool scaled = tt_is_fp8(type);
    struct gemm_plan p = {.key = {.m = SIDE,
                                  .n = SIDE,
                                  .k = SIDE,
                                  .batch = 1,
                                  .lda = SIDE,
                                  .ldb = SIDE,
                                  .ldc = SIDE,
                                  .trans_b = scaled,
                                  .type_a = type,
                                  .type_b = type,
                                  .type_out = type_out,
                                  .row_scales = row_scales}};
    struct lt_shape shape = lt_shape_of(gpu, &p.key);
    struct lt_call call = {.left = at,
                           .right = at + bytes,
                           .c = at + 2 * bytes,
                           .d = at + 2 * bytes,
                           .scale_left = scaled ? (float *)at : NULL,
                           .scale_right = scaled ? (float *)at : NULL,
                           .alpha = 1,
                           .workspace = at + 4 * bytes,
                           .workspace_bytes = gpu->workspace_bytes - 4 * bytes,
                           .stream = gpu->compute.rt};
    unsigned char way[1][LT_ALGORITHM];
    int count = 0;
    bool works = hipMemsetAsync(at, 0, 4 * bytes, gpu->compute.rt) == hipSuccess && !tt_lt_plan(&shape, &p.library) &&
                 !tt_lt_propose(lt, p.library, call.workspace_bytes, 1, way, &count) && count == 1 &&
                 !tt_lt_multiply(lt, p.library, way[0], &call);
    works = hipStreamSynchronize(gpu->compute.rt) == hipSuccess && works;
    if (!works) gpu_rt_clear_error();
    tt_lt_plan_free(p.library);
    return works;
}

/* Opens hipBLASLt for the main stream, if it works; else hipBLAS is used. */
static void try_lt(struct gpu *gpu)
{
    const char *wish = getenv("TT_HIPBLASLT");
    struct handles *h = gpu->compute.scratch.handles;
    if (wish && !strcmp(wish, "0")) return;
    tt_status st = open_lt(gpu, h);
    gpu->blas->lt = !st && lt_multiplies(gpu, TT_F16, TT_F16, false);
    if (!gpu->blas->lt) close_lt(h);
    tt_status_free(st);
}

/* If neither library multiplies in tf32, the run must not be labelled tf32. */
static void use_tf32(struct gpu *gpu)
{
    hipblasHandle_t h = handles_of(&gpu->compute)->hipblas;
    if (!gpu->tf32 || gpu->blas->lt) return; /* without hipBLASLt, hipBLAS is open */
    if (hipblasSetMathMode(h, HIPBLAS_XF32_XDL_MATH) == HIPBLAS_STATUS_SUCCESS) return;
    gpu->tf32 = gpu->has[TT_TF32] = false;
    snprintf(gpu->arithmetic, sizeof gpu->arithmetic, "fp32 in place of tf32, which hipBLAS lacks");
}

/* Only hipBLASLt has 8-bit products. Not every version that supports the chip has them, or has them with a scale per
 * row. */
static void use_fp8(struct gpu *gpu)
{
    enum tt_dtype e4m3 = tt_fp8_e4m3(gpu->fp8_fnuz);
    if (!gpu->has[TT_PREC_FP8]) return;
    gpu->has[TT_PREC_FP8] = gpu->blas->lt && lt_multiplies(gpu, e4m3, TT_BF16, false);
    gpu->fp8_rows = gpu->has[TT_PREC_FP8] && lt_multiplies(gpu, e4m3, TT_BF16, true) &&
                    lt_multiplies(gpu, e4m3, TT_F32, true);
}

static tt_status no_kernels(const struct gpu *gpu, const struct rocblas_files *files)
{
    return tt_fail(
        TT_FAILED,
        "rocBLAS has no kernels for %s, which is %s, in %s (it has %s), and hipBLASLt does not support it "
        "either; install a rocBLAS that does (Debian's has more chips than AMD's), or name the folder of its "
        "files with ROCBLAS_TENSILE_LIBPATH; or build for the CPU with -DBACKEND=cpu",
        gpu->name, gpu->arch, files->folder, files->chips);
}

tt_status tt_blas_open(struct gpu *gpu)
{
    struct rocblas_files files;
    gpu->blas = calloc(1, sizeof *gpu->blas);
    if (!gpu->blas) return tt_no_memory("hipBLAS");
    gpu->blas->hipblas = tt_rocblas_has(gpu->arch, &files);
    TT_TRY(tt_blas_handles_open(gpu, &gpu->compute.scratch.handles));
    try_lt(gpu);
    if (!gpu->blas->hipblas && !gpu->blas->lt) return no_kernels(gpu, &files);
    use_tf32(gpu);
    use_fp8(gpu);
    return TT_OK;
}

void tt_blas_close(struct gpu *gpu)
{
    free(gpu->blas);
    gpu->blas = NULL;
}

void tt_blas_name(const struct gpu *gpu, char *out, size_t size)
{
    const struct handles *h = handles_of(&gpu->compute);
    int lt = h && h->lt ? tt_lt_version(h->lt) : 0;
    if (h && h->lt)
        snprintf(out, size, "hipBLASLt %d.%d.%d", lt / 100000, lt / 100 % 1000, lt % 100);
    else
        snprintf(out, size, "hipBLAS %d.%d.%d", hipblasVersionMajor, hipblasVersionMinor, hipblasVersionPatch);
}
