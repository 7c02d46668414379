/* A learner's kernel on the CPU: a function of plain C that knows nothing of threads. Each thread gets an equal run of
 * rows, so a kernel in several passes pays for its memory traffic as it would alone; a row's bits are its own. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/kernels/parallel.h"

enum { UNTOUCHED = 0xa5 };

static int64_t rows_each(const struct cpu_team *team, const struct tt_rmsnorm_args *a)
{
    return divide_up(a->rows, threads_for(team, a->rows * a->cols));
}

size_t tt_cpu_own_scratch(const struct cpu_team *team, const struct tt_rmsnorm_args *a)
{
    return (size_t)(rows_each(team, a) * a->cols);
}

static void run_rows(const struct tt_own_kernel *own, const struct tt_rmsnorm_args *a, int64_t first, int64_t count,
                     float *scratch)
{
    struct residual_norm part = tt_own_kernel_args(a, first, count);
    part.scratch = scratch;
    own->run(&part);
}

/* Once, on the first rows of the first launch: is the scratch as it was? */
static void look_at_scratch(struct tt_own_kernel *own, const struct cpu_team *team, const struct tt_rmsnorm_args *a)
{
    int64_t rows = smaller(rows_each(team, a), a->rows);
    size_t bytes = (size_t)(rows * a->cols) * sizeof(float);
    const unsigned char *scratch = memset(team->scratch, UNTOUCHED, bytes);
    run_rows(own, a, 0, rows, team->scratch);
    for (size_t i = 0; i < bytes && !own->writes_scratch; i++) own->writes_scratch = scratch[i] != UNTOUCHED;
    own->looked = true;
}

void tt_cpu_own_run(struct tt_own_kernel *own, const struct cpu_team *team, const struct tt_rmsnorm_args *a)
{
    int64_t run = rows_each(team, a);
    if (!own->looked && a->rows > 0) look_at_scratch(own, team, a);
    PARALLEL_FOR(team, a->rows * a->cols)
    for (int64_t first = 0; first < a->rows; first += run)
        run_rows(own, a, first, smaller(run, a->rows - first), thread_scratch(team));
}
