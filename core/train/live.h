/* The line of a run on a terminal, which is overwritten in place: as many of its parts as fit the terminal's width,
 * since a line that wraps cannot be overwritten. */
#ifndef TT_LIVE_H
#define TT_LIVE_H

#include <stddef.h>
#include <stdio.h>

enum { TT_LIVE_PARTS = 16 };

struct tt_live_part {
    char text[64];  /* "" : nothing */
    int importance; /* the smallest is left out first */
};

struct tt_live {
    struct tt_live_part parts[TT_LIVE_PARTS]; /* from left to right */
    int count;
};

/* Adds a part on the right. */
void tt_live_add(struct tt_live *l, int importance, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The parts with two blanks between them, in at most `width` characters; parts that do not fit are left out. */
void tt_live_text(const struct tt_live *l, int width, char *out, size_t size);

/* Columns of the terminal; 80 if it does not say. */
int tt_live_width(FILE *terminal);

/* "5.60 steps/s", or "2.35 s/step" when one takes longer than a second; and the speed of the whole run in the same
 * unit: "(overall 5.41)". Both are in steps per second and above 0. */
void tt_live_rates(double recent, double overall, char out[32], char out_overall[32]);

#endif
