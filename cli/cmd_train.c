/* tt train: trains a model from its first weights, or from a checkpoint, to num-steps, and sums up the run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/ranks.h"
#include "cli/sampling.h"
#include "cli/start.h"
#include "cli/summary.h"
#include "cli/switches.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/load.h"
#include "core/base/terminal.h"
#include "core/config/batch.h"
#include "core/train/epochs.h"
#include "core/train/loop.h"
#include "core/train/stop.h"
#include "exercises/engine/course.h"
#include "exercises/engine/fault.h"

struct training {
    struct tt_member member;
    struct tt_options o; /* with what a resumed checkpoint adds */
    struct tt_config *c;
    char *checkpoint; /* resumed from; NULL: a new run */
    struct tt_options before; /* the options of the resumed run */
    bool other_data;          /* the data are not those of the resumed run */
    bool changed_data;        /* its files have the same names and other contents */
    bool validates;
    struct tt_config loop;    /* the options as the loop sees them: quiet, and without validation where there is none */
    char *origin;     /* of a new run's first weights; NULL: random ones */
    int lock;         /* open while this process owns the run's folder */
    struct tt_backend backend;
    struct tt_data *data;
    struct tt_session session;
    struct tt_text config_text;
    struct tt_run run;
    struct tt_train_result result;
    double load, waited; /* of the machine before it began; of its threads in the loop, as tt_turns_waited says */
};

/* ---- the folder of the run ---- */

/* A new run never mixes with an old one: that is moved to the first free of out.1, out.2, … */
static tt_status set_aside(const char *out, bool wanted_to_resume)
{
    char old[1200];
    int length = (int)strlen(out);
    while (length > 1 && out[length - 1] == '/') length--;
    for (int i = 1;; i++) {
        snprintf(old, sizeof old, "%.*s.%d", length, out, i);
        if (access(old, F_OK)) break;
    }
    if (rename(out, old)) return tt_fail(TT_FAILED, "%s: cannot be moved to %s: %s", out, old, strerror(errno));
    tt_say("%s held an earlier run, which was moved to %s (%s)", out, old,
           wanted_to_resume ? "no checkpoint of it can be continued here" : "--resume auto would have continued it");
    return TT_OK;
}

static tt_status writable(const char *dir)
{
    if (access(dir, W_OK) == 0) return TT_OK;
    return tt_fail(TT_FAILED, "%s: %s; choose another --out, or --out \"\" to write nothing", dir, strerror(errno));
}

static tt_status own_folder(struct training *t)
{
    if (!t->c->out[0]) return TT_OK;
    bool here, used = false;
    TT_TRY(tt_folder_lock(t->c->out, 0, &t->lock));
    TT_TRY(tt_continues_in(t->checkpoint, t->c->out, &here));
    if (!here) TT_TRY(tt_find_run(t->c->out, &used));
    if (used) {
        TT_TRY(set_aside(t->c->out, !strcmp(t->c->resume, "auto")));
        tt_folder_unlock(&t->lock);
        TT_TRY(tt_folder_lock(t->c->out, 0, &t->lock));
    }
    TT_TRY(writable(t->c->out));
    if (here) tt_checkpoint_set_aside(t->c->out, t->run.progress.step, tt_warn, NULL);
    return TT_OK;
}

/* ---- set-up ---- */

/* Rank 0 alone searches a run for its newest good checkpoint, since that reads whole files. */
static tt_status choose_together(struct training *t)
{
    char found[1200] = "";
    tt_status st = t->c->rank ? TT_OK : tt_choose_start(&t->o, NULL, &t->checkpoint, &t->origin);
    const char *path = t->checkpoint ? t->checkpoint : t->origin;
    if (path) snprintf(found, sizeof found, "%s", path);
    tt_status shared = tt_job_share(t->member.job, found, sizeof found);
    if (!st && !shared && t->c->rank) st = tt_choose_start(&t->o, found, &t->checkpoint, &t->origin);
    if (!st) return shared;
    tt_status_free(shared);
    return st;
}

/* ---- a resumed run that is not continued as it was ---- */

static bool same_source(const char *a, const char *b)
{
    struct stat x, y;
    return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Whether the same files would give the same text. */
static bool same_reading(const struct tt_config *a, const struct tt_config *b)
{
    return !strcmp(a->text_field, b->text_field) && !strcmp(a->prompt_field, b->prompt_field) &&
           !strcmp(a->completion_field, b->completion_field) && a->max_chars == b->max_chars &&
           a->skip_bad_lines == b->skip_bad_lines;
}

/* Whether files of the same names have other tokens in them; a mark of 0 is not known. */
static bool changed(uint64_t then, uint64_t now) { return then && now && then != now; }

/* A loss on other data cannot be compared with the best so far, so the best loss and patience begin anew. */
static void forget_best(struct training *t)
{
    const struct tt_config *now = t->c, *then = &t->before.c;
    bool fraction = now->val_data[0] || now->val_fraction == then->val_fraction;
    bool names = same_source(now->data, then->data) && same_source(now->val_data, then->val_data) &&
                 same_reading(now, then);
    t->changed_data = names && changed(t->run.progress.data_mark, tt_data_mark(t->data));
    t->other_data = (!names || !fraction || t->changed_data) && isfinite(t->run.progress.best_val);
    if (!t->other_data) return;
    t->run.progress.best_val = INFINITY;
    t->run.progress.best_step = t->run.progress.bad_vals = 0;
}

static tt_status look_back(struct training *t)
{
    char *path = NULL;
    if (!t->checkpoint) return TT_OK;
    TT_TRY(tt_options_init(&t->before, TT_CMD_TRAIN));
    TT_TRY(tt_use_checkpoint(&t->before, t->checkpoint, &path));
    free(path);
    forget_best(t);
    return TT_OK;
}

/* A note behind a fault that only several ranks feel, if there is one rank. A fault drawn at random is never one of
 * these. */
static const char *of_ranks_alone(const struct tt_config *c)
{
    enum tt_fault fault = tt_fault_of(c);
    bool of_ranks = fault >= TT_FAULT_OF_RANKS && fault < TT_FAULT_OF_UPDATES;
    return of_ranks && c->ranks < 2 ? ", which does nothing here: it affects only several ranks (--ranks)" : "";
}

static void announce_ranks(const struct training *t)
{
    const struct tt_config *c = t->c;
    struct tt_device_info info;
    if (c->ranks == 1) return;
    tt_status st = t->backend.ops->info(t->backend.self, &info);
    printf("ranks   %lld by %s through %s; shard %s; %lld sequences in a step = %lld ranks x %lld x batches of %lld\n",
           (long long)c->ranks, t->member.place.starter, st ? "?" : info.collectives, tt_shard_names[c->shard],
           (long long)tt_step_rows(c), (long long)c->ranks, (long long)c->grad_accum, (long long)c->batch_size);
    tt_status_free(st);
}

/* Notes on options that differ from the resumed run's: those that change results but not the shape of the weights. */
static void announce_changes(const struct training *t)
{
    const struct tt_config *now = t->c, *then = &t->before.c;
    if (strcmp(now->rope_scaling, then->rope_scaling))
        printf("note    --rope-scaling was \"%s\" until this step, and is \"%s\" from here on\n", then->rope_scaling,
               now->rope_scaling);
    if (now->precision != then->precision)
        printf("note    --precision was %s until this step, and is %s from here on\n",
               tt_precision_names[then->precision], tt_precision_names[now->precision]);
    bool fp8 = now->precision == TT_PREC_FP8 && then->precision == TT_PREC_FP8;
    if (fp8 && strcmp(tt_fp8_words(now), tt_fp8_words(then)))
        printf("note    --fp8 and its scaling were %s until this step, and are %s from here on\n", tt_fp8_words(then),
               tt_fp8_words(now));
    if (now->seed != then->seed)
        printf("note    --seed was %lld until this step, and is %lld from here on: data come in another order, some "
               "of them again\n", (long long)then->seed, (long long)now->seed);
    if (now->documents != then->documents)
        printf("note    --documents was %s until this step, and is %s from here on\n",
               tt_documents_names[then->documents], tt_documents_names[now->documents]);
}

static void announce(struct training *t)
{
    if (t->c->quiet || t->c->json || t->c->rank) return;
    tt_print_device(&t->backend);
    tt_print_model(&t->session);
    tt_print_switches(&t->backend, &t->session, &t->run);
    announce_ranks(t);
    printf("data    %s\n", tt_data_describe(t->data));
    if (t->c->epochs)
        printf("epochs  %lld of %lld sequences, %lld in a step: %lld steps\n", (long long)t->c->epochs,
               (long long)tt_data_samples(t->data, TT_TRAIN), (long long)tt_step_rows(t->c),
               (long long)t->c->num_steps);
    const struct tt_course_options *course = tt_course_of(t->c);
    if (course->own_kernel[0]) printf("kernel  residual_norm of %s replaces rmsnorm\n", course->own_kernel);
    if (course->fault[0]) printf("fault   %s%s\n", tt_fault_shown(t->c), of_ranks_alone(t->c));
    if (t->origin) printf("begin   with the weights of %s\n", t->origin);
    if (t->checkpoint)
        printf("resume  %s, %lld of %lld steps done\n", t->checkpoint, (long long)t->run.progress.step,
               (long long)t->c->num_steps);
    if (t->session.new_scales)
        puts("note    these weights come without the history of magnitudes that --fp8-scaling delayed uses: it starts "
             "empty, with estimated scales in the first step");
    if (t->changed_data) puts("note    the data files have changed since the checkpoint was written");
    if (t->other_data)
        puts("note    the data are not those of the checkpoint: the best validation loss and patience start afresh");
    bool begun = t->checkpoint && t->run.progress.step > 0;
    if (begun) announce_changes(t);
    if (begun && t->before.c.num_steps != t->c->num_steps) /* the learning rate depends on them */
        printf("note    with another number of steps the learning rate now decays until step %lld, so the result "
               "differs from that of a run without a break\n", (long long)t->c->num_steps);
    if (t->c->qkv_bias && t->c->qk_norm)
        puts("note    no other program has a model with both --qkv-bias and --qk-norm, so tt export cannot write it");
    fflush(stdout);
}

static void make_loop_config(struct training *t)
{
    t->loop = *t->c;
    t->loop.quiet = t->c->quiet || t->c->json;
    if (!t->validates) t->loop.val_interval = 0;
}

/* ---- with the other ranks ---- */

static tt_status compare_ranks(struct training *t)
{
    struct tt_text more = {0};
    if (!t->member.job) return TT_OK;
    tt_text_printf(&more, "begins with: %s\nstep: %lld\nparameters: %lld\ndata: %s, mark %llx, %lld samples\n",
                   t->checkpoint ? t->checkpoint : t->origin ? t->origin : "random weights",
                   (long long)t->run.progress.step, (long long)t->session.model->params.total,
                   tt_data_describe(t->data), (unsigned long long)tt_data_mark(t->data),
                   (long long)tt_data_samples(t->data, TT_TRAIN));
    tt_status st = tt_job_agree(t->member.job, tt_text_status(&more));
    if (!st) st = tt_member_compare(&t->member, &t->o, more.s);
    tt_text_free(&more);
    return st;
}

/* ---- all of it ---- */

static tt_status read_all(struct training *t)
{
    TT_TRY(choose_together(t));
    tt_options_fit_warmup(&t->o); /* a checkpoint's may be longer than the run that is asked for now */
    TT_TRY(tt_batch_fit(&t->o));
    tt_fault_configure(t->c);
    TT_TRY(tt_config_check(t->c));
    TT_TRY(tt_open_training_data(&t->o, t->checkpoint ? t->checkpoint : t->origin, &t->data));
    TT_TRY(tt_take_epochs(&t->o, t->data, t->checkpoint));
    TT_TRY(tt_config_check(t->c));
    TT_TRY(tt_check_validation(&t->o, t->data, &t->validates));
    return tt_open_backend(t->c, &t->backend);
}

static tt_status open_session(struct training *t)
{
    make_loop_config(t);
    tt_job_busy(t->member.job); /* to read a checkpoint may take long */
    TT_TRY(tt_session_open(&t->session, &t->backend, t->c, TT_USE_TRAIN | TT_USE_EVAL));
    TT_TRY(tt_session_run(&t->session, &t->loop, (struct tt_origin){t->checkpoint, t->origin}, t->data, &t->run));
    t->run.job = t->member.job;
    TT_TRY(look_back(t));
    TT_TRY(tt_note_data(t->c, t->data, &t->run.progress));
    tt_options_print(&t->o, &t->config_text);
    TT_TRY(tt_text_status(&t->config_text));
    TT_TRY(tt_check_left(t->c, t->checkpoint, t->run.progress.step));
    if (access(t->c->tensorboard, F_OK) == 0 && !tt_is_dir(t->c->tensorboard))
        return tt_fail(TT_USAGE, "--tensorboard %s is a file; name a folder", t->c->tensorboard);
    return TT_OK;
}

/* Everything that can be refused is refused before anything is written, and on all ranks, so that none waits for a rank
 * that has ended. */
static tt_status prepare(struct training *t)
{
    struct tt_job *j = t->member.job;
    TT_TRY(tt_job_agree(j, read_all(t)));
    TT_TRY(tt_job_agree(j, tt_member_join(&t->member, &t->backend)));
    TT_TRY(tt_job_agree(j, open_session(t)));
    TT_TRY(compare_ranks(t));
    return tt_job_agree(j, t->c->rank ? TT_OK : own_folder(t));
}

/* ---- the end ---- */

static tt_status print_sample(struct training *t, struct tt_text *text)
{
    struct tt_grammar_check check;
    TT_TRY(tt_sample_builtin(&t->session, t->c, t->data, text, &check));
    printf("sample  %s\n", text->s ? text->s : "");
    printf("grammar %lld of %lld sentences follow the source's grammar\n", (long long)check.grammatical,
           (long long)check.sentences);
    return TT_OK;
}

static tt_status print_end(struct training *t, struct tt_summary *s, struct tt_text *sample)
{
    if (t->c->json) return tt_summary_json(s);
    tt_summary_text(s);
    bool whole = !t->run.params->sharded[TT_X_WEIGHTS]; /* else no rank alone can use them */
    if (!s->interrupted && whole && !strcmp(t->c->data, "builtin")) TT_TRY(print_sample(t, sample));
    if (!s->interrupted && !whole)
        puts("sample  none, since each rank has only a part of the weights; use tt generate");
    s->sample = sample->s;
    tt_summary_next(s);
    return TT_OK;
}

/* run.json, before the first step and at the end. A run does not stop when it cannot be written. */
static void keep_summary(struct training *t, struct tt_summary *s)
{
    char device[TT_LINE], model[TT_LINE];
    tt_describe_device(&t->backend, device, sizeof device);
    tt_describe_model(&t->session, model, sizeof model);
    s->device = device;
    s->model = model;
    tt_status saved = tt_summary_save(s);
    if (saved) tt_say("%s; the run goes on, but tt report will show less of it", saved->text);
    tt_status_free(saved);
}

/* The figures at the end of the run. When it was interrupted, they come before the message that says so. */
static tt_status report(struct training *t, bool interrupted)
{
    struct tt_device_info info;
    struct tt_text sample = {0};
    TT_TRY(t->backend.ops->info(t->backend.self, &info));
    struct tt_summary s = {.config = &t->loop, .data = t->data, .result = &t->result, .progress = &t->run.progress,
                           .device_bytes = info.shares_memory ? 0 : (double)info.memory_peak,
                           .flash_refused = t->session.model->flash_refused, .interrupted = interrupted,
                           .load = t->load, .waited = t->waited,
                           .threads = tt_threads_of(t->backend.ops->name, info.name)};
    tt_status st = print_end(t, &s, &sample);
    if (!st) keep_summary(t, &s);
    tt_text_free(&sample);
    return st;
}

static tt_status run(struct training *t)
{
    char command[3400], folder[4096];
    TT_TRY(prepare(t));
    announce(t);
    tt_stop_catch(); /* from the first file on, a signal means to save and stop */
    if (!t->c->rank) keep_summary(t, &(struct tt_summary){.config = &t->loop, .data = t->data});
    const char *board = t->c->tensorboard;
    char out[1300], events[1300];
    snprintf(command, sizeof command, "tt train --resume auto --out %s%s%s", tt_shell_word(t->c->out, out, sizeof out),
             board[0] ? " --tensorboard " : "", board[0] ? tt_shell_word(board, events, sizeof events) : "");
    tt_ranks_words(t->c, command + strlen(command));
    struct tt_train train = {.run = &t->run, .config_text = t->config_text.s, .folder = getcwd(folder, sizeof folder),
                             .command = command};
    struct tt_turns began = tt_turns_now();
    tt_status st = tt_train_run(&train, &t->result);
    t->waited = tt_waited_since(&began);
    t->member.together = t->run.together;
    bool interrupted = st && st->code == TT_INTERRUPTED;
    if ((st && !interrupted) || t->c->rank) return st;
    tt_job_busy(t->member.job);
    tt_stop_catch(); /* the run is saved: a signal must not cut off the summary */
    tt_status told = report(t, interrupted);
    tt_stop_restore();
    if (!st) return told;
    tt_status_free(told);
    return st;
}

tt_status tt_cmd_train(const struct tt_options *o)
{
    struct training *t = calloc(1, sizeof *t);
    if (!t) return tt_no_memory("the command");
    t->o = *o;
    t->c = &t->o.c;
    t->lock = -1;
    t->load = tt_machine_load();
    tt_status st = tt_member_open(&t->member, &t->o);
    if (!st && !t->member.done) st = run(t);
    tt_session_close(&t->session);
    if (t->data) tt_data_close(t->data);
    st = tt_member_close(&t->member, st);
    if (t->backend.ops) tt_backend_close(&t->backend);
    tt_folder_unlock(&t->lock);
    tt_text_free(&t->config_text);
    free(t->checkpoint);
    free(t->origin);
    free(t);
    return st;
}
