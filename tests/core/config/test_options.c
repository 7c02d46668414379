/* The option parser: every value of every option, mistakes, files, and which source wins. */
#include <unistd.h>

#include "core/base/file.h"
#include "tests/core/config/options_fixture.h"

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

static void check_texts(enum tt_command command, const struct tt_option *row)
{
    static const char *const texts[] = {"x",           "a b",        "yes",  "012", "a: b # c", "-x",
                                        "it's \"so\"", "\xc3\xa9",   "1e-3", "~",   "[a]",      "\\n",
                                        "tab\there",   "line\nline", "true", "--x"};
    struct tt_options o;
    static const char *const grammars[][3] = {{"fuse", "all,no-norm", "--fuse=no-such"},
                                              {"fail-if", "slower:5%,gradients", "--fail-if=fatter:5%"},
                                              {"fault", "random:7", "--fault=random:x"},
                                              {"ranks", "1,2,4", "--ranks=1,two"},
                                              {"generate", "1,16", "--generate=1,x"},
                                              {"link", "0.5,20", "--link=fast"},
                                              {"for", "rtx4080s,16GiB", "--for=4080x"},
                                              {"flash-tile", "256x64", "--flash-tile=256x0"},
                                              {"rope-scaling", "linear,factor=4", "--rope-scaling=linear"},
                                              {"end-tokens", "7,9", "--end-tokens=7,x"},
                                              {"update-share", "0.25", "--update-share=0"}};
    for (size_t i = 0; row->check && i < sizeof grammars / sizeof *grammars; i++) {
        if (strcmp(row->name, grammars[i][0]) != 0) continue;
        check_value(command, row, grammars[i][1]);
        CHECK_FAILS(parse(&o, command, grammars[i][2]), row->name);
        return;
    }
    for (int i = 0; row->choices && row->choices[i]; i++) check_value(command, row, row->choices[i]);
    for (int i = 0; !strcmp(row->name, "predict") && row->choices[i]; i++) {
        char counted[100];
        snprintf(counted, sizeof counted, "8x%s,4x8x%s", row->choices[i], row->choices[i]);
        check_value(command, row, counted);
        snprintf(counted, sizeof counted, "--%s=8%s", row->name, row->choices[i]);
        CHECK_FAILS(parse(&o, command, counted), "there is no");
    }
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

/* ---- the command line ---- */

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
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--prompt x"), "--prompt is an option of generate, not of train");
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
    CHECK_FAILS(parse(&o, TT_CMD_BENCH, "--preset tiny"), "--preset is an option of train, info");
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

/* Another trainer's config.yaml: its groups, its names for options, its values. */
static void files_of_others_are_read(void)
{
    static struct tt_options o;
    const char *text = "device: auto\ntraining:\n  batch_size: 12\n  gradient_clip: 0.5\n  log_interval: 100\n"
                       "  max_iters: 7\n  optimizer:\n    lr: 2e-3\n    weight_decay: 0.01\n"
                       "data:\n  path: book.txt\n  max_chars: 1000\n  val_split: 0.2\n"
                       "model:\n  n_embd: 64\n  n_layer: 2\n  n_head: 4\n  block_size: 32\n"
                       "output:\ngraph: false\ntorch_dtype: float32\n";
    CHECK_OK(tt_options_init(&o, TT_CMD_TRAIN));
    CHECK_OK(tt_options_apply_yaml(&o, text, TT_FROM_FILE));
    CHECK(o.c.device == 0 && o.c.batch_size == 12 && o.c.clip_norm == 0.5 && o.c.log_interval == 100);
    CHECK(o.c.num_steps == 7 && o.c.learning_rate == 2e-3 && o.c.weight_decay == 0.01);
    CHECK(strcmp(o.c.data, "book.txt") == 0 && o.c.max_chars == 1000 && o.c.val_fraction == 0.2);
    CHECK(o.c.hidden_dim == 64 && o.c.num_layers == 2 && o.c.num_heads == 4 && o.c.seq_len == 32);
    CHECK(o.c.graph == TT_SWITCH_OFF && o.c.precision == TT_FP32);
    CHECK_OK(tt_options_apply_yaml(&o, "rope_scaling: {type: linear, rope_type: linear, factor: 2}", TT_FROM_FILE));
    CHECK(strcmp(o.c.rope_scaling, "linear,factor=2") == 0, "%s", o.c.rope_scaling);
    CHECK_OK(tt_options_apply_yaml(&o, "model:\n  rope_scaling:\n    factor: 4\n    max_position_embeddings: 64\n"
                                       "    rope_type: dynamic\n", TT_FROM_FILE));
    CHECK(strcmp(o.c.rope_scaling, "dynamic,factor=4,max_position_embeddings=64") == 0, "%s", o.c.rope_scaling);
    CHECK_OK(tt_options_apply_yaml(&o, "rope_scaling: {rope_type: default, factor: 2}", TT_FROM_FILE));
    CHECK(!o.c.rope_scaling[0], "%s", o.c.rope_scaling);
    CHECK_OK(tt_options_apply_yaml(&o, "rope_scaling: {type: linear, factor: 2}", TT_FROM_FILE));
    CHECK_OK(tt_options_apply_yaml(&o, "rope_scaling: null", TT_FROM_FILE));
    CHECK(!o.c.rope_scaling[0]);
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--device auto --precision bfloat16"));
    CHECK(o.c.device == 0 && o.c.precision == TT_PREC_BF16);
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--gradient-clip 1"), "did you mean --clip-norm?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--lr 1e-3"), "did you mean --learning-rate?");
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--num-workers 4"), "--prefetch does that");
}

/* Another program's name stands for exactly one option and is not an option itself. */
static void names_of_others_are_clear(void)
{
    for (int i = 0, n = tt_schema_count(&tt_schema); i < n; i++) {
        const struct tt_option *row = tt_schema_row(&tt_schema, i);
        const char *const *lists[] = {row->also, row->instead};
        for (int l = 0; l < 2; l++)
            for (int k = 0; lists[l] && lists[l][k]; k++) {
                const char *name = lists[l][k];
                const struct tt_option *as = tt_schema_find_known(&tt_schema, TT_CMD_TRAIN, name),
                                       *instead = tt_schema_find_instead(&tt_schema, TT_CMD_TRAIN, name);
                CHECK(!tt_schema_find_any(&tt_schema, TT_CMD_TRAIN, name), "%s is an option itself", name);
                CHECK((as != NULL) != (instead != NULL), "%s is read and refused", name);
                CHECK(strcmp((as ? as : instead)->name, row->name) == 0, "%s is two options", name);
            }
    }
}

static void files_are_checked(void)
{
    static struct tt_options o;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"bach-size: 1", "line 1: there is no option bach-size; did you mean batch-size?"},
        {"\nbatch-size: 0", "line 2: batch-size: 0 is out of range"},
        {"batch-size: 1\nbatch_size: 2", "line 2: batch-size is repeated"},
        {"batch-size: [1, 2]", "takes one value"},
        {"batch-size:", "has no value"},
        {"seed: 1e3", "not a whole number"},
        {"out: 5", "write \"5\""},
        {"out: true", "write \"true\""},
        {"tie-embeddings: yes", "quote it"},
        {"config: a.yaml", "command line"},
        {"help: true", "command line"},
        {"- a", "option: value"},
        {"seed: 1\ntrain:\n  seed: 2", "line 3: seed is repeated"},
        {"a: 1\ntraining:\n  use_compile: true\n  max_gradnorm: 1",
         "line 1: there is no option a; tt help train lists them, and line 3: there is no option training.use_compile; "
         "version does that (baseline, fused, flash), and line 4: there is no option training.max_gradnorm; did you "
         "mean clip-norm?"},
        {"sede:", "line 1: there is no option sede; did you mean seed?"},
        {"batch-size:\n  a: 1", "takes one value"},
        {"lr: 1e-3\noptimizer:\n  learning_rate: 1e-4", "line 3: learning-rate is repeated"},
        {"prompts: [a]", "takes one value"}, /* of another command: unused but checked */
        {"temperature: 1000", "out of range"},
        {"fuse: [qkv, [norm]]", "flat list"},
        {"rope-scaling: {factor: 2}", "needs a type"},
        {"rope-scaling: {type: linear, rope_type: yarn}", "two types, linear and yarn"},
        {"rope-scaling: {type: linear, factor: [2]}", "one value for factor"},
        {"rope-scaling: {type: default, rope_theta: 5e5}", "of type default, which has no rope_theta; leave it out"},
        {"rope-scaling: {type: linear, size: 2}", "no number \"size\"; it has factor"},
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

/* Values that a checkpoint or the sizes of bench will decide are not printed as if they were decided. */
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

int main(void)
{
    TEST(every_value);
    TEST(words_and_flags);
    TEST(mistakes_are_explained);
    TEST(stronger_sources_win);
    TEST(checkpoints_tell_other_commands);
    TEST(files_of_others_are_read);
    TEST(names_of_others_are_clear);
    TEST(files_are_checked);
    TEST(open_values_stay_open);
    return test_end();
}
