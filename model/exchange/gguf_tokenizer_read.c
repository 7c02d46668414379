/* Reads the tokenizer of a GGUF file by writing it as a tokenizer.json and reading that. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/data/tokenizers/hf_about.h"
#include "core/data/tokenizers/hf_pieces.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "model/exchange/gguf_tokenizer.h"

static tt_status unlike(const char *what) { return tt_fail(TT_UNSUPPORTED, "its tokenizer %s", what); }

struct reading {
    const struct tt_gguf *g;
    struct tt_json_writer w;
    int kind; /* of tt's own tokenizers; -1: another program's */
    struct tt_hf_cut cut;
    bool whole_first;
    bool puts_begin; /* puts `begin` before a text */
    struct special { /* the tokens that begin and end a text, as added tokens */
        int64_t id; /* -1: none */
        char *name; /* NULL: it is no added token */
    } begin, end;
};

static tt_status check_model(struct reading *r)
{
    static const struct {
        const char *name;
        enum tt_tokenizer_kind kind;
    } kinds[] = {{"bytes", TT_BYTES}, {"chars", TT_CHARS}, {"bpe", TT_BPE}};
    char model[64], pre[64] = "default", kind[64];
    if (!tt_gguf_string(r->g, "tokenizer.ggml.model", model, sizeof model))
        return tt_fail(TT_UNSUPPORTED, "it has no tokenizer");
    if (!strcmp(model, "none") || !strcmp(model, "no_vocab")) return tt_fail(TT_UNSUPPORTED, "it has no tokenizer");
    if (strcmp(model, "gpt2"))
        return tt_fail(TT_UNSUPPORTED, "its tokenizer is \"%s\", and tt reads \"gpt2\", byte-level BPE", model);
    r->kind = -1;
    for (int i = 0; i < 3 && tt_gguf_string(r->g, TT_GGUF_KIND, kind, sizeof kind); i++)
        if (!strcmp(kind, kinds[i].name)) r->kind = (int)kinds[i].kind;
    tt_gguf_string(r->g, "tokenizer.ggml.pre", pre, sizeof pre);
    r->puts_begin = !strcmp(pre, "llama-bpe") || !strcmp(pre, "llama3") || !strcmp(pre, "llama-v3");
    tt_gguf_bool(r->g, "tokenizer.ggml.add_bos_token", &r->puts_begin);
    if (!tt_gguf_int(r->g, "tokenizer.ggml.bos_token_id", 0, INT32_MAX, &r->begin.id)) r->begin.id = -1;
    if (!tt_gguf_int(r->g, "tokenizer.ggml.eos_token_id", 0, INT32_MAX, &r->end.id)) r->end.id = -1;
    if (r->begin.id == r->end.id && !r->puts_begin) r->begin.id = -1; /* there is none: then the end token is named */
    if (r->kind >= 0 || tt_gguf_pre_find(pre, &r->cut, &r->whole_first)) return TT_OK;
    return tt_fail(TT_UNSUPPORTED, "its tokenizer splits text like \"%s\", which tt does not know", pre);
}

static bool is_text(const char *s, size_t n)
{
    uint32_t point;
    for (size_t at = 0; at < n;) {
        at += (size_t)tt_utf8_decode(s + at, n - at, &point);
        if (!point || !tt_utf8_is_character(point)) return false;
    }
    return n > 0;
}

static tt_status put_word(struct reading *r, const char *s, size_t n, int64_t id)
{
    char *key = strndup(s, n);
    if (!key) return tt_no_memory("the tokenizer");
    tt_json_put_int(&r->w, key, id);
    free(key);
    return TT_OK;
}

static tt_status put_added(struct reading *r, const char *s, size_t n, int64_t id, bool special)
{
    if (id == r->begin.id && !(r->begin.name = strndup(s, n))) return tt_no_memory("the tokenizer");
    if (id == r->end.id && !(r->end.name = strndup(s, n))) return tt_no_memory("the tokenizer");
    tt_hf_put_added(&r->w, id, s, n, special);
    return TT_OK;
}

static tt_status open_tokens(const struct tt_gguf *g, struct tt_gguf_array *tokens)
{
    bool there = tt_gguf_array(g, "tokenizer.ggml.tokens", tokens);
    return there && tokens->type == TT_GGUF_STRING && tokens->n <= TT_TOKENIZER_MOST ? TT_OK
                                                                                     : unlike("has no list of tokens");
}

/* In tt's own tokenizers, a control token 0 ends texts. */
static bool is_own_end(const struct reading *r, int64_t id, int64_t type)
{
    return r->kind >= 0 && !id && type == TT_TOKEN_CONTROL;
}

/* The normal tokens as a vocabulary, or the others as a list of added ones. */
static tt_status put_tokens(struct reading *r, bool added)
{
    struct tt_gguf_array tokens, kinds;
    const char *s;
    size_t n;
    int64_t type = TT_TOKEN_NORMAL;
    TT_TRY(open_tokens(r->g, &tokens));
    bool typed = tt_gguf_array(r->g, "tokenizer.ggml.token_type", &kinds);
    for (int64_t i = 0; tt_gguf_next_string(&tokens, &s, &n); i++) {
        if (typed && !tt_gguf_next_int(&kinds, &type)) return unlike("has tokens without a type");
        if (is_own_end(r, i, type)) {
            if (added) tt_hf_put_added(&r->w, 0, TT_END_OF_TEXT, strlen(TT_END_OF_TEXT), true);
            if (!added) tt_json_put_int(&r->w, TT_END_OF_TEXT, 0);
            continue;
        }
        if (type == TT_TOKEN_UNUSED || (r->kind >= 0 && type != TT_TOKEN_NORMAL)) continue;
        if (type != TT_TOKEN_NORMAL && type != TT_TOKEN_CONTROL && type != TT_TOKEN_USER)
            return unlike("has tokens of a type that tt does not know");
        if ((type == TT_TOKEN_NORMAL) == added) continue;
        if (!is_text(s, n)) return unlike("has a token that is empty or not UTF-8");
        TT_TRY(added ? put_added(r, s, n, i, type == TT_TOKEN_CONTROL) : put_word(r, s, n, i));
    }
    return TT_OK;
}

static tt_status put_merges(struct reading *r)
{
    struct tt_gguf_array merges;
    const char *s;
    size_t n;
    if (!tt_gguf_array(r->g, "tokenizer.ggml.merges", &merges) || merges.type != TT_GGUF_STRING ||
        merges.n > TT_TOKENIZER_MOST)
        return unlike("has no list of merges");
    tt_json_begin(&r->w, "merges", '[');
    while (tt_gguf_next_string(&merges, &s, &n)) {
        if (!is_text(s, n)) return unlike("has a merge that is empty or not UTF-8");
        tt_json_put_text(&r->w, NULL, s, n);
    }
    tt_json_end(&r->w, ']');
    return TT_OK;
}

static void put_part(struct tt_json_writer *w, const char *kind, const char *id, int type)
{
    tt_json_begin(w, NULL, '{');
    tt_json_begin(w, kind, '{');
    tt_json_put_string(w, "id", id);
    tt_json_put_int(w, "type_id", type);
    tt_json_end(w, '}');
    tt_json_end(w, '}');
}

/* A template that puts the token before each text. */
static void put_post_processor(struct reading *r)
{
    struct tt_json_writer *w = &r->w;
    if (!r->puts_begin || !r->begin.name) {
        tt_json_put_null(w, "post_processor");
        return;
    }
    tt_json_begin(w, "post_processor", '{');
    tt_json_put_string(w, "type", "TemplateProcessing");
    for (int pair = 0; pair < 2; pair++) {
        tt_json_begin(w, pair ? "pair" : "single", '[');
        for (int i = 0; i <= pair; i++) {
            put_part(w, "SpecialToken", r->begin.name, i);
            put_part(w, "Sequence", i ? "B" : "A", i);
        }
        tt_json_end(w, ']');
    }
    tt_json_begin(w, "special_tokens", '{');
    tt_json_begin(w, r->begin.name, '{');
    tt_json_put_string(w, "id", r->begin.name);
    tt_json_begin(w, "ids", '[');
    tt_json_put_int(w, NULL, r->begin.id);
    tt_json_end(w, ']');
    tt_json_begin(w, "tokens", '[');
    tt_json_put_string(w, NULL, r->begin.name);
    tt_json_end(w, ']');
    tt_json_end(w, '}');
    tt_json_end(w, '}');
    tt_json_end(w, '}');
}

static void put_about(struct reading *r)
{
    const char *chat;
    size_t n;
    if (r->kind >= 0) return;
    tt_json_begin(&r->w, TT_HF_ABOUT, '{');
    tt_json_put_string(&r->w, "tokenizer_class", "PreTrainedTokenizerFast");
    tt_json_put_bool(&r->w, "clean_up_tokenization_spaces", false);
    if (r->begin.name) tt_json_put_string(&r->w, "bos_token", r->begin.name);
    if (r->end.name) tt_json_put_string(&r->w, "eos_token", r->end.name);
    if (tt_gguf_text(r->g, "tokenizer.chat_template", &chat, &n) && is_text(chat, n))
        tt_json_put_text(&r->w, "chat_template", chat, n);
    tt_json_end(&r->w, '}');
}

static tt_status put_json(struct reading *r)
{
    struct tt_json_writer *w = &r->w;
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "version", "1.0");
    tt_json_begin(w, "added_tokens", '[');
    TT_TRY(put_tokens(r, true));
    tt_json_end(w, ']');
    tt_json_put_null(w, "normalizer");
    if (r->kind >= 0)
        tt_hf_put_pre_tokenizer(w, "pre_tokenizer", (enum tt_tokenizer_kind)r->kind);
    else
        tt_hf_put_cut(w, "pre_tokenizer", &r->cut);
    put_post_processor(r);
    put_about(r);
    tt_hf_put_byte_level(w, "decoder");
    tt_json_begin(w, "model", '{');
    tt_json_put_string(w, "type", "BPE");
    if (r->kind < 0) tt_json_put_bool(w, "ignore_merges", r->whole_first);
    tt_json_begin(w, "vocab", '{');
    TT_TRY(put_tokens(r, false));
    tt_json_end(w, '}');
    TT_TRY(put_merges(r));
    tt_json_end(w, '}');
    tt_json_end(w, '}');
    return tt_text_status(&w->text);
}

/* ---- tt's own characters, which JSON cannot hold when one is U+0000 ---- */

/* The character whose bytes a token spells; false if it spells none or more. */
static bool to_point(const char *s, size_t n, uint32_t *point)
{
    char bytes[8];
    size_t count = 0;
    for (size_t at = 0; at < n; count++) {
        at += (size_t)tt_utf8_decode(s + at, n - at, point);
        int byte = tt_hf_byte_of(*point);
        if (byte < 0 || count == sizeof bytes) return false;
        bytes[count] = (char)byte;
    }
    return count && tt_utf8_decode(bytes, count, point) == (int)count && tt_utf8_is_character(*point);
}

static tt_status read_chars(struct reading *r, struct tt_tokenizer **out)
{
    struct tt_gguf_array tokens, kinds;
    const char *s;
    size_t n;
    int64_t type, count = 0;
    TT_TRY(open_tokens(r->g, &tokens));
    uint32_t *points = calloc((size_t)tokens.n + 1, sizeof *points);
    tt_status st = points ? TT_OK : tt_no_memory("the tokenizer");
    if (!st && !tt_gguf_array(r->g, "tokenizer.ggml.token_type", &kinds)) st = unlike("has tokens without a type");
    while (!st && tt_gguf_next_string(&tokens, &s, &n)) {
        if (!tt_gguf_next_int(&kinds, &type)) break;
        if (is_own_end(r, count, type)) { /* points[0] is 0 */
            count++;
            continue;
        }
        if (type != TT_TOKEN_NORMAL) break; /* rows of the model without a token */
        if (!to_point(s, n, &points[count]) || (count && points[count] <= points[count - 1]))
            st = unlike("does not list its characters in order");
        count++;
    }
    if (!st && !count) st = unlike("has no list of tokens");
    if (!st) st = tt_tokenizer_from_points(points, count, out);
    free(points);
    return st;
}

static tt_status read_json(struct reading *r, struct tt_tokenizer **out)
{
    struct tt_json *j = NULL;
    tt_status st = put_json(r);
    if (!st) st = tt_json_parse(r->w.text.s, r->w.text.n, &j);
    if (!st) st = tt_hf_tokenizer_read(j, out);
    tt_json_free(j);
    tt_text_free(&r->w.text);
    free(r->begin.name);
    free(r->end.name);
    return st;
}

tt_status tt_gguf_tokenizer_get(const struct tt_gguf *g, struct tt_tokenizer **out, struct tt_text *note)
{
    struct reading r = {.g = g};
    *out = NULL;
    tt_status st = check_model(&r);
    if (!st) st = r.kind == TT_CHARS ? read_chars(&r, out) : read_json(&r, out);
    if (!st || st->code != TT_UNSUPPORTED) return st;
    tt_text_puts(note, st->text);
    tt_status_free(st);
    return TT_OK;
}
