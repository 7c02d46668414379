/* The manual page tt.1, in the language of man(7), from the tables of options, commands and presets. */
#include <string.h>

#include "cli/help.h"
#include "core/config/presets.h"

/* Escapes text for man: a dot or quote at the start must not be a request, and a dash must be the one that is typed. */
static void put_text(struct tt_text *out, const char *text)
{
    if (*text == '.' || *text == '\'') tt_text_puts(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            tt_text_puts(out, "\\e");
        else if (*text == '-')
            tt_text_puts(out, "\\-");
        else
            tt_text_add(out, text, 1);
    }
}

static void put_line(struct tt_text *out, const char *text)
{
    put_text(out, text);
    tt_text_puts(out, "\n");
}

static void put_made(struct tt_text *out, struct tt_text *made)
{
    if (made->failed) out->failed = true;
    put_line(out, made->s ? made->s : "");
    tt_text_free(made);
}

static void put_examples(struct tt_text *out, const struct tt_command_info *info)
{
    tt_text_puts(out, ".PP\n.EX\n");
    for (int i = 0; i < 3 && info->example[i]; i++) put_line(out, info->example[i]);
    tt_text_puts(out, ".EE\n");
}

static void put_commands(struct tt_text *out)
{
    tt_text_puts(out, ".SH COMMANDS\n");
    for (int i = 0; i < TT_COMMANDS; i++) {
        const struct tt_command_info *info = &tt_commands[i];
        struct tt_text usage = {0};
        tt_help_usage((enum tt_command)i, &usage);
        tt_text_puts(out, ".SS ");
        put_made(out, &usage);
        put_line(out, info->about);
        if (info->words && strcmp(info->words, "topic") != 0) {
            tt_text_puts(out, ".PP\nAn argument without dashes is a value of ");
            tt_text_printf(out, "\\fB\\-\\-%s\\fR.\n", info->words);
        }
        put_examples(out, info);
    }
}

/* "train, eval" */
static void put_takers(struct tt_text *out, const struct tt_option *row)
{
    for (int i = 0, n = 0; i < TT_COMMANDS; i++)
        if (row->commands >> i & 1) tt_text_printf(out, "%s%s", n++ ? ", " : "", tt_commands[i].name);
}

static void put_option(struct tt_text *out, const struct tt_option *row)
{
    struct tt_text label = {0}, meaning = {0};
    enum tt_command taker = TT_CMD_TRAIN;
    while (!(row->commands >> taker & 1)) taker++;
    bool shown = tt_help_label(row, &label);
    tt_help_meaning(taker, row, shown, &meaning);
    tt_text_puts(out, ".TP\n.B ");
    put_made(out, &label);
    put_made(out, &meaning);
    tt_text_puts(out, ".br\nCommands: ");
    put_takers(out, row);
    tt_text_puts(out, ".\n");
}

static void put_options(struct tt_text *out)
{
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, TT_ANY_COMMAND, rows);
    const char *section = "";
    tt_text_puts(
        out,
        ".SH OPTIONS\nThe value of an option is the next word, or follows an equals sign. A switch is turned on by its "
        "name, and off by \\fBno\\-\\fR before its name. If an option is given twice, the last one counts; a list "
        "grows.\n");
    for (int i = 0; i < n; i++) {
        const struct tt_option *row = rows[i];
        if (strcmp(section, row->section) != 0) tt_text_printf(out, ".SS %s\n", row->section);
        section = row->section;
        put_option(out, row);
    }
}

static void put_presets(struct tt_text *out)
{
    tt_text_puts(out, ".SH PRESETS\n");
    for (int i = 0; i < tt_preset_count; i++) {
        tt_text_printf(out, ".TP\n.B %s\n", tt_presets[i].name);
        put_line(out, tt_presets[i].about);
    }
}

static const char around[] = ".SH ENVIRONMENT\n"
                             ".TP\n.B OMP_NUM_THREADS\nNumber of CPU threads, unless \\fB\\-\\-threads\\fR sets it.\n"
                             ".TP\n.B XDG_CACHE_HOME\nMeasurements of a device are kept in its folder \\fItt\\fR, or "
                             "in \\fI~/.cache/tt\\fR if it is not set: \\fIceilings.json\\fR has the roofs of "
                             "profiles, \\fIgemm.txt\\fR the chosen algorithms of a GPU's matrix products.\n"
                             ".TP\n.B TT_CPU_GEMM\n\\fBblas\\fR multiplies matrices with the BLAS, \\fBbuiltin\\fR "
                             "with tt's own kernels; both do without AMX, the matrix units of some processors.\n"
                             ".TP\n.B TT_CPU_ISA\nInstruction set of the CPU kernels, if the processor has it: "
                             "\\fBbase\\fR, \\fBv3\\fR, \\fBv4\\fR.\n"
                             ".TP\n.B TT_EXERCISES\nThe folder of the exercises, if they are not where they were "
                             "installed.\n"
                             ".SH FILES\n"
                             ".TP\n.I runs/default\nThe folder of a run: \\fImetrics.jsonl\\fR with a line per step, "
                             "\\fIrun.json\\fR, and checkpoints \\fIstep\\-00000100\\fR with "
                             "\\fImodel.safetensors\\fR, \\fIstate.safetensors\\fR and \\fIcheckpoint.json\\fR.\n";

void tt_help_man(struct tt_text *out)
{
    tt_text_puts(
        out,
        ".\\\" Made by: tt help --man\n.TH TT 1 \"\" \"TinyTransformer " TT_VERSION_STRING "\" \"User Commands\"\n"
        ".SH NAME\ntt \\- train a tiny LLaMA, and show where the time goes\n"
        ".SH SYNOPSIS\n.B tt\n.I COMMAND\n.RI [ options ]\n.br\n.B tt \\-\\-version\n"
        ".SH DESCRIPTION\n"
        "tt trains a tiny LLaMA on a GPU or on the CPU, in three versions that compute the same at three levels of "
        "optimisation.\n");
    put_commands(out);
    put_options(out);
    put_presets(out);
    tt_text_puts(out, ".SH EXIT STATUS\n");
    for (int i = 0; i < tt_exit_code_count; i++) {
        tt_text_printf(out, ".TP\n.B %d\n", tt_exit_codes[i].code);
        put_line(out, tt_exit_codes[i].meaning);
    }
    tt_text_puts(out, around);
}
