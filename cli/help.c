/* Help for the terminal, from the tables. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "core/config/presets.h"

enum { WIDTH = 100, INDENT = 30 };

const char tt_help_precedence[] =
    "A value comes from one of these, of which the last wins: the option's default, the preset, the checkpoint that is "
    "continued or read, the --config file, the command line. Options of the machine or of the call (such as --ranks, "
    "--shard, --threads, --device and --out) are never taken from a checkpoint.";

/* ---- one option ---- */

const char *tt_help_default(const struct tt_option *row)
{
    if (row->value) return *row->value ? row->value : "\"\"";
    for (int i = 0; i < TT_PRESET_COLUMNS; i++)
        if (strcmp(tt_preset_columns[i], row->name) == 0) return tt_preset_find("default")->value[i];
    return "";
}

/* "--batch-size N", "--recompute none|attention|block", "--[no-]tie-embeddings"; true when all values are in it. */
bool tt_help_label(const struct tt_option *row, struct tt_text *out)
{
    if (row->type == TT_OPTION_BOOL) {
        tt_text_printf(out, row->flag_only ? "--%s" : "--[no-]%s", row->name);
        return true;
    }
    tt_text_printf(out, "--%s ", row->name);
    struct tt_text choices = {0};
    if (!row->metavar) tt_join(&choices, row->choices, "|");
    bool few = choices.s && choices.n <= 24;
    tt_text_puts(out, row->metavar ? row->metavar : few ? choices.s : "NAME");
    tt_text_free(&choices);
    return few;
}

void tt_help_values(const struct tt_option *row, struct tt_text *out)
{
    if (row->range) tt_text_printf(out, "in %s", row->range);
    if (row->choices) tt_join(out, row->choices, ", ");
    if (row->list == ',') tt_text_puts(out, row->choices ? "; separated by commas" : "separated by commas");
}

/* "sequences in a batch (in [1, 65536]; default by preset: 32)" */
void tt_help_meaning(enum tt_command command, const struct tt_option *row, bool values_shown, struct tt_text *out)
{
    tt_text_puts(out, row->help);
    if (row->flag_only) return;
    struct tt_text values = {0};
    if (!values_shown) tt_help_values(row, &values);
    const char *given = row->value ? "" : " by preset:", *value = tt_help_default(row);
    if (tt_schema_left_open(&tt_schema, command, row, &value)) given = ":";
    tt_text_printf(out, " (%s%sdefault%s %s)", values.s ? values.s : "", values.s ? "; " : "", given, value);
    tt_text_free(&values);
}

/* Words of text in lines up to WIDTH; the first line has `column` characters already, the others begin at indent. */
static void put_wrapped(struct tt_text *out, const char *text, int column, int indent)
{
    for (bool first = true; *text; first = false) {
        int n = (int)strcspn(text, " ");
        if (!first && column + 1 + n > WIDTH) {
            tt_text_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            tt_text_puts(out, " ");
            column++;
        }
        tt_text_add(out, text, (size_t)n);
        column += n;
        text += n + (text[n] == ' ');
    }
    tt_text_puts(out, "\n");
}

static void put_option(enum tt_command command, const struct tt_option *row, struct tt_text *out)
{
    struct tt_text label = {0}, meaning = {0};
    bool values_shown = tt_help_label(row, &label);
    tt_help_meaning(command, row, values_shown, &meaning);
    if (label.failed || meaning.failed) {
        out->failed = true;
    } else {
        tt_text_printf(out, "  %-*s", label.n + 2 < INDENT ? INDENT - 2 : 0, label.s);
        if (label.n + 2 >= INDENT) tt_text_printf(out, "\n%*s", INDENT, "");
        put_wrapped(out, meaning.s, INDENT, INDENT);
    }
    tt_text_free(&label);
    tt_text_free(&meaning);
}

/* ---- exit codes ---- */

const struct tt_exit_code tt_exit_codes[] = {
    {0, "done", "done"},
    {1, "a valid request failed (a damaged file, no permission, space or memory)",
     "a valid request failed: a damaged file, no permission, no space, no memory, a model too large for the device"},
    {2, "an invalid request, and nothing was written (a bad option or value, a name that does not exist or is of the "
        "wrong kind)",
     "an invalid request, and nothing was written: a bad option, value or configuration, a name that does not exist or "
     "is of the wrong kind, data that do not fit the model"},
    {3, "no usable device", "no usable device"},
    {4, "a needed tool or library is not installed",
     "a needed tool or library is not installed: a profiler, an MPI, NCCL or RCCL, SQLite"},
    {5, "a condition of compare --fail-if holds", "`tt compare --fail-if`: a condition holds"},
    {6, "diagnose has warnings, or exercise check finds answers that are not right yet",
     "`tt diagnose`: the run would work, but there are warnings; `tt exercise check` and `report`: not all answers are "
     "right yet; `tt exercise roadmap`: not every gate holds"},
    {7, "another process of the job is gone",
     "another process of the job is gone; `tt train --resume auto` continues from the last checkpoint"},
    {8, "a condition of compare --fail-if cannot be decided",
     "`tt compare --fail-if`: no condition holds, but one cannot be decided: too few steps, too much noise, or nothing "
     "to judge by"},
    {130, "stopped by a signal", "stopped by a signal; `tt train` saves its run first"},
};
const int tt_exit_code_count = sizeof tt_exit_codes / sizeof *tt_exit_codes;

static void put_exit_codes(struct tt_text *out)
{
    struct tt_text line = {0};
    tt_text_puts(&line, "Exit codes:");
    for (int i = 0; i < tt_exit_code_count; i++)
        tt_text_printf(&line, " %d %s%s", tt_exit_codes[i].code, tt_exit_codes[i].brief,
                       i < tt_exit_code_count - 1 ? ";" : ".");
    out->failed |= line.failed;
    put_wrapped(out, line.s ? line.s : "", 0, 0);
    tt_text_free(&line);
}

/* ---- commands ---- */

void tt_help_usage(enum tt_command command, struct tt_text *out)
{
    const struct tt_command_info *info = &tt_commands[command];
    const struct tt_option *words = info->words ? tt_option_find(command, info->words) : NULL;
    tt_text_printf(out, "tt %s", info->name);
    if (words) tt_text_printf(out, " [%s%s]", words->metavar ? words->metavar : "COMMAND", words->list ? "..." : "");
    tt_text_puts(out, " [options]");
}

static void put_summaries(struct tt_text *out)
{
    for (int i = 0; i < TT_COMMANDS; i++)
        tt_text_printf(out, "  %-10s %s\n", tt_commands[i].name, tt_commands[i].summary);
}

void tt_help_start(struct tt_text *out)
{
    tt_text_puts(out,
                 "tt trains a tiny LLaMA, in three versions that compute the same, and shows where the time goes.\n\n"
                 "  tt train               train a model on the built-in language\n"
                 "  tt generate            write with the model that was trained\n"
                 "  tt bench               time the three versions against each other\n\n"
                 "tt help lists all commands, tt help COMMAND the options of one.\n");
}

void tt_help_all(struct tt_text *out)
{
    tt_text_puts(out, "usage: tt COMMAND [options]\n\n");
    put_summaries(out);
    tt_text_puts(out, "\n  tt help COMMAND    explains a command and its options; so does tt COMMAND --help\n"
                      "  tt help --markdown prints the whole reference, tt help --man the manual page\n"
                      "  tt --version       prints the version of this program and its backend\n\n");
    put_wrapped(out, tt_help_precedence, 0, 0);
    tt_text_puts(out, "\n");
    put_exit_codes(out);
}

static void put_presets(struct tt_text *out)
{
    tt_text_puts(out, "\nPresets\n");
    for (int i = 0; i < tt_preset_count; i++) {
        const struct tt_preset *p = &tt_presets[i];
        tt_text_printf(out, "  %-8s %s\n          ", p->name, p->about);
        for (int j = 0; j < TT_PRESET_COLUMNS; j++) {
            if (j == 6) tt_text_puts(out, "\n          ");
            tt_text_printf(out, " %s %s%s", tt_preset_columns[j], p->value[j], j < TT_PRESET_COLUMNS - 1 ? "," : "\n");
        }
    }
}

static void put_fusions(struct tt_text *out)
{
    tt_text_puts(out, "\nFusions (* = in the version fused, all are in flash, none in baseline)\n");
    for (int i = 0; i < TT_FUSION_COUNT; i++)
        tt_text_printf(out, "  %-12s%s %s\n", tt_fusion_names[i],
                       tt_version_has(TT_FUSED, (enum tt_fusion)i) ? "*" : " ", tt_fusion_texts[i]);
}

void tt_help_command(enum tt_command command, struct tt_text *out)
{
    const struct tt_command_info *info = &tt_commands[command];
    tt_text_puts(out, "usage: ");
    tt_help_usage(command, out);
    tt_text_printf(out, "\n\n%s\n", info->about);
    if (info->words && strcmp(info->words, "topic") != 0)
        tt_text_printf(out, "\nAn argument without dashes is a value of --%s.\n", info->words);
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, (int)command, rows);
    const char *section = "";
    for (int i = 0; i < n; i++) {
        const struct tt_option *row = rows[i];
        if (strcmp(section, row->section) != 0) tt_text_printf(out, "\n%s\n", row->section);
        section = row->section;
        put_option(command, row, out);
    }
    if (tt_option_find(command, "preset") || tt_option_find(command, "sizes")) put_presets(out);
    if (tt_option_find(command, "fuse")) put_fusions(out);
    tt_text_puts(out, "\nExamples\n");
    for (int i = 0; i < 3 && info->example[i]; i++) tt_text_printf(out, "  %s\n", info->example[i]);
}
