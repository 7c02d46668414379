/* The monotonic clock, in seconds. */
#ifndef TT_CLOCK_H
#define TT_CLOCK_H

double tt_seconds(void);

#endif
