/* A run's configuration: presets, fusions, tiles, and checks that involve several options. */
#include "core/config/presets.h"
#include "tests/core/config/options_fixture.h"

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
    CHECK_OK(parse(&o, TT_CMD_TRAIN, "--version baseline --fuse all,norm,norm")); /* repeating is allowed */
}

static void tiles_are_two_sides(void)
{
    static const char *const wrong[] = {"5", "5x", "x5", "0x5", "5x0", "5x5x5", "5X5", "-1x3", "4097x4",
                                        "4x99999999999999999999", " 5x5", "5x5y"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(tt_flash_tile_check(wrong[i]), "is not a tile size");
    CHECK_OK(tt_flash_tile_check(""));
    CHECK_OK(tt_flash_tile_check("1x4096"));
    struct tt_config c = {.flash_tile = "4096x1"};
    struct tt_flash_tile tile = tt_config_flash_tile(&c);
    CHECK(tile.rows == 4096 && tile.cols == 1, "%d x %d", tile.rows, tile.cols);
    c.flash_tile[0] = 0;
    tile = tt_config_flash_tile(&c);
    CHECK(tile.rows == 0 && tile.cols == 0);
}

static void scalings_are_a_type_and_numbers(void)
{
    static const char *const wrong[][2] = {
        {"long", "choose from linear"},
        {"linear", "needs factor"},
        {"linear,4", "not of the form"},
        {"linear,factor=", "not of the form"},
        {"linear,factor=4x", "not of the form"},
        {"linear,factor=nan", "not of the form"},
        {"linear,factor=0.5", "from 1 to"},
        {"linear,factor=0", "factor=0 is out of range; it must be from 1 to"},
        {"linear,factor=2,factor=2", "given twice"},
        {"linear,factor=2,size=1", "linear has no number \"size\"; it has factor, max_position_embeddings"},
        {"linear,factor=2,beta_fast=1", "linear has no beta_fast"},
        {"dynamic,factor=2", "needs max_position_embeddings"},
        {"yarn,factor=2", "needs original_max_position_embeddings"},
        {"llama3,factor=2,original_max_position_embeddings=8,low_freq_factor=4,high_freq_factor=4", "must be larger"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_FAILS(tt_rope_scaling_check(wrong[i][0]), wrong[i][1]);
    struct tt_rope_scaling s;
    char again[TT_ROPE_SCALING_SIZE];
    const char *text = "yarn,factor=1.1,original_max_position_embeddings=77,beta_slow=2,attention_factor=0.12345678";
    CHECK_OK(tt_rope_scaling_read(text, &s));
    CHECK(s.type == TT_ROPE_YARN && s.factor == 1.1 && s.original == 77 && s.beta_slow == 2 && s.beta_fast == 0);
    tt_rope_scaling_write(&s, again);
    CHECK(!strcmp(text, again), "%s", again);
    CHECK_OK(tt_rope_scaling_read("", &s));
    CHECK(s.type == TT_ROPE_DEFAULT);
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
    fails_together("--hidden-dim 130 --num-heads 4", "a multiple of num-heads, such as 136, or give a head-dim");
    fails_together("--head-dim 7", "an even number");
    fails_together("--head-dim 65536 --num-heads 1024 --num-kv-heads 1024 --hidden-dim 65536", "too large");
    fails_together("--hidden-dim 12 --num-heads 4", "must be even: try hidden-dim 16");
    fails_together("--num-heads 4 --num-kv-heads 3", "set num-kv-heads to 4");
    fails_together("--num-heads 2 --num-kv-heads 4", "num-heads a multiple of num-kv-heads");
    fails_together("--rope-theta 1 --rope-scaling yarn,factor=2,original_max_position_embeddings=8", "larger");
    fails_together("--warmup-steps 400", "make warmup-steps smaller");
    fails_together("--beta2 0.99999999", "rounds to 1 in fp32");
    fails_together("--beta1 0.99999999", "--beta1 0.99999999");
    fails_together("--clip-norm 1e-50", "means no clipping");
    fails_together("--adam-eps 1e-50", "rounds to 0 in fp32");
    fails_together("--fuse all,no-qkv --fuse qkv", "\"qkv\" and \"no-qkv\" contradict");
    fails_together("--patience 2 --val-interval 0", "set val-interval");
    fails_together("--fp8 all", "fp8 all does nothing with precision fp32; give --precision fp8 too");
    fails_together("--hidden-dim 65536 --num-layers 1024 --ffn-dim 262144", "parameters is too large");
    fails_together("--seq-len 1048560 --batch-size 65536", "is too large");
    fails_together("--seq-len 1048560 --batch-size 64 --version fused --num-heads 64", "use version flash");
    fails_together("--seq-len 1048560 --batch-size 1024 --vocab-size 4194304 --version fused", "too large");
    static struct tt_options o;
    CHECK_FAILS(parse(&o, TT_CMD_TRAIN, "--seq-len 1048561"), "it must be in [1, 1048560]");
    fails_together("--hidden-dim 65536 --num-heads 512 --seq-len 65536 --batch-size 256", "too large");
    fails_together("--num-steps 2147483648 --batch-size 65536 --grad-accum 65536", "more tokens than can be counted");
    if (strcmp(tt_backend_name(), "cpu") == 0)
        fails_together("--precision bf16", "bf16 needs a GPU build: cmake -B build -DBACKEND=cuda or hip; this tt was "
                                           "built for cpu, which has --precision fp32, and fp8 to compare with");
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

int main(void)
{
    TEST(presets_are_sound);
    TEST(fusions);
    TEST(tiles_are_two_sides);
    TEST(scalings_are_a_type_and_numbers);
    TEST(sizes_fit_together);
    TEST(lists);
    return test_end();
}
