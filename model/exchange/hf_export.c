/* Exports a model as a folder that transformers can open. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/staged.h"
#include "core/checkpoint/safetensors.h"
#include "core/data/tokenizers/hf_about.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "core/train/open.h"
#include "model/exchange/hf.h"
#include "model/exchange/hf_config.h"
#include "model/exchange/hf_names.h"
#include "model/exchange/weights.h"

static const struct {
    const char *tensor, *torch;
} types[TT_DTYPES] = {[TT_F32] = {"F32", "float32"}, [TT_BF16] = {"BF16", "bfloat16"}, [TT_F16] = {"F16", "float16"}};

/* ---- weights ---- */

tt_status tt_hf_permute_rows(float *w, int64_t heads, int64_t D, int64_t columns, bool to_halves)
{
    size_t row = (size_t)columns * sizeof *w;
    float *head = malloc((size_t)D * row);
    if (!head) return tt_no_memory("a head of %lld rows", (long long)D);
    for (int64_t h = 0; h < heads; h++, w += D * columns) {
        memcpy(head, w, (size_t)D * row);
        for (int64_t i = 0; i < D; i++) {
            int64_t half = i % 2 * (D / 2) + i / 2; /* row i of the pairs is row `half` of the halves */
            memcpy(w + (to_halves ? half : i) * columns, head + (to_halves ? i : half) * columns, row);
        }
    }
    free(head);
    return TT_OK;
}

tt_status tt_hf_permute(float *w, const struct tt_param *p, int64_t D, bool to_halves)
{
    return tt_hf_permute_rows(w, p->shape[0] / D, D, p->shape[1] ? p->shape[1] : 1, to_halves);
}

static tt_status write_weights(const char *path, const struct tt_hf_export *x)
{
    int n = x->params->n;
    struct tt_tensor_source *tensors = calloc((size_t)n, sizeof *tensors);
    char(*names)[128] = calloc((size_t)n, sizeof *names);
    tt_status st = tensors && names ? TT_OK : tt_no_memory("the names of %d tensors", n);
    for (int i = 0; i < n && !st; i++) st = tt_weights_fit(&x->params->items[i], x->weights, types[x->type].tensor);
    for (int i = 0; i < n && !st; i++) {
        const struct tt_param *p = &x->params->items[i];
        float *data = x->weights + p->offset;
        if (tt_hf_rotary(p->name)) st = tt_hf_permute(data, p, tt_head_dim(x->config), true);
        tt_hf_name(p->name, false, names[i], sizeof names[i]);
        tensors[i] = (struct tt_tensor_source){.name = names[i],
                                               .rank = p->shape[1] ? 2 : 1,
                                               .data = data,
                                               .shape = {p->shape[0], p->shape[1]},
                                               .type = types[x->type].tensor};
    }
    const struct tt_metadata metadata = {"format", "pt"}; /* without it transformers refuses the file */
    if (!st) st = tt_safetensors_write(path, tensors, n, &metadata, 1, NULL, NULL);
    free(tensors);
    free(names);
    return st;
}

/* ---- the other files ---- */

static tt_status write_json(const char *dir, const char *name, struct tt_json_writer *w)
{
    char *path = NULL;
    tt_text_puts(&w->text, "\n");
    tt_status st = tt_text_status(&w->text);
    if (!st && asprintf(&path, "%s/%s", dir, name) < 0) st = tt_no_memory("a path");
    if (!st) st = tt_file_replace(path, w->text.s, w->text.n);
    free(path);
    tt_text_free(&w->text);
    return st;
}

static tt_status write_config(const char *dir, const struct tt_hf_export *x)
{
    struct tt_json_writer config = {.pretty = true}, generation = {.pretty = true};
    tt_hf_config_write(x->config, types[x->type].torch, x->tokenizer, &config);
    TT_TRY(write_json(dir, "config.json", &config));
    tt_json_begin(&generation, NULL, '{');
    tt_json_put_bool(&generation, "do_sample", true);
    tt_hf_ends_write(x->config, x->tokenizer, &generation);
    tt_json_end(&generation, '}');
    return write_json(dir, "generation_config.json", &generation);
}

static tt_status put_about(const struct tt_hf_export *x, struct tt_json_writer *w)
{
    int32_t special = tt_hf_special_end(x->tokenizer);
    TT_TRY(tt_hf_about_put(x->tokenizer->hf, w));
    if (special >= 0 && special == tt_text_end(x->config, x->tokenizer))
        tt_json_put_string(w, "eos_token", TT_END_OF_TEXT);
    return TT_OK;
}

static tt_status write_tokenizer(const char *dir, const struct tt_hf_export *x, struct tt_text *note)
{
    struct tt_json_writer file = {.pretty = true}, about = {.pretty = true};
    tt_status st = tt_hf_tokenizer_write(x->tokenizer, &file);
    if (st && st->code == TT_UNSUPPORTED) {
        if (note) tt_text_printf(note, "the tokenizer was left out: %s", st->text);
        tt_status_free(st);
        tt_text_free(&file.text);
        return TT_OK;
    }
    if (!st) st = write_json(dir, "tokenizer.json", &file);
    tt_text_free(&file.text);
    TT_TRY(st);
    tt_json_begin(&about, NULL, '{');
    TT_TRY(put_about(x, &about));
    tt_json_end(&about, '}');
    return write_json(dir, "tokenizer_config.json", &about);
}

static tt_status write_folder(const char *dir, const struct tt_hf_export *x, struct tt_text *note)
{
    char *weights;
    if (asprintf(&weights, "%s/model.safetensors", dir) < 0) return tt_no_memory("a path");
    tt_status st = write_weights(weights, x);
    free(weights);
    TT_TRY(st);
    TT_TRY(write_config(dir, x));
    return x->tokenizer ? write_tokenizer(dir, x, note) : TT_OK;
}

static bool is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    bool empty = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));) empty &= !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    if (d) closedir(d);
    return empty;
}

tt_status tt_hf_export(const char *dir, const struct tt_hf_export *x, struct tt_text *note)
{
    char name[1024];
    struct tt_staged b;
    snprintf(name, sizeof name, "%s", dir);
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/';) name[--n] = 0;
    if (tt_is_file(name)) return tt_fail(TT_USAGE, "%s is a file; name a new folder, or one that ends in .gguf", name);
    if (tt_is_dir(name) && !is_empty(name))
        return tt_fail(TT_USAGE, "%s is not empty; name a new folder", name);
    TT_TRY(tt_hf_config_check(x->config));
    TT_TRY(tt_make_parent(name));
    TT_TRY(tt_stage_folder(name, &b));
    tt_status st = write_folder(b.path, x, note);
    if (!st) return tt_staged_replace(&b);
    tt_staged_drop(&b);
    return st;
}
