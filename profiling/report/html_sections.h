/* The sections of report.html that lie in files of their own. */
#ifndef TT_HTML_SECTIONS_H
#define TT_HTML_SECTIONS_H

#include "core/base/text.h"
#include "profiling/profile.h"

void html_ranks(struct tt_text *t, const struct tt_profile *p); /* nothing without several ranks */
void html_timeline(struct tt_text *t, const struct tt_profile *p);
void html_roofline(struct tt_text *t, const struct tt_profile *p);
void html_efficiency(struct tt_text *t, const struct tt_profile *p);
void html_memory(struct tt_text *t, const struct tt_profile *p);
void html_components(struct tt_text *t, const struct tt_profile *p);
void html_training(struct tt_text *t, const struct tt_profile *p);

/* A note that the figures here are of disturbed steps, where they are. */
void html_rows_remark(struct tt_text *t, const struct tt_profile *p);

/* Charts without the section around them, for a page that has several profiles. */
void html_group_chart(struct tt_text *t, const struct tt_profile *p);
void html_phase_chart(struct tt_text *t, const struct tt_profile *p);
void html_roofline_chart(struct tt_text *t, const struct tt_profile *p); /* nothing where no operator has FLOPs */
void html_memory_chart(struct tt_text *t, const struct tt_profile *p);

#endif
