#include "profiling/report/xspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/grow.h"
#include "core/base/protobuf.h"

/* Numbers of fields in xplane.proto: a space has planes, a plane has lines, a line has events. Names are kept once for
 * each plane, in maps from numbers to names; an entry of a map is a message with a key and a value. */
enum { SPACE_PLANE = 1, SPACE_HOST = 4 };
enum { PLANE_ID = 1, PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIME = 3, LINE_EVENT = 4 };
enum { EVENT_NAME = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STAT = 4 };
enum { STAT_NAME = 1, STAT_INT = 4, STAT_STRING = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, NAMED_ID = 1, NAMED_NAME = 2 };

enum { NAME = 200 }; /* bytes of the longest name: a group and a kernel twice */

/* ---- names ---- */

struct names {
    char (*text)[NAME];
    size_t count, room;
    bool failed;
};

/* The number of a name, from 1; a new name is added. */
static int64_t number_of(struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (!strcmp(n->text[i], name)) return (int64_t)i + 1;
    if (!tt_grow(&n->text, sizeof *n->text, n->count, &n->room)) {
        n->failed = true;
        return 0;
    }
    snprintf(n->text[n->count++], sizeof *n->text, "%s", name);
    return (int64_t)n->count;
}

static void put_names(struct tt_text *plane, int field, struct names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        struct tt_text entry = {0}, value = {0};
        tt_proto_int(&value, NAMED_ID, (int64_t)i + 1);
        tt_proto_string(&value, NAMED_NAME, n->text[i]);
        tt_proto_int(&entry, ENTRY_KEY, (int64_t)i + 1);
        tt_proto_message(&entry, ENTRY_VALUE, &value);
        tt_proto_message(plane, field, &entry);
    }
    plane->failed |= n->failed;
    free(n->text);
}

/* ---- events of one rank ---- */

struct trace {
    const struct tt_profile_event *events;
    int count;
    int64_t rank;
    bool gpu;
    int64_t start; /* nanoseconds since 1970 */
};

static bool is(const struct tt_profile_event *e, const char *kind) { return !strcmp(e->kind, kind); }
static bool on(const struct tt_profile_event *e, const char *track) { return !strcmp(e->track, track); }

/* What the device did, and not a range around it. */
static bool is_work(const struct tt_profile_event *e)
{
    return is(e, "kernel") || is(e, "collective") || is(e, "copy");
}

static bool of_rank(const struct trace *t, const struct tt_profile_event *e) { return e->rank == t->rank; }

/* The host launches a "gemm", the device computes a "gemm 1024x512x2048, backward". */
static int kernel_length(const struct tt_profile_event *e) { return (int)strcspn(e->name, is(e, "copy") ? "" : " "); }

static bool same_kernel(const struct tt_profile_event *a, const struct tt_profile_event *b)
{
    return kernel_length(a) == kernel_length(b) && !strncmp(a->name, b->name, (size_t)kernel_length(a));
}

/* How many events before this one, in the same step, have its name and are of the same kind: work, or launches. */
static int earlier(const struct trace *t, int of)
{
    const struct tt_profile_event *e = &t->events[of];
    int n = 0;
    for (int i = 0; i < of; i++) {
        const struct tt_profile_event *o = &t->events[i];
        n += of_rank(t, o) && o->step == e->step && is_work(o) == is_work(e) && is(o, "launch") == is(e, "launch") &&
             same_kernel(o, e);
    }
    return n;
}

/* The operation that a launch started, as a number from 1, or 0 for none: the n-th launch of a name in a step belongs
 * to the n-th operation of that name. */
static int launched_by(const struct trace *t, int launch)
{
    int left = earlier(t, launch);
    const struct tt_profile_event *e = &t->events[launch];
    for (int i = 0; i < t->count; i++) {
        const struct tt_profile_event *o = &t->events[i];
        bool same = of_rank(t, o) && is_work(o) && o->step == e->step && same_kernel(o, e);
        if (same && left-- == 0) return i + 1;
    }
    return 0;
}

/* ---- planes ---- */

struct plane {
    struct tt_text lines;
    struct names events, stats;
    int count; /* lines */
};

static void put_stat(struct plane *p, struct tt_text *event, const char *name, int64_t value)
{
    struct tt_text stat = {0};
    tt_proto_int(&stat, STAT_NAME, number_of(&p->stats, name));
    tt_proto_int(&stat, STAT_INT, value);
    tt_proto_message(event, EVENT_STAT, &stat);
}

static void put_text_stat(struct plane *p, struct tt_text *event, const char *name, const char *value)
{
    struct tt_text stat = {0};
    tt_proto_int(&stat, STAT_NAME, number_of(&p->stats, name));
    tt_proto_string(&stat, STAT_STRING, value);
    tt_proto_message(event, EVENT_STAT, &stat);
}

/* "rms_norm/rmsnorm:rmsnorm": to the plugin, what is before the last colon is an operation and the rest is its kind. It
 * does not accept spaces and commas. */
static void name_operation(const struct tt_profile_event *e, char out[NAME])
{
    int n = kernel_length(e);
    snprintf(out, NAME, "%s%s%.*s:%.*s", e->group, e->group[0] ? "/" : "", n, e->name, n, e->name);
}

static void put_stats(struct plane *p, const struct trace *t, int i, struct tt_text *event)
{
    const struct tt_profile_event *e = &t->events[i];
    char operation[NAME];
    name_operation(e, operation);
    if (is_work(e) && t->gpu && !is(e, "copy")) put_text_stat(p, event, "tf_op", operation);
    if (is_work(e) && t->gpu) put_stat(p, event, "correlation_id", i + 1);
    if (is(e, "launch") && launched_by(t, i)) put_stat(p, event, "correlation_id", launched_by(t, i));
    if (is(e, "step")) put_stat(p, event, "step_num", e->step);
    if (is(e, "step")) put_stat(p, event, "_r", 1); /* what is inside belongs to this step */
    if (e->layer >= 0) put_stat(p, event, "layer", e->layer);
}

/* Both ends to whole picoseconds, so that what is inside stays inside. */
static void put_event(struct plane *p, const struct trace *t, int i, struct tt_text *line)
{
    const struct tt_profile_event *e = &t->events[i];
    struct tt_text event = {0};
    char name[NAME];
    double start = round(1e12 * fmax(e->start, 0)), end = round(1e12 * fmax(e->start + e->seconds, 0));
    snprintf(name, sizeof name, "%s", is(e, "step") ? "train" : e->name); /* the plugin finds steps by this name */
    if (is_work(e) && !t->gpu) name_operation(e, name);
    tt_proto_int(&event, EVENT_NAME, number_of(&p->events, name));
    tt_proto_int(&event, EVENT_OFFSET, (int64_t)start);
    tt_proto_int(&event, EVENT_DURATION, (int64_t)(end - start));
    put_stats(p, t, i, &event);
    tt_proto_message(line, LINE_EVENT, &event);
}

static void add_line(struct plane *p, const struct trace *t, const char *name,
                     bool (*wanted)(const struct trace *t, const struct tt_profile_event *e, const char *name))
{
    struct tt_text line = {0};
    tt_proto_int(&line, LINE_ID, ++p->count);
    tt_proto_string(&line, LINE_NAME, name);
    tt_proto_int(&line, LINE_TIME, t->start);
    for (int i = 0; i < t->count; i++)
        if (of_rank(t, &t->events[i]) && wanted(t, &t->events[i], name)) put_event(p, t, i, &line);
    tt_proto_message(&p->lines, PLANE_LINE, &line);
}

/* The plugin recognises a plane by its name. */
static void put_plane(struct tt_text *space, int id, const char *name, struct plane *p)
{
    struct tt_text plane = {0};
    tt_proto_int(&plane, PLANE_ID, id);
    tt_proto_string(&plane, PLANE_NAME, name);
    if (p->lines.n) tt_text_add(&plane, p->lines.s, p->lines.n);
    plane.failed |= p->lines.failed;
    put_names(&plane, PLANE_EVENT_NAMES, &p->events);
    put_names(&plane, PLANE_STAT_NAMES, &p->stats);
    tt_proto_message(space, SPACE_PLANE, &plane);
    tt_text_free(&p->lines);
}

static bool on_track(const struct trace *t, const struct tt_profile_event *e, const char *name)
{
    (void)t;
    return on(e, name) && is_work(e);
}

/* A CPU computes in the thread that launches, so there the operations are shown in place of their launches. */
static bool of_host(const struct trace *t, const struct tt_profile_event *e, const char *name)
{
    (void)name;
    if (on(e, "host")) return t->gpu || !is(e, "launch");
    return !t->gpu && on(e, "compute") && is_work(e);
}

static void put_device(struct tt_text *space, const struct trace *t)
{
    static const char *const tracks[] = {"compute", "copy", "communication"};
    struct plane device = {0};
    char name[32];
    snprintf(name, sizeof name, "/device:GPU:%lld", (long long)t->rank);
    for (int i = 0; i < 3; i++) add_line(&device, t, tracks[i], on_track);
    put_plane(space, 1, name, &device);
}

/* ---- the file ---- */

static int64_t created(const struct tt_profile *p)
{
    struct tm tm = {0};
    bool known = strptime(p->run.created, "%Y-%m-%dT%H:%M:%SZ", &tm) != NULL;
    return known ? (int64_t)timegm(&tm) * 1000000000 : 0;
}

tt_status tt_profile_xspace(const struct tt_profile *p, int64_t rank, struct tt_text *out)
{
    bool first = rank == 0; /* its events are in p->events, those of other ranks in p->rank_events */
    struct trace t = {.events = first ? p->events : p->rank_events,
                      .count = first ? p->events_count : p->rank_events_count, .rank = rank,
                      .gpu = strcmp(p->run.backend, "cpu") != 0, .start = created(p)};
    struct plane host = {0};
    char name[32];
    snprintf(name, sizeof name, "rank%lld", (long long)rank);
    if (t.gpu) put_device(out, &t);
    add_line(&host, &t, "host", of_host);
    put_plane(out, 2, "/host:CPU", &host);
    tt_proto_string(out, SPACE_HOST, name);
    return tt_text_status(out);
}

tt_status tt_profile_write_xspace(const struct tt_profile *p, const char *folder, const char *name)
{
    char path[4096];
    int64_t ranks = p->ranks_count ? p->ranks_count : 1;
    snprintf(path, sizeof path, "%s/plugins/profile/%s", folder, name);
    TT_TRY(tt_make_dirs(path));
    for (int64_t r = 0; r < ranks; r++) {
        struct tt_text space = {0};
        snprintf(path, sizeof path, "%s/plugins/profile/%s/rank%lld.xplane.pb", folder, name, (long long)r);
        tt_status st = tt_profile_xspace(p, r, &space);
        if (!st) st = tt_file_replace(path, space.s, space.n);
        tt_text_free(&space);
        TT_TRY(st);
    }
    return TT_OK;
}
