#include "profiling/measure/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "profiling/measure/derive.h"
#include "profiling/profile_write.h"

/* ---- gathering ---- */

void tt_trace_add(struct tt_recorder *r, const char *track, const char *name, const char *kind, const char *group,
                  int layer, double start, double end)
{
    if (!tt_grow(&r->trace, sizeof *r->trace, (size_t)r->trace_count, &r->trace_room)) {
        r->failed = true;
        return;
    }
    struct tt_profile_event *e = &r->trace[r->trace_count++];
    *e = (struct tt_profile_event){
        .step = r->step, .layer = layer, .start = start, .seconds = end > start ? end - start : 0};
    snprintf(e->track, sizeof e->track, "%s", track);
    snprintf(e->name, sizeof e->name, "%s", name);
    snprintf(e->kind, sizeof e->kind, "%s", kind);
    snprintf(e->group, sizeof e->group, "%s", group);
}

static void end_layer(struct tt_recorder *r, struct tt_trace_ranges *g)
{
    char name[32];
    snprintf(name, sizeof name, "layer_%d", g->layer);
    if (g->layer >= 0) tt_trace_add(r, "compute", name, "layer", "", g->layer, g->layer_start, g->end);
    g->layer = -2;
}

static void end_phase(struct tt_recorder *r, struct tt_trace_ranges *g)
{
    end_layer(r, g);
    if (g->phase >= 0)
        tt_trace_add(r, "compute", tt_phase_name((enum tt_phase)g->phase), "phase", "", -1, g->phase_start, g->end);
    g->phase = -1;
}

static void communicated(struct tt_recorder *r, struct tt_trace_ranges *g, const struct tt_op *op, double start,
                         double end)
{
    if (start < g->communicated) start = g->communicated;
    if (end < start) end = start;
    g->communicated = end;
    tt_trace_add(r, "communication", tt_op_name(op), op->kind == TT_OP_COLLECTIVE ? "collective" : "kernel",
                 tt_group_name(op->group), op->layer, start, end);
}

/* "rmsnorm"; of a GEMM also shape and phase, as in the tables: "gemm 1024x512x2048, backward". */
static void kernel_name(const struct tt_op *op, char out[64])
{
    char shape[64];
    const char *phase = tt_phase_name(op->phase);
    tt_op_shape(op, shape);
    snprintf(out, 64, "%s", tt_op_name(op));
    if (shape[0]) snprintf(out, 64, "%s %.40s, %.*s", tt_op_name(op), shape, (int)strcspn(phase, "_"), phase);
}

/* Clocks tick in steps, so a kernel may seem to begin before the one before it ended; then it begins at that end. */
void tt_trace_kernel(struct tt_recorder *r, struct tt_trace_ranges *g, const struct tt_op *op, double start, double end)
{
    if (tt_op_communicates(op)) {
        communicated(r, g, op, start, end);
        return;
    }
    if (g->begun && start < g->end) start = g->end;
    if (end < start) end = start;
    if (g->phase != (int)op->phase) end_phase(r, g);
    if (g->layer != op->layer) end_layer(r, g);
    if (!g->begun) g->step_start = start;
    if (g->phase < 0) g->phase_start = start;
    if (g->layer == -2) g->layer_start = start;
    g->begun = true;
    g->phase = (int)op->phase;
    g->layer = op->layer;
    g->end = end;
    char name[64];
    kernel_name(op, name);
    tt_trace_add(r, "compute", name, "kernel", tt_group_name(op->group), op->layer, start, end);
}

void tt_trace_close(struct tt_recorder *r, struct tt_trace_ranges *g)
{
    end_phase(r, g);
    if (g->begun) tt_trace_add(r, "compute", "step", "step", "", -1, g->step_start, g->end);
}

/* For two events with the same times: the kind that encloses the other comes first. */
static int rank(const struct tt_profile_event *e)
{
    static const char *const order[] = {"step", "phase", "range", "layer", "launch"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(e->kind, order[i])) return i;
    return 5;
}

static int by_track(const void *x, const void *y)
{
    const struct tt_profile_event *a = x, *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    int track = strcmp(a->track, b->track);
    if (track) return track;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
    return rank(a) - rank(b);
}

void tt_trace_sort(struct tt_profile_event *events, int n)
{
    if (n) qsort(events, (size_t)n, sizeof *events, by_track);
}

/* ---- writing: Chrome's trace event format ---- */

/* In the trace a rank is a process and a track is a thread. Only a job of several ranks has the last track. */
static const char *const tracks[] = {"host", "copy", "compute", "communication"};
enum { TRACKS = 4, TRACKS_OF_ONE = 3 };

static int track_number(const char *track)
{
    for (int i = 0; i < TRACKS; i++)
        if (!strcmp(track, tracks[i])) return i + 1;
    return TRACKS + 1;
}

static void put_name(struct tt_json_writer *w, const char *what, int64_t rank, int thread, const char *name)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "ph", "M");
    tt_json_put_string(w, "name", what);
    tt_json_put_int(w, "pid", rank + 1);
    if (thread) tt_json_put_int(w, "tid", thread);
    tt_json_begin(w, "args", '{');
    tt_json_put_string(w, "name", name);
    tt_json_end(w, '}');
    tt_json_end(w, '}');
}

/* Whole nanoseconds for both ends, so that what is inside stays inside. */
static void put_event(struct tt_json_writer *w, const struct tt_profile_event *e)
{
    double start = round(1e9 * e->start), end = round(1e9 * (e->start + e->seconds));
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "ph", "X");
    tt_json_put_string(w, "name", e->name);
    tt_json_put_string(w, "cat", e->kind);
    tt_json_put_int(w, "pid", e->rank + 1);
    tt_json_put_int(w, "tid", track_number(e->track));
    tt_json_put_number(w, "ts", start / 1e3);
    tt_json_put_number(w, "dur", (end - start) / 1e3);
    tt_json_begin(w, "args", '{');
    tt_json_put_int(w, "step", e->step);
    if (e->layer >= 0) tt_json_put_int(w, "layer", e->layer);
    if (e->group[0]) tt_json_put_string(w, "group", e->group);
    tt_json_end(w, '}');
    tt_json_end(w, '}');
}

static void put_names(struct tt_json_writer *w, const struct tt_profile *p)
{
    char process[280];
    snprintf(process, sizeof process, "tt %s: %s", p->run.tt, p->run.device);
    if (!p->job.ranks) put_name(w, "process_name", 0, 0, process);
    for (int i = 0; i < TRACKS_OF_ONE && !p->job.ranks; i++) put_name(w, "thread_name", 0, i + 1, tracks[i]);
    for (int r = 0; r < p->ranks_count; r++) {
        snprintf(process, sizeof process, "rank %d on %s: %s", r, p->ranks[r].host, p->ranks[r].device);
        put_name(w, "process_name", r, 0, process);
        for (int i = 0; i < TRACKS; i++) put_name(w, "thread_name", r, i + 1, tracks[i]);
    }
}

static void put_job(struct tt_json_writer *w, const struct tt_profile *p)
{
    if (!p->job.ranks) return;
    tt_json_put_int(w, "ranks", p->job.ranks);
    tt_json_put_string(w, "shard", p->job.shard);
    tt_json_put_string(w, "clocks", p->job.clocks);
    tt_json_begin(w, "clocks_within_us", '[');
    for (int r = 0; r < p->ranks_count; r++) tt_json_put_number(w, NULL, 1e6 * p->ranks[r].clock_within);
    tt_json_end(w, ']');
}

tt_status tt_profile_write_trace(const struct tt_profile *p, const char *path)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "displayTimeUnit", "ms");
    tt_json_begin(&w, "otherData", '{');
    tt_json_put_string(&w, "producer", "tt profile");
    tt_json_put_string(&w, "device", p->run.device);
    tt_json_put_string(&w, "preset", p->run.preset);
    tt_json_put_string(&w, "version", p->run.version);
    tt_json_put_string(&w, "precision", p->run.precision);
    put_job(&w, p);
    tt_json_end(&w, '}');
    tt_json_begin(&w, "traceEvents", '[');
    put_names(&w, p);
    for (int i = 0; i < p->events_count; i++) put_event(&w, &p->events[i]);
    for (int i = 0; i < p->rank_events_count; i++) put_event(&w, &p->rank_events[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    return tt_profile_save(&w.text, path);
}
