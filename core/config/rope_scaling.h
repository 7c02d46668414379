/* Scaled rotary angles: a model made for short sequences reads longer ones. --rope-scaling is a type and its numbers,
 * under the names that config.json of transformers has for them:
 *
 *   linear,factor=4
 *   dynamic,factor=4,max_position_embeddings=2048
 *   yarn,factor=4,original_max_position_embeddings=32768
 *   llama3,factor=32,low_freq_factor=1,high_freq_factor=4,original_max_position_embeddings=8192
 *
 * What they do to the angles is in model/rope.c. */
#ifndef TT_ROPE_SCALING_H
#define TT_ROPE_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status.h"

enum tt_rope_type { TT_ROPE_DEFAULT, TT_ROPE_LINEAR, TT_ROPE_DYNAMIC, TT_ROPE_YARN, TT_ROPE_LLAMA3, TT_ROPE_TYPES };
extern const char *const tt_rope_type_names[]; /* in the order of the enum; NULL at the end */

/* A number that is not given is 0. */
struct tt_rope_scaling {
    enum tt_rope_type type;
    double factor;               /* at least 1 */
    double original;             /* original_max_position_embeddings: yarn and llama3 */
    double longest;              /* max_position_embeddings: the model's longest sequence; dynamic scales beyond it */
    double low, high;            /* low_freq_factor and high_freq_factor: llama3 */
    double beta_fast, beta_slow; /* yarn */
    double attention;            /* attention_factor: yarn */
};

enum { TT_ROPE_SCALING_SIZE = 288 };

/* One number of a type: its name, and where it lies. `required` when the type cannot do without it. */
struct tt_rope_number {
    const char *key;
    size_t offset;
    unsigned types, required; /* one bit for each type */
    double least, most;
};
extern const struct tt_rope_number tt_rope_numbers[];
extern const int tt_rope_number_count;

static inline double *tt_rope_number_at(struct tt_rope_scaling *s, const struct tt_rope_number *n)
{
    return (double *)((char *)s + n->offset);
}

const struct tt_rope_number *tt_rope_number_named(const char *name, size_t length); /* NULL when there is none */

/* "" is the default type. */
tt_status tt_rope_scaling_read(const char *text, struct tt_rope_scaling *out);
tt_status tt_rope_scaling_check(const char *text);
/* Checks the ranges, and that no number is missing. */
tt_status tt_rope_scaling_verify(const struct tt_rope_scaling *s);
/* Writes the text that tt_rope_scaling_read reads back to the same numbers. */
void tt_rope_scaling_write(const struct tt_rope_scaling *s, char out[TT_ROPE_SCALING_SIZE]);

#endif
