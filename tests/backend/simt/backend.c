/* A backend vtable on the SIMT machine, for tests only: host memory, the kernels of backend/gpu, and matrix products by
 * three loops. All work is done before a call returns. The number of threads that a test asks for selects the order in
 * which the machine runs a kernel's threads (1: forward, 4: reverse, others: shuffled). A test that compares the
 * results of several numbers of threads therefore compares orders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/backend.h"
#include "backend/gpu/launch.h"
#include "backend/kernel_info.h"
#include "core/base/fp8.h"
#include "tests/backend/kernels/half.h"
#include "tests/backend/simt/simt.h"

struct simt {
    struct simt_device device;
    bool portable;     /* leave out kernels for one chip only */
    unsigned launches; /* so far */
};

struct tt_stream_s {
    struct simt_device *device; /* first, as in a GPU backend's stream */
};

struct tt_event_s {
    struct timespec at;
};

/* ---- memory: uninitialised contents are NaN ---- */

static tt_status simt_alloc(void *self, size_t bytes, void **out)
{
    (void)self;
    if (posix_memalign(out, TT_ALIGN, bytes ? bytes : 1))
        return tt_fail(TT_FAILED, "alloc: no memory for %zu bytes", bytes);
    memset(*out, 0xff, bytes);
    return TT_OK;
}

static void simt_free(void *self, void *p)
{
    (void)self;
    free(p);
}

static tt_status simt_copy_bytes(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir,
                                 tt_stream s)
{
    (void)self, (void)dir, (void)s;
    if (bytes) memmove(dst, src, bytes);
    return TT_OK;
}

static tt_status simt_fill(void *self, void *dst, int byte, size_t bytes, tt_stream s)
{
    (void)self, (void)s;
    if (bytes) memset(dst, byte, bytes);
    return TT_OK;
}

/* ---- work ---- */

static tt_status simt_run(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    (void)s;
    struct simt *simt = self;
    struct simt_device *device = &simt->device;
    bool crowded = simt->launches++ % 2; /* alternates, so that each way of dividing the work is tried */
    gpu_error e =
        simt->portable ? tt_gpu_launch(kernel, args, device) : tt_gpu_launch_native(kernel, args, device, crowded);
    if (!e) return TT_OK;
    tt_status st = tt_fail(TT_FAILED, "kernel %s: %s", tt_kernel_name(kernel),
                           e == SIMT_FAULT ? device->fault : "its launch is not valid");
    device->fault[0] = 0;
    return st;
}

/* Separate functions, because AddressSanitizer makes it slow to enter a frame with variables in memory. */
static __attribute__((noinline)) double get_narrow(const uint16_t *p, enum tt_dtype type)
{
    return type == TT_BF16 ? from_bf16(*p) : from_f16(*p);
}

static __attribute__((noinline)) uint16_t narrow(enum tt_dtype type, double x)
{
    return type == TT_BF16 ? to_bf16(x) : to_f16(x);
}

static double get(const void *p, enum tt_dtype type, int64_t i)
{
    if (tt_is_fp8(type)) return (double)tt_from_fp8(((const uint8_t *)p)[i], type);
    return type == TT_F32 ? (double)((const float *)p)[i] : get_narrow((const uint16_t *)p + i, type);
}

static void put(void *p, enum tt_dtype type, int64_t i, double x)
{
    if (type == TT_F32)
        ((float *)p)[i] = (float)x;
    else
        ((uint16_t *)p)[i] = narrow(type, x);
}

/* Unpacks n vectors of k numbers. Vector i begins at first + i·step, and its numbers are `apart` from each other. */
static double *unpack(const void *p, enum tt_dtype type, int64_t first, int64_t n, int64_t k, int64_t step,
                      int64_t apart)
{
    double *out = malloc((size_t)(n * k + 1) * sizeof *out);
    for (int64_t i = 0; out && i < n * k; i++) out[i] = get(p, type, first + i / k * step + i % k * apart);
    return out;
}

static void multiply(const struct tt_gemm *g, int64_t batch, const double *rows, const double *columns)
{
    for (int64_t i = 0; i < g->m * g->n; i++) {
        const double *row = rows + i / g->n * g->k, *column = columns + i % g->n * g->k;
        int64_t at = batch * g->stride_c + i / g->n * g->ldc + i % g->n;
        int64_t of_a = g->row_scales ? i / g->n : 0, of_b = g->row_scales ? i % g->n : 0;
        double scale = (g->scale_a ? (double)g->scale_a[of_a] : 1) * (g->scale_b ? (double)g->scale_b[of_b] : 1);
        double sum = 0, old = 0;
        for (int64_t k = 0; k < g->k; k++) sum += row[k] * column[k];
        if (g->beta != 0) old = (double)g->beta * get(g->from ? g->from : g->c, g->type_c, at);
        put(g->c, g->type_c, at, (double)g->alpha * scale * sum + old);
    }
}

static tt_status simt_gemm(void *self, const struct tt_gemm *g, tt_stream s);

/* As TT_GEMM_SWIGLU or TT_GEMM_ROPE says: fused in one kernel, or (0, or if there is no such kernel) as the product
 * followed by a kernel. */
static tt_status simt_gemm_with(struct simt *simt, const struct tt_gemm *g, tt_stream s)
{
    struct tt_gemm alone = *g;
    const char *only = getenv(g->with == TT_WITH_ROPE ? "TT_GEMM_ROPE" : "TT_GEMM_SWIGLU");
    int way = only ? atoi(only) : 1;
    gpu_error e = 0;
    if (!simt->portable && way > 0 && tt_gpu_product_native(g, way - 1, &simt->device, &e))
        return e ? tt_fail(TT_FAILED, "%s: %s", tt_gemm_name(g), simt->device.fault) : TT_OK;
    if (g->with == TT_WITH_EXP) return tt_fail(TT_UNSUPPORTED, "gemm: no exponentials in this shape");
    struct tt_gemm_after after = tt_gemm_after(g);
    alone.with = TT_WITH_NOTHING;
    TT_TRY(simt_gemm(simt, &alone, s));
    return simt_run(simt, after.kernel, &after.args, s);
}

static tt_status simt_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    if (g->with) return simt_gemm_with(self, g, s);
    for (int64_t batch = 0; batch < g->batch; batch++) {
        double *rows =
            unpack(g->a, g->type_a, batch * g->stride_a, g->m, g->k, g->trans_a ? 1 : g->lda, g->trans_a ? g->lda : 1);
        double *columns =
            unpack(g->b, g->type_b, batch * g->stride_b, g->n, g->k, g->trans_b ? g->ldb : 1, g->trans_b ? 1 : g->ldb);
        bool room = rows && columns;
        if (room) multiply(g, batch, rows, columns);
        free(rows);
        free(columns);
        if (!room) return tt_fail(TT_FAILED, "gemm: no memory for its operands");
    }
    return TT_OK;
}

/* ---- streams and events ---- */

static tt_status simt_stream_create(void *self, tt_stream *out)
{
    *out = malloc(sizeof **out);
    if (!*out) return tt_fail(TT_FAILED, "stream_create: out of memory");
    (*out)->device = &((struct simt *)self)->device;
    return TT_OK;
}

static void simt_stream_destroy(void *self, tt_stream s)
{
    (void)self;
    free(s);
}

static tt_status simt_stream_sync(void *self, tt_stream s)
{
    (void)self, (void)s;
    return TT_OK;
}

static tt_status simt_stream_wait(void *self, tt_stream s, tt_event e)
{
    (void)self, (void)s, (void)e;
    return TT_OK;
}

static tt_status simt_event_create(void *self, tt_event *out)
{
    (void)self;
    *out = calloc(1, sizeof **out);
    return *out ? TT_OK : tt_fail(TT_FAILED, "event_create: out of memory");
}

static void simt_event_destroy(void *self, tt_event e)
{
    (void)self;
    free(e);
}

static tt_status simt_event_record(void *self, tt_event e, tt_stream s)
{
    (void)self, (void)s;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    return TT_OK;
}

static tt_status simt_event_query(void *self, tt_event e, bool *done)
{
    (void)self, (void)e;
    *done = true;
    return TT_OK;
}

static tt_status simt_event_sync(void *self, tt_event e)
{
    (void)self, (void)e;
    return TT_OK;
}

static tt_status simt_event_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    (void)self;
    *seconds = (double)(to->at.tv_sec - from->at.tv_sec) + 1e-9 * (double)(to->at.tv_nsec - from->at.tv_nsec);
    return TT_OK;
}

/* ---- device ---- */

static tt_status simt_info(void *self, struct tt_device_info *out)
{
    const char *native = ((struct simt *)self)->portable ? NULL : tt_gpu_native();
    *out = (struct tt_device_info){
        .arch = "simt",
        .library = "three loops",
        .wave_width = simt_wave_width(),
        .units = 1,
        .shared_bytes = (size_t)64 << 10,
        .flash_head = TT_GPU_FLASH_HEAD,
        .product_epilogues = !((struct simt *)self)->portable && tt_gpu_products_native() > 0,
        .memory_total = (size_t)1 << 30,
        .memory_free = (size_t)1 << 30,
        .has =
            {[TT_FP32] = true, [TT_TF32] = getenv("SIMT_TF32") != NULL, [TT_PREC_BF16] = true, [TT_PREC_FP16] = true,
             [TT_PREC_FP8] = true},
        .fp8_rows = true,
    };
    snprintf(out->name, sizeof out->name, "SIMT machine, waves of %d", out->wave_width);
    if (native) snprintf(out->kernels, sizeof out->kernels, "native (%s), else portable", native);
    return TT_OK;
}

static void simt_reset_peak(void *self) { (void)self; }

static void simt_close(void *self) { free(self); }

static const struct tt_backend_ops ops = {
    .name = "simt",
    .close = simt_close,
    .info = simt_info,
    .reset_peak = simt_reset_peak,
    .alloc = simt_alloc,
    .free = simt_free,
    .host_alloc = simt_alloc,
    .host_free = simt_free,
    .copy = simt_copy_bytes,
    .fill = simt_fill,
    .gemm = simt_gemm,
    .launch = simt_run,
    .stream_create = simt_stream_create,
    .stream_destroy = simt_stream_destroy,
    .stream_sync = simt_stream_sync,
    .stream_wait = simt_stream_wait,
    .event_create = simt_event_create,
    .event_destroy = simt_event_destroy,
    .event_record = simt_event_record,
    .event_query = simt_event_query,
    .event_sync = simt_event_sync,
    .event_elapsed = simt_event_elapsed,
};

/* Replaces the backend of the build: the test programs link this file first. */
tt_status tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out)
{
    struct simt *simt = calloc(1, sizeof *simt);
    if (!simt) return tt_fail(TT_FAILED, "no memory to open the SIMT machine");
    int threads = options ? options->threads : 0;
    simt->device.order = threads == 1 ? SIMT_FORWARD : threads == 4 ? SIMT_REVERSE : SIMT_SHUFFLED;
    simt->device.random = (uint64_t)threads;
    simt->portable = options && options->kernels == TT_PORTABLE;
    *out = (struct tt_backend){&ops, simt};
    return TT_OK;
}

void tt_backend_close(struct tt_backend *b)
{
    if (b->ops) b->ops->close(b->self);
    *b = (struct tt_backend){0};
}

const char *tt_backend_name(void) { return ops.name; }
int tt_backend_devices(void) { return 1; }
