/* Texts whose lines may be longer than a terminal is wide. */
#ifndef TT_WRAP_H
#define TT_WRAP_H

#include <stdio.h>

/* Prints the text. On a terminal, lines that are too long are broken between words, and what follows is indented by as
 * many columns as `hang` says of the line. Elsewhere the text stays as it is. */
void tt_print_wrapped(FILE *f, const char *text, int (*hang)(const char *line));

#endif
