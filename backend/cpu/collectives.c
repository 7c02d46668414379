/* The collectives of the CPU: what is asked is checked at once and done by the worker. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/worker.h"

tt_status tt_cpu_join(void *self, const struct tt_ranks *ranks)
{
    struct cpu *cpu = self;
    if (!ranks) return TT_OK; /* it is linked with what it needs */
    if (cpu->mpi) return tt_fail(TT_FAILED, "join: this backend has joined a job already");
    return tt_cpu_mpi_join(ranks, &cpu->mpi);
}

static tt_status check(const struct cpu *cpu, const char *what, size_t count, enum tt_dtype type, bool sums, bool parts)
{
    if (!cpu->mpi) return tt_fail(TT_FAILED, "%s: join a job first", what);
    if ((unsigned)type >= TT_DTYPES) return tt_fail(TT_FAILED, "%s: there is no type %d", what, (int)type);
    if (sums && type != TT_F32)
        return tt_fail(TT_UNSUPPORTED, "%s: the CPU computes in fp32; use precision: fp32", what);
    size_t ranks = (size_t)tt_cpu_mpi_ranks(cpu->mpi);
    if (parts && count % ranks)
        return tt_fail(TT_FAILED, "%s: %zu elements are no multiple of %zu ranks", what, count, ranks);
    return TT_OK;
}

static tt_status reduce_scatter(const struct cpu_task *t)
{
    return tt_cpu_mpi_reduce_scatter(t->self, t->buf, t->count);
}

static tt_status all_gather(const struct cpu_task *t)
{
    return tt_cpu_mpi_all_gather(t->self, t->buf, t->count, tt_dtype_size(t->type));
}

static tt_status all_reduce(const struct cpu_task *t)
{
    TT_TRY(reduce_scatter(t));
    return all_gather(t);
}

tt_status tt_cpu_all_reduce(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct cpu *cpu = self;
    TT_TRY(check(cpu, "all_reduce", count, type, true, false));
    return tt_cpu_enqueue(cpu, &(struct cpu_task){all_reduce, cpu->mpi, buf, count, type, 0, NULL}, s);
}

tt_status tt_cpu_reduce_scatter(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct cpu *cpu = self;
    TT_TRY(check(cpu, "reduce_scatter", count, type, true, true));
    return tt_cpu_enqueue(cpu, &(struct cpu_task){reduce_scatter, cpu->mpi, buf, count, type, 0, NULL}, s);
}

tt_status tt_cpu_all_gather(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct cpu *cpu = self;
    TT_TRY(check(cpu, "all_gather", count, type, false, true));
    return tt_cpu_enqueue(cpu, &(struct cpu_task){all_gather, cpu->mpi, buf, count, type, 0, NULL}, s);
}
