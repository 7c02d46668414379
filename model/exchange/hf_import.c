/* Imports a folder of transformers into a parameter arena. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/pointer.h"
#include "core/checkpoint/safetensors.h"
#include "core/data/tokenizers/hf_about.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "model/exchange/hf.h"
#include "model/exchange/hf_config.h"
#include "model/exchange/hf_names.h"
#include "model/exchange/weights.h"

enum { JSON_LIMIT = 64 << 20, MOST_FILES = 1024 };

struct model_files {
    const char *dir;
    struct tt_safetensors **files;
    int n;
    bool bare; /* names without "model." */
};

static tt_status read_json(const char *dir, const char *name, struct tt_json **out)
{
    char *path, *text = NULL;
    size_t n;
    *out = NULL;
    if (asprintf(&path, "%s/%s", dir, name) < 0) return tt_no_memory("an imported model");
    tt_status st = tt_file_read(path, JSON_LIMIT, &text, &n);
    if (!st) st = tt_refuse_pointer(path);
    if (!st) st = tt_context(tt_json_parse(text, n, out), "%s is damaged", path);
    free(text);
    free(path);
    return st;
}

static bool has_file(const char *dir, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0) return false;
    bool there = tt_is_file(path);
    free(path);
    return there;
}

tt_status tt_hf_import_config(const char *dir, struct tt_config *c)
{
    struct tt_json *j;
    if (!tt_is_dir(dir)) return tt_fail(TT_USAGE, "there is no folder %s; give that of a Hugging Face model", dir);
    if (!has_file(dir, "config.json"))
        return tt_fail(TT_USAGE, "%s has no config.json; give the folder of a Hugging Face model", dir);
    TT_TRY(read_json(dir, "config.json", &j));
    tt_status st = tt_hf_config_read(j, c);
    tt_json_free(j);
    TT_TRY(tt_context(st, "%s", dir));
    if (!has_file(dir, "generation_config.json")) return TT_OK;
    TT_TRY(read_json(dir, "generation_config.json", &j)); /* the tokens at which transformers stops */
    tt_hf_ends_read(j, c);
    tt_json_free(j);
    return TT_OK;
}

/* ---- the files ---- */

static tt_status open_file(struct model_files *m, const char *name)
{
    char *path;
    struct tt_safetensors **files = realloc(m->files, (size_t)(m->n + 1) * sizeof *files);
    if (!files) return tt_no_memory("an imported model");
    m->files = files;
    if (asprintf(&path, "%s/%s", m->dir, name) < 0) return tt_no_memory("an imported model");
    tt_status st = tt_safetensors_open(path, &m->files[m->n]);
    free(path);
    if (!st) m->n++;
    return st;
}

/* Whether an earlier entry of the map names the same file. */
static bool seen_before(const struct tt_json *map, const struct tt_json *entry)
{
    for (const struct tt_json *e = map->first; e != entry; e = e->next)
        if (!strcmp(e->string, entry->string)) return true;
    return false;
}

static tt_status open_shards(struct model_files *m)
{
    struct tt_json *j;
    TT_TRY(read_json(m->dir, "model.safetensors.index.json", &j));
    const struct tt_json *map = tt_json_get(j, "weight_map"), *last = NULL;
    tt_status st = TT_OK;
    if (!map || map->type != TT_JSON_OBJECT || !map->count)
        st = tt_fail(TT_FAILED, "model.safetensors.index.json has no \"weight_map\"; take another copy of it");
    for (const struct tt_json *e = st ? NULL : map->first; e && !st; last = e, e = e->next) {
        if (e->type != TT_JSON_STRING || strchr(e->string, '/') || e->string[0] == '.')
            st = tt_fail(TT_FAILED, "model.safetensors.index.json names a file outside of its folder");
        else if ((last && !strcmp(last->string, e->string)) || seen_before(map, e))
            continue;
        else if (m->n == MOST_FILES)
            st = tt_fail(TT_FAILED, "model.safetensors.index.json names more than %d files", MOST_FILES);
        else
            st = open_file(m, e->string);
    }
    tt_json_free(j);
    return st;
}

static const struct tt_tensor *find(const struct model_files *m, const char *name, int *file)
{
    for (int i = 0; i < m->n; i++) {
        const struct tt_tensor *t = tt_safetensors_find(m->files[i], name);
        if (t && file) *file = i;
        if (t) return t;
    }
    return NULL;
}

static tt_status open_files(struct model_files *m)
{
    if (has_file(m->dir, "model.safetensors"))
        TT_TRY(open_file(m, "model.safetensors"));
    else if (has_file(m->dir, "model.safetensors.index.json"))
        TT_TRY(open_shards(m));
    else
        return tt_fail(TT_USAGE,
                       "%s has neither model.safetensors nor model.safetensors.index.json; save the model with "
                       "save_pretrained(..., safe_serialization=True)",
                       m->dir);
    m->bare = !find(m, "model.embed_tokens.weight", NULL) && find(m, "embed_tokens.weight", NULL);
    return TT_OK;
}

static void close_files(struct model_files *m)
{
    for (int i = 0; i < m->n; i++) tt_safetensors_close(m->files[i]);
    free(m->files);
}

/* ---- the tensors ---- */

static tt_status check_tensor(const struct model_files *m, const struct tt_param *p, const char *name)
{
    const struct tt_tensor *t = find(m, name, NULL);
    if (!t) return tt_fail(TT_FAILED, "%s has no tensor %s; the files of the model are not complete", m->dir, name);
    if (strcmp(t->type, "F32") && strcmp(t->type, "F16") && strcmp(t->type, "BF16"))
        return tt_fail(TT_USAGE, "%s: tensor %s is %s; only F32, F16 and BF16 can be read", m->dir, name, t->type);
    return tt_weights_check_shape(m->dir, t, p, "config.json");
}

static bool is_expected(const struct model_files *m, const struct tt_params *params, const char *name)
{
    char expected[128];
    /* RoPE tables of old versions, and a head that is tied to the embedding (check_tied) */
    if (strstr(name, "rotary_emb.inv_freq") || !strcmp(name, "lm_head.weight")) return true;
    for (int i = 0; i < params->n; i++) {
        tt_hf_name(params->items[i].name, m->bare, expected, sizeof expected);
        if (!strcmp(expected, name)) return true;
    }
    return false;
}

/* An unknown tensor is an error; otherwise a part of the model would be silently missing. */
static tt_status check_others(const struct model_files *m, const struct tt_params *params)
{
    for (int f = 0; f < m->n; f++)
        for (int i = 0; i < tt_safetensors_count(m->files[f]); i++) {
            const char *name = tt_safetensors_at(m->files[f], i)->name;
            if (!is_expected(m, params, name))
                return tt_fail(
                    TT_FAILED,
                    "%s: tensor %.200s does not belong to a LLaMA of this shape; the model cannot be imported", m->dir,
                    name);
        }
    return TT_OK;
}

static tt_status check_all(const struct model_files *m, const struct tt_params *params)
{
    char name[128];
    for (int i = 0; i < params->n; i++) {
        tt_hf_name(params->items[i].name, m->bare, name, sizeof name);
        TT_TRY(check_tensor(m, &params->items[i], name));
    }
    return check_others(m, params);
}

static tt_status read_all(const struct model_files *m, const struct tt_config *c, const struct tt_params *params,
                          float *w)
{
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        char name[128];
        int file = 0;
        tt_hf_name(p->name, m->bare, name, sizeof name);
        const struct tt_tensor *t = find(m, name, &file);
        TT_TRY(tt_safetensors_read(m->files[file], t, w + p->offset));
        TT_TRY(tt_weights_finite(m->dir, name, w + p->offset, p->count));
        if (tt_hf_rotary(p->name)) TT_TRY(tt_hf_permute(w + p->offset, p, tt_head_dim(c), false));
    }
    return TT_OK;
}

/* With tied embeddings, a head in the file must equal the embedding. Some programs store it twice. Others store a
 * separate head although config.json says that it is tied; transformers then uses that head. */
static tt_status check_tied(const struct model_files *m, const struct tt_params *params, const float *w)
{
    int file = 0;
    const struct tt_tensor *head = find(m, "lm_head.weight", &file);
    const struct tt_param *p = &params->items[0]; /* the embedding */
    if (!head) return TT_OK;
    TT_TRY(check_tensor(m, p, "lm_head.weight"));
    float *own = malloc((size_t)head->count * sizeof *own);
    if (!own) return tt_no_memory("an imported model");
    tt_status st = tt_safetensors_read(m->files[file], head, own);
    bool same = !st && !memcmp(own, w + p->offset, (size_t)head->count * sizeof *own);
    free(own);
    if (st || same) return st;
    return tt_fail(TT_FAILED,
                   "%s: config.json says that head and embedding are one, but lm_head.weight differs from "
                   "embed_tokens.weight; set \"tie_word_embeddings\": false in it",
                   m->dir);
}

tt_status tt_hf_import_weights(const char *dir, const struct tt_config *c, const struct tt_params *params,
                               float **weights)
{
    struct model_files m = {.dir = dir};
    *weights = NULL;
    tt_status st = open_files(&m);
    if (!st) st = check_all(&m, params);
    if (!st && !(*weights = calloc((size_t)params->total, sizeof **weights))) st = tt_no_memory("an imported model");
    if (!st) st = read_all(&m, c, params, *weights);
    if (!st && c->tie_embeddings) st = check_tied(&m, params, *weights);
    close_files(&m);
    if (!st) return TT_OK;
    free(*weights);
    *weights = NULL;
    return st;
}

tt_status tt_hf_import_tokenizer(const char *dir, int64_t end, struct tt_tokenizer **out, struct tt_text *note)
{
    struct tt_json *j, *both = NULL;
    *out = NULL;
    if (!has_file(dir, "tokenizer.json")) {
        tt_text_puts(note, "it has no tokenizer.json");
        return TT_OK;
    }
    TT_TRY(read_json(dir, "tokenizer.json", &j));
    tt_status st = tt_hf_about_join(dir, j, end, &both);
    if (!st) st = tt_hf_tokenizer_read(both ? both : j, out);
    tt_json_free(both);
    tt_json_free(j);
    if (!st || st->code != TT_UNSUPPORTED) return st;
    tt_text_puts(note, st->text);
    tt_status_free(st);
    return TT_OK;
}
