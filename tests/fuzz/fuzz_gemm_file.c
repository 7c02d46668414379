/* The file that stores a GPU's timed matrix products. Each line has a checksum, so the input is also tried with correct
 * ones. The reader is compiled in here with an empty header in place of the vendor's (fake/). */
#include "backend/gpu/gemm_file.c"
#include "tests/fuzz/fuzz.h"

static const char device[] = "NVIDIA H200, 132 units, cuBLASLt 130100";

static void try_it(const void *data, size_t n)
{
    struct gemm_file f;
    struct gemm_algorithm found;
    tt_gemm_file_open(&f, fuzz_file(data, n), device);
    for (size_t i = 0; i < f.count; i++) PROMISE(tt_gemm_file_find(&f, f.choices[i].shape, &found));
    tt_gemm_file_close(&f);
}

/* Each line with its device, followed by its checksum. */
static void try_sealed(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n), *rest = text, *line, *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    PROMISE(out);
    while ((line = strsep(&rest, "\n"))) {
        char with[900];
        int length = snprintf(with, sizeof with, "%s|%s", device, line);
        if (length > 0 && (size_t)length < sizeof with)
            fprintf(out, "%s|%016llx\n", with, (unsigned long long)checksum(with, (size_t)length));
    }
    fclose(out);
    try_it(all, size);
    free(all);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    try_it(data, n);
    try_sealed(data, n);
    return 0;
}
