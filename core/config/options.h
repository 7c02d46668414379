/* The option engine: a parser, help, a reference page, --print-config and configuration files from one set of tables.
 *
 * A schema is what a program offers: its commands, and groups of rows. The rows of a run (run_options.h) belong to its
 * configuration; a command may have rows and a struct of its own. A value comes, from weak to strong, from the option's
 * default, the preset, the configuration of the checkpoint that is continued or read, the --config file, and the flags;
 * a stronger source is never overwritten by a weaker one, in whatever order they are applied. */
#ifndef TT_OPTIONS_H
#define TT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"
#include "core/config/config.h"

/* ---- tables ---- */

enum tt_option_type { TT_OPTION_INT, TT_OPTION_NUMBER, TT_OPTION_BOOL, TT_OPTION_CHOICE, TT_OPTION_TEXT };
enum tt_option_home { TT_OF_RUN, TT_OF_CALL, TT_OF_COMMAND }; /* struct tt_config, struct tt_call, the command's own */

/* An option that differs in default or meaning between commands has several rows, each for other commands. */
struct tt_option {
    const char *name; /* without dashes in front */
    enum tt_option_home home;
    size_t offset, size;
    enum tt_option_type type; /* from the type of the field */
    const char *section;
    unsigned commands;                /* 1 << number of the command in the schema */
    const char *value;                /* the default; NULL = what the preset says */
    const char *range;                /* of numbers, as an interval: "[0, 1)" */
    const char *metavar;              /* NULL = the choices */
    const char *help;                 /* one line */
    const char *const *choices;       /* NULL at the end; of a choice, or of a text or list that has only these */
    tt_status (*check)(const char *); /* further conditions on a text */
    char list;                        /* separator, when a text is a list: ',' or '\n' */
    bool counted;                     /* the items of such a list may have a number before them: 8xh200 */
    bool inverted;                    /* the field says the opposite */
    bool required;                    /* the text must not be empty */
    bool here;                        /* belongs to this machine and call: not taken over from a checkpoint */
    bool flag_only;                   /* makes no sense in a file */
};

/* Where a field lies, and its type as an option: enums are choices. */
#define TT_FIELD(home, type, field)                                                                \
    home, offsetof(type, field), sizeof((type *)0)->field,                                         \
        _Generic(((type *)0)->field, int64_t: TT_OPTION_INT, double: TT_OPTION_NUMBER, bool: TT_OPTION_BOOL, \
                 char *: TT_OPTION_TEXT, default: TT_OPTION_CHOICE)

#define TT_BY_PRESET NULL
#define TT_CHOICE NULL, NULL /* no range, and the choices instead of a metavar */

/* What several commands take that does not belong to a run. */
struct tt_call {
    char config[1024], checkpoint[1024];
    bool print_config, help;
};

struct tt_command_info {
    const char *name;
    const char *summary; /* one line */
    const char *about;   /* a few lines */
    const char *words;   /* the option that words without dashes set, or NULL */
    const char *example[3];
};

struct tt_rows {
    const struct tt_option *row;
    int count;
};
#define TT_ROWS(table) {table, sizeof table / sizeof *table}

struct tt_schema {
    const struct tt_command_info *commands; /* train first */
    int command_count;
    const char *const *sections; /* in which order they are shown; NULL at the end */
    const struct tt_rows *const *groups;
    int group_count;
    const struct tt_hooks *hooks; /* of every configuration */
};

enum { TT_OPTION_LIMIT = 192, TT_OWN_BYTES = 40 << 10 };

int tt_schema_count(const struct tt_schema *s);
const struct tt_option *tt_schema_row(const struct tt_schema *s, int i);
/* The rows of a command, or all with TT_ANY_COMMAND, as they are shown: section by section. Returns how many. */
enum { TT_ANY_COMMAND = -1 };
int tt_schema_shown(const struct tt_schema *s, int command, const struct tt_option *rows[TT_OPTION_LIMIT]);

/* The row of this option for this command; NULL when the command does not take it. */
const struct tt_option *tt_schema_find(const struct tt_schema *s, int command, const char *name);
/* That row, or else train's, or else the first of that name; NULL when no command has it. */
const struct tt_option *tt_schema_find_any(const struct tt_schema *s, int command, const char *name);
/* The nearest option name of the command, then of any command; NULL when none is near. */
const char *tt_schema_nearest(const struct tt_schema *s, int command, const char *name);

static inline bool tt_option_takes(int command, const struct tt_option *row) { return row->commands >> command & 1; }

/* ---- values ---- */

enum tt_source { TT_FROM_DEFAULT, TT_FROM_PRESET, TT_FROM_CHECKPOINT, TT_FROM_FILE, TT_FROM_FLAG };

struct tt_options {
    const struct tt_schema *schema;
    int command;
    struct tt_config c; /* what the command does not take: numbers at their defaults, texts empty */
    struct tt_call call;
    _Alignas(16) char own[TT_OWN_BYTES];   /* the struct of the command */
    unsigned char source[TT_OPTION_LIMIT]; /* enum tt_source of each row */
};

/* Whether the user set it, by file or flag. */
bool tt_option_given(const struct tt_options *o, const char *name);

/* Applies a configuration file: keys are options of any command. With TT_FROM_FILE those of other commands are checked
 * and left alone; with TT_FROM_CHECKPOINT they are taken (a checkpoint tells `generate` the shape of its model), except
 * where they belong to the machine or the call (--out, --threads, ...); an explicit --preset that contradicts the
 * checkpoint is an error. Errors begin with "line N: ". Call tt_config_check afterwards. */
tt_status tt_options_apply_yaml(struct tt_options *o, const char *text, enum tt_source source);

/* Sets what the preset says wherever nothing stronger did; to go through several presets, call it again. */
tt_status tt_options_apply_preset(struct tt_options *o, const char *name);

/* The final configuration as YAML that reproduces the run: every option of the command. A checkpoint keeps this. */
void tt_options_print(const struct tt_options *o, struct tt_text *out);

/* Defaults and the default preset. */
tt_status tt_options_begin(struct tt_options *o, const struct tt_schema *s, int command);

/* The words after the command: flags, then the --config file, then the preset. With --help among them it stops early
 * with call.help set. */
tt_status tt_options_parse_words(struct tt_options *o, const struct tt_schema *s, int command, int argc,
                                 char *const *argv);

/* The same from a configuration file's text alone. */
tt_status tt_options_read(struct tt_options *o, const struct tt_schema *s, int command, const char *yaml);

/* What --print-config prints, before any checkpoint is read: like tt_options_print, but what is left open stands there
 * as a comment, since a value in the file would override the checkpoint's. */
void tt_options_print_open(const struct tt_options *o, struct tt_text *out);

/* Whether the value is not decided by the command line, but by the checkpoint or the sizes of bench; and by which. */
bool tt_option_left_open(const struct tt_options *o, const struct tt_option *row, const char **whose);
/* The same where the command line says nothing. */
bool tt_schema_left_open(const struct tt_schema *s, int command, const struct tt_option *row, const char **whose);

/* Where the row's value comes from, for the engine's own files: enum tt_source. */
unsigned char *tt_option_source(struct tt_options *o, const struct tt_option *row);

/* ---- one value (values.c) ---- */

/* Reads text into the field; on error the field is unchanged. `append` adds to a list. */
tt_status tt_value_set(const struct tt_option *row, struct tt_options *o, const char *text, bool append);
/* Appends the field as text that tt_value_set reads back to the same value. */
void tt_value_get(const struct tt_option *row, const struct tt_options *o, struct tt_text *out);
/* "a, b, c" or with another separator. */
void tt_join(struct tt_text *out, const char *const *names, const char *separator);

#endif
