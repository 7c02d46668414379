/* profile.json: one table of fields, and the writer and the reader that follow it. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "profiling/profile.h"
#include "profiling/profile_write.h"
#include "profiling/seal.h"

enum kind { TEXT, INTEGER, NUMBER, FLAG };

struct field {
    const char *key;
    enum kind kind;
    size_t offset, size;
};

// clang-format off
#define F(s, f)                                                                                    \
    {#f, _Generic(((struct s *)0)->f, int64_t: INTEGER, double: NUMBER, bool: FLAG, char *: TEXT), \
     offsetof(struct s, f), sizeof(((struct s *)0)->f)}

#define R(f) F(tt_profile_run, f)
static const struct field run_fields[] = {
    R(created), R(tt), R(build), R(source), R(scope), R(backend), R(device), R(arch), R(library), R(preset), R(version), R(fuse), R(precision),
    R(recompute), R(data), R(flash_tile), R(fault), R(fault_seed), R(own_kernel), R(own_kernel_sha), R(own_kernel_scratch), R(hidden_dim), R(num_layers), R(num_heads), R(num_kv_heads), R(head_dim), R(ffn_dim),
    R(vocab_size), R(seq_len), R(batch_size), R(grad_accum), R(seed), R(parameters), R(steps), R(warmup), R(load), R(waited), R(recorded_waited), R(interrupted),
    R(tie_embeddings), R(qkv_bias), R(qk_norm), R(rope_scaling), R(documents), R(fp8), R(update), R(graph), R(prefetch), R(flash_refused),
};
#undef R

#define R(f) F(tt_profile_step, f)
static const struct field step_fields[] = {
    R(seconds), R(p95), R(fastest), R(mean), R(deviation), R(launched_seconds), R(wall_seconds), R(kernel_seconds),
    R(gap_seconds), R(gap_fraction), R(samples_per_second), R(tokens_per_second), R(kernels), R(loss), R(grad_norm),
    R(peak_memory_bytes),
};
#undef R

#define R(f) F(tt_profile_launch, f)
static const struct field launch_fields[] = {
    R(event_seconds), R(recorded_seconds), R(recorded_overhead), R(launch_seconds), R(empty_kernel_seconds),
    R(graph_replay_seconds), R(graph_kernel_seconds), R(total_seconds), R(idle_seconds), R(waits),
};
#undef R

#define R(f) F(tt_profile_efficiency, f)
static const struct field efficiency_fields[] = {
    R(forward_flops), R(backward_flops), R(step_flops), R(forward_flops_full), R(backward_flops_full), R(step_flops_full),
    R(flops_per_parameter), R(flops_per_parameter_full), R(plan_flops), R(plan_bytes), R(intensity), R(flops_per_second),
    R(bytes_per_second), R(gemm_flops_per_second), R(datasheet_flops_per_second), R(copy_bytes_per_second),
    R(datasheet_bytes_per_second), R(mfu_percent), R(mfu_datasheet_percent), R(mfu_full_percent),
    R(mfu_full_datasheet_percent), R(bandwidth_percent), R(ridge), R(ridge_datasheet), R(mfu_class), R(bound),
    R(roofs_measured), R(roofs_kept), R(roofs_earlier), R(gemm_spread), R(copy_spread), R(roofs_load), R(roofs_waited),
};
#undef R

#define R(f) F(tt_profile_memory, f)
static const struct field memory_fields[] = {
    R(predicted_bytes), R(measured_bytes), R(arena_bytes), R(live_bytes), R(device_total_bytes), R(device_free_bytes),
    R(process_bytes), R(peak_phase), R(peak_operation), R(peak_layer),
};
#undef R

#define R(f) F(tt_profile_row, f)
static const struct field row_fields[] = {
    R(name), R(shape), R(group), R(phase), R(count), R(seconds), R(median), R(host_seconds), R(share), R(flops), R(bytes), R(intensity),
    R(flops_per_second), R(bytes_per_second), R(roof_percent), R(bound),
};
#undef R

#define R(f) F(tt_profile_phase, f)
static const struct field phase_fields[] = {R(name), R(kernels), R(wall), R(host), R(device), R(flops), R(bytes)};
#undef R

#define R(f) F(tt_profile_component, f)
static const struct field component_fields[] = {R(name), R(kernels), R(forward), R(backward), R(seconds), R(share),
                                                R(flops), R(bytes)};
#undef R

#define R(f) F(tt_profile_roof, f)
static const struct field roof_fields[] = {R(name), R(kind), R(source), R(rate)};
#undef R

#define R(f) F(tt_profile_point, f)
static const struct field point_fields[] = {R(name), R(kind), R(intensity), R(flops_per_second), R(seconds), R(roof)};
#undef R

#define R(f) F(tt_profile_memory_kind, f)
static const struct field memory_kind_fields[] = {R(kind), R(predicted), R(measured)};
#undef R

#define R(f) F(tt_profile_activation, f)
static const struct field activation_fields[] = {R(name), R(kind), R(layer), R(count), R(bytes), R(peak_bytes), R(first),
                                                 R(last)};
#undef R

#define R(f) F(tt_profile_memory_phase, f)
static const struct field memory_phase_fields[] = {R(name), R(peak_bytes)};
#undef R

#define R(f) F(tt_profile_sweep, f)
static const struct field sweep_fields[] = {R(axis), R(value), R(predicted), R(activations), R(measured), R(seconds)};
#undef R

#define R(f) F(tt_profile_sample, f)
static const struct field sample_fields[] = {R(step), R(seconds), R(loss), R(grad_norm)};
#undef R

#define R(f) F(tt_profile_gradient, f)
static const struct field gradient_fields[] = {R(name), R(count), R(zeros), R(nonfinite), R(norm), R(first_norm)};
#undef R

#define R(f) F(tt_profile_event, f)
static const struct field event_fields[] = {R(track), R(name), R(kind), R(group), R(step), R(layer), R(start), R(seconds)};
static const struct field rank_event_fields[] = {R(rank), R(track), R(name), R(kind), R(group), R(step), R(layer), R(start),
                                                 R(seconds)};
#undef R

#define R(f) F(tt_profile_job, f)
static const struct field job_fields[] = {
    R(ranks), R(shard), R(starter), R(collectives), R(sent_bytes), R(communication), R(hidden), R(exposed), R(slowest),
    R(slowest_percent), R(clocks),
};
#undef R

#define R(f) F(tt_profile_collective, f)
static const struct field collective_fields[] = {
    R(name), R(type), R(phase), R(count), R(elements), R(bytes), R(sent_bytes), R(seconds), R(hidden), R(exposed),
    R(fastest), R(algorithm_bandwidth), R(bus_bandwidth),
};
#undef R

#define R(f) F(tt_profile_rank, f)
static const struct field rank_fields[] = {
    R(rank), R(host), R(device), R(seconds), R(p95), R(own_seconds), R(communication), R(hidden), R(exposed),
    R(peak_memory_bytes), R(clock_ahead), R(clock_within),
};
#undef R

/* ---- which struct is where ---- */

struct part {
    const char *key;
    const struct field *fields;
    int field_count;
    size_t size;          /* of one struct */
    size_t offset, count; /* in struct tt_profile; count: of a list, the offset of its length; else 0 */
};

#define FIELDS(table) table, (int)(sizeof table / sizeof *table)
#define OBJECT(name) \
    {#name, FIELDS(name##_fields), sizeof(((struct tt_profile *)0)->name), offsetof(struct tt_profile, name), 0}
#define LIST(name, table) \
    {#name, FIELDS(table), sizeof(*((struct tt_profile *)0)->name), offsetof(struct tt_profile, name), \
     offsetof(struct tt_profile, name##_count)}

static const struct part parts[] = {
    OBJECT(run), OBJECT(step), OBJECT(launch), OBJECT(efficiency), OBJECT(memory),
    LIST(operators, row_fields), LIST(groups, row_fields), LIST(phases, phase_fields), LIST(components, component_fields),
    LIST(roofs, roof_fields), LIST(points, point_fields), LIST(memory_kinds, memory_kind_fields),
    LIST(activations, activation_fields), LIST(memory_phases, memory_phase_fields), LIST(sweeps, sweep_fields),
    LIST(samples, sample_fields), LIST(gradients, gradient_fields), LIST(events, event_fields),
    OBJECT(job), LIST(collectives, collective_fields), LIST(ranks, rank_fields), LIST(rank_events, rank_event_fields),
};
// clang-format on
enum { PARTS = sizeof parts / sizeof *parts, PARTS_OF_ONE = PARTS - 4 }; /* those of several ranks come last */

/* ---- writing ---- */

static void put_struct(struct tt_json_writer *w, const char *key, const struct part *part, const char *base)
{
    tt_json_begin(w, key, '{');
    for (int i = 0; i < part->field_count; i++) {
        const struct field *f = &part->fields[i];
        const void *at = base + f->offset;
        switch (f->kind) {
        case TEXT:
            tt_json_put_string(w, f->key, at);
            break;
        case INTEGER:
            tt_json_put_int(w, f->key, *(const int64_t *)at);
            break;
        case NUMBER:
            tt_json_put_number(w, f->key, *(const double *)at);
            break;
        case FLAG:
            tt_json_put_bool(w, f->key, *(const bool *)at);
            break;
        }
    }
    tt_json_end(w, '}');
}

static void put_part(struct tt_json_writer *w, const struct tt_profile *p, const struct part *part)
{
    const char *at = (const char *)p + part->offset;
    if (!part->count) {
        put_struct(w, part->key, part, at);
        return;
    }
    int n = *(const int *)((const char *)p + part->count);
    const char *items = *(char *const *)at;
    tt_json_begin(w, part->key, '[');
    for (int i = 0; i < n; i++) put_struct(w, NULL, part, items + (size_t)i * part->size);
    tt_json_end(w, ']');
}

void tt_profile_put(struct tt_json_writer *w, const struct tt_profile *p, const char *key)
{
    for (int i = 0; i < PARTS; i++)
        if (!strcmp(parts[i].key, key)) put_part(w, p, &parts[i]);
}

tt_status tt_profile_write_json(const struct tt_profile *p, const char *path)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_int(&w, "schema", TT_PROFILE_SCHEMA);
    for (int i = 0; i < (p->job.ranks ? PARTS : PARTS_OF_ONE); i++) put_part(&w, p, &parts[i]);
    if (p->sealed) tt_seal_put(&w);
    tt_json_end(&w, '}');
    return tt_profile_save(&w.text, path);
}

tt_status tt_profile_save(struct tt_text *text, const char *path)
{
    tt_text_puts(text, "\n");
    tt_status st = tt_text_status(text);
    if (!st) st = tt_file_replace(path, text->s, text->n);
    tt_text_free(text);
    return st;
}

/* ---- reading ---- */

enum { LONGEST = 1 << 20 };

static tt_status wrong(const struct part *part, const struct field *f, const char *wanted)
{
    return tt_fail(TT_FAILED, "%s.%s is not %s", part->key, f->key, wanted);
}

static tt_status take_field(const struct part *part, const struct field *f, const struct tt_json *value, void *at)
{
    bool absent = !value || value->type == TT_JSON_NULL;
    switch (f->kind) {
    case TEXT:
        if (!absent && value->type != TT_JSON_STRING) return wrong(part, f, "a text");
        snprintf(at, f->size, "%s", absent ? "" : value->string);
        break;
    case INTEGER:
        if (absent)
            *(int64_t *)at = 0;
        else if (!tt_json_as_int(value, INT64_MIN, INT64_MAX, at))
            return wrong(part, f, "an integer");
        break;
    case NUMBER:
        if (!absent && value->type != TT_JSON_NUMBER) return wrong(part, f, "a number");
        *(double *)at = absent ? NAN : value->number;
        break;
    case FLAG:
        if (!absent && value->type != TT_JSON_BOOL) return wrong(part, f, "true or false");
        *(bool *)at = !absent && value->boolean;
        break;
    }
    return TT_OK;
}

static tt_status take_struct(const struct part *part, const struct tt_json *object, char *base)
{
    if (object && object->type != TT_JSON_OBJECT) return tt_fail(TT_FAILED, "%s is not an object", part->key);
    for (int i = 0; i < part->field_count; i++) {
        const struct field *f = &part->fields[i];
        TT_TRY(take_field(part, f, tt_json_get(object, f->key), base + f->offset));
    }
    return TT_OK;
}

static tt_status take_list(const struct part *part, const struct tt_json *list, struct tt_profile *out)
{
    if (!list || list->type == TT_JSON_NULL) return TT_OK;
    if (list->type != TT_JSON_ARRAY) return tt_fail(TT_FAILED, "%s is not a list", part->key);
    if (!list->count) return TT_OK;
    if (list->count > LONGEST)
        return tt_fail(TT_FAILED, "%s has %d entries; a profile has at most %d", part->key, list->count, LONGEST);
    char *items = calloc((size_t)list->count, part->size);
    if (!items) return tt_no_memory("%d entries of %s", list->count, part->key);
    *(char **)((char *)out + part->offset) = items;
    int *count = (int *)((char *)out + part->count);
    for (const struct tt_json *item = list->first; item; item = item->next) {
        TT_TRY(take_struct(part, item, items + (size_t)*count * part->size));
        ++*count;
    }
    return TT_OK;
}

static tt_status take_parts(const struct tt_json *root, bool lists, struct tt_profile *out)
{
    int64_t schema;
    *out = (struct tt_profile){0};
    if (root->type != TT_JSON_OBJECT || !tt_json_int(root, "schema", 1, INT64_MAX, &schema) ||
        tt_json_get(root, "run") == NULL)
        return tt_fail(TT_FAILED, "this is not a profile; tt profile writes one");
    if (schema > TT_PROFILE_SCHEMA)
        return tt_fail(TT_FAILED, "it has schema %lld and this tt reads up to %d; use a newer tt", (long long)schema,
                       TT_PROFILE_SCHEMA);
    for (int i = 0; i < PARTS; i++) {
        const struct tt_json *value = tt_json_get(root, parts[i].key);
        if (!parts[i].count)
            TT_TRY(take_struct(&parts[i], value, (char *)out + parts[i].offset));
        else if (lists)
            TT_TRY(take_list(&parts[i], value, out));
    }
    return TT_OK;
}

tt_status tt_profile_of_json(const struct tt_json *root, struct tt_profile *out) { return take_parts(root, true, out); }

tt_status tt_profile_without_lists(const struct tt_json *root, struct tt_profile *out)
{
    return take_parts(root, false, out);
}

tt_status tt_profile_read(const char *path, struct tt_profile *out)
{
    enum { LIMIT = 1 << 28 };
    char inside[4096], seal[TT_SHA256_DIGITS + 1], *data;
    size_t size;
    struct tt_json *root;
    *out = (struct tt_profile){0};
    if (tt_is_dir(path)) {
        if (snprintf(inside, sizeof inside, "%s/profile.json", path) >= (int)sizeof inside)
            return tt_fail(TT_USAGE, "%s: the path is too long", path);
        if (!tt_is_file(inside))
            return tt_fail(TT_USAGE, "%s holds no profile; is it the right folder? tt profile --out DIR makes one, and "
                                     "tt report shows the folder of a training run too", path);
        path = inside;
    }
    TT_TRY(tt_file_read(path, LIMIT, &data, &size));
    if (data[strspn(data, " \t\r\n")] != '{') {
        free(data);
        return tt_fail(TT_USAGE, "%s is not a profile; give the folder or the profile.json of one", path);
    }
    tt_status st = tt_json_parse(data, size, &root);
    bool sealed = tt_seal_read(data, size, seal);
    free(data);
    if (st) return tt_context(st, "%s", path);
    st = tt_profile_of_json(root, out);
    out->sealed = sealed;
    tt_json_free(root);
    return st ? tt_context(st, "%s", path) : TT_OK;
}

void tt_profile_free(struct tt_profile *p)
{
    for (int i = 0; i < PARTS; i++)
        if (parts[i].count) free(*(char **)((char *)p + parts[i].offset));
    *p = (struct tt_profile){0};
}
