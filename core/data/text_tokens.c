#include "core/data/text_tokens.h"

#include <stdlib.h>
#include <string.h>

/* One pass over the files. */
struct pass {
    struct tt_text_work *w;
    struct tt_text_reader *reader;
    struct tt_text_block block;
    struct tt_stretch *stretches; /* of the block */
    int64_t *counts;              /* tokens of each */
    int32_t *tokens;              /* room for `growth` per byte, and two per span, which begin and end a document */
    int64_t growth;               /* tt_tokenizer_growth */
    bool inside;                  /* a document has begun and not ended */
    int64_t span_room, token_room;
};

static bool has_lines(const struct tt_text_work *w)
{
    for (int i = 0; i < w->count; i++)
        if (tt_text_is_lines(w->paths[i], &w->options)) return true;
    return false;
}

/* Whether there are documents, which the token `end` follows. For a tokenizer that is still to be learnt, `end` is the
 * token that it would get. */
static bool has_documents(const struct tt_text_work *w, int64_t end)
{
    const struct tt_text_options *o = &w->options;
    bool files = o->separate && w->count > 1 && end >= 0 && (o->end_token < 0 || o->end_token == end);
    return files || has_lines(w);
}

static tt_status begin(struct pass *p, struct tt_text_work *w)
{
    *p = (struct pass){.w = w, .growth = 1};
    return tt_text_reader_open(w->paths, w->count, &w->options, &p->reader);
}

static void end(struct pass *p)
{
    if (p->reader) p->w->totals = *tt_text_reader_totals(p->reader);
    tt_text_reader_close(p->reader);
    tt_text_block_free(&p->block);
    free(p->stretches);
    free(p->counts);
    free(p->tokens);
}

static tt_status make_room(struct pass *p)
{
    int64_t spans = p->block.count, tokens = (int64_t)p->block.text.n * p->growth + 2 * spans;
    if (spans > p->span_room) {
        free(p->stretches);
        free(p->counts);
        p->stretches = malloc((size_t)spans * sizeof *p->stretches);
        p->counts = malloc((size_t)spans * sizeof *p->counts);
        p->span_room = spans;
    }
    if (tokens > p->token_room) {
        free(p->tokens);
        p->tokens = malloc((size_t)tokens * sizeof *p->tokens);
        p->token_room = tokens;
    }
    bool there = (p->stretches && p->counts && p->tokens) || !spans;
    return there ? TT_OK : tt_no_memory("the tokens of %zu bytes", p->block.text.n);
}

/* The next block, as stretches; none at the end. */
static tt_status next_block(struct pass *p, const char *what)
{
    int64_t done, total;
    TT_TRY(tt_text_reader_next(p->reader, &p->block));
    const struct tt_text_totals *t = tt_text_reader_totals(p->reader);
    if (!p->block.count && t->skipped && !t->documents && !t->bytes)
        return tt_fail(TT_USAGE, "every line is bad, so --skip-bad-lines leaves out all %lld of them; the first: %s",
                       (long long)t->skipped, t->first_skipped);
    TT_TRY(make_room(p));
    for (int64_t i = 0; i < p->block.count; i++) {
        const struct tt_text_span *s = &p->block.spans[i];
        bool lines = tt_text_is_lines(p->w->paths[s->file], &p->w->options);
        p->stretches[i] = (struct tt_stretch){p->block.text.s + s->from, s->n, lines ? 0 : s->where};
    }
    tt_text_reader_progress(p->reader, &done, &total);
    if (p->w->progress) p->w->progress(what, done, total, p->w->arg);
    return TT_OK;
}

static tt_status name_place(const struct pass *p, tt_status st, int64_t bad)
{
    if (!st || bad < 0) return st;
    const struct tt_text_span *s = &p->block.spans[bad];
    return tt_text_at(st, p->w->paths[s->file], &p->w->options, s);
}

/* ---- a tokenizer ---- */

static void paint_merges(int64_t done, int64_t total, void *arg)
{
    const struct tt_text_work *w = arg;
    if (w->progress) w->progress("learning the vocabulary", done, total, w->arg);
}

static tt_status learn(struct pass *p, struct tt_learner *l, int64_t vocab_size, struct tt_tokenizer **out)
{
    do {
        int64_t bad = -1;
        TT_TRY(next_block(p, "counting words"));
        tt_status st = tt_learner_add(l, p->w->threads, p->stretches, p->block.count, &bad);
        TT_TRY(name_place(p, st, bad));
    } while (p->block.count);
    return tt_learner_finish(l, has_documents(p->w, 0), vocab_size, paint_merges, p->w, out);
}

tt_status tt_text_tokenizer(struct tt_text_work *w, const char *name, int64_t vocab_size, struct tt_tokenizer **out)
{
    struct pass p;
    struct tt_learner *l = NULL;
    if (!name || !*name || !strcmp(name, "bytes")) return tt_tokenizer_bytes(out);
    if (strcmp(name, "chars") && strcmp(name, "bpe")) return tt_tokenizer_load(name, out);
    TT_TRY(tt_learner_open(name, &l));
    tt_status st = begin(&p, w);
    if (!st) st = learn(&p, l, vocab_size, out);
    end(&p);
    tt_learner_close(l);
    return st;
}

/* ---- tokens ---- */

/* The token to put before the span, if a document begins there; -1: none, also if the text itself begins with it. */
static int32_t begin_of(const struct pass *p, int64_t i, int32_t begin)
{
    bool there = p->counts[i] && p->tokens[p->block.spans[i].from * p->growth] == begin;
    return p->inside || there ? -1 : begin;
}

/* Copies the tokens of all spans to `to` without gaps, adds those that begin and end documents, and returns how many
 * there are. The tokens of a span lie in p->tokens at the index of its first byte times growth. */
static int64_t pack(struct pass *p, int32_t *to, const struct tt_tokenizer *t, int32_t end)
{
    int64_t n = 0;
    bool documents = p->w->options.file_ends || has_lines(p->w);
    for (int64_t i = 0; i < p->block.count; i++) {
        const struct tt_text_span *s = &p->block.spans[i];
        int32_t begin = documents ? begin_of(p, i, tt_tokenizer_begin(t)) : -1;
        if (begin >= 0) to[n++] = s->prompt ? ~begin : begin;
        p->inside = !s->ends;
        for (int64_t k = 0; k < p->counts[i]; k++) {
            int32_t token = p->tokens[s->from * p->growth + k];
            to[n + k] = s->prompt ? ~token : token;
        }
        n += p->counts[i];
        if (s->ends) to[n++] = end;
    }
    return n;
}

/* The token after each document: the tokenizer's, else the one that was named; -1: none. */
static int32_t end_of(const struct tt_text_work *w, const struct tt_tokenizer *t)
{
    int64_t named = w->options.end_token;
    if (tt_tokenizer_end(t) >= 0) return tt_tokenizer_end(t);
    return named >= 0 && named < tt_tokenizer_size(t) ? (int32_t)named : -1;
}

static tt_status encode_block(struct pass *p, const struct tt_tokenizer *t, int32_t **packed, int64_t *room, int64_t *n)
{
    int64_t bad = -1;
    tt_status st = tt_tokenizer_encode_stretches(t, p->w->threads, p->stretches, p->block.count, p->tokens, p->counts,
                                                 &bad);
    TT_TRY(name_place(p, st, bad));
    if (p->token_room > *room) {
        free(*packed);
        *packed = malloc((size_t)p->token_room * sizeof **packed);
        *room = *packed ? p->token_room : 0;
        if (!*packed) return tt_no_memory("the tokens of %zu bytes", p->block.text.n);
    }
    *n = pack(p, *packed, t, end_of(p->w, t));
    return TT_OK;
}

static tt_status tokens_of(struct pass *p, const struct tt_tokenizer *t, tt_take_tokens take, void *to)
{
    int32_t *packed = NULL;
    int64_t room = 0, n = 0;
    tt_status st = TT_OK;
    do {
        st = next_block(p, "encoding");
        if (!st && p->block.count) st = encode_block(p, t, &packed, &room, &n);
        if (!st && p->block.count) st = take(to, packed, n);
    } while (!st && p->block.count);
    free(packed);
    return st;
}

tt_status tt_text_tokens(struct tt_text_work *w, const struct tt_tokenizer *t, tt_take_tokens take, void *to)
{
    struct pass p;
    int32_t ends = end_of(w, t);
    if (has_lines(w) && ends < 0)
        return tt_fail(TT_USAGE,
                       "the %s tokenizer has no token that ends a document, which JSON Lines need; name one with "
                       "--document-end in tt train, or use another, such as --tokenizer bpe",
                       tt_tokenizer_kind(t));
    w->options.cut = tt_tokenizer_line_cut(t);
    w->options.file_ends = w->count > 1 && has_documents(w, ends);
    tt_status st = begin(&p, w);
    p.growth = tt_tokenizer_growth(t);
    if (!st) st = tokens_of(&p, t, take, to);
    end(&p);
    return st;
}
