/* core/base/writable: refuses before anything is written, and leaves nothing behind. */
#include "core/base/writable.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/core/base/folder_fixture.h"

static void folders(void)
{
    CHECK_OK(tt_file_replace(at(0, "file"), "x", 1));
    CHECK_OK(tt_could_fill(root, "--out"));
    CHECK_OK(tt_could_fill(at(0, "new"), "--out"));
    CHECK_OK(tt_could_fill(at(0, "new//deep/er///"), "--out"));
    CHECK(names_with("new") == 0, "a folder stayed");
    CHECK_FAILS(tt_could_fill(at(0, "file"), "--out"), "file is a file; --out names a folder");
    CHECK_FAILS(tt_could_fill(at(0, "file/"), "--profile-dir"), "file is a file; --profile-dir names a folder");
    CHECK_FAILS(tt_could_fill(at(0, "file/below/it"), "--out"), "Not a directory");
    CHECK_FAILS(tt_could_fill("", "--out"), "make the folder");
    CHECK(!symlink("nowhere", at(0, "dangling")));
    CHECK_FAILS(tt_could_fill(at(0, "dangling"), "--out"), "dangling");
    if (tt_is_dir("/proc")) CHECK_FAILS(tt_could_fill("/proc/none/here", "--out"), "/proc");
    CHECK(!chdir(root));
    CHECK_OK(tt_could_fill("relative", "--out"));
    CHECK_OK(tt_could_fill("relative/deeper", "--out"));
    CHECK_OK(tt_could_fill(".", "--out"));
    CHECK(names_with("relative") == 0, "a folder stayed");
}

static void files(void)
{
    CHECK_OK(tt_could_write(at(0, "another")));
    CHECK(names_with("another") == 0, "a file was made");
    CHECK_OK(tt_could_write(at(0, "file")));
    CHECK(holds(at(0, "file"), "x"), "the file changed");
    CHECK_OK(tt_could_write("/dev/null"));
    CHECK_FAILS(tt_could_write(root), "this is a folder");
    CHECK_FAILS(tt_could_write(at(0, "none/file")), "none: No such file");
    CHECK_FAILS(tt_could_write(at(0, "file/in")), "Not a directory");
}

static void the_way_up_ends(void)
{
    static const char *const steps[][2] = {{"a/b//c/", "a/b"}, {"a/b", "a"}, {"a", "."}, {"/a", "/"}};
    char path[40];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        snprintf(path, sizeof path, "%s", steps[i][0]);
        CHECK(tt_go_up(path) && !strcmp(path, steps[i][1]), "%s: %s", steps[i][0], path);
    }
    CHECK(!tt_go_up(strcpy(path, "/")) && !tt_go_up(strcpy(path, ".")));
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    TEST(folders);
    TEST(files);
    tt_status_free(tt_remove_tree(root));
    TEST(the_way_up_ends);
    return test_end();
}
