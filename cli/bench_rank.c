/* One rank of tt bench --ranks: what it measures, and what all of them found as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "core/job/place.h"
#include "profiling/measure/cost.h"
#include "profiling/measure/steps.h"

struct rank {
    struct tt_member member;
    struct tt_options o, trial; /* trial: those of one size and version */
    const struct tt_bench_options *own;
    struct tt_backend backend;
    int threads; /* of a CPU; 0 on a GPU */
    double load; /* of the machine before it began */
    struct tt_step_times steps;
    struct tt_json_writer w;
};

/* The figures of one rank, as they go to the others. */
struct figures {
    struct tt_overlap times;
    double operations; /* of a step */
};

/* ---- one size and version ---- */

static tt_status time_all(struct rank *r, struct tt_session *s, struct tt_run *run, struct figures *f)
{
    TT_TRY(tt_measure_overlap(&r->steps, &r->backend, run, s->step, &f->times));
    f->operations = s->step->count;
    return TT_OK;
}

static tt_status open_run(struct rank *r, struct tt_session *s, struct tt_run *run)
{
    const struct tt_config *c = &r->trial.c;
    struct tt_data *data;
    r->backend.ops->reset_peak(r->backend.self);
    TT_TRY(tt_open_data(c, c->vocab_size, NULL, &data));
    tt_status st = tt_session_try(s, &r->backend, c, data, run);
    tt_data_close(data);
    return st;
}

static double own_work(const struct figures *f) { return f->times.kernels; }

/* The rank whose kernels take longest. The others wait for it, and it waits for nobody. */
static int slowest(const struct figures *all, int ranks, double *mean)
{
    int worst = 0;
    *mean = 0;
    for (int i = 0; i < ranks; i++) {
        *mean += own_work(&all[i]) / ranks;
        if (own_work(&all[i]) > own_work(&all[worst])) worst = i;
    }
    return worst;
}

/* All ranks wait for the one that waits for a processor. */
static double most_waited(const struct figures *all, int ranks)
{
    double most = NAN;
    for (int i = 0; i < ranks; i++) most = fmax(most, all[i].times.waited);
    return most;
}

/* The time of each rank's own work, and its time in collectives, where early ranks wait for late ones. */
static void put_each(struct tt_json_writer *w, const struct figures *all, int ranks)
{
    tt_json_begin(w, "each", '[');
    for (int i = 0; i < ranks; i++) {
        tt_json_begin(w, NULL, '{');
        char name[32];
        snprintf(name, sizeof name, "rank_%d", i);
        tt_json_put_string(w, "name", name);
        tt_json_put_number(w, "operations", all[i].operations);
        tt_json_put_number(w, "work_ms", 1e3 * own_work(&all[i]));
        tt_json_put_number(w, "communication_ms", 1e3 * all[i].times.communication);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

static void put_row(struct rank *r, const struct tt_session *s, const char *size, const struct figures *all)
{
    const struct tt_config *c = &r->trial.c;
    struct tt_plan_cost cost = tt_cost_of_plan(s->step);
    char label[32];
    double mean, tokens = (double)(tt_step_rows(c) * c->seq_len);
    int worst = slowest(all, (int)c->ranks, &mean);
    const struct tt_overlap *f = &all[worst].times;
    tt_json_begin(&r->w, NULL, '{');
    tt_bench_label(&r->o, size, c, label);
    tt_json_put_string(&r->w, "size", label);
    tt_json_put_string(&r->w, "version", tt_version_names[c->version]);
    tt_json_put_int(&r->w, "ranks", c->ranks);
    tt_json_put_int(&r->w, "threads", r->threads);
    tt_json_put_string(&r->w, "shard", tt_shard_names[c->shard]);
    tt_json_put_number(&r->w, "median_ms", 1e3 * f->median);
    tt_json_put_number(&r->w, "p95_ms", 1e3 * f->p95);
    tt_json_put_number(&r->w, "one_stream_ms", 1e3 * f->one_stream);
    tt_json_put_number(&r->w, "tokens_per_second", tokens / f->median);
    tt_json_put_int(&r->w, "collectives", cost.collectives);
    tt_json_put_number(&r->w, "sent_bytes", cost.sent);
    tt_json_put_number(&r->w, "communication_ms", 1e3 * f->communication);
    tt_json_put_number(&r->w, "hidden_ms", 1e3 * f->hidden);
    tt_json_put_number(&r->w, "hidden_noise_ms", 1e3 * f->noise);
    tt_json_put_number(&r->w, "waited", most_waited(all, (int)c->ranks));
    tt_json_put_int(&r->w, "slowest_rank", worst);
    tt_json_put_number(&r->w, "slowest_percent", 100 * (own_work(&all[worst]) / mean - 1));
    tt_json_put_number(&r->w, "peak_memory_bytes", f->memory);
    tt_json_put_int(&r->w, "batch_size", c->batch_size);
    put_each(&r->w, all, (int)c->ranks);
    tt_json_end(&r->w, '}');
}

static tt_status share_figures(struct rank *r, const struct tt_session *s, const char *size, const struct figures *mine)
{
    struct figures *all = calloc((size_t)r->trial.c.ranks, sizeof *all);
    tt_status st = tt_job_agree(r->member.job, all ? TT_OK : tt_no_memory("the figures of the ranks"));
    if (!st) st = tt_job_gather(r->member.job, mine, sizeof *mine, all);
    if (!st) put_row(r, s, size, all);
    free(all);
    return st;
}

static tt_status one(struct rank *r, const char *size, const char *version)
{
    struct tt_session s = {0};
    struct tt_run run = {0};
    struct figures mine = {0};
    tt_status st = tt_bench_choose(&r->o, size, version, &r->trial);
    if (!st) st = tt_take_vocabulary(&r->trial);
    if (!st) st = tt_config_check(&r->trial.c);
    if (!st) st = open_run(r, &s, &run);
    st = tt_job_agree(r->member.job, st);
    tt_job_busy(r->member.job);
    if (!st) st = time_all(r, &s, &run, &mine);
    if (!st) st = tt_bench_check(&s, size, version);
    st = tt_job_agree(r->member.job, st);
    if (!st) st = share_figures(r, &s, size, &mine);
    tt_run_close(&run);
    tt_session_close(&s);
    return st;
}

/* ---- all ---- */

static tt_status open_rank(struct rank *r)
{
    TT_TRY(tt_open_backend(&r->o.c, &r->backend));
    return tt_step_times_open(&r->steps, &r->backend, (int)r->own->warmup, (int)r->own->repeats);
}

static tt_status measure(struct rank *r)
{
    struct tt_device_info info;
    char size[32], version[16];
    TT_TRY(tt_job_agree(r->member.job, open_rank(r)));
    TT_TRY(tt_job_agree(r->member.job, tt_member_join(&r->member, &r->backend)));
    TT_TRY(tt_job_agree(r->member.job, r->backend.ops->info(r->backend.self, &info)));
    r->threads = info.wave_width == 1 ? info.units : 0;
    tt_json_begin(&r->w, NULL, '{');
    tt_json_put_string(&r->w, "device", info.name);
    tt_json_put_string(&r->w, "collectives", r->member.job ? info.collectives : "");
    tt_json_begin(&r->w, "rows", '[');
    for (const char *at = r->own->sizes; tt_list_next(&at, ',', size, sizeof size);)
        for (const char *v = r->own->versions; tt_list_next(&v, ',', version, sizeof version);)
            TT_TRY(one(r, size, version));
    tt_json_end(&r->w, ']');
    tt_json_end(&r->w, '}');
    return tt_text_status(&r->w.text);
}

/* Rank 0 prints the table. If tt bench has started the ranks, it makes the table itself, and rank 0 prints JSON for
 * it. */
static tt_status show(const struct rank *r)
{
    if (r->member.place.rank > 0) return TT_OK;
    if (!tt_env(TT_STARTED)) return tt_bench_ranks_show(&r->o, &r->w.text, r->load);
    puts(r->w.text.s);
    return TT_OK;
}

/* If another launcher started the ranks, their number must be one that --ranks asks for. */
static tt_status is_wanted(const struct tt_bench_options *own, int ranks)
{
    char item[32];
    bool wanted = false;
    for (const char *at = own->ranks; tt_list_next(&at, ',', item, sizeof item);) wanted |= atoi(item) == ranks;
    return wanted ? TT_OK : tt_fail(TT_USAGE, "--ranks %s, but %d were started", own->ranks, ranks);
}

static void close_rank(struct rank *r)
{
    if (r->backend.ops) tt_step_times_close(&r->steps, &r->backend);
    if (r->backend.ops) tt_backend_close(&r->backend);
    tt_text_free(&r->w.text);
    free(r);
}

tt_status tt_bench_as_rank(const struct tt_options *o)
{
    struct rank *r = calloc(1, sizeof *r);
    if (!r) return tt_no_memory("the command");
    r->o = *o;
    r->own = tt_own(&r->o);
    r->load = tt_machine_load();
    tt_status st = tt_place_find(&r->member.place);
    r->o.c.ranks = r->member.place.ranks;
    if (!st) st = tt_member_open(&r->member, &r->o);
    if (!st) st = tt_job_agree(r->member.job, is_wanted(r->own, r->member.place.ranks));
    if (!st) st = measure(r);
    if (!st) st = tt_job_agree(r->member.job, show(r));
    st = tt_member_close(&r->member, st);
    close_rank(r);
    return st;
}
