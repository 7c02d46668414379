/* Tensor maps for TMA, encoded by the driver. */
#include "backend/cuda/flash_hopper.h"

/* Constants of cuda.h: CUtensorMapDataType, CUtensorMapInterleave, ... */
enum {
    MAP_F16 = 6,
    MAP_BF16 = 9,
    MAP_NOT_INTERLEAVED = 0,
    MAP_SWIZZLE_128 = 3,
    MAP_CACHE_LINES_256 = 3,
    MAP_ZEROS_OUTSIDE = 0,
};

bool hopper_map_rows(struct hopper_map *map, const void *view, enum tt_dtype dtype, int64_t B, int64_t S, int64_t heads,
                     int64_t D, int64_t ld, int rows)
{
    static const hopper_encoder encode = hopper_find_encoder();
    /* dimensions: 64 columns, rows, slabs of 64 columns, heads, sequences; rows beyond S of a sequence are read as 0 */
    uint64_t sizes[] = {64, (uint64_t)S, (uint64_t)D / 64, (uint64_t)heads, (uint64_t)B};
    uint64_t distances[] = {(uint64_t)ld * 2, 128, (uint64_t)D * 2, (uint64_t)(S * ld) * 2};
    uint32_t box[] = {64, (uint32_t)rows, (uint32_t)D / 64, 1, 1}, steps[] = {1, 1, 1, 1, 1};
    return encode && gpu_aligned_rows(view, ld, 2) &&
           !encode(map, dtype == TT_BF16 ? MAP_BF16 : MAP_F16, 5, (void *)view, sizes, distances, box, steps,
                   MAP_NOT_INTERLEAVED, MAP_SWIZZLE_128, MAP_CACHE_LINES_256, MAP_ZEROS_OUTSIDE);
}
