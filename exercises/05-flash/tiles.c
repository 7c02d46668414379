/* Causal attention of one head in tiles with online softmax, as flash attention does it, in plain C: a program to try
 * tile sizes with.
 *
 *     cc -O2 -o tiles tiles.c -lm && ./tiles LENGTH HEAD_DIM ROWS COLS
 *
 * ROWS rows of Q meet COLS rows of K and V at a time. The program counts the bytes that a GPU would read from and write
 * to memory, and computes how many it would hold on chip. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct shape {
    int S, D, rows, cols;
};

static void *room(size_t bytes)
{
    void *p = malloc(bytes);
    if (p) return p;
    fprintf(stderr, "tiles: out of memory\n");
    exit(1);
}

static float *numbers(int n)
{
    float *p = room((size_t)n * sizeof *p);
    for (int i = 0; i < n; i++) p[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    return p;
}

static float dot(const float *a, const float *b, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Adds columns [c0, c1) to row i. m is the largest score so far, l the sum of exp(score - m), and o the sum of
 * exp(score - m) v. When a larger score comes, the sums are scaled down, so no column is read again. */
static void row_meets_tile(struct shape s, int i, int c0, int c1, const float *q, const float *K, const float *V,
                           float *m, float *l, float *o)
{
    float scale = 1 / sqrtf((float)s.D), top = *m;
    float score[c1 - c0];
    for (int j = c0; j < c1 && j <= i; j++) {
        score[j - c0] = scale * dot(q, K + j * s.D, s.D);
        if (score[j - c0] > top) top = score[j - c0];
    }
    float shrink = expf(*m - top); /* 0 at first, when m is -infinity */
    *l *= shrink;
    for (int d = 0; d < s.D; d++) o[d] *= shrink;
    for (int j = c0; j < c1 && j <= i; j++) {
        float p = expf(score[j - c0] - top);
        *l += p;
        for (int d = 0; d < s.D; d++) o[d] += p * V[j * s.D + d];
    }
    *m = top;
}

/* Returns the bytes that a GPU would move between memory and chip. */
static double flash(struct shape s, const float *Q, const float *K, const float *V, float *O)
{
    float *m = room((size_t)s.rows * sizeof *m), *l = room((size_t)s.rows * sizeof *l);
    double moved = 0;
    for (int r0 = 0; r0 < s.S; r0 += s.rows) {
        int r1 = r0 + s.rows < s.S ? r0 + s.rows : s.S;
        moved += 4.0 * (r1 - r0) * s.D; /* Q in */
        for (int i = r0; i < r1; i++) {
            m[i - r0] = -INFINITY, l[i - r0] = 0;
            for (int d = 0; d < s.D; d++) O[i * s.D + d] = 0;
        }
        for (int c0 = 0; c0 < r1; c0 += s.cols) { /* tiles right of the diagonal are never touched */
            int c1 = c0 + s.cols < r1 ? c0 + s.cols : r1;
            moved += 8.0 * (c1 - c0) * s.D; /* K and V in */
            for (int i = r0 > c0 ? r0 : c0; i < r1; i++)
                row_meets_tile(s, i, c0, c1, Q + i * s.D, K, V, &m[i - r0], &l[i - r0], O + i * s.D);
        }
        for (int i = r0; i < r1; i++)
            for (int d = 0; d < s.D; d++) O[i * s.D + d] /= l[i - r0];
        moved += 4.0 * (r1 - r0) * s.D; /* O out */
    }
    free(m);
    free(l);
    return moved;
}

/* The largest error of O, compared with a plain softmax in fp64: all scores of a row, their maximum, then the sum. */
static double largest_error(struct shape s, const float *Q, const float *K, const float *V, const float *O)
{
    double worst = 0, *score = room((size_t)s.S * sizeof *score);
    for (int i = 0; i < s.S; i++) {
        double top = -INFINITY, sum = 0;
        for (int j = 0; j <= i; j++) {
            score[j] = 0;
            for (int d = 0; d < s.D; d++) score[j] += (double)Q[i * s.D + d] * K[j * s.D + d];
            score[j] /= sqrt(s.D);
            top = fmax(top, score[j]);
        }
        for (int j = 0; j <= i; j++) sum += score[j] = exp(score[j] - top);
        for (int d = 0; d < s.D; d++) {
            double o = 0;
            for (int j = 0; j <= i; j++) o += score[j] / sum * V[j * s.D + d];
            worst = fmax(worst, fabs(o - O[i * s.D + d]));
        }
    }
    free(score);
    return worst;
}

int main(int argc, char **argv)
{
    struct shape s = {0};
    if (argc == 5) s = (struct shape){atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4])};
    if (s.S < 1 || s.D < 1 || s.rows < 1 || s.cols < 1 || s.S > 16384 || s.D > 512 || s.rows > s.S || s.cols > s.S)
        return fprintf(stderr, "usage: tiles LENGTH HEAD_DIM ROWS COLS, with ROWS and COLS at most LENGTH\n"), 2;
    float *Q = numbers(s.S * s.D), *K = numbers(s.S * s.D), *V = numbers(s.S * s.D), *O = numbers(s.S * s.D);
    clock_t start = clock();
    double moved = flash(s, Q, K, V, O);
    double ms = 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC, error = largest_error(s, Q, K, V, O);
    double chip = 4.0 * ((double)s.D * (2 * s.rows + 2 * s.cols) + (double)s.rows * s.cols + 2 * s.rows);
    printf("S %d D %d tile %dx%d: %.1f KiB on chip, %.2f MiB moved, %.1f ms on this CPU, largest error %.1e\n", s.S,
           s.D, s.rows, s.cols, chip / 1024, moved / 1048576, ms, error);
    free(Q);
    free(K);
    free(V);
    free(O);
    return error < 1e-5 ? 0 : 1;
}
