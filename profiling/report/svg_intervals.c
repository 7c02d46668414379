/* Intervals on a logarithmic axis, each beside the range that was expected. */
#include <math.h>
#include <stdio.h>

#include "profiling/report/svg.h"
#include "profiling/report/svg_parts.h"

enum { ROW = 26, LETTERS = 20, LABEL = 32, GREY = 7 }; /* LABEL: pixels that a tick's label needs */

struct scale {
    double low, high, left, room; /* values; pixels */
};

static double place(const struct scale *s, double value)
{
    return s->left + s->room * log(value / s->low) / log(s->high / s->low);
}

static void widen(struct scale *s, double value)
{
    if (!isfinite(value) || value <= 0) return;
    s->low = fmin(s->low, value);
    s->high = fmax(s->high, value);
}

/* On a wide axis some ticks have no room for their label and are left out; the tick of 1 stays. */
static void axis(struct tt_text *out, const struct scale *s, double bottom)
{
    static const double ticks[] = {0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100};
    double last = -LABEL, one = place(s, 1);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        if (ticks[i] < s->low || ticks[i] > s->high) continue;
        double x = place(s, ticks[i]);
        if (x - last < LABEL || (ticks[i] != 1 && fabs(x - one) < LABEL)) continue;
        last = x;
        svg_line(out, x, SVG_TOP - 4, x, bottom, ticks[i] == 1 ? "axis" : "grid");
        svg_text(out, x, bottom + 15, SVG_MIDDLE | SVG_SOFT, "%gx", ticks[i]);
    }
}

static void draw(struct tt_text *out, const struct scale *s, const struct tt_svg_interval *r, double y)
{
    char words[200], label[120];
    double from = place(s, r->claimed_low), to = place(s, r->claimed_high);
    svg_text(out, s->left - 6, y + 13, SVG_RIGHT, "%s", svg_shorten(r->label, LETTERS, label, sizeof label));
    snprintf(words, sizeof words, "%.60s: claimed %.3g to %.3g", r->label, r->claimed_low, r->claimed_high);
    svg_rect(out, from, y, fmax(to - from, 2), 18, GREY, words);
    svg_text(out, s->left + s->room + 8, y + 13, SVG_SOFT, "%s", r->note);
    if (!isfinite(r->value) || !(r->low > 0)) return;
    snprintf(words, sizeof words, "%.60s: measured %.3g, interval %.3g to %.3g", r->label, r->value, r->low, r->high);
    svg_rect(out, place(s, r->low), y + 7, fmax(place(s, r->high) - place(s, r->low), 1), 4, r->color, words);
    svg_circle(out, place(s, r->value), y + 9, 5, r->color, words);
}

void tt_svg_intervals(struct tt_text *out, const char *title, const struct tt_svg_interval *rows, int n)
{
    struct scale s = {.low = 0.9, .high = 1.2, .left = 110, .room = SVG_WIDTH - 110 - 150};
    double bottom = SVG_TOP + n * ROW;
    for (int i = 0; i < n; i++) {
        widen(&s, rows[i].claimed_low), widen(&s, rows[i].claimed_high);
        widen(&s, rows[i].low), widen(&s, rows[i].high);
    }
    s.low /= 1.03, s.high *= 1.03;
    svg_begin(out, title, SVG_WIDTH, bottom + 24);
    axis(out, &s, bottom);
    for (int i = 0; i < n; i++) draw(out, &s, &rows[i], SVG_TOP + i * ROW);
    svg_end(out);
}
