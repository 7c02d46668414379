/* A rank is killed, stopped or stuck at various moments. The others end in time, with one line that names it. */
#include "tests/core/job/ranks_fixture.h"

static const double TIMEOUT = 2, SLACK = 6; /* SLACK: extra time for a busy machine; a hang lasts longer */

static _Noreturn void hang(void)
{
    for (;;) rest(10);
}

/* Trains for ever, with calls of all kinds; the ranks wait for each other. */
static tt_status trains(struct tt_job *j, int rank)
{
    for (int64_t step = 0;; step++) {
        uint32_t decision = 0;
        double sum = rank;
        tt_job_alive(j, step);
        TT_TRY(tt_job_sum(j, &sum));
        TT_TRY(tt_job_decide(j, step, &decision));
        TT_TRY(tt_job_agree(j, TT_OK));
        rest(0.002);
    }
}

/* Simulates a main thread that waits for ever in a collective of the device. */
static tt_status computes(struct tt_job *j, int rank)
{
    (void)rank;
    tt_job_alive(j, 4);
    hang();
}

/* Waits for all ranks but one, then kills that one. Returns whether the others ended in time. */
static bool others_end(int lost, double limit)
{
    double from = tt_seconds();
    for (int r = 0; r < crew.ranks; r++)
        if (r != lost) await(r);
    double took = tt_seconds() - from;
    kill(crew.pids[lost], SIGKILL);
    await(lost);
    read_messages();
    if (took > limit) printf("the others took %.1f s\n", took);
    return took <= limit;
}

/* Rank 0 speaks for all; if rank 0 is lost, the first of the others on this machine does. */
static bool is_named(int lost, const char *how)
{
    char host[64], words[200];
    gethostname(host, sizeof host);
    snprintf(words, sizeof words, "tt: rank %d (%s) %s", lost, host, how);
    return times(words) == 1 && times("\n") == 1;
}

static void check_codes(int lost)
{
    for (int r = 0; r < crew.ranks; r++)
        CHECK(crew.codes[r] == (r == lost ? 1000 + SIGKILL : TT_RANK_LOST), "rank %d: %d", r, crew.codes[r]);
}

static void check_killed(tt_status (*body)(struct tt_job *, int), int lost, double after)
{
    start_all(4, 20, body);
    rest(after);
    kill(crew.pids[lost], SIGKILL);
    CHECK(others_end(lost, SLACK), "rank %d killed after %g s", lost, after); /* a closed connection needs no timeout */
    CHECK(is_named(lost, "is gone, last heard of at step "), "%s", crew.text);
    check_codes(lost);
}

static void killed_while_they_train(void)
{
    double moments[] = {2, 2.7};
    for (int i = 0; i < 2; i++)
        for (int lost = 0; lost < 4; lost += lost ? 2 : 1) check_killed(trains, lost, moments[i]);
}

static void killed_while_the_others_hang_in_the_device(void)
{
    for (int lost = 0; lost < 4; lost += lost ? 2 : 1) check_killed(computes, lost, 2);
}

/* Returns when all of its threads have stopped; they continue until one of them takes the signal. */
static void stop_rank(int rank)
{
    kill(crew.pids[rank], SIGSTOP);
    waitpid(crew.pids[rank], NULL, WUNTRACED);
}

/* Several are killed at once, with or without rank 0. The remaining ranks print one line that names one of them. */
static void killed_together(void)
{
    const int lost[][4] = {{1, 1, 0, 0}, {0, 1, 1, 0}, {1, 0, 0, 1}, {1, 1, 1, 0}, {0, 1, 1, 1}};
    for (int i = 0; i < 5; i++) {
        const int *gone = lost[i];
        start_all(4, 20, i % 2 ? computes : trains);
        rest(1.5);
        for (int r = 3; r >= 0; r--)
            if (gone[r]) stop_rank(r); /* so that none notices the others before it is killed */
        for (int r = 3; r >= 0; r--)
            if (gone[r]) kill(crew.pids[r], SIGKILL);
        double from = tt_seconds();
        await_all();
        CHECK(tt_seconds() - from < SLACK, "%.1f s", tt_seconds() - from);
        int named = 0;
        for (int r = 0; r < 4; r++) {
            CHECK(crew.codes[r] == (gone[r] ? 1000 + SIGKILL : TT_RANK_LOST), "rank %d: %d", r, crew.codes[r]);
            named += gone[r] && is_named(r, "is gone, last heard of at step ");
        }
        CHECK(named == 1, "%s", crew.text);
    }
}

/* Killed during the rendezvous or just after. The messages vary, but every rank ends. */
static void killed_at_the_beginning(void)
{
    double moments[] = {0, 0.001, 0.004, 0.008, 0.05};
    for (int i = 0; i < 5; i++)
        for (int lost = 0; lost < 3; lost++) {
            start_all(3, 1, trains);
            rest(moments[i]);
            kill(crew.pids[lost], SIGKILL);
            CHECK(others_end(lost, 1 + SLACK), "rank %d killed after %g s", lost, moments[i]);
            check_codes(lost);
            CHECK(times("rank "), "nobody says anything");
        }
}

static void stopped(void)
{
    for (int lost = 0; lost < 3; lost++) {
        start_all(3, TIMEOUT, trains);
        rest(1);
        stop_rank(lost);
        CHECK(others_end(lost, TIMEOUT + SLACK), "rank %d stopped", lost);
        CHECK(is_named(lost, "is gone, last heard of at step "), "%s", crew.text);
        CHECK(times("it has been silent for 2 s"), "%s", crew.text);
        check_codes(lost);
    }
}

/* A stopped rank that resumes after the others have ended is told so and prints nothing. */
static void stopped_and_woken(void)
{
    for (int lost = 0; lost < 2; lost++) {
        start_all(3, TIMEOUT, trains);
        rest(1);
        stop_rank(lost);
        await(1 - lost);
        await(2);
        kill(crew.pids[lost], SIGCONT);
        await(lost);
        read_messages();
        CHECK_ALL_END_WITH(TT_RANK_LOST);
        CHECK(is_named(lost, "is gone, last heard of at step "), "%s", crew.text);
    }
}

static int idler;

/* The main thread of one rank hangs before its sixth step; its watcher thread lives. */
static tt_status hangs(struct tt_job *j, int rank)
{
    for (int64_t step = 0;; step++) {
        double sum = rank;
        if (step == 6 && rank == idler) hang();
        tt_job_alive(j, step);
        TT_TRY(tt_job_sum(j, &sum));
    }
}

/* The same, but the others wait in the device, not in a call. */
static tt_status hangs_the_device(struct tt_job *j, int rank)
{
    double sum = rank;
    tt_job_alive(j, 5);
    TT_TRY(tt_job_sum(j, &sum));
    if (rank != idler) tt_job_alive(j, 6);
    hang();
}

static void stuck(void)
{
    for (int i = 0; i < 6; i++) {
        idler = i / 2;
        start_all(3, TIMEOUT, i % 2 ? hangs : hangs_the_device);
        double from = tt_seconds();
        await_all();
        CHECK(tt_seconds() - from < TIMEOUT + SLACK, "%.1f s", tt_seconds() - from);
        CHECK_ALL_END_WITH(TT_RANK_LOST);
        char words[100];
        snprintf(words, sizeof words, "tt: rank %d (", idler);
        CHECK(times(words) == 1 && times("\n") == 1, "%s", crew.text);
        CHECK(times("is stuck at step 5: the others have waited for it for 2 s"), "%s", crew.text);
    }
}

/* ---- slow ranks are not lost ---- */

static tt_status saves_long(struct tt_job *j, int rank)
{
    double sum = rank;
    TT_TRY(tt_job_sum(j, &sum));
    tt_job_alive(j, 1);
    if (rank == 1) tt_job_busy(j);
    if (rank == 1) rest(3);
    return tt_job_sum(j, &sum);
}

static tt_status steps_long(struct tt_job *j, int rank)
{
    double sum = rank;
    for (int64_t step = 0; step < 2; step++) {
        tt_job_alive(j, step);
        rest(rank == 1 ? 2.0 : 1.7); /* longer than the timeout, on every rank */
        TT_TRY(tt_job_sum(j, &sum));
    }
    return TT_OK;
}

static tt_status starts_slowly(struct tt_job *j, int rank)
{
    double sum = rank;
    rest(rank == 1 ? 2.5 : 0);
    return tt_job_sum(j, &sum);
}

static void the_slow_are_not_lost(void)
{
    tt_status (*bodies[])(struct tt_job *, int) = {saves_long, steps_long, starts_slowly};
    for (int i = 0; i < 3; i++) {
        start_all(3, 1, bodies[i]);
        await_all();
        CHECK_ALL_END_WITH(0);
        CHECK(!crew.text[0], "%s", crew.text);
    }
}

static tt_status trains_a_while(struct tt_job *j, int rank)
{
    for (int64_t step = 0; step < 200; step++) {
        double sum = rank;
        tt_job_alive(j, step);
        TT_TRY(tt_job_sum(j, &sum));
        rest(0.01);
    }
    return TT_OK;
}

/* Ctrl-Z, and fg only after the timeout. */
static void stopped_together(void)
{
    start_all(3, 1, trains_a_while);
    rest(0.5);
    for (int r = 0; r < 3; r++) stop_rank(r);
    rest(4);
    for (int r = 0; r < 3; r++) kill(crew.pids[r], SIGCONT);
    await_all();
    CHECK_ALL_END_WITH(0);
    CHECK(!crew.text[0], "%s", crew.text);
}

/* ---- ranks that end by themselves ---- */

static tt_status fails_alone(struct tt_job *j, int rank)
{
    for (int64_t step = 0;; step++) {
        double sum = rank;
        tt_job_alive(j, step);
        TT_TRY(tt_job_sum(j, &sum));
        if (step == 3) rest(0.6); /* one heartbeat, so that the step is known */
        if (step == 3 && rank == idler) return tt_fail(TT_USAGE, "no room on the disk");
    }
}

static void a_failure_is_told(void)
{
    for (idler = 0; idler < 3; idler++) {
        start_all(3, TIMEOUT, fails_alone);
        await_all();
        for (int r = 0; r < 3; r++) CHECK(crew.codes[r] == (r == idler ? TT_USAGE : TT_RANK_LOST), "%d", crew.codes[r]);
        char words[200], host[64];
        gethostname(host, sizeof host);
        snprintf(words, sizeof words, "tt: rank %d (%s) failed at step 3: no room on the disk\n", idler, host);
        CHECK(times(words) == (idler ? 1 : 0) && times("main of rank: no room on the disk") == 1, "%s", crew.text);
        CHECK(times("\n") == (idler ? 2 : 1), "%s", crew.text);
    }
}

static tt_status exits(struct tt_job *j, int rank)
{
    double sum = rank;
    TT_TRY(tt_job_sum(j, &sum));
    if (rank == 2) _exit(9);
    return tt_job_sum(j, &sum);
}

static void an_exit_is_a_loss(void)
{
    start_all(3, TIMEOUT, exits);
    await_all();
    CHECK(crew.codes[0] == TT_RANK_LOST && crew.codes[1] == TT_RANK_LOST && crew.codes[2] == 9);
    CHECK(times("tt: rank 2 (") == 1 && times("\n") == 1, "%s", crew.text);
}

/* Many steps between two heartbeats: the message still names the step of the last call. */
static tt_status exits_later(struct tt_job *j, int rank)
{
    for (int64_t step = 0; step < 300; step++) {
        double sum = rank;
        tt_job_alive(j, step);
        TT_TRY(tt_job_sum(j, &sum));
    }
    rest(0.3); /* all have the last sum, and no heartbeat is due yet */
    if (rank == idler) _exit(9);
    hang();
}

static void the_last_step_together_is_named(void)
{
    for (idler = 0; idler < 3; idler += 2) {
        start_all(3, 20, exits_later);
        await_all();
        CHECK(times("is gone, last heard of at step 299: ") == 1 && times("\n") == 1, "%s", crew.text);
    }
}

int main(void)
{
    crew.hasty = true;
    TEST(killed_while_they_train);
    TEST(killed_while_the_others_hang_in_the_device);
    TEST(killed_together);
    TEST(killed_at_the_beginning);
    TEST(stopped);
    TEST(stopped_and_woken);
    TEST(stuck);
    TEST(the_slow_are_not_lost);
    TEST(stopped_together);
    TEST(a_failure_is_told);
    TEST(an_exit_is_a_loss);
    TEST(the_last_step_together_is_named);
    return test_end();
}
