/* Collectives through MPI; the only file that uses it.
 *
 * Sums are taken in rank order: every rank receives the others' addends of its own part and adds them up, so the bits
 * depend only on the number of ranks, not on the MPI library. Messages have a limited size, so that counts fit MPI's
 * int and the receive buffers are bounded. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer asks this at exit. Open MPI leaks memory through libraries that are already unloaded by then, so no
 * suppression can name them. */
static bool begun_here;
int __lsan_is_turned_off(void);
__attribute__((visibility("default"))) int __lsan_is_turned_off(void) { return begun_here; }
#define BEGUN_HERE() (begun_here = true)
#else
#define BEGUN_HERE() ((void)0)
#endif

enum {
    SUM_PIECE = 1 << 18,    /* most floats in a message of a reduce-scatter; fewer with many ranks */
    SCRATCH = 1 << 24,      /* floats of the receive buffers, which are double-buffered */
    GATHER_PIECE = 1 << 22, /* bytes in a message of an all-gather */
    SUM_BLOCK = 2048,       /* floats added up at a time, to stay in the cache */
    BUSY_POLLS = 2000,      /* after so many, the thread sleeps between polls and leaves its core to computation */
    SLEEP_NS = 20000,       /* between two polls */
};

struct cpu_mpi {
    MPI_Comm all, comm; /* the whole job; the group of the current collectives, or the same */
    int rank, ranks;    /* in the group */
    bool ours;             /* we have initialised MPI, so we finalize it */
    size_t piece;          /* floats in a message of a reduce-scatter */
    float *pieces;         /* [2][ranks][piece]: one half is received while the other is summed */
    MPI_Request *requests; /* [2][2 * ranks] */
    MPI_Status *statuses;  /* [2 * ranks] */
    int started[2]; /* requests of each half */
};

static tt_status failed(const char *call, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    return tt_fail(TT_FAILED, "%s: %.*s; the output of mpirun may say more", call, length, text);
}

#define MPI_TRY(call, ...)                                                                                             \
    do {                                                                                                               \
        int error_ = call(__VA_ARGS__);                                                                                \
        if (error_ != MPI_SUCCESS) return failed(#call, error_);                                                       \
    } while (0)

/* ---- name ---- */

const char *tt_backend_mpirun(void) { return TT_MPIRUN; }

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n..." as "Open MPI 4.1.4" and "MPICH 4.0.2" */
void tt_cpu_mpi_name(char *name, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length); /* allowed before MPI_Init */
    text[strcspn(text, ",\n")] = 0;
    char *number = text + strcspn(text, "0123456789"), *end = number;
    while (end > text && strchr(" \t:v", end[-1])) end--;
    if (end - text > 8 && !strncmp(end - 8, " Version", 8)) end -= 8;
    snprintf(name, size, "%.*s%s%s", (int)(end - text), text, *number ? " " : "", number);
}

int tt_cpu_mpi_ranks(const struct cpu_mpi *m) { return m->ranks; }

/* ---- joining and leaving ---- */

static tt_status begin(bool *ours)
{
    int begun = 0, ended = 0, threads = 0;
    MPI_TRY(MPI_Initialized, &begun);
    MPI_TRY(MPI_Finalized, &ended);
    if (ended) return tt_fail(TT_FAILED, "join: this process has left its job, and MPI cannot be initialised twice");
    BEGUN_HERE();
    if (begun)
        MPI_TRY(MPI_Query_thread, &threads);
    else
        MPI_TRY(MPI_Init_thread, NULL, NULL, MPI_THREAD_SERIALIZED, &threads);
    *ours = !begun;
    if (!begun) MPI_TRY(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* the default aborts */
    if (threads < MPI_THREAD_SERIALIZED)
        return tt_fail(TT_FAILED, "join: this MPI supports only one thread (level %d, not %d); use one that was "
                       "built with threads", threads, (int)MPI_THREAD_SERIALIZED);
    return TT_OK;
}

static tt_status check_place(const struct tt_ranks *given)
{
    int rank, ranks;
    MPI_TRY(MPI_Comm_size, MPI_COMM_WORLD, &ranks);
    MPI_TRY(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
    if (ranks != given->count)
        return tt_fail(TT_USAGE, "join: MPI sees %d rank%s, not %d: start with mpirun -n %d, of the MPI that tt was "
                       "built with (%s)", ranks, ranks == 1 ? "" : "s", given->count, given->count, TT_MPIRUN);
    if (rank != given->rank)
        return tt_fail(TT_USAGE, "join: this is rank %d of the job, but rank %d in MPI: let mpirun set the rank "
                       "(unset RANK and WORLD_SIZE)", given->rank, rank);
    return TT_OK;
}

static tt_status prepare(struct cpu_mpi *m, const struct tt_ranks *ranks)
{
    m->all = m->comm = MPI_COMM_NULL;
    m->rank = ranks->rank;
    m->ranks = ranks->count;
    TT_TRY(begin(&m->ours));
    TT_TRY(check_place(ranks));
    MPI_TRY(MPI_Comm_dup, MPI_COMM_WORLD, &m->all);
    MPI_TRY(MPI_Comm_set_errhandler, m->all, MPI_ERRORS_RETURN); /* groups inherit it */
    m->comm = m->all;
    size_t n = (size_t)m->ranks, most = SCRATCH / (2 * n);
    m->piece = most < 1 ? 1 : most < SUM_PIECE ? most : SUM_PIECE;
    m->pieces = malloc(2 * n * m->piece * sizeof *m->pieces);
    m->requests = malloc(4 * n * sizeof *m->requests);
    m->statuses = malloc(2 * n * sizeof *m->statuses);
    if (!m->pieces || !m->requests || !m->statuses)
        return tt_fail(TT_FAILED, "join: no memory for messages of %d ranks", m->ranks);
    return TT_OK;
}

tt_status tt_cpu_mpi_join(const struct tt_ranks *ranks, struct cpu_mpi **out)
{
    struct cpu_mpi *m = calloc(1, sizeof *m);
    if (!m) return tt_no_memory("the ranks of a job");
    tt_status st = prepare(m, ranks);
    if (st)
        tt_cpu_mpi_leave(m, true);
    else
        *out = m;
    return st;
}

/* MPI_Finalize waits for the other ranks, so it is not called when they may be gone. */
void tt_cpu_mpi_leave(struct cpu_mpi *m, bool whole)
{
    if (!m) return;
    if (whole && m->comm != m->all) MPI_Comm_free(&m->comm);
    if (whole && m->all != MPI_COMM_NULL) MPI_Comm_free(&m->all);
    if (whole && m->ours) MPI_Finalize();
    free(m->pieces);
    free(m->requests);
    free(m->statuses);
    free(m);
}

tt_status tt_cpu_mpi_split(struct cpu_mpi *m, int group)
{
    int rank;
    MPI_TRY(MPI_Comm_rank, m->all, &rank);
    if (m->comm != m->all) MPI_TRY(MPI_Comm_free, &m->comm);
    m->comm = m->all;
    if (group >= 0) MPI_TRY(MPI_Comm_split, m->all, group, rank, &m->comm);
    MPI_TRY(MPI_Comm_rank, m->comm, &m->rank);
    MPI_TRY(MPI_Comm_size, m->comm, &m->ranks);
    return TT_OK;
}

/* ---- messages ---- */

/* The elements of a rank's part. If `count` is not a multiple of the ranks, the first ranks have one more. */
struct part {
    size_t at, count;
};

static struct part part_of(const struct cpu_mpi *m, int rank, size_t count)
{
    size_t n = (size_t)m->ranks, r = (size_t)rank, each = count / n, more = count % n;
    return (struct part){r * each + (r < more ? r : more), each + (r < more)};
}

/* The elements of a part in its message number `round`. */
static struct part piece_of(struct part p, size_t piece, size_t round)
{
    size_t begin = round * piece;
    if (begin >= p.count) return (struct part){p.at, 0};
    return (struct part){p.at + begin, p.count - begin < piece ? p.count - begin : piece};
}

static size_t rounds_of(const struct cpu_mpi *m, size_t count, size_t piece)
{
    return (part_of(m, 0, count).count + piece - 1) / piece;
}

static tt_status start_receive(struct cpu_mpi *m, int half, void *to, size_t bytes, int from)
{
    MPI_Request *r = m->requests + half * 2 * m->ranks + m->started[half];
    if (!bytes) return TT_OK;
    MPI_TRY(MPI_Irecv, to, (int)bytes, MPI_BYTE, from, 0, m->comm, r);
    m->started[half]++;
    return TT_OK;
}

static tt_status start_send(struct cpu_mpi *m, int half, const void *from, size_t bytes, int to)
{
    MPI_Request *r = m->requests + half * 2 * m->ranks + m->started[half];
    if (!bytes) return TT_OK;
    MPI_TRY(MPI_Isend, from, (int)bytes, MPI_BYTE, to, 0, m->comm, r);
    m->started[half]++;
    return TT_OK;
}

/* The error of the first message that failed. */
static tt_status failed_message(const struct cpu_mpi *m, int half, int error)
{
    for (int i = 0; error == MPI_ERR_IN_STATUS && i < m->started[half]; i++) {
        int own = m->statuses[i].MPI_ERROR;
        if (own != MPI_SUCCESS && own != MPI_ERR_PENDING) error = own;
    }
    return failed("MPI_Testall", error);
}

/* Polls, since MPI_Waitall would keep a core busy that could compute. */
static tt_status finish(struct cpu_mpi *m, int half)
{
    MPI_Request *requests = m->requests + half * 2 * m->ranks;
    int done = 0;
    for (int polls = 0; !done; polls++) {
        int error = MPI_Testall(m->started[half], requests, &done, m->statuses);
        if (error != MPI_SUCCESS) return failed_message(m, half, error);
        if (done) break;
        if (polls < BUSY_POLLS)
            sched_yield();
        else
            nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
    }
    m->started[half] = 0;
    return TT_OK;
}

/* ---- reduce-scatter ---- */

static float *arrived(const struct cpu_mpi *m, int half, int from)
{
    return m->pieces + (size_t)(half * m->ranks + from) * m->piece;
}

static tt_status start_sum(struct cpu_mpi *m, const float *x, size_t count, size_t round)
{
    int half = (int)(round % 2);
    struct part mine = piece_of(part_of(m, m->rank, count), m->piece, round);
    for (int i = 1; i < m->ranks; i++) {
        int from = (m->rank + m->ranks - i) % m->ranks;
        TT_TRY(start_receive(m, half, arrived(m, half, from), mine.count * sizeof *x, from));
    }
    for (int i = 1; i < m->ranks; i++) {
        int to = (m->rank + i) % m->ranks;
        struct part theirs = piece_of(part_of(m, to, count), m->piece, round);
        TT_TRY(start_send(m, half, x + theirs.at, theirs.count * sizeof *x, to));
    }
    return TT_OK;
}

static void add_up(const struct cpu_mpi *m, const float *own, float *to, size_t count, int half)
{
    for (size_t at = 0; at < count; at += SUM_BLOCK) {
        size_t n = count - at < SUM_BLOCK ? count - at : SUM_BLOCK;
        float sum[SUM_BLOCK];
        for (int r = 0; r < m->ranks; r++) {
            const float *addend = (r == m->rank ? own : arrived(m, half, r)) + at;
            if (r == 0)
                memcpy(sum, addend, n * sizeof *sum);
            else
                for (size_t i = 0; i < n; i++) sum[i] += addend[i];
        }
        memcpy(to + at, sum, n * sizeof *sum);
    }
}

tt_status tt_cpu_mpi_reduce_scatter(struct cpu_mpi *m, const float *x, float *to, size_t count)
{
    size_t rounds = rounds_of(m, count, m->piece);
    struct part mine = part_of(m, m->rank, count);
    if (rounds) TT_TRY(start_sum(m, x, count, 0));
    for (size_t round = 0; round < rounds; round++) {
        if (round + 1 < rounds) TT_TRY(start_sum(m, x, count, round + 1));
        TT_TRY(finish(m, (int)(round % 2)));
        struct part piece = piece_of(mine, m->piece, round);
        add_up(m, x + piece.at, to + (piece.at - mine.at), piece.count, (int)(round % 2));
    }
    return TT_OK;
}

/* ---- all-gather ---- */

tt_status tt_cpu_mpi_all_gather(struct cpu_mpi *m, const void *from, void *x, size_t count, size_t element)
{
    size_t piece = GATHER_PIECE / element, rounds = rounds_of(m, count, piece);
    struct part own = part_of(m, m->rank, count);
    if (own.count) memmove((char *)x + own.at * element, from, own.count * element);
    for (size_t round = 0; round < rounds; round++) {
        struct part mine = piece_of(part_of(m, m->rank, count), piece, round);
        for (int i = 1; i < m->ranks; i++) {
            int from = (m->rank + m->ranks - i) % m->ranks;
            struct part theirs = piece_of(part_of(m, from, count), piece, round);
            TT_TRY(start_receive(m, 0, (char *)x + theirs.at * element, theirs.count * element, from));
        }
        for (int i = 1; i < m->ranks; i++)
            TT_TRY(start_send(m, 0, (char *)x + mine.at * element, mine.count * element, (m->rank + i) % m->ranks));
        TT_TRY(finish(m, 0));
    }
    return TT_OK;
}

tt_status tt_cpu_mpi_all_reduce(struct cpu_mpi *m, float *x, size_t count)
{
    float *mine = x + part_of(m, m->rank, count).at;
    TT_TRY(tt_cpu_mpi_reduce_scatter(m, x, mine, count));
    return tt_cpu_mpi_all_gather(m, mine, x, count, sizeof *x);
}
