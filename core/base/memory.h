/* The memory of this process. */
#ifndef TT_MEMORY_H
#define TT_MEMORY_H

double tt_peak_memory(void); /* the most bytes that it has had in memory at once */

#endif
