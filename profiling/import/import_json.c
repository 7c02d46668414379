/* Traces in JSON: Chrome's trace events, as PyTorch and tt write them, and rocprofv3's own. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grow.h"
#include "profiling/import/import.h"
#include "profiling/import/tools.h"

/* ---- Chrome trace events: times in microseconds ---- */

struct call {
    const char *name;
    double start, end, inside; /* inside: the time of what it called */
    double thread;
};

struct calls {
    struct call *list;
    int count;
    size_t room;
};

struct chrome {
    struct tt_imported *out;
    struct calls operators; /* of the CPU, in case there is no device */
    struct calls steps;
    struct tt_windows measured;
    int events;
    bool ours; /* written by tt */
};

static bool one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcasecmp(word, *list) == 0) return true;
    return false;
}

static tt_status keep_call(struct calls *c, struct call call)
{
    if (!tt_grow(&c->list, sizeof *c->list, (size_t)c->count, &c->room)) return tt_no_memory("the trace");
    c->list[c->count++] = call;
    return TT_OK;
}

/* The number of measured steps. A step may be on several tracks: the track with most steps counts. */
static int count_steps(const struct chrome *t)
{
    enum { TRACKS = 16 };
    double threads[TRACKS];
    int counts[TRACKS], tracks = 0, most = 0;
    for (int k = 0; k < t->steps.count; k++) {
        const struct call *step = &t->steps.list[k];
        int i = 0;
        if (!tt_windows_hold(&t->measured, 1e9 * step->start, 1e9 * step->end)) continue;
        while (i < tracks && threads[i] != step->thread) i++;
        if (i == TRACKS) continue;
        if (i == tracks) threads[i] = step->thread, counts[tracks++] = 0;
        if (++counts[i] > most) most = counts[i];
    }
    return most;
}

static tt_status keep_range(struct chrome *t, struct call range)
{
    bool step = strncmp(range.name, "ProfilerStep", 12) == 0 || strcmp(range.name, TT_TOOL_STEP) == 0;
    t->out->ranges.traced = true;
    if (step) return keep_call(&t->steps, range);
    return tt_imported_add(t->out, TT_IN_RANGES, range.name, 1e9 * range.start, 1e9 * (range.end - range.start), NAN);
}

/* A trace of tt names the group of an event; then the same kernel in two groups gives two rows. */
static tt_status device_event(struct chrome *t, const struct tt_json *e, const char *name, double start, double length)
{
    const char *group = tt_json_string(tt_json_get(e, "args"), "group", "");
    char both[200];
    snprintf(both, sizeof both, "%.120s\t%.60s", name,
             group[0]                                           ? group
             : strcasecmp(tt_json_string(e, "cat", ""), "copy") ? "other"
                                                                : "copies");
    return tt_imported_add(t->out, TT_IN_KERNELS, t->ours ? both : name, start, length, NAN);
}

static tt_status chrome_event(struct chrome *t, const struct tt_json *e)
{
    static const char *const device[] = {"kernel", "gpu_memcpy", "gpu_memset", "copy", NULL};
    static const char *const calls[] = {"cuda_runtime", "cuda_driver", "hip_runtime", "runtime", "wait", NULL};
    static const char *const ranges[] = {"user_annotation", "phase", "step", "range", NULL};
    static const char *const operators[] = {"cpu_op", "operator", NULL};
    const char *name = tt_json_string(e, "name", NULL), *cat = tt_json_string(e, "cat", "");
    double ts = tt_json_number(e, "ts", NAN), start = ts * 1e-6, seconds = tt_json_number(e, "dur", NAN) * 1e-6;
    if (strcmp(tt_json_string(e, "ph", ""), "X") != 0) return TT_OK;
    t->events++;
    if (!name || !isfinite(start) || !(seconds >= 0))
        return tt_fail(TT_FAILED, "event %d (\"%.60s\"): a complete event needs a name, ts and a dur of at least 0",
                       t->events, name ? name : "");
    if (one_of(cat, device)) return device_event(t, e, name, 1e3 * ts, 1e9 * seconds);
    struct call call = {name, start, start + seconds, 0, tt_json_number(e, "tid", 0)};
    if (strcmp(cat, "step") == 0) call.name = TT_TOOL_STEP;
    if (one_of(cat, ranges)) return keep_range(t, call);
    if (one_of(cat, operators)) return keep_call(&t->operators, call);
    if (!one_of(cat, calls)) return TT_OK;
    return tt_imported_add(t->out, TT_IN_CALLS, name, 1e3 * ts, 1e9 * seconds, NAN);
}

/* By thread, then start; an enclosing call comes first. */
static int by_nesting(const void *x, const void *y)
{
    const struct call *a = x, *b = y;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* Without a device the operators of the CPU count as kernels, each with its self time: without the operators that it
 * calls. */
static tt_status self_times(struct chrome *t)
{
    struct call *ops = t->operators.list;
    int n = t->operators.count, depth = 0, *open = malloc(((size_t)n + 1) * sizeof *open);
    if (!open) return tt_no_memory("the operators of the trace");
    qsort(ops, (size_t)n, sizeof *ops, by_nesting);
    for (int i = 0; i < n; i++) {
        while (depth && (ops[open[depth - 1]].thread != ops[i].thread || ops[open[depth - 1]].end <= ops[i].start))
            depth--;
        if (depth) ops[open[depth - 1]].inside += ops[i].end - ops[i].start;
        open[depth++] = i;
    }
    tt_status st = TT_OK;
    for (int i = 0; i < n && !st; i++) {
        if (!tt_windows_hold(&t->measured, 1e9 * ops[i].start, 1e9 * ops[i].end)) continue;
        st = tt_tally_add(&t->out->kernels, ops[i].name, fmax(ops[i].end - ops[i].start - ops[i].inside, 0), NULL);
    }
    t->out->kernels.traced = true;
    free(open);
    return st;
}

static void name_device(const struct tt_json *root, struct tt_imported *out)
{
    const struct tt_json *devices = tt_json_get(root, "deviceProperties"), *other = tt_json_get(root, "otherData");
    const char *name = tt_json_string(devices ? devices->first : NULL, "name", tt_json_string(other, "device", ""));
    strncpy(out->device, name, sizeof out->device - 1);
}

tt_status tt_import_chrome(const struct tt_json *root, struct tt_imported *out, struct tt_text *what)
{
    const struct tt_json *events = root->type == TT_JSON_ARRAY ? root : tt_json_get(root, "traceEvents");
    bool ours = strncmp(tt_json_string(tt_json_get(root, "otherData"), "producer", ""), "tt ", 3) == 0;
    struct chrome t = {.out = out, .ours = ours};
    tt_status st = TT_OK;
    if (events->type != TT_JSON_ARRAY) return tt_fail(TT_FAILED, "traceEvents is no array");
    strcpy(out->tool, ours ? "tt" : "PyTorch");
    name_device(root, out);
    for (const struct tt_json *e = events->first; e && !st; e = e->next) st = chrome_event(&t, e);
    bool host_only = !out->kernels.count && !out->copies.count && t.operators.count;
    if (!st) st = tt_imported_windows(out, &t.measured);
    if (!st && host_only) st = self_times(&t);
    out->steps = count_steps(&t);
    tt_text_printf(what, "Chrome trace of %s, %d events%s", ours ? "tt" : "PyTorch", t.events,
                   host_only ? ", no device: the operators of the CPU by their own time" : "");
    if (out->steps > 0) tt_text_printf(what, ", %.0f steps", out->steps);
    free(t.operators.list);
    free(t.steps.list);
    free(t.measured.list);
    return st;
}

/* ---- rocprofv3: times in nanoseconds, names by number ---- */

struct symbol {
    int64_t id;
    const char *name;
};

/* The kernels of a process by id, the texts of its ranges by id, and the names of operations by kind of record and by
 * number. */
struct roc_names {
    struct symbol *kernels, *marks;
    int kernel_count, mark_count;
    const struct tt_json ***operations; /* [kind][operation] */
    int *operation_counts, kind_count;
};

static int by_id(const void *x, const void *y)
{
    int64_t a = ((const struct symbol *)x)->id, b = ((const struct symbol *)y)->id;
    return a < b ? -1 : a > b;
}

static const char *symbol_name(const struct tt_json *s)
{
    static const char *const keys[] = {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"};
    for (int i = 0; i < 3; i++) {
        const char *name = tt_json_string(s, keys[i], "");
        if (name[0]) return name;
    }
    return NULL;
}

static tt_status list_kernels(const struct tt_json *symbols, struct roc_names *n)
{
    n->kernels = calloc((size_t)(symbols ? symbols->count : 0) + 1, sizeof *n->kernels);
    if (!n->kernels) return tt_no_memory("the names of kernels");
    for (const struct tt_json *s = symbols ? symbols->first : NULL; s; s = s->next) {
        struct symbol one = {.name = symbol_name(s)};
        if (one.name && tt_json_int(s, "kernel_id", 0, INT64_MAX, &one.id)) n->kernels[n->kernel_count++] = one;
    }
    qsort(n->kernels, (size_t)n->kernel_count, sizeof *n->kernels, by_id);
    return TT_OK;
}

static tt_status list_marks(const struct tt_json *words, struct roc_names *n)
{
    n->marks = calloc((size_t)(words ? words->count : 0) + 1, sizeof *n->marks);
    if (!n->marks) return tt_no_memory("the names of ranges");
    for (const struct tt_json *w = words ? words->first : NULL; w; w = w->next) {
        struct symbol one = {.name = tt_json_string(w, "value", NULL)};
        if (one.name && tt_json_int(w, "key", 0, INT64_MAX, &one.id)) n->marks[n->mark_count++] = one;
    }
    qsort(n->marks, (size_t)n->mark_count, sizeof *n->marks, by_id);
    return TT_OK;
}

static tt_status list_operations(const struct tt_json *kinds, struct roc_names *n)
{
    int most = kinds ? kinds->count : 0;
    n->operations = calloc((size_t)most + 1, sizeof *n->operations);
    n->operation_counts = calloc((size_t)most + 1, sizeof *n->operation_counts);
    if (!n->operations || !n->operation_counts) return tt_no_memory("the names of operations");
    for (const struct tt_json *k = kinds ? kinds->first : NULL; k; k = k->next) {
        const struct tt_json *list = tt_json_get(k, "operations");
        int kind = n->kind_count++, i = 0;
        n->operations[kind] = calloc((size_t)(list ? list->count : 0) + 1, sizeof **n->operations);
        if (!n->operations[kind]) return tt_no_memory("the names of operations");
        for (const struct tt_json *o = list ? list->first : NULL; o; o = o->next) n->operations[kind][i++] = o;
        n->operation_counts[kind] = i;
    }
    return TT_OK;
}

static void free_names(struct roc_names *n)
{
    for (int i = 0; i < n->kind_count; i++) free(n->operations[i]);
    free(n->operations);
    free(n->operation_counts);
    free(n->kernels);
    free(n->marks);
}

static const char *symbol_of(const struct symbol *list, int count, int64_t id)
{
    struct symbol key = {.id = id};
    const struct symbol *found = bsearch(&key, list, (size_t)count, sizeof key, by_id);
    return found ? found->name : NULL;
}

/* "hipMemcpyAsync", "MEMORY_COPY_HOST_TO_DEVICE": a record has the numbers of a kind and of an operation. */
static const char *operation_name(const struct roc_names *n, const struct tt_json *record, const char *otherwise)
{
    int64_t kind, operation;
    if (!tt_json_int(record, "kind", 0, n->kind_count - 1, &kind)) return otherwise;
    if (!tt_json_int(record, "operation", 0, n->operation_counts[kind] - 1, &operation)) return otherwise;
    const struct tt_json *name = n->operations[kind][operation];
    return name->type == TT_JSON_STRING ? name->string : otherwise;
}

/* In nanoseconds. */
static tt_status times_of(const struct tt_json *record, const char *list, int index, double *start, double *length)
{
    *start = tt_json_number(record, "start_timestamp", NAN);
    *length = tt_json_number(record, "end_timestamp", NAN) - *start;
    if (*length >= 0) return TT_OK;
    return tt_fail(TT_FAILED, "%s[%d]: start_timestamp and end_timestamp must be numbers, the end not before the start",
                   list, index);
}

static const struct tt_json *records_of(const struct tt_json *tool, const char *list)
{
    const struct tt_json *records = tt_json_get(tt_json_get(tool, "buffer_records"), list);
    return records && records->type == TT_JSON_ARRAY ? records->first : NULL;
}

static tt_status roc_dispatches(const struct tt_json *tool, const struct roc_names *names, struct tt_imported *out,
                                int *count)
{
    int i = 0;
    for (const struct tt_json *e = records_of(tool, "kernel_dispatch"); e; e = e->next, i++) {
        double start, length;
        int64_t id;
        TT_TRY(times_of(e, "kernel_dispatch", i, &start, &length));
        const char *name = NULL;
        if (tt_json_int(tt_json_get(e, "dispatch_info"), "kernel_id", 0, INT64_MAX, &id))
            name = symbol_of(names->kernels, names->kernel_count, id);
        if (!name) return tt_fail(TT_FAILED, "kernel_dispatch[%d]: its kernel_id is not among kernel_symbols", i);
        TT_TRY(tt_imported_add(out, TT_IN_KERNELS, name, start, length, NAN));
    }
    *count += i;
    return TT_OK;
}

static tt_status roc_memory(const struct tt_json *tool, const struct roc_names *names, struct tt_imported *out,
                            int *count)
{
    int i = 0;
    for (const struct tt_json *e = records_of(tool, "memory_copy"); e; e = e->next, i++) {
        double start, length, bytes = tt_json_number(e, "bytes", NAN);
        TT_TRY(times_of(e, "memory_copy", i, &start, &length));
        TT_TRY(tt_imported_add(out, TT_IN_COPIES, operation_name(names, e, "MEMORY_COPY"), start, length,
                               bytes >= 0 ? bytes : NAN));
    }
    *count += i;
    return TT_OK;
}

static tt_status roc_api(const struct tt_json *tool, const struct roc_names *names, struct tt_imported *out, int *count)
{
    int i = 0;
    for (const struct tt_json *e = records_of(tool, "hip_api"); e; e = e->next, i++) {
        double start, length;
        TT_TRY(times_of(e, "hip_api", i, &start, &length));
        TT_TRY(tt_imported_add(out, TT_IN_CALLS, operation_name(names, e, "hip"), start, length, NAN));
    }
    *count += i;
    return TT_OK;
}

/* A range is a record of rocTX; its text is among the strings, under the same number. */
static tt_status roc_marks(const struct tt_json *tool, const struct roc_names *names, struct tt_imported *out,
                           int *count)
{
    int i = 0;
    for (const struct tt_json *e = records_of(tool, "marker_api"); e; e = e->next, i++) {
        double start, length;
        int64_t id;
        const char *name = NULL;
        TT_TRY(times_of(e, "marker_api", i, &start, &length));
        if (tt_json_int(tt_json_get(e, "correlation_id"), "internal", 0, INT64_MAX, &id))
            name = symbol_of(names->marks, names->mark_count, id);
        if (!name) name = operation_name(names, e, "rocTX");
        TT_TRY(tt_imported_add(out, TT_IN_RANGES, name, start, length, NAN));
    }
    *count += i;
    return TT_OK;
}

static void name_gpu(const struct tt_json *agents, struct tt_imported *out)
{
    enum { GPU = 2 };
    for (const struct tt_json *a = agents ? agents->first : NULL; a && !out->device[0]; a = a->next)
        if (tt_json_number(a, "type", 0) == GPU)
            strncpy(out->device, tt_json_string(a, "product_name", tt_json_string(a, "name", "")),
                    sizeof out->device - 1);
}

static tt_status roc_process(const struct tt_json *tool, struct tt_imported *out, int counts[TT_IN_TABLES])
{
    const struct tt_json *strings = tt_json_get(tool, "strings");
    struct roc_names names = {0};
    name_gpu(tt_json_get(tool, "agents"), out);
    tt_status st = list_kernels(tt_json_get(tool, "kernel_symbols"), &names);
    if (!st) st = list_marks(tt_json_get(strings, "marker_api"), &names);
    if (!st) st = list_operations(tt_json_get(strings, "buffer_records"), &names);
    if (!st) st = roc_dispatches(tool, &names, out, &counts[TT_IN_KERNELS]);
    if (!st) st = roc_memory(tool, &names, out, &counts[TT_IN_COPIES]);
    if (!st) st = roc_api(tool, &names, out, &counts[TT_IN_CALLS]);
    if (!st) st = roc_marks(tool, &names, out, &counts[TT_IN_RANGES]);
    free_names(&names);
    return st;
}

/* One object, or an array with one for each process. */
tt_status tt_import_rocprof_json(const struct tt_json *root, struct tt_imported *out, struct tt_text *what)
{
    const struct tt_json *tool = tt_json_get(root, "rocprofiler-sdk-tool");
    int counts[TT_IN_TABLES] = {0};
    tt_status st = TT_OK;
    strcpy(out->tool, "rocprofv3");
    if (tool->type == TT_JSON_ARRAY)
        for (const struct tt_json *p = tool->first; p && !st; p = p->next) st = roc_process(p, out, counts);
    else
        st = roc_process(tool, out, counts);
    tt_text_printf(what, "rocprofv3 results, %d dispatches, %d copies, %d calls, %d ranges", counts[TT_IN_KERNELS],
                   counts[TT_IN_COPIES], counts[TT_IN_CALLS], counts[TT_IN_RANGES]);
    return st;
}
