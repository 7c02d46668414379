/* What is switched on in a run: lines that are printed at its start. */
#ifndef TT_SWITCHES_H
#define TT_SWITCHES_H

#include "core/train/run.h"
#include "model/session.h"

void tt_print_switches(const struct tt_backend *b, const struct tt_session *s, const struct tt_run *run);

#endif
