/* Stacks that can be left and re-entered. */
#ifndef TT_SIMT_FIBER_H
#define TT_SIMT_FIBER_H

#include <stddef.h>

/* Switches to the stack at `to`. *from receives the place to switch back to. */
extern "C" void simt_switch(void **from, void *to);

/* Allocates `count` stacks with an inaccessible page below each; NULL if there is no memory. They are never freed. */
unsigned char *fiber_stacks(int count);

/* Prepares stack `index` to run `entry`, which never returns. The result is what to switch to. */
void *fiber_begin(unsigned char *stacks, int index, void (*entry)(void));

#endif
