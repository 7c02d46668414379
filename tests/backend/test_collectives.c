/* A backend's collectives between processes, against fp64. A process whose environment names no rank is alone. On a CPU
 * it checks what is refused; mpirun starts the ranks (tests/backend/cpu). On a GPU it starts the ranks itself, 1, 2, 3
 * and 4 of them, all on the one GPU. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/backend/collectives/order.h"
#include "tests/backend/collectives/sums.h"

/* ---- one rank ---- */

/* All ranks use rank 0's seed, which is different in every run. */
static void choose_seed(void)
{
    uint64_t mine[64] = {0};
    mine[rank] = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    void *p = device(mine, sizeof mine);
    CHECK_OK(all_gather(p, 2 * (size_t)ranks, TT_F32, NULL));
    fetch(mine, p, sizeof mine);
    b.ops->free(b.self, p);
    seed = mine[0];
    if (rank == 0) forget_notes(); /* from an earlier process with the same parent process number */
}

static int run_rank(bool broken)
{
    int calls = 0;
    alarm(test_few() ? 3600 : 240); /* rather than wait for ever for a lost rank */
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &b));
    if (!b.ops->join) {
        printf("skipped: this build has no collectives\n");
        return 77;
    }
    tt_status st = b.ops->join(b.self, &(struct tt_ranks){rank, ranks, share, &calls});
    if (st) {
        printf("rank %d of %d: %s\n", rank, ranks, st->text);
        int code = st->code == TT_NO_TOOL ? 77 : 1; /* the library is not installed */
        tt_status_free(st);
        tt_backend_close(&b);
        return code;
    }
    if (broken) return disagree();
    choose_seed();
    TEST(says_who_carries_them);
    TEST(joins_once);
    TEST(sums_everywhere);
    TEST(sums_each_part_on_its_rank);
    TEST(gathers_every_type);
    TEST(from_one_place_to_another);
    TEST(sums_or_refuses_sixteen_bits);
    TEST(refuses_uneven_parts);
    TEST(splits_into_groups);
    TEST(runs_beside_computation);
    TEST(work_comes_after_a_collective);
    TEST(can_be_captured);
    TEST(can_be_slowed_down);
    tt_backend_close(&b);
    return test_end();
}

/* ---- one process without ranks ---- */

static void refuses_before_joining(void)
{
    float x[4] = {0};
    ranks = 1; /* all_reduce uses this count */
    CHECK_FAILS(all_reduce(x, 4, TT_F32, NULL), "join");
    CHECK_FAILS(reduce_scatter(x, 4, TT_F32, NULL), "join");
    CHECK_FAILS(all_gather(x, 4, TT_F32, NULL), "join");
    CHECK_FAILS(b.ops->split(b.self, 0), "join");
}

static void says_that_mpirun_is_missing(void)
{
    int calls = 0;
    CHECK(tt_backend_mpirun() && !access(tt_backend_mpirun(), X_OK));
    CHECK_FAILS(b.ops->join(b.self, &(struct tt_ranks){0, 4, share, &calls}),
                "MPI sees 1 rank, not 4: start with mpirun");
    CHECK_FAILS(b.ops->join(b.self, &(struct tt_ranks){0, 1, share, &calls}), "twice");
}

static void start_rank(char **argv, int of, int r)
{
    char number[16];
    snprintf(number, sizeof number, "%d", r);
    setenv("RANK", number, 1);
    snprintf(number, sizeof number, "%d", of);
    setenv("WORLD_SIZE", number, 1);
    setenv("TT_TEST_RANKS_ON_ONE_GPU", "1", 1);
    execv(argv[0], argv);
    _exit(126);
}

static int start_ranks(char **argv, int of)
{
    pid_t pids[8];
    int first = 0; /* first exit code other than 0; the others would wait for that rank */
    fflush(stdout);
    for (int r = 0; r < of; r++)
        if ((pids[r] = fork()) == 0) start_rank(argv, of, r);
    for (int left = of; left; left--) {
        int status = 0;
        pid_t ended = wait(&status);
        for (int r = 0; r < of; r++)
            if (pids[r] == ended) pids[r] = 0;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        if (!code || first) continue;
        first = code;
        for (int r = 0; r < of; r++)
            if (pids[r] > 0) kill(pids[r], SIGTERM);
    }
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s/tt_collectives.%ld'", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (long)getpid());
    return system(command) ? 1 : first;
}

static int run_alone(char **argv)
{
    if (!on_cpu()) {
        int code = 0;
        for (int of = test_few() ? 2 : 1; of <= (test_few() ? 2 : 4) && !code; of++) code = start_ranks(argv, of);
        return code;
    }
    CHECK_OK(tt_backend_open(NULL, &b));
    if (!b.ops->join) {
        CHECK(!tt_backend_mpirun());
        printf("skipped: this build has no collectives\n");
        return test_failures ? 1 : 77;
    }
    TEST(refuses_before_joining);
    TEST(says_that_mpirun_is_missing);
    tt_backend_close(&b);
    return test_end();
}

/* Reads the variables of torchrun, Open MPI's mpirun and MPICH's. */
static bool find_place(void)
{
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"RANK", "WORLD_SIZE"}};
    for (int i = 0; i < 3; i++) {
        const char *r = getenv(names[i][0]), *n = getenv(names[i][1]);
        if (!r || !n) continue;
        rank = atoi(r);
        ranks = atoi(n);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    return find_place() ? run_rank(argc > 1 && !strcmp(argv[1], "disagree")) : run_alone(argv);
}
