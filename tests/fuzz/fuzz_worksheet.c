/* Worksheets and their marking. The input is a check.yaml, a line "====", a worksheet.yaml, another such line and a
 * roadmap.yaml. They are marked with two small sealed profiles, and the result goes into the table of a class.
 * needs: exercises/engine/exercise.h */
#include <math.h>

#include "core/base/file.h"
#include "exercises/engine/exercise.h"
#include "profiling/seal.h"
#include "tests/fuzz/fuzz.h"

static char folder[64];

static void clean_up(void) { tt_status_free(tt_remove_tree(folder)); }

static void write_file(const char *name, const char *data, size_t n)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    PROMISE(f && fwrite(data, 1, n, f) == n && !fclose(f));
}

static void write_profile(const char *name, double seconds)
{
    char path[200];
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_begin(&w, "run", '{');
    tt_json_put_string(&w, "version", name);
    tt_json_put_string(&w, "created", "2026-01-02T03:04:05Z");
    tt_json_end(&w, '}');
    tt_json_begin(&w, "step", '{');
    tt_json_put_number(&w, "seconds", seconds);
    tt_json_put_int(&w, "kernels", 40);
    tt_json_end(&w, '}');
    tt_json_begin(&w, "groups", '[');
    for (int i = 0; i < 3; i++) {
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "name", (const char *const[]){"norm", "ffn", "rope"}[i]);
        tt_json_put_number(&w, "share", 0.5 / (i + 1));
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    tt_seal_put(&w);
    tt_json_end(&w, '}');
    tt_text_puts(&w.text, "\n");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    PROMISE(!tt_make_dirs(path));
    snprintf(path, sizeof path, "%s/profile.json", name);
    write_file(path, w.text.s, w.text.n);
    tt_text_free(&w.text);
}

static void make_folder(void)
{
    static const char started[] = "{\"exercise\": 1, \"started\": \"2026-01-01T00:00:00Z\", \"sizes\": {\"PRESET\": "
                                  "\"tiny\"}}\n";
    snprintf(folder, sizeof folder, "/tmp/tt-fuzz-XXXXXX");
    PROMISE(mkdtemp(folder) && !atexit(clean_up));
    write_file("exercise.json", started, sizeof started - 1);
    write_profile("slow", 0.25);
    write_profile("fast", 0.1);
}

/* The part before the next line "====", without it; moves *text past that line. */
static size_t part(const char **text, const char *end)
{
    static const char line[] = "\n====\n";
    const char *begin = *text, *at = memmem(begin, (size_t)(end - begin), line, sizeof line - 1);
    *text = at ? at + sizeof line - 1 : end;
    return (size_t)((at ? at + 1 : end) - begin);
}

/* The feedback for the learner reads back, and a class of this one learner can be shown. */
static void check_result(const struct tt_marked *m)
{
    const char *path = folder;
    struct tt_text text = {0}, json = {0}, table = {0}, notes = {0};
    struct tt_json *result;
    int n;
    PROMISE(m->points <= m->most && !(m->passed && m->points < m->most && m->most < INFINITY));
    tt_marked_text(m, true, &text);
    tt_marked_json(m, true, &json);
    write_file("result.json", json.s, json.n);
    PROMISE(!fuzz_refused(tt_class_read(&path, 1, &result, 1, &n, &notes)) && n == 1);
    tt_class_text(&result, 1, &table);
    tt_class_csv(&result, 1, &table);
    tt_json_free(result);
    tt_text_free(&text);
    tt_text_free(&json);
    tt_text_free(&table);
    tt_text_free(&notes);
}

static void mark(void)
{
    struct tt_exercise e;
    static struct tt_marked m;
    if (!fuzz_refused(tt_exercise_read(folder, &e))) {
        if (!fuzz_refused(tt_exercise_mark(&e, folder, folder, &m))) check_result(&m);
        tt_marked_free(&m);
    }
    tt_exercise_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *end = text + n;
    struct tt_text out = {0};
    bool passed;
    if (!folder[0]) make_folder();
    for (int i = 0; i < 3; i++) {
        const char *begin = text;
        write_file((const char *const[]){"check.yaml", "worksheet.yaml", "roadmap.yaml"}[i], begin, part(&text, end));
    }
    mark();
    fuzz_refused(tt_roadmap(folder, &out, &passed));
    tt_text_free(&out);
    return 0;
}
