/* The SIMT machine finds the faults it is made for. Each kernel with a classic fault must be reported or compute
 * something wrong; beside it, one without the fault must be right in every order. */
#include "gpu_mma.h"
#ifdef SIMT_NATIVE
#include "gpu_hopper.h"
#endif
#include "tests/test.h"

#ifdef TT_SANITIZE
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
enum { THREADS = 128, ORDERS = 4, DYNAMIC = THREADS * sizeof(float) /* bytes */ };

/* Every kernel writes one number per thread, for which the test knows the right value. */
typedef gpu_error (*launcher)(float *out, gpu_stream s);

#define KERNEL(name) GPU_KERNEL name(float *out)
#define LAUNCHER(name)                                                                                                 \
    [](float *out, gpu_stream s) -> gpu_error { return GPU_LAUNCH(name, gpu_grid_of(1), THREADS, DYNAMIC, s, out); }

static float value(int t) { return (float)(1 + t); }

/* ---- a reduction that is right for one wave width only ---- */

KERNEL(sum_of_wave) { out[gpu_thread()] = gpu_wave_sum(value(gpu_lane())); }
KERNEL(sum_from_16)
{
    float x = value(gpu_lane());
    for (int mask = 16; mask > 0; mask /= 2) x += gpu_shfl_xor(x, mask);
    out[gpu_thread()] = x;
}
static float want_wave_sum(int) { return (float)(GPU_WAVE * (GPU_WAVE + 1) / 2); }

/* ---- barriers ---- */

template <bool BARRIER> KERNEL(reversed)
{
    GPU_SHARED float x[THREADS];
    x[gpu_thread()] = value(gpu_thread());
    if (BARRIER) gpu_block_sync();
    out[gpu_thread()] = x[THREADS - 1 - gpu_thread()];
}
static float want_reversed(int t) { return value(THREADS - 1 - t); }

/* Without the second barrier, the second round overwrites what the first still reads. */
template <bool BARRIER> KERNEL(two_rounds)
{
    GPU_SHARED float x[THREADS];
    float sum = 0;
    for (int round = 0; round < 2; round++) {
        x[gpu_thread()] = value(gpu_thread()) + (float)round;
        gpu_block_sync();
        sum += x[THREADS - 1 - gpu_thread()];
        if (BARRIER) gpu_block_sync();
    }
    out[gpu_thread()] = sum;
}
static float want_two_rounds(int t) { return 2 * want_reversed(t) + 1; }

/* The same between the lanes of a wave. */
template <bool SYNC> KERNEL(neighbour)
{
    GPU_SHARED float x[THREADS];
    x[gpu_thread()] = value(gpu_thread());
    if (SYNC) gpu_wave_sync();
    out[gpu_thread()] = x[gpu_thread() ^ 1];
}
static float want_neighbour(int t) { return value(t ^ 1); }

KERNEL(barrier_of_some)
{
    if (gpu_thread() % 2)
        gpu_block_sync();
    else
        gpu_block_sync();
    out[gpu_thread()] = value(gpu_thread());
}
KERNEL(barrier_of_one_wave)
{
    if (gpu_wave() == 0) gpu_block_sync();
    gpu_wave_sync();
    gpu_block_sync();
    out[gpu_thread()] = value(gpu_thread());
}
KERNEL(barrier_after_some_ended)
{
    out[gpu_thread()] = value(gpu_thread());
    if (gpu_thread() >= THREADS / 2 + 5) return;
    gpu_block_sync();
}

/* ---- lanes ---- */

KERNEL(shuffle_of_some)
{
    float x = value(gpu_thread());
    if (gpu_thread() % 2) x = gpu_shfl_xor(x, 2);
    gpu_block_sync();
    out[gpu_thread()] = x;
}
KERNEL(shuffle_with_the_ended)
{
    out[gpu_thread()] = value(gpu_thread());
    if (gpu_thread() % GPU_GROUP >= 16) return;
    out[gpu_thread()] = gpu_shfl_xor(value(gpu_thread()), 16);
}
/* A group does as many rounds as its number, so the two groups of a wave are at different places. */
KERNEL(groups_apart)
{
    float x = value(gpu_thread());
    for (int i = 0; i < gpu_thread() / GPU_GROUP; i++) x = gpu_shfl_xor(x, 1);
    out[gpu_thread()] = x;
}
static float want_groups_apart(int t) { return value(t / GPU_GROUP % 2 ? t ^ 1 : t); }
KERNEL(ballot_of_a_group)
{
    uint64_t all = ~(uint64_t)0;
    for (int i = 0; i < gpu_thread() / GPU_GROUP % 2; i++) all = gpu_ballot(1);
    gpu_block_sync();
    out[gpu_thread()] = all ? value(gpu_thread()) : 0;
}

/* ---- shared memory ---- */

template <int BEYOND> KERNEL(dynamic_shared)
{
    GPU_DYNAMIC_SHARED(shared);
    float *x = (float *)shared;
    x[gpu_thread() + BEYOND] = value(gpu_thread());
    gpu_block_sync();
    out[gpu_thread()] = x[gpu_thread() + BEYOND];
}
template <int BEYOND> KERNEL(static_shared)
{
    GPU_SHARED float x[THREADS];
    x[gpu_thread() + BEYOND] = value(gpu_thread());
    gpu_block_sync();
    out[gpu_thread()] = x[gpu_thread() + BEYOND];
}
KERNEL(nobody_wrote_dynamic)
{
    GPU_DYNAMIC_SHARED(shared);
    out[gpu_thread()] = value(gpu_thread()) + 0 * ((float *)shared)[gpu_thread()];
}
KERNEL(nobody_wrote_static)
{
    GPU_SHARED float x[THREADS];
    if (gpu_thread() > 0) x[gpu_thread()] = 0;
    gpu_block_sync();
    out[gpu_thread()] = value(gpu_thread()) + x[gpu_thread()];
}

/* ---- copies in the background ---- */

alignas(16) static const float numbers[4] = {1, 2, 3, 4};

template <bool COMMIT, bool WAIT, bool END> KERNEL(copied)
{
    GPU_DYNAMIC_SHARED(shared);
    float *x = (float *)shared;
    gpu_copy16 copy;
    if (gpu_thread() == 0) copy.begin(x, numbers, true);
    if (COMMIT) gpu_copy_commit();
    if (WAIT) gpu_copy_wait<0>();
    if (gpu_thread() == 0 && END) copy.end(x);
    gpu_block_sync();
    out[gpu_thread()] = x[gpu_thread() % 4];
}
static float want_copied(int t) { return value(t % 4); }

KERNEL(unaligned_load)
{
    alignas(16) unsigned char bytes[32] = {0};
    out[gpu_thread()] = (float)gpu_load16(bytes + 4).w[0] + value(gpu_thread());
}

/* ---- matrix tiles: the square of the unit matrix, checked by every lane ---- */

GPU_DEVICE void square_of_unit(gpu_tile_c &c)
{
    GPU_DYNAMIC_SHARED(shared);
    gpu_half *unit = (gpu_half *)shared;
    for (int i = gpu_thread(); i < 256; i += THREADS) unit[i] = gpu_from_float<gpu_half>(i % 17 ? 0.0f : 1.0f);
    gpu_block_sync();
    gpu_tile_a<gpu_half> a;
    gpu_tile_b<gpu_half> b;
    gpu_tile_load(a, unit, 16);
    gpu_tile_load(b, unit, 16);
    gpu_tile_fill(c, 0.0f);
    gpu_tile_mma(c, a, b);
}
KERNEL(tile_by_its_names)
{
    gpu_tile_c c;
    bool good = true;
    square_of_unit(c);
    gpu_tile_each(c, [&](int row, int col, float &x) { good = good && x == (row == col ? 1.0f : 0.0f); });
    out[gpu_thread()] = good ? value(gpu_thread()) : 0;
}
/* Assumes that element 0 of a lane is where another chip's instruction has it. */
KERNEL(tile_of_another_chip)
{
    gpu_tile_c c;
    square_of_unit(c);
    int row = GPU_COPY_HELD ? gpu_lane() % 32 / 4 : gpu_lane() % 16, col = GPU_COPY_HELD ? gpu_lane() % 4 * 2 : 0;
    out[gpu_thread()] = c.v[0] == (row == col ? 1.0f : 0.0f) ? value(gpu_thread()) : 0;
}
KERNEL(tile_after_some_ended)
{
    gpu_tile_c c;
    out[gpu_thread()] = value(gpu_thread());
    if (gpu_lane() == 3) return;
    gpu_tile_fill(c, 0.0f);
    gpu_tile_mma(c, gpu_tile_a<gpu_half>(), gpu_tile_b<gpu_half>());
}

/* ---- what must happen with each ---- */

struct outcome {
    int wrong;       /* orders with a wrong number */
    char fault[600]; /* the first fault */
};

static struct outcome run(launcher launch, float (*want)(int))
{
    static const struct simt_device devices[ORDERS] = {
        {SIMT_FORWARD, 0, ""}, {SIMT_REVERSE, 0, ""}, {SIMT_SHUFFLED, 1, ""}, {SIMT_SHUFFLED, 2, ""}};
    struct outcome result = {0, ""};
    for (int i = 0; i < ORDERS; i++) {
        struct simt_device device = devices[i];
        float out[THREADS] = {0};
        bool right = launch(out, &device) == 0;
        for (int t = 0; t < THREADS; t++) right = right && out[t] == want(t);
        result.wrong += !right;
        if (!result.fault[0]) strcpy(result.fault, device.fault);
    }
    return result;
}

#define RIGHT(name, want)                                                                                              \
    do {                                                                                                               \
        struct outcome o_ = run(LAUNCHER(name), want);                                                                 \
        CHECK(o_.wrong == 0 && !o_.fault[0], "%s: wrong in %d orders; %s", #name, o_.wrong, o_.fault);                 \
    } while (0)
#define WRONG(name, want)                                                                                              \
    do {                                                                                                               \
        struct outcome o_ = run(LAUNCHER(name), want);                                                                 \
        CHECK(o_.wrong > 0 && !o_.fault[0], "%s: wrong in %d orders; %s", #name, o_.wrong, o_.fault);                  \
    } while (0)
#define FAULT(name, words)                                                                                             \
    do {                                                                                                               \
        struct outcome o_ = run(LAUNCHER(name), value);                                                                \
        CHECK(strstr(o_.fault, words), "%s: no fault of \"%s\", but \"%s\"", #name, words, o_.fault);                  \
    } while (0)

static void finds_a_reduction_for_another_width(void)
{
    RIGHT(sum_of_wave, want_wave_sum);
    if (GPU_WAVE == 32)
        RIGHT(sum_from_16, want_wave_sum);
    else
        WRONG(sum_from_16, want_wave_sum);
}

static void finds_missing_barriers(void)
{
    RIGHT(reversed<true>, want_reversed);
    WRONG(reversed<false>, want_reversed);
    RIGHT(two_rounds<true>, want_two_rounds);
    WRONG(two_rounds<false>, want_two_rounds);
    RIGHT(neighbour<true>, want_neighbour);
    WRONG(neighbour<false>, want_neighbour);
}

static void finds_threads_that_do_not_meet(void)
{
    FAULT(barrier_of_some, "divergent");
    FAULT(barrier_of_one_wave, "divergent");
    RIGHT(barrier_after_some_ended, value);
    FAULT(shuffle_of_some, "divergent");
    FAULT(shuffle_with_the_ended, "takes no part");
    RIGHT(groups_apart, want_groups_apart);
    if (GPU_WAVE == 32)
        RIGHT(ballot_of_a_group, value);
    else
        FAULT(ballot_of_a_group, "divergent");
}

static void finds_faults_of_shared_memory(void)
{
    RIGHT(dynamic_shared<0>, value);
    FAULT(dynamic_shared<1>, "of shared memory was written");
    FAULT(dynamic_shared<-1>, "before its begin");
    RIGHT(static_shared<0>, value);
    if (!SANITIZED) { /* in sanitizer builds the sanitizer's own report ends the program */
        FAULT(static_shared<1>, "beyond the array");
        WRONG(nobody_wrote_static, value);
    }
    WRONG(nobody_wrote_dynamic, value);
}

static void finds_faults_of_copies(void)
{
    RIGHT((copied<true, true, true>), want_copied);
    if (GPU_COPY_HELD) {
        WRONG((copied<true, true, false>), want_copied);
    } else {
        WRONG((copied<true, false, true>), want_copied);
        WRONG((copied<false, true, true>), want_copied);
    }
    FAULT(unaligned_load, "multiple of 16");
}

static void finds_who_knows_the_layout_of_tiles(void)
{
    RIGHT(tile_by_its_names, value);
    WRONG(tile_of_another_chip, value);
    FAULT(tile_after_some_ended, "needs all lanes");
}

#ifdef SIMT_NATIVE

/* ---- Hopper's barriers in shared memory: a phase needs COUNT arrivals, and THREADS arrive ---- */

template <int COUNT, bool INIT, int BYTES, int PARITY> KERNEL(counted)
{
    GPU_SHARED uint64_t barrier;
    GPU_SHARED float x[THREADS];
    if (INIT && gpu_thread() == 0) hopper_barrier_init(&barrier, COUNT);
    gpu_block_sync();
    x[gpu_thread()] = value(gpu_thread());
    hopper_arrive_bytes(&barrier, BYTES);
    hopper_wait(&barrier, PARITY);
    out[gpu_thread()] = x[THREADS - 1 - gpu_thread()];
}
/* One half waits for the other at a numbered barrier, or does not. */
template <bool WAITS> KERNEL(numbered)
{
    GPU_SHARED float x[THREADS / 2];
    int half = THREADS / 2, t = gpu_thread() % half;
    if (gpu_thread() < half) x[t] = value(t), hopper_sync_arrive(1, THREADS);
    else if (WAITS) hopper_sync(1, THREADS);
    out[gpu_thread()] = gpu_thread() < half ? value(t) : x[half - 1 - t];
}
static float want_numbered(int t) { return value(t < THREADS / 2 ? t : THREADS - 1 - t); }

static void finds_faults_of_hoppers_barriers(void)
{
    RIGHT((counted<THREADS, true, 0, 0>), [](int t) { return value(THREADS - 1 - t); });
    FAULT((counted<THREADS, true, 0, 1>), "for what does not come");
    FAULT((counted<THREADS + 1, true, 0, 0>), "for what does not come");
    FAULT((counted<THREADS, true, 16, 0>), "for what does not come");
    FAULT((counted<1, true, 16, 0>), "more threads arrive");
    FAULT((counted<THREADS, false, 0, 0>), "was not initialised");
    RIGHT(numbered<true>, want_numbered);
    WRONG(numbered<false>, want_numbered);
}
#endif

int main()
{
#ifdef SIMT_NATIVE
    TEST(finds_faults_of_hoppers_barriers);
#endif
    TEST(finds_a_reduction_for_another_width);
    TEST(finds_missing_barriers);
    TEST(finds_threads_that_do_not_meet);
    TEST(finds_faults_of_shared_memory);
    TEST(finds_faults_of_copies);
    TEST(finds_who_knows_the_layout_of_tiles);
    return test_end();
}
