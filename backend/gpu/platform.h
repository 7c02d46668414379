// clang-format off
/* The vendor-neutral names: everything that a vendor's folder must define so that the kernels of backend/gpu run on its
 * chips. gpu_platform.h, gpu_mma.h and gpu_launcher.h of that folder (backend/cuda, backend/hip; for tests
 * tests/backend/simt) define them; tests/backend/test_platform.sh compares them with this list. T is float, gpu_bf16 or
 * gpu_half unless stated otherwise.
 *
 * ---- qualifiers ----
 * GPU_KERNEL                   begins a kernel
 * GPU_DEVICE GPU_BOTH          begin a device function; a function for device and host
 * GPU_MEMBER                   a device function in a struct, or the specialisation of a template
 * GPU_SHARED                   a variable in shared memory
 * GPU_DYNAMIC_SHARED(name)     the dynamic shared memory as an array of bytes, aligned to 16
 * GPU_BOUNDS(threads)          after GPU_KERNEL: the largest block size
 * GPU_BOUNDS_MIN(threads, n)   the same, with registers for n such blocks per multiprocessor
 * GPU_UNROLL GPU_UNROLL_BY(n)  before a loop
 *
 * ---- threads ----
 * GPU_WAVE                     lanes of a wave (warp, wavefront); for device code only, since AMD has chips of both widths
 * GPU_GROUP                    lanes that are within one wave on every chip: 32
 * GPU_FULL_BLOCK               threads that give one wave to each SIMD or partition of a multiprocessor
 * gpu_thread() gpu_threads()   index of this thread in its block; threads of the block
 * gpu_block_x() gpu_block_y() gpu_block_z() gpu_blocks_x()   index of the block in its grid; blocks along x
 * gpu_lane() gpu_wave()        index of the lane in its wave; of the wave in its block
 * gpu_block_sync()             barrier of the block; afterwards all threads see what the others wrote
 * gpu_wave_sync()              the same for the lanes of a wave
 * gpu_shfl(x, lane) gpu_shfl_xor(x, mask) gpu_shfl_up(x, by) gpu_shfl_down(x, by)   x of another lane; all lanes take part
 * gpu_ballot(predicate)        bit i is the predicate of lane i
 * gpu_count(ballot) gpu_count_below(ballot, lane)   number of its bits; of those below a lane
 * gpu_fetch_fence()            keeps the compiler from moving later loads before it, where registers would not suffice
 * gpu_atomic_add(p, x)         on int; returns the old value. There is none for floats, so that sums have a fixed order
 * gpu_atomic_max(p, x)         *p = the larger one, on uint32_t in global memory
 *
 * ---- numbers ----
 * gpu_bf16 gpu_half            16-bit types
 * gpu_to_float(x) gpu_from_float<T>(x)   exact; rounded to nearest even
 * gpu_pack2<T>(low, high) gpu_unpack2<T>(word, low&, high&)   two 16-bit numbers in a word, `low` at the lower address
 * gpu_float_bits(x) gpu_bits_float(word)   a float as its bits, and back
 * GPU_INFINITY                 a float
 * gpu_exp gpu_log gpu_sqrt gpu_rsqrt gpu_divide   within 2 ulp
 * gpu_fma(x, y, z)             x·y + z, rounded once
 * gpu_max gpu_min              if one argument is NaN, the other
 * gpu_finite(x)                neither infinite nor NaN
 * gpu_exp_fast gpu_exp2_fast gpu_log2_fast gpu_sqrt_fast gpu_divide_fast gpu_reciprocal_fast   accurate to a few ulp: for
 *                              results that are rounded to 16 bits, or small parts of a sum; a divisor above 2^126 gives 0
 *
 * ---- 16 bytes at a time; pointers are aligned to 16 ----
 * gpu_bytes16                  four words: w[4]
 * gpu_load16(p) gpu_store16(p, bytes)
 * gpu_load16_stream gpu_store16_stream   for bytes that a kernel touches once: they are evicted from the cache first
 * gpu_copy16                   a copy from global to shared memory in two steps, begin(shared, from, valid) and end(shared);
 *                              with !valid the bytes become zero and `from` is not read
 * GPU_COPY_HELD                whether the bytes are in a register between the two steps, and only `end` writes them
 * gpu_copy_commit() gpu_copy_wait<N>()   close a group of copies; wait for all but the newest N groups. A gpu_block_sync
 *                              must follow before other threads read.
 *
 * ---- matrix tiles: C[16,16] += A[16,16] · B[16,16], T 16-bit, C float; a wave owns a tile ----
 * gpu_tile_a<T> gpu_tile_b<T> gpu_tile_c   the part of a tile that a lane holds; the layout is the vendor's
 * gpu_tile_load(a or b, p, ld)             from shared memory, A[m][k] at p[m·ld + k] and B[k][n] at p[k·ld + n]; each row of
 *                                          8 elements there starts at a multiple of 16 bytes
 * gpu_tile_load_transposed(a or b, p, ld)  A[m][k] at p[k·ld + m], B[k][n] at p[n·ld + k]
 * gpu_tile_fill(c, x)                      sets every element to x
 * gpu_tile_mma(c, a, b)                    c += a·b
 * gpu_tile_each(c, f)                      f(row, col, value&) for each element of the lane
 * GPU_TILE_ROWS gpu_tile_row_of(slot)      number of rows that the lane's elements are in; the row of a slot. A value per
 *                                          row is an array indexed by slot
 * gpu_tile_each_slot(c, f)                 f(slot, row, col, value&)
 * gpu_tile_each_pair(x, y, f)              f(slot, row, col, x&, y) for two tiles
 * gpu_tile_row_max(x) gpu_tile_row_sum(x)  over the lanes that share a row; each of them gets the result
 * gpu_tile_round(a, c) gpu_tile_round_transposed(b, c)   a = c, b = its transpose, rounded to T: the result of one product
 *                                          becomes an operand of the next
 * gpu_tile_store(p, ld, c)                 p[m·ld + n] = c rounded to T, in shared memory; p and ld are even
 * GPU_TILE_FLOATS                          whether T may be float too, with operands rounded to tf32
 *
 * ---- host ----
 * GPU_LAUNCH(kernel, grid, block, shared_bytes, stream, args...)   returns a gpu_error of launch.h; does nothing for an
 *                              empty grid
 * gpu_find_code(kernel)        0 when the program has code of it for this chip; a launch without any may crash
 * gpu_grid(x, y, z)            x up to 2^31-1, y and z up to 65535
 * gpu_wave_width()             lanes of a wave of this chip
 * gpu_shared_limit()           bytes of shared memory that a block can have on this chip
 * gpu_allow_shared(kernel, bytes)   must be called before a launch with so much dynamic shared memory
 *
 * ---- optional ----
 * GPU_HAS_NATIVE               there are kernels that only some chips of this vendor can run:
 * gpu_native_launch(kernel, args, stream, crowded, error*)   launches one, if there is one for this chip and these
 *                              arguments; crowded: kernels of other streams may hold a part of the chip for long
 * gpu_native_product(gemm, way, stream, error*) gpu_native_products()   the same for a product with an epilogue; the number
 *                              of ways to compute one
 * gpu_native_name()            which native kernels there are; NULL: none for this chip
 * GPU_HAS_FP8_PACK2            chips have instructions that round to 8 bits:
 * gpu_native_fp8_pack2<E4M3>(low, high)   two codes of OCP's E4M3 or E5M2 in a word, as core/base/fp8.h has them
 * GPU_CODE_BLOCKS              how many blocks of 512 threads that make 8-bit codes fit the registers of a multiprocessor */
// clang-format on
#ifndef TT_GPU_NAMES_H
#define TT_GPU_NAMES_H

#include "gpu_platform.h"

#endif
