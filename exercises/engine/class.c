/* The results of many learners in one table, for whoever teaches. */
#include <dirent.h>
#include <math.h>
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
    int limit, count, depth, broken;
    struct tt_text *notes;
};

/* Notes a worksheet that has changed since its last check: its result is out of date. */
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

/* Notes a result that cannot be read and leaves it out; the others are still shown. */
static tt_status note_broken(struct gathering *g, tt_status st)
{
    tt_text_printf(g->notes, "note    left out: %s\n", st->text);
    tt_status_free(st);
    g->broken++;
    return TT_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Reads result.json of the folder, or else those of the folders in it, up to three levels down:
 * class/learner/exercise. */
static tt_status gather(struct gathering *g, const char *folder)
{
    char path[2048];
    struct dirent **names;
    tt_status st = TT_OK;
    snprintf(path, sizeof path, "%s/result.json", folder);
    if (tt_is_file(path)) {
        if (g->count == g->limit)
            return tt_fail(TT_USAGE, "more than %d results; give fewer folders at a time", g->limit);
        st = read_result(path, &g->results[g->count]);
        if (st) return note_broken(g, st);
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
        int before = g.count + g.broken;
        if (!tt_is_dir(paths[i])) st = tt_fail(TT_USAGE, "%s is no folder", paths[i]);
        if (!st) st = gather(&g, paths[i]);
        if (!st && g.count + g.broken == before)
            tt_text_printf(notes, "note    %s holds no result.json; tt exercise check N DIR leaves one in DIR\n",
                           paths[i]);
    }
    *count = g.count;
    if (!st && !g.count && g.broken)
        st = tt_fail(TT_USAGE, "no result.json could be read; %s", notes->s ? notes->s : "");
    if (!st && !g.count)
        st = tt_fail(TT_USAGE, "%s holds no result.json; tt exercise check N DIR leaves one in DIR", paths[0]);
    return st;
}

/* ---- tables ---- */

double tt_class_exercise(const struct tt_json *r) { return tt_json_number(r, "exercise", 0); }

const char *tt_class_learner(const struct tt_json *r)
{
    const char *name = tt_json_string(r, "learner", ""), *folder = tt_json_string(r, "folder", "");
    return name[0] ? name : folder[0] ? folder : "(no name)";
}

bool tt_class_nameless(const struct tt_json *r) { return !tt_json_string(r, "learner", "")[0]; }

bool tt_class_is_named(const struct tt_json *q) { return !strcmp(tt_json_string(q, "mark", ""), tt_mark_named); }

/* Adds up the questions, as the table shows them. The total in the file is not used: it may have been edited. */
double tt_class_points(const struct tt_json *r)
{
    double sum = 0;
    for (const struct tt_json *q = tt_json_get(r, "questions")->first; q; q = q->next) {
        const struct tt_json *optional = tt_json_get(q, "optional");
        bool extra = optional && optional->type == TT_JSON_BOOL && optional->boolean;
        if (*tt_class_sign(q) == '+' && !extra) sum += tt_json_number(q, "points", 0);
    }
    return fmin(sum, tt_json_number(r, "most", 0));
}

double tt_class_revealed(const struct tt_json *r) { return tt_json_number(r, "revealed", 0); }

const struct tt_json *tt_class_question(const struct tt_json *result, const char *id)
{
    for (const struct tt_json *q = tt_json_get(result, "questions")->first; q; q = q->next)
        if (!strcmp(tt_json_string(q, "id", ""), id)) return q;
    return NULL;
}

const char *tt_class_sign(const struct tt_json *q)
{
    static const char *const signs[TT_MARK_KINDS] = {"+", "-", ".", "?", "/", "!"};
    for (int i = 0; q && i < TT_MARK_KINDS; i++)
        if (!strcmp(tt_json_string(q, "mark", ""), tt_mark_names[i])) return signs[i];
    return q && tt_class_is_named(q) ? signs[TT_MARK_RIGHT] : " ";
}

static void learner_line(struct tt_json *const *results, int n, int i, const struct tt_json *model, struct tt_text *out)
{
    const struct tt_json *r = results[i];
    tt_text_printf(out, "%-24s %4g of %-4g", tt_class_learner(r), tt_class_points(r),
                   tt_json_number(r, "most", 0));
    for (const struct tt_json *q = tt_json_get(model, "questions")->first; q; q = q->next)
        tt_text_printf(out, " %s", tt_class_sign(tt_class_question(r, tt_json_string(q, "id", ""))));
    if (tt_class_revealed(r) > 0) tt_text_printf(out, "  answers shown: %g", tt_class_revealed(r));
    tt_class_shares(results, n, i, out);
    tt_text_puts(out, "\n");
}

static void exercise_table(struct tt_json *const *results, int n, int first, struct tt_text *out)
{
    const struct tt_json *model = results[first];
    tt_text_printf(out, "exercise %g: %s\n", tt_class_exercise(model), tt_json_string(model, "title", ""));
    for (int i = first; i < n; i++)
        if (tt_class_exercise(results[i]) == tt_class_exercise(model)) learner_line(results, n, i, model, out);
    for (const struct tt_json *q = tt_json_get(model, "questions")->first; q; q = q->next) {
        int right = 0, named = 0, all = 0;
        for (int i = first; i < n; i++) {
            const struct tt_json *own = tt_class_exercise(results[i]) == tt_class_exercise(model)
                                        ? tt_class_question(results[i], tt_json_string(q, "id", "")) : NULL;
            all += own && *tt_class_sign(own) != '/';
            right += own && *tt_class_sign(own) == '+';
            named += own && tt_class_is_named(own);
        }
        tt_text_printf(out, "  %-22s %s: %d of %d\n", tt_json_string(q, "id", ""), named ? tt_mark_named : "right",
                       right, all);
    }
    tt_text_puts(out, "\n");
}

void tt_class_text(struct tt_json *const *results, int n, struct tt_text *out)
{
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) seen |= tt_class_exercise(results[j]) == tt_class_exercise(results[i]);
        if (!seen) exercise_table(results, n, i, out);
    }
    tt_class_shared(results, n, out);
    int nameless = 0;
    for (int i = 0; i < n; i++) nameless += tt_class_nameless(results[i]);
    if (nameless)
        tt_text_printf(out, "%d of %d sheets have no learner: their folders stand for one, also where several are of "
                            "one learner\n", nameless, n);
    tt_text_puts(out, "+ right, or a sentence that names a figure, - wrong, . empty, ? unknown, / passed over, "
                      "! refused\n");
}

void tt_class_csv(struct tt_json *const *results, int n, struct tt_text *out)
{
    tt_text_puts(out, "learner,exercise,question,mark,points,given,reason\n");
    for (int i = 0; i < n; i++)
        for (const struct tt_json *q = tt_json_get(results[i], "questions")->first; q; q = q->next) {
            tt_csv_put(out, tt_class_learner(results[i]));
            tt_csv_put_number(out, tt_class_exercise(results[i]));
            tt_csv_put(out, tt_json_string(q, "id", ""));
            tt_csv_put(out, tt_json_string(q, "mark", ""));
            tt_csv_put_number(out, tt_json_number(q, "points", 0));
            tt_csv_put(out, tt_json_string(q, "given", ""));
            tt_csv_put(out, tt_json_string(q, "reason", ""));
            tt_csv_end(out);
        }
}
