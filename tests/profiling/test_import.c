/* Reads the exports of other profilers: each kind of file complete, with numbers computed by hand, and damaged in every
 * way. */
#include "profiling/import/import.h"

#include <unistd.h>

#include "core/base/file.h"
#include "profiling/names.h"
#include "tests/test.h"

static const char *const folder = "tests/profiles/";

static struct tt_profile import_all(int n, const char *const *names, double steps, char *log, size_t size)
{
    char paths[4][200];
    const char *list[4];
    struct tt_profile p;
    struct tt_text text = {0};
    for (int i = 0; i < n; i++) {
        snprintf(paths[i], sizeof paths[i], "%s%s", folder, names[i]);
        list[i] = paths[i];
    }
    CHECK_OK(tt_import(list, n, steps, &p, &text));
    snprintf(log, size, "%s", text.s ? text.s : "");
    tt_text_free(&text);
    return p;
}

static struct tt_profile import_one(const char *name, double steps, char *log, size_t size)
{
    return import_all(1, &name, steps, log, size);
}

static const struct tt_profile_row *row(const struct tt_profile *p, const char *name)
{
    static const struct tt_profile_row none = {.name = "none"};
    for (int i = 0; i < p->operators_count; i++)
        if (strcmp(p->operators[i].name, name) == 0) return &p->operators[i];
    CHECK(0, "no operator %s", name);
    return &none;
}

static const struct tt_profile_row *group(const struct tt_profile *p, const char *name)
{
    static const struct tt_profile_row none = {.name = "none"};
    for (int i = 0; i < p->groups_count; i++)
        if (strcmp(p->groups[i].name, name) == 0) return &p->groups[i];
    CHECK(0, "no group %s", name);
    return &none;
}

#define NEAR(a, b) CHECK(fabs((a) - (b)) <= 1e-9 * fabs((double)(b)) + 1e-15, "%g, not %g", (double)(a), (double)(b))

static double share_of_groups(const struct tt_profile *p)
{
    double sum = 0;
    for (int i = 0; i < p->groups_count; i++) sum += p->groups[i].share;
    return sum;
}

static void reads_nsys_kernel_sums(void)
{
    char log[500];
    struct tt_profile p = import_one("nsys_kern_sum.csv", 2, log, sizeof log);
    CHECK(strstr(log, "nsys kernel summary, 4 kernels"), "%s", log);
    CHECK(p.operators_count == 4);
    CHECK(strcmp(p.run.source, "nsys") == 0);
    NEAR(p.operators[0].seconds, 2.5e-3); /* one of two steps */
    NEAR(p.operators[0].median, 499e-6);
    NEAR(p.operators[0].share, 0.5);
    CHECK(p.operators[0].count == 5);
    CHECK(strcmp(p.operators[0].group, "gemm") == 0, "%s", p.operators[0].group);
    CHECK(strcmp(row(&p, "flash_forward")->group, "attention_output") == 0);
    CHECK(strcmp(row(&p, "swiglu")->group, "swiglu_activation") == 0);
    CHECK(strcmp(row(&p, "adamw")->group, "optimizer") == 0);
    NEAR(share_of_groups(&p), 1);
    CHECK(isnan(p.operators[0].flops) && isnan(p.step.seconds) && isnan(p.efficiency.mfu_percent));
    tt_profile_free(&p);
}

static void reads_several_reports_in_one_file(void)
{
    char log[500];
    struct tt_profile p = import_one("nsys_stats.csv", 2, log, sizeof log);
    CHECK(strstr(log, "2 ranges") && strstr(log, "2 functions") && strstr(log, "1 kernels") &&
              strstr(log, "copy summary"),
          "%s", log);
    NEAR(row(&p, "rmsnorm")->seconds, 1e-3); /* microseconds, as the header says */
    NEAR(group(&p, "copies")->seconds, 20e-6);
    NEAR(p.launch.launch_seconds, 5e-6);
    NEAR(p.launch.waits, 1);
    CHECK(p.phases_count == 2 && strcmp(p.phases[0].name, "forward") == 0);
    NEAR(p.phases[0].wall, 3e-3);
    tt_profile_free(&p);
}

static void reads_nsys_traces(void)
{
    char log[500];
    struct tt_profile p = import_one("nsys_gpu_trace.csv", 0, log, sizeof log);
    CHECK(strstr(log, "5 kernels and copies"), "%s", log);
    CHECK(strstr(p.run.device, "H200"), "%s", p.run.device);
    NEAR(p.step.seconds, 2500e-9);
    NEAR(p.step.gap_seconds, 600e-9); /* 1400 to 1500, 2500 to 3000; the copy runs beside a kernel */
    NEAR(p.step.kernel_seconds, 1900e-9);
    NEAR(group(&p, "gemm")->seconds, 1000e-9);
    NEAR(row(&p, "nvjet_hsh_128x128_64x6_2x1_v_bz_TNN")->median, 500e-9);
    NEAR(group(&p, "gaps")->seconds, 600e-9);
    NEAR(share_of_groups(&p), 1);
    CHECK(p.events_count == 5 && strcmp(p.events[0].track, "copy") == 0);
    NEAR(p.events[2].start, 500e-9);
    tt_profile_free(&p);
}

static void reads_ncu(void)
{
    char log[500];
    struct tt_profile p = import_one("ncu_raw.csv", 0, log, sizeof log);
    CHECK(strstr(log, "ncu raw page, 3 launches"), "%s", log);
    const struct tt_profile_row *norm = row(&p, "rmsnorm");
    CHECK(norm->count == 2);
    NEAR(norm->seconds, 20e-6);
    NEAR(norm->bytes, 20e6);
    NEAR(norm->flops, 2 * (1e6 + 2 * 2e6));
    NEAR(norm->bytes_per_second, 1e12);
    NEAR(norm->roof_percent, 82.5);
    CHECK(strcmp(norm->bound, "memory") == 0, "%s", norm->bound);
    NEAR(p.operators[0].flops, 60e9);
    CHECK(strcmp(p.operators[0].bound, "compute") == 0);
    NEAR(p.operators[0].intensity, 60e9 / 40e6);
    tt_profile_free(&p);

    p = import_one("ncu_details.csv", 0, log, sizeof log);
    CHECK(strstr(log, "ncu details, 2 launches"), "%s", log);
    NEAR(row(&p, "softmax")->seconds, 50e-6);
    NEAR(row(&p, "softmax")->bytes, 100e6);
    NEAR(row(&p, "softmax")->roof_percent, 72);
    tt_profile_free(&p);
}

static void reads_rocprofv3(void)
{
    char log[900];
    const char *files[] = {"rocprofv3_kernel_trace.csv", "rocprofv3_memory_copy_trace.csv",
                           "rocprofv3_hip_api_trace.csv", "rocprofv3_marker_api_trace.csv"};
    struct tt_profile p = import_all(4, files, 0, log, sizeof log);
    CHECK(strstr(log, "4 dispatches") && strstr(log, "2 copies") && strstr(log, "0 calls and 2 ranges"), "%s", log);
    NEAR(group(&p, "gemm")->seconds, 500e-6);
    NEAR(group(&p, "attention_softmax")->seconds, 100e-6);
    NEAR(group(&p, "copies")->seconds, 40e-6); /* a fill, a copy to the device, one to the host */
    NEAR(p.step.seconds, 730e-6);
    NEAR(p.launch.launch_seconds, 5e-6);
    NEAR(p.launch.waits, 1);
    CHECK(p.phases_count == 2);
    tt_profile_free(&p);

    p = import_one("rocprofv3_results.json", 0, log, sizeof log);
    CHECK(strstr(log, "3 dispatches, 1 copies, 2 calls"), "%s", log);
    CHECK(strcmp(p.run.device, "AMD Instinct MI300X") == 0, "%s", p.run.device);
    NEAR(group(&p, "gemm")->seconds, 300e-6);
    NEAR(row(&p, "swiglu")->seconds, 50e-6);
    NEAR(row(&p, "MEMORY_COPY_HOST_TO_DEVICE")->bytes, 1048576);
    NEAR(p.step.gap_seconds, 100e-6);
    tt_profile_free(&p);
}

static void reads_pytorch_traces(void)
{
    char log[500];
    struct tt_profile p = import_one("pytorch_trace.json", 0, log, sizeof log);
    CHECK(strstr(log, "Chrome trace of PyTorch") && strstr(log, "2 steps"), "%s", log);
    CHECK(p.run.steps == 2);
    NEAR(group(&p, "gemm")->seconds, 105e-6);
    NEAR(group(&p, "swiglu_activation")->seconds, 10e-6);
    NEAR(group(&p, "attention_output")->seconds, 20e-6);
    NEAR(group(&p, "copies")->seconds, 4e-6);
    NEAR(p.launch.launch_seconds, 6e-6);
    CHECK(p.phases_count == 1 && strcmp(p.phases[0].name, "forward_pass") == 0);
    tt_profile_free(&p);

    p = import_one("pytorch_cpu_trace.json", 0, log, sizeof log);
    CHECK(strstr(log, "own time"), "%s", log);
    NEAR(row(&p, "aten::linear")->seconds, 20e-6); /* 100 minus the 80 of addmm */
    NEAR(row(&p, "aten::addmm")->seconds, 75e-6);
    NEAR(row(&p, "aten::mul")->seconds, 40e-6);
    tt_profile_free(&p);
}

static void counts_nothing_twice(void)
{
    char log[900];
    const char *both[] = {"rocprofv3_kernel_stats.csv", "rocprofv3_kernel_trace.csv"}, *turned[] = {both[1], both[0]};
    for (int i = 0; i < 2; i++) {
        struct tt_profile p = import_all(2, i ? turned : both, 0, log, sizeof log);
        NEAR(group(&p, "gemm")->seconds, 500e-6);
        CHECK(strstr(log, "counted once"), "%s", log);
        tt_profile_free(&p);
    }
}

static void joins_ncu_with_nsys(void)
{
    char log[900];
    const char *both[] = {"ncu_raw.csv", "nsys_stats.csv"}, *turned[] = {both[1], both[0]};
    for (int i = 0; i < 2; i++) {
        struct tt_profile p = import_all(2, i ? turned : both, 0, log, sizeof log);
        CHECK(strcmp(p.run.source, "nsys") == 0);
        NEAR(row(&p, "rmsnorm")->seconds, 2e-3);   /* nsys's eight calls */
        NEAR(row(&p, "rmsnorm")->bytes, 8 * 10e6); /* with ncu's count for one */
        NEAR(row(&p, "rmsnorm")->flops, 8 * 5e6);
        tt_profile_free(&p);
    }
}

static void keeps_different_tools_apart(void)
{
    const char *files[] = {"tests/profiles/nsys_stats.csv", "tests/profiles/rocprofv3_kernel_trace.csv"};
    struct tt_profile p;
    struct tt_text log = {0};
    CHECK_FAILS(tt_import(files, 2, 0, &p, &log), "two profiles");
    tt_profile_free(&p);
    tt_text_free(&log);
}

/* ---- damaged, odd or hostile files ---- */

static tt_status import_bytes(const char *bytes, size_t n, struct tt_profile *p)
{
    char path[] = "/tmp/tt_import_XXXXXX";
    const char *paths[] = {path};
    struct tt_text log = {0};
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    CHECK_OK(tt_file_replace(path, bytes, n));
    tt_status st = tt_import(paths, 1, 0, p, &log);
    tt_text_free(&log);
    unlink(path);
    return st;
}

static void fails(const char *text, const char *words)
{
    struct tt_profile p;
    CHECK_FAILS(import_bytes(text, strlen(text), &p), words);
    tt_profile_free(&p);
}

static void says_what_is_wrong_and_where(void)
{
    fails("", "empty");
    fails(" \n\n", "empty");
    fails("hello, world\n", "cannot be imported");
    fails("a,b,c\n1,2,3\n", "cannot be imported");
    fails("Total Time (ns),Instances,Name\n12,x,k\n", "line 2: column Instances: \"x\" is not a number");
    fails("Total Time (ns),Instances,Name\n12,1,k\n-5,1,k\n", "line 3: column Total Time: a time below zero");
    fails("Total Time (ns),Instances,Name\n12,1,k\n12,1\n", "line 3: 2 columns where the header has 3");
    fails("chatter\n\nTotal Time (ns),Instances,Name\n12,1,\"k\n", "line 4: a quote is opened and never closed");
    fails("Total Time (ns),Instances,Name\n", "nothing was recorded");
    fails("Total Time (ns),Instances,Name\n1e400,1,k\n", "not a number");
    fails("Kernel_Name,Start_Timestamp,End_Timestamp\nk,20,10\n", "line 2: it ends before it starts");
    fails("ID,Process ID,Kernel Name,sm__cycles.sum\n,,,cycle\n0,1,k,5\n",
          "line 3: kernel \"k\" has no gpu__time_duration.sum");
    fails("ID,Process ID,Kernel Name,gpu__time_duration.sum\n,,,ns\n0,1,k,n/a\n",
          "line 3: column gpu__time_duration.sum");
    fails("ID,Process ID,Kernel Name,gpu__time_duration.sum\n", "cut off");
    fails("{\"traceEvents\": 3}", "no array");
    fails("{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"k\", \"ts\": 1}]}", "event 1");
    fails("{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"k\", \"ts\": 1, \"dur\": -1}]}", "event 1");
    fails("{\"traceEvents\": [{\"ph\": \"X\",\n \"name\" 3", "line 2");
    fails("{\"traceEvents\": []}", "nothing was recorded");
    fails("{\"a\": 1}", "cannot be imported");
    fails("{\"schema\": 1, \"operators\": []}", "tt report");
    fails("{\"rocprofiler-sdk-tool\": [{\"buffer_records\": {\"kernel_dispatch\": [{\"start_timestamp\": 1, "
          "\"end_timestamp\": 2}]}}]}",
          "kernel_dispatch[0]: its kernel_id");
    fails("{\"rocprofiler-sdk-tool\": {\"buffer_records\": {\"memory_copy\": [{\"start_timestamp\": 3, "
          "\"end_timestamp\": 2}]}}}",
          "memory_copy[0]");
    fails("{\"rocprofiler-sdk-tool\": 7}", "nothing was recorded");
    struct tt_profile p;
    CHECK_FAILS(import_bytes("SQLite format 3\0abc", 19, &p), "database");
    CHECK_FAILS(import_bytes("\x1f\x8b\x08", 3, &p), "compressed");
    CHECK_FAILS(import_bytes("abc\0def", 7, &p), "binary");
    CHECK_FAILS(tt_import_file("tests/profiles/none.csv", NULL, NULL), "none.csv");
}

/* Cut anywhere, or with any byte changed: a result or an error, and no read beyond the end. */
static void survives_damage(void)
{
    static const char *const files[] = {"nsys_stats.csv",    "nsys_gpu_trace.csv",         "ncu_raw.csv",
                                        "ncu_details.csv",   "rocprofv3_kernel_trace.csv", "rocprofv3_results.json",
                                        "pytorch_trace.json"};
    int answered = 0, refused = 0;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[200], *text;
        size_t n;
        snprintf(path, sizeof path, "%s%s", folder, files[f]);
        CHECK_OK(tt_file_read(path, 1 << 20, &text, &n));
        for (size_t cut = 0; cut < n; cut += 1 + n / 60) {
            struct tt_profile p;
            tt_status st = import_bytes(text, cut, &p);
            st ? refused++ : answered++;
            tt_status_free(st);
            tt_profile_free(&p);
            char was = text[cut];
            text[cut] = "\",\n9-{"[cut % 6];
            st = import_bytes(text, n, &p);
            st ? refused++ : answered++;
            tt_status_free(st);
            tt_profile_free(&p);
            text[cut] = was;
        }
        free(text);
    }
    CHECK(answered > 20 && refused > 20, "%d answered, %d refused", answered, refused);
}

static void reads_csv_as_written(void)
{
    char text[] = "\xef\xbb\xbf"
                  "a, \"b \"\"c\"\", d\" ,e\r\n\r\n\"two\nlines\",,x\nlast";
    struct tt_csv c;
    bool more;
    double x;
    tt_csv_open(&c, text, sizeof text - 1);
    CHECK_OK(tt_csv_next(&c, &more));
    CHECK(more && c.count == 3 && !strcmp(c.fields[1], "b \"c\", d") && !strcmp(c.fields[2], "e"), "%s|%s", c.fields[1],
          c.fields[2]);
    CHECK_OK(tt_csv_next(&c, &more));
    CHECK(more && c.count == 3 && !strcmp(c.fields[0], "two\nlines") && !c.fields[1][0] && c.record_line == 3);
    CHECK_OK(tt_csv_next(&c, &more));
    CHECK(more && c.count == 1 && !strcmp(c.fields[0], "last") && c.record_line == 5, "%d", c.record_line);
    CHECK_OK(tt_csv_next(&c, &more));
    CHECK(!more);
    tt_csv_free(&c);
    CHECK(tt_csv_number(" 1,234,567.5 ", &x) && x == 1234567.5);
    CHECK(tt_csv_number("-3e2", &x) && x == -300);
    CHECK(!tt_csv_number("", &x) && !tt_csv_number("nan", &x) && !tt_csv_number("0x10", &x) &&
          !tt_csv_number("1 2", &x));
}

static void names_kernels(void)
{
    static const struct {
        const char *full, *name, *group;
    } cases[] = {
        {"void (anonymous namespace)::rmsnorm<float, 32>(tt_rmsnorm_args)", "rmsnorm", "rms_norm"},
        {"void map_singles<each_op<float, 2, f_add>>(each_op<float, 2, f_add>, long, long)", "add", "residual"},
        {"flash_backward", "flash_backward", "attention_output"},
        {"cross_entropy", "cross_entropy", "loss_calculation"},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16>(Params)", "Kernel2", "gemm"},
        {"Cijk_Ailk_Bljk_HHS_BH_MT128x64x32", "Cijk_Ailk_Bljk_HHS_BH_MT128x64x32", "gemm"},
        {"aten::_log_softmax", "aten::_log_softmax", "loss_calculation"},
        {"aten::_softmax", "aten::_softmax", "attention_softmax"},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<int>(int)", "multi_tensor_apply_kernel",
         "optimizer"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "communication"},
        {"[CUDA memcpy Device-to-Host]", "[CUDA memcpy Device-to-Host]", "copies"},
        {"void gemm_swiglu<product_shape<__nv_bfloat16, false, false, 1, 256, 4, 2>>(product_args)", "gemm_swiglu",
         "swiglu_gate_up"},
        {"something_new", "something_new", "other"},
        {"", "", "other"},
        {"<<<::(", "<<<::(", "other"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64];
        tt_kernel_short_name(cases[i].full, name, sizeof name);
        CHECK(strcmp(name, cases[i].name) == 0, "%s: %s", cases[i].full, name);
        CHECK(strcmp(tt_kernel_group_of(cases[i].full), cases[i].group) == 0, "%s: %s", cases[i].full,
              tt_kernel_group_of(cases[i].full));
    }
}

int main(void)
{
    TEST(reads_csv_as_written);
    TEST(names_kernels);
    TEST(reads_nsys_kernel_sums);
    TEST(reads_several_reports_in_one_file);
    TEST(reads_nsys_traces);
    TEST(reads_ncu);
    TEST(reads_rocprofv3);
    TEST(reads_pytorch_traces);
    TEST(counts_nothing_twice);
    TEST(joins_ncu_with_nsys);
    TEST(keeps_different_tools_apart);
    TEST(says_what_is_wrong_and_where);
    TEST(survives_damage);
    return test_end();
}
