/* Which library multiplies matrices on the CPU: the environment and the processor choose it, and the device names
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "tests/test.h"

static struct tt_device_info info_with(const char *gemm)
{
    struct tt_backend backend;
    struct tt_device_info info = {0};
    if (gemm)
        setenv("TT_CPU_GEMM", gemm, 1);
    else
        unsetenv("TT_CPU_GEMM");
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &backend));
    CHECK_OK(backend.ops->info(backend.self, &info));
    tt_backend_close(&backend);
    return info;
}

static void builtin_goes_without_libraries(void)
{
    struct tt_device_info info = info_with("builtin");
    CHECK(!strcmp(info.library, "built-in GEMM"), "%s", info.library);
}

static void blas_is_had_where_there_is_one(void)
{
    char name[64];
    struct tt_device_info info = info_with("blas");
    if (!tt_cpu_blas_open(name, sizeof name)) SKIP("this build has no BLAS");
    CHECK(!strcmp(info.library, name), "%s, not %s", info.library, name);
}

static void the_processor_chooses(void)
{
    struct tt_device_info info = info_with(NULL);
    struct tt_device_info other = info_with(tt_cpu_builtin_first() ? "builtin" : "blas");
    char wanted[sizeof other.library + 5];
    snprintf(wanted, sizeof wanted, "%s%s", strncmp(info.library, "AMX", 3) ? "" : "AMX, ", other.library);
    CHECK(!strcmp(info.library, wanted), "%s, not %s", info.library, wanted);
#ifdef __x86_64__
    CHECK(!tt_cpu_builtin_first());
#endif
}

int main(void)
{
    TEST(builtin_goes_without_libraries);
    TEST(blas_is_had_where_there_is_one);
    TEST(the_processor_chooses);
    return test_end();
}
