/* SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask a run to finish its step, save and stop; so does the end of whoever reads its
 * output (SIGPIPE), which would otherwise end the run before it has saved. A second SIGINT stops at once. */
#ifndef TT_STOP_H
#define TT_STOP_H

void tt_stop_catch(void);   /* from now on */
void tt_stop_restore(void); /* back to what it was */
int tt_stop_signal(void);   /* the signal that came; 0 = none */

#endif
