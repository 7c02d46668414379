/* The file of timed GEMM algorithms, which processes share while they time. Includes the source file itself and
 * compiles it against an empty header in place of the vendor's (tests/fuzz/fake). */
#include "backend/gpu/gemm_file.c"
#undef CHECK /* the runtime's */

#include <sys/wait.h>

#include "tests/test.h"

static const char here[] = "NVIDIA H200, 132 units, cuBLASLt 13.1.0";
static const char elsewhere[] = "AMD Instinct MI300X, 304 units, hipBLASLt 1.0";
static char folder[] = "/tmp/tt-gemm-file-XXXXXX", path[64];

static struct gemm_algorithm algorithm(int which)
{
    return (struct gemm_algorithm){.bytes = {(unsigned char)which, (unsigned char)(which >> 8)}};
}

static struct gemm_file opened(const char *device)
{
    struct gemm_file f;
    tt_gemm_file_open(&f, path, device);
    return f;
}

static void choose(struct gemm_file *f, const char *shape, int which)
{
    struct gemm_algorithm a = algorithm(which);
    tt_gemm_file_add(f, shape, &a);
    tt_gemm_file_save(f);
}

/* What a new process would use; -1: it would time the shape itself. */
static int kept(const char *device, const char *shape)
{
    struct gemm_file f = opened(device);
    struct gemm_algorithm a;
    int which = tt_gemm_file_find(&f, shape, &a) ? a.bytes[0] + (a.bytes[1] << 8) : -1;
    tt_gemm_file_close(&f);
    return which;
}

static void the_first_choice_stays(void)
{
    struct gemm_file one = opened(here), other = opened(here), third = opened(elsewhere);
    choose(&one, "96x80x64", 1);
    choose(&other, "96x80x64", 2);
    choose(&third, "96x80x64", 3);
    choose(&one, "8x8x8", 4);
    CHECK(kept(here, "96x80x64") == 1, "%d", kept(here, "96x80x64"));
    CHECK(kept(elsewhere, "96x80x64") == 3, "%d", kept(elsewhere, "96x80x64"));
    CHECK(kept(here, "8x8x8") == 4, "%d", kept(here, "8x8x8"));
    tt_gemm_file_close(&one);
    tt_gemm_file_close(&other);
    tt_gemm_file_close(&third);
}

static void what_the_library_refuses_is_replaced(void)
{
    struct gemm_file late = opened(here), f = opened(here);
    CHECK(kept(here, "96x80x64") == 1);
    choose(&f, "96x80x64", 5);
    CHECK(kept(here, "96x80x64") == 5, "%d", kept(here, "96x80x64"));
    choose(&late, "7x7x7", 6);
    CHECK(kept(here, "96x80x64") == 5, "%d: one that only read the old choice brought it back",
          kept(here, "96x80x64"));
    tt_gemm_file_close(&f);
    tt_gemm_file_close(&late);
}

static void damaged_lines_go(void)
{
    FILE *out = fopen(path, "a");
    CHECK(out);
    fprintf(out, "%s|5x5x5|00|0123456789abcdef\n%s|6x6x6", here, here);
    fclose(out);
    struct gemm_file f = opened(here);
    choose(&f, "4x4x4", 7);
    tt_gemm_file_close(&f);
    CHECK(kept(here, "4x4x4") == 7 && kept(here, "5x5x5") == -1 && kept(here, "6x6x6") == -1);
    CHECK(kept(here, "8x8x8") == 4 && kept(elsewhere, "96x80x64") == 3);
}

enum { PROCESSES = 6, SHAPES = 25 };

static void no_line_is_lost(void)
{
    char shape[64];
    for (int p = 0; p < PROCESSES; p++) {
        if (fork()) continue;
        struct gemm_file f = opened(here);
        for (int i = 0; i < SHAPES; i++) {
            snprintf(shape, sizeof shape, "%dx%dx1", p + 1, i + 1);
            choose(&f, shape, 100 * p + i);
        }
        _exit(0);
    }
    for (int p = 0, status; p < PROCESSES; p++) CHECK(wait(&status) > 0 && status == 0);
    for (int p = 0; p < PROCESSES; p++)
        for (int i = 0; i < SHAPES; i++) {
            snprintf(shape, sizeof shape, "%dx%dx1", p + 1, i + 1);
            CHECK(kept(here, shape) == 100 * p + i, "%s: %d", shape, kept(here, shape));
        }
    CHECK(kept(here, "4x4x4") == 7 && kept(elsewhere, "96x80x64") == 3);
}

int main(void)
{
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gemm.txt", folder);
    TEST(the_first_choice_stays);
    TEST(what_the_library_refuses_is_replaced);
    TEST(damaged_lines_go);
    TEST(no_line_is_lost);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0, "something is left in %s", folder);
    return test_end();
}
