/* What only a terminal gets: colours, and lines that are painted over. NO_COLOR (any value) switches the first off,
 * TERM=dumb both. */
#ifndef TT_TERMINAL_H
#define TT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum tt_colour { TT_PLAIN, TT_BOLD, TT_GOOD, TT_WARNING, TT_BAD };

/* Can a line there be painted over? */
bool tt_is_terminal(FILE *f);

/* The characters that switch to this colour on f; "" where there are to be none. */
const char *tt_colour(FILE *f, enum tt_colour c);

/* "tt: " and the line, on stderr: a note or a warning. Of several processes that would say the same, all but one have
 * called tt_say_nothing; what ends a process is said by main. */
void tt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tt_say_nothing(void);

#endif
