/* Shared by the attention kernels for Hopper: launchers, the work list, and tensor maps of their operands. Heads of 64
 * and 128 in 16-bit types; backend/gpu/flash.cu does all others. */
#ifndef TT_CUDA_FLASH_HOPPER_H
#define TT_CUDA_FLASH_HOPPER_H

#include "backend/cuda/hopper.h"
#include "backend/gpu/flash.h"

/* Launch the kernels; false, without a launch, if they do not support these shapes or this chip. */
bool flash_hopper(const struct tt_flash_args *a, gpu_stream s, bool crowded, gpu_error *e);
bool flash_hopper_backward(const struct tt_flash_backward_args *a, gpu_stream s, bool crowded, gpu_error *e);
bool flash_hopper_here(void); /* whether the program has their code for this chip */

static inline bool hopper_flash_supported(enum tt_dtype dtype, int64_t B, int64_t S, int64_t heads, int64_t kv_heads,
                                          int64_t D)
{
    return dtype != TT_F32 && (D == 64 || D == 128) && B > 0 && S > 0 && flash_supported(S, heads, kv_heads, D) &&
           B * heads <= INT32_MAX / (S / 64 + 2);
}

/* flash_hopper_map.cu: a tensor map for boxes of `rows` rows of one head, in a view of (B, S, heads, D) with row stride
 * ld; false if TMA cannot read it. */
bool hopper_map_rows(struct hopper_map *map, const void *view, enum tt_dtype dtype, int64_t B, int64_t S, int64_t heads,
                     int64_t D, int64_t ld, int rows);

/* Persistent blocks, one per multiprocessor; each goes through a list of row tiles. In causal attention the work of a
 * tile grows with its position. A block takes pairs of tiles, one as far from the start as the other from the end, so
 * that all pairs have the same work. Blocks that run at the same time work on the same heads, whose tiles they share in
 * the cache.
 *
 * If another kernel, such as a collective, holds only one multiprocessor, the last of these equal blocks starts when
 * all others have ended. On a crowded chip blocks are therefore shorter: four, one after the other, on each. */
struct hopper_work {
    int tiles, owners, heads; /* tiles per head; B·heads; heads */
    int first, blocks;        /* the blocks of the grid that go through this list */
};

struct hopper_item {
    int b, h, tile;
};

static inline struct hopper_work hopper_work_of(int64_t S, int rows, int64_t B, int64_t heads, int first, bool crowded)
{
    int64_t tiles = gpu_divide_up(S, rows), pairs = B * heads * ((tiles + 1) / 2);
    int64_t blocks = gpu_smaller(pairs, hopper_multiprocessors() * (crowded ? 4 : 1));
    return {(int)tiles, (int)(B * heads), (int)heads, first, (int)blocks};
}

/* for (int n = hopper_first(w); hopper_in(w, n); n = hopper_next(w, n)). An item is a single number, to take only one
 * register. */
GPU_DEVICE int hopper_first(const struct hopper_work &w) { return 2 * ((int)gpu_block_x() - w.first); }
GPU_DEVICE bool hopper_in(const struct hopper_work &w, int n) { return n < w.owners * ((w.tiles + 1) / 2) * 2; }
GPU_DEVICE struct hopper_item hopper_item_of(const struct hopper_work &w, int n)
{
    int pairs = (w.tiles + 1) / 2, owner = n / 2 / pairs, pair = n / 2 % pairs;
    return {owner / w.heads, owner % w.heads, n % 2 ? pair : w.tiles - 1 - pair};
}
GPU_DEVICE int hopper_next(const struct hopper_work &w, int n)
{
    int pairs = (w.tiles + 1) / 2, pair = n / 2 % pairs;
    bool alone = 2 * pair + 1 == w.tiles;
    return n % 2 || alone ? n / 2 * 2 + 2 * w.blocks : n + 1;
}

/* A kernel's shape for attention inside documents: kernels of their own, so that the others pay nothing for it. */
template <typename Shape> struct hopper_documents : Shape {
    static constexpr bool DOCUMENTS = true;
};

/* The start or end of a row's document in sequence b; beyond the end of the sequence, that of its last row. */
GPU_DEVICE int hopper_bound(const int32_t *bounds, int b, int S, int row)
{
    return bounds[(int64_t)b * S + (row < S ? row : S - 1)];
}

/* `amax`, or NULL, of what hopper_store stores of c; by a whole warp. */
template <typename T, int D>
GPU_DEVICE void hopper_amax(float *amax, const float (&c)[D / 2], const float (&factor)[2], int count)
{
    if (!amax) return;
    uint32_t most = 0;
    GPU_UNROLL
    for (int i = 0; i < D / 2; i++)
        if (gpu_lane() / 4 + i % 4 / 2 * 8 < count) most = gpu_most(most, c[i] * factor[i % 4 / 2]);
    gpu_wave_amax<T>(amax, most);
}

/* The dynamic shared memory, aligned to HOPPER_ALIGN. */
GPU_DEVICE unsigned char *hopper_tiles(unsigned char *shared)
{
    return shared + (HOPPER_ALIGN - hopper_address(shared) % HOPPER_ALIGN) % HOPPER_ALIGN;
}

#endif
