/* The number formats in which weights are exported, as --dtype and libtt_export name them. */
#ifndef TT_EXCHANGE_DTYPES_H
#define TT_EXCHANGE_DTYPES_H

#include <stdbool.h>

#include "core/config/config.h"

extern const char *const tt_export_dtype_names[]; /* NULL at the end */

struct tt_export_dtype {
    enum tt_dtype hf; /* TT_DTYPES: transformers does not have it */
    const char *gguf;
};
extern const struct tt_export_dtype tt_export_dtypes[]; /* in the order of the names */

/* The index of the format with this name, among those of a GGUF file or of transformers; -1: there is none. */
int tt_export_dtype_find(const char *name, bool gguf);

#endif
