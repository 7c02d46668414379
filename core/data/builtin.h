/* The built-in language: a small English whose every sentence comes from a grammar we know, so that the entropy of the
 * next word is computed exactly and "the model has learnt it" is a number. The language is a constant of the program; a
 * run's seed only chooses which of its sentences are seen. */
#ifndef TT_BUILTIN_H
#define TT_BUILTIN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

enum { TT_BUILTIN_WORDS = 64, TT_BUILTIN_STOP = 0 };
enum { TT_BUILTIN_RULES = 100, TT_BUILTIN_CLASS = 8, TT_BUILTIN_PENDING = 16, TT_BUILTIN_WAYS = 24 }; /* at most */

extern const char *const tt_builtin_words[TT_BUILTIN_WORDS];

/* Where one is in a sentence: the symbols of the grammar that are still to be said, the next one last. */
struct tt_builtin_stack {
    uint8_t n, pending[TT_BUILTIN_PENDING];
};

/* One way to go on: one of `count` words from `first` on, with probability p, after which `then` is pending. */
struct tt_builtin_way {
    int rule, first, count;
    double p;
    struct tt_builtin_stack then;
};
int tt_builtin_ways(const struct tt_builtin_stack *s, struct tt_builtin_way ways[TT_BUILTIN_WAYS]);

/* The grammar compiled into a finite automaton: its states are the stacks of pending symbols, numbered from 0 (a
 * sentence is about to begin). The words read so far tell the state. */
struct tt_builtin;

tt_status tt_builtin_open(struct tt_builtin **out);
void tt_builtin_close(struct tt_builtin *b);

int tt_builtin_states(const struct tt_builtin *b);
/* p[w]: the probability that word w comes next in this state; next[w]: the state it leads to, -1 where p is 0. */
void tt_builtin_next(const struct tt_builtin *b, int state, double p[TT_BUILTIN_WORDS], int next[TT_BUILTIN_WORDS]);

/* n words from the start, determined by (key, stream) alone. */
void tt_builtin_sample(const struct tt_builtin *b, uint64_t key, uint64_t stream, int64_t n, int32_t *out);

/* Mean entropy per word, in nats, of the first n words: what no model can get below. */
tt_status tt_builtin_entropy(const struct tt_builtin *b, int64_t n, double *nats);

#endif
