/* What `tt help` prints, all of it made from the tables of options, commands and presets. */
#ifndef TT_HELP_H
#define TT_HELP_H

#include "cli/options.h"

void tt_help_start(struct tt_text *out);                            /* `tt` alone: the commands to begin with */
void tt_help_all(struct tt_text *out);                              /* `tt help`: every command */
void tt_help_command(enum tt_command command, struct tt_text *out); /* `tt help train` */
void tt_help_markdown(struct tt_text *out);                         /* the page cli/REFERENCE.md */

/* The default as it is shown: of the row or of the default preset; "" for an empty text. */
const char *tt_help_default(const struct tt_option *row);

#endif
