/* Tests and times residual_norm() of kernel.c.
 *
 *     cc -O3 -o mine kernel.c harness.c -lm
 *     ./mine            is it right at awkward sizes, and how fast is it?
 *     ./mine fused      the same; besides, it must not touch scratch, and must finish a row before it reads far ahead
 *
 * The results are compared with the formula in fp64. Outputs are filled with a poison value before, buffers have guard
 * zones around them, and a second call must give the same bits in y. The exit code is 1 if anything is wrong. */
#define _DEFAULT_SOURCE
#include "kernel.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

static void fill(float *at, long n, float largest)
{
    for (long k = 0; k < n; k++) at[k] = ((float)rand() / (float)RAND_MAX * 2 - 1) * largest;
}

static float *input(struct problem *p, int i, long n, float largest)
{
    float *at = buffer(p, i, n);
    fill(at, n, largest);
    return at;
}

static struct problem make(long rows, long cols, float largest, float eps)
{
    struct problem p = {.a = {.rows = rows, .cols = cols, .eps = eps}};
    p.a.x = input(&p, 0, rows * cols, largest);
    p.a.delta = input(&p, 1, rows * cols, largest);
    p.a.weight = input(&p, 2, cols, 2);
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

/* The largest error, and where it is. NaN is the worst error: once it was found, it stays. */
struct error {
    double size;
    const char *output;
    long row, col;
    float got;
    double want;
};

static void compare(struct error *e, const char *output, long row, long col, float got, double want)
{
    double size = fabs(got - want) / (1 + fabs(want));
    if (isnan(e->size) || size <= e->size) return;
    *e = (struct error){size, output, row, col, got, want};
}

static struct error largest_error(const struct residual_norm *a, long begin, long end)
{
    struct error e = {0};
    for (long r = begin; r < end; r++) {
        const float *x = a->x + r * a->cols, *delta = a->delta + r * a->cols;
        double squares = 0;
        for (long c = 0; c < a->cols; c++) squares += ((double)x[c] + delta[c]) * ((double)x[c] + delta[c]);
        double rstd = 1 / sqrt(squares / (double)a->cols + a->eps);
        for (long c = 0; c < a->cols; c++) {
            compare(&e, "sum", r, c, a->sum[r * a->cols + c], (double)x[c] + delta[c]);
            compare(&e, "y", r, c, a->y[r * a->cols + c], ((double)x[c] + delta[c]) * rstd * a->weight[c]);
        }
        compare(&e, "rstd", r, 0, a->rstd[r], rstd);
    }
    return e;
}

static int report(const char *what, const char *wrong, const struct error *e)
{
    printf("%s %s largest relative error %.1e%s%s\n", wrong ? "FAIL" : "ok  ", what, e->size, wrong ? ": " : "",
           wrong ? wrong : "");
    if (!(e->size < 1e-5))
        printf("     %s[%ld, %ld] is %g, and should be %g\n", e->output, e->row, e->col, (double)e->got, e->want);
    return !wrong;
}

static int test(long rows, long cols, float largest, float eps, int fused)
{
    struct problem p = make(rows, cols, largest, eps);
    char what[80];
    float *first = room((size_t)(rows * cols) * sizeof *first);
    residual_norm(&p.a);
    int untouched = scratch_untouched(&p);
    memcpy(first, p.a.y, (size_t)(rows * cols) * sizeof *first);
    residual_norm(&p.a);
    struct error e = largest_error(&p.a, 0, rows);
    const char *wrong = NULL;
    if (fused && !untouched) wrong = "touches scratch: it is not fused yet";
    if (!(e.size < 1e-5)) wrong = "differs from the formula";
    if (memcmp(first, p.a.y, (size_t)(rows * cols) * sizeof *first)) wrong = "gives other bits the second time";
    if (!guards_hold(&p)) wrong = "wrote outside of its buffers";
    snprintf(what, sizeof what, "%5ld x %-5ld eps %-7g", rows, cols, (double)eps);
    int good = report(what, wrong, &e);
    free(first);
    discard(&p);
    return good;
}

/* ---- one pass? ---- */

/* One row of x is a page of memory that cannot be read. A kernel that reads it ends up here, and the rows that are
 * finished by then show in which order it works. */
static sigjmp_buf stopped;
static void stop(int number)
{
    (void)number;
    siglongjmp(stopped, 1);
}

/* Whether the row `done` is finished when the kernel first reads the row `barred`. */
static int finishes_before(long done, long barred)
{
    long page = sysconf(_SC_PAGESIZE), cols = page / (long)sizeof(float), rows = 16;
    struct problem p = make(rows, cols, 2, 1e-6f);
    float *x = mmap(NULL, (size_t)(rows * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction ours = {.sa_handler = stop}, before[2];
    volatile int finished = 1;
    if (x == MAP_FAILED) return 1;
    fill(x, rows * cols, 2);
    p.a.x = x;
    sigaction(SIGSEGV, &ours, &before[0]);
    sigaction(SIGBUS, &ours, &before[1]);
    mprotect(x + barred * cols, (size_t)page, PROT_NONE);
    if (!sigsetjmp(stopped, 1))
        residual_norm(&p.a);
    else
        finished = largest_error(&p.a, done, done + 1).size < 1e-5;
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGBUS, &before[1], NULL);
    munmap(x, (size_t)(rows * page));
    discard(&p);
    return finished;
}

/* Whether the kernel is one pass over the rows, from the first to the last or the other way round. */
static int test_one_pass(void)
{
    int good = finishes_before(0, 15) || finishes_before(15, 0);
    printf("%s %s\n", good ? "ok  " : "FAIL",
           good ? "one pass over the rows" : "several passes: it reads the last row before the first one is finished");
    return good;
}

/* ---- time ---- */

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
    struct problem p = make(rows, cols, 2, 1e-6f);
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
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) good &= test(sizes[i][0], sizes[i][1], 2, 1e-6f, fused);
    good &= test(7, 13, 2, 0.5f, fused);      /* a large eps counts */
    good &= test(3, 40, 1e-3f, 1e-6f, fused); /* in rows near zero a small one does, too */
    if (good && fused) good = test_one_pass();
    if (good) measure(2048, 1024);
    return !good;
}
