#include "core/train/usage.h"

#include <math.h>
#include <stdio.h>

#include "core/base/format.h"

void tt_usage_open(struct tt_usage_log *u, struct tt_backend *b, double now)
{
    *u = (struct tt_usage_log){.backend = b->ops->usage ? b : NULL, .asked = now};
    if (!u->backend) return;
    tt_status st = b->ops->usage(b->self, &u->now); /* loads the library now, and not between two steps */
    if (st) u->backend = NULL;
    tt_status_free(st);
}

static void ask(struct tt_usage_log *u, double now)
{
    double seconds = now - u->asked;
    tt_status st = u->backend->ops->usage(u->backend->self, &u->now);
    if (st) {
        u->backend = NULL;
        tt_status_free(st);
        return;
    }
    u->asked = now;
    if (u->now.others > u->others) u->others = u->now.others;
    u->share += u->now.busy * seconds;
    u->seconds += seconds;
}

void tt_usage_ask(struct tt_usage_log *u, double now)
{
    if (u->backend && now - u->asked >= 1) ask(u, now);
}

void tt_usage_end(struct tt_usage_log *u, double now)
{
    if (u->backend && u->seconds == 0 && now > u->asked) ask(u, now);
}

bool tt_usage_known(const struct tt_usage_log *u) { return u->backend && u->seconds > 0; }

double tt_usage_mean(const struct tt_usage_log *u) { return u->seconds > 0 ? u->share / u->seconds : (double)NAN; }

int tt_usage_others(struct tt_backend *b)
{
    struct tt_usage now = {0};
    if (b->ops->usage) tt_status_free(b->ops->usage(b->self, &now)); /* not known */
    return now.others;
}

void tt_usage_others_words(int others, char out[80])
{
    out[0] = 0;
    if (others == 1) snprintf(out, 80, "another program has the GPU open");
    if (others > 1) snprintf(out, 80, "%d other programs have the GPU open", others);
}

void tt_usage_text(const struct tt_usage_log *u, char out[32])
{
    out[0] = 0;
    if (!tt_usage_known(u)) return;
    bool processor = u->now.memory_total == 0;
    snprintf(out, 32, "%s %.0f %%", processor ? "threads" : "gpu", 100 * u->now.busy);
}

void tt_usage_memory_text(const struct tt_usage_log *u, char out[48])
{
    out[0] = 0;
    if (!tt_usage_known(u) || u->now.memory_total == 0) return;
    double gib = 1 << 30;
    snprintf(out, 48, "%.1f of %.1f GiB", u->now.memory_used / gib, u->now.memory_total / gib);
}
