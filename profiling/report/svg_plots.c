/* Plots over two axes: lines, the roofline, and the timeline. */
#include <math.h>
#include <stdio.h>

#include "profiling/report/svg.h"
#include "profiling/report/svg_parts.h"

/* An axis maps [low, high] to pixels; a logarithmic one works on powers of ten. */
struct axis {
    double low, high, from, to; /* values; pixels */
    bool log;
};

static double place(const struct axis *a, double value)
{
    double v = a->log ? log10(value) : value, low = a->log ? log10(a->low) : a->low,
           high = a->log ? log10(a->high) : a->high;
    return a->from + (v - low) / (high - low) * (a->to - a->from);
}

static bool drawable(const struct axis *a, double value) { return isfinite(value) && (!a->log || value > 0); }

static void widen(struct axis *a, double value)
{
    if (!drawable(a, value)) return;
    if (isnan(a->low) || value < a->low) a->low = value;
    if (isnan(a->high) || value > a->high) a->high = value;
}

/* The next 1, 2 or 5 times a power of ten, up or down; the number itself when it is one. */
static double round_number(double x, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(x) + 1e-9)), best = power;
    for (int i = 3; i >= 0; i--)
        if (up ? steps[i] * power >= x * (1 - 1e-9) : steps[i] * power <= x * (1 + 1e-9)) {
            best = steps[i] * power;
            if (!up) break;
        }
    return best;
}

/* Makes the span of an axis larger than 0, so that it can be divided by; a logarithmic one ends at round numbers. */
static void settle(struct axis *a, bool from_zero)
{
    if (isnan(a->low)) a->low = 1, a->high = a->log ? 10 : 2;
    if (a->log) {
        a->low = round_number(a->low, false);
        a->high = round_number(a->high, true);
        if (a->high <= a->low) a->high = a->low * 10;
        return;
    }
    if (from_zero && a->low > 0) a->low = 0;
    if (a->high <= a->low) a->high = a->low + fmax(fabs(a->low) * 0.1, 1e-12);
}

/* Where ticks stand: at round numbers; on a logarithmic axis at powers of ten, of which some are left out if there are
 * many. */
static int ticks(const struct axis *a, double *at, int most)
{
    int n = 0;
    if (a->log) {
        int from = (int)floor(log10(a->low) + 1e-9), to = (int)floor(log10(a->high) + 1e-9),
            step = (to - from) / most + 1;
        bool few = to - from <= 2; /* then 2 and 5 between the powers */
        for (int p = from; p <= to; p += step)
            for (int k = 0; k < (few ? 3 : 1) && n < most + 1; k++) {
                double v = (k == 0 ? 1 : k == 1 ? 2 : 5) * pow(10, p);
                if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9)) at[n++] = v;
            }
        return n;
    }
    double step = svg_tick_step(a->high - a->low, most - 1);
    for (double v = ceil(a->low / step - 1e-9) * step; v <= a->high + 1e-9 * step && n < most + 1; v += step)
        at[n++] = fabs(v) < 1e-9 * step ? 0 : v;
    return n;
}

/* The distance of neighbouring ticks, for their labels; 0 for powers of ten, which need no digits to differ. */
static double distance(const struct axis *a, const double *at, int n)
{
    return n > 1 && !a->log ? fabs(at[1] - at[0]) : 0;
}

static void draw_axes(struct tt_text *out, const struct axis *x, const struct axis *y, const char *x_label,
                      const char *y_label)
{
    double at[16];
    char number[32];
    for (int i = 0, n = ticks(x, at, 8); i < n; i++) {
        double p = place(x, at[i]);
        svg_line(out, p, y->from, p, y->to, "grid");
        svg_text(out, p, y->from + 16, SVG_MIDDLE | SVG_SOFT, "%s", svg_tick_label(at[i], distance(x, at, n), number));
    }
    for (int i = 0, n = ticks(y, at, 7); i < n; i++) {
        double p = place(y, at[i]);
        svg_line(out, x->from, p, x->to, p, "grid");
        svg_text(out, x->from - 6, p + 4, SVG_RIGHT | SVG_SOFT, "%s",
                 svg_tick_label(at[i], distance(y, at, n), number));
    }
    svg_line(out, x->from, y->from, x->to, y->from, "axis");
    svg_line(out, x->from, y->from, x->from, y->to, "axis");
    svg_text(out, (x->from + x->to) / 2, y->from + 33, SVG_MIDDLE, "%s", x_label);
    svg_text(out, 12, (y->from + y->to) / 2, SVG_MIDDLE | SVG_UP, "%s", y_label);
}

/* ---- lines ---- */

static void draw_line(struct tt_text *out, const struct tt_lines *l, int which, const struct axis *x,
                      const struct axis *y)
{
    const struct tt_line *line = &l->lines[which];
    const char *sep = "";
    char a[32], b[32], words[160];
    tt_text_printf(out, "<polyline class=\"line s%d\" points=\"", which % TT_SVG_COLORS);
    for (int i = 0; i < line->n; i++) {
        if (!drawable(x, line->x[i]) || !drawable(y, line->y[i])) continue;
        tt_text_printf(out, "%s%.1f,%.1f", sep, place(x, line->x[i]), place(y, line->y[i]));
        sep = " ";
    }
    tt_text_puts(out, "\"/>\n");
    /* Marks to point at: every point of a short line, some of a long one. */
    int every = line->dots ? 1 : line->n / 40 + 1;
    for (int i = 0; i < line->n; i += every) {
        if (!drawable(x, line->x[i]) || !drawable(y, line->y[i])) continue;
        snprintf(words, sizeof words, "%.60s: %s at %s", line->name, tt_si(line->y[i], a), tt_si(line->x[i], b));
        svg_circle(out, place(x, line->x[i]), place(y, line->y[i]), line->dots ? 4 : 2.2, which, words);
    }
}

void tt_svg_lines(struct tt_text *out, const struct tt_lines *l)
{
    enum { HEIGHT = 300 };
    struct axis x = {NAN, NAN, 70, SVG_WIDTH - 24, l->log_x}, y = {NAN, NAN, HEIGHT - 45, SVG_TOP, l->log_y};
    const char *names[32];
    int colors[32], n = l->n < 32 ? l->n : 32;
    for (int k = 0; k < n; k++) {
        names[k] = l->lines[k].name;
        colors[k] = k;
        for (int i = 0; i < l->lines[k].n; i++) {
            widen(&x, l->lines[k].x[i]);
            widen(&y, l->lines[k].y[i]);
        }
    }
    settle(&x, false);
    settle(&y, l->from_zero);
    svg_begin(out, l->title, SVG_WIDTH, HEIGHT);
    draw_axes(out, &x, &y, l->x_label, l->y_label);
    for (int k = 0; k < n; k++) draw_line(out, l, k, &x, &y);
    svg_end(out);
    if (n > 1) tt_legend(out, names, colors, n);
}

/* ---- roofline ---- */

/* The slope of memory up to the ridge, and the flat of compute from there. */
static void draw_roof(struct tt_text *out, const struct axis *x, const struct axis *y, double flops, double bandwidth,
                      const char *class)
{
    if (!(flops > 0) || !(bandwidth > 0)) return;
    double ridge = flops / bandwidth, first = fmax(x->low, y->low / bandwidth);
    tt_text_printf(out, "<polyline class=\"%s\" points=\"%.1f,%.1f", class, place(x, first),
                   place(y, fmin(first * bandwidth, flops)));
    if (ridge > first && ridge < x->high) tt_text_printf(out, " %.1f,%.1f", place(x, ridge), place(y, flops));
    tt_text_printf(out, " %.1f,%.1f\"/>\n", place(x, x->high), place(y, fmin(x->high * bandwidth, flops)));
}

static void name_roof(struct tt_text *out, const struct axis *x, const struct axis *y, const struct tt_roof *r)
{
    char a[32], b[32], c[32];
    bool sheet = r->datasheet_flops > 0 && r->datasheet_bandwidth > 0;
    if (!(r->flops > 0) || !(r->bandwidth > 0)) return;
    double top = sheet ? fmax(r->flops, r->datasheet_flops) : r->flops; /* above both lines, through neither */
    if (sheet) svg_text(out, x->from + 8, y->to + 32, SVG_SOFT, "dashed: datasheet");
    svg_text(out, x->to, place(y, top) - 6, SVG_RIGHT | SVG_SOFT, "%sFLOP/s measured", tt_si(r->flops, a));
    svg_text(out, x->from + 8, y->to + 14, SVG_SOFT, "slope: %sB/s measured; ridge at %s FLOP/byte",
             tt_si(r->bandwidth, b), tt_si(r->flops / r->bandwidth, c));
}

void tt_svg_roofline(struct tt_text *out, const struct tt_roof *r)
{
    enum { HEIGHT = 380 };
    struct axis x = {NAN, NAN, 70, SVG_WIDTH - 24, true}, y = {NAN, NAN, HEIGHT - 45, SVG_TOP, true};
    char words[220], a[32], b[32];
    for (int i = 0; i < r->n; i++) {
        widen(&x, r->points[i].intensity);
        widen(&y, r->points[i].rate);
    }
    if (r->flops > 0 && r->bandwidth > 0) widen(&x, 4 * r->flops / r->bandwidth);
    widen(&x, 1);
    widen(&y, r->flops * 1.5);
    widen(&y, r->datasheet_flops);
    settle(&x, false);
    settle(&y, false);
    svg_begin(out, r->title, SVG_WIDTH, HEIGHT);
    draw_axes(out, &x, &y, "FLOP per byte", "FLOP/s");
    draw_roof(out, &x, &y, r->datasheet_flops, r->datasheet_bandwidth, "sheet");
    draw_roof(out, &x, &y, r->flops, r->bandwidth, "roof");
    name_roof(out, &x, &y, r);
    for (int i = 0; i < r->n; i++) {
        const struct tt_roof_point *p = &r->points[i];
        if (!drawable(&x, p->intensity) || !drawable(&y, p->rate)) continue;
        double share = isfinite(p->weight) && p->weight > 0 ? p->weight : 0;
        snprintf(words, sizeof words, "%.80s: %sFLOP/s at %s FLOP/byte, %.1f %% of device time", p->name,
                 tt_si(p->rate, a), tt_si(p->intensity, b), 100 * share);
        svg_circle(out, place(&x, p->intensity), place(&y, p->rate), 3.5 + 13 * sqrt(share), p->color, words);
    }
    svg_end(out);
}

/* ---- timeline ---- */

static const char *tick_time(double seconds, char out[32])
{
    tt_si_time(seconds, out);
    return svg_without_zeros(out);
}

void tt_svg_timeline(struct tt_text *out, const struct tt_timeline *t)
{
    enum { TRACK = 34, LABEL = 124 };
    double bottom = SVG_TOP + t->track_count * TRACK;
    struct axis x = {NAN, NAN, LABEL, SVG_WIDTH - 24, false};
    char words[220], time[32], from[32];
    double at[16];
    for (int i = 0; i < t->n; i++) {
        widen(&x, t->spans[i].start);
        widen(&x, t->spans[i].end);
    }
    settle(&x, false);
    svg_begin(out, t->title, SVG_WIDTH, bottom + 24);
    for (int i = 0, n = ticks(&x, at, 7); i < n; i++) {
        svg_line(out, place(&x, at[i]), SVG_TOP - 2, place(&x, at[i]), bottom, "grid");
        svg_text(out, place(&x, at[i]), bottom + 15, SVG_MIDDLE | SVG_SOFT, "%s", tick_time(at[i], time));
    }
    for (int k = 0; k < t->track_count; k++)
        svg_text(out, LABEL - 6, SVG_TOP + k * TRACK + 18, SVG_RIGHT, "%s", t->tracks[k]);
    for (int i = 0; i < t->n; i++) {
        const struct tt_span *s = &t->spans[i];
        if (!isfinite(s->start) || !isfinite(s->end) || s->end < s->start || s->track < 0 || s->track >= t->track_count)
            continue;
        double w = fmax(place(&x, s->end) - place(&x, s->start), 0.2);
        snprintf(words, sizeof words, "%.90s: %s, from %s", s->name, tt_si_time(s->end - s->start, time),
                 tt_si_time(s->start, from));
        svg_rect(out, place(&x, s->start), SVG_TOP + s->track * TRACK + 3, w, TRACK - 9, s->color, words);
    }
    svg_end(out);
}
