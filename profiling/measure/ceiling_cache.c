/* Ceilings are measured once per device, library and precision, and kept in a small JSON file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/fp8.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "core/config/config.h"
#include "profiling/bound.h"
#include "profiling/measure/ceiling.h"

enum { MOST = 64, LIMIT = 1 << 20 };

struct entry {
    char backend[16], device[128], library[128], precision[16];
    struct tt_ceilings c;
};

struct file {
    struct entry entries[MOST];
    int count;
};

static bool same(const struct entry *a, const struct entry *b)
{
    return !strcmp(a->backend, b->backend) && !strcmp(a->device, b->device) && !strcmp(a->library, b->library) &&
           !strcmp(a->precision, b->precision);
}

static void take(struct file *f, const struct tt_json *j)
{
    struct entry e = {.c = {.flops = tt_json_number(j, "flops_per_second", 0),
                            .bandwidth = tt_json_number(j, "bytes_per_second", 0),
                            .flops_spread = tt_json_number(j, "flops_spread", NAN),
                            .bandwidth_spread = tt_json_number(j, "bytes_spread", NAN),
                            .load = tt_json_number(j, "load", NAN),
                            .waited = tt_json_number(j, "waited", NAN),
                            .kept = true}};
    snprintf(e.c.measured, sizeof e.c.measured, "%s", tt_json_string(j, "measured", ""));
    snprintf(e.backend, sizeof e.backend, "%s", tt_json_string(j, "backend", ""));
    snprintf(e.device, sizeof e.device, "%s", tt_json_string(j, "device", ""));
    snprintf(e.library, sizeof e.library, "%s", tt_json_string(j, "library", ""));
    snprintf(e.precision, sizeof e.precision, "%s", tt_json_string(j, "precision", ""));
    if (f->count < MOST && e.c.flops > 0 && e.c.bandwidth > 0) f->entries[f->count++] = e;
}

/* A file that cannot be read counts as empty: then everything is measured again. */
static void load(const char *path, struct file *f)
{
    char *data;
    size_t size;
    struct tt_json *root;
    if (!tt_is_file(path)) return;
    tt_status st = tt_file_read(path, LIMIT, &data, &size);
    if (!st) {
        st = tt_json_parse(data, size, &root);
        free(data);
    }
    if (!st) {
        const struct tt_json *list = tt_json_get(root, "ceilings");
        for (const struct tt_json *j = list ? list->first : NULL; j; j = j->next) take(f, j);
        tt_json_free(root);
    }
    tt_status_free(st);
}

static void put_entry(struct tt_json_writer *w, const struct entry *e)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "backend", e->backend);
    tt_json_put_string(w, "device", e->device);
    tt_json_put_string(w, "library", e->library);
    tt_json_put_string(w, "precision", e->precision);
    tt_json_put_number(w, "flops_per_second", e->c.flops);
    tt_json_put_number(w, "bytes_per_second", e->c.bandwidth);
    tt_json_put_number(w, "flops_spread", e->c.flops_spread);
    tt_json_put_number(w, "bytes_spread", e->c.bandwidth_spread);
    tt_json_put_number(w, "load", e->c.load);
    tt_json_put_number(w, "waited", e->c.waited);
    tt_json_put_string(w, "measured", e->c.measured);
    tt_json_end(w, '}');
}

static void save(const char *path, const struct file *f)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_begin(&w, "ceilings", '[');
    for (int i = 0; i < f->count; i++) put_entry(&w, &f->entries[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    tt_status st = tt_text_status(&w.text);
    if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    tt_status_free(st);
    tt_text_free(&w.text);
}

static void keep(struct file *f, const struct entry *e)
{
    for (int i = 0; i < f->count; i++)
        if (same(&f->entries[i], e)) {
            f->entries[i] = *e;
            return;
        }
    if (f->count == MOST)
        memmove(f->entries, f->entries + 1, (size_t)--f->count * sizeof *f->entries); /* the oldest goes */
    f->entries[f->count++] = *e;
}

static void note_time(struct tt_ceilings *c)
{
    time_t now = time(NULL);
    struct tm utc;
    strftime(c->measured, sizeof c->measured, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

bool tt_ceilings_doubtful(const struct tt_ceilings *c)
{
    return tt_roofs_doubtful(
        &(struct tt_roofs_measured){c->load, c->waited, c->flops_spread, c->bandwidth_spread});
}

/* Whether the kept roofs may be too low: they are doubtful and the machine is quiet now, or a trial beats them. There
 * are two trials, since a busy machine slows a copy most and a lower CPU clock a product. */
static tt_status contradicted(struct tt_backend *b, enum tt_dtype type, const struct tt_ceilings *kept, bool *out)
{
    const double much = 1.1;
    struct tt_rate now;
    *out = tt_ceilings_doubtful(kept) && !tt_is_busy(tt_machine_load());
    if (*out) return TT_OK;
    TT_TRY(tt_measure_copy(b, &now));
    *out = now.best > much * kept->bandwidth;
    struct tt_device_info info;
    TT_TRY(b->ops->info(b->self, &info));
    if (*out || !info.shares_memory) return TT_OK;
    TT_TRY(tt_try_gemm(b, type, &now));
    *out = now.best > much * kept->flops;
    return TT_OK;
}

/* Measures both roofs. A higher rate in `least`, what was known before, is kept; zeros: nothing was known. */
static tt_status measure(struct tt_backend *b, enum tt_dtype type, const struct tt_ceilings *least,
                         struct tt_ceilings *out)
{
    struct tt_rate flops, bytes;
    struct tt_device_info info;
    TT_TRY(b->ops->info(b->self, &info));
    *out = (struct tt_ceilings){.load = tt_machine_load()};
    TT_TRY(tt_measure_gemm(b, type, &flops));
    TT_TRY(tt_measure_copy(b, &bytes));
    struct tt_turns turns = flops.turns, none = {0};
    tt_turns_add(&turns, &none, &bytes.turns);
    out->waited = info.shares_memory ? tt_turns_waited(&turns) : NAN;
    out->flops = fmax(flops.best, least->flops);
    out->bandwidth = fmax(bytes.best, least->bandwidth);
    out->earlier = out->flops > flops.best || out->bandwidth > bytes.best;
    out->flops_spread = flops.spread;
    out->bandwidth_spread = bytes.spread;
    note_time(out);
    return TT_OK;
}

/* ---- which roof ---- */

enum tt_precision tt_roof_precision(enum tt_precision precision, const struct tt_device_info *info)
{
    return info->shares_memory ? tt_precision_rest(precision, info->has[TT_PREC_BF16]) : precision;
}

double tt_roof_datasheet(enum tt_precision precision, const struct tt_device_info *info)
{
    precision = tt_roof_precision(precision, info);
    if (precision == TT_PREC_FP8) return info->peak_fp8;
    return info->peak_flops[tt_precision_dtype(precision, info->has[TT_PREC_BF16])];
}

static enum tt_dtype factors_in(enum tt_precision precision, const struct tt_device_info *info)
{
    if (precision == TT_PREC_FP8) return tt_fp8_e4m3(info->fp8_fnuz);
    return tt_precision_dtype(precision, info->has[TT_PREC_BF16]);
}

double tt_roof_of_op(const struct tt_ceilings *c, const struct tt_op *op)
{
    return op->kind == TT_OP_GEMM && tt_is_fp8(op->args.gemm.type_a) ? c->flops : c->rest;
}

double tt_roof_of_plan(const struct tt_ceilings *c, const struct tt_plan *plan)
{
    double flops = 0, seconds = 0;
    for (int i = 0; i < plan->count; i++) {
        double work = tt_op_flops(&plan->ops[i]);
        flops += work;
        seconds += work / tt_roof_of_op(c, &plan->ops[i]);
    }
    return seconds > 0 ? flops / seconds : c->flops;
}

/* Adds the entry to the file as it is now, since other processes may have added theirs meanwhile. A higher rate that
 * they found for the same device is kept, unless `forget`. */
static void store(struct file *f, struct entry *e, const char *cache, bool forget)
{
    int lock;
    tt_status_free(tt_parent_lock(cache, TT_LOCK_WAIT, &lock)); /* without the lock another's entry may be lost */
    f->count = 0;
    load(cache, f);
    for (int i = 0; i < f->count && !forget; i++) {
        const struct tt_ceilings *kept = &f->entries[i].c;
        if (!same(&f->entries[i], e)) continue;
        e->c.earlier |= kept->flops > e->c.flops || kept->bandwidth > e->c.bandwidth;
        e->c.flops = fmax(e->c.flops, kept->flops);
        e->c.bandwidth = fmax(e->c.bandwidth, kept->bandwidth);
    }
    keep(f, e);
    save(cache, f);
    tt_folder_unlock(&lock);
}

static tt_status find(struct file *f, struct tt_backend *b, enum tt_dtype type, struct entry *e, const char *cache,
                      enum tt_ceilings_how how)
{
    struct tt_ceilings least = {0};
    if (cache) load(cache, f);
    for (int i = 0; i < f->count && how != TT_CEILINGS_AGAIN; i++) {
        if (!same(&f->entries[i], e)) continue;
        bool again = how == TT_CEILINGS_RAISE;
        if (!again) TT_TRY(contradicted(b, type, &f->entries[i].c, &again));
        least = f->entries[i].c;
        if (again) continue;
        *e = f->entries[i];
        return TT_OK;
    }
    TT_TRY(measure(b, type, &least, &e->c));
    if (cache) store(f, e, cache, how == TT_CEILINGS_AGAIN);
    return TT_OK;
}

static tt_status find_in(struct tt_backend *b, enum tt_precision precision, const struct tt_device_info *info,
                         const char *cache, enum tt_ceilings_how how, struct tt_ceilings *out)
{
    struct entry e = {0};
    snprintf(e.backend, sizeof e.backend, "%s", b->ops->name);
    snprintf(e.device, sizeof e.device, "%s", info->name);
    snprintf(e.library, sizeof e.library, "%s", info->library);
    snprintf(e.precision, sizeof e.precision, "%s", tt_precision_names[precision]);
    struct file *f = calloc(1, sizeof *f);
    if (!f) return tt_no_memory("the ceilings");
    tt_status st = find(f, b, factors_in(precision, info), &e, cache, how);
    free(f);
    *out = e.c;
    return st;
}

tt_status tt_ceilings_find(struct tt_backend *b, enum tt_precision precision, const char *cache,
                           enum tt_ceilings_how how, struct tt_ceilings *out)
{
    struct tt_device_info info;
    struct tt_ceilings rest;
    TT_TRY(b->ops->info(b->self, &info));
    precision = tt_roof_precision(precision, &info);
    TT_TRY(find_in(b, tt_precision_rest(precision, info.has[TT_PREC_BF16]), &info, cache, how, &rest));
    *out = rest;
    if (precision == TT_PREC_FP8) TT_TRY(find_in(b, precision, &info, cache, how, out));
    out->rest = rest.flops;
    return TT_OK;
}
