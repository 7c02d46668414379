/* The built-in language as a finite automaton: built from the grammar, used to draw samples and to compute the exact
 * entropy. */
#include "core/data/builtin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"

enum { MOST_STATES = 4096, MOST_EDGES = 8 * MOST_STATES, TABLE = 2 * MOST_STATES };

struct edge {
    int rule, first, count, next; /* one of `count` words from `first` on leads to state `next` */
    double p;
};

struct tt_builtin {
    struct tt_builtin_stack *stacks;
    int *first;      /* (states + 1): the edges of state i are first[i] .. first[i+1]-1 */
    double *entropy; /* (states): of the next word, in nats */
    struct edge *edges;
    int states;
    double words[TT_BUILTIN_RULES][TT_BUILTIN_CLASS]; /* probability of the k-th word of a rule */
};

/* Word frequencies within a class fall about as 1/2, 1/3, 1/4, …, with a variation per rule. The weights are integers,
 * so that the language is the same to the bit on every machine. */
static void weigh_words(double *p, int rule, int count)
{
    const uint64_t language = 1;
    int64_t weight[TT_BUILTIN_CLASS], total = 0;
    for (int k = 0; k < count; k++) {
        int64_t percent = 60 + (int64_t)(tt_random(language, (uint64_t)rule, (uint64_t)k) % 81);
        total += weight[k] = 1000 * percent / (k + 2);
    }
    for (int k = 0; k < count; k++) p[k] = (double)weight[k] / (double)total;
}

static int find_or_add(struct tt_builtin *b, const struct tt_builtin_stack *s, int *table)
{
    uint64_t h = s->n;
    for (int i = 0; i < s->n; i++) h = (h + s->pending[i]) * 0x9e3779b97f4a7c15u ^ h >> 29;
    int at = (int)(h % TABLE);
    for (; table[at]; at = (at + 1) % TABLE) {
        const struct tt_builtin_stack *known = &b->stacks[table[at] - 1];
        if (known->n == s->n && !memcmp(known->pending, s->pending, s->n)) return table[at] - 1;
    }
    if (b->states == MOST_STATES) return -1;
    b->stacks[b->states] = *s;
    table[at] = ++b->states;
    return b->states - 1;
}

static tt_status add_edges(struct tt_builtin *b, int state, int *table)
{
    struct tt_builtin_way ways[TT_BUILTIN_WAYS];
    int n = tt_builtin_ways(&b->stacks[state], ways);
    bool seen[TT_BUILTIN_WORDS] = {0};
    for (int i = 0; i < n; i++) {
        const struct tt_builtin_way *w = &ways[i];
        int next = find_or_add(b, &w->then, table), *edges = &b->first[state + 1];
        if (seen[w->first] || next < 0 || *edges == MOST_EDGES || n == TT_BUILTIN_WAYS ||
            w->then.n == TT_BUILTIN_PENDING || w->count > TT_BUILTIN_CLASS)
            return tt_fail(TT_FAILED, "the built-in grammar is ambiguous or too large; check its rules");
        seen[w->first] = true;
        weigh_words(b->words[w->rule], w->rule, w->count);
        b->edges[(*edges)++] = (struct edge){w->rule, w->first, w->count, next, w->p};
    }
    return TT_OK;
}

/* Follows every continuation of every state until no new state appears. */
static tt_status explore(struct tt_builtin *b, int *table)
{
    find_or_add(b, &(struct tt_builtin_stack){0}, table);
    for (int state = 0; state < b->states; state++) {
        b->first[state + 1] = b->first[state];
        TT_TRY(add_edges(b, state, table));
    }
    return TT_OK;
}

static void compute_entropies(struct tt_builtin *b)
{
    for (int state = 0; state < b->states; state++)
        for (int e = b->first[state]; e < b->first[state + 1]; e++)
            for (int k = 0; k < b->edges[e].count; k++) {
                double p = b->edges[e].p * b->words[b->edges[e].rule][k];
                b->entropy[state] -= p * log(p);
            }
}

tt_status tt_builtin_open(struct tt_builtin **out)
{
    struct tt_builtin *b = calloc(1, sizeof *b);
    int *table = calloc(TABLE, sizeof *table);
    tt_status st = TT_OK;
    if (b) {
        b->stacks = calloc(MOST_STATES, sizeof *b->stacks);
        b->first = calloc(MOST_STATES + 1, sizeof *b->first);
        b->entropy = calloc(MOST_STATES, sizeof *b->entropy);
        b->edges = calloc(MOST_EDGES, sizeof *b->edges);
    }
    if (!b || !table || !b->stacks || !b->first || !b->entropy || !b->edges) st = tt_no_memory("the built-in language");
    if (!st) st = explore(b, table);
    if (!st) compute_entropies(b);
    free(table);
    if (st)
        tt_builtin_close(b);
    else
        *out = b;
    return st;
}

void tt_builtin_close(struct tt_builtin *b)
{
    if (!b) return;
    free(b->stacks);
    free(b->first);
    free(b->entropy);
    free(b->edges);
    free(b);
}

int tt_builtin_states(const struct tt_builtin *b) { return b->states; }

void tt_builtin_next(const struct tt_builtin *b, int state, double p[TT_BUILTIN_WORDS], int next[TT_BUILTIN_WORDS])
{
    for (int w = 0; w < TT_BUILTIN_WORDS; w++) p[w] = 0, next[w] = -1;
    for (int e = b->first[state]; e < b->first[state + 1]; e++) {
        const struct edge *edge = &b->edges[e];
        for (int k = 0; k < edge->count; k++) {
            p[edge->first + k] = edge->p * b->words[edge->rule][k];
            next[edge->first + k] = edge->next;
        }
    }
}

/* One uniform number per word chooses first the edge and then, rescaled, the word of that edge. */
void tt_builtin_sample(const struct tt_builtin *b, uint64_t key, uint64_t stream, int64_t n, int32_t *out)
{
    int state = 0;
    for (int64_t t = 0; t < n; t++) {
        double u = tt_uniform(key, stream, (uint64_t)t);
        int e = b->first[state], k = 0;
        for (; e + 1 < b->first[state + 1] && u >= b->edges[e].p; e++) u -= b->edges[e].p;
        u /= b->edges[e].p;
        const struct edge *edge = &b->edges[e];
        const double *words = b->words[edge->rule];
        for (; k + 1 < edge->count && u >= words[k]; k++) u -= words[k];
        out[t] = edge->first + k;
        state = edge->next;
    }
}

/* The words so far determine the state, so the entropy of the next word is the mean of the entropies of the states
 * under their distribution at that position. The distribution is advanced word by word until it is stationary; from
 * there on the mean is constant. */
tt_status tt_builtin_entropy(const struct tt_builtin *b, int64_t n, double *nats)
{
    double *now = calloc((size_t)b->states, sizeof *now), *then = calloc((size_t)b->states, sizeof *then), sum = 0;
    if (!now || !then || n < 1) {
        free(now);
        free(then);
        return n < 1 ? tt_fail(TT_USAGE, "the entropy needs at least one word")
                     : tt_no_memory("the entropy of the built-in language");
    }
    now[0] = 1;
    for (int64_t t = 0; t < n; t++) {
        double mean = 0, moved = 0;
        memset(then, 0, (size_t)b->states * sizeof *then);
        for (int i = 0; i < b->states; i++) {
            mean += now[i] * b->entropy[i];
            for (int e = b->first[i]; e < b->first[i + 1]; e++) then[b->edges[e].next] += now[i] * b->edges[e].p;
        }
        sum += mean;
        for (int i = 0; i < b->states; i++) moved += fabs(then[i] - now[i]);
        if (moved < 1e-13) {
            sum += mean * (double)(n - 1 - t);
            break;
        }
        double *swap = now;
        now = then;
        then = swap;
    }
    free(now);
    free(then);
    *nats = sum / (double)n;
    return TT_OK;
}
