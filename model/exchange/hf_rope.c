#include "model/exchange/hf_rope.h"

#include <math.h>
#include <string.h>

tt_status tt_hf_refuse(const char *key, const char *value, const char *what)
{
    return tt_fail(TT_USAGE, "config.json has \"%s\": %s, which tt does not support; %s", key, value, what);
}

const char *tt_hf_shown(const struct tt_json *j)
{
    switch (j->type) {
    case TT_JSON_NULL:
        return "null";
    case TT_JSON_BOOL:
        return j->boolean ? "true" : "false";
    case TT_JSON_NUMBER:
    case TT_JSON_STRING:
        return j->string;
    case TT_JSON_ARRAY:
        return "[...]";
    case TT_JSON_OBJECT:
        break;
    }
    return "{...}";
}

const struct tt_json *tt_hf_value(const struct tt_json *j, const char *key)
{
    const struct tt_json *v = tt_json_get(j, key);
    return v && v->type != TT_JSON_NULL ? v : NULL;
}

/* ---- writing ---- */

/* tt_config_check has read the text before. */
static struct tt_rope_scaling scaling_of(const struct tt_config *c)
{
    struct tt_rope_scaling s;
    tt_status_free(tt_rope_scaling_read(c->rope_scaling, &s));
    return s;
}

/* With dynamic scaling max_position_embeddings is a number of the formula, so it stays as it is. */
int64_t tt_hf_rope_longest(const struct tt_config *c)
{
    struct tt_rope_scaling s = scaling_of(c);
    int64_t longest = (int64_t)s.longest;
    if (s.type == TT_ROPE_DYNAMIC) return longest;
    if (longest < c->max_positions) longest = c->max_positions;
    return longest > c->seq_len ? longest : c->seq_len;
}

void tt_hf_rope_write(const struct tt_config *c, struct tt_json_writer *w)
{
    struct tt_rope_scaling s = scaling_of(c);
    bool plain = s.type == TT_ROPE_DEFAULT;
    tt_json_put_number(w, "rope_theta", c->rope_theta);
    /* Every version of transformers reads rope_scaling and the rope_theta beside it. Only newer ones read
     * rope_parameters, and only where rope_scaling is null. */
    tt_json_begin(w, plain ? "rope_parameters" : "rope_scaling", '{');
    tt_json_put_string(w, "rope_type", tt_rope_type_names[s.type]);
    if (plain) tt_json_put_number(w, "rope_theta", c->rope_theta);
    for (int i = 0; i < tt_rope_number_count; i++) {
        const struct tt_rope_number *n = &tt_rope_numbers[i];
        double value = *tt_rope_number_at(&s, n);
        if (value == 0 || !strcmp(n->key, "max_position_embeddings")) continue;
        if (value == floor(value) && !strcmp(n->key, "original_max_position_embeddings"))
            tt_json_put_int(w, n->key, (int64_t)value);
        else
            tt_json_put_number(w, n->key, value);
    }
    tt_json_end(w, '}');
    if (plain) tt_json_put_null(w, "rope_scaling");
}

/* ---- reading ---- */

static tt_status read_type(const struct tt_json *rope, const char *key, enum tt_rope_type *out)
{
    const char *type = tt_json_string(rope, "rope_type", tt_json_string(rope, "type", "default"));
    *out = TT_ROPE_DEFAULT;
    if (rope->type == TT_JSON_OBJECT)
        for (int i = 0; i < TT_ROPE_TYPES; i++)
            if (!strcmp(type, tt_rope_type_names[i])) {
                *out = (enum tt_rope_type)i;
                return TT_OK;
            }
    return tt_hf_refuse(key, rope->type == TT_JSON_OBJECT ? type : tt_hf_shown(rope),
                        "tt has RoPE of the types default, linear, dynamic, yarn and llama3");
}

static tt_status read_number(const struct tt_json *rope, const char *key, double *to)
{
    const struct tt_json *v = tt_hf_value(rope, key);
    if (v && v->type != TT_JSON_NUMBER)
        return tt_fail(TT_FAILED, "config.json has \"%s\": %s, which is not a number", key, tt_hf_shown(v));
    if (v) *to = v->number;
    return TT_OK;
}

static double sharpening(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * log(factor) + 1; }

/* Yarn's attention factor may also be given as two scales. */
static tt_status read_yarn(const struct tt_json *rope, struct tt_rope_scaling *s)
{
    double over = 0, under = 0;
    const struct tt_json *truncate = tt_hf_value(rope, "truncate");
    if (truncate && !(truncate->type == TT_JSON_BOOL && truncate->boolean))
        return tt_hf_refuse("truncate", tt_hf_shown(truncate), "tt rounds the bounds of yarn to whole pairs");
    TT_TRY(read_number(rope, "mscale", &over));
    TT_TRY(read_number(rope, "mscale_all_dim", &under));
    if (s->factor == 0 && s->original > 0) s->factor = s->longest / s->original;
    if (s->attention == 0 && over != 0 && under != 0)
        s->attention = sharpening(s->factor, over) / sharpening(s->factor, under);
    return TT_OK;
}

/* `j` is the whole file: some models have the original length there. */
static tt_status read_scaling(const struct tt_json *j, const struct tt_json *rope, const char *key, struct tt_config *c)
{
    struct tt_rope_scaling s = {0};
    const struct tt_json *part = tt_hf_value(rope, "partial_rotary_factor");
    TT_TRY(read_type(rope, key, &s.type));
    if (part && !(part->type == TT_JSON_NUMBER && part->number == 1))
        return tt_hf_refuse("partial_rotary_factor", tt_hf_shown(part), "tt rotates whole heads");
    if (s.type == TT_ROPE_DEFAULT) return TT_OK;
    for (int i = 0; i < tt_rope_number_count; i++)
        if (tt_rope_numbers[i].types >> s.type & 1)
            TT_TRY(read_number(rope, tt_rope_numbers[i].key, tt_rope_number_at(&s, &tt_rope_numbers[i])));
    s.longest = (double)c->seq_len;
    if (s.type == TT_ROPE_YARN || s.type == TT_ROPE_LLAMA3) {
        TT_TRY(read_number(j, "original_max_position_embeddings", &s.original));
        if (s.original == 0) s.original = s.longest;
    }
    if (s.type == TT_ROPE_YARN) TT_TRY(read_yarn(rope, &s));
    TT_TRY(tt_context(tt_rope_scaling_verify(&s), "config.json has a %s that cannot be used", key));
    tt_rope_scaling_write(&s, c->rope_scaling);
    return TT_OK;
}

tt_status tt_hf_rope_read(const struct tt_json *j, struct tt_config *c)
{
    const struct tt_json *scaling = tt_hf_value(j, "rope_scaling"), *newer = tt_hf_value(j, "rope_parameters");
    c->rope_scaling[0] = 0;
    /* transformers reads rope_scaling where there is one */
    if (newer) TT_TRY(read_scaling(j, newer, "rope_parameters", c));
    if (newer && scaling) {
        char other[TT_ROPE_SCALING_SIZE];
        memcpy(other, c->rope_scaling, sizeof other);
        c->rope_scaling[0] = 0;
        TT_TRY(read_scaling(j, scaling, "rope_scaling", c));
        if (strcmp(other, c->rope_scaling))
            return tt_hf_refuse("rope_scaling", "another scaling than in rope_parameters", "keep one of the two");
    } else if (scaling) {
        TT_TRY(read_scaling(j, scaling, "rope_scaling", c));
    }
    const struct tt_json *theta = tt_hf_value(newer, "rope_theta"), *other = tt_hf_value(scaling, "rope_theta");
    if (newer && scaling && (!theta != !other || (theta && theta->number != other->number)))
        return tt_hf_refuse("rope_theta", "one value in rope_scaling and another in rope_parameters",
                            "keep one of the two");
    if (!theta) theta = other;
    if (!theta) theta = tt_hf_value(j, "rope_theta");
    c->rope_theta = theta ? (theta->type == TT_JSON_NUMBER ? theta->number : 0) : 10000;
    if (c->rope_theta >= 1 && c->rope_theta <= 1e12) return TT_OK;
    return tt_fail(TT_FAILED, "config.json has \"rope_theta\": %s; it must be from 1 to 1e12", tt_hf_shown(theta));
}
