/* core/base/file: reading, replacing, creating and removing, and the texts of errors. */
#include "core/base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/base/folder_fixture.h"

static void write_plain(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(text, 1, n, f) == n);
    if (f) fclose(f);
}

static void reads(void)
{
    char *data;
    size_t n;
    write_plain(at(0, "zero-inside"), "a\0b", 3);
    CHECK_OK(tt_file_read(at(0, "zero-inside"), 3, &data, &n));
    CHECK(n == 3 && !memcmp(data, "a\0b", 4));
    free(data);
    CHECK_FAILS(tt_file_read(at(0, "zero-inside"), 2, &data, &n), "larger than the 2 bytes");
    CHECK(!data && !n);

    write_plain(at(0, "empty"), "", 0);
    CHECK_OK(tt_file_read(at(0, "empty"), 0, &data, &n));
    CHECK(data && n == 0 && data[0] == 0);
    free(data);

    CHECK_FAILS(tt_file_read(at(0, "absent"), 10, &data, &n), "No such file or directory; check the path");
    CHECK_FAILS(tt_file_read(root, 10, &data, &n), "folder");
    CHECK_FAILS(tt_file_read("/dev/zero", 100000, &data, &n), "larger than");
}

/* Files under /proc claim to be empty. */
static void reads_files_of_unknown_size(void)
{
    char *data;
    size_t n;
    if (!tt_is_file("/proc/self/status")) SKIP("there is no /proc");
    CHECK_OK(tt_file_read("/proc/self/status", 1 << 20, &data, &n));
    CHECK(n > 100 && strlen(data) == n);
    free(data);
}

static void replaces(void)
{
    CHECK_OK(tt_file_replace(at(0, "new"), "one", 3));
    CHECK(holds(at(0, "new"), "one"));
    CHECK(!chmod(at(0, "new"), 0640));
    CHECK_OK(tt_file_replace(at(0, "new"), "second", 6));
    CHECK(holds(at(0, "new"), "second"));
    struct stat st;
    CHECK(!stat(at(0, "new"), &st) && (st.st_mode & 0777) == 0640);
    CHECK(names_with("new") == 1);
    CHECK_OK(tt_file_replace(at(0, "new"), "", 0));
    CHECK(holds(at(0, "new"), ""));
}

static void replaces_behind_a_link(void)
{
    write_plain(at(0, "target"), "old", 3);
    CHECK(!symlink("target", at(1, "link")));
    CHECK_OK(tt_file_replace(at(1, "link"), "new", 3));
    struct stat st;
    CHECK(!lstat(at(1, "link"), &st) && S_ISLNK(st.st_mode));
    CHECK(holds(at(0, "target"), "new"));
}

static void writes_into_devices(void)
{
    CHECK_OK(tt_file_replace("/dev/null", "gone", 4));
    struct stat st;
    CHECK(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
}

static void refuses_to_replace(void)
{
    CHECK_FAILS(tt_file_replace(root, "x", 1), "this is a folder");
    CHECK_FAILS(tt_file_replace(at(0, "no/such/folder"), "x", 1), "check the path");
    if (!tt_is_dir("/proc/self")) return;
    CHECK_FAILS(tt_file_replace("/proc/self/x", "x", 1), "cannot write /proc/self/x");
}

/* A limit on file sizes stands in for a full disk. */
static void keeps_the_old_file_when_writing_fails(void)
{
    write_plain(at(0, "precious"), "old", 3);
    char *large = calloc(1, 100000);
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 5000;
    setrlimit(RLIMIT_FSIZE, &small);
    tt_status st = tt_file_replace(at(0, "precious"), large, 100000);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_FAILS(st, "File too large");
    CHECK(holds(at(0, "precious"), "old"));
    CHECK(names_with("precious") == 1);
    free(large);
}

static void makes_folders(void)
{
    CHECK_OK(tt_make_dirs(at(0, "a/b//c/d/")));
    CHECK(tt_is_dir(at(0, "a/b/c/d")));
    CHECK_OK(tt_make_dirs(at(0, "a/b/c/d")));
    CHECK_OK(tt_make_dirs("/"));
    CHECK_FAILS(tt_make_dirs(""), "check the path");
    write_plain(at(0, "a/file"), "", 0);
    CHECK_FAILS(tt_make_dirs(at(0, "a/file")), "in the way");
    CHECK_FAILS(tt_make_dirs(at(0, "a/file/below")), "in the way");
    CHECK(!tt_is_dir(at(0, "a/file")) && tt_is_file(at(0, "a/file")));
    CHECK(!tt_is_file(at(0, "a")) && !tt_is_file(at(0, "absent")) && !tt_is_dir(at(0, "absent")));
}

static void removes_trees_but_not_through_links(void)
{
    CHECK_OK(tt_make_dirs(at(0, "outside")));
    write_plain(at(0, "outside/keep"), "x", 1);
    CHECK_OK(tt_make_dirs(at(0, "tree/deep/er")));
    for (int i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof name, "tree/deep/%d", i);
        write_plain(at(0, name), "x", 1);
    }
    CHECK(!symlink("../outside", at(0, "tree/link")));
    CHECK(!symlink("../../outside/keep", at(0, "tree/deep/link")));
    CHECK(!symlink("nowhere", at(0, "tree/dangling")));
    CHECK(!mkfifo(at(0, "tree/pipe"), 0600));
    CHECK_OK(tt_remove_tree(at(0, "tree")));
    CHECK(access(at(0, "tree"), F_OK) != 0);
    CHECK(holds(at(0, "outside/keep"), "x"));

    CHECK(!symlink("outside", at(0, "link-to-folder")));
    CHECK_OK(tt_remove_tree(at(0, "link-to-folder")));
    CHECK(tt_is_dir(at(0, "outside")));
    CHECK_OK(tt_remove_tree(at(0, "outside/keep")));
    CHECK(!tt_is_file(at(0, "outside/keep")));
    CHECK_OK(tt_remove_tree(at(0, "never-was-there")));
}

/* Root may do everything, so the test becomes another user for a while. */
static void says_what_permissions_are_missing(void)
{
    CHECK_OK(tt_make_dirs(at(0, "locked/inner")));
    CHECK(!chmod(root, 0755) && !chmod(at(0, "locked"), 0555));
    bool is_root = !geteuid();
    if (is_root && seteuid(65534)) SKIP("root cannot become somebody else here");
    CHECK_FAILS(tt_make_dirs(at(1, "locked/more")), "check the permissions");
    CHECK_FAILS(tt_file_replace(at(1, "locked/file"), "x", 1), "check the permissions");
    CHECK_FAILS(tt_remove_tree(at(1, "locked/inner")), "check the permissions");
    if (is_root) CHECK(!seteuid(0));
    CHECK(!chmod(at(0, "locked"), 0755));
}

static void syncs(void)
{
    CHECK_OK(tt_sync_dir(root));
    CHECK_FAILS(tt_sync_dir(at(0, "absent")), "check the path");
}

static void explains(void)
{
    tt_status st = tt_file_error(28 /* ENOSPC */, "write", "runs/x");
    CHECK(!strcmp(st->text,
                  "cannot write runs/x: No space left on device; free some space, or choose a path on another "
                  "disk"),
          "%s", st->text);
    tt_status_free(st);
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    TEST(reads);
    TEST(reads_files_of_unknown_size);
    TEST(replaces);
    TEST(replaces_behind_a_link);
    TEST(writes_into_devices);
    TEST(refuses_to_replace);
    TEST(keeps_the_old_file_when_writing_fails);
    TEST(makes_folders);
    TEST(removes_trees_but_not_through_links);
    TEST(says_what_permissions_are_missing);
    TEST(syncs);
    TEST(explains);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
