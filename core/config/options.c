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

/* The nearest option name among the commands in the bit set. */
static const char *nearest_of(const struct tt_schema *s, unsigned commands, const char *name)
{
    const char *names[TT_OPTION_LIMIT];
    int n = 0;
    for (int i = 0, count = tt_schema_count(s); i < count; i++)
        if (tt_schema_row(s, i)->commands & commands) names[n++] = tt_schema_row(s, i)->name;
    return tt_nearest(name, names, n);
}

const char *tt_schema_nearest(const struct tt_schema *s, int command, const char *name)
{
    const char *near = nearest_of(s, 1u << command, name);
    return near ? near : nearest_of(s, ~0u, name);
}

/* ---- values that are decided later ---- */

static bool left_open(const struct tt_schema *s, int command, const char *resume, const char *data,
                      const struct tt_option *row, const char **whose)
{
    const unsigned trains =
        1u << TT_CMD_TRAIN | 1u << TT_CMD_DIAGNOSE | 1u << TT_CMD_PROFILE | 1u << TT_CMD_CHECK | 1u << TT_CMD_BENCH;
    bool continues = resume[0] && strcmp(resume, "none") != 0;
    bool reads = continues || tt_schema_find(s, command, "checkpoint");
    bool by_checkpoint = reads && !row->here && tt_schema_find(s, TT_CMD_TRAIN, row->name);
    bool by_size = !row->value && tt_schema_find(s, command, "sizes");
    bool files = data[0] && strcmp(data, "builtin") != 0 && strcmp(data, "random") != 0;
    bool by_data = trains >> command & 1 && files && strcmp(row->name, "vocab-size") == 0;
    bool by_run = continues && strcmp(resume, "auto") != 0 && strcmp(row->name, "out") == 0;
    if (by_data) *whose = "the data's own";
    if (by_checkpoint) *whose = "the checkpoint's own";
    if (by_run) *whose = "the folder of the resumed run";
    if (by_size) *whose = "each size's own";
    return by_checkpoint || by_size || by_data || by_run;
}

bool tt_option_left_open(const struct tt_options *o, const struct tt_option *row, const char **whose)
{
    bool chosen = o->source[index_of(o->schema, row)] >= TT_FROM_CHECKPOINT;
    return !chosen && left_open(o->schema, o->command, o->c.resume, o->c.data, row, whose);
}

bool tt_schema_left_open(const struct tt_schema *s, int command, const struct tt_option *row, const char **whose)
{
    return left_open(s, command, "", "", row, whose);
}

bool tt_option_given(const struct tt_options *o, const char *name)
{
    const struct tt_option *row = tt_schema_find_any(o->schema, o->command, name);
    return row && o->source[index_of(o->schema, row)] >= TT_FROM_FILE;
}
