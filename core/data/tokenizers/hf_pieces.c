#include "core/data/tokenizers/hf_pieces.h"

#include "core/base/utf8.h"

/* ---- bytes as characters ---- */

static bool is_plain(int byte) { return (byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad); }

void tt_hf_put_byte(struct tt_text *out, unsigned char byte)
{
    uint32_t point = byte;
    if (!is_plain(byte)) {
        point = 0x100;
        for (int b = 0; b < byte; b++) point += !is_plain(b);
    }
    tt_utf8_put(out, point);
}

int tt_hf_byte_of(uint32_t point)
{
    if (point < 0x100) return is_plain((int)point) ? (int)point : -1;
    uint32_t other = 0x100;
    for (int byte = 0; byte < 0x100; byte++)
        if (!is_plain(byte) && other++ == point) return byte;
    return -1;
}

/* ---- splitting a text into pieces ---- */

/* The classes of kind_of() in bpe.c, in that alphabet. LEADS and FOLLOWS are the lead and continuation bytes of UTF-8.
 */
#define SPACES "\u0120\u0109-\u010d"
#define LEADS "\u00c0-\u00ff"
#define FOLLOWS "\u00a1-\u00ac\u00ae-\u00bf\u0122-\u0143"
#define LETTER "[A-Za-z" LEADS FOLLOWS "]"
#define MARK "[^A-Za-z0-9" LEADS FOLLOWS SPACES "]"
#define LEAD "[" LEADS "]"
#define FOLLOW "[" FOLLOWS "]"

/* A run of at most `last` bytes of letters. If the limit falls inside a multi-byte character, that character goes to
 * the next piece. */
#define LETTERS(last, less1, less2, less3, less4)                                                                      \
    LETTER "{" less1 "}(?=" LEAD ")|" LETTER "{" less2 "}(?=" LEAD FOLLOW ")|" LETTER "{" less3 "}(?=" LEAD FOLLOW     \
           "{2})|" LETTER "{" less4 "}(?=" LEAD FOLLOW "{3})|" LETTER "{1," last "}"

_Static_assert(TT_BPE_PIECE == 128, "the pattern below counts to 128, and to 127 after a space");

// clang-format off
static const char pieces_pattern[] =
    "\u0120(?:" LETTERS("127", "126", "125", "124", "123") ")|"
    LETTERS("128", "127", "126", "125", "124")
    "|\u0120[0-9]{1,127}|[0-9]{1,128}"
    "|\u0120" MARK "{1,127}|" MARK "{1,128}"
    "|[" SPACES "]{128}|[" SPACES "]{1,127}(?=\u0120[^" SPACES "])|[" SPACES "]{1,127}";
// clang-format on

static void put_split(struct tt_json_writer *w, const char *pattern)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "type", "Split");
    tt_json_begin(w, "pattern", '{');
    tt_json_put_string(w, "Regex", pattern);
    tt_json_end(w, '}');
    tt_json_put_string(w, "behavior", "Isolated");
    tt_json_put_bool(w, "invert", false);
    tt_json_end(w, '}');
}

static void put_byte_level(struct tt_json_writer *w, const char *key, bool cuts)
{
    tt_json_begin(w, key, '{');
    tt_json_put_string(w, "type", "ByteLevel");
    tt_json_put_bool(w, "add_prefix_space", false);
    tt_json_put_bool(w, "trim_offsets", true);
    tt_json_put_bool(w, "use_regex", cuts);
    tt_json_end(w, '}');
}

void tt_hf_put_byte_level(struct tt_json_writer *w, const char *key) { put_byte_level(w, key, false); }

void tt_hf_put_cut(struct tt_json_writer *w, const char *key, const struct tt_hf_cut *cut)
{
    tt_json_begin(w, key, '{');
    tt_json_put_string(w, "type", "Sequence");
    tt_json_begin(w, "pretokenizers", '[');
    if (cut->single_digits) { /* then ByteLevel itself splits the rest, by GPT-2's pattern */
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "type", "Digits");
        tt_json_put_bool(w, "individual_digits", true);
        tt_json_end(w, '}');
    } else {
        put_split(w, tt_hf_cut_pattern(cut));
    }
    put_byte_level(w, NULL, cut->single_digits);
    tt_json_end(w, ']');
    tt_json_end(w, '}');
}

void tt_hf_put_pre_tokenizer(struct tt_json_writer *w, const char *key, enum tt_tokenizer_kind kind)
{
    tt_json_begin(w, key, '{');
    tt_json_put_string(w, "type", "Sequence");
    tt_json_begin(w, "pretokenizers", '[');
    if (kind == TT_WORDS) {
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "type", "WhitespaceSplit");
        tt_json_end(w, '}');
    }
    if (kind == TT_BYTES || kind == TT_BPE) tt_hf_put_byte_level(w, NULL);
    if (kind == TT_BPE) put_split(w, pieces_pattern);
    if (kind == TT_CHARS) put_split(w, "[\\s\\S]");
    if (kind == TT_WORDS) put_split(w, "[.?,](?=[.?,]*$)");
    tt_json_end(w, ']');
    tt_json_end(w, '}');
}
