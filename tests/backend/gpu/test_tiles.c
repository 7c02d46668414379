/* The matrix tiles of this GPU against plain loops: loads, products, a product's result as the next factor, rows,
 * stores. Which lane holds which element is up to the platform header; the values must be right. */
#include "backend/backend.h"
#include "core/base/rng.h"
#include "tests/backend/gpu/tiles.h"
#include "tests/backend/kernels/half.h"
#include "tests/test.h"

enum { N = 16, SIZE = N * N };

static struct tt_backend backend;
static enum tt_dtype type;

static uint16_t rounded(double x) { return type == TT_BF16 ? to_bf16(x) : to_f16(x); }
static double value(uint16_t h) { return type == TT_BF16 ? from_bf16(h) : from_f16(h); }

static void fill(uint16_t *bits, double *values, uint64_t stream)
{
    for (int i = 0; i < SIZE; i++) {
        bits[i] = rounded(tt_normal(3, stream, (uint64_t)i));
        values[i] = value(bits[i]);
    }
}

/* want = start + x·y, each as it is or transposed */
static void product(double *want, double start, const double *x, bool x_turned, const double *y, bool y_turned)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            want[i * N + j] = start;
            for (int k = 0; k < N; k++)
                want[i * N + j] += x[x_turned ? k * N + i : i * N + k] * y[y_turned ? j * N + k : k * N + j];
        }
}

static void compare(const char *what, const float *got, const double *want, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(fabs(got[i] - want[i]) <= 1e-4 * (1 + fabs(want[i])), "%s, element %d: %g, wanted %g", what, i, got[i],
              want[i]);
}

/* Runs the kernel on a and b, and fetches what it wrote. */
static void run(const uint16_t *a, const uint16_t *b, float *results, uint16_t *stored)
{
    enum { A, B, RESULTS, STORED, BUFFERS };
    static const size_t bytes[BUFFERS] = {SIZE * 2, SIZE * 2, TILES_RESULTS * SIZE * 4, SIZE * 2};
    const struct tt_backend_ops *ops = backend.ops;
    void *p[BUFFERS];
    tt_stream s;
    CHECK_OK(ops->stream_create(backend.self, &s));
    for (int i = 0; i < BUFFERS; i++) CHECK_OK(ops->alloc(backend.self, bytes[i], &p[i]));
    CHECK_OK(ops->fill(backend.self, p[RESULTS], 0, bytes[RESULTS], s)); /* the kernel does not write all of it */
    CHECK_OK(ops->copy(backend.self, p[A], a, bytes[A], TT_TO_DEVICE, s));
    CHECK_OK(ops->copy(backend.self, p[B], b, bytes[B], TT_TO_DEVICE, s));
    gpu_stream rt = *(gpu_stream *)s; /* a stream of a GPU backend begins with the vendor's stream */
    CHECK(tiles_launch(type, p[A], p[B], p[RESULTS], p[STORED], rt) == 0, "the launch failed");
    CHECK_OK(ops->copy(backend.self, results, p[RESULTS], bytes[RESULTS], TT_TO_HOST, s));
    CHECK_OK(ops->copy(backend.self, stored, p[STORED], bytes[STORED], TT_TO_HOST, s));
    CHECK_OK(ops->stream_sync(backend.self, s));
    for (int i = 0; i < BUFFERS; i++) ops->free(backend.self, p[i]);
    ops->stream_destroy(backend.self, s);
}

static void tiles(void)
{
    uint16_t a[SIZE], b[SIZE], stored[SIZE];
    double x[SIZE], y[SIZE], want[SIZE], p[SIZE];
    float results[TILES_RESULTS * SIZE];
    fill(a, x, 1);
    fill(b, y, 2);
    run(a, b, results, stored);

    const float *got = results + TILES_PRODUCT * SIZE;
    product(want, 0.5, x, false, y, false);
    compare("a product", got, want, SIZE);
    for (int i = 0; i < SIZE; i++) p[i] = value(rounded(got[i]));
    product(want, 0, x, true, y, false);
    compare("the left one transposed", results + TILES_LEFT_TRANSPOSED * SIZE, want, SIZE);
    product(want, 0, x, false, y, true);
    compare("the right one transposed", results + TILES_RIGHT_TRANSPOSED * SIZE, want, SIZE);
    product(want, 0, p, false, y, false);
    compare("a product's result on the left", results + TILES_ROUNDED * SIZE, want, SIZE);
    product(want, 0, x, false, p, true);
    compare("a product's result on the right", results + TILES_ROUNDED_TRANSPOSED * SIZE, want, SIZE);

    double rows[2 * N];
    for (int i = 0; i < N; i++) {
        rows[i] = -INFINITY, rows[N + i] = 0;
        for (int j = 0; j < N; j++) {
            want[i * N + j] = (double)got[i * N + j] + 100 * i + j;
            rows[i] = fmax(rows[i], got[i * N + j]), rows[N + i] += got[i * N + j];
        }
    }
    compare("two tiles", results + TILES_PAIR * SIZE, want, SIZE);
    compare("rows", results + TILES_ROWS * SIZE, rows, 2 * N);
    for (int i = 0; i < SIZE; i++) CHECK(value(stored[i]) == p[i], "stored %g, wanted %g", value(stored[i]), p[i]);
}
static void tiles_of_bf16(void) { type = TT_BF16, tiles(); }
static void tiles_of_f16(void) { type = TT_F16, tiles(); }

int main(void)
{
    struct tt_device_info info;
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (info.has[TT_PREC_BF16]) TEST(tiles_of_bf16);
    TEST(tiles_of_f16);
    tt_backend_close(&backend);
    return test_end();
}
