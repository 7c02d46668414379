/* report.html of a training run: how the loss came down, and where the time went. */
#ifndef TT_HTML_RUN_H
#define TT_HTML_RUN_H

#include "profiling/report/run_curve.h"

tt_status tt_curve_write_html(const struct tt_curve *c, const char *name, const char *path);

#endif
