/* The host code of the HIP backend with a runtime that fails: the messages when there is no GPU, one handle per stream,
 * no leaks after a failure of any call, and 8-bit products in the form that hipBLASLt wants. A chip for which rocBLAS
 * has no kernels is refused before rocBLAS aborts the program. ROCBLAS_LIBRARY names a librocblas.so to load; only its
 * path is used. */
#include <dlfcn.h>
#include <errno.h>
#include <hip/hip_runtime_api.h>
#include <sys/stat.h>

#define FAKE_HANDLE_PER_STREAM true
#include "backend/hip/rocblas.h"
#include "tests/backend/gpu/host_work.h"
#include "tests/backend/hip/fake_lt.h"

/* ---- no GPU ---- */

static const char *missing, *forbidden; /* among the files that device.c tests with access() */

int access(const char *path, int mode)
{
    bool gone = missing && !strcmp(path, missing), locked = forbidden && !strcmp(path, forbidden) && mode != F_OK;
    errno = gone ? ENOENT : EACCES;
    return gone || locked ? -1 : 0;
}

static void refused_with(const char *gone, const char *locked, const char *words)
{
    fake_reset();
    missing = gone, forbidden = locked;
    fake.count = hipErrorNoDevice;
    refused(NULL, words);
    missing = forbidden = NULL;
}

static void says_why_there_is_none(void)
{
    refused_with("/dev/kfd", NULL, "no AMD GPU: there is no /dev/kfd");
    refused_with(NULL, "/dev/kfd", "no AMD GPU: /dev/kfd may not be opened by this user");
    refused_with("/dev/dri", NULL, "no AMD GPU: there is /dev/kfd but no /dev/dri");
    refused_with(NULL, "/dev/dri/renderD128", "no AMD GPU: /dev/dri/renderD128 may not be opened");
    refused_with(NULL, NULL, "no AMD GPU: rocminfo shows what the runtime finds");
}

static void says_what_hides_it(void)
{
    static const char *const names[] = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                        "GPU_DEVICE_ORDINAL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char words[80];
        snprintf(words, sizeof words, "%s is \"7\" here, which may hide them", names[i]);
        setenv(names[i], "7", 1);
        refused_with(NULL, NULL, words);
        unsetenv(names[i]);
    }
}

/* ---- libraries ---- */

static void any_call_may_fail(void) { fail_every_call(160, 80); }

/* hipblasLtCreate would end the program if memory is short, so the backend checks for it first. */
static void knows_that_hipblaslt_needs_memory(void)
{
    struct tt_backend b;
    struct tt_device_info info;
    fake_reset();
    fake.fails = "hipMalloc", fake.fails_from = 2, fake.error = hipErrorOutOfMemory; /* after the workspace */
    tt_status st = tt_backend_open(NULL, &b);
    CHECK(st && st->code == TT_NO_DEVICE && strstr(st->text, "has no memory for"), "%s", st ? st->text : "it opened");
    tt_status_free(st);
    CHECK(fake.live == 0, "%ld things were left", fake.live);
    fake_reset();
    fake.fails = "hipblasLtCreate", fake.fails_from = 1; /* then hipBLAS works alone */
    CHECK_OK(tt_backend_open(NULL, &b));
    CHECK_OK(b.ops->info(b.self, &info));
    CHECK(!strncmp(info.library, "hipBLAS ", 8), "%s", info.library);
    tt_backend_close(&b);
    CHECK(fake.live == 0, "%ld things were left", fake.live);
}

static void without_hipblaslt(void)
{
    setenv("TT_HIPBLASLT", "0", 1);
    streams_that_multiply_share_nothing();
    a_capture_makes_nothing();
    fail_every_call(70, 70);
    unsetenv("TT_HIPBLASLT");
}

/* ---- 8-bit products ---- */

static const struct tt_backend_options in_fp8 = {.precision = TT_PREC_FP8};

static struct tt_gemm eight_bits(const struct work *w, enum tt_dtype a, enum tt_dtype b)
{
    return (struct tt_gemm){.a = w->device[0], .b = w->device[1], .c = w->device[2], .m = 16, .n = 32, .k = 16,
                            .lda = 16, .ldb = 16, .ldc = 32, .batch = 1, .alpha = 1, .trans_b = true, .type_a = a,
                            .type_b = b, .type_c = TT_BF16, .scale_a = w->device[0], .scale_b = w->device[1]};
}

/* hipBLASLt's left factor is our B. The numbers are values of hipDataType. */
static void asks_in_the_format_of(const char *chip, bool fnuz, int e4m3, int e5m2)
{
    struct work w = {0};
    struct tt_device_info info;
    fake_reset();
    fake.chip = chip;
    CHECK_OK(tt_backend_open(&in_fp8, &w.b));
    for (int i = 0; i < 3; i++) CHECK_OK(w.b.ops->alloc(w.b.self, 1024, &w.device[i]));
    CHECK_OK(w.b.ops->info(w.b.self, &info));
    CHECK(info.has[TT_PREC_FP8] && info.fp8_rows && info.fp8_fnuz == fnuz, "%s", chip);
    struct tt_gemm g = eight_bits(&w, fnuz ? TT_E5M2_FNUZ : TT_E5M2, fnuz ? TT_E4M3_FNUZ : TT_E4M3);
    CHECK_OK(w.b.ops->gemm(w.b.self, &g, NULL));
    CHECK(fake_lt.shape.type_left == e4m3 && fake_lt.shape.type_right == e5m2, "%s: %d and %d", chip,
          fake_lt.shape.type_left, fake_lt.shape.type_right);
    CHECK(fake_lt.shape.scaled && fake_lt.shape.transpose_left && !fake_lt.shape.transpose_right, "%s", chip);
    CHECK(fake_lt.call.left == g.b && fake_lt.call.scale_left == g.scale_b && fake_lt.call.right == g.a &&
              fake_lt.call.scale_right == g.scale_a, "%s: scales", chip);
    CHECK(!fake_lt.shape.row_scales, "%s: scales of rows", chip);
    g = eight_bits(&w, fnuz ? TT_E4M3_FNUZ : TT_E4M3, fnuz ? TT_E4M3_FNUZ : TT_E4M3);
    g.row_scales = true;
    CHECK_OK(w.b.ops->gemm(w.b.self, &g, NULL));
    CHECK(fake_lt.shape.row_scales && fake_lt.call.scale_left == g.scale_b && fake_lt.call.scale_right == g.scale_a,
          "%s: scales of rows", chip);
    g = eight_bits(&w, fnuz ? TT_E4M3 : TT_E4M3_FNUZ, fnuz ? TT_E4M3 : TT_E4M3_FNUZ);
    tt_status st = w.b.ops->gemm(w.b.self, &g, NULL);
    CHECK(st && st->code == TT_UNSUPPORTED, "%s takes the numbers of other chips", chip);
    tt_status_free(st);
    give_back(&w);
    CHECK(fake.live == 0, "%ld things were left", fake.live);
}

static void refused_in_fp8(const char *chip, const char *words)
{
    struct tt_backend b;
    fake.chip = chip;
    tt_status st = tt_backend_open(&in_fp8, &b);
    CHECK(st && st->code == TT_USAGE && strstr(st->text, words) && one_line(st->text), "%s: wanted \"%s\", got %s",
          chip, words, st ? st->text : "nothing");
    tt_status_free(st);
    if (b.ops) tt_backend_close(&b);
    CHECK(fake.live == 0, "%ld things were left", fake.live);
}

static void has_fp8_without_rows(const char *chip)
{
    struct work w = {0};
    struct tt_device_info info;
    fake.chip = chip;
    CHECK_OK(tt_backend_open(&in_fp8, &w.b));
    for (int i = 0; i < 3; i++) CHECK_OK(w.b.ops->alloc(w.b.self, 1024, &w.device[i]));
    CHECK_OK(w.b.ops->info(w.b.self, &info));
    CHECK(info.has[TT_PREC_FP8] && !info.fp8_rows, "%s", chip);
    struct tt_gemm g = eight_bits(&w, TT_E4M3, TT_E4M3);
    g.row_scales = true;
    tt_status st = w.b.ops->gemm(w.b.self, &g, NULL);
    CHECK(st && st->code == TT_UNSUPPORTED, "%s multiplies by rows", chip);
    tt_status_free(st);
    give_back(&w);
}

static void multiplies_eight_bits(void)
{
    asks_in_the_format_of("gfx942", true, 1000, 1001);
    asks_in_the_format_of("gfx950", false, 28, 29);
    asks_in_the_format_of("gfx1201", false, 28, 29);
    fake_reset();
    refused_in_fp8("gfx90a", "has no fp8, which needs gfx942, gfx950 or gfx12; use --precision bf16");
    refused_in_fp8("gfx1100", "use --precision bf16");
    refused_in_fp8("gfx1030", "use --precision fp16");
    setenv("TT_HIPBLASLT", "0", 1); /* rocBLAS has no 8-bit products */
    refused_in_fp8("gfx942", "no hipBLASLt with 8-bit products for it; use --precision bf16");
    unsetenv("TT_HIPBLASLT");
    fake_lt.no_rows = true;
    has_fp8_without_rows("gfx950");
    fake_lt.no_rows = false;
    fake_lt.no_fp8 = true;
    refused_in_fp8("gfx1201", "no hipBLASLt with 8-bit products for it; use --precision bf16");
    struct work w = {0}; /* other precisions still work */
    struct tt_device_info info;
    CHECK_OK(do_all(&w, NULL));
    CHECK_OK(w.b.ops->info(w.b.self, &info));
    CHECK(!info.has[TT_PREC_FP8] && info.has[TT_PREC_BF16]);
    give_back(&w);
    fake_lt.no_fp8 = false;
}

/* ---- rocBLAS's kernel files ---- */

static void touch(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL, "%s", path);
    if (f) fclose(f);
}

static void removed(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(remove(path) == 0, "%s", path);
}

static void knows_which_chips_rocblas_has(void)
{
    char folder[] = "/tmp/tt-test-rocblas-XXXXXX", sub[64];
    struct rocblas_files files;
    CHECK(mkdtemp(folder) != NULL);
    setenv("ROCBLAS_TENSILE_LIBPATH", folder, 1);
    CHECK(tt_rocblas_has("gfx906", &files)); /* an empty folder rules nothing out */
    touch(folder, "TensileLibrary_lazy_gfx90a.dat");
    touch(folder, "TensileLibrary_gfx1030.dat");
    touch(folder, "TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx1100.co");
    CHECK(tt_rocblas_has("gfx90a", &files) && tt_rocblas_has("gfx1030", &files));
    CHECK(!tt_rocblas_has("gfx906", &files) && !tt_rocblas_has("gfx1031", &files) &&
          !tt_rocblas_has("gfx1100", &files));
    CHECK(!strcmp(files.folder, folder) && !strcmp(files.chips, "gfx1030 gfx90a"), "%s: %s", files.folder, files.chips);
    snprintf(sub, sizeof sub, "%s/gfx942-xnack+", folder); /* a folder for one chip */
    CHECK(mkdir(sub, 0700) == 0);
    CHECK(tt_rocblas_has("gfx942", &files) && !tt_rocblas_has("gfx94", &files) && !tt_rocblas_has("gfx9420", &files));
    touch(folder, "TensileLibrary.dat"); /* for any chip */
    CHECK(tt_rocblas_has("gfx906", &files));
    removed(folder, "TensileLibrary.dat");
    touch(folder, "TensileLibrary_lazy_gfx11-generic.dat"); /* for a family of chips */
    CHECK(tt_rocblas_has("gfx1103", &files));
    for (int i = 0; i < 40; i++) { /* more than fit the line */
        char name[64];
        snprintf(name, sizeof name, "TensileLibrary_lazy_gfx20%02d.dat", i);
        touch(folder, name);
    }
    removed(folder, "TensileLibrary_lazy_gfx11-generic.dat");
    CHECK(tt_rocblas_has("gfx2039", &files) && tt_rocblas_has("gfx90a", &files) && !tt_rocblas_has("gfx906", &files));
    unsetenv("ROCBLAS_TENSILE_LIBPATH");
    setenv("ROCBLAS_TENSILE_LIBPATH", "/nowhere", 1);
    CHECK(tt_rocblas_has("gfx906", &files)); /* a missing folder is left to rocBLAS to report */
    unsetenv("ROCBLAS_TENSILE_LIBPATH");
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* The library is $ROCBLAS_LIBRARY, with the files of two chips in a folder laid out as Debian does. */
static void finds_rocblas_beside_its_library(void)
{
    const char *library = getenv("ROCBLAS_LIBRARY");
    struct rocblas_files files;
    CHECK(tt_rocblas_has("gfx906", &files) && !files.folder[0], "%s", files.folder); /* not loaded yet */
    CHECK(library && dlopen(library, RTLD_NOW), "%s", library ? library : "ROCBLAS_LIBRARY is not set");
    CHECK(tt_rocblas_has("gfx90a", &files) && !tt_rocblas_has("gfx906", &files));
    CHECK(strstr(files.folder, "/rocblas/5.1.0/library"), "%s", files.folder);
    fake_reset();
    fake.chip = "gfx906"; /* with hipBLASLt, hipBLAS is not needed */
    struct work w = {0};
    CHECK_OK(do_all(&w, &(struct tt_backend_options){.gemm_tune = TT_TUNE_FULL}));
    give_back(&w);
    CHECK(fake.live == 0);
    fake_reset();
    fake.chip = "gfx906";
    setenv("TT_HIPBLASLT", "0", 1);
    refused(NULL, "rocBLAS has no kernels for Fake GPU 0, which is gfx906, in ");
    refused(NULL, "(it has gfx1030 gfx90a)");
    fake.chip = "gfx90a";
    CHECK_OK(tt_backend_open(NULL, &w.b));
    tt_backend_close(&w.b);
    unsetenv("TT_HIPBLASLT");
}

/* A launch would crash with HIP 7.2, so opening refuses. */
static void has_no_code_for_the_chip(void)
{
    fake_reset();
    fake.fails = "code", fake.fails_from = 1, fake.error = hipErrorInvalidKernelFile;
    refused(NULL, "tt was built for ");
}

static void no_monitor(void)
{
    goes_on_without_a_monitor((const char *const[]){"rsmi_init", "rsmi_num_monitor_devices",
                                                    "rsmi_dev_busy_percent_get", NULL});
    counts_other_programs("rsmi_compute_process_info_get");
}

int main(void)
{
    TEST(says_why_there_is_none);
    TEST(says_what_hides_it);
    TEST(works_when_nothing_fails);
    TEST(any_call_may_fail);
    TEST(says_how_busy_it_is);
    TEST(has_no_code_for_the_chip);
    TEST(no_monitor);
    TEST(leaves_the_other_gpus_alone);
    TEST(collectives_are_in_place);
    TEST(collectives_know_their_part);
    TEST(joins_nobody_without_an_id);
    TEST(says_that_two_ranks_share_a_gpu);
    TEST(streams_that_multiply_share_nothing);
    TEST(a_capture_makes_nothing);
    TEST(two_new_streams_in_a_capture_are_refused);
    TEST(knows_that_hipblaslt_needs_memory);
    TEST(without_hipblaslt);
    TEST(multiplies_eight_bits);
    TEST(knows_which_chips_rocblas_has);
    TEST(finds_rocblas_beside_its_library);
    return test_end();
}
