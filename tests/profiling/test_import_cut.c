/* A tool's recording of a whole run, cut to the measured steps by the ranges that the program marked, and what is
 * reported if there are none. */
#include <unistd.h>

#include "core/base/file.h"
#include "profiling/import/import.h"
#include "tests/test.h"

enum { FILES = 4 };

/* Imports texts as the files of one run. */
static tt_status import(int n, const char *const *texts, double steps, struct tt_profile *p)
{
    char paths[FILES][40];
    const char *list[FILES] = {0};
    struct tt_text log = {0};
    for (int i = 0; i < n; i++) {
        strcpy(paths[i], "/tmp/tt_import_cut_XXXXXX");
        int fd = mkstemp(paths[i]);
        CHECK(fd >= 0);
        close(fd);
        CHECK_OK(tt_file_replace(paths[i], texts[i], strlen(texts[i])));
        list[i] = paths[i];
    }
    tt_status st = tt_import(list, n, steps, p, &log);
    for (int i = 0; i < n; i++) unlink(paths[i]);
    tt_text_free(&log);
    return st;
}

static const struct tt_profile_row *row(const struct tt_profile *p, const char *name)
{
    for (int i = 0; i < p->operators_count; i++)
        if (strcmp(p->operators[i].name, name) == 0) return &p->operators[i];
    return NULL;
}

#define NEAR(a, b) CHECK(fabs((a) - (b)) <= 1e-9 * fabs((double)(b)) + 1e-15, "%g, not %g", (double)(a), (double)(b))
#define SAYS(p, words) CHECK(strstr((p).run.scope, words), "\"%s\" is not in: %s", words, (p).run.scope)

/* Three warm-up steps of 5, 4 and 2 ms, and a measured one of 1 ms: a kernel of 0.8 ms, one of 0.1 and a copy beside
 * them. The kernel that sets up the libraries runs only before. */
static const char kernels[] = "\"Kind\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                              "\"KERNEL_DISPATCH\",\"setup\",900000000000000,900000000500000\n"
                              "\"KERNEL_DISPATCH\",\"swiglu\",900000001000000,900000006000000\n"
                              "\"KERNEL_DISPATCH\",\"swiglu\",900000006000000,900000010000000\n"
                              "\"KERNEL_DISPATCH\",\"swiglu\",900000010000000,900000012000000\n"
                              "\"KERNEL_DISPATCH\",\"swiglu\",900000020000000,900000020800000\n"
                              "\"KERNEL_DISPATCH\",\"adamw\",900000020900000,900000021000000\n";
static const char copies[] = "\"Kind\",\"Direction\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                             "\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",900000001000000,900000001400000\n"
                             "\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",900000020000000,900000020100000\n";
static const char calls[] = "\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                            "\"HIP_RUNTIME_API\",\"hipLaunchKernel\",900000000900000,900000000950000\n"
                            "\"HIP_RUNTIME_API\",\"hipLaunchKernel\",900000019990000,900000019995000\n"
                            "\"HIP_RUNTIME_API\",\"hipStreamSynchronize\",900000020000000,900000021010000\n";
static const char marks[] = "\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                            "\"MARKER_CORE_RANGE_API\",\"forward\",900000001000000,900000003000000\n"
                            "\"MARKER_CORE_RANGE_API\",\"step\",900000019985000,900000020005000\n"
                            "\"MARKER_CORE_RANGE_API\",\"measured_steps\",900000019980000,900000021020000\n";

static void cuts_to_the_measured_steps(void)
{
    const char *files[] = {kernels, copies, calls, marks};
    for (int last = 0; last < FILES; last++) { /* whatever the position of the markers among the files */
        struct tt_profile p;
        const char *order[FILES];
        for (int i = 0; i < FILES; i++) order[i] = files[(i + last) % FILES];
        CHECK_OK(import(FILES, order, 0, &p));
        NEAR(p.step.kernel_seconds, 0.9e-3);
        NEAR(p.step.seconds, 1e-3);
        NEAR(p.step.gap_seconds, 0.1e-3);
        CHECK(p.step.kernels == 2 && p.run.steps == 1);
        CHECK(!row(&p, "setup"), "what ran before the measured steps is shown");
        NEAR(row(&p, "swiglu")->seconds, 0.8e-3);
        NEAR(row(&p, "swiglu")->median, 0.8e-3);
        CHECK(row(&p, "swiglu")->count == 1);
        NEAR(row(&p, "MEMORY_COPY_HOST_TO_DEVICE")->seconds, 0.1e-3);
        NEAR(p.launch.launch_seconds, 5e-6);
        NEAR(p.launch.waits, 1);
        CHECK(p.events_count == 3);
        for (int i = 0; i < p.phases_count; i++) CHECK(strcmp(p.phases[i].name, "forward") != 0);
        SAYS(p, "Cut to the range measured_steps, which holds 2 of 6 kernels. Divided by 1 step.");
        tt_profile_free(&p);
    }
}

static void says_when_steps_do_not_agree(void)
{
    const char *files[] = {kernels, marks};
    struct tt_profile p;
    CHECK_OK(import(2, files, 2, &p));
    NEAR(p.step.kernel_seconds, 0.45e-3);
    SAYS(p, "Divided by the 2 steps of --num-steps, though the ranges mark 1.");
    tt_profile_free(&p);
}

/* A program may mark all steps together instead of each one. */
static void takes_the_number_of_steps_from_the_user(void)
{
    const char *files[] = {kernels, "\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                                    "\"MARKER_CORE_API\",\"measured_steps\",900000000900000,900000012100000\n"};
    struct tt_profile p;
    CHECK_OK(import(2, files, 3, &p));
    NEAR(p.step.kernel_seconds, 11e-3 / 3);
    SAYS(p, "3 of 6 kernels. Divided by 3 steps.");
    tt_profile_free(&p);
    CHECK_OK(import(2, files, 0, &p));
    NEAR(p.step.kernel_seconds, 11e-3);
    SAYS(p, "these are sums, not figures of a step");
    CHECK(p.run.steps == 0);
    tt_profile_free(&p);
}

static void says_when_there_are_no_markers(void)
{
    const char *files[] = {kernels};
    struct tt_profile p;
    CHECK_OK(import(1, files, 4, &p));
    NEAR(p.step.kernel_seconds, 12.4e-3 / 4);
    SAYS(p, "There is no range measured_steps in these files: ");
    SAYS(p, "the figures cover all that was recorded, also a warm-up.");
    SAYS(p, "Divided by 4 steps.");
    tt_profile_free(&p);
    CHECK_OK(import(1, files, 0, &p));
    SAYS(p, "these are sums, not figures of a step");
    tt_profile_free(&p);
}

static void says_what_cannot_be_cut(void)
{
    const char *files[] = {kernels, marks, "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"hipLaunchKernel\",400,2000000\n"};
    struct tt_profile p;
    CHECK_OK(import(3, files, 0, &p));
    NEAR(p.step.kernel_seconds, 0.9e-3);
    SAYS(p, "The calls are a summary, which cannot be cut: they cover the whole recording.");
    tt_profile_free(&p);
}

static void refuses_markers_of_another_run(void)
{
    const char *files[] = {kernels, "\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                                    "\"MARKER_CORE_API\",\"measured_steps\",100,200\n"};
    struct tt_profile p;
    CHECK_FAILS(import(2, files, 0, &p), "no kernel lies in the range measured_steps");
    tt_profile_free(&p);
}

/* Two processes in one recording: each marks its own steps, one after the other or at the same time. */
static void cuts_to_several_ranges(void)
{
    const char *files[] = {kernels, "\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                                    "\"MARKER_CORE_API\",\"measured_steps\",900000020000000,900000021000000\n"
                                    "\"MARKER_CORE_API\",\"measured_steps\",900000001000000,900000005000000\n"
                                    "\"MARKER_CORE_API\",\"measured_steps\",900000004000000,900000006500000\n"};
    struct tt_profile p;
    CHECK_OK(import(2, files, 2, &p));
    NEAR(p.step.kernel_seconds, (5 + 0.8 + 0.1) * 1e-3 / 2);
    tt_profile_free(&p);
}

/* ---- the other tools ---- */

static void cuts_rocprofv3_json(void)
{
    const char *files[] = {
        "{\"rocprofiler-sdk-tool\": [{\"kernel_symbols\": [{\"kernel_id\": 7, \"formatted_kernel_name\": "
        "\"swiglu\"}],\n"
        "\"strings\": {\"buffer_records\": [{\"kind\": \"NONE\", \"operations\": []},\n"
        " {\"kind\": \"MARKER_CORE_RANGE_API\", \"operations\": [\"roctxMarkA\", \"roctxThreadRangeA\"]}],\n"
        " \"marker_api\": [{\"key\": 31, \"value\": \"measured_steps\"}, {\"key\": 32, \"value\": \"step\"}]},\n"
        "\"buffer_records\": {\"kernel_dispatch\": [\n"
        " {\"start_timestamp\": 1000, \"end_timestamp\": 9000, \"dispatch_info\": {\"kernel_id\": 7}},\n"
        " {\"start_timestamp\": 20000, \"end_timestamp\": 21000, \"dispatch_info\": {\"kernel_id\": 7}},\n"
        " {\"start_timestamp\": 22000, \"end_timestamp\": 23000, \"dispatch_info\": {\"kernel_id\": 7}}],\n"
        "\"memory_copy\": [{\"start_timestamp\": 500, \"end_timestamp\": 600, \"bytes\": 64},\n"
        " {\"start_timestamp\": 20000, \"end_timestamp\": 20400, \"bytes\": 32}],\n"
        "\"marker_api\": [\n"
        " {\"kind\": 1, \"operation\": 1, \"correlation_id\": {\"internal\": 32}, \"start_timestamp\": 19500, "
        "\"end_timestamp\": 19600},\n"
        " {\"kind\": 1, \"operation\": 1, \"correlation_id\": {\"internal\": 32}, \"start_timestamp\": 19600, "
        "\"end_timestamp\": 19700},\n"
        " {\"kind\": 1, \"operation\": 1, \"correlation_id\": {\"internal\": 99}, \"start_timestamp\": 19600, "
        "\"end_timestamp\": 19650},\n"
        " {\"kind\": 1, \"operation\": 1, \"correlation_id\": {\"internal\": 31}, \"start_timestamp\": 19000, "
        "\"end_timestamp\": 24000}]}}]}"};
    struct tt_profile p;
    CHECK_OK(import(1, files, 0, &p));
    NEAR(p.step.kernel_seconds, 1e-6); /* two kernels of a microsecond in two steps */
    CHECK(p.run.steps == 2 && p.step.kernels == 1);
    NEAR(row(&p, "MEMORY_COPY")->bytes, 16);
    SAYS(p, "2 of 3 kernels. Divided by 2 steps.");
    tt_profile_free(&p);
}

static void cuts_nsys(void)
{
    const char *files[] = {
        "Start (ns),Duration (ns),CorrId,GrdX,Device,Name\n1000,8000,1,1,NVIDIA H200 (0),rmsnorm\n"
        "20000,1000,2,1,NVIDIA H200 (0),rmsnorm\n22000,1000,3,1,NVIDIA H200 (0),rmsnorm\n",
        "Start (ns),Duration (ns),Name,Result,CorrID\n500,90,cudaLaunchKernel,0,1\n19900,10,cudaLaunchKernel,0,2\n"
        "21000,30,cudaLaunchKernel,0,3\n",
        "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild\n"
        "19800,23100,3300,0,3300,:measured_steps,1,1,0,2\n19850,19950,100,0,100,:step,1,1,1,0\n"
        "20950,21050,100,0,100,:step,1,1,1,0\n"};
    struct tt_profile p;
    CHECK_OK(import(3, files, 0, &p));
    NEAR(p.step.kernel_seconds, 1e-6);
    NEAR(p.launch.launch_seconds, 20e-9);
    SAYS(p, "2 of 3 kernels. Divided by 2 steps.");
    tt_profile_free(&p);
}

static void cuts_pytorch_traces(void)
{
    const char *device[] = {
        "{\"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"adamw\", \"ts\": 10, \"dur\": 80, \"tid\": 7},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"adamw\", \"ts\": 210, \"dur\": 20, \"tid\": 7},"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 0, \"dur\": 100, \"tid\": "
        "1},"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#2\", \"ts\": 200, \"dur\": 50, "
        "\"tid\": "
        "1},"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"measured_steps\", \"ts\": 199, \"dur\": 60, "
        "\"tid\": "
        "1}]}"};
    const char *host[] = {
        "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mul\", \"ts\": 10, \"dur\": 80, \"tid\": 1},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mul\", \"ts\": 210, \"dur\": 20, \"tid\": 1},"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"measured_steps\", \"ts\": 199, \"dur\": 60, "
        "\"tid\": "
        "1}]"};
    struct tt_profile p;
    CHECK_OK(import(1, device, 0, &p));
    NEAR(p.step.kernel_seconds, 20e-6);
    CHECK(p.run.steps == 1);
    SAYS(p, "1 of 2 kernels. Divided by 1 step.");
    tt_profile_free(&p);
    CHECK_OK(import(1, host, 0, &p));
    NEAR(row(&p, "aten::mul")->seconds, 20e-6);
    SAYS(p, "Cut to the range measured_steps.");
    tt_profile_free(&p);
}

/* ncu's counts for a call are kept for the calls that remain. */
static void keeps_what_ncu_counted_of_a_call(void)
{
    const char *files[] = {
        kernels, marks,
        "ID,Process ID,Kernel Name,gpu__time_duration.sum,dram__bytes_read.sum\n,,,ns,byte\n0,1,swiglu,800000,4096\n"};
    struct tt_profile p;
    CHECK_OK(import(3, files, 0, &p));
    NEAR(row(&p, "swiglu")->bytes, 4096);
    tt_profile_free(&p);
}

int main(void)
{
    TEST(cuts_to_the_measured_steps);
    TEST(says_when_steps_do_not_agree);
    TEST(takes_the_number_of_steps_from_the_user);
    TEST(says_when_there_are_no_markers);
    TEST(says_what_cannot_be_cut);
    TEST(refuses_markers_of_another_run);
    TEST(cuts_to_several_ranges);
    TEST(cuts_rocprofv3_json);
    TEST(cuts_nsys);
    TEST(cuts_pytorch_traces);
    TEST(keeps_what_ncu_counted_of_a_call);
    return test_end();
}
