/* The walkthrough of an exercise in a page: its README.md, with the pictures inside. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "exercises/engine/markdown.h"
#include "exercises/engine/page_parts.h"
#include "profiling/report/svg.h"

enum { TEXT_SIZE = 1 << 20, PICTURE_SIZE = 1 << 18 }; /* bytes at most */

struct place {
    const struct tt_page *page;
    const struct tt_exercise *exercise;
};

/* "../03-bottlenecks/README.md" leads to that exercise, if the page has it. Addresses in the web stay. There are no
 * links to other files: whoever reads the page does not have them. */
static bool link_to(void *context, const char *target, struct tt_text *out)
{
    const struct place *at = context;
    int number;
    if (!strncmp(target, "https://", 8) || !strncmp(target, "http://", 7)) {
        tt_escape(out, target);
        return true;
    }
    if (sscanf(target, "../%2d-", &number) != 1) return false;
    for (int i = 0; i < at->page->part_count; i++)
        if (at->page->parts[i].exercise.number == number) {
            tt_text_printf(out, "#part-%d", i + 1);
            return true;
        }
    return false;
}

/* Appends the text with everything escaped that an address may not hold as it is. */
static void put_as_address(struct tt_text *out, const char *s, size_t n)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~!*()/:=;, ";
    for (size_t i = 0; i < n; i++)
        if (s[i] && strchr(plain, s[i]))
            tt_text_add(out, s + i, 1);
        else
            tt_text_printf(out, "%%%02X", (unsigned char)s[i]);
}

static bool picture_of(void *context, const char *target, struct tt_text *out)
{
    const struct place *at = context;
    char path[1400], *svg;
    size_t n = strlen(target), size;
    if (strchr(target, '/') || n < 5 || strcmp(target + n - 4, ".svg")) return false;
    snprintf(path, sizeof path, "%s/%s", at->exercise->folder, target);
    tt_status st = tt_file_read(path, PICTURE_SIZE, &svg, &size);
    if (!st) {
        tt_text_puts(out, "data:image/svg+xml,");
        put_as_address(out, svg, size);
        free(svg);
    }
    bool found = !st;
    tt_status_free(st);
    return found;
}

tt_status page_walkthrough(struct tt_text *t, const struct tt_page *p, const struct tt_exercise *e)
{
    char path[1200], *text;
    size_t size;
    struct place place = {p, e};
    struct tt_markdown m = {.link = link_to, .picture = picture_of, .context = &place, .deeper = 1};
    snprintf(path, sizeof path, "%s/README.md", e->folder);
    TT_TRY(tt_file_read(path, TEXT_SIZE, &text, &size));
    tt_text_puts(t, "<div class=\"walk\">\n");
    tt_markdown(&m, strncmp(text, "# ", 2) ? text : text + strcspn(text, "\n"), t); /* the section has its title */
    tt_text_puts(t, "</div>\n");
    free(text);
    return TT_OK;
}
