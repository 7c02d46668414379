/* The option table against everything made from it: parser, help, reference page, --print-config, configuration files,
 * presets; and the checks that need more than one option. */
#include <unistd.h>

#include "cli/help.h"
#include "core/base/file.h"
#include "core/base/yaml.h"
#include "core/config/presets.h"
#include "tests/test.h"

enum { MOST_WORDS = 16 };

/* Parses "--a 1 --b 2", cut at spaces. */
static tt_status parse(struct tt_options *o, enum tt_command command, const char *line)
{
    char copy[1024], *words[MOST_WORDS], *rest = copy;
    int n = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word; n < MOST_WORDS && (word = strsep(&rest, " "));)
        if (*word) words[n++] = word;
    return tt_options_parse(o, command, n, words);
}

static bool takes(int command, const struct tt_option *row) { return tt_option_takes(command, row); }
static int row_count(void) { return tt_schema_count(&tt_schema); }
static const struct tt_option *row_at(int i) { return tt_schema_row(&tt_schema, i); }

/* Whether the option has this value, in whichever struct it lies. */
static bool has(const struct tt_options *o, const char *name, const char *value)
{
    struct tt_text text = {0};
    tt_value_get(tt_schema_find(&tt_schema, o->command, name), o, &text);
    bool same = text.s && strcmp(text.s, value) == 0;
    tt_text_free(&text);
    return same;
}

static bool same_value(const struct tt_option *row, const struct tt_options *a, const struct tt_options *b)
{
    struct tt_text text[2] = {{0}};
    tt_value_get(row, a, &text[0]);
    tt_value_get(row, b, &text[1]);
    bool same = text[0].s && text[1].s && strcmp(text[0].s, text[1].s) == 0;
    for (int i = 0; i < 2; i++) tt_text_free(&text[i]);
    return same;
}

static char *printed(const struct tt_options *o)
{
    struct tt_text t = {0};
    tt_options_print_open(o, &t);
    CHECK_OK(tt_text_status(&t));
    return t.s;
}

/* What is printed, given back as a file, prints the same again. */
static void check_round_trip(const struct tt_options *o, const char *what)
{
    static struct tt_options again;
    char *first = printed(o);
    CHECK_OK(tt_options_init(&again, o->command));
    CHECK_OK(tt_options_apply_yaml(&again, first, TT_FROM_FILE));
    char *second = printed(&again);
    CHECK(strcmp(first, second) == 0, "%s: %s", what, second);
    free(first);
    free(second);
}

/* ---- the tables themselves ---- */

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
        for (int j = 0; j < i; j++) { /* rows of one name: other commands, and of a run the same field */
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
            /* Wrapped lines break at any space, so that the last word is compared. */
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

/* ---- every value of every option ---- */

static void check_value(enum tt_command command, const struct tt_option *row, const char *text)
{
    static struct tt_options o, spaced;
    char joined[5000], name[80];
    snprintf(joined, sizeof joined, "--%s=%s", row->name, text);
    snprintf(name, sizeof name, "--%s", row->name);
    char *one[] = {joined}, *two[] = {name, (char *)text};
    CHECK_OK(tt_options_parse(&o, command, 1, one));
    check_round_trip(&o, joined);
    struct tt_text got = {0};
    tt_value_get(row, &o, &got);
    bool number = row->type == TT_OPTION_NUMBER;
    CHECK(number ? strtod(got.s, NULL) == strtod(text, NULL) : strcmp(got.s, text) == 0, "%s gives %s", joined, got.s);
    tt_text_free(&got);
    if (row->type == TT_OPTION_BOOL) return;
    CHECK_OK(tt_options_parse(&spaced, command, 2, two));
    CHECK(same_value(row, &o, &spaced), "%s", joined);
}

static void check_ends(enum tt_command command, const struct tt_option *row)
{
    char low[40], high[40], open = row->range[0], closed = row->range[strlen(row->range) - 1];
    struct tt_options o;
    CHECK(sscanf(row->range + 1, "%39[^,], %39[^])]", low, high) == 2, "%s", row->range);
    for (int end = 0; end < 2; end++) {
        const char *value = end ? high : low;
        char line[100];
        snprintf(line, sizeof line, "--%s=%s", row->name, value);
        if (end ? closed == ')' : open == '(')
            CHECK_FAILS(parse(&o, command, line), "out of range");
        else
            check_value(command, row, value);
    }
    static const char *const wrong[] = {"",    "x",    "1x",    " 1", "1 ",  "nan",
                                        "inf", "0x10", "1_000", "--", "1,5", "-9e999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char word[100], *words[] = {word};
        snprintf(word, sizeof word, "--%s=%s", row->name, wrong[i]);
        tt_status st = tt_options_parse(&o, command, 1, words);
        CHECK(st && st->code == TT_USAGE && strstr(st->text, row->name), "%s", word);
        tt_status_free(st);
    }
    char line[100];
    snprintf(line, sizeof line, "--%s=-99999999999999999999", row->name);
    CHECK_FAILS(parse(&o, command, line), "must be in");
}

static void tiles_are_two_sides(void)
{
    static const char *const wrong[] = {"5", "5x", "x5", "0x5", "5x0", "5x5x5", "5X5", "-1x3", "4097x4",
                                        "4x99999999999999999999", " 5x5", "5x5y"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK_FAILS(tt_flash_tile_check(wrong[i]), "is no tile");
    CHECK_OK(tt_flash_tile_check(""));
    CHECK_OK(tt_flash_tile_check("1x4096"));
    struct tt_config c = {.flash_tile = "4096x1"};
    struct tt_flash_tile tile = tt_config_flash_tile(&c);
    CHECK(tile.rows == 4096 && tile.cols == 1, "%d x %d", tile.rows, tile.cols);
    c.flash_tile[0] = 0;
    tile = tt_config_flash_tile(&c);
    CHECK(tile.rows == 0 && tile.cols == 0);
}

static void check_texts(enum tt_command command, const struct tt_option *row)
{
    static const char *const texts[] = {"x",           "a b",        "yes",  "012", "a: b # c", "-x",
                                        "it's \"so\"", "\xc3\xa9",   "1e-3", "~",   "[a]",      "\\n",
                                        "tab\there",   "line\nline", "true", "--x"};
    struct tt_options o;
    static const char *const grammars[][3] = {{"fuse", "all,no-norm", "--fuse=no-such"},
                                              {"fail-if", "slower:5%,gradients", "--fail-if=fatter:5%"},
                                              {"fault", "random:7", "--fault=random:x"},
                                              {"flash-tile", "256x64", "--flash-tile=256x0"}};
    for (size_t i = 0; row->check && i < sizeof grammars / sizeof *grammars; i++) {
        if (strcmp(row->name, grammars[i][0]) != 0) continue;
        check_value(command, row, grammars[i][1]);
        CHECK_FAILS(parse(&o, command, grammars[i][2]), row->name);
        return;
    }
    for (int i = 0; row->choices && row->choices[i]; i++) check_value(command, row, row->choices[i]);
    for (size_t i = 0; !row->choices && i < sizeof texts / sizeof *texts; i++) check_value(command, row, texts[i]);
    char *longest = malloc(row->size + 100), line[100], *words[] = {longest};
    int n = sprintf(longest, "--%s=", row->name);
    memset(longest + n, 'a', row->size);
    longest[n + (int)row->size] = 0;
    if (!row->choices) CHECK_FAILS(tt_options_parse(&o, command, 1, words), "too long");
    sprintf(longest, "--%s=\xff", row->name);
    CHECK_FAILS(tt_options_parse(&o, command, 1, words), "UTF-8");
    snprintf(line, sizeof line, "--%s=", row->name);
    tt_status st = parse(&o, command, line);
    CHECK(!st == !row->required, "%s", line);
    tt_status_free(st);
    free(longest);
}

static void check_bool(enum tt_command command, const struct tt_option *row)
{
    struct tt_options o;
    for (int on = 0; on < 2; on++) {
        char line[100];
        snprintf(line, sizeof line, on ? "--%s" : "--no-%s", row->name);
        CHECK_OK(parse(&o, command, line));
        CHECK(has(&o, row->name, on ? "true" : "false"), "%s", line);
        check_value(command, row, on ? "true" : "false");
        snprintf(line, sizeof line, "--no-%s=true", row->name);
        CHECK_FAILS(parse(&o, command, line), "takes no value");
        snprintf(line, sizeof line, "--%s=1", row->name);
        CHECK_FAILS(parse(&o, command, line), "neither true nor false");
    }
}

static void every_value(void)
{
    for (int c = 0; c < TT_COMMANDS; c++) {
        for (int i = 0; i < row_count(); i++) {
            const struct tt_option *row = row_at(i);
            if (!takes(c, row) || row->flag_only) continue;
            if (row->range) check_ends((enum tt_command)c, row);
            if (row->type == TT_OPTION_TEXT) check_texts((enum tt_command)c, row);
            if (row->type == TT_OPTION_BOOL) check_bool((enum tt_command)c, row);
            for (int k = 0; row->type == TT_OPTION_CHOICE && row->choices[k]; k++)
                check_value((enum tt_command)c, row, row->choices[k]);
        }
    }
}

/* ---- the parser ---- */

static void words_and_flags(void)
{
    static struct tt_options o;
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--batch-size 4 --seed=7 --no-tie-embeddings --quiet"));
    CHECK(o.c.batch_size == 4 && o.c.seed == 7 && !o.c.tie_embeddings && o.c.quiet);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--seed 1 --seed 2"));
    CHECK(o.c.seed == 2);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--fuse none --fuse qkv"));
    CHECK(strcmp(o.c.fuse, "none,qkv") == 0);
    CHECK_OK(parse(&o, TT_CMD_GENERATE, "runs/x --prompt -foo --no-cache"));
    CHECK(strcmp(o.call.checkpoint, "runs/x") == 0 && has(&o, "prompt", "-foo") && has(&o, "cache", "false"));
    CHECK_OK(parse(&o, TT_CMD_GENERATE, "--prompt=--seed -- --odd"));
    CHECK(has(&o, "prompt", "--seed") && strcmp(o.call.checkpoint, "--odd") == 0);
    CHECK_OK(parse(&o, TT_CMD_DATA, "a.txt --input b.txt c.txt"));
    CHECK(has(&o, "input", "a.txt\nb.txt\nc.txt"));
    CHECK_OK(parse(&o, TT_CMD_HELP, "train"));
    CHECK(has(&o, "topic", "train"));
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--no-such-thing --help"));
    CHECK(o.call.help);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "-h"));
    CHECK(o.call.help);
}

static void mistakes_are_explained(void)
{
    static struct tt_options o;
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--bach-size 4"), "did you mean --batch-size?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--batch_size 4"), "did you mean --batch-size?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--prompt x"), "--prompt is no option of train, but of generate");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--xyzzy"), "tt help train lists them");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "-q"), "two dashes");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "file"), "one word too many");
    CHECK_FAILS(parse(&o, TT_CMD_GENERATE, "a b"), "one word too many");
    CHECK_FAILS(parse(&o, TT_CMD_GENERATE, "a --checkpoint b c"), "one word too many");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--seed"), "--seed needs a value after it: --seed N");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--version"), "--version baseline|fused|flash");
    CHECK_FAILS(parse(&o, TT_CMD_GENERATE, "--prompt --seed 3"), "write --prompt=--seed");
    CHECK_FAILS(parse(&o, TT_CMD_GENERATE, "--prompt --sead 3"), "write --prompt=--sead");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--version fussed"), "did you mean \"fused\"?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--version 9"), "choose from baseline, fused, flash");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--preset smal"), "did you mean \"small\"?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--fuse qvk"), "did you mean \"qkv\"?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--fuse no-nrom"), "did you mean \"no-norm\"?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--fuse qkv,all"), "only be the first");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--fuse qkv,,norm"), "no fusion \"\"");
    CHECK_FAILS(parse(&o, TT_CMD_BENCH, "--sizes tiny,smal"), "did you mean \"small\"?");
    CHECK_FAILS(parse(&o, TT_CMD_BENCH, "--preset tiny"), "no option of bench, but of train, info");
    CHECK_FAILS(parse(&o, TT_CMD_HELP, "trian"), "did you mean \"train\"?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--help=1"), "takes no value");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--no-help"), "no option");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--config /nonexistent/x.yaml"), "/nonexistent/x.yaml");
}

/* ---- sources ---- */

static void stronger_sources_win(void)
{
    static struct tt_options o;
    char path[] = "/tmp/tt-options-XXXXXX", line[100];
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    static const char file[] = "preset: small\nbatch_size: 3\nseed: 5\nprompt: for generate\nfuse: [none, qkv]\n";
    CHECK_OK(tt_file_replace(path, file, strlen(file)));
    snprintf(line, sizeof line, "--seed 6 --config %s --num-layers 2", path);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, line));
    CHECK(o.c.hidden_dim == 512 && o.c.batch_size == 3 && o.c.seed == 6 && o.c.num_layers == 2);
    CHECK(strcmp(o.c.fuse, "none,qkv") == 0 && o.own[0] == 0);
    CHECK(tt_option_given(&o, "batch-size") && tt_option_given(&o, "seed") && !tt_option_given(&o, "hidden-dim"));

    static const char checkpoint[] =
        "preset: small\nhidden-dim: 640\nbatch-size: 9\nseed: 8\nnum-layers: 30\nout: elsewhere\n";
    CHECK_OK(tt_options_apply_yaml(&o, checkpoint, TT_FROM_CHECKPOINT));
    CHECK(o.c.hidden_dim == 640 && o.c.batch_size == 3 && o.c.seed == 6 && o.c.num_layers == 2);
    CHECK(strcmp(o.c.out, "runs/default") == 0 && !tt_option_given(&o, "hidden-dim"));
    CHECK_FAILS(tt_options_apply_yaml(&o, "preset: tiny", TT_FROM_CHECKPOINT),
                "the checkpoint is of preset tiny, not small");

    snprintf(line, sizeof line, "--preset tiny --config %s", path);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, line));
    CHECK(o.c.hidden_dim == 256 && o.c.batch_size == 3);
    remove(path);
}

static void checkpoints_tell_other_commands(void)
{
    static struct tt_options train, o;
    CHECK_OK(
        parse(&train, TT_CMD_TRAIN, "--hidden-dim 96 --vocab-size 77 --no-tie-embeddings --threads 2 --data x.bin"));
    struct tt_text config = {0};
    tt_options_print(&train, &config);
    static const enum tt_command readers[] = {TT_CMD_GENERATE, TT_CMD_EVAL, TT_CMD_TRAIN};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(parse(&o, readers[i], "--precision fp32"));
        CHECK_OK(tt_options_apply_yaml(&o, config.s, TT_FROM_CHECKPOINT));
        CHECK(o.c.hidden_dim == 96 && o.c.vocab_size == 77 && !o.c.tie_embeddings && o.c.threads == 0);
        CHECK(strcmp(o.c.data, "x.bin") == 0);
        CHECK_OK(tt_config_check(&o.c));
    }
    CHECK_OK(parse(&o, TT_CMD_EVAL, "--batch-size 2 --data y.bin"));
    CHECK_OK(tt_options_apply_yaml(&o, config.s, TT_FROM_CHECKPOINT));
    CHECK(o.c.batch_size == 2 && strcmp(o.c.data, "y.bin") == 0 && o.c.seq_len == train.c.seq_len);
    tt_text_free(&config);
}

static void files_are_checked(void)
{
    static struct tt_options o;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"bach-size: 1", "line 1: there is no option bach-size; did you mean batch-size?"},
        {"\nbatch-size: 0", "line 2: batch-size: 0 is out of range"},
        {"batch-size: 1\nbatch_size: 2", "line 2: batch-size stands here again"},
        {"batch-size: [1, 2]", "takes one value"},
        {"batch-size:", "has no value"},
        {"seed: 1e3", "not a whole number"},
        {"out: 5", "write \"5\""},
        {"out: true", "write \"true\""},
        {"tie-embeddings: yes", "quote it"},
        {"config: a.yaml", "command line"},
        {"help: true", "command line"},
        {"- a", "option: value"},
        {"seed: 1\ntrain:\n  seed: 2", "line 2: "},
        {"prompt: [a]", "takes one value"}, /* of another command: not used, but checked */
        {"temperature: 1000", "out of range"},
        {"fuse: [qkv, [norm]]", "flat list"},
        {"fuse: [\"qkv,norm\"]", "separator"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_OK(tt_options_init(&o, TT_CMD_TRAIN));
        tt_status st = tt_options_apply_yaml(&o, bad[i].text, TT_FROM_FILE);
        CHECK(st && st->code == TT_USAGE && strstr(st->text, bad[i].words), "%s: %s", bad[i].text,
              st ? st->text : "ok");
        tt_status_free(st);
    }
    CHECK_OK(tt_options_init(&o, TT_CMD_TRAIN));
    CHECK_OK(tt_options_apply_yaml(&o, "", TT_FROM_FILE));
    CHECK_OK(tt_options_apply_yaml(&o, "learning-rate: 1e-3\nseed: \"3\"\nfuse: []\ntemperature: 1\n", TT_FROM_FILE));
    CHECK(o.c.learning_rate == 1e-3 && o.c.seed == 3 && o.c.fuse[0] == 0 && o.own[0] == 0);
}

static void presets_are_sound(void)
{
    static struct tt_options o;
    for (int i = 0; i < tt_preset_count; i++) {
        for (int v = 0; v < TT_VERSIONS; v++) {
            char line[100];
            snprintf(line, sizeof line, "--preset %s --version %s", tt_presets[i].name, tt_version_names[v]);
            CHECK_OK(parse(&o, TT_CMD_TRAIN, line));
            CHECK_OK(tt_config_check(&o.c));
            CHECK(strcmp(o.c.preset, tt_presets[i].name) == 0);
        }
        check_round_trip(&o, tt_presets[i].name);
        CHECK_OK(parse(&o, TT_CMD_BENCH, "--batch-size 5"));
        CHECK_OK(tt_options_apply_preset(&o, tt_presets[i].name));
        CHECK(o.c.batch_size == 5 && o.c.hidden_dim == atoll(tt_presets[i].value[0]));
    }
    CHECK_FAILS(tt_options_apply_preset(&o, "smal"), "did you mean \"small\"?");
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--preset 1b"));
    CHECK(o.c.hidden_dim == 2048 && o.c.num_layers == 22 && o.c.num_heads == 32 && o.c.num_kv_heads == 4 &&
          o.c.ffn_dim == 5632 && o.c.vocab_size == 32000 && o.c.seq_len == 2048 && o.c.batch_size == 8);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--num-steps 5"));
    CHECK(o.c.warmup_steps == 0);
    CHECK_OK(tt_config_check(&o.c));
}

/* What is left open for a checkpoint or the sizes of bench is not printed as if it were decided. */
static void open_values_stay_open(void)
{
    static struct tt_options o;
    static const struct {
        enum tt_command command;
        const char *line, *has, *has_not;
    } cases[] = {
        {TT_CMD_EVAL, "--seq-len 9", "\nseq-len: 9 ", "\nbatch-size:"},
        {TT_CMD_BENCH, "--seq-len 9", "\nseq-len: 9 ", "\nhidden-dim:"},
        {TT_CMD_TRAIN, "--resume auto --seed 4", "\nseed: 4 ", "\nhidden-dim:"},
        {TT_CMD_TRAIN, "", "\nhidden-dim: 128 ", "# hidden-dim"},
        {TT_CMD_GENERATE, "", "\ntemperature: 0.8 ", "\nseed:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(parse(&o, cases[i].command, cases[i].line));
        char *text = printed(&o);
        CHECK(strstr(text, cases[i].has) && !strstr(text, cases[i].has_not), "%s: %s", cases[i].line, text);
        free(text);
    }
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--resume auto"));
    struct tt_text whole = {0};
    tt_options_print(&o, &whole);
    CHECK(strstr(whole.s, "\nhidden-dim: 128 "));
    tt_text_free(&whole);
}

/* ---- checks across options ---- */

static void fusions(void)
{
    static struct tt_options o;
    bool fuse[TT_FUSION_COUNT];
    int count[TT_VERSIONS] = {0};
    for (int v = 0; v < TT_VERSIONS; v++) {
        o.c = (struct tt_config){.version = (enum tt_version)v};
        CHECK_OK(tt_config_fusions(&o.c, fuse));
        for (int i = 0; i < TT_FUSION_COUNT; i++) count[v] += fuse[i];
    }
    CHECK(count[TT_BASELINE] == 0 && count[TT_FUSED] == TT_FUSION_COUNT - 2 && count[TT_FLASH] == TT_FUSION_COUNT);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--version baseline --fuse qkv,norm"));
    CHECK_OK(tt_config_fusions(&o.c, fuse));
    for (int i = 0; i < TT_FUSION_COUNT; i++) CHECK(fuse[i] == (i == TT_FUSE_QKV || i == TT_FUSE_NORM));
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--version fused --fuse all,no-graph"));
    CHECK_OK(tt_config_fusions(&o.c, fuse));
    for (int i = 0; i < TT_FUSION_COUNT; i++) CHECK(fuse[i] == (i != TT_FUSE_GRAPH));
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--fuse norm,no-norm"), "\"norm\" and \"no-norm\" contradict each other");
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--version baseline --fuse all,norm,norm")); /* says the same again */
}

static void fails_together(const char *line, const char *words)
{
    static struct tt_options o;
    CHECK_OK(parse(&o, TT_CMD_TRAIN, line));
    tt_status st = tt_config_check(&o.c);
    CHECK(st && st->code == TT_USAGE && strstr(st->text, words), "%s: %s", line, st ? st->text : "ok");
    tt_status_free(st);
}

static void sizes_fit_together(void)
{
    fails_together("--hidden-dim 130 --num-heads 4", "make hidden-dim a multiple of num-heads, such as 136");
    fails_together("--hidden-dim 12 --num-heads 4", "must be even: try hidden-dim 16");
    fails_together("--num-heads 4 --num-kv-heads 3", "set num-kv-heads to 4");
    fails_together("--num-heads 2 --num-kv-heads 4", "num-heads a multiple of num-kv-heads");
    fails_together("--warmup-steps 400", "make warmup-steps smaller");
    fails_together("--fuse all,no-qkv --fuse qkv", "\"qkv\" and \"no-qkv\" contradict");
    fails_together("--patience 2 --val-interval 0", "set val-interval");
    fails_together("--hidden-dim 65536 --num-layers 1024 --ffn-dim 262144", "parameters is too large");
    fails_together("--seq-len 1048560 --batch-size 65536", "is too large");
    fails_together("--seq-len 1048560 --batch-size 64 --version fused --num-heads 64", "use version flash");
    fails_together("--seq-len 1048560 --batch-size 1024 --vocab-size 4194304 --version fused", "too large");
    fails_together("--seq-len 1048561", "from 1 to 1048560");
    fails_together("--hidden-dim 65536 --num-heads 512 --seq-len 65536 --batch-size 256", "too large");
    fails_together("--num-steps 2147483648 --batch-size 65536 --grad-accum 65536", "more tokens than can be counted");
    if (strcmp(tt_backend_name(), "cpu") == 0)
        fails_together("--precision bf16", "bf16 needs a GPU build: cmake -B build -DBACKEND=cuda or hip");
    struct tt_config zero = {.tie_embeddings = true};
    CHECK_FAILS(tt_config_check(&zero), "hidden-dim is 0");
}

static void lists(void)
{
    char item[8];
    const char *at = " a, bc ,,d,";
    static const char *const expected[] = {"a", "bc", "", "d"};
    for (int i = 0; i < 4; i++)
        CHECK(tt_list_next(&at, ',', item, sizeof item) && strcmp(item, expected[i]) == 0, "%s", item);
    CHECK(!tt_list_next(&at, ',', item, sizeof item) && !tt_list_next(&at, ',', item, sizeof item));
    at = " a \nb, c";
    CHECK(tt_list_next(&at, '\n', item, sizeof item) && strcmp(item, " a ") == 0);
    CHECK(tt_list_next(&at, '\n', item, sizeof item) && strcmp(item, "b, c") == 0);
    at = "123456789";
    CHECK(tt_list_next(&at, ',', item, sizeof item) && strcmp(item, "1234567") == 0 && !*at);
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
    TEST(tiles_are_two_sides);
    TEST(every_value);
    TEST(words_and_flags);
    TEST(mistakes_are_explained);
    TEST(stronger_sources_win);
    TEST(checkpoints_tell_other_commands);
    TEST(files_are_checked);
    TEST(presets_are_sound);
    TEST(open_values_stay_open);
    TEST(fusions);
    TEST(sizes_fit_together);
    TEST(lists);
    TEST(reference_is_current);
    return test_end();
}
