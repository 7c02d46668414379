/* tt eval: the loss of a checkpoint on validation data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/json.h"
#include "core/train.h"

struct evaluation {
    struct tt_options o;
    char *checkpoint;
    struct tt_backend backend;
    struct tt_data *data;
    struct tt_session session;
    struct tt_progress progress;
    double loss;
    int64_t batches;
    bool whole_file; /* named for this call, and measured from beginning to end */
};

static void print_text(const struct evaluation *e)
{
    const struct tt_config *c = &e->o.c;
    double floor = tt_data_floor(e->data);
    if (!c->quiet) {
        tt_print_device(&e->backend);
        tt_print_model(&e->session);
        printf("data    %s\n", e->whole_file ? c->data : tt_data_describe(e->data));
        printf("from    %s\n", e->checkpoint);
    }
    printf("loss    %.4f (perplexity %.2f) over %lld tokens", e->loss, exp(e->loss),
           (long long)(e->batches * c->batch_size * c->seq_len));
    if (floor > 0) printf(", floor %.4f: gap %.4f = %.1f %%", floor, e->loss - floor, 100 * (e->loss - floor) / floor);
    putchar('\n');
}

static void print_json(const struct evaluation *e)
{
    struct tt_json_writer w = {0};
    double floor = tt_data_floor(e->data);
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "checkpoint", e->checkpoint);
    tt_json_put_int(&w, "step", e->progress.step);
    tt_json_put_number(&w, "loss", e->loss);
    tt_json_put_number(&w, "perplexity", exp(e->loss));
    tt_json_put_number(&w, "floor", floor > 0 ? floor : NAN);
    tt_json_put_int(&w, "tokens", e->batches * e->o.c.batch_size * e->o.c.seq_len);
    tt_json_end(&w, '}');
    puts(w.text.s ? w.text.s : "");
    tt_text_free(&w.text);
}

static tt_status run(struct evaluation *e)
{
    struct tt_config *c = &e->o.c;
    TT_TRY(tt_use_checkpoint(&e->o, c->checkpoint, &e->checkpoint));
    /* files named for this call are measured whole; those of the training, only where they were held out */
    bool file = strcmp(c->data, "builtin") && strcmp(c->data, "random");
    e->whole_file = file && tt_option_given(&e->o, "data") && !tt_option_given(&e->o, "val-data");
    if (e->whole_file) memcpy(c->val_data, c->data, sizeof c->val_data);
    TT_TRY(tt_config_check(c));
    TT_TRY(tt_open_data(c, c->vocab_size, e->checkpoint, &e->data));
    TT_TRY(tt_open_backend(c, &e->backend));
    TT_TRY(tt_session_open(&e->session, &e->backend, c, TT_USE_EVAL));
    TT_TRY(tt_session_load(&e->session, e->checkpoint, &e->progress));
    TT_TRY(tt_evaluate(&e->session.engine, e->session.eval, c, e->data, &e->loss, &e->batches));
    (c->json ? print_json : print_text)(e);
    return TT_OK;
}

tt_status tt_cmd_eval(const struct tt_options *o)
{
    struct evaluation *e = calloc(1, sizeof *e);
    if (!e) return tt_fail(TT_FAILED, "out of memory");
    e->o = *o;
    tt_status st = run(e);
    tt_session_close(&e->session);
    if (e->data) tt_data_close(e->data);
    if (e->backend.ops) tt_backend_close(&e->backend);
    free(e->checkpoint);
    free(e);
    return st;
}
