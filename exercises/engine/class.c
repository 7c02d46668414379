/* The results of many learners in one table, for whoever teaches. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/csv.h"
#include "core/base/file.h"
#include "exercises/engine/parts.h"

static tt_status read_result(const char *path, struct tt_json **out)
{
    char *text;
    size_t size;
    TT_TRY(tt_file_read(path, 1 << 24, &text, &size));
    tt_status st = tt_json_parse(text, size, out);
    free(text);
    if (st) return tt_context(st, "%s", path);
    const struct tt_json *questions = tt_json_get(*out, "questions");
    if (questions && questions->type == TT_JSON_ARRAY && tt_json_get(*out, "exercise")) return TT_OK;
    tt_json_free(*out);
    return tt_fail(TT_USAGE, "%s is not a result of tt exercise check", path);
}

struct gathering {
    struct tt_json **results;
    int limit, count, depth;
    struct tt_text *notes;
};

/* A worksheet that was written after its result: the table would show what it was. */
static void note_stale(struct gathering *g, const char *folder, const char *result)
{
    char sheet[2100];
    struct stat a, b;
    snprintf(sheet, sizeof sheet, "%s/worksheet.yaml", folder);
    if (stat(sheet, &a) || stat(result, &b)) return;
    if (a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
        (a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec > b.st_mtim.tv_nsec))
        tt_text_printf(g->notes, "note    %s has changed since its last check: tt exercise check %s\n", sheet, folder);
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* result.json of the folder, or of folders in it, three levels down: class/learner/exercise. */
static tt_status gather(struct gathering *g, const char *folder)
{
    char path[2048];
    struct dirent **names;
    tt_status st = TT_OK;
    snprintf(path, sizeof path, "%s/result.json", folder);
    if (tt_is_file(path)) {
        if (g->count == g->limit)
            return tt_fail(TT_USAGE, "more than %d results; give fewer folders at a time", g->limit);
        TT_TRY(read_result(path, &g->results[g->count]));
        g->count++;
        note_stale(g, folder, path);
        return TT_OK;
    }
    if (++g->depth > 3) {
        g->depth--;
        return TT_OK;
    }
    int n = scandir(folder, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (!st && names[i]->d_name[0] != '.' && tt_is_dir(path)) st = gather(g, path);
        free(names[i]);
    }
    if (n >= 0) free(names);
    g->depth--;
    return st;
}

tt_status tt_class_read(const char *const *paths, int n, struct tt_json **results, int limit, int *count,
                        struct tt_text *notes)
{
    struct gathering g = {.results = results, .limit = limit, .notes = notes};
    tt_status st = TT_OK;
    for (int i = 0; i < n && !st; i++) {
        int before = g.count;
        if (!tt_is_dir(paths[i])) st = tt_fail(TT_USAGE, "%s is no folder", paths[i]);
        if (!st) st = gather(&g, paths[i]);
        if (!st && g.count == before)
            tt_text_printf(notes, "note    %s holds no result.json; tt exercise check N DIR leaves one in DIR\n",
                           paths[i]);
    }
    *count = g.count;
    if (!st && !g.count)
        st = tt_fail(TT_USAGE, "%s holds no result.json; tt exercise check N DIR leaves one in DIR", paths[0]);
    return st;
}

/* ---- tables ---- */

static double exercise_of(const struct tt_json *r) { return tt_json_number(r, "exercise", 0); }

const char *tt_class_learner(const struct tt_json *r)
{
    const char *name = tt_json_string(r, "learner", ""), *folder = tt_json_string(r, "folder", "");
    return name[0] ? name : folder[0] ? folder : "(no name)";
}

static const struct tt_json *question(const struct tt_json *result, const char *id)
{
    for (const struct tt_json *q = tt_json_get(result, "questions")->first; q; q = q->next)
        if (!strcmp(tt_json_string(q, "id", ""), id)) return q;
    return NULL;
}

static const char *sign_of(const struct tt_json *q)
{
    static const char *const signs[TT_MARK_KINDS] = {"+", "-", ".", "?", "/", "!"};
    for (int i = 0; q && i < TT_MARK_KINDS; i++)
        if (!strcmp(tt_json_string(q, "mark", ""), tt_mark_names[i])) return signs[i];
    return " ";
}

static void learner_line(struct tt_json *const *results, int n, int i, const struct tt_json *model, struct tt_text *out)
{
    const struct tt_json *r = results[i];
    tt_text_printf(out, "%-24s %4g of %-4g", tt_class_learner(r), tt_json_number(r, "points", 0),
                   tt_json_number(r, "most", 0));
    for (const struct tt_json *q = tt_json_get(model, "questions")->first; q; q = q->next)
        tt_text_printf(out, " %s", sign_of(question(r, tt_json_string(q, "id", ""))));
    tt_class_shares(results, n, i, out);
    tt_text_puts(out, "\n");
}

static void exercise_table(struct tt_json *const *results, int n, int first, struct tt_text *out)
{
    const struct tt_json *model = results[first];
    tt_text_printf(out, "exercise %g: %s\n", exercise_of(model), tt_json_string(model, "title", ""));
    for (int i = first; i < n; i++)
        if (exercise_of(results[i]) == exercise_of(model)) learner_line(results, n, i, model, out);
    for (const struct tt_json *q = tt_json_get(model, "questions")->first; q; q = q->next) {
        int right = 0, all = 0;
        for (int i = first; i < n; i++) {
            const struct tt_json *own = exercise_of(results[i]) == exercise_of(model)
                                        ? question(results[i], tt_json_string(q, "id", "")) : NULL;
            all += own && *sign_of(own) != '/';
            right += own && *sign_of(own) == '+';
        }
        tt_text_printf(out, "  %-22s right: %d of %d\n", tt_json_string(q, "id", ""), right, all);
    }
    tt_text_puts(out, "\n");
}

void tt_class_text(struct tt_json *const *results, int n, struct tt_text *out)
{
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) seen |= exercise_of(results[j]) == exercise_of(results[i]);
        if (!seen) exercise_table(results, n, i, out);
    }
    tt_class_shared(results, n, out);
    tt_text_puts(out, "+ right, - wrong, . empty, ? unknown, / passed over, ! refused\n");
}

void tt_class_csv(struct tt_json *const *results, int n, struct tt_text *out)
{
    tt_text_puts(out, "learner,exercise,question,mark,points,given,reason\n");
    for (int i = 0; i < n; i++)
        for (const struct tt_json *q = tt_json_get(results[i], "questions")->first; q; q = q->next) {
            tt_csv_put(out, tt_class_learner(results[i]));
            tt_csv_put_number(out, exercise_of(results[i]));
            tt_csv_put(out, tt_json_string(q, "id", ""));
            tt_csv_put(out, tt_json_string(q, "mark", ""));
            tt_csv_put_number(out, tt_json_number(q, "points", 0));
            tt_csv_put(out, tt_json_string(q, "given", ""));
            tt_csv_put(out, tt_json_string(q, "reason", ""));
            tt_csv_end(out);
        }
}
