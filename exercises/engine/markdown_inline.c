/* Markdown within a block: code, strong, emphasis, links and pictures. */
#include <string.h>

#include "exercises/engine/markdown_parts.h"
#include "profiling/report/svg.h"

enum {
    REACH = 2000, /* bytes within which a mark has to be closed, so that a text full of unclosed ones is read quickly */
    DEPTH = 6,
};

void tt_markdown_escape(const char *s, size_t n, struct tt_text *out)
{
    struct tt_text copy = {0};
    tt_text_add(&copy, s, n);
    if (copy.s) tt_escape(out, copy.s);
    out->failed |= copy.failed;
    tt_text_free(&copy);
}

/* Where `mark` is closed between s and end; NULL: nowhere. Stars right behind a blank close nothing. */
static const char *closing(const char *s, const char *end, const char *mark)
{
    size_t n = strlen(mark);
    if (end - s > REACH) end = s + REACH;
    for (const char *at = s + 1; at + n <= end; at++)
        if (!memcmp(at, mark, n) && (*mark != '*' || at[-1] != ' ')) return at;
    return NULL;
}

/* ---- links ---- */

struct link {
    const char *words, *target, *end; /* "[words](target)" ends before `end` */
    size_t words_n, target_n;
};

/* Reads "[words](target)". Brackets of the words may nest: a link around a picture. */
static bool read_link(const char *s, const char *end, struct link *out)
{
    int open = 0;
    if (end - s > REACH) end = s + REACH;
    const char *at = s;
    for (; at < end; at++) {
        open += (*at == '[') - (*at == ']');
        if (!open) break;
    }
    if (at + 1 >= end || at[1] != '(') return false;
    *out = (struct link){.words = s + 1, .words_n = (size_t)(at - s - 1), .target = at + 2};
    bool bracketed = out->target < end && *out->target == '<';
    const char *stop = memchr(out->target, bracketed ? '>' : ')', (size_t)(end - out->target));
    if (!stop || (bracketed && (stop + 1 >= end || stop[1] != ')'))) return false;
    if (bracketed) out->target++;
    out->target_n = (size_t)(stop - out->target);
    out->end = stop + 1 + bracketed;
    return out->target_n > 0;
}

/* Appends the address of the target on the page; false: the page has none. */
static bool resolve(bool (*ask)(void *, const char *, struct tt_text *), void *context, const struct link *l,
                    struct tt_text *out)
{
    struct tt_text target = {0};
    tt_text_add(&target, l->target, l->target_n);
    bool known = ask && target.s && ask(context, target.s, out);
    tt_text_free(&target);
    return known;
}

static void within(const struct tt_markdown *m, const char *s, size_t n, int depth, struct tt_text *out);

static void put_link(const struct tt_markdown *m, const struct link *l, int depth, struct tt_text *out)
{
    struct tt_text to = {0};
    bool known = resolve(m->link, m->context, l, &to);
    if (known) {
        tt_text_puts(out, "<a href=\"");
        tt_text_add(out, to.s ? to.s : "", to.n);
        tt_text_puts(out, "\">");
    }
    within(m, l->words, l->words_n, depth + 1, out);
    if (known) tt_text_puts(out, "</a>");
    out->failed |= to.failed;
    tt_text_free(&to);
}

static void put_picture(const struct tt_markdown *m, const struct link *l, struct tt_text *out)
{
    struct tt_text from = {0};
    bool known = resolve(m->picture, m->context, l, &from);
    if (known) {
        tt_text_puts(out, "<img src=\"");
        tt_text_add(out, from.s ? from.s : "", from.n);
        tt_text_puts(out, "\" alt=\"");
    }
    tt_markdown_escape(l->words, l->words_n, out);
    if (known) tt_text_puts(out, "\">");
    out->failed |= from.failed;
    tt_text_free(&from);
}

/* ---- marks; each function returns how many bytes it took, 0: it is text ---- */

static size_t code(const char *s, const char *end, struct tt_text *out)
{
    size_t ticks = strspn(s, "`");
    if (ticks > 3 || s + ticks >= end) return 0;
    const char *mark = &"```"[3 - ticks], *stop = closing(s + ticks - 1, end, mark);
    if (!stop || stop == s + ticks) return 0;
    tt_text_puts(out, "<code>");
    tt_markdown_escape(s + ticks, (size_t)(stop - s) - ticks, out);
    tt_text_puts(out, "</code>");
    return (size_t)(stop - s) + ticks;
}

static size_t stars(const struct tt_markdown *m, const char *s, const char *end, int depth, struct tt_text *out)
{
    bool strong = s + 1 < end && s[1] == '*';
    size_t n = strong ? 2 : 1;
    if (s + n >= end || strchr(" *\n", s[n])) return 0;
    const char *stop = closing(s + n, end, strong ? "**" : "*");
    if (!stop) return 0;
    tt_text_puts(out, strong ? "<strong>" : "<em>");
    within(m, s + n, (size_t)(stop - s) - n, depth + 1, out);
    tt_text_puts(out, strong ? "</strong>" : "</em>");
    return (size_t)(stop - s) + n;
}

/* What core/base/markdown.h writes for <, > and &. HTML writes them the same way, so they are copied. */
static size_t entity(const char *s, const char *end, struct tt_text *out)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;"};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        size_t n = strlen(entities[i]);
        if ((size_t)(end - s) < n || strncmp(s, entities[i], n)) continue;
        tt_text_puts(out, entities[i]);
        return n;
    }
    return 0;
}

static size_t mark_at(const struct tt_markdown *m, const char *s, const char *end, int depth, struct tt_text *out)
{
    struct link l;
    if (depth > DEPTH) return 0;
    if (*s == '`') return code(s, end, out);
    if (*s == '&') return entity(s, end, out);
    if (*s == '*') return stars(m, s, end, depth, out);
    if (*s == '[' && read_link(s, end, &l)) {
        put_link(m, &l, depth, out);
        return (size_t)(l.end - s);
    }
    if (*s == '!' && s + 1 < end && s[1] == '[' && read_link(s + 1, end, &l)) {
        put_picture(m, &l, out);
        return (size_t)(l.end - s);
    }
    if (*s == '\\' && s + 1 < end && strchr("\\`*[]()#|!<>_-", s[1]) && s[1]) {
        tt_markdown_escape(s + 1, 1, out);
        return 2;
    }
    return 0;
}

static void within(const struct tt_markdown *m, const char *s, size_t n, int depth, struct tt_text *out)
{
    const char *end = s + n, *text = s;
    while (s < end) {
        struct tt_text marked = {0};
        size_t taken = strchr("`*[!\\&", *s) && *s ? mark_at(m, s, end, depth, &marked) : 0;
        if (taken) {
            tt_markdown_escape(text, (size_t)(s - text), out);
            tt_text_add(out, marked.s ? marked.s : "", marked.n);
            text = s + taken;
        }
        out->failed |= marked.failed;
        tt_text_free(&marked);
        s += taken ? taken : 1;
    }
    tt_markdown_escape(text, (size_t)(end - text), out);
}

void tt_markdown_inline(const struct tt_markdown *m, const char *s, size_t n, struct tt_text *out)
{
    within(m, s, n, 0, out);
}
