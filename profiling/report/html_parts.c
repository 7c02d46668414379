#include "profiling/report/html_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "profiling/report/assets.h"
#include "profiling/report/svg.h"

void html_begin_with(struct tt_text *t, const char *title, const char *css, int refresh)
{
    tt_text_puts(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    if (refresh) tt_text_printf(t, "<meta http-equiv=\"refresh\" content=\"%d\">\n", refresh);
    tt_text_puts(t, "<title>");
    tt_escape(t, title);
    tt_text_puts(t, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>");
    tt_text_puts(t, tt_page_css);
    tt_text_puts(t, tt_charts_css);
    tt_text_puts(t, css);
    tt_text_puts(t, "</style>\n</head>\n<body>\n");
}

void html_begin(struct tt_text *t, const char *title) { html_begin_with(t, title, "", 0); }

tt_status html_end(struct tt_text *t, const char *path)
{
    tt_text_puts(t, "<script>\n");
    tt_text_puts(t, tt_page_js);
    tt_text_puts(t, "</script>\n</body>\n</html>\n");
    tt_status st = tt_text_status(t);
    if (!st) st = tt_file_replace(path, t->s, t->n);
    tt_text_free(t);
    return st;
}

void html_section(struct tt_text *t, const char *id, const char *heading)
{
    tt_text_printf(t, "<section id=\"%s\">\n<h2>", id);
    tt_escape(t, heading);
    tt_text_puts(t, "</h2>\n");
}

void html_section_end(struct tt_text *t) { tt_text_puts(t, "</section>\n"); }

void html_facts(struct tt_text *t) { tt_text_puts(t, "<dl class=\"facts\">\n"); }

void html_fact(struct tt_text *t, const char *name, const char *value)
{
    if (!value[0]) return;
    tt_text_puts(t, strlen(value) > 50 ? "<div class=\"wide\"><dt>" : "<div><dt>");
    tt_escape(t, name);
    tt_text_puts(t, "</dt><dd>");
    tt_escape(t, value);
    tt_text_puts(t, "</dd></div>\n");
}

void html_facts_end(struct tt_text *t) { tt_text_puts(t, "</dl>\n"); }

static void escaped(struct tt_text *t, const char *format, va_list ap)
{
    char line[1600];
    vsnprintf(line, sizeof line, format, ap);
    tt_escape(t, line);
}

void html_paragraph(struct tt_text *t, const char *format, ...)
{
    va_list ap;
    tt_text_puts(t, "<p>");
    va_start(ap, format);
    escaped(t, format, ap);
    va_end(ap);
    tt_text_puts(t, "</p>\n");
}

void html_note(struct tt_text *t, const char *format, ...)
{
    va_list ap;
    tt_text_puts(t, "<p class=\"note\">");
    va_start(ap, format);
    escaped(t, format, ap);
    va_end(ap);
    tt_text_puts(t, "</p>\n");
}

void html_table(struct tt_text *t, const char *columns)
{
    tt_text_puts(t, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (;;) {
        size_t n = strcspn(columns, "|");
        bool number = *columns == '#';
        char name[120];
        snprintf(name, sizeof name, "%.*s", (int)(n - number), columns + number);
        tt_text_puts(t, number ? "<th class=\"n\">" : "<th>");
        tt_escape(t, name);
        tt_text_puts(t, "</th>");
        if (!columns[n]) break;
        columns += n + 1;
    }
    tt_text_puts(t, "</tr></thead>\n<tbody>\n");
}

void html_row(struct tt_text *t) { tt_text_puts(t, "<tr>"); }

void html_cell(struct tt_text *t, const char *format, ...)
{
    va_list ap;
    tt_text_puts(t, "<td>");
    va_start(ap, format);
    escaped(t, format, ap);
    va_end(ap);
    tt_text_puts(t, "</td>");
}

void html_number(struct tt_text *t, double value, const char *words)
{
    if (isfinite(value))
        tt_text_printf(t, "<td class=\"n\" data-v=\"%.9g\">", value);
    else
        tt_text_puts(t, "<td class=\"n\" data-v=\"\">");
    tt_escape(t, words);
    tt_text_puts(t, "</td>");
}

void html_row_end(struct tt_text *t) { tt_text_puts(t, "</tr>\n"); }
void html_table_end(struct tt_text *t) { tt_text_puts(t, "</tbody>\n</table></div>\n"); }

void html_fold(struct tt_text *t, const char *summary, bool open)
{
    tt_text_printf(t, "<details%s><summary>", open ? " open" : "");
    tt_escape(t, summary);
    tt_text_puts(t, "</summary>\n");
}

void html_fold_end(struct tt_text *t) { tt_text_puts(t, "</details>\n"); }

const char *html_fixed(double value, int digits, char out[32])
{
    if (isfinite(value))
        snprintf(out, 32, "%.*f", digits, value);
    else
        strcpy(out, "n/a");
    return out;
}
