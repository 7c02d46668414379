/* Text as people have it: JSON Lines, packed files, globs and folders; and every way they can be wrong. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/base/stream.h"
#include "core/base/unpack.h"
#include "core/data/data.h"
#include "core/data/text_tokens.h"
#include "core/data/token_file.h"
#include "tests/core/data/data_fixture.h"

static const char *write_text(const char *name, const char *text) { return write_bytes(name, text, strlen(text)); }

/* Tokens as text; of bytes, the end token is a zero. */
static tt_status take_bytes(void *to, const int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++) tt_text_add(to, &(char){(char)tokens[i]}, 1);
    return TT_OK;
}

static tt_status read_as_bytes(struct tt_text_work *w, struct tt_text *out)
{
    struct tt_tokenizer *t = NULL;
    CHECK_OK(tt_tokenizer_bytes(&t));
    out->n = 0;
    tt_status st = tt_text_tokens(w, t, take_bytes, out);
    tt_tokenizer_free(t);
    return st;
}

/* The documents of the file are these bytes, with a zero after each. */
static void reads(const char *path, const char *wanted, size_t n)
{
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == n && !memcmp(got.s ? got.s : "", wanted, n), "%s: %zu bytes: %.*s", path, got.n,
          (int)(got.n < 100 ? got.n : 100), got.s);
    tt_text_free(&got);
}
#define READS(path, wanted) reads(path, wanted, sizeof wanted - 1)

static void refuses(const char *path, const char *words)
{
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1};
    CHECK_FAILS(read_as_bytes(&w, &got), words);
    tt_text_free(&got);
}

/* ---- JSON Lines ---- */

static void documents_are_read(void)
{
    READS(write_text("a.jsonl", "{\"text\":\"one\"}\n{\"id\":2,\"text\":\"two\"}\n"), "one\0two\0");
    READS(write_text("a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"no line end\"}"), "one\0no line end\0");
    READS(write_text("a.jsonl", "\xef\xbb\xbf{\"text\":\"mark\"}\r\n\r\n  \n{\"text\":\"\"}\r\n"), "mark\0\0");
    READS(write_text("a.jsonl", "{\"text\":\"\\u00e9\\ud83d\\ude00\\n\\t\\\"\\\\\\/\"}"),
          "\xc3\xa9\xf0\x9f\x98\x80\n\t\"\\/\0");
    READS(write_text("a.ndjson", "{\"text\":\"first\",\"text\":\"last counts\"}"), "last counts\0");
    READS(write_text("a.txt", "{\"text\":\"plain\"}\n"), "{\"text\":\"plain\"}\n");

    const char *path = write_text("a.txt", "{\"body\":\"by its field\"}\n");
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options.text_field = "body"};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == 13 && !memcmp(got.s, "by its field", 13) && w.totals.documents == 1 && w.totals.bytes == 12);
    tt_text_free(&got);
}

static void bad_lines_are_named(void)
{
    static const struct {
        const char *line, *words;
    } bad[] = {{"{\"txt\":\"a\",\"id\":1}",
                "a.jsonl:2: the object has no field \"text\", nor both \"prompt\" and \"completion\", "
                "but \"txt\", \"id\""},
               {"{}", "\"completion\"; name the right one by --text-field"},
               {"[1]", "a.jsonl:2: the line is JSON, but not an object"},
               {"{\"text\":null}", "a.jsonl:2: the field \"text\" is null, not text"},
               {"{\"text\":[\"a\"]}", "is a list, not text"},
               {"{\"text\":\"\\ud800\"}", "a.jsonl:2: column 10: half of a surrogate pair"},
               {"{\"text\":\"\\udc00\\ud800\"}", "half of a surrogate pair"},
               {"{\"text\":\"\\u0000\"}", "a.jsonl:2: column 10: \\u0000"},
               {"{\"text\":\"\xff\"}", "a.jsonl:2: column 10: invalid UTF-8"},
               {"{\"text\":\"\x01\"}", "control character"},
               {"{\"text\":\"a\"", "expected ',' or '}'"},
               {"{\"text\":\"a\"} {}", "unexpected text after the value"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"text\":\"good\"}\n%s\n{\"text\":\"also\"}\n", bad[i].line);
        const char *path = write_text("a.jsonl", text);
        struct tt_text got = {0};
        struct tt_text_work w = {.paths = &path, .count = 1};
        CHECK_FAILS(read_as_bytes(&w, &got), bad[i].words);
        CHECK_FAILS(read_as_bytes(&w, &got), "--skip-bad-lines");
        w.options.skip_bad = true;
        CHECK_OK(read_as_bytes(&w, &got));
        CHECK(got.n == 10 && !memcmp(got.s, "good\0also", 10) && w.totals.skipped == 1 && w.totals.documents == 2);
        CHECK(strstr(w.totals.first_skipped, "a.jsonl:2") && !strstr(w.totals.first_skipped, "--skip-bad-lines"), "%s",
              w.totals.first_skipped);
        tt_text_free(&got);
    }
    refuses(write_bytes("a.jsonl", "{\"text\":\"a\0b\"}", 14), "a.jsonl:1: column 11: control character");
}

static void all_lines_bad(void)
{
    const char *path = write_text("a.jsonl", "{\"question\":\"q\",\"answer\":\"a\"}\n{\"question\":1}\n");
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options.skip_bad = true};
    CHECK_FAILS(read_as_bytes(&w, &got), "every line is bad, so --skip-bad-lines leaves out all 2 of them; the first:");
    CHECK_FAILS(read_as_bytes(&w, &got), "a.jsonl:1: the object has no field");
    refuses(path, "but \"question\", \"answer\"; name the right one by --text-field, or the two of a pair by "
                  "--prompt-field and --completion-field");
    tt_text_free(&got);
}

static void other_files_are_named(void)
{
    refuses(write_bytes("u.txt", "\xff\xfe" "x\0y\0", 6), "u.txt is text in UTF-16, and tt reads UTF-8; convert it");
    refuses(write_bytes("u.jsonl", "\xfe\xff\0{\0}", 6), "text in UTF-16");
    refuses(write_bytes("u.txt", "\xff\xfe\0\0a\0\0\0", 8), "text in UTF-32");
    refuses(write_text("l.jsonl", "[{\"text\": \"one\"},\n {\"text\": \"two\"}]\n"), "one JSON list, not JSON Lines");
    refuses(write_text("l.json", "\xef\xbb\xbf [\r\n  {\"text\": \"one\"}\n]\n"), "jq -c '.[]'");
    refuses(write_text("l.jsonl", "[\"a\", \"b\"]\n"), "l.jsonl:1: the line is JSON, but not an object");
    READS(write_text("l.txt", "[{}]"), "[{}]");
    refuses(write_text("p.txt.gz", "plain"), "p.txt.gz does not begin as gzip data do");
    refuses(write_text("p.txt.zst", ""), "p.txt.zst does not begin as zstd data do");
}

/* ---- prompts and completions ---- */

struct list {
    int32_t *tokens;
    int64_t n;
};

static tt_status take_list(void *to, const int32_t *tokens, int64_t n)
{
    struct list *l = to;
    l->tokens = realloc(l->tokens, (size_t)(l->n + n + 1) * sizeof *tokens);
    memcpy(l->tokens + l->n, tokens, (size_t)n * sizeof *tokens);
    l->n += n;
    return TT_OK;
}

static struct list read_list(struct tt_text_work *w)
{
    struct tt_tokenizer *t = NULL;
    struct list l = {0};
    CHECK_OK(tt_tokenizer_bytes(&t));
    CHECK_OK(tt_text_tokens(w, t, take_list, &l));
    tt_tokenizer_free(t);
    return l;
}

static void only_completions_count(void)
{
    static const int32_t wanted[] = {~'q', ~'?', 'y', 'e', 's', 0, 't', 0};
    const char *path = write_text("p.jsonl", "{\"prompt\":\"q?\",\"completion\":\"yes\"}\n{\"text\":\"t\"}\n");
    struct tt_text_work w = {.paths = &path, .count = 1};
    struct list l = read_list(&w);
    CHECK(l.n == 8 && !memcmp(l.tokens, wanted, sizeof wanted) && w.totals.documents == 2 && w.totals.pairs == 1);
    free(l.tokens);
    path = write_text("p.txt", "{\"in\":\"q?\",\"out\":\"yes\",\"text\":\"no\"}\n");
    w.options = (struct tt_text_options){.text_field = "text", .prompt_field = "in"};
    CHECK_FAILS(tt_text_reader_open(w.paths, 1, &w.options, &(struct tt_text_reader *){NULL}),
                "--text-field is for lines with one text");
    w.options = (struct tt_text_options){.prompt_field = "in", .completion_field = "out"};
    l = read_list(&w);
    CHECK(l.n == 6 && !memcmp(l.tokens, wanted, 6 * sizeof *wanted) && w.totals.pairs == 1);
    free(l.tokens);
    refuses(write_text("p.jsonl", "{\"prompt\":\"q\",\"completion\":\"a\",\"text\":\"t\"}"), "say which of them");
    refuses(write_text("p.jsonl", "{\"prompt\":\"q\"}"), "nor both \"prompt\" and \"completion\"");
    refuses(write_text("p.jsonl", "{\"prompt\":\"q\",\"completion\":1}"), "\"completion\" is a number");
}

/* Which tokens count comes back from a token file, wherever a window begins; a file without prompts is one of llm.c. */
static void token_files_keep_what_counts(void)
{
    enum { N = 20011 };
    static int32_t tokens[N], back[N];
    for (int width = 2; width <= 4; width += 2) {
        struct tt_token_file f;
        for (int i = 0; i < N; i++) tokens[i] = tt_random(3, 0, (uint64_t)i) % 3 ? i % 300 : ~(i % 300);
        const char *path = in_folder("mask.bin");
        CHECK_OK(tt_tokens_write_documents(path, tokens, N, 300, width, 7));
        CHECK_OK(tt_token_file_open(path, width == 2, &f));
        CHECK(f.masked && f.end_token == 7 && f.count == N && f.width == width);
        for (int first = 0; first < 20; first++) {
            CHECK_OK(tt_token_file_read(&f, first, N - 2 * first, back));
            CHECK(!memcmp(back, tokens + first, (size_t)(N - 2 * first) * sizeof *back), "from token %d", first);
        }
        tt_token_file_close(&f);
        struct tt_data *d = NULL;
        struct tt_data_options o = {.source = path, .seq_len = 100};
        CHECK_OK(tt_data_open(&o, &d));
        uint64_t mark = tt_data_mark(d);
        CHECK(tt_data_end_token(d) == 7 && tt_data_vocab(d) == 300);
        CHECK_OK(tt_data_sample(d, TT_TRAIN, 5, back));
        bool found = false;
        for (int i = 0; i + 100 < N && !found; i += 100) found = !memcmp(back, tokens + i, 101 * sizeof *back);
        CHECK(found, "a window of the file");
        tt_data_close(d);
        for (int i = 0; i < N; i++) tokens[i] = tt_token_of(tokens[i]);
        CHECK_OK(tt_tokens_write_documents(path, tokens, N, 300, width, 7));
        CHECK_OK(tt_data_open(&o, &d));
        CHECK(tt_data_mark(d) != mark, "other targets count");
        tt_data_close(d);
        CHECK_OK(tt_token_file_open(path, false, &f));
        CHECK(!f.masked && f.end_token == 7);
        tt_token_file_close(&f);
    }
    char *file;
    size_t n;
    tokens[9] = ~tokens[9];
    CHECK_OK(tt_tokens_write_documents(in_folder("mask.bin"), tokens, N, 300, 2, -1));
    CHECK_OK(tt_file_read(in_folder("mask.bin"), 1 << 20, &file, &n));
    struct tt_data *d = NULL;
    struct tt_data_options cut = {.source = write_bytes("mask.bin", file, n - 1), .seq_len = 8};
    CHECK_FAILS(tt_data_open(&cut, &d), "ends before it has said which");
    free(file);
}

static void the_first_characters(void)
{
    const char *path = write_text("a.jsonl", "{\"text\":\"\\u00e9\\u00e9\\u00e9\"}\n{\"text\":\"abc\"}\n"
                                             "{\"text\":\"never\"}");
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options.max_chars = 4};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == 9 && !memcmp(got.s, "\xc3\xa9\xc3\xa9\xc3\xa9\0a", 9), "%zu", got.n);
    tt_text_free(&got);
}

static void documents_need_an_end_token(void)
{
    const char *path = write_text("a.jsonl", "{\"text\":\"the dog\"}\n");
    const char *const words[] = {"the", "dog"};
    struct tt_tokenizer *t = NULL;
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1};
    CHECK_OK(tt_tokenizer_words(words, 2, &t));
    CHECK(tt_tokenizer_end(t) == -1);
    CHECK_FAILS(tt_text_tokens(&w, t, take_bytes, &got), "no token that ends a document");
    tt_tokenizer_free(t);
    CHECK_OK(tt_text_tokenizer(&w, "chars", 0, &t));
    CHECK(tt_tokenizer_end(t) == 0 && tt_tokenizer_size(t) == 8, "the zero and \" deghot\"");
    tt_tokenizer_free(t);
    tt_text_free(&got);
}

/* ---- packed ---- */

/* {"text":"one"} and {"text":"two"}, by gzip and by zstd. */
static const unsigned char in_gzip[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x2a, 0x49, 0xad, 0x28, 0x51, 0xb2, 0x52,
    0xca, 0xcf, 0x4b, 0x55, 0xaa, 0xe5, 0xaa, 0x86, 0x71, 0x4b, 0xca, 0xf3, 0x81, 0x5c, 0x00, 0xfb, 0x0e, 0x50, 0xcb,
    0x1e, 0x00, 0x00, 0x00};
static const unsigned char in_zstd[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0xdd, 0x00, 0x00, 0xa8, 0x7b, 0x22, 0x74, 0x65, 0x78, 0x74, 0x22, 0x3a, 0x22,
    0x6f, 0x6e, 0x65, 0x22, 0x7d, 0x0a, 0x74, 0x77, 0x6f, 0x22, 0x7d, 0x0a, 0x01, 0x00, 0x52, 0xcc, 0x3a, 0x90, 0xe2,
    0xdf, 0xee};

static void packed_files_are_read(void)
{
    struct tt_unpacker *gzip = tt_unpacker_open(TT_GZIP), *zstd = tt_unpacker_open(TT_ZSTD);
    if (gzip) {
        char twice[2 * sizeof in_gzip + 9] = {0};
        memcpy(twice, in_gzip, sizeof in_gzip);
        memcpy(twice + sizeof in_gzip, in_gzip, sizeof in_gzip);
        READS(write_bytes("p.jsonl.gz", in_gzip, sizeof in_gzip), "one\0two\0");
        READS(write_bytes("p.jsonl", in_gzip, sizeof in_gzip), "one\0two\0"); /* by its bytes, not by its name */
        READS(write_bytes("p.jsonl.gz", twice, sizeof twice), "one\0two\0one\0two\0");
        twice[sizeof in_gzip] = 'x';
        refuses(write_bytes("p.jsonl.gz", twice, sizeof twice), "damaged at byte 42: something else follows");
    }
    if (zstd) {
        char twice[2 * sizeof in_zstd], skipped[10 + sizeof in_zstd] = "\x53\x2a\x4d\x18\2\0\0\0xx";
        memcpy(skipped + 10, in_zstd, sizeof in_zstd);
        READS(write_bytes("p.jsonl.zst", skipped, sizeof skipped), "one\0two\0");
        memcpy(twice, in_zstd, sizeof in_zstd);
        memcpy(twice + sizeof in_zstd, in_zstd, sizeof in_zstd);
        READS(write_bytes("p.jsonl.zst", in_zstd, sizeof in_zstd), "one\0two\0");
        READS(write_bytes("p.jsonl.zst", twice, sizeof twice), "one\0two\0one\0two\0");
    }
    tt_unpacker_close(gzip);
    tt_unpacker_close(zstd);
    if (!gzip || !zstd) SKIP("zlib or libzstd is not installed");
}

static void put_number(struct tt_text *out, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++, n >>= 8) tt_text_add(out, &(char){(char)n}, 1);
}

/* A frame of zstd, whose blocks say how often a byte comes. */
static void put_frame(struct tt_text *out, const char *text, size_t n)
{
    tt_text_add(out, "\x28\xb5\x2f\xfd\xa0", 5); /* the size follows in 4 bytes */
    put_number(out, n, 4);
    for (size_t from = 0, step; from < n; from += step) {
        for (step = 1; from + step < n && text[from + step] == text[from];) step++;
        put_number(out, step << 3 | 1 << 1 | (from + step == n), 3);
        tt_text_add(out, text + from, 1);
    }
}

/* A member of gzip, with the text as it is. */
static void put_member(struct tt_text *out, const char *text, size_t n)
{
    enum { STORED = 65535 };
    uint32_t crc = ~0U;
    tt_text_add(out, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    for (size_t from = 0, step; from < n; from += step) {
        step = n - from < STORED ? n - from : STORED;
        put_number(out, from + step == n, 1);
        put_number(out, step | (~step & 0xffff) << 16, 4);
        tt_text_add(out, text + from, step);
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    }
    put_number(out, ~crc, 4);
    put_number(out, n, 4);
}

/* Text is unpacked 64 KiB at a time: a frame may end exactly there, and another may follow or none. */
static void packed_in_frames(const char *name, void (*put)(struct tt_text *, const char *, size_t))
{
    enum { PIECE = 64 << 10 };
    static char text[3 * PIECE];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i % 61 == 60 ? '\n' : 'a' + i / 1000 % 23);
    for (int pieces = 1; pieces <= 2; pieces++)
        for (int more = -1; more <= 1; more++)
            for (int frames = 1; frames <= 3; frames++) {
                size_t n = (size_t)(pieces * PIECE + more);
                struct tt_text packed = {0}, wanted = {0};
                for (int i = 0; i < frames; i++) {
                    put(&packed, text + i, n);
                    tt_text_add(&wanted, text + i, n);
                }
                reads(write_bytes(name, packed.s, packed.n), wanted.s, wanted.n);
                refuses(write_bytes(name, packed.s, packed.n - 1), "truncated");
                tt_text_free(&packed);
                tt_text_free(&wanted);
            }
}

static void packed_pieces_end_anywhere(void)
{
    struct tt_unpacker *gzip = tt_unpacker_open(TT_GZIP), *zstd = tt_unpacker_open(TT_ZSTD);
    if (gzip) packed_in_frames("p.txt.gz", put_member);
    if (zstd) packed_in_frames("p.txt.zst", put_frame);
    tt_unpacker_close(gzip);
    tt_unpacker_close(zstd);
    if (!gzip || !zstd) SKIP("zlib or libzstd is not installed");
}

/* Cut at every length, and with every byte changed: an error, or the same text where the byte does not matter. */
static void damaged(const char *name, const unsigned char *whole, size_t n)
{
    unsigned char bytes[256];
    struct tt_text got = {0};
    int wrong = 0;
    for (size_t cut = 5; cut < n; cut++) refuses(write_bytes(name, whole, cut), "truncated");
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes, whole, n);
        bytes[i] ^= 0x55;
        const char *path = write_bytes(name, bytes, n);
        struct tt_text_work w = {.paths = &path, .count = 1};
        tt_status st = read_as_bytes(&w, &got);
        CHECK(st || (got.n == 8 && !memcmp(got.s, "one\0two", 8)), "byte %zu", i);
        CHECK(!st || strstr(st->text, "damaged") || strstr(st->text, "truncated"), "%zu: %s", i, st ? st->text : "");
        if (st) wrong++;
        tt_status_free(st);
    }
    CHECK(wrong > (int)n / 2, "%d errors in %zu bytes", wrong, n);
    tt_text_free(&got);
}

static void damaged_files_are_refused(void)
{
    struct tt_unpacker *gzip = tt_unpacker_open(TT_GZIP), *zstd = tt_unpacker_open(TT_ZSTD);
    if (gzip) damaged("d.jsonl.gz", in_gzip, sizeof in_gzip);
    if (zstd) damaged("d.jsonl.zst", in_zstd, sizeof in_zstd);
    tt_unpacker_close(gzip);
    tt_unpacker_close(zstd);
    if (!gzip || !zstd) SKIP("zlib or libzstd is not installed");
}

/* ---- blocks and threads ---- */

static const char *write_story(const char *name, int64_t n)
{
    static const char *const words[] = {"the ", "dog", " ran\n", "\n\n", "  ", "é", "10\n\n  x", "\n\t", "'s\n",
                                        "\r\n!",
                                        "\xc2\xa0", "\n\xc2\xa0y", "(a)\n", "longer\nwords", "日本\n"};
    struct tt_text text = {0};
    for (uint64_t i = 0; (int64_t)text.n < n; i++)
        tt_text_puts(&text, words[tt_random(7, 0, i) % (sizeof words / sizeof *words)]);
    const char *path = write_bytes(name, text.s, text.n);
    tt_text_free(&text);
    return path;
}

/* Cut into spans and encoded by several threads, a text has the tokens that it has whole. */
static void same_tokens(const char *path, const struct tt_tokenizer *t, int threads)
{
    char *text;
    size_t n;
    int32_t *whole;
    int64_t count;
    struct list parts = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .threads = threads};
    CHECK_OK(tt_file_read(path, 64 << 20, &text, &n));
    CHECK_OK(tt_tokenizer_encode(t, text, (int64_t)n, &whole, &count));
    CHECK_OK(tt_text_tokens(&w, t, take_list, &parts));
    CHECK(parts.n == count && !memcmp(parts.tokens, whole, (size_t)count * sizeof *whole), "%s, %d threads",
          tt_tokenizer_kind(t), threads);
    free(parts.tokens);
    free(whole);
    free(text);
}

/* Lines that end as Windows ends them, after words and after marks. */
static const char *write_crlf_story(const char *name, int64_t n)
{
    static const char *const words[] = {"the dog ran\r\n", "and stopped.\r\n", "(why?)\r\n", "10\r\n", "日本。\r\n",
                                        "  far away \r\n", "\r\n", "'s\r\n", "one two "};
    struct tt_text text = {0};
    for (uint64_t i = 0; (int64_t)text.n < n; i++)
        tt_text_puts(&text, words[tt_random(8, 0, i) % (sizeof words / sizeof *words)]);
    const char *path = write_bytes(name, text.s, text.n);
    tt_text_free(&text);
    return path;
}

/* A plain text is read in spans, so that its size needs no memory. */
static void is_cut(const char *path, const struct tt_tokenizer *t)
{
    struct tt_text_reader *r = NULL;
    struct tt_text_block b = {0};
    struct tt_text_options options = {.cut = tt_tokenizer_line_cut(t)};
    CHECK_OK(tt_text_reader_open(&path, 1, &options, &r));
    CHECK_OK(tt_text_reader_next(r, &b));
    CHECK(b.count > 1, "%s, %s", path, tt_tokenizer_kind(t));
    for (int64_t i = 0; i < b.count; i++) CHECK(b.spans[i].n < 100000, "a span of %lld bytes", (long long)b.spans[i].n);
    tt_text_block_free(&b);
    tt_text_reader_close(r);
}

/* Of several spans, by one thread and by more; and of several blocks. */
static void cuts_and_threads_change_nothing(void)
{
    static const char *const files[] = {"tests/fixtures/tokenizers/gpt2/tokenizer.json",
                                        "tests/fixtures/tokenizers/llama3/tokenizer.json",
                                        "tests/fixtures/tokenizers/qwen2/tokenizer.json",
                                        "tests/fixtures/tokenizers/smollm/tokenizer.json"};
    const char *path = write_story("story.txt", 150000), *blocks = write_story("blocks.txt", 1100000);
    const char *crlf = write_crlf_story("crlf.txt", 100000);
    struct tt_text_work w = {.paths = &path, .count = 1};
    struct tt_tokenizer *bytes = NULL;
    char *first = NULL, *again = NULL;
    CHECK_OK(tt_tokenizer_bytes(&bytes));
    same_tokens(blocks, bytes, 3);
    tt_tokenizer_free(bytes);
    for (int threads = 1; threads <= 5; threads += 2) {
        struct tt_tokenizer *t = NULL;
        size_t n = 0, m = 0;
        w.threads = threads;
        CHECK_OK(tt_text_tokenizer(&w, "bpe", 300, &t));
        CHECK(tt_tokenizer_size(t) == 300);
        CHECK_OK(tt_tokenizer_save(t, in_folder(threads == 1 ? "first.json" : "again.json")));
        CHECK_OK(tt_file_read(in_folder("first.json"), 1 << 20, &first, &n));
        CHECK_OK(tt_file_read(in_folder(threads == 1 ? "first.json" : "again.json"), 1 << 20, &again, &m));
        CHECK(n == m && !memcmp(first, again, n), "%d threads learn other merges", threads);
        same_tokens(path, t, threads);
        same_tokens(crlf, t, threads);
        is_cut(crlf, t);
        tt_tokenizer_free(t);
        free(first);
        free(again);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tt_tokenizer *t = NULL;
        CHECK_OK(tt_tokenizer_load(files[i], &t));
        same_tokens(path, t, 3);
        same_tokens(crlf, t, 3);
        is_cut(crlf, t);
        tt_tokenizer_free(t);
    }
}

static void places_in_messages(void)
{
    struct tt_text text = {0};
    struct tt_tokenizer *t = NULL;
    struct list none = {0};
    for (int i = 0; i < 40000; i++) tt_text_puts(&text, "line\n");
    tt_text_puts(&text, "caf\xe9\n");
    const char *path = write_bytes("latin1.txt", text.s, text.n);
    struct tt_text_work w = {.paths = &path, .count = 1, .threads = 2};
    CHECK_FAILS(tt_text_tokenizer(&w, "chars", 0, &t), "latin1.txt: byte 0xe9 at offset 200003 is not UTF-8");
    CHECK_OK(tt_tokenizer_chars("line\ncaf", 8, &t));
    CHECK_FAILS(tt_text_tokens(&w, t, take_list, &none), "latin1.txt: byte 0xe9 at offset 200003 is not UTF-8");
    path = write_text("odd.jsonl", "{\"text\":\"line\"}\n{\"text\":\"lineX\"}\n");
    tt_tokenizer_free(t);
    CHECK_OK(tt_tokenizer_chars("line\0", 5, &t));
    CHECK_FAILS(tt_text_tokens(&w, t, take_list, &none), "odd.jsonl:2: the character U+0058 at byte 4");
    tt_tokenizer_free(t);
    tt_text_free(&text);
    free(none.tokens);
}

/* ---- sources ---- */

static struct tt_data *open_data(struct tt_data_options o)
{
    struct tt_data *d = NULL;
    o.seq_len = 4;
    CHECK_OK(tt_data_open(&o, &d));
    return d;
}

static void globs_and_folders(void)
{
    CHECK_OK(tt_make_dirs(in_folder("many/deeper.txt")));
    write_text("many/b.jsonl", "{\"text\":\"second\"}\n");
    write_text("many/a.txt", "first!");
    write_text("many/c.md", "third.");
    write_text("many/.hidden.txt", "never");
    write_text("many/picture.png", "never");
    struct tt_data *d = open_data((struct tt_data_options){.source = in_folder("many")});
    int32_t sample[5];
    char seen[32] = "";
    CHECK(tt_data_samples(d, TT_TRAIN) == 5 && tt_data_end_token(d) == 0);
    CHECK(strstr(tt_data_describe(d), "21 tokens") && strstr(tt_data_describe(d), "3 documents"));
    for (uint64_t i = 0; i < 5; i++) {
        CHECK_OK(tt_data_sample(d, TT_TRAIN, i, sample));
        seen[i] = (char)sample[0];
    }
    CHECK(memchr(seen, 'e', 5) && memchr(seen, 'd', 5) && memchr(seen, 'i', 5), "windows of first!\\0second\\0third.");
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = in_folder("many/?.[jm]*")});
    CHECK(strstr(tt_data_describe(d), "14 tokens"), "%s", tt_data_describe(d));
    tt_data_close(d);
    struct tt_data *none = NULL;
    CHECK_FAILS(tt_data_open(&(struct tt_data_options){.source = in_folder("many/deeper.txt"), .seq_len = 4}, &none),
                "is a folder without text");
}

/* Plain files are one text, or documents; a single one has no boundary. */
static void plain_files_are_documents(void)
{
    static const struct {
        struct tt_text_options options;
        int count;
        const char *wanted;
        size_t n;
    } cases[] = {{{.end_token = -1}, 2, "one\ntwo", 7},
                 {{.separate = true, .end_token = -1}, 2, "one\n\0two\0", 9},
                 {{.separate = true, .end_token = 0}, 2, "one\n\0two\0", 9},
                 {{.separate = true, .end_token = 10}, 2, "one\ntwo", 7},
                 {{.separate = true, .end_token = -1}, 1, "one\n", 4},
                 {{.separate = true, .end_token = -1, .max_chars = 2}, 2, "on\0tw\0", 6}};
    char *one = strdup(write_text("p1.txt", "one\n")), *two = strdup(write_text("p2.txt", "two"));
    const char *paths[] = {one, two};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_text got = {0};
        struct tt_text_work w = {.paths = paths, .count = cases[i].count, .options = cases[i].options};
        CHECK_OK(read_as_bytes(&w, &got));
        CHECK(got.n == cases[i].n && !memcmp(got.s, cases[i].wanted, got.n), "case %zu: %zu tokens", i, got.n);
        CHECK(w.totals.documents == (cases[i].n == 7 || cases[i].n == 4 ? 0 : 2), "case %zu", i);
        tt_text_free(&got);
        struct tt_tokenizer *t = NULL;
        CHECK_OK(tt_text_tokenizer(&w, "chars", 0, &t));
        CHECK((tt_tokenizer_end(t) == 0) == (w.totals.documents > 0), "case %zu: characters that documents need", i);
        tt_tokenizer_free(t);
    }
    free(one);
    free(two);
}

static void objects_in_plain_text_are_told(void)
{
    struct tt_data *d = open_data((struct tt_data_options){.source = write_text("o.txt", "{\"text\":\"a\"}\n{}\n")});
    CHECK(strstr(tt_data_describe(d), "begins as JSON Lines do, but is read as plain text"), "%s", tt_data_describe(d));
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = write_text("o.txt", "{not json}\n{}\n")});
    CHECK(!strstr(tt_data_describe(d), "JSON Lines"), "%s", tt_data_describe(d));
    tt_data_close(d);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(documents_are_read);
    TEST(bad_lines_are_named);
    TEST(all_lines_bad);
    TEST(other_files_are_named);
    TEST(only_completions_count);
    TEST(token_files_keep_what_counts);
    TEST(the_first_characters);
    TEST(documents_need_an_end_token);
    TEST(packed_files_are_read);
    TEST(packed_pieces_end_anywhere);
    TEST(damaged_files_are_refused);
    TEST(cuts_and_threads_change_nothing);
    TEST(places_in_messages);
    TEST(globs_and_folders);
    TEST(plain_files_are_documents);
    TEST(objects_in_plain_text_are_told);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
