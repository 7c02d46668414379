#include "model/exchange/gguf_rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

#define KEY(name) tt_gguf_key(kind, name).s

/* The scaling as --rope-scaling has it, for tt to read back as it was. */
static const char own_key[] = "tinytransformer.rope_scaling";

/* Turns of a pair per position. */
static double pace(const struct tt_config *c, int64_t pair)
{
    return pow(c->rope_theta, -2.0 * (double)pair / (double)tt_head_dim(c)) / (2 * M_PI);
}

/* What llama3's scaling divides the frequency of each pair by; model/rope.c computes the frequencies themselves. With
 * linear scaling all pairs have the same divisor. */
static void divisors(const struct tt_rope_scaling *s, const struct tt_config *c, float *out)
{
    for (int64_t i = 0; i < tt_head_dim(c) / 2; i++) {
        double keep = fmin(fmax((s->original * pace(c, i) - s->low) / (s->high - s->low), 0), 1);
        if (s->type != TT_ROPE_LLAMA3) keep = s->type == TT_ROPE_DEFAULT;
        out[i] = (float)(1 / (keep < 1 ? (1 - keep) / s->factor + keep : 1));
    }
}

/* ---- writing ---- */

static tt_status cannot(const char *what)
{
    return tt_fail(TT_USAGE, "llama.cpp has no RoPE of this kind: %s; use --format hf", what);
}

tt_status tt_gguf_rope_put(const struct tt_config *c, const struct tt_gguf_kind *kind, struct tt_gguf_writer *w,
                           float **freqs)
{
    struct tt_rope_scaling s;
    *freqs = NULL;
    TT_TRY(tt_rope_scaling_read(c->rope_scaling, &s));
    if (s.type == TT_ROPE_DEFAULT) return TT_OK;
    if (s.type == TT_ROPE_DYNAMIC) return cannot("dynamic");
    if (s.type == TT_ROPE_YARN && (s.attention > 0 || s.beta_fast > 0 || s.beta_slow > 0))
        return cannot("yarn with an attention_factor, beta_fast or beta_slow of its own");
    if (s.type == TT_ROPE_LLAMA3 && !kind->rope_freqs) return cannot("llama3 in a model with --qk-norm");
    tt_gguf_put_string(w, own_key, c->rope_scaling);
    if (s.type == TT_ROPE_LLAMA3) {
        *freqs = malloc((size_t)tt_head_dim(c) / 2 * sizeof **freqs);
        if (!*freqs) return tt_no_memory("the frequencies of RoPE");
        divisors(&s, c, *freqs);
        return TT_OK;
    }
    tt_gguf_put_string(w, KEY("rope.scaling.type"), tt_rope_type_names[s.type]);
    tt_gguf_put_f32(w, KEY("rope.scaling.factor"), (float)s.factor);
    if (s.original > 0) tt_gguf_put_u32(w, KEY("rope.scaling.original_context_length"), (uint32_t)s.original);
    return TT_OK;
}

/* ---- reading ---- */

static tt_status refuse(const char *path, const char *key)
{
    return tt_fail(TT_USAGE, "%s has %s, and tt does not know what scaling of RoPE that is", path, key);
}

static bool matches(const struct tt_rope_scaling *s, const struct tt_config *c, const float *freqs, float within)
{
    int64_t half = tt_head_dim(c) / 2;
    float *wanted = malloc((size_t)half * sizeof *wanted + 1);
    bool same = wanted != NULL;
    if (same) divisors(s, c, wanted);
    for (int64_t i = 0; same && i < half; i++) same = fabsf(freqs[i] - wanted[i]) <= within * wanted[i];
    free(wanted);
    return same;
}

/* The tolerance for numbers that are computed from the divisors: a few units in the last place. */
static const float rounding = 1e-6f;

/* Between which paces a pair is scaled partly: the part of its frequency that is kept rises in a straight line from 0
 * to 1. Where fewer than two pairs lie on that line, a line is taken that agrees with the pairs beside it. */
static void find_line(const struct tt_config *c, const float *freqs, double most, double *from, double *to)
{
    double slow = 0, fast = 0, x[2] = {0}, kept[2] = {0}; /* last pair scaled fully, first not scaled, two between */
    int between = 0;
    for (int64_t i = tt_head_dim(c) / 2; i-- > 0;) {
        double keep = (1 / (double)freqs[i] - 1 / most) / (1 - 1 / most), pair = pace(c, i);
        if (keep < 1e-5)
            slow = pair;
        else if (keep > 1 - 1e-5)
            fast = fast > 0 ? fast : pair;
        else
            x[between > 0] = pair, kept[between > 0] = keep, between++;
    }
    if (between > 1) {
        *from = x[0] - kept[0] * (x[1] - x[0]) / (kept[1] - kept[0]);
        *to = *from + (x[0] - *from) / kept[0];
    } else if (between) {
        double least = fast > 0 ? (x[0] / kept[0] - fast) / (1 / kept[0] - 1) : 0;
        *from = fmax(slow, least);
        *to = *from + (x[0] - *from) / kept[0];
    } else {
        *from = slow;
        *to = fast;
    }
}

/* The numbers of a scaling that gives these divisors, if there is one. Any original length would do, so it is chosen to
 * make low_freq_factor about 1. */
static struct tt_rope_scaling fit(const struct tt_config *c, const float *freqs)
{
    float least = freqs[0], most = freqs[0];
    double from, to;
    for (int64_t i = 1; i < tt_head_dim(c) / 2; i++) least = fminf(least, freqs[i]), most = fmaxf(most, freqs[i]);
    if (!(least > 0.5f) || !isfinite(most) || most <= 1.00001f) return (struct tt_rope_scaling){0};
    if (most - least < 1e-5f * most) return (struct tt_rope_scaling){.type = TT_ROPE_LINEAR, .factor = most};
    find_line(c, freqs, most, &from, &to);
    double length = round(1 / from);
    struct tt_rope_scaling s = {TT_ROPE_LLAMA3, .factor = most, .original = length, .low = length * from,
                                .high = length * to};
    struct tt_rope_scaling short_one = s;
    short_one.low = round(1e3 * s.low) / 1e3;
    short_one.high = round(1e3 * s.high) / 1e3;
    return short_one.low < short_one.high && matches(&short_one, c, freqs, rounding) ? short_one : s;
}

/* The scaling that the tensor stands for: the one that tt wrote beside it, that of Llama 3.1 or 3.2, or another that
 * gives the same divisors. */
static tt_status find_numbers(const struct tt_gguf *g, const char *path, const struct tt_config *c,
                              struct tt_rope_scaling *s)
{
    struct tt_rope_scaling known[] = {
        *s,
        {.type = TT_ROPE_LLAMA3, .factor = 8, .low = 1, .high = 4, .original = 8192},
        {.type = TT_ROPE_LLAMA3, .factor = 32, .low = 1, .high = 4, .original = 8192},
        {0},
    };
    const struct tt_tensor *t = tt_gguf_find(g, TT_GGUF_ROPE_FREQS);
    if (t->rank != 1 || t->count != tt_head_dim(c) / 2) return refuse(path, TT_GGUF_ROPE_FREQS " of another size");
    float *freqs = malloc((size_t)t->count * sizeof *freqs);
    if (!freqs) return tt_no_memory("the frequencies of RoPE");
    tt_status st = tt_gguf_read(g, t, freqs);
    bool found = false;
    if (!st) known[3] = fit(c, freqs);
    for (int i = 0; i < 4 && !st && !found; i++) {
        found = matches(&known[i], c, freqs, i < 3 ? 1e-4f : rounding);
        if (found) *s = known[i];
    }
    free(freqs);
    return st ? st : found ? TT_OK : refuse(path, TT_GGUF_ROPE_FREQS);
}

static tt_status read_named(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind *kind,
                            struct tt_rope_scaling *s)
{
    static const char *const others[] = {"rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor",
                                         "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast",
                                         "rope.scaling.yarn_beta_slow"};
    char type[64] = "none";
    tt_gguf_string(g, KEY("rope.scaling.type"), type, sizeof type);
    tt_gguf_number(g, KEY("rope.scale_linear"), &s->factor);
    tt_gguf_number(g, KEY("rope.scaling.factor"), &s->factor);
    tt_gguf_number(g, KEY("rope.scaling.original_context_length"), &s->original);
    bool linear = !strcmp(type, "linear") || (!tt_gguf_has(g, KEY("rope.scaling.type")) && s->factor > 0);
    if (linear) s->original = 0;
    if (linear && s->factor != 1) s->type = TT_ROPE_LINEAR;
    if (!strcmp(type, "yarn")) s->type = TT_ROPE_YARN;
    if (!linear && s->type == TT_ROPE_DEFAULT && strcmp(type, "none")) return refuse(path, KEY("rope.scaling.type"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tt_gguf_has(g, KEY(others[i]))) return refuse(path, KEY(others[i]));
    if (s->type == TT_ROPE_DEFAULT) *s = (struct tt_rope_scaling){0};
    return TT_OK;
}

tt_status tt_gguf_rope_get(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind *kind,
                           struct tt_config *c)
{
    char text[TT_ROPE_SCALING_SIZE] = "";
    struct tt_rope_scaling own, s = {0};
    c->rope_scaling[0] = 0;
    tt_gguf_string(g, own_key, text, sizeof text);
    TT_TRY(tt_context(tt_rope_scaling_read(text, &own), "%s", path));
    TT_TRY(read_named(g, path, kind, &s));
    if (tt_gguf_find(g, TT_GGUF_ROPE_FREQS)) {
        if (s.type != TT_ROPE_DEFAULT) return refuse(path, "two scalings");
        s = own;
        TT_TRY(find_numbers(g, path, c, &s));
    } else if (own.type == s.type && (float)own.factor == (float)s.factor && own.original == s.original) {
        s = own;
    }
    TT_TRY(tt_context(tt_rope_scaling_verify(&s), "%s", path));
    tt_rope_scaling_write(&s, c->rope_scaling);
    return TT_OK;
}
