/* Collectives on the CPU: checked at once, run by the worker. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/worker.h"
#include "backend/kernel_info.h"

tt_status tt_cpu_join(void *self, const struct tt_ranks *ranks)
{
    struct cpu *cpu = self;
    if (!ranks) return TT_OK; /* MPI is linked in */
    if (cpu->mpi) return tt_fail(TT_FAILED, "join: this backend has joined a job already");
    return tt_cpu_mpi_join(ranks, &cpu->mpi);
}

static tt_status check(const struct cpu *cpu, const struct tt_collective *c)
{
    const char *what = (unsigned)c->kind < TT_COLLECTIVES ? tt_collective_name(c->kind) : "collective";
    if (!cpu->mpi) return tt_fail(TT_FAILED, "%s: join a job first", what);
    if ((unsigned)c->kind >= TT_COLLECTIVES) return tt_fail(TT_FAILED, "there is no collective %d", (int)c->kind);
    if ((unsigned)c->type >= TT_DTYPES) return tt_fail(TT_FAILED, "%s: there is no type %d", what, (int)c->type);
    if (c->kind != TT_ALL_GATHER && c->type != TT_F32)
        return tt_fail(TT_UNSUPPORTED, "%s: the CPU computes in fp32; use precision: fp32", what);
    int ranks = tt_cpu_mpi_ranks(cpu->mpi);
    if (c->ranks != ranks)
        return tt_fail(TT_FAILED, "%s: it is for %d ranks, but the job has %d", what, c->ranks, ranks);
    if (c->kind != TT_ALL_REDUCE && c->count % ranks)
        return tt_fail(TT_FAILED, "%s: %lld elements are not a multiple of %d ranks", what, (long long)c->count, ranks);
    return TT_OK;
}

static tt_status carry_out(const struct cpu_task *t)
{
    const struct tt_collective *c = &t->collective;
    size_t count = (size_t)c->count;
    switch (c->kind) {
    case TT_REDUCE_SCATTER: return tt_cpu_mpi_reduce_scatter(t->self, c->from, c->to, count);
    case TT_ALL_GATHER: return tt_cpu_mpi_all_gather(t->self, c->from, c->to, count, tt_dtype_size(c->type));
    default: return tt_cpu_mpi_all_reduce(t->self, c->to, count);
    }
}

tt_status tt_cpu_collective(void *self, const struct tt_collective *c, tt_stream s)
{
    struct cpu *cpu = self;
    TT_TRY(check(cpu, c));
    return tt_cpu_enqueue(cpu, &(struct cpu_task){.run = carry_out, .self = cpu->mpi, .collective = *c}, s);
}

tt_status tt_cpu_split(void *self, int group)
{
    struct cpu *cpu = self;
    return cpu->mpi ? tt_cpu_mpi_split(cpu->mpi, group) : tt_fail(TT_FAILED, "split: join a job first");
}
