/* Shared by the fuzz targets. Each is a file fuzz_<name>.c with one LLVMFuzzerTestOneInput, and a folder corpus/<name>.
 * A target does more than parse: accepted input is used, and if it can be written back, reading that must give the
 * same. */
#ifndef TT_FUZZ_H
#define TT_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Stops if a promise is broken, so that the fuzzer keeps the input. */
#define PROMISE(cond)                                                                                                  \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Checks that an error message is one line. Returns whether there was an error. */
static inline bool fuzz_refused(tt_status st)
{
    if (!st) return false;
    PROMISE(st->text[0] && !strchr(st->text, '\n'));
    tt_status_free(st);
    return true;
}

/* The bytes as a regular file, always with the same path. */
static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        PROMISE(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    PROMISE(!ftruncate(fd, 0) && pwrite(fd, data, n, 0) == (ssize_t)n);
    return path;
}

/* The bytes as a 0-terminated text. */
static inline char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    PROMISE(text);
    memcpy(text, data, n);
    text[n] = 0;
    return text;
}

#endif
