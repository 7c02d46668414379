/* Choosing the next token from logits. */
#ifndef TT_SAMPLE_H
#define TT_SAMPLE_H

#include <stdint.h>

struct tt_sampling {
    double temperature; /* 0: always the most probable */
    int64_t top_k;      /* only the k most probable; 0: all */
    double top_p;       /* only the most probable ones that together reach p; 1: all */
};

/* A token, given u uniform in [0, 1). `scratch` holds n entries. Equal logits keep the order of their tokens. */
struct tt_candidate {
    double p;
    int32_t token;
};
int32_t tt_sample(const float *logits, int64_t n, const struct tt_sampling *how, double u,
                  struct tt_candidate *scratch);

#endif
