/* The options of tt: the schema of all its commands. A command's own rows and struct stand in its file. */
#ifndef TT_CLI_OPTIONS_H
#define TT_CLI_OPTIONS_H

#include "core/config/run_options.h"

extern const struct tt_schema tt_schema;
extern const struct tt_command_info tt_commands[TT_COMMANDS];
extern const char *const tt_command_names[TT_COMMANDS + 1]; /* NULL at the end */

/* For the rows of a command: a field of struct tt_config that the command gives its own meaning; and a check that its
 * own struct fits. */
#define TT_RUN_FIELD(field) TT_FIELD(TT_OF_RUN, struct tt_config, field)
#define TT_OWN_FITS(type) _Static_assert(sizeof(type) <= TT_OWN_BYTES, "raise TT_OWN_BYTES")

/* The struct of the command that these options are for. */
static inline const void *tt_own(const struct tt_options *o) { return o->own; }

/* TT_COMMANDS when there is none of that name. */
enum tt_command tt_command_find(const char *name);

/* core/config/options.h, for this schema. */
static inline tt_status tt_options_init(struct tt_options *o, enum tt_command command)
{
    return tt_options_begin(o, &tt_schema, (int)command);
}
static inline tt_status tt_options_parse(struct tt_options *o, enum tt_command command, int argc, char *const *argv)
{
    return tt_options_parse_words(o, &tt_schema, (int)command, argc, argv);
}
static inline const struct tt_option *tt_option_find(enum tt_command command, const char *name)
{
    return tt_schema_find(&tt_schema, (int)command, name);
}

#endif
