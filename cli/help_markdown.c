/* The reference page cli/REFERENCE.md, from the tables. */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "core/base/markdown.h"
#include "core/config/presets.h"

static void markdown_commands(struct tt_text *out)
{
    const struct tt_option *rows[TT_OPTION_LIMIT];
    for (int i = 0; i < TT_COMMANDS; i++) {
        const struct tt_command_info *info = &tt_commands[i];
        tt_text_printf(out, "\n## tt %s\n\n%s\n\n```\n", info->name, info->about);
        tt_help_usage((enum tt_command)i, out);
        tt_text_puts(out, "\n```\n\n");
        if (info->words && strcmp(info->words, "topic") != 0)
            tt_text_printf(out, "An argument without dashes is a value of `--%s`.\n\n", info->words);
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
    tt_help_values(row, &cells[3]);
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
    "- An option that means different things in different commands has a line for each.\n"
    "- A value is the next word, or follows `=`.\n"
    "- A switch is turned on by `--name` and off by `--no-name`.\n"
    "- If an option is given twice, the last one counts; a list grows.\n"
    "- A next word that is itself an option, or looks like a mistyped one, is not taken as a value; write\n"
    "  `--prompt=--seed` for such a text. After a word `--` nothing is an option.\n\n"
    "Options that are not given to `eval`, `generate` or a resumed `train` have the values of the checkpoint's run.\n"
    "Options of the shape that are not given to `bench` have those of each size.\n";

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
    "`--config FILE` reads options from a YAML file; `--print-config` prints such a file with all options of the "
    "command, which\nreproduces the run.\n\n"
    "- Keys are option names without the dashes in front. Underscores may stand for dashes.\n"
    "- Keys may be in groups: `training:`, `data:`, or any other name that is not an option.\n"
    "- Keys may be those of other programs, which are listed below.\n"
    "- Lists may be written as YAML lists.\n"
    "- The file may have options of other commands, so that one file serves several commands. They are checked and\n"
    "  not used.\n"
    "- Options that are for the command line alone are refused, such as `--config`, `--print-config`, `--own-kernel`,\n"
    "  `--with` and `--bare` of `profile`, `--against` of `bench`.\n\n"
    "```yaml\npreset: small        # a starting point; the lines below override it\nbatch-size: 16\n"
    "learning-rate: 1e-3\nfuse: [no-norm, no-swiglu]\nout: \"runs/my run\"\n```\n\n"
    "The file is in a subset of YAML that means the same to every YAML library:\n\n"
    "- maps `key: value` and lists `- item`, nested by indentation with spaces, also compact (`- key: value`); lists "
    "on "
    "one line, `[a, b]`; maps on one line, `{a: 1}`; `key: >-` with its text below, in lines of one indentation\n"
    "- values on one line: plain, `'single quoted'` (`''` is a quote), or `\"double quoted\"` with the escapes `\\\\` "
    "`\\\"` "
    "`\\/` `\\a` `\\b` `\\t` `\\n` `\\v` `\\f` `\\r` `\\e` `\\xHH` `\\uHHHH` `\\UHHHHHHHH`\n"
    "- comments: `#` at the start of a line or after a space; one `---` before everything\n"
    "- at most 1 MiB, 32 levels, 1000 keys in a map, each key once\n\n"
    "Everything else is refused, and the message names the line:\n\n"
    "- tabs outside quotes and comments, anchors, aliases, tags, block scalars other than `>-`, other values that "
    "go on in the next line, `?` keys, directives, several documents\n"
    "- plain values that YAML 1.1 and YAML 1.2 read differently: `yes`, `no`, `on`, `off`, `y`, `n`, `012`, `0x1f`, "
    "`0b1`, `0o17`, `1_000`, `1:30`, `-.5`, `2024-01-31`, `=`, `<<`. Quote them if they are meant as text\n"
    "- a text that YAML takes for a number, a truth value or nothing, without quotes. Write `prompt: \"42\"`\n";

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
    tt_text_puts(out, "\n## Keys of other programs\n\n"
                      "- A key in the column *other names* is read as the option of its row.\n"
                      "- A key in the column *refused* has the same purpose but other values, and the message names "
                      "the option to use.\n"
                      "- A setting of which tt has one kind only (`dropout: 0`, `bias: false`, `optimizer: adamw`, "
                      "`compile: false`) is\n  accepted with a note if it asks for that kind, and refused otherwise.\n"
                      "- Values of other programs are translated by the last column: `float32=fp32` reads `float32` as "
                      "`fp32`.\n"
                      "- `device` may be `cpu`, `cuda`, `cuda:1`, `gpu`, `hip` or `rocm`, if this build computes "
                      "there.\n\n");
    tt_md_head(out, "option|other names|refused|values of other programs");
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
    tt_text_printf(out, "\n%s\n", tt_help_precedence);
    markdown_commands(out);
    markdown_options(out);
    markdown_presets(out);
    markdown_fusions(out);
    tt_text_puts(out, markdown_yaml);
    markdown_foreign(out);
    markdown_codes(out);
}
