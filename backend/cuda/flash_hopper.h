/* What the attention kernels for Hopper share: who launches them, their work list, and descriptions of q, k, v and o
 * for the copy engine. Heads of 64 and 128 in 16-bit types; what else there is, backend/gpu/flash.cu does. */
#ifndef TT_CUDA_FLASH_HOPPER_H
#define TT_CUDA_FLASH_HOPPER_H

#include "backend/cuda/hopper.h"
#include "backend/gpu/flash.h"

/* Each launches its kernels, and says false without having done so when these shapes or this chip are not for them. */
bool flash_hopper(const struct tt_flash_args *a, gpu_stream s, gpu_error *e);
bool flash_hopper_backward(const struct tt_flash_backward_args *a, gpu_stream s, gpu_error *e);
bool flash_hopper_here(void); /* is their code for this chip in the program? */

static inline bool hopper_flash_supported(enum tt_dtype dtype, int64_t B, int64_t S, int64_t heads, int64_t kv_heads,
                                          int64_t D)
{
    return dtype != TT_F32 && (D == 64 || D == 128) && B > 0 && S > 0 && flash_supported(S, heads, kv_heads, D) &&
           B * heads <= INT32_MAX / (S / 64 + 2);
}

/* flash_hopper_map.cu: `rows` rows of one head at a time of a view of (B, S, heads, D) with rows ld apart; false when
 * the copy engine cannot read it. */
bool hopper_map_rows(struct hopper_map *map, const void *view, enum tt_dtype dtype, int64_t B, int64_t S, int64_t heads,
                     int64_t D, int64_t ld, int rows);

/* A block per multiprocessor, each going through a list of tiles of rows. In causal attention these are long at one end
 * and short at the other: a block takes the two that are as far from either end, so that all have the same work, and
 * the blocks that run at once are on the same heads, whose tiles they find in the cache. */
struct hopper_work {
    int tiles, owners, heads; /* of a head; b·heads; heads that have such tiles */
    int first, blocks;        /* of the grid, that this list is for */
};

struct hopper_item {
    int b, h, tile;
};

static inline struct hopper_work hopper_work_of(int64_t S, int rows, int64_t B, int64_t heads, int first)
{
    int64_t tiles = gpu_divide_up(S, rows), pairs = B * heads * ((tiles + 1) / 2);
    int64_t blocks = gpu_smaller(pairs, hopper_multiprocessors());
    return {(int)tiles, (int)(B * heads), (int)heads, first, (int)blocks};
}

/* for (int n = hopper_first(w); hopper_in(w, n); n = hopper_next(w, n)): an item is one number, for it costs a register
 * while the item is worked on. */
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

/* The dynamic shared memory from its first multiple of HOPPER_ALIGN on. */
GPU_DEVICE unsigned char *hopper_tiles(unsigned char *shared)
{
    return shared + (HOPPER_ALIGN - hopper_address(shared) % HOPPER_ALIGN) % HOPPER_ALIGN;
}

#endif
