/* Checkpoints of a model with three tensors, for tests that save, inspect and damage them. */
#ifndef TT_CHECKPOINT_FIXTURE_H
#define TT_CHECKPOINT_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/checkpoint/checkpoint.h"
#include "tests/test.h"

enum { TOTAL = 192 };

static char root[] = "/tmp/tt-test-checkpoint-XXXXXX";
static struct tt_tokenizer *tokenizer;

static struct tt_param items[] = {{.name = "embedding.weight", .shape = {5, 4}, .offset = 0, .count = 20},
                                  {.name = "layers.0.attention.wq.weight", .shape = {4, 4}, .offset = 64, .count = 16},
                                  {.name = "norm.weight", .shape = {4, 0}, .offset = 128, .count = 4}};
static const struct tt_params params = {.items = items, .n = 3, .total = TOTAL, .decay_end = 128};

struct arenas {
    float w[TOTAL], m[TOTAL], v[TOTAL];
};

/* Any bits, NaNs included, in the tensors; 0 between them. */
static inline void fill(struct arenas *a, uint64_t seed)
{
    memset(a, 0, sizeof *a);
    for (int p = 0; p < params.n; p++) {
        for (int64_t i = items[p].offset; i < items[p].offset + items[p].count; i++) {
            uint32_t bits[3] = {(uint32_t)tt_random(seed, 1, (uint64_t)i), (uint32_t)tt_random(seed, 2, (uint64_t)i),
                                (uint32_t)tt_random(seed, 3, (uint64_t)i)};
            memcpy(&a->w[i], &bits[0], 4);
            memcpy(&a->m[i], &bits[1], 4);
            memcpy(&a->v[i], &bits[2], 4);
        }
    }
}

static inline struct tt_checkpoint checkpoint_of(struct arenas *a, int64_t step)
{
    struct tt_checkpoint c = {.config = "model:\n  hidden_dim: 4\n", .tokenizer = tokenizer, .params = &params};
    c.progress =
        (struct tt_progress){.step = step, .position = (uint64_t)step * 8, .best_val = INFINITY, .loss_scale = 1};
    c.w = a->w;
    c.m = a->m;
    c.v = a->v;
    return c;
}

static inline tt_status save(const char *dir, int64_t step, uint64_t seed, int64_t keep)
{
    struct arenas a;
    fill(&a, seed);
    struct tt_checkpoint c = checkpoint_of(&a, step);
    return tt_checkpoint_save(dir, &c, keep);
}

/* ---- inspecting folders ---- */

static char buffer[6][400];

static inline const char *at(int n, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline const char *at(int n, const char *format, ...)
{
    int used = snprintf(buffer[n], sizeof buffer[n], "%s/", root);
    va_list ap;
    va_start(ap, format);
    vsnprintf(buffer[n] + used, sizeof buffer[n] - (size_t)used, format, ap);
    va_end(ap);
    return buffer[n];
}

static inline int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

struct warnings {
    int n;
    char last[1500];
};

static inline void count_warning(const char *line, void *arg)
{
    struct warnings *w = arg;
    w->n++;
    snprintf(w->last, sizeof w->last, "%s", line);
}

/* The step of the checkpoint that tt_checkpoint_find returns; -1: none, -2: an error. */
static inline int64_t found(const char *dir, struct warnings *w)
{
    *w = (struct warnings){0};
    char *path;
    tt_status st = tt_checkpoint_find(dir, count_warning, w, &path);
    int64_t step = st ? -2 : -1;
    if (path) {
        CHECK(!st && tt_is_dir(path));
        step = atoll(strstr(path, "/step-") + 6);
    }
    tt_status_free(st);
    free(path);
    return step;
}

static inline tt_status load(const char *path, struct arenas *a, struct tt_progress *progress)
{
    struct tt_checkpoint c = {.params = &params, .w = a->w, .m = a->m, .v = a->v};
    tt_status st = tt_checkpoint_load(path, &c);
    if (st) return st;
    if (progress) *progress = c.progress;
    free((char *)c.config);
    return TT_OK;
}

/* Whether the checkpoint at `path` holds what fill() makes of `seed`. */
static inline bool holds(const char *path, uint64_t seed)
{
    struct arenas a, wanted;
    memset(&a, 0xff, sizeof a);
    fill(&wanted, seed);
    tt_status st = load(path, &a, NULL);
    bool same = !st && !memcmp(&a, &wanted, sizeof a);
    tt_status_free(st);
    return same;
}

static inline char *slurp(const char *path, size_t *n)
{
    char *data;
    CHECK_OK(tt_file_read(path, 1 << 20, &data, n));
    return data;
}

/* Overwrites without truncating first: after a truncation some file systems write to disk at once, and this is called
 * often. */
static inline void spit(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    CHECK(fd >= 0 && pwrite(fd, data, n, 0) == (ssize_t)n && !ftruncate(fd, (off_t)n));
    if (fd >= 0) close(fd);
}

static const char *const files[] = {"model.safetensors", "state.safetensors", "tokenizer.json", "checkpoint.json"};

static inline bool begin_checkpoints(void) { return mkdtemp(root) && !tt_tokenizer_bytes(&tokenizer); }

static inline int end_checkpoints(void)
{
    tt_tokenizer_free(tokenizer);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}

#endif
