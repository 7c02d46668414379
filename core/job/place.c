/* The rank of this process, from the variables of launchers. The most explicit come first: those of torchrun, which tt
 * and people set too; then those of an MPI; then those of SLURM, which are also set when an MPI runs under SLURM. */
#include "core/job/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct names {
    const char *starter, *rank, *ranks, *local_rank, *local_ranks;
};

static const struct names torchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
static const struct names open_mpi = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
static const struct names pmi = {"MPI (PMI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

const char *tt_env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

tt_status tt_env_number(const char *name, const char *because, long least, long most, int *out)
{
    const char *text = tt_env(name);
    if (!text)
        return tt_fail(TT_USAGE, "%s is not set, but %s=%s says that this process is one of a job; set both or neither",
                       name, because, getenv(because));
    size_t digits = strspn(text, "0123456789");
    if (text[digits]) return tt_fail(TT_USAGE, "%s=%.100s is not a number from %ld to %ld", name, text, least, most);
    errno = 0;
    long value = strtol(text, NULL, 10);
    if (errno || value < least || value > most)
        return tt_fail(TT_USAGE, "%s=%.100s is out of range; it is from %ld to %ld here", name, text, least, most);
    *out = (int)value;
    return TT_OK;
}

static const char *any_of(const struct names *n)
{
    const char *all[] = {n->rank, n->ranks, n->local_rank, n->local_ranks};
    for (int i = 0; i < 4; i++)
        if (tt_env(all[i])) return all[i];
    return NULL;
}

static tt_status need_all(const struct names *n)
{
    const char *all[] = {n->ranks, n->rank, n->local_ranks, n->local_rank}, *because = any_of(n);
    for (int i = 0; i < 4; i++)
        if (!tt_env(all[i]))
            return tt_fail(TT_USAGE, "%s is not set, but %s=%s says that this process is one of a job; set %s, %s, %s "
                           "and %s, or none of them", all[i], because, tt_env(because), n->rank, n->ranks,
                           n->local_rank, n->local_ranks);
    return TT_OK;
}

/* Reads the number of a rank, which must be below the number of ranks. */
static tt_status read_rank(const char *name, const char *of, int ranks, int *out)
{
    return tt_context(tt_env_number(name, of, 0, ranks - 1, out), "%s=%d", of, ranks);
}

static tt_status read_names(const struct names *n, struct tt_place *out)
{
    const char *because = any_of(n);
    TT_TRY(need_all(n));
    TT_TRY(tt_env_number(n->ranks, because, 1, TT_MOST_RANKS, &out->ranks));
    TT_TRY(read_rank(n->rank, n->ranks, out->ranks, &out->rank));
    TT_TRY(tt_env_number(n->local_ranks, because, 1, out->ranks, &out->local_ranks));
    TT_TRY(read_rank(n->local_rank, n->local_ranks, out->local_ranks, &out->local_rank));
    snprintf(out->starter, sizeof out->starter, "%s", n->starter);
    return TT_OK;
}

static void identify(struct tt_place *out, const char *kind, const char *id)
{
    if (id) snprintf(out->id, sizeof out->id, "%s %s", kind, id);
}

static bool has_open_mpi(void) { return any_of(&open_mpi) != NULL; }

/* SLURM's own PMI sets no local rank, but SLURM itself does. */
static bool has_pmi(void)
{
    bool numbered = tt_env(pmi.local_rank) || tt_env(pmi.local_ranks);
    return (tt_env(pmi.rank) || tt_env(pmi.ranks)) && (numbered || !tt_slurm_step());
}

/* A batch script may set WORLD_SIZE for everything that srun starts, so WORLD_SIZE alone is not enough. */
static bool has_torchrun(void)
{
    if (tt_env(torchrun.rank) || tt_env(torchrun.local_rank)) return true;
    return any_of(&torchrun) && !has_open_mpi() && !has_pmi() && !tt_slurm_step();
}

static tt_status find(struct tt_place *out)
{
    if (has_torchrun()) {
        identify(out, "torchrun", tt_env("TORCHELASTIC_RUN_ID"));
        return read_names(&torchrun, out);
    }
    if (has_open_mpi()) {
        const char *space = tt_env("PMIX_NAMESPACE");
        identify(out, "Open MPI", space ? space : tt_env("OMPI_MCA_ess_base_jobid"));
        return read_names(&open_mpi, out);
    }
    if (has_pmi()) return read_names(&pmi, out);
    if (tt_slurm_step()) return tt_slurm_place(out);
    return TT_OK;
}

/* torchrun's agent may itself listen on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE). Then another port is derived from
 * the job's id and this one. */
static void leave_to_agent(struct tt_place *out)
{
    const char *agent = tt_env("TORCHELASTIC_USE_AGENT_STORE");
    if (!out->port || !agent || strcasecmp(agent, "true") != 0) return;
    size_t n = strlen(out->id);
    snprintf(out->id + n, sizeof out->id - n, " port %d", out->port);
    out->port = 0;
}

static tt_status read_address(struct tt_place *out)
{
    const char *address = tt_env("MASTER_ADDR");
    if (address && strlen(address) >= sizeof out->address)
        return tt_fail(TT_USAGE, "MASTER_ADDR is %zu characters long; give a host name or an IP address",
                       strlen(address));
    if (address) snprintf(out->address, sizeof out->address, "%s", address);
    if (!tt_env("MASTER_PORT")) return TT_OK;
    TT_TRY(tt_env_number("MASTER_PORT", "MASTER_PORT", 1, 65535, &out->port));
    if (has_torchrun()) leave_to_agent(out);
    return TT_OK;
}

tt_status tt_place_find(struct tt_place *out)
{
    *out = (struct tt_place){0};
    TT_TRY(find(out));
    if (!out->ranks) return TT_OK;
    int said = out->ranks;
    if (tt_env(torchrun.ranks)) TT_TRY(tt_env_number(torchrun.ranks, torchrun.ranks, 1, TT_MOST_RANKS, &said));
    if (said != out->ranks)
        return tt_fail(TT_USAGE, "%s says that there are %d ranks, but WORLD_SIZE=%d; unset WORLD_SIZE", out->starter,
                       out->ranks, said);
    if (tt_env(TT_STARTED)) {
        snprintf(out->starter, sizeof out->starter, "tt --ranks");
        identify(out, "tt", tt_env(TT_STARTED));
    }
    TT_TRY(read_address(out));
    if (!out->id[0] && !out->port && out->local_ranks == out->ranks) { /* a launcher that sets no job id */
        char parent[24];
        snprintf(parent, sizeof parent, "%ld", (long)getppid());
        identify(out, "parent", parent);
    }
    return TT_OK;
}
