#include "cli/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/course.h"

tt_status tt_open_backend(const struct tt_config *c, struct tt_backend *out)
{
    TT_TRY(tt_open_device(c, out));
    return tt_course_wrap(c, out);
}

void tt_format_count(double n, char out[32])
{
    if (n >= 1e12)
        snprintf(out, 32, "%.2f T", n / 1e12);
    else if (n >= 1e9)
        snprintf(out, 32, "%.2f G", n / 1e9);
    else if (n >= 1e6)
        snprintf(out, 32, "%.2f M", n / 1e6);
    else if (n >= 1e3)
        snprintf(out, 32, "%.1f k", n / 1e3);
    else
        snprintf(out, 32, "%.0f", n);
}

void tt_format_bytes(double n, char out[32])
{
    if (n >= 0x1p30)
        snprintf(out, 32, "%.2f GiB", n / 0x1p30);
    else if (n >= 0x1p20)
        snprintf(out, 32, "%.1f MiB", n / 0x1p20);
    else
        snprintf(out, 32, "%.1f KiB", n / 0x1p10);
}

void tt_print_device(const struct tt_backend *b)
{
    struct tt_device_info info;
    tt_status st = b->ops->info(b->self, &info);
    if (!st) printf("device  %s: %s; %s\n", b->ops->name, info.name, info.library);
    tt_status_free(st);
}

void tt_print_model(const struct tt_session *s)
{
    const struct tt_config *c = &s->model->config;
    char params[32], flops[32], memory[32], note[160];
    tt_format_count((double)tt_model_param_count(s->model), params);
    printf("model   %lld layers, hidden %lld, %lld heads (%lld key/value) of %lld, ffn %lld, vocabulary %lld: %sparameters\n",
           (long long)c->num_layers, (long long)c->hidden_dim, (long long)c->num_heads, (long long)c->num_kv_heads,
           (long long)s->model->head_dim, (long long)c->ffn_dim, (long long)c->vocab_size, strcat(params, " "));
    tt_format_count(tt_model_step_flops(s->model), flops);
    tt_format_bytes((double)tt_engine_total(&s->engine), memory);
    if (s->step)
        printf("step    %s, %s, %lld x %lld tokens%s, %d operations, %sFLOP, %s of device memory\n", tt_version_names[c->version],
               tt_precision_names[c->precision], (long long)c->batch_size, (long long)c->seq_len,
               c->grad_accum > 1 ? " per micro-batch" : "", s->step->count, flops, memory);
    tt_model_note(s->model, note);
    if (note[0]) printf("note    %s\n", note);
}

tt_status tt_upload_tokens(struct tt_session *s, struct tt_data *data)
{
    const struct tt_config *c = &s->model->config;
    int64_t rows = c->batch_size * c->grad_accum, width = c->seq_len + 1;
    int32_t *tokens = malloc((size_t)(rows * width) * sizeof *tokens);
    if (!tokens) return tt_fail(TT_FAILED, "out of memory for the tokens of a step");
    size_t bytes = (size_t)(rows * width) * sizeof *tokens;
    tt_status st = TT_OK;
    for (int slot = 0; slot < TT_TOKEN_SLOTS && !st; slot++) {
        for (int64_t r = 0; r < rows && !st; r++)
            st = tt_data_sample(data, TT_TRAIN, (uint64_t)(slot * rows + r), tokens + r * width);
        if (!st) st = tt_engine_upload(&s->engine, TT_X_TOKENS, (size_t)slot * bytes, tokens, bytes);
    }
    free(tokens);
    return st;
}
