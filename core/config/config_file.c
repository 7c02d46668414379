/* Configuration files: keys at the top level or in groups, under tt's names or under those of other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/terminal.h"
#include "core/base/yaml.h"
#include "core/config/inside.h"
#include "core/config/rope_scaling.h"

/* What is being read. */
struct reading {
    struct tt_options *o;
    enum tt_source source;
    int seen[TT_OPTION_LIMIT]; /* the line of each row's key */
    struct tt_text unknown;    /* keys that are no options, for one message */
    int count;                 /* of these keys */
};

/* The key with dashes, for which a file may have underscores. False if it is too long for an option. */
static bool with_dashes(const char *key, char name[64])
{
    size_t n = strlen(key);
    if (n >= 64) return false;
    for (size_t i = 0; i <= n; i++) name[i] = key[i] == '_' ? '-' : key[i];
    return true;
}

static const struct tt_option *option_instead(const struct tt_options *o, const char *key)
{
    char name[64];
    return with_dashes(key, name) ? tt_schema_find_instead(o->schema, o->command, name) : NULL;
}

/* "; did you mean seed?", or what to do instead. */
static void say_instead(const struct tt_options *o, const char *key, struct tt_text *out)
{
    const struct tt_option *row = option_instead(o, key);
    const char *near = row ? NULL : tt_schema_nearest(o->schema, o->command, key);
    if (row) {
        tt_text_printf(out, "; %s does that", row->name);
        if (row->choices) tt_text_puts(out, " (");
        if (row->choices) tt_join(out, row->choices, ", ");
        if (row->choices) tt_text_puts(out, ")");
    } else if (near) {
        tt_text_printf(out, "; did you mean %s?", near);
    } else {
        tt_text_printf(out, "; tt help %s lists them", tt_command_name(o->schema, o->command));
    }
}

/* ---- settings of other programs for which tt has one fixed value ---- */

static const struct settled {
    const char *name, *values, *why; /* values: those that match what tt does */
} settled[] = {
    {"dropout", "0", "there is no dropout"},
    {"attention-dropout", "0", "there is no dropout"},
    {"attn-dropout", "0", "there is no dropout"},
    {"resid-dropout", "0", "there is no dropout"},
    {"embd-dropout", "0", "there is no dropout"},
    {"hidden-dropout", "0", "there is no dropout"},
    {"bias", "false", "no layer has a bias"},
    {"use-bias", "false", "no layer has a bias"},
    {"attention-bias", "false", "no layer has a bias"},
    {"mlp-bias", "false", "no layer has a bias"},
    {"label-smoothing", "0", "the loss is plain cross-entropy"},
    {"optimizer", "adamw", "the optimiser is AdamW"},
    {"optim", "adamw", "the optimiser is AdamW"},
    {"amsgrad", "false", "the optimiser is plain AdamW"},
    {"hidden-act", "silu swiglu", "the feed-forward part is SwiGLU"},
    {"activation", "silu swiglu", "the feed-forward part is SwiGLU"},
    {"norm-type", "rmsnorm", "the norm is RMSNorm"},
    {"model-type", "llama", "the model is a LLaMA"},
    {"causal", "true", "attention is causal"},
    {"shuffle", "true", "samples come in random order"},
    {"drop-last", "true", "batches are whole"},
    {"pin-memory", "true", "batches lie in pinned memory"},
    {"use-compile", "false", "its kernels are compiled when tt is built"},
    {"compile", "false", "its kernels are compiled when tt is built"},
    {"persistent-workers", "true", "one thread loads for the whole run"},
};

/* Looks up the key, or its group if the key is only "type" or "name": optimizer: {type: adamw}. */
static const struct settled *find_settled(const char *group, const char *key)
{
    char name[64];
    bool type = !strcasecmp(key, "type") || !strcasecmp(key, "name");
    if (!with_dashes(type && group[0] ? group : key, name)) return NULL;
    for (size_t i = 0; i < sizeof settled / sizeof *settled; i++)
        if (!strcasecmp(name, settled[i].name)) return &settled[i];
    return NULL;
}

static bool same_value(const char *a, const char *b)
{
    char *rest_a, *rest_b;
    double x = strtod(a, &rest_a), y = strtod(b, &rest_b);
    bool numbers = a[0] && b[0] && !*rest_a && !*rest_b;
    return numbers ? x == y : strcasecmp(a, b) == 0;
}

static bool is_settled(const struct settled *s, const struct tt_yaml *y)
{
    char value[32];
    if (!s || !y->text) return false;
    for (const char *at = s->values; tt_list_next(&at, ' ', value, sizeof value);)
        if (same_value(y->text, value)) return true;
    return false;
}

static void note_unknown(struct reading *r, const char *group, const struct tt_yaml *y)
{
    if (r->count++) tt_text_puts(&r->unknown, ", and ");
    const struct settled *s = find_settled(group, y->key);
    tt_text_printf(&r->unknown, "line %d: there is no option %s%s%s", y->line, group, group[0] ? "." : "", y->key);
    if (s && !option_instead(r->o, y->key))
        tt_text_printf(&r->unknown, "; %s, so only %s is right", s->why, s->values);
    else
        say_instead(r->o, y->key, &r->unknown);
}

/* "fp8: true": the option only chooses a variant; another option, precision, turns it on. */
static tt_status turned_on_elsewhere(const struct tt_option *row)
{
    struct tt_text choices = {0};
    tt_join(&choices, row->choices, " or ");
    const char *words = choices.s ? choices.s : "a word";
    tt_status st = tt_fail(TT_USAGE, "takes %s; precision: %s turns it on", words, row->name);
    tt_text_free(&choices);
    return st;
}

static bool is_precision(const char *name)
{
    for (int i = 0; i < TT_PRECISIONS; i++)
        if (!strcmp(name, tt_precision_names[i])) return true;
    return false;
}

/* Whether the kind that YAML sees in the scalar fits the option. A text that looks like a number must be quoted, so
 * that other readers of the file see a text too, unless the option is numeric. */
static tt_status check_kind(const struct tt_option *row, const struct tt_yaml *y)
{
    bool words = row->type == TT_OPTION_TEXT || row->type == TT_OPTION_CHOICE;
    if (y->kind == TT_YAML_LIST || y->kind == TT_YAML_MAP)
        return tt_fail(TT_USAGE, "takes %s", row->list ? "a value or a flat list of values" : "one value");
    if (y->kind == TT_YAML_NULL)
        return tt_fail(TT_USAGE, "has no value; write %s", words ? "\"\" for an empty one" : "one");
    if (y->kind == TT_YAML_BOOL && is_precision(row->name)) return turned_on_elsewhere(row);
    char here[32];
    if (words && !row->numeric && y->kind != TT_YAML_STRING && tt_value_here(row, y->text, here) == y->text)
        return tt_fail(TT_USAGE, "is a text, but YAML reads %s as something else; write \"%s\"", y->text, y->text);
    return TT_OK;
}

static bool is_type(const struct tt_yaml *y) { return !strcmp(y->key, "type") || !strcmp(y->key, "rope_type"); }

/* With the type default, the numbers of a scaling are ignored, as in transformers. Any other key is an error, since it
 * may mean something. */
static tt_status join_default(const struct tt_yaml *map, struct tt_text *out)
{
    for (const struct tt_yaml *y = map->first; y; y = y->next)
        if (!is_type(y) && !tt_rope_number_named(y->key, strlen(y->key)))
            return tt_fail(TT_USAGE, "is of type default, which has no %s; leave it out", y->key);
    tt_text_puts(out, "");
    return TT_OK;
}

/* {type: linear, factor: 4} becomes linear,factor=4. The type may be there under both names, type and rope_type, as in
 * config.json of transformers. */
static tt_status join_map(const struct tt_yaml *map, struct tt_text *out)
{
    const char *type = NULL;
    for (const struct tt_yaml *y = map->first; y; y = y->next) {
        if (!y->text) return tt_fail(TT_USAGE, "needs one value for %s", y->key);
        if (is_type(y) && type && strcmp(type, y->text))
            return tt_fail(TT_USAGE, "has two types, %s and %s", type, y->text);
        if (is_type(y)) type = y->text;
    }
    if (!type) return tt_fail(TT_USAGE, "needs a type and its numbers, like {type: linear, factor: 4}");
    if (!strcmp(type, "default")) return join_default(map, out);
    tt_text_puts(out, type);
    for (const struct tt_yaml *y = map->first; y; y = y->next)
        if (!is_type(y)) tt_text_printf(out, ",%s=%s", y->key, y->text);
    return TT_OK;
}

/* The value of a key as the text a flag would have: a list or a map is joined. */
static tt_status value_text(const struct tt_option *row, const struct tt_yaml *y, struct tt_text *out)
{
    if (row->map && y->kind == TT_YAML_MAP) return join_map(y, out);
    if (row->map && y->kind == TT_YAML_NULL) {
        tt_text_puts(out, "");
        return TT_OK;
    }
    if (y->kind != TT_YAML_LIST || !row->list) {
        TT_TRY(check_kind(row, y));
        tt_text_puts(out, y->text);
        return TT_OK;
    }
    tt_text_puts(out, "");
    for (const struct tt_yaml *item = y->first; item; item = item->next) {
        TT_TRY(check_kind(row, item));
        if (strchr(item->text, row->list))
            return tt_fail(TT_USAGE, "the item \"%s\" contains the separator of items", item->text);
        tt_text_puts(out, item->text);
        if (item->next) tt_text_add(out, &row->list, 1);
    }
    return TT_OK;
}

/* A checkpoint of another shape than the user asked for must not win silently. */
static tt_status check_preset(const struct tt_options *o, const char *text)
{
    if (!tt_option_given(o, "preset") || strcmp(o->c.preset, text) == 0) return TT_OK;
    return tt_fail(TT_USAGE, "the checkpoint is of preset %s, not %s; leave --preset out, or train a new model",
                   text, o->c.preset);
}

/* ---- devices by the names of PyTorch ---- */

/* "cuda:1" is the second GPU in a build for CUDA, and also in one for HIP, for which PyTorch uses the same name. */
static tt_status device_number(const char *text, struct tt_text *out)
{
    static const struct {
        const char *name, *backends, *build; /* backends that compute there; the one to build for it */
    } kinds[] = {{"cpu", "cpu", "cpu"}, {"cuda", "cuda hip", "cuda"}, {"gpu", "cuda hip", "cuda"},
                 {"hip", "hip", "hip"}, {"rocm", "hip", "hip"},       {"mps", "", NULL},
                 {"xpu", "", NULL},     {"tpu", "", NULL}};
    size_t n = strcspn(text, ":");
    const char *number = text[n] && text[n + 1] ? text + n + 1 : "0", *here = tt_backend_name();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].name) != n || strncasecmp(kinds[i].name, text, n)) continue;
        if (!kinds[i].build)
            return tt_fail(TT_USAGE,
                           "tt computes on a CPU, with CUDA or with HIP, not on %s; write auto, or leave the key out",
                           text);
        if (!strstr(kinds[i].backends, here))
            return tt_fail(TT_USAGE,
                           "this tt was built for %s and computes there; for %s build another: cmake -B build "
                           "-DBACKEND=%s", here, text, kinds[i].build);
        tt_text_puts(out, number);
        return TT_OK;
    }
    tt_text_puts(out, text);
    return TT_OK;
}

static tt_status apply_entry(struct tt_options *o, const struct tt_option *row, const struct tt_yaml *y,
                             enum tt_source source)
{
    if (row->flag_only) return tt_fail(TT_USAGE, "can only be given on the command line; remove it from the file");
    bool from_checkpoint = source == TT_FROM_CHECKPOINT;
    bool wanted = from_checkpoint ? !row->here : tt_option_takes(o->command, row);
    wanted = wanted && tt_option_has_field(o->command, row);
    struct tt_text text = {0};
    bool named = y->kind == TT_YAML_STRING && strcmp(row->name, "device") == 0;
    tt_status st = named ? device_number(y->text, &text) : value_text(row, y, &text);
    if (!st) st = tt_text_status(&text);
    if (!st && from_checkpoint && strcmp(row->name, "preset") == 0) st = check_preset(o, text.s);
    if (!st) st = wanted ? tt_option_set(o, row, text.s, source) : tt_option_check(row, text.s);
    tt_text_free(&text);
    return st;
}

/* The option that a key names, by itself or with its group before it (data: path: is data-path). */
static const struct tt_option *row_of_key(const struct tt_options *o, const char *group, const char *key)
{
    char name[64], before[64], both[128];
    const struct tt_option *row = with_dashes(key, name) ? tt_schema_find_known(o->schema, o->command, name) : NULL;
    if (row || !group[0] || strlen(key) >= sizeof name || !with_dashes(group, before)) return row;
    snprintf(both, sizeof both, "%s-%s", before, name);
    return tt_schema_find_known(o->schema, o->command, both);
}

static bool is_section(const struct tt_schema *s, const char *key)
{
    for (int i = 0; s->sections[i]; i++)
        if (strcasecmp(s->sections[i], key) == 0) return true;
    return false;
}

/* A map under a key that is no option, or is a section of the options, as Data is. */
static bool is_group(const struct reading *r, const struct tt_option *row, const struct tt_yaml *y)
{
    bool section = is_section(r->o->schema, y->key), empty = y->kind == TT_YAML_NULL && !row && section;
    return empty || (y->kind == TT_YAML_MAP && (!row || section));
}

static tt_status apply_key(struct reading *r, const struct tt_option *row, const struct tt_yaml *y)
{
    int *line = &r->seen[tt_option_source(r->o, row) - r->o->source];
    if (*line)
        return tt_fail(TT_USAGE, "line %d: %s is repeated; it is in line %d already", y->line, row->name, *line);
    *line = y->line;
    return tt_context(apply_entry(r->o, row, y, r->source), "line %d: %s", y->line, row->name);
}

static tt_status apply_map(struct reading *r, const struct tt_yaml *map, const char *group)
{
    for (const struct tt_yaml *y = map->first; y; y = y->next) {
        const struct tt_option *row = row_of_key(r->o, group, y->key);
        if (is_group(r, row, y))
            TT_TRY(apply_map(r, y, y->key));
        else if (row)
            TT_TRY(apply_key(r, row, y));
        else if (is_settled(find_settled(group, y->key), y))
            tt_say("line %d: %s: %s is what tt does anyway: %s", y->line, y->key, y->text,
                   find_settled(group, y->key)->why);
        else
            note_unknown(r, group, y);
    }
    return TT_OK;
}

static tt_status apply_tree(struct tt_options *o, const struct tt_yaml *root, enum tt_source source)
{
    struct reading r = {.o = o, .source = source};
    if (root->kind == TT_YAML_NULL) return TT_OK;
    if (root->kind != TT_YAML_MAP)
        return tt_fail(TT_USAGE, "line %d: a configuration is made of lines \"option: value\"", root->line);
    tt_status st = apply_map(&r, root, "");
    if (!st) st = tt_text_status(&r.unknown);
    if (!st && r.count) st = tt_fail(TT_USAGE, "%s", r.unknown.s);
    tt_text_free(&r.unknown);
    return st;
}

tt_status tt_options_apply_yaml(struct tt_options *o, const char *text, enum tt_source source)
{
    struct tt_yaml *root;
    TT_TRY(tt_yaml_parse(text, strlen(text), &root));
    tt_status st = apply_tree(o, root, source);
    tt_yaml_free(root);
    return st;
}

tt_status tt_options_apply_file(struct tt_options *o, const char *path)
{
    char *text;
    size_t size;
    if (access(path, F_OK)) return tt_fail(TT_USAGE, "there is no configuration file %s; check the path", path);
    TT_TRY(tt_file_read(path, TT_YAML_SIZE, &text, &size));
    tt_status st = strlen(text) == size ? tt_options_apply_yaml(o, text, TT_FROM_FILE)
                                        : tt_fail(TT_USAGE, "contains a zero byte, so it is not a text file");
    free(text);
    return tt_context(st, "%s", path);
}
