#include "model/exchange/dtypes.h"

#include <string.h>

/* The last two are what llama.cpp calls the first and the third. */
const char *const tt_export_dtype_names[] = {"fp32", "bf16", "fp16", "q8_0", "f32", "f16", NULL};

const struct tt_export_dtype tt_export_dtypes[] = {{TT_F32, "F32"},     {TT_BF16, "BF16"}, {TT_F16, "F16"},
                                                   {TT_DTYPES, "Q8_0"}, {TT_F32, "F32"},   {TT_F16, "F16"}};

int tt_export_dtype_find(const char *name, bool gguf)
{
    for (int i = 0; tt_export_dtype_names[i]; i++)
        if (!strcmp(tt_export_dtype_names[i], name) && (gguf || tt_export_dtypes[i].hf != TT_DTYPES)) return i;
    return -1;
}
