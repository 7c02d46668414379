/* Horizontal bars: single, stacked, and several to a row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiling/report/svg.h"
#include "profiling/report/svg_parts.h"

enum { ROW = 22, BAR = 15, LETTERS = 32 }; /* LETTERS: shown of a label at most */

/* Pixels for the longest of n texts, of which `most` letters are shown. */
static double room_for(const char *const *texts, int n, int most)
{
    double letters = 4;
    for (int i = 0; i < n; i++) letters = fmax(letters, fmin(svg_letters(texts[i]), most));
    return 8.6 * letters + 12; /* the widest of the fonts that browsers have for sans-serif */
}

static double positive(double x) { return isfinite(x) && x > 0 ? x : 0; }

/* How far the bar's end may be off to either side, as a fraction of the bar; 0: no line is drawn. */
static double noise_of(const struct tt_bar *b) { return b->noise > 0 && b->noise < 1 ? b->noise : 0; }

static void one_bar(struct tt_text *out, const struct tt_bar *b, double left, double y, double w)
{
    char words[200];
    snprintf(words, sizeof words, "%.90s: %.80s", b->label, b->note);
    if (b->noise >= 1) tt_text_puts(out, "<g class=\"unsure\">");
    svg_rect(out, left, y, w, BAR, b->color, words);
    if (b->noise >= 1) tt_text_puts(out, "</g>\n");
    double off = w * noise_of(b), middle = y + BAR / 2.0;
    if (off > 0) svg_line(out, left + w - off, middle, left + w + off, middle, "noise");
}

void tt_svg_bars(struct tt_text *out, const char *title, const struct tt_bar *bars, int n)
{
    double most = 0, left = 0, right = 0;
    char label[120];
    for (int i = 0; i < n; i++) {
        const char *note = bars[i].note;
        left = fmax(left, room_for(&bars[i].label, 1, LETTERS));
        right = fmax(right, room_for(&note, 1, LETTERS));
    }
    double room = SVG_WIDTH - left - right;
    for (int i = 0; i < n; i++) most = fmax(most, positive(bars[i].value) * (1 + noise_of(&bars[i])));
    svg_begin(out, title, SVG_WIDTH, SVG_TOP + n * ROW + 4);
    svg_line(out, left, SVG_TOP - 4, left, SVG_TOP + n * ROW, "axis");
    for (int i = 0; i < n; i++) {
        double y = SVG_TOP + i * ROW, w = most > 0 ? positive(bars[i].value) / most * room : 0;
        svg_text(out, left - 6, y + 12, SVG_RIGHT, "%s", svg_shorten(bars[i].label, LETTERS, label, sizeof label));
        one_bar(out, &bars[i], left, y, w);
        svg_text(out, left + w * (1 + noise_of(&bars[i])) + 6, y + 12, SVG_SOFT, "%s", bars[i].note);
    }
    svg_end(out);
}

static const char *in_words(enum tt_svg_unit unit, double value, char out[32])
{
    return unit == TT_IN_BYTES ? tt_si_bytes(value, out) : tt_si_time(value, out);
}

/* A distance of ticks that is round in the unit of the largest number. */
static double round_step(enum tt_svg_unit unit, double most)
{
    double scale = 1;
    while (unit == TT_IN_BYTES && most / scale >= 1023.5) scale *= 1024;
    return scale * svg_tick_step(most / scale, 5);
}

/* Numbers under the bars, with vertical lines through the bars. */
static void value_axis(struct tt_text *out, double most, double left, double room, double bottom, enum tt_svg_unit unit)
{
    char number[32];
    if (most <= 0) return;
    double step = round_step(unit, most);
    for (int i = 0; i * step <= most * 1.0001; i++) {
        double x = left + i * step / most * room;
        svg_line(out, x, SVG_TOP - 4, x, bottom, i ? "grid" : "axis");
        in_words(unit, i * step, number);
        svg_text(out, x, bottom + 15, SVG_MIDDLE | SVG_SOFT, "%s", i ? svg_without_zeros(number) : "0");
    }
}

/* A label that is too long for one line is put in two, cut before " in " or after a comma where that fits. */
static void row_label(struct tt_text *out, double x, double middle, const char *text)
{
    char first[120], second[120];
    const char *cut = NULL;
    if (svg_letters(text) <= LETTERS) {
        svg_text(out, x, middle + 4, SVG_RIGHT, "%s", text);
        return;
    }
    for (const char *at = text; (at = strchr(at, ' ')) && at - text <= LETTERS; at++)
        if (!strncmp(at, " in ", 4) || at[-1] == ',') cut = cut && strncmp(at, " in ", 4) ? cut : at;
    snprintf(first, sizeof first, "%.*s", (int)(cut ? cut - text : 0), text);
    svg_shorten(cut ? cut + 1 : text, LETTERS, second, sizeof second);
    if (first[0]) svg_text(out, x, middle - 3, SVG_RIGHT, "%s", first);
    svg_text(out, x, middle + (first[0] ? 11 : 4), SVG_RIGHT | SVG_SOFT, "%s", second);
}

static void legend_of(struct tt_text *out, const struct tt_stack *s)
{
    int colors[64];
    int n = s->series_count < 64 ? s->series_count : 64;
    for (int i = 0; i < n; i++) colors[i] = i;
    tt_legend(out, s->series, colors, n);
}

static double value_of(const struct tt_stack *s, int row, int series)
{
    return s->values[row * s->series_count + series];
}

static void words_of(const struct tt_stack *s, int row, int series, char *words, size_t size)
{
    char number[32];
    snprintf(words, size, "%.90s, %.60s: %s", s->rows[row], s->series[series],
             in_words(s->unit, value_of(s, row, series), number));
}

void tt_svg_stacked(struct tt_text *out, const struct tt_stack *s)
{
    enum { LINE = 30 };
    double most = 0, left = room_for(s->rows, s->row_count, LETTERS), room = SVG_WIDTH - left - 60,
           bottom = SVG_TOP + s->row_count * LINE;
    char words[220];
    for (int r = 0; r < s->row_count; r++) {
        double sum = 0;
        for (int i = 0; i < s->series_count; i++) sum += positive(value_of(s, r, i));
        most = fmax(most, sum);
    }
    svg_begin(out, s->title, SVG_WIDTH, bottom + 22);
    value_axis(out, most, left, room, bottom, s->unit);
    for (int r = 0; r < s->row_count; r++) {
        double x = left, y = SVG_TOP + r * LINE;
        row_label(out, left - 6, y + 11, s->rows[r]);
        for (int i = 0; i < s->series_count; i++) {
            double w = most > 0 ? positive(value_of(s, r, i)) / most * room : 0;
            if (w <= 0) continue;
            words_of(s, r, i, words, sizeof words);
            if (i && i == s->unsure) tt_text_puts(out, "<g class=\"unsure\">");
            svg_rect(out, x, y, w, 21, i, words);
            if (i && i == s->unsure) tt_text_puts(out, "</g>\n");
            x += w;
        }
    }
    svg_end(out);
    legend_of(out, s);
}

void tt_svg_grouped(struct tt_text *out, const struct tt_stack *s)
{
    enum { THICK = 14 };
    double most = 0, left = room_for(s->rows, s->row_count, LETTERS), room = SVG_WIDTH - left - 90,
           row = s->series_count * THICK + 10, bottom = SVG_TOP + s->row_count * row;
    char words[220], number[32];
    for (int i = 0; i < s->row_count * s->series_count; i++) most = fmax(most, positive(s->values[i]));
    svg_begin(out, s->title, SVG_WIDTH, bottom + 22);
    value_axis(out, most, left, room, bottom, s->unit);
    for (int r = 0; r < s->row_count; r++) {
        double y = SVG_TOP + r * row;
        row_label(out, left - 6, y + (row - 10) / 2, s->rows[r]);
        for (int i = 0; i < s->series_count; i++) {
            double w = most > 0 ? positive(value_of(s, r, i)) / most * room : 0;
            words_of(s, r, i, words, sizeof words);
            svg_rect(out, left, y + i * THICK, w, THICK - 1, i, words);
            svg_text(out, left + w + 5, y + i * THICK + 11, SVG_SOFT, "%s",
                     in_words(s->unit, value_of(s, r, i), number));
        }
    }
    svg_end(out);
    legend_of(out, s);
}
