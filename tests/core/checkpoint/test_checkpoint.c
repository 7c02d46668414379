/* core/checkpoint: what was saved is restored to the bit, and neither a full disk nor a kill at any moment loses the
 * last good checkpoint. test_checkpoint_damage.c tests damaged ones. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/crc32.h"
#include "core/checkpoint/safetensors.h"
#include "tests/core/checkpoint/checkpoint_fixture.h"

/* ---- saving and loading ---- */

static bool same_progress(const struct tt_progress *a, const struct tt_progress *b)
{
    return a->step == b->step && a->skipped == b->skipped && a->position == b->position && a->seed == b->seed &&
           a->best_val == b->best_val && a->best_step == b->best_step && a->bad_vals == b->bad_vals &&
           a->loss_scale == b->loss_scale && a->good_steps == b->good_steps &&
           a->data_mark == b->data_mark && a->data_end == b->data_end;
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
         .data_mark = UINT64_MAX, .data_end = 1048576},
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

/* How many bytes this process has read from files so far. */
static double bytes_read(void)
{
    double n = -1;
    FILE *f = fopen("/proc/self/io", "r");
    if (!f) return -1;
    if (fscanf(f, "rchar: %lf", &n) != 1) n = -1;
    fclose(f);
    return n;
}

/* A model of 1 MiB in two buckets, the first of which ends inside a tensor. */
enum { LARGE = 262144 };
static struct tt_param large_items[] = {
    {.name = "a", .shape = {1000, 100}, .offset = 0, .count = 100000},
    {.name = "b", .shape = {150000, 0}, .offset = 100096, .count = 150000},
};
static struct tt_bucket large_buckets[] = {{0, 98304}, {98304, LARGE - 98304}};

/* Loads rank `rank` of 4. Returns the bytes read. */
static double load_part(const char *path, int rank, const float *all, float *host)
{
    struct tt_params p = {.items = large_items, .n = 2, .total = LARGE, .buckets = large_buckets, .bucket_count = 2,
                          .ranks = 4, .rank = rank};
    p.sharded[TT_X_WEIGHTS] = p.sharded[TT_X_MOMENT1] = p.sharded[TT_X_MOMENT2] = true;
    for (int64_t i = 0; i < 3 * LARGE; i++) host[i] = -1;
    struct tt_checkpoint c = {.params = &p, .w = host, .m = host + LARGE, .v = host + 2 * LARGE};
    double before = bytes_read();
    CHECK_OK(tt_checkpoint_load(path, &c));
    double took = bytes_read() - before;
    free((char *)c.config);
    for (int b = 0; b < 2; b++) {
        int64_t part = large_buckets[b].count / 4, begin = large_buckets[b].offset + rank * part;
        for (int64_t i = large_buckets[b].offset; i < large_buckets[b].offset + large_buckets[b].count; i++)
            for (int x = 0; x < 3; x++) {
                float want = i >= begin && i < begin + part ? all[x * LARGE + i] : -1;
                if (host[x * LARGE + i] != want) {
                    CHECK(false, "rank %d, array %d, %lld: %g", rank, x, (long long)i, (double)host[x * LARGE + i]);
                    return took;
                }
            }
    }
    return took;
}

/* A rank reads only its parts of a sharded array and writes nothing else. Rank 0 reads the whole array once, for its
 * checksum. */
static void loads_parts_only(void)
{
    float *all = calloc(3 * LARGE, sizeof *all), *host = malloc(3 * LARGE * sizeof *host);
    for (int x = 0; x < 3; x++)
        for (int p = 0; p < 2; p++)
            for (int64_t i = 0; i < large_items[p].count; i++)
                all[x * LARGE + large_items[p].offset + i] = (float)(x * LARGE + i);
    struct tt_params p = {.items = large_items, .n = 2, .total = LARGE};
    struct tt_checkpoint c = {.config = "a: 1\n", .params = &p, .w = all, .m = all + LARGE, .v = all + 2 * LARGE};
    c.progress = (struct tt_progress){.step = 1, .best_val = INFINITY};
    CHECK_OK(tt_checkpoint_save(at(0, "parts"), &c, 0));
    for (int rank = 3; rank >= 0; rank--) {
        double took = load_part(at(1, "parts/step-00000001"), rank, all, host), all_bytes = 3.0 * LARGE * sizeof *all;
        if (took <= 0) continue; /* this system does not tell */
        double most = all_bytes / 4 + (rank ? 0 : all_bytes) + 65536;
        CHECK(took < most, "rank %d read %.0f of %.0f bytes", rank, took, all_bytes);
    }
    free(all);
    free(host);
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
    struct tt_params changed = {.items = other, .n = 3, .total = TOTAL, .decay_end = 128};
    struct tt_checkpoint c = {.params = &changed, .w = a.w, .m = a.m, .v = a.v};
    const char *path = at(1, "fit/step-00000001");
    CHECK_OK(save(at(0, "fit"), 1, 1, 0));

    memcpy(other, items, sizeof items);
    other[1].shape[0] = 8;
    CHECK_FAILS(
        tt_checkpoint_load(path, &c),
        "'layers.0.attention.wq.weight' is [4, 4] in the checkpoint and [8, 4] here; leave out the options that "
        "give the model another shape, or train a new one");
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

/* The run goes back to step 20 after 40 was damaged. The checkpoint just saved is never the one that is removed. */
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

/* Steps 2 and 3 were saved by the clock; the run was killed before 2 was removed. */
static void continues_what_the_clock_saved(void)
{
    struct arenas a;
    fill(&a, 1);
    for (int64_t step = 1; step <= 3; step++) {
        struct tt_checkpoint c = checkpoint_of(&a, step);
        c.timed = step > 1;
        CHECK_OK(tt_checkpoint_save(at(0, "clock"), &c, 0));
    }
    CHECK(!tt_checkpoint_continue_timed(at(0, "clock"), 1) && entries(at(0, "clock")) == 3);
    CHECK(tt_checkpoint_continue_timed(at(0, "clock"), 3));
    CHECK(tt_is_dir(at(1, "clock/step-00000001")) && !tt_is_dir(at(2, "clock/step-00000002")));
    CHECK(tt_is_dir(at(1, "clock/step-00000003")) && entries(at(0, "clock")) == 2);
    CHECK_OK(save(at(0, "clock"), 3, 1, 0));
    CHECK(!tt_checkpoint_continue_timed(at(0, "clock"), 3) && entries(at(0, "clock")) == 2);
    CHECK(!tt_checkpoint_continue_timed(at(0, "no-such-run"), 3));
}

/* A check of sizes would not notice one changed bit. */
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

    /* between the two renames that replace step 2 */
    CHECK(!rename(at(0, "crash/step-00000002"), at(1, "crash/step-00000002.old")));
    CHECK(found(at(0, "crash"), &w) == 2 && w.n == 0);
    CHECK_OK(save(at(0, "crash"), 3, 3, 2));
    CHECK(entries(at(0, "crash")) == 2);
    CHECK(holds(at(0, "crash/step-00000002"), 2) && holds(at(0, "crash/step-00000003"), 3));

    /* after the second rename */
    CHECK_OK(tt_make_dirs(at(1, "crash/step-00000003.old")));
    CHECK_OK(save(at(0, "crash"), 3, 33, 2));
    CHECK(entries(at(0, "crash")) == 2 && holds(at(0, "crash/step-00000003"), 33));
}

/* ---- errors of the system ---- */

/* A limit on file sizes stands in for a full disk. With each limit another file is the one that does not fit. */
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

/* Saves without pause, every other time at the same step as before, and reports each save. */
static void save_forever(int64_t step, int tell)
{
    for (int64_t i = 0;; i++) {
        tt_status_free(save(at(0, "killed"), step + i / 2, 1, 1));
        if (write(tell, "", 1) != 1) _exit(1);
    }
}

/* A child process is killed at a random moment during its first, second or third save. */
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
    if (!begin_checkpoints()) return 1;
    TEST(round_trips);
    TEST(loads_weights_only);
    TEST(loads_parts_only);
    TEST(same_state_same_bytes);
    TEST(writes_ordinary_safetensors);
    TEST(works_without_a_tokenizer);
    TEST(names_what_does_not_fit);
    TEST(keeps_the_newest);
    TEST(never_removes_the_one_just_saved);
    TEST(continues_what_the_clock_saved);
    TEST(sets_damaged_ones_aside);
    TEST(replaces_the_same_step);
    TEST(clears_up_after_crashes);
    TEST(survives_a_full_disk);
    TEST(survives_a_locked_folder);
    TEST(survives_being_killed);
    return end_checkpoints();
}
