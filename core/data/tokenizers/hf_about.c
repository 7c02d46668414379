#include "core/data/tokenizers/hf_about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/utf8.h"

enum { LIMIT = 16 << 20 };

/* ---- joining the files ---- */

/* *text is NULL if there is no such file. */
static tt_status read_file(const char *dir, const char *name, char **text, size_t *n)
{
    char *path;
    *text = NULL;
    *n = 0;
    if (asprintf(&path, "%s/%s", dir, name) < 0) return tt_no_memory("a path");
    tt_status st = tt_is_file(path) ? tt_file_read(path, LIMIT, text, n) : TT_OK;
    free(path);
    return st;
}

static tt_status read_config(const char *dir, struct tt_json **out)
{
    char *text;
    size_t n;
    *out = NULL;
    TT_TRY(read_file(dir, "tokenizer_config.json", &text, &n));
    tt_status st = text ? tt_json_parse(text, n, out) : TT_OK;
    free(text);
    if (!st && *out && (*out)->type != TT_JSON_OBJECT) {
        tt_json_free(*out);
        *out = NULL;
        st = tt_fail(TT_FAILED, "it is not a JSON object");
    }
    return tt_context(st, "%s/tokenizer_config.json is damaged", dir);
}

static tt_status read_template(const char *dir, char **text, size_t *n)
{
    TT_TRY(read_file(dir, "chat_template.jinja", text, n));
    if (!*text || (tt_utf8_valid(*text, *n) && !memchr(*text, 0, *n))) return TT_OK;
    free(*text);
    *text = NULL;
    return tt_fail(TT_FAILED, "%s/chat_template.jinja is not UTF-8; take another copy of it", dir);
}

static bool is_null(const struct tt_json *v) { return !v || v->type == TT_JSON_NULL; }

static const char class_name[] = "PreTrainedTokenizerFast", cleans[] = "clean_up_tokenization_spaces";

/* Whether tt wrote this file. It then says nothing about the tokenizer. */
static bool says_nothing(const struct tt_json *config)
{
    const struct tt_json *clean = tt_json_get(config, cleans);
    return config && config->count == 2 && clean && clean->type == TT_JSON_BOOL && !clean->boolean &&
           !strcmp(tt_json_string(config, "tokenizer_class", ""), class_name);
}

static const char *content_of(const struct tt_json *j, int64_t id)
{
    const struct tt_json *added = tt_json_get(j, "added_tokens");
    int64_t own;
    for (const struct tt_json *e = added && added->type == TT_JSON_ARRAY ? added->first : NULL; e; e = e->next)
        if (tt_json_int(e, "id", 0, INT64_MAX, &own) && own == id) return tt_json_string(e, "content", NULL);
    return NULL;
}

/* auto_map names programs that lie beside the files. They are not copied, so auto_map is left out, and class_name takes
 * the place of the class that they define. */
static void put_config(struct tt_json_writer *w, const struct tt_json *config, const char *template, size_t n,
                       const char *end)
{
    bool programs = !is_null(tt_json_get(config, "auto_map"));
    tt_json_begin(w, TT_HF_ABOUT, '{');
    for (const struct tt_json *e = config ? config->first : NULL; e; e = e->next) {
        bool replaced = (template && !strcmp(e->key, "chat_template")) || (end && !strcmp(e->key, "eos_token")) ||
                        (programs && !strcmp(e->key, "tokenizer_class")) || !strcmp(e->key, "auto_map");
        if (!replaced) tt_json_put_value(w, e->key, e);
    }
    if (programs || is_null(tt_json_get(config, "tokenizer_class")))
        tt_json_put_string(w, "tokenizer_class", class_name);
    if (end) tt_json_put_string(w, "eos_token", end);
    if (template) tt_json_put_text(w, "chat_template", template, n);
    tt_json_end(w, '}');
}

tt_status tt_hf_about_join(const char *dir, const struct tt_json *j, int64_t end, struct tt_json **out)
{
    struct tt_json *config = NULL;
    struct tt_json_writer w = {0};
    char *template = NULL;
    size_t n = 0;
    *out = NULL;
    if (!j || j->type != TT_JSON_OBJECT || tt_json_get(j, TT_HF_ABOUT)) return TT_OK;
    tt_status st = read_config(dir, &config);
    if (!st) st = read_template(dir, &template, &n);
    const char *name = is_null(tt_json_get(config, "eos_token")) ? content_of(j, end) : NULL;
    if (!st && ((config && !says_nothing(config)) || template || name)) {
        tt_json_begin(&w, NULL, '{');
        for (const struct tt_json *e = j->first; e; e = e->next) tt_json_put_value(&w, e->key, e);
        put_config(&w, config, template, n, name);
        tt_json_end(&w, '}');
        st = tt_text_status(&w.text);
        if (!st) st = tt_json_parse(w.text.s, w.text.n, out);
    }
    tt_text_free(&w.text);
    tt_json_free(config);
    free(template);
    return st;
}

/* ---- reading ---- */

/* The added token that the field names, by a string or by an object with that string as its content; -1: none. */
static int32_t named(const struct tt_hf_bpe *b, const struct tt_json *about, const char *key)
{
    const struct tt_json *v = tt_json_get(about, key);
    const char *name = v && v->type == TT_JSON_STRING ? v->string : tt_json_string(v, "content", NULL);
    for (int i = 0; name && i < b->added_count; i++) {
        int32_t token = b->added[i].token;
        if (!tt_hf_bpe_compare(b->bytes[token], b->length[token], name, (int64_t)strlen(name))) return token;
    }
    return -1;
}

static int32_t special(const struct tt_hf_bpe *b, const struct tt_json *post, const char *name)
{
    const struct tt_json *ids = tt_json_get(tt_json_get(tt_json_get(post, "special_tokens"), name), "ids");
    int64_t token;
    bool one = ids && ids->type == TT_JSON_ARRAY && ids->count == 1 &&
               tt_json_as_int(ids->first, 0, b->size - 1, &token) && b->bytes[token];
    return one ? (int32_t)token : -1;
}

/* A template is a list: the text, and special tokens before and after it. */
static void read_template_of(const struct tt_json *post, struct tt_hf_bpe *b)
{
    const struct tt_json *single = tt_json_get(post, "single");
    for (const struct tt_json *e = single && single->type == TT_JSON_ARRAY ? single->first : NULL; e; e = e->next) {
        const char *name = tt_json_string(tt_json_get(e, "SpecialToken"), "id", NULL);
        if (!name) continue;
        bool first = e == single->first && b->begin < 0;
        if (first) b->begin = special(b, post, name);
        if (!first || b->begin < 0) b->puts_more = true;
    }
}

static void read_post(const struct tt_json *post, struct tt_hf_bpe *b)
{
    const char *type = tt_json_string(post, "type", "");
    const struct tt_json *parts = tt_json_get(post, "processors");
    if (!strcmp(type, "TemplateProcessing"))
        read_template_of(post, b);
    else if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        b->puts_more = true;
    for (const struct tt_json *e = parts && parts->type == TT_JSON_ARRAY ? parts->first : NULL; e; e = e->next)
        read_post(e, b);
}

tt_status tt_hf_about_read(const struct tt_json *j, struct tt_hf_bpe *b)
{
    const struct tt_json *about = tt_json_get(j, TT_HF_ABOUT);
    struct tt_json_writer w = {0};
    b->begin = -1;
    read_post(tt_json_get(j, "post_processor"), b);
    b->bos = named(b, about, "bos_token");
    b->eos = named(b, about, "eos_token");
    b->pad = named(b, about, "pad_token");
    if (!about || about->type != TT_JSON_OBJECT) return TT_OK;
    tt_json_put_value(&w, NULL, about);
    b->about = w.text.s;
    return tt_text_status(&w.text);
}

/* ---- writing ---- */

tt_status tt_hf_about_put(const struct tt_hf_bpe *b, struct tt_json_writer *w)
{
    struct tt_json *about = NULL;
    if (!b || !b->about) {
        tt_json_put_string(w, "tokenizer_class", class_name);
        tt_json_put_bool(w, cleans, false);
        return TT_OK;
    }
    TT_TRY(tt_json_parse(b->about, strlen(b->about), &about));
    for (const struct tt_json *e = about->first; e; e = e->next) tt_json_put_value(w, e->key, e);
    tt_json_free(about);
    return TT_OK;
}

tt_status tt_hf_chat_template(const struct tt_hf_bpe *b, struct tt_text *out)
{
    struct tt_json *about = NULL;
    if (!b->about) return TT_OK;
    TT_TRY(tt_json_parse(b->about, strlen(b->about), &about));
    const struct tt_json *chat = tt_json_get(about, "chat_template");
    if (chat && chat->type == TT_JSON_STRING) tt_text_puts(out, chat->string);
    for (const struct tt_json *e = chat && chat->type == TT_JSON_ARRAY ? chat->first : NULL; e; e = e->next)
        if (!strcmp(tt_json_string(e, "name", ""), "default")) {
            tt_text_puts(out, tt_json_string(e, "template", ""));
            break;
        }
    tt_json_free(about);
    return tt_text_status(out);
}
