/* Products with an epilogue (tt_gemm.with). SwiGLU and RoPE are computed in one of several ways: by the library's
 * product and then the kernel of the epilogue (way 0), or by one kernel of the vendor's folder, which may have several
 * (ways 1, 2, ...). The tuner times all ways as it times the library's algorithms; TT_GEMM_SWIGLU=0, 1, ... and
 * TT_GEMM_ROPE in the environment leave it only that way. Exponentials have only one kernel, the vendor's. */
#include <stdlib.h>

#include "backend/gpu/gemm.h"
#include "backend/gpu/launch.h"
#include "backend/kernel_info.h"

enum { APART }; /* the way, in the first byte of the algorithm: two kernels; higher values are the native ways */

/* A native kernel has one block per multiprocessor, all with equal work. Collectives hold some multiprocessors; beside
 * them, the last blocks would start only when the others have ended. */
static bool allowed(const struct gpu *gpu, int64_t with, int way)
{
    const char *only = getenv(with == TT_WITH_ROPE ? "TT_GEMM_ROPE" : "TT_GEMM_SWIGLU");
    if (with == TT_WITH_EXP && !gpu->portable) return way == APART + 1;
    if (gpu->portable || gpu->crowded) return way == APART;
    return way <= tt_gpu_products_native() && (!only || !*only || way == atoi(only));
}

static tt_status apart(struct gpu *gpu, const struct tt_gemm *g, struct tt_stream_s *s)
{
    struct tt_gemm alone = *g;
    if (g->with == TT_WITH_EXP)
        return tt_fail(TT_UNSUPPORTED, "gemm: %s has no product of this shape with exponentials in it", gpu->name);
    struct tt_gemm_after after = tt_gemm_after(g);
    alone.with = TT_WITH_NOTHING;
    TT_TRY(tt_gpu_gemm(gpu, &alone, s));
    CHECK(gpu, (gpu_rt_error)tt_gpu_launch_native(after.kernel, &after.args, s->rt, gpu->crowded));
    return TT_OK;
}

static tt_status with_multiply(struct gpu *gpu, const struct gemm_algorithm *algorithm, const struct gemm_call *call)
{
    struct tt_gemm g = *call->product;
    gpu_error e = 0;
    g.also = call->also;
    int way = algorithm->bytes[0];
    if (way == APART || !tt_gpu_product_native(&g, way - 1, call->stream->rt, &e))
        return apart(gpu, &g, call->stream);
    CHECK_OF(gpu, (gpu_rt_error)e, tt_gpu_product_native);
    return TT_OK;
}

tt_status tt_gpu_gemm_multiply(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *algorithm,
                               const struct gemm_call *call)
{
    return p->key.with ? with_multiply(gpu, algorithm, call) : tt_blas_multiply(gpu, p, algorithm, call);
}

tt_status tt_gpu_gemm_propose(struct gpu *gpu, const struct gemm_plan *p, int most, struct gemm_algorithm *found,
                              int *count)
{
    if (!p->key.with) return tt_blas_propose(gpu, p, most, found, count);
    *count = 0;
    for (int way = APART; *count < most && way <= tt_gpu_products_native(); way++)
        if (allowed(gpu, p->key.with, way)) found[(*count)++] = (struct gemm_algorithm){.bytes = {(unsigned char)way}};
    return TT_OK;
}

bool tt_gpu_gemm_takes(struct gpu *gpu, const struct gemm_plan *p, const struct gemm_algorithm *remembered)
{
    return p->key.with ? allowed(gpu, p->key.with, remembered->bytes[0]) : tt_blas_takes(gpu, p, remembered);
}
