/* Variables that launchers set, and what is refused. */
#include "core/job/address.h"
#include "core/job/place.h"
#include "tests/test.h"

static const char *const names[] = {
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_RANK", "PMI_SIZE",
    "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
    "SLURM_NODEID", "SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST",
    "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_LAUNCH_NODE_IPADDR", TT_STARTED,
};

static struct tt_place place;

/* Sets the environment to "A=1 B=2", without any other variable of a job. */
static tt_status in(const char *variables)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    char copy[1000];
    snprintf(copy, sizeof copy, "%s", variables);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value++ = 0;
        setenv(word, value, 1);
    }
    return tt_place_find(&place);
}

static bool is(int rank, int ranks, int local_rank, int local_ranks, const char *starter)
{
    return place.rank == rank && place.ranks == ranks && place.local_rank == local_rank &&
           place.local_ranks == local_ranks && !strcmp(place.starter, starter);
}

static void nobody_started_a_job(void)
{
    CHECK_OK(in(""));
    CHECK(is(0, 0, 0, 0, "") && !place.id[0]);
    CHECK_OK(in("MASTER_ADDR=node1 MASTER_PORT=29500")); /* an address alone makes no job */
    CHECK(place.ranks == 0 && !place.address[0]);
    CHECK_OK(in("RANK= WORLD_SIZE="));
    CHECK(place.ranks == 0);
}

static void torchrun(void)
{
    CHECK_OK(in("RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=node1 MASTER_PORT=29500"));
    CHECK(is(5, 8, 1, 4, "torchrun") && !strcmp(place.address, "node1") && place.port == 29500 && !place.id[0]);
    CHECK_OK(in("RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1"));
    CHECK(is(0, 1, 0, 1, "torchrun") && place.port == 0);

    /* torchrun's agent uses that port itself. The job takes another one, the same on all ranks and different for other
     * jobs. */
    const char *agent = "RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 "
                        "TORCHELASTIC_RUN_ID=none TORCHELASTIC_USE_AGENT_STORE=True";
    CHECK_OK(in(agent));
    CHECK(place.port == 0 && !strcmp(place.id, "torchrun none port 29500"), "%s", place.id);
}

static void our_own(void)
{
    CHECK_OK(in("TT_STARTED=abc RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "
                "MASTER_PORT=4000"));
    CHECK(is(1, 2, 1, 2, "tt --ranks") && !strcmp(place.id, "tt abc") && place.port == 4000);
    CHECK_OK(in("TT_STARTED=abc OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 "
                "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=77"));
    CHECK(is(1, 2, 1, 2, "tt --ranks") && !strcmp(place.id, "tt abc"));
}

#define OMPI                                                                                                           \
    "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
#define STEP "SLURM_JOB_ID=42 SLURM_STEP_ID=1 SLURM_PROCID=6 SLURM_NTASKS=7 SLURM_LOCALID=0 "

static void open_mpi(void)
{
    CHECK_OK(in(OMPI "PMIX_NAMESPACE=1234.1"));
    CHECK(is(3, 4, 1, 2, "Open MPI") && !strcmp(place.id, "Open MPI 1234.1") && !place.address[0]);
    CHECK_OK(in(OMPI "MASTER_ADDR=node1"));
    CHECK(!strcmp(place.address, "node1") && !place.id[0]);
    CHECK_OK(in(OMPI STEP)); /* mpirun starts its helpers through srun */
    CHECK(is(3, 4, 1, 2, "Open MPI"));
    CHECK_OK(in(OMPI "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1"));
    CHECK(is(0, 2, 0, 1, "torchrun"));
}

static void mpich(void)
{
    CHECK_OK(in("PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2"));
    CHECK(is(1, 2, 1, 2, "MPI (PMI)") && !strncmp(place.id, "parent ", 7));
    CHECK_FAILS(in("PMI_RANK=1 PMI_SIZE=2"), "MPI_LOCALNRANKS is not set, but PMI_RANK=1 says");
    CHECK_OK(in("PMI_RANK=6 PMI_SIZE=7 " STEP "SLURM_STEP_NODELIST=a1")); /* srun --mpi=pmi2 */
    CHECK(is(6, 7, 0, 7, "SLURM"));
}

static void slurm(void)
{
    CHECK_OK(in(STEP "SLURM_NODEID=3 SLURM_STEP_TASKS_PER_NODE=2(x3),1 SLURM_STEP_NODELIST=node[03-05,9]"));
    CHECK(is(6, 7, 0, 1, "SLURM") && !strcmp(place.id, "SLURM 42.1") && !place.address[0]);
    CHECK_OK(in(STEP "SLURM_STEP_NUM_TASKS=8 SLURM_STEP_NODELIST=node[03-05,9]"));
    CHECK(is(6, 8, 0, 2, "SLURM"));
    CHECK_OK(in(STEP "SLURM_JOB_NODELIST=login"));
    CHECK(is(6, 7, 0, 7, "SLURM"));
    CHECK_OK(in(STEP "WORLD_SIZE=7 MASTER_ADDR=login SLURM_JOB_NODELIST=login")); /* inherited from the batch script */
    CHECK(is(6, 7, 0, 7, "SLURM") && !strcmp(place.address, "login"));

    CHECK_OK(in("SLURM_JOB_ID=42 SLURM_PROCID=0 SLURM_NTASKS=7 SLURM_LOCALID=0")); /* the batch shell of sbatch */
    CHECK(place.ranks == 0);
    CHECK_OK(in("SLURM_JOB_ID=42 SLURM_STEP_ID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=7 SLURM_LOCALID=0"));
    CHECK(place.ranks == 0);
    CHECK_OK(in("SLURM_JOB_ID=42 SLURM_STEP_ID=batch SLURM_PROCID=0 SLURM_NTASKS=7 SLURM_LOCALID=0"));
    CHECK(place.ranks == 0);

    CHECK_FAILS(in("SLURM_JOB_ID=42 SLURM_STEP_ID=1 SLURM_PROCID=6 SLURM_LOCALID=0"), "SLURM_NTASKS is not set");
    CHECK_FAILS(in("SLURM_STEP_ID=1 SLURM_PROCID=6 SLURM_NTASKS=7 SLURM_LOCALID=0 SLURM_NODELIST=a"),
                "SLURM_JOB_ID is not set");
    CHECK_FAILS(in("SLURM_JOB_ID=42 SLURM_STEP_ID=1 SLURM_PROCID=6 SLURM_NTASKS=7 SLURM_NODELIST=a"),
                "SLURM_LOCALID is not set");
    CHECK_FAILS(in(STEP), "SLURM_STEP_NODELIST is not set");
    CHECK_FAILS(in(STEP "SLURM_NODELIST=a[1-"), "list of nodes cannot be read: a[1-");
    CHECK_FAILS(in(STEP "SLURM_NODELIST=a[9-1]"), "cannot be read");
    CHECK_FAILS(in(STEP "SLURM_NODEID=4 SLURM_TASKS_PER_NODE=2(x3),1"), "SLURM_TASKS_PER_NODE=2(x3),1 does not say");
    CHECK_FAILS(in(STEP "SLURM_NODEID=0 SLURM_TASKS_PER_NODE=two"), "SLURM_TASKS_PER_NODE=two does not say");
    CHECK_FAILS(in("SLURM_JOB_ID=4 SLURM_STEP_ID=1x SLURM_PROCID=0 SLURM_NTASKS=7 SLURM_LOCALID=0"),
                "SLURM_STEP_ID=1x is not a number");
}

static bool begins_with(const char *list, const char *node)
{
    char variables[300], found[100];
    snprintf(variables, sizeof variables, STEP "SLURM_STEP_NODELIST=%s", list);
    tt_status_free(in(variables));
    tt_slurm_first_node(found, sizeof found);
    if (strcmp(found, node) != 0) printf("%s begins with %s\n", list, found);
    return !strcmp(found, node);
}

static void first_nodes(void)
{
    CHECK(begins_with("node[03-07,9]", "node03"));
    CHECK(begins_with("login", "login"));
    CHECK(begins_with("a-1,b[2-3]", "a-1"));
    CHECK(begins_with("rack[1-2]n[03,04]-ib,x", "rack1n03-ib"));
    CHECK(begins_with("n[007]", "n007"));
    char found[100];
    tt_status_free(in(STEP "SLURM_LAUNCH_NODE_IPADDR=10.1.2.3"));
    tt_slurm_first_node(found, sizeof found);
    CHECK(!strcmp(found, "10.1.2.3"), "%s", found);
    tt_status_free(in("SLURM_STEP_NODELIST=a")); /* not inside a step */
    tt_slurm_first_node(found, sizeof found);
    CHECK(!found[0]);
}

static void what_is_missing_or_wrong(void)
{
    CHECK_FAILS(in("WORLD_SIZE=2"), "RANK is not set, but WORLD_SIZE=2 says");
    CHECK_FAILS(in("RANK=0"), "WORLD_SIZE is not set, but RANK=0 says");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0"), "LOCAL_WORLD_SIZE is not set");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2"),
                "LOCAL_RANK is not set, but RANK=0 says that this process is one of a job; set RANK, WORLD_SIZE, "
                "LOCAL_RANK and LOCAL_WORLD_SIZE, or none of them");
    CHECK_FAILS(in("RANK=one WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "RANK=one is not a number");
    CHECK_FAILS(in("RANK=-1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "RANK=-1 is not a number");
    CHECK_FAILS(in("RANK=2 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"),
                "WORLD_SIZE=2: RANK=2 is out of range; it is from 0 to 1 here");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=0 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "WORLD_SIZE=0 is out of range");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=-1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "WORLD_SIZE=-1 is not a number from 1 to ");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=99999999999999999999 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "is out of range");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=3"), "LOCAL_WORLD_SIZE=3 is out of range");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=2 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2"),
                "LOCAL_WORLD_SIZE=2: LOCAL_RANK=2 is out of range");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_PORT=x"), "MASTER_PORT=x is not");
    CHECK_FAILS(in("RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_PORT=65536"), "65536 is out of range");
    CHECK_FAILS(in(OMPI "WORLD_SIZE=5"), "Open MPI says that there are 4 ranks, but WORLD_SIZE=5");
    CHECK_FAILS(in("OMPI_COMM_WORLD_RANK=3"), "OMPI_COMM_WORLD_SIZE is not set");
    tt_status st = in("RANK=0");
    CHECK(st && st->code == TT_USAGE);
    tt_status_free(st);
}

/* ---- from the variables to an address ---- */

static struct tt_address where;
static bool in_file;

static tt_status address_in(const char *variables, const char *file)
{
    TT_TRY(in(variables));
    struct tt_job_options o = {.place = place, .file = file, .timeout = 1};
    return tt_address_find(&o, &where, &in_file);
}

#define TWO_HOSTS "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 "
#define ONE_HOST "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "

static bool derived(void) { return where.port >= TT_FIRST_PORT && where.port < TT_FIRST_PORT + TT_PORTS; }

static void addresses(void)
{
    CHECK_OK(address_in(TWO_HOSTS "MASTER_ADDR=node1 MASTER_PORT=29500", "file"));
    CHECK(!strcmp(where.host, "node1") && where.port == 29500 && !in_file);
    CHECK_OK(address_in(TWO_HOSTS, "file"));
    CHECK(in_file && where.port == 0 && where.host[0] && where.secret[0]);
    CHECK_OK(address_in(ONE_HOST, ""));
    CHECK(!strcmp(where.host, "127.0.0.1") && derived() && !in_file);
    int port = where.port;
    CHECK_OK(address_in(ONE_HOST, NULL));
    CHECK(where.port == port); /* the parent is the same */
    CHECK_OK(address_in(ONE_HOST "MASTER_ADDR=no.such.host.invalid MASTER_PORT=29500", NULL));
    CHECK(!strcmp(where.host, "127.0.0.1") && where.port == 29500);

    CHECK_OK(address_in(STEP "SLURM_STEP_NODELIST=node[03-07]", NULL));
    CHECK(!strcmp(where.host, "node03") && derived());
    port = where.port;
    CHECK_OK(address_in("SLURM_STEP_NODELIST=node[03-07] SLURM_JOB_ID=42 SLURM_STEP_ID=2 SLURM_PROCID=6 SLURM_NTASKS=7 "
                        "SLURM_LOCALID=0", NULL));
    CHECK(derived() && where.port != port); /* another step of the same job */

    CHECK_FAILS(address_in(OMPI "PMIX_NAMESPACE=7", NULL), "Open MPI does not say on which machine rank 0 is; set "
                                                           "MASTER_ADDR to it, or give all ranks the same --comm-file");
    CHECK_OK(address_in(OMPI "PMIX_NAMESPACE=7 MASTER_ADDR=node1", NULL));
    CHECK(!strcmp(where.host, "node1") && derived());
    CHECK_FAILS(address_in(OMPI "MASTER_ADDR=node1", NULL), "set MASTER_PORT");
}

int main(void)
{
    TEST(nobody_started_a_job);
    TEST(torchrun);
    TEST(our_own);
    TEST(open_mpi);
    TEST(mpich);
    TEST(slurm);
    TEST(first_nodes);
    TEST(what_is_missing_or_wrong);
    TEST(addresses);
    return test_end();
}
