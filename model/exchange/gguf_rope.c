#include "model/exchange/gguf_rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

#define KEY(name) tt_gguf_key(kind, name).s

/* The scaling as --rope-scaling has it, for tt to read back as it was. */
static const char own_key[] = "tinytransformer.rope_scaling";

/* What llama3's scaling divides the frequency of each pair by; model/rope.c has the same as frequencies. */
static void divisors(const struct tt_rope_scaling *s, double theta, int64_t D, float *out)
{
    for (int64_t i = 0; i < D / 2; i++) {
        double turns = s->original * pow(theta, -2.0 * (double)i / (double)D) / (2 * M_PI);
        double keep = fmin(fmax((turns - s->low) / (s->high - s->low), 0), 1);
        out[i] = (float)(1 / ((1 - keep) / s->factor + keep));
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
        int64_t D = tt_head_dim(c);
        *freqs = malloc((size_t)D / 2 * sizeof **freqs);
        if (!*freqs) return tt_no_memory("the frequencies of RoPE");
        divisors(&s, c->rope_theta, D, *freqs);
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

static bool matches(const struct tt_rope_scaling *s, const struct tt_config *c, const float *freqs)
{
    int64_t D = tt_head_dim(c);
    float *wanted = malloc((size_t)D / 2 * sizeof *wanted + 1);
    bool same = wanted != NULL && s->type == TT_ROPE_LLAMA3;
    if (same) divisors(s, c->rope_theta, D, wanted);
    for (int64_t i = 0; same && i < D / 2; i++) same = fabsf(freqs[i] - wanted[i]) <= 1e-4f * wanted[i];
    free(wanted);
    return same;
}

/* The numbers behind the tensor: those that tt wrote beside it, or of Llama 3.1 or 3.2. */
static tt_status find_numbers(const struct tt_gguf *g, const char *path, const struct tt_config *c,
                              struct tt_rope_scaling *s)
{
    const struct tt_rope_scaling known[] = {
        *s,
        {.type = TT_ROPE_LLAMA3, .factor = 8, .low = 1, .high = 4, .original = 8192},
        {.type = TT_ROPE_LLAMA3, .factor = 32, .low = 1, .high = 4, .original = 8192},
    };
    const struct tt_tensor *t = tt_gguf_find(g, TT_GGUF_ROPE_FREQS);
    if (t->rank != 1 || t->count != tt_head_dim(c) / 2) return refuse(path, TT_GGUF_ROPE_FREQS " of another size");
    float *freqs = malloc((size_t)t->count * sizeof *freqs);
    if (!freqs) return tt_no_memory("the frequencies of RoPE");
    tt_status st = tt_gguf_read(g, t, freqs);
    bool found = false;
    for (int i = 0; i < 3 && !st && !found; i++) {
        found = matches(&known[i], c, freqs);
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
