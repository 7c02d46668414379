/* The library: a model in the format of other programs. */
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/weights.h"
#include "lib/inside.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/hf.h"

static tt_status write_folder(libtt_model *m, const char *path, const char *dtype, float *weights)
{
    struct tt_hf_export how = {.config = &m->o.c, .params = m->run.params, .weights = weights,
                               .tokenizer = tt_library_tokenizer(m)};
    while (how.type < TT_DTYPES && strcmp(dtype, tt_dtype_names[how.type])) how.type++;
    if (how.type == TT_DTYPES)
        return tt_fail(TT_USAGE, "dtype %s: a model for transformers has fp32, bf16 or fp16", dtype);
    return tt_hf_export(path, &how, NULL);
}

static tt_status write_file(libtt_model *m, const char *path, const char *dtype, const float *weights)
{
    static const char *const types[][2] = {{"fp32", "F32"}, {"bf16", "BF16"}, {"fp16", "F16"}, {"q8_0", "Q8_0"}};
    enum { TYPES = sizeof types / sizeof *types };
    int i = 0;
    bool left_out;
    while (i < TYPES && strcmp(dtype, types[i][0])) i++;
    if (i == TYPES) return tt_fail(TT_USAGE, "dtype %s: a file for llama.cpp has fp32, bf16, fp16 or q8_0", dtype);
    struct tt_text note = {0};
    struct tt_gguf_export how = {.config = &m->o.c, .params = m->run.params, .weights = weights,
                                 .tokenizer = tt_library_tokenizer(m), .type = types[i][1]};
    tt_status st = tt_gguf_export(path, &how, &left_out, &note);
    tt_text_free(&note);
    return st;
}

static tt_status export(libtt_model *m, const char *path, const char *dtype)
{
    size_t n = strlen(path);
    bool file = n > 5 && !strcmp(path + n - 5, ".gguf");
    float *weights = malloc((size_t)m->run.params->total * sizeof *weights);
    if (!weights) return tt_no_memory("%.0f MiB of weights", (double)m->run.params->total * 4 / 0x1p20);
    tt_status st = tt_weights_read(&m->session.engine, m->run.params, weights);
    if (!st) st = file ? write_file(m, path, dtype, weights) : write_folder(m, path, dtype, weights);
    free(weights);
    return st;
}

bool libtt_export(libtt_model *m, const char *path, const char *dtype, struct libtt_error *error)
{
    return tt_library_done(export(m, path, dtype ? dtype : "fp32"), error);
}
