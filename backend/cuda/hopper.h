/* Building blocks of kernels that use Hopper's instructions (gpu_hopper.h).
 *
 * A tile of R rows of D 16-bit elements is stored in shared memory as D / 64 slabs of R rows of 128 bytes, with the
 * 128-byte swizzle; it starts at a multiple of 1024 bytes. TMA writes this layout, and WGMMA can read it with the rows
 * of the tile as rows or as columns of an operand. */
#ifndef TT_CUDA_HOPPER_H
#define TT_CUDA_HOPPER_H

#include <gpu_hopper.h> /* from the include path: this folder, or tests/backend/simt */

enum {
    HOPPER_GROUP = 128,     /* threads of a warpgroup */
    HOPPER_ROWS = 64,       /* rows of a product */
    HOPPER_ROW_BYTES = 128, /* of a slab */
    HOPPER_ALIGN = 1024,
};

/* Tells the compiler that x is the same in all lanes, so that it can use uniform registers. */
GPU_DEVICE int hopper_uniform(int x) { return gpu_shfl(x, 0); }
GPU_DEVICE int hopper_group(void) { return hopper_uniform(gpu_thread() / HOPPER_GROUP); }

/* ---- barriers ---- */

/* A whole warp arrives, with one arrival. Its lanes are synchronised first, so the waiting threads see what all of them
 * have read and written. racecheck recognises only the arriving thread, so with TT_RACECHECK each lane arrives. */
#ifdef TT_RACECHECK
enum { HOPPER_ARRIVALS = GPU_WAVE };
#else
enum { HOPPER_ARRIVALS = 1 };
#endif
GPU_DEVICE void hopper_arrive_warp(uint64_t *b)
{
    gpu_wave_sync();
    if (gpu_lane() < HOPPER_ARRIVALS) hopper_arrive(b);
}
/* The same, and the first lane adds the expected bytes. */
GPU_DEVICE void hopper_arrive_warp_bytes(uint64_t *b, int bytes)
{
    gpu_wave_sync();
    if (gpu_lane() == 0)
        hopper_arrive_bytes(b, bytes);
    else if (gpu_lane() < HOPPER_ARRIVALS)
        hopper_arrive(b);
}
/* GROUPS warpgroups take turns, round-robin; each must call take and pass equally often. */
template <int GROUPS> struct hopper_turns {
    int group;
    GPU_MEMBER hopper_turns(int of) : group(of)
    {
        if (group == GROUPS - 1) pass();
    }
    GPU_MEMBER void take(void) { hopper_sync(1 + group, 2 * HOPPER_GROUP); }
    GPU_MEMBER void pass(void) { hopper_sync_arrive(1 + (group + 1) % GROUPS, 2 * HOPPER_GROUP); }
};

/* A ring of STAGES buffers: use n is of buffer n % STAGES. */
template <int STAGES> struct hopper_ring {
    int stage, parity;
    GPU_MEMBER void next(void)
    {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

/* ---- matrix products ---- */

/* The matrix descriptor of a swizzled tile. High word: the swizzle mode, and 1024 bytes from 8 rows to the next 8. Low
 * word: bytes to the next slab, and the address; both in units of 16 bytes, so that an offset within the tile is added.
 * The upper bits of an address say which block of a cluster it is in. */
GPU_DEVICE uint32_t hopper_low(uint32_t address, int slab_bytes)
{
    return slab_bytes >> 4 << 16 | (address & 0x3ffff) >> 4;
}
GPU_DEVICE uint64_t hopper_operand(uint32_t low) { return (uint64_t)(1u << 30 | 1024 >> 4) << 32 | low; }

/* c (64, N) = a (64 rows of a tile of A_ROWS) · b (N rows)^T, over D. */
template <typename T, int N, int D, int A_ROWS>
GPU_DEVICE void hopper_product(float (&c)[N / 2], uint32_t a, uint32_t b)
{
    uint32_t low_a = hopper_low(a, 16), low_b = hopper_low(b, 16);
    GPU_UNROLL
    for (int k = 0; k < D / 16; k++) {
        int slab = k / 4 * HOPPER_ROW_BYTES >> 4, inside = k % 4 * 32 >> 4;
        hopper_mma_ss<N>(c, hopper_operand(low_a + slab * A_ROWS + inside), hopper_operand(low_b + slab * N + inside),
                         k > 0, T());
    }
}

/* c (64, D) += p (64, K), in registers, · b (K rows of D); without `add`, c = p · b. */
template <typename T, int K, int D>
GPU_DEVICE void hopper_accumulate(float (&c)[D / 2], const uint32_t (&p)[K / 4], uint32_t b, bool add)
{
    uint32_t low = hopper_low(b, K * HOPPER_ROW_BYTES);
    GPU_UNROLL
    for (int k = 0; k < K / 16; k++)
        hopper_mma_rs<D>(c, p + 4 * k, hopper_operand(low + (k * 16 * HOPPER_ROW_BYTES >> 4)), add || k > 0, T());
}

/* p = c rounded to T: the result of one product becomes an operand of the next. */
template <typename T, int N> GPU_DEVICE void hopper_round(uint32_t (&p)[N / 2], const float (&c)[N])
{
    GPU_UNROLL
    for (int i = 0; i < N / 2; i++) p[i] = gpu_pack2<T>(c[2 * i], c[2 * i + 1]);
}

/* ---- storing a warp's 16 rows ---- */

/* Transposes a 4x4 matrix over four lanes: lane s has column s before and row s after. */
GPU_DEVICE void hopper_transpose4(uint32_t (&x)[4])
{
    bool high = gpu_lane() & 2, odd = gpu_lane() & 1;
    uint32_t a = gpu_shfl_xor(high ? x[0] : x[2], 2), b = gpu_shfl_xor(high ? x[1] : x[3], 2);
    if (high)
        x[0] = a, x[1] = b;
    else
        x[2] = a, x[3] = b;
    a = gpu_shfl_xor(odd ? x[0] : x[1], 1), b = gpu_shfl_xor(odd ? x[2] : x[3], 1);
    if (odd)
        x[0] = a, x[2] = b;
    else
        x[1] = a, x[3] = b;
}

/* Stores the 16 rows of c, times their factors, to `out` with row stride ld; only the first `count` of them. */
template <typename T, int D>
GPU_DEVICE void hopper_store(T *out, int64_t ld, const float (&c)[D / 2], const float (&factor)[2], int count)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    GPU_UNROLL
    for (int r = 0; r < 2; r++)
        GPU_UNROLL
        for (int j = 0; j < D / 8; j += 4) {
            gpu_bytes16 x;
            GPU_UNROLL
            for (int i = 0; i < 4; i++) {
                int at = 4 * (j + i) + 2 * r;
                x.w[i] = gpu_pack2<T>(c[at] * factor[r], c[at + 1] * factor[r]);
            }
            hopper_transpose4(x.w);
            if (g + 8 * r < count) gpu_store16(out + (g + 8 * r) * ld + 8 * (j + t), x);
        }
}

#endif
