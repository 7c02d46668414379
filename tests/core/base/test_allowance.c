/* The limits of control groups, versions 1 and 2, from files as the kernel writes them. */
#include <math.h>
#include <sys/stat.h>

#include "core/base/allowance.h"
#include "core/base/file.h"
#include "tests/core/base/folder_fixture.h"
#include "tests/test.h"

static void put(const char *name, const char *text)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
    CHECK_OK(tt_file_replace(path, text, strlen(text)));
}

static struct tt_allowance look(const char *groups)
{
    char list[1200];
    put("groups", groups);
    snprintf(list, sizeof list, "%s/groups", root);
    return tt_allowance_in(list, root);
}

static void of_version_2(void)
{
    put("job/cpu.max", "max 100000\n");
    put("job/memory.max", "4294967296\n");
    put("job/memory.current", "1073741824\n");
    put("job/memory.stat", "anon 1\ninactive_file 268435456\nactive_file 268435456\n");
    put("job/step/cpu.max", "250000 100000\n");
    put("job/step/memory.max", "max\n");
    struct tt_allowance a = look("0::/job/step\n");
    CHECK(a.cores == 2.5 && a.memory == 0x1p32, "%g cores, %g bytes", a.cores, a.memory);
    CHECK(a.free == 0x1p32 - 0x1p29, "%g bytes", a.free);
    a = look("0::/job\n");
    CHECK(isinf(a.cores) && a.memory == 0x1p32);
    a = look("0::/\n");
    CHECK(isinf(a.cores) && isinf(a.memory) && isinf(a.free));
    put("cpu.max", "400000 100000\n"); /* a container sees its own group as the root */
    a = look("0::/../../elsewhere\n");
    CHECK(a.cores == 4 && isinf(a.memory));
}

static void of_version_1(void)
{
    put("memory/slurm/job_7/memory.limit_in_bytes", "2147483648\n");
    put("memory/slurm/job_7/memory.usage_in_bytes", "3147483648\n");
    put("memory/slurm/job_7/task_0/memory.limit_in_bytes", "9223372036854771712\n");
    put("cpu/slurm/cpu.cfs_quota_us", "-1\n");
    put("cpu/slurm/cpu.cfs_period_us", "100000\n");
    struct tt_allowance a = look("9:memory:/slurm/job_7/task_0\n4:cpu,cpuacct:/slurm\n3:cpuset:/x\nbroken\n");
    CHECK(isinf(a.cores) && a.memory == 0x1p31 && a.free == 0, "%g cores, %g, %g", a.cores, a.memory, a.free);
    put("cpu/slurm/cpu.cfs_quota_us", "50000\n");
    a = look("4:cpu,cpuacct:/slurm\n");
    CHECK(a.cores == 0.5);
}

static void without_any(void)
{
    struct tt_allowance a = tt_allowance_in("/no/such/file", "/no/such/folder");
    CHECK(isinf(a.cores) && isinf(a.memory) && isinf(a.free));
    CHECK(tt_cores() >= 1);
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    TEST(of_version_2);
    TEST(of_version_1);
    TEST(without_any);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
