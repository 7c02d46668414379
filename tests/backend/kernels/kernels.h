/* The harness of the kernel tests: a kernel is launched through the vtable alone and its outputs are compared with a
 * plain fp64 reference, so that the same tests run on every backend.
 *
 *     static void check_doubling(int64_t rows, int64_t cols)
 *     {
 *         new_case("%" PRId64 " x %" PRId64, rows, cols);
 *         struct tensor *x = input("x", kt.dtype, rows, cols, 0, 1.0);
 *         double *want = doubles(rows * cols);
 *         for (int64_t i = 0; i < rows * cols; i++) want[i] = 2 * x->v[i];
 *         LAUNCH(scale, .x = x->data, .n = rows * cols, .factor = 2);
 *         close_to(x, want, 1e-6, 0);
 *     }
 *
 * The pointers in an argument struct point into host images. LAUNCH copies every image to the device, replaces the
 * pointers with device pointers (kernels.def says which fields are pointers), launches, and copies the images back. It
 * does so on several backends with different numbers of threads, and checks each time that
 *   - nothing outside a buffer, and no gap between the rows of a view, was written;
 *   - what kernels.def calls an input was not changed;
 *   - every backend wrote the same bits. */
#ifndef TT_TEST_KERNELS_H
#define TT_TEST_KERNELS_H

#include "tests/backend/kernels/compare.h"
#include "tests/backend/kernels/coverage.h"
#include "tests/backend/kernels/launch.h"

/* ---- many shapes ---- */

static inline int64_t value_stride(void) { return test_few() ? 2 : 1; } /* few: skip every second value */

/* for EACH(n, 1, 3, 7) use(*n); */
#define EACH(x, ...)                                                                               \
    (const int64_t *x = (const int64_t[]){__VA_ARGS__},                                            \
                   *x##_end = x + sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t);        \
     x < x##_end; x += value_stride())

typedef void (*shape_test)(int64_t rows, int64_t cols, int64_t gap);

static inline void for_shapes_and_gaps(shape_test test)
{
    for EACH (rows, 1, 3, 17, 70)
        for EACH (cols, 1, 3, 7, 65, 100, 1000)
            for EACH (gap, 0, 3) test(*rows, *cols, *gap);
}

static inline void for_shapes(void (*test)(int64_t rows, int64_t cols))
{
    for EACH (rows, 1, 3, 17, 70)
        for EACH (cols, 1, 3, 7, 65, 100, 1000) test(*rows, *cols);
}

/* One row length for each way in which a GPU distributes a row over its threads. The list is short and never
 * reduced. */
static const int64_t row_widths[] = {64, 256, 512, 520, 1032, 2064, 4104, 8200};
enum { ROW_WIDTHS = sizeof row_widths / sizeof *row_widths };

static inline void for_row_widths(void (*test)(int64_t rows, int64_t cols))
{
    for (int i = 0; i < ROW_WIDTHS; i++) test(5, row_widths[i]);
}

static inline void for_lengths(void (*test)(int64_t n))
{
    for EACH (n, 1, 3, 7, 16, 65, 1000, 4099, 70001) test(*n);
}

/* ---- programs ---- */

/* On a GPU the number of threads has no effect. */
static inline bool on_a_gpu(void) { return !strcmp(tt_backend_name(), "cuda") || !strcmp(tt_backend_name(), "hip"); }

static inline tt_status open_backends_with(enum tt_kernel_set kernels)
{
    static const int threads[MAX_BACKENDS] = {1, 4, 2, 3};
    struct tt_device_info info;
    int count = test_few() && on_a_gpu() ? 1 : MAX_BACKENDS;
    for (int i = 0; i < count; i++) {
        struct tt_backend_options options = {.threads = threads[i], .kernels = kernels};
        TT_TRY(tt_backend_open(&options, &kt.backends[i]));
        kt.backend_count = i + 1;
    }
    TT_TRY(kt.backends[0].ops->info(kt.backends[0].self, &info));
    kt.has[TT_F32] = true;
    kt.has[TT_BF16] = info.has[TT_PREC_BF16];
    kt.has[TT_F16] = info.has[TT_PREC_FP16];
    return TT_OK;
}

static inline tt_status open_backends(void) { return open_backends_with(TT_NATIVE); }

/* Runs the test once for every type of activations that this device supports. */
#define TEST_TYPES(name)                                                                           \
    do {                                                                                           \
        for (kt.dtype = TT_F32; kt.dtype < TT_DTYPES; kt.dtype++)                                  \
            if (kt.has[kt.dtype]) TEST(name);                                                      \
        kt.dtype = TT_F32;                                                                         \
    } while (0)

static inline void close_backends(void)
{
    forget_case();
    for (int i = 0; i < kt.backend_count; i++) tt_backend_close(&kt.backends[i]);
}

/* If this device has native kernels: reopens the same backends with the portable ones, for the tests that follow. */
static inline bool reopen_portable(void)
{
    struct tt_device_info info = {0};
    tt_status st = kt.backends[0].ops->info(kt.backends[0].self, &info);
    bool native = !st && !strncmp(info.kernels, "native", 6);
    if (native) {
        close_backends();
        st = open_backends_with(TT_PORTABLE);
    }
    CHECK(!st, "portable kernels: %s", st->text);
    tt_status_free(st);
    return native;
}

#define LAUNCHED(name) CHECK(kt.launches[TT_K_##name] > 0, "no test launched " #name);

/* The end of main(). `cover` is this program's list in coverage.h. */
#define END_KERNEL_TESTS(cover)                                                                    \
    do {                                                                                           \
        cover(LAUNCHED) close_backends();                                                          \
        return test_end();                                                                         \
    } while (0)

#endif
