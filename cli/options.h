/* The one table of options. The parser, the help, the reference page, --print-config and the keys of configuration
 * files all come from it.
 *
 * A value comes, from weak to strong, from the option's default, the preset, the configuration of the checkpoint that
 * is continued or read, the --config file, and the flags; a stronger source is never overwritten by a weaker one, in
 * whatever order they are applied. */
#ifndef TT_OPTIONS_H
#define TT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status.h"
#include "core/config/config.h"
#include "core/base/text.h"

enum tt_command {
    TT_CMD_TRAIN,
    TT_CMD_EVAL,
    TT_CMD_GENERATE,
    TT_CMD_DATA,
    TT_CMD_INFO,
    TT_CMD_BENCH,
    TT_CMD_PROFILE,
    TT_CMD_REPORT,
    TT_CMD_COMPARE,
    TT_CMD_CHECK,
    TT_CMD_DIAGNOSE,
    TT_CMD_EXPORT,
    TT_CMD_IMPORT,
    TT_CMD_EXERCISE,
    TT_CMD_HELP,
    TT_COMMANDS
};

struct tt_command_info {
    const char *name;
    const char *summary; /* one line */
    const char *about;   /* a few lines */
    const char *words;   /* the option that words without dashes set, or NULL */
    const char *example[3];
};
extern const struct tt_command_info tt_commands[TT_COMMANDS];
extern const char *const tt_command_names[TT_COMMANDS + 1]; /* NULL at the end */

enum tt_section {
    TT_SECTION_CHECKPOINT,
    TT_SECTION_GENERATE,
    TT_SECTION_TOKENS,
    TT_SECTION_INFO,
    TT_SECTION_BENCH,
    TT_SECTION_PROFILE,
    TT_SECTION_REPORT,
    TT_SECTION_DIAGNOSE,
    TT_SECTION_EXCHANGE,
    TT_SECTION_EXERCISE,
    TT_SECTION_MODEL,
    TT_SECTION_COMPUTE,
    TT_SECTION_TRAINING,
    TT_SECTION_VALIDATION,
    TT_SECTION_DATA,
    TT_SECTION_OUTPUT,
    TT_SECTION_GENERAL,
    TT_SECTIONS
};
extern const char *const tt_section_names[TT_SECTIONS];

enum tt_option_type { TT_OPTION_INT, TT_OPTION_NUMBER, TT_OPTION_BOOL, TT_OPTION_CHOICE, TT_OPTION_TEXT };

/* An option that differs in default or meaning between commands has several rows, each for other commands. */
struct tt_option {
    const char *name; /* without dashes in front */
    size_t offset, size;
    enum tt_option_type type; /* from the type of the field */
    enum tt_section section;
    unsigned commands;                /* 1 << enum tt_command */
    const char *value;                /* the default; NULL = what the preset says */
    const char *range;                /* of numbers, as an interval: "[0, 1)" */
    const char *metavar;              /* NULL = the choices */
    const char *help;                 /* one line */
    const char *const *choices;       /* NULL at the end; of a choice, or of a text or list that has only these */
    tt_status (*check)(const char *); /* further conditions on a text */
    char list;                        /* separator, when a text is a list: ',' or '\n' */
    bool inverted;                    /* the field says the opposite */
    bool required;                    /* the text must not be empty */
    bool here;                        /* belongs to this machine and call: not taken over from a checkpoint */
    bool flag_only;                   /* makes no sense in a file */
};

enum { TT_OPTION_LIMIT = 128 };
extern const struct tt_option tt_option_table[];
extern const int tt_option_count;

enum tt_source { TT_FROM_DEFAULT, TT_FROM_PRESET, TT_FROM_CHECKPOINT, TT_FROM_FILE, TT_FROM_FLAG };

struct tt_options {
    enum tt_command command;
    struct tt_config c;                    /* what the command does not take: numbers at their defaults, texts empty */
    unsigned char source[TT_OPTION_LIMIT]; /* enum tt_source of each row of the table */
};

/* ---- for the commands ---- */

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

/* ---- for main, help and tests ---- */

/* Defaults and the default preset. */
tt_status tt_options_init(struct tt_options *o, enum tt_command command);

/* The words after the command: flags, then the --config file, then the preset. With --help among them it stops early
 * with c.help set. */
tt_status tt_options_parse(struct tt_options *o, enum tt_command command, int argc, char *const *argv);

/* The same from a configuration file's text alone. */
tt_status tt_options_read(struct tt_options *o, enum tt_command command, const char *yaml);

/* What --print-config prints, before any checkpoint is read: like tt_options_print, but what is left open stands there
 * as a comment, since a value in the file would override the checkpoint's. */
void tt_options_print_open(const struct tt_options *o, struct tt_text *out);

/* Whether the value is not decided by the command line, but by the checkpoint or the sizes of bench; and by which. */
bool tt_option_left_open(const struct tt_options *o, const struct tt_option *row, const char **whose);
/* The same where the command line says nothing. */
bool tt_option_open_by_default(enum tt_command command, const struct tt_option *row, const char **whose);

/* TT_COMMANDS when there is none of that name. */
enum tt_command tt_command_find(const char *name);

/* The row of this option for this command; NULL when the command does not take it. */
const struct tt_option *tt_option_find(enum tt_command command, const char *name);
/* That row, or else train's, or else the first of that name; NULL when no command has it. */
const struct tt_option *tt_option_find_any(enum tt_command command, const char *name);

/* The nearest option name of the command, then of any command; NULL when none is near. */
const char *tt_option_nearest(enum tt_command command, const char *name);

/* ---- one value (cli/values.c) ---- */

/* Reads text into the field; on error the field is unchanged. `append` adds to a list. */
tt_status tt_value_set(const struct tt_option *row, struct tt_config *c, const char *text, bool append);
/* Appends the field as text that tt_value_set reads back to the same value. */
void tt_value_get(const struct tt_option *row, const struct tt_config *c, struct tt_text *out);
/* "a, b, c" or with another separator. */
void tt_join(struct tt_text *out, const char *const *names, const char *separator);

#endif
