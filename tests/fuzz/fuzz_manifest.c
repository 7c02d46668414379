/* checkpoint.json. Its own checksum would reject every change, so the input is also tried with a correct one. */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/crc32.h"
#include "core/checkpoint/manifest.h"
#include "tests/fuzz/fuzz.h"

static char folder[64] = "";

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "%s/tt-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    PROMISE(mkdtemp(folder));
}

static void remove_folder(void)
{
    char path[100];
    snprintf(path, sizeof path, "%s/checkpoint.json", folder);
    unlink(path);
    rmdir(folder);
}

static void try_it(const void *data, size_t n)
{
    char path[100];
    snprintf(path, sizeof path, "%s/checkpoint.json", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    PROMISE(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    close(fd);
    struct tt_manifest m;
    struct tt_progress progress;
    char *config;
    if (fuzz_refused(tt_manifest_read(folder, &m))) return;
    for (int i = 0; i < m.n; i++) PROMISE(!strchr(m.files[i].name, '/') && strcmp(m.files[i].name, ".."));
    fuzz_refused(tt_manifest_check_sizes(folder, &m));
    tt_manifest_free(&m);
    PROMISE(!fuzz_refused(tt_checkpoint_peek(folder, &progress, &config)));
    PROMISE(progress.step >= 0);
    free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!folder[0]) {
        make_folder();
        atexit(remove_folder);
    }
    try_it(data, n);
    char *sealed = malloc(n + 40);
    PROMISE(sealed);
    memcpy(sealed, data, n);
    int tail = snprintf(sealed + n, 40, ",\n  \"crc32\": \"%08x\"\n}\n", tt_crc32(0, data, n));
    try_it(sealed, n + (size_t)tail);
    free(sealed);
    return 0;
}
