/* The machine. Blocks run one after another. In a block, each wave runs until all its threads wait at a barrier of the
 * block or have ended. In a wave, each lane runs until it must wait for others. */
#include "tests/backend/simt/simt.h"

#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backend/simt/fiber.h"

enum {
    WAVE = GPU_WAVE,
    GROUP = 32,
    GROUPS = WAVE / GROUP,
    THREADS_MAX = 1024,
    COPIES_MAX = 256,
    GUARD = 1024,            /* bytes on either side of a block's shared memory */
    SHARED_PLAIN = 48 << 10, /* the limit without simt_allow_shared */
    KERNELS_MAX = 256,
    POISON = 0xff,
#ifdef TT_SANITIZE
    SANITIZED = 1,
#else
    SANITIZED = 0,
#endif
};
static_assert(WAVE == 32 || WAVE == 64, "GPU_WAVE is 32 or 64");

struct copy {
    void *to;
    const void *from;
    bool valid;
    int group;
};

struct lane {
    void *stack; /* where to resume */
    bool ended;
    simt_scope scope; /* who it waits for, or SIMT_NONE */
    simt_site site;
    simt_work work;
    simt_ready ready; /* the condition it waits for with SIMT_UNTIL */
    void *operand;
    int copies, group; /* pending copies; the group of the next copy */
};

struct allowance {
    const void *kernel;
    size_t bytes;
};

struct machine {
    struct simt_device *device;
    const simt_launch_args *launch;
    unsigned char *stacks, *shared; /* shared: including its guards */
    size_t shared_room;
    unsigned char *statics; /* static shared memory */
    size_t statics_bytes;
    void *scheduler; /* where to resume */
    struct lane *running, *lanes;
    struct copy (*copies)[COPIES_MAX]; /* for each lane */
    struct allowance allowed[KERNELS_MAX];
    int allowed_count;
    uint64_t blocks; /* that have run so far */
};

static struct machine m;
struct simt_place simt_here;

int simt_wave_width(void) { return WAVE; }

/* ---- faults ---- */

static bool failed(void) { return m.device->fault[0] != 0; }

static void leave(void) { simt_switch(&m.running->stack, m.scheduler); }

void simt_fault(const char *format, ...)
{
    if (!failed()) {
        char *text = m.device->fault;
        size_t room = sizeof m.device->fault;
        va_list list;
        va_start(list, format);
        int n = vsnprintf(text, room, format, list);
        va_end(list);
        if (n >= 0 && (size_t)n < room)
            snprintf(text + n, room - (size_t)n, " (block %u,%u,%u, %s %d, waves of %d)", simt_here.block[0],
                     simt_here.block[1], simt_here.block[2], m.running ? "thread" : "wave of thread", simt_here.thread,
                     WAVE);
    }
    if (m.running) leave(); /* never returns */
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#ifndef TT_SANITIZE
/* The compiler calls this, with -fsanitize=bounds, before it uses an index outside an array. In sanitizer builds the
 * sanitizers' own library reports it. */
struct array_index {
    const char *file;
    uint32_t line, column;
};
extern "C" void __ubsan_handle_out_of_bounds(const struct array_index *at, uintptr_t index)
{
    if (!m.running) {
        fprintf(stderr, "%s:%u: index %ld is beyond the array\n", at->file, at->line, (long)index);
        abort();
    }
    simt_fault("%s:%u: index %ld is beyond the array", file_name(at->file), at->line, (long)index);
}
#endif

/* ---- orders ---- */

static uint32_t next_random(void)
{
    uint64_t x = m.device->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

/* order[0..n) = 0..n-1, in the device's order. */
static void arrange(int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int j = m.device->order == SIMT_SHUFFLED ? (int)(next_random() % (uint32_t)(i + 1)) : i;
        order[i] = order[j];
        order[j] = m.device->order == SIMT_REVERSE ? n - 1 - i : i;
    }
}

/* ---- pending copies: done at once in one order, as late as allowed in the other ---- */

bool simt_late(void)
{
    return m.device->order == SIMT_REVERSE || (m.device->order == SIMT_SHUFFLED && next_random() % 2);
}

static void do_copy(const struct copy &c)
{
    if (c.valid)
        memcpy(c.to, c.from, 16);
    else
        memset(c.to, 0, 16);
}

void simt_copy(void *to, const void *from, bool valid)
{
    struct lane *lane = m.running;
    if ((uintptr_t)to % 16 || (valid && (uintptr_t)from % 16))
        simt_fault("a copy of 16 bytes is not on a multiple of 16");
    struct copy c = {to, from, valid, lane->group};
    if (!simt_late()) return do_copy(c);
    if (lane->copies == COPIES_MAX) simt_fault("a thread has more than %d copies under way", COPIES_MAX);
    m.copies[lane - m.lanes][lane->copies++] = c;
}

void simt_copy_commit(void) { m.running->group++; }

void simt_copy_wait(int newest)
{
    struct lane *lane = m.running;
    struct copy *copies = m.copies[lane - m.lanes];
    int kept = 0;
    for (int i = 0; i < lane->copies; i++) {
        if (copies[i].group < lane->group - newest)
            do_copy(copies[i]);
        else
            copies[kept++] = copies[i];
    }
    lane->copies = kept;
}

/* ---- matrix instructions ---- */

void simt_product(const float *a, const float *b, float *c)
{
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++) c[i * 16 + j] += a[k * 16 + i] * b[k * 16 + j];
}

/* ---- lanes ---- */

static void begin_lane(void)
{
    m.launch->run(m.launch->closure);
    m.running->ended = true;
    leave();
}

void simt_meet(simt_scope scope, simt_site site, simt_work work, void *operand)
{
    struct lane *lane = m.running;
    lane->scope = scope;
    lane->site = site;
    lane->work = work;
    lane->operand = operand;
    leave();
}

void simt_until(simt_site site, simt_ready ready, void *operand)
{
    if (ready(operand)) return;
    m.running->ready = ready;
    simt_meet(SIMT_UNTIL, site, NULL, operand);
}

static void run_lane(int thread)
{
    m.running = &m.lanes[thread];
    simt_here.thread = thread;
    simt_switch(&m.scheduler, m.running->stack);
    m.running = NULL;
}

static bool waits(const struct lane &l)
{
    return !l.ended && l.scope != SIMT_NONE && !(l.scope == SIMT_UNTIL && l.ready(l.operand));
}
static bool any_until(const struct lane *lanes, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++) any = any || (!lanes[i].ended && lanes[i].scope == SIMT_UNTIL);
    return any;
}
static bool together(const struct lane &a, const struct lane &b)
{
    bool same_file = a.site.file == b.site.file || !strcmp(a.site.file, b.site.file);
    return a.scope == b.scope && a.site.line == b.site.line && same_file;
}

/* The first of n lanes that has not ended, or NULL. *uniform: all such lanes wait at the same place. */
static struct lane *first_waiting(struct lane *lanes, int n, bool *uniform)
{
    struct lane *first = NULL;
    *uniform = true;
    for (int i = 0; i < n; i++) {
        if (lanes[i].ended) continue;
        if (!first) first = &lanes[i];
        *uniform = *uniform && together(*first, lanes[i]);
    }
    return first;
}

static const char *scope_name(simt_scope scope)
{
    switch (scope) {
    case SIMT_GROUP:
        return "an exchange between lanes";
    case SIMT_WAVE:
        return "a ballot";
    case SIMT_FULL_WAVE:
        return "a matrix instruction";
    case SIMT_BLOCK:
        return "a barrier of the block";
    case SIMT_UNTIL:
        return "a barrier in shared memory";
    default:
        return "nothing";
    }
}

/* Reports two lanes that wait at different places and should wait together; `who` names the group. */
static void diverged(const struct lane *lanes, int n, const char *who)
{
    const struct lane *first = NULL, *other = NULL;
    for (int i = 0; i < n; i++) {
        if (lanes[i].ended) continue;
        if (!first) first = &lanes[i];
        if (!other && !together(*first, lanes[i])) other = &lanes[i];
    }
    if (!other) return simt_fault("threads wait for a %s that does not come", who);
    simt_fault("%s is divergent: thread %d waits at %s (%s:%d), thread %d at %s (%s:%d)", who, (int)(first - m.lanes),
               scope_name(first->scope), file_name(first->site.file), first->site.line, (int)(other - m.lanes),
               scope_name(other->scope), file_name(other->site.file), other->site.line);
}

/* No thread can continue: reports one that waits by itself. */
static void stuck(int threads)
{
    int t = 0;
    while (t < threads && (m.lanes[t].ended || m.lanes[t].scope != SIMT_UNTIL)) t++;
    simt_fault("thread %d waits at %s (%s:%d) for what does not come", t, scope_name(SIMT_UNTIL),
               file_name(m.lanes[t].site.file), m.lanes[t].site.line);
}

/* Does the common work of the lanes from, ..., from + n - 1 that have not ended, and lets them continue. */
static void resolve(struct lane *wave, int from, int n)
{
    void *operands[WAVE] = {NULL};
    simt_work work = NULL;
    for (int i = from; i < from + n; i++) {
        if (wave[i].ended) continue;
        operands[i] = wave[i].operand;
        work = wave[i].work;
        wave[i].scope = SIMT_NONE;
    }
    if (work) work(operands);
}

static int ended_lanes(const struct lane *lanes, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += lanes[i].ended;
    return count;
}

/* All n lanes of a wave have stopped: lets those continue that have met. Returns whether there were any. */
static bool resolve_wave(struct lane *wave, int n)
{
    bool uniform, any = false;
    const struct lane *first = first_waiting(wave, n, &uniform);
    bool more = any_until(wave, n); /* other lanes may still come */
    if (!first || (uniform && (first->scope == SIMT_BLOCK || more))) return false;
    if (uniform && first->scope == SIMT_FULL_WAVE && (n < WAVE || ended_lanes(wave, n))) {
        simt_fault("%s:%d: a matrix instruction needs all lanes, and some have ended", file_name(first->site.file),
                   first->site.line);
        return false;
    }
    if (uniform) return resolve(wave, 0, n), true;
    for (int g = 0; g * GROUP < n; g++) {
        int size = n - g * GROUP < GROUP ? n - g * GROUP : GROUP;
        first = first_waiting(wave + g * GROUP, size, &uniform);
        if (!uniform && any_until(wave + g * GROUP, size)) continue;
        if (!uniform) return diverged(wave + g * GROUP, size, "a group of lanes"), false;
        if (!first || first->scope != SIMT_GROUP) continue;
        resolve(wave, g * GROUP, size);
        any = true;
    }
    if (!any && !more) diverged(wave, n, "a wave");
    return any;
}

/* Returns whether any lane continued. */
static bool run_wave(int wave, int n)
{
    int order[WAVE];
    bool went = false;
    do {
        arrange(order, n);
        for (int i = 0; i < n && !failed(); i++) {
            struct lane *lane = &m.lanes[wave * WAVE + order[i]];
            if (lane->ended || waits(*lane)) continue;
            lane->scope = SIMT_NONE;
            run_lane(wave * WAVE + order[i]);
            went = true;
        }
        simt_here.thread = wave * WAVE;
    } while (!failed() && resolve_wave(m.lanes + wave * WAVE, n) && !failed());
    return went;
}

/* ---- shared memory ---- */

/* Static arrays of shared memory are thread-local (GPU_SHARED), and these programs have no other thread-local
 * variables. The sanitizers have some, so sanitizer builds do without this. */
static int find_static_shared(struct dl_phdr_info *program, size_t, void *)
{
    for (int i = 0; i < program->dlpi_phnum; i++) {
        if (program->dlpi_phdr[i].p_type != PT_TLS || !program->dlpi_tls_data) continue;
        m.statics = (unsigned char *)program->dlpi_tls_data;
        m.statics_bytes = program->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the program itself comes first */
}

unsigned char *simt_dynamic_shared(void) { return m.shared + GUARD; }
size_t simt_dynamic_bytes(void) { return m.launch->shared_bytes; }
uint64_t simt_block_number(void) { return m.blocks; }

static void poison_shared(void)
{
    memset(m.shared, POISON, m.launch->shared_bytes + 2 * GUARD);
    if (m.statics) memset(m.statics, POISON, m.statics_bytes);
}

static void check_guards(void)
{
    size_t bytes = m.launch->shared_bytes;
    for (int i = 0; i < GUARD; i++) {
        if (m.shared[GUARD + bytes + i] != POISON)
            return simt_fault("byte %zu of %zu bytes of shared memory was written", bytes + (size_t)i, bytes);
        if (m.shared[i] != POISON) return simt_fault("shared memory was written %d bytes before its begin", GUARD - i);
    }
}

/* ---- blocks ---- */

static void run_block(void)
{
    int threads = (int)m.launch->threads, waves = (threads + WAVE - 1) / WAVE, order[THREADS_MAX / GROUP];
    bool uniform, went;
    m.blocks++;
    poison_shared();
    for (int t = 0; t < threads; t++) {
        struct lane *lane = &m.lanes[t];
        lane->stack = fiber_begin(m.stacks, t, begin_lane);
        lane->ended = false;
        lane->scope = SIMT_NONE;
        lane->copies = lane->group = 0;
    }
    do {
        arrange(order, waves);
        went = false;
        for (int w = 0; w < waves && !failed(); w++) {
            int left = threads - order[w] * WAVE;
            went = run_wave(order[w], left < WAVE ? left : WAVE) || went;
        }
        if (failed()) return;
        if (!first_waiting(m.lanes, threads, &uniform)) break;
        if (any_until(m.lanes, threads)) {
            if (!went) return stuck(threads);
            continue;
        }
        if (!uniform) return diverged(m.lanes, threads, "a block");
        for (int t = 0; t < threads; t++) m.lanes[t].scope = SIMT_NONE;
    } while (true);
    check_guards();
}

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

static void run_grid(void)
{
    const simt_grid &g = m.launch->grid;
    uint64_t n = (uint64_t)g.x * g.y * g.z, step = 1, at = 0;
    if (m.device->order == SIMT_REVERSE) step = n - 1;
    if (m.device->order == SIMT_SHUFFLED) {
        do step = 1 + next_random() % n;
        while (common_divisor(step, n) != 1);
        at = next_random() % n;
    }
    for (uint64_t i = 0; i < n && !failed(); i++, at = (at + step) % n) {
        simt_here.block[0] = (unsigned)(at % g.x);
        simt_here.block[1] = (unsigned)(at / g.x % g.y);
        simt_here.block[2] = (unsigned)(at / g.x / g.y);
        run_block();
    }
}

/* ---- launching ---- */

static bool ready(size_t shared_bytes)
{
    if (!m.stacks) m.stacks = fiber_stacks(THREADS_MAX);
    if (!m.statics && !SANITIZED) dl_iterate_phdr(find_static_shared, NULL);
    if (!m.lanes) m.lanes = (struct lane *)calloc(THREADS_MAX, sizeof *m.lanes);
    if (!m.copies) m.copies = (struct copy(*)[COPIES_MAX])calloc(THREADS_MAX, sizeof *m.copies);
    if (m.shared_room < shared_bytes + 2 * GUARD) {
        free(m.shared);
        m.shared_room = shared_bytes + 2 * GUARD;
        m.shared = (unsigned char *)aligned_alloc(GUARD, (m.shared_room + GUARD - 1) / GUARD * GUARD);
        if (!m.shared) m.shared_room = 0;
    }
    return m.stacks && m.lanes && m.copies && m.shared;
}

static size_t allowed_shared(const void *kernel)
{
    for (int i = 0; i < m.allowed_count; i++)
        if (m.allowed[i].kernel == kernel && m.allowed[i].bytes > SHARED_PLAIN) return m.allowed[i].bytes;
    return SHARED_PLAIN;
}

int simt_allow_shared(const void *kernel, size_t bytes)
{
    int i = 0;
    while (i < m.allowed_count && m.allowed[i].kernel != kernel) i++;
    if (i == KERNELS_MAX) return SIMT_INVALID;
    if (i == m.allowed_count) m.allowed_count++;
    m.allowed[i] = {kernel, bytes};
    return 0;
}

int simt_launch(struct simt_device *device, const simt_launch_args &launch)
{
    const simt_grid &g = launch.grid;
    if (device->fault[0]) return SIMT_FAULT;
    if (!g.x || !g.y || !g.z) return 0;
    bool fits = g.x <= INT32_MAX && g.y <= 65535 && g.z <= 65535 && launch.threads > 0 && launch.threads <= THREADS_MAX;
    if (!fits || launch.shared_bytes > allowed_shared(launch.kernel)) return SIMT_INVALID;
    if (!ready(launch.shared_bytes)) return SIMT_INVALID;
    m.device = device;
    m.launch = &launch;
    simt_here = {0, (int)launch.threads, {0, 0, 0}, {g.x, g.y, g.z}};
    run_grid();
    m.device = NULL;
    m.launch = NULL;
    return device->fault[0] ? SIMT_FAULT : 0;
}
