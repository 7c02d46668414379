/* Help for the terminal, from the tables. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "core/config/presets.h"

enum { WIDTH = 100, INDENT = 30 };

const char tt_help_precedence[] =
    "A value comes from the option's default, the preset, the configuration of the checkpoint that is continued or "
    "read, the --config file, and the flags; what stands later in this list wins.";

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
    if (row->list == ',') tt_text_puts(out, row->choices ? "; a comma between" : "a comma between");
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
    {1, "asked rightly, but it could not be done (a damaged file, no permission, space or memory)",
     "asked rightly, but it could not be done: a damaged file, no permission, no space, no memory, a model too large "
     "for the device"},
    {2, "asked wrongly, and nothing was written (an option or value, a name of something that is not there or is of "
        "another kind)",
     "asked wrongly, and nothing was written: an option, a value, a configuration, a name of something that is not "
     "there or is of another kind, data that do not fit the model"},
    {3, "no usable device", "no usable device"},
    {4, "a profiler is not installed", "`tt profile --with`: that profiler is not installed"},
    {5, "a condition of compare --fail-if holds", "`tt compare --fail-if`: a condition holds"},
    {6, "diagnose has warnings, or exercise check finds answers that are not right yet",
     "`tt diagnose`: the run would work, but there are warnings; `tt exercise check`: not all answers are right yet"},
    {7, "another process of the job is gone",
     "another process of the job is gone; the run goes on from its last checkpoint"},
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
                      "  tt help --markdown prints the whole reference; --man the manual page\n"
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
        tt_text_printf(out, "A word without dashes is the same as --%s.\n", info->words);
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
<<<<<<< HEAD
=======

/* ---- the reference page ---- */

static void markdown_commands(struct tt_text *out)
{
    const struct tt_option *rows[TT_OPTION_LIMIT];
    for (int i = 0; i < TT_COMMANDS; i++) {
        const struct tt_command_info *info = &tt_commands[i];
        tt_text_printf(out, "\n## tt %s\n\n%s\n\n```\n", info->name, info->about);
        tt_help_usage((enum tt_command)i, out);
        tt_text_puts(out, "\n```\n\n");
        if (info->words && strcmp(info->words, "topic") != 0)
            tt_text_printf(out, "A word without dashes is the same as `--%s`. ", info->words);
        tt_text_puts(out, "Options:");
        int n = tt_schema_shown(&tt_schema, i, rows);
        for (int j = 0; j < n; j++) tt_text_printf(out, "%s`--%s`", j ? ", " : " ", rows[j]->name);
        tt_text_puts(out, ".\n\nExamples:\n\n```\n");
        for (int j = 0; j < 3 && info->example[j]; j++) tt_text_printf(out, "%s\n", info->example[j]);
        tt_text_puts(out, "```\n");
    }
}

static void markdown_option(const struct tt_option *row, struct tt_text *out)
{
    struct tt_text cells[4] = {0}; /* option, commands, default, values */
    tt_text_puts(&cells[0], "`");
    tt_help_label(row, &cells[0]);
    tt_text_puts(&cells[0], "`");
    for (int i = 0; i < TT_COMMANDS; i++)
        if (tt_option_takes(i, row)) tt_text_printf(&cells[1], "%s%s", cells[1].n ? ", " : "", tt_commands[i].name);
    if (!row->flag_only) tt_text_printf(&cells[2], "%s`%s`", row->value ? "" : "by preset: ", tt_help_default(row));
    put_values(row, &cells[3]);
    for (int i = 0; i < 4; i++) {
        tt_md_markup_cell(out, cells[i].s ? cells[i].s : "");
        out->failed |= cells[i].failed;
        tt_text_free(&cells[i]);
    }
    tt_md_markup_cell(out, row->help);
    tt_md_end(out);
}

static const char markdown_rules[] =
    "\n# Options\n\n"
    "An option means the same in every command that takes it. A value is the next word or stands behind `=`. A truth\n"
    "value is switched on with `--name` and off with `--no-name`. An option given twice counts the last time; a list\n"
    "grows. A next word that is itself an option, or looks like a mistyped one, is not taken as a value; write\n"
    "`--prompt=--seed` for such a text. After a word `--` nothing is an option.\n\n"
    "What `eval`, `generate` and a resumed `train` are not told, and `train` was told before, is the checkpoint's "
    "own;\n"
    "the shape `bench` is not told is each size's own.\n";

static void markdown_options(struct tt_text *out)
{
    tt_text_puts(out, markdown_rules);
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, TT_ANY_COMMAND, rows);
    const char *section = "";
    for (int i = 0; i < n; i++) {
        const struct tt_option *row = rows[i];
        if (strcmp(section, row->section) != 0) {
            tt_text_printf(out, "\n## %s\n\n", row->section);
            tt_md_head(out, "option|commands|default|values|meaning");
        }
        section = row->section;
        markdown_option(row, out);
    }
}

/* `middle` is freed. */
static void put_head(struct tt_text *out, const char *first, struct tt_text *middle, const char *last)
{
    struct tt_text columns = {0};
    tt_text_printf(&columns, "%s|%s%s", first, middle->s ? middle->s : "", last);
    tt_md_head(out, columns.s ? columns.s : "");
    out->failed |= columns.failed || middle->failed;
    tt_text_free(&columns);
    tt_text_free(middle);
}

static void put_code_cell(struct tt_text *out, const char *name)
{
    char code[64];
    snprintf(code, sizeof code, "`%s`", name);
    tt_md_markup_cell(out, code);
}

static void markdown_presets(struct tt_text *out)
{
    struct tt_text columns = {0};
    for (int i = 0; i < TT_PRESET_COLUMNS; i++) tt_text_printf(&columns, "%s:|", tt_preset_columns[i]);
    tt_text_puts(out, "\n# Presets\n\n");
    put_head(out, "preset", &columns, "");
    for (int i = 0; i < tt_preset_count; i++) {
        put_code_cell(out, tt_presets[i].name);
        for (int j = 0; j < TT_PRESET_COLUMNS; j++) tt_md_cell(out, tt_presets[i].value[j]);
        tt_md_markup_cell(out, tt_presets[i].about);
        tt_md_end(out);
    }
    tt_text_puts(out,
                 "\nA run shorter than its preset's warm-up warms up for a tenth of its steps, unless `--warmup-steps` "
                 "says otherwise.\n");
}

static void markdown_fusions(struct tt_text *out)
{
    struct tt_text versions = {0};
    for (int v = 0; v < TT_VERSIONS; v++) tt_text_printf(&versions, "%s|", tt_version_names[v]);
    tt_text_puts(out, "\n# Versions and fusions\n\nA version is a set of fusions. `--fuse` changes the set: `--fuse "
                      "no-norm,no-swiglu` takes two out, `--fuse none,qkv` leaves one.\n\n");
    put_head(out, "fusion", &versions, "what it does");
    for (int i = 0; i < TT_FUSION_COUNT; i++) {
        put_code_cell(out, tt_fusion_names[i]);
        for (int v = 0; v < TT_VERSIONS; v++)
            tt_md_cell(out, tt_version_has((enum tt_version)v, (enum tt_fusion)i) ? "yes" : "");
        tt_md_markup_cell(out, tt_fusion_texts[i]);
        tt_md_end(out);
    }
}

static const char markdown_yaml[] =
    "\n# Configuration files\n\n"
    "`--config FILE` reads options from a YAML file; `--print-config` prints such a file with every option of the "
    "command, "
    "which\nreproduces the run. Keys are option names without the dashes in front; underscores may stand for dashes. "
    "They may stand in\ngroups (`training:`, `data:`, or any other name that is no option), and may be those of other "
    "programs, which are listed below. "
    "Lists "
    "may be\nwritten as YAML lists. Options of other commands may stand in the file, so that one file serves several "
    "commands; they\nare checked and not used. `--config`, `--print-config` and `--help` cannot stand in a file.\n\n"
    "```yaml\npreset: small        # a starting point; the lines below override it\nbatch-size: 16\n"
    "learning-rate: 1e-3\nfuse: [no-norm, no-swiglu]\nout: \"runs/my run\"\n```\n\n"
    "What is read is a subset of YAML that means the same to every YAML library:\n\n"
    "- maps `key: value` and lists `- item`, nested by indentation with spaces, also compact (`- key: value`); lists "
    "on "
    "one line, `[a, b]`\n"
    "- values on one line: plain, `'single quoted'` (`''` is a quote), or `\"double quoted\"` with the escapes `\\\\` "
    "`\\\"` "
    "`\\/` `\\a` `\\b` `\\t` `\\n` `\\v` `\\f` `\\r` `\\e` `\\xHH` `\\uHHHH` `\\UHHHHHHHH`\n"
    "- comments: `#` at the start of a line or after a space; one `---` before everything\n"
    "- at most 1 MiB, 32 levels, 1000 keys in a map, each key once\n\n"
    "Everything else is refused with its line: tabs outside quotes and comments, anchors, aliases, tags, block scalars "
    "(`|`, `>`),\nvalues that go on in the next line, maps in braces, `?` keys, directives, several documents. Plain "
    "values "
    "that YAML 1.1 and\nYAML 1.2 read differently are refused too, and must be quoted if they are meant as text: "
    "`yes`, "
    "`no`, `on`, `off`, `y`, `n`, `012`,\n`0x1f`, `0b1`, `0o17`, `1_000`, `1:30`, `-.5`, `2024-01-31`, `=`, `<<`. A "
    "text "
    "that YAML takes for a number, a truth value or\nnothing must be quoted as well (`prompt: \"42\"`).\n";

const struct tt_exit_code tt_exit_codes[] = {
    {0, "done"},
    {1, "asked rightly, but it could not be done: a damaged file, no permission, no space, no memory, a model "
        "too large for the device"},
    {2, "asked wrongly, and nothing was written: an option, a value, a configuration, a name of something that is not "
        "there or is of another kind, data that do not fit the model"},
    {3, "no usable device"},
    {4, "`tt profile --with`: that profiler is not installed"},
    {5, "`tt compare --fail-if`: a condition holds"},
    {6, "`tt diagnose`: the run would work, but there are warnings; `tt exercise check`: not all answers are right "
        "yet"},
    {7, "another process of the job is gone; the run goes on from its last checkpoint"},
    {8, "`tt compare --fail-if`: no condition holds, but one cannot be decided: too few steps, too much noise, or "
        "nothing to judge by"},
    {130, "stopped by a signal; `tt train` saves its run first"},
};
const int tt_exit_code_count = sizeof tt_exit_codes / sizeof *tt_exit_codes;

static void markdown_codes(struct tt_text *out)
{
    tt_text_puts(out, "\n# Exit codes\n\n");
    tt_md_head(out, "code|meaning");
    for (int i = 0; i < tt_exit_code_count; i++) {
        tt_md_cellf(out, "%d", tt_exit_codes[i].code);
        tt_md_markup_cell(out, tt_exit_codes[i].meaning);
        tt_md_end(out);
    }
}

static void put_code_list(struct tt_text *out, const char *const *names)
{
    struct tt_text list = {0};
    for (int i = 0; names && names[i]; i++) tt_text_printf(&list, "%s`%s`", i ? ", " : "", names[i]);
    tt_md_markup_cell(out, list.s ? list.s : "");
    out->failed |= list.failed;
    tt_text_free(&list);
}

static void markdown_foreign(struct tt_text *out)
{
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, TT_ANY_COMMAND, rows);
    tt_text_puts(out, "\n## Keys of other programs\n\nIn a file they are read as the option. What an option does in "
                      "another way is refused, and the message names the\noption. What others can choose and tt does "
                      "in one way (`dropout: 0`, `bias: false`, `optimizer: adamw`) is accepted with a note\nwhere it "
                      "asks for that way. `device` may be `cpu`, `cuda`, `cuda:1`, `gpu`, `hip` or `rocm`, where this "
                      "build computes there.\n\n");
    tt_md_head(out, "option|is read for|does what others have for|values");
    for (int i = 0; i < n; i++) {
        if (!rows[i]->also && !rows[i]->instead && !rows[i]->same) continue;
        put_code_cell(out, rows[i]->name);
        put_code_list(out, rows[i]->also);
        put_code_list(out, rows[i]->instead);
        tt_md_cell(out, rows[i]->same ? rows[i]->same : "");
        tt_md_end(out);
    }
}

void tt_help_markdown(struct tt_text *out)
{
    tt_text_puts(out, "<!-- Made by: tt help --markdown > cli/REFERENCE.md -->\n"
                      "# tt: the reference\n\n");
    tt_md_head(out, "command|");
    for (int i = 0; i < TT_COMMANDS; i++) {
        char link[80];
        snprintf(link, sizeof link, "[`tt %s`](#tt-%s)", tt_commands[i].name, tt_commands[i].name);
        tt_md_markup_cell(out, link);
        tt_md_markup_cell(out, tt_commands[i].summary);
        tt_md_end(out);
    }
    put_code_cell(out, "tt --version");
    tt_md_cell(out, "print the version of this program and its backend");
    tt_md_end(out);
    tt_text_printf(out, "\n%s\n", precedence);
    markdown_commands(out);
    markdown_options(out);
    markdown_presets(out);
    markdown_fusions(out);
    tt_text_puts(out, markdown_yaml);
    markdown_foreign(out);
    markdown_codes(out);
}
>>>>>>> w-claims
