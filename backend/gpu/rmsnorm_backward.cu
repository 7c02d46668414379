/* RMSNorm backward: dx = (dres) + rstd·(w·dy) - x·rstd³·mean(w·dy·x), and dy·x·rstd summed over runs of rows.
 *
 * A block takes a run of rows. Its teams take the rows round-robin; the threads of a team share the columns, so a
 * thread has the same columns in each of its rows. The weight stays in registers, and so do the sums for its gradient,
 * which are added over the teams at the end. A team is so wide that a thread has one vector of a row, which needs few
 * registers: all blocks are resident, and the next row is loaded while this one is reduced. For rows much wider than a
 * block, there are no registers for the weight and the next row.
 *
 * It can also make the 8-bit codes of dx, as they are and transposed. Then there are no registers for the weight, and
 * blocks are larger, so that the codes of many rows meet in the shared memory of one block. */
#include "backend/gpu/amax.h"
#include "backend/gpu/fp8.h"
#include "backend/gpu/rows.h"

enum { THREADS = 256 };

template <typename T, int LANES, int KEEP> struct norm_rows {
    static constexpr int N = gpu_vec<T>::n;
    gpu_bytes16 dy[KEEP], x[KEEP], dres[KEEP]; /* dres is 0 if there is none, which saves a branch per element */
    float rstd;

    GPU_MEMBER void load(const struct tt_rmsnorm_backward_args &a, int64_t r, int lane, int vectors)
    {
        int64_t at = r * a.cols;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            int v = k * LANES + lane;
            if (v >= vectors) continue;
            dy[k] = gpu_load16((const T *)a.dy + at + v * N);
            x[k] = gpu_load16((const T *)a.x + at + v * N);
            dres[k] = a.dres ? gpu_load16((const T *)a.dres + at + v * N) : gpu_bytes16{};
        }
        rstd = a.rstd[r];
    }
};

/* Sums over each team of the block; all threads call it. One barrier suffices, because the shared words are
 * double-buffered. */
template <int LANES, int WORDS> struct team_sums {
    float (*parts)[WORDS]; /* two of them, a word per group */
    int parity;
    GPU_MEMBER float sum(float x)
    {
        x = gpu_group_sum<GPU_GROUP>(x);
        if constexpr (LANES > GPU_GROUP) {
            float *words = parts[parity ^= 1];
            if (gpu_thread() % GPU_GROUP == 0) words[gpu_thread() / GPU_GROUP] = x;
            gpu_block_sync();
            x = 0;
            GPU_UNROLL
            for (int g = 0; g < LANES / GPU_GROUP; g++) x += words[gpu_thread() / LANES * (LANES / GPU_GROUP) + g];
        }
        return x;
    }
};

/* ---- codes ----
 *
 * The teams share the rows of a chunk, each with neighbouring ones. The codes of a chunk meet in a square in shared
 * memory, from which a thread takes a piece: 16 rows of four columns. Neighbouring lanes take neighbouring pieces of
 * the same columns, so that a wave stores CHUNK neighbouring bytes of the transposed matrix at once. These are whole
 * sectors of 32 bytes. When the two halves of a sector were stored long after one another, the kernel took twice the
 * time. The order of the lanes differs from piece to piece, so that threads read from different banks. */
enum { PIECE = 16 };

/* Four rows of four codes become four columns. */
GPU_DEVICE void turn4(uint32_t *w)
{
    uint32_t out[4];
    GPU_UNROLL
    for (int c = 0; c < 4; c++) {
        out[c] = 0;
        GPU_UNROLL
        for (int r = 0; r < 4; r++) out[c] |= (w[r] >> 8 * c & 0xff) << 8 * r;
    }
    GPU_UNROLL
    for (int c = 0; c < 4; c++) w[c] = out[c];
}

template <int LANES, int ROWS, enum tt_dtype TO> struct row_codes {
    static constexpr bool MADE = true;
    static constexpr int N = gpu_vec<gpu_bf16>::n, BLOCK = 512, RESIDENT = GPU_CODE_BLOCKS;
    static constexpr int CHUNK = ROWS, PIECES = CHUNK / PIECE;
    static constexpr int EACH = CHUNK * LANES / BLOCK; /* rows of a team in a chunk */
    static constexpr int BYTES = CHUNK * LANES * (int)sizeof(gpu_bytes8);
    static_assert(BYTES >= BLOCK * N * (int)sizeof(float), "the sums of the weight's gradient take the square's place");
    gpu_bytes8 *square; /* (CHUNK, LANES) */
    float inverse;

    GPU_MEMBER row_codes(const struct tt_rmsnorm_backward_args &a, unsigned char *shared)
        : square((gpu_bytes8 *)shared), inverse(tt_fp8_inverse(*a.code_scale))
    {
    }

    /* The j-th row of a team in the run that begins at `from`. */
    static GPU_MEMBER int64_t row(int64_t from, int64_t j, int team)
    {
        return from + j / EACH * CHUNK + team * EACH + j % EACH;
    }

    /* A lane's place in the first row of a piece; in the next ones it is LANES further on. */
    GPU_MEMBER gpu_bytes8 *place(int piece, int lane)
    {
        return square + piece * PIECE * LANES + (lane ^ piece * (16 / PIECES));
    }

    /* Makes the codes of dx as it is stored, rounded to bf16. */
    GPU_MEMBER void add(const struct tt_rmsnorm_backward_args &a, int64_t r, int lane, gpu_vec<gpu_bf16> dx)
    {
        GPU_UNROLL
        for (int i = 0; i < N; i++) dx.v[i] = gpu_to_float(gpu_from_float<gpu_bf16>(dx.v[i]));
        gpu_bytes8 codes = {{gpu_fp8_codes4<TO>(dx.v, inverse), gpu_fp8_codes4<TO>(dx.v + 4, inverse)}};
        *(gpu_bytes8 *)(a.codes + r * a.cols + lane * N) = codes;
        int row = (int)r % CHUNK;
        place(row / PIECE, lane)[row % PIECE * LANES] = codes;
    }

    /* Stores the square transposed; called by all threads after rows [first, first + CHUNK). The next write to the
     * square comes after the barrier in the next row's sum. */
    GPU_MEMBER void store(const struct tt_rmsnorm_backward_args &a, int64_t first)
    {
        gpu_block_sync();
        int piece = gpu_thread() % PIECES;
        GPU_UNROLL_BY(1)
        for (int q = gpu_thread() / PIECES; 4 * q < a.cols; q += BLOCK / PIECES) {
            const uint32_t *from = place(piece, q / 2)->w + q % 2;
            uint8_t *to = a.transposed + 4 * q * a.rows + first + piece * PIECE;
            uint32_t words[PIECE];
            GPU_UNROLL
            for (int r = 0; r < PIECE; r++) words[r] = from[r * 2 * LANES];
            GPU_UNROLL
            for (int r = 0; r < PIECE; r += 4) turn4(words + r);
            GPU_UNROLL
            for (int c = 0; c < 4; c++)
                gpu_store16(to + c * a.rows, gpu_bytes16{{words[c], words[4 + c], words[8 + c], words[12 + c]}});
        }
    }
};

template <int LANES, int KEEP> struct no_codes {
    static constexpr bool MADE = false;
    static constexpr int BLOCK = THREADS, RESIDENT = KEEP > 1 ? 2 : 4;
    GPU_MEMBER no_codes(const struct tt_rmsnorm_backward_args &, unsigned char *) {}
    static GPU_MEMBER int64_t row(int64_t from, int64_t j, int team) { return from + j * (BLOCK / LANES) + team; }
};

/* ---- the kernel ---- */

template <typename T, int LANES, int KEEP, typename CODES>
GPU_KERNEL GPU_BOUNDS_MIN(CODES::BLOCK, CODES::RESIDENT)
rmsnorm_backward(struct tt_rmsnorm_backward_args a, int64_t run)
{
    typedef norm_rows<T, LANES, KEEP> rows;
    constexpr int N = rows::N, BLOCK = CODES::BLOCK, TEAMS = BLOCK / LANES, WORDS = BLOCK / GPU_GROUP;
    constexpr bool ROOM = KEEP <= 2;             /* registers suffice for the next row */
    constexpr bool HOLDS = ROOM && !CODES::MADE; /* and for the weight */
    GPU_SHARED float parts[2][WORDS], own[TEAMS > 1 && !CODES::MADE ? BLOCK * N : 1];
    GPU_DYNAMIC_SHARED(shared); /* the square of codes */
    float *sums = CODES::MADE ? (float *)shared : own; /* (TEAMS, LANES·N) */
    int team = gpu_thread() / LANES, lane = gpu_thread() % LANES, cols = (int)a.cols, vectors = cols / N;
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.rows, from + run);
    team_sums<LANES, WORDS> over = {parts, 0};

    const T *weight = (const T *)a.weight + lane * N;
    gpu_bytes16 kept[KEEP];
    gpu_vec<T> dweight[KEEP];
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        if (HOLDS && k * LANES + lane < vectors) kept[k] = gpu_load16(weight + k * LANES * N);
        GPU_UNROLL
        for (int i = 0; i < N; i++) dweight[k].v[i] = 0;
    }

    uint32_t most = 0; /* of dx */
    CODES codes(a, shared);
    rows now, next;
    int64_t r = CODES::row(from, 0, team), after;
    if (ROOM && r < to) next.load(a, r, lane, vectors);
    for (int64_t j = 0; from + j * TEAMS < to; j++, r = after) {
        after = CODES::row(from, j + 1, team);
        int mine = r < to ? vectors : 0; /* vectors of this team's row; 0: it has none */
        if (ROOM)
            now = next;
        else if (mine)
            now.load(a, r, lane, vectors);
        float rstd = now.rstd, dot = 0;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (k * LANES + lane >= mine) continue;
            gpu_vec<T> w = gpu_vec_from<T>(HOLDS ? kept[k] : gpu_load16(weight + k * LANES * N));
            gpu_vec<T> dy = gpu_vec_from<T>(now.dy[k]), x = gpu_vec_from<T>(now.x[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) {
                float product = dy.v[i] * x.v[i];
                dot += w.v[i] * product;
                dweight[k].v[i] += product * rstd;
            }
        }
        if (ROOM && after < to) next.load(a, after, lane, vectors);
        dot = over.sum(dot);
        float back = -gpu_divide_fast(dot, (float)cols) * rstd * rstd * rstd;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            int v = k * LANES + lane;
            if (v >= mine) continue;
            gpu_vec<T> w = gpu_vec_from<T>(HOLDS ? kept[k] : gpu_load16(weight + k * LANES * N));
            gpu_vec<T> dy = gpu_vec_from<T>(now.dy[k]), x = gpu_vec_from<T>(now.x[k]);
            gpu_vec<T> dx = gpu_vec_from<T>(now.dres[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) dx.v[i] += rstd * w.v[i] * dy.v[i] + back * x.v[i];
            gpu_vec_store((T *)a.dx + r * cols + v * N, dx);
            most = gpu_most(most, dx);
            if constexpr (CODES::MADE) codes.add(a, r, lane, dx);
        }
        if constexpr (CODES::MADE)
            if ((j + 1) % CODES::EACH == 0) codes.store(a, r / CODES::CHUNK * CODES::CHUNK);
    }
    if (a.amax) gpu_block_amax<T, BLOCK>(a.amax, most);
    if (CODES::MADE) gpu_block_sync(); /* nobody reads the square any more */

    float *partial = a.partial + gpu_block_x() * cols;
    float *out = TEAMS > 1 ? sums + team * LANES * N : partial;
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        int v = k * LANES + lane;
        if (v >= vectors) continue;
        GPU_UNROLL
        for (int i = 0; i < N; i++) out[v * N + i] = dweight[k].v[i];
    }
    if constexpr (TEAMS > 1) {
        gpu_block_sync();
        for (int c = gpu_thread(); c < cols; c += BLOCK) {
            float sum = 0;
            GPU_UNROLL
            for (int k = 0; k < TEAMS; k++) sum += sums[k * LANES * N + c];
            partial[c] = sum;
        }
    }
}

/* For any number of columns and any alignment: the sums are in `partial`, each element with one thread. */
template <typename T>
GPU_KERNEL GPU_BOUNDS(THREADS) rmsnorm_backward_any(struct tt_rmsnorm_backward_args a, int64_t run)
{
    const T *w = (const T *)a.weight;
    uint32_t most = 0;
    float *partial = a.partial + gpu_block_x() * a.cols;
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.rows, from + run);
    for (int64_t c = gpu_thread(); c < a.cols; c += THREADS) partial[c] = 0;
    for (int64_t r = from; r < to; r++) {
        const T *dy = (const T *)a.dy + r * a.cols, *x = (const T *)a.x + r * a.cols;
        const T *dres = a.dres ? (const T *)a.dres + r * a.cols : NULL;
        T *dx = (T *)a.dx + r * a.cols;
        float rstd = a.rstd[r], dot = 0;
        for (int64_t c = gpu_thread(); c < a.cols; c += THREADS)
            dot += gpu_to_float(w[c]) * (gpu_to_float(dy[c]) * gpu_to_float(x[c]));
        dot = gpu_block_sum<THREADS>(dot);
        float back = -gpu_divide_fast(dot, (float)a.cols) * rstd * rstd * rstd;
        for (int64_t c = gpu_thread(); c < a.cols; c += THREADS) {
            float d = gpu_to_float(dy[c]), v = gpu_to_float(x[c]);
            partial[c] += d * v * rstd;
            d = rstd * gpu_to_float(w[c]) * d + back * v;
            d = dres ? gpu_to_float(dres[c]) + d : d;
            dx[c] = gpu_from_float<T>(d);
            most = gpu_most(most, d);
        }
    }
    if (a.amax) gpu_block_amax<T, THREADS>(a.amax, most);
}

/* ---- which one ---- */

static bool is_aligned(const struct tt_rmsnorm_backward_args *a)
{
    return gpu_aligned_rows(a->dy, a->cols, tt_dtype_size(a->dtype)) && gpu_aligned(a->x) && gpu_aligned(a->weight) &&
           gpu_aligned(a->dx) && gpu_aligned(a->dres);
}

template <typename T, int LANES, int KEEP>
static gpu_error launch_plain(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    return GPU_LAUNCH((rmsnorm_backward<T, LANES, KEEP, no_codes<LANES, KEEP>>), gpu_grid_of(a->parts), THREADS, 0, s,
                      *a, gpu_divide_up(a->rows, a->parts));
}

template <typename T> static gpu_error launch(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    int64_t run = gpu_divide_up(a->rows, a->parts), vectors = a->cols / gpu_vec<T>::n;
    if (!is_aligned(a) || vectors > 4 * THREADS)
        return GPU_LAUNCH(rmsnorm_backward_any<T>, gpu_grid_of(a->parts), THREADS, 0, s, *a, run);
    if (vectors <= 32) return launch_plain<T, 32, 1>(a, s);
    if (vectors <= 64) return launch_plain<T, 64, 1>(a, s);
    if (vectors <= 128) return launch_plain<T, 128, 1>(a, s);
    if (vectors <= 256) return launch_plain<T, 256, 1>(a, s);
    if (vectors <= 512) return launch_plain<T, 256, 2>(a, s);
    return launch_plain<T, 256, 4>(a, s);
}

/* Launches the kernel that also makes codes, with one vector of a row per thread of a team. False, without a launch, if
 * runs are not whole chunks of rows, or the square does not fit beside the kernel's other shared memory. */
template <int LANES, int CHUNK, enum tt_dtype TO>
static bool launch_chunks(const struct tt_rmsnorm_backward_args *a, gpu_stream s, gpu_error *e)
{
    typedef row_codes<LANES, CHUNK, TO> codes;
    auto kernel = rmsnorm_backward<gpu_bf16, LANES, 1, codes>;
    int64_t run = gpu_divide_up(a->rows, a->parts);
    if (a->rows % CHUNK || run % CHUNK || codes::BYTES + 1024 > gpu_shared_limit()) return false;
    *e = gpu_allow_shared(kernel, codes::BYTES);
    if (!*e) *e = GPU_LAUNCH(kernel, gpu_grid_of(a->parts), codes::BLOCK, codes::BYTES, s, *a, run);
    return true;
}

template <int LANES, enum tt_dtype TO>
static bool launch_codes_of(const struct tt_rmsnorm_backward_args *a, gpu_stream s, gpu_error *e)
{
    if constexpr (LANES < 256)
        if (launch_chunks<LANES, 64, TO>(a, s, e)) return true;
    return launch_chunks<LANES, 32, TO>(a, s, e);
}

template <enum tt_dtype TO>
static bool launch_codes(const struct tt_rmsnorm_backward_args *a, gpu_stream s, gpu_error *e)
{
    int64_t vectors = a->cols / gpu_vec<gpu_bf16>::n;
    bool aligned = is_aligned(a) && gpu_aligned(a->codes) && gpu_aligned(a->transposed);
    if (a->dtype != TT_BF16 || !aligned || vectors <= 32 || vectors > 256) return false; /* fp8 comes only with bf16 */
    if (vectors <= 64) return launch_codes_of<64, TO>(a, s, e);
    if (vectors <= 128) return launch_codes_of<128, TO>(a, s, e);
    return launch_codes_of<256, TO>(a, s, e);
}

static gpu_error cast_dx(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    struct tt_fp8_cast_args cast = {};
    cast.dtype = a->dtype, cast.to = a->to, cast.x = a->dx, cast.scale = a->code_scale;
    cast.out = a->codes, cast.transposed = a->transposed;
    cast.rows = a->rows, cast.cols = cast.ldx = a->cols;
    return tt_gpu_fp8_cast(&cast, s);
}

gpu_error tt_gpu_rmsnorm_backward(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    gpu_error e;
    if (a->codes && a->to == TT_E5M2 && launch_codes<TT_E5M2>(a, s, &e)) return e;
    if (a->codes && a->to == TT_E5M2_FNUZ && launch_codes<TT_E5M2_FNUZ>(a, s, &e)) return e;
    e = GPU_DISPATCH(a->dtype, T, launch<T>(a, s));
    return e || !a->codes ? e : cast_dx(a, s);
}
