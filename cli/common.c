#include "cli/common.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "exercises/engine/course.h"

tt_status tt_open_backend(const struct tt_config *c, struct tt_backend *out)
{
    TT_TRY(tt_open_device(c, out));
    return tt_course_wrap(c, out);
}

void tt_describe_device(const struct tt_backend *b, char *out, size_t size)
{
    struct tt_device_info info;
    tt_status st = b->ops->info(b->self, &info);
    snprintf(out, size, "%s", b->ops->name);
    if (!st) snprintf(out, size, "%s: %s; %s", b->ops->name, info.name, info.library);
    tt_status_free(st);
}

void tt_describe_model(const struct tt_session *s, char *out, size_t size)
{
    const struct tt_config *c = &s->model->config;
    char params[32];
    tt_format_count((double)tt_model_param_count(s->model), params);
    snprintf(out, size, "%lld layer%s, hidden %lld, %lld head%s (%lld key/value) of %lld, ffn %lld, vocabulary %lld: "
             "%s parameters",
             (long long)c->num_layers, tt_plural(c->num_layers), (long long)c->hidden_dim, (long long)c->num_heads,
             tt_plural(c->num_heads), (long long)c->num_kv_heads, (long long)s->model->head_dim,
             (long long)c->ffn_dim, (long long)c->vocab_size, params);
}

void tt_print_device(const struct tt_backend *b)
{
    char line[TT_LINE];
    tt_describe_device(b, line, sizeof line);
    printf("device  %s\n", line);
}

void tt_print_model(const struct tt_session *s)
{
    const struct tt_config *c = &s->model->config;
    char line[TT_LINE], flops[32], memory[32], note[160];
    tt_describe_model(s, line, sizeof line);
    printf("model   %s\n", line);
    tt_format_count(tt_model_step_flops(s->model), flops);
    tt_format_bytes((double)tt_engine_total(&s->engine), memory);
    if (s->step)
        printf("step    %s, %s, %lld x %lld tokens%s, %d operations, %sFLOP, %s of device memory\n",
               tt_version_names[c->version],
               tt_precision_names[c->precision], (long long)c->batch_size, (long long)c->seq_len,
               c->grad_accum > 1 ? " per micro-batch" : "", s->step->count, flops, memory);
    tt_model_note(s->model, note);
    if (note[0]) printf("note    %s\n", note);
    tt_fp8_note(s->model, note);
    if (note[0]) printf("note    %s\n", note);
}

void tt_say_generated_in(enum tt_precision precision, bool bf16, FILE *to)
{
    if (precision != TT_PREC_FP8) return;
    fprintf(to, "note    text is generated without 8-bit factors: --precision fp8 computes as %s here\n",
            bf16 ? "bf16" : "fp32");
}

/* "step-00000100", also damaged or half written; not "step-by-step.md". */
static bool is_checkpoint_name(const char *name)
{
    return !strncmp(name, "step-", 5) && strspn(name + 5, "0123456789") >= 8;
}

tt_status tt_find_run(const char *folder, bool *found)
{
    DIR *d = opendir(folder);
    *found = false;
    if (!d) return tt_file_error(errno, "read", folder);
    errno = 0;
    for (struct dirent *e; !*found && (e = readdir(d)); errno = 0)
        *found = !strcmp(e->d_name, "metrics.jsonl") || is_checkpoint_name(e->d_name);
    tt_status st = *found || !errno ? TT_OK : tt_file_error(errno, "read", folder);
    closedir(d);
    return st;
}

tt_status tt_write_text(const char *folder, const char *name, const struct tt_text *text)
{
    char path[1200];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return tt_fail(TT_USAGE, "%s: the path is too long", folder);
    return tt_file_replace(path, text->s, text->n);
}
