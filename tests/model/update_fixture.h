/* Models for selective updates, and what a step chose and changed. The test opens the backend. */
#ifndef TT_TEST_UPDATE_FIXTURE_H
#define TT_TEST_UPDATE_FIXTURE_H

#include "core/checkpoint/moments.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;

static inline struct tt_config update_config(enum tt_update_level level, const char *share)
{
    struct tt_config c = tiny_config();
    c.version = TT_FLASH;
    c.vocab_size = 150; /* so that it makes three groups of rows */
    c.clip_norm = 0.5;
    c.grad_accum = 2;
    c.update = TT_UPDATE_TOP_K;
    c.update_level = level;
    c.update_every = 1;
    snprintf(c.update_share, sizeof c.update_share, "%s", share);
    return c;
}

/* Weights and both moments in one array. */
static inline float *arenas(struct tt_session *s)
{
    int64_t n = s->model->params.total;
    size_t bytes = (size_t)n * sizeof(float);
    float *all = malloc(3 * bytes);
    CHECK_OK(tt_weights_read(&s->engine, &s->model->params, all));
    CHECK_OK(tt_moments_read(&s->engine, &s->model->params, TT_X_MOMENT1, all + n));
    CHECK_OK(tt_moments_read(&s->engine, &s->model->params, TT_X_MOMENT2, all + 2 * n));
    return all;
}

static inline int group_of(const struct tt_param *t, int64_t element)
{
    int64_t width = t->shape[1] ? t->shape[1] : 1;
    return t->group + (int)(element / width / t->group_rows);
}

/* The keys of all groups in double precision, from the step's gradients and weights. */
static inline double *keys_of(struct tt_session *s, enum tt_update_by by, const float *weights)
{
    const struct tt_params *p = &s->model->params;
    float *g = malloc((size_t)p->total * sizeof *g);
    double *key = calloc((size_t)p->groups.count, sizeof *key), *norm = calloc((size_t)p->groups.count, sizeof *norm);
    CHECK_OK(tt_engine_download(&s->engine, TT_X_GRADS, 0, g, (size_t)p->total * sizeof *g));
    for (int i = 0; i < p->n; i++)
        for (int64_t j = 0; j < p->items[i].count; j++) {
            int64_t at = p->items[i].offset + j;
            key[group_of(&p->items[i], j)] += (double)g[at] * (double)g[at];
            norm[group_of(&p->items[i], j)] += (double)weights[at] * (double)weights[at];
        }
    for (int i = 0; i < p->groups.count; i++)
        key[i] /= by == TT_BY_RMS ? (double)p->groups.size[i] : by == TT_BY_RELATIVE ? norm[i] : 1;
    free(g);
    free(norm);
    return key;
}

static inline bool *chosen_in(struct tt_session *s, int64_t step)
{
    int groups = s->model->params.groups.count;
    size_t words = TT_CHOICE_WORDS((size_t)groups);
    uint32_t *bits = calloc(words, sizeof *bits);
    bool *chosen = calloc((size_t)groups, sizeof *chosen);
    CHECK_OK(tt_engine_download(&s->engine, TT_X_CHOICES, (size_t)(step - 1) % TT_RING_ENTRIES * words * sizeof *bits,
                                bits, words * sizeof *bits));
    for (int g = 0; g < groups; g++) chosen[g] = bits[g / 32] >> g % 32 & 1;
    free(bits);
    return chosen;
}

#endif
