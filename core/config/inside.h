/* Declarations shared by the files of the option engine. */
#ifndef TT_CONFIG_INSIDE_H
#define TT_CONFIG_INSIDE_H

#include "core/config/options.h"

static inline const char *tt_command_name(const struct tt_schema *s, int command) { return s->commands[command].name; }

/* Whether struct tt_options has the field: not if it belongs to the struct of another command. */
static inline bool tt_option_has_field(int command, const struct tt_option *row)
{
    return row->home != TT_OF_COMMAND || tt_option_takes(command, row);
}

/* Sets the field unless a stronger source has set it; checks the text in any case. A repeated flag appends. */
tt_status tt_option_set(struct tt_options *o, const struct tt_option *row, const char *text, enum tt_source source);
tt_status tt_option_check(const struct tt_option *row, const char *text); /* the text alone */

tt_status tt_options_apply_file(struct tt_options *o, const char *path);

#endif
