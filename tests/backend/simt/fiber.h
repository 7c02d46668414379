/* Stacks that can be left and entered again. */
#ifndef TT_SIMT_FIBER_H
#define TT_SIMT_FIBER_H

#include <stddef.h>

/* Leaves this stack for the one at `to`, and notes in *from where to come back to. */
extern "C" void simt_switch(void **from, void *to);

/* `count` stacks with an inaccessible page below each; NULL when there is no memory. They live as long as the
 * program. */
unsigned char *fiber_stacks(int count);

/* What to switch to in order to begin `entry`, which never returns, on stack `index`. */
void *fiber_begin(unsigned char *stacks, int index, void (*entry)(void));

#endif
