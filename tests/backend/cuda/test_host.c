/* The host code of the CUDA backend with a runtime that fails: the messages when there is no GPU or it is in use, and
 * no leaks after a failure of any call. */
#include <cuda_runtime_api.h>

#define FAKE_HANDLE_PER_STREAM false /* a multiply changes nothing in a cuBLASLt handle */
#include "tests/backend/gpu/host_work.h"

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
    fake.driver = 12030; /* recent enough, but the count fails anyway */
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

/* ---- a GPU that cannot be used ---- */

static void says_that_it_is_taken(void)
{
    static const char *const calls[] = {"cudaSetDevice", "cudaFree"}; /* either may create the context */
    static const struct {
        cudaError_t e;
        const char *words;
    } cases[] = {
        {cudaErrorDevicesUnavailable, "GPU 1 is busy: another program uses it exclusively"},
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
    fake_reset(); /* other programs use all its memory */
    fake.fails = "cudaMalloc", fake.fails_from = 1, fake.error = cudaErrorMemoryAllocation;
    refused(NULL, "has no memory for");
    fake_reset();
    fake.fails = "code", fake.fails_from = 1, fake.error = cudaErrorNoKernelImageForDevice;
    refused(NULL, "tt was built for test; build it where the GPU is");
    fake_reset(); /* only the first kernel reports it, not the query */
    fake.fails = "kernel", fake.fails_from = 1, fake.error = cudaErrorNoKernelImageForDevice;
    refused(NULL, "tt was built for test; build it where the GPU is");
}

static void tells_memory_from_other_failures(void)
{
    struct work w = {0};
    fake_reset();
    CHECK_OK(do_all(&w, NULL));
    void *p;
    fake.fails = "cudaMalloc", fake.fails_from = 1, fake.error = cudaErrorMemoryAllocation;
    CHECK_FAILS(w.b.ops->alloc(w.b.self, (size_t)5 << 20, &p),
                "has no memory for 5.0 MiB: 1024.0 of 2048.0 MiB are free");
    CHECK(!p);
    fake.fails = "cudaHostAlloc";
    CHECK_FAILS(w.b.ops->host_alloc(w.b.self, (size_t)5 << 20, &p), "no 5.0 MiB of pinned host memory");
    fake.fails = NULL;
    give_back(&w);
    CHECK(fake.live == 0);
}

static void any_call_may_fail(void) { fail_every_call(130, 85); }

static void no_monitor(void)
{
    goes_on_without_a_monitor((const char *const[]){"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2",
                                                    "nvmlDeviceGetUtilizationRates", NULL});
    counts_other_programs("nvmlDeviceGetComputeRunningProcesses_v3");
}

/* ---- 8-bit products with one scale per row ---- */

extern size_t fake_cublaslt;

static bool has_rows(void)
{
    struct tt_backend b;
    struct tt_device_info info = {0};
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.precision = TT_PREC_FP8}, &b));
    CHECK_OK(b.ops->info(b.self, &info));
    CHECK(info.has[TT_PREC_FP8], "no fp8 on sm_90");
    tt_backend_close(&b);
    CHECK(fake.live == 0, "%ld things were left", fake.live);
    return info.fp8_rows;
}

/* A cuBLASLt that is too old for row scales, or that has no algorithm for them on this chip, makes fp8_rows false. */
static void asks_for_scales_of_rows(void)
{
    fake_reset();
    CHECK(has_rows());
    fake_cublaslt = 120804;
    CHECK(!has_rows(), "before 12.9");
    fake_cublaslt = 130100;
    fake.fails = "cublasLtMatmulAlgoGetHeuristic", fake.fails_from = 1;
    CHECK(!has_rows(), "without an algorithm");
    fake_reset();
}

int main(void)
{
    TEST(says_why_there_is_none);
    TEST(says_what_hides_it);
    TEST(says_that_the_driver_is_old);
    TEST(knows_how_many_there_are);
    TEST(says_that_it_is_taken);
    TEST(works_when_nothing_fails);
    TEST(asks_for_scales_of_rows);
    TEST(any_call_may_fail);
    TEST(tells_memory_from_other_failures);
    TEST(says_how_busy_it_is);
    TEST(no_monitor);
    TEST(leaves_the_other_gpus_alone);
    TEST(collectives_are_in_place);
    TEST(collectives_know_their_part);
    TEST(joins_nobody_without_an_id);
    TEST(says_that_two_ranks_share_a_gpu);
    TEST(streams_that_multiply_share_nothing);
    TEST(a_capture_makes_nothing);
    TEST(two_new_streams_in_a_capture_are_refused);
    return test_end();
}
