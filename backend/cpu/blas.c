/* Matrix multiplies through a CBLAS. The library is set to one thread, and our own threads call it for tiles of C. The
 * tiles depend only on the shape, so the result has the same bits on any number of threads. */
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/gemm_tiles.h"

#ifdef TT_HAVE_CBLAS
#include <cblas.h>

/* Not every CBLAS has these. */
void openblas_set_num_threads(int n) __attribute__((weak));
char *openblas_get_config(void) __attribute__((weak));
void bli_thread_set_num_threads(int64_t n) __attribute__((weak));
const char *bli_info_get_version_str(void) __attribute__((weak));

bool tt_cpu_blas_open(char *name, size_t size)
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    if (bli_thread_set_num_threads) bli_thread_set_num_threads(1);
    char version[64] = "CBLAS";
    if (openblas_get_config) {
        char vendor[32] = "", number[28] = "";
        sscanf(openblas_get_config(), "%31s %27s", vendor, number);
        snprintf(version, sizeof version, "%s %s", vendor, number);
    } else if (bli_info_get_version_str) {
        snprintf(version, sizeof version, "BLIS %s", bli_info_get_version_str());
    }
    snprintf(name, size, "%s", version);
    return true;
}

tt_status tt_cpu_blas_hold(int threads, struct cpu_room *room)
{
    const size_t buffer = (size_t)130 << 20; /* at most 128 MiB, and alignment */
    *room = (struct cpu_room){0};
    if (!openblas_set_num_threads) return TT_OK;
    size_t bytes = (size_t)threads * buffer;
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return tt_fail(TT_FAILED, "no %zu MiB of address space for OpenBLAS on %d threads; use fewer --threads, raise "
                       "'ulimit -v', or go without it: TT_CPU_GEMM=builtin", bytes >> 20, threads);
    *room = (struct cpu_room){at, bytes};
    return TT_OK;
}

void tt_cpu_blas_let_go(struct cpu_room *room)
{
    if (room->at) munmap(room->at, room->bytes);
    *room = (struct cpu_room){0};
}

/* Dimensions are int in CBLAS. */
bool tt_cpu_blas_can(const struct tt_gemm *g)
{
    int64_t most = INT_MAX;
    return g->m <= most && g->n <= most && g->k <= most && g->lda <= most && g->ldb <= most && g->ldc <= most;
}

/* The tile (m, n) of C at (i, j), in one matrix of the batch. */
static void multiply_tile(const struct tt_gemm *g, int64_t batch, int64_t i, int64_t j, int64_t m, int64_t n)
{
    const float *a = (const float *)g->a + batch * g->stride_a + (g->trans_a ? i : i * g->lda);
    const float *b = (const float *)g->b + batch * g->stride_b + (g->trans_b ? j * g->ldb : j);
    float *c = (float *)g->c + batch * g->stride_c + i * g->ldc + j;
    cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans, g->trans_b ? CblasTrans : CblasNoTrans, (int)m,
                (int)n, (int)g->k, g->alpha, a, (int)g->lda, b, (int)g->ldb, g->beta, c, (int)g->ldc);
}

void tt_cpu_blas_gemm(const struct cpu_team *team, const struct tt_gemm *g)
{
    struct gemm_tiles tiles = gemm_tiles(g->m, g->n, g->batch);
    PARALLEL_FOR_UNEVEN(team, g->batch * g->m * g->n * g->k / 16)
    for (int64_t t = 0; t < g->batch * tiles.count; t++) {
        int64_t i = t % tiles.count / tiles.columns * tiles.m, j = t % tiles.count % tiles.columns * tiles.n;
        multiply_tile(g, t / tiles.count, i, j, smaller(tiles.m, g->m - i), smaller(tiles.n, g->n - j));
    }
}

#else

bool tt_cpu_blas_open(char *name, size_t size)
{
    (void)name, (void)size;
    return false;
}

tt_status tt_cpu_blas_hold(int threads, struct cpu_room *room)
{
    (void)threads, (void)room;
    return TT_OK;
}

void tt_cpu_blas_let_go(struct cpu_room *room) { (void)room; }

bool tt_cpu_blas_can(const struct tt_gemm *g)
{
    (void)g;
    return false;
}

void tt_cpu_blas_gemm(const struct cpu_team *team, const struct tt_gemm *g) { (void)team, (void)g; }

#endif
