/* A backend that passes all work on except the launches that a learner's function does: a plain C function that knows
 * nothing of threads. Each thread gets one block of rows, all of about the same size, so a kernel of several passes
 * pays for its memory traffic as it would alone. The bits of a row do not depend on how the rows are divided. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend/relay.h"
#include "exercises/10-own-kernel/kernel.h"
#include "exercises/engine/own_kernel.h"

enum {
    UNTOUCHED = 0xa5,
    SERIAL_BELOW = 16384, /* elements: waking the other threads would cost more */
};

struct own {
    struct tt_relay relay; /* first: the backend's self */
    void *library;
    void (*run)(const struct residual_norm *a);
    int threads;
    float *scratch;
    size_t scratch_floats;       /* of each thread */
    bool looked, writes_scratch; /* its use of the scratch was checked; it wrote there, so it is not fused */
};

/* ---- the library ---- */

/* Opens the full path: dlopen looks for a name without a slash among the system's libraries. */
static tt_status open_library(const char *path, void **out)
{
    char *whole = realpath(path, NULL);
    if (!whole)
        return tt_fail(TT_USAGE, "--own-kernel %s: %s; build it with: cc -O3 -shared -fPIC -o mine.so kernel.c -lm",
                       path, strerror(errno));
    *out = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
    free(whole);
    if (*out) return TT_OK;
    const char *why = dlerror();
    return tt_fail(TT_USAGE, "--own-kernel %s cannot be opened as a library (%.600s); build it with -shared -fPIC",
                   path, why ? why : "no reason given");
}

static tt_status open_function(const char *path, struct own *out)
{
    TT_TRY(open_library(path, &out->library));
    void *function = dlsym(out->library, TT_OWN_KERNEL);
    memcpy(&out->run, &function, sizeof function); /* C has no cast from an object's pointer to a function's */
    if (function) return TT_OK;
    dlclose(out->library);
    return tt_fail(TT_USAGE, "--own-kernel %s has no function " TT_OWN_KERNEL "(); kernel.h of exercise 10 declares it",
                   path);
}

/* ---- a launch ---- */

static int threads_for(const struct own *own, const struct tt_rmsnorm_args *a)
{
    return a->rows * a->cols < SERIAL_BELOW ? 1 : own->threads;
}

static int64_t rows_each(const struct own *own, const struct tt_rmsnorm_args *a)
{
    int threads = threads_for(own, a);
    return (a->rows + threads - 1) / threads;
}

/* The scratch only grows, so nothing is allocated after the first step. */
static tt_status need_scratch(struct own *own, size_t floats)
{
    const struct tt_backend *b = &own->relay.real;
    if (floats <= own->scratch_floats) return TT_OK;
    floats = (floats + 1023) / 1024 * 1024; /* threads keep to their own pages */
    if (own->scratch) b->ops->host_free(b->self, own->scratch);
    own->scratch = NULL;
    own->scratch_floats = 0;
    tt_status st = b->ops->host_alloc(b->self, floats * sizeof(float) * (size_t)own->threads, (void **)&own->scratch);
    if (!st) {
        own->scratch_floats = floats;
        return TT_OK;
    }
    tt_status_free(st);
    return tt_fail(TT_FAILED, "no memory for %.1f MiB of scratch on each of %d threads; use fewer threads",
                   (double)floats * sizeof(float) / 1048576, own->threads);
}

/* The arguments of the function for `count` rows of the launch from row `first` on. */
static struct residual_norm args_of(const struct tt_rmsnorm_args *a, int64_t first, int64_t count, float *scratch)
{
    int64_t at = first * a->cols;
    return (struct residual_norm){.x = (const float *)a->x + at,
                                  .delta = (const float *)a->delta + at,
                                  .weight = a->weight,
                                  .sum = (float *)a->sum + at,
                                  .y = (float *)a->y + at,
                                  .rstd = a->rstd + first,
                                  .scratch = scratch,
                                  .rows = (long)count,
                                  .cols = (long)a->cols,
                                  .eps = a->eps};
}

static float *thread_scratch(const struct own *own)
{
#ifdef _OPENMP
    return own->scratch + (size_t)omp_get_thread_num() * own->scratch_floats;
#else
    return own->scratch;
#endif
}

static void run_rows(const struct own *own, const struct tt_rmsnorm_args *a, int64_t first, int64_t count)
{
    struct residual_norm part = args_of(a, first, count, thread_scratch(own));
    own->run(&part);
}

/* Runs the function once on the first rows of the first launch, and looks whether it changed the scratch. */
static void look_at_scratch(struct own *own, const struct tt_rmsnorm_args *a)
{
    int64_t rows = rows_each(own, a);
    size_t bytes = (size_t)(rows * a->cols) * sizeof(float);
    const unsigned char *scratch = memset(own->scratch, UNTOUCHED, bytes);
    run_rows(own, a, 0, rows);
    for (size_t i = 0; i < bytes && !own->writes_scratch; i++) own->writes_scratch = scratch[i] != UNTOUCHED;
    own->looked = true;
}

static void run_all(const struct own *own, const struct tt_rmsnorm_args *a)
{
    int64_t run = rows_each(own, a);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads_for(own, a))
#endif
    for (int64_t first = 0; first < a->rows; first += run)
        run_rows(own, a, first, run < a->rows - first ? run : a->rows - first);
}

static tt_status own_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct own *own = self;
    const struct tt_backend *b = &own->relay.real;
    const struct tt_rmsnorm_args *a = args;
    if (!tt_own_kernel_takes(kernel, args)) return b->ops->launch(b->self, kernel, args, s);
    TT_TRY(need_scratch(own, (size_t)(rows_each(own, a) * a->cols)));
    if (!own->looked && a->rows > 0) look_at_scratch(own, a);
    run_all(own, a);
    return TT_OK;
}

/* ---- the backend ---- */

static void own_close(void *self)
{
    struct own *own = self;
    struct tt_backend *b = &own->relay.real;
    if (own->scratch) b->ops->host_free(b->self, own->scratch);
    b->ops->close(b->self);
    dlclose(own->library);
    free(own);
}

tt_status tt_own_kernel_wrap(const char *path, struct tt_backend *b)
{
    struct tt_device_info info;
    TT_TRY(b->ops->info(b->self, &info));
    struct own *own = calloc(1, sizeof *own);
    if (!own) return tt_no_memory("--own-kernel");
    tt_status st = open_function(path, own);
    if (st) {
        free(own);
        return st;
    }
    own->threads = info.units;
    *b = tt_relay_open(&own->relay, b);
    own->relay.ops.launch = own_launch;
    own->relay.ops.close = own_close;
    return TT_OK;
}

bool tt_own_kernel_writes_scratch(const struct tt_backend *b)
{
    return b->ops->launch == own_launch && ((const struct own *)b->self)->writes_scratch;
}
