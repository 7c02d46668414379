/* Byte-level tokenizers of other programs: the same tokens as the library `tokenizers` gives (written by
 * tests/hf/make_tokenizers.py), decoding, and what is refused. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "core/data/tokenizers/tokenizer.h"
#include "tests/test.h"

static const char *const kinds[] = {"gpt2", "gpt2_split", "llama3", "qwen2", "smollm"};

static char *read_file(const char *kind, const char *name, size_t *n)
{
    char path[200], *data = NULL;
    snprintf(path, sizeof path, "tests/fixtures/tokenizers/%s/%s", kind, name);
    CHECK_OK(tt_file_read(path, 1 << 20, &data, n));
    return data;
}

/* Loads the tokenizer.json of `kind`, after replacing `from` with `to`. */
static tt_status load(const char *kind, const char *from, const char *to, struct tt_tokenizer **out)
{
    struct tt_text text = {0};
    struct tt_json *j = NULL;
    size_t n;
    char *file = read_file(kind, "tokenizer.json", &n), *at = from ? strstr(file, from) : NULL;
    CHECK(!from || at, "%s: no %s", kind, from);
    tt_text_add(&text, file, at ? (size_t)(at - file) : n);
    if (at) tt_text_puts(&text, to);
    if (at) tt_text_puts(&text, at + strlen(from));
    CHECK_OK(tt_json_parse(text.s, text.n, &j));
    tt_status st = tt_hf_tokenizer_read(j, out);
    tt_json_free(j);
    tt_text_free(&text);
    free(file);
    return st;
}

/* Encodes the text and decodes the tokens again. */
static void check_tokens(const struct tt_tokenizer *t, const char *kind)
{
    size_t size, text_size;
    char *text = read_file(kind, "text.txt", &text_size), *wanted = read_file(kind, "tokens.txt", &size), *at = wanted;
    int32_t *tokens = NULL;
    int64_t n = 0, same = 0;
    struct tt_text back = {0};
    CHECK_OK(tt_tokenizer_encode(t, text, (int64_t)text_size, &tokens, &n));
    while (same < n && strtol(at, &at, 10) == tokens[same]) same++;
    CHECK(n > 500 && same == n && !at[strspn(at, " \n")], "%s: %lld of %lld tokens", kind, (long long)same,
          (long long)n);
    tt_tokenizer_decode(t, tokens, n, &back);
    CHECK(back.n == text_size && !memcmp(back.s, text, text_size), "%s: another text comes back", kind);
    tt_text_free(&back);
    free(tokens);
    free(text);
    free(wanted);
}

static void gives_the_same_tokens(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct tt_tokenizer *t = NULL;
        CHECK_OK(load(kinds[i], NULL, NULL, &t));
        CHECK(!strcmp(tt_tokenizer_kind(t), "byte-level") && tt_tokenizer_size(t) == 362);
        check_tokens(t, kinds[i]);
        tt_tokenizer_free(t);
    }
}

static void is_kept_as_it_came(void)
{
    char folder[] = "/tmp/tt-byte-level-XXXXXX", path[64];
    struct tt_tokenizer *t = NULL, *again = NULL;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    CHECK_OK(load("llama3", NULL, NULL, &t));
    CHECK_OK(tt_tokenizer_save(t, path));
    CHECK_OK(tt_tokenizer_load(path, &again));
    check_tokens(again, "llama3");
    size_t n, m;
    char *file = NULL, *original = read_file("llama3", "tokenizer.json", &m);
    CHECK_OK(tt_file_read(path, 1 << 20, &file, &n));
    struct tt_json *a = NULL, *b = NULL;
    CHECK_OK(tt_json_parse(file, n, &a));
    CHECK_OK(tt_json_parse(original, m, &b));
    struct tt_json_writer x = {0}, y = {0};
    tt_json_put_value(&x, NULL, a);
    tt_json_put_value(&y, NULL, b);
    CHECK(!strcmp(x.text.s, y.text.s) && strstr(x.text.s, "TemplateProcessing"));
    tt_text_free(&x.text);
    tt_text_free(&y.text);
    tt_json_free(a);
    tt_json_free(b);
    free(file);
    free(original);
    tt_tokenizer_free(t);
    tt_tokenizer_free(again);
    CHECK_OK(tt_remove_tree(folder));
}

/* Merging a word of a megabyte takes time in proportion to its length. */
static void long_words(void)
{
    enum { LONG = 1 << 20 };
    struct tt_tokenizer *t = NULL;
    struct tt_text back = {0};
    int32_t *tokens = NULL;
    int64_t n = 0;
    char *text = malloc(LONG);
    memset(text, 'a', LONG);
    CHECK_OK(load("gpt2", NULL, NULL, &t));
    CHECK_OK(tt_tokenizer_encode(t, text, LONG, &tokens, &n));
    tt_tokenizer_decode(t, tokens, n, &back);
    CHECK(n > 0 && n < LONG / 2 && back.n == LONG && !memcmp(back.s, text, LONG), "%lld tokens", (long long)n);
    tt_text_free(&back);
    free(tokens);
    CHECK_OK(tt_tokenizer_encode(t, "a\xff\xc3 b", 5, &tokens, &n)); /* bytes that are not UTF-8 also have tokens */
    tt_tokenizer_decode(t, tokens, n, &back);
    CHECK(back.n == 5 && !memcmp(back.s, "a\xff\xc3 b", 5));
    tt_text_free(&back);
    free(tokens);
    free(text);
    tt_tokenizer_free(t);
}

static void a_byte_without_a_token(void)
{
    struct tt_tokenizer *t = NULL;
    int32_t *tokens = NULL;
    int64_t n = 0;
    CHECK_OK(load("gpt2", "\"^\":62,", "", &t));
    CHECK_OK(tt_tokenizer_encode(t, "cat", 3, &tokens, &n));
    CHECK(n > 0);
    free(tokens);
    CHECK_FAILS(tt_tokenizer_encode(t, "cat^", 4, &tokens, &n), "no token for the byte 0x5e");
    tt_tokenizer_free(t);
}

static void refuses_what_it_would_read_otherwise(void)
{
    static const struct {
        const char *kind, *from, *to, *words;
    } cases[] = {
        {"gpt2", "\"normalizer\":null", "\"normalizer\":{\"type\":\"NFD\"}", "a normalizer"},
        {"gpt2", "\"add_prefix_space\":false", "\"add_prefix_space\":true", "splits text in a way"},
        {"llama3", "{1,3}", "{1,4}", "splits text in a way"},
        {"llama3", "\"Isolated\"", "\"Removed\"", "splits text in a way"},
        {"smollm", "\"individual_digits\":true", "\"individual_digits\":false", "splits text in a way"},
        {"gpt2", "\"type\":\"BPE\"", "\"type\":\"Unigram\"", "not a byte-pair encoding"},
        {"gpt2", "\"byte_fallback\":false", "\"byte_fallback\":true", "is not byte-level"},
        {"gpt2", "\"dropout\":null", "\"dropout\":0.1", "uses dropout"},
        {"gpt2", "\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\"", "a word suffix"},
        {"gpt2", "\"lstrip\":false", "\"lstrip\":true", "with lstrip"},
        {"gpt2", "\"content\":\"<|end|>\"", "\"content\":\"<|fin|>\"", "with the id of another token"},
        {"gpt2", "\"content\":\"<|end|>\"", "\"content\":\"\"", "an empty added token"},
        {"gpt2", "\"!\":1", "\"!\":2", "two tokens with the same id"},
        {"gpt2", "\"!\":1", "\"!\":100000", "large gaps"},
        {"gpt2", "\"merges\":[", "\"merges\":[[\"zq\",\"qz\"],", "not in its vocabulary"},
        {"gpt2", "\"merges\":[", "\"merge\":[", "no merges"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_tokenizer *t = NULL;
        tt_status st = load(cases[i].kind, cases[i].from, cases[i].to, &t);
        CHECK(st && st->code == TT_UNSUPPORTED && strstr(st->text, cases[i].words), "%s: %s", cases[i].to,
              st ? st->text : "read");
        tt_status_free(st);
        tt_tokenizer_free(t);
    }
    struct tt_tokenizer *t = NULL;
    CHECK_FAILS(tt_tokenizer_load("tests/fixtures/hf/gqa_tied_fp32/config.json", &t), "or a tokenizer.json");
}

int main(void)
{
    TEST(gives_the_same_tokens);
    TEST(is_kept_as_it_came);
    TEST(long_words);
    TEST(a_byte_without_a_token);
    TEST(refuses_what_it_would_read_otherwise);
    return test_end();
}
