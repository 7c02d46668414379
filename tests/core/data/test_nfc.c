/* Unicode's normal form C, and tokenizers that use it. tests/hf/make_nfc.py wrote the tables. */
#include "core/base/file.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "core/data/tokenizers/nfc.h"
#include "tests/test.h"

static void normal_forms(void)
{
    static const struct {
        const char *text, *normal;
    } cases[] = {
        {"", ""},
        {"plain text \xc3\xa9", "plain text \xc3\xa9"},
        {"caf" "e\xcc\x81", "caf\xc3\xa9"},
        {"A\xcc\x8a \xe2\x84\xab", "\xc3\x85 \xc3\x85"}, /* and the angstrom sign */
        {"a\xcc\x81\xcc\xa3", "\xe1\xba\xa1\xcc\x81"}, /* the mark below is sorted first */
        {"s\xcc\xa3\xcc\x87", "\xe1\xb9\xa9"}, /* two steps */
        {"a\xcc\xb4\xcc\x81", "\xc3\xa1\xcc\xb4"}, /* composes across a mark of another class */
        {"a\xcc\x80\xcc\x81", "\xc3\xa0\xcc\x81"}, /* but not across one of the same class */
        {"\xcc\x81" "a", "\xcc\x81" "a"}, /* no base character */
        {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81"}, /* Hangul */
        {"\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81"},
        {"\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc"}, /* never composed: it becomes longer */
        {"\xf0\x9d\x85\xa0", "\xf0\x9d\x85\x98\xf0\x9d\x85\xa5\xf0\x9d\x85\xae"}, /* it becomes three times as long */
        {"e\xff\xcc\x81\xe1\x84", "e\xff\xcc\x81\xe1\x84"}, /* not UTF-8 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_text out = {0}, again = {0};
        CHECK_OK(tt_nfc(cases[i].text, strlen(cases[i].text), &out));
        CHECK(out.n == strlen(cases[i].normal) && (!out.n || !memcmp(out.s, cases[i].normal, out.n)), "case %zu: %s", i,
              out.s ? out.s : "");
        CHECK_OK(tt_nfc(out.s ? out.s : "", out.n, &again));
        CHECK(again.n == out.n && (!out.n || !memcmp(out.s, again.s, out.n)), "case %zu is not stable", i);
        CHECK(out.n <= TT_NFC_GROWTH * strlen(cases[i].text));
        tt_text_free(&out);
        tt_text_free(&again);
    }
    CHECK(tt_nfc_is_plain("caf\xc3\xa9", 5) && !tt_nfc_is_plain("e\xcc\x81", 3));
}

/* Sorting a run of a hundred thousand marks is quick. */
static void many_marks(void)
{
    struct tt_text text = {0}, out = {0};
    tt_text_puts(&text, "a");
    for (int i = 0; i < 100000; i++) tt_text_puts(&text, i % 2 ? "\xcc\x81" : "\xcc\xa3");
    CHECK_OK(tt_nfc(text.s, text.n, &out));
    CHECK(out.n == text.n && !memcmp(out.s, "\xe1\xba\xa1\xcc\xa3", 5), "%zu bytes of %zu", out.n, text.n);
    tt_text_free(&text);
    tt_text_free(&out);
}

static tt_status load(const char *normalizer, struct tt_tokenizer **out)
{
    static const char field[] = "\"normalizer\":null";
    struct tt_text text = {0};
    struct tt_json *j = NULL;
    char *file = NULL;
    size_t n;
    CHECK_OK(tt_file_read("tests/fixtures/tokenizers/qwen2/tokenizer.json", 1 << 20, &file, &n));
    char *at = strstr(file, field);
    CHECK(at, "no %s", field);
    tt_text_add(&text, file, (size_t)(at - file));
    tt_text_printf(&text, "\"normalizer\":%s%s", normalizer, at + sizeof field - 1);
    CHECK_OK(tt_json_parse(text.s, text.n, &j));
    tt_status st = tt_hf_tokenizer_read(j, out);
    tt_json_free(j);
    tt_text_free(&text);
    free(file);
    return st;
}

static void tokenizers(void)
{
    static const char apart[] = "caf" "e\xcc\x81 \xe0\xa5\x98\xe0\xa5\x98",
                      together[] = "caf\xc3\xa9 \xe0\xa4\x95\xe0\xa4\xbc\xe0\xa4\x95\xe0\xa4\xbc";
    struct tt_tokenizer *t = NULL, *plain = NULL;
    int32_t *a = NULL, *b = NULL;
    int64_t n = 0, m = 0;
    CHECK_OK(load("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}]}", &t));
    tt_tokenizer_free(t);
    CHECK_OK(load("{\"type\":\"NFC\"}", &t));
    CHECK_OK(load("null", &plain));
    CHECK(tt_tokenizer_growth(t) == TT_NFC_GROWTH && tt_tokenizer_growth(plain) == 1);
    CHECK_OK(tt_tokenizer_encode(t, apart, sizeof apart - 1, &a, &n));
    CHECK_OK(tt_tokenizer_encode(plain, together, sizeof together - 1, &b, &m));
    CHECK(n == m && !memcmp(a, b, (size_t)n * sizeof *a), "%lld and %lld tokens", (long long)n, (long long)m);
    free(a);
    free(b);
    tt_tokenizer_free(t);
    tt_tokenizer_free(plain);
    static const char *const others[] = {"{\"type\":\"NFKC\"}", "{\"type\":\"Lowercase\"}",
                                         ("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},"
                                          "{\"type\":\"Lowercase\"}]}")};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_FAILS(load(others[i], &t), "a normalizer other than NFC");
}

int main(void)
{
    TEST(normal_forms);
    TEST(many_marks);
    TEST(tokenizers);
    return test_end();
}
