/* Learning a tokenizer from text that comes in parts. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parallel.h"
#include "core/base/utf8.h"
#include "core/data/tokenizers/bpe_pieces.h"

enum { POINTS = 0x110000, COUNTERS = 64 };

struct tt_learner {
    bool chars;
    bool *seen; /* chars: (POINTS) */
    int64_t bytes;
    struct tt_pieces counters[COUNTERS]; /* bpe: one for each thread, added up in the end */
    const struct tt_stretch *stretches;
    int next; /* the first free counter; like the rest, only used while the threads count */
    tt_status error;
    pthread_mutex_t lock;
};

tt_status tt_learner_open(const char *kind, struct tt_learner **out)
{
    struct tt_learner *l = calloc(1, sizeof *l);
    if (!l) return tt_no_memory("the tokenizer");
    l->chars = !strcmp(kind, "chars");
    if (l->chars && !(l->seen = calloc(POINTS, sizeof *l->seen))) {
        free(l);
        return tt_no_memory("the tokenizer");
    }
    pthread_mutex_init(&l->lock, NULL);
    *out = l;
    return TT_OK;
}

void tt_learner_close(struct tt_learner *l)
{
    if (!l) return;
    for (int i = 0; i < COUNTERS; i++) tt_pieces_free(&l->counters[i]);
    pthread_mutex_destroy(&l->lock);
    free(l->seen);
    free(l);
}

static tt_status see_characters(struct tt_learner *l, const struct tt_stretch *s)
{
    uint32_t point;
    for (int64_t at = 0, step; at < s->n; at += step) {
        step = tt_utf8_decode(s->text + at, (size_t)(s->n - at), &point);
        if (!tt_utf8_is_character(point)) return tt_not_utf8(s->text, at, s->at);
        l->seen[point] = true;
    }
    return TT_OK;
}

/* Takes whichever counter is free: their sum is the same. */
static void count_some(void *context, int64_t from, int64_t to)
{
    struct tt_learner *l = context;
    tt_status st = TT_OK;
    pthread_mutex_lock(&l->lock);
    struct tt_pieces *mine = &l->counters[l->next++];
    pthread_mutex_unlock(&l->lock);
    for (int64_t i = from; i < to && !st; i++) st = tt_pieces_add(mine, l->stretches[i].text, l->stretches[i].n);
    if (!st) return;
    pthread_mutex_lock(&l->lock);
    tt_status_free(l->error);
    l->error = st;
    pthread_mutex_unlock(&l->lock);
}

tt_status tt_learner_add(struct tt_learner *l, int threads, const struct tt_stretch *stretches, int64_t count,
                         int64_t *bad)
{
    *bad = -1;
    for (int64_t i = 0; i < count; i++) l->bytes += stretches[i].n;
    for (int64_t i = 0; i < count && l->chars; i++) {
        *bad = i;
        TT_TRY(see_characters(l, &stretches[i]));
    }
    if (l->chars || !count) return TT_OK;
    l->stretches = stretches;
    l->next = 0;
    tt_parallel(threads, count, 1, count_some, l);
    tt_status st = l->error;
    l->error = TT_OK;
    return st;
}

static tt_status finish_chars(struct tt_learner *l, bool ends, struct tt_tokenizer **out)
{
    if (!l->bytes) return tt_fail(TT_USAGE, "the chars tokenizer needs some text to take its characters from");
    uint32_t *points = calloc(POINTS, sizeof *points);
    int64_t count = 0;
    if (!points) return tt_no_memory("the tokenizer");
    l->seen[0] |= ends;
    for (uint32_t c = 0; c < POINTS; c++)
        if (l->seen[c]) points[count++] = c;
    tt_status st = tt_tokenizer_from_points(points, count, out);
    free(points);
    return st;
}

static tt_status finish_bpe(struct tt_learner *l, int64_t vocab_size, void (*progress)(int64_t, int64_t, void *),
                            void *arg, struct tt_tokenizer **out)
{
    int64_t made = 0;
    if (vocab_size < 256 || vocab_size > TT_TOKENIZER_MOST)
        return tt_fail(TT_USAGE,
                       "byte-pair encoding has 256 to %d tokens (a byte each, then the merges), not %lld; change "
                       "--vocab-size",
                       TT_TOKENIZER_MOST, (long long)vocab_size);
    for (int i = 1; i < COUNTERS; i++) {
        TT_TRY(tt_pieces_merge(&l->counters[0], &l->counters[i]));
        tt_pieces_free(&l->counters[i]);
    }
    struct tt_merge *merges = malloc((size_t)(vocab_size - 255) * sizeof *merges);
    if (!merges) return tt_no_memory("the merges of a tokenizer");
    tt_status st = tt_bpe_train(&l->counters[0], vocab_size - 256, progress, arg, merges, &made);
    if (!st) st = tt_tokenizer_from_merges(merges, made, out);
    free(merges);
    return st;
}

tt_status tt_learner_finish(struct tt_learner *l, bool ends, int64_t vocab_size,
                            void (*progress)(int64_t done, int64_t total, void *), void *arg, struct tt_tokenizer **out)
{
    return l->chars ? finish_chars(l, ends, out) : finish_bpe(l, vocab_size, progress, arg, out);
}

static tt_status learn(const char *kind, const char *text, int64_t n, int64_t vocab_size,
                       void (*progress)(int64_t, int64_t, void *), void *arg, struct tt_tokenizer **out)
{
    struct tt_learner *l = NULL;
    int64_t bad;
    TT_TRY(tt_learner_open(kind, &l));
    tt_status st = tt_learner_add(l, 1, &(struct tt_stretch){text, n, 0}, 1, &bad);
    if (!st) st = tt_learner_finish(l, false, vocab_size, progress, arg, out);
    tt_learner_close(l);
    return st;
}

tt_status tt_tokenizer_chars(const char *text, int64_t n, struct tt_tokenizer **out)
{
    return learn("chars", text, n, 0, NULL, NULL, out);
}

tt_status tt_tokenizer_train(const char *text, int64_t n, int64_t vocab_size,
                             void (*progress)(int64_t done, int64_t total, void *), void *arg,
                             struct tt_tokenizer **out)
{
    return learn("bpe", text, n, vocab_size, progress, arg, out);
}
