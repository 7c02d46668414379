/* Output for terminals only: colours, and lines that are overwritten in place. NO_COLOR (not empty) switches off the
 * colours, TERM=dumb both. */
#ifndef TT_TERMINAL_H
#define TT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum tt_colour { TT_PLAIN, TT_BOLD, TT_GOOD, TT_WARNING, TT_BAD };

/* Whether a line on f can be overwritten in place. */
bool tt_is_terminal(FILE *f);

/* The width of the terminal that f is; 0 where f is none, or does not say. */
int tt_terminal_columns(FILE *f);

/* The escape sequence that switches to this colour on f; "" when f gets no colours. */
const char *tt_colour(FILE *f, enum tt_colour c);

/* Prints "tt: " and a note or a warning on stderr. tt_say_nothing silences it in this process, so that only one of
 * several ranks prints it. Errors that end the process are printed by main. */
void tt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tt_say_nothing(void);

#endif
