/* core/base/utf8: every sequence of up to three bytes, and every one of four that begins like a character, is split as
 * the Unicode standard says. The same bytes give the same text as in Python, at once or in parts. */
#include "core/base/utf8.h"

#include "tests/test.h"

/* ---- the standard: all well-formed sequences and their beginnings, listed from the definition ---- */

enum { NONE, BEGINNING, WHOLE };
static unsigned char
    *kind_of[5]; /* for sequences of 1 to 4 bytes, indexed by the bytes as a number; of four only f0 to f4 */

static size_t number(const unsigned char *s, int n)
{
    size_t x = n == 4 ? s[0] - 0xf0u : s[0];
    for (int i = 1; i < n; i++) x = x << 8 | s[i];
    return x;
}

static int kind(const unsigned char *s, int n)
{
    return n == 4 && (s[0] < 0xf0 || s[0] > 0xf4) ? NONE : kind_of[n][number(s, n)];
}

/* Written from the table of bit patterns, independently of the code under test. */
static int spell(uint32_t c, unsigned char s[4])
{
    if (c < 0x80) return s[0] = (unsigned char)c, 1;
    unsigned char six[] = {(unsigned char)(0x80 + c % 64), (unsigned char)(0x80 + c / 64 % 64),
                           (unsigned char)(0x80 + c / 4096 % 64)};
    if (c < 0x800) return s[0] = (unsigned char)(0xc0 + c / 64), s[1] = six[0], 2;
    if (c < 0x10000) return s[0] = (unsigned char)(0xe0 + c / 4096), s[1] = six[1], s[2] = six[0], 3;
    return s[0] = (unsigned char)(0xf0 + c / 262144), s[1] = six[2], s[2] = six[1], s[3] = six[0], 4;
}

static bool surrogate(uint32_t c) { return c >= 0xd800 && c <= 0xdfff; }

static void list_sequences(void)
{
    static const size_t rooms[] = {0, 1 << 8, 1 << 16, 1 << 24, 5 << 24};
    for (int n = 1; n <= 4; n++) kind_of[n] = calloc(rooms[n], 1);
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        unsigned char s[4];
        if (surrogate(c)) continue;
        int length = spell(c, s);
        for (int n = 1; n <= length; n++) kind_of[n][number(s, n)] = n == length ? WHOLE : BEGINNING;
    }
}

static bool decoded_rightly(const unsigned char *s, int n)
{
    int length = 0, last = NONE;
    uint32_t point = 0;
    for (int k = 1; k <= n && last != WHOLE && kind(s, k) != NONE; k++) last = kind(s, length = k);
    int got = tt_utf8_decode((const char *)s, (size_t)n, &point);
    if (last == WHOLE) {
        unsigned char again[4];
        return got == length && tt_utf8_is_character(point) && spell(point, again) == length &&
               !memcmp(s, again, (size_t)length);
    }
    uint32_t what = length == n ? TT_UTF8_CUT : TT_UTF8_BAD;
    return got == (length ? length : 1) && point == what;
}

/* Sanitizer builds test one sequence of three bytes in 17, since all of them take minutes. */
#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 17 };
#else
enum { STRIDE = 1 };
#endif

static void decodes_as_the_standard_says(void)
{
    int64_t wrong = 0, tried = 0;
    list_sequences();
    for (int n = 1; n <= 3; n++)
        for (uint32_t x = 0; x < 1u << (8 * n); x += n == 3 ? STRIDE : 1) {
            unsigned char s[4] = {(unsigned char)(x >> (8 * n - 8)), (unsigned char)(n == 3 ? x >> 8 : x),
                                  (unsigned char)x};
            wrong += !decoded_rightly(s, n);
            tried++;
            for (int last = 0; n == 3 && kind(s, 3) == BEGINNING && last < 256; last++, tried++) {
                s[3] = (unsigned char)last;
                wrong += !decoded_rightly(s, 4);
            }
        }
    for (int n = 1; n <= 4; n++) free(kind_of[n]);
    CHECK(!wrong && tried > (1 << 24) / STRIDE, "%lld of %lld sequences", (long long)wrong, (long long)tried);
}

static void encodes_every_character(void)
{
    int wrong = 0;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        unsigned char want[4];
        char got[4];
        int n = spell(c, want);
        wrong += !surrogate(c) && (tt_utf8_encode(c, got) != n || memcmp(want, got, (size_t)n));
    }
    CHECK(!wrong, "%d characters", wrong);
}

/* ---- replacement, at once and in parts ---- */

static bool becomes(const char *bytes, size_t n, const char *text, size_t length)
{
    struct tt_text whole = {0};
    bool good = tt_utf8_put_text(&whole, bytes, n, false) == n && whole.n == length && !memcmp(whole.s, text, length);
    tt_text_free(&whole);
    for (size_t part = 1; part < n && good; part++) { /* as in a stream */
        struct tt_text out = {0};
        size_t taken = 0;
        for (size_t there = part; there < n; there += part)
            taken += tt_utf8_put_text(&out, bytes + taken, there - taken, true);
        tt_utf8_put_text(&out, bytes + taken, n - taken, false);
        good = out.n == length && !memcmp(out.s, text, length);
        tt_text_free(&out);
    }
    return good;
}

static size_t unhex(const char *hex, char *out)
{
    size_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) out[n] = (char)byte;
    return n;
}

static bool row_holds(const char *bytes, const char *text)
{
    char from[64], to[256];
    size_t n = unhex(bytes, from), length = unhex(text, to);
    return becomes(from, n, to, length);
}

/* bytes.fromhex(...).decode("utf-8", "replace") of Python 3.11 */
static void replaces_as_recorded(void)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"00", "00"},
        {"610062", "610062"},
        {"7f", "7f"},
        {"80", "efbfbd"},
        {"c280", "c280"},
        {"c080", "efbfbdefbfbd"},
        {"c1bf", "efbfbdefbfbd"},
        {"c2", "efbfbd"},
        {"c241", "efbfbd41"},
        {"e28241", "efbfbd41"},
        {"e282", "efbfbd"},
        {"e09f80", "efbfbdefbfbdefbfbd"},
        {"eda080", "efbfbdefbfbdefbfbd"},
        {"f09f98", "efbfbd"},
        {"f09f9841", "efbfbd41"},
        {"f09f9880", "f09f9880"},
        {"f0808041", "efbfbdefbfbdefbfbd41"},
        {"f48fbfbf", "f48fbfbf"},
        {"f4908080", "efbfbdefbfbdefbfbdefbfbd"},
        {"f5808080", "efbfbdefbfbdefbfbdefbfbd"},
        {"ff", "efbfbd"},
        {"61f18080e180c262806380bf64", "61efbfbdefbfbdefbfbd62efbfbd63efbfbdefbfbd64"},
        {"eda0bdedb880", "efbfbdefbfbdefbfbdefbfbdefbfbdefbfbd"},
        {"efbfbd", "efbfbd"},
        {"e282ace2", "e282acefbfbd"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) CHECK(row_holds(rows[i][0], rows[i][1]), "%s", rows[i][0]);
}

/* Every sequence of up to three of the bytes at which the rules change, and longer random ones. */
static void replaces_as_python_does(void)
{
    static const char script[] =
        "import itertools, random\n"
        "edges = bytes.fromhex('0041 7f80 8f90 9fa0 bfc0 c1c2 dfe0 e1ec edee eff0 f1f3 f4f5 ff')\n"
        "def show(b): print('.' + b.hex(), '.' + b.decode('utf-8', 'replace').encode().hex())\n"
        "for n in range(4):\n"
        "    for s in itertools.product(edges, repeat=n): show(bytes(s))\n"
        "r = random.Random(1)\n"
        "for i in range(20000): show(bytes(r.choice(edges) for _ in range(r.randint(4, 12))))\n";
    char command[1200], line[400], bytes[64], text[256];
    int rows = 0, wrong = 0;
    snprintf(command, sizeof command, "python3 -c \"%s\" 2>/dev/null", script);
    FILE *python = popen(command, "r");
    while (python && fgets(line, sizeof line, python)) {
        if (sscanf(line, ".%63[0-9a-f] .%255[0-9a-f]", bytes, text) != 2) continue; /* the empty one */
        bool good = row_holds(bytes, text);
        if (!good && wrong++ < 5) CHECK(good, "%s is %s to Python", bytes, text);
        rows++;
    }
    int status = python ? pclose(python) : -1;
    if (status || !rows)
        printf("     no python3: the recorded rows only\n");
    else
        CHECK(!wrong && rows > 30000, "%d of %d rows", wrong, rows);
}

static void validates_and_counts(void)
{
    CHECK(tt_utf8_valid("", 0) && tt_utf8_valid("a\xe2\x82\xac\xf0\x9f\x98\x80", 8));
    CHECK(!tt_utf8_valid("a\0b", 3)); /* a zero: options and keys are C strings */
    CHECK(!tt_utf8_valid("\xe2\x82", 2) && !tt_utf8_valid("\xed\xa0\x80", 3) && !tt_utf8_valid("a\xff", 2));
    CHECK(tt_utf8_count("", 0) == 0 && tt_utf8_count("a\xe2\x82\xac\0b", 6) == 4);
    CHECK(tt_utf8_count("\xe2\x82"
                        "a\x80\x80",
                        5) == 4);
}

int main(void)
{
    TEST(decodes_as_the_standard_says);
    TEST(encodes_every_character);
    TEST(replaces_as_recorded);
    TEST(replaces_as_python_does);
    TEST(validates_and_counts);
    return test_end();
}
