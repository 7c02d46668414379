/* What every chart needs: escaping, numbers in words, and the elements of SVG with a title each. */
#include "profiling/report/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "profiling/report/svg_parts.h"

void tt_escape(struct tt_text *t, const char *s)
{
    for (const char *end = s + strlen(s); s < end;) {
        uint32_t c;
        int n = tt_utf8_decode(s, (size_t)(end - s), &c);
        if (!tt_utf8_is_character(c) || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            tt_text_puts(t, TT_UTF8_REPLACEMENT);
        else if (c == '&')
            tt_text_puts(t, "&amp;");
        else if (c == '<')
            tt_text_puts(t, "&lt;");
        else if (c == '>')
            tt_text_puts(t, "&gt;");
        else if (c == '"')
            tt_text_puts(t, "&quot;");
        else
            tt_text_add(t, s, (size_t)n);
        s += n;
    }
}

/* ---- numbers in words ---- */

static int digits_after_point(double x) { return x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2; }

const char *tt_si(double value, char out[32])
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T", " P", " E"};
    double x = fabs(value);
    int step = 0;
    if (!isfinite(value)) return strcpy(out, "n/a");
    for (; x >= 999.5 && step < 6; step++) x /= 1000;
    if (!step && x == floor(x))
        snprintf(out, 32, "%.0f", value);
    else if (x < 0.01)
        snprintf(out, 32, "%.2g", value);
    else
        snprintf(out, 32, "%s%.*f%s", value < 0 ? "-" : "", digits_after_point(x), x, prefixes[step]);
    return out;
}

const char *tt_si_time(double seconds, char out[32])
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
    double x = fabs(seconds);
    int i = 0;
    if (!isfinite(seconds)) return strcpy(out, "n/a");
    if (x == 0) return strcpy(out, "0 s");
    while (i < 3 && x < 0.9995 * units[i].unit) i++;
    x /= units[i].unit;
    snprintf(out, 32, "%s%.*f %s", seconds < 0 ? "-" : "", x < 1e6 ? digits_after_point(x) : 0, x, units[i].name);
    return out;
}

const char *tt_si_bytes(double bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double x = fabs(bytes);
    int i = 0;
    if (!isfinite(bytes)) return strcpy(out, "n/a");
    for (; x >= 1023.5 && i < 4; i++) x /= 1024;
    snprintf(out, 32, "%s%.*f %s", bytes < 0 ? "-" : "", i ? digits_after_point(x) : 0, x, units[i]);
    return out;
}

/* ---- elements ---- */

void svg_begin(struct tt_text *out, const char *title, double width, double height)
{
    tt_text_printf(out,
                   "<div class=\"scroll\"><svg class=\"chart\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
                   width, height);
    tt_escape(out, title);
    tt_text_puts(out, "\" xmlns=\"http://www.w3.org/2000/svg\">\n");
    svg_text(out, 0, 14, SVG_HEAD, "%s", title);
}

void svg_end(struct tt_text *out) { tt_text_puts(out, "</svg></div>\n"); }

void svg_text(struct tt_text *out, double x, double y, unsigned how, const char *format, ...)
{
    const char *anchor = how & SVG_RIGHT ? " text-anchor=\"end\"" : how & SVG_MIDDLE ? " text-anchor=\"middle\"" : "";
    const char *class = how & SVG_HEAD ? " class=\"head\"" : how & SVG_SOFT ? " class=\"soft\"" : "";
    struct tt_text words = {0};
    char line[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    tt_escape(&words, line);
    tt_text_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s", x, y, anchor, class);
    if (how & SVG_UP) tt_text_printf(out, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    tt_text_printf(out, ">%s</text>\n", words.s ? words.s : "");
    tt_text_free(&words);
}

void svg_line(struct tt_text *out, double x1, double y1, double x2, double y2, const char *class)
{
    tt_text_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2,
                   class);
}

static void title(struct tt_text *out, const char *words)
{
    tt_text_puts(out, "<g class=\"mark\"><title>");
    tt_escape(out, words);
    tt_text_puts(out, "</title>");
}

void svg_rect(struct tt_text *out, double x, double y, double w, double h, int color, const char *words)
{
    title(out, words);
    tt_text_printf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" class=\"f%d\"/></g>\n", x, y, w, h,
                   color % TT_SVG_COLORS);
}

void svg_circle(struct tt_text *out, double x, double y, double r, int color, const char *words)
{
    title(out, words);
    tt_text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"f%d\" fill-opacity=\"0.8\"/></g>\n", x, y,
                   r, color % TT_SVG_COLORS);
}

int svg_letters(const char *s) { return (int)tt_utf8_count(s, strlen(s)); }

/* As many whole characters as fit; the last one is an ellipsis if some were cut off. */
const char *svg_shorten(const char *s, int most, char *out, size_t size)
{
    const char *end = s + strlen(s), *at = s, *cut = s;
    int count = 0;
    while (at < end && (size_t)(at - s) + 8 < size) {
        uint32_t c;
        at += tt_utf8_decode(at, (size_t)(end - at), &c);
        if (++count == most - 1) cut = at;
        if (count > most) break;
    }
    if (at >= end && count <= most)
        snprintf(out, size, "%s", s);
    else
        snprintf(out, size, "%.*s…", (int)((count > most ? cut : at) - s), s);
    return out;
}

double svg_tick_step(double span, int most)
{
    double raw = span / most, power = pow(10, floor(log10(raw))), scaled = raw / power;
    return power * (scaled <= 1 ? 1 : scaled <= 2 ? 2 : scaled <= 5 ? 5 : 10);
}

const char *svg_without_zeros(char *number)
{
    char *point = strchr(number, '.'), *unit = strchr(number, ' ');
    char *end = unit ? unit : number + strlen(number), *last = end;
    if (!point || strchr(number, 'e')) return number;
    while (last[-1] == '0') last--;
    if (last - 1 == point) last--;
    memmove(last, end, strlen(end) + 1);
    return number;
}

const char *svg_tick_label(double value, double step, char out[32])
{
    double digits = fabs(value) > 0 && step > 0 ? 1 + floor(log10(fabs(value))) - floor(log10(step) + 1e-9) : 1;
    if (digits > 3 && digits < 16)
        snprintf(out, 32, "%.*g", (int)digits, value); /* with three digits neighbours would look the same */
    else
        tt_si(value, out);
    return svg_without_zeros(out);
}

void tt_legend(struct tt_text *out, const char *const *names, const int *colors, int n)
{
    tt_text_puts(out, "<ul class=\"legend\">");
    for (int i = 0; i < n; i++) {
        tt_text_printf(out,
                       "<li><svg width=\"11\" height=\"11\" aria-hidden=\"true\"><rect width=\"11\" height=\"11\" "
                       "class=\"f%d\"/></svg> ",
                       colors[i] % TT_SVG_COLORS);
        tt_escape(out, names[i]);
        tt_text_puts(out, "</li>");
    }
    tt_text_puts(out, "</ul>\n");
}
