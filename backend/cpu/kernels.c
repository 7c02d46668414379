/* All kernels for one instruction set. CMake compiles this file once per set; TT_ISA is its name. If a kernel of
 * kernels.def is missing here, this does not compile. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "core/base/half.h"

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/simd.h"

#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/fp8.h"
#include "backend/cpu/kernels/loss.h"
#include "backend/cpu/kernels/norm.h"
#include "backend/cpu/kernels/optimizer.h"
#include "backend/cpu/kernels/rope.h"
#include "backend/cpu/kernels/select.h"
#include "backend/cpu/kernels/softmax.h"
#include "backend/cpu/kernels/state.h"
#include "backend/cpu/kernels/swiglu.h"
#include "backend/cpu/kernels/tokens.h"

#include "backend/cpu/kernels/gemm.h"
#include "backend/cpu/kernels/gemv.h"

#include "backend/cpu/kernels/decode.h"
#include "backend/cpu/kernels/flash.h"
#include "backend/cpu/kernels/flash_backward.h"

/* Wrappers with the type of the table, since calling a function through a pointer of another type is undefined. */
#define TT_KERNEL(name, flops, operands)                                                           \
    static void call_##name(const struct cpu_team *team, const void *args)                         \
    {                                                                                              \
        const struct tt_##name##_args *a = args;                                                   \
        k_##name(team, a);                                                                         \
    }
#include "backend/kernels.def"
#undef TT_KERNEL

static size_t launch_scratch(enum tt_kernel kernel, const void *args)
{
    switch (kernel) {
    case TT_K_rows_linear: return rows_linear_scratch(args);
    case TT_K_attention_decode: return (size_t)((const struct tt_attention_decode_args *)args)->D;
    case TT_K_flash: return flash_scratch(args);
    case TT_K_flash_backward: return flash_backward_scratch(args);
    default: return 0;
    }
}

#define TEXT(x) #x
#define NAME_TEXT(x) TEXT(x)
#define JOIN(a, b) a##b
#define TABLE(isa) JOIN(tt_cpu_kernels_, isa)

const struct cpu_kernels TABLE(TT_ISA) = {
    .isa = NAME_TEXT(TT_ISA),
    .launch = {
#define TT_KERNEL(name, flops, operands) [TT_K_##name] = call_##name,
#include "backend/kernels.def"
#undef TT_KERNEL
    },
    .launch_scratch = launch_scratch,
    .gemm = gemm_builtin,
    .gemm_scratch = gemm_scratch,
    .fp8_widen = fp8_widen,
    .gemv = gemv,
    .gemv_can = gemv_can,
};
