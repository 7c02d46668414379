/* tt eval: the loss of a checkpoint on validation data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/json.h"
#include "core/base/writable.h"
#include "core/checkpoint/safetensors.h"
#include "core/data/token_file.h"
#include "core/train/evaluate.h"

/* ---- options ---- */

struct eval_options {
    char logits[1024]; /* a file for them; "" = none */
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct eval_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"logits", AT(logits), TT_S_OUTPUT, 1 << TT_CMD_EVAL, "", NULL, "FILE",
     .help = "write the first batch into this safetensors file: its tokens (batch-size, seq-len + 1) as int32, and "
             "its logits (batch-size, seq-len, vocab-size) as fp32; \"\" = none", .here = true},
};
// clang-format on
const struct tt_rows tt_eval_rows = TT_ROWS(rows);
TT_OWN_FITS(struct eval_options);

struct evaluation {
    struct tt_options o;
    const struct eval_options *own;
    char *checkpoint;
    struct tt_backend backend;
    struct tt_data *data;
    struct tt_session session;
    struct tt_progress progress;
    struct tt_evaluation on;
    char measured[2200]; /* which data, and which part of them, in words */
};

/* Describes what was evaluated: the part of the data that training holds out, or all of the named validation data. */
static void describe(struct evaluation *e)
{
    const struct tt_config *c = &e->o.c;
    long long held = tt_data_samples(e->data, TT_VAL), all = held + tt_data_samples(e->data, TT_TRAIN),
              seq = c->seq_len;
    long long windows = e->on.batches * c->batch_size;
    if (!held)
        snprintf(e->measured, sizeof e->measured, "%s", tt_data_describe(e->data));
    else if (c->val_data[0])
        snprintf(e->measured, sizeof e->measured, "%s: %lld of its %lld windows of %lld tokens", c->val_data, windows,
                 held, seq);
    else
        snprintf(e->measured, sizeof e->measured,
                 "%s: %lld of the %lld windows held out of its %lld, each of %lld tokens", c->data,
                 windows, held, all, seq);
}

static void print_text(const struct evaluation *e)
{
    const struct tt_config *c = &e->o.c;
    double floor = tt_data_floor(e->data), loss = e->on.loss;
    if (!c->quiet) {
        tt_print_device(&e->backend);
        tt_print_model(&e->session);
        printf("data    %s\n", e->measured);
        printf("from    %s\n", e->checkpoint);
    }
    long long all = e->on.batches * c->batch_size * c->seq_len;
    printf("loss    %.4f (perplexity %.2f) over %lld tokens", loss, exp(loss), (long long)e->on.targets);
    if (all > e->on.targets) printf(", not counting %lld of prompts", all - (long long)e->on.targets);
    if (floor > 0) printf(", floor %.4f: gap %.4f = %.1f %%", floor, loss - floor, 100 * (loss - floor) / floor);
    putchar('\n');
}

static tt_status print_json(const struct evaluation *e)
{
    struct tt_json_writer w = {0};
    double floor = tt_data_floor(e->data);
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "checkpoint", e->checkpoint);
    tt_json_put_int(&w, "step", e->progress.step);
    tt_json_put_string(&w, "data", e->measured);
    tt_json_put_number(&w, "loss", e->on.loss);
    tt_json_put_number(&w, "perplexity", exp(e->on.loss));
    tt_json_put_number(&w, "floor", floor > 0 ? floor : NAN);
    tt_json_put_int(&w, "tokens", e->on.targets);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

/* ---- --logits: for comparing with another program ---- */

static tt_status compute_logits(struct evaluation *e, struct tt_engine *engine, const int32_t *tokens, float *logits)
{
    const struct tt_config *c = &e->o.c;
    struct tt_plan *plan;
    TT_TRY(tt_model_plan_logits(e->session.model, &plan));
    tt_engine_borrow(engine, &e->session.engine, TT_X_WEIGHTS);
    tt_engine_require(engine, plan);
    tt_status st = tt_engine_alloc(engine, &e->backend);
    if (!st) {
        tt_engine_bind(engine, plan);
        st = tt_model_upload_rope(e->session.model, engine, c->seq_len);
    }
    size_t bytes = (size_t)(c->batch_size * (c->seq_len + 1)) * sizeof *tokens;
    if (!st) st = tt_engine_upload(engine, TT_X_VAL_TOKENS, 0, tokens, bytes);
    if (!st) st = tt_plan_run(plan, &e->backend, NULL);
    bytes = (size_t)(c->batch_size * c->seq_len * c->vocab_size) * sizeof *logits;
    if (!st) st = tt_engine_download(engine, TT_X_LOGITS, 0, logits, bytes);
    tt_plan_free(plan);
    return st;
}

static tt_status write_logits(struct evaluation *e)
{
    const struct tt_config *c = &e->o.c;
    int64_t B = c->batch_size, S = c->seq_len, V = c->vocab_size;
    struct tt_engine engine = {0};
    int32_t *tokens = malloc((size_t)(B * (S + 1)) * sizeof *tokens);
    float *logits = malloc((size_t)(B * S * V) * sizeof *logits);
    tt_status st = tokens && logits ? TT_OK : tt_no_memory("the logits of a batch");
    for (int64_t r = 0; r < B && !st; r++) st = tt_data_sample(e->data, TT_VAL, (uint64_t)r, tokens + r * (S + 1));
    if (!st) st = compute_logits(e, &engine, tokens, logits);
    for (int64_t i = 0; i < B * (S + 1) && !st; i++) tokens[i] = tt_token_of(tokens[i]);
    const struct tt_tensor_source tensors[] = {
        {.name = "logits", .rank = 3, .shape = {B, S, V}, .data = logits},
        {.name = "tokens", .rank = 2, .shape = {B, S + 1}, .data = tokens, .type = "I32"}};
    if (!st) st = tt_safetensors_write(e->own->logits, tensors, 2, NULL, 0, NULL, NULL);
    tt_engine_free(&engine);
    free(tokens);
    free(logits);
    return st;
}

/* With another --data the checkpoint's --val-data does not apply. --val-data alone needs no data to train on. */
static void choose_data(struct tt_options *o)
{
    bool data = tt_option_given(o, "data"), val_data = tt_option_given(o, "val-data") && o->c.val_data[0];
    if (data && !val_data) o->c.val_data[0] = 0;
    if (val_data && !data) memcpy(o->c.data, o->c.val_data, sizeof o->c.data);
}

static tt_status run(struct evaluation *e)
{
    struct tt_config *c = &e->o.c;
    TT_TRY(tt_use_checkpoint(&e->o, e->o.call.checkpoint, &e->checkpoint));
    choose_data(&e->o);
    tt_take_folders(c);
    TT_TRY(tt_config_check(c));
    if (e->own->logits[0]) TT_TRY(tt_could_write(e->own->logits));
    TT_TRY(tt_need_tokenizer(c, e->checkpoint));
    TT_TRY(tt_open_data(c, c->vocab_size, e->checkpoint, &e->data));
    TT_TRY(tt_take_end_token(c, e->data));
    TT_TRY(tt_open_backend(c, &e->backend));
    TT_TRY(tt_session_open(&e->session, &e->backend, c, TT_USE_EVAL));
    TT_TRY(tt_session_load(&e->session, e->checkpoint, &e->progress));
    TT_TRY(tt_evaluate(&e->session.engine, e->session.eval, c, e->data, NULL, &e->on));
    if (!isfinite(e->on.loss))
        return tt_fail(TT_FAILED, "the loss of %s is %g: its weights hold NaN or Inf, or numbers overflow in %s",
                       e->checkpoint, e->on.loss, tt_precision_names[c->precision]);
    describe(e);
    if (e->own->logits[0]) TT_TRY(write_logits(e));
    if (c->json) return print_json(e);
    print_text(e);
    return TT_OK;
}

tt_status tt_cmd_eval(const struct tt_options *o)
{
    struct evaluation *e = calloc(1, sizeof *e);
    if (!e) return tt_no_memory("the command");
    e->o = *o;
    e->own = tt_own(&e->o);
    tt_status st = run(e);
    tt_session_close(&e->session);
    if (e->data) tt_data_close(e->data);
    if (e->backend.ops) tt_backend_close(&e->backend);
    free(e->checkpoint);
    free(e);
    return st;
}
