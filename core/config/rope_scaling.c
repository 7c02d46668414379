#include "core/config/rope_scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"

const char *const tt_rope_type_names[] = {"default", "linear", "dynamic", "yarn", "llama3", NULL};

#define OF(type) (1u << TT_ROPE_##type)
#define AT(field) offsetof(struct tt_rope_scaling, field)
enum { SCALED = OF(LINEAR) | OF(DYNAMIC) | OF(YARN) | OF(LLAMA3) };

const struct tt_rope_number tt_rope_numbers[] = {
    {"factor", AT(factor), SCALED, SCALED, 1, 1e6},
    {"original_max_position_embeddings", AT(original), OF(YARN) | OF(LLAMA3), OF(YARN) | OF(LLAMA3), 1, 1 << 30},
    {"max_position_embeddings", AT(longest), SCALED, OF(DYNAMIC), 1, 1 << 30},
    {"low_freq_factor", AT(low), OF(LLAMA3), OF(LLAMA3), 1e-6, 1e6},
    {"high_freq_factor", AT(high), OF(LLAMA3), OF(LLAMA3), 1e-6, 1e6},
    {"beta_fast", AT(beta_fast), OF(YARN), 0, 1e-6, 1e6},
    {"beta_slow", AT(beta_slow), OF(YARN), 0, 1e-6, 1e6},
    {"attention_factor", AT(attention), OF(YARN), 0, 1e-6, 1e6},
};
const int tt_rope_number_count = sizeof tt_rope_numbers / sizeof *tt_rope_numbers;

static tt_status out_of_range(const struct tt_rope_number *n, double value)
{
    return tt_fail(TT_USAGE, "%s=%g is out of range; it must be from %g to %g", n->key, value, n->least, n->most);
}

tt_status tt_rope_scaling_verify(const struct tt_rope_scaling *s)
{
    struct tt_rope_scaling copy = *s;
    const char *type = tt_rope_type_names[s->type];
    for (int i = 0; i < tt_rope_number_count; i++) {
        const struct tt_rope_number *n = &tt_rope_numbers[i];
        double value = *tt_rope_number_at(&copy, n);
        if (value == 0 && !(n->required >> s->type & 1)) continue;
        if (value == 0) return tt_fail(TT_USAGE, "RoPE of type %s needs %s=X", type, n->key);
        if (!(n->types >> s->type & 1)) return tt_fail(TT_USAGE, "RoPE of type %s has no %s", type, n->key);
        if (!(value >= n->least && value <= n->most)) return out_of_range(n, value);
    }
    if (s->type == TT_ROPE_LLAMA3 && s->high <= s->low)
        return tt_fail(TT_USAGE, "high_freq_factor=%g must be larger than low_freq_factor=%g", s->high, s->low);
    return TT_OK;
}

/* ---- text ---- */

static tt_status set_type(const char *word, struct tt_rope_scaling *out)
{
    for (int i = 1; i < TT_ROPE_TYPES; i++)
        if (!strcmp(word, tt_rope_type_names[i])) {
            out->type = (enum tt_rope_type)i;
            return TT_OK;
        }
    return tt_fail(TT_USAGE, "there is no scaling \"%s\"; choose from linear, dynamic, yarn, llama3, and add its "
                             "numbers, like linear,factor=4", word);
}

const struct tt_rope_number *tt_rope_number_named(const char *name, size_t length)
{
    for (int i = 0; i < tt_rope_number_count; i++)
        if (!strncmp(name, tt_rope_numbers[i].key, length) && !tt_rope_numbers[i].key[length])
            return &tt_rope_numbers[i];
    return NULL;
}

static tt_status no_such_number(const char *name, size_t length, enum tt_rope_type type)
{
    char known[256] = "";
    for (int i = 0; i < tt_rope_number_count; i++) {
        size_t at = strlen(known);
        if (tt_rope_numbers[i].types >> type & 1)
            snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", tt_rope_numbers[i].key);
    }
    return tt_fail(TT_USAGE, "RoPE of type %s has no number \"%.*s\"; it has %s", tt_rope_type_names[type], (int)length,
                   name, known);
}

/* A number of 0 means that it is not given, so it is refused here. */
static tt_status set_number(const char *word, struct tt_rope_scaling *out)
{
    const char *equals = strchr(word, '=');
    char *end = NULL;
    double value = equals ? strtod(equals + 1, &end) : 0;
    if (!equals || end == equals + 1 || *end || !isfinite(value))
        return tt_fail(TT_USAGE, "\"%s\" is not of the form factor=4", word);
    size_t length = (size_t)(equals - word);
    const struct tt_rope_number *n = tt_rope_number_named(word, length);
    if (!n) return no_such_number(word, length, out->type);
    double *to = tt_rope_number_at(out, n);
    if (value == 0) return out_of_range(n, value);
    if (*to != 0) return tt_fail(TT_USAGE, "%s is given twice", n->key);
    *to = value;
    return TT_OK;
}

tt_status tt_rope_scaling_read(const char *text, struct tt_rope_scaling *out)
{
    char word[96];
    *out = (struct tt_rope_scaling){0};
    if (!text[0]) return TT_OK;
    tt_list_next(&text, ',', word, sizeof word);
    TT_TRY(set_type(word, out));
    while (tt_list_next(&text, ',', word, sizeof word)) TT_TRY(set_number(word, out));
    return tt_rope_scaling_verify(out);
}

tt_status tt_rope_scaling_check(const char *text)
{
    struct tt_rope_scaling s;
    return tt_rope_scaling_read(text, &s);
}

/* With the fewest digits that read back as the same. */
static void put_number(char *out, size_t size, const char *key, double value)
{
    char digits[40];
    for (int n = 1; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value) break;
    }
    size_t at = strlen(out);
    snprintf(out + at, size - at, ",%s=%s", key, digits);
}

void tt_rope_scaling_write(const struct tt_rope_scaling *s, char out[TT_ROPE_SCALING_SIZE])
{
    struct tt_rope_scaling copy = *s;
    out[0] = 0;
    if (s->type == TT_ROPE_DEFAULT) return;
    snprintf(out, TT_ROPE_SCALING_SIZE, "%s", tt_rope_type_names[s->type]);
    for (int i = 0; i < tt_rope_number_count; i++) {
        double value = *tt_rope_number_at(&copy, &tt_rope_numbers[i]);
        if (value != 0) put_number(out, TT_ROPE_SCALING_SIZE, tt_rope_numbers[i].key, value);
    }
}
