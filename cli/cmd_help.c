/* tt help: explains. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/help.h"

/* ---- options ---- */

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_help_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"topic", AT(topic), "General", 1 << TT_CMD_HELP, "", TT_CHOICE,
     .help = "command to explain", .choices = tt_command_names, .flag_only = true},
    {"markdown", AT(markdown), "General", 1 << TT_CMD_HELP, "false", NULL, NULL,
     .help = "print the whole reference as Markdown", .flag_only = true},
    {"man", AT(man), "General", 1 << TT_CMD_HELP, "false", NULL, NULL,
     .help = "print the manual page, for man -l", .flag_only = true},
    {"completion", AT(completion), "General", 1 << TT_CMD_HELP, "", TT_CHOICE,
     .help = "print the completion script for this shell", .choices = tt_shell_names, .flag_only = true},
};
// clang-format on
const struct tt_rows tt_help_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_help_options);

tt_status tt_cmd_help(const struct tt_options *o)
{
    const struct tt_help_options *own = tt_own(o);
    struct tt_text text = {0};
    if (own->markdown)
        tt_help_markdown(&text);
    else if (own->man)
        tt_help_man(&text);
    else if (own->completion[0])
        tt_help_completion(own->completion, &text);
    else if (own->topic[0])
        tt_help_command(tt_command_find(own->topic), &text);
    else
        tt_help_all(&text);
    tt_status st = tt_text_status(&text);
    if (!st) fputs(text.s, stdout); /* main() looks whether that worked */
    tt_text_free(&text);
    return st;
}
