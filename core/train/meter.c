#include "core/train/meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/train/live.h"
#include "core/train/state.h"

/* What getrusage says includes the program that started this one; it is for systems that have nothing better. */
double tt_peak_memory(void)
{
    struct rusage usage;
    double kib = -1;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kib < 0 && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %lf kB", &kib);
    if (f) fclose(f);
    if (kib < 0) kib = getrusage(RUSAGE_SELF, &usage) ? 0 : (double)usage.ru_maxrss;
    return kib * 1024;
}

static int64_t tokens_per_step(const struct tt_config *c) { return tt_step_rows(c) * c->seq_len; }

/* A ring holds TT_RING_ENTRIES steps; it is fetched often enough that none is overwritten unseen. */
static int64_t ring_entries(const struct tt_meter *m)
{
    return (int64_t)(m->engine->bytes[TT_X_RING] / sizeof(struct tt_metrics));
}

static int64_t fetch_interval(const struct tt_meter *m)
{
    int64_t most = ring_entries(m) / 4;
    return m->config->log_interval > 0 && m->config->log_interval < most ? m->config->log_interval : most;
}

/* ---- metrics.jsonl ---- */

/* Losses since the last log line count again, so that the next one shows what it would have shown. */
static void count_again(void *user, long long step, const char *line)
{
    struct tt_meter *m = user;
    double loss;
    int64_t interval = m->config->log_interval > 0 ? m->config->log_interval : 1;
    if (step <= m->first - m->first % interval || !strstr(line, "\"applied\":true")) return;
    if (sscanf(line, "{\"step\":%*d,\"loss\":%lf", &loss) != 1) return;
    m->sum += loss;
    m->sum_count++;
}

static void flush_lines(struct tt_meter *m)
{
    if (tt_metrics_file_flush(&m->file, m->seen)) return;
    tt_meter_clear(m);
    tt_say("%s cannot be written: %s; training continues without it", m->file.path, strerror(m->file.error));
}

tt_status tt_meter_status(const struct tt_meter *m) { return tt_metrics_file_status(&m->file); }

/* ---- the time of single steps ---- */

static double *seconds_of(const struct tt_meter *m, int64_t step) { return &m->seconds[(step - 1) % ring_entries(m)]; }

/* Tokens per second of one step; NAN where the clock has not moved. */
static double step_speed(const struct tt_meter *m, int64_t step)
{
    double seconds = *seconds_of(m, step);
    return seconds > 0 ? (double)tokens_per_step(m->config) / seconds : (double)NAN;
}

/* The host may be some steps ahead of the device, and then waits for it: over a few steps it adds up. */
static void note_step(struct tt_meter *m, int64_t step)
{
    double now = tt_seconds();
    *seconds_of(m, step) = now - m->eta.last;
    tt_eta_step(&m->eta, now);
}

/* What the device still had to do after the last step was enqueued. */
static tt_status note_wait(struct tt_meter *m, int64_t step)
{
    struct tt_backend *b = m->engine->backend;
    TT_TRY(b->ops->stream_sync(b->self, NULL));
    double now = tt_seconds();
    if (step > m->first) *seconds_of(m, step) += now - m->eta.last;
    tt_eta_wait(&m->eta, now);
    return TT_OK;
}

static void write_line(struct tt_meter *m, const struct tt_metrics *e)
{
    char loss[32], norm[32], lr[32], speed[32];
    FILE *out = m->file.lines;
    if (!out) return;
    fprintf(out, "{\"step\":%lld,\"loss\":%s,\"grad_norm\":%s,\"lr\":%s,\"tokens_per_second\":%s,\"applied\":%s",
            (long long)e->step, tt_metrics_number(loss, (double)e->loss), tt_metrics_number(norm, (double)e->grad_norm),
            tt_metrics_number(lr, (double)e->lr), tt_metrics_number(speed, step_speed(m, e->step)),
            e->apply ? "true" : "false");
    if (tt_scales_loss(m->config->precision))
        fprintf(out, ",\"loss_scale\":%.0f,\"skipped\":%lld", (double)e->loss_scale, (long long)e->skipped);
    tt_choices_line(&m->choices, e->step, out);
    fputs("}\n", out);
}

tt_status tt_meter_open(struct tt_meter *m, struct tt_engine *e, const struct tt_config *c,
                        const struct tt_params *params, const struct tt_epochs *epochs)
{
    int64_t first = epochs->first;
    *m = (struct tt_meter){.config = c, .epochs = epochs, .engine = e,
                           .first = first, .seen = first, .last_log_step = first,
                           .loss = NAN};
    struct tt_backend *b = e->backend;
    TT_TRY(b->ops->host_alloc(b->self, e->bytes[TT_X_RING], (void **)&m->ring));
    TT_TRY(b->ops->event_create(b->self, &m->ready));
    m->seconds = calloc((size_t)ring_entries(m), sizeof *m->seconds);
    if (!m->seconds) return tt_no_memory("the times of steps");
    TT_TRY(tt_choices_open(&m->choices, e, params));
    m->quiet = c->quiet || c->rank;
    m->terminal = !m->quiet && tt_is_terminal(stderr);
    m->start = m->last_log_time = tt_seconds();
    tt_eta_start(&m->eta, m->start);
    if (c->rank) return TT_OK; /* rank 0 alone writes */
    tt_usage_open(&m->usage, b, m->start);
    if (c->tensorboard[0]) TT_TRY(tt_events_open(c->tensorboard, first, &m->events));
    if (!c->out[0]) return TT_OK;
    TT_TRY(tt_choices_keep(&m->choices, c->out, first));
    return tt_metrics_file_open(&m->file, c->out, first, count_again, m);
}

double tt_meter_speed(const struct tt_meter *m, int64_t step)
{
    double seconds = tt_seconds() - m->start;
    return seconds > 0 ? (double)((step - m->first) * tokens_per_step(m->config)) / seconds : 0;
}

void tt_meter_clear(struct tt_meter *m)
{
    if (m->terminal) fputs("\r\033[K", stderr);
}

static double eta(const struct tt_meter *m, int64_t step)
{
    const struct tt_config *c = m->config;
    struct tt_eta_work work = {.steps = c->num_steps - step,
                               /* Forward only. */
                               .validation_steps = (double)c->val_batches / (double)c->grad_accum / 3};
    work.pauses[TT_PAUSE_VALIDATION] = tt_eta_times(step, c->num_steps, c->val_interval);
    if (c->out[0])
        work.pauses[TT_PAUSE_SAVE] = tt_eta_times(step, c->num_steps,
                                                  c->save_interval > 0 ? c->save_interval : c->num_steps) +
                                     tt_epochs_times(m->epochs, step + 1, c->num_steps - 1, c->save_epochs);
    return tt_eta_left(&m->eta, &work);
}

/* ---- epochs, where the run is told in them ---- */

static bool by_epochs(const struct tt_meter *m) { return m->config->epochs > 0; }

static const char *past_blanks(const char *text) { return text + strspn(text, " "); }

/* "  epoch 0.32/5", or nothing. */
static const char *epoch_text(const struct tt_meter *m, int64_t step, char out[64])
{
    out[0] = 0;
    if (by_epochs(m))
        snprintf(out, 64, "  epoch %.2f/%lld", tt_epochs_at(m->epochs, step), (long long)m->config->epochs);
    return out;
}

/* "  1420 samples/s", or nothing. */
static const char *samples_text(const struct tt_meter *m, double tokens_per_second, char out[64])
{
    out[0] = 0;
    if (by_epochs(m)) snprintf(out, 64, "  %.0f samples/s", tokens_per_second / (double)m->config->seq_len);
    return out;
}

/* The first step that this run saw of the epoch that ends now; 0: it saw all of them. */
static int64_t seen_from(const struct tt_meter *m, int64_t done)
{
    int64_t before = tt_epochs_done(m->epochs, m->first);
    bool begun_before = tt_epochs_at(m->epochs, m->first) > (double)before;
    return begun_before && before == done - 1 ? m->first + 1 : 0;
}

/* The mean loss of an epoch's steps, and their time: without validations and checkpoints. */
static void epoch_line(struct tt_meter *m, int64_t step)
{
    char time[32], mean[32], seconds[32], rate[32], part[64] = "", from[48] = "";
    double loss = m->epoch.losses ? m->epoch.loss / (double)m->epoch.losses : (double)NAN;
    double speed = (double)(m->epoch.steps * m->epochs->rows) / m->epoch.seconds;
    int64_t done = tt_epochs_done(m->epochs, step), first = seen_from(m, done);
    if (first) snprintf(part, sizeof part, " (of its steps from %lld on)", (long long)first);
    if (first) snprintf(from, sizeof from, ",\"from_step\":%lld", (long long)first);
    if (m->file.lines)
        fprintf(m->file.lines, "{\"step\":%lld,\"epoch\":%lld,\"epoch_loss\":%s,\"seconds\":%s,"
                "\"samples_per_second\":%s%s}\n",
                (long long)step, (long long)done, tt_metrics_number(mean, loss),
                tt_metrics_number(seconds, m->epoch.seconds), tt_metrics_number(rate, speed), from);
    if (m->events) tt_events_scalar(m->events, step, "epoch/loss", loss);
    if (m->quiet) return;
    tt_format_duration(m->epoch.seconds, time);
    tt_meter_clear(m);
    printf("epoch %lld/%lld  mean loss %.4f%s  time %s  %.0f samples/s\n", (long long)done,
           (long long)m->config->epochs, loss, part, time, speed);
    fflush(stdout);
}

static void count_epoch(struct tt_meter *m, const struct tt_metrics *e)
{
    if (!by_epochs(m)) return;
    m->epoch.seconds += *seconds_of(m, e->step);
    m->epoch.steps++;
    if (e->apply) {
        m->epoch.loss += (double)e->loss;
        m->epoch.losses++;
    }
    if (!tt_epochs_times(m->epochs, e->step, e->step, 1)) return;
    epoch_line(m, e->step);
    memset(&m->epoch, 0, sizeof m->epoch);
}

/* "  scale 65536  skipped 3": of a precision that scales its loss, once a step was seen; else nothing. */
static const char *scale_text(const struct tt_meter *m, char out[64])
{
    out[0] = 0;
    if (tt_scales_loss(m->config->precision) && m->scale > 0)
        snprintf(out, 64, "  scale %.0f  skipped %lld", m->scale, (long long)m->skipped);
    return out;
}

static void log_line(struct tt_meter *m, const struct tt_metrics *e)
{
    double now = tt_seconds(), seconds = now - m->last_log_time;
    if (seconds > 0) m->recent = (double)((e->step - m->last_log_step) * tokens_per_step(m->config)) / seconds;
    m->last_log_time = now;
    m->last_log_step = e->step;
    m->loss = m->sum_count ? m->sum / (double)m->sum_count : NAN;
    m->sum = 0;
    m->sum_count = 0;
    if (m->quiet) return;
    char left[32], scale[64], epoch[64], samples[64], busy[32];
    tt_format_duration(eta(m, e->step), left);
    tt_usage_text(&m->usage, busy);
    tt_meter_clear(m);
    printf("step %5lld/%lld%s  loss %.4f  norm %.3f  lr %.2e%s  %8.0f tok/s%s%s%s  eta %s\n", (long long)e->step,
           (long long)m->config->num_steps, epoch_text(m, e->step, epoch), m->loss, (double)e->grad_norm,
           (double)e->lr, scale_text(m, scale), m->recent, samples_text(m, m->recent, samples), busy[0] ? "  " : "",
           busy, left);
    fflush(stdout);
}

static void write_events(struct tt_meter *m, const struct tt_metrics *e)
{
    if (!m->events) return;
    tt_events_scalar(m->events, e->step, "train/loss", (double)e->loss);
    tt_events_scalar(m->events, e->step, "train/grad_norm", (double)e->grad_norm);
    tt_events_scalar(m->events, e->step, "train/learning_rate", (double)e->lr);
    double speed = step_speed(m, e->step);
    if (isfinite(speed)) tt_events_scalar(m->events, e->step, "train/tokens_per_second", speed);
    if (tt_usage_known(&m->usage)) tt_events_scalar(m->events, e->step, "train/device_utilisation", m->usage.now.busy);
    tt_choices_events(&m->choices, e->step, m->events);
    if (!tt_scales_loss(m->config->precision)) return;
    tt_events_scalar(m->events, e->step, "train/loss_scale", (double)e->loss_scale);
    tt_events_scalar(m->events, e->step, "train/skipped_steps", (double)e->skipped);
}

bool tt_meter_stops(const struct tt_meter *m) { return m->bad_step && m->config->on_nan == TT_NAN_STOP; }

static void note_bad(struct tt_meter *m, const struct tt_metrics *e)
{
    if (e->overflowed) return;
    if (!m->bad_step) m->bad_step = e->step;
    if (m->config->on_nan != TT_NAN_SKIP || m->warned) return;
    m->warned = true;
    tt_meter_clear(m);
    tt_say("step %lld: loss or gradients are not finite; the update was skipped (further ones are counted)",
           (long long)e->step);
}

static void show(struct tt_meter *m, int64_t upto)
{
    for (; m->seen < upto && !tt_meter_stops(m); m->seen++) {
        const struct tt_metrics *e = &m->ring[m->seen % ring_entries(m)];
        if (e->apply) {
            m->sum += (double)e->loss;
            m->sum_count++;
        } else {
            note_bad(m, e);
        }
        m->scale = (double)e->loss_scale;
        m->skipped = e->skipped;
        int64_t interval = m->config->log_interval;
        if ((interval > 0 && e->step % interval == 0) || e->step == m->config->num_steps) log_line(m, e);
        write_line(m, e);
        write_events(m, e);
        count_epoch(m, e);
        tt_choices_write(&m->choices, e->step);
    }
    flush_lines(m);
    if (m->events) tt_status_free(tt_events_flush(m->events)); /* told again when it is closed */
}

static tt_status ask(struct tt_meter *m, int64_t step)
{
    struct tt_backend *b = m->engine->backend;
    TT_TRY(b->ops->copy(b->self, m->ring, m->engine->externals[TT_X_RING], m->engine->bytes[TT_X_RING], TT_TO_HOST,
                        NULL));
    TT_TRY(tt_choices_ask(&m->choices));
    TT_TRY(b->ops->event_record(b->self, m->ready, NULL));
    m->asked = true;
    m->asked_step = step;
    return TT_OK;
}

static tt_status collect(struct tt_meter *m, bool wait)
{
    struct tt_backend *b = m->engine->backend;
    bool done = true;
    if (!m->asked) return TT_OK;
    if (wait)
        TT_TRY(b->ops->event_sync(b->self, m->ready));
    else
        TT_TRY(b->ops->event_query(b->self, m->ready, &done));
    if (!done) return TT_OK;
    m->asked = false;
    show(m, m->asked_step);
    return TT_OK;
}

/* The mean of the last log interval; in the first one, of the steps so far. NAN: none has arrived. */
static double loss_so_far(const struct tt_meter *m)
{
    return isnan(m->loss) && m->sum_count ? m->sum / (double)m->sum_count : m->loss;
}

/* Before the first log interval ends nobody else asks for metrics. */
static tt_status ask_early(struct tt_meter *m, int64_t step)
{
    if (!isnan(m->loss) || m->asked) return TT_OK;
    TT_TRY(ask(m, step));
    return collect(m, false);
}

/* "data 3 %, validation 2 %": what the steps stood still for, from half a percent of the time on. */
static void pauses_text(const struct tt_meter *m, double now, char out[64])
{
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"data", m->feed ? tt_feed_waited(m->feed) : 0},
                 {"validation", m->eta.pauses[TT_PAUSE_VALIDATION].seconds},
                 {"saving", m->eta.pauses[TT_PAUSE_SAVE].seconds}};
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < 3; i++) {
        double percent = 100 * parts[i].seconds / (now - m->start);
        if (percent >= 0.5)
            n += (size_t)snprintf(out + n, 64 - n, "%s%s %.0f %%", n ? ", " : "", parts[i].name, percent);
    }
}

static void speed_parts(const struct tt_meter *m, int64_t step, struct tt_live *line)
{
    char rate[32], whole[32];
    double tokens = (double)tokens_per_step(m->config), overall = tt_meter_speed(m, step);
    double recent = m->recent > 0 ? m->recent : overall;
    tt_live_rates(recent / tokens, overall / tokens, rate, whole);
    tt_live_add(line, 90, "%s", rate);
    tt_live_add(line, 50, "%s", whole);
    tt_live_add(line, 80, "%.0f tok/s", recent);
    tt_live_add(line, 45, "%.3g samples/s", recent / (double)m->config->seq_len);
}

static void device_parts(const struct tt_meter *m, struct tt_live *line)
{
    char busy[32], memory[48];
    tt_usage_text(&m->usage, busy);
    tt_usage_memory_text(&m->usage, memory);
    tt_live_add(line, 70, "%s", busy);
    tt_live_add(line, 60, "%s", memory);
}

static void print_live(struct tt_meter *m, int64_t step, double now)
{
    struct tt_live line = {0};
    char left[32], loss[32] = "-", text[64], out[512];
    tt_format_duration(eta(m, step), left);
    if (!isnan(loss_so_far(m))) snprintf(loss, sizeof loss, "%.4f", loss_so_far(m));
    tt_live_add(&line, 100, "step %lld/%lld", (long long)step, (long long)m->config->num_steps);
    tt_live_add(&line, 75, "%s", past_blanks(epoch_text(m, step, text)));
    tt_live_add(&line, 95, "loss %s", loss);
    tt_live_add(&line, 40, "%s", past_blanks(scale_text(m, text)));
    speed_parts(m, step, &line);
    device_parts(m, &line);
    pauses_text(m, now, text);
    tt_live_add(&line, 30, "%s", text);
    tt_live_add(&line, 85, "eta %s", left);
    tt_live_text(&line, tt_live_width(stderr) - 1, out, sizeof out); /* a full line would wrap */
    fprintf(stderr, "\r\033[K%s", out);
    fflush(stderr);
}

static tt_status paint(struct tt_meter *m, int64_t step, double now)
{
    if (!m->terminal || now - m->last_paint < 0.2) return TT_OK;
    m->last_paint = now;
    TT_TRY(ask_early(m, step));
    print_live(m, step, now);
    return TT_OK;
}

tt_status tt_meter_step(struct tt_meter *m, int64_t step)
{
    note_step(m, step);
    TT_TRY(collect(m, false));
    if (step % fetch_interval(m) == 0 || step - m->seen >= ring_entries(m) / 2) {
        TT_TRY(collect(m, true)); /* only if the device is a whole interval behind */
        TT_TRY(ask(m, step));
        TT_TRY(collect(m, false));
    }
    tt_usage_ask(&m->usage, m->eta.last);
    return paint(m, step, tt_seconds());
}

tt_status tt_meter_finish(struct tt_meter *m, int64_t step)
{
    TT_TRY(note_wait(m, step));
    TT_TRY(collect(m, true));
    TT_TRY(ask(m, step));
    TT_TRY(collect(m, true));
    if (m->sum_count && isnan(m->loss)) m->loss = m->sum / (double)m->sum_count;
    tt_eta_wait(&m->eta, tt_seconds());
    tt_usage_ask(&m->usage, m->eta.last);
    return TT_OK;
}

void tt_meter_saved(struct tt_meter *m) { tt_eta_pause(&m->eta, TT_PAUSE_SAVE, tt_seconds()); }

void tt_meter_validation(struct tt_meter *m, int64_t step, double loss, bool best)
{
    char number[32];
    tt_eta_pause(&m->eta, TT_PAUSE_VALIDATION, tt_seconds());
    if (m->file.lines)
        fprintf(m->file.lines, "{\"step\":%lld,\"val_loss\":%s}\n", (long long)step, tt_metrics_number(number, loss));
    flush_lines(m);
    if (m->events) tt_events_scalar(m->events, step, "validation/loss", loss);
    if (m->quiet) return;
    tt_meter_clear(m);
    printf("step %5lld/%lld  validation loss %.4f%s%s%s\n", (long long)step, (long long)m->config->num_steps, loss,
           tt_colour(stdout, TT_GOOD), best ? "  (best)" : "", tt_colour(stdout, TT_PLAIN));
    fflush(stdout);
}

double tt_meter_norm(const struct tt_meter *m, int64_t step)
{
    return (double)m->ring[(step - 1) % ring_entries(m)].grad_norm;
}

tt_status tt_meter_close(struct tt_meter *m)
{
    if (!m->engine) return TT_OK;
    struct tt_backend *b = m->engine->backend;
    tt_meter_clear(m);
    tt_metrics_file_close(&m->file);
    if (m->ready) b->ops->event_destroy(b->self, m->ready);
    if (m->ring) b->ops->host_free(b->self, m->ring);
    free(m->seconds);
    tt_choices_close(&m->choices);
    m->engine = NULL;
    return tt_events_close(m->events);
}
