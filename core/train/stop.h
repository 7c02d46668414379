/* SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask a run to finish its step, save and stop. So does SIGPIPE: when the reader of
 * its output is gone, the run must not end unsaved. A second SIGINT stops at once. If SIGINT is ignored at the start,
 * as for a process that a script runs in the background, Ctrl-C stays ignored, but kill -INT works. */
#ifndef TT_STOP_H
#define TT_STOP_H

void tt_stop_catch(void);   /* from now on */
void tt_stop_restore(void); /* back to the handlers before, except that SIGPIPE stays ignored */
int tt_stop_signal(void);   /* the signal that came; 0 = none */

#endif
