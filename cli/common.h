/* What several commands do: open the device with the course around it, describe a model. */
#ifndef TT_COMMON_H
#define TT_COMMON_H

#include "cli/options.h"
#include "core/train/open.h"
#include "core/train/origin.h"
#include "model/session.h"

tt_status tt_open_backend(const struct tt_config *c, struct tt_backend *out);

/* The first sequences of the data into every slot for the tokens of a step. */
tt_status tt_upload_tokens(struct tt_session *s, struct tt_data *data);

/* "0.87 M", "31.98 M", "1.03 B" */
void tt_format_count(double n, char out[32]);
void tt_format_bytes(double n, char out[32]);

/* Lines that say what will run, for the log. */
void tt_print_device(const struct tt_backend *b);
void tt_print_model(const struct tt_session *s);

#endif
