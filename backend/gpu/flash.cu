/* The launcher of the attention forward, and its block shapes for 16-bit types. */
#include "backend/gpu/flash_forward.h"

/* ---- block shapes, chosen to use all registers ---- */

/* Copies go through registers; shared memory is 64 KiB. A lane has 512 registers with waves of 64, 256 with waves of
 * 32. */
template <typename T> static gpu_error flash_by_64(const struct tt_flash_args *a, gpu_stream s)
{
    if (a->D <= 32) return flash_launch<flash_registers<T, 32, 64, 128, 64, 256, true, 3>>(a, s);
    if (a->D <= 64) return flash_launch<flash_registers<T, 64, 64, 128, 64, 256, true, 2>>(a, s);
    if (a->D <= 96) return flash_launch<flash_registers<T, 96, 64, 128, 64, 256, true, 2>>(a, s);
    if (a->D <= 128) return flash_launch<flash_registers<T, 128, 64, 64, 32, 128, true, 4>>(a, s);
    return flash_launch<flash_registers<T, 256, 64, 32, 16, 128, true, 4>>(a, s);
}
template <typename T> static gpu_error flash_by_32(const struct tt_flash_args *a, gpu_stream s)
{
    if (a->D <= 32) return flash_launch<flash_registers<T, 32, 32, 128, 64, 256, true, 1>>(a, s);
    if (a->D <= 64) return flash_launch<flash_registers<T, 64, 32, 128, 64, 256, true, 1>>(a, s);
    if (a->D <= 96) return flash_launch<flash_registers<T, 96, 32, 64, 32, 128, false, 2>>(a, s);
    if (a->D <= 128) return flash_launch<flash_registers<T, 128, 32, 64, 32, 128, false, 2>>(a, s);
    return flash_launch<flash_registers<T, 256, 32, 64, 16, 128, false, 2>>(a, s);
}
/* Copies are asynchronous. The second shape of a head size is for chips with less shared memory. */
template <typename T> static gpu_error flash_by_background(const struct tt_flash_args *a, gpu_stream s)
{
    typedef flash_background<T, 128, 128, 32> large;
    typedef flash_background<T, 256, 64, 32> largest;
    size_t limit = (size_t)gpu_shared_limit();
    if (a->D <= 32) return flash_launch<flash_background<T, 32, 128, 64>>(a, s);
    if (a->D <= 64) return flash_launch<flash_background<T, 64, 128, 64>>(a, s);
    if (a->D <= 96) return flash_launch<flash_background<T, 96, 128, 32>>(a, s);
    if (a->D <= 128)
        return flash_bytes<large>() <= limit ? flash_launch<large>(a, s)
                                             : flash_launch<flash_background<T, 128, 64, 32>>(a, s);
    return flash_bytes<largest>() <= limit
               ? flash_launch<largest>(a, s)
               : flash_launch<flash_shape<T, 256, GPU_GROUP, 32, 16, 64, 2, false, true, 4>>(a, s);
}

template <typename T> static gpu_error flash_choose(const struct tt_flash_args *a, gpu_stream s)
{
    if constexpr (GPU_COPY_HELD)
        return gpu_wave_width() > GPU_GROUP ? flash_by_64<T>(a, s) : flash_by_32<T>(a, s);
    else
        return flash_by_background<T>(a, s);
}

gpu_error tt_gpu_flash(const struct tt_flash_args *a, gpu_stream s)
{
    if (!flash_supported(a->S, a->heads, a->kv_heads, a->D)) return FLASH_UNSUPPORTED;
    if (a->dtype == TT_F32) return a->tf32 ? flash_tf32(a, s) : flash_f32(a, s);
    return a->dtype == TT_BF16 ? flash_choose<gpu_bf16>(a, s) : flash_choose<gpu_half>(a, s);
}
