/* The pictures of the exercises: every walkthrough shows one, and each is a small SVG that stands alone: well-formed,
 * with a title and a description, with text as text, for light and dark, and without anything from outside. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "tests/profiling/markup.h"
#include "tests/test.h"

enum { LARGEST = 32 << 10, MOST = 64 };

static char *read_all(const char *folder, const char *name)
{
    char path[600], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &size));
    return text;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* What would load something, run something, or hold HTML. */
static const char *outside(const char *svg)
{
    static const char *const words[] = {"<script", "<image", "<use", "<foreignObject", "@import", "href",
                                        "src=",    "url(",   "http", "data:",          "<?",      "<!",
                                        " on",     NULL};
    static char found[60];
    for (int i = 0; words[i]; i++)
        for (const char *at = svg; (at = strstr(at, words[i])); at++) {
            bool name_of_svg = !strncmp(at, "http://www.w3.org/2000/svg\"", 27) && at - svg < 20 + 11;
            bool within = !strncmp(at, "url(#", 5); /* an arrowhead of its own */
            bool handler = strcmp(words[i], " on") || (at[3] && strchr("abcdefghijklmnopqrstuvwxyz", at[3]) &&
                                                       at[3 + strspn(at + 3, "abcdefghijklmnopqrstuvwxyz")] == '=');
            if (!name_of_svg && !within && handler) return snprintf(found, sizeof found, "%.50s", at), found;
        }
    return NULL;
}

static void check_picture(const char *folder, const char *name)
{
    static const char *const parts[] = {"<title id=\"t\">",
                                        "<desc id=\"d\">",
                                        "viewBox=\"",
                                        "role=\"img\"",
                                        "<text ",
                                        "aria-labelledby=\"t d\"",
                                        "@media (prefers-color-scheme:dark)",
                                        "class=\"bg\"",
                                        NULL};
    char *svg = read_all(folder, name);
    if (!svg) return;
    const char *fault = markup_fault(svg, NULL), *loads = outside(svg);
    CHECK(!fault[0], "%s/%s: %s", folder, name, fault);
    CHECK(!loads, "%s/%s: %s", folder, name, loads);
    CHECK(!strncmp(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 40), "%s/%s", folder, name);
    CHECK(strlen(svg) < LARGEST, "%s/%s: %zu bytes", folder, name, strlen(svg));
    for (int i = 0; parts[i]; i++) CHECK(strstr(svg, parts[i]), "%s/%s: %s", folder, name, parts[i]);
    free(svg);
}

/* "![words](name)": false where there is none from *at on. The words say what the picture shows. */
static bool next_picture(const char **at, const char *folder, char name[100])
{
    const char *words = strstr(*at, "!["), *target = words ? strstr(words, "](") : NULL;
    if (!target) return false;
    CHECK(target - words > 30, "%s: a picture without words: %.40s", folder, words);
    snprintf(name, 100, "%.*s", (int)strcspn(target + 2, ")"), target + 2);
    *at = target + 2;
    return true;
}

static int check_exercise(const char *folder)
{
    char *text = read_all(folder, "README.md"), name[100], shown[MOST][100];
    const char *at = text;
    int n = 0, files = 0;
    while (at && n < MOST && next_picture(&at, folder, name)) {
        snprintf(shown[n++], sizeof *shown, "%s", name);
        CHECK(!strchr(name, '/') && ends_with(name, ".svg"), "%s: %s", folder, name);
        check_picture(folder, name);
    }
    CHECK(n > 0, "%s shows no picture", folder);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        bool used = !ends_with(e->d_name, ".svg");
        files += !used;
        for (int i = 0; i < n; i++) used |= !strcmp(shown[i], e->d_name);
        CHECK(used, "%s/%s is not shown", folder, e->d_name);
    }
    if (d) closedir(d);
    free(text);
    return files;
}

static void every_exercise_has_pictures(void)
{
    struct dirent **names;
    int n = scandir("exercises", &names, NULL, alphasort), exercises = 0;
    for (int i = 0; i < n; i++) {
        char folder[300];
        if (names[i]->d_name[0] >= '0' && names[i]->d_name[0] <= '9') {
            snprintf(folder, sizeof folder, "exercises/%s", names[i]->d_name);
            exercises++;
            CHECK(check_exercise(folder) > 0, "%s", folder);
        }
        free(names[i]);
    }
    if (n >= 0) free(names);
    CHECK(exercises >= 11, "%d", exercises);
}

static void what_loads_is_seen(void)
{
    CHECK(outside(
              "<svg xmlns=\"http://www.w3.org/2000/svg\" a=\"1\">on the chip, on=off <path marker-end=\"url(#a)\"/>") ==
          NULL);
    CHECK(outside("<svg><image href=\"x\"/></svg>"));
    CHECK(outside("<svg><text fill=\"url(https://a)\"/></svg>"));
    CHECK(outside("<svg onload=\"x()\"/>"));
    CHECK(outside("<svg xmlns=\"http://www.w3.org/2000/svg\"><a b=\"http://c\"/></svg>"));
    CHECK(outside("<svg><style>@import \"a\"</style></svg>"));
}

int main(void)
{
    TEST(every_exercise_has_pictures);
    TEST(what_loads_is_seen);
    return test_end();
}
