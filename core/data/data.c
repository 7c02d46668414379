/* Opens a dataset from its source, and answers questions about it. */
#include "core/data/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/format.h"
#include "core/base/rng.h"
#include "core/config/config.h"
#include "core/data/builtin.h"
#include "core/data/data_corpus.h"
#include "core/data/sources.h"
#include "core/data/text_tokens.h"

enum kind { BUILTIN, RANDOM, FILES };
enum { MOST_SEQ = 1 << 30, BPE_DEFAULT = 1024 };

struct tt_data {
    enum kind kind;
    int64_t seq_len, vocab;
    uint64_t key; /* random key of builtin and random samples */
    double floor;
    bool has_zeros, has_objects; /* as in struct tt_text_totals */
    int64_t documents, pairs, skipped; /* of JSON Lines; of these, prompts with completions; bad lines left out */
    char first_skipped[400];     /* why the first of them is bad */
    int unread;                  /* folders in a folder of text */
    struct tt_text describe;
    struct tt_tokenizer *tokenizer;
    struct tt_builtin *builtin;
    struct tt_corpus corpus;
};

static bool given(const char *s) { return s && *s; }

static enum kind kind_of(const char *source)
{
    return !strcmp(source, "builtin") ? BUILTIN : !strcmp(source, "random") ? RANDOM : FILES;
}

/* ---- data without files ---- */
static tt_status open_builtin(struct tt_data *d, const struct tt_data_options *o)
{
    if (o->vocab_size && o->vocab_size < TT_BUILTIN_WORDS)
        return tt_fail(TT_USAGE,
                       "the built-in language has %d words, more than a --vocab-size of %lld; use --vocab-size %d",
                       TT_BUILTIN_WORDS, (long long)o->vocab_size, TT_BUILTIN_WORDS);
    d->vocab = o->vocab_size ? o->vocab_size : TT_BUILTIN_WORDS;
    TT_TRY(tt_builtin_open(&d->builtin));
    TT_TRY(tt_tokenizer_words(tt_builtin_words, TT_BUILTIN_WORDS, &d->tokenizer));
    TT_TRY(tt_builtin_entropy(d->builtin, o->seq_len, &d->floor));
    tt_text_printf(&d->describe, "built-in language: %d words, exact entropy %.4f nats per token", TT_BUILTIN_WORDS,
                   d->floor);
    return TT_OK;
}

static tt_status open_random(struct tt_data *d, const struct tt_data_options *o)
{
    if (o->vocab_size < 2)
        return tt_fail(TT_USAGE, "random tokens need a --vocab-size of at least 2, not %lld", (long long)o->vocab_size);
    d->vocab = o->vocab_size;
    d->floor = log((double)(d->vocab - 1));
    tt_text_puts(&d->describe, "random tokens: nothing to learn, for benchmarks only");
    return TT_OK;
}

static void sample_random(const struct tt_data *d, uint64_t stream, int32_t *out)
{
    for (int64_t t = 0; t <= d->seq_len; t++) {
        uint64_t high = tt_random(d->key, stream, (uint64_t)t) >> 32; /* the bias is at most vocab / 2^32 */
        out[t] = (int32_t)(1 + (high * (uint64_t)(d->vocab - 1) >> 32));
    }
}

/* ---- files ---- */
static bool is_tokenizer_file(const char *name)
{
    return given(name) && strcmp(name, "bytes") && strcmp(name, "chars") && strcmp(name, "bpe");
}

/* An array of tokens that grows at the end. */
struct tokens {
    int32_t *at;
    int64_t count, room;
};

static tt_status append(void *to, const int32_t *tokens, int64_t n)
{
    struct tokens *t = to;
    if (n > t->room - t->count) {
        int64_t room = t->room + t->room / 2 + n;
        int32_t *larger = realloc(t->at, (size_t)room * sizeof *larger);
        if (!larger) return tt_no_memory("%lld tokens; make token files of the text with 'tt data'", (long long)room);
        t->at = larger;
        t->room = room;
    }
    memcpy(t->at + t->count, tokens, (size_t)n * sizeof *tokens);
    t->count += n;
    return TT_OK;
}

static void note_totals(struct tt_data *d, const struct tt_text_totals *totals)
{
    d->has_zeros |= totals->has_zeros;
    d->has_objects |= totals->has_objects;
    d->documents += totals->documents;
    d->pairs += totals->pairs;
    d->skipped += totals->skipped;
    if (!d->first_skipped[0]) memcpy(d->first_skipped, totals->first_skipped, sizeof d->first_skipped);
}

/* All texts become one shard. */
static tt_status add_texts(struct tt_data *d, const struct tt_data_options *o, const struct tt_sources *s)
{
    struct tt_text_work w = {.paths = (const char *const *)s->paths, .count = s->count,
                             .options = o->text, .threads = o->threads, .progress = o->progress, .arg = o->arg};
    struct tokens tokens = {0};
    if (d->corpus.shard_count && !d->tokenizer)
        return tt_fail(TT_USAGE,
                       "%s is text, but the training data are tokens; name the file of the tokenizer that made them "
                       "with --tokenizer",
                       s->paths[0]);
    if (!d->tokenizer)
        TT_TRY(tt_text_tokenizer(&w, o->tokenizer, o->vocab_size ? o->vocab_size : BPE_DEFAULT, &d->tokenizer));
    tt_status st = tt_text_tokens(&w, d->tokenizer, append, &tokens);
    if (st) {
        free(tokens.at);
        return st;
    }
    note_totals(d, &w.totals);
    d->corpus.known = tt_tokenizer_size(d->tokenizer);
    return tt_corpus_add_tokens(&d->corpus, s->paths[0], tokens.at, tokens.count, o->vocab_size);
}

static tt_status add_files(struct tt_data *d, const struct tt_data_options *o, const struct tt_sources *s,
                           const char *source)
{
    bool are_tokens = false;
    TT_TRY(tt_sources_sniff(s, source, &are_tokens));
    if (!are_tokens) return add_texts(d, o, s);
    for (int i = 0; i < s->count; i++) TT_TRY(tt_corpus_add_file(&d->corpus, s->paths[i], o->vocab_size));
    return TT_OK;
}

static tt_status add_source(struct tt_data *d, const struct tt_data_options *o, const char *source)
{
    struct tt_sources s = {0};
    tt_status st = tt_sources_add(&s, source);
    if (!st) st = add_files(d, o, &s, source);
    d->unread += s.unread;
    tt_sources_free(&s);
    return st;
}

static tt_status choose_vocab(struct tt_data *d, const struct tt_data_options *o)
{
    int64_t known = d->tokenizer ? tt_tokenizer_size(d->tokenizer) : 0;
    if (known && d->corpus.largest >= known)
        return tt_fail(
            TT_USAGE,
            "token %d is in the data, but the %s tokenizer has only %lld tokens; use the one the data were made with",
            d->corpus.largest, tt_tokenizer_kind(d->tokenizer), (long long)known);
    d->vocab = o->vocab_size ? o->vocab_size : known ? known : (int64_t)d->corpus.largest + 1;
    if (d->vocab <= TT_VOCAB_MOST) return TT_OK;
    return tt_fail(TT_USAGE,
                   "%s needs a vocabulary of %lld, and a model has at most %d tokens; make it again, or use other data",
                   o->source, (long long)d->vocab, TT_VOCAB_MOST);
}

static bool has_prompts(const struct tt_corpus *c)
{
    for (int i = 0; i < c->shard_count; i++)
        if (c->shards[i].file.masked) return true;
    return false;
}

static void describe_files(struct tt_data *d, const struct tt_data_options *o)
{
    int64_t tokens = 0;
    for (int i = 0; i < d->corpus.shard_count; i++) tokens += d->corpus.shards[i].count;
    tt_text_printf(&d->describe, "%s%s%s: %lld tokens", o->source, given(o->val_source) ? " and " : "",
                   given(o->val_source) ? o->val_source : "", (long long)tokens);
    if (d->corpus.shard_count > 1) tt_text_printf(&d->describe, " in %d files", d->corpus.shard_count);
    if (d->tokenizer)
        tt_text_printf(&d->describe, " (%s, vocabulary %lld)", tt_tokenizer_kind(d->tokenizer),
                       (long long)tt_tokenizer_size(d->tokenizer));
    tt_text_printf(&d->describe, ", %lld windows of %lld to train, ", (long long)d->corpus.splits[TT_TRAIN].windows,
                   (long long)d->seq_len);
    if (tt_data_validates(d))
        tt_text_printf(&d->describe, "%lld to validate", (long long)d->corpus.splits[TT_VAL].windows);
    else
        tt_text_puts(&d->describe, "none to validate");
    if (d->documents) tt_text_printf(&d->describe, "; %lld documents", (long long)d->documents);
    if (d->pairs) tt_text_printf(&d->describe, ", %lld of them pairs of prompt and completion", (long long)d->pairs);
    if (has_prompts(&d->corpus)) tt_text_puts(&d->describe, "; tokens of prompts have no loss");
    if (d->skipped)
        tt_text_printf(&d->describe, "; %lld bad line%s left out, the first: %s", (long long)d->skipped,
                       d->skipped == 1 ? " was" : "s were", d->first_skipped);
    if (d->unread)
        tt_text_printf(&d->describe,
                       "; %d folder%s in it %s not read: name the files there with a pattern, such as '*/*.txt'",
                       d->unread, tt_plural(d->unread), d->unread == 1 ? "is" : "are");
    if (d->has_objects)
        tt_text_puts(&d->describe, "; it looks like JSON Lines, but is read as plain text: to read a field of its "
                                   "lines, name the field with --text-field");
    if (d->has_zeros) tt_text_puts(&d->describe, "; it contains zero bytes, so it is probably not text");
}

static tt_status open_files(struct tt_data *d, const struct tt_data_options *o)
{
    d->floor = -1;
    d->corpus.seq_len = o->seq_len;
    d->corpus.largest = -1;
    if (is_tokenizer_file(o->tokenizer)) TT_TRY(tt_tokenizer_load(o->tokenizer, &d->tokenizer));
    d->corpus.known = d->tokenizer ? tt_tokenizer_size(d->tokenizer) : 0;
    TT_TRY(add_source(d, o, o->source));
    struct tt_corpus_split how = {d->corpus.shard_count, o->val_fraction, o->seed, o->source, o->val_source};
    if (given(o->val_source)) TT_TRY(add_source(d, o, o->val_source));
    TT_TRY(tt_corpus_split(&d->corpus, &how));
    TT_TRY(choose_vocab(d, o));
    describe_files(d, o);
    return TT_OK;
}

/* ---- every kind ---- */
static tt_status check_options(const struct tt_data_options *o)
{
    if (!given(o->source))
        return tt_fail(TT_USAGE,
                       "no data named; give \"builtin\", \"random\", a token file, a pattern, or a text file");
    if (o->seq_len < 1 || o->seq_len > MOST_SEQ)
        return tt_fail(TT_USAGE, "--seq-len must be from 1 to %d, not %lld", MOST_SEQ, (long long)o->seq_len);
    if (o->vocab_size < 0 || o->vocab_size > INT32_MAX)
        return tt_fail(TT_USAGE, "--vocab-size must be from 1 to %d, not %lld", INT32_MAX, (long long)o->vocab_size);
    if (!(o->val_fraction >= 0 && o->val_fraction < 1))
        return tt_fail(TT_USAGE, "--val-fraction must be at least 0 and below 1, not %g", o->val_fraction);
    if (!given(o->val_source)) return TT_OK;
    enum kind kind = kind_of(o->source), val = kind_of(o->val_source);
    if (kind != val)
        return tt_fail(TT_USAGE,
                       "cannot train on %s and validate on %s; leave --val-data empty, or give data of the same kind",
                       o->source, o->val_source);
    return TT_OK;
}

tt_status tt_data_open(const struct tt_data_options *options, struct tt_data **out)
{
    TT_TRY(check_options(options));
    struct tt_data *d = calloc(1, sizeof *d);
    if (!d) return tt_no_memory("the data");
    d->kind = kind_of(options->source);
    d->seq_len = options->seq_len;
    d->corpus.end_token = -1;
    d->key = tt_random(options->seed, 0x73747265616d, (uint64_t)d->kind);
    tt_status st = d->kind == BUILTIN  ? open_builtin(d, options)
                   : d->kind == RANDOM ? open_random(d, options)
                                       : open_files(d, options);
    if (!st) st = tt_text_status(&d->describe);
    if (st)
        tt_data_close(d);
    else
        *out = d;
    return st;
}

void tt_data_close(struct tt_data *d)
{
    if (!d) return;
    tt_corpus_free(&d->corpus);
    tt_builtin_close(d->builtin);
    tt_tokenizer_free(d->tokenizer);
    tt_text_free(&d->describe);
    free(d);
}

tt_status tt_data_sample(struct tt_data *d, enum tt_split split, uint64_t position, int32_t *out)
{
    uint64_t stream = 2 * position + (split == TT_VAL);
    switch (d->kind) {
    case BUILTIN:
        out[0] = TT_BUILTIN_STOP;
        tt_builtin_sample(d->builtin, d->key, stream, d->seq_len, out + 1);
        return TT_OK;
    case RANDOM:
        sample_random(d, stream, out);
        return TT_OK;
    case FILES:
        break;
    }
    if (split == TT_VAL && !tt_data_validates(d))
        return tt_fail(TT_FAILED, "no part of the data is held out for validation");
    return tt_corpus_sample(&d->corpus, split, position, out);
}

int64_t tt_data_vocab(const struct tt_data *d) { return d->vocab; }

int64_t tt_data_samples(const struct tt_data *d, enum tt_split split) { return d->corpus.splits[split].windows; }

bool tt_data_validates(const struct tt_data *d) { return d->kind != FILES || d->corpus.splits[TT_VAL].windows > 0; }

uint64_t tt_data_mark(const struct tt_data *d) { return d->corpus.mark; }

double tt_data_floor(const struct tt_data *d) { return d->floor; }

bool tt_data_learnable(const struct tt_data *d) { return d->kind != RANDOM; }

const char *tt_data_describe(const struct tt_data *d) { return d->describe.s; }

const struct tt_tokenizer *tt_data_tokenizer(const struct tt_data *d) { return d->tokenizer; }

/* Sentences of the built-in language do not depend on each other, so each is a document. */
int32_t tt_data_end_token(const struct tt_data *d)
{
    if (d->kind == BUILTIN) return TT_BUILTIN_STOP;
    if (d->corpus.end_token >= 0) return d->corpus.end_token;
    return d->tokenizer ? tt_tokenizer_end(d->tokenizer) : -1;
}

/* A random token is any but 0. */
tt_status tt_data_contains(const struct tt_data *d, int32_t token, bool *contains)
{
    *contains = d->kind == BUILTIN || (d->kind == RANDOM && token > 0);
    for (int i = 0; i < d->corpus.shard_count && !*contains; i++)
        TT_TRY(tt_shard_contains(&d->corpus.shards[i], token, contains));
    return TT_OK;
}
