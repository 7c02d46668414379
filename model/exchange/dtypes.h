/* The number formats in which weights are exported, as --dtype and libtt_export name them. */
#ifndef TT_EXCHANGE_DTYPES_H
#define TT_EXCHANGE_DTYPES_H

#include <stdbool.h>

#include "core/config/config.h"

extern const char *const tt_export_dtype_names[]; /* NULL at the end */

struct tt_export_dtype {
    enum tt_dtype hf; /* TT_DTYPES: not for transformers */
    const char *gguf;
};
extern const struct tt_export_dtype tt_export_dtypes[]; /* in the order of the names */

/* The number of a name, for a GGUF file or for transformers; -1: there is none of that name. */
int tt_export_dtype_find(const char *name, bool gguf);

#endif
