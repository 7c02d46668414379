/* The library: a model in the format of other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/weights.h"
#include "lib/inside.h"
#include "model/exchange/dtypes.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/hf.h"

static tt_status write_folder(libtt_model *m, const char *path, int dtype, float *weights, struct tt_text *note)
{
    struct tt_hf_export how = {.config = &m->o.c, .params = m->run.params, .weights = weights,
                               .tokenizer = tt_library_tokenizer(m), .type = tt_export_dtypes[dtype].hf};
    return tt_hf_export(path, &how, note);
}

static tt_status write_file(libtt_model *m, const char *path, int dtype, float *weights, struct tt_text *note)
{
    bool left_out;
    struct tt_gguf_export how = {.config = &m->o.c, .params = m->run.params, .weights = weights,
                                 .tokenizer = tt_library_tokenizer(m), .type = tt_export_dtypes[dtype].gguf};
    return tt_gguf_export(path, &how, &left_out, note);
}

static tt_status export(libtt_model *m, const char *path, const char *dtype, struct tt_text *note)
{
    size_t n = strlen(path);
    bool file = n > 5 && !strcmp(path + n - 5, ".gguf");
    int type = tt_export_dtype_find(dtype, file);
    if (type < 0)
        return tt_fail(TT_USAGE, "dtype %s: a %s has fp32, bf16%s fp16%s", dtype,
                       file ? "file for llama.cpp" : "model for transformers", file ? "," : " or",
                       file ? " or q8_0" : "");
    float *weights = malloc((size_t)m->run.params->total * sizeof *weights);
    if (!weights) return tt_no_memory("%.0f MiB of weights", (double)m->run.params->total * 4 / 0x1p20);
    tt_status st = tt_weights_read(&m->session.engine, m->run.params, weights);
    if (!st) st = (file ? write_file(m, path, type, weights, note) : write_folder(m, path, type, weights, note));
    free(weights);
    return st;
}

bool libtt_export(libtt_model *m, const char *path, const char *dtype, struct libtt_error *error)
{
    struct tt_text note = {0};
    locale_t before = tt_library_begin();
    bool good = tt_library_end(before, export(m, path, dtype ? dtype : "fp32", &note), error);
    if (good && error && note.n) snprintf(error->text, sizeof error->text, "%s", note.s);
    tt_text_free(&note);
    return good;
}
