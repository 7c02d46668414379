/* The help and the reference page against the tables of commands and options that they are made from. */
#include "cli/help.h"
#include "core/base/file.h"
#include "core/config/presets.h"
#include "tests/core/config/options_fixture.h"

static void names_agree(void)
{
    for (int i = 0; i < TT_COMMANDS; i++) {
        CHECK(strcmp(tt_command_names[i], tt_commands[i].name) == 0);
        CHECK(tt_command_find(tt_commands[i].name) == (enum tt_command)i);
        CHECK(tt_commands[i].summary && tt_commands[i].about && tt_commands[i].example[0]);
        CHECK(!tt_commands[i].words || tt_option_find((enum tt_command)i, tt_commands[i].words));
    }
    CHECK(!tt_command_names[TT_COMMANDS] && tt_command_find("no") == TT_COMMANDS);
    for (int i = 0; i < tt_preset_count; i++) CHECK(strcmp(tt_preset_names[i], tt_presets[i].name) == 0);
    CHECK(!tt_preset_names[tt_preset_count]);
}

static void rows_make_sense(void)
{
    const struct tt_option *shown[TT_OPTION_LIMIT];
    CHECK(row_count() <= TT_OPTION_LIMIT, "raise TT_OPTION_LIMIT");
    CHECK(tt_schema_shown(&tt_schema, TT_ANY_COMMAND, shown) == row_count(),
          "a row is in a section that is not listed");
    for (int i = 0; i < row_count(); i++) {
        const struct tt_option *row = row_at(i);
        bool number = row->type == TT_OPTION_INT || row->type == TT_OPTION_NUMBER;
        CHECK(row->help && !strchr(row->help, '\n') && row->help[strlen(row->help) - 1] != '.', "%s", row->name);
        CHECK(number == (row->range != NULL), "%s", row->name);
        CHECK(row->metavar || row->choices || row->type == TT_OPTION_BOOL, "%s", row->name);
        CHECK((row->type == TT_OPTION_CHOICE) <= (row->choices != NULL), "%s", row->name);
        CHECK(row->commands && row->commands < 1u << TT_COMMANDS, "%s", row->name);
        CHECK(row->home != TT_OF_COMMAND || !(row->commands & (row->commands - 1)),
              "%s lies in the struct of one command", row->name);
        for (int j = 0; j < i; j++) { /* same name: other commands, or one field of the configuration */
            const struct tt_option *other = row_at(j);
            bool one_struct = row->home == other->home &&
                              (row->home != TT_OF_COMMAND || row->commands == other->commands);
            bool one_name = strcmp(row->name, other->name) == 0;
            CHECK(!one_struct || (row->offset == other->offset) == one_name, "%s and %s", row->name, other->name);
            CHECK(!one_name || !(row->commands & other->commands), "%s", row->name);
        }
    }
}

/* Each default is accepted as a flag, and shown in the help beside its option. */
static void defaults_hold(void)
{
    static struct tt_options o, defaults;
    for (int c = 0; c < TT_COMMANDS; c++) {
        enum tt_command command = (enum tt_command)c;
        CHECK_OK(tt_options_init(&defaults, command));
        CHECK_OK(tt_config_check(&defaults.c));
        struct tt_text help = {0};
        tt_help_command(command, &help);
        for (int i = 0; i < row_count(); i++) {
            const struct tt_option *row = row_at(i);
            if (!takes(c, row)) continue;
            CHECK(row->value || tt_help_default(row)[0], "--%s has neither a default nor a preset", row->name);
            char label[80], word[2][200], shown[200];
            snprintf(label, sizeof label, row->type == TT_OPTION_BOOL && !row->flag_only ? "  --[no-]%s " : "  --%s",
                     row->name);
            const char *at = strstr(help.s, label);
            CHECK(at, "tt help %s does not show --%s", tt_commands[c].name, row->name);
            if (!at || row->flag_only) continue;
            const char *value = tt_help_default(row), *whose = NULL;
            tt_option_left_open(&defaults, row, &whose);
            /* The help wraps its lines at any space, so only the last word is compared. */
            const char *last = whose ? strrchr(whose, ' ') + 1 : value;
            snprintf(shown, sizeof shown, "%s)", last);
            const char *end = strstr(at, shown), *next = strstr(at + 4, "\n  --");
            CHECK(end && (!next || end < next), "tt help %s: --%s does not show %s", tt_commands[c].name, row->name,
                  shown);

            struct tt_text text = {0};
            tt_value_get(row, &defaults, &text);
            snprintf(word[0], sizeof word[0], "--%s=%s", row->name, text.s);
            char *words[] = {word[0]};
            CHECK_OK(tt_options_parse(&o, command, 1, words));
            CHECK(same_value(row, &o, &defaults), "%s", word[0]);
            CHECK(tt_option_given(&o, row->name) && !tt_option_given(&defaults, row->name), "%s", row->name);
            tt_text_free(&text);
        }
        tt_text_free(&help);
        if (command != TT_CMD_HELP) check_round_trip(&defaults, tt_commands[c].name);
    }
}

static void reference_is_current(void)
{
    struct tt_text now = {0};
    char *file = NULL;
    size_t size;
    tt_help_markdown(&now);
    CHECK_OK(tt_text_status(&now));
    CHECK_OK(tt_file_read("cli/REFERENCE.md", 1 << 20, &file, &size));
    CHECK(file && strcmp(file, now.s) == 0, "make it anew: tt help --markdown > cli/REFERENCE.md");
    free(file);
    tt_text_free(&now);
}

int main(void)
{
    TEST(names_agree);
    TEST(rows_make_sense);
    TEST(defaults_hold);
    TEST(reference_is_current);
    return test_end();
}
