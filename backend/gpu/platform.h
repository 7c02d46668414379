/* The neutral names: all that a vendor has to give so that the kernels of backend/gpu run on its chips, and what each
 * means.
 * gpu_platform.h, gpu_mma.h and gpu_launcher.h of the vendor's folder (backend/cuda, backend/hip; for tests
 * tests/backend/simt) say how its chips do it. tests/backend/test_platform.sh compares them with this list. T is float,
 * gpu_bf16 or gpu_half where nothing else is said; "a lane's" is what the calling thread holds.
 *
 * ---- qualifiers ----
 * GPU_KERNEL                   begins a kernel
 * GPU_DEVICE GPU_BOTH          begin a function of the device; of the device and of hosts
 * GPU_MEMBER                   the same in a struct, and for a specialisation of a template
 * GPU_SHARED                   before a variable in the shared memory of a block
 * GPU_DYNAMIC_SHARED(name)     an array of bytes there, aligned to 16, whose size is told at the launch
 * GPU_BOUNDS(threads)          after GPU_KERNEL: no block has more
 * GPU_BOUNDS_MIN(threads, n)   and a multiprocessor has room for n such blocks
 * GPU_UNROLL GPU_UNROLL_BY(n)  before a loop
 *
 * ---- threads ----
 * GPU_WAVE                     lanes of a wave; for the device alone, since one vendor has chips of both widths
 * GPU_GROUP                    lanes that are within one wave on every chip
 * GPU_FULL_BLOCK               threads that make a wave for each part of a multiprocessor
 * gpu_thread() gpu_threads()   number of this thread in its block; how many there are
 * gpu_block_x() gpu_block_y() gpu_block_z() gpu_blocks_x()   the block in its grid; how many there are along x
 * gpu_lane() gpu_wave()        the lane in its wave; the wave in its block
 * gpu_block_sync()             all threads of the block have come, and see what the others wrote
 * gpu_wave_sync()              all lanes of the wave
 * gpu_shfl(x, lane) gpu_shfl_xor(x, mask) gpu_shfl_up(x, by) gpu_shfl_down(x, by)   x of another lane; all lanes take
 * part gpu_ballot(predicate)        bit i: that of lane i
 * gpu_count(ballot) gpu_count_below(ballot, lane)   its bits; those below a lane
 * gpu_fetch_fence()            what is loaded after this is not fetched before it, where registers would not hold it
 * gpu_atomic_add(p, x)         the int at p before x was added; floats have no such thing, so that sums have one order
 *
 * ---- numbers ----
 * gpu_bf16 gpu_half            16-bit numbers
 * gpu_to_float(x) gpu_from_float<T>(x)   exact; rounded to nearest even
 * gpu_pack2<T>(low, high) gpu_unpack2<T>(word, low&, high&)   two 16-bit numbers in a word, `low` at the lower address
 * gpu_float_bits(x) gpu_bits_float(word)   a float as its word, and back
 * GPU_INFINITY                 a float
 * gpu_exp gpu_log gpu_sqrt gpu_rsqrt gpu_divide   within 2 ulp
 * gpu_fma(x, y, z)             x·y + z, rounded once
 * gpu_max gpu_min              the number, when the other is not one
 * gpu_finite(x)                neither infinite nor NaN
 * gpu_exp_fast gpu_exp2_fast gpu_log2_fast gpu_sqrt_fast gpu_divide_fast   a few ulp off: for what is rounded to 16
 * bits, or is a
 *                              small part of a sum; a divisor above 2^126 gives 0
 *
 * ---- 16 bytes at a time; pointers are multiples of 16 ----
 * gpu_bytes16                  four words: w[4]
 * gpu_load16(p) gpu_store16(p, bytes)
 * gpu_load16_stream gpu_store16_stream   for bytes that a kernel touches once: they leave the cache first
 * gpu_copy16                   one copy from global to shared memory in two halves, begin(shared, from, valid) and
 * end(shared);
 *                              with !valid the bytes become zero and `from` is not read
 * GPU_COPY_HELD                whether the bytes are in a register in between, and only `end` writes them
 * gpu_copy_commit() gpu_copy_wait<N>()   close a group of copies; all but the newest N groups are there. A
 * gpu_block_sync must
 *                              follow before other threads read.
 *
 * ---- matrix tiles: C[16,16] += A[16,16] · B[16,16], T 16-bit, C float; a wave owns a tile ----
 * gpu_tile_a<T> gpu_tile_b<T> gpu_tile_c   a lane's parts; which elements those are is the vendor's to know
 * gpu_tile_load(a or b, p, ld)             from shared memory, A[m][k] at p[m·ld + k] and B[k][n] at p[k·ld + n]; each
 * row of 8
 *                                          elements there begins on a multiple of 16 bytes
 * gpu_tile_load_transposed(a or b, p, ld)  A[m][k] at p[k·ld + m], B[k][n] at p[n·ld + k]
 * gpu_tile_fill(c, x)                      every element is x
 * gpu_tile_mma(c, a, b)                    c += a·b
 * gpu_tile_each(c, f)                      f(row, col, value&) for each of a lane's elements
 * GPU_TILE_ROWS gpu_tile_row_of(slot)      in how many rows those lie, and which: a value per row is an array of that
 * size gpu_tile_each_slot(c, f) gpu_tile_each_pair(x, y, f)   f(slot, row, col, value&); of two tiles, f(slot, row,
 * col, x&, y) gpu_tile_row_max(x) gpu_tile_row_sum(x)  over the lanes that share a row; each of them gets the result
 * gpu_tile_round(a, c) gpu_tile_round_transposed(b, c)   a = c, b = its transpose, rounded to T: what one product
 * leaves is what
 *                                          the next one reads
 * gpu_tile_store(p, ld, c)                 p[m·ld + n] = c rounded to T, in shared memory; p and ld are even
 * GPU_TILE_FLOATS                          whether T may be float too: factors with the digits of tf32
 *
 * ---- hosts ----
 * GPU_LAUNCH(kernel, grid, block, shared_bytes, stream, args...)   a gpu_error of launch.h; a grid without blocks does
 *                              nothing
 * gpu_grid(x, y, z)            x up to 2^31-1, y and z up to 65535
 * gpu_wave_width()             lanes of a wave of this chip
 * gpu_shared_limit()           bytes of shared memory that a block may have on this chip
 * gpu_allow_shared(kernel, bytes)   to be called before a launch with so many
 *
 * ---- optional ----
 * GPU_HAS_NATIVE               there are kernels that only some chips of this vendor can run:
 * gpu_native_launch(kernel, args, stream, error&)   starts one, if there is one for this chip and these arguments
 * gpu_native_name()            which there are; NULL: none for this chip */
#ifndef TT_GPU_NAMES_H
#define TT_GPU_NAMES_H

#include "gpu_platform.h"

#endif
