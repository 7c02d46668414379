#include "profiling/report/html_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "profiling/report/svg.h"

static const char page_css[] =
    ":root{color-scheme:light "
    "dark;--ink:#1c2128;--soft:#5d6672;--rule:#d9dde3;--page:#ffffff;--card:#f5f7f9;--warn:#b3400f}"
    "@media "
    "(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#9aa4b2;--rule:#39414d;--page:#14181d;--card:#1d232b;--"
    "warn:#ff9d66}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;max-width:1060px;padding:20px 16px 60px;background:var(--page);color:var(--ink);font:15px/1.5 "
    "system-ui,sans-serif}"
    "h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px}h2{font-size:1.15rem;margin:36px 0 "
    "8px;padding-top:10px;border-top:1px solid var(--rule)}"
    "p{margin:8px "
    "0;max-width:76ch}.lead{font-size:1.1rem;font-weight:500}.note{color:var(--soft);font-size:.9rem}.warn{color:var(--"
    "warn);font-weight:600}"
    "nav{font-size:.9rem;margin:10px 0}nav a{color:inherit;margin-right:12px;white-space:nowrap}"
    ".scroll{overflow-x:auto;margin:10px 0}.legend{list-style:none;padding:0;margin:4px 0 "
    "12px;font-size:.85rem;color:var(--soft)}"
    ".legend "
    "li{display:inline-block;margin-right:14px}.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(215px,"
    "1fr));gap:8px;margin:14px 0}"
    ".facts div{background:var(--card);border-radius:6px;padding:8px 12px}.facts dt{color:var(--soft);font-size:.8rem}"
    ".facts .wide{grid-column:span 2}.facts dd{margin:0;font-weight:600;overflow-wrap:anywhere}dl{margin:0}"
    "table{border-collapse:collapse;font-size:.87rem;margin:6px 0}th,td{padding:4px "
    "10px;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}"
    "th{white-space:nowrap;color:var(--soft);font-weight:600}td:first-child{white-space:nowrap}td.n,th.n{text-align:"
    "right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".js th{cursor:pointer}.js th:focus-visible{outline:2px solid var(--soft)}th[aria-sort=ascending]::after{content:' "
    "\\25B2'}th[aria-sort=descending]::after{content:' \\25BC'}"
    "summary{cursor:pointer;color:var(--soft)}ol.try li{margin:8px 0;max-width:80ch}"
    "#tip{position:fixed;pointer-events:none;background:var(--ink);color:var(--page);padding:4px "
    "9px;border-radius:5px;font-size:.85rem;max-width:300px;display:none;z-index:9}"
    "@media "
    "print{:root{--ink:#000;--soft:#444;--rule:#bbb;--page:#fff;--card:#f4f4f4}body{max-width:none;font-size:11px}"
    "nav,#tip{display:none!important}section,figure,svg.chart{break-inside:avoid}svg.chart{max-width:600px}.scroll{"
    "overflow:visible}}";

/* Sorting by a click on a heading, and the title of a mark shown beside the pointer. Without scripts the page is whole:
 * tables stand in their order, and browsers show titles by themselves. */
static const char page_script[] =
    "document.documentElement.classList.add('js');\n"
    "document.querySelectorAll('table').forEach(function(t){t.querySelectorAll('th').forEach(function(h,i){h.tabIndex="
    "0;\n"
    "function sort(){var "
    "up=h.getAttribute('aria-sort')==='descending',b=t.tBodies[0],rows=Array.prototype.slice.call(b.rows);\n"
    "t.querySelectorAll('th').forEach(function(o){o.removeAttribute('aria-sort')});h.setAttribute('aria-sort',up?'"
    "ascending':'descending');\n"
    "function key(r){var c=r.cells[i],v=c.getAttribute('data-v');return "
    "v===null?c.textContent.toLowerCase():v===''?-Infinity:parseFloat(v)}\n"
    "rows.sort(function(x,y){var a=key(x),c=key(y);return "
    "(a<c?-1:a>c?1:0)*(up?1:-1)}).forEach(function(r){b.appendChild(r)})}\n"
    "h.addEventListener('click',sort);h.addEventListener('keydown',function(e){if(e.key==='Enter'||e.key===' "
    "'){e.preventDefault();sort()}})})});\n"
    "(function(){var tip=document.createElement('div');tip.id='tip';document.body.appendChild(tip);\n"
    "document.querySelectorAll('.mark').forEach(function(m){var t=m.querySelector('title'),words=t.textContent;\n"
    "m.addEventListener('pointerenter',function(){t.textContent='';tip.textContent=words;tip.style.display='block'});\n"
    "m.addEventListener('pointermove',function(e){tip.style.left=Math.max(4,Math.min(e.clientX+14,innerWidth-tip."
    "offsetWidth-8))+'px';\n"
    "tip.style.top=(e.clientY+tip.offsetHeight+26>innerHeight?e.clientY-tip.offsetHeight-10:e.clientY+18)+'px'});\n"
    "m.addEventListener('pointerleave',function(){t.textContent=words;tip.style.display='none'})})})();\n";

void html_begin(struct tt_text *t, const char *title)
{
    tt_text_puts(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    tt_escape(t, title);
    tt_text_printf(t, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>%s", page_css);
    tt_text_puts(t, tt_svg_css);
    tt_text_puts(t, "</style>\n</head>\n<body>\n");
}

tt_status html_end(struct tt_text *t, const char *path)
{
    tt_text_puts(t, "<script>\n");
    tt_text_puts(t, page_script);
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
