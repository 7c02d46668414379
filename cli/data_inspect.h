/* tt data --inspect: what is in a token file. */
#ifndef TT_DATA_INSPECT_H
#define TT_DATA_INSPECT_H

#include "core/config/config.h"

/* Prints counts, the most frequent tokens and the beginning of the file; with --json only the counts. */
tt_status tt_data_inspect(const struct tt_config *c, const char *file);

#endif
