/* The library: implements libtt.h with the same options, sessions and checkpoints as `tt train`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/config/batch.h"
#include "core/config/run_options.h"
#include "core/train/epochs.h"
#include "core/train/open.h"
#include "core/train/origin.h"
#include "core/train/state.h"
#include "lib/inside.h"

struct libtt_backend {
    struct tt_backend b;
    char name[128];
};

/* ---- errors ---- */

locale_t tt_library_begin(void)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant of the C library: nothing to free */
    return plain ? uselocale(plain) : uselocale((locale_t)0);
}

bool tt_library_end(locale_t before, tt_status st, struct libtt_error *error)
{
    uselocale(before);
    if (error) {
        error->code = !st ? 0 : st->code > 0 && st->code <= TT_NO_DEVICE ? (int)st->code : LIBTT_FAILED;
        snprintf(error->text, sizeof error->text, "%s", st ? st->text : "");
    }
    bool good = !st;
    tt_status_free(st);
    return good;
}

static tt_status out_of_memory(void) { return tt_no_memory("libtt"); }

const char *libtt_version(void)
{
    const char *name = tt_backend_name();
    return !strcmp(name, "cuda") ? TT_VERSION_STRING " (cuda)" : !strcmp(name, "hip") ? TT_VERSION_STRING
           " (hip)" : TT_VERSION_STRING " (cpu)";
}

/* ---- settings: the options of tt train, as they are in configuration files and checkpoints ---- */

struct told {
    char fault[32], link[32];
};
#define TOLD(field) TT_FIELD(TT_OF_COMMAND, struct told, field)
static const struct tt_option told[] = {
    {"fault", TOLD(fault), TT_S_COMPUTE, 1 << TT_CMD_TRAIN, "", NULL, "NAME",
     .help = "break the run on purpose, for exercises 9 and 11: a fault by name, or a hidden one drawn by SEED; \"\" "
             "= none"},
    {"link", TOLD(link), TT_S_RANKS, 1 << TT_CMD_TRAIN, "", NULL, "GB/S[,US]",
     .help = "simulate links of this speed between ranks, with this many microseconds per message, for exercise 11; "
             "on the CPU only; \"\" = do not"},
};
static const struct tt_rows told_rows = TT_ROWS(told);
static const struct tt_rows *const groups[] = {&tt_model_rows, &told_rows, &tt_machine_rows, &tt_training_rows};
static const char *const sections[] = {TT_S_MODEL,      TT_S_COMPUTE, TT_S_RANKS,  TT_S_TRAINING,
                                       TT_S_VALIDATION, TT_S_DATA,    TT_S_OUTPUT, NULL};
static const struct tt_command_info train = {.name = "train"};
static const struct tt_schema schema = {&train, 1, sections, groups, sizeof groups / sizeof *groups, NULL};

/* ---- a device ---- */

static tt_status open_backend(const char *settings, libtt_backend *b)
{
    struct tt_device_info info;
    struct tt_options *o = calloc(1, sizeof *o);
    if (!o) return out_of_memory();
    tt_status st = tt_options_read(o, &schema, TT_CMD_TRAIN, settings ? settings : "");
    if (!st) st = tt_open_device(&o->c, &b->b);
    free(o);
    TT_TRY(st);
    TT_TRY(b->b.ops->info(b->b.self, &info));
    memcpy(b->name, info.name, sizeof b->name);
    return TT_OK;
}

libtt_backend *libtt_open(const char *settings, struct libtt_error *error)
{
    locale_t before = tt_library_begin();
    libtt_backend *b = calloc(1, sizeof *b);
    if (tt_library_end(before, b ? open_backend(settings, b) : out_of_memory(), error)) return b;
    libtt_close(b);
    return NULL;
}

const char *libtt_device(const libtt_backend *b) { return b->name; }

void libtt_close(libtt_backend *b)
{
    if (b && b->b.ops) tt_backend_close(&b->b);
    free(b);
}

/* ---- a model ---- */

/* The tokenizer of a checkpoint that goes on without its data. */
static tt_status load_tokenizer(libtt_model *m, const char *checkpoint)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/tokenizer.json", checkpoint);
    return tt_is_file(path) ? tt_tokenizer_load(path, &m->tokenizer) : TT_OK;
}

static tt_status open_data(libtt_model *m, const char *from)
{
    TT_TRY(tt_batch_fit(&m->o));
    TT_TRY(tt_config_check(&m->o.c));
    if (!strcmp(m->o.c.data, TT_NO_DATA)) return from ? load_tokenizer(m, from) : TT_OK;
    TT_TRY(tt_open_training_data(&m->o, from, &m->data));
    TT_TRY(tt_take_epochs(&m->o, m->data, from));
    return tt_config_check(&m->o.c);
}

static tt_status open_run(libtt_model *m, struct tt_backend *b, const char *from)
{
    TT_TRY(open_data(m, from));
    TT_TRY(tt_session_open(&m->session, b, &m->o.c, TT_USE_TRAIN | TT_USE_EVAL));
    TT_TRY(tt_session_run(&m->session, &m->o.c, (struct tt_origin){.checkpoint = from}, m->data, &m->run));
    m->run.tokenizer = m->tokenizer;
    if (m->data) TT_TRY(tt_note_data(&m->o.c, m->data, &m->run.progress));
    TT_TRY(tt_run_start(&m->run, TT_TOKENS_GIVEN));
    tt_options_print(&m->o, &m->config_text);
    return tt_text_status(&m->config_text);
}

/* Where a model comes from is an argument here, not a setting. */
static tt_status refuse_origins(const struct tt_options *o)
{
    if (tt_option_given(o, "resume") && strcmp(o->c.resume, "none"))
        return tt_fail(TT_USAGE, "resume: give the path to libtt_load, and leave it out of the settings");
    if (o->c.init_from[0])
        return tt_fail(TT_USAGE, "init-from: the library does not begin with another run's weights; tt train does");
    return TT_OK;
}

static tt_status open_model(libtt_model *m, libtt_backend *b, const char *path, const char *settings)
{
    char *checkpoint = NULL;
    TT_TRY(tt_options_read(&m->o, &schema, TT_CMD_TRAIN, settings ? settings : ""));
    const struct told *asked = (const void *)m->o.own;
    if (m->o.c.ranks > 1)
        return tt_fail(TT_USAGE, "ranks: the library trains on one device; leave it out, or start tt train --ranks");
    if (asked->fault[0]) return tt_fail(TT_USAGE, "fault: that is an option of the program tt; leave it out");
    TT_TRY(refuse_origins(&m->o));
    if (path) TT_TRY(tt_use_checkpoint(&m->o, path, &checkpoint));
    tt_status st = open_run(m, &b->b, checkpoint);
    free(checkpoint);
    return st;
}

libtt_model *libtt_load(libtt_backend *b, const char *path, const char *settings, struct libtt_error *error)
{
    locale_t before = tt_library_begin();
    libtt_model *m = calloc(1, sizeof *m);
    if (tt_library_end(before, m ? open_model(m, b, path, settings) : out_of_memory(), error)) return m;
    libtt_free(m);
    return NULL;
}

libtt_model *libtt_create(libtt_backend *b, const char *settings, struct libtt_error *error)
{
    return libtt_load(b, NULL, settings, error);
}

void libtt_free(libtt_model *m)
{
    if (!m) return;
    tt_run_close(&m->run);
    tt_session_close(&m->session);
    if (m->data) tt_data_close(m->data);
    tt_tokenizer_free(m->tokenizer);
    tt_text_free(&m->config_text);
    free(m);
}

struct libtt_shape libtt_shape(const libtt_model *m)
{
    const struct tt_config *c = &m->o.c;
    return (struct libtt_shape){.parameters = tt_model_param_count(m->session.model), .layers = c->num_layers,
                                .hidden = c->hidden_dim,
                                .heads = c->num_heads, .kv_heads = c->num_kv_heads, .vocabulary = c->vocab_size,
                                .rows = tt_run_rows(&m->run),
                                .eval_rows = c->batch_size, .length = c->seq_len, .step = m->run.progress.step,
                                .steps = c->num_steps, .device_bytes = tt_engine_total(&m->session.engine)};
}

/* ---- work ---- */

tt_status tt_library_check(const libtt_model *m, const int32_t *tokens, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows * width; i++)
        if (tokens[i] < 0 || tokens[i] >= m->o.c.vocab_size)
            return tt_fail(TT_USAGE, "token %lld of sequence %lld is %d; tokens of this model are 0 to %lld",
                           (long long)(i % width),
                           (long long)(i / width), (int)tokens[i], (long long)m->o.c.vocab_size - 1);
    return TT_OK;
}

static tt_status no_data(void) { return tt_fail(TT_USAGE, "the model was created with data: none, so each call needs "
                                                          "tokens"); }

static tt_status step(libtt_model *m, const int32_t *tokens, struct libtt_metrics *out)
{
    struct tt_engine *e = &m->session.engine;
    if (!tokens && !m->data) return no_data();
    if (tokens) TT_TRY(tt_library_check(m, tokens, tt_run_rows(&m->run), m->o.c.seq_len + 1));
    TT_TRY(tt_run_give(&m->run, tokens));
    TT_TRY(tt_run_step(&m->run));
    if (!out) return TT_OK;
    struct tt_state state;
    TT_TRY(tt_engine_download(e, TT_X_STATE, 0, &state, sizeof state));
    bool counts = tt_counted_part(&m->o.c, (int64_t)state.ignored) > 0;
    *out = (struct libtt_metrics){.step = state.step, .loss = counts ? state.loss : NAN, .grad_norm = state.grad_norm,
                                  .learning_rate = state.lr, .applied = state.apply != 0};
    return TT_OK;
}

bool libtt_step(libtt_model *m, const int32_t *tokens, struct libtt_metrics *out, struct libtt_error *error)
{
    locale_t before = tt_library_begin();
    return tt_library_end(before, step(m, tokens, out), error);
}

static tt_status evaluate_tokens(libtt_model *m, const int32_t *tokens, double *loss)
{
    struct tt_engine *e = &m->session.engine;
    const struct tt_config *c = &m->o.c;
    float sum = 0;
    TT_TRY(tt_library_check(m, tokens, c->batch_size, c->seq_len + 1));
    TT_TRY(tt_engine_upload(e, TT_X_VAL_LOSS, 0, &sum, sizeof sum));
    TT_TRY(tt_engine_upload(e, TT_X_VAL_TOKENS, 0, tokens,
                            (size_t)(c->batch_size * (c->seq_len + 1)) * sizeof *tokens));
    TT_TRY(tt_engine_settle(e));
    TT_TRY(tt_plan_run(m->session.eval, e->backend, NULL));
    TT_TRY(tt_engine_download(e, TT_X_VAL_LOSS, 0, &sum, sizeof sum));
    *loss = (double)sum;
    return TT_OK;
}

static tt_status evaluate(libtt_model *m, const int32_t *tokens, double *loss)
{
    struct tt_evaluation on;
    if (tokens) return evaluate_tokens(m, tokens, loss);
    if (!m->data) return no_data();
    TT_TRY(tt_run_evaluate(&m->run, &on));
    *loss = on.loss;
    return TT_OK;
}

bool libtt_evaluate(libtt_model *m, const int32_t *tokens, double *loss, struct libtt_error *error)
{
    locale_t before = tt_library_begin();
    return tt_library_end(before, evaluate(m, tokens, loss), error);
}

static tt_status save(libtt_model *m, const char *dir)
{
    char folder[4096];
    int lock;
    TT_TRY(tt_folder_lock(dir, TT_LOCK_WAIT, &lock));
    tt_status st = tt_run_save(&m->run, dir, m->run.progress.step, m->config_text.s, getcwd(folder, sizeof folder),
                               false);
    tt_folder_unlock(&lock);
    return st;
}

bool libtt_save(libtt_model *m, const char *dir, struct libtt_error *error)
{
    locale_t before = tt_library_begin();
    return tt_library_end(before, save(m, dir), error);
}
