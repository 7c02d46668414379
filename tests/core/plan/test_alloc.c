/* After its first step a run allocates nothing: more steps (and validations, and log lines) make no more calls of
 * malloc and related functions anywhere in the process, libraries included. Two exceptions: OpenMP's runtime makes a
 * small object whenever the size of a team changes, and AMD's runtime may make some for every launch. Their calls are
 * not counted: with HIP, only the program's own calls are. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/train/loop.h"
#include "tests/model/model_fixture.h"

#if defined(SANITIZED) || !defined(__GLIBC__)
int main(void)
{
    puts("skipped: the allocator is not ours to count here");
    return 77;
}
#else

static atomic_llong calls;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static const void *program; /* its load address, if only its own calls count */

static bool is_left_out(void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname) return program != NULL;
    if (program && info.dli_fbase != program) return true;
    return strstr(info.dli_fname, "libgomp") || strstr(info.dli_fname, "libomp");
}

#define counted(p) (is_left_out(__builtin_return_address(0)) ? 0 : calls++, p)

void *malloc(size_t n) { return counted(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return counted(__libc_calloc(n, size)); }
void *realloc(void *p, size_t n) { return counted(__libc_realloc(p, n)); }
void *memalign(size_t align, size_t n) { return counted(__libc_memalign(align, n)); }
void *aligned_alloc(size_t align, size_t n) { return counted(__libc_memalign(align, n)); }
int posix_memalign(void **out, size_t align, size_t n)
{
    return (*out = counted(__libc_memalign(align, n))) ? 0 : ENOMEM;
}

static struct tt_backend backend;
static char root[] = "/tmp/tt-test-alloc-XXXXXX";

static long long calls_of_run(enum tt_version v, int64_t steps)
{
    struct tt_config c = tiny_config();
    c.version = v;
    c.vocab_size = 64;
    c.num_steps = steps;
    c.val_interval = 2;
    c.log_interval = 1;
    strcpy(c.out, root);
    struct tt_session s;
    struct tt_data *data;
    struct tt_train_result r;
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = c.seq_len, .vocab_size = 64},
                          &data));
    tt_status opened = tt_session_open(&s, &backend, &c, TT_USE_TRAIN | TT_USE_EVAL);
    if (opened) {
        CHECK_OK(opened);
        tt_data_close(data);
        return 0;
    }
    struct tt_run run;
    CHECK_OK(tt_session_run(&s, &c, (struct tt_origin){0}, data, &run));
    long long before = calls;
    CHECK_OK(tt_train_run(&(struct tt_train){.run = &run}, &r));
    long long made = calls - before;
    tt_session_close(&s);
    tt_data_close(data);
    return made;
}

static void steps_allocate_nothing(void)
{
    for (int v = 0; v < TT_VERSIONS; v++) {
        calls_of_run((enum tt_version)v, 2); /* what the process allocates once */
        long long few = calls_of_run((enum tt_version)v, 2), many = calls_of_run((enum tt_version)v, 20);
        /* starting the loader's thread makes one call more or less, as the C library can reuse an old thread's
         * memory */
        CHECK(many <= few + 2, "version %d: %lld allocations in 2 steps, %lld in 20", v, few, many);
        CHECK(few > 5, "the counter counts");
    }
}

/* The backend's own counter agrees with the plan. */
static void memory_is_what_the_plan_says(void)
{
    struct tt_config c = tiny_config();
    struct tt_session s;
    struct tt_device_info info;
    for (int v = 0; v < TT_VERSIONS; v++) {
        c.version = (enum tt_version)v;
        backend.ops->reset_peak(backend.self);
        CHECK_OK(backend.ops->info(backend.self, &info));
        size_t before = info.memory_used;
        tt_status opened = tt_session_open(&s, &backend, &c, TT_USE_TRAIN);
        if (opened) {
            CHECK_OK(opened);
            continue;
        }
        fixture_weights(&s);
        fixture_tokens(&s, 0);
        CHECK_OK(tt_plan_run(s.step, &backend, NULL));
        CHECK_OK(backend.ops->info(backend.self, &info));
        double used = (double)(info.memory_peak - before), said = (double)tt_engine_total(&s.engine);
        CHECK(fabs(used - said) <= 0.05 * said, "version %d: %.0f bytes used, %.0f predicted", v, used, said);
        tt_session_close(&s);
    }
}

int main(void)
{
    CHECK(mkdtemp(root) != NULL, "no folder for the test");
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    Dl_info info;
    if (!strcmp(backend.ops->name, "hip") && dladdr((void *)&backend, &info)) program = info.dli_fbase;
    if (!test_few()) TEST(steps_allocate_nothing); /* the tools that want few sizes also allocate memory */
    TEST(memory_is_what_the_plan_says);
    tt_backend_close(&backend);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
#endif
