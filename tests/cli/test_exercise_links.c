/* The links of a walkthrough lead to the same files from the folder that a learner gets. */
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exercise.h"
#include "tests/test.h"

static bool is_hidden(const char *name) { return !strcmp(name, "hidden.md"); }

static void links(const char *text, const char *folder, const char *wanted)
{
    struct tt_text out = {0};
    tt_exercise_links(text, folder, is_hidden, &out);
    CHECK(out.s && !strcmp(out.s, wanted), "%s: %s, not %s", text, out.s ? out.s : "", wanted);
    tt_text_free(&out);
}

static void links_lead_back(void)
{
    char dir[] = "/tmp/tt test links XXXXXX", folder[200], file[300], wanted[600];
    CHECK(mkdtemp(dir) != NULL);
    snprintf(folder, sizeof folder, "%s/one", dir);
    snprintf(file, sizeof file, "%s/two.md", dir);
    CHECK(mkdir(folder, 0700) == 0);
    FILE *f = fopen(file, "w");
    CHECK(f != NULL);
    if (f) fclose(f);
    snprintf(wanted, sizeof wanted,
             "[a](<%s#part>), [b](here.c), [c](../gone.md), [d](https://x.y/z), [e](#top) [f]( [g](../two.md", file);
    links("[a](../two.md#part), [b](here.c), [c](../gone.md), [d](https://x.y/z), [e](#top) [f]( [g](../two.md", folder,
          wanted);
    links("no link at all", folder, "no link at all");
    links("", folder, "");
    snprintf(file, sizeof file, "%s/hidden.md", folder);
    f = fopen(file, "w");
    CHECK(f != NULL);
    if (f) fclose(f);
    snprintf(wanted, sizeof wanted, "[h](<%s>)", file);
    links("[h](hidden.md)", folder, wanted);
    unlink(file);
    snprintf(file, sizeof file, "%s/two.md", dir);
    unlink(file);
    rmdir(folder);
    rmdir(dir);
}

int main(void)
{
    TEST(links_lead_back);
    return test_end();
}
