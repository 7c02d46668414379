/* report.html: a profile, or several side by side, as one file that needs no network. */
#ifndef TT_HTML_H
#define TT_HTML_H

#include "profiling/profile.h"

/* `imported`, the same run as another profiler saw it, gets a section of its own; it may be NULL. */
tt_status tt_profile_write_html(const struct tt_profile *p, const struct tt_profile *imported, const char *path);

#endif
