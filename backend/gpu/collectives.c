/* Collectives between GPUs, by NCCL or RCCL: the second has the first one's names, so these are neutral. The library is
 * loaded when a job is joined; a program that was built with its header runs without it too.
 *
 * TT_TEST_RANKS_ON_ONE_GPU=1 makes the library believe that every rank is on a machine of its own, so that several can
 * share a GPU and talk through the loopback interface: slow, and for tests. */
#include "backend/gpu/host.h"

#ifdef TT_GPU_COLLECTIVES /* where the library was when this was built; "" where only its header was */
#include "gpu_collectives.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
    X(GetVersion) X(GetUniqueId) X(CommInitRank) X(CommDestroy) X(AllReduce) X(ReduceScatter) X(AllGather)             \
    X(GetErrorString) X(GetLastError)

struct gpu_collectives {
#define FIELD(name) __typeof__(&nccl##name) name;
    FUNCTIONS(FIELD)
#undef FIELD
    ncclComm_t comm; /* NULL before a job is joined */
    int rank, ranks;
};

static tt_status failed(const struct gpu *gpu, const char *call, ncclResult_t e)
{
    const struct gpu_collectives *c = gpu->collectives;
    const char *more = c->GetLastError(c->comm);
    bool has_more = more && *more;
    return tt_fail(TT_FAILED, "%s: %s%s%.300s on GPU %d, %s; NCCL_DEBUG=INFO says more", call, c->GetErrorString(e),
                   has_more ? ": " : "", has_more ? more : "", gpu->device, gpu->name);
}

#define TRY(gpu, name, ...)                                                                                            \
    do {                                                                                                               \
        ncclResult_t error_ = (gpu)->collectives->name(__VA_ARGS__);                                                   \
        if (error_ != ncclSuccess) return failed(gpu, "nccl" #name, error_);                                           \
    } while (0)

/* ---- the library ---- */

static tt_status find_functions(struct gpu_collectives *c, void *library)
{
#define FIND(name)                                                                                                     \
    *(void **)&c->name = dlsym(library, "nccl" #name);                                                                 \
    if (!c->name)                                                                                                      \
        return tt_fail(TT_FAILED, GPU_COLLECTIVES_NAME " has no nccl" #name ": it is too old; update "                 \
                       GPU_COLLECTIVES_PACKAGES);
    FUNCTIONS(FIND)
#undef FIND
    return TT_OK;
}

static tt_status load(struct gpu *gpu)
{
    if (gpu->collectives) return TT_OK;
    void *library = dlopen(GPU_COLLECTIVES_SONAME, RTLD_NOW | RTLD_LOCAL); /* stays loaded: it has threads */
    if (!library && *TT_GPU_COLLECTIVES) library = dlopen(TT_GPU_COLLECTIVES, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return tt_fail(TT_NO_TOOL, "GPUs compute together through " GPU_COLLECTIVES_NAME ", which is not here (%.200s);"
                       " install " GPU_COLLECTIVES_PACKAGES ", or name its folder in LD_LIBRARY_PATH", dlerror());
    struct gpu_collectives *c = calloc(1, sizeof *c);
    if (!c) return tt_fail(TT_FAILED, "join: no host memory");
    tt_status st = find_functions(c, library);
    if (st) {
        free(c);
        return st;
    }
    gpu->collectives = c;
    int version = 0;
    TRY(gpu, GetVersion, &version); /* 22809 is 2.28.9 */
    snprintf(gpu->carrier, sizeof gpu->carrier, GPU_COLLECTIVES_NAME " %d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
    return TT_OK;
}

/* ---- coming and going ---- */

static void pretend_own_machine(int rank)
{
    const char *wanted = getenv("TT_TEST_RANKS_ON_ONE_GPU");
    if (!wanted || strcmp(wanted, "1")) return;
    char host[32];
    snprintf(host, sizeof host, "tt-test-rank-%d", rank);
    setenv("NCCL_HOSTID", host, 1);
    setenv("NCCL_NET", "Socket", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_P2P_DISABLE", "1", 1);
    setenv("NCCL_SHM_DISABLE", "1", 1);
}

/* "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000" */
static tt_status not_joined(const struct gpu *gpu, ncclResult_t e)
{
    const char *why = gpu->collectives->GetLastError(NULL), *two = why ? strstr(why, "Duplicate GPU") : NULL;
    int a, b;
    two = two ? strstr(two, "rank ") : NULL;
    if (two && sscanf(two, "rank %d and rank %d", &a, &b) == 2)
        return tt_fail(TT_USAGE, "ranks %d and %d share the GPU; " GPU_COLLECTIVES_NAME " wants one for each (for "
                       "tests TT_TEST_RANKS_ON_ONE_GPU=1)", a, b);
    return failed(gpu, "ncclCommInitRank", e);
}

static void leave(struct gpu *gpu)
{
    if (gpu->collectives->comm) (void)gpu->collectives->CommDestroy(gpu->collectives->comm);
    free(gpu->collectives);
    gpu->collectives = NULL;
}

tt_status tt_gpu_join(void *self, const struct tt_ranks *ranks)
{
    struct gpu *gpu = self;
    gpu->leave = leave;
    tt_status st = load(gpu);
    if (st || !ranks) return st;
    struct gpu_collectives *c = gpu->collectives;
    if (c->comm) return tt_fail(TT_FAILED, "join: this backend has joined a job already");
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    pretend_own_machine(ranks->rank);
    ncclUniqueId id;
    if (ranks->rank == 0) TRY(gpu, GetUniqueId, &id);
    TT_TRY(ranks->share(ranks->user, &id, sizeof id));
    ncclResult_t e = c->CommInitRank(&c->comm, ranks->count, id, ranks->rank);
    if (e != ncclSuccess) {
        c->comm = NULL;
        return not_joined(gpu, e);
    }
    c->rank = ranks->rank;
    c->ranks = ranks->count;
    return TT_OK;
}

/* ---- work ---- */

static ncclDataType_t type_of(enum tt_dtype type)
{
    const int bf16 = 9; /* ncclBfloat16, which older headers hide from C */
    return type == TT_F32 ? ncclFloat32 : type == TT_F16 ? ncclFloat16 : (ncclDataType_t)bf16;
}

/* Checks what is asked, and finds this rank's part where there are parts. */
static tt_status begin(struct gpu *gpu, const char *what, void *buf, size_t count, enum tt_dtype type, void **part)
{
    const struct gpu_collectives *c = gpu->collectives;
    if (!c || !c->comm) return tt_fail(TT_FAILED, "%s: join a job first", what);
    if ((unsigned)type >= TT_DTYPES) return tt_fail(TT_FAILED, "%s: there is no type %d", what, (int)type);
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    if (!part) return TT_OK;
    if (count % (size_t)c->ranks)
        return tt_fail(TT_FAILED, "%s: %zu elements are no multiple of %d ranks", what, count, c->ranks);
    *part = (char *)buf + (size_t)c->rank * (count / (size_t)c->ranks) * tt_dtype_size(type);
    return TT_OK;
}

static tt_status end(struct gpu *gpu, gpu_rt_stream s)
{
    if (gpu->sync && !gpu_rt_capturing(s)) CHECK(gpu, gpu_rt_stream_sync(s));
    return TT_OK;
}

tt_status tt_gpu_all_reduce(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct gpu *gpu = self;
    gpu_rt_stream on = gpu_stream_of(gpu, s)->rt;
    TT_TRY(begin(gpu, "all_reduce", buf, count, type, NULL));
    TRY(gpu, AllReduce, buf, buf, count, type_of(type), ncclSum, gpu->collectives->comm, on);
    return end(gpu, on);
}

tt_status tt_gpu_reduce_scatter(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct gpu *gpu = self;
    gpu_rt_stream on = gpu_stream_of(gpu, s)->rt;
    void *part = buf;
    TT_TRY(begin(gpu, "reduce_scatter", buf, count, type, &part));
    const struct gpu_collectives *c = gpu->collectives;
    TRY(gpu, ReduceScatter, buf, part, count / (size_t)c->ranks, type_of(type), ncclSum, c->comm, on);
    return end(gpu, on);
}

tt_status tt_gpu_all_gather(void *self, void *buf, size_t count, enum tt_dtype type, tt_stream s)
{
    struct gpu *gpu = self;
    gpu_rt_stream on = gpu_stream_of(gpu, s)->rt;
    void *part = buf;
    TT_TRY(begin(gpu, "all_gather", buf, count, type, &part));
    const struct gpu_collectives *c = gpu->collectives;
    TRY(gpu, AllGather, part, buf, count / (size_t)c->ranks, type_of(type), c->comm, on);
    return end(gpu, on);
}

#endif
