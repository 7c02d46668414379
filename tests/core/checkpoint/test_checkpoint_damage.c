/* core/checkpoint: damage of any kind is detected, and a checkpoint that merely cannot be read is left alone. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/crc32.h"
#include "core/checkpoint/safetensors.h"
#include "tests/core/checkpoint/checkpoint_fixture.h"

/* step-2 is damaged and step-1 is not. */
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

/* ---- good checkpoints that cannot be read ---- */

/* step-2 is not reported as damaged, nothing is renamed, and the error says what cannot be read and why. */
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
    few.rlim_cur = (rlim_t)fd + 1; /* first no free descriptor, then one: enough to list the folder */
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

/* Called with the warning about the damaged step-3: removes step-2, which would be tried next. */
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

/* A manifest with a correct checksum and wrong content. */
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
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("../x") "]",
                   "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("a/b") "]",
                   "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("") "]",
                   "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") "," FILE_OF("model.safetensors") "]",
                   "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("model.safetensors") ",7]", "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[{\"name\":\"model.safetensors\",\"size\":-1,\"crc32\":1}]",
                   "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[" FILE_OF("1") "," FILE_OF("2") "," FILE_OF("3") "," FILE_OF(
                       "4") "," FILE_OF("5") "," FILE_OF("6") "," FILE_OF("7") "," FILE_OF("8") "," FILE_OF("9") "]",
                   "list of files is invalid");
    check_manifest(HEAD PROGRESS("1") "\"files\":[]", "no model.safetensors");
    check_manifest(HEAD PROGRESS("1") "\"files\":3", "no files");
    check_manifest(HEAD PROGRESS("-1") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD PROGRESS_OF("7", "7") "\"files\":[" FILE_OF("model.safetensors") "]", NULL);
    check_manifest(HEAD PROGRESS_OF("7", "8") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD PROGRESS_OF("7", "-1") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD PROGRESS("1.5") "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest(HEAD "\"files\":[" FILE_OF("model.safetensors") "]", "progress");
    check_manifest("{\"format\":\"tt-checkpoint\",\"version\":2", "use a newer tt");
    CHECK(found(at(0, "manifest"), &w) == -2 && w.n == 0, "of a newer version is not damaged: %s", w.last);
    check_manifest("{\"format\":\"other\"", "not a checkpoint of tt");
    check_manifest("{\"format\":", "damaged");
    check_manifest("[", "damaged");
}

int main(void)
{
    if (!begin_checkpoints()) return 1;
    TEST(sees_damage);
    TEST(says_when_all_are_damaged);
    TEST(leaves_alone_what_cannot_be_read);
    TEST(sees_one_disappear);
    TEST(ignores_names_that_are_not_its_own);
    TEST(distrusts_manifests);
    return end_checkpoints();
}
