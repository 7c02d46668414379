/* Folded block scalars: `key: >-`, and lines below it that make one line together. What YAML libraries do not read as
 * these lines joined by spaces is refused: empty lines inside, lines indented further, a space at the end of a line. */
#include <stdlib.h>

#include "core/base/yaml_lines.h"

static void next_line(struct yaml_reader *r)
{
    r->p += *r->p == '\r' ? 2 : *r->p == '\n';
    r->line_start = r->p;
    r->line++;
}

/* The indentation of the line at r->p; -1 if the line is empty. */
static int indentation(const struct yaml_reader *r)
{
    size_t n = strspn(r->p, " ");
    return at_end(r->p + n) ? -1 : (int)n;
}

/* Skips empty lines. Returns the most spaces in one of them; -1 if there was none. */
static int skip_empty(struct yaml_reader *r)
{
    int widest = -1;
    while (*r->p && indentation(r) < 0) {
        skip_spaces(r);
        if (column(r) > widest) widest = column(r);
        if (*r->p) next_line(r);
    }
    return widest;
}

/* Appends the line at r->p to the text. */
static tt_status take_line(struct yaml_reader *r, struct tt_text *text)
{
    skip_spaces(r);
    size_t n = strcspn(r->p, "\r\n");
    if (*r->p == '\t') return yaml_fail(r, "a tab; indent with spaces");
    if (strchr(" \t", r->p[n - 1])) return yaml_fail(r, "a space at the end of a line of >-; remove it");
    if (text->n) tt_text_puts(text, " ");
    tt_text_add(text, r->p, n);
    r->p += n;
    if (*r->p) next_line(r);
    return TT_OK;
}

/* The lines that are indented further than the column of their key. */
static tt_status take_lines(struct yaml_reader *r, int of_key, struct tt_text *text)
{
    int all = indentation(r);
    if (all <= of_key) return yaml_fail(r, "the value of >- is missing; write it here, indented further than its key");
    for (int here = all; here > of_key; here = indentation(r)) {
        if (here != all) return yaml_fail(r, "align the lines of >-: the first has %d spaces, this one %d", all, here);
        TT_TRY(take_line(r, text));
        int spaces = skip_empty(r);
        if (spaces > all || (spaces >= 0 && indentation(r) > of_key))
            return yaml_fail(r, "an empty line before this one belongs to the value of >-; remove it, with its spaces");
    }
    return tt_text_status(text);
}

tt_status yaml_folded(struct yaml_reader *r, int of_key, char **text)
{
    struct tt_text all = {0};
    r->p += 2;
    size_t spaces = strspn(r->p, " ");
    r->p += spaces;
    if (*r->p == '#' && spaces) r->p += strcspn(r->p, "\r\n");
    if (!at_end(r->p)) return yaml_fail(r, "put what follows >- on lines of its own");
    if (*r->p) next_line(r);
    tt_status st = take_lines(r, of_key, &all);
    if (st) {
        tt_text_free(&all);
        return st;
    }
    *text = all.s;
    return yaml_find_content(r);
}
