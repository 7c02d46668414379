/* Completion scripts for bash, zsh and fish, made from the tables of commands and options. */
#include <string.h>

#include "cli/help.h"

const char *const tt_shell_names[] = {"bash", "zsh", "fish", NULL};


/* ---- the values of an option ---- */

static bool names_a_file(const struct tt_option *row)
{
    static const char *const kinds[] = {"PATH", "FILE", "DIR", "SOURCE", "NAME"};
    if (row->type != TT_OPTION_TEXT || !row->metavar) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(row->metavar, kinds[i])) return true;
    return false;
}

/* The words that an option accepts, with spaces between: its choices, or those of a metavar such as auto|none|PATH. */
static void put_words(const struct tt_option *row, struct tt_text *out)
{
    if (row->choices) tt_join(out, row->choices, " ");
    if (row->choices || !row->metavar || !strchr(row->metavar, '|')) return;
    for (const char *at = row->metavar; *at;) {
        size_t n = strcspn(at, "|");
        if (at[0] >= 'a' && at[0] <= 'z') {
            if (out->n) tt_text_puts(out, " ");
            tt_text_add(out, at, n);
        }
        at += n + (at[n] == '|');
    }
}

static bool can_be_negated(const struct tt_option *row) { return row->type == TT_OPTION_BOOL && !row->flag_only; }

/* ---- bash ---- */

static const char bash_head[] = "# bash completion for tt. Made by: tt help --completion bash\n"
                                "_tt()\n"
                                "{\n"
                                "    local cur=${COMP_WORDS[COMP_CWORD]} option= words= files= list= IFS=$' \\t\\n'\n"
                                "    COMPREPLY=()\n"
                                "    if [ \"$COMP_CWORD\" -gt 1 ]; then option=${COMP_WORDS[COMP_CWORD - 1]}; fi\n"
                                "    # bash takes --name=value apart at the =\n"
                                "    if [ \"$cur\" = = ]; then\n"
                                "        cur=\n"
                                "    elif [ \"$option\" = = ]; then\n"
                                "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
                                "    fi\n";

static const char bash_tail[] = "    if [ -n \"$list\" ]; then # the last of several with a comma between\n"
                                "        local before=\n"
                                "        [ \"$cur\" = \"${cur##*,}\" ] || before=${cur%,*},\n"
                                "        COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"${cur##*,}\"))\n"
                                "        compopt -o nospace 2>/dev/null\n"
                                "        return\n"
                                "    fi\n"
                                "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                                "    if [ -n \"$files\" ]; then\n"
                                "        IFS=$'\\n'\n"
                                "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                                "        compopt -o filenames 2>/dev/null\n"
                                "    fi\n"
                                "}\n"
                                "complete -F _tt tt\n";

static void bash_value(const struct tt_option *row, struct tt_text *out)
{
    struct tt_text words = {0};
    put_words(row, &words);
    tt_text_printf(out, "        --%s)", row->name);
    if (words.n) tt_text_printf(out, " words=\"%s\"", words.s);
    if (names_a_file(row)) tt_text_puts(out, " files=yes");
    if (row->list == ',' && words.n) tt_text_puts(out, " list=yes");
    tt_text_puts(out, " ;;\n");
    out->failed |= words.failed;
    tt_text_free(&words);
}

static void bash_command(int command, struct tt_text *out)
{
    const char *about = tt_commands[command].words;
    const struct tt_option *word = about ? tt_option_find((enum tt_command)command, about) : NULL;
    tt_text_printf(out, "    %s)\n        case $option in\n", tt_commands[command].name);
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, command, rows);
    for (int i = 0; i < n; i++)
        if (rows[i]->type != TT_OPTION_BOOL) bash_value(rows[i], out);
    tt_text_puts(out, "        *)\n            words=\"");
    for (int i = 0; i < n; i++) {
        tt_text_printf(out, "--%s ", rows[i]->name);
        if (can_be_negated(rows[i])) tt_text_printf(out, "--no-%s ", rows[i]->name);
    }
    tt_text_puts(out, "\"\n");
    if (word && word->choices) {
        tt_text_puts(out, "            [[ $cur == -* ]] || words=\"");
        tt_join(out, word->choices, " ");
        tt_text_puts(out, "\"\n");
    } else if (word) {
        tt_text_puts(out, "            [[ $cur == -* ]] || { words= files=yes; }\n");
    }
    tt_text_puts(out, "            ;;\n        esac\n        ;;\n");
}

static void bash(struct tt_text *out)
{
    tt_text_puts(out, bash_head);
    tt_text_puts(out, "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    tt_join(out, tt_command_names, " ");
    tt_text_puts(out, " --help --version\" -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < TT_COMMANDS; i++) bash_command(i, out);
    tt_text_puts(out, "    esac\n");
    tt_text_puts(out, bash_tail);
}

/* ---- zsh ---- */

/* Inside '…' of an _arguments specification. */
static void zsh_text(struct tt_text *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            tt_text_puts(out, "'\\''");
        else if (strchr("[]:\\", *text))
            tt_text_printf(out, "\\%c", *text);
        else
            tt_text_add(out, text, 1);
    }
}

static void zsh_flag(struct tt_text *out, const char *no, const struct tt_option *row)
{
    tt_text_printf(out, "            '--%s%s[", no, row->name);
    zsh_text(out, row->help);
    tt_text_puts(out, "]' \\\n");
}

static void zsh_value(struct tt_text *out, const struct tt_option *row)
{
    struct tt_text words = {0};
    put_words(row, &words);
    tt_text_printf(out, "            '%s--%s=[", row->list ? "*" : "", row->name);
    zsh_text(out, row->help);
    tt_text_puts(out, "]:");
    zsh_text(out, row->name);
    if (row->list == ',' && words.n)
        tt_text_printf(out, ":_values -s , value %s' \\\n", words.s);
    else if (words.n && names_a_file(row))
        tt_text_printf(out, ":{_alternative \"words\\:word\\:(%s)\" \"files\\:file\\:_files\"}' \\\n", words.s);
    else if (words.n)
        tt_text_printf(out, ":(%s)' \\\n", words.s);
    else
        tt_text_printf(out, ":%s' \\\n", names_a_file(row) ? "_files" : " ");
    out->failed |= words.failed;
    tt_text_free(&words);
}

static void zsh_command(int command, struct tt_text *out)
{
    const char *words = tt_commands[command].words;
    const struct tt_option *word = words ? tt_option_find((enum tt_command)command, words) : NULL;
    tt_text_printf(out, "    %s)\n        _arguments \\\n", tt_commands[command].name);
    const struct tt_option *rows[TT_OPTION_LIMIT];
    int n = tt_schema_shown(&tt_schema, command, rows);
    for (int i = 0; i < n; i++) {
        const struct tt_option *row = rows[i];
        if (row->type != TT_OPTION_BOOL)
            zsh_value(out, row);
        else
            zsh_flag(out, "", row);
        if (can_be_negated(row)) zsh_flag(out, "no-", row);
    }
    if (word && word->choices) {
        tt_text_printf(out, "            '1:%s:(", word->name);
        tt_join(out, word->choices, " ");
        tt_text_puts(out, ")' \\\n");
    } else if (word) {
        tt_text_printf(out, "            '%s:%s:_files' \\\n", word->list ? "*" : "1", word->name);
    } /* a message in the place of words would keep options from being inserted */
    tt_text_puts(out, "            && return\n        ;;\n");
}

static void zsh(struct tt_text *out)
{
    tt_text_puts(out, "#compdef tt\n# zsh completion for tt. Made by: tt help --completion zsh\n"
                      "_tt() {\n    local line state curcontext=$curcontext\n"
                      "    _arguments -C -A '-*' '(- *)--help[list the commands]' '(- *)--version[print the "
                      "version]' \\\n"
                      "        '1:command:->command' '*::word:->words'\n"
                      "    if [[ $state == command ]]; then\n        local -a commands=(\n");
    for (int i = 0; i < TT_COMMANDS; i++) {
        tt_text_printf(out, "            '%s:", tt_commands[i].name);
        zsh_text(out, tt_commands[i].summary);
        tt_text_puts(out, "'\n");
    }
    tt_text_puts(out, "        )\n        _describe command commands\n        return\n    fi\n    case $line[1] in\n");
    for (int i = 0; i < TT_COMMANDS; i++) zsh_command(i, out);
    tt_text_puts(out, "    esac\n}\n_tt \"$@\"\n");
}

/* ---- fish ---- */

static void fish_text(struct tt_text *out, const char *text)
{
    tt_text_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') tt_text_puts(out, "\\");
        tt_text_add(out, text, 1);
    }
    tt_text_puts(out, "'");
}

static void fish_option(int command, const char *no, const struct tt_option *row, struct tt_text *out)
{
    struct tt_text words = {0};
    put_words(row, &words);
    tt_text_printf(out, "complete -c tt -n '__fish_seen_subcommand_from %s' -l %s%s ", tt_commands[command].name, no,
                   row->name);
    if (row->type != TT_OPTION_BOOL) tt_text_puts(out, names_a_file(row) ? "-r -F " : "-x ");
    if (words.n) tt_text_printf(out, "-a '%s' ", words.s);
    tt_text_puts(out, "-d ");
    fish_text(out, row->help);
    tt_text_puts(out, "\n");
    out->failed |= words.failed;
    tt_text_free(&words);
}

static void fish(struct tt_text *out)
{
    tt_text_puts(out, "# fish completion for tt. Made by: tt help --completion fish\ncomplete -c tt -f\n"
                      "complete -c tt -n __fish_use_subcommand -l help -d 'list the commands'\n"
                      "complete -c tt -n __fish_use_subcommand -l version -d 'print the version'\n");
    for (int c = 0; c < TT_COMMANDS; c++) {
        const char *words = tt_commands[c].words;
        const struct tt_option *word = words ? tt_option_find((enum tt_command)c, words) : NULL;
        tt_text_printf(out, "complete -c tt -n __fish_use_subcommand -a %s -d ", tt_commands[c].name);
        fish_text(out, tt_commands[c].summary);
        tt_text_puts(out, "\n");
        if (word) tt_text_printf(out, "complete -c tt -n '__fish_seen_subcommand_from %s' ", tt_commands[c].name);
        if (word && word->choices) {
            tt_text_puts(out, "-a '");
            tt_join(out, word->choices, " ");
            tt_text_puts(out, "'\n");
        } else if (word) {
            tt_text_puts(out, "-F\n");
        }
        const struct tt_option *rows[TT_OPTION_LIMIT];
        int n = tt_schema_shown(&tt_schema, c, rows);
        for (int i = 0; i < n; i++) {
            fish_option(c, "", rows[i], out);
            if (can_be_negated(rows[i])) fish_option(c, "no-", rows[i], out);
        }
    }
}

void tt_help_completion(const char *shell, struct tt_text *out)
{
    void (*const write[])(struct tt_text *) = {bash, zsh, fish};
    for (int i = 0; tt_shell_names[i]; i++)
        if (!strcmp(shell, tt_shell_names[i])) write[i](out);
}
