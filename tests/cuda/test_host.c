/* The host code of the CUDA backend on a runtime that fails: what the user is told when there is no GPU or it is taken,
 * and that after a failure of any call nothing is left behind. */
#include <pthread.h>
#include <unistd.h>

#include "backend/backend.h"
#include "tests/cuda/fake_runtime.h"
#include "tests/test.h"

static bool one_line(const char *text) { return text[0] && !strchr(text, '\n'); }

/* Opening fails as "no device", which is exit code 3, in one line with these words, and leaves nothing. */
static void refused(const struct tt_backend_options *options, const char *words)
{
    struct tt_backend b;
    tt_status st = tt_backend_open(options, &b);
    CHECK(st && st->code == TT_NO_DEVICE, "%s", st ? st->text : "it opened");
    CHECK(st && strstr(st->text, words) && one_line(st->text), "wanted \"%s\", got %s", words, st ? st->text : "nothing");
    CHECK(!b.ops && !b.self && fake.live == 0, "%ld things were left", fake.live);
    tt_status_free(st);
    if (b.ops) tt_backend_close(&b);
}

/* ---- no GPU ---- */

static void says_why_there_is_none(void)
{
    static const struct {
        cudaError_t e;
        const char *words, *advice;
    } cases[] = {
        {cudaErrorNoDevice, "no NVIDIA GPU is visible", "nvidia-smi"},
        {cudaErrorSystemDriverMismatch, "another version than its kernel module", "reboot"},
        {cudaErrorCompatNotSupportedOnDevice, "cuda-compat", "LD_LIBRARY_PATH"},
        {cudaErrorStubLibrary, "the toolkit's stub", "LD_LIBRARY_PATH"},
        {cudaErrorSystemNotReady, "not ready", "fabricmanager"},
        {cudaErrorDeviceNotLicensed, "no licence", "administrator"},
        {cudaErrorInitializationError, "does not start", "nvidia-smi"},
        {cudaErrorUnknown, "does not start", "nvidia-modprobe"},
        {cudaErrorMpsConnectionFailed, "MPS does not answer", "nvidia-cuda-mps-control"},
        {cudaErrorMpsServerNotReady, "MPS is not ready", "again"},
        {cudaErrorMpsMaxClientsReached, "busy", "wait"},
        {cudaErrorMpsMaxConnectionsReached, "busy", "wait"},
        {cudaErrorECCUncorrectable, "no NVIDIA GPU can be used", "nvidia-smi"},
    };
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int twice = 0; twice < 2; twice++) {
            fake_reset();
            fake.count = cases[i].e;
            refused(NULL, twice ? cases[i].words : cases[i].advice);
        }
    fake_reset();
    fake.devices = 0;
    refused(NULL, "no NVIDIA GPU is visible (nvidia-smi -L lists them)");
}

static void says_what_hides_it(void)
{
    fake_reset();
    fake.count = cudaErrorNoDevice;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    refused(NULL, "CUDA_VISIBLE_DEVICES is \"\"; unset it");
    setenv("CUDA_VISIBLE_DEVICES", "12", 1);
    refused(NULL, "CUDA_VISIBLE_DEVICES is \"12\"");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void says_that_the_driver_is_old(void)
{
    fake_reset();
    fake.count = cudaErrorInsufficientDriver;
    fake.driver = 11040;
    fake.runtime = 12030;
    refused(NULL, "too old: it knows CUDA 11.4 and this tt needs 12.3; update the driver");
    fake.driver = 0;
    refused(NULL, "there is no NVIDIA driver on this machine");
    fake.driver = 12030; /* not too old, and yet */
    refused(NULL, "no NVIDIA GPU can be used");
}

static void knows_how_many_there_are(void)
{
    fake_reset();
    refused(&(struct tt_backend_options){.device = 7}, "--device 7: this machine shows 2 GPUs, numbered from 0");
    refused(&(struct tt_backend_options){.device = -1}, "--device -1");
    fake.devices = 1;
    refused(&(struct tt_backend_options){.device = 1}, "shows 1 GPU, numbered from 0");
}

/* ---- one that is there and cannot be had ---- */

static void says_that_it_is_taken(void)
{
    static const char *const calls[] = {"cudaSetDevice", "cudaFree"}; /* either may be the one that makes the context */
    static const struct {
        cudaError_t e;
        const char *words;
    } cases[] = {
        {cudaErrorDevicesUnavailable, "GPU 1 is busy: another program has it to itself"},
        {cudaErrorMemoryAllocation, "GPU 1 has no memory left even to start"},
        {cudaErrorMpsMaxClientsReached, "GPU 1 cannot be used: it is busy: MPS"},
        {cudaErrorECCUncorrectable, "choose another with --device"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int c = 0; c < 2; c++) {
            fake_reset();
            fake.fails = calls[c], fake.fails_from = 1, fake.error = cases[i].e;
            refused(&(struct tt_backend_options){.device = 1}, cases[i].words);
        }
    fake_reset(); /* others have all its memory */
    fake.fails = "cudaMalloc", fake.fails_from = 1, fake.error = cudaErrorMemoryAllocation;
    refused(NULL, "has no memory for");
    fake_reset();
    fake.fails = "kernel", fake.fails_from = 1, fake.error = cudaErrorNoKernelImageForDevice;
    refused(NULL, "tt was built for test; build it where the GPU is");
}

/* ---- everything that a run does, once ---- */

struct work {
    struct tt_backend b;
    void *device[3], *host;
    tt_stream stream;
    tt_event events[2];
    tt_graph graph;
};

static tt_status multiply(struct work *w, int64_t k, tt_stream s)
{
    struct tt_gemm g = {.a = w->device[0], .b = w->device[1], .c = w->device[2], .m = 4, .n = 4, .k = k, .batch = 2,
                        .lda = k ? k : 1, .ldb = 4, .ldc = 5, .stride_a = 16, .stride_b = 16, .stride_c = 20,
                        .alpha = 1, .beta = 0.5f};
    return w->b.ops->gemm(w->b.self, &g, s);
}

static tt_status step(struct work *w)
{
    struct tt_zero_args zero = {.x = w->device[0], .n = 4};
    TT_TRY(w->b.ops->launch(w->b.self, TT_K_zero, &zero, NULL));
    return multiply(w, 4, NULL);
}

static tt_status capture(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    TT_TRY(ops->graph_begin(w->b.self, NULL));
    tt_status st = step(w), end = ops->graph_end(w->b.self, NULL, &w->graph);
    if (!st) return end;
    tt_status_free(end);
    return st;
}

static tt_status order(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    double seconds;
    bool done;
    TT_TRY(ops->stream_create(w->b.self, &w->stream));
    for (int i = 0; i < 2; i++) TT_TRY(ops->event_create(w->b.self, &w->events[i]));
    TT_TRY(ops->event_record(w->b.self, w->events[0], w->stream));
    TT_TRY(multiply(w, 4, w->stream)); /* which takes a workspace of its own */
    TT_TRY(ops->event_record(w->b.self, w->events[1], w->stream));
    TT_TRY(ops->stream_wait(w->b.self, NULL, w->events[1]));
    TT_TRY(ops->event_query(w->b.self, w->events[1], &done));
    TT_TRY(ops->event_sync(w->b.self, w->events[1]));
    TT_TRY(ops->event_elapsed(w->b.self, w->events[0], w->events[1], &seconds));
    return ops->stream_sync(w->b.self, w->stream);
}

static tt_status do_all(struct work *w, const struct tt_backend_options *options)
{
    struct tt_device_info info;
    TT_TRY(tt_backend_open(options, &w->b));
    const struct tt_backend_ops *ops = w->b.ops;
    TT_TRY(ops->info(w->b.self, &info));
    for (int i = 0; i < 3; i++) TT_TRY(ops->alloc(w->b.self, 1024, &w->device[i]));
    TT_TRY(ops->host_alloc(w->b.self, 1024, &w->host));
    TT_TRY(ops->copy(w->b.self, w->device[0], w->host, 1024, TT_TO_DEVICE, NULL));
    TT_TRY(ops->fill(w->b.self, w->device[1], 1, 1024, NULL));
    TT_TRY(multiply(w, 0, NULL));
    TT_TRY(step(w));
    TT_TRY(order(w));
    TT_TRY(capture(w));
    return ops->graph_replay(w->b.self, w->graph, NULL);
}

static void give_back(struct work *w)
{
    const struct tt_backend_ops *ops = w->b.ops;
    if (!ops) return;
    if (w->graph) ops->graph_destroy(w->b.self, w->graph);
    for (int i = 0; i < 2; i++) ops->event_destroy(w->b.self, w->events[i]);
    ops->stream_destroy(w->b.self, w->stream);
    ops->host_free(w->b.self, w->host);
    for (int i = 0; i < 3; i++) ops->free(w->b.self, w->device[i]);
    tt_backend_close(&w->b);
}

/* What opening cannot live without is no device; the rest is a failure. What timing may do without, it does without. */
static void judge(long n, const struct work *w, tt_status st)
{
    CHECK(fake.failed != NULL, "call %ld was not made", n);
    if (st) {
        CHECK(st->code == (w->b.ops ? TT_FAILED : TT_NO_DEVICE), "%s: code %d: %s", fake.failed, (int)st->code, st->text);
        CHECK(one_line(st->text), "%s: %s", fake.failed, st->text);
        CHECK(!w->b.ops || !strcmp(fake.failed, "kernel") || strstr(st->text, fake.failed), "%s is not named: %s",
              fake.failed, st->text);
    }
    tt_status_free(st);
}

/* The n-th call fails, or none for 0; returns how many calls could have. */
static long with_failure(long n, const char *cache, int *told)
{
    struct work w = {0};
    remove(cache); /* or the choices of the run before would be taken */
    fake_reset();
    fake.fail_at = n;
    tt_status st = do_all(&w, &(struct tt_backend_options){.gemm_tune = TT_TUNE_QUICK, .gemm_cache = cache});
    long calls = fake.calls;
    *told += st != NULL;
    if (n) judge(n, &w, st);
    CHECK(!fake.capturing, "%s left a capture open", fake.failed);
    give_back(&w);
    CHECK(fake.live == 0, "after %s failed: %ld things were not given back", fake.failed, fake.live);
    return calls;
}

static void any_call_may_fail(void)
{
    char cache[] = "/tmp/tt-test-cuda-XXXXXX";
    int fd = mkstemp(cache), told = 0;
    CHECK(fd >= 0);
    close(fd);
    long calls = with_failure(0, cache, &told);
    CHECK(told == 0 && calls > 100, "%ld calls", calls);
    for (long n = 1; n <= calls; n++) with_failure(n, cache, &told);
    CHECK(told > calls / 2, "of %ld failures only %d were told", calls, told);
    remove(cache);
}

static void works_when_nothing_fails(void)
{
    struct work w = {0};
    fake_reset();
    CHECK_OK(do_all(&w, NULL));
    CHECK(fake.live > 8, "%ld things", fake.live);
    give_back(&w);
    CHECK(fake.live == 0 && !fake.capturing, "%ld things were not given back", fake.live);
}

static void tells_memory_from_other_failures(void)
{
    struct work w = {0};
    fake_reset();
    CHECK_OK(do_all(&w, NULL));
    void *p;
    fake.fails = "cudaMalloc", fake.fails_from = 1, fake.error = cudaErrorMemoryAllocation;
    CHECK_FAILS(w.b.ops->alloc(w.b.self, (size_t)5 << 20, &p), "has no memory for 5.0 MiB: 1024.0 of 2048.0 MiB are free");
    CHECK(!p);
    fake.fails = "cudaHostAlloc";
    CHECK_FAILS(w.b.ops->host_alloc(w.b.self, (size_t)5 << 20, &p), "no 5.0 MiB of pinned host memory");
    fake.fails = NULL;
    give_back(&w);
    CHECK(fake.live == 0);
}

/* ---- several GPUs ---- */

static void *copy_in_a_thread(void *p)
{
    struct work *w = p;
    const struct tt_backend_ops *ops = w->b.ops;
    CHECK_OK(ops->copy(w->b.self, w->device[0], w->host, 16, TT_TO_DEVICE, w->stream));
    CHECK_OK(ops->event_record(w->b.self, w->events[0], w->stream));
    CHECK_OK(ops->event_sync(w->b.self, w->events[0]));
    CHECK_OK(ops->fill(w->b.self, w->device[0], 0, 16, w->stream));
    CHECK_OK(ops->stream_sync(w->b.self, w->stream));
    return NULL;
}

/* No context on a GPU that was not asked for: it takes hundreds of MB of what others use, or is refused. */
static void leaves_the_other_gpus_alone(void)
{
    struct work w = {0};
    pthread_t thread;
    fake_reset();
    CHECK_OK(do_all(&w, &(struct tt_backend_options){.device = 1}));
    CHECK(!pthread_create(&thread, NULL, copy_in_a_thread, &w) && !pthread_join(thread, NULL));
    give_back(&w);
    CHECK(fake.used[1] && !fake.used[0], "GPU 0 was used");
    CHECK(fake.live == 0);
}

int main(void)
{
    TEST(says_why_there_is_none);
    TEST(says_what_hides_it);
    TEST(says_that_the_driver_is_old);
    TEST(knows_how_many_there_are);
    TEST(says_that_it_is_taken);
    TEST(works_when_nothing_fails);
    TEST(any_call_may_fail);
    TEST(tells_memory_from_other_failures);
    TEST(leaves_the_other_gpus_alone);
    return test_end();
}
