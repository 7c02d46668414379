/* Blocks of Markdown. A text is cut into lines; the contents of a list item are a text again. */
#include "exercises/engine/markdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/markdown_parts.h"

enum { DEPTH = 6 }; /* of lists in lists; what lies deeper is text */

struct line {
    const char *s;
    size_t n, indent; /* length without the line end; leading blanks */
};

struct lines {
    struct line *at;
    int n;
};

static struct line line_of(const char *s, size_t n)
{
    struct line l = {.s = s, .n = n};
    if (l.n && l.s[l.n - 1] == '\r') l.n--;
    while (l.indent < l.n && l.s[l.indent] == ' ') l.indent++;
    return l;
}

static struct line without(const struct line *l, size_t indent)
{
    size_t cut = indent < l->indent ? indent : l->indent;
    return line_of(l->s + cut, l->n - cut);
}

/* ---- which block a line begins ---- */

static bool is_blank(const struct line *l) { return l->indent == l->n; }

static bool begins(const struct line *l, const char *with)
{
    size_t n = strlen(with);
    return l->n - l->indent >= n && !memcmp(l->s + l->indent, with, n);
}

static bool is_fence(const struct line *l) { return begins(l, "```"); }
static bool is_row(const struct line *l) { return begins(l, "|"); }

/* 1 to 6; 0: the line is no heading. */
static int heading_level(const struct line *l)
{
    size_t n = 0;
    while (n < l->n && l->s[n] == '#') n++;
    return n <= 6 && n < l->n && l->s[n] == ' ' ? (int)n : 0;
}

/* The bytes of "- " or "12. " with the blanks before it; 0: the line is no item. */
static size_t item_width(const struct line *l, bool *numbered)
{
    size_t at = l->indent;
    while (at < l->n && at - l->indent < 4 && isdigit((unsigned char)l->s[at])) at++;
    *numbered = at > l->indent;
    bool mark = at < l->n && (*numbered ? l->s[at] == '.' : l->s[at] == '-' || l->s[at] == '*');
    if (!mark || at + 1 >= l->n || l->s[at + 1] != ' ') return 0;
    for (at++; at < l->n && l->s[at] == ' ';) at++;
    return at;
}

static bool is_item(const struct line *l)
{
    bool numbered;
    return item_width(l, &numbered) > 0;
}

static bool interrupts(const struct line *l)
{
    return is_blank(l) || is_fence(l) || heading_level(l) || is_row(l) || is_item(l);
}

/* ---- blocks; each function returns how many lines it took ---- */

static int put_code(const struct lines *t, int from, struct tt_text *out)
{
    int i = from + 1;
    tt_text_puts(out, "<pre><code>");
    for (; i < t->n && !is_fence(&t->at[i]); i++) {
        struct line l = without(&t->at[i], t->at[from].indent);
        tt_markdown_escape(l.s, l.n, out);
        tt_text_puts(out, "\n");
    }
    tt_text_puts(out, "</code></pre>\n");
    return i + (i < t->n) - from;
}

static int put_heading(const struct tt_markdown *m, const struct line *l, struct tt_text *out)
{
    int level = heading_level(l), shown = level + m->deeper;
    if (shown > 6) shown = 6;
    tt_text_printf(out, "<h%d>", shown);
    tt_markdown_inline(m, l->s + level + 1, l->n - (size_t)level - 1, out);
    tt_text_printf(out, "</h%d>\n", shown);
    return 1;
}

/* Finds the next cell of a row and moves *s behind it. A bar in `code` or after a backslash does not end a cell. */
static bool next_cell(const char **s, const char *end, const char **cell, size_t *n)
{
    bool code = false;
    const char *at = *s;
    if (at >= end || *at != '|') return false;
    *cell = ++at;
    for (; at < end && (*at != '|' || code || at[-1] == '\\'); at++) code ^= *at == '`';
    if (at >= end) return false;
    *n = (size_t)(at - *cell);
    *s = at;
    while (*n && **cell == ' ') ++*cell, --*n;
    while (*n && (*cell)[*n - 1] == ' ') --*n;
    return true;
}

static void put_row(const struct tt_markdown *m, const struct line *l, const char *tag, struct tt_text *out)
{
    const char *s = l->s + l->indent, *cell;
    size_t n;
    tt_text_puts(out, "<tr>");
    while (next_cell(&s, l->s + l->n, &cell, &n)) {
        tt_text_printf(out, "<%s>", tag);
        tt_markdown_inline(m, cell, n, out);
        tt_text_printf(out, "</%s>", tag);
    }
    tt_text_puts(out, "</tr>\n");
}

/* Whether a line is the rule between the heading of a table and its rows: "|---|:--|". */
static bool is_rule(const struct line *l)
{
    for (size_t i = l->indent; i < l->n; i++)
        if (!strchr("|-: ", l->s[i]) || !l->s[i]) return false;
    return begins(l, "|") && memchr(l->s, '-', l->n);
}

static bool is_table(const struct lines *t, int i)
{
    return is_row(&t->at[i]) && i + 1 < t->n && is_rule(&t->at[i + 1]);
}

static int put_table(const struct tt_markdown *m, const struct lines *t, int from, struct tt_text *out)
{
    int i = from + 2;
    tt_text_puts(out, "<div class=\"scroll\"><table>\n<thead>");
    put_row(m, &t->at[from], "th", out);
    tt_text_puts(out, "</thead>\n<tbody>\n");
    for (; i < t->n && is_row(&t->at[i]); i++) put_row(m, &t->at[i], "td", out);
    tt_text_puts(out, "</tbody>\n</table></div>\n");
    return i - from;
}

static int put_paragraph(const struct tt_markdown *m, const struct lines *t, int from, bool bare, struct tt_text *out)
{
    struct tt_text words = {0};
    int i = from;
    do {
        if (i > from) tt_text_puts(&words, "\n");
        tt_text_add(&words, t->at[i].s + t->at[i].indent, t->at[i].n - t->at[i].indent);
        i++;
    } while (i < t->n && !interrupts(&t->at[i]));
    if (!bare) tt_text_puts(out, "<p>");
    tt_markdown_inline(m, words.s ? words.s : "", words.n, out);
    tt_text_puts(out, bare ? "\n" : "</p>\n");
    out->failed |= words.failed;
    tt_text_free(&words);
    return i - from;
}

static void put_blocks(const struct tt_markdown *m, const struct lines *t, int depth, struct tt_text *out);

/* Collects the lines of an item: those indented as far as its text, and those that continue one of its paragraphs.
 * Returns how many. */
static int item_lines(const struct lines *t, int from, size_t width, struct lines *item)
{
    int i = from;
    item->at[item->n++] = line_of(t->at[i].s + width, t->at[i].n - width);
    for (i++; i < t->n; i++) {
        const struct line *l = &t->at[i];
        bool goes_on = !interrupts(l) && !is_blank(&t->at[i - 1]);
        if (!is_blank(l) && l->indent < width && !goes_on) break;
        item->at[item->n++] = without(l, width);
    }
    return i - from;
}

static int put_list(const struct tt_markdown *m, const struct lines *t, int from, int depth, struct tt_text *out)
{
    bool numbered, same;
    int i = from;
    size_t width = item_width(&t->at[from], &numbered);
    tt_text_puts(out, numbered ? "<ol>\n" : "<ul>\n");
    while (i < t->n && (width = item_width(&t->at[i], &same)) && same == numbered) {
        struct lines item = {.at = calloc((size_t)(t->n - i), sizeof *item.at)};
        if (!item.at) {
            out->failed = true;
            return t->n - from;
        }
        i += item_lines(t, i, width, &item);
        tt_text_puts(out, "<li>");
        put_blocks(m, &item, depth + 1, out);
        tt_text_puts(out, "</li>\n");
        free(item.at);
    }
    tt_text_puts(out, numbered ? "</ol>\n" : "</ul>\n");
    return i - from;
}

static void put_blocks(const struct tt_markdown *m, const struct lines *t, int depth, struct tt_text *out)
{
    for (int i = 0; i < t->n;) {
        const struct line *l = &t->at[i];
        if (is_blank(l))
            i++;
        else if (is_fence(l))
            i += put_code(t, i, out);
        else if (heading_level(l))
            i += put_heading(m, l, out);
        else if (is_table(t, i))
            i += put_table(m, t, i, out);
        else if (is_item(l) && depth < DEPTH)
            i += put_list(m, t, i, depth, out);
        else
            i += put_paragraph(m, t, i, depth && !i, out);
    }
}

void tt_markdown(const struct tt_markdown *m, const char *text, struct tt_text *out)
{
    size_t count = 1;
    for (const char *s = text; (s = strchr(s, '\n')); s++) count++;
    struct lines t = {.at = calloc(count, sizeof *t.at)};
    if (!t.at) {
        out->failed = true;
        return;
    }
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, "\n");
        t.at[t.n++] = line_of(s, n);
        s += n + (s[n] == '\n');
    }
    put_blocks(m, &t, 0, out);
    free(t.at);
}
