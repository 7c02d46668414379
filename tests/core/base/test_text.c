/* core/base/text: the growing string, edit distance and suggestions. */
#include "core/base/text.h"

#include "tests/test.h"

static void grows(void)
{
    struct tt_text t = {0};
    CHECK(!t.s && !t.n);
    tt_text_add(&t, "", 0);
    CHECK(t.s && t.n == 0 && t.s[0] == 0);
    for (int i = 0; i < 1000; i++) {
        tt_text_puts(&t, "abc");
        tt_text_printf(&t, "%d,", i % 10);
    }
    CHECK(t.n == 5000 && strlen(t.s) == 5000);
    CHECK(!strncmp(t.s, "abc0,abc1,abc2,", 15));
    CHECK(!strcmp(t.s + 4995, "abc9,"));
    CHECK_OK(tt_text_status(&t));
    tt_text_free(&t);
    CHECK(!t.s && !t.n && !t.cap);
}

static void prints_long_lines(void)
{
    for (int n = 200; n < 700; n++) {
        struct tt_text t = {0};
        tt_text_puts(&t, "<");
        tt_text_printf(&t, "%*d", n, 7);
        tt_text_puts(&t, ">");
        CHECK(t.n == (size_t)n + 2 && t.s[n] == '7' && t.s[n + 1] == '>' && t.s[n + 2] == 0, "n = %d", n);
        tt_text_free(&t);
    }
}

static void keeps_zero_bytes(void)
{
    struct tt_text t = {0};
    tt_text_add(&t, "a\0b", 3);
    CHECK(t.n == 3 && !memcmp(t.s, "a\0b", 4));
    tt_text_free(&t);
}

static void remembers_failure(void)
{
    struct tt_text t = {0};
    tt_text_puts(&t, "kept");
    t.failed = true;
    tt_text_puts(&t, "lost");
    CHECK(!strcmp(t.s, "kept"));
    CHECK_FAILS(tt_text_status(&t), "out of memory");
    tt_text_free(&t);
}

static void measures_distance(void)
{
    CHECK(tt_edit_distance("", "") == 0);
    CHECK(tt_edit_distance("", "abc") == 3);
    CHECK(tt_edit_distance("abc", "") == 3);
    CHECK(tt_edit_distance("kitten", "sitting") == 3);
    CHECK(tt_edit_distance("saturday", "sunday") == 3);
    CHECK(tt_edit_distance("trian", "train") == 1);
    CHECK(tt_edit_distance("ab", "ba") == 1);
    CHECK(tt_edit_distance("same", "same") == 0);
}

static const char *const options[] = {"train",      "eval",    "generate",  "batch_size", "seq_len", "num_layers",
                                      "num_heads",  "version", "num_steps", "seed",       "fp32",    "bf16",
                                      "hidden_dim", "lr",      "resume",    "out"};

static const char *nearest(const char *word)
{
    const char *name = tt_nearest(word, options, (int)(sizeof options / sizeof *options));
    return name ? name : "(none)";
}

static void suggests(void)
{
    CHECK(!strcmp(nearest("trian"), "train"));
    CHECK(!strcmp(nearest("genrate"), "generate"));
    CHECK(!strcmp(nearest("batch-size"), "batch_size"));
    CHECK(!strcmp(nearest("batchsize"), "batch_size"));
    CHECK(!strcmp(nearest("BATCH_SIZE"), "batch_size"));
    CHECK(!strcmp(nearest("FP32"), "fp32"));
    CHECK(!strcmp(nearest("batch"), "batch_size"));
    CHECK(!strcmp(nearest("layers"), "num_layers"));
    CHECK(!strcmp(nearest("steps"), "num_steps"));
    CHECK(!strcmp(nearest("num_head"), "num_heads"));
    CHECK(!strcmp(nearest("sed"), "seed"));
}

static void does_not_guess_wildly(void)
{
    CHECK(!strcmp(nearest("zebra"), "(none)"), "%s", nearest("zebra"));
    CHECK(!strcmp(nearest("x"), "(none)"));
    CHECK(!strcmp(nearest(""), "(none)"));
    CHECK(!strcmp(nearest("completely-unrelated"), "(none)"));
    CHECK(!tt_nearest("train", NULL, 0));
}

static void quotes_for_a_shell(void)
{
    char out[64];
    CHECK(!strcmp(tt_shell_word("runs/a-1.b", out, sizeof out), "runs/a-1.b"), "%s", out);
    CHECK(!strcmp(tt_shell_word("my run", out, sizeof out), "'my run'"), "%s", out);
    CHECK(!strcmp(tt_shell_word("", out, sizeof out), "''"), "%s", out);
    CHECK(!strcmp(tt_shell_word("it's $1", out, sizeof out), "'it'\\''s $1'"), "%s", out);
    char small[8];
    CHECK(strlen(tt_shell_word("a long name", small, sizeof small)) < sizeof small);
}

int main(void)
{
    TEST(grows);
    TEST(prints_long_lines);
    TEST(keeps_zero_bytes);
    TEST(remembers_failure);
    TEST(measures_distance);
    TEST(suggests);
    TEST(does_not_guess_wildly);
    TEST(quotes_for_a_shell);
    return test_end();
}
