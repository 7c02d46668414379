/* The attention backward of fp16. */
#include "backend/gpu/flash_backward.h"

gpu_error flash_backward_f16(const struct tt_flash_backward_args *a, gpu_stream s)
{
    return flash_backward_tiles<gpu_half>(a, s);
}
