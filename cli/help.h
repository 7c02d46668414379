/* What `tt help` prints, all of it made from the tables of options, commands and presets. */
#ifndef TT_HELP_H
#define TT_HELP_H

#include "cli/options.h"

struct tt_help_options {
    char topic[32]; /* a command; "" = all of them */
    bool markdown, man;
    char completion[8]; /* a shell; "" = none */
};

void tt_help_start(struct tt_text *out);                            /* `tt` alone: the commands to begin with */
void tt_help_all(struct tt_text *out);                              /* `tt help`: every command */
void tt_help_command(enum tt_command command, struct tt_text *out); /* `tt help train` */
void tt_help_markdown(struct tt_text *out);                         /* the page cli/REFERENCE.md */

void tt_help_man(struct tt_text *out);                              /* the manual page tt.1 */
void tt_help_completion(const char *shell, struct tt_text *out);    /* for bash, zsh or fish */
extern const char *const tt_shell_names[];                          /* names of these shells; NULL at the end */

/* Parts of a list of options. The label is "--batch-size N"; true when it shows all values there are. The
 * meaning is "sequences in a batch (in [1, 65536]; default by preset: 32)". */
bool tt_help_label(const struct tt_option *row, struct tt_text *out);
void tt_help_meaning(enum tt_command command, const struct tt_option *row, bool values_shown, struct tt_text *out);
void tt_help_usage(enum tt_command command, struct tt_text *out); /* "tt eval [PATH] [options]" */

/* How tt ends: the code and what it means. */
struct tt_exit_code {
    int code;
    const char *brief, *meaning; /* in tt help; in the reference and the manual page */
};
extern const struct tt_exit_code tt_exit_codes[];
extern const int tt_exit_code_count;

/* What values it takes: "in [1, 64]" or "a, b, c"; nothing for a text. */
void tt_help_values(const struct tt_option *row, struct tt_text *out);
/* Where values come from, and which wins. */
extern const char tt_help_precedence[];

/* The default as it is shown: of the row or of the default preset; "" for an empty text. */
const char *tt_help_default(const struct tt_option *row);

#endif
