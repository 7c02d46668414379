/* Collectives between GPUs by NCCL or RCCL, which has the same API. The library is loaded when a job is joined, so that
 * the program also runs without it.
 *
 * TT_TEST_RANKS_ON_ONE_GPU=1, for tests, makes the library believe that every rank is on a different machine. Then
 * several ranks can share a GPU and communicate, slowly, over the loopback interface. */
#include "backend/gpu/host.h"
#include "backend/kernel_info.h"

#ifdef TT_GPU_COLLECTIVES /* path of the library at build time; "" if only its header was found */
#include "gpu_collectives.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
    X(GetVersion) X(GetUniqueId) X(CommInitRank) X(CommDestroy) X(AllReduce) X(ReduceScatter) X(AllGather)             \
    X(CommCount) X(GetErrorString) X(GetLastError)

#if NCCL_VERSION_CODE >= 21800
#define HAS_SPLIT
#endif

struct gpu_collectives {
#define FIELD(name) __typeof__(&nccl##name) name;
    FUNCTIONS(FIELD)
#undef FIELD
#ifdef HAS_SPLIT
    __typeof__(&ncclCommSplit) CommSplit; /* NULL where the library is older than the header */
#endif
    ncclComm_t all, comm; /* the whole job; the group of the current collectives; NULL before a job is joined */
    int rank, ranks;      /* rank in the job; number of ranks in the group */
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
#ifdef HAS_SPLIT
    *(void **)&c->CommSplit = dlsym(library, "ncclCommSplit");
#endif
    return TT_OK;
}

static tt_status load(struct gpu *gpu)
{
    if (gpu->collectives) return TT_OK;
    void *library = dlopen(GPU_COLLECTIVES_SONAME, RTLD_NOW | RTLD_LOCAL); /* never unloaded: it has threads */
    if (!library && *TT_GPU_COLLECTIVES) library = dlopen(TT_GPU_COLLECTIVES, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return tt_fail(TT_NO_TOOL, "several GPUs need " GPU_COLLECTIVES_NAME ", which cannot be loaded (%.200s);"
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
    snprintf(gpu->collectives_name, sizeof gpu->collectives_name, GPU_COLLECTIVES_NAME " %d.%d.%d", version / 10000,
             version / 100 % 100, version % 100);
    return TT_OK;
}

/* ---- joining and leaving ---- */

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

/* The library's message is like "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000". */
static tt_status not_joined(const struct gpu *gpu, ncclResult_t e)
{
    const char *why = gpu->collectives->GetLastError(NULL), *two = why ? strstr(why, "Duplicate GPU") : NULL;
    int a, b;
    two = two ? strstr(two, "rank ") : NULL;
    if (two && sscanf(two, "rank %d and rank %d", &a, &b) == 2)
        return tt_fail(TT_USAGE, "ranks %d and %d share a GPU; " GPU_COLLECTIVES_NAME " needs one for each (for "
                       "tests TT_TEST_RANKS_ON_ONE_GPU=1)", a, b);
    return failed(gpu, "ncclCommInitRank", e);
}

static void leave(struct gpu *gpu)
{
    struct gpu_collectives *c = gpu->collectives;
    if (c->comm && c->comm != c->all) (void)c->CommDestroy(c->comm);
    if (c->all) (void)c->CommDestroy(c->all);
    free(gpu->collectives);
    gpu->collectives = NULL;
}

static tt_status make_id(struct gpu *gpu, int rank, ncclUniqueId *id)
{
    TT_TRY(load(gpu));
    if (gpu->collectives->comm) return tt_fail(TT_FAILED, "join: this backend has joined a job already");
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    pretend_own_machine(rank);
    if (rank == 0) TRY(gpu, GetUniqueId, id);
    return TT_OK;
}

/* Shares rank 0's id. The others wait for it, so if rank 0 has none, it shares zeros; no id is all zeros. */
static tt_status share_id(struct gpu *gpu, const struct tt_ranks *ranks, ncclUniqueId *id)
{
    static const ncclUniqueId none;
    *id = none;
    tt_status st = make_id(gpu, ranks->rank, id);
    if (st) *id = none;
    tt_status shared = ranks->share(ranks->user, id, sizeof *id);
    if (st) tt_status_free(shared);
    if (st || shared) return st ? st : shared;
    if (ranks->rank == 0 || memcmp(id, &none, sizeof none)) return TT_OK;
    return tt_fail(TT_FAILED, "join: rank 0 got no id from " GPU_COLLECTIVES_NAME "; its own message says why");
}

tt_status tt_gpu_join(void *self, const struct tt_ranks *ranks)
{
    struct gpu *gpu = self;
    gpu->leave = leave;
    if (!ranks) return load(gpu);
    ncclUniqueId id;
    TT_TRY(share_id(gpu, ranks, &id));
    struct gpu_collectives *c = gpu->collectives;
    ncclResult_t e = c->CommInitRank(&c->all, ranks->count, id, ranks->rank);
    if (e != ncclSuccess) {
        c->all = NULL;
        return not_joined(gpu, e);
    }
    c->comm = c->all;
    c->rank = ranks->rank;
    c->ranks = ranks->count;
    gpu->crowded = c->ranks > 1;
    return TT_OK;
}

tt_status tt_gpu_split(void *self, int group)
{
    struct gpu *gpu = self;
    struct gpu_collectives *c = gpu->collectives;
    if (!c || !c->all) return tt_fail(TT_FAILED, "split: join a job first");
#ifdef HAS_SPLIT
    if (!c->CommSplit) return tt_fail(TT_UNSUPPORTED, "split: %s has no ncclCommSplit", gpu->collectives_name);
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    ncclComm_t before = c->comm;
    c->comm = c->all;
    if (before != c->all) TRY(gpu, CommDestroy, before);
    if (group >= 0) TRY(gpu, CommSplit, c->all, group, c->rank, &c->comm, NULL);
    TRY(gpu, CommCount, c->comm, &c->ranks);
    return TT_OK;
#else
    (void)group;
    return tt_fail(TT_UNSUPPORTED, "split: this tt was built with a " GPU_COLLECTIVES_NAME " without ncclCommSplit");
#endif
}

/* ---- work ---- */

static ncclDataType_t type_of(enum tt_dtype type)
{
    const int bf16 = 9; /* ncclBfloat16, which older headers define only for C++ */
    return type == TT_F32 ? ncclFloat32 : type == TT_F16 ? ncclFloat16 : (ncclDataType_t)bf16;
}

static tt_status check(struct gpu *gpu, const struct tt_collective *c)
{
    const struct gpu_collectives *g = gpu->collectives;
    if ((unsigned)c->kind >= TT_COLLECTIVES) return tt_fail(TT_FAILED, "there is no collective %d", (int)c->kind);
    const char *what = tt_collective_name(c->kind);
    if (!g || !g->comm) return tt_fail(TT_FAILED, "%s: join a job first", what);
    if ((unsigned)c->type >= TT_DTYPES) return tt_fail(TT_FAILED, "%s: there is no type %d", what, (int)c->type);
    if (c->ranks != g->ranks)
        return tt_fail(TT_FAILED, "%s: it is for %d ranks, but the job has %d", what, c->ranks, g->ranks);
    if (c->kind != TT_ALL_REDUCE && c->count % g->ranks)
        return tt_fail(TT_FAILED, "%s: %lld elements are not a multiple of %d ranks", what, (long long)c->count,
                       g->ranks);
    CHECK(gpu, gpu_rt_set_device(gpu->device));
    return TT_OK;
}

static tt_status carry_out(struct gpu *gpu, const struct tt_collective *c, gpu_rt_stream on)
{
    ncclComm_t comm = gpu->collectives->comm;
    size_t count = (size_t)c->count, part = count / (size_t)c->ranks;
    ncclDataType_t type = type_of(c->type);
    switch (c->kind) {
    case TT_REDUCE_SCATTER: TRY(gpu, ReduceScatter, c->from, c->to, part, type, ncclSum, comm, on); break;
    case TT_ALL_GATHER: TRY(gpu, AllGather, c->from, c->to, part, type, comm, on); break;
    default: TRY(gpu, AllReduce, c->from, c->to, count, type, ncclSum, comm, on); break;
    }
    return TT_OK;
}

tt_status tt_gpu_collective(void *self, const struct tt_collective *c, tt_stream s)
{
    struct gpu *gpu = self;
    gpu_rt_stream on = gpu_stream_of(gpu, s)->rt;
    TT_TRY(check(gpu, c));
    TT_TRY(carry_out(gpu, c, on));
    if (gpu->sync && !gpu_rt_capturing(on)) CHECK(gpu, gpu_rt_stream_sync(on));
    return TT_OK;
}

#endif
