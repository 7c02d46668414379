/* What Hopper's instructions compute, on the SIMT machine: barriers that count bytes, tile copies by a tensor map, and
 * matrix products of tiles in shared memory. The 16-byte pieces of a tile are permuted by the 128-byte swizzle. */
#include "gpu_hopper.h"

enum {
    THREADS_MAX = 1024,
    PRODUCTS_MAX = 64, /* pending in one thread */
    COPIES_MAX = 64,   /* pending in one block */
    OUT_MAX = 8,       /* pending copies of one thread from shared memory */
    MARK = 0x55,       /* of an initialised barrier; memory there begins as 0x7f */
    PIECE = 16,        /* bytes that the swizzle moves together */
};

/* ---- shared memory, by address ---- */

/* Where a piece lies: bits 4 to 6 of its address are XORed with bits 7 to 9. */
static unsigned char *piece_at(uint32_t address)
{
    static unsigned char outside[PIECE];
    uint32_t offset = (address ^ (address >> 7 & 7) << 4) - SIMT_SHARED_AT;
    if (address % PIECE) simt_fault("a piece of a tile is not on a multiple of 16");
    if (offset + PIECE <= simt_dynamic_bytes()) return simt_dynamic_shared() + offset;
    simt_fault("a tile lies at byte %u of %zu bytes of shared memory", offset, simt_dynamic_bytes());
    return outside;
}

/* ---- barriers ---- */

struct barrier {
    uint32_t pending : 12, count : 12, phase : 1, mark : 7;
    int32_t bytes; /* expected and not arrived */
};
static_assert(sizeof(struct barrier) == sizeof(uint64_t), "a barrier takes 8 bytes");

static struct barrier *barrier_at(uint64_t *b)
{
    struct barrier *at = (struct barrier *)b;
    if (at->mark != MARK) simt_fault("a barrier was not initialised");
    return at;
}

static void end_phase(struct barrier *b)
{
    if (b->pending || b->bytes) return;
    b->pending = b->count;
    b->phase ^= 1;
}

void hopper_barrier_init(uint64_t *b, int count)
{
    struct barrier at = {(uint32_t)count, (uint32_t)count, 0, MARK, 0};
    memcpy(b, &at, sizeof at);
}

void hopper_arrive_bytes(uint64_t *b, int bytes)
{
    struct barrier *at = barrier_at(b);
    if (!at->pending) simt_fault("more threads arrive at a barrier than it counts");
    at->bytes += bytes;
    at->pending--;
    end_phase(at);
}

static bool second_time(void *operand)
{
    bool *asked = (bool *)operand, was = *asked;
    *asked = true;
    return was;
}

/* In a late order, yields once after arriving: threads that waited may run first and overwrite what this thread still
 * uses. */
void hopper_arrive(uint64_t *b, const char *file, int line)
{
    bool asked = false;
    hopper_arrive_bytes(b, 0);
    if (simt_late()) simt_until(SIMT_SITE, second_time, &asked);
}

/* ---- the copy engine ---- */

/* A tensor map as words: the address, 5 sizes, 4 strides in bytes, 5 extents of the box. */
enum { MAP_BASE = 0, MAP_SIZES = 1, MAP_DISTANCES = 6, MAP_BOX = 10, MAP_DIMENSIONS = 5 };

/* Replaces the driver's function. Refuses what the driver refuses, and everything that the kernels do not use. */
static int encode(struct hopper_map *map, int type, uint32_t dimensions, void *base, const uint64_t *sizes,
                  const uint64_t *distances, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle,
                  int cache, int outside)
{
    bool good = (type == 6 || type == 9) && dimensions == MAP_DIMENSIONS && (uintptr_t)base % 16 == 0 &&
                box[0] * 2 == 128 && interleave == 0 && swizzle == 3 && cache == 3 && outside == 0;
    map->words[MAP_BASE] = (uintptr_t)base;
    for (int i = 0; i < MAP_DIMENSIONS; i++) {
        good = good && steps[i] == 1 && box[i] >= 1 && box[i] <= 256 && sizes[i] >= 1 && sizes[i] <= UINT32_MAX;
        if (i < MAP_DIMENSIONS - 1) good = good && distances[i] % 16 == 0 && distances[i] < (uint64_t)1 << 40;
        map->words[MAP_SIZES + i] = sizes[i];
        map->words[MAP_BOX + i] = box[i];
        if (i < MAP_DIMENSIONS - 1) map->words[MAP_DISTANCES + i] = distances[i];
    }
    return good ? 0 : SIMT_INVALID;
}

hopper_encoder hopper_find_encoder(void) { return encode; }

struct tile_copy {
    uint32_t to; /* or the source; in shared memory */
    struct hopper_map map;
    int64_t at[MAP_DIMENSIONS];
    uint64_t *barrier;
};
static struct {
    uint64_t block; /* the block that they belong to */
    struct tile_copy copies[COPIES_MAX];
    int count;
} engine;

/* Copies a row of 128 bytes of the box. Outside the tensor, reads give zeros and writes are dropped. */
static void copy_row(const struct tile_copy *c, uint32_t shared, const int64_t *at)
{
    const uint64_t *sizes = c->map.words + MAP_SIZES, *distances = c->map.words + MAP_DISTANCES;
    unsigned char *memory = (unsigned char *)c->map.words[MAP_BASE];
    bool inside = true;
    for (int i = 1; i < MAP_DIMENSIONS; i++) {
        inside = inside && at[i] >= 0 && (uint64_t)at[i] < sizes[i];
        memory += at[i] * (int64_t)distances[i - 1];
    }
    for (uint32_t x = 0; x < 128; x += PIECE) {
        unsigned char *piece = piece_at(shared + x);
        if (!c->barrier && inside)
            memcpy(memory + x, piece, PIECE);
        else if (inside)
            memcpy(piece, memory + x, PIECE);
        else if (c->barrier)
            memset(piece, 0, PIECE);
    }
}

/* Copies to shared memory and reports the bytes to the barrier. Without a barrier, copies from shared memory. */
static void copy_tile(const struct tile_copy *c)
{
    const uint64_t *box = c->map.words + MAP_BOX;
    int64_t at[MAP_DIMENSIONS], rows = (int64_t)(box[1] * box[2] * box[3] * box[4]);
    for (int64_t r = 0; r < rows; r++) {
        int64_t left = r;
        for (int i = 1; i < MAP_DIMENSIONS; left /= (int64_t)box[i], i++) at[i] = c->at[i] + left % (int64_t)box[i];
        copy_row(c, c->to + (uint32_t)r * 128, at);
    }
    if (!c->barrier) return;
    struct barrier *b = barrier_at(c->barrier);
    b->bytes -= (int32_t)rows * 128;
    end_phase(b);
}

void hopper_copy(void *shared, const struct hopper_map *map, int row, int head, int b, uint64_t *barrier)
{
    struct tile_copy c = {hopper_address(shared), *map, {0, row, 0, head, b}, barrier};
    if (c.to % 128) simt_fault("a tile is not copied to a multiple of 128");
    if (engine.block != simt_block_number()) engine.count = 0, engine.block = simt_block_number();
    if (!simt_late()) return copy_tile(&c);
    if (engine.count == COPIES_MAX) simt_fault("a block has more than %d tiles under way", COPIES_MAX);
    engine.copies[engine.count++] = c;
}

/* Does the pending copies of a barrier that somebody waits for. */
static void arrive_copies(const uint64_t *barrier)
{
    int kept = 0;
    for (int i = 0; i < engine.count && engine.block == simt_block_number(); i++) {
        if (engine.copies[i].barrier == barrier)
            copy_tile(&engine.copies[i]);
        else
            engine.copies[kept++] = engine.copies[i];
    }
    engine.count = kept;
}

/* ---- from shared memory: a thread's groups of copies are done when it waits for them, or at once ---- */

struct outs {
    uint64_t block;
    struct tile_copy list[OUT_MAX];
    int group[OUT_MAX], count, next; /* `next` is the group of the next copy */
};
static struct outs outs[THREADS_MAX];

static struct outs *my_outs(void)
{
    struct outs *o = &outs[simt_here.thread];
    if (o->block != simt_block_number()) o->count = o->next = 0, o->block = simt_block_number();
    return o;
}

void hopper_copy_out(const struct hopper_map *map, int row, int head, const void *shared)
{
    struct outs *o = my_outs();
    struct tile_copy c = {hopper_address(shared), *map, {0, row, 0, head, 0}, NULL};
    if (c.to % 128) simt_fault("a tile is not copied from a multiple of 128");
    if (!simt_late()) return copy_tile(&c);
    if (o->count == OUT_MAX) return simt_fault("a thread has more than %d tiles on their way out", OUT_MAX);
    o->group[o->count] = o->next;
    o->list[o->count++] = c;
}

void hopper_out_commit(void) { my_outs()->next++; }

void simt_out_wait(int newest)
{
    struct outs *o = my_outs();
    int done = 0, kept = 0;
    while (done < o->count && o->group[done] < o->next - newest) copy_tile(&o->list[done++]);
    for (; done < o->count; done++, kept++) o->list[kept] = o->list[done], o->group[kept] = o->group[done];
    o->count = kept;
}

/* ---- matrices of 8x8 ---- */

static void move_matrices(void *const *operands)
{
    const simt_matrices *const *lanes = (const simt_matrices *const *)operands;
    for (int lane = 0; lane < GPU_WAVE; lane++)
        for (int m = 0; m < 4; m++) {
            unsigned char *row = lanes[m * 8 + lane / 4]->row;
            if (hopper_address(row) % PIECE) return simt_fault("a row of a matrix is not on a multiple of 16");
            if (lanes[lane]->load)
                memcpy(lanes[lane]->w + m, row + lane % 4 * 4, 4);
            else
                memcpy(row + lane % 4 * 4, lanes[lane]->w + m, 4);
        }
}

void simt_matrices_move(simt_matrices m, simt_site site) { simt_meet(SIMT_FULL_WAVE, site, move_matrices, &m); }

/* ---- waiting ---- */

struct awaited {
    uint64_t *barrier;
    uint32_t parity;
};

static bool phase_ended(void *operand)
{
    const struct awaited *a = (const struct awaited *)operand;
    const struct barrier *b = (const struct barrier *)a->barrier;
    if (b->phase == a->parity) arrive_copies(a->barrier);
    return b->phase != a->parity;
}

void hopper_wait(uint64_t *b, int parity, const char *file, int line)
{
    struct awaited a = {b, (uint32_t)parity};
    barrier_at(b);
    simt_until(SIMT_SITE, phase_ended, &a);
}

/* The numbered barriers of one block. */
static struct {
    uint64_t block;
    int arrived[16];
    uint32_t rounds[16];
} numbered;

void hopper_sync_arrive(int id, int threads)
{
    if (numbered.block != simt_block_number()) {
        memset(&numbered, 0, sizeof numbered);
        numbered.block = simt_block_number();
    }
    if (id < 1 || id > 15) return simt_fault("a block has no barrier %d", id);
    if (++numbered.arrived[id] == threads) numbered.arrived[id] = 0, numbered.rounds[id]++;
}

struct round_of {
    int id;
    uint32_t round;
};
static bool round_ended(void *operand)
{
    const struct round_of *r = (const struct round_of *)operand;
    return numbered.rounds[r->id] != r->round;
}

void hopper_sync(int id, int threads, const char *file, int line)
{
    struct round_of r = {id, numbered.block == simt_block_number() ? numbered.rounds[id & 15] : 0};
    hopper_sync_arrive(id, threads);
    simt_until(SIMT_SITE, round_ended, &r);
}

/* ---- matrix products ---- */

struct products {
    uint64_t block;
    struct simt_tile_product list[PRODUCTS_MAX];
    int count, group, newest; /* the group of the next product; groups that a wait leaves pending */
};
static struct products all[THREADS_MAX];

/* A tile's descriptor: its address, the stride of 64 columns, and that of 8 rows. */
struct tile_at {
    uint32_t begin, slabs, rows;
};
static struct tile_at tile_of(uint64_t from)
{
    if (from >> 62 != 1) simt_fault("a tile of a matrix instruction has not the swizzle of 128 bytes");
    return {(uint32_t)(from & 0x3fff) << 4, (uint32_t)(from >> 16 & 0x3fff) << 4, (uint32_t)(from >> 32 & 0x3fff) << 4};
}

template <typename T> static void read_piece(float *out, int apart, uint32_t address)
{
    T x[8];
    memcpy(x, piece_at(address), sizeof x);
    for (int i = 0; i < 8; i++) out[i * apart] = simt_widen(x[i]);
}

/* out[k][i] = element k of row `first` + i of a tile; the rows of `out` are `width` apart. */
template <typename T> static void read_rows(float *out, int width, struct tile_at t, int first, int count)
{
    for (int i = 0; i < count; i++) {
        int r = first + i;
        uint32_t at = t.begin + (uint32_t)(r / 8) * t.rows + (uint32_t)(r % 8) * 128;
        read_piece<T>(out + i, width, at);
        read_piece<T>(out + 8 * width + i, width, at + PIECE);
    }
}

/* out[k][i] = element i of row k. */
template <typename T> static void read_columns(float *out, int width, struct tile_at t)
{
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < width; i += 8)
            read_piece<T>(out + k * width + i, 1,
                          t.begin + (uint32_t)(k / 8) * t.rows + (uint32_t)(k % 8) * 128 + (uint32_t)(i / 64) *
                          t.slabs +
                              (uint32_t)(i % 64) * 2);
}

/* out[k][i] from a wave's 16 rows in registers, in the layout of mma. */
template <typename T> static void read_registers(float *out, const struct simt_tile_product *const *p)
{
    for (int lane = 0; lane < GPU_WAVE; lane++)
        for (int i = 0; i < 8; i++) {
            uint16_t bits = (uint16_t)(p[lane]->a[i / 2] >> i % 2 * 16);
            out[(lane % 4 * 2 + i / 4 * 8 + i % 2) * 16 + lane / 4 + i / 2 % 2 * 8] = simt_widen(T{bits});
        }
}

/* c[i][j] += sum over k of a[k][i]·b[k][j]; 16 x N. */
template <int N> static void multiply(const float *a, const float *__restrict b, float *__restrict c)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++) {
            float x = a[k * 16 + i];
            for (int j = 0; j < N; j++) c[i * N + j] += x * b[k * N + j];
        }
}

template <typename T, int N> static void multiply_wave(const struct simt_tile_product *const *p, int wave)
{
    static float a[16 * 16], b[16 * N], c[16 * N];
    if (p[0]->a)
        read_registers<T>(a, p);
    else
        read_rows<T>(a, 16, tile_of(p[0]->from_a), wave % 4 * 16, 16);
    if (p[0]->columns)
        read_columns<T>(b, N, tile_of(p[0]->from_b));
    else
        read_rows<T>(b, N, tile_of(p[0]->from_b), 0, N);
    memset(c, 0, sizeof c);
    multiply<N>(a, b, c);
    for (int lane = 0; lane < GPU_WAVE; lane++)
        for (int i = 0; i < N / 2; i++) {
            float x = c[(lane / 4 + i % 4 / 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2];
            p[lane]->c[i] = p[0]->add ? p[lane]->c[i] + x : x;
        }
}

static bool same(const struct simt_tile_product *p, const struct simt_tile_product *q)
{
    return !p->a == !q->a && p->from_a == q->from_a && p->from_b == q->from_b && p->columns == q->columns &&
           p->n == q->n && p->add == q->add && p->half == q->half;
}

static void multiply_any(struct products *const *wave, int number)
{
    const struct simt_tile_product *p[GPU_WAVE];
    for (int lane = 0; lane < GPU_WAVE; lane++) {
        p[lane] = &wave[lane]->list[number];
        if (number >= wave[lane]->count || !same(p[lane], p[0]))
            return simt_fault("lanes of a wave have different matrix instructions");
    }
    int index = simt_here.thread / GPU_WAVE;
    switch (p[0]->n) {
    case 64:
        return p[0]->half ? multiply_wave<gpu_half, 64>(p, index) : multiply_wave<gpu_bf16, 64>(p, index);
    case 128:
        return p[0]->half ? multiply_wave<gpu_half, 128>(p, index) : multiply_wave<gpu_bf16, 128>(p, index);
    default:
        return p[0]->half ? multiply_wave<gpu_half, 256>(p, index) : multiply_wave<gpu_bf16, 256>(p, index);
    }
}

/* Computes a wave's products that are older than its `newest` groups. */
static void finish(struct products *const *wave)
{
    int done = 0, count = wave[0]->count;
    while (done < count && wave[0]->list[done].group < wave[0]->group - wave[0]->newest) multiply_any(wave, done++);
    for (int lane = 0; lane < GPU_WAVE && done; lane++) {
        struct products *p = wave[lane];
        p->count -= done;
        memmove(p->list, p->list + done, (size_t)p->count * sizeof *p->list);
    }
}

static struct products *mine(void)
{
    struct products *p = &all[simt_here.thread];
    if (p->block != simt_block_number()) p->count = p->group = 0, p->block = simt_block_number();
    return p;
}

void simt_product_begin(simt_tile_product product)
{
    struct products *p = mine();
    if (p->count == PRODUCTS_MAX) simt_fault("a thread has more than %d products under way", PRODUCTS_MAX);
    product.group = p->group;
    p->list[p->count++] = product;
}

static void finish_early(void *const *operands)
{
    if (!simt_late()) finish((struct products *const *)operands);
}

static void finish_due(void *const *operands) { finish((struct products *const *)operands); }

void simt_product_commit(simt_site site)
{
    struct products *p = mine();
    p->group++;
    p->newest = 0;
    simt_meet(SIMT_FULL_WAVE, site, finish_early, p);
}

void simt_product_wait(int newest, simt_site site)
{
    struct products *p = mine();
    p->newest = newest;
    simt_meet(SIMT_FULL_WAVE, site, finish_due, p);
}
