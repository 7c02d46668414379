/* The option engine: the parser, help, reference page, --print-config and configuration files, all from one set of
 * tables.
 *
 * A schema has the commands of a program and groups of rows, one row per option. The rows of run_options.h fill struct
 * tt_config; a command may have rows that fill a struct of its own. The sources of a value, from weak to strong: the
 * option's default, the preset, the configuration in the checkpoint that is resumed or read, the --config file, the
 * flags. A weaker source never overwrites a stronger one, in whatever order they are applied. */
#ifndef TT_OPTIONS_H
#define TT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"
#include "core/config/config.h"

/* ---- tables ---- */

enum tt_option_type { TT_OPTION_INT, TT_OPTION_NUMBER, TT_OPTION_BOOL, TT_OPTION_CHOICE, TT_OPTION_TEXT };
enum tt_option_home { TT_OF_RUN, TT_OF_CALL, TT_OF_COMMAND }; /* struct tt_config, struct tt_call, the command's own */

/* An option whose default or meaning differs between commands has several rows, each for different commands. */
struct tt_option {
    const char *name; /* without dashes in front */
    enum tt_option_home home;
    size_t offset, size;
    enum tt_option_type type; /* from the type of the field */
    const char *section;
    unsigned commands;                /* bit set: 1 << index of the command in the schema */
    const char *value;                /* the default; NULL = from the preset */
    const char *range;                /* of numbers, as an interval: "[0, 1)" */
    const char *metavar;              /* NULL = show the choices */
    const char *help;                 /* one line */
    const char *const *choices;       /* allowed values, or items of a list; NULL at the end */
    tt_status (*check)(const char *); /* further checks of a text; for a list it replaces the check against choices */
    char list;                        /* separator, when a text is a list: ',' or '\n' */
    bool blanks;                      /* the list may have empty items */
    bool inverted;                    /* the field stores the opposite of the option */
    bool required;                    /* the text must not be empty */
    const char *const *also;          /* names of other programs for it: keys that a file may have instead */
    const char *const *instead;       /* options of other programs for the same purpose, which work differently */
    const char *same;                 /* values of other programs and ours for them: "auto=0 float16=fp16" */
    bool here;                        /* belongs to this machine and call: not taken over from a checkpoint */
    bool flag_only;                   /* makes no sense in a file */
    bool numeric;                     /* a text that is a number, or empty */
    bool map;                         /* a text "TYPE,KEY=X" that a file may have as a map, {type: TYPE, KEY: X} */
};

/* The location of a field and its option type; enums are choices. */
#define TT_FIELD(home, type, field)                                                                                    \
    home, offsetof(type, field), sizeof((type *)0)->field,                                         \
        _Generic(((type *)0)->field, int64_t: TT_OPTION_INT, double: TT_OPTION_NUMBER, bool: TT_OPTION_BOOL, \
                 char *: TT_OPTION_TEXT, default: TT_OPTION_CHOICE)

#define TT_BY_PRESET NULL
#define TT_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define TT_CHOICE NULL, NULL /* no range, and the choices instead of a metavar */

/* Options of several commands that are not part of a run's configuration. */
struct tt_call {
    char config[1024], checkpoint[1024];
    bool print_config, help;
};

struct tt_command_info {
    const char *name;
    const char *summary; /* one line */
    const char *about;   /* a few lines */
    const char *words;   /* the option that positional arguments set, or NULL */
    const char *example[3];
};

struct tt_rows {
    const struct tt_option *row;
    int count;
};
#define TT_ROWS(table)                                                                                                 \
    {                                                                                                                  \
        table, sizeof table / sizeof *table                                                                            \
    }

struct tt_schema {
    const struct tt_command_info *commands; /* train first */
    int command_count;
    const char *const *sections; /* in the order they are shown; NULL at the end */
    const struct tt_rows *const *groups;
    int group_count;
    const struct tt_hooks *hooks; /* of every configuration */
};

enum { TT_OPTION_LIMIT = 224, TT_OWN_BYTES = 40 << 10 };

/* The number of rows in all groups, and the i-th of them. */
int tt_schema_count(const struct tt_schema *s);
const struct tt_option *tt_schema_row(const struct tt_schema *s, int i);
/* The rows of a command, or of all with TT_ANY_COMMAND, in the order they are shown: by section. Returns how many. */
enum { TT_ANY_COMMAND = -1 };
int tt_schema_shown(const struct tt_schema *s, int command, const struct tt_option *rows[TT_OPTION_LIMIT]);

/* The row of this option for this command; NULL when the command does not take it. */
const struct tt_option *tt_schema_find(const struct tt_schema *s, int command, const char *name);
/* That row, else that of train, else the first of that name; NULL when no command has it. */
const struct tt_option *tt_schema_find_any(const struct tt_schema *s, int command, const char *name);
/* The same, or else the option that other programs call by this name (`also`). */
const struct tt_option *tt_schema_find_known(const struct tt_schema *s, int command, const char *name);
/* The option with the same purpose as another program's option of this name (`instead`); NULL: none. */
const struct tt_option *tt_schema_find_instead(const struct tt_schema *s, int command, const char *name);
/* The nearest option name of the command, then of any command; NULL when none is near. Names of other programs for an
 * option count too. */
const char *tt_schema_nearest(const struct tt_schema *s, int command, const char *name);

static inline bool tt_option_takes(int command, const struct tt_option *row) { return row->commands >> command & 1; }

/* ---- values ---- */

enum tt_source { TT_FROM_DEFAULT, TT_FROM_PRESET, TT_FROM_CHECKPOINT, TT_FROM_FILE, TT_FROM_FLAG };

struct tt_options {
    const struct tt_schema *schema;
    int command;
    struct tt_config c; /* fields that the command does not take: numbers have their defaults, texts are empty */
    struct tt_call call;
    _Alignas(16) char own[TT_OWN_BYTES];   /* the struct of the command */
    unsigned char source[TT_OPTION_LIMIT]; /* enum tt_source of each row */
};

/* Whether the user set it, by file or flag. */
bool tt_option_given(const struct tt_options *o, const char *name);

/* Applies a configuration file. Its keys are options of any command, at the top level or in groups (training:, data:),
 * under their names or under those of other programs. One error names all unknown keys.
 *
 * With TT_FROM_FILE, options of other commands are checked but not applied. With TT_FROM_CHECKPOINT they are applied (a
 * checkpoint tells `generate` the shape of its model), except those that belong to the machine or the call (--out,
 * --threads, ...). An explicit --preset that contradicts the checkpoint is an error.
 *
 * Errors begin with "line N: ". Call tt_config_check afterwards. */
tt_status tt_options_apply_yaml(struct tt_options *o, const char *text, enum tt_source source);

/* Sets the values of the preset that no stronger source has set. May be called again with another preset. */
tt_status tt_options_apply_preset(struct tt_options *o, const char *name);

/* Shortens a warm-up that is longer than the run to a tenth of the run, so that a short run need not set it. Leaves it
 * alone if a file or a flag set it and the number of steps comes from no stronger source. So a file of --print-config
 * also serves for fewer steps. */
void tt_options_fit_warmup(struct tt_options *o);

/* The final configuration as YAML that reproduces the run: every option of the command. A checkpoint keeps this. */
void tt_options_print(const struct tt_options *o, struct tt_text *out);

/* Sets the defaults and the default preset. */
tt_status tt_options_begin(struct tt_options *o, const struct tt_schema *s, int command);

/* Parses the command line after the command: flags, then the --config file, then the preset. With --help it only sets
 * call.help. */
tt_status tt_options_parse_words(struct tt_options *o, const struct tt_schema *s, int command, int argc,
                                 char *const *argv);

/* The same from the text of a configuration file alone. */
tt_status tt_options_read(struct tt_options *o, const struct tt_schema *s, int command, const char *yaml);

/* What --print-config prints, before any checkpoint is read: like tt_options_print, but an undecided value is printed
 * as a comment, since a value in the file would override that of the checkpoint. */
void tt_options_print_open(const struct tt_options *o, struct tt_text *out);

/* Whether the value is decided later, by the checkpoint, the data or the sizes of bench; *whose says by which. */
bool tt_option_left_open(const struct tt_options *o, const struct tt_option *row, const char **whose);
/* The same for an empty command line. */
bool tt_schema_left_open(const struct tt_schema *s, int command, const struct tt_option *row, const char **whose);

/* The enum tt_source of the row's value. Only for the files of the engine. */
unsigned char *tt_option_source(struct tt_options *o, const struct tt_option *row);

/* ---- one value (values.c) ---- */

/* Reads text into the field; on error the field is unchanged. `append` adds to a list. */
tt_status tt_value_set(const struct tt_option *row, struct tt_options *o, const char *text, bool append);
/* The option's own word for this value of another program (`same`); the text itself if it is no such value. */
const char *tt_value_here(const struct tt_option *row, const char *text, char out[32]);
/* Appends the field as text that tt_value_set reads back to the same value. */
void tt_value_get(const struct tt_option *row, const struct tt_options *o, struct tt_text *out);
/* Appends the names with the separator between them. */
void tt_join(struct tt_text *out, const char *const *names, const char *separator);

#endif
