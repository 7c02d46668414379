#include "profiling/report/run_choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kernels.h"
#include "core/base/file.h"
#include "core/base/grow.h"

enum { CELLS = 20000, MOST_COLUMNS = 200, MOST_GROUPS = 1 << 24 };
static const size_t FILE_LIMIT = (size_t)1 << 30;

/* ---- groups.csv: the row of each group ---- */

struct reading {
    struct tt_run_choices *c;
    int *row; /* of each group */
    size_t row_room, group_room;
};

/* The length of "layers.3" in the name of a tensor of that layer; else of the whole name. */
static int layer_letters(const char *name)
{
    int n = 0;
    return sscanf(name, "layers.%*d.%n", &n) == 0 && n ? n - 1 : (int)strlen(name);
}

/* Another tensor belongs to the same group, so the group is a layer: the row gets the layer's name. */
static void join_row(struct tt_choice_row *row, const char *name)
{
    int n = layer_letters(name);
    if (strncmp(row->name, name, (size_t)n)) return;
    row->name[n] = 0;
}

static bool add_row(struct reading *r, const char *name)
{
    struct tt_run_choices *c = r->c;
    if (!tt_grow(&c->rows, sizeof *c->rows, (size_t)c->row_count, &r->row_room)) return false;
    c->rows[c->row_count] = (struct tt_choice_row){0};
    memcpy(c->rows[c->row_count++].name, name, strlen(name) + 1);
    return true;
}

static bool add_group(struct reading *r, const char *name)
{
    struct tt_run_choices *c = r->c;
    bool same = c->row_count && !strcmp(c->rows[c->row_count - 1].name, name);
    if (!same && !add_row(r, name)) return false;
    if (!tt_grow(&r->row, sizeof *r->row, (size_t)c->groups, &r->group_room)) return false;
    r->row[c->groups++] = c->row_count - 1;
    c->rows[c->row_count - 1].groups++;
    return true;
}

static void drop_end(char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    if (n > m && !strcmp(name + n - m, end)) name[n - m] = 0;
}

static tt_status read_line(struct reading *r, const char *line, const char *path)
{
    long long group, first, rows;
    char name[96];
    if (sscanf(line, "%lld,%95[^,\n],%lld,%lld", &group, name, &first, &rows) != 4 || group < 0 ||
        group > r->c->groups || group >= MOST_GROUPS)
        return tt_fail(TT_FAILED, "%s is not as tt train wrote it: %.40s", path, line);
    drop_end(name, ".weight");
    if (group < r->c->groups) join_row(&r->c->rows[r->row[group]], name);
    else if (!add_group(r, name)) return tt_no_memory("the groups of %s", path);
    return TT_OK;
}

static tt_status read_groups(struct reading *r, const char *path)
{
    char *text;
    size_t n;
    TT_TRY(tt_file_read(path, FILE_LIMIT, &text, &n));
    tt_status st = TT_OK;
    for (char *line = strchr(text, '\n'); line && line[1] && !st; line = strchr(line + 1, '\n'))
        st = read_line(r, line + 1, path);
    free(text);
    return st;
}

/* ---- choices.bits ---- */

static int columns_of(const struct tt_run_choices *c)
{
    int64_t most = CELLS / c->row_count;
    most = most < 1 ? 1 : most > MOST_COLUMNS ? MOST_COLUMNS : most;
    return (int)(c->steps < most ? c->steps : most);
}

static bool is_set(const char *words, int64_t g)
{
    uint32_t word;
    memcpy(&word, words + g / 32 * (int64_t)sizeof word, sizeof word);
    return word >> g % 32 & 1;
}

/* Steps of column `at`: [from, to). */
static int64_t column_begin(const struct tt_run_choices *c, int at) { return c->steps * at / c->columns; }

static void count(struct tt_run_choices *c, const int *row, const char *bits, size_t step_bytes)
{
    for (int at = 0; at < c->columns; at++) {
        int64_t from = column_begin(c, at), to = column_begin(c, at + 1);
        for (int64_t step = from; step < to; step++)
            for (int64_t g = 0; g < c->groups; g++)
                if (is_set(bits + (size_t)step * step_bytes, g)) c->shade[row[g] * c->columns + at]++;
        for (int i = 0; i < c->row_count; i++) {
            float *shade = &c->shade[i * c->columns + at];
            c->rows[i].share += (double)*shade / (double)(c->steps * c->rows[i].groups);
            *shade /= (float)((to - from) * c->rows[i].groups);
        }
    }
}

static tt_status read_choices(struct reading *r, const char *path)
{
    struct tt_run_choices *c = r->c;
    size_t step_bytes = TT_CHOICE_WORDS((size_t)c->groups) * sizeof(uint32_t), n;
    char *bits;
    TT_TRY(tt_file_read(path, FILE_LIMIT, &bits, &n));
    c->steps = (int64_t)(n / step_bytes); /* the last one may be half written */
    c->columns = columns_of(c);
    c->shade = calloc((size_t)c->row_count * (size_t)c->columns + 1, sizeof *c->shade);
    if (c->shade) count(c, r->row, bits, step_bytes);
    free(bits);
    return c->shade ? TT_OK : tt_no_memory("the choices of a run");
}

tt_status tt_run_choices_read(const char *folder, struct tt_run_choices *c)
{
    char groups[1200], choices[1200];
    struct reading r = {.c = c};
    *c = (struct tt_run_choices){0};
    snprintf(groups, sizeof groups, "%s/groups.csv", folder);
    snprintf(choices, sizeof choices, "%s/choices.bits", folder);
    if (!tt_is_file(groups) || !tt_is_file(choices)) return TT_OK;
    tt_status st = read_groups(&r, groups);
    if (!st && c->groups) st = read_choices(&r, choices);
    free(r.row);
    return st;
}

void tt_run_choices_free(struct tt_run_choices *c)
{
    free(c->rows);
    free(c->shade);
    *c = (struct tt_run_choices){0};
}
