/* Options from a command line, and their values as text. */
#ifndef TT_OPTIONS_FIXTURE_H
#define TT_OPTIONS_FIXTURE_H

#include "cli/options.h"
#include "tests/test.h"

enum { MOST_WORDS = 16 };

/* Parses "--a 1 --b 2", split at spaces. */
static inline tt_status parse(struct tt_options *o, enum tt_command command, const char *line)
{
    char copy[1024], *words[MOST_WORDS], *rest = copy;
    int n = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word; n < MOST_WORDS && (word = strsep(&rest, " "));)
        if (*word) words[n++] = word;
    return tt_options_parse(o, command, n, words);
}

static inline bool takes(int command, const struct tt_option *row) { return tt_option_takes(command, row); }
static inline int row_count(void) { return tt_schema_count(&tt_schema); }
static inline const struct tt_option *row_at(int i) { return tt_schema_row(&tt_schema, i); }

/* Whether the option has this value, in whichever struct it is stored. */
static inline bool has(const struct tt_options *o, const char *name, const char *value)
{
    struct tt_text text = {0};
    tt_value_get(tt_schema_find(&tt_schema, o->command, name), o, &text);
    bool same = text.s && strcmp(text.s, value) == 0;
    tt_text_free(&text);
    return same;
}

static inline bool same_value(const struct tt_option *row, const struct tt_options *a, const struct tt_options *b)
{
    struct tt_text text[2] = {{0}};
    tt_value_get(row, a, &text[0]);
    tt_value_get(row, b, &text[1]);
    bool same = text[0].s && text[1].s && strcmp(text[0].s, text[1].s) == 0;
    for (int i = 0; i < 2; i++) tt_text_free(&text[i]);
    return same;
}

static inline char *printed(const struct tt_options *o)
{
    struct tt_text t = {0};
    tt_options_print_open(o, &t);
    CHECK_OK(tt_text_status(&t));
    return t.s;
}

/* The printed options, read back as a file, print the same again. */
static inline void check_round_trip(const struct tt_options *o, const char *what)
{
    static struct tt_options again;
    char *first = printed(o);
    CHECK_OK(tt_options_init(&again, o->command));
    CHECK_OK(tt_options_apply_yaml(&again, first, TT_FROM_FILE));
    char *second = printed(&again);
    CHECK(strcmp(first, second) == 0, "%s: %s", what, second);
    free(first);
    free(second);
}

#endif
