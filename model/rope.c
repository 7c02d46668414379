/* The angles of RoPE: pair i of a head turns by its frequency, theta^(-2i/D), at each position. A scaling lowers
 * frequencies, as transformers does it, so that more positions stay within the angles a model has seen. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"

/* Full turns that a pair makes over the length the model was first made for. */
static double turns(const struct tt_rope_scaling *s, double frequency) { return s->original * frequency / (2 * M_PI); }

/* Slow pairs are scaled, fast ones are not, and those between `low` and `high` turns partly. */
static double llama3(const struct tt_rope_scaling *s, double frequency)
{
    double n = turns(s, frequency), keep = (n - s->low) / (s->high - s->low);
    keep = n < s->low ? 0 : n > s->high ? 1 : keep;
    return (1 - keep) * frequency / s->factor + keep * frequency;
}

/* The pair, as a fractional index, that makes so many turns over the original length. */
static double pair_of_turns(const struct tt_rope_scaling *s, double n, double theta, double D)
{
    return D * log(s->original / (n * 2 * M_PI)) / (2 * log(theta));
}

/* The same idea with a ramp over the index of the pair; its bounds are whole pairs. */
static double yarn(const struct tt_rope_scaling *s, double frequency, int64_t pair, double theta, double D)
{
    double first = floor(pair_of_turns(s, s->beta_fast > 0 ? s->beta_fast : 32, theta, D));
    double last = ceil(pair_of_turns(s, s->beta_slow > 0 ? s->beta_slow : 1, theta, D));
    first = fmax(first, 0);
    last = fmin(last, D - 1);
    if (first == last) last += 0.001;
    double scaled = fmin(fmax(((double)pair - first) / (last - first), 0), 1);
    return scaled * frequency / s->factor + (1 - scaled) * frequency;
}

/* Beyond the length the model was made for, theta grows with the length of the sequence. */
static double dynamic_theta(const struct tt_rope_scaling *s, double theta, double positions, double D)
{
    if (positions <= s->longest) return theta;
    return theta * pow(s->factor * positions / s->longest - (s->factor - 1), D / (D - 2));
}

static double frequency(const struct tt_model *m, const struct tt_rope_scaling *s, int64_t pair, int64_t positions)
{
    double D = (double)m->head_dim, theta = m->config.rope_theta;
    if (s->type == TT_ROPE_DYNAMIC) theta = dynamic_theta(s, theta, (double)positions, D);
    double plain = pow(theta, -2.0 * (double)pair / D);
    switch (s->type) {
    case TT_ROPE_LINEAR:
        return plain / s->factor;
    case TT_ROPE_LLAMA3:
        return llama3(s, plain);
    case TT_ROPE_YARN:
        return yarn(s, plain, pair, theta, D);
    default:
        return plain;
    }
}

/* Yarn makes q and k larger, which sharpens attention over the longer sequence. */
static double attention_factor(const struct tt_rope_scaling *s)
{
    if (s->type != TT_ROPE_YARN) return 1;
    return s->attention > 0 ? s->attention : 0.1 * log(s->factor) + 1;
}

/* How long the sequence is when the key of position t is computed; the cache keeps that key as it is. Transformers does
 * the same: it reads the prompt at once, and then a token at a time. */
static int64_t length_at(const struct tt_model *m, int64_t positions, int64_t t)
{
    if (!m->rope_prompt) return positions;
    return t < m->rope_prompt ? m->rope_prompt : t + 1;
}

void tt_model_rope_tables(const struct tt_model *m, int64_t positions, float *tables)
{
    struct tt_rope_scaling s;
    tt_status_free(tt_rope_scaling_read(m->config.rope_scaling, &s)); /* tt_model_create has checked it */
    int64_t half = m->head_dim / 2;
    double size = attention_factor(&s);
    float *cos_table = tables, *sin_table = tables + positions * half;
    for (int64_t i = 0; i < half; i++) {
        double step = 0;
        for (int64_t t = 0; t < positions; t++) {
            if (!t || s.type == TT_ROPE_DYNAMIC) step = frequency(m, &s, i, length_at(m, positions, t));
            cos_table[t * half + i] = (float)(size * cos((double)t * step));
            sin_table[t * half + i] = (float)(size * sin((double)t * step));
        }
    }
}

tt_status tt_model_upload_rope(const struct tt_model *m, struct tt_engine *e, int64_t positions)
{
    size_t bytes = e->bytes[TT_X_ROPE];
    if (!bytes) return TT_OK;
    float *tables = malloc(bytes);
    if (!tables) return tt_no_memory("the rope tables of %lld positions", (long long)positions);
    tt_model_rope_tables(m, positions, tables);
    tt_status st = tt_engine_upload(e, TT_X_ROPE, 0, tables, bytes);
    free(tables);
    return st;
}
