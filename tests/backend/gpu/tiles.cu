#include "tests/backend/gpu/tiles.h"

#include "backend/gpu/gpu.h"
#include "gpu_mma.h"

enum { THREADS = 64, LD = 24 };

template <typename T> GPU_KERNEL GPU_BOUNDS(THREADS) tiles(const T *a, const T *b, float *results, T *stored)
{
    alignas(16) GPU_SHARED T left[16 * LD]; /* rows are read and written 16 bytes at a time */
    alignas(16) GPU_SHARED T right[16 * LD];
    alignas(16) GPU_SHARED T out[16 * LD];
    for (int i = gpu_thread(); i < 256; i += THREADS) {
        int at = i / 16 * LD + i % 16;
        left[at] = a[i], right[at] = b[i], out[at] = gpu_from_float<T>(99.0f);
    }
    gpu_block_sync();
    if (gpu_wave() > 0) return;
    gpu_tile_a<T> ta;
    gpu_tile_b<T> tb;
    gpu_tile_c c, p;
    auto begin = [&](float x) { gpu_tile_fill(c, x); };
    auto write = [&](int result) {
        gpu_tile_mma(c, ta, tb);
        gpu_tile_each(c, [&](int i, int j, float &x) { results[result * 256 + i * 16 + j] = x; });
    };
    begin(0.5f), gpu_tile_load(ta, left, LD), gpu_tile_load(tb, right, LD), write(TILES_PRODUCT);
    p = c;
    begin(0), gpu_tile_load_transposed(ta, left, LD), write(TILES_LEFT_TRANSPOSED);
    begin(0), gpu_tile_load(ta, left, LD), gpu_tile_load_transposed(tb, right, LD), write(TILES_RIGHT_TRANSPOSED);
    begin(0), gpu_tile_round(ta, p), gpu_tile_load(tb, right, LD), write(TILES_ROUNDED);
    begin(0), gpu_tile_load(ta, left, LD), gpu_tile_round_transposed(tb, p), write(TILES_ROUNDED_TRANSPOSED);
    gpu_tile_each_pair(c, p, [&](int, int i, int j, float &x, float y) {
        x = y + (float)(100 * i + j);
        results[TILES_PAIR * 256 + i * 16 + j] = x;
    });

    float top[GPU_TILE_ROWS], sum[GPU_TILE_ROWS], *rows = results + TILES_ROWS * 256;
    for (int r = 0; r < GPU_TILE_ROWS; r++) top[r] = -GPU_INFINITY, sum[r] = 0;
    gpu_tile_each_slot(p, [&](int r, int, int, float &x) { top[r] = gpu_max(top[r], x), sum[r] += x; });
    for (int r = 0; r < GPU_TILE_ROWS; r++) {
        rows[gpu_tile_row_of(r)] = gpu_tile_row_max(top[r]);
        rows[16 + gpu_tile_row_of(r)] = gpu_tile_row_sum(sum[r]);
    }
    gpu_tile_store(out, LD, p);
    gpu_wave_sync();
    for (int i = gpu_lane(); i < 256; i += GPU_WAVE) stored[i] = out[i / 16 * LD + i % 16];
}

gpu_error tiles_launch(enum tt_dtype type, const void *a, const void *b, float *results, void *stored, gpu_stream s)
{
    if (type == TT_BF16)
        return GPU_LAUNCH(tiles<gpu_bf16>, gpu_grid_of(1), THREADS, 0, s, (const gpu_bf16 *)a, (const gpu_bf16 *)b,
                          results, (gpu_bf16 *)stored);
    return GPU_LAUNCH(tiles<gpu_half>, gpu_grid_of(1), THREADS, 0, s, (const gpu_half *)a, (const gpu_half *)b, results,
                      (gpu_half *)stored);
}
