#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/terminal.h"
#include "core/train/meter_parts.h"
#include "core/train/state.h"

/* On resume, counts the losses since the last log line again, so that the next one shows what it would have shown. */
static void count_again(void *user, long long step, const char *line)
{
    struct tt_meter *m = user;
    double loss;
    int64_t interval = m->config->log_interval > 0 ? m->config->log_interval : 1;
    if (step <= m->first - m->first % interval || !strstr(line, "\"applied\":true")) return;
    if (sscanf(line, "{\"step\":%*d,\"loss\":%lf", &loss) != 1) return;
    int64_t ignored = 0;
    const char *targets = strstr(line, "\"targets\":");
    if (targets) ignored = tt_meter_step_tokens(m) - strtoll(targets + strlen("\"targets\":"), NULL, 10);
    tt_mean_add(&m->sum, loss, tt_counted_part(m->config, ignored));
}

tt_status tt_meter_files_open(struct tt_meter *m)
{
    const struct tt_config *c = m->config;
    if (c->rank) return TT_OK; /* rank 0 alone writes */
    if (c->tensorboard[0]) TT_TRY(tt_events_open(c->tensorboard, m->first, &m->events));
    if (!c->out[0]) return TT_OK;
    TT_TRY(tt_choices_keep(&m->choices, c->out, m->first));
    return tt_metrics_file_open(&m->file, c->out, m->first, count_again, m);
}

tt_status tt_meter_status(const struct tt_meter *m) { return tt_metrics_file_status(&m->file); }

/* Tokens per second of the step that is shown; NAN if the clock has not moved. */
static double step_speed(const struct tt_meter *m)
{
    return m->seconds > 0 ? (double)tt_meter_step_tokens(m) / m->seconds : (double)NAN;
}

/* NAN for a step whose targets are all of prompts: it has no loss. */
static double step_loss(const struct tt_meter *m, const struct tt_metrics *e)
{
    return tt_counted_part(m->config, e->ignored) > 0 ? (double)e->loss : (double)NAN;
}

static void write_line(struct tt_meter *m, const struct tt_metrics *e)
{
    char loss[32], norm[32], lr[32], speed[32];
    FILE *out = m->file.lines;
    if (!out) return;
    fprintf(out, "{\"step\":%lld,\"loss\":%s,\"grad_norm\":%s,\"lr\":%s,\"tokens_per_second\":%s,\"applied\":%s",
            (long long)e->step, tt_metrics_number(loss, step_loss(m, e)), tt_metrics_number(norm, (double)e->grad_norm),
            tt_metrics_number(lr, (double)e->lr), tt_metrics_number(speed, step_speed(m)),
            e->apply ? "true" : "false");
    if (e->ignored)
        fprintf(out, ",\"targets\":%lld", (long long)(tt_meter_step_tokens(m) - e->ignored));
    if (tt_scales_loss(m->config->precision))
        fprintf(out, ",\"loss_scale\":%.0f,\"skipped\":%lld", (double)e->loss_scale, (long long)e->skipped);
    tt_choices_line(&m->choices, e->step, out);
    fputs("}\n", out);
}

static void write_events(struct tt_meter *m, const struct tt_metrics *e)
{
    if (!m->events) return;
    if (tt_counted_part(m->config, e->ignored) > 0)
        tt_events_scalar(m->events, e->step, "train/loss", (double)e->loss);
    tt_events_scalar(m->events, e->step, "train/grad_norm", (double)e->grad_norm);
    tt_events_scalar(m->events, e->step, "train/learning_rate", (double)e->lr);
    double speed = step_speed(m);
    if (isfinite(speed)) tt_events_scalar(m->events, e->step, "train/tokens_per_second", speed);
    if (tt_usage_known(&m->usage)) tt_events_scalar(m->events, e->step, "train/device_utilisation", m->usage.now.busy);
    tt_choices_events(&m->choices, e->step, m->events);
    if (!tt_scales_loss(m->config->precision)) return;
    tt_events_scalar(m->events, e->step, "train/loss_scale", (double)e->loss_scale);
    tt_events_scalar(m->events, e->step, "train/skipped_steps", (double)e->skipped);
}

void tt_meter_files_step(struct tt_meter *m, const struct tt_metrics *e)
{
    write_line(m, e);
    write_events(m, e);
    tt_choices_write(&m->choices, e->step);
}

void tt_meter_files_validation(struct tt_meter *m, int64_t step, double loss)
{
    char number[32];
    if (m->file.lines)
        fprintf(m->file.lines, "{\"step\":%lld,\"val_loss\":%s}\n", (long long)step, tt_metrics_number(number, loss));
    if (m->events) tt_events_scalar(m->events, step, "validation/loss", loss);
    tt_meter_files_flush(m);
}

void tt_meter_files_flush(struct tt_meter *m)
{
    if (!tt_metrics_file_flush(&m->file, m->seen)) {
        tt_meter_clear(m);
        tt_say("%s cannot be written: %s; training continues without it", m->file.path, strerror(m->file.error));
    }
    if (m->events) tt_status_free(tt_events_flush(m->events)); /* reported when it is closed */
}
