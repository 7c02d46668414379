/* tt help: explains. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/help.h"

tt_status tt_cmd_help(const struct tt_options *o)
{
    struct tt_text text = {0};
    if (o->c.markdown)
        tt_help_markdown(&text);
    else if (o->c.man)
        tt_help_man(&text);
    else if (o->c.completion[0])
        tt_help_completion(o->c.completion, &text);
    else if (o->c.topic[0])
        tt_help_command(tt_command_find(o->c.topic), &text);
    else
        tt_help_all(&text);
    tt_status st = tt_text_status(&text);
    if (!st) fputs(text.s, stdout); /* main() looks whether that worked */
    tt_text_free(&text);
    return st;
}
