/* Imports a GGUF file into a parameter arena. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/exchange/gguf_model.h"
#include "model/exchange/gguf_names.h"
#include "model/exchange/gguf_rope.h"
#include "model/exchange/weights.h"

/* ---- the shape ---- */

static tt_status refuse(const char *path, const char *key, const char *what)
{
    return tt_fail(TT_USAGE, "%s has %s, which tt does not support; %s", path, key, what);
}

static tt_status check_kind(const struct tt_gguf *g, const char *path)
{
    char name[64];
    int64_t parts;
    if (!tt_gguf_string(g, "general.architecture", name, sizeof name))
        return tt_fail(TT_FAILED, "%s names no architecture; give the GGUF file of a model", path);
    if (strcmp(name, "llama"))
        return tt_fail(TT_USAGE, "%s is a model of the architecture \"%s\"; tt reads llama only", path, name);
    if (tt_gguf_int(g, "split.count", 2, INT64_MAX, &parts))
        return tt_fail(TT_USAGE, "%s is one of %lld parts; join them with: llama-gguf-split --merge FIRST-PART WHOLE",
                       path, (long long)parts);
    return TT_OK;
}

/* What a LLaMA of tt does not have. */
static tt_status check_absent(const struct tt_gguf *g, const char *path)
{
    static const char *const absent[] = {"llama.attention.sliding_window", "llama.attention.scale", "llama.logit_scale",
                                         "llama.embedding_scale", "llama.residual_scale"};
    int64_t experts;
    bool causal;
    if (tt_gguf_int(g, "llama.expert_count", 1, INT64_MAX, &experts))
        return refuse(path, "llama.expert_count", "it has one feed-forward network a layer");
    if (tt_gguf_bool(g, "llama.attention.causal", &causal) && !causal)
        return refuse(path, "llama.attention.causal = false", "its attention looks back only");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (tt_gguf_has(g, absent[i])) return refuse(path, absent[i], "only a model without that can be imported");
    return TT_OK;
}

struct field {
    const char *key;
    int64_t *to;
    int64_t otherwise; /* the default; 0: required */
};

static tt_status read_field(const struct tt_gguf *g, const char *path, const struct field *f)
{
    if (tt_gguf_int(g, f->key, 1, (int64_t)1 << 31, f->to)) return TT_OK;
    if (tt_gguf_has(g, f->key)) return tt_fail(TT_FAILED, "%s has a %s that is not one valid size", path, f->key);
    if (!f->otherwise) return tt_fail(TT_FAILED, "%s has no %s; is it that of a LLaMA?", path, f->key);
    *f->to = f->otherwise;
    return TT_OK;
}

/* All numbers of a head are rotated, and queries, keys and values have heads of one size. */
static tt_status read_head(const struct tt_gguf *g, const char *path, struct tt_config *c)
{
    int64_t usual = c->hidden_dim / c->num_heads, keys, values, rotated;
    c->head_dim = 0;
    TT_TRY(read_field(g, path, &(struct field){"llama.attention.key_length", &keys, usual ? usual : 1}));
    TT_TRY(read_field(g, path, &(struct field){"llama.attention.value_length", &values, keys}));
    TT_TRY(read_field(g, path, &(struct field){"llama.rope.dimension_count", &rotated, keys}));
    if (values != keys) return refuse(path, "llama.attention.value_length", "keys and values have one size here");
    if (rotated != keys) return refuse(path, "llama.rope.dimension_count", "it rotates whole heads");
    if (keys != usual) c->head_dim = keys;
    return TT_OK;
}

static tt_status read_sizes(const struct tt_gguf *g, const char *path, struct tt_config *c)
{
    int64_t rows;
    const struct tt_tensor *embedding = tt_gguf_find(g, "token_embd.weight");
    if (!embedding || embedding->rank != 2)
        return tt_fail(TT_FAILED, "%s has no matrix token_embd.weight; give the GGUF file of a whole model", path);
    c->vocab_size = embedding->shape[0];
    TT_TRY(read_field(g, path, &(struct field){"llama.embedding_length", &c->hidden_dim, 0}));
    TT_TRY(read_field(g, path, &(struct field){"llama.block_count", &c->num_layers, 0}));
    TT_TRY(read_field(g, path, &(struct field){"llama.attention.head_count", &c->num_heads, 0}));
    TT_TRY(read_field(g, path, &(struct field){"llama.attention.head_count_kv", &c->num_kv_heads, c->num_heads}));
    TT_TRY(read_field(g, path, &(struct field){"llama.feed_forward_length", &c->ffn_dim, 0}));
    TT_TRY(read_field(g, path, &(struct field){"llama.context_length", &c->seq_len, 0}));
    TT_TRY(read_field(g, path, &(struct field){"llama.vocab_size", &rows, c->vocab_size}));
    if (rows != c->vocab_size)
        return tt_fail(TT_FAILED, "%s: token_embd.weight has %lld rows, but llama.vocab_size says %lld", path,
                       (long long)c->vocab_size, (long long)rows);
    return read_head(g, path, c);
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
    double eps = 0, theta = 10000;
    TT_TRY(check_kind(g, path));
    TT_TRY(check_absent(g, path));
    TT_TRY(read_sizes(g, path, c));
    if (!tt_gguf_number(g, "llama.attention.layer_norm_rms_epsilon", &eps) || !(eps > 0 && eps <= 1))
        return tt_fail(TT_FAILED, "%s has no valid llama.attention.layer_norm_rms_epsilon; it must be above 0", path);
    bool given = tt_gguf_number(g, "llama.rope.freq_base", &theta);
    if ((!given && tt_gguf_has(g, "llama.rope.freq_base")) || !(theta >= 1 && theta <= 1e12))
        return tt_fail(TT_FAILED, "%s has no valid llama.rope.freq_base; it must be from 1 to 1e12", path);
    c->norm_eps = as_meant(eps);
    c->rope_theta = as_meant(theta);
    c->tie_embeddings = !tt_gguf_find(g, "output.weight");
    c->qkv_bias = tt_gguf_find(g, "blk.0.attn_q.bias") != NULL;
    if (!tt_gguf_int(g, "tokenizer.ggml.eos_token_id", 0, c->vocab_size - 1, &c->end_token)) c->end_token = -1;
    return tt_gguf_rope_get(g, path, c);
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

static tt_status read_all(const struct tt_gguf *g, const char *path, const struct tt_params *params, float *w)
{
    char name[128];
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        tt_gguf_name(p->name, name, sizeof name);
        TT_TRY(tt_gguf_read(g, tt_gguf_find(g, name), w + p->offset));
        TT_TRY(tt_weights_finite(path, name, w + p->offset, p->count));
    }
    return TT_OK;
}

tt_status tt_gguf_import_weights(const struct tt_gguf *g, const char *path, const struct tt_params *params,
                                 float **weights)
{
    *weights = NULL;
    TT_TRY(check_all(g, path, params));
    *weights = calloc((size_t)params->total, sizeof **weights);
    if (!*weights) return tt_no_memory("an imported model");
    tt_status st = read_all(g, path, params, *weights);
    if (!st) return TT_OK;
    free(*weights);
    *weights = NULL;
    return st;
}
