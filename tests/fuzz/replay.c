/* Runs a fuzz target without libFuzzer on each file of a corpus: unchanged, cut at every length, and with bytes changed
 * by a seeded sequence. This way every compiler and sanitizer tests the targets; only libFuzzer searches for new
 * inputs.
 *
 *     fuzz_json tests/fuzz/corpus/json [SECONDS] */
#include <dirent.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/fuzz/fuzz.h"

enum { LARGEST = 1 << 16 };

/* For AddressSanitizer: no input is larger than a corpus file, so no allocation needs to be large. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "max_allocation_size_mb=1:allocator_may_return_null=0"; }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In an allocation of exactly this size, so that sanitizers see reads past the end. */
static void try_it(const char *data, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1);
    PROMISE(exact);
    memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

static void change(char *data, size_t n, uint64_t seed)
{
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '[', ':', ',', '\n', '-', '9', 'e', '|'};
    for (uint64_t i = 0; i < 1 + seed % 4 && n; i++) {
        uint64_t r = tt_random(seed, 1, i);
        size_t at = (size_t)(r >> 32) % n;
        if (r & 1)
            data[at] = (char)telling[(r >> 8) % sizeof telling];
        else
            data[at] ^= (char)(1 << (r >> 8) % 8);
    }
}

static long long replay(const char *path, double until, uint64_t seed)
{
    char *text, *copy;
    size_t n;
    long long runs = 1;
    tt_status st = tt_file_read(path, LARGEST, &text, &n);
    if (st) fprintf(stderr, "%s\n", st->text);
    PROMISE(!st);
    copy = malloc(n + 1);
    PROMISE(copy);
    try_it(text, n);
    for (size_t k = 0; k < n && now() < until; k++, runs++) try_it(text, k);
    for (uint64_t i = 0; i < 100000 && now() < until; i++, runs++) {
        memcpy(copy, text, n);
        change(copy, n, tt_random(seed, 2, i));
        try_it(copy, n);
    }
    free(copy);
    free(text);
    return runs;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    struct dirent **files;
    int n = scandir(argv[1], &files, NULL, alphasort), used = 0;
    double each = (argc > 2 ? atof(argv[2]) : 1) / (n > 2 ? n - 2 : 1);
    long long runs = 0;
    for (int i = 0; i < n; i++) {
        char path[2000];
        snprintf(path, sizeof path, "%s/%s", argv[1], files[i]->d_name);
        if (files[i]->d_name[0] != '.') runs += replay(path, now() + each, (uint64_t)++used);
        free(files[i]);
    }
    if (n >= 0) free(files);
    printf("%d files, %lld inputs\n", used, runs);
    return used ? 0 : 1;
}
