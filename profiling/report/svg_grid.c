/* A grid of cells, each as dark as its share. */
#include <stdio.h>

#include "profiling/report/svg.h"
#include "profiling/report/svg_parts.h"

enum { NAMES = 210, SHADES = 6, LABEL_HEIGHT = 15 };

static double row_height(int rows) { return rows <= 48 ? LABEL_HEIGHT : rows <= 120 ? 7 : 4; }

/* 0 only for a share of 0, so that whatever was chosen even once can be seen. */
static int shade_of(float share) { return share <= 0 ? 0 : share >= 1 ? SHADES : 1 + (int)(share * (SHADES - 1)); }

/* Neighbours of the same shade become one rectangle. */
static void draw_row(struct tt_text *out, const struct tt_grid *g, int row, double y, double h)
{
    const float *shade = g->shade + row * g->columns;
    double w = (double)(SVG_WIDTH - NAMES) / g->columns;
    tt_text_puts(out, "<g class=\"mark\"><title>");
    tt_escape(out, g->rows[row]);
    tt_text_puts(out, "</title>");
    for (int at = 0, end; at < g->columns; at = end) {
        int here = shade_of(shade[at]);
        for (end = at + 1; end < g->columns && shade_of(shade[end]) == here;) end++;
        if (here)
            tt_text_printf(out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" class=\"f0\" "
                           "fill-opacity=\"%.2f\"/>", NAMES + at * w, y, (end - at) * w, h, (double)here / SHADES);
    }
    tt_text_puts(out, "</g>\n");
}

void tt_svg_grid(struct tt_text *out, const struct tt_grid *g)
{
    double h = row_height(g->row_count), bottom = SVG_TOP + h * g->row_count;
    int each = h >= LABEL_HEIGHT ? 1 : (int)(LABEL_HEIGHT / h) + 1; /* rows to a label */
    char name[64], tick[32];
    svg_begin(out, g->title, SVG_WIDTH, bottom + 34);
    for (int i = 0; i < g->row_count; i++) {
        double y = SVG_TOP + i * h;
        if (i % each == 0)
            svg_text(out, NAMES - 6, y + LABEL_HEIGHT - 4, SVG_RIGHT | SVG_SOFT, "%s",
                     svg_shorten(g->rows[i], 28, name, sizeof name));
        draw_row(out, g, i, y, h >= 4 ? h - 1 : h);
    }
    svg_line(out, NAMES, bottom, SVG_WIDTH, bottom, "axis");
    svg_text(out, NAMES, bottom + 15, SVG_LEFT, "%s", svg_tick_label(g->first, g->last - g->first, tick));
    svg_text(out, SVG_WIDTH, bottom + 15, SVG_RIGHT, "%s", svg_tick_label(g->last, g->last - g->first, tick));
    svg_text(out, (NAMES + SVG_WIDTH) / 2.0, bottom + 30, SVG_MIDDLE | SVG_SOFT, "%s", g->x_label);
    svg_end(out);
}
