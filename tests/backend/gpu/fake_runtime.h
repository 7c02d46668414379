/* The calls that CUDA's and HIP's runtimes share, for tests/backend/gpu/fake.h. The including file defines RT(Malloc)
 * as the vendor's name of a call, RT_ENUM(MemcpyKind) as that of an enum, and FAKE_RUNTIME and FAKE_ERROR as the values
 * after a reset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/launch.h"
#include "gpu_runtime.h"
#include "tests/backend/gpu/fake.h"

struct fake fake;
static _Thread_local int current; /* a new thread begins on GPU 0, as with CUDA and HIP */
static _Thread_local gpu_rt_error last;

void fake_reset(void)
{
    fake = (struct fake){.devices = 2, .driver = 13000, .runtime = FAKE_RUNTIME, .error = FAKE_ERROR};
    current = 0;
    last = GPU_RT_SUCCESS;
}

static bool fails(const char *name)
{
    fake.calls++;
    bool now = fake.calls == fake.fail_at;
    if (fake.fails && !strcmp(fake.fails, name)) now |= ++fake.seen >= fake.fails_from;
    if (now) fake.failed = name;
    return now;
}

/* Every call begins with one of these, except those that free something. */
#define RUNTIME()                                                                                                      \
    do {                                                                                                               \
        if (fails(__func__)) return last = (gpu_rt_error)fake.error;                                                   \
    } while (0)
#define WORK() /* on the current device */                                                                             \
    do {                                                                                                               \
        fake.used[current] = true;                                                                                     \
        RUNTIME();                                                                                                     \
    } while (0)

static void *make(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) abort();
    fake.live++;
    return p;
}

static gpu_rt_error unmake(void *p)
{
    if (p) fake.live--;
    free(p);
    return GPU_RT_SUCCESS;
}

/* ---- devices ---- */

gpu_rt_error RT(GetDeviceCount)(int *count)
{
    RUNTIME();
    *count = fake.devices;
    return last = (gpu_rt_error)fake.count;
}

gpu_rt_error RT(SetDevice)(int device)
{
    RUNTIME();
    if (device < 0 || device >= fake.devices) return last = RT(ErrorInvalidDevice);
    current = device;
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(DeviceGetPCIBusId)(char *out, int size, int device)
{
    RUNTIME();
    snprintf(out, (size_t)size, "0000:%02x:00.0", 0x40 + device);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(MemGetInfo)(size_t *available, size_t *total)
{
    WORK();
    *available = (size_t)1 << 30;
    *total = (size_t)2 << 30;
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(GetLastError)(void)
{
    gpu_rt_error e = last;
    last = GPU_RT_SUCCESS;
    return e;
}

const char *RT(GetErrorName)(gpu_rt_error e)
{
    static _Thread_local char name[32];
    snprintf(name, sizeof name, "error%d", (int)e);
    return name;
}

const char *RT(GetErrorString)(gpu_rt_error e) { return e ? "as the test wants" : "no error"; }

/* ---- memory, all of it on the host ---- */

gpu_rt_error RT(Malloc)(void **out, size_t bytes)
{
    WORK();
    fake.made_in_capture += fake.capturing;
    *out = make(bytes);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(Free)(void *p)
{
    if (!p) WORK(); /* creates the context */
    return unmake(p);
}

gpu_rt_error RT(MemcpyAsync)(void *to, const void *from, size_t bytes, RT_ENUM(MemcpyKind) kind, gpu_rt_stream s)
{
    (void)kind, (void)s;
    WORK();
    memmove(to, from, bytes);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(MemsetAsync)(void *to, int byte, size_t bytes, gpu_rt_stream s)
{
    (void)s;
    WORK();
    memset(to, byte, bytes);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(Memcpy2DAsync)(void *to, size_t pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                               RT_ENUM(MemcpyKind) kind, gpu_rt_stream s)
{
    (void)kind, (void)s;
    WORK();
    for (size_t i = 0; i < rows; i++) memmove((char *)to + i * pitch, (const char *)from + i * from_pitch, width);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(Memset2DAsync)(void *to, size_t pitch, int byte, size_t width, size_t rows, gpu_rt_stream s)
{
    (void)s;
    WORK();
    for (size_t i = 0; i < rows; i++) memset((char *)to + i * pitch, byte, width);
    return GPU_RT_SUCCESS;
}

/* ---- streams and events ---- */

gpu_rt_error RT(StreamCreateWithFlags)(gpu_rt_stream *out, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(1);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(StreamDestroy)(gpu_rt_stream s) { return unmake(s); }

gpu_rt_error RT(StreamSynchronize)(gpu_rt_stream s)
{
    (void)s;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(StreamWaitEvent)(gpu_rt_stream s, gpu_rt_event e, unsigned flags)
{
    (void)s, (void)e, (void)flags;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(EventCreateWithFlags)(gpu_rt_event *out, unsigned flags)
{
    (void)flags;
    WORK();
    *out = make(1);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(EventDestroy)(gpu_rt_event e) { return unmake(e); }

gpu_rt_error RT(EventRecord)(gpu_rt_event e, gpu_rt_stream s)
{
    (void)e, (void)s;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(EventQuery)(gpu_rt_event e)
{
    (void)e;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(EventSynchronize)(gpu_rt_event e)
{
    (void)e;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(EventElapsedTime)(float *ms, gpu_rt_event from, gpu_rt_event to)
{
    (void)from, (void)to;
    WORK();
    *ms = 1;
    return GPU_RT_SUCCESS;
}

/* ---- graphs ---- */

gpu_rt_error RT(StreamIsCapturing)(gpu_rt_stream s, RT_ENUM(StreamCaptureStatus) * status)
{
    (void)s;
    *status = fake.capturing ? RT(StreamCaptureStatusActive) : RT(StreamCaptureStatusNone);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(StreamBeginCapture)(gpu_rt_stream s, RT_ENUM(StreamCaptureMode) mode)
{
    (void)s, (void)mode;
    WORK();
    fake.capturing = true;
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(StreamEndCapture)(gpu_rt_stream s, gpu_rt_capture *out)
{
    (void)s;
    fake.capturing = false;
    *out = NULL;
    WORK();
    *out = make(1);
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(GraphUpload)(gpu_rt_graph graph, gpu_rt_stream s)
{
    (void)graph, (void)s;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(GraphLaunch)(gpu_rt_graph graph, gpu_rt_stream s)
{
    (void)graph, (void)s;
    WORK();
    return GPU_RT_SUCCESS;
}

gpu_rt_error RT(GraphDestroy)(gpu_rt_capture graph) { return unmake(graph); }
gpu_rt_error RT(GraphExecDestroy)(gpu_rt_graph graph) { return unmake(graph); }

/* ---- kernels ---- */

static gpu_error launch(void)
{
    if (fails("kernel")) return (int)(last = (gpu_rt_error)fake.error);
    fake.used[current] = true;
    return 0;
}

gpu_error tt_gpu_find_code(void) { return fails("code") ? (int)(last = (gpu_rt_error)fake.error) : 0; }

gpu_error tt_gpu_launch(enum tt_kernel kernel, const void *args, gpu_stream s)
{
    (void)kernel, (void)args, (void)s;
    return launch();
}

gpu_error tt_gpu_launch_native(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded)
{
    (void)kernel, (void)args, (void)s, (void)crowded;
    return launch();
}

bool tt_gpu_product_native(const struct tt_gemm *g, int way, gpu_stream s, gpu_error *e)
{
    (void)g, (void)way, (void)s;
    *e = launch();
    return true;
}
int tt_gpu_products_native(void) { return 2; }
const char *tt_gpu_native(void) { return NULL; }
