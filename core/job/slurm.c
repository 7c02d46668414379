/* The variables that srun sets. The shell of sbatch or salloc has most of them too, with SLURM_PROCID=0 and the
 * SLURM_NTASKS of the allocation; but only in a step of srun are there several ranks. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/place.h"

/* SLURM numbers its own steps (batch, extern, interactive) downwards from the largest number. */
static const uint64_t OWN_STEPS = 0xfffffff0u;

bool tt_slurm_step(void)
{
    const char *step = tt_env("SLURM_STEP_ID");
    if (!step || !tt_env("SLURM_PROCID")) return false;
    if (!strspn(step, "0123456789")) return false; /* "batch", "interactive" */
    errno = 0;
    uint64_t number = strtoull(step, NULL, 10);
    return !errno && number < OWN_STEPS;
}

static const char *first_set(const char *a, const char *b) { return tt_env(a) ? a : b; }

static const char *node_list(void)
{
    const char *list = tt_env("SLURM_STEP_NODELIST");
    if (!list) list = tt_env("SLURM_JOB_NODELIST");
    return list ? list : tt_env("SLURM_NODELIST");
}

/* The first name of a node list: up to the first comma outside brackets, with the first number of each pair of brackets
 * as it is written. "rack[1-2]n[03-07,9],login" gives rack1n03. */
static void first_of_list(const char *list, char *out, size_t size)
{
    size_t n = 0;
    for (bool inside = false, past = false; *list && n + 1 < size; list++) {
        if (!inside && *list == ',') break;
        if (*list == '[') {
            inside = true;
            past = false;
        } else if (*list == ']') {
            inside = false;
        } else if (inside && (*list == '-' || *list == ',')) {
            past = true;
        } else if (!inside || !past) {
            out[n++] = *list;
        }
    }
    out[n] = 0;
}

void tt_slurm_first_node(char *out, size_t size)
{
    const char *list = tt_slurm_step() ? node_list() : NULL, *launch = tt_env("SLURM_LAUNCH_NODE_IPADDR");
    out[0] = 0;
    if (list)
        first_of_list(list, out, size);
    else if (tt_slurm_step() && launch)
        snprintf(out, size, "%s", launch);
}

/* How many numbers are between the brackets: "03-07,9" has 6. 0 if it is invalid. */
static long numbers_in(const char *p)
{
    long count = 0;
    while (*p && *p != ']') {
        char *end;
        long from = strtol(p, &end, 10), to = from;
        if (end == p) return 0;
        if (*end == '-') {
            p = end + 1;
            to = strtol(p, &end, 10);
            if (end == p) return 0;
        }
        if (from < 0 || to < from || to - from >= TT_MOST_RANKS) return 0;
        count += to - from + 1;
        p = *end == ',' ? end + 1 : end;
        if (*end && *end != ',' && *end != ']') return 0;
    }
    return count;
}

/* The number of nodes in a list; 0 if it is invalid. */
static long nodes_in(const char *list)
{
    long count = 0, these = 1;
    for (; *list; list++) {
        if (*list == ',') {
            count += these;
            these = 1;
        } else if (*list == '[') {
            these *= numbers_in(list + 1);
            list = strchr(list, ']');
            if (!list || these <= 0 || these > TT_MOST_RANKS) return 0;
        }
    }
    return count + these;
}

/* "2(x3),1": the first three nodes have 2 tasks each, the fourth has 1. 0 if the node is not in it or it is invalid. */
static int tasks_of_node(const char *p, int node)
{
    while (*p) {
        char *end;
        long tasks = strtol(p, &end, 10), times = 1;
        if (end == p || tasks < 1 || tasks > TT_MOST_RANKS) return 0;
        if (strncmp(end, "(x", 2) == 0) {
            p = end + 2;
            times = strtol(p, &end, 10);
            if (end == p || times < 1 || *end++ != ')') return 0;
        }
        if (node < times) return (int)tasks;
        node -= (int)times;
        if (*end && *end != ',') return 0;
        p = *end ? end + 1 : end;
    }
    return 0;
}

static tt_status find_local_ranks(struct tt_place *out)
{
    const char *tasks = first_set("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
    if (tt_env(tasks) && tt_env("SLURM_NODEID")) {
        int node;
        TT_TRY(tt_env_number("SLURM_NODEID", "SLURM_PROCID", 0, TT_MOST_RANKS, &node));
        out->local_ranks = tasks_of_node(tt_env(tasks), node);
        if (out->local_ranks < 1 || out->local_ranks > out->ranks)
            return tt_fail(TT_USAGE, "%s=%.200s does not say how many of the %d ranks SLURM_NODEID=%d has", tasks,
                           tt_env(tasks), out->ranks, node);
        return TT_OK;
    }
    if (!node_list())
        return tt_fail(TT_USAGE,
                       "SLURM_STEP_NODELIST is not set, but SLURM_PROCID=%s says that this process is one of "
                       "a job",
                       tt_env("SLURM_PROCID"));
    long nodes = nodes_in(node_list());
    if (nodes < 1) return tt_fail(TT_USAGE, "SLURM's list of nodes cannot be read: %.200s", node_list());
    out->local_ranks = (int)((out->ranks + nodes - 1) / nodes); /* srun's default distribution is even */
    return TT_OK;
}

tt_status tt_slurm_place(struct tt_place *out)
{
    const char *ranks = first_set("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
    int step;
    TT_TRY(tt_env_number("SLURM_STEP_ID", "SLURM_PROCID", 0, INT_MAX, &step));
    TT_TRY(tt_env_number(ranks, "SLURM_PROCID", 1, TT_MOST_RANKS, &out->ranks));
    TT_TRY(tt_env_number("SLURM_PROCID", "SLURM_STEP_ID", 0, out->ranks - 1, &out->rank));
    TT_TRY(find_local_ranks(out));
    TT_TRY(tt_env_number("SLURM_LOCALID", "SLURM_PROCID", 0, out->local_ranks - 1, &out->local_rank));
    const char *job = first_set("SLURM_JOB_ID", "SLURM_JOBID");
    if (!tt_env(job))
        return tt_fail(TT_USAGE, "SLURM_JOB_ID is not set, but SLURM_PROCID=%d says that this process is one of a job",
                       out->rank);
    snprintf(out->id, sizeof out->id, "SLURM %.50s.%d", tt_env(job), step);
    snprintf(out->starter, sizeof out->starter, "SLURM");
    return TT_OK;
}
