#include "core/data/text_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/grow.h"
#include "core/base/pointer.h"
#include "core/base/stream.h"
#include "core/base/utf8.h"
#include "core/data/jsonl.h"
#include "core/data/tokenizers/unicode.h"

enum { BLOCK = 1 << 20, SPAN = 64 << 10, CHUNK = 64 << 10, MOST_LINE = 256 << 20 };

struct tt_text_reader {
    const char *const *paths;
    int count, file; /* the file being read */
    struct tt_text_options options;
    struct tt_stream *stream; /* NULL: not open */
    bool json, lines, at_end; /* JSON Lines; read line by line; all of the file is in `ahead` */
    struct tt_text ahead; /* text of the file; from `from` on it is not handed out yet */
    size_t from, searched, mark; /* searched: no place to cut up to here. mark: bytes before the text */
    int64_t line, offset, chars_left;
    int64_t done, total; /* bytes of the files before this one, and of all */
    struct tt_text_totals totals;
    char chunk[CHUNK];
};

void tt_text_block_free(struct tt_text_block *b)
{
    tt_text_free(&b->text);
    free(b->spans);
    *b = (struct tt_text_block){0};
}

/* ---- which files are JSON Lines ---- */

static bool given(const char *s) { return s && *s; }

static bool ends_with(const char *name, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && !memcmp(name + n - m, end, m);
}

bool tt_text_is_lines(const char *path, const struct tt_text_options *options)
{
    size_t n = strlen(path);
    if (given(options->text_field) || given(options->prompt_field) || given(options->completion_field)) return true;
    if (ends_with(path, n, ".gz"))
        n -= 3;
    else if (ends_with(path, n, ".zst"))
        n -= 4;
    return ends_with(path, n, ".jsonl") || ends_with(path, n, ".ndjson");
}

tt_status tt_text_at(tt_status st, const char *path, const struct tt_text_options *options,
                     const struct tt_text_span *span)
{
    if (!tt_text_is_lines(path, options)) return tt_context(st, "%s", path);
    return tt_context(st, "%s:%lld", path, (long long)span->where);
}

/* ---- opening ---- */

tt_status tt_text_reader_open(const char *const *paths, int count, const struct tt_text_options *options,
                              struct tt_text_reader **out)
{
    bool pairs = given(options->prompt_field) || given(options->completion_field);
    if (given(options->text_field) && pairs)
        return tt_fail(TT_USAGE, "--text-field is for lines with one text, --prompt-field and --completion-field are "
                                 "for pairs; give one kind of them");
    struct tt_text_reader *r = calloc(1, sizeof *r);
    if (!r) return tt_no_memory("reading text");
    r->paths = paths;
    r->count = count;
    r->options = *options;
    for (int i = 0; i < count; i++) {
        struct stat st;
        if (!stat(paths[i], &st)) r->total += st.st_size;
    }
    *out = r;
    return TT_OK;
}

void tt_text_reader_close(struct tt_text_reader *r)
{
    if (!r) return;
    tt_stream_close(r->stream);
    tt_text_free(&r->ahead);
    free(r);
}

const struct tt_text_totals *tt_text_reader_totals(const struct tt_text_reader *r) { return &r->totals; }

void tt_text_reader_progress(const struct tt_text_reader *r, int64_t *done, int64_t *total)
{
    *done = r->done + (r->stream ? tt_stream_done(r->stream) : 0);
    *total = r->total;
}


static void close_file(struct tt_text_reader *r)
{
    r->done += tt_stream_size(r->stream);
    tt_stream_close(r->stream);
    r->stream = NULL;
    r->file++;
}

/* Reads some more of the file into `ahead`. */
static tt_status read_more(struct tt_text_reader *r)
{
    size_t got = 0;
    if (r->from) { /* what was handed out is not needed any more */
        r->ahead.n -= r->from;
        r->searched -= r->from;
        memmove(r->ahead.s, r->ahead.s + r->from, r->ahead.n);
        r->from = 0;
    }
    TT_TRY(tt_stream_read(r->stream, r->chunk, CHUNK, &got));
    r->at_end = !got;
    tt_text_add(&r->ahead, r->chunk, got);
    return tt_text_status(&r->ahead);
}

/* ---- what a file is, by its name and its first bytes ---- */

static tt_status refuse_packed_name(const struct tt_text_reader *r)
{
    const char *path = r->paths[r->file];
    const char *end = ends_with(path, strlen(path), ".gz") ? "gzip" : "zstd";
    if (tt_stream_is_packed(r->stream) || (end[0] == 'z' && !ends_with(path, strlen(path), ".zst"))) return TT_OK;
    return tt_fail(TT_FAILED,
                   "%s does not begin like %s data: it is damaged, or not packed at all; make or copy it again, or "
                   "rename it",
                   path, end);
}

static tt_status refuse_utf16(const struct tt_text_reader *r)
{
    const char *text = r->ahead.s, *path = r->paths[r->file];
    bool little = r->ahead.n >= 2 && !memcmp(text, "\xff\xfe", 2);
    bool wide = little && r->ahead.n >= 4 && !text[2] && !text[3];
    if (!little && !(r->ahead.n >= 2 && !memcmp(text, "\xfe\xff", 2))) return TT_OK;
    int bits = wide ? 32 : 16;
    return tt_fail(TT_USAGE, "%s is text in UTF-%d, and tt reads UTF-8; convert it: iconv -f UTF-%d -t UTF-8 FILE "
                             ">NEW", path, bits, bits);
}

static bool has_at(const struct tt_text_reader *r, size_t at, const char *bytes, size_t n)
{
    return r->ahead.n >= at + n && !memcmp(r->ahead.s + at, bytes, n);
}

/* Recognizes files that are no text by their first bytes. */
static tt_status refuse_binary(const struct tt_text_reader *r)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *what, *instead;
    } kinds[] = {
        {"\xfd" "7zXZ\0", 6, "packed with xz", "unpack it: xz -dc FILE >NEW"},
        {"PK\3\4", 4, "a zip archive", "unpack it: unzip FILE"},
        {"PAR1\x15", 5, "a Parquet file", "make JSON Lines of it: python3 -c \"import pandas; "
         "pandas.read_parquet('FILE').to_json('NEW.jsonl', orient='records', lines=True)\""},
        {"GGUF\3\0\0\0", 8, "a model for llama.cpp", "make a checkpoint of it: tt import FILE --out DIR"},
        {"%PDF-", 5, "a PDF", "make text of it: pdftotext FILE NEW.txt"},
        {TT_POINTER, sizeof TT_POINTER - 1, "a Git LFS pointer", TT_POINTER_INSTEAD},
    };
    enum { MAGIC_OF_TAR = 257 }; /* its offset, after name, mode, owner, size, time, checksum, kind and link */
    const char *path = r->paths[r->file];
    if (has_at(r, MAGIC_OF_TAR, "ustar", 5) && memchr(r->ahead.s, 0, MAGIC_OF_TAR))
        return tt_fail(TT_USAGE, "%s is a tar archive, not text; unpack it: tar -xf FILE", path);
    if (has_at(r, 0, "BZh", 3) && has_at(r, 4, "1AY&SY", 6))
        return tt_fail(TT_USAGE, "%s is packed with bzip2, not text; unpack it: bzip2 -dc FILE >NEW", path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has_at(r, 0, kinds[i].bytes, kinds[i].n))
            return tt_fail(TT_USAGE, "%s is %s, not text; %s", path, kinds[i].what, kinds[i].instead);
    return TT_OK;
}

/* A byte order mark is not part of the text. The reader of JSON skips it by itself. */
static void skip_mark(struct tt_text_reader *r)
{
    if (!r->json && r->ahead.n >= 3 && !memcmp(r->ahead.s, "\xef\xbb\xbf", 3)) r->mark = r->from = r->searched = 3;
}

/* Whether the file is one list of objects, on one line or many. Any other list makes its line a bad line instead. */
static bool is_list(const char *text, size_t n)
{
    size_t at = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < n && strchr(" \t\r\n", text[at]) && text[at]) at++;
    if (at == n || text[at++] != '[') return false;
    while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) at++;
    return at < n && (text[at] == '{' || text[at] == '\n');
}

/* Whether the first line is an object: then the file is JSON Lines under another name. */
static bool begins_with_object(const char *text, size_t n)
{
    struct tt_json *line = NULL;
    const char *end = n && text[0] == '{' ? memchr(text, '\n', n) : NULL;
    tt_status st = end ? tt_json_parse(text, (size_t)(end - text), &line) : TT_OK;
    bool object = line && line->type == TT_JSON_OBJECT && line->count;
    tt_status_free(st);
    tt_json_free(line);
    return object;
}

static tt_status look(struct tt_text_reader *r)
{
    TT_TRY(refuse_packed_name(r));
    TT_TRY(refuse_utf16(r));
    TT_TRY(refuse_binary(r));
    skip_mark(r);
    if (!r->lines) r->totals.has_objects |= begins_with_object(r->ahead.s + r->from, r->ahead.n - r->from);
    const char *path = r->paths[r->file];
    bool json = r->json || ends_with(path, strlen(path), ".json");
    if (!json || !is_list(r->ahead.s, r->ahead.n)) return TT_OK;
    return tt_fail(TT_USAGE,
                   "%s is one JSON list, not JSON Lines, which have an object a line; make lines of it: "
                   "jq -c '.[]' FILE >NEW.jsonl",
                   path);
}

static tt_status open_file(struct tt_text_reader *r)
{
    TT_TRY(tt_stream_open(r->paths[r->file], &r->stream));
    r->json = tt_text_is_lines(r->paths[r->file], &r->options);
    r->lines = r->json || r->options.prompts;
    r->at_end = false;
    r->ahead.n = r->from = r->searched = r->mark = 0;
    r->line = r->offset = 0;
    r->chars_left = r->options.max_chars ? r->options.max_chars : INT64_MAX;
    TT_TRY(read_more(r));
    return look(r);
}

/* ---- spans ---- */

/* Appends a span, cut where the max_chars of the file are used up. */
static tt_status add_span(struct tt_text_reader *r, struct tt_text_block *b, const char *text, size_t n,
                          struct tt_text_span span)
{
    if (r->options.max_chars) {
        size_t whole = n;
        n = tt_utf8_prefix(text, n, r->chars_left);
        r->chars_left = n < whole ? 0 : r->chars_left - (int64_t)tt_utf8_count(text, n);
    }
    if (!tt_grow(&b->spans, sizeof *b->spans, (size_t)b->count, &b->room)) return tt_no_memory("reading text");
    span.from = (int64_t)b->text.n;
    span.n = (int64_t)n;
    span.file = r->file;
    b->spans[b->count++] = span;
    tt_text_add(&b->text, text, n);
    r->totals.bytes += (int64_t)n;
    return tt_text_status(&b->text);
}

/* ---- JSON Lines ---- */

static tt_status skip_line(struct tt_text_reader *r, tt_status bad)
{
    if (!r->totals.skipped++) snprintf(r->totals.first_skipped, sizeof r->totals.first_skipped, "%.399s", bad->text);
    tt_status_free(bad);
    return TT_OK;
}

/* A damaged file may unpack to wrong text, which only the end of the file shows. So a bad line of a packed file is
 * reported only after reading to the end; if the file is damaged, that is reported instead. */
static tt_status or_damage(struct tt_text_reader *r, tt_status bad)
{
    size_t got = 1;
    tt_status st = TT_OK;
    while (!st && got && tt_stream_is_packed(r->stream)) st = tt_stream_read(r->stream, r->chunk, CHUNK, &got);
    tt_status_free(st ? bad : TT_OK);
    return st ? st : bad;
}

/* Takes a line that is not JSON as a prompt. */
static tt_status take_words(struct tt_text_reader *r, struct tt_text_block *b, const char *line, size_t n)
{
    if (n > 0 && line[n - 1] == '\r') n--;
    if (memchr(line, 0, n))
        return tt_fail(TT_USAGE, "%s:%lld: the line has a zero byte; prompts must be text", r->paths[r->file],
                       (long long)r->line);
    return add_span(r, b, line, n, (struct tt_text_span){.ends = true, .where = r->line});
}

static tt_status take_line(struct tt_text_reader *r, struct tt_text_block *b, const char *line, size_t n)
{
    struct tt_jsonl_document document = {0};
    r->line++;
    if (!r->json) return take_words(r, b, line, n);
    tt_status st = tt_jsonl_read(line, n, &r->options, &document);
    if (st) {
        st = tt_context(st, "%s:%lld", r->paths[r->file], (long long)r->line);
        return r->options.skip_bad && st->code != TT_FAILED ? skip_line(r, st) : or_damage(r, st);
    }
    struct tt_text_span prompt = {.prompt = true, .where = r->line}, text = {.ends = true, .where = r->line};
    r->totals.documents += document.text != NULL;
    r->totals.pairs += document.prompt != NULL;
    if (document.prompt) st = add_span(r, b, document.prompt, strlen(document.prompt), prompt);
    if (document.text && !st) st = add_span(r, b, document.text, strlen(document.text), text);
    tt_json_free(document.line);
    return st;
}

static tt_status too_long(const struct tt_text_reader *r)
{
    return tt_fail(TT_FAILED, "%s:%lld: the line has more than %d MiB; is the file JSON Lines, one object a line?",
                   r->paths[r->file], (long long)r->line + 1, MOST_LINE >> 20);
}

/* Hands out the next line, if the file has one. */
static tt_status next_line(struct tt_text_reader *r, struct tt_text_block *b, bool *done)
{
    const char *end = NULL;
    for (;;) {
        if (r->searched < r->ahead.n) end = memchr(r->ahead.s + r->searched, '\n', r->ahead.n - r->searched);
        if (end || r->at_end) break;
        r->searched = r->ahead.n;
        if (r->ahead.n - r->from > MOST_LINE) return too_long(r);
        TT_TRY(read_more(r));
    }
    size_t from = r->from, n = end ? (size_t)(end - r->ahead.s) - from : r->ahead.n - from;
    r->from = r->searched = from + n + (end != NULL);
    *done = (!end && !n) || r->chars_left <= 0;
    return *done ? TT_OK : take_line(r, b, r->ahead.s + from, n);
}

/* ---- plain text ---- */

static bool is_visible(const char *p, size_t n)
{
    uint32_t point;
    tt_utf8_decode(p, n, &point);
    return tt_utf8_is_character(point) && !tt_is_space(point);
}

static bool is_visible_before(const char *text, size_t end)
{
    if (!end) return false;
    size_t at = end - 1;
    while (at > 0 && end - at < 4 && ((unsigned char)text[at] & 0xc0) == 0x80) at--;
    return is_visible(text + at, end - at);
}

/* Whether the text can be cut at `at`: between two lines that are separated by one line end, with a visible character
 * on each side. No tokenizer has a token that goes on across such a place, or one that is different because the text
 * ends there. */
static bool can_cut(enum tt_line_cut how, const char *text, size_t at, size_t n)
{
    size_t first = at, next = at; /* of the line end and of the line after it */
    if (at > 1 && how == TT_CUT_IN_CRLF && text[at - 1] == '\r' && text[at] == '\n')
        first--, next++;
    else if (at > 1 && text[at - 1] == '\n')
        first -= how == TT_CUT_AFTER_LINE && text[at - 2] == '\r' ? 2 : 1;
    else
        return false;
    return next < n && is_visible(text + next, n - next) && is_visible_before(text, first);
}

/* Where the next span ends: the last place to cut within SPAN bytes, else the first one after that. 0: there is none in
 * the text read so far. */
static size_t find_cut(struct tt_text_reader *r)
{
    const char *text = r->ahead.s;
    size_t first = r->from + SPAN < r->ahead.n ? r->from + SPAN : r->ahead.n;
    if (r->options.cut == TT_NO_CUT || (first == r->ahead.n && r->at_end)) return 0;
    if (r->searched <= r->from)
        for (size_t at = first; at > r->from + 1;)
            if (can_cut(r->options.cut, text, --at, r->ahead.n)) return at;
    size_t at = r->searched > first ? r->searched : first;
    for (at = at > r->from + 1 ? at : r->from + 1; at < r->ahead.n; at++)
        if (can_cut(r->options.cut, text, at, r->ahead.n)) return at;
    r->searched = r->ahead.n;
    return 0;
}

static tt_status end_document(struct tt_text_reader *r, struct tt_text_block *b)
{
    r->totals.documents++;
    return add_span(r, b, "", 0, (struct tt_text_span){.ends = true, .where = r->offset});
}

static tt_status next_plain(struct tt_text_reader *r, struct tt_text_block *b, bool *done)
{
    size_t cut = 0;
    while (!r->at_end && r->ahead.n - r->from < 2 * SPAN) TT_TRY(read_more(r));
    while (!(cut = find_cut(r)) && !r->at_end) {
        if ((int64_t)((r->ahead.n - r->from) / 4) > r->chars_left) break; /* more than is wanted */
        TT_TRY(read_more(r));
    }
    size_t from = r->from, n = (cut ? cut : r->ahead.n) - from;
    r->from = r->searched = from + n;
    *done = !n || r->chars_left <= 0;
    if (*done) return r->options.file_ends && r->offset ? end_document(r, b) : TT_OK;
    r->totals.has_zeros |= memchr(r->ahead.s + from, 0, n) != NULL;
    int64_t where = (int64_t)r->mark + r->offset;
    r->offset += (int64_t)n;
    return add_span(r, b, r->ahead.s + from, n, (struct tt_text_span){.where = where});
}

tt_status tt_text_reader_next(struct tt_text_reader *r, struct tt_text_block *b)
{
    b->text.n = 0;
    b->count = 0;
    while (b->text.n < BLOCK && b->count < BLOCK / 16 && r->file < r->count) {
        bool done = false;
        if (!r->stream) TT_TRY(open_file(r));
        TT_TRY((r->lines ? next_line : next_plain)(r, b, &done));
        if (done) close_file(r);
    }
    return TT_OK;
}
