/* The library: a model in the format of other programs. */
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/weights.h"
#include "lib/inside.h"
#include "model/exchange/hf.h"

static tt_status find_type(const char *name, enum tt_dtype *type)
{
    for (*type = TT_F32; name && *type < TT_DTYPES && strcmp(name, tt_dtype_names[*type]); (*type)++) continue;
    return *type < TT_DTYPES ? TT_OK : tt_fail(TT_USAGE, "dtype %s: use fp32, bf16 or fp16", name);
}

static tt_status export(libtt_model *m, const char *dir, const char *dtype)
{
    struct tt_hf_export how = {.config = &m->o.c, .params = m->run.params, .tokenizer = tt_library_tokenizer(m)};
    TT_TRY(find_type(dtype, &how.type));
    how.weights = malloc((size_t)m->run.params->total * sizeof *how.weights);
    if (!how.weights) return tt_no_memory("%.0f MiB of weights", (double)m->run.params->total * 4 / 0x1p20);
    tt_status st = tt_weights_read(&m->session.engine, m->run.params, how.weights);
    if (!st) st = tt_hf_export(dir, &how, NULL);
    free(how.weights);
    return st;
}

bool libtt_export(libtt_model *m, const char *dir, const char *dtype, struct libtt_error *error)
{
    return tt_library_done(export(m, dir, dtype), error);
}
