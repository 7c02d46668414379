/* How C is cut into tiles, one task each. It depends only on the shape, not on the number of threads, so that every
 * element is summed in the same order on any machine. Large tiles spend less time on packing, many tiles keep more
 * threads busy; so tiles shrink until there are enough of them. */
#ifndef TT_CPU_GEMM_TILES_H
#define TT_CPU_GEMM_TILES_H

#include "backend/cpu/kernels/parallel.h"

enum {
    TILE_M_MOST = 256, TILE_N_MOST = 512, /* enough that packing is a few per cent of the work */
    TILE_M_LEAST = 64, TILE_N_LEAST = 128,
    TILES_WANTED = 16,
    TILE_STEP = 16, /* sizes of tiles are a multiple of this */
};

struct gemm_tiles {
    int64_t m, n;           /* size of a tile */
    int64_t columns, count; /* tiles in a row of tiles; tiles in one matrix */
};

static inline struct gemm_tiles gemm_tiles(int64_t m, int64_t n, int64_t batch)
{
    int64_t tm = TILE_M_MOST, tn = TILE_N_MOST;
    while (divide_up(m, tm) * divide_up(n, tn) * batch < TILES_WANTED && (tm > TILE_M_LEAST || tn > TILE_N_LEAST)) {
        bool wide = 2 * smaller(tm, m) <= smaller(tn, n);
        if ((wide && tn > TILE_N_LEAST) || tm == TILE_M_LEAST)
            tn /= 2;
        else
            tm /= 2;
    }
    /* the same number of tiles, of equal size */
    tm = round_up(divide_up(m, divide_up(m, tm)), TILE_STEP);
    tn = round_up(divide_up(n, divide_up(n, tn)), TILE_STEP);
    int64_t columns = divide_up(n, tn);
    return (struct gemm_tiles){tm, tn, columns, columns * divide_up(m, tm)};
}

#endif
