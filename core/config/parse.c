/* Fills struct tt_options from defaults, presets, configuration files and the command line, and prints it as YAML. */
#include <stdlib.h>
#include <string.h>

#include "core/base/yaml.h"
#include "core/config/inside.h"
#include "core/config/presets.h"

tt_status tt_option_check(const struct tt_option *row, const char *text)
{
    struct tt_options *scratch = calloc(1, sizeof *scratch);
    if (!scratch) return tt_no_memory("an option");
    tt_status st = tt_value_set(row, scratch, text, false);
    free(scratch);
    return st;
}

tt_status tt_option_set(struct tt_options *o, const struct tt_option *row, const char *text, enum tt_source source)
{
    unsigned char *had = tt_option_source(o, row);
    if (source < *had) return tt_option_check(row, text);
    TT_TRY(tt_value_set(row, o, text, source == TT_FROM_FLAG && *had == TT_FROM_FLAG));
    *had = (unsigned char)source;
    return TT_OK;
}

/* ---- defaults and presets ---- */

tt_status tt_options_apply_preset(struct tt_options *o, const char *name)
{
    const struct tt_option *preset_row = tt_schema_find_any(o->schema, o->command, "preset");
    TT_TRY(tt_value_set(preset_row, o, name, false));
    const struct tt_preset *preset = tt_preset_find(name);
    for (int i = 0; i < TT_PRESET_COLUMNS; i++) {
        const struct tt_option *row = tt_schema_find_any(o->schema, o->command, tt_preset_columns[i]);
        bool by_preset = !row->value; /* false for the vocab-size of `tt data` */
        if (by_preset) TT_TRY(tt_option_set(o, row, preset->value[i], TT_FROM_PRESET));
    }
    return TT_OK;
}

void tt_options_fit_warmup(struct tt_options *o)
{
    const struct tt_option *warmup = tt_schema_find_any(o->schema, o->command, "warmup-steps"),
                           *steps = tt_schema_find_any(o->schema, o->command, "num-steps");
    int source = warmup ? *tt_option_source(o, warmup) : TT_FROM_DEFAULT;
    bool asked = source >= TT_FROM_FILE && source >= *tt_option_source(o, steps);
    if (!asked && o->c.warmup_steps > o->c.num_steps) o->c.warmup_steps = o->c.num_steps / 10;
}

tt_status tt_options_begin(struct tt_options *o, const struct tt_schema *s, int command)
{
    memset(o, 0, sizeof *o);
    o->schema = s;
    o->command = command;
    o->c.hooks = s->hooks;
    for (int own = 0; own < 2; own++) { /* the rows of this command last, so that they win */
        for (int i = 0, n = tt_schema_count(s); i < n; i++) {
            const struct tt_option *row = tt_schema_row(s, i);
            if (!tt_option_has_field(command, row)) continue;
            if (!row->value || tt_option_takes(command, row) != own || (!own && row->type == TT_OPTION_TEXT)) continue;
            if (row->type == TT_OPTION_TEXT && !*row->value) continue;
            TT_TRY(tt_context(tt_value_set(row, o, row->value, false), "default of --%s", row->name));
        }
    }
    TT_TRY(tt_options_apply_preset(o, "default"));
    tt_options_fit_warmup(o);
    return TT_OK;
}

/* ---- the command line ---- */

struct words {
    int n;
    char *const *word;
};

/* An option on the command line: "--name", "--name=value", or "--no-name" of a bool. */
struct flag {
    char name[64];               /* without the value, and without "no-" if negated */
    const struct tt_option *row; /* NULL when the command has no such option */
    const char *value;           /* after the =; NULL: none */
    bool negated;
};

static struct flag read_flag(const struct tt_options *o, const char *word)
{
    struct flag f = {.value = strchr(word, '=')};
    size_t n = f.value ? (size_t)(f.value++ - word) : strlen(word);
    if (n >= 2 + sizeof f.name) n = 1 + sizeof f.name;
    memcpy(f.name, word + 2, n - 2);
    f.row = tt_schema_find(o->schema, o->command, f.name);
    if (!f.row && strncmp(f.name, "no-", 3) == 0) {
        const struct tt_option *row = tt_schema_find(o->schema, o->command, f.name + 3);
        f.negated = row && row->type == TT_OPTION_BOOL && !row->flag_only;
        if (f.negated) {
            f.row = row;
            memmove(f.name, f.name + 3, strlen(f.name + 3) + 1);
        }
    }
    return f;
}

/* Whether a word is an option or looks like a mistyped one. Then it is not the value of the option before it. */
static bool is_option(const struct tt_options *o, const char *word)
{
    if (strcmp(word, "-h") == 0 || strcmp(word, "--") == 0) return true;
    if (strncmp(word, "--", 2) != 0) return false;
    if (word[strcspn(word, " =")] == ' ') return false; /* several options in quotes are a value of --against */
    struct flag f = read_flag(o, word);
    return f.row || tt_schema_nearest(o->schema, o->command, f.name);
}

static void list_commands(const struct tt_schema *s, const char *option, struct tt_text *out)
{
    for (int i = 0, n = 0; i < s->command_count; i++)
        if (tt_schema_find(s, i, option)) tt_text_printf(out, "%s%s", n++ ? ", " : "", tt_command_name(s, i));
}

static tt_status unknown_option(const struct tt_options *o, const char *name)
{
    const char *here = tt_command_name(o->schema, o->command);
    struct tt_text others = {0};
    list_commands(o->schema, name, &others);
    const char *near = tt_schema_nearest(o->schema, o->command, name);
    const struct tt_option *instead = tt_schema_find_instead(o->schema, o->command, name);
    tt_status st;
    if (others.n > 0)
        st = tt_fail(TT_USAGE, "--%s is an option of %s, not of %s", name, others.s, here);
    else if (instead && tt_option_takes(o->command, instead))
        st = tt_fail(TT_USAGE, "%s has no option --%s; --%s does that", here, name, instead->name);
    else if (near && tt_schema_find(o->schema, o->command, near))
        st = tt_fail(TT_USAGE, "%s has no option --%s; did you mean --%s?", here, name, near);
    else
        st = tt_fail(TT_USAGE, "%s has no option --%s; tt help %s lists them", here, name, here);
    tt_text_free(&others);
    return st;
}

static tt_status set_bool_flag(struct tt_options *o, const struct flag *f)
{
    if (f->value && f->negated) return tt_fail(TT_USAGE, "--no-%s takes no value", f->name);
    if (f->value && f->row->flag_only) return tt_fail(TT_USAGE, "--%s takes no value", f->name);
    const char *text = f->value ? f->value : f->negated ? "false" : "true";
    return tt_context(tt_option_set(o, f->row, text, TT_FROM_FLAG), "--%s", f->name);
}

static tt_status value_missing(const struct flag *f)
{
    struct tt_text choices = {0};
    if (!f->row->metavar) tt_join(&choices, f->row->choices, "|");
    const char *what = choices.s ? choices.s : f->row->metavar;
    tt_status st = tt_fail(TT_USAGE, "--%s needs a value after it: --%s %s", f->name, f->name, what);
    tt_text_free(&choices);
    return st;
}

/* The value is after the = or is the next word, unless that is an option. */
static tt_status set_flag(struct tt_options *o, const struct flag *f, struct words *w)
{
    const char *value = f->value;
    if (!value) {
        if (w->n == 0) return value_missing(f);
        if (is_option(o, *w->word))
            return tt_fail(TT_USAGE, "--%s needs a value, but %s follows; if that is the value, write --%s=%s", f->name,
                           *w->word, f->name, *w->word);
        value = *w->word++;
        w->n--;
    }
    return tt_context(tt_option_set(o, f->row, value, TT_FROM_FLAG), "--%s", f->name);
}

/* A positional argument. */
static tt_status set_word(struct tt_options *o, const char *word)
{
    const struct tt_command_info *command = &o->schema->commands[o->command];
    if (!command->words)
        return tt_fail(TT_USAGE, "\"%s\" is one word too many; %s takes options only: tt help %s", word, command->name,
                       command->name);
    const struct tt_option *row = tt_schema_find(o->schema, o->command, command->words);
    if (!row->list && *tt_option_source(o, row) == TT_FROM_FLAG)
        return tt_fail(TT_USAGE, "\"%s\" is one word too many; %s takes one %s", word, command->name, row->name);
    return tt_context(tt_option_set(o, row, word, TT_FROM_FLAG), "tt %s", command->name);
}

/* Whether one word holds several, for a command that takes words: options in quotes, as those of tt bench --against. */
static bool is_quoted(const struct tt_options *o, const char *word)
{
    size_t n = strcspn(word, "= ");
    return word[n] == ' ' && o->schema->commands[o->command].words;
}

static tt_status parse_words(struct tt_options *o, struct words w)
{
    bool options_end = false;
    while (w.n > 0) {
        const char *word = *w.word++;
        w.n--;
        if (options_end || word[0] != '-' || word[1] == 0 || is_quoted(o, word)) {
            TT_TRY(set_word(o, word));
        } else if (strcmp(word, "--") == 0) {
            options_end = true;
        } else if (word[1] != '-') {
            return tt_fail(TT_USAGE, "%s: options begin with two dashes; tt help %s lists them", word,
                           tt_command_name(o->schema, o->command));
        } else {
            struct flag f = read_flag(o, word);
            if (!f.row) return unknown_option(o, f.name);
            TT_TRY(f.row->type == TT_OPTION_BOOL ? set_bool_flag(o, &f) : set_flag(o, &f, &w));
        }
    }
    return TT_OK;
}

static bool asks_for_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

tt_status tt_options_parse_words(struct tt_options *o, const struct tt_schema *s, int command, int argc,
                                 char *const *argv)
{
    TT_TRY(tt_options_begin(o, s, command));
    if (asks_for_help(argc, argv)) {
        o->call.help = true;
        return TT_OK;
    }
    TT_TRY(parse_words(o, (struct words){argc, argv}));
    if (o->call.config[0]) TT_TRY(tt_options_apply_file(o, o->call.config));
    if (tt_schema_find(s, command, "preset")) TT_TRY(tt_options_apply_preset(o, o->c.preset));
    tt_options_fit_warmup(o);
    return TT_OK;
}

tt_status tt_options_read(struct tt_options *o, const struct tt_schema *s, int command, const char *yaml)
{
    TT_TRY(tt_options_begin(o, s, command));
    TT_TRY(tt_options_apply_yaml(o, yaml, TT_FROM_FILE));
    TT_TRY(tt_options_apply_preset(o, o->c.preset));
    tt_options_fit_warmup(o);
    return TT_OK;
}

/* ---- printing as YAML ---- */

static void print_value(const struct tt_options *o, const struct tt_option *row, struct tt_text *out)
{
    struct tt_text value = {0};
    tt_value_get(row, o, &value);
    bool words = row->type == TT_OPTION_TEXT || row->type == TT_OPTION_CHOICE;
    if (value.failed)
        out->failed = true;
    else if (words)
        tt_yaml_put(out, value.s);
    else
        tt_text_puts(out, value.s);
    tt_text_free(&value);
}

static void print_options(const struct tt_options *o, bool final, struct tt_text *out)
{
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(o->schema, o->command, rows);
    const char *section = "";
    tt_text_printf(out, "# To run this again, save it as FILE: tt %s --config FILE\n",
                   tt_command_name(o->schema, o->command));
    for (int i = 0; i < n; i++) {
        const struct tt_option *row = rows[i];
        const char *whose;
        if (row->flag_only) continue;
        if (strcmp(section, row->section) != 0) tt_text_printf(out, "\n# %s\n", row->section);
        section = row->section;
        size_t start = out->n;
        if (!final && tt_option_left_open(o, row, &whose)) {
            tt_text_printf(out, "# %s: %s", row->name, whose);
        } else {
            tt_text_printf(out, "%s: ", row->name);
            print_value(o, row, out);
        }
        int pad = 32 - (int)(out->n - start);
        tt_text_printf(out, "%*s  # %s\n", pad > 0 ? pad : 0, "", row->help);
    }
}

void tt_options_print(const struct tt_options *o, struct tt_text *out) { print_options(o, true, out); }
void tt_options_print_open(const struct tt_options *o, struct tt_text *out) { print_options(o, false, out); }
