/* A sample of a model that was just trained. */
#ifndef TT_SAMPLING_H
#define TT_SAMPLING_H

#include "core/data/data.h"
#include "model/session.h"

/* A short sample of the built-in language at temperature 0.8, and its check against the grammar. */
tt_status tt_sample_builtin(const struct tt_session *s, const struct tt_config *c, const struct tt_data *data,
                            struct tt_text *text, struct tt_grammar_check *check);

#endif
