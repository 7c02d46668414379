/* Lookups in the tables of a schema. */
#include "core/config/options.h"

#include <string.h>

#include "core/config/run_options.h"

int tt_schema_count(const struct tt_schema *s)
{
    int n = 0;
    for (int g = 0; g < s->group_count; g++) n += s->groups[g]->count;
    return n;
}

const struct tt_option *tt_schema_row(const struct tt_schema *s, int i)
{
    for (int g = 0; g < s->group_count; g++) {
        if (i < s->groups[g]->count) return &s->groups[g]->row[i];
        i -= s->groups[g]->count;
    }
    return NULL;
}

/* The index of the row among all rows. */
static int index_of(const struct tt_schema *s, const struct tt_option *row)
{
    int first = 0, g = 0;
    while (row < s->groups[g]->row || row >= s->groups[g]->row + s->groups[g]->count) first += s->groups[g++]->count;
    return first + (int)(row - s->groups[g]->row);
}

unsigned char *tt_option_source(struct tt_options *o, const struct tt_option *row)
{
    return &o->source[index_of(o->schema, row)];
}

int tt_schema_shown(const struct tt_schema *s, int command, const struct tt_option *rows[TT_OPTION_LIMIT])
{
    int n = 0, count = tt_schema_count(s);
    for (int k = 0; s->sections[k]; k++)
        for (int i = 0; i < count; i++) {
            const struct tt_option *row = tt_schema_row(s, i);
            bool taken = command == TT_ANY_COMMAND || tt_option_takes(command, row);
            if (taken && strcmp(row->section, s->sections[k]) == 0) rows[n++] = row;
        }
    return n;
}

const struct tt_option *tt_schema_find(const struct tt_schema *s, int command, const char *name)
{
    for (int g = 0; g < s->group_count; g++)
        for (int i = 0; i < s->groups[g]->count; i++) {
            const struct tt_option *row = &s->groups[g]->row[i];
            if (tt_option_takes(command, row) && strcmp(row->name, name) == 0) return row;
        }
    return NULL;
}

const struct tt_option *tt_schema_find_any(const struct tt_schema *s, int command, const char *name)
{
    const struct tt_option *row = tt_schema_find(s, command, name);
    if (!row) row = tt_schema_find(s, TT_CMD_TRAIN, name);
    for (int i = 0, n = tt_schema_count(s); !row && i < n; i++)
        if (strcmp(tt_schema_row(s, i)->name, name) == 0) row = tt_schema_row(s, i);
    return row;
}

/* ---- names of other programs ---- */

static bool has_name(const char *const *names, const char *name)
{
    for (int i = 0; names && names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static const char *const *also(const struct tt_option *row) { return row->also; }
static const char *const *instead(const struct tt_option *row) { return row->instead; }

/* The option that has this name in its list: its row for the command, or else for train, or else the first. */
static const struct tt_option *find_listed(const struct tt_schema *s, int command, const char *name,
                                           const char *const *(*list)(const struct tt_option *))
{
    for (int i = 0, n = tt_schema_count(s); i < n; i++) {
        const struct tt_option *row = tt_schema_row(s, i);
        if (has_name(list(row), name)) return tt_schema_find_any(s, command, row->name);
    }
    return NULL;
}

const struct tt_option *tt_schema_find_known(const struct tt_schema *s, int command, const char *name)
{
    const struct tt_option *row = tt_schema_find_any(s, command, name);
    return row ? row : find_listed(s, command, name, also);
}

const struct tt_option *tt_schema_find_instead(const struct tt_schema *s, int command, const char *name)
{
    return find_listed(s, command, name, instead);
}

/* ---- the nearest ---- */

enum { NAMES = 4 * TT_OPTION_LIMIT };

struct names {
    const char *name[NAMES], *option[NAMES]; /* a name, and the option that has it */
    int n;
};

static void add_name(struct names *l, const char *name, const char *option)
{
    if (l->n == NAMES) return;
    l->name[l->n] = name;
    l->option[l->n++] = option;
}

/* The nearest among the options of the commands in the bit set. */
static const char *nearest_of(const struct tt_schema *s, unsigned commands, const char *name)
{
    struct names l = {.n = 0};
    int count = tt_schema_count(s);
    for (int i = 0; i < count; i++) {
        const struct tt_option *row = tt_schema_row(s, i);
        if (row->commands & commands) add_name(&l, row->name, row->name);
    }
    const char *near = tt_nearest(name, l.name, l.n);
    if (near) return near;
    for (int i = 0; i < count; i++) {
        const struct tt_option *row = tt_schema_row(s, i);
        if (!(row->commands & commands)) continue;
        for (int k = 0; row->also && row->also[k]; k++) add_name(&l, row->also[k], row->name);
    }
    near = tt_nearest(name, l.name, l.n);
    for (int i = 0; near && i < l.n; i++)
        if (l.name[i] == near) return l.option[i];
    return NULL;
}

const char *tt_schema_nearest(const struct tt_schema *s, int command, const char *name)
{
    const struct tt_option *same = find_listed(s, command, name, also);
    const char *near = same ? same->name : nearest_of(s, 1u << command, name);
    return near ? near : nearest_of(s, ~0u, name);
}

/* ---- values that are decided later ---- */

/* The options that make others be decided later. */
struct decided {
    const char *resume, *data;
    bool epochs;
};

static bool left_open(const struct tt_schema *s, int command, struct decided by, const struct tt_option *row,
                      const char **whose)
{
    const char *resume = by.resume, *data = by.data;
    const unsigned trains = 1u << TT_CMD_TRAIN | 1u << TT_CMD_DIAGNOSE | 1u << TT_CMD_PROFILE | 1u << TT_CMD_CHECK |
                            1u << TT_CMD_BENCH;
    bool continues = resume[0] && strcmp(resume, "none") != 0;
    bool reads = continues || tt_schema_find(s, command, "checkpoint");
    bool by_checkpoint = reads && !row->here && tt_schema_find(s, TT_CMD_TRAIN, row->name);
    bool by_size = !row->value && tt_schema_find(s, command, "sizes");
    bool files = data[0] && strcmp(data, "builtin") != 0 && strcmp(data, "random") != 0;
    bool by_data = trains >> command & 1 && files && strcmp(row->name, "vocab-size") == 0;
    bool by_epochs = by.epochs && strcmp(row->name, "num-steps") == 0;
    bool by_run = continues && strcmp(resume, "auto") != 0 && strcmp(row->name, "out") == 0;
    if (by_data) *whose = "the data's own";
    if (by_epochs) *whose = "computed from --epochs";
    if (by_checkpoint) *whose = "the checkpoint's own";
    if (by_run) *whose = "the folder of the resumed run";
    if (by_size) *whose = "each size's own";
    return by_checkpoint || by_size || by_data || by_run || by_epochs;
}

bool tt_option_left_open(const struct tt_options *o, const struct tt_option *row, const char **whose)
{
    bool chosen = o->source[index_of(o->schema, row)] >= TT_FROM_CHECKPOINT;
    struct decided by = {o->c.resume, o->c.data, o->c.epochs > 0};
    return !chosen && left_open(o->schema, o->command, by, row, whose);
}

bool tt_schema_left_open(const struct tt_schema *s, int command, const struct tt_option *row, const char **whose)
{
    return left_open(s, command, (struct decided){"", "", false}, row, whose);
}

bool tt_option_given(const struct tt_options *o, const char *name)
{
    const struct tt_option *row = tt_schema_find_any(o->schema, o->command, name);
    return row && o->source[index_of(o->schema, row)] >= TT_FROM_FILE;
}
