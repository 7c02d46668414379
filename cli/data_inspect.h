/* tt data --inspect: what is in a token file. */
#ifndef TT_DATA_INSPECT_H
#define TT_DATA_INSPECT_H

#include "core/config/config.h"

tt_status tt_data_inspect(const struct tt_config *c, const char *file);

#endif
