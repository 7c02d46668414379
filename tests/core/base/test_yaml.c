/* The YAML subset: what it reads, what it refuses and with which messages, what it writes, and that no input harms
 * it. */
#include <time.h>

#include "core/base/rng.h"
#include "core/base/yaml.h"
#include "tests/test.h"

static const char kinds[] = "-bifs[{"; /* enum tt_yaml_kind as letters */

/* A tree as one line: {a=i1, b=[s"x", -]}. */
static void show(const struct tt_yaml *y, struct tt_text *out)
{
    if (y->key) tt_text_printf(out, "%s=", y->key);
    if (y->kind == TT_YAML_LIST || y->kind == TT_YAML_MAP) {
        tt_text_puts(out, y->kind == TT_YAML_MAP ? "{" : "[");
        for (const struct tt_yaml *c = y->first; c; c = c->next) {
            show(c, out);
            if (c->next) tt_text_puts(out, ", ");
        }
        tt_text_puts(out, y->kind == TT_YAML_MAP ? "}" : "]");
    } else {
        tt_text_printf(out, "%c%s", kinds[y->kind], y->kind == TT_YAML_NULL ? "" : y->text);
    }
}

static void reads(const char *text, const char *expected)
{
    struct tt_yaml *y;
    tt_status st = tt_yaml_parse(text, strlen(text), &y);
    CHECK(!st, "%s: %s", text, st->text);
    if (st) {
        tt_status_free(st);
        return;
    }
    struct tt_text got = {0};
    show(y, &got);
    CHECK(strcmp(got.s, expected) == 0, "%s gives %s, not %s", text, got.s, expected);
    tt_text_free(&got);
    tt_yaml_free(y);
}

static void refuses(const char *text, const char *words)
{
    struct tt_yaml *y;
    tt_status st = tt_yaml_parse(text, strlen(text), &y);
    CHECK(st && strstr(st->text, words), "%s: wanted \"%s\", got %s", text, words, st ? st->text : "success");
    CHECK(!st || (st->code == TT_USAGE && strncmp(st->text, "line ", 5) == 0), "%s", text);
    CHECK(!y, "%s", text);
    tt_yaml_free(y);
    tt_status_free(st);
}

static void maps_and_lists(void)
{
    reads("", "-");
    reads("# nothing\n\n  # here\n", "-");
    reads("a: 1\nb: two\n", "{a=i1, b=stwo}");
    reads("a:\n  b:\n    c: 1\n  d: 2\ne: 3\n", "{a={b={c=i1}, d=i2}, e=i3}");
    reads("- a\n- b\n", "[sa, sb]");
    reads("a:\n- x\n- z\nb: 1\n", "{a=[sx, sz], b=i1}");
    reads("a:\n  - x\n  - z\nb: 1", "{a=[sx, sz], b=i1}");
    reads("- k: 1\n  l: 2\n- m: 3\n", "[{k=i1, l=i2}, {m=i3}]");
    reads("- - a\n  - b\n- c\n", "[[sa, sb], sc]");
    reads("-\n  a: 1\n-\n- b\n", "[{a=i1}, -, sb]");
    reads("a:\nb:\n  # comment\n\n  c:\n", "{a=-, b={c=-}}");
    reads("  a: 1\n  b: 2\n", "{a=i1, b=i2}");
    reads("---\na: 1\n", "{a=i1}");
    reads("\xef\xbb\xbf"
          "a: 1\r\nb:\r\n  - 2\r\n",
          "{a=i1, b=[i2]}");
    reads("a:\n  plain below\n", "{a=splain below}");
    reads("a: {b: 1, c: two words, d: [x, {e: f}], g: {}}  # h\nb: {i:, j: ~}\n",
          "{a={b=i1, c=stwo words, d=[sx, {e=sf}], g={}}, b={i=-, j=-}}");
    reads("{\"a\":1, 'b c': \"d, }\", e : 2 , }\n", "{a=i1, b c=sd, }, e=i2}");
    reads("- {a: 1}\n- {}\n- b: {c: 2}\n  d: 3\n", "[{a=i1}, {}, {b={c=i2}, d=i3}]");
    reads("just text", "sjust text");
}

static void folded(void)
{
    reads("a: >-\n  one: [two\n  # three}\n\n# four\nb: 1\n", "{a=sone: [two # three}, b=i1}");
    reads("- a: >-\n    one\n    two\n  b: >-   # three\n    012\n\n", "[{a=sone two, b=s012}]");
    reads("a:\r\n  b: >-\r\n    one\r\n    two\r\nc: d", "{a={b=sone two}, c=sd}");
    reads("a: >-\n  one\n  \n \n", "{a=sone}");
    reads("a: >-\n  one", "{a=sone}");
}

static void scalars(void)
{
    reads("a: [x, 'y, z', \"w\", 1, [b, []],]", "{a=[sx, sy, z, sw, i1, [sb, []]]}");
    reads("a: 'it''s'  # c", "{a=sit's}");
    reads("a: \"tab\\t \\\"q\\\" \\\\ \\x41\\u00e9\\U0001F600\"", "{a=stab\t \"q\" \\ A\xc3\xa9\xf0\x9f\x98\x80}");
    reads("a: b#c d # e", "{a=sb#c d}");
    reads("a: http://x:80/y", "{a=shttp://x:80/y}");
    reads("'a b' : -c\n\"d\": --e\n", "{a b=s-c, d=s--e}");
    reads("a: ''\nb: \"\"\n", "{a=s, b=s}");
    reads("[1, -2, +3, 0, 1.5, .5, 5., 1e3, 1.5E-3, .inf, -.INF, .nan]",
          "[i1, i-2, i+3, i0, f1.5, f.5, f5., f1e3, f1.5E-3, f.inf, f-.INF, f.nan]");
    reads("[true, True, FALSE, ~, null, NULL, 'null', tRUE]", "[btrue, btrue, bfalse, -, -, -, snull, stRUE]");
    reads("[1.2.3, 1e, e1, --, 0x, 1-2, 2024-01, 12a, \"1:30\", 'yes']",
          "[s1.2.3, s1e, se1, s--, s0x, s1-2, s2024-01, s12a, s1:30, syes]");
}

static void ambiguous(void)
{
    static const char *const words[] = {"yes",
                                        "No",
                                        "ON",
                                        "off",
                                        "y",
                                        "N",
                                        "012",
                                        "-017",
                                        "08",
                                        "0x1f",
                                        "0b11",
                                        "0o7",
                                        "1_0",
                                        "1:30",
                                        "190:20:30.1",
                                        "2024-01-31",
                                        "-.5",
                                        "1_0.5",
                                        "2024-1-1 10:20:30",
                                        "=",
                                        "<<"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[64];
        snprintf(text, sizeof text, "a: %s\n", words[i]);
        refuses(text, "quote it");
        snprintf(text, sizeof text, "- b\n- %s\n", words[i]);
        refuses(text, "line 2: ");
    }
}

static void refused(void)
{
    refuses("a: 1\n\tb: 2\n", "line 2: a tab");
    refuses("a:\t1\n", "a tab");
    refuses("a: &x 1\n", "anchors");
    refuses("a: *x\n", "anchors");
    refuses("a: !!int 1\n", "tags");
    refuses("a: |\n  text\n", "block scalars");
    refuses("a: >\n  text\n", "block scalars");
    refuses("a: >+\n  text\n", "block scalars");
    refuses("- >-\n  text\n", "block scalars");
    refuses("a: >- text\n", "on lines of its own");
    refuses("a: >-\n", "line 2: the value of >- is missing");
    refuses("a: >-", "the value of >- is missing");
    refuses("a: >-\n\n  text\n", "line 2: the value of >- is missing");
    refuses("b:\n  a: >-\n  c: 1\n", "line 3: the value of >- is missing");
    refuses("a: >-\n  one\n\n  two\n", "line 4: an empty line before this one");
    refuses("a: >-\n  one\n    two\n", "line 3: align the lines of >-: the first has 2 spaces, this one 4");
    refuses("a: >-\n  one\n # two\n", "line 3: align");
    refuses("a: >-\n  one\n   \n\n", "an empty line before this one");
    refuses("a: >-\n  one \n  two\n", "line 2: a space at the end");
    refuses("a: >-\n  \tone\n", "line 2: a tab");
    refuses("a: {b: >-\n  one}\n", "block scalars");
    refuses("a: {b: 1\n", "the map is not closed with }");
    refuses("a: {b: 1,\n  c: 2}\n", "the map is not closed with }");
    refuses("{\n  \"b\": 1\n}\n", "line 1: the map is not closed with } in this line; write all of it in one line, "
            "as jq -c does");
    refuses("a: {b: 1]\n", "expected , or }");
    refuses("a: [b, {c: 1]}\n", "expected , or }");
    refuses("a: {b}\n", "the key b has no \": \"");
    refuses("a: {b:1}\n", "inside [ ] or { }; quote");
    refuses("a: {b: c: d}\n", "quote the item");
    refuses("a: {b: 1, b: 2}\n", "the key b is repeated");
    refuses("a: {1: 2}\n", "the key 1 is not a string");
    refuses("a: {, b: 1}\n", "cannot begin");
    refuses("a: {b: 1} c\n", "after the value");
    refuses("a: {b: yes}\n", "quote it");
    refuses("a: }\n", "cannot begin");
    refuses("{a: 1}: b\n", "second \": \"");
    refuses("a: 1\n---\nb: 2\n", "line 2: only one document");
    refuses("a: 1\n...\n", "one document");
    refuses("--- a\n", "line of its own");
    refuses("%YAML 1.2\n", "cannot begin");
    refuses("? a\n: b\n", "? or :");
    refuses("a: 1\nb: 2\na: 3\n", "line 3: the key a is repeated; it is in line 1 already");
    refuses("a: one\n  two\n", "line 2: unexpected indentation");
    refuses("a: 'one\n  two'\n", "not closed in this line");
    refuses("a: \"one\\\n  two\"\n", "cannot continue");
    refuses("a: [1,\n  2]\n", "not closed with ]");
    refuses("a:\n    b: 1\n  c: 2\n", "line 3: ");
    refuses("a: 1\n- b\n", "a list item where a key");
    refuses("- a\nb: 1\n", "does not fit");
    refuses("a: b: c\n", "second \": \"");
    refuses("a: - b\n", "list item is not allowed here");
    refuses("a: 'b' c\n", "after the value");
    refuses("a: 'b'#c\n", "space before its #");
    refuses("a: [b c: d]\n", "quote the item");
    refuses("a: [b,, c]\n", "cannot begin");
    refuses("a: \"\\q\"\n", "escape \\q");
    refuses("a: \"\\u00g0\"\n", "hexadecimal");
    refuses("a: \"\\ud800\"\n", "is not a character");
    refuses("a: \"\\x00\"\n", "is not a character");
    refuses("1: a\n", "the key 1 is not a string");
    refuses("a: \xff\n", "not valid UTF-8");
    refuses("a: \xc0\x80\n", "not valid UTF-8");
    refuses("a: \xed\xa0\x80\n", "not valid UTF-8");
    refuses("a: \x01\n", "U+0001");
    refuses("a: b\rc\n", "U+000D");
    refuses("a: \xe2\x80\xa8\n", "U+2028");
    struct tt_yaml *y;
    CHECK_FAILS(tt_yaml_parse("a: b\0c", 6, &y), "U+0000");
}

static void lines_and_lookup(void)
{
    static const char text[] = "# one\na: 1\n\nb:\n  - x\n  -\n    c: 2\n";
    struct tt_yaml *y;
    CHECK_OK(tt_yaml_parse(text, strlen(text), &y));
    CHECK(tt_yaml_get(y, "a")->line == 2);
    const struct tt_yaml *b = tt_yaml_get(y, "b");
    CHECK(b->count == 2 && b->first->line == 5 && tt_yaml_get(b->first->next, "c")->line == 7);
    CHECK(y->line == 2 && b->line == 4 && b->first->next->line == 6, "%d %d %d", y->line, b->line,
          b->first->next->line);
    refuses("a:\n  b: 1\na: 3\n", "line 3: the key a is repeated; it is in line 1 already");
    CHECK(!tt_yaml_get(y, "c") && !tt_yaml_get(b, "a"));
    tt_yaml_free(y);
}

static void limits(void)
{
    struct tt_text deep = {0}, keys = {0}, large = {0}, flow = {0}, item = {0};
    for (int i = 0; i < 40; i++) tt_text_printf(&deep, "%*sa:\n", i, "");
    refuses(deep.s, "levels deep");
    for (int i = 0; i < 100000; i++) tt_text_puts(&flow, "[");
    refuses(flow.s, "levels deep");
    for (int i = 0; i <= TT_YAML_KEYS; i++) tt_text_printf(&keys, "k%d: 1\n", i);
    refuses(keys.s, "more than 1000 keys");
    while (large.n <= TT_YAML_SIZE) tt_text_puts(&large, "# a comment, over and over\n");
    refuses(large.s, "the limit for YAML");

    /* The time for a long list on one line grows with its length only. */
    clock_t start = clock();
    tt_text_puts(&item, "[a");
    while (item.n < TT_YAML_SIZE / 4) tt_text_puts(&item, ",'b'");
    tt_text_puts(&item, "]");
    struct tt_yaml *y;
    CHECK_OK(tt_yaml_parse(item.s, item.n, &y));
    CHECK(y && y->count > 50000);
    CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    tt_yaml_free(y);
    tt_text_free(&deep);
    tt_text_free(&keys);
    tt_text_free(&large);
    tt_text_free(&flow);
    tt_text_free(&item);
}

static void writes_what_it_reads(void)
{
    static const char *const values[] = {
        "a",    "runs/default", "",     " a ",  "yes",   "012",        "1e3",  "42",    "null", "a: b",
        "a #b", "# a",          "- a",  "it's", "\"q\"", "a\\nb",      "a\nb", "tab\t", "\x01", "[a]",
        "{",    "\xc3\xa9",     "&a",   "*",    "!",     "|",          "%",    "@",     "`",    "\xe2\x80\xa8",
        "a,b",  "1:30",         "true", "-",    "---",   "...",        "~",    "\x7f",  "-.5",  "\xc2\x85",
        "=",    "<<",           "a: ",  ":",    "?",     "2024-01-31", "a]",   "\r"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct tt_text t = {0};
        tt_text_puts(&t, "k: ");
        tt_yaml_put(&t, values[i]);
        tt_text_puts(&t, "  # comment\nl: 1\n");
        struct tt_yaml *y;
        CHECK_OK(tt_yaml_parse(t.s, t.n, &y));
        const struct tt_yaml *k = y ? tt_yaml_get(y, "k") : NULL;
        CHECK(k && k->kind == TT_YAML_STRING && strcmp(k->text, values[i]) == 0, "%s", t.s);
        tt_yaml_free(y);
        tt_text_free(&t);
    }
}

/* Random changes to a good file give a tree or an error, and the sanitizers report nothing. */
static void survives_rubbish(void)
{
    static const char good[] = "a: [x, 'y', \"z\\n\"]\nb:\n  - c: 1\n    d: 2.5  # e\n  - - f\n    - true\ng: ~\n"
                               "h: >-\n  i\n  j\n";
    static const char odd[] = " \n\t:-#[],\"'\\{}&*!|>%@?~=.0a\r\xc3\xff";
    int accepted = 0;
    for (uint64_t round = 0; round < 5000; round++) {
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        size_t n = sizeof good - 1;
        for (uint64_t i = 0; i < 1 + round % 4; i++) {
            uint64_t r = tt_random(7, round, i);
            text[r % n] = odd[(r >> 32) % sizeof odd];
        }
        if (round % 3 == 0) n = tt_random(8, round, 0) % n;
        char *exact = malloc(n ? n : 1); /* exact size, so that sanitizers see a read beyond the end */
        memcpy(exact, text, n);
        struct tt_yaml *y;
        tt_status st = tt_yaml_parse(exact, n, &y);
        accepted += !st;
        CHECK(!st == (y != NULL));
        tt_status_free(st);
        tt_yaml_free(y);
        free(exact);
    }
    CHECK(accepted > 200 && accepted < 4800, "%d", accepted);
}

int main(void)
{
    TEST(maps_and_lists);
    TEST(folded);
    TEST(scalars);
    TEST(ambiguous);
    TEST(refused);
    TEST(lines_and_lookup);
    TEST(limits);
    TEST(writes_what_it_reads);
    TEST(survives_rubbish);
    return test_end();
}
