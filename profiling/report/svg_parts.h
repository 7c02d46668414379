/* The pieces that the charts of svg.h are made of; private to them. */
#ifndef TT_SVG_PARTS_H
#define TT_SVG_PARTS_H

#include <stddef.h>

#include "core/base/text.h"

enum { SVG_WIDTH = 600, SVG_TOP = 30 }; /* of every chart; the title stands above SVG_TOP */

/* Flags of svg_text: alignment, style, and SVG_UP to turn it upwards. */
enum { SVG_LEFT = 0, SVG_RIGHT = 1, SVG_MIDDLE = 2, SVG_SOFT = 4, SVG_HEAD = 8, SVG_UP = 16 };

void svg_begin(struct tt_text *out, const char *title, double width, double height);
void svg_end(struct tt_text *out);
void svg_text(struct tt_text *out, double x, double y, unsigned how, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void svg_line(struct tt_text *out, double x1, double y1, double x2, double y2, const char *class);
void svg_rect(struct tt_text *out, double x, double y, double w, double h, int color, const char *words);
void svg_circle(struct tt_text *out, double x, double y, double r, int color, const char *words);
int svg_letters(const char *s); /* characters, not bytes */
const char *svg_shorten(const char *s, int most, char *out, size_t size);

/* 1, 2 or 5 times a power of ten, so that at most about `most` steps lie in the span. */
double svg_tick_step(double span, int most);
/* "0.5", "20", "1 k": as short as possible, with enough digits to differ from a number one `step` away. */
const char *svg_tick_label(double value, double step, char out[32]);
const char *svg_without_zeros(char *number); /* "1.50 ms" becomes "1.5 ms" */

#endif
