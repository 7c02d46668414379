/* tt import: a LLaMA of transformers or of llama.cpp as a checkpoint of step 0. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/json.h"
#include "core/base/writable.h"
#include "core/train/open.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/gguf_tokenizer.h"
#include "model/exchange/hf.h"
#include "model/params.h"

/* ---- options ---- */

struct import_options {
    char from[1024];
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct import_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"from", AT(from), "Exchange", 1 << TT_CMD_IMPORT, "", NULL, "PATH",
     .help = "model to read: a folder of Hugging Face's transformers, or a GGUF file of llama.cpp"},
    {"seq-len", TT_RUN_FIELD(seq_len), TT_S_MODEL, 1 << TT_CMD_IMPORT, "1024", "[1, 1048560]", "N",
     .help = "tokens in a sequence when training goes on, at most as many as the model was made for"},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_IMPORT, "runs/imported", NULL, "DIR",
     .help = "folder of the new run, which begins with this model", .here = true, .required = true},
};
// clang-format on
const struct tt_rows tt_import_rows = TT_ROWS(rows);
TT_OWN_FITS(struct import_options);

struct import {
    const struct tt_config *c;
    const struct import_options *own;
    struct tt_gguf *gguf;    /* the model, if it is a file; else it is a folder */
    struct tt_options train; /* options that tt train takes from the checkpoint */
    struct tt_params params;
    float *weights, *zeros;
    struct tt_tokenizer *tokenizer;
    struct tt_text config, note;
    int64_t count;
};

static tt_status describe(struct import *m)
{
    struct tt_config *t = &m->train.c;
    TT_TRY(tt_options_init(&m->train, TT_CMD_TRAIN));
    if (access(m->own->from, F_OK))
        return tt_fail(TT_USAGE, "there is no %s; give the folder of a Hugging Face model, or a GGUF file",
                       m->own->from);
    if (tt_is_file(m->own->from)) TT_TRY(tt_gguf_open(m->own->from, &m->gguf));
    TT_TRY(m->gguf ? tt_gguf_import_config(m->gguf, m->own->from, t) : tt_hf_import_config(m->own->from, t));
    t->max_positions = 0;
    if (t->seq_len > m->c->seq_len) { /* many models allow a length that few devices have memory for */
        t->max_positions = t->seq_len;
        t->seq_len = m->c->seq_len;
    }
    t->learning_rate = 1e-4;                                    /* gentle: these weights are worth keeping */
    strcpy(t->data, TT_NO_DATA);
    return tt_context(tt_config_check(t), "%s", m->own->from);
}

static tt_status refuse_old_run(const char *out)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    char *newest = NULL;
    tt_status st = tt_is_dir(out) ? tt_checkpoint_find(out, NULL, NULL, &newest) : TT_OK;
    if (st && st->code != TT_DAMAGED) return st;
    bool used = st || newest || tt_is_file(path);
    tt_status_free(st);
    free(newest);
    return used ? tt_fail(TT_USAGE, "%s holds a run already; choose another --out", out) : TT_OK;
}

/* Drops a tokenizer with more tokens than the model has rows: it belongs to another model. */
static void check_tokenizer(struct import *m)
{
    int64_t size = m->tokenizer ? tt_tokenizer_size(m->tokenizer) : 0;
    if (size <= m->train.c.vocab_size) return;
    tt_text_printf(&m->note, "its tokenizer has %lld tokens, and the model %lld", (long long)size,
                   (long long)m->train.c.vocab_size);
    tt_tokenizer_free(m->tokenizer);
    m->tokenizer = NULL;
}

static tt_status read_model(struct import *m)
{
    const char *from = m->own->from;
    if (m->gguf) {
        TT_TRY(tt_gguf_import_weights(m->gguf, from, &m->train.c, &m->params, &m->weights));
        return tt_gguf_tokenizer_get(m->gguf, &m->tokenizer, &m->note);
    }
    TT_TRY(tt_hf_import_weights(from, &m->train.c, &m->params, &m->weights));
    return tt_hf_import_tokenizer(from, m->train.c.end_token, &m->tokenizer, &m->note);
}

/* Sets the tokens that begin and end a text in the configuration: without an end that the tokenizer names itself, and
 * without rows of the model that are no token. */
static void settle_tokens(struct import *m)
{
    struct tt_config *c = &m->train.c;
    struct tt_text_ends ends = tt_text_ends(c, NULL);
    if (!m->tokenizer) return;
    bool said = tt_ends_text(&ends, tt_tokenizer_end(m->tokenizer));
    if (c->begin_token >= tt_tokenizer_size(m->tokenizer)) c->begin_token = -1;
    c->end_token = said ? tt_tokenizer_end(m->tokenizer) : -1;
    c->end_tokens[0] = 0;
    for (int i = 0; i < ends.count; i++)
        if (ends.tokens[i] < tt_tokenizer_size(m->tokenizer)) tt_ends_add(c, ends.tokens[i]);
    if (said) c->end_token = -1;
}

static tt_status convert(struct import *m)
{
    TT_TRY(tt_params_create(&m->train.c, &m->params));
    TT_TRY(read_model(m));
    check_tokenizer(m);
    settle_tokens(m);
    tt_options_print(&m->train, &m->config);
    TT_TRY(tt_text_status(&m->config));
    for (int i = 0; i < m->params.n; i++) m->count += m->params.items[i].count;
    m->zeros = calloc((size_t)m->params.total, sizeof *m->zeros);
    return m->zeros ? TT_OK : tt_no_memory("the state of the optimiser");
}

/* Removes the folders of a path, up to one that was there before, as long as they are empty. */
static void remove_empty(const char *path, const char *there)
{
    char part[sizeof((struct tt_config *)0)->out];
    snprintf(part, sizeof part, "%s", path);
    while (strcmp(part, there) && !rmdir(part) && tt_go_up(part)) {}
}

/* Checks again for a run: a folder that was free when the command began may hold one by now. */
static tt_status save_in_folder(struct import *m, const struct tt_checkpoint *c)
{
    int lock;
    char there[sizeof m->c->out];
    snprintf(there, sizeof there, "%s", m->c->out);
    while (access(there, F_OK) && tt_go_up(there)) {}
    TT_TRY(tt_folder_lock(m->c->out, 0, &lock));
    tt_status st = refuse_old_run(m->c->out);
    if (st) st->code = TT_FAILED;
    if (!st) st = tt_checkpoint_save(m->c->out, c, 0);
    if (st) remove_empty(m->c->out, there);
    tt_folder_unlock(&lock);
    return st;
}

static tt_status save(struct import *m)
{
    struct tt_checkpoint c = {.config = m->config.s,
                              .tokenizer = m->tokenizer,
                              .params = &m->params,
                              .w = m->weights,
                              .m = m->zeros,
                              .v = m->zeros};
    c.progress = (struct tt_progress){.seed = (uint64_t)m->train.c.seed, .best_val = INFINITY, .loss_scale = 1};
    return save_in_folder(m, &c);
}

static void print_text(const struct import *m)
{
    const struct tt_config *t = &m->train.c;
    char count[32], out[1300];
    tt_format_count((double)m->count, count);
    tt_shell_word(m->c->out, out, sizeof out);
    printf("read    %s: %lld layer%s, hidden %lld, %lld head%s (%lld key/value) of %lld, ffn %lld, vocabulary %lld, %s "
           "head: %s parameters\n",
           m->own->from, (long long)t->num_layers, tt_plural(t->num_layers), (long long)t->hidden_dim,
           (long long)t->num_heads, tt_plural(t->num_heads), (long long)t->num_kv_heads, (long long)tt_head_dim(t),
           (long long)t->ffn_dim, (long long)t->vocab_size, t->tie_embeddings ? "tied" : "untied", count);
    if (m->note.n)
        printf("note    no tokenizer: %s. Train on token files made with the model's own; prompts are token numbers\n",
               m->note.s);
    if (m->tokenizer && tt_tokenizer_puts_more(m->tokenizer))
        printf("note    the model's tokenizer adds tokens after a text, or several before it; tt does not\n");
    printf("saved   %s/step-00000000\n", m->c->out);
    if (!m->c->quiet)
        printf("next    tt train --resume %s --data SOURCE --out DIR        tt generate %s\n", out, out);
}

static tt_status print_json(const struct import *m)
{
    struct tt_json_writer w = {0};
    char path[1200];
    snprintf(path, sizeof path, "%s/step-00000000", m->c->out);
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "from", m->own->from);
    tt_json_put_string(&w, "checkpoint", path);
    tt_json_put_int(&w, "parameters", m->count);
    tt_json_put_bool(&w, "tokenizer", m->tokenizer != NULL);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static tt_status run(struct import *m)
{
    if (!m->own->from[0])
        return tt_fail(TT_USAGE, "no model is named; give its folder or GGUF file: tt import PATH --out runs/model");
    TT_TRY(describe(m));
    TT_TRY(refuse_old_run(m->c->out));
    TT_TRY(convert(m));
    TT_TRY(save(m));
    if (m->c->json) return print_json(m);
    print_text(m);
    return TT_OK;
}

tt_status tt_cmd_import(const struct tt_options *o)
{
    struct import *m = calloc(1, sizeof *m);
    if (!m) return tt_no_memory("the command");
    m->c = &o->c;
    m->own = tt_own(o);
    tt_status st = run(m);
    tt_gguf_close(m->gguf);
    tt_tokenizer_free(m->tokenizer);
    tt_text_free(&m->config);
    tt_text_free(&m->note);
    tt_params_free(&m->params);
    free(m->weights);
    free(m->zeros);
    free(m);
    return st;
}
