/* core/base/json: what RFC 8259 allows and forbids, exact numbers, the writer, and malformed input of all kinds. */
#include "core/base/json.h"

#include "core/base/rng.h"
#include "tests/test.h"

static struct tt_json *parse_n(const char *text, size_t n)
{
    char *exact = malloc(n ? n : 1); /* exact size, so that sanitizers see a read beyond the end */
    if (n) memcpy(exact, text, n);
    struct tt_json *j;
    tt_status st = tt_json_parse(exact, n, &j);
    CHECK(!st == !!j);
    tt_status_free(st);
    free(exact);
    return j;
}

static struct tt_json *parse(const char *text) { return parse_n(text, strlen(text)); }

static void accepts_what_the_standard_allows(void)
{
    static const char *const good[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-1",
        "0.5",
        "1e5",
        "1E+5",
        "1e-5",
        "-0.0e0",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "[]",
        "{}",
        " [ ] ",
        "\t{\r\n}\n",
        "[1]",
        "[1,2 , 3]",
        "[[],{},[[]]]",
        "{\"\":0}",
        "{\"a\":1,\"a\":2}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u00e9\\u20AC\\ud83d\\ude00\"",
        "\"\x7f\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
        "\xef\xbb\xbf[1]",
        "1e-400",
        "\"\\uFFFF\"",
        "[1e2,1.5E-3]",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tt_json *j = parse(good[i]);
        CHECK(j, "refused: %s", good[i]);
        tt_json_free(j);
    }
}

static void refuses_what_it_forbids(void)
{
    static const char *const bad[] = {
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "NaN",
        "Infinity",
        "-Infinity",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "-",
        "1e",
        "1e+",
        "0x10",
        "1_000",
        "1 2",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,,2]",
        "{",
        "}",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{'a':1}",
        "{1:2}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[}",
        "{]",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\n\"",
        "\"\\ud800\\ud800\"",
        "\"\\ud83d\\u0041\"",
        "\"a\nb\"",
        "\"a\tb\"",
        "\"\x01\"",
        "'a'",
        "// x\n1",
        "/* x */1",
        "\"\\u0000\"",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xc3\"",
        "\"\xe2\x82\"",
        "\xff",
        "1e999",
        "-1e999",
        "[1]x",
        "[1][2]",
        "\xef\xbb",
        "truefalse",
        "[true1]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_json *j = parse(bad[i]);
        CHECK(!j, "accepted: %s", bad[i]);
        tt_json_free(j);
    }
    CHECK(!parse_n("\0", 1) && !parse_n("1\0", 2) && !parse_n("\"a\0\"", 4) && !parse_n("[1\0]", 4));
}

static void names_line_and_column(void)
{
    struct tt_json *j;
    const char *text = "{\n  \"\xc3\xa9\": 1,\n  \"b\": x\n}";
    CHECK_FAILS(tt_json_parse(text, strlen(text), &j), "line 3, column 8: expected a value");
    text = "[\"\xc3\xa9\xc3\xa9\", ?]";
    CHECK_FAILS(tt_json_parse(text, strlen(text), &j), "line 1, column 8");
    CHECK_FAILS(tt_json_parse("[1,\n2", 5, &j), "line 2, column 2: expected ',' or ']'");
    CHECK_FAILS(tt_json_parse("\"a\\q\"", 5, &j), "line 1, column 3: unknown escape");
}

static void limits_depth(void)
{
    char text[200];
    for (int depth = 60; depth < 70; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        struct tt_json *j = parse_n(text, 2 * (size_t)depth);
        CHECK(!j == (depth > 64), "depth %d", depth);
        tt_json_free(j);
    }
    char *deep = malloc(1000000);
    memset(deep, '[', 1000000);
    CHECK(!parse_n(deep, 1000000));
    free(deep);
}

static void builds_the_tree(void)
{
    struct tt_json *j =
        parse("{\"a\": [1, \"x\", null, true, {\"b\": -2.5}], \"n\": 7, \"s\": \"text\", \"a\\u00e9\": {}}");
    CHECK(j && j->type == TT_JSON_OBJECT && j->count == 4 && !j->key);
    const struct tt_json *a = tt_json_get(j, "a"), *e = a->first;
    CHECK(a->type == TT_JSON_ARRAY && a->count == 5 && !strcmp(a->key, "a"));
    CHECK(e->type == TT_JSON_NUMBER && e->number == 1 && !strcmp(e->string, "1") && !e->key);
    e = e->next;
    CHECK(e->type == TT_JSON_STRING && !strcmp(e->string, "x"));
    e = e->next;
    CHECK(e->type == TT_JSON_NULL);
    e = e->next;
    CHECK(e->type == TT_JSON_BOOL && e->boolean);
    e = e->next;
    CHECK(e->type == TT_JSON_OBJECT && tt_json_number(e, "b", 0) == -2.5 && !e->next);
    CHECK(tt_json_number(j, "n", 0) == 7 && tt_json_number(j, "s", 3) == 3 && tt_json_number(j, "absent", 4) == 4);
    CHECK(!strcmp(tt_json_string(j, "s", ""), "text") && !tt_json_string(j, "n", NULL));
    CHECK(tt_json_get(j, "a\xc3\xa9") && !tt_json_get(j, "absent") && !tt_json_get(a, "a") && !tt_json_get(NULL, "a"));
    tt_json_free(j);
    tt_json_free(NULL);

    j = parse("{\"k\": 1, \"k\": 2}");
    CHECK(tt_json_number(j, "k", 0) == 2);
    tt_json_free(j);
}

static void decodes_escapes(void)
{
    struct tt_json *j = parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\udbff\\uDFFF\"");
    CHECK(j && !strcmp(j->string, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"));
    tt_json_free(j);
}

static bool int_of(const char *text, int64_t min, int64_t max, int64_t *out)
{
    struct tt_json *j = parse(text);
    bool is = tt_json_as_int(j, min, max, out);
    tt_json_free(j);
    return is;
}

static bool uint_of(const char *text, uint64_t *out)
{
    struct tt_json *j = parse(text);
    bool is = tt_json_as_uint(j, 0, UINT64_MAX, out);
    tt_json_free(j);
    return is;
}

static void reads_exact_integers(void)
{
    int64_t i = 0;
    uint64_t u = 0;
    CHECK(int_of("9223372036854775807", INT64_MIN, INT64_MAX, &i) && i == INT64_MAX);
    CHECK(int_of("-9223372036854775808", INT64_MIN, INT64_MAX, &i) && i == INT64_MIN);
    CHECK(int_of("9007199254740993", 0, INT64_MAX, &i) && i == 9007199254740993);
    CHECK(int_of("-0", 0, 0, &i) && i == 0);
    CHECK(!int_of("9223372036854775808", INT64_MIN, INT64_MAX, &i) && !int_of("1.0", 0, 10, &i) &&
          !int_of("1e1", 0, 10, &i));
    CHECK(!int_of("11", 0, 10, &i) && !int_of("-1", 0, 10, &i) && !int_of("\"1\"", 0, 10, &i) &&
          !int_of("null", 0, 10, &i));
    CHECK(uint_of("18446744073709551615", &u) && u == UINT64_MAX);
    CHECK(!uint_of("18446744073709551616", &u) && !uint_of("-1", &u) && !uint_of("1.5", &u) && !uint_of("true", &u));
    struct tt_json *j = parse("{\"a\": 5}");
    CHECK(tt_json_int(j, "a", 0, 9, &i) && i == 5 && tt_json_uint(j, "a", 5, 5, &u) && u == 5);
    CHECK(!tt_json_int(j, "b", 0, 9, &i) && !tt_json_uint(j, "a", 6, 9, &u));
    tt_json_free(j);
}

static void writes(void)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        struct tt_json_writer w = {.pretty = pretty};
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "s", "a\"b\\c\n\t\x01\xc3\xa9");
        tt_json_put_string(&w, "none", NULL);
        tt_json_put_int(&w, "min", INT64_MIN);
        tt_json_put_uint(&w, "max", UINT64_MAX);
        tt_json_begin(&w, "list", '[');
        tt_json_put_bool(&w, NULL, true);
        tt_json_put_null(&w, NULL);
        tt_json_begin(&w, NULL, '{');
        tt_json_end(&w, '}');
        tt_json_put_number(&w, NULL, INFINITY);
        tt_json_put_float(&w, NULL, NAN);
        tt_json_end(&w, ']');
        tt_json_put_number(&w, "x", 0.1);
        tt_json_end(&w, '}');
        CHECK_OK(tt_text_status(&w.text));
        const char *wanted =
            pretty ? "{\n  \"s\": \"a\\\"b\\\\c\\n\\u0009\\u0001\xc3\xa9\",\n  \"none\": null,\n"
                     "  \"min\": -9223372036854775808,\n  \"max\": 18446744073709551615,\n  \"list\": [\n    true,\n"
                     "    null,\n    {},\n    null,\n    null\n  ],\n  \"x\": 0.1\n}"
                   : "{\"s\":\"a\\\"b\\\\c\\n\\u0009\\u0001\xc3\xa9\",\"none\":null,\"min\":-9223372036854775808,"
                     "\"max\":18446744073709551615,\"list\":[true,null,{},null,null],\"x\":0.1}";
        CHECK(!strcmp(w.text.s, wanted), "%s", w.text.s);
        struct tt_json *j = parse(w.text.s);
        CHECK(j && !strcmp(tt_json_string(j, "s", ""), "a\"b\\c\n\t\x01\xc3\xa9"));
        tt_json_free(j);
        tt_text_free(&w.text);
    }
}

static void writes_only_valid_utf8(void)
{
    struct tt_json_writer w = {0};
    tt_json_put_string(&w, NULL,
                       "a\xff"
                       "b\xc3");
    CHECK(!strcmp(w.text.s, "\"a\xef\xbf\xbd"
                            "b\xef\xbf\xbd\""),
          "%s", w.text.s);
    w = (struct tt_json_writer){.text = w.text};
    w.text.n = 0;
    tt_json_put_text(&w, NULL, "\xe2\x82-\xed\xa0\x80-\xf0\x9f\x98", 10); /* one replacement per maximal subpart */
    CHECK(!strcmp(w.text.s, "\"\xef\xbf\xbd-\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd-\xef\xbf\xbd\""), "%s", w.text.s);
    tt_text_free(&w.text);
}

static void writes_texts_with_any_bytes(void)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '[');
    tt_json_put_text(&w, NULL, "a\0b\0", 4);
    tt_json_put_text(&w, NULL, "", 0);
    tt_json_put_text(&w, NULL, "\x01\t\"\\\x7f", 5);
    tt_json_end(&w, ']');
    CHECK(!strcmp(w.text.s, "[\"a\\u0000b\\u0000\",\"\",\"\\u0001\\u0009\\\"\\\\\x7f\"]"), "%s", w.text.s);
    tt_text_free(&w.text);
}

static void refuses_to_write_too_deep(void)
{
    struct tt_json_writer w = {0};
    for (int i = 0; i < 100; i++) tt_json_begin(&w, NULL, '[');
    for (int i = 0; i < 100; i++) tt_json_end(&w, ']');
    CHECK(w.text.failed);
    tt_text_free(&w.text);
}

static void number_text(double value, char *out, size_t n)
{
    struct tt_json_writer w = {0};
    tt_json_put_number(&w, NULL, value);
    snprintf(out, n, "%s", w.text.s);
    tt_text_free(&w.text);
}

static void doubles_round_trip(void)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     0.1,
                                     1.0 / 3,
                                     1e22,
                                     1e23,
                                     5e-324,
                                     2.2250738585072014e-308,
                                     1.7976931348623157e308,
                                     1e15,
                                     123456,
                                     1e-5,
                                     -2.5,
                                     9007199254740993.0,
                                     0.3,
                                     0.1 + 0.2};
    int n_special = (int)(sizeof special / sizeof *special);
    for (int i = 0; i < 3000; i++) {
        double value;
        uint64_t bits = tt_random(1, 2, (uint64_t)i);
        memcpy(&value, &bits, sizeof value);
        if (i < n_special) value = special[i];
        if (!isfinite(value)) continue;
        char text[64];
        number_text(value, text, sizeof text);
        struct tt_json *j = parse(text);
        CHECK(j && !memcmp(&j->number, &value, sizeof value), "%.17g as %s", value, text);
        tt_json_free(j);
    }
    char text[64];
    number_text(0.1, text, sizeof text);
    CHECK(!strcmp(text, "0.1"));
    number_text(100, text, sizeof text);
    CHECK(!strcmp(text, "100"), "%s", text);
    number_text(-65536, text, sizeof text);
    CHECK(!strcmp(text, "-65536"), "%s", text);
    number_text(0.1 + 0.2, text, sizeof text);
    CHECK(!strcmp(text, "0.30000000000000004"));
}

static void floats_round_trip(void)
{
    for (int i = 0; i < 3000; i++) {
        uint32_t bits = (uint32_t)tt_random(3, 4, (uint64_t)i);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        struct tt_json_writer w = {0};
        tt_json_put_float(&w, NULL, value);
        float back = strtof(w.text.s, NULL);
        CHECK(!memcmp(&back, &value, sizeof value) && w.text.n <= 16, "%.9g as %s", (double)value, w.text.s);
        tt_text_free(&w.text);
    }
    struct tt_json_writer w = {0};
    tt_json_put_float(&w, NULL, 0.1f);
    CHECK(!strcmp(w.text.s, "0.1"));
    tt_text_free(&w.text);
}

/* Writes the tree again; reading that must give the same tree. */
static void rewrite(struct tt_json_writer *w, const struct tt_json *j)
{
    switch (j->type) {
    case TT_JSON_NULL:
        tt_json_put_null(w, j->key);
        break;
    case TT_JSON_BOOL:
        tt_json_put_bool(w, j->key, j->boolean);
        break;
    case TT_JSON_NUMBER:
        tt_json_put_number(w, j->key, j->number);
        break;
    case TT_JSON_STRING:
        tt_json_put_string(w, j->key, j->string);
        break;
    default:
        tt_json_begin(w, j->key, j->type == TT_JSON_ARRAY ? '[' : '{');
        for (const struct tt_json *c = j->first; c; c = c->next) rewrite(w, c);
        tt_json_end(w, j->type == TT_JSON_ARRAY ? ']' : '}');
    }
}

static bool same(const struct tt_json *a, const struct tt_json *b)
{
    if (a->type != b->type || a->count != b->count || !a->key != !b->key || (a->key && strcmp(a->key, b->key) != 0))
        return false;
    if (a->type == TT_JSON_BOOL && a->boolean != b->boolean) return false;
    if (a->type == TT_JSON_NUMBER && a->number != b->number) return false;
    if (a->type == TT_JSON_STRING && strcmp(a->string, b->string) != 0) return false;
    for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
        if (!same(a, b)) return false;
    return !a && !b;
}

static int mutate(char *text, int n, int capacity, int round)
{
    static const char spice[] = "{}[]\",:\\u0019.eE+-ntf \n\xff\xc3\xe2\xf0\x80";
    for (int k = 0; k < 1 + round % 4; k++) {
        uint64_t r = tt_random(5, (uint64_t)round, (uint64_t)k);
        int at = n ? (int)(r >> 8 & 0xffff) % n : 0;
        char c = r & 64 ? (char)(r >> 32) : spice[(r >> 32 & 0xff) % (sizeof spice - 1)];
        if ((r & 3) == 0 && n > 1) {
            memmove(text + at, text + at + 1, (size_t)(n - at - 1));
            n--;
        } else if ((r & 3) == 1 && n < capacity) {
            memmove(text + at + 1, text + at, (size_t)(n - at));
            text[at] = c;
            n++;
        } else if ((r & 7) == 2) {
            n = at;
        } else if (n) {
            text[at] = c;
        }
    }
    return n;
}

static void survives_mutations(void)
{
    static const char seed[] = "{\"name\": [1, -2.5e-3, \"\\u00e9\\ud83d\\ude00 \xc3\xa9\\n\", null, true, false, {}], "
                               "\"k\": {\"deep\": [[[[]]]], \"x\": 18446744073709551615}, \"\": \"\"}";
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        char text[256];
        memcpy(text, seed, sizeof seed);
        int n = mutate(text, (int)sizeof seed - 1, sizeof text, round);
        struct tt_json *j = parse_n(text, (size_t)n);
        if (!j) continue;
        accepted++;
        struct tt_json_writer w = {.pretty = round & 1};
        rewrite(&w, j);
        struct tt_json *again = parse_n(w.text.s, w.text.n);
        CHECK(again && same(j, again), "%s", w.text.s);
        tt_json_free(again);
        tt_json_free(j);
        tt_text_free(&w.text);
    }
    CHECK(accepted > 500 && accepted < 15000, "accepted %d", accepted);
}

static void reads_large_texts(void)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '[');
    for (int i = 0; i < 100000; i++) tt_json_put_int(&w, NULL, i);
    tt_json_end(&w, ']');
    struct tt_json *j = parse_n(w.text.s, w.text.n);
    CHECK(j && j->count == 100000);
    int64_t sum = 0;
    for (const struct tt_json *e = j ? j->first : NULL; e; e = e->next) sum += (int64_t)e->number;
    CHECK(sum == 4999950000);
    tt_json_free(j);
    tt_text_free(&w.text);
}

int main(void)
{
    TEST(accepts_what_the_standard_allows);
    TEST(refuses_what_it_forbids);
    TEST(names_line_and_column);
    TEST(limits_depth);
    TEST(builds_the_tree);
    TEST(decodes_escapes);
    TEST(reads_exact_integers);
    TEST(writes);
    TEST(writes_only_valid_utf8);
    TEST(writes_texts_with_any_bytes);
    TEST(refuses_to_write_too_deep);
    TEST(doubles_round_trip);
    TEST(floats_round_trip);
    TEST(survives_mutations);
    TEST(reads_large_texts);
    return test_end();
}
