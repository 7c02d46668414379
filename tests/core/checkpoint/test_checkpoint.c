/* core/checkpoint: what was saved comes back to the bit, damage of any kind is seen, and neither a full disk nor a kill
 * at any moment costs the last good checkpoint. */
#include "core/checkpoint/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/crc32.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/checkpoint/safetensors.h"
#include "tests/test.h"

enum { TOTAL = 192 };

static char root[] = "/tmp/tt-test-checkpoint-XXXXXX";
static struct tt_tokenizer *tokenizer;

static struct tt_param items[] = {{"embedding.weight", {5, 4}, 0, 20},
                                  {"layers.0.attention.wq.weight", {4, 4}, 64, 16},
                                  {"norm.weight", {4, 0}, 128, 4}};
static const struct tt_params params = {items, 3, TOTAL, 128};

struct arenas {
    float w[TOTAL], m[TOTAL], v[TOTAL];
};

/* Any bits, NaNs included, where there are tensors; 0 between them. */
static void fill(struct arenas *a, uint64_t seed)
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

static struct tt_checkpoint checkpoint_of(struct arenas *a, int64_t step)
{
    struct tt_checkpoint c = {.config = "model:\n  hidden_dim: 4\n", .tokenizer = tokenizer, .params = &params};
    c.progress =
        (struct tt_progress){.step = step, .position = (uint64_t)step * 8, .best_val = INFINITY, .loss_scale = 1};
    c.w = a->w;
    c.m = a->m;
    c.v = a->v;
    return c;
}

static tt_status save(const char *dir, int64_t step, uint64_t seed, int64_t keep)
{
    struct arenas a;
    fill(&a, seed);
    struct tt_checkpoint c = checkpoint_of(&a, step);
    return tt_checkpoint_save(dir, &c, keep);
}

/* ---- looking at folders ---- */

static char buffer[6][400];

static const char *at(int n, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *at(int n, const char *format, ...)
{
    int used = snprintf(buffer[n], sizeof buffer[n], "%s/", root);
    va_list ap;
    va_start(ap, format);
    vsnprintf(buffer[n] + used, sizeof buffer[n] - (size_t)used, format, ap);
    va_end(ap);
    return buffer[n];
}

static int entries(const char *dir)
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

static void count_warning(const char *line, void *arg)
{
    struct warnings *w = arg;
    w->n++;
    snprintf(w->last, sizeof w->last, "%s", line);
}

/* The step that find() finds: -1 for none, -2 for an error. */
static int64_t found(const char *dir, struct warnings *w)
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

static tt_status load(const char *path, struct arenas *a, struct tt_progress *progress)
{
    struct tt_checkpoint c = {.params = &params, .w = a->w, .m = a->m, .v = a->v};
    tt_status st = tt_checkpoint_load(path, &c);
    if (st) return st;
    if (progress) *progress = c.progress;
    free((char *)c.config);
    return TT_OK;
}

/* Does the checkpoint at path hold what `seed` fills? */
static bool holds(const char *path, uint64_t seed)
{
    struct arenas a, wanted;
    memset(&a, 0xff, sizeof a);
    fill(&wanted, seed);
    tt_status st = load(path, &a, NULL);
    bool same = !st && !memcmp(&a, &wanted, sizeof a);
    tt_status_free(st);
    return same;
}

static char *slurp(const char *path, size_t *n)
{
    char *data;
    CHECK_OK(tt_file_read(path, 1 << 20, &data, n));
    return data;
}

/* Not by way of an empty file: some file systems then write to the disk at once, and this is called often. */
static void spit(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    CHECK(fd >= 0 && pwrite(fd, data, n, 0) == (ssize_t)n && !ftruncate(fd, (off_t)n));
    if (fd >= 0) close(fd);
}

static const char *const files[] = {"model.safetensors", "state.safetensors", "tokenizer.json", "checkpoint.json"};

/* ---- saving and loading ---- */

static bool same_progress(const struct tt_progress *a, const struct tt_progress *b)
{
    return a->step == b->step && a->skipped == b->skipped && a->position == b->position && a->seed == b->seed &&
           a->best_val == b->best_val && a->best_step == b->best_step && a->bad_vals == b->bad_vals &&
           a->loss_scale == b->loss_scale && a->good_steps == b->good_steps &&
           a->data_mark == b->data_mark;
}

static void round_trips(void)
{
    struct arenas a, b;
    fill(&a, 1);
    struct tt_checkpoint c = checkpoint_of(&a, 0);
    static const struct tt_progress cases[] = {
        {.step = 7,
         .skipped = 2,
         .position = 56,
         .seed = 42,
         .best_val = 0.1,
         .best_step = 5,
         .bad_vals = 1,
         .loss_scale = 65536,
         .good_steps = 3},
        {.step = 123456789012,
         .skipped = 123456789012,
         .position = UINT64_MAX,
         .seed = 0x8000000000000001,
         .best_val = INFINITY,
         .best_step = -1,
         .bad_vals = INT64_MIN,
         .loss_scale = 0.1f,
         .good_steps = 9007199254740993,
         .data_mark = UINT64_MAX},
        {.best_val = 5e-324, .loss_scale = 3.4028235e38f},
        {.step = 99999999, .best_val = 2.718281828459045, .loss_scale = 1e-45f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c.progress = cases[i];
        c.config = "a: \"\\n\t\xc3\xa9\"\nb: [1, 2]\n";
        CHECK_OK(tt_checkpoint_save(at(0, "round"), &c, 0));
        const char *path = at(1, "round/step-%08lld", (long long)cases[i].step);
        memset(&b, 0xff, sizeof b);
        struct tt_checkpoint d = {.params = &params, .w = b.w, .m = b.m, .v = b.v};
        CHECK_OK(tt_checkpoint_load(path, &d));
        CHECK(!memcmp(&a, &b, sizeof a), "case %zu", i);
        CHECK(same_progress(&d.progress, &cases[i]), "case %zu", i);
        CHECK(!strcmp(d.config, c.config));
        free((char *)d.config);

        struct tt_progress p;
        char *config;
        CHECK_OK(tt_checkpoint_peek(path, &p, &config));
        CHECK(same_progress(&p, &cases[i]) && !strcmp(config, c.config));
        free(config);
    }
}

static void loads_weights_only(void)
{
    struct arenas a, b;
    fill(&a, 2);
    fill(&b, 3);
    CHECK_OK(save(at(0, "weights"), 1, 2, 0));
    struct tt_checkpoint c = {.params = &params, .w = b.w};
    CHECK_OK(tt_checkpoint_load(at(1, "weights/step-00000001"), &c));
    CHECK(!memcmp(a.w, b.w, sizeof a.w) && memcmp(a.m, b.m, sizeof a.m));
    free((char *)c.config);
    CHECK(!unlink(at(2, "weights/step-00000001/state.safetensors")));
    CHECK_OK(tt_checkpoint_load(at(1, "weights/step-00000001"), &c));
    free((char *)c.config);
    CHECK_FAILS(load(at(1, "weights/step-00000001"), &b, NULL), "state.safetensors is missing");
}

static void same_state_same_bytes(void)
{
    CHECK_OK(save(at(0, "same-a"), 5, 4, 0));
    CHECK_OK(save(at(0, "same-b"), 5, 4, 0));
    for (int i = 0; i < 4; i++) {
        size_t n, k;
        char *a = slurp(at(0, "same-a/step-00000005/%s", files[i]), &n);
        char *b = slurp(at(0, "same-b/step-00000005/%s", files[i]), &k);
        CHECK(n == k && !memcmp(a, b, n), "%s", files[i]);
        free(a);
        free(b);
    }
    CHECK(entries(at(0, "same-a/step-00000005")) == 4);
}

static void writes_ordinary_safetensors(void)
{
    struct tt_safetensors *s;
    CHECK_OK(save(at(0, "plain"), 5, 4, 0));
    CHECK_OK(tt_safetensors_open(at(0, "plain/step-00000005/model.safetensors"), &s));
    CHECK(tt_safetensors_count(s) == 3 && tt_safetensors_find(s, "norm.weight")->rank == 1);
    CHECK(!strcmp(tt_safetensors_metadata(s, "format"), "tt") && !strcmp(tt_safetensors_metadata(s, "step"), "5"));
    tt_safetensors_close(s);
    CHECK_OK(tt_safetensors_open(at(0, "plain/step-00000005/state.safetensors"), &s));
    CHECK(tt_safetensors_count(s) == 6 && tt_safetensors_find(s, "v.layers.0.attention.wq.weight"));
    tt_safetensors_close(s);
}

static void works_without_a_tokenizer(void)
{
    struct arenas a;
    fill(&a, 4);
    struct tt_checkpoint c = checkpoint_of(&a, 3);
    c.tokenizer = NULL;
    CHECK_OK(tt_checkpoint_save(at(0, "no-tokenizer"), &c, 0));
    CHECK(entries(at(0, "no-tokenizer/step-00000003")) == 3);
    CHECK(holds(at(0, "no-tokenizer/step-00000003"), 4));
}

static void names_what_does_not_fit(void)
{
    struct arenas a;
    struct tt_param other[4];
    struct tt_params changed = {other, 3, TOTAL, 128};
    struct tt_checkpoint c = {.params = &changed, .w = a.w, .m = a.m, .v = a.v};
    const char *path = at(1, "fit/step-00000001");
    CHECK_OK(save(at(0, "fit"), 1, 1, 0));

    memcpy(other, items, sizeof items);
    other[1].shape[0] = 8;
    CHECK_FAILS(
        tt_checkpoint_load(path, &c),
        "'layers.0.attention.wq.weight' is [4, 4] in the checkpoint and [8, 4] here; start with the shape of the "
        "checkpoint, or give another --out");
    memcpy(other, items, sizeof items);
    other[2].shape[1] = 1;
    CHECK_FAILS(tt_checkpoint_load(path, &c), "'norm.weight' is [4] in the checkpoint and [4, 1] here");
    memcpy(other, items, sizeof items);
    strcpy(other[3].name, "head.weight");
    other[3].shape[0] = other[3].shape[1] = other[3].count = 1;
    other[3].offset = 140;
    changed.n = 4;
    CHECK_FAILS(tt_checkpoint_load(path, &c), "'head.weight' is missing in the checkpoint and [1, 1] here");
    changed.n = 2;
    CHECK_FAILS(tt_checkpoint_load(path, &c), "'norm.weight' is [4] in the checkpoint and missing here");
}

/* ---- damage ---- */

/* step-2 is damaged, step-1 is not. */
static void check_damage_is_seen(const char *what, size_t where, const char *file)
{
    struct warnings w;
    struct arenas a, untouched;
    CHECK(found(at(0, "damage"), &w) == 1 && w.n == 1, "%s %s at %zu: %d warnings", file, what, where, w.n);
    CHECK(strstr(w.last, "step-00000002") && strstr(w.last, file), "%s at %zu: %s", what, where, w.last);
    memset(&a, 0x55, sizeof a);
    memset(&untouched, 0x55, sizeof untouched);
    tt_status st = load(at(0, "damage/step-00000002"), &a, NULL);
    CHECK(st && !memcmp(&a, &untouched, sizeof a), "%s %s at %zu", file, what, where);
    tt_status_free(st);
}

static void sees_damage(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "damage"), 1, 1, 0));
    CHECK_OK(save(at(0, "damage"), 2, 2, 0));
    CHECK(found(at(0, "damage"), &w) == 2 && w.n == 0);
    for (int i = 0; i < 4; i++) {
        size_t n;
        char *data = slurp(at(0, "damage/step-00000002/%s", files[i]), &n);
        const char *path = at(1, "damage/step-00000002/%s", files[i]);
        size_t stride = n / 150 + 1;
        for (size_t k = 0; k < n; k += k + 40 < n ? stride : 1) {
            spit(path, data, k);
            check_damage_is_seen("cut", k, files[i]);
            spit(path, data, n);
            data[k] ^= (char)(1 << k % 8);
            spit(path, data, n);
            check_damage_is_seen("flipped", k, files[i]);
            data[k] ^= (char)(1 << k % 8);
        }
        char *longer = calloc(1, n + 1);
        memcpy(longer, data, n);
        spit(path, longer, n + 1);
        check_damage_is_seen("longer", n, files[i]);
        CHECK(!unlink(path));
        check_damage_is_seen("removed", n, files[i]);
        CHECK(!mkdir(path, 0700));
        check_damage_is_seen("a folder", n, files[i]);
        CHECK(!rmdir(path) && !mkfifo(path, 0600));
        check_damage_is_seen("a pipe", n, files[i]);
        CHECK(!unlink(path));
        spit(path, data, n);
        CHECK(found(at(0, "damage"), &w) == 2 && w.n == 0);
        free(longer);
        free(data);
    }
}

static void says_when_all_are_damaged(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "all"), 1, 1, 0));
    CHECK_OK(save(at(0, "all"), 2, 1, 0));
    spit(at(1, "all/step-00000001/model.safetensors"), "x", 1);
    spit(at(1, "all/step-00000002/checkpoint.json"), "x", 1);
    CHECK(found(at(0, "all"), &w) == -2 && w.n == 2);
    char *path;
    CHECK_FAILS(tt_checkpoint_find(at(0, "all"), NULL, NULL, &path), "every checkpoint in");
    CHECK(found(at(0, "never-made"), &w) == -1 && w.n == 0);
    CHECK_FAILS(tt_checkpoint_peek(at(0, "never-made"), &(struct tt_progress){0}, &path), "checkpoint.json is missing");
}

/* ---- good ones that cannot be read ---- */

/* Nobody is told that step-2 is damaged, nothing is renamed, and the error names what cannot be read, and why. */
static void check_it_is_left_alone(const char *name, const char *reason)
{
    struct warnings w = {0};
    char *path = NULL;
    tt_status st = tt_checkpoint_find(at(0, "unreadable"), count_warning, &w, &path);
    CHECK(st && st->code == TT_FAILED && strstr(st->text, name) && strstr(st->text, reason), "%s: %s", name,
          st ? st->text : path);
    CHECK(!path && w.n == 0, "%s: %s", name, w.last);
    tt_status_free(st);
    tt_checkpoint_set_aside(at(0, "unreadable"), 1, count_warning, &w);
    CHECK(w.n == 0 && !tt_is_dir(at(1, "unreadable/step-00000002.damaged")), "%s: %s", name, w.last);
    free(path);
}

static void leaves_alone_what_it_may_not_read(void)
{
    static const char *const names[] = {"", "/step-00000002", "/step-00000002/checkpoint.json",
                                        "/step-00000002/model.safetensors",
                                        "/step-00000002/state.safetensors", "/step-00000002/tokenizer.json"};
    bool is_root = !geteuid();
    CHECK(!chmod(root, 0755));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool folder = i < 2;
        at(2, "unreadable%s", names[i]);
        CHECK(!chmod(buffer[2], 0));
        if (is_root && seteuid(65534)) return;
        check_it_is_left_alone(names[i], "Permission denied");
        if (is_root) CHECK(!seteuid(0));
        CHECK(!chmod(buffer[2], folder ? 0755 : 0644));
    }
}

static void leaves_alone_what_it_has_no_files_for(void)
{
    struct rlimit before, few;
    int fd = open("/dev/null", O_RDONLY);
    CHECK(!getrlimit(RLIMIT_NOFILE, &before));
    few = before;
    few.rlim_cur = (rlim_t)fd + 1; /* none, and then one: the folder can be listed */
    close(fd);
    fd = open("/dev/null", O_RDONLY);
    CHECK(!setrlimit(RLIMIT_NOFILE, &few));
    check_it_is_left_alone("unreadable", "Too many open files");
    close(fd);
    CHECK(!setrlimit(RLIMIT_NOFILE, &before));
}

static void leaves_alone_what_lies_elsewhere(void)
{
    at(2, "unreadable/step-00000002/model.safetensors");
    at(3, "kept");
    CHECK(!rename(buffer[2], buffer[3]) && !symlink("/not/mounted/now", buffer[2]));
    check_it_is_left_alone("step-00000002", "No such file");
    CHECK(!unlink(buffer[2]) && !symlink(buffer[2], buffer[2]));
    check_it_is_left_alone("step-00000002", "symbolic links");
    CHECK(!unlink(buffer[2]) && !rename(buffer[3], buffer[2]));
    at(2, "unreadable/step-00000002");
    CHECK(!rename(buffer[2], buffer[3]) && !symlink("/not/mounted/now", buffer[2]));
    check_it_is_left_alone("step-00000002", "No such file");
    CHECK(!unlink(buffer[2]) && !rename(buffer[3], buffer[2]));
}

static void leaves_alone_what_cannot_be_read(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "unreadable"), 1, 1, 0));
    CHECK_OK(save(at(0, "unreadable"), 2, 2, 0));
    leaves_alone_what_it_may_not_read();
    leaves_alone_what_it_has_no_files_for();
    leaves_alone_what_lies_elsewhere();
    CHECK(found(at(0, "unreadable"), &w) == 2 && w.n == 0);
}

/* Told of the damaged step-3, somebody removes step-2, which is looked at next. */
static void remove_step_2(const char *line, void *arg)
{
    int64_t *instead = arg;
    (void)line;
    if (!tt_is_dir(at(4, "vanishing/step-00000002"))) return;
    CHECK_OK(tt_remove_tree(buffer[4]));
    if (*instead) CHECK_OK(save(at(4, "vanishing"), *instead, 4, 0));
}

static void sees_one_disappear(void)
{
    for (int64_t instead = 0; instead <= 4; instead += 4) {
        char *path = NULL;
        for (int step = 1; step <= 3; step++) CHECK_OK(save(at(0, "vanishing"), step, 1, 0));
        spit(at(1, "vanishing/step-00000003/model.safetensors"), "x", 1);
        tt_status st = tt_checkpoint_find(at(0, "vanishing"), remove_step_2, &instead, &path);
        if (instead)
            CHECK(!st && path && strstr(path, "step-00000004"), "%s", st ? st->text : path);
        else
            CHECK(st && st->code == TT_FAILED && strstr(st->text, "vanishing/step-00000002 disappeared"), "%s",
                  st ? st->text : path);
        tt_status_free(st);
        free(path);
    }
}

static void ignores_names_that_are_not_its_own(void)
{
    static const char *const names[] = {
        "step-3",         "step-000000003", "step-00000003x", "step--0000003",        "step-+0000003",
        "step-",          "step",           "step- 0000003",  "step-00000003.bak",    "step-99999999999999999999",
        "xstep-00000003", "STEP-00000003",  "step-0x000003",  "step-00000003.tmp.tmp"};
    struct warnings w;
    CHECK_OK(save(at(0, "names"), 2, 1, 0));
    int n = (int)(sizeof names / sizeof *names);
    for (int i = 0; i < n; i++) CHECK_OK(tt_make_dirs(at(1, "names/%s", names[i])));
    CHECK(found(at(0, "names"), &w) == 2 && w.n == 0);
    CHECK_OK(save(at(0, "names"), 4, 1, 1));
    CHECK(found(at(0, "names"), &w) == 4 && w.n == 0);
    CHECK(entries(at(0, "names")) == n + 1);

    CHECK(!rename(at(0, "names/step-00000004"), at(1, "names/step-00000009")));
    CHECK(found(at(0, "names"), &w) == -2 && strstr(w.last, "saved at step 4"));
    CHECK(holds(at(1, "names/step-00000009"), 1));
}

/* A manifest whose checksum is right and whose content is not. */
static void check_manifest(const char *body, const char *words)
{
    char text[3000];
    int n = snprintf(text, sizeof text, "%s", body);
    n += snprintf(text + n, sizeof text - (size_t)n, ",\n  \"crc32\": \"%08x\"\n}\n", tt_crc32(0, body, strlen(body)));
    spit(at(0, "manifest/step-00000001/checkpoint.json"), text, (size_t)n);
    struct tt_progress p;
    char *config;
    tt_status st = tt_checkpoint_peek(at(0, "manifest/step-00000001"), &p, &config);
    free(config);
    if (words)
        CHECK_FAILS(st, words);
    else
        CHECK_OK(st);
}

#define HEAD "{\"format\":\"tt-checkpoint\",\"version\":1,\"config\":\"\","
#define PROGRESS(step) PROGRESS_OF(step, "0")
#define PROGRESS_OF(step, skipped)                                                                                     \
    "\"progress\":{\"step\":" step ",\"skipped\":" skipped ",\"position\":0,\"seed\":0,\"best_val\":null," \
    "\"best_step\":0,\"bad_vals\":0,\"loss_scale\":1,\"good_steps\":0},"
#define FILE_OF(name) "{\"name\":\"" name "\",\"size\":1,\"crc32\":1}"

static void distrusts_manifests(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "manifest"), 1, 1, 0));
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "]", NULL);
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("../x") "]", "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("a/b") "]", "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("") "]", "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("model.safetensors") "]",
                   "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") ",7]", "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[{\"name\":\"model.safetensors\",\"size\":-1,\"crc32\":1}]",
                   "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("1") "," FILE_OF("2") "," FILE_OF("3") "," FILE_OF(
                       "4") "," FILE_OF("5") "," FILE_OF("6") "," FILE_OF("7") "," FILE_OF("8") "," FILE_OF("9") "]",
                   "no sense");
    check_manifest(HEAD PROGRESS("1") "\"files\":[]", "no model.safetensors");
    check_manifest(HEAD PROGRESS("1") "\"files\":3", "no files");
    check_manifest(HEAD PROGRESS("-1") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD PROGRESS_OF("7", "7") "\"files\":[" FILE_OF("model.safetensors") "]", NULL);
    check_manifest(HEAD PROGRESS_OF("7", "8") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD PROGRESS_OF("7", "-1") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD PROGRESS("1.5") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest("{\"format\":\"tt-checkpoint\",\"version\":2", "use a newer one");
    CHECK(found(at(0, "manifest"), &w) == -2 && w.n == 0, "of a newer version is not damaged: %s", w.last);
    check_manifest("{\"format\":\"other\"", "something else");
    check_manifest("{\"format\":", "damaged");
    check_manifest("[", "damaged");
}

/* ---- keeping and replacing ---- */

static void keeps_the_newest(void)
{
    struct warnings w;
    for (int64_t step = 10; step <= 50; step += 10) CHECK_OK(save(at(0, "keep"), step, (uint64_t)step, 2));
    CHECK(entries(at(0, "keep")) == 2);
    CHECK(holds(at(0, "keep/step-00000050"), 50) && holds(at(0, "keep/step-00000040"), 40));

    for (int64_t step = 10; step <= 50; step += 10) CHECK_OK(save(at(0, "keep-all"), step, 1, step % 20 ? 0 : -1));
    CHECK(entries(at(0, "keep-all")) == 5);
    CHECK_OK(save(at(0, "keep-all"), 60, 60, 1));
    CHECK(entries(at(0, "keep-all")) == 1 && found(at(0, "keep-all"), &w) == 60);
}

/* Going back to step 20 after 40 was damaged: what was just saved is never the one that goes. */
static void never_removes_the_one_just_saved(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "back"), 10, 1, 0));
    CHECK_OK(save(at(0, "back"), 40, 1, 0));
    CHECK_OK(save(at(0, "back"), 50, 1, 0));
    spit(at(1, "back/step-00000040/model.safetensors"), "x", 1);
    spit(at(1, "back/step-00000050/checkpoint.json"), "x", 1);
    CHECK_OK(save(at(0, "back"), 20, 20, 1));
    CHECK(found(at(0, "back"), &w) == 20 && w.n == 2);
    CHECK(!tt_is_dir(at(1, "back/step-00000010")) && tt_is_dir(at(1, "back/step-00000040")));
}

/* One bit of a float tells nothing to a look at the sizes. */
static void sets_damaged_ones_aside(void)
{
    struct warnings w = {0};
    for (int64_t step = 1; step <= 4; step++) CHECK_OK(save(at(0, "aside"), step, (uint64_t)step, 0));
    for (int step = 1; step <= 3; step += 2) {
        size_t n;
        char *data = slurp(at(0, "aside/step-%08d/model.safetensors", step), &n);
        data[n - 1] ^= 1;
        spit(at(0, "aside/step-%08d/model.safetensors", step), data, n);
        free(data);
    }
    tt_checkpoint_set_aside(at(0, "aside"), 2, count_warning, &w);
    CHECK(w.n == 1 && tt_is_dir(at(0, "aside/step-00000003.damaged")) && !tt_is_dir(at(1, "aside/step-00000003")));
    CHECK(tt_is_dir(at(0, "aside/step-00000001")) && holds(at(1, "aside/step-00000004"), 4));
    CHECK_OK(save(at(0, "aside"), 5, 5, 3));
    CHECK(holds(at(0, "aside/step-00000002"), 2) && tt_is_dir(at(1, "aside/step-00000003.damaged")));

    CHECK_OK(save(at(0, "aside"), 3, 3, 0));
    spit(at(0, "aside/step-00000003/checkpoint.json"), "x", 1);
    tt_checkpoint_set_aside(at(0, "aside"), 2, NULL, NULL);
    CHECK(tt_is_dir(at(0, "aside/step-00000003.damaged")) && tt_is_dir(at(1, "aside/step-00000003.damaged.1")));
}

static void replaces_the_same_step(void)
{
    CHECK_OK(save(at(0, "twice"), 7, 1, 2));
    CHECK_OK(save(at(0, "twice"), 7, 2, 2));
    CHECK(entries(at(0, "twice")) == 1 && holds(at(0, "twice/step-00000007"), 2));
    spit(at(0, "twice/step-00000008"), "x", 1);
    CHECK_FAILS(save(at(0, "twice"), 8, 1, 2), "was not saved");
    CHECK(entries(at(0, "twice")) == 2 && holds(at(0, "twice/step-00000007"), 2));
}

static void clears_up_after_crashes(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "crash"), 1, 1, 0));
    CHECK_OK(save(at(0, "crash"), 2, 2, 0));
    CHECK_OK(tt_make_dirs(at(1, "crash/step-00000003.tmp/sub")));
    CHECK_OK(tt_make_dirs(at(1, "crash/step-00000004.tmp")));
    spit(at(1, "crash/step-00000004.tmp/model.safetensors"), "half", 4);
    CHECK(found(at(0, "crash"), &w) == 2 && w.n == 0);

    /* between the two renames of replacing step 2 */
    CHECK(!rename(at(0, "crash/step-00000002"), at(1, "crash/step-00000002.old")));
    CHECK(found(at(0, "crash"), &w) == 2 && w.n == 0);
    CHECK_OK(save(at(0, "crash"), 3, 3, 2));
    CHECK(entries(at(0, "crash")) == 2);
    CHECK(holds(at(0, "crash/step-00000002"), 2) && holds(at(0, "crash/step-00000003"), 3));

    /* after the second one */
    CHECK_OK(tt_make_dirs(at(1, "crash/step-00000003.old")));
    CHECK_OK(save(at(0, "crash"), 3, 33, 2));
    CHECK(entries(at(0, "crash")) == 2 && holds(at(0, "crash/step-00000003"), 33));
}

/* ---- when the system says no ---- */

/* A full disk, played by a limit on file sizes: at each size another file is the one that does not fit. */
static void survives_a_full_disk(void)
{
    struct warnings w;
    struct rlimit before, small;
    CHECK_OK(save(at(0, "full"), 1, 1, 1));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    int failed = 0;
    for (rlim_t limit = 0; limit < 3000; limit += 50) {
        small = before;
        small.rlim_cur = limit;
        setrlimit(RLIMIT_FSIZE, &small);
        tt_status st = save(at(0, "full"), 1 + limit % 100 / 50, 2, 1);
        setrlimit(RLIMIT_FSIZE, &before);
        if (!st) break;
        failed++;
        CHECK(strstr(st->text, "was not saved") && strstr(st->text, "File too large; "), "%s", st->text);
        tt_status_free(st);
        CHECK(entries(at(0, "full")) == 1 && holds(at(0, "full/step-00000001"), 1));
        CHECK(found(at(0, "full"), &w) == 1 && w.n == 0);
    }
    CHECK(failed > 10);
}

static void survives_a_locked_folder(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "locked"), 1, 1, 1));
    CHECK(!chmod(root, 0755) && !chmod(at(0, "locked"), 0555));
    bool is_root = !geteuid();
    if (!is_root || !seteuid(65534)) {
        CHECK_FAILS(save(at(0, "locked"), 2, 2, 1), "Permission denied; check the permissions");
        CHECK_FAILS(save(at(0, "locked"), 1, 2, 1), "Permission denied; check the permissions");
        CHECK_FAILS(save(at(0, "locked/deeper"), 1, 2, 1), "Permission denied; check the permissions");
    }
    if (is_root) CHECK(!seteuid(0));
    CHECK(!chmod(at(0, "locked"), 0755));
    CHECK(found(at(0, "locked"), &w) == 1 && holds(at(0, "locked/step-00000001"), 1));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Saves without pause, every other time at the step it saved before, and says so after each. */
static void save_forever(int64_t step, int tell)
{
    for (int64_t i = 0;; i++) {
        tt_status_free(save(at(0, "killed"), step + i / 2, 1, 1));
        if (write(tell, "", 1) != 1) _exit(1);
    }
}

/* A child that saves is killed during its first, second or third save, at a random moment. */
static void survives_being_killed(void)
{
    struct warnings w;
    CHECK_OK(save(at(0, "killed"), 1, 1, 1));
    double start = now();
    CHECK_OK(save(at(0, "killed"), 1, 1, 1));
    double once = fmin(now() - start, 0.1);
    int64_t last = 1;
    for (int round = 0; round < 30; round++) {
        int pipe_of[2];
        char byte;
        CHECK(!pipe(pipe_of));
        pid_t child = fork();
        if (!child) save_forever(last, pipe_of[1]);
        for (int i = 0; i < round % 3; i++) CHECK(read(pipe_of[0], &byte, 1) == 1);
        nanosleep(&(struct timespec){0, (long)(once * 1e9 * tt_uniform(9, 9, (uint64_t)round))}, NULL);
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        close(pipe_of[0]);
        close(pipe_of[1]);
        int64_t step = found(at(0, "killed"), &w);
        CHECK(step >= last && w.n == 0, "round %d: step %lld after %lld, %s", round, (long long)step, (long long)last,
              w.last);
        last = step;
    }
    CHECK_OK(save(at(0, "killed"), last + 1, 1, 1));
    CHECK(entries(at(0, "killed")) == 1);
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    CHECK_OK(tt_tokenizer_bytes(&tokenizer));
    TEST(round_trips);
    TEST(loads_weights_only);
    TEST(same_state_same_bytes);
    TEST(writes_ordinary_safetensors);
    TEST(works_without_a_tokenizer);
    TEST(names_what_does_not_fit);
    TEST(sees_damage);
    TEST(says_when_all_are_damaged);
    TEST(leaves_alone_what_cannot_be_read);
    TEST(sees_one_disappear);
    TEST(ignores_names_that_are_not_its_own);
    TEST(distrusts_manifests);
    TEST(keeps_the_newest);
    TEST(never_removes_the_one_just_saved);
    TEST(sets_damaged_ones_aside);
    TEST(replaces_the_same_step);
    TEST(clears_up_after_crashes);
    TEST(survives_a_full_disk);
    TEST(survives_a_locked_folder);
    TEST(survives_being_killed);
    tt_tokenizer_free(tokenizer);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
