#include "model/exchange/hf_config.h"

#include <string.h>

#include "core/data/tokenizers/hf_about.h"
#include "core/train/open.h"
#include "model/exchange/hf_rope.h"

/* The models of transformers that tt has, with the defaults that their config.json may leave out. */
static const struct kind {
    const char *name, *class;
    bool qkv_bias, qk_norm;
    int64_t kv_heads, longest, head; /* kv_heads 0: as many as heads; head 0: hidden / heads */
} kinds[] = {
    {"llama", "LlamaForCausalLM", false, false, 0, 2048, 0},
    {"mistral", "MistralForCausalLM", false, false, 0, 2048, 0},
    {"qwen2", "Qwen2ForCausalLM", true, false, 32, 32768, 0},
    {"qwen3", "Qwen3ForCausalLM", false, true, 32, 32768, 128},
};

static const struct kind *kind_of(const struct tt_config *c)
{
    size_t i = 0;
    while (kinds[i].qkv_bias != c->qkv_bias || kinds[i].qk_norm != c->qk_norm) i++;
    return &kinds[i];
}

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name)) return &kinds[i];
    return NULL;
}

tt_status tt_hf_config_check(const struct tt_config *c)
{
    if (c->qkv_bias && c->qk_norm)
        return tt_fail(TT_USAGE, "no model of transformers has both --qkv-bias and --qk-norm (Qwen2 has the first, "
                                 "Qwen3 the second), so only tt can run this one; train with one of them to export it");
    if (c->hidden_dim % c->num_heads)
        return tt_fail(TT_USAGE,
                       "transformers cannot open a LLaMA whose hidden_size %lld is not a multiple of its %lld heads",
                       (long long)c->hidden_dim, (long long)c->num_heads);
    return TT_OK;
}

/* ---- writing ---- */

static void put_token(const char *key, int64_t token, struct tt_json_writer *w)
{
    if (token >= 0)
        tt_json_put_int(w, key, token);
    else
        tt_json_put_null(w, key);
}

void tt_hf_ends_write(const struct tt_config *c, const struct tt_tokenizer *t, struct tt_json_writer *w)
{
    struct tt_text_ends ends = tt_text_ends(c, t);
    if (ends.count < 2) {
        put_token("eos_token_id", ends.count ? ends.tokens[0] : -1, w);
        return;
    }
    tt_json_begin(w, "eos_token_id", '[');
    for (int i = 0; i < ends.count; i++) tt_json_put_int(w, NULL, ends.tokens[i]);
    tt_json_end(w, ']');
}

void tt_hf_config_write(const struct tt_config *c, const char *type, const struct tt_tokenizer *t,
                        struct tt_json_writer *w)
{
    const struct kind *kind = kind_of(c);
    const struct tt_hf_bpe *other = t ? t->hf : NULL;
    tt_json_begin(w, NULL, '{');
    tt_json_begin(w, "architectures", '[');
    tt_json_put_string(w, NULL, kind->class);
    tt_json_end(w, ']');
    tt_json_put_string(w, "model_type", kind->name);
    tt_json_put_int(w, "vocab_size", c->vocab_size);
    tt_json_put_int(w, "hidden_size", c->hidden_dim);
    tt_json_put_int(w, "intermediate_size", c->ffn_dim);
    tt_json_put_int(w, "num_hidden_layers", c->num_layers);
    tt_json_put_int(w, "num_attention_heads", c->num_heads);
    tt_json_put_int(w, "num_key_value_heads", c->num_kv_heads);
    tt_json_put_int(w, "head_dim", tt_head_dim(c));
    tt_json_put_string(w, "hidden_act", "silu");
    tt_json_put_int(w, "max_position_embeddings", tt_hf_rope_longest(c));
    tt_json_put_number(w, "initializer_range", c->init_std);
    tt_json_put_number(w, "rms_norm_eps", c->norm_eps);
    tt_json_put_bool(w, "tie_word_embeddings", c->tie_embeddings);
    tt_hf_rope_write(c, w);
    if (c->qkv_bias || c->qk_norm) tt_json_put_bool(w, "use_sliding_window", false);
    if (!c->qkv_bias) tt_json_put_bool(w, "attention_bias", false);
    if (!c->qkv_bias && !c->qk_norm) tt_json_put_bool(w, "mlp_bias", false);
    tt_json_put_number(w, "attention_dropout", 0);
    tt_json_put_bool(w, "use_cache", true);
    /* null where there is none, because the defaults 1 and 2 are ordinary tokens here */
    put_token("bos_token_id", other && tt_hf_begin(other) >= 0 ? tt_hf_begin(other) : c->begin_token, w);
    tt_hf_ends_write(c, t, w);
    put_token("pad_token_id", other ? other->pad : -1, w);
    tt_json_put_string(w, "torch_dtype", type);
    tt_json_end(w, '}');
}

/* ---- reading ---- */

static tt_status check_kind(const struct tt_json *j)
{
    const struct tt_json *type = tt_hf_value(j, "model_type");
    if (!type || type->type != TT_JSON_STRING)
        return tt_fail(TT_FAILED, "config.json names no model_type; give the folder of a LLaMA");
    if (!kind_named(type->string))
        return tt_hf_refuse("model_type", type->string, "tt reads llama, qwen2, qwen3, and mistral without a window");
    const struct tt_json *act = tt_hf_value(j, "hidden_act");
    if (act && (act->type != TT_JSON_STRING || (strcmp(act->string, "silu") && strcmp(act->string, "swish"))))
        return tt_hf_refuse("hidden_act", tt_hf_shown(act), "tt has only silu");
    return TT_OK;
}

static tt_status check_switches(const struct tt_json *j)
{
    static const char *const off[] = {"attention_bias", "mlp_bias", "quantization_config", "use_qk_norm"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const struct tt_json *v = tt_hf_value(j, off[i]);
        if (v && !(v->type == TT_JSON_BOOL && !v->boolean))
            return tt_hf_refuse(off[i], tt_hf_shown(v), "only a model without that can be imported");
    }
    const struct tt_json *part = tt_hf_value(j, "partial_rotary_factor");
    if (part && !(part->type == TT_JSON_NUMBER && part->number == 1))
        return tt_hf_refuse("partial_rotary_factor", tt_hf_shown(part), "tt rotates whole heads");
    return TT_OK;
}

/* A sliding window as long as the longest sequence has no effect. In transformers the default of a Mistral is a window
 * of 4096, and the default of max_position_embeddings is larger than that. */
static tt_status check_window(const struct tt_json *j, int64_t longest)
{
    const struct tt_json *use = tt_hf_value(j, "use_sliding_window"), *types = tt_hf_value(j, "layer_types");
    if (use && !(use->type == TT_JSON_BOOL && !use->boolean))
        return tt_hf_refuse("use_sliding_window", tt_hf_shown(use), "tt has no sliding windows");
    for (const struct tt_json *t = types ? types->first : NULL; t; t = t->next)
        if (t->type != TT_JSON_STRING || strcmp(t->string, "full_attention"))
            return tt_hf_refuse("layer_types", tt_hf_shown(t), "in tt every layer has full attention");
    /* a Qwen names the size of a window that it does not use */
    if (!strncmp(tt_json_string(j, "model_type", ""), "qwen", 4)) return TT_OK;
    const struct tt_json *window = tt_hf_value(j, "sliding_window");
    bool mistral = !strcmp(tt_json_string(j, "model_type", ""), "mistral");
    int64_t size;
    if (mistral && !tt_json_get(j, "sliding_window") && (longest > 4096 || !tt_hf_value(j, "max_position_embeddings")))
        return tt_fail(TT_USAGE, "config.json has no \"sliding_window\", which means 4096 for a mistral, and tt has no "
                                 "sliding windows; if the model has none, write \"sliding_window\": null");
    if (!window || (tt_json_as_int(window, 1, INT64_MAX, &size) && size >= longest)) return TT_OK;
    return tt_hf_refuse("sliding_window", tt_hf_shown(window), "tt has no sliding windows");
}

struct field {
    const char *key;
    int64_t *to;
    int64_t otherwise; /* the default; -1: required, 0: num_heads */
};

static tt_status read_sizes(const struct tt_json *j, struct tt_config *c)
{
    const struct kind *kind = kind_named(tt_json_string(j, "model_type", ""));
    const struct field fields[] = {
        {"hidden_size", &c->hidden_dim, -1},
        {"num_hidden_layers", &c->num_layers, -1},
        {"num_attention_heads", &c->num_heads, -1},
        {"num_key_value_heads", &c->num_kv_heads, kind->kv_heads},
        {"intermediate_size", &c->ffn_dim, -1},
        {"vocab_size", &c->vocab_size, -1},
        {"max_position_embeddings", &c->seq_len, kind->longest},
    };
    c->qkv_bias = kind->qkv_bias;
    c->qk_norm = kind->qk_norm;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct field *f = &fields[i];
        const struct tt_json *v = tt_hf_value(j, f->key);
        if (v && !tt_json_as_int(v, 1, (int64_t)1 << 31, f->to))
            return tt_fail(TT_FAILED, "config.json has \"%s\": %s, which is not a valid size", f->key, tt_hf_shown(v));
        if (!v && f->otherwise < 0)
            return tt_fail(TT_FAILED, "config.json has no \"%s\"; is the model a LLaMA?", f->key);
        if (!v) *f->to = f->otherwise > 0 ? f->otherwise : c->num_heads;
    }
    const struct tt_json *given = tt_hf_value(j, "head_dim");
    c->head_dim = kind->head;
    if (given && (!tt_json_as_int(given, 2, 1 << 16, &c->head_dim) || c->head_dim % 2))
        return tt_hf_refuse("head_dim", tt_hf_shown(given), "its size must be even, and at most 65536");
    if (c->head_dim * c->num_heads == c->hidden_dim) c->head_dim = 0; /* as it would be without */
    return TT_OK;
}

/* One token, or a list. */
void tt_hf_ends_read(const struct tt_json *j, struct tt_config *c)
{
    const struct tt_json *v = tt_hf_value(j, "eos_token_id");
    int64_t end;
    if (v && tt_json_as_int(v, 0, c->vocab_size - 1, &end)) tt_ends_add(c, end);
    for (const struct tt_json *e = v && v->type == TT_JSON_ARRAY ? v->first : NULL; e; e = e->next)
        if (tt_json_as_int(e, 0, c->vocab_size - 1, &end)) tt_ends_add(c, end);
}

tt_status tt_hf_config_read(const struct tt_json *j, struct tt_config *c)
{
    if (!j || j->type != TT_JSON_OBJECT) return tt_fail(TT_FAILED, "config.json is not a JSON object");
    TT_TRY(check_kind(j));
    TT_TRY(check_switches(j));
    TT_TRY(read_sizes(j, c));
    TT_TRY(check_window(j, c->seq_len));
    TT_TRY(tt_hf_rope_read(j, c));
    const struct tt_json *tie = tt_hf_value(j, "tie_word_embeddings"), *eps = tt_hf_value(j, "rms_norm_eps");
    if (tie && tie->type != TT_JSON_BOOL)
        return tt_fail(TT_FAILED, "config.json has \"tie_word_embeddings\": %s; it must be true or false",
                       tt_hf_shown(tie));
    c->tie_embeddings = tie && tie->boolean;
    c->norm_eps = eps ? eps->number : 1e-6;
    if ((eps && eps->type != TT_JSON_NUMBER) || !(c->norm_eps > 0 && c->norm_eps <= 1))
        return tt_fail(TT_FAILED, "config.json has \"rms_norm_eps\": %s; it must be above 0", tt_hf_shown(eps));
    c->end_token = -1;
    c->end_tokens[0] = 0;
    tt_hf_ends_read(j, c);
    if (!tt_json_int(j, "bos_token_id", 0, c->vocab_size - 1, &c->begin_token)) c->begin_token = -1;
    c->init_std = tt_json_number(j, "initializer_range", 0.02);
    if (!(c->init_std > 0 && c->init_std <= 10)) c->init_std = 0.02; /* unused: the model has its weights */
    return TT_OK;
}
