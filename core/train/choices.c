#include "core/train/choices.h"

#include <stdlib.h>
#include <string.h>

tt_status tt_choices_open(struct tt_choices *c, struct tt_engine *e, const struct tt_groups *groups)
{
    *c = (struct tt_choices){0};
    size_t bytes = e->bytes[TT_X_CHOICES];
    if (!bytes || !groups || !groups->count) return TT_OK;
    *c = (struct tt_choices){.engine = e, .groups = groups, .words = TT_CHOICE_WORDS(groups->count)};
    c->entries = (int64_t)(bytes / sizeof *c->ring) / c->words;
    c->in_layer = calloc((size_t)groups->layers + 1, sizeof *c->in_layer);
    if (!c->in_layer) return tt_no_memory("the choices of a run");
    return e->backend->ops->host_alloc(e->backend->self, bytes, (void **)&c->ring);
}

void tt_choices_close(struct tt_choices *c)
{
    if (c->ring) c->engine->backend->ops->host_free(c->engine->backend->self, c->ring);
    free(c->in_layer);
    *c = (struct tt_choices){0};
}

tt_status tt_choices_ask(struct tt_choices *c)
{
    if (!c->engine) return TT_OK;
    struct tt_backend *b = c->engine->backend;
    return b->ops->copy(b->self, c->ring, c->engine->externals[TT_X_CHOICES], c->engine->bytes[TT_X_CHOICES],
                        TT_TO_HOST, NULL);
}

int64_t tt_choices_count(struct tt_choices *c, int64_t step, double *share)
{
    const struct tt_groups *g = c->groups;
    const uint32_t *bits = c->ring + (step - 1) % c->entries * c->words;
    int64_t count = 0;
    double chosen = 0, all = 0;
    memset(c->in_layer, 0, ((size_t)g->layers + 1) * sizeof *c->in_layer);
    for (int i = 0; i < g->count; i++) {
        all += (double)g->size[i];
        if (!(bits[i / 32] >> i % 32 & 1)) continue;
        count++;
        chosen += (double)g->size[i];
        c->in_layer[g->layer[i] < 0 ? g->layers : g->layer[i]]++;
    }
    *share = chosen / all;
    return count;
}

void tt_choices_line(struct tt_choices *c, int64_t step, FILE *to)
{
    if (!c->engine) return;
    double share;
    int64_t count = tt_choices_count(c, step, &share);
    fprintf(to, ",\"updated\":{\"groups\":%lld,\"share\":%.6g,\"layers\":[", (long long)count, share);
    for (int i = 0; i < c->groups->layers; i++) fprintf(to, "%s%lld", i ? "," : "", (long long)c->in_layer[i]);
    fprintf(to, "],\"outside\":%lld}", (long long)c->in_layer[c->groups->layers]);
}

void tt_choices_events(struct tt_choices *c, int64_t step, struct tt_events *e)
{
    if (!c->engine) return;
    double share;
    char tag[48];
    tt_events_scalar(e, step, "update/groups", (double)tt_choices_count(c, step, &share));
    tt_events_scalar(e, step, "update/share", share);
    for (int i = 0; i < c->groups->layers; i++) {
        snprintf(tag, sizeof tag, "update/layer_%d", i);
        tt_events_scalar(e, step, tag, (double)c->in_layer[i]);
    }
    tt_events_scalar(e, step, "update/outside", (double)c->in_layer[c->groups->layers]);
}
