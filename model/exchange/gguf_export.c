/* Exports a model as a GGUF file that llama.cpp opens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/train/open.h"
#include "model/exchange/gguf_kind.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/gguf_names.h"
#include "model/exchange/gguf_rope.h"
#include "model/exchange/gguf_tokenizer.h"
#include "model/exchange/hf.h"
#include "model/exchange/hf_names.h"
#include "model/exchange/hf_rope.h"
#include "model/exchange/weights.h"

/* general.file_type is for people: programs look at the type of each tensor. */
static const struct {
    const char *type;
    uint32_t number;
} file_types[] = {{"F32", 0}, {"F16", 1}, {"Q8_0", 7}, {"BF16", 32}};

/* ---- weights ---- */

static bool whole_blocks(const struct tt_param *p) { return p->shape[1] % TT_Q8_BLOCK == 0; }

static const char *type_of(const struct tt_gguf_export *x, const struct tt_param *p)
{
    if (!p->shape[1]) return "F32";
    return !strcmp(x->type, "Q8_0") && !whole_blocks(p) ? "F16" : x->type;
}

static void note_halves(const struct tt_gguf_export *x, struct tt_text *note)
{
    int n = 0;
    for (int i = 0; i < x->params->n; i++) {
        const struct tt_param *p = &x->params->items[i];
        n += p->shape[1] && strcmp(type_of(x, p), x->type) != 0;
    }
    if (n)
        tt_text_printf(note,
                       "%s%d matrices are in fp16: %s needs rows of whole blocks of 32 numbers",
                       note->n ? "; " : "", n, x->type);
}

/* `freqs` is the tensor of scaled RoPE, or NULL. */
static tt_status write_file(const char *path, const struct tt_gguf_export *x, const struct tt_gguf_kind *kind,
                            const float *freqs, const struct tt_gguf_writer *w)
{
    int n = x->params->n;
    struct tt_tensor_source *tensors = calloc((size_t)n + 1, sizeof *tensors);
    char(*names)[128] = calloc((size_t)n, sizeof *names);
    tt_status st = tensors && names ? TT_OK : tt_no_memory("the names of %d tensors", n);
    for (int i = 0; i < n && !st; i++) {
        const struct tt_param *p = &x->params->items[i];
        if (!tt_gguf_name(p->name, names[i], sizeof names[i])) {
            st = tt_fail(TT_USAGE, "llama.cpp has no tensor for %s; use --format hf", p->name);
            break;
        }
        tensors[i] = (struct tt_tensor_source){.name = names[i],
                                               .rank = p->shape[1] ? 2 : 1,
                                               .data = x->weights + p->offset,
                                               .shape = {p->shape[0], p->shape[1]},
                                               .type = type_of(x, p)};
        st = tt_weights_fit(p, x->weights, tensors[i].type);
        if (!st && kind->halves && tt_hf_rotary(p->name))
            st = tt_hf_permute(x->weights + p->offset, p, tt_head_dim(x->config), true);
    }
    if (!st && freqs)
        tensors[n++] = (struct tt_tensor_source){
            .name = TT_GGUF_ROPE_FREQS, .rank = 1, .data = freqs, .shape = {tt_head_dim(x->config) / 2}};
    if (!st) st = tt_gguf_write(path, w, tensors, n);
    free(tensors);
    free(names);
    return st;
}

/* ---- values ---- */

static void put_general(const char *path, const struct tt_gguf_export *x, const struct tt_gguf_kind *kind,
                        struct tt_gguf_writer *w)
{
    const char *base = strrchr(path, '/');
    char name[256];
    snprintf(name, sizeof name, "%s", base ? base + 1 : path);
    char *end = strrchr(name, '.');
    if (end && end > name && !strcmp(end, ".gguf")) *end = 0;
    tt_gguf_put_string(w, "general.architecture", kind->name);
    tt_gguf_put_string(w, "general.type", "model");
    tt_gguf_put_string(w, "general.name", name);
    for (size_t i = 0; i < sizeof file_types / sizeof *file_types; i++)
        if (!strcmp(file_types[i].type, x->type)) tt_gguf_put_u32(w, "general.file_type", file_types[i].number);
    if (!strcmp(x->type, "Q8_0")) tt_gguf_put_u32(w, "general.quantization_version", 2);
}

#define KEY(name) tt_gguf_key(kind, name).s

static void put_shape(const struct tt_config *c, const struct tt_gguf_kind *kind, struct tt_gguf_writer *w)
{
    uint32_t head = (uint32_t)tt_head_dim(c);
    tt_gguf_put_u32(w, KEY("vocab_size"), (uint32_t)c->vocab_size);
    tt_gguf_put_u32(w, KEY("context_length"), (uint32_t)tt_hf_rope_longest(c));
    tt_gguf_put_u32(w, KEY("embedding_length"), (uint32_t)c->hidden_dim);
    tt_gguf_put_u32(w, KEY("block_count"), (uint32_t)c->num_layers);
    tt_gguf_put_u32(w, KEY("feed_forward_length"), (uint32_t)c->ffn_dim);
    tt_gguf_put_u32(w, KEY("attention.head_count"), (uint32_t)c->num_heads);
    tt_gguf_put_u32(w, KEY("attention.head_count_kv"), (uint32_t)c->num_kv_heads);
    tt_gguf_put_u32(w, KEY("attention.key_length"), head);
    tt_gguf_put_u32(w, KEY("attention.value_length"), head);
    tt_gguf_put_f32(w, KEY("attention.layer_norm_rms_epsilon"), (float)c->norm_eps);
    tt_gguf_put_u32(w, KEY("rope.dimension_count"), head);
    tt_gguf_put_f32(w, KEY("rope.freq_base"), (float)c->rope_theta);
}

/* The tokens that end a text, except the first. */
static void put_ends(const struct tt_gguf_export *x, struct tt_gguf_writer *w, struct tt_text *note)
{
    struct tt_text_ends ends = tt_text_ends(x->config, x->tokenizer);
    for (int i = 1; i < ends.count && i < TT_GGUF_ENDS; i++)
        tt_gguf_put_u32(w, tt_gguf_ends[i], (uint32_t)ends.tokens[i]);
    if (ends.count > TT_GGUF_ENDS)
        tt_text_printf(note, "%d tokens end a text, but a GGUF file can name only the first %d", ends.count,
                       TT_GGUF_ENDS);
}

/* Without a tokenizer, llama.cpp takes and gives token numbers only. */
static tt_status put_tokenizer(const struct tt_gguf_export *x, struct tt_gguf_writer *w, bool *left_out,
                               struct tt_text *note)
{
    *left_out = true;
    tt_status st =
        x->tokenizer ? tt_gguf_tokenizer_put(x->tokenizer, x->config->vocab_size, tt_text_end(x->config, x->tokenizer),
                                             x->nearest_split, w)
                     : TT_OK;
    if (x->tokenizer && !st) {
        *left_out = false;
        put_ends(x, w, note);
        if (tt_tokenizer_growth(x->tokenizer) > 1)
            tt_text_printf(note,
                           "%sllama.cpp does not normalize text to Unicode's NFC as tt does, so it makes other tokens "
                           "of text that is not in NFC",
                           note->n ? "; " : "");
        return TT_OK;
    }
    if (st && st->code != TT_UNSUPPORTED) return st;
    if (st) tt_text_printf(note, "the tokenizer was left out: %s", st->text);
    tt_status_free(st);
    tt_gguf_put_string(w, "tokenizer.ggml.model", "none");
    return TT_OK;
}

tt_status tt_gguf_export(const char *path, const struct tt_gguf_export *x, bool *left_out, struct tt_text *note)
{
    struct tt_gguf_writer w = {0};
    const struct tt_gguf_kind *kind;
    float *freqs = NULL;
    size_t n = strlen(path);
    if (tt_is_dir(path) || (n && path[n - 1] == '/'))
        return tt_fail(TT_USAGE, "%s is a folder; name a new file, such as model.gguf", path);
    TT_TRY(tt_gguf_kind_for(x->config, &kind));
    put_general(path, x, kind, &w);
    put_shape(x->config, kind, &w);
    tt_status st = tt_gguf_rope_put(x->config, kind, &w, &freqs);
    if (!st) st = put_tokenizer(x, &w, left_out, note);
    note_halves(x, note);
    if (!st) st = tt_make_parent(path);
    if (!st) st = write_file(path, x, kind, freqs, &w);
    tt_gguf_writer_free(&w);
    free(freqs);
    return st;
}
