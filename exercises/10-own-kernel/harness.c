/* Tests and times residual_norm() of kernel.c.
 *
 *     cc -O3 -o mine kernel.c harness.c -lm
 *     ./mine            right at awkward sizes? how fast?
 *     ./mine fused      the same, and it must not touch scratch
 *
 * The oracle is the formula in float64. Every output is poisoned before, has guard zones around it, and must come out
 * the same bits twice. The exit code is 1 when anything is wrong. */
#include "kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 16, REPEATS = 15, OUTPUTS = 4 };
static const float poison = -12345.5f;

struct problem {
    struct residual_norm a;
    float *memory[3 + OUTPUTS]; /* x, delta, weight; sum, y, rstd, scratch */
    long sizes[3 + OUTPUTS];
};

static void *room(size_t bytes)
{
    void *p = malloc(bytes);
    if (p) return p;
    fprintf(stderr, "harness: out of memory\n");
    exit(1);
}

static float *buffer(struct problem *p, int i, long n)
{
    p->sizes[i] = n;
    p->memory[i] = room((size_t)(n + 2 * GUARD) * sizeof(float));
    for (long k = 0; k < n + 2 * GUARD; k++) p->memory[i][k] = poison;
    return p->memory[i] + GUARD;
}

static float *input(struct problem *p, int i, long n)
{
    float *at = buffer(p, i, n);
    for (long k = 0; k < n; k++) at[k] = (float)rand() / (float)RAND_MAX * 4 - 2;
    return at;
}

static struct problem make(long rows, long cols)
{
    struct problem p = {.a = {.rows = rows, .cols = cols, .eps = 1e-6f}};
    p.a.x = input(&p, 0, rows * cols);
    p.a.delta = input(&p, 1, rows * cols);
    p.a.weight = input(&p, 2, cols);
    p.a.sum = buffer(&p, 3, rows * cols);
    p.a.y = buffer(&p, 4, rows * cols);
    p.a.rstd = buffer(&p, 5, rows);
    p.a.scratch = buffer(&p, 6, rows * cols);
    return p;
}

static void discard(struct problem *p)
{
    for (int i = 0; i < 3 + OUTPUTS; i++) free(p->memory[i]);
}

static int guards_hold(const struct problem *p)
{
    for (int i = 0; i < 3 + OUTPUTS; i++)
        for (int k = 0; k < GUARD; k++)
            if (p->memory[i][k] != poison || p->memory[i][GUARD + p->sizes[i] + k] != poison) return 0;
    return 1;
}

static int scratch_untouched(const struct problem *p)
{
    for (long k = 0; k < p->sizes[6]; k++)
        if (p->a.scratch[k] != poison) return 0;
    return 1;
}

static double worse(double so_far, float got, double want)
{
    double error = fabs(got - want) / (1 + fabs(want));
    return isnan(so_far) || error <= so_far ? so_far : error; /* not a number is the worst, and stays */
}

static double largest_error(const struct residual_norm *a)
{
    double worst = 0;
    for (long r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->cols, *delta = a->delta + r * a->cols;
        double squares = 0;
        for (long c = 0; c < a->cols; c++) squares += ((double)x[c] + delta[c]) * ((double)x[c] + delta[c]);
        double rstd = 1 / sqrt(squares / (double)a->cols + a->eps);
        worst = worse(worst, a->rstd[r], rstd);
        for (long c = 0; c < a->cols; c++) {
            worst = worse(worst, a->sum[r * a->cols + c], (double)x[c] + delta[c]);
            worst = worse(worst, a->y[r * a->cols + c], ((double)x[c] + delta[c]) * rstd * a->weight[c]);
        }
    }
    return worst;
}

static int test(long rows, long cols, int fused)
{
    struct problem p = make(rows, cols);
    float *first = room((size_t)(rows * cols) * sizeof *first);
    residual_norm(&p.a);
    int untouched = scratch_untouched(&p);
    memcpy(first, p.a.y, (size_t)(rows * cols) * sizeof *first);
    residual_norm(&p.a);
    double error = largest_error(&p.a);
    const char *wrong = NULL;
    if (fused && !untouched) wrong = "touches scratch: it is not fused yet";
    if (memcmp(first, p.a.y, (size_t)(rows * cols) * sizeof *first)) wrong = "gives other bits the second time";
    if (!guards_hold(&p)) wrong = "wrote outside of its buffers";
    if (!(error < 1e-5)) wrong = "differs from the formula";
    printf("%s %5ld x %-5ld largest relative error %.1e%s%s\n", wrong ? "FAIL" : "ok  ", rows, cols, error,
           wrong ? ": " : "", wrong ? wrong : "");
    free(first);
    discard(&p);
    return !wrong;
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(long rows, long cols)
{
    struct problem p = make(rows, cols);
    double times[REPEATS], ideal = 16.0 * (double)(rows * cols);
    for (int i = 0; i < REPEATS; i++) {
        double begin = now();
        residual_norm(&p.a);
        times[i] = now() - begin;
    }
    qsort(times, REPEATS, sizeof *times, by_size);
    printf("time %5ld x %-5ld %.3f ms (median of %d); one pass over its bytes would be %.2f GB/s\n", rows, cols,
           1e3 * times[REPEATS / 2], REPEATS, ideal / times[REPEATS / 2] / 1e9);
    discard(&p);
}

int main(int argc, char **argv)
{
    static const long sizes[][2] = {{1, 1}, {1, 7}, {3, 1}, {7, 13}, {33, 128}, {5, 1000}, {64, 513}};
    int fused = argc == 2 && !strcmp(argv[1], "fused"), good = 1;
    if (argc > 1 && !fused) return fprintf(stderr, "usage: %s [fused]\n", argv[0]), 2;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) good &= test(sizes[i][0], sizes[i][1], fused);
    if (good) measure(2048, 1024);
    return !good;
}
