/* Tables for other programs. CSV cells are read back as they were written, here and by Python, and none is a formula.
 * Markdown shows the text unchanged, and a table keeps its cells whatever is in them. */
#include "core/base/csv.h"
#include "core/base/markdown.h"
#include "core/base/rng.h"
#include "core/base/utf8.h"
#include "tests/test.h"

enum { ROWS = 3000, MOST = 5, LENGTH = 24 };

static char cells[ROWS][MOST][LENGTH];
static int widths[ROWS];

/* Names from profilers and from attackers, then random mixtures of characters that are special in CSV or Markdown. */
static void make_cells(void)
{
    static const char *const hostile[][MOST] = {
        {"void at::native::gemm<float, 128, \"x\">(float*, int)", "", "plain"},
        {"", "", ""},
        {""},
        {"=1+1", "+1", "-1", "@SUM(A1)", "=\"quoted\""},
        {"\t=1", "\r=1", "\n=1", " =1", "'=1"},
        {"''=1", "'", "'a", "\"", "\"\""},
        {" both ", "a\nb", "a\r\nb", "\xe2\x82\xac", "a, b"},
        {"<script>alert(1)</script>", "a|b", "a\\|b", "`c`", "\\"},
        {"__init__", "a_b", "*x*", "[t](u)", "&lt;"},
    };
    static const char *const parts[] = {",", "\"", "'", "\n", "\r", "\t", " ", "=",        "+",           "-",
                                        "@", "a",  "1", "|",  "\\", "`",  "*", "_",        "[",           "]",
                                        "<", ">",  "&", "~",  "$",  "#",  ".", "\xc3\xa9", "\xe2\x82\xac"};
    int given = sizeof hostile / sizeof *hostile;
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; r < given && i < MOST && hostile[r][i]; i++) widths[r] = i + 1;
        if (r >= given) widths[r] = 1 + (int)(tt_random(1, (uint64_t)r, 0) % MOST);
        for (int i = 0; i < widths[r]; i++) {
            int n = r < given ? 0 : (int)(tt_random(2, (uint64_t)r, (uint64_t)i) % 8);
            if (r < given) snprintf(cells[r][i], LENGTH, "%.23s", hostile[r][i]);
            for (int k = 0; k < n; k++)
                strcat(cells[r][i],
                       parts[tt_random(3, (uint64_t)(r * MOST + i), (uint64_t)k) % (sizeof parts / sizeof *parts)]);
        }
    }
}

/* ---- CSV ---- */

static void write_csv(struct tt_text *out)
{
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < widths[r]; i++) tt_csv_put(out, cells[r][i]);
        tt_csv_end(out);
    }
}

static void csv_comes_back(void)
{
    struct tt_text text = {0};
    struct tt_csv c;
    bool more = true;
    write_csv(&text);
    CHECK_OK(tt_text_status(&text));
    tt_csv_open(&c, text.s, text.n);
    for (int r = 0; r < ROWS && more; r++) {
        CHECK_OK(tt_csv_next(&c, &more));
        CHECK(more && c.count == widths[r], "row %d has %d cells, not %d", r, c.count, widths[r]);
        for (int i = 0; i < widths[r] && more; i++)
            CHECK(!strcmp(tt_csv_field(&c, i), cells[r][i]), "row %d, cell %d: \"%s\" for \"%s\"", r, i,
                  tt_csv_field(&c, i), cells[r][i]);
    }
    CHECK_OK(tt_csv_next(&c, &more));
    CHECK(!more);
    tt_csv_free(&c);
    tt_text_free(&text);
}

static size_t unhex(const char *hex, char *out)
{
    size_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) out[n] = (char)byte;
    out[n] = 0;
    return n;
}

static void check_python_row(char *line, int r)
{
    int i = 0;
    for (char *word = strtok(line, " \n"); word && i < widths[r]; word = strtok(NULL, " \n"), i++) {
        char cell[4 * LENGTH];
        unhex(word + 1, cell);
        CHECK(!cell[0] || !strchr("=+-@\t\r\n", cell[0]), "row %d, cell %d is a formula: %s", r, i, cell);
        CHECK(!strcmp(cell + (cell[0] == '\'' && tt_csv_is_formula(cell)), cells[r][i]), "row %d, cell %d: \"%s\"", r,
              i, cell);
    }
    CHECK(i == widths[r], "row %d has %d cells, not %d", r, i, widths[r]);
}

static void python_reads_the_csv(void)
{
    char path[] = "/tmp/tt-tables-XXXXXX", command[400], line[2000];
    struct tt_text text = {0};
    int rows = 0, fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    write_csv(&text);
    CHECK(file && fwrite(text.s, 1, text.n, file) == text.n && fclose(file) == 0);
    tt_text_free(&text);
    snprintf(command, sizeof command,
             "python3 -c \"import csv\nfor row in csv.reader(open('%s', newline='', encoding='utf-8')):\n"
             "    print(*('.' + c.encode().hex() for c in row))\" 2>/dev/null",
             path);
    FILE *python = popen(command, "r");
    while (python && rows < ROWS && fgets(line, sizeof line, python)) check_python_row(line, rows++);
    int status = python ? pclose(python) : -1;
    remove(path);
    if (status)
        printf("     no python3: read by this program alone\n");
    else
        CHECK(rows == ROWS, "%d rows", rows);
}

static void csv_says_it_shortly(void)
{
    struct tt_text t = {0};
    const char *words[] = {"gemm", "1024x512x2048", "", "a b", "x,y", "=1", "say \"so\"", "\xff\xc3"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) tt_csv_put(&t, words[i]);
    tt_csv_put_int(&t, -3);
    tt_csv_put_number(&t, -0.25);
    tt_csv_put_number(&t, NAN);
    tt_csv_end(&t);
    CHECK(!strcmp(t.s, "gemm,1024x512x2048,,a b,\"x,y\",'=1,\"say \"\"so\"\"\",\xef\xbf\xbd\xef\xbf\xbd,-3,-0.25,\n"),
          "%s", t.s);
    tt_text_free(&t);
}

/* ---- Markdown ---- */

static bool escapable(char c) { return c && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c); }

/* The text of a cell as CommonMark displays it; false if some of it would be markup. */
static bool shown(const char *s, size_t n, char *out)
{
    static const struct {
        const char *name;
        char is;
    } entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}};
    const char *end = s + n;
    while (s < end) {
        size_t take = 1;
        char c = *s;
        bool known = false;
        if (c == '\\' && s + 1 < end && escapable(s[1])) {
            take = 2;
            c = s[1];
        } else if (strchr("`*[]~$<|\\\n\r\t", c)) { /* a > only closes what a < opened, or begins a quotation */
            return false;
        }
        for (int i = 0; i < 3 && take == 1 && c == '&' && !known; i++)
            if (!strncmp(s, entities[i].name, strlen(entities[i].name))) {
                known = true;
                take = strlen(entities[i].name);
                c = entities[i].is;
            }
        if (*s == '&' && !known) return false;
        *out++ = c;
        s += take;
    }
    *out = 0;
    return true;
}

static size_t cell_length(const char *s)
{
    size_t n = 0;
    while (s[n] && s[n] != '|' && s[n] != '\n') n += s[n] == '\\' && s[n + 1] ? 2 : 1;
    return n;
}

static void expected(const char *cell, char *out)
{
    strcpy(out, cell);
    for (; *out; out++)
        if (strchr("\n\r\t", *out)) *out = ' ';
}

static void markdown_tables_keep_their_cells(void)
{
    for (int r = 0; r < ROWS; r++) {
        struct tt_text t = {0};
        char want[4 * LENGTH], got[20 * LENGTH];
        for (int i = 0; i < widths[r]; i++) tt_md_cell(&t, cells[r][i]);
        tt_md_end(&t);
        const char *at = t.s;
        CHECK(*at++ == '|');
        for (int i = 0; i < widths[r]; i++) {
            size_t n = cell_length(at);
            bool good = n >= 2 && at[0] == ' ' && at[n - 1] == ' ' && at[n] == '|' && shown(at + 1, n - 2, got);
            expected(cells[r][i], want);
            CHECK(good && !strcmp(got, want), "row %d, cell %d: %s", r, i, t.s);
            at += n + 1;
        }
        CHECK(!strcmp(at, "\n"), "row %d: %s", r, t.s);
        tt_text_free(&t);
    }
}

static void check_text(const char *before, const char *s, const char *want)
{
    struct tt_text t = {0};
    tt_text_puts(&t, before);
    tt_md_text(&t, s);
    CHECK(!strcmp(t.s + strlen(before), want), "\"%s\" is \"%s\", not \"%s\"", s, t.s, want);
    tt_text_free(&t);
}

static void markdown_escapes_what_it_must(void)
{
    check_text("x ", "flash_backward 1024x512x2048, 3.5 % of a-b", "flash_backward 1024x512x2048, 3.5 % of a-b");
    check_text("x ", "void f<__half, a::b*>()", "void f&lt;\\_\\_half, a::b\\*>()");
    check_text("x ", "2537 -> 2900", "2537 -> 2900");
    check_text("x ", "_a_b_ c__d 1_", "\\_a_b\\_ c__d 1\\_");
    check_text("x ", "std::a http://b.c www.d.e", "std::a http\\://b.c www\\.d.e");
    check_text("x ", "#1 f#2 #", "\\#1 f#2 \\#");
    check_text("x ", "\x1b[31m\x7f\xff", "\xef\xbf\xbd\\[31m\xef\xbf\xbd\xef\xbf\xbd");
    check_text("\n", "# no heading", "\\# no heading");
    check_text("", "- no item", "\\- no item");
    check_text("\n", "+ no item", "\\+ no item");
    check_text("\n", "12. no item", "12\\. no item");
    check_text("\n", "1.5 is a number", "1.5 is a number");
    check_text("\n", "    no code", "no code");
    check_text("\n", "===", "\\===");
    check_text("\n", "> no quote", "&gt; no quote");
}

static void markdown_writes_heads(void)
{
    struct tt_text t = {0};
    tt_md_head(&t, "|share %:|a_b");
    tt_md_cellf(&t, "%d|%d", 1, 2);
    tt_md_markup_cell(&t, "`x|y`");
    tt_md_cell(&t, "");
    tt_md_end(&t);
    CHECK(!strcmp(t.s, "| | share % | a_b |\n|---|---:|---|\n| 1\\|2 | `x\\|y` |  |\n"), "%s", t.s);
    tt_text_free(&t);
}

int main(void)
{
    make_cells();
    TEST(csv_comes_back);
    TEST(python_reads_the_csv);
    TEST(csv_says_it_shortly);
    TEST(markdown_tables_keep_their_cells);
    TEST(markdown_escapes_what_it_must);
    TEST(markdown_writes_heads);
    return test_end();
}
