/* Choosing the next token from logits. Probabilities are integer weights, so that sums do not depend on their order: a
 * GPU that adds up in parts draws the same token as a CPU. */
#ifndef TT_SAMPLE_H
#define TT_SAMPLE_H

#include <stdint.h>

struct tt_sampling {
    double temperature; /* 0: always the most probable */
    int64_t top_k;      /* only the k most probable; 0: all */
    double top_p;       /* only the most probable ones that together reach p; 1: all */
    double penalty;     /* on tokens that have occurred already (tt_penalise); 0 or 1: none */
};

enum { TT_WEIGHT_BITS = 28 }; /* the most probable token has weight 2^28 */

struct tt_candidate {
    uint32_t weight; /* probability, times a constant */
    uint32_t key;    /* larger for a larger logit */
};

/* Draws a token, given u uniform in [0, 1). `scratch` holds n entries. Among equal logits the lower token counts as the
 * more probable. */
int32_t tt_sample(const float *logits, int64_t n, const struct tt_sampling *how, double u,
                  struct tt_candidate *scratch);

/* Makes the tokens whose bits are set in `seen` less probable: a logit above 0 is divided by the penalty, one below is
 * multiplied. */
void tt_penalise(float *logits, int64_t n, const uint32_t *seen, double penalty);

#endif
