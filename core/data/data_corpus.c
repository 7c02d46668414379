/* Shards of tokens and the order of their windows. The order is computed, not stored. In an epoch the shards are
 * permuted, and the windows within each shard, so that consecutive reads go to the same file. */
#include "core/data/data_corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/rng.h"

enum { FILES_KEPT_OPEN = 256 };

/* ---- shards ---- */
static tt_status add_shard(struct tt_corpus *c, struct tt_shard **out)
{
    if (!tt_grow(&c->shards, sizeof *c->shards, (size_t)c->shard_count, &c->shard_room))
        return tt_no_memory("the data");
    *out = &c->shards[c->shard_count++];
    **out = (struct tt_shard){.file.fd = -1};
    return TT_OK;
}

tt_status tt_corpus_add_file(struct tt_corpus *c, const char *path, int64_t vocab_size)
{
    struct tt_shard *s = NULL;
    bool keep_open = c->shard_count < FILES_KEPT_OPEN;
    struct tt_token_census census;
    TT_TRY(add_shard(c, &s));
    TT_TRY(tt_token_file_open(path, keep_open, &s->file));
    s->count = s->file.count;
    if (c->end_token < 0) c->end_token = s->file.end_token;
    TT_TRY(tt_token_file_scan(&s->file, vocab_size, c->known, &census));
    if (census.largest > c->largest) c->largest = census.largest;
    c->mark = tt_random(c->mark, census.mark, (uint64_t)s->count);
    return TT_OK;
}

tt_status tt_corpus_add_tokens(struct tt_corpus *c, const char *name, int32_t *tokens, int64_t count,
                               int64_t vocab_size)
{
    struct tt_shard *s = NULL;
    tt_status st = add_shard(c, &s);
    if (st) {
        free(tokens);
        return st;
    }
    s->tokens = tokens;
    s->count = count;
    for (int64_t i = 0; i < count; i++) {
        int32_t token = tt_token_of(tokens[i]);
        if (vocab_size && token >= vocab_size) return tt_token_too_large(token, i, name, vocab_size, c->known);
        if (token > c->largest) c->largest = token;
    }
    c->mark = tt_random(c->mark, tt_token_mark(0, tokens, count), (uint64_t)count);
    return TT_OK;
}

void tt_corpus_free(struct tt_corpus *c)
{
    for (int i = 0; i < c->shard_count; i++) {
        tt_token_file_close(&c->shards[i].file);
        free(c->shards[i].tokens);
    }
    free(c->shards);
    free(c->splits[TT_TRAIN].ranges);
    free(c->splits[TT_VAL].ranges);
    *c = (struct tt_corpus){0};
}

static bool is_among(int32_t token, const int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (tt_token_of(tokens[i]) == token) return true;
    return false;
}

tt_status tt_shard_contains(const struct tt_shard *s, int32_t token, bool *contains)
{
    int32_t piece[4096];
    *contains = s->tokens && is_among(token, s->tokens, s->count);
    for (int64_t at = 0; !s->tokens && at < s->count && !*contains; at += 4096) {
        int64_t n = s->count - at < 4096 ? s->count - at : 4096;
        TT_TRY(tt_token_file_read(&s->file, at, n, piece));
        *contains = is_among(token, piece, n);
    }
    return TT_OK;
}

/* ---- training and validation ---- */
static int64_t windows_of(const struct tt_corpus *c, int shard)
{
    return c->shards[shard].count > 0 ? (c->shards[shard].count - 1) / c->seq_len : 0;
}

static int64_t windows_between(const struct tt_corpus *c, int first, int end)
{
    int64_t total = 0;
    for (int i = first; i < end; i++) total += windows_of(c, i);
    return total;
}

static void add_range(struct tt_range_list *l, int shard, int64_t first, int64_t count)
{
    if (count <= 0) return;
    l->ranges[l->n++] = (struct tt_window_range){shard, first, count};
    l->windows += count;
}

static tt_status too_short(const struct tt_corpus *c, const char *name, int first, int end, int64_t needed)
{
    int64_t tokens = 0;
    for (int i = first; i < end; i++) tokens += c->shards[i].count;
    return tt_fail(TT_USAGE,
                   "%s has %lld tokens, too few: with --seq-len %lld %s at least %lld in one file; use a smaller "
                   "--seq-len, or more data%s",
                   name, (long long)tokens, (long long)c->seq_len,
                   needed > 1 ? "one window to train on and one to validate on take" : "a window takes",
                   (long long)(needed * c->seq_len + 1),
                   needed > 1 ? ", or hold out nothing with --val-fraction 0" : "");
}

tt_status tt_corpus_split(struct tt_corpus *c, const struct tt_corpus_split *how)
{
    struct tt_range_list *train = &c->splits[TT_TRAIN], *val = &c->splits[TT_VAL];
    bool apart = how->first_val < c->shard_count, holds_out = !apart && how->fraction > 0;
    int64_t train_windows = windows_between(c, 0, how->first_val), least = holds_out ? 2 : 1;
    if (train_windows < least) return too_short(c, how->name, 0, how->first_val, least);
    if (apart && !windows_between(c, how->first_val, c->shard_count))
        return too_short(c, how->val_name, how->first_val, c->shard_count, 1);
    if (holds_out) {
        int64_t held_out = llround((double)train_windows * how->fraction);
        if (held_out < 1) held_out = 1;
        train_windows -= held_out < train_windows ? held_out : train_windows - 1;
    }

    train->ranges = calloc((size_t)c->shard_count, sizeof *train->ranges);
    val->ranges = calloc((size_t)c->shard_count, sizeof *val->ranges);
    if (!train->ranges || !val->ranges) return tt_no_memory("the data");
    for (int i = 0; i < c->shard_count; i++) {
        int64_t here = windows_of(c, i), left = train_windows - train->windows;
        int64_t mine = i >= how->first_val ? 0 : here < left ? here : left;
        add_range(train, i, 0, mine);
        add_range(val, i, mine, here - mine);
    }
    train->key = tt_random(how->seed, 0x636f72707573, TT_TRAIN);
    val->key =
        tt_random(0, 0x636f72707573, TT_VAL); /* independent of the seed, so that losses of runs can be compared */
    return TT_OK;
}

/* ---- the order ---- */

/* Checks the tokens again: if the file was overwritten during the run, a token could now be outside the embedding. */
static tt_status read_window(const struct tt_corpus *c, const struct tt_shard *s, int64_t first, int32_t *out)
{
    tt_status st = tt_token_file_read(&s->file, first, c->seq_len + 1, out);
    if (st) {
        st->code = TT_FAILED; /* not TT_USAGE: the file was there when the run began */
        return st;
    }
    uint32_t most = 0;
    for (int64_t i = 0; i <= c->seq_len; i++) {
        uint32_t token = (uint32_t)tt_token_of(out[i]);
        most = token > most ? token : most;
    }
    if (most <= (uint32_t)c->largest) return TT_OK;
    return tt_fail(TT_FAILED,
                   "%s has changed since it was opened: token %u was not in it; do not change data while it "
                   "is in use",
                   s->file.path, most);
}

tt_status tt_corpus_sample(const struct tt_corpus *c, enum tt_split split, uint64_t position, int32_t *out)
{
    const struct tt_range_list *l = &c->splits[split];
    uint64_t epoch = position / (uint64_t)l->windows, i = position % (uint64_t)l->windows;
    uint64_t key = tt_random(l->key, epoch, 0);
    const struct tt_window_range *r = l->ranges;
    for (int turn = 0; turn < l->n; turn++) {
        r = &l->ranges[tt_permute(key, 0, (uint64_t)l->n, (uint64_t)turn)];
        if (i < (uint64_t)r->count) break;
        i -= (uint64_t)r->count;
    }
    uint64_t stream = 1 + (uint64_t)(r - l->ranges);
    int64_t first = (r->first + (int64_t)tt_permute(key, stream, (uint64_t)r->count, i)) * c->seq_len;
    const struct tt_shard *s = &c->shards[r->shard];
    if (!s->tokens) return read_window(c, s, first, out);
    memcpy(out, s->tokens + first, (size_t)(c->seq_len + 1) * sizeof *out);
    return TT_OK;
}
