#include <math.h>
#include <string.h>

#include "core/base/format.h"
#include "core/train/meter_parts.h"
#include "core/train/state.h"

/* The first step of the epoch ending now that this run saw; 0: it saw all of them. */
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
    double loss = tt_mean_of(&m->epoch.loss);
    double speed = (double)(m->epoch.steps * m->epochs->rows) / m->epoch.seconds;
    int64_t done = tt_epochs_done(m->epochs, step), first = seen_from(m, done);
    if (first) snprintf(part, sizeof part, " (of its steps from %lld on)", (long long)first);
    if (first) snprintf(from, sizeof from, ",\"from_step\":%lld", (long long)first);
    if (m->file.lines)
        fprintf(m->file.lines, "{\"step\":%lld,\"epoch\":%lld,\"epoch_loss\":%s,\"seconds\":%s,"
                "\"samples_per_second\":%s%s}\n",
                (long long)step, (long long)done, tt_metrics_number(mean, loss),
                tt_metrics_number(seconds, m->epoch.seconds), tt_metrics_number(rate, speed), from);
    if (m->events && !isnan(loss)) tt_events_scalar(m->events, step, "epoch/loss", loss);
    if (m->quiet) return;
    tt_format_duration(m->epoch.seconds, time);
    tt_meter_clear(m);
    printf("epoch %lld/%lld  mean loss %s%s  time %s  %.0f samples/s\n", (long long)done,
           (long long)m->config->epochs, tt_loss_text(loss, mean), part, time, speed);
    fflush(stdout);
}

void tt_meter_count_epoch(struct tt_meter *m, const struct tt_metrics *e)
{
    if (m->config->epochs <= 0) return;
    m->epoch.seconds += m->seconds;
    m->epoch.steps++;
    if (e->apply) tt_mean_add(&m->epoch.loss, (double)e->loss, tt_counted_part(m->config, e->ignored));
    if (!tt_epochs_times(m->epochs, e->step, e->step, 1)) return;
    epoch_line(m, e->step);
    memset(&m->epoch, 0, sizeof m->epoch);
}
