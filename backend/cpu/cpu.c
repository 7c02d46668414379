/* The vtable of the CPU. Computation is done before its call returns; only collectives are queued (streams.c).
 *
 * Two environment variables for comparisons: TT_CPU_GEMM=blas|builtin multiplies with the BLAS or with the built-in
 * multiply, in both cases without the matrix units (AMX). TT_CPU_ISA=base|v3|v4 chooses the instruction set of the
 * kernels; the matrix units need v4. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/worker.h"
#include "backend/kernel_info.h"
#include "core/base/fp8.h"

/* ---- memory ---- */

enum {
    HEADER = TT_ALIGN, /* bytes before each allocation, which hold its size */
    HUGE_PAGE = 2 << 20,
    COPY_PIECE = 1 << 20,
};

static void count_bytes(struct cpu *cpu, size_t bytes)
{
    size_t used = atomic_fetch_add(&cpu->used, bytes) + bytes, peak = atomic_load(&cpu->peak);
    while (used > peak && !atomic_compare_exchange_weak(&cpu->peak, &peak, used)) {}
}

static void *aligned_bytes(size_t bytes)
{
    bool big = bytes >= HUGE_PAGE;
    size_t align = big ? HUGE_PAGE : TT_ALIGN;
    void *p = NULL;
    if (posix_memalign(&p, align, bytes)) return NULL;
    if (big) madvise(p, bytes, MADV_HUGEPAGE); /* fewer page faults; best effort */
    return p;
}

static tt_status cpu_alloc(void *self, size_t bytes, void **out)
{
    struct cpu *cpu = self;
    /* Linux overcommits: it would grant more than there is, and kill the process when it uses the memory. */
    bool possible = bytes <= (cpu->memory_total ? cpu->memory_total : SIZE_MAX / 2);
    char *p = possible ? aligned_bytes(bytes + HEADER) : NULL;
    if (!p)
        return tt_fail(TT_FAILED,
                       "alloc: no memory for %.1f MiB, %.1f MiB are in use; make batch, seq_len or model smaller",
                       (double)bytes / 1048576, (double)atomic_load(&cpu->used) / 1048576);
    memcpy(p, &bytes, sizeof bytes);
    count_bytes(cpu, bytes);
    *out = p + HEADER;
    return TT_OK;
}

static void cpu_free(void *self, void *p)
{
    struct cpu *cpu = self;
    if (!p) return;
    size_t bytes;
    memcpy(&bytes, (char *)p - HEADER, sizeof bytes);
    atomic_fetch_sub(&cpu->used, bytes);
    free((char *)p - HEADER);
}

static tt_status cpu_host_alloc(void *self, size_t bytes, void **out)
{
    (void)self;
    *out = bytes <= SIZE_MAX / 2 ? aligned_bytes(bytes ? bytes : 1) : NULL;
    return *out ? TT_OK : tt_no_memory("%.1f MiB of host memory", (double)bytes / 1048576);
}

static void cpu_host_free(void *self, void *p)
{
    (void)self;
    free(p);
}

static tt_status cpu_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction dir, tt_stream s)
{
    (void)dir;
    struct cpu *cpu = self;
    TT_TRY(tt_cpu_stream_sync(cpu, s));
    PARALLEL_FOR(&cpu->team, bytes >= 4 * (size_t)COPY_PIECE ? SERIAL_BELOW : 0)
    for (size_t at = 0; at < bytes; at += COPY_PIECE)
        memmove((char *)dst + at, (const char *)src + at, bytes - at < COPY_PIECE ? bytes - at : COPY_PIECE);
    return TT_OK;
}

static tt_status cpu_fill(void *self, void *dst, int byte, size_t bytes, tt_stream s)
{
    struct cpu *cpu = self;
    TT_TRY(tt_cpu_stream_sync(cpu, s));
    PARALLEL_FOR(&cpu->team, bytes >= 4 * (size_t)COPY_PIECE ? SERIAL_BELOW : 0)
    for (size_t at = 0; at < bytes; at += COPY_PIECE)
        memset((char *)dst + at, byte, bytes - at < COPY_PIECE ? bytes - at : COPY_PIECE);
    return TT_OK;
}

/* ---- work ---- */

/* Scratch only grows, so after the first step nothing is allocated. */
static tt_status need_scratch(struct cpu *cpu, size_t floats)
{
    struct cpu_team *team = &cpu->team;
    if (floats <= team->scratch_floats) return TT_OK;
    floats = (floats + 1023) / 1024 * 1024; /* whole pages, so that threads do not share one */
    free(team->scratch);
    team->scratch_floats = 0;
    team->scratch = aligned_bytes(floats * sizeof(float) * (size_t)team->threads);
    if (!team->scratch)
        return tt_fail(TT_FAILED, "no memory for %.1f MiB of scratch on each of %d threads; use fewer threads",
                       (double)floats * sizeof(float) / 1048576, team->threads);
    team->scratch_floats = floats;
    return TT_OK;
}

/* Room for packed factors grows in the same way. */
static tt_status need_panels(struct cpu *cpu, size_t bytes)
{
    if (bytes <= cpu->panel_bytes) return TT_OK;
    free(cpu->panels);
    cpu->panel_bytes = 0;
    cpu->panels = aligned_bytes(bytes);
    if (!cpu->panels)
        return tt_fail(TT_FAILED, "no memory for %.1f MiB of packed factors; multiply without them: TT_CPU_GEMM=blas",
                       (double)bytes / 1048576);
    cpu->panel_bytes = bytes;
    return TT_OK;
}

static tt_status cpu_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct cpu *cpu = self;
    if ((unsigned)kernel >= TT_KERNELS) return tt_fail(TT_FAILED, "launch: there is no kernel %d", (int)kernel);
    if (*(const enum tt_dtype *)args != TT_F32)
        return tt_fail(TT_UNSUPPORTED, "%s: the CPU computes in fp32; use precision: fp32", tt_kernel_name(kernel));
    TT_TRY(tt_cpu_stream_sync(cpu, s));
    TT_TRY(need_scratch(cpu, cpu->kernels->launch_scratch(kernel, args)));
    cpu->kernels->launch[kernel](&cpu->team, args);
    return TT_OK;
}

/* C = beta · C, for k == 0 or alpha == 0, where BLAS libraries differ. */
static void gemm_without_product(const struct tt_gemm *g)
{
    for (int64_t r = 0; r < g->batch * g->m; r++) {
        float *c = (float *)g->c + r / g->m * g->stride_c + r % g->m * g->ldc;
        for (int64_t j = 0; j < g->n; j++) c[j] = g->beta == 0 ? 0 : g->beta * c[j];
    }
}

static tt_status need_wide(struct cpu *cpu, size_t floats)
{
    if (floats <= cpu->wide_floats) return TT_OK;
    cpu_free(cpu, cpu->wide);
    cpu->wide = NULL;
    cpu->wide_floats = 0;
    TT_TRY(cpu_alloc(cpu, floats * sizeof *cpu->wide, (void **)&cpu->wide));
    cpu->wide_floats = floats;
    return TT_OK;
}

static tt_status cpu_gemm(void *self, const struct tt_gemm *g, tt_stream s);

/* The product of the numbers that 8-bit factors stand for, in fp32. */
static tt_status multiply_fp8(struct cpu *cpu, const struct tt_gemm *g, tt_stream s)
{
    bool good = tt_is_fp8(g->type_a) && tt_is_fp8(g->type_b) && g->type_c == TT_F32 && g->scale_a && g->scale_b &&
                ((uintptr_t)g->scale_a | (uintptr_t)g->scale_b) % 16 == 0 &&
                !g->trans_a && g->trans_b && g->batch == 1 &&
                (g->m | g->n | g->k | g->lda | g->ldb | g->ldc) % 16 == 0;
    if (!good) return tt_fail(TT_UNSUPPORTED, "gemm: the CPU does not multiply 8-bit factors in this shape");
    struct tt_gemm wide = *g;
    TT_TRY(tt_cpu_stream_sync(cpu, s));
    TT_TRY(need_wide(cpu, (size_t)((g->m + g->n) * g->k)));
    float *b = cpu->wide + g->m * g->k;
    cpu->kernels->fp8_widen(&cpu->team, g->a, g->m, g->k, g->lda, g->type_a, g->row_scales ? g->scale_a : NULL,
                            cpu->wide);
    cpu->kernels->fp8_widen(&cpu->team, g->b, g->n, g->k, g->ldb, g->type_b, g->row_scales ? g->scale_b : NULL, b);
    wide.a = cpu->wide, wide.b = b;
    wide.lda = wide.ldb = g->k;
    wide.type_a = wide.type_b = TT_F32;
    if (!g->row_scales) wide.alpha *= *g->scale_a * *g->scale_b;
    wide.scale_a = wide.scale_b = NULL;
    return cpu_gemm(cpu, &wide, s);
}

/* C = `from`, so that the product adds to C. */
static void gemm_begin_from(struct cpu *cpu, const struct tt_gemm *g)
{
    PARALLEL_FOR(&cpu->team, g->batch * g->m * g->n)
    for (int64_t r = 0; r < g->batch * g->m; r++) {
        int64_t at = r / g->m * g->stride_c + r % g->m * g->ldc;
        memcpy((float *)g->c + at, (const float *)g->from + at, (size_t)g->n * sizeof(float));
    }
}

static tt_status cpu_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct cpu *cpu = self;
    if (tt_is_fp8(g->type_a) || tt_is_fp8(g->type_b)) return multiply_fp8(cpu, g, s);
    if (g->type_a != TT_F32 || g->type_b != TT_F32 || g->type_c != TT_F32)
        return tt_fail(TT_UNSUPPORTED, "gemm: the CPU multiplies fp32 only; use precision: fp32");
    if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return TT_OK;
    TT_TRY(tt_cpu_stream_sync(cpu, s));
    if (g->from && g->beta != 0) gemm_begin_from(cpu, g);
    if (g->k <= 0 || g->alpha == 0) {
        gemm_without_product(g);
    } else if (cpu->kernels->gemv_can(g)) {
        cpu->kernels->gemv(&cpu->team, g);
    } else if (cpu->amx && tt_cpu_amx_can(g)) {
        TT_TRY(need_panels(cpu, tt_cpu_amx_bytes(g)));
        tt_cpu_amx_gemm(&cpu->team, g, cpu->panels);
    } else if (cpu->blas && tt_cpu_blas_can(g)) {
        tt_cpu_blas_let_go(&cpu->blas_room);
        tt_cpu_blas_gemm(&cpu->team, g);
    } else {
        TT_TRY(need_scratch(cpu, cpu->kernels->gemm_scratch(g, cpu->team.threads)));
        cpu->kernels->gemm(&cpu->team, g);
    }
    return TT_OK;
}

/* ---- device ---- */

static void cpu_close(void *self)
{
    struct cpu *cpu = self;
    tt_cpu_mpi_leave(cpu->mpi, tt_cpu_worker_stop(cpu->worker));
    tt_cpu_blas_let_go(&cpu->blas_room);
    free(cpu->team.scratch);
    free(cpu->panels);
    cpu_free(cpu, cpu->wide);
    free(cpu);
}

static tt_status cpu_info(void *self, struct tt_device_info *out)
{
    struct cpu *cpu = self;
    struct utsname machine;
    char model[80];
    *out = (struct tt_device_info){.wave_width = 1, .shares_memory = true, .units = cpu->team.threads};
    tt_cpu_model_name(model, sizeof model);
    snprintf(out->name, sizeof out->name, "%s, %d thread%s", model, cpu->team.threads,
             cpu->team.threads == 1 ? "" : "s");
    bool only = !strcmp(cpu->kernels->isa, "base");
    snprintf(out->arch, sizeof out->arch, "%.20s%s%s", uname(&machine) ? "unknown" : machine.machine, only ? "" : "-",
             only ? "" : cpu->kernels->isa);
    snprintf(out->library, sizeof out->library, "%s%s", cpu->amx ? "AMX, " : "",
             cpu->blas ? cpu->blas_name : "built-in GEMM");
    tt_cpu_mpi_name(out->collectives, sizeof out->collectives);
    bool known = uname(&machine) == 0;
    snprintf(out->versions, sizeof out->versions, "%.20s %.60s, %s", known ? machine.sysname : "",
             known ? machine.release : "", cpu->team.threads > 1 ? "OpenMP" : "one thread");
    tt_cpu_memory(&out->memory_total, &out->memory_free);
    out->memory_used = atomic_load(&cpu->used);
    out->memory_peak = atomic_load(&cpu->peak);
    out->has[TT_FP32] = out->has[TT_PREC_FP8] = out->fp8_rows = true;
    return TT_OK;
}

static void cpu_reset_peak(void *self)
{
    struct cpu *cpu = self;
    atomic_store(&cpu->peak, atomic_load(&cpu->used));
}

/* Threads that wait for others by spinning count as busy. */
static tt_status cpu_usage(void *self, struct tt_usage *out)
{
    struct cpu *cpu = self;
    struct cpu_clocks now = tt_cpu_clocks();
    double seconds = now.wall - cpu->asked.wall;
    *out = (struct tt_usage){.source = "getrusage"};
    if (seconds > 0) out->busy = (now.work - cpu->asked.work) / seconds / cpu->team.threads;
    cpu->asked = now;
    return TT_OK;
}

static const struct tt_backend_ops ops = {
    .name = "cpu",
    .close = cpu_close,
    .info = cpu_info,
    .reset_peak = cpu_reset_peak,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .gemm = cpu_gemm,
    .launch = cpu_launch,
    .stream_create = tt_cpu_stream_create,
    .stream_destroy = tt_cpu_stream_destroy,
    .stream_sync = tt_cpu_stream_sync,
    .stream_wait = tt_cpu_stream_wait,
    .event_create = tt_cpu_event_create,
    .event_destroy = tt_cpu_event_destroy,
    .event_record = tt_cpu_event_record,
    .event_query = tt_cpu_event_query,
    .event_sync = tt_cpu_event_sync,
    .event_elapsed = tt_cpu_event_elapsed,
    .delay = tt_cpu_delay,
    .usage = cpu_usage,
#ifdef TT_MPIRUN
    .join = tt_cpu_join,
    .collective = tt_cpu_collective,
    .split = tt_cpu_split,
#endif
};

/* The best kernels that this processor can run, or those of TT_CPU_ISA if it can run them. */
static const struct cpu_kernels *choose_kernels(void)
{
    const struct cpu_kernels *able[3] = {&tt_cpu_kernels_base};
    int count = 1;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        able[count++] = &tt_cpu_kernels_v3;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl"))
            able[count++] = &tt_cpu_kernels_v4;
    }
#endif
    const char *wanted = getenv("TT_CPU_ISA");
    for (int i = 0; wanted && i < count; i++)
        if (!strcmp(able[i]->isa, wanted)) return able[i];
    return able[count - 1];
}

tt_status tt_backend_open(const struct tt_backend_options *options, struct tt_backend *out)
{
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu) return tt_no_memory("the CPU backend");
    int asked = options ? options->threads : 0;
    cpu->team.threads = asked > 0 ? asked : tt_cpu_thread_count();
#ifndef _OPENMP
    cpu->team.threads = 1;
#endif
    size_t memory_free;
    tt_cpu_memory(&cpu->memory_total, &memory_free);
    cpu->kernels = choose_kernels();
    cpu->asked = tt_cpu_clocks();
    const char *gemm = getenv("TT_CPU_GEMM");
    bool blas = gemm && !strcmp(gemm, "blas"), no_amx = blas || (gemm && !strcmp(gemm, "builtin"));
    bool builtin = !blas && (no_amx || tt_cpu_builtin_first());
    cpu->amx = !no_amx && !strcmp(cpu->kernels->isa, "v4") && tt_cpu_amx_allowed();
    cpu->blas = !builtin && tt_cpu_blas_open(cpu->blas_name, sizeof cpu->blas_name);
    tt_status st = cpu->blas ? tt_cpu_blas_hold(cpu->team.threads, &cpu->blas_room) : TT_OK;
    if (st) {
        cpu_close(cpu);
        return st;
    }
    *out = (struct tt_backend){&ops, cpu};
    return TT_OK;
}

void tt_backend_close(struct tt_backend *b)
{
    if (b->ops) b->ops->close(b->self);
    *b = (struct tt_backend){0};
}

const char *tt_backend_name(void) { return ops.name; }
int tt_backend_devices(void) { return 1; }
