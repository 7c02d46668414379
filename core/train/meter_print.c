#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/format.h"
#include "core/base/terminal.h"
#include "core/train/live.h"
#include "core/train/meter_parts.h"
#include "core/train/state.h"

void tt_meter_clear(struct tt_meter *m)
{
    if (m->terminal) fputs("\r\033[K", stderr);
}

/* Seconds that the rest of the run takes. */
static double eta(const struct tt_meter *m, int64_t step)
{
    const struct tt_config *c = m->config;
    double in_a_step = (double)c->grad_accum * (c->ranks > 1 ? (double)c->ranks : 1);
    struct tt_eta_work work = {.steps = c->num_steps - step,
                               /* a forward pass is about a third of a step */
                               .validation_steps = (double)tt_validation_batches(c) / in_a_step / 3};
    work.pauses[TT_PAUSE_VALIDATION] = tt_eta_times(step, c->num_steps, c->val_interval);
    if (c->out[0])
        work.pauses[TT_PAUSE_SAVE] = tt_eta_times(step, c->num_steps,
                                                  c->save_interval > 0 ? c->save_interval : c->num_steps) +
                                     tt_epochs_times(m->epochs, step + 1, c->num_steps - 1, c->save_epochs);
    return tt_eta_left(&m->eta, &work);
}

const char *tt_loss_text(double loss, char out[32])
{
    snprintf(out, 32, isnan(loss) ? "-" : "%.4f", loss);
    return out;
}

/* "  epoch 0.32/5" with --epochs, else nothing. */
static const char *epoch_text(const struct tt_meter *m, int64_t step, char out[64])
{
    out[0] = 0;
    if (m->config->epochs > 0)
        snprintf(out, 64, "  epoch %.2f/%lld", tt_epochs_at(m->epochs, step), (long long)m->config->epochs);
    return out;
}

/* "  1420 samples/s" with --epochs, else nothing. */
static const char *samples_text(const struct tt_meter *m, double tokens_per_second, char out[64])
{
    out[0] = 0;
    if (m->config->epochs > 0) snprintf(out, 64, "  %.0f samples/s", tokens_per_second / (double)m->config->seq_len);
    return out;
}

/* "  scale 65536  skipped 3" for a precision that scales its loss, once a step was seen; else nothing. */
static const char *scale_text(const struct tt_meter *m, char out[64])
{
    out[0] = 0;
    if (tt_scales_loss(m->config->precision) && m->scale > 0)
        snprintf(out, 64, "  scale %.0f  skipped %lld", m->scale, (long long)m->skipped);
    return out;
}

void tt_meter_print_log(struct tt_meter *m, const struct tt_metrics *e)
{
    if (m->quiet) return;
    char left[32], loss[32], scale[64], epoch[64], samples[64], busy[32];
    tt_format_duration(eta(m, e->step), left);
    tt_usage_text(&m->usage, busy);
    tt_meter_clear(m);
    printf("step %5lld/%lld%s  loss %s  norm %.3f  lr %.2e%s  %8.0f tok/s%s%s%s  eta %s\n", (long long)e->step,
           (long long)m->config->num_steps, epoch_text(m, e->step, epoch), tt_loss_text(m->loss, loss),
           fabs((double)e->grad_norm), (double)e->lr, scale_text(m, scale), m->recent,
           samples_text(m, m->recent, samples), busy[0] ? "  " : "", busy, left);
    fflush(stdout);
}

/* The mean of the losses since the last log line; that of the line if none has arrived since. NAN: none at all. */
static double loss_so_far(const struct tt_meter *m) { return m->sum.weight > 0 ? tt_mean_of(&m->sum) : m->loss; }

/* Tokens per second since the last log line; if that is too short a time to tell, those of the interval before. */
static double speed_now(const struct tt_meter *m, double overall)
{
    double seconds = tt_eta_busy(&m->eta, m->last_paint) - m->last_log.busy;
    int64_t steps = m->eta.steps - m->last_log.ended;
    if (steps > 0 && seconds >= 0.5) return (double)(steps * tt_meter_step_tokens(m)) / seconds;
    return m->recent > 0 ? m->recent : overall;
}

bool tt_meter_print_due(struct tt_meter *m)
{
    double now = tt_seconds();
    if (!m->terminal || now - m->last_paint < 0.2) return false;
    m->last_paint = now;
    return true;
}

/* "data 3 %, validation 2 %": what the steps stood still for, from half a percent of the time on. */
static void pauses_text(const struct tt_meter *m, char out[64])
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
        double percent = 100 * parts[i].seconds / (m->last_paint - m->start);
        if (percent >= 0.5)
            n += (size_t)snprintf(out + n, 64 - n, "%s%s %.0f %%", n ? ", " : "", parts[i].name, percent);
    }
}

static void speed_parts(const struct tt_meter *m, int64_t step, struct tt_live *line)
{
    char rate[32], whole[32];
    double tokens = (double)tt_meter_step_tokens(m), overall = tt_meter_speed(m, step);
    double now = speed_now(m, overall), samples = now / (double)m->config->seq_len;
    tt_live_rates(now / tokens, overall / tokens, rate, whole);
    tt_live_add(line, 90, "%s", rate);
    tt_live_add(line, 50, "%s", whole);
    tt_live_add(line, 80, "%.0f tok/s", now);
    tt_live_add(line, 45, "%.*f samples/s", samples < 100, samples);
}

static void device_parts(const struct tt_meter *m, struct tt_live *line)
{
    char busy[32], memory[48];
    tt_usage_text(&m->usage, busy);
    tt_usage_memory_text(&m->usage, memory);
    tt_live_add(line, 70, "%s", busy);
    tt_live_add(line, 60, "%s", memory);
}

static const char *past_blanks(const char *text) { return text + strspn(text, " "); }

void tt_meter_print_progress(struct tt_meter *m, int64_t step)
{
    struct tt_live line = {0};
    char left[32], loss[32], text[64], out[512];
    tt_format_duration(eta(m, step), left);
    tt_live_add(&line, 100, "step %lld/%lld", (long long)step, (long long)m->config->num_steps);
    tt_live_add(&line, 75, "%s", past_blanks(epoch_text(m, step, text)));
    tt_live_add(&line, 95, "loss %s", tt_loss_text(loss_so_far(m), loss));
    tt_live_add(&line, 40, "%s", past_blanks(scale_text(m, text)));
    speed_parts(m, step, &line);
    device_parts(m, &line);
    pauses_text(m, text);
    tt_live_add(&line, 30, "%s", text);
    tt_live_add(&line, 85, "eta %s", left);
    tt_live_text(&line, tt_live_width(stderr) - 1, out, sizeof out); /* a full line would wrap */
    fprintf(stderr, "\r\033[K%s", out);
    fflush(stderr);
}

void tt_meter_print_validation(struct tt_meter *m, int64_t step, double loss, bool best)
{
    if (m->quiet) return;
    tt_meter_clear(m);
    printf("step %5lld/%lld  validation loss %.4f%s%s%s\n", (long long)step, (long long)m->config->num_steps, loss,
           tt_colour(stdout, TT_GOOD), best ? "  (best)" : "", tt_colour(stdout, TT_PLAIN));
    fflush(stdout);
}
