/* Dispatch to the kernels that only some NVIDIA architectures can run. */
#include "backend/cuda/flash_hopper.h"
#include "backend/cuda/product_hopper_launch.h"

bool gpu_native_launch(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded, gpu_error *e)
{
    bool flash = kernel == TT_K_flash, backward = kernel == TT_K_flash_backward;
    if ((!flash && !backward) || !hopper_chip()) return false;
    return flash ? flash_hopper((const struct tt_flash_args *)args, s, crowded, e)
                 : flash_hopper_backward((const struct tt_flash_backward_args *)args, s, crowded, e);
}

bool gpu_native_product(const struct tt_gemm *g, int way, gpu_stream s, gpu_error *e)
{
    return way == 0 && hopper_chip() && product_hopper(g, s, e);
}

int gpu_native_products(void) { return hopper_chip() && flash_hopper_here() ? 1 : 0; }

const char *gpu_native_name(void)
{
    return hopper_chip() && flash_hopper_here() ? "flash, products: sm_90a" : NULL;
}
