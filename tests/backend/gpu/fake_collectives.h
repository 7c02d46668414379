/* A fake NCCL, and RCCL, which has the same names, for tests/backend/gpu/fake.h. They move nothing and remember the
 * last call. The program itself is loaded as the library, so these functions are exported. Include this after
 * fake_runtime.h. */
#pragma GCC visibility push(default)
#include "gpu_collectives.h"

static const char fake_id[] = "the id of a job that is not there";

#define NCCL()                                                                                                         \
    do {                                                                                                               \
        if (fails(__func__)) return ncclInternalError;                                                                 \
    } while (0)

static ncclResult_t remember(const void *from, void *to, size_t count, int type, ncclComm_t comm, const void *stream)
{
    if (!comm) return ncclInvalidArgument;
    fake.collective = (struct fake_collective){from, to, count, type, stream};
    fake.used[current] = true;
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    NCCL();
    return *version = 22809, ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t e) { return e ? "as the test wants" : "no error"; }

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return fake.last_words;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    NCCL();
    memset(id, 0, sizeof *id);
    memcpy(id->internal, fake_id, sizeof fake_id);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    NCCL();
    if (memcmp(id.internal, fake_id, sizeof fake_id) || rank < 0 || rank >= ranks) return ncclInvalidArgument;
    *comm = make(1);
    fake.used[current] = true;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) { return unmake(comm), ncclSuccess; }

ncclResult_t ncclCommCount(const ncclComm_t comm, int *ranks)
{
    NCCL();
    return comm ? (*ranks = 1, ncclSuccess) : ncclInvalidArgument;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, gpu_rt_stream s)
{
    NCCL();
    return op == ncclSum ? remember(from, to, count, (int)type, comm, s) : ncclInvalidArgument;
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, gpu_rt_stream s)
{
    NCCL();
    return op == ncclSum ? remember(from, to, count, (int)type, comm, s) : ncclInvalidArgument;
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           gpu_rt_stream s)
{
    NCCL();
    return remember(from, to, count, (int)type, comm, s);
}
#pragma GCC visibility pop
