/* Reads a worksheet as people write it. The YAML reader is strict and stops at the first slip. Here, an answer that it
 * cannot read is put into quotes and noted: it is marked as such, and all others are checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/utf8.h"
#include "exercises/engine/parts.h"

/* A line of the text, without its end. */
struct line {
    const char *s;
    size_t n, indent;
};

static struct line next_line(const char **at, const char *end)
{
    struct line l = {.s = *at};
    const char *stop = memchr(l.s, '\n', (size_t)(end - l.s));
    *at = stop ? stop + 1 : end;
    l.n = (size_t)((stop ? stop : end) - l.s);
    if (l.n && l.s[l.n - 1] == '\r') l.n--;
    while (l.indent < l.n && l.s[l.indent] == ' ') l.indent++;
    return l;
}

static bool says_nothing(const struct line *l) { return l->indent == l->n || l->s[l->indent] == '#'; }

/* The bytes of "  key:", 0 when the line does not begin so. */
static size_t key_length(const struct line *l)
{
    size_t i = l->indent;
    while (i < l->n &&
           (l->s[i] == '_' || (l->s[i] >= '0' && l->s[i] <= '9') || ((l->s[i] | 32) >= 'a' && (l->s[i] | 32) <= 'z')))
        i++;
    bool key = i > l->indent && i < l->n && l->s[i] == ':' && (i + 1 == l->n || l->s[i + 1] == ' ');
    return key ? i + 1 : 0;
}

/* A line, and where it stands among the answers. */
struct place {
    struct line line;
    int answer; /* the number of the line where this answer begins; 0: it is not in an answer */
    size_t key; /* bytes of its key; 0: it continues an answer */
};

static struct place find_place(const struct tt_text *text, int number)
{
    struct place p = {0};
    const char *at = text->s, *end = at + text->n;
    bool inside = false;
    size_t indent = 0;
    for (int i = 1; i <= number && at < end; i++) {
        struct line l = next_line(&at, end);
        p.line = l;
        p.key = 0;
        if (says_nothing(&l)) continue;
        if (!l.indent) {
            inside = key_length(&l) == 8 && !memcmp(l.s, "answers", 7);
            indent = 0;
            p.answer = 0;
        } else if (inside) {
            if (!indent) indent = l.indent;
            if (l.indent == indent) p.key = key_length(&l);
            if (l.indent <= indent) p.answer = p.key ? i : 0;
        }
    }
    if (says_nothing(&p.line)) p.answer = 0;
    return p;
}

/* Copies what was written after the key, without a comment. Returns whether there is a comment behind plain words. */
static bool value_of(const struct place *p, char *out, size_t size)
{
    const char *s = p->line.s + p->key, *end = p->line.s + p->line.n;
    while (s < end && *s == ' ') s++;
    bool quoted = s < end && (*s == '"' || *s == '\''), comment = false;
    for (const char *c = s; c < end && !quoted; c++)
        if (*c == '#' && c > s && c[-1] == ' ') {
            comment = true;
            end = c;
        }
    while (end > s && end[-1] == ' ') end--;
    snprintf(out, size, "%.*s", (int)(end - s), s);
    return comment;
}

/* How many bytes of a sentence a message shows. */
static size_t beginning(const char *s)
{
    size_t n = 0;
    uint32_t point;
    while (n < 60 && s[n]) n += (size_t)tt_utf8_decode(s + n, strlen(s + n), &point);
    return n;
}

static void explain(struct tt_slip *slip, const char *value, const char *complaint)
{
    const char *what = strstr(complaint, ": ");
    struct tt_text quoted = {0};
    slip->broken = !value[0] || strchr("\"'[|>", value[0]) || !tt_utf8_valid(value, strlen(value));
    if (!value[0] || strchr("|>", value[0])) {
        snprintf(slip->reason, sizeof slip->reason, "write it on one line, in quotes");
    } else if (slip->broken) {
        snprintf(slip->reason, sizeof slip->reason, "it cannot be read: %.250s", what ? what + 2 : complaint);
    } else {
        size_t n = beginning(value);
        char shown[80];
        snprintf(shown, sizeof shown, "%.*s%s", (int)n, value, value[n] ? "..." : "");
        tt_yaml_put(&quoted, shown);
        snprintf(slip->reason, sizeof slip->reason, "write it in quotes: %s", quoted.s ? quoted.s : "");
    }
    tt_text_free(&quoted);
}

static struct tt_slip *slip_at(const struct tt_sheet *sheet, int line)
{
    for (int i = 0; i < sheet->slip_count; i++)
        if (sheet->slips[i].line == line) return &sheet->slips[i];
    return NULL;
}

const struct tt_slip *tt_sheet_slip(const struct tt_sheet *sheet, const struct tt_yaml *answer)
{
    return answer ? slip_at(sheet, answer->line) : NULL;
}

/* Replaces the line by its key with the value in quotes. A line that continues an answer becomes empty. */
static void rewrite(struct tt_text *text, const struct place *p, const char *value)
{
    struct tt_text mended = {0};
    const char *end = p->line.s + p->line.n;
    tt_text_add(&mended, text->s, (size_t)(p->line.s - text->s) + p->key);
    if (p->key) {
        tt_text_puts(&mended, " ");
        tt_yaml_put(&mended, value);
    }
    tt_text_add(&mended, end, (size_t)(text->s + text->n - end));
    tt_text_free(text);
    *text = mended;
}

/* Mends the line that the complaint names; false: it is not in an answer, or was mended already. */
static bool mend(struct tt_sheet *sheet, struct tt_text *text, const char *complaint)
{
    int number = 0;
    char value[TT_ANSWER + 1] = ""; /* of a longer one, enough to see that */
    if (sscanf(complaint, "line %d:", &number) != 1) return false;
    struct place p = find_place(text, number);
    struct tt_slip *slip = p.answer ? slip_at(sheet, p.answer) : NULL;
    if (!p.answer || (p.key && slip) || (!slip && sheet->slip_count == TT_SLIPS)) return false;
    if (!slip) slip = &sheet->slips[sheet->slip_count++];
    slip->line = p.answer;
    if (p.key) value_of(&p, value, sizeof value);
    explain(slip, value, complaint);
    rewrite(text, &p, value);
    return !text->failed;
}

/* Notes answers that end where a comment begins: in a sentence, the # may have been meant as a part of it. */
static void note_comments(struct tt_sheet *sheet, const struct tt_text *text)
{
    char value[TT_ANSWER + 1];
    int number = 1;
    for (const char *at = text->s, *end = at + text->n; at < end && sheet->slip_count < TT_SLIPS; number++) {
        next_line(&at, end);
        struct place p = find_place(text, number);
        if (!p.key || p.answer != number || slip_at(sheet, number) || !value_of(&p, value, sizeof value)) continue;
        struct tt_slip *slip = &sheet->slips[sheet->slip_count++];
        *slip = (struct tt_slip){.line = number, .comment = true};
        snprintf(slip->reason, sizeof slip->reason, "what follows the # is not read; write it all in quotes");
    }
}

tt_status tt_sheet_read(const char *path, struct tt_sheet *out)
{
    struct tt_text text = {0};
    char *file;
    size_t size;
    *out = (struct tt_sheet){.slips = calloc(TT_SLIPS, sizeof *out->slips)};
    if (!out->slips) return tt_no_memory("the worksheet");
    TT_TRY(tt_file_read(path, TT_YAML_SIZE, &file, &size));
    tt_text_add(&text, file, size);
    free(file);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_yaml_parse(text.s, text.n, &out->tree);
    while (st && st->code == TT_USAGE && mend(out, &text, st->text)) {
        tt_status_free(st);
        st = tt_yaml_parse(text.s, text.n, &out->tree);
    }
    if (!st) note_comments(out, &text);
    tt_text_free(&text);
    return st ? tt_context(st, "%s", path) : TT_OK;
}

void tt_sheet_free(struct tt_sheet *sheet)
{
    tt_yaml_free(sheet->tree);
    free(sheet->slips);
    *sheet = (struct tt_sheet){0};
}
