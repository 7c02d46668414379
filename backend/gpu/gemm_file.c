/* Timed choices in a text file, one line per GPU, library version and shape:
 *
 *     NVIDIA H200, 132 units, cuBLASLt 13.1.0|4096x4096x4096 bf16->bf16 nt ...|<the algorithm in hex>|<checksum>
 *
 * Damaged lines, and lines of another GPU or library version, are ignored. If the file cannot be read or written,
 * shapes are tuned again, so nothing here is an error. Where several processes time a shape at once, the choice that
 * was saved first stays, so that runs repeat their results for as long as the file lasts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/gpu/gemm.h"
#include "core/base/folder_lock.h"
#include "core/base/grow.h"

enum { LINE = 1024, MOST_LINES = 1 << 16, HEX = 2 * sizeof(struct gemm_algorithm) };

/* ---- one line ---- */

static uint64_t checksum(const char *text, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool from_hex(const char *hex, struct gemm_algorithm *out)
{
    unsigned char bytes[sizeof *out];
    for (size_t i = 0; i < sizeof bytes; i++) {
        int high = digit(hex[2 * i]), low = high < 0 ? -1 : digit(hex[2 * i + 1]);
        if (low < 0) return false;
        bytes[i] = (unsigned char)(16 * high + low);
    }
    memcpy(out, bytes, sizeof bytes);
    return hex[HEX] == 0;
}

/* Splits the line into device, shape and algorithm; false if it is damaged. */
static bool parse(char *line, char **shape, struct gemm_algorithm *algorithm)
{
    char *end = strchr(line, '\n'), *sum = strrchr(line, '|');
    if (!end || !sum || end[1]) return false;
    *end = 0;
    char want[24];
    snprintf(want, sizeof want, "%016llx", (unsigned long long)checksum(line, (size_t)(sum - line)));
    if (strcmp(sum + 1, want)) return false;
    *sum = 0;
    *shape = strchr(line, '|');
    char *hex = *shape ? strchr(*shape + 1, '|') : NULL;
    if (!hex) return false;
    *(*shape)++ = 0;
    *hex++ = 0;
    return from_hex(hex, algorithm);
}

static void print(FILE *out, const char *device, const char *shape, const struct gemm_algorithm *algorithm)
{
    unsigned char bytes[sizeof *algorithm];
    char line[LINE];
    memcpy(bytes, algorithm, sizeof bytes);
    int n = snprintf(line, sizeof line, "%s|%s|", device, shape);
    if (n < 0 || n + (int)HEX + 20 > LINE) return;
    for (size_t i = 0; i < sizeof bytes; i++) n += snprintf(line + n, sizeof line - (size_t)n, "%02x", bytes[i]);
    fprintf(out, "%s|%016llx\n", line, (unsigned long long)checksum(line, (size_t)n));
}

/* ---- the list ---- */

static struct gemm_choice *lookup(const struct gemm_file *f, const char *shape)
{
    for (size_t i = 0; i < f->count; i++)
        if (!strcmp(f->choices[i].shape, shape)) return &f->choices[i];
    return NULL;
}

bool tt_gemm_file_find(const struct gemm_file *f, const char *shape, struct gemm_algorithm *out)
{
    const struct gemm_choice *c = lookup(f, shape);
    if (c) *out = c->algorithm;
    return c != NULL;
}

static void put(struct gemm_file *f, const char *shape, const struct gemm_algorithm *algorithm)
{
    struct gemm_choice *c = lookup(f, shape);
    if (!c) {
        if (!tt_grow(&f->choices, sizeof *f->choices, f->count, &f->room)) return;
        char *copy = strdup(shape);
        if (!copy) return;
        c = &f->choices[f->count++];
        *c = (struct gemm_choice){.shape = copy};
    }
    c->algorithm = *algorithm;
}

void tt_gemm_file_add(struct gemm_file *f, const char *shape, const struct gemm_algorithm *algorithm)
{
    struct gemm_choice *had = lookup(f, shape);
    if (!f->path) return;
    if (had) had->replaces = true;
    put(f, shape, algorithm);
    f->changed = true;
}

/* ---- the file ---- */

void tt_gemm_file_open(struct gemm_file *f, const char *path, const char *device)
{
    *f = (struct gemm_file){.path = path && *path ? strdup(path) : NULL};
    snprintf(f->device, sizeof f->device, "%s", device);
    FILE *in = f->path ? fopen(f->path, "r") : NULL;
    char line[LINE], *shape;
    struct gemm_algorithm algorithm;
    for (int i = 0; in && i < MOST_LINES && fgets(line, sizeof line, in); i++)
        if (parse(line, &shape, &algorithm) && !strcmp(line, f->device)) put(f, shape, &algorithm);
    if (in) fclose(in);
}

void tt_gemm_file_close(struct gemm_file *f)
{
    for (size_t i = 0; i < f->count; i++) free(f->choices[i].shape);
    free(f->choices);
    free(f->path);
    *f = (struct gemm_file){0};
}

/* Copies the lines of other GPUs. Adopts what other processes have chosen since, unless this one replaces that choice,
 * because the library no longer takes it. */
static void take_others(struct gemm_file *f, FILE *out)
{
    FILE *in = fopen(f->path, "r");
    char line[LINE], *shape;
    struct gemm_algorithm algorithm;
    for (int i = 0; in && i < MOST_LINES && fgets(line, sizeof line, in); i++) {
        if (!parse(line, &shape, &algorithm)) continue;
        struct gemm_choice *mine = strcmp(line, f->device) ? NULL : lookup(f, shape);
        if (!mine)
            print(out, line, shape, &algorithm);
        else if (!mine->replaces)
            mine->algorithm = algorithm;
    }
    if (in) fclose(in);
}

/* Writes a temporary file and renames it, so that a reader sees the old file or the complete new one. */
static void replace(struct gemm_file *f)
{
    char beside[4096];
    int n = snprintf(beside, sizeof beside, "%s.%ld.tmp", f->path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof beside) return;
    FILE *out = fopen(beside, "w");
    if (!out) return;
    take_others(f, out);
    for (size_t i = 0; i < f->count; i++) print(out, f->device, f->choices[i].shape, &f->choices[i].algorithm);
    bool bad = ferror(out);
    if (fclose(out) || bad || rename(beside, f->path)) unlink(beside);
}

void tt_gemm_file_save(struct gemm_file *f)
{
    if (!f->path || !f->changed) return;
    f->changed = false;
    int lock;
    tt_status_free(tt_parent_lock(f->path, TT_LOCK_WAIT, &lock)); /* if it fails, another's lines may be lost */
    replace(f);
    tt_folder_unlock(&lock);
}
