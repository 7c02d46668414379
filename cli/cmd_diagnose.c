/* tt diagnose: try a run out before it is started, and say what to expect and what to change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/chips.h"
#include "cli/commands.h"
#include "cli/diagnose.h"
#include "cli/start.h"
#include "core/base/terminal.h"
#include "core/config/batch.h"
#include "core/train/epochs.h"

/* ---- options ---- */

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_diagnose_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"quick", AT(quick), "What to try", 1 << TT_CMD_DIAGNOSE, "false", NULL, NULL,
     .help = "time only a few steps, and try no other batch size, version or precision", .here = true},
    {"for", AT(cards), "What to try", 1 << TT_CMD_DIAGNOSE, "", NULL, "LIST",
     .help = "predict from data sheets the batch size, time and throughput on these cards instead: "
             "rtx4080s,t4,mi300x; a size of memory (16GiB) gives the batch size alone; \"\" = try this device",
     .choices = tt_chip_names, .check = tt_check_cards, .list = ',', .here = true},
};
// clang-format on
const struct tt_rows tt_diagnose_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_diagnose_options);

/* What train would take from a checkpoint. */
static tt_status choose_start(struct tt_diagnosis *d)
{
    struct tt_progress progress = {0};
    char *config = NULL, *origin = NULL;
    tt_status st = tt_choose_start(&d->o, NULL, &d->checkpoint, &origin);
    if (!st && d->checkpoint) {
        st = tt_checkpoint_peek(d->checkpoint, &progress, &config);
        d->done = progress.step;
    }
    if (origin) d->checkpoint = origin; /* its tokenizer is that of the data */
    free(config);
    return st;
}

/* What train refuses is refused here in the same words, with the same exit code. */
static tt_status prepare(struct tt_diagnosis *d)
{
    struct tt_config *c = d->c;
    bool validates;
    TT_TRY(choose_start(d));
    TT_TRY(tt_batch_fit(&d->o));
    TT_TRY(tt_config_check(c));
    TT_TRY(tt_open_training_data(&d->o, d->checkpoint, &d->data));
    TT_TRY(tt_take_epochs(&d->o, d->data, d->done ? d->checkpoint : NULL));
    TT_TRY(tt_config_check(c));
    TT_TRY(tt_check_left(c, d->checkpoint, d->done));
    TT_TRY(tt_check_validation(&d->o, d->data, &validates));
    if (!validates) c->val_interval = 0;
    return tt_open_backend(c, &d->backend);
}

static void busy(const struct tt_diagnosis *d, const char *what)
{
    if (!d->c->quiet && !d->c->json && !d->c->rank && tt_is_terminal(stderr)) fprintf(stderr, "\r\033[K%s", what);
}

static tt_status verdict(const struct tt_diagnosis *d)
{
    int warnings = 0;
    for (int i = 0; i < d->count; i++) {
        if (d->findings[i].level == TT_FATAL) return tt_fail(TT_FAILED, "the run would fail: %s", d->findings[i].what);
        warnings += d->findings[i].level == TT_WARN;
    }
    return warnings ? tt_fail(TT_WARNED, "the run would work, with %d warning%s", warnings, warnings == 1 ? "" : "s")
                    : TT_OK;
}

/* The verdict of rank 0 is that of all ranks. */
static tt_status verdict_of_all(struct tt_diagnosis *d)
{
    tt_status st = verdict(d);
    int code = st ? (int)st->code : 0;
    if (!d->member.job) return st;
    tt_status shared = tt_job_share(d->member.job, &code, sizeof code);
    d->member.together = !shared;
    if (!shared && tt_job_leads(d->member.job)) return st;
    tt_status_free(st);
    return shared ? shared : code ? tt_fail((enum tt_code)code, "%s", "") : TT_OK;
}

/* Whether steps can be tried. Only rank 0 prints its findings; a fatal finding of another rank becomes that rank's
 * error. */
static tt_status may_run(struct tt_diagnosis *d, bool *may)
{
    *may = tt_diagnose_worst(d) < TT_FATAL;
    bool mine = *may;
    TT_TRY(tt_job_share(d->member.job, may, sizeof *may));
    return tt_job_agree(d->member.job, *may && !mine ? verdict(d) : TT_OK);
}

static tt_status try_out(struct tt_diagnosis *d)
{
    busy(d, "timing steps");
    TT_TRY(tt_diagnose_speed(d));
    busy(d, d->member.job ? "timing collectives" : "timing other batch sizes");
    TT_TRY(tt_diagnose_sweep(d));
    TT_TRY(tt_diagnose_ranks(d));
    TT_TRY(tt_diagnose_judge_speed(d));
    tt_diagnose_judge_ranks(d);
    busy(d, "");
    return TT_OK;
}

static tt_status run(struct tt_diagnosis *d)
{
    bool may;
    TT_TRY(tt_job_agree(d->member.job, prepare(d)));
    TT_TRY(tt_member_compare(&d->member, &d->o, ""));
    TT_TRY(tt_job_agree(d->member.job, tt_member_join(&d->member, &d->backend)));
    TT_TRY(tt_job_agree(d->member.job, d->backend.ops->info(d->backend.self, &d->device)));
    TT_TRY(tt_job_agree(d->member.job, tt_diagnose_sizes(d)));
    tt_diagnose_judge_sizes(d);
    d->sweet = -1;
    TT_TRY(may_run(d, &may));
    if (may) TT_TRY(try_out(d));
    if (d->c->json)
        TT_TRY(tt_diagnose_json(d));
    else
        tt_diagnose_text(d);
    return verdict_of_all(d);
}

tt_status tt_cmd_diagnose(const struct tt_options *o)
{
    const struct tt_diagnose_options *own = tt_own(o);
    if (own->cards[0]) return tt_diagnose_for(o);
    struct tt_diagnosis *d = calloc(1, sizeof *d);
    if (!d) return tt_no_memory("the command");
    d->o = *o;
    d->own = tt_own(&d->o);
    d->c = &d->o.c;
    tt_status st = tt_member_open(&d->member, &d->o);
    if (!st && !d->member.done) st = run(d);
    st = tt_member_close(&d->member, st);
    if (d->data) tt_data_close(d->data);
    if (d->backend.ops) tt_backend_close(&d->backend);
    free(d->ranks.seats);
    free(d->checkpoint);
    free(d);
    return st;
}
