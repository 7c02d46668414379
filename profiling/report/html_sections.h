/* The sections of report.html that lie in files of their own. Private to html*.c. */
#ifndef TT_HTML_SECTIONS_H
#define TT_HTML_SECTIONS_H

#include "core/base/text.h"
#include "profiling/profile.h"

void html_ranks(struct tt_text *t, const struct tt_profile *p); /* nothing where there is one */
void html_timeline(struct tt_text *t, const struct tt_profile *p);
void html_roofline(struct tt_text *t, const struct tt_profile *p);
void html_efficiency(struct tt_text *t, const struct tt_profile *p);
void html_memory(struct tt_text *t, const struct tt_profile *p);
void html_components(struct tt_text *t, const struct tt_profile *p);
void html_training(struct tt_text *t, const struct tt_profile *p);

#endif
