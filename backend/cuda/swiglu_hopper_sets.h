/* What SwiGLU's backward product reads and writes besides its operands, moved by the copy engine while tiles are
 * multiplied. */
#ifndef TT_CUDA_SWIGLU_HOPPER_SETS_H
#define TT_CUDA_SWIGLU_HOPPER_SETS_H

#include "backend/cuda/product_hopper.h"
#include "backend/gpu/activation.h"

/* A set is gate and up of 16 rows and 64 columns; their gradients replace them. Warps of the same number in both
 * warpgroups share a ring of sets, since all sets of one tile come before those of the next. h has a slab for each
 * warp.
 *
 * Each set of two consecutive tiles has its own barrier that says it is full. With one barrier for each place in the
 * ring, a warpgroup could wait for a phase while the other's has not even begun. */
struct swiglu_sets {
    enum {
        SETS = 3, /* of a ring */
        RINGS = PRODUCT_WARPS,
        HALVES = 2, /* of a tile's columns */
        OF_TILE = PRODUCT_BLOCKS * HALVES,
        FULLS = 2 * OF_TILE,
        SET_BYTES = 2 * PRODUCT_SLAB_BYTES,
        H_AT = RINGS * SETS * SET_BYTES,
        BARRIERS_AT = H_AT + 2 * PRODUCT_WARPS * PRODUCT_SLAB_BYTES,
        BYTES = BARRIERS_AT + RINGS * (FULLS + SETS) * (int)sizeof(uint64_t),
    };
    unsigned char *sets, *h;
    uint64_t *full, *empty;
    int stage, parity; /* stage of the next set; parity of its tile's barriers */

    /* blocks: how many blocks of 64 rows the other warpgroup has before this one. */
    GPU_MEMBER swiglu_sets(unsigned char *behind, int warp, int blocks)
        : sets(behind + warp % RINGS * SETS * SET_BYTES), h(behind + H_AT + warp * PRODUCT_SLAB_BYTES),
          full(fulls(behind, warp % RINGS) + blocks * HALVES), empty(empties(behind, warp % RINGS)),
          stage(blocks * HALVES % SETS), parity(0)
    {
    }
    static GPU_MEMBER uint64_t *fulls(unsigned char *behind, int ring)
    {
        return (uint64_t *)(behind + BARRIERS_AT) + ring * FULLS;
    }
    static GPU_MEMBER uint64_t *empties(unsigned char *behind, int ring)
    {
        return fulls(behind, RINGS) + ring * SETS;
    }
    static GPU_MEMBER void begin(unsigned char *behind)
    {
        for (int i = gpu_lane(); i < RINGS * FULLS; i += GPU_WAVE) hopper_barrier_init(fulls(behind, 0) + i, 1);
        if (gpu_lane() < RINGS * SETS) hopper_barrier_init(empties(behind, 0) + gpu_lane(), HOPPER_ARRIVALS);
    }

    /* Copies the sets of all tiles of a block; called by one thread. */
    template <typename C> static GPU_MEMBER void bring(const struct product_args &a, unsigned char *behind)
    {
        hopper_ring<SETS> next = {0, 0};
        hopper_ring<FULLS> of = {0, 0};
        for (int n = product_first<C>(); n < a.rows * a.cols; n += a.clusters) {
            struct product_tile at = product_tile_of<C>(a, n);
            FLASH_NO_UNROLL
            for (int i = 0; i < OF_TILE; i++, next.next(), of.next())
                FLASH_NO_UNROLL
                for (int r = 0; r < RINGS; r++) {
                    int row = at.row + i / HALVES * HOPPER_ROWS + r * PRODUCT_SLAB_ROWS;
                    int head = at.col / PRODUCT_HALF + i % HALVES;
                    unsigned char *to = behind + (r * SETS + next.stage) * SET_BYTES;
                    uint64_t *here = fulls(behind, r) + of.stage;
                    hopper_wait(empties(behind, r) + next.stage, next.parity ^ 1);
                    hopper_arrive_bytes(here, SET_BYTES);
                    hopper_copy(to, &a.out, row, head, 0, here);
                    hopper_copy(to + PRODUCT_SLAB_BYTES, &a.out, row, a.F / PRODUCT_HALF + head, 0, here);
                }
        }
    }

    /* Waits until all that this warp sent to memory has left its slabs. Then the set before the next one may be filled
     * again. */
    GPU_MEMBER void release(void)
    {
        if (gpu_lane() == 0) hopper_out_read<0>();
        hopper_arrive_warp(empty + (stage + SETS - 1) % SETS);
    }

    /* The gradients of set i of a tile, and h: c has dh. */
    template <typename T>
    GPU_MEMBER void turn(const struct product_args &a, int i, const float *c, int row, int head)
    {
        uint32_t w[4][4];
        unsigned char *gate = sets + stage * SET_BYTES, *up = gate + PRODUCT_SLAB_BYTES;
        hopper_wait(full + i, parity);
        GPU_UNROLL
        for (int j = 0; j < 4; j++) {
            uint32_t x[4], y[4];
            hopper_matrices_load(x, gate + product_slab_at(j));
            hopper_matrices_load(y, up + product_slab_at(j));
            GPU_UNROLL
            for (int k = 0; k < 4; k++) {
                float u[2], v[2], d[2];
                gpu_unpack2<T>(x[k], u[0], u[1]);
                gpu_unpack2<T>(y[k], v[0], v[1]);
                gpu_unpack2<T>(gpu_pack2<T>(c[8 * j + 2 * k], c[8 * j + 2 * k + 1]), d[0], d[1]);
                swiglu_back<T>(u[0], v[0], d[0]);
                swiglu_back<T>(u[1], v[1], d[1]);
                x[k] = gpu_pack2<T>(u[0], u[1]), y[k] = gpu_pack2<T>(v[0], v[1]), w[j][k] = gpu_pack2<T>(d[0], d[1]);
            }
            hopper_matrices_store(gate + product_slab_at(j), x);
            hopper_matrices_store(up + product_slab_at(j), y);
        }
        if (i > 0) release();
        GPU_UNROLL
        for (int j = 0; j < 4; j++) hopper_matrices_store(h + product_slab_at(j), w[j]);
        hopper_written();
        gpu_wave_sync();
        if (gpu_lane() == 0) {
            hopper_copy_out(&a.out, row, head, gate);
            hopper_copy_out(&a.out, row, a.F / PRODUCT_HALF + head, up);
            hopper_copy_out(&a.h_map, row, head, h);
            hopper_out_commit();
        }
        stage = (stage + 1) % SETS;
    }

    GPU_MEMBER void end_tile(void)
    {
        release();
        stage = (stage + OF_TILE) % SETS; /* the other warpgroup's */
        parity ^= 1;
    }
};

#endif
