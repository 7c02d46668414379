/* tt export: a checkpoint as a model that transformers or llama.cpp opens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "model/exchange/dtypes.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/hf.h"
#include "model/params.h"

/* ---- options ---- */

enum exchange { EXCHANGE_HF, EXCHANGE_GGUF };
static const char *const exchange_names[] = {"hf", "gguf", NULL};

struct export_options {
    char folders[4096]; /* one a line */
    enum exchange format;
    int dtype; /* index into tt_export_dtypes */
    bool nearest_split;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct export_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"folder", AT(folders), "Exchange", 1 << TT_CMD_EXPORT, "", NULL, "PATH",
     .help = "a path that holds a checkpoint or a run is taken as --checkpoint, any other as --out",
     .list = '\n', .here = true},
    {"format", AT(format), "Exchange", 1 << TT_CMD_EXPORT, "hf", TT_CHOICE,
     .help = "hf: write a folder for Hugging Face's transformers; gguf: write a file for llama.cpp, which an --out "
             "that ends in .gguf chooses too",
     .choices = exchange_names},
    {"dtype", AT(dtype), "Exchange", 1 << TT_CMD_EXPORT, "fp32", TT_CHOICE,
     .help = "number format of the weights in the file; q8_0 (8 bits per number, a scale for each 32) is for gguf only",
     .choices = tt_export_dtype_names},
    {"nearest-split", AT(nearest_split), "Exchange", 1 << TT_CMD_EXPORT, "false", NULL, NULL,
     .help = "with gguf: write tt's own bpe, although llama.cpp splits text as GPT-2 does and makes other tokens of "
             "some texts"},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_EXPORT, "exported", NULL, "DIR",
     .help = "where to write the model: a new or empty folder, or with gguf a file", .here = true, .required = true},
};
// clang-format on
const struct tt_rows tt_export_rows = TT_ROWS(rows);
TT_OWN_FITS(struct export_options);

struct export
{
    struct tt_options o;
    const struct export_options *own;
    enum exchange format;
    char *checkpoint;
    struct tt_params params;
    float *weights;
    struct tt_tokenizer *tokenizer;
    struct tt_progress progress;
    bool left_out;       /* the tokenizer */
    struct tt_text note; /* what could not be written, or differs */
    int64_t count;
};

static tt_status holds_checkpoint(const char *folder, bool *holds)
{
    char path[1200], *newest = NULL;
    snprintf(path, sizeof path, "%s/checkpoint.json", folder);
    *holds = tt_is_file(path);
    if (*holds || !tt_is_dir(folder)) return TT_OK;
    tt_status st = tt_checkpoint_find(folder, NULL, NULL, &newest);
    *holds = newest || (st && st->code == TT_DAMAGED); /* loading it says what is wrong with it */
    if (*holds) tt_status_free(st);
    free(newest);
    return *holds ? TT_OK : st;
}

static tt_status no_checkpoint(const char *one, const char *other)
{
    if (!strcmp(one, other))
        return tt_fail(TT_USAGE, "%s holds no checkpoint; make one with: tt train --out %s", one, one);
    return tt_fail(TT_USAGE, "neither %s nor %s holds a checkpoint; name a run, and a new folder for the model", one,
                   other);
}

/* A word without dashes is what to export, if it holds a checkpoint, or else where to. */
static tt_status sort_words(struct export *x)
{
    struct tt_config *c = &x->o.c;
    char word[1024];
    bool from = tt_option_given(&x->o, "checkpoint"), to = tt_option_given(&x->o, "out"), holds;
    for (const char *at = x->own->folders; tt_list_next(&at, '\n', word, sizeof word);) {
        TT_TRY(holds_checkpoint(word, &holds));
        if (holds && from)
            return tt_fail(TT_USAGE, "%s and %s both hold a checkpoint; name one, and a new folder for the model",
                           x->o.call.checkpoint, word);
        if (!holds && to && !from && !tt_option_given(&x->o, "out"))
            return no_checkpoint(c->out, word);
        if (!holds && to)
            return tt_fail(TT_USAGE, "%s holds no checkpoint, and the model goes to %s; name the folder of a run", word,
                           c->out);
        if (holds)
            snprintf(x->o.call.checkpoint, sizeof x->o.call.checkpoint, "%s", word);
        else
            snprintf(c->out, sizeof c->out, "%s", word);
        from |= holds;
        to |= !holds;
    }
    if (from || !x->own->folders[0] || tt_option_given(&x->o, "out")) return TT_OK;
    TT_TRY(holds_checkpoint(x->o.call.checkpoint, &holds));
    return holds ? TT_OK : no_checkpoint(c->out, x->o.call.checkpoint);
}

static tt_status load(struct export *x)
{
    struct tt_config *c = &x->o.c;
    char path[1200];
    TT_TRY(tt_params_create(c, &x->params));
    x->weights = malloc((size_t)x->params.total * sizeof *x->weights);
    if (!x->weights) return tt_no_memory("%.0f MiB of weights", (double)x->params.total * 4 / 0x1p20);
    struct tt_checkpoint from = {.params = &x->params, .w = x->weights};
    TT_TRY(tt_checkpoint_load(x->checkpoint, &from));
    free((char *)from.config);
    x->progress = from.progress;
    for (int i = 0; i < x->params.n; i++) x->count += x->params.items[i].count;
    snprintf(path, sizeof path, "%s/tokenizer.json", x->checkpoint);
    return tt_is_file(path) ? tt_tokenizer_load(path, &x->tokenizer) : TT_OK;
}

static void print_next(const struct export *x)
{
    const char *out = x->o.c.out;
    char word[1300];
    tt_shell_word(out, word, sizeof word);
    if (x->format == EXCHANGE_HF)
        printf("next    python3 -c \"import transformers as t; t.AutoModelForCausalLM.from_pretrained('%s')\"\n", out);
    else if (!x->left_out)
        printf("next    llama-completion -m %s -p TEXT -no-cnv        tt import %s --out runs/model\n", word, word);
}

static void print_text(const struct export *x)
{
    const struct tt_config *c = &x->o.c;
    char count[32];
    tt_format_count((double)x->count, count);
    printf("wrote   %s: %s parameters in %s, step %lld of %s\n", c->out, count, tt_export_dtype_names[x->own->dtype],
           (long long)x->progress.step, x->checkpoint);
    if (!x->tokenizer) printf("note    the checkpoint has no tokenizer, so none was written\n");
    if (x->note.n) printf("note    %s\n", x->note.s);
    if (!c->quiet) print_next(x);
}

static tt_status print_json(const struct export *x)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "checkpoint", x->checkpoint);
    tt_json_put_int(&w, "step", x->progress.step);
    tt_json_put_string(&w, "out", x->o.c.out);
    tt_json_put_string(&w, "format", exchange_names[x->format]);
    tt_json_put_string(&w, "dtype", tt_export_dtype_names[x->own->dtype]);
    tt_json_put_int(&w, "parameters", x->count);
    tt_json_put_bool(&w, "tokenizer", x->tokenizer && !x->left_out);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

/* An output that ends in .gguf chooses that format, unless --format is given. */
static tt_status choose_format(struct export *x)
{
    struct tt_config *c = &x->o.c;
    size_t n = strlen(c->out);
    bool named = n > 5 && !strcmp(c->out + n - 5, ".gguf");
    x->format = named && !tt_option_given(&x->o, "format") ? EXCHANGE_GGUF : x->own->format;
    if (!named && x->format == EXCHANGE_GGUF && !strcmp(c->out, "exported")) strcat(c->out, ".gguf");
    if (x->format == EXCHANGE_HF && tt_export_dtypes[x->own->dtype].hf == TT_DTYPES)
        return tt_fail(TT_USAGE,
                       "a model for transformers has no weights in q8_0; give --format gguf, or --dtype bf16");
    return TT_OK;
}

static tt_status write_model(struct export *x)
{
    struct tt_config *c = &x->o.c;
    if (x->format == EXCHANGE_GGUF) {
        struct tt_gguf_export how = {.config = c,
                                     .params = &x->params,
                                     .weights = x->weights,
                                     .tokenizer = x->tokenizer,
                                     .nearest_split = x->own->nearest_split,
                                     .type = tt_export_dtypes[x->own->dtype].gguf};
        return tt_gguf_export(c->out, &how, &x->left_out, &x->note);
    }
    struct tt_hf_export how = {.config = c,
                               .params = &x->params,
                               .weights = x->weights,
                               .tokenizer = x->tokenizer,
                               .type = tt_export_dtypes[x->own->dtype].hf};
    TT_TRY(tt_hf_export(c->out, &how, &x->note));
    x->left_out = x->note.n;
    return TT_OK;
}

static tt_status run(struct export *x)
{
    struct tt_config *c = &x->o.c;
    TT_TRY(sort_words(x));
    TT_TRY(choose_format(x));
    TT_TRY(tt_use_checkpoint(&x->o, x->o.call.checkpoint, &x->checkpoint));
    tt_config_compute_in(c, TT_FP32); /* weights are kept in full precision, whatever the run computed in */
    TT_TRY(tt_config_check(c));
    TT_TRY(load(x));
    TT_TRY(write_model(x));
    if (c->json) return print_json(x);
    print_text(x);
    return TT_OK;
}

tt_status tt_cmd_export(const struct tt_options *o)
{
    struct export *x = calloc(1, sizeof *x);
    if (!x) return tt_no_memory("the command");
    x->o = *o;
    x->own = tt_own(&x->o);
    tt_status st = run(x);
    tt_tokenizer_free(x->tokenizer);
    tt_text_free(&x->note);
    tt_params_free(&x->params);
    free(x->weights);
    free(x->checkpoint);
    free(x);
    return st;
}
