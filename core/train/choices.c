#include "core/train/choices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/terminal.h"
#include "core/base/text.h"

tt_status tt_choices_open(struct tt_choices *c, struct tt_engine *e, const struct tt_params *params)
{
    *c = (struct tt_choices){.file = -1};
    size_t bytes = e->bytes[TT_X_CHOICES];
    const struct tt_groups *groups = &params->groups;
    if (!bytes || !groups->count) return TT_OK;
    *c = (struct tt_choices){.engine = e, .params = params, .groups = groups, .file = -1,
                             .words = TT_CHOICE_WORDS(groups->count)};
    c->entries = (int64_t)(bytes / sizeof *c->ring) / c->words;
    c->in_layer = calloc((size_t)groups->layers + 1, sizeof *c->in_layer);
    if (!c->in_layer) return tt_no_memory("the choices of a run");
    return e->backend->ops->host_alloc(e->backend->self, bytes, (void **)&c->ring);
}

void tt_choices_close(struct tt_choices *c)
{
    if (c->ring) c->engine->backend->ops->host_free(c->engine->backend->self, c->ring);
    if (c->engine && c->file >= 0) close(c->file);
    free(c->in_layer);
    *c = (struct tt_choices){.file = -1};
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

/* ---- in the folder of the run ---- */

static void describe_groups(const struct tt_choices *c, struct tt_text *out)
{
    tt_text_puts(out, "group,tensor,first_row,rows\n");
    for (int i = 0; i < c->params->n; i++) {
        const struct tt_param *t = &c->params->items[i];
        for (int64_t row = 0; row < t->shape[0]; row += t->group_rows) {
            int64_t left = t->shape[0] - row;
            tt_text_printf(out, "%lld,%s,%lld,%lld\n", (long long)(t->group + row / t->group_rows), t->name,
                           (long long)row, (long long)(left < t->group_rows ? left : t->group_rows));
        }
    }
}

static tt_status put_aside(const char *folder, const char *name, int64_t first)
{
    char from[1100], to[1200];
    const char *dot = strrchr(name, '.');
    snprintf(from, sizeof from, "%s/%s", folder, name);
    snprintf(to, sizeof to, "%s/%.*s-before-%lld%s", folder, (int)(dot - name), name, (long long)first + 1, dot);
    return !rename(from, to) || errno == ENOENT ? TT_OK : tt_file_error(errno, "rename", from);
}

/* If a resumed run has other groups, the bits of the steps before are about the groups of the old groups.csv. Then both
 * files are put aside, and the new choices.bits has no bits for those steps. */
static tt_status write_groups(const struct tt_choices *c, const char *folder, int64_t first)
{
    char path[1100], *old = NULL;
    size_t n = 0;
    struct tt_text text = {0};
    snprintf(path, sizeof path, "%s/groups.csv", folder);
    describe_groups(c, &text);
    tt_status st = tt_text_status(&text);
    if (!st && first > 0 && tt_is_file(path)) st = tt_file_read(path, 1 << 30, &old, &n);
    if (!st && old && (n != text.n || memcmp(old, text.s, n))) {
        st = put_aside(folder, "groups.csv", first);
        if (!st) st = put_aside(folder, "choices.bits", first);
    }
    if (!st) st = tt_file_replace(path, text.s, text.n);
    free(old);
    tt_text_free(&text);
    return st;
}

static int64_t step_bytes(const struct tt_choices *c) { return c->words * (int64_t)sizeof *c->ring; }

tt_status tt_choices_keep(struct tt_choices *c, const char *folder, int64_t first)
{
    char path[1100];
    if (!c->engine) return TT_OK;
    TT_TRY(write_groups(c, folder, first));
    snprintf(path, sizeof path, "%s/choices.bits", folder);
    c->file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (c->file < 0 || ftruncate(c->file, (off_t)(first * step_bytes(c)))) return tt_file_error(errno, "write", path);
    return TT_OK;
}

/* As with metrics.jsonl, a full disk does not stop a run. */
void tt_choices_write(struct tt_choices *c, int64_t step)
{
    if (!c->engine || c->file < 0) return;
    const uint32_t *bits = c->ring + (step - 1) % c->entries * c->words;
    int64_t bytes = step_bytes(c);
    if (pwrite(c->file, bits, (size_t)bytes, (off_t)((step - 1) * bytes)) == bytes) return;
    tt_say("choices.bits cannot be written: %s; training continues without it", strerror(errno));
    close(c->file);
    c->file = -1;
}
