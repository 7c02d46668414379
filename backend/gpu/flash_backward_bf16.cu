/* The attention backward of bf16. */
#include "backend/gpu/flash_backward.h"

gpu_error flash_backward_bf16(const struct tt_flash_backward_args *a, gpu_stream s)
{
    return flash_backward_tiles<gpu_bf16>(a, s);
}
