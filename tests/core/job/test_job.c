/* Messages between ranks, and how ranks meet while strangers connect to the same port. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/core/job/ranks_fixture.h"

static tt_status speak(struct tt_job *j, int rank)
{
    WANT(tt_job_rank(j) == rank && tt_job_ranks(j) == crew.ranks && tt_job_leads(j) == (rank == 0));
    static char big[300000];
    memset(big, rank == 0 ? 'x' : 0, sizeof big);
    TT_TRY(tt_job_share(j, big, sizeof big));
    WANT(big[0] == 'x' && big[sizeof big - 1] == 'x');

    int32_t mine[3] = {rank, 10 * rank, -rank}, all[MOST][3];
    TT_TRY(tt_job_gather(j, mine, sizeof mine, all));
    for (int r = 0; r < crew.ranks; r++) WANT(all[r][0] == r && all[r][1] == 10 * r && all[r][2] == -r);
    TT_TRY(tt_job_gather(j, NULL, 0, all));

    /* rank r has r + 1 bytes for rank 0 */
    char letters[MOST], collected[MOST * MOST + 1] = "";
    size_t sizes[MOST], at = 0;
    memset(letters, 'a' + rank, sizeof letters);
    for (int r = 0; r < crew.ranks; r++) sizes[r] = (size_t)r + 1;
    TT_TRY(tt_job_collect(j, letters, sizes, rank == 0 ? collected : NULL));
    for (int r = 0; r < crew.ranks && rank == 0; r++)
        for (int i = 0; i <= r; i++) WANT(collected[at++] == 'a' + r);
    WANT(!collected[at]);

    struct tt_clock clocks[MOST];
    TT_TRY(tt_job_clocks(j, clocks));
    for (int r = 0; r < crew.ranks; r++) WANT(clocks[r].ahead == 0 && clocks[r].within == 0); /* one machine */

    /* 1e16 + 1 + 1 ... depends on the order: all ranks get the sum in rank order */
    double sum = rank == 0 ? 1e16 : 1, want = 1e16, bits[MOST];
    for (int r = 1; r < crew.ranks; r++) want += 1;
    TT_TRY(tt_job_sum(j, &sum));
    TT_TRY(tt_job_gather(j, &sum, sizeof sum, bits));
    for (int r = 0; r < crew.ranks; r++) WANT(bits[r] == want);

    TT_TRY(tt_job_share_for_device(j, big, 1));
    TT_TRY(tt_job_agree(j, TT_OK));
    TT_TRY(tt_job_same(j, "the configuration", "a: 1\nb: 2\n"));
    for (int64_t step = 0; step < 1000; step++) {
        uint32_t bits_of = rank == 0 ? (uint32_t)(step * 7) : 0;
        tt_job_alive(j, step);
        TT_TRY(tt_job_decide(j, step, &bits_of));
        WANT(bits_of == (uint32_t)(step * 7));
    }
    tt_job_busy(j);
    return TT_OK;
}

static void ranks_speak(void)
{
    for (int ranks = 2; ranks <= MOST; ranks += 3) {
        start_all(ranks, 20, speak);
        await_all();
        CHECK_ALL_END_WITH(0);
        CHECK(!crew.text[0], "%s", crew.text);
    }
}

/* Rank 1's clock is 100 s ahead. Messages take 1 ms one way and 3 ms the other; in one exchange both are quicker. */
static void clocks_are_compared(void)
{
    double theirs[2][2] = {{110, 110.006}, {112, 112.004}}, of_0[2][2] = {{10.001, 10.003}, {12.001, 12.002}};
    struct tt_clock c = tt_clock_between(theirs, of_0, 2);
    CHECK(fabs(c.ahead - 100) <= c.within, "%g s ahead, within %g", c.ahead, c.within);
    CHECK(fabs(c.within - 0.0025) < 1e-9, "%g", c.within);
}

static void one_rank_needs_no_job(void)
{
    struct tt_job_options o = {.place = {.rank = 0, .ranks = 1, .local_ranks = 1}, .timeout = 1};
    struct tt_job *j = (void *)1;
    CHECK_OK(tt_job_open(&o, &j));
    CHECK(!j && tt_job_rank(j) == 0 && tt_job_ranks(j) == 1 && tt_job_leads(j));
    int mine = 7, all = 0;
    double sum = 3;
    uint32_t decision = 5;
    CHECK_OK(tt_job_share(j, &mine, sizeof mine));
    CHECK_OK(tt_job_gather(j, &mine, sizeof mine, &all));
    CHECK_OK(tt_job_sum(j, &sum));
    CHECK_OK(tt_job_decide(j, 1, &decision));
    CHECK_OK(tt_job_same(j, "this", "text"));
    CHECK_OK(tt_job_agree(j, TT_OK));
    CHECK_FAILS(tt_job_agree(j, tt_fail(TT_FAILED, "mine")), "mine");
    CHECK(mine == 7 && all == 7 && sum == 3 && decision == 5);
    tt_job_alive(j, 1);
    tt_job_busy(j);
    tt_job_close(j, TT_OK);
}

/* ---- failures of one rank ---- */

static tt_status second_fails(struct tt_job *j, int rank)
{
    TT_TRY(tt_job_agree(j, TT_OK));
    return tt_job_agree(j, rank == 1 ? tt_fail(TT_USAGE, "no such data") : TT_OK);
}

static void a_failure_of_one_is_one_of_all(void)
{
    char host[64], words[200];
    gethostname(host, sizeof host);
    start_all(3, 20, second_fails);
    await_all();
    CHECK_ALL_END_WITH(TT_USAGE);
    snprintf(words, sizeof words, "main of rank: rank 1 (%s): no such data\n", host);
    CHECK(times(words) == 2 && times("main of rank: no such data\n") == 1, "%s", crew.text);
}

static tt_status first_fails(struct tt_job *j, int rank)
{
    return tt_job_agree(j, rank == 1 ? TT_OK : tt_fail(TT_FAILED, "disk %d", rank));
}

static void the_first_that_fails_is_named(void)
{
    start_all(3, 20, first_fails);
    await_all();
    CHECK_ALL_END_WITH(TT_FAILED);
    CHECK(times("disk 0") == 2 && times("): disk 0") == 1 && times("disk 2") == 1, "%s", crew.text);
}

/* An agreed failure does not end the job if the ranks go on. */
static tt_status goes_on(struct tt_job *j, int rank)
{
    tt_status st = tt_job_agree(j, rank == 1 ? tt_fail(TT_UNSUPPORTED, "not here") : TT_OK);
    WANT(st && st->code == TT_UNSUPPORTED);
    tt_status_free(st);
    double one = 1;
    TT_TRY(tt_job_sum(j, &one));
    WANT(one == 3);
    return TT_OK;
}

static void a_failure_can_be_handled(void)
{
    start_all(3, 20, goes_on);
    await_all();
    CHECK_ALL_END_WITH(0);
}

static tt_status differ(struct tt_job *j, int rank)
{
    return tt_job_same(j, "the configuration", rank == 2 ? "seed: 1\nlr: 0.2\n" : "seed: 1\nlr: 0.1\n");
}

static void what_differs_is_refused(void)
{
    char host[64], words[400];
    gethostname(host, sizeof host);
    start_all(3, 20, differ);
    await_all();
    CHECK_ALL_END_WITH(TT_USAGE);
    snprintf(words, sizeof words,
             "main of rank: the configuration is not the same on all ranks: rank 2 (%s) has \"lr: 0.2\", rank 0 (%s) "
             "has \"lr: 0.1\"; start all ranks with the same options and the same files\n", host, host);
    CHECK(times(words) == 3, "%s", crew.text);
}

/* Rank 2 asks to stop and rank 0 decides. A heartbeat later all ranks know it, after the same step. */
static tt_status asks(struct tt_job *j, int rank)
{
    uint32_t decision = 0;
    double last;
    int64_t step = 0;
    if (rank == 2) tt_job_ask(j, 2);
    for (; !(decision & 2); step++) {
        decision = rank == 0 ? 4 : 8;
        WANT(step < 2000);
        rest(0.005);
        TT_TRY(tt_job_decide(j, step, &decision));
        WANT((decision & ~2u) == 4);
    }
    last = (double)step;
    TT_TRY(tt_job_sum(j, &last));
    WANT(last == 3.0 * (double)step);
    return TT_OK;
}

static void any_rank_can_ask(void)
{
    start_all(3, 5, asks);
    await_all();
    CHECK_ALL_END_WITH(0);
}

static tt_status other_call(struct tt_job *j, int rank)
{
    char byte = 0;
    return rank == 0 ? tt_job_share(j, &byte, 1) : tt_job_decide(j, 1, &(uint32_t){0});
}

static void different_calls_are_noticed(void)
{
    start_all(2, 5, other_call);
    await_all();
    CHECK(crew.codes[1] == TT_FAILED && times("rank 0 (") && times("same call as rank 1"), "%s", crew.text);
}

/* ---- the rendezvous ---- */

static tt_status hello(struct tt_job *j, int rank)
{
    double sum = rank;
    TT_TRY(tt_job_sum(j, &sum));
    WANT(sum == 3);
    return TT_OK;
}

static int knock(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    a.sin_port = htons((uint16_t)crew.port);
    for (int i = 0; i < 200; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!connect(fd, (struct sockaddr *)&a, sizeof a)) return fd;
        close(fd);
        rest(0.01);
    }
    return -1;
}

/* Strangers: more silent ones than rank 0 has places for, one that sends garbage, one that sends a byte now and then,
 * one that leaves at once. */
static void strangers_do_no_harm(void)
{
    prepare(3, 10);
    start_rank(0, hello);
    int fds[100];
    char rubbish[5000];
    memset(rubbish, 0xa5, sizeof rubbish);
    for (int i = 0; i < 100; i++) fds[i] = knock();
    CHECK(fds[99] >= 0, "%s", strerror(errno));
    CHECK(send(fds[90], rubbish, sizeof rubbish, MSG_NOSIGNAL) > 0);
    close(fds[91]);
    CHECK(send(fds[92], "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) > 0);
    start_rank(1, hello);
    for (int i = 0; i < 20; i++) {
        send(fds[93], "\x67", 1, MSG_NOSIGNAL);
        rest(0.02);
    }
    start_rank(2, hello);
    await_all();
    for (int i = 0; i < 100; i++)
        if (i != 91) close(fds[i]);
    CHECK_ALL_END_WITH(0);
}

static tt_status never_called(struct tt_job *j, int rank)
{
    (void)j;
    return tt_fail(TT_FAILED, "rank %d began", rank);
}

static void who_does_not_come_is_named(void)
{
    prepare(3, 1);
    start_rank(0, never_called);
    start_rank(1, never_called);
    await(0);
    await(1);
    crew.codes[2] = TT_RANK_LOST;
    read_messages();
    CHECK_ALL_END_WITH(TT_RANK_LOST);
    CHECK(times("rank 2 of 3 did not connect to rank 0 (") == 2 && times("within 1 s"), "%s", crew.text);
}

static void rank_0_does_not_come(void)
{
    prepare(2, 1);
    start_rank(1, never_called);
    await(1);
    read_messages();
    CHECK(crew.codes[1] == TT_RANK_LOST && times("rank 0 did not answer at 127.0.0.1 port "), "%s", crew.text);
    CHECK(times("is it started, and is MASTER_ADDR its machine?"), "%s", crew.text);
    crew.nameless = true; /* an unknown host name, but all ranks are here: MASTER_ADDR is not to blame */
    prepare(2, 1);
    start_rank(1, never_called);
    await(1);
    crew.nameless = false;
    read_messages();
    CHECK(times("is it started, and does it have the same MASTER_PORT?") && !times("ADDR"), "%s", crew.text);
}

static void a_port_in_use_is_named(void)
{
    prepare(2, 5);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    a.sin_port = htons((uint16_t)crew.port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!bind(fd, (struct sockaddr *)&a, sizeof a) && !listen(fd, 1));
    start_rank(0, never_called);
    await(0);
    close(fd);
    read_messages();
    CHECK(crew.codes[0] == TT_FAILED && times("something else uses it; set MASTER_PORT"), "%s", crew.text);
}

static void two_of_one_rank(void)
{
    prepare(3, 10);
    start_rank(0, never_called);
    start_rank(1, never_called);
    rest(0.3);
    pid_t first = crew.pids[1];
    start_rank(1, never_called); /* again rank 1, instead of rank 2 */
    crew.pids[2] = first;
    await_all();
    CHECK_ALL_END_WITH(TT_USAGE);
    CHECK(times("two processes are rank 1: one on ") == 3 && times("; give each its own RANK") == 3, "%s", crew.text);
}

static void another_number_of_ranks(void)
{
    prepare(3, 10);
    start_rank(0, never_called);
    crew.ranks = 2;
    start_rank(1, never_called);
    await_all();
    CHECK_ALL_END_WITH(TT_USAGE);
    CHECK(times("says that there are 2 ranks, rank 0 (") == 2, "%s", crew.text);
    CHECK(times("that there are 3; start all with the same number (WORLD_SIZE)") == 2, "%s", crew.text);
}

/* ---- the comm file ---- */

static char path[] = "/tmp/tt-test-comm-XXXXXX";

static void write_comm_file(const char *line)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(line, f) >= 0);
    if (f) fclose(f);
}

/* The file is from an earlier job: first nobody listens there, then something else does, then the file is garbage. */
static void a_stale_comm_file_is_not_taken(void)
{
    char line[200], secret[65];
    memset(secret, 'a', 64);
    secret[64] = 0;
    crew.file = path;
    for (int how = 0; how < 3; how++) {
        crew.file = NULL;
        prepare(3, 10);
        close(crew.err);
        int port = crew.port;
        crew.file = path;
        prepare(3, 10);
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        a.sin_port = htons((uint16_t)port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (how == 1) CHECK(!bind(fd, (struct sockaddr *)&a, sizeof a) && !listen(fd, 10));
        snprintf(line, sizeof line, "127.0.0.1 %d %s\n", port, secret);
        write_comm_file(how == 2 ? "what is this" : line);
        start_rank(2, hello);
        start_rank(1, hello);
        rest(0.3);
        start_rank(0, hello);
        await_all();
        close(fd);
        CHECK_ALL_END_WITH(0);
        CHECK(access(path, F_OK) && errno == ENOENT); /* rank 0 has removed its own */
    }
    crew.file = NULL;
}

/* Started from several shells, the ranks have different parents, by which ranks without a file would find each
 * other. */
static void the_comm_file_makes_the_job(void)
{
    crew.file = path;
    crew.parents = true;
    prepare(3, 10);
    for (int r = 0; r < 3; r++) start_rank(r, hello);
    await_all();
    crew.parents = false;
    CHECK_ALL_END_WITH(0);
    crew.file = NULL;
}

/* If rank 0 does not come, the message blames the file, not a host that it names. */
static void what_is_wrong_with_the_comm_file(void)
{
    char line[200], secret[65];
    memset(secret, 'a', 64);
    secret[64] = 0;
    snprintf(line, sizeof line, "127.0.0.1 %d %s\n", free_port(), secret);
    for (int how = 0; how < 2; how++) {
        crew.file = path;
        write_comm_file(how ? line : "garbage\n");
        prepare(2, 1);
        start_rank(1, never_called);
        await(1);
        read_messages();
        char words[200];
        snprintf(words, sizeof words, how ? "and does it have the same --comm-file, %s?" : "%s is not a file of rank 0",
                 path);
        CHECK(crew.codes[1] == TT_RANK_LOST && times(words) && !times("MASTER_ADDR"), "%s", crew.text);
    }
    unlink(path);
    crew.file = NULL;
}

static void the_comm_file_is_private(void)
{
    crew.file = path;
    prepare(3, 5);
    start_rank(0, hello);
    struct stat st = {0};
    for (int i = 0; i < 300 && stat(path, &st); i++) rest(0.01);
    CHECK((st.st_mode & 0777) == 0600, "%o", st.st_mode);
    start_rank(1, hello);
    start_rank(2, hello);
    await_all();
    CHECK_ALL_END_WITH(0);
    crew.file = "/nowhere/at/all";
    prepare(2, 1);
    start_rank(0, never_called);
    start_rank(1, never_called);
    await_all();
    crew.file = NULL;
    CHECK(crew.codes[0] != 0 && times("/nowhere/at/all") && crew.codes[1] == TT_RANK_LOST, "%s", crew.text);
    CHECK(times("rank 0 did not write its address to /nowhere/at/all within 1 s") == 1, "%s", crew.text);
}

int main(void)
{
    close(mkstemp(path));
    TEST(clocks_are_compared);
    TEST(one_rank_needs_no_job);
    TEST(ranks_speak);
    TEST(a_failure_of_one_is_one_of_all);
    TEST(the_first_that_fails_is_named);
    TEST(a_failure_can_be_handled);
    TEST(what_differs_is_refused);
    TEST(any_rank_can_ask);
    TEST(different_calls_are_noticed);
    TEST(strangers_do_no_harm);
    TEST(who_does_not_come_is_named);
    TEST(rank_0_does_not_come);
    TEST(a_port_in_use_is_named);
    TEST(two_of_one_rank);
    TEST(another_number_of_ranks);
    TEST(a_stale_comm_file_is_not_taken);
    TEST(the_comm_file_makes_the_job);
    TEST(what_is_wrong_with_the_comm_file);
    TEST(the_comm_file_is_private);
    unlink(path);
    return test_end();
}
