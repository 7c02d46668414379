/* The split patterns of GPT-2 and Llama 3, written as code. A regular expression tries its alternatives in order, so
 * the code below checks them in the same order. `patterns` has the expressions.
 *
 * Invalid UTF-8 counts as punctuation, like the U+FFFD by which other programs replace it. */
#include "core/data/tokenizers/hf_cut.h"

#include <string.h>

#include "core/base/utf8.h"
#include "core/data/tokenizers/unicode.h"

/* ---- characters ---- */

enum class { SPACE, LETTER, NUMBER, MARK };

static enum class class_at(const char *p, int64_t n, int64_t *length) {
    uint32_t c; *length = tt_utf8_decode(p, (size_t)n, &c); return tt_is_space(c)       ? SPACE
                                                                   : tt_is_letter(c) ? LETTER
                                                                   : tt_is_number(c) ? NUMBER
                                                                                     : MARK;
}

/* Skips characters of a class from `at` on, at most `most` of them, and returns where they end. */
static int64_t run_of(enum class wanted, const char *text, int64_t n, int64_t at, int64_t most)
{
    int64_t length;
    for (; at < n && most > 0 && class_at(text + at, n - at, &length) == wanted; most--) at += length;
    return at;
}

static bool new_line(char c) { return c == '\n' || c == '\r'; }

/* ---- alternatives ---- */

/* The length of 's, 'll and so on; 0: none. `fold` ignores case, and the long s (U+017F) folds to s. */
static int contraction(const char *text, int64_t n, bool fold)
{
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (text[0] != '\'') return 0;
    if (fold && n >= 3 && !memcmp(text + 1, "\xc5\xbf", 2)) return 3;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int length = (int)strlen(ends[i]), same = 0;
        while (same < length && same + 1 < n && (fold ? text[same + 1] | 32 : text[same + 1]) == ends[i][same]) same++;
        if (same == length) return length + 1;
    }
    return 0;
}

/* The length of a run of spaces, without the last one if a word follows. */
static int64_t spaces(const char *text, int64_t n)
{
    int64_t length, end = run_of(SPACE, text, n, 0, n), last = 0;
    if (end == n) return n;
    for (int64_t at = 0; at < end; at += length) {
        last = at;
        class_at(text + at, n - at, &length);
    }
    return last ? last : end;
}

static int64_t gpt2(const char *text, int64_t n)
{
    int64_t length, at = text[0] == ' ' && n > 1;
    int short_form = contraction(text, n, false);
    if (short_form) return short_form;
    enum class next = class_at(text + at, n - at, &length);
    return next == SPACE ? spaces(text, n) : run_of(next, text, n, at, n);
}

static int64_t llama3(const char *text, int64_t n, int most_digits)
{
    int64_t length, other;
    int short_form = contraction(text, n, true);
    if (short_form) return short_form;
    enum class first = class_at(text, n, &length),
               second = length < n ? class_at(text + length, n - length, &other) : SPACE;
    if (first == LETTER) return run_of(LETTER, text, n, 0, n);
    if (first == NUMBER) return run_of(NUMBER, text, n, 0, most_digits);
    if (second == LETTER && !new_line(text[0])) return run_of(LETTER, text, n, length, n);
    if (first == MARK || (text[0] == ' ' && second == MARK)) {
        int64_t end = run_of(MARK, text, n, first == MARK ? 0 : 1, n);
        while (end < n && new_line(text[end])) end++;
        return end;
    }
    int64_t end = run_of(SPACE, text, n, 0, n);
    while (end > 0 && !new_line(text[end - 1])) end--; /* bytewise is safe: \r and \n are never part of a character */
    return end ? end : spaces(text, n);
}

int64_t tt_hf_piece(const struct tt_hf_cut *c, const char *text, int64_t n)
{
    return c->pattern == TT_CUT_GPT2 ? gpt2(text, n) : llama3(text, n, c->most_digits);
}

int64_t tt_hf_stretch(const struct tt_hf_cut *c, const char *text, int64_t n)
{
    int64_t length = 0;
    if (!c->single_digits) return n;
    for (int64_t at = 0; at < n; at += length)
        if (class_at(text + at, n - at, &length) == NUMBER) return at ? at : length;
    return n;
}

/* ---- the pre_tokenizer of a file ---- */

static bool is_true(const struct tt_json *j, const char *key, bool otherwise)
{
    const struct tt_json *value = tt_json_get(j, key);
    return value && value->type == TT_JSON_BOOL ? value->boolean : otherwise;
}

static bool is_type(const struct tt_json *j, const char *type) { return !strcmp(tt_json_string(j, "type", ""), type); }

#define TAIL "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HEAD "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
static const struct {
    const char *text;
    struct tt_hf_cut cut;
} patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", {TT_CUT_GPT2, 0, false}},
    {HEAD "\\p{N}{1,3}" TAIL, {TT_CUT_LLAMA3, 3, false}},
    {HEAD "\\p{N}" TAIL, {TT_CUT_LLAMA3, 1, false}},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static bool find_pattern(const char *pattern, struct tt_hf_cut *out)
{
    for (int i = 0; i < PATTERNS; i++) {
        if (strcmp(pattern, patterns[i].text)) continue;
        *out = patterns[i].cut;
        return true;
    }
    return false;
}

const char *tt_hf_cut_pattern(const struct tt_hf_cut *c)
{
    for (int i = 0; i < PATTERNS; i++)
        if (c->pattern == patterns[i].cut.pattern && c->most_digits == patterns[i].cut.most_digits)
            return patterns[i].text;
    return "";
}

/* The last step turns bytes into characters. It also splits by the GPT-2 pattern, unless an earlier step has split. */
static bool is_byte_level(const struct tt_json *j, bool cuts)
{
    return is_type(j, "ByteLevel") && !is_true(j, "add_prefix_space", true) && is_true(j, "use_regex", true) == cuts;
}

static bool is_split(const struct tt_json *j, struct tt_hf_cut *out)
{
    return is_type(j, "Split") && !strcmp(tt_json_string(j, "behavior", ""), "Isolated") &&
           !is_true(j, "invert", false) && find_pattern(tt_json_string(tt_json_get(j, "pattern"), "Regex", ""), out);
}

tt_status tt_hf_cut_read(const struct tt_json *pre, struct tt_hf_cut *out)
{
    const struct tt_json *steps = tt_json_get(pre, "pretokenizers"), *first = steps ? steps->first : NULL;
    bool two = is_type(pre, "Sequence") && first && steps->count == 2;
    *out = (struct tt_hf_cut){TT_CUT_GPT2, 0, false};
    if (is_byte_level(pre, true)) return TT_OK;
    if (two && is_split(first, out) && is_byte_level(first->next, false)) return TT_OK;
    *out = (struct tt_hf_cut){TT_CUT_GPT2, 0, true};
    if (two && is_type(first, "Digits") && is_true(first, "individual_digits", false) &&
        is_byte_level(first->next, true))
        return TT_OK;
    return tt_fail(TT_UNSUPPORTED, "its tokenizer splits text in a way that tt does not know");
}
