/* Charts as inline SVG, appended to a text. The page around them styles them by classes (charts.css), so they follow
 * its light or dark theme. Every mark has a <title>, which a browser shows on hover and a screen reader reads. A value
 * that is not finite draws nothing and is written "n/a". */
#ifndef TT_SVG_H
#define TT_SVG_H

#include <stdbool.h>

#include "core/base/text.h"

enum { TT_SVG_COLORS = 11 }; /* .f0 to .f10 and .s0 to .s10 of charts.css */

/* Text for XML and HTML: markup characters escaped, control characters and invalid UTF-8 replaced. */
void tt_escape(struct tt_text *t, const char *s);

/* "1.23 T", "45.6 k", "0.12", "n/a": three digits and an SI prefix. */
const char *tt_si(double value, char out[32]);
/* "1.23 ms", "45 µs" from seconds; "1.50 GiB" from bytes. */
const char *tt_si_time(double seconds, char out[32]);
const char *tt_si_bytes(double bytes, char out[32]);

/* ---- horizontal bars: one a line, in the order given ---- */

struct tt_bar {
    const char *label;
    double value;
    char note[80]; /* after the bar: the value in words */
    int color;
    double noise; /* relative error of the value, drawn as a line across the bar's end; 1: the bar is drawn pale */
};
void tt_svg_bars(struct tt_text *out, const char *title, const struct tt_bar *bars, int n);

/* ---- stacked bars: a line per row, a colour per series ---- */

enum tt_svg_unit { TT_IN_SECONDS, TT_IN_BYTES }; /* written as tt_si_time and tt_si_bytes do */

struct tt_stack {
    const char *title;
    enum tt_svg_unit unit;
    const char *const *rows, *const *series;
    int row_count, series_count;
    const double *values; /* [row][series] */
    int unsure;           /* the index of a series that is drawn pale, since it is uncertain; 0: none */
};
void tt_svg_stacked(struct tt_text *out, const struct tt_stack *s);

/* ---- several bars to a row: the same thing in several runs ---- */

void tt_svg_grouped(struct tt_text *out, const struct tt_stack *s);

/* ---- lines ---- */

struct tt_line {
    const char *name;
    const double *x, *y;
    int n;
    bool dots; /* a mark at each point */
};
struct tt_lines {
    const char *title, *x_label, *y_label;
    const struct tt_line *lines;
    int n;
    bool log_x, log_y, from_zero;
};
void tt_svg_lines(struct tt_text *out, const struct tt_lines *l);

/* ---- intervals: expected and measured factors, on a logarithmic axis ---- */

struct tt_svg_interval {
    const char *label;
    double claimed_low, claimed_high; /* what was expected */
    double value, low, high;          /* what was measured */
    char note[80];
    int color;
};
void tt_svg_intervals(struct tt_text *out, const char *title, const struct tt_svg_interval *rows, int n);

/* ---- roofline: FLOP/s over FLOP per byte, both logarithmic ---- */

struct tt_roof_point {
    const char *name;
    double intensity, rate; /* FLOP/byte, FLOP/s */
    double weight;          /* share of the time, 0 to 1: the size of the mark */
    int color;
};
struct tt_roof {
    const char *title;
    double flops, bandwidth;                     /* measured roofs */
    double datasheet_flops, datasheet_bandwidth; /* drawn thin when known */
    const struct tt_roof_point *points;
    int n;
};
void tt_svg_roofline(struct tt_text *out, const struct tt_roof *r);

/* ---- timeline: spans on tracks ---- */

struct tt_span {
    const char *name;
    double start, end; /* seconds */
    int track, color;
};
struct tt_timeline {
    const char *title;
    const char *const *tracks;
    int track_count;
    const struct tt_span *spans;
    int n;
};
void tt_svg_timeline(struct tt_text *out, const struct tt_timeline *t);

/* ---- a grid: a line per row, cells from left to right, each as dark as its share ---- */

struct tt_grid {
    const char *title, *x_label;
    const char *const *rows;
    int row_count, columns;
    const float *shade;  /* (rows, columns), 0 to 1 */
    double first, last;  /* what the axis says under the first and the last column */
};
void tt_svg_grid(struct tt_text *out, const struct tt_grid *g);

/* Names beside their colours, in a line that wraps. */
void tt_legend(struct tt_text *out, const char *const *names, const int *colors, int n);

#endif
