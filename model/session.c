#include "model/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/yaml.h"
#include "core/checkpoint/moments.h"
#include "core/checkpoint/weights.h"
#include "core/train/state.h"
#include "model/scales.h"
#include "model/update.h"

static tt_status refuse_precision(enum tt_precision wanted, const struct tt_device_info *info)
{
    struct tt_text has = {0};
    for (int p = 0; p < TT_PRECISIONS; p++)
        if (info->has[p]) tt_text_printf(&has, "%s%s", has.n ? ", " : "", tt_precision_names[p]);
    tt_status st = tt_fail(TT_USAGE, "%s does not compute in %s; choose --precision from: %s", info->name,
                           tt_precision_names[wanted], has.s ? has.s : "fp32");
    tt_text_free(&has);
    return st;
}

/* The message names the device and its library, since the library decides whether there are scales of rows. */
static tt_status refuse_rows(const struct tt_device_info *info)
{
    return tt_fail(TT_USAGE, "%s with %s has no 8-bit products with scales of rows, which cuBLASLt has since 12.9 on "
                   "sm_90 and hipBLASLt since ROCm 7; use --fp8-scaling tensor or delayed", info->name, info->library);
}

/* The side stream is used only inside a graph. */
static void fit_streams(struct tt_model *m, const struct tt_backend *backend)
{
    bool graph = backend->ops->graph_begin && m->fuse[TT_FUSE_GRAPH] && m->config.graph == TT_SWITCH_ON;
    m->fuse[TT_FUSE_OVERLAP] = m->fuse[TT_FUSE_OVERLAP] && graph;
    m->fuse[TT_FUSE_LATE] = m->fuse[TT_FUSE_LATE] && graph && m->fuse[TT_FUSE_OPTIMIZER] && !m->params.groups.count &&
                            m->params.ranks == 1;
}

static tt_status fit_device(struct tt_session *s, struct tt_backend *backend, unsigned use)
{
    const struct tt_config *c = &s->model->config;
    struct tt_device_info info;
    TT_TRY(backend->ops->info(backend->self, &info));
    enum tt_precision wanted = c->precision;
    bool runs = info.has[wanted] || (wanted == TT_TF32 && info.tf32_as_fp32);
    if (!runs && !(use & TT_USE_PREDICT)) return refuse_precision(wanted, &info);
    bool rows = c->fp8_scaling != TT_SCALING_ROW || info.fp8_rows || !runs;
    if (!rows && !(use & TT_USE_PREDICT)) return refuse_rows(&info);
    fit_streams(s->model, backend);
    if (!runs) info.has[wanted] = info.has[TT_PREC_BF16] = true; /* as on a device that has it */
    tt_model_fit(s->model, &info);
    return TT_OK;
}

tt_status tt_session_plan(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use)
{
    *s = (struct tt_session){.backend = backend};
    TT_TRY(tt_model_create(c, &s->model));
    TT_TRY(fit_device(s, backend, use));
    if (use & TT_USE_TRAIN) TT_TRY(tt_model_plan_train(s->model, &s->step));
    const struct tt_groups *g = &s->model->params.groups;
    if (use & TT_USE_TRAIN && g->chosen < g->count && c->update_every > 1)
        TT_TRY(tt_model_plan_between(s->model, &s->between));
    if (use & TT_USE_TRAIN && s->model->fuse[TT_FUSE_LATE]) {
        TT_TRY(tt_model_plan_late(s->model, &s->late));
        TT_TRY(tt_model_plan_update(s->model, &s->update));
    }
    if (use & TT_USE_EVAL) TT_TRY(tt_model_plan_eval(s->model, &s->eval));
    const struct tt_plan *plans[] = {s->step, s->late, s->update, s->between, s->eval};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (plans[i]) tt_engine_require(&s->engine, plans[i]);
    s->engine.bytes[TT_X_WEIGHTS] = (size_t)tt_arena_count(&s->model->params, TT_X_WEIGHTS) *
                                    tt_dtype_size(tt_model_dtype(s->model));
    return TT_OK;
}

/* ---- floats on the host for an array of the device: the array itself where the two share it ---- */

static float *in_place(const struct tt_session *s, enum tt_external x)
{
    const struct tt_params *p = &s->model->params;
    if (x == TT_X_WEIGHTS)
        return tt_model_dtype(s->model) == TT_F32 ? tt_weights_in_place(&s->engine, p, s->shares_memory) : NULL;
    return s->shares_memory && !p->sharded[x] && p->moments == TT_F32 ? s->engine.externals[x] : NULL;
}

static tt_status host_floats(struct tt_session *s, enum tt_external x, int64_t n, float **out)
{
    float *shared = in_place(s, x);
    *out = shared ? shared : calloc((size_t)n, sizeof **out);
    return *out ? TT_OK : tt_no_memory("%.0f MiB of weights", (double)n * sizeof **out / 0x1p20);
}

static void drop(struct tt_session *s, enum tt_external x, float *host)
{
    if (host != in_place(s, x)) free(host);
}

static tt_status upload(struct tt_session *s, enum tt_external x, const float *host)
{
    const struct tt_params *p = &s->model->params;
    if (host == in_place(s, x)) return TT_OK;
    if (x == TT_X_WEIGHTS) return tt_weights_write(&s->engine, p, tt_model_dtype(s->model), host);
    return tt_moments_write(&s->engine, p, x, host);
}

tt_status tt_session_set_weights(struct tt_session *s, const float *weights)
{
    return upload(s, TT_X_WEIGHTS, weights);
}

/* ---- too large for the device ---- */

static bool fits(struct tt_backend *backend, const struct tt_config *c, unsigned use, double room)
{
    struct tt_session trial;
    tt_status st = tt_session_plan(&trial, backend, c, use);
    bool good = !st && (double)tt_engine_total(&trial.engine) <= room;
    tt_status_free(st);
    tt_session_close(&trial);
    return good;
}

/* By bisection; 0: none. */
static int64_t largest_batch(struct tt_backend *backend, struct tt_config *trial, unsigned use, double room)
{
    int64_t low = 0, high = trial->batch_size;
    while (high - low > 1) {
        trial->batch_size = low + (high - low) / 2;
        *(fits(backend, trial, use, room) ? &low : &high) = trial->batch_size;
    }
    return low;
}

/* To within a factor of two; 0: none. */
static int64_t longest_sequence(struct tt_backend *backend, struct tt_config *trial, unsigned use, double room)
{
    trial->batch_size = 1;
    while (trial->seq_len > 0 && !fits(backend, trial, use, room)) trial->seq_len /= 2;
    return trial->seq_len;
}

tt_status tt_session_smaller(struct tt_backend *backend, const struct tt_config *c, unsigned use, double room,
                             struct tt_smaller *out)
{
    struct tt_config *trial;
    TT_TRY(tt_config_copy(c, &trial));
    *out = (struct tt_smaller){.batch_size = largest_batch(backend, trial, use, room)};
    if (!out->batch_size) out->seq_len = longest_sequence(backend, trial, use, room);
    free(trial);
    return TT_OK;
}

static void say_smaller(const struct tt_smaller *s, char out[160])
{
    if (s->batch_size)
        snprintf(out, 160, "--batch-size %lld fits, and --recompute block or --version flash may leave room for more",
                 (long long)s->batch_size);
    else if (s->seq_len)
        snprintf(out, 160, "not even --batch-size 1 fits: choose a shorter sequence, --batch-size 1 "
                 "--seq-len %lld fits", (long long)s->seq_len);
    else
        snprintf(out, 160, "not even --batch-size 1 fits: choose a smaller model");
}

/* The room is the free memory of a device, or all memory of the host, whose free memory changes from moment to
 * moment. */
static tt_status check_room(struct tt_session *s, const struct tt_config *c, unsigned use,
                            const struct tt_device_info *info)
{
    double room = (double)(info->shares_memory ? info->memory_total : info->memory_free),
           need = (double)tt_engine_total(&s->engine);
    if (room <= 0 || need <= room) return TT_OK;
    struct tt_text list = {0};
    struct tt_smaller smaller;
    char change[160];
    TT_TRY(tt_session_smaller(s->backend, c, use, room, &smaller));
    say_smaller(&smaller, change);
    tt_engine_list(&s->engine, &list);
    tt_status st = tt_fail(TT_FAILED, "this run needs %.1f MiB (%s), but %s has %.1f MiB; %s", need / 0x1p20, list.s,
                           info->name, room / 0x1p20, change);
    tt_text_free(&list);
    return st;
}

tt_status tt_session_open(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use)
{
    struct tt_device_info info;
    TT_TRY(tt_check_end_token(c));
    TT_TRY(tt_session_plan(s, backend, c, use));
    TT_TRY(backend->ops->info(backend->self, &info));
    s->shares_memory = info.shares_memory;
    TT_TRY(check_room(s, c, use, &info));
    TT_TRY(tt_engine_alloc(&s->engine, backend));
    struct tt_plan *plans[] = {s->step, s->late, s->update, s->eval};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (plans[i]) tt_engine_bind(&s->engine, plans[i]);
    TT_TRY(tt_update_upload(&s->model->params, &s->engine));
    TT_TRY(tt_scales_begin(s->model, &s->engine, NULL));
    if (s->between) TT_TRY(tt_between_open(&s->interval, s->model, &s->engine, s->between));
    return tt_model_upload_rope(s->model, &s->engine, c->seq_len);
}

/* ---- where a run begins ---- */

static tt_status begin(struct tt_session *s, const struct tt_progress *progress, const struct tt_update_group *updates)
{
    if (!s->step) return TT_OK;
    TT_TRY(tt_update_begin(&s->model->params, &s->engine, updates));
    struct tt_state state = tt_state_begin(s->model->config.precision, progress);
    return tt_engine_upload(&s->engine, TT_X_STATE, 0, &state, sizeof state);
}

tt_status tt_session_init_weights(struct tt_session *s)
{
    float *weights;
    TT_TRY(host_floats(s, TT_X_WEIGHTS, s->model->params.total, &weights));
    if (s->model->params.sharded[TT_X_WEIGHTS]) /* pages that are not touched take no memory */
        tt_model_init_parts(s->model, weights);
    else
        tt_model_init_weights(s->model, weights);
    tt_status st = tt_session_set_weights(s, weights);
    drop(s, TT_X_WEIGHTS, weights);
    return st ? st : begin(s, NULL, NULL);
}

/* The precision in which a checkpoint was trained, by its configuration; without one in it, the option's default. */
static tt_status precision_of(const char *config, enum tt_precision *out)
{
    struct tt_yaml *y;
    *out = TT_FP32;
    TT_TRY(tt_context(tt_yaml_parse(config, strlen(config), &y), "the configuration in the checkpoint"));
    const struct tt_yaml *word = tt_yaml_get(y, "precision");
    for (int p = 0; word && word->text && p < TT_PRECISIONS; p++)
        if (!strcmp(word->text, tt_precision_names[p])) *out = (enum tt_precision)p;
    tt_yaml_free(y);
    return TT_OK;
}

/* Every checkpoint has a loss scale, but only a precision that scales its loss gives it a meaning. */
static tt_status go_on(struct tt_session *s, const struct tt_checkpoint *c, struct tt_progress *progress)
{
    enum tt_precision then;
    TT_TRY(precision_of(c->config, &then));
    *progress = c->progress;
    if (!tt_scales_loss(then)) progress->loss_scale = 0;
    s->new_scales = c->scales && !c->scales_found;
    if (c->scales_found) TT_TRY(tt_scales_begin(s->model, &s->engine, c->scales));
    return begin(s, progress, c->updates);
}

/* Loads the first n of weights, first moments and second moments. *progress: where the checkpoint's run was, to go on
 * from there; NULL: a new run begins. */
static tt_status load(struct tt_session *s, const char *path, int n, struct tt_progress *progress)
{
    const enum tt_external which[] = {TT_X_WEIGHTS, TT_X_MOMENT1, TT_X_MOMENT2};
    int64_t total = s->model->params.total;
    float *host[3] = {0};
    tt_status st = TT_OK;
    for (int i = 0; i < n && !st; i++) st = host_floats(s, which[i], total, &host[i]);
    struct tt_checkpoint c = {.params = &s->model->params, .w = host[0], .m = host[1], .v = host[2]};
    if (!st && n > 1 && c.params->groups.count) {
        c.updates = calloc((size_t)c.params->groups.count + 1, sizeof *c.updates);
        if (!c.updates) st = tt_no_memory("the groups of weights");
    }
    if (!st && progress && s->engine.bytes[TT_X_SCALES]) {
        c.scale_count = tt_scales_count(&s->model->config);
        c.scales = calloc((size_t)tt_scales_floats(s->model), sizeof *c.scales);
        if (!c.scales) st = tt_no_memory("the scales of 8-bit factors");
    }
    if (!st) st = tt_checkpoint_load(path, &c);
    for (int i = 0; i < n && !st; i++) st = upload(s, which[i], host[i]);
    for (int i = 0; i < n; i++) drop(s, which[i], host[i]);
    if (!progress) s->new_scales = s->engine.bytes[TT_X_SCALES] > 0;
    if (!st) st = progress ? go_on(s, &c, progress) : begin(s, NULL, NULL);
    free(c.updates);
    free(c.scales);
    free((char *)c.config);
    return st;
}

tt_status tt_session_load(struct tt_session *s, const char *path, struct tt_progress *progress)
{
    return load(s, path, s->step ? 3 : 1, progress);
}

tt_status tt_session_load_weights(struct tt_session *s, const char *path) { return load(s, path, 1, NULL); }

/* ---- a run of it ---- */

tt_status tt_session_run(struct tt_session *s, const struct tt_config *c, struct tt_origin from, struct tt_data *data,
                         struct tt_run *out)
{
    *out = (struct tt_run){.config = c, .params = &s->model->params, .engine = &s->engine, .step_plan = s->step,
                           .late_plan = s->late, .update_plan = s->update, .eval_plan = s->eval,
                           .data = data, .graph = s->model->fuse[TT_FUSE_GRAPH] && c->graph == TT_SWITCH_ON,
                           .progress = {.seed = (uint64_t)c->seed, .best_val = INFINITY}};
    if (s->between) {
        s->interval.unread = true; /* what is on the device is set below */
        out->plan_of = tt_between_plan;
        out->plan_user = &s->interval;
    }
    if (from.checkpoint) return tt_session_load(s, from.checkpoint, &out->progress);
    return from.weights ? tt_session_load_weights(s, from.weights) : tt_session_init_weights(s);
}

tt_status tt_session_try(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c,
                         struct tt_data *data, struct tt_run *out)
{
    *out = (struct tt_run){0};
    TT_TRY(tt_session_open(s, backend, c, TT_USE_TRAIN));
    TT_TRY(tt_session_run(s, c, (struct tt_origin){0}, data, out));
    return tt_run_start(out, TT_TOKENS_KEPT);
}

void tt_session_close(struct tt_session *s)
{
    tt_engine_free(&s->engine);
    tt_between_close(&s->interval);
    tt_plan_free(s->step);
    tt_plan_free(s->late);
    tt_plan_free(s->update);
    tt_plan_free(s->between);
    tt_plan_free(s->eval);
    tt_model_free(s->model);
    *s = (struct tt_session){0};
}
