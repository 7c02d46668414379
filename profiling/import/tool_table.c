/* The profilers, and the words of their commands. */
#include <string.h>

#include "profiling/import/tool_parts.h"

const char *const tt_tool_names[] = {"nsys", "ncu", "rocprofv3", "rocprof-sys", "rocprof-compute", NULL};

static const struct tt_tool tools[] = {
    {.name = "nsys",
     .program = "nsys",
     .ranged = {"profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none", "--cpuctxsw=none",
                "--capture-range=nvtx", "--nvtx-capture=" TT_TOOL_RANGE, "--capture-range-end=stop",
                "--force-overwrite=true", "--output={out}/nsys", NULL},
     .whole = {"profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none", "--cpuctxsw=none",
               "--force-overwrite=true", "--output={out}/nsys", NULL},
     .environment = {"NSYS_NVTX_PROFILER_REGISTER_ONLY=0", NULL}, /* our ranges are plain strings */
     .exports = {"stats", "--report=cuda_gpu_trace,cuda_api_trace,nvtx_pushpop_trace,cuda_gpu_kern_sum,nvtx_sum",
                 "--format=csv", "--force-export=true", "--output={out}/nsys", "{out}/nsys.nsys-rep", NULL},
     .database = "nsys.sqlite", /* nsys stats makes it on its way */
     .reads = {"{out}/nsys_cuda_gpu_trace.csv", "{out}/nsys_cuda_api_trace.csv", "{out}/nsys_nvtx_pushpop_trace.csv",
               NULL},
     .get = "Nsight Systems comes with the CUDA toolkit, and alone from developer.nvidia.com/nsight-systems; on a "
            "cluster try: module load cuda"},
    {.name = "ncu",
     .program = "ncu",
     .ranged = {"--nvtx", "--nvtx-include=" TT_TOOL_RANGE "/",
                "--metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,"
                "sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__compute_memory_throughput.avg.pct_of_peak_"
                "sustained_elapsed",
                "--force-overwrite", "--export={out}/ncu", NULL},
     .whole = {"--launch-count=2000",
               "--metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,"
               "sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__compute_memory_throughput.avg.pct_of_peak_"
               "sustained_elapsed",
               "--force-overwrite", "--export={out}/ncu", NULL},
     .exports = {"--import={out}/ncu.ncu-rep", "--csv", "--page=raw", NULL},
     .output = "{out}/ncu.csv",
     .reads = {"{out}/ncu.csv", NULL},
     .get = "Nsight Compute comes with the CUDA toolkit, and alone from developer.nvidia.com/nsight-compute; reading "
            "counters may need the administrator's permission (ERR_NVGPUCTRPERM)"},
    {.name = "rocprofv3",
     .program = "rocprofv3",
     /* In its default format: rocpd since ROCm 7, csv before, which knows no other name for it. */
     .whole = {"--kernel-trace", "--memory-copy-trace", "--hip-trace", "--marker-trace", "--output-directory", "{out}",
               "--output-file", "rocprofv3", "--", NULL},
     .database = "rocprofv3_results.db",
     .reads = {"{out}/rocprofv3_kernel_trace.csv", "{out}/rocprofv3_memory_copy_trace.csv",
               "{out}/rocprofv3_hip_api_trace.csv", "{out}/rocprofv3_marker_api_trace.csv", NULL},
     .instead = "tt report reads its database if SQLite (libsqlite3.so.0) is installed; else convert it first: "
                "rocpd convert -i rocprofv3_results.db --output-format csv",
     .get = "rocprofv3 comes with ROCm 6.2 and later, package rocprofiler-sdk (from 7.14 on "
            "amdrocm-profiler-base); on a cluster try: module load rocm"},
    {.name = "rocprof-sys",
     .program = "rocprof-sys-sample",
     .whole = {"--trace", "--output", "{out}", "--", NULL},
     /* The first says the same as the option --output-format rocpd, which came later. */
     .environment = {"ROCPROFSYS_USE_ROCPD=true", "ROCPROFSYS_TIME_OUTPUT=false", NULL},
     .database = "rocpd*.db",
     .instead = "its trace (*.proto) opens in ui.perfetto.dev; tt report reads its rocpd database, from ROCm 7.1 on",
     .get = "rocprof-sys (formerly Omnitrace) comes with ROCm 6.3 and later, package rocprofiler-systems (from 7.14 on "
            "amdrocm-profiler)"},
    {.name = "rocprof-compute",
     .program = "rocprof-compute",
     .whole = {"profile", "--output-directory", "{out}/rocprof-compute", "--", NULL},
     .option = "--output-directory", /* since ROCm 7.12; --path was removed in 7.14 */
     .older = {"profile", "--name", "tt", "--path", "{out}/rocprof-compute", "--", NULL},
     .exports = {"analyze", "--path", "{out}/rocprof-compute", NULL},
     .output = "{out}/rocprof-compute.txt",
     .instead = "its analysis is in rocprof-compute.txt; tt report does not read its counters; --with rocprofv3 "
                "gives it times",
     .get = "rocprof-compute (formerly Omniperf) comes with ROCm 6.3 and later, package rocprofiler-compute (from 7.14 "
            "on amdrocm-profiler), and needs its Python requirements; before ROCm 7.12 write --name tt --path instead "
            "of --output-directory"},
};

const struct tt_tool *tt_tool_find(const char *name)
{
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0) return &tools[i];
    return NULL;
}
