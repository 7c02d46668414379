/* One rank of tt bench --ranks. A step is timed three times: as it runs in training, with communication beside the
 * kernels; with all of it on one stream, where nothing is beside anything; and so once more with events around each
 * collective. What the second is longer than the first is what was hidden. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/relay.h"
#include "cli/bench.h"
#include "core/base/json.h"
#include "core/base/stats.h"
#include "profiling/measure/cost.h"

struct rank {
    struct tt_member member;
    struct tt_options o, trial; /* trial: those of one size and version */
    const struct tt_bench_options *own;
    struct tt_backend backend;
    tt_event *events; /* repeats + 1 */
    double *times;    /* repeats */
    struct tt_json_writer w;
};

/* Of one rank, as it goes to the others; seconds, bytes. */
struct figures {
    double median, p95;
    double one_stream;    /* of a step on one stream */
    double communication; /* of its collectives, with waiting for ranks that come later */
    double noise;         /* how far one_stream - median may be off, in 19 of 20 measurements */
    double memory;
};

/* ---- collectives ---- */

struct timed {
    struct tt_relay relay; /* first: it is the `self` of the calls */
    tt_event *events;      /* before and after each collective */
    int count, n;          /* n: of this step so far */
};

static tt_status timed_collective(void *self, const struct tt_collective *c, tt_stream s)
{
    struct timed *t = self;
    struct tt_backend *real = &t->relay.real;
    TT_TRY(real->ops->event_record(real->self, t->events[t->n++], s));
    TT_TRY(real->ops->collective(real->self, c, s));
    return real->ops->event_record(real->self, t->events[t->n++], s);
}

static tt_status timed_step(struct timed *t, struct tt_backend *through, const struct tt_plan *plan, double *seconds)
{
    struct tt_backend *real = &t->relay.real;
    double one;
    t->n = 0;
    *seconds = 0;
    TT_TRY(tt_plan_run(plan, through, NULL));
    for (int i = 0; i < t->n; i += 2) {
        TT_TRY(real->ops->event_elapsed(real->self, t->events[i], t->events[i + 1], &one));
        *seconds += one;
    }
    return TT_OK;
}

static tt_status time_collectives(struct rank *r, const struct tt_plan *plan, double *median)
{
    struct timed t = {.count = 2 * tt_cost_of_plan(plan).collectives};
    struct tt_backend through = tt_relay_open(&t.relay, &r->backend);
    const struct tt_backend_ops *ops = r->backend.ops;
    t.relay.ops.collective = timed_collective;
    t.events = calloc((size_t)t.count, sizeof *t.events);
    tt_status st = t.events ? TT_OK : tt_no_memory("the events of %d collectives", t.count / 2);
    for (int i = 0; i < t.count && !st; i++) st = ops->event_create(r->backend.self, &t.events[i]);
    for (int64_t i = 0; i < r->own->repeats && !st; i++) st = timed_step(&t, &through, plan, &r->times[i]);
    if (!st) *median = tt_quantile(r->times, (int)r->own->repeats, 0.5);
    for (int i = 0; t.events && i < t.count; i++)
        if (t.events[i]) ops->event_destroy(r->backend.self, t.events[i]);
    free(t.events);
    return st;
}

/* ---- one size and version ---- */

/* The interval of a median of n is 1.57 x the distance of its quartiles / sqrt(n), as the notches of box plots have it;
 * this is its square, since those of two medians add up so. */
static double noise_squared(double *times, int n)
{
    double quartiles = tt_quantile(times, n, 0.75) - tt_quantile(times, n, 0.25);
    return 1.57 * 1.57 * quartiles * quartiles / n;
}

/* The waits of the plan stay, but wait for nothing that has not been done. */
static void put_on_one_stream(struct tt_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->ops[i].stream == TT_STREAM_COMM) plan->ops[i].stream = TT_STREAM_MAIN;
}

static tt_status time_all(struct rank *r, struct tt_session *s, struct tt_run *run, struct figures *f)
{
    struct tt_device_info info;
    int n = (int)r->own->repeats;
    TT_TRY(tt_bench_time(r->own, &r->backend, run, r->events, r->times));
    f->median = f->one_stream = tt_quantile(r->times, n, 0.5);
    f->p95 = tt_quantile(r->times, n, 0.95);
    f->noise = noise_squared(r->times, n);
    TT_TRY(r->backend.ops->info(r->backend.self, &info));
    f->memory = (double)info.memory_peak;
    if (!s->step->collective) return TT_OK;
    tt_stepper_close(&run->stepper); /* what it captured ran beside */
    put_on_one_stream(s->step);
    TT_TRY(tt_bench_time(r->own, &r->backend, run, r->events, r->times));
    f->one_stream = tt_quantile(r->times, n, 0.5);
    f->noise = sqrt(f->noise + noise_squared(r->times, n));
    return time_collectives(r, s->step, &f->communication);
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

static double own_work(const struct figures *f) { return f->one_stream - f->communication; }

/* The rank whose kernels take longest: the others wait for it, and it for nobody. */
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

static void put_row(struct rank *r, const struct tt_session *s, const char *size, const struct figures *all)
{
    const struct tt_config *c = &r->trial.c;
    struct tt_plan_cost cost = tt_cost_of_plan(s->step);
    double mean, tokens = (double)(tt_step_rows(c) * c->seq_len);
    int worst = slowest(all, (int)c->ranks, &mean);
    const struct figures *f = &all[worst];
    double hidden = f->one_stream - f->median;
    hidden = hidden < 0 ? 0 : hidden > f->communication ? f->communication : hidden;
    tt_json_begin(&r->w, NULL, '{');
    tt_json_put_string(&r->w, "size", size);
    tt_json_put_string(&r->w, "version", tt_version_names[c->version]);
    tt_json_put_int(&r->w, "ranks", c->ranks);
    tt_json_put_int(&r->w, "threads", c->threads);
    tt_json_put_string(&r->w, "shard", tt_shard_names[c->shard]);
    tt_json_put_number(&r->w, "median_ms", 1e3 * f->median);
    tt_json_put_number(&r->w, "p95_ms", 1e3 * f->p95);
    tt_json_put_number(&r->w, "one_stream_ms", 1e3 * f->one_stream);
    tt_json_put_number(&r->w, "tokens_per_second", tokens / f->median);
    tt_json_put_int(&r->w, "collectives", cost.collectives);
    tt_json_put_number(&r->w, "sent_bytes", cost.sent);
    tt_json_put_number(&r->w, "communication_ms", 1e3 * f->communication);
    tt_json_put_number(&r->w, "hidden_ms", 1e3 * hidden);
    tt_json_put_number(&r->w, "hidden_noise_ms", cost.collectives ? 1e3 * f->noise : 0);
    tt_json_put_int(&r->w, "slowest_rank", worst);
    tt_json_put_number(&r->w, "slowest_percent", 100 * (own_work(f) / mean - 1));
    tt_json_put_number(&r->w, "peak_memory_bytes", f->memory);
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
    int64_t n = r->own->repeats;
    r->times = calloc((size_t)n, sizeof *r->times);
    r->events = calloc((size_t)n + 1, sizeof *r->events);
    if (!r->times || !r->events) return tt_no_memory("%lld repeats", (long long)n);
    TT_TRY(tt_open_backend(&r->o.c, &r->backend));
    for (int64_t i = 0; i <= n; i++) TT_TRY(r->backend.ops->event_create(r->backend.self, &r->events[i]));
    return TT_OK;
}

static tt_status measure(struct rank *r)
{
    struct tt_device_info info;
    char size[32], version[16];
    TT_TRY(tt_job_agree(r->member.job, open_rank(r)));
    TT_TRY(tt_job_agree(r->member.job, tt_member_join(&r->member, &r->backend)));
    TT_TRY(tt_job_agree(r->member.job, r->backend.ops->info(r->backend.self, &info)));
    tt_json_begin(&r->w, NULL, '{');
    tt_json_put_string(&r->w, "device", info.name);
    tt_json_put_string(&r->w, "collectives", r->member.job ? info.collectives : "");
    tt_json_begin(&r->w, "rows", '[');
    for (const char *at = r->own->sizes; tt_list_next(&at, ',', size, sizeof size);)
        for (const char *v = r->own->versions; tt_list_next(&v, ',', version, sizeof version);)
            TT_TRY(one(r, size, version));
    tt_json_end(&r->w, ']');
    tt_json_end(&r->w, '}');
    TT_TRY(tt_text_status(&r->w.text));
    puts(r->w.text.s);
    return TT_OK;
}

/* Started by somebody else, there must be as many as were asked for. */
static tt_status is_wanted(const struct tt_bench_options *own, int ranks)
{
    char item[32];
    for (const char *at = own->ranks; tt_list_next(&at, ',', item, sizeof item);)
        if (atoi(item) == ranks) return TT_OK;
    return tt_fail(TT_USAGE, "--ranks %s, but %d were started", own->ranks, ranks);
}

static void close_rank(struct rank *r)
{
    for (int64_t i = 0; r->events && i <= r->own->repeats; i++)
        if (r->events[i]) r->backend.ops->event_destroy(r->backend.self, r->events[i]);
    if (r->backend.ops) tt_backend_close(&r->backend);
    tt_text_free(&r->w.text);
    free(r->times);
    free(r->events);
    free(r);
}

tt_status tt_bench_as_rank(const struct tt_options *o)
{
    struct rank *r = calloc(1, sizeof *r);
    if (!r) return tt_no_memory("the command");
    r->o = *o;
    r->own = tt_own(&r->o);
    tt_status st = tt_place_find(&r->member.place);
    r->o.c.ranks = r->member.place.ranks;
    if (!st) st = is_wanted(r->own, r->member.place.ranks);
    if (!st) st = tt_member_open(&r->member, &r->o);
    if (!st) st = measure(r);
    st = tt_member_close(&r->member, st);
    close_rank(r);
    return st;
}
