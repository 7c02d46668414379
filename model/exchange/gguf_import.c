/* Imports a GGUF file into a parameter arena. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/exchange/gguf_kind.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/gguf_names.h"
#include "model/exchange/gguf_rope.h"
#include "model/exchange/gguf_tokenizer.h"
#include "model/exchange/hf.h"
#include "model/exchange/hf_names.h"
#include "model/exchange/weights.h"

/* ---- the shape ---- */

static tt_status refuse(const char *path, const char *key, const char *what)
{
    return tt_fail(TT_USAGE, "%s has %s, which tt does not support; %s", path, key, what);
}

#define KEY(name) tt_gguf_key(kind, name).s

static tt_status check_whole(const struct tt_gguf *g, const char *path)
{
    int64_t parts;
    if (tt_gguf_int(g, "split.count", 2, INT64_MAX, &parts))
        return tt_fail(TT_USAGE, "%s is one of %lld parts; join them with: llama-gguf-split --merge FIRST-PART WHOLE",
                       path, (long long)parts);
    return TT_OK;
}

/* Refuses what a LLaMA of tt does not have. */
static tt_status check_absent(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind *kind)
{
    static const char *const absent[] = {"attention.sliding_window", "attention.scale", "logit_scale",
                                         "embedding_scale", "residual_scale"};
    int64_t experts;
    bool causal;
    if (tt_gguf_int(g, KEY("expert_count"), 1, INT64_MAX, &experts))
        return refuse(path, KEY("expert_count"), "tt has one feed-forward network a layer");
    if (tt_gguf_bool(g, KEY("attention.causal"), &causal) && !causal)
        return refuse(path, "attention.causal = false", "attention in tt is causal");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (tt_gguf_has(g, KEY(absent[i])))
            return refuse(path, KEY(absent[i]), "only a model without that can be imported");
    return TT_OK;
}

struct file {
    const struct tt_gguf *g;
    const char *path;
    const struct tt_gguf_kind *kind;
};

/* `otherwise` is the default; 0: required. */
static tt_status read_field(const struct file *f, const char *name, int64_t *to, int64_t otherwise)
{
    struct tt_gguf_key key = tt_gguf_key(f->kind, name);
    if (tt_gguf_int(f->g, key.s, 1, (int64_t)1 << 31, to)) return TT_OK;
    if (tt_gguf_has(f->g, key.s)) return tt_fail(TT_FAILED, "%s has a %s that is not one valid size", f->path, key.s);
    if (!otherwise) return tt_fail(TT_FAILED, "%s has no %s; is it a LLaMA?", f->path, key.s);
    *to = otherwise;
    return TT_OK;
}

/* All numbers of a head are rotated, and queries, keys and values have heads of one size. */
static tt_status read_head(const struct file *f, struct tt_config *c)
{
    int64_t usual = c->hidden_dim / c->num_heads, keys, values, rotated;
    c->head_dim = 0;
    TT_TRY(read_field(f, "attention.key_length", &keys, usual ? usual : 1));
    TT_TRY(read_field(f, "attention.value_length", &values, keys));
    TT_TRY(read_field(f, "rope.dimension_count", &rotated, keys));
    if (values != keys) return refuse(f->path, "attention.value_length", "keys and values must have one size");
    if (rotated != keys) return refuse(f->path, "rope.dimension_count", "tt rotates whole heads");
    if (keys != usual) c->head_dim = keys;
    return TT_OK;
}

static tt_status read_sizes(const struct file *f, struct tt_config *c)
{
    int64_t rows;
    const struct tt_tensor *embedding = tt_gguf_find(f->g, "token_embd.weight");
    if (!embedding || embedding->rank != 2)
        return tt_fail(TT_FAILED, "%s has no matrix token_embd.weight; give the GGUF file of a whole model", f->path);
    c->vocab_size = embedding->shape[0];
    TT_TRY(read_field(f, "embedding_length", &c->hidden_dim, 0));
    TT_TRY(read_field(f, "block_count", &c->num_layers, 0));
    TT_TRY(read_field(f, "attention.head_count", &c->num_heads, 0));
    TT_TRY(read_field(f, "attention.head_count_kv", &c->num_kv_heads, c->num_heads));
    TT_TRY(read_field(f, "feed_forward_length", &c->ffn_dim, 0));
    TT_TRY(read_field(f, "context_length", &c->seq_len, 0));
    TT_TRY(read_field(f, "vocab_size", &rows, c->vocab_size));
    if (rows != c->vocab_size)
        return tt_fail(TT_FAILED, "%s: token_embd.weight has %lld rows, but vocab_size says %lld", f->path,
                       (long long)c->vocab_size, (long long)rows);
    return read_head(f, c);
}

/* Numbers are stored as floats; the shortest decimal that is the same float is what was meant: 1e-06, not
 * 9.99999997e-07. */
static double as_meant(double x)
{
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtof(text, NULL) == (float)x) return strtod(text, NULL);
    }
    return x;
}

tt_status tt_gguf_import_config(const struct tt_gguf *g, const char *path, struct tt_config *c)
{
    const struct tt_gguf_kind *kind;
    double eps = 0, theta = 10000;
    int64_t end;
    TT_TRY(tt_gguf_kind_of(g, path, &kind));
    TT_TRY(check_whole(g, path));
    TT_TRY(check_absent(g, path, kind));
    TT_TRY(read_sizes(&(struct file){g, path, kind}, c));
    if (!tt_gguf_number(g, KEY("attention.layer_norm_rms_epsilon"), &eps) || !(eps > 0 && eps <= 1))
        return tt_fail(TT_FAILED, "%s has no valid %s; it must be above 0", path,
                       KEY("attention.layer_norm_rms_epsilon"));
    bool given = tt_gguf_number(g, KEY("rope.freq_base"), &theta);
    if ((!given && tt_gguf_has(g, KEY("rope.freq_base"))) || !(theta >= 1 && theta <= 1e12))
        return tt_fail(TT_FAILED, "%s has no valid %s; it must be from 1 to 1e12", path,
                       KEY("rope.freq_base"));
    c->norm_eps = as_meant(eps);
    c->rope_theta = as_meant(theta);
    c->tie_embeddings = !tt_gguf_find(g, "output.weight");
    c->qk_norm = kind->qk_norm;
    c->qkv_bias = tt_gguf_find(g, "blk.0.attn_q.bias") != NULL;
    c->begin_token = c->end_token = -1; /* the tokenizer says which token begins a text */
    c->end_tokens[0] = 0;
    for (int i = 0; i < TT_GGUF_ENDS; i++)
        if (tt_gguf_int(g, tt_gguf_ends[i], 0, c->vocab_size - 1, &end)) tt_ends_add(c, end);
    return tt_gguf_rope_get(g, path, kind, c);
}

/* ---- the tensors ---- */

static tt_status check_tensor(const struct tt_gguf *g, const char *path, const struct tt_param *p, const char *name)
{
    static const char *const readable[] = {"F32", "F16", "BF16", "Q8_0"};
    const struct tt_tensor *t = tt_gguf_find(g, name);
    bool can = false;
    if (!t) return tt_fail(TT_FAILED, "%s has no tensor %s; the file is not complete", path, name);
    for (int i = 0; i < 4; i++) can |= !strcmp(t->type, readable[i]);
    if (!can)
        return tt_fail(TT_USAGE,
                       "%s: tensor %s is %s; tt reads F32, F16, BF16 and Q8_0, so take the model in one of these, or "
                       "convert it: llama-quantize --allow-requantize OLD NEW Q8_0",
                       path, name, t->type);
    return tt_weights_check_shape(path, t, p, "its shape");
}

static bool is_expected(const struct tt_params *params, const char *name)
{
    char expected[128];
    if (!strcmp(name, TT_GGUF_ROPE_FREQS)) return true; /* tt_gguf_rope_get has read it */
    for (int i = 0; i < params->n; i++) {
        tt_gguf_name(params->items[i].name, expected, sizeof expected);
        if (!strcmp(expected, name)) return true;
    }
    return false;
}

/* An unknown tensor is an error; otherwise a part of the model would be silently missing. Where there are as many
 * tensors as parameters and each parameter is there, none is unknown. */
static tt_status check_all(const struct tt_gguf *g, const char *path, const struct tt_params *params)
{
    char name[128];
    for (int i = 0; i < params->n; i++) {
        tt_gguf_name(params->items[i].name, name, sizeof name);
        TT_TRY(check_tensor(g, path, &params->items[i], name));
    }
    for (int i = 0; i < tt_gguf_count(g) && tt_gguf_count(g) > params->n; i++)
        if (!is_expected(params, tt_gguf_at(g, i)->name))
            return tt_fail(TT_FAILED,
                           "%s: tensor %s does not belong to a LLaMA of this shape; the model cannot be imported", path,
                           tt_gguf_at(g, i)->name);
    return TT_OK;
}

static tt_status read_all(const struct tt_gguf *g, const char *path, const struct tt_config *c,
                          const struct tt_params *params, float *w)
{
    const struct tt_gguf_kind *kind;
    char name[128];
    TT_TRY(tt_gguf_kind_of(g, path, &kind));
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        tt_gguf_name(p->name, name, sizeof name);
        TT_TRY(tt_gguf_read(g, tt_gguf_find(g, name), w + p->offset));
        TT_TRY(tt_weights_finite(path, name, w + p->offset, p->count));
        if (kind->halves && tt_hf_rotary(p->name)) TT_TRY(tt_hf_permute(w + p->offset, p, tt_head_dim(c), false));
    }
    return TT_OK;
}

tt_status tt_gguf_import_weights(const struct tt_gguf *g, const char *path, const struct tt_config *c,
                                 const struct tt_params *params, float **weights)
{
    *weights = NULL;
    TT_TRY(check_all(g, path, params));
    *weights = calloc((size_t)params->total, sizeof **weights);
    if (!*weights) return tt_no_memory("an imported model");
    tt_status st = read_all(g, path, c, params, *weights);
    if (!st) return TT_OK;
    free(*weights);
    *weights = NULL;
    return st;
}
