/* A few rows times a large matrix, as in each step of text generation. The matrix is read once, and memory bandwidth
 * sets the time.
 *
 * With 16-bit numbers, up to 16 rows are one side of matrix tiles; missing rows are 0. A block has a few columns of the
 * result. Its waves share the inner dimension, in chunks of LINEAR_K that are copied to shared memory some chunks
 * ahead; their sums are added in order. The result of a row does not depend on the other rows, nor on how many there
 * are. A norm before the product multiplies each element of x by a weight, and the whole row by a factor that is known
 * only at the end.
 *
 * Other types, and matrices that are not aligned, take a wave per column. */
#include "backend/gpu/gpu.h"

#include "gpu_mma.h"

enum {
    LINEAR_ROWS = TT_ROWS_AT_ONCE,
    LINEAR_K = 64,
    LINEAR_LD = LINEAR_K + 8, /* so that the rows of a tile begin in different banks */
    LINEAR_VECTORS = LINEAR_K / 8
};

/* ---- what is done with a sum ---- */

template <typename T> struct linear_end {
    const T *residual;
    void *y;
    bool single; /* y is float, whatever T is */
    GPU_MEMBER void put(int64_t at, float sum) const
    {
        if (residual) sum += gpu_to_float(residual[at]);
        if (single)
            ((float *)y)[at] = sum;
        else
            ((T *)y)[at] = gpu_from_float<T>(sum);
    }
};
template <typename T> GPU_DEVICE linear_end<T> linear_end_of(const tt_rows_linear_args &a)
{
    return {(const T *)a.residual, a.y, a.type_y == TT_F32};
}
GPU_DEVICE float linear_gate(float gate, float up) { return gpu_divide(gate, 1.0f + gpu_exp(-gate)) * up; }

/* ---- 16-bit tiles ---- */

/* A factor on x times the norm's weight, before rounding. The row's own factor is not known yet, and in fp16 the
 * product alone may be too large. It is a power of two, and mild enough that the digits that fp16 has below 1 still
 * suffice. */
template <typename T> struct linear_shrink {
    static constexpr float by = 1.0f;
};
template <> struct linear_shrink<gpu_half> {
    static constexpr float by = 1.0f / 64;
};

/* A chunk of x on its way to shared memory. It goes through registers, since a norm changes it. Vector i of a lane
 * belongs to row row(i). */
template <typename T> struct linear_x {
    static constexpr int EACH = LINEAR_ROWS * LINEAR_VECTORS / GPU_WAVE;
    gpu_bytes16 b[EACH], norm;

    static GPU_MEMBER int row(int i) { return gpu_lane() / LINEAR_VECTORS + i * (GPU_WAVE / LINEAR_VECTORS); }
    static GPU_MEMBER int column() { return gpu_lane() % LINEAR_VECTORS * 8; }

    GPU_MEMBER void load(const tt_rows_linear_args &a, int64_t first, int64_t k)
    {
        bool inside = k + column() < a.in;
        GPU_UNROLL
        for (int i = 0; i < EACH; i++)
            b[i] = inside && first + row(i) < a.rows
                       ? gpu_load16((const T *)a.x + (first + row(i)) * a.in + k + column())
                       : gpu_bytes16{};
        norm = inside && a.norm ? gpu_load16((const T *)a.norm + k + column()) : gpu_bytes16{};
    }
    /* Writes the chunk, and adds the squares of row(i) to squares[i]. With a norm, what is written is also multiplied
     * by linear_shrink. */
    GPU_MEMBER void store(T *to, bool normed, float *squares) const
    {
        GPU_UNROLL
        for (int i = 0; i < EACH; i++) {
            gpu_bytes16 out = b[i];
            if (normed) {
                gpu_vec<T> x = gpu_vec_from<T>(b[i]), w = gpu_vec_from<T>(norm);
                GPU_UNROLL
                for (int j = 0; j < 8; j++) {
                    squares[i] = gpu_fma(x.v[j], x.v[j], squares[i]);
                    x.v[j] *= w.v[j] * linear_shrink<T>::by;
                }
                out = gpu_vec_bytes(x);
            }
            gpu_store16(to + row(i) * LINEAR_LD + column(), out);
        }
    }
};

/* The shape of a block: columns, waves, and chunks in shared memory. */
template <int COLS_, int WAVES_, int STAGES_> struct linear_shape {
    static constexpr int COLS = COLS_, WAVES = WAVES_, STAGES = STAGES_;
};

/* The rows of W for COLS columns of the result, copied to shared memory in the background. With `gated` the second half
 * of them is of the second matrix. */
template <typename T, int COLS> struct linear_w {
    static constexpr int EACH = COLS * LINEAR_VECTORS / GPU_WAVE;
    const T *from[EACH]; /* NULL: there is no such column */
    gpu_copy16 copy[EACH];
    static GPU_MEMBER int row(int i) { return gpu_lane() / LINEAR_VECTORS + i * (GPU_WAVE / LINEAR_VECTORS); }
    static GPU_MEMBER int column() { return gpu_lane() % LINEAR_VECTORS * 8; }
    static GPU_MEMBER T *place(T *to, int i) { return to + row(i) * LINEAR_LD + column(); }

    GPU_MEMBER void find(const tt_rows_linear_args &a, int64_t n)
    {
        GPU_UNROLL
        for (int i = 0; i < EACH; i++) {
            bool second = a.gated && row(i) >= COLS / 2;
            int64_t at = n + row(i) - (second ? COLS / 2 : 0);
            from[i] = at < a.out ? (const T *)a.w + (second ? at + a.out : at) * a.in + column() : NULL;
        }
    }
    GPU_MEMBER void begin(const tt_rows_linear_args &a, T *to, int64_t k)
    {
        GPU_UNROLL
        for (int i = 0; i < EACH; i++) {
            bool valid = from[i] && k + column() < a.in;
            copy[i].begin(place(to, i), valid ? from[i] + k : (const T *)a.w, valid);
        }
    }
    GPU_MEMBER void end(T *to)
    {
        GPU_UNROLL
        for (int i = 0; i < EACH; i++) copy[i].end(place(to, i));
    }
};

template <typename T, typename S> struct linear_shared {
    T w[S::WAVES][S::STAGES][S::COLS * LINEAR_LD];
    T x[S::WAVES][2][LINEAR_ROWS * LINEAR_LD];
};
template <typename S> struct linear_sums {
    float s[S::WAVES][LINEAR_ROWS * S::COLS];
    float squares[S::WAVES][LINEAR_ROWS];
};

/* c += the product of a chunk. */
template <typename T, int COLS> GPU_DEVICE void linear_multiply(gpu_tile_c *c, const T *x, const T *w)
{
    GPU_UNROLL
    for (int k = 0; k < LINEAR_K; k += 16) {
        gpu_tile_a<T> left;
        gpu_tile_load(left, x + k, LINEAR_LD);
        GPU_UNROLL
        for (int n = 0; n < COLS / 16; n++) {
            gpu_tile_b<T> right;
            gpu_tile_load_transposed(right, w + n * 16 * LINEAR_LD + k, LINEAR_LD);
            gpu_tile_mma(c[n], left, right);
        }
    }
}

/* The sums of this wave's chunks, for rows from `first` and columns from n. The x of a chunk are loaded two chunks
 * before they are multiplied, and are in shared memory one chunk before. */
template <typename T, typename S>
GPU_DEVICE void linear_chunks(const tt_rows_linear_args &a, linear_shared<T, S> &shared, int64_t first, int64_t n,
                              gpu_tile_c *c, float *squares)
{
    constexpr int STAGES = S::STAGES;
    int wave = gpu_wave(), chunks = (int)gpu_divide_up(a.in, LINEAR_K * S::WAVES);
    linear_w<T, S::COLS> w;
    linear_x<T> even, odd;
    auto at = [&](int i) { return ((int64_t)i * S::WAVES + wave) * LINEAR_K; };
    auto chunk = [&](int i, linear_x<T> &after, const linear_x<T> &next) {
        int ahead = i + STAGES - 1;
        w.begin(a, shared.w[wave][ahead % STAGES], at(ahead)); /* beyond `in` it is 0 */
        gpu_copy_commit();
        after.load(a, first, at(i + 2));
        gpu_copy_wait<STAGES - 1>();
        gpu_wave_sync();
        linear_multiply<T, S::COLS>(c, shared.x[wave][i % 2], shared.w[wave][i % STAGES]);
        next.store(shared.x[wave][(i + 1) % 2], a.norm, squares);
        gpu_wave_sync();
        w.end(shared.w[wave][ahead % STAGES]);
    };
    w.find(a, n);
    GPU_UNROLL
    for (int i = 0; i < STAGES - 1; i++) {
        w.begin(a, shared.w[wave][i], at(i));
        w.end(shared.w[wave][i]);
        gpu_copy_commit();
    }
    even.load(a, first, at(0));
    odd.load(a, first, at(1));
    even.store(shared.x[wave][0], a.norm, squares);
    for (int i = 0; i < chunks; i += 2) {
        chunk(i, even, odd);
        if (i + 1 < chunks) chunk(i + 1, odd, even);
    }
    gpu_copy_wait<0>();
}

/* The factor of a row. */
template <typename T, typename S>
GPU_DEVICE float linear_factor(const tt_rows_linear_args &a, const linear_sums<S> &sums, int row)
{
    if (!a.norm) return 1.0f;
    float square = 0.0f;
    for (int w = 0; w < S::WAVES; w++) square += sums.squares[w][row];
    return gpu_rsqrt(gpu_divide(square, (float)a.in) + a.eps) / linear_shrink<T>::by;
}

template <typename S> GPU_DEVICE void linear_keep(linear_sums<S> &sums, gpu_tile_c *c, const float *squares, int each)
{
    GPU_UNROLL
    for (int i = 0; i < S::COLS / 16; i++)
        gpu_tile_each(c[i], [&](int row, int col, float &v) { sums.s[gpu_wave()][row * S::COLS + 16 * i + col] = v; });
    for (int i = 0; i < each; i++) {
        float all = gpu_group_sum<LINEAR_VECTORS>(squares[i]);
        int row = gpu_lane() / LINEAR_VECTORS + i * (GPU_WAVE / LINEAR_VECTORS);
        if (gpu_lane() % LINEAR_VECTORS == 0) sums.squares[gpu_wave()][row] = all;
    }
}

template <typename T, typename S>
GPU_KERNEL GPU_BOUNDS_MIN(S::WAVES * GPU_FULL_BLOCK / 4, 2)
rows_linear_tiles(struct tt_rows_linear_args a, int64_t first)
{
    constexpr int COLS = S::COLS, EACH = linear_x<T>::EACH;
    GPU_DYNAMIC_SHARED(bytes);
    auto &shared = *(linear_shared<T, S> *)bytes;
    auto &sums = *(linear_sums<S> *)bytes; /* in the same memory, when the chunks are done */
    int width = a.gated ? COLS / 2 : COLS;
    int64_t n = gpu_block_x() * width;
    gpu_tile_c c[COLS / 16];
    float squares[EACH] = {0.0f};
    GPU_UNROLL
    for (int i = 0; i < COLS / 16; i++) gpu_tile_fill(c[i], 0.0f);
    linear_chunks<T, S>(a, shared, first, n, c, squares);
    gpu_block_sync();
    linear_keep(sums, c, squares, EACH);
    gpu_block_sync();
    int rows = (int)gpu_smaller(LINEAR_ROWS, a.rows - first);
    linear_end<T> end = linear_end_of<T>(a);
    for (int e = gpu_thread(); e < rows * width; e += gpu_threads()) {
        int row = e / width, col = e % width;
        if (n + col >= a.out) continue;
        float sum = 0.0f, up = 0.0f, factor = linear_factor<T>(a, sums, row);
        GPU_UNROLL
        for (int w = 0; w < S::WAVES; w++) {
            sum += sums.s[w][row * COLS + col];
            if (a.gated) up += sums.s[w][row * COLS + COLS / 2 + col];
        }
        sum *= factor;
        if (a.gated) sum = linear_gate(sum, up * factor);
        end.put((first + row) * a.out + n + col, sum);
    }
}

template <typename T, typename S> static gpu_error linear_tiles(const struct tt_rows_linear_args *a, gpu_stream s)
{
    size_t sums = sizeof(linear_sums<S>), copies = sizeof(linear_shared<T, S>), bytes = sums > copies ? sums : copies;
    gpu_error e = gpu_allow_shared(rows_linear_tiles<T, S>, bytes);
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->out, a->gated ? S::COLS / 2 : S::COLS));
    for (int64_t first = 0; !e && first < a->rows; first += LINEAR_ROWS)
        e = GPU_LAUNCH(rows_linear_tiles<T, S>, grid, S::WAVES * (unsigned)gpu_wave_width(), bytes, s, *a, first);
    return e;
}

/* ---- any types ---- */

enum { SIMPLE_THREADS = 256, SIMPLE_ROWS = 4 };

/* A wave has a column, for up to SIMPLE_ROWS rows; its lanes have every GPU_WAVE-th number. */
template <typename T> GPU_KERNEL GPU_BOUNDS(SIMPLE_THREADS) rows_linear_simple(struct tt_rows_linear_args a)
{
    int64_t n = gpu_block_x() * (SIMPLE_THREADS / GPU_WAVE) + gpu_wave(), first = gpu_block_y() * SIMPLE_ROWS;
    if (n >= a.out) return; /* the whole wave */
    int rows = (int)gpu_smaller(SIMPLE_ROWS, a.rows - first);
    const T *x = (const T *)a.x + first * a.in, *w = (const T *)a.w + n * a.in, *up = w + a.out * a.in;
    float sum[SIMPLE_ROWS] = {0.0f}, second[SIMPLE_ROWS] = {0.0f}, square[SIMPLE_ROWS] = {0.0f};
    for (int64_t k = gpu_lane(); k < a.in; k += GPU_WAVE) {
        float v = gpu_to_float(w[k]), u = a.gated ? gpu_to_float(up[k]) : 0.0f;
        float norm = a.norm ? gpu_to_float(((const T *)a.norm)[k]) : 1.0f;
        GPU_UNROLL
        for (int r = 0; r < SIMPLE_ROWS; r++) {
            if (r >= rows) continue;
            float y = gpu_to_float(x[r * a.in + k]);
            square[r] = gpu_fma(y, y, square[r]);
            sum[r] = gpu_fma(y * norm, v, sum[r]);
            second[r] = gpu_fma(y * norm, u, second[r]);
        }
    }
    linear_end<T> end = linear_end_of<T>(a);
    GPU_UNROLL
    for (int r = 0; r < SIMPLE_ROWS; r++) {
        float factor = gpu_rsqrt(gpu_divide(gpu_wave_sum(square[r]), (float)a.in) + a.eps);
        if (!a.norm) factor = 1.0f;
        float all = gpu_wave_sum(sum[r]) * factor, other = gpu_wave_sum(second[r]) * factor;
        if (a.gated) all = linear_gate(all, other);
        if (gpu_lane() == 0 && r < rows) end.put((first + r) * a.out + n, all);
    }
}

template <typename T> static gpu_error linear_simple(const struct tt_rows_linear_args *a, gpu_stream s)
{
    int64_t waves = SIMPLE_THREADS / gpu_wave_width();
    gpu_grid grid((unsigned)gpu_divide_up(a->out, waves), (unsigned)gpu_divide_up(a->rows, SIMPLE_ROWS));
    return GPU_LAUNCH(rows_linear_simple<T>, grid, SIMPLE_THREADS, 0, s, *a);
}

/* Wide blocks read the rows of x less often; with narrow ones there are more blocks. Memory latency is long, so many
 * loads must be in flight: where shared memory suffices, narrow blocks have more waves, and all have more chunks. */
enum { LINEAR_WIDE = 8192, LINEAR_ROOM = 160 << 10 };

template <typename T> static gpu_error linear_16(const struct tt_rows_linear_args *a, gpu_stream s)
{
    bool aligned = gpu_aligned_rows(a->x, a->in, sizeof(T)) && gpu_aligned(a->w) && gpu_aligned(a->norm);
    bool wide = a->gated || a->out >= LINEAR_WIDE, room = gpu_shared_limit() >= LINEAR_ROOM;
    if (!aligned) return linear_simple<T>(a, s);
    if (wide && room) return linear_tiles<T, linear_shape<32, 4, 3>>(a, s);
    if (wide) return linear_tiles<T, linear_shape<32, 4, 2>>(a, s);
    if (room) return linear_tiles<T, linear_shape<16, 8, 4>>(a, s);
    return linear_tiles<T, linear_shape<16, 4, 3>>(a, s);
}

gpu_error tt_gpu_rows_linear(const struct tt_rows_linear_args *a, gpu_stream s)
{
    if (a->dtype == TT_BF16) return linear_16<gpu_bf16>(a, s);
    if (a->dtype == TT_F16) return linear_16<gpu_half>(a, s);
    return linear_simple<float>(a, s);
}
