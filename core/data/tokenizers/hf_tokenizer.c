/* Writes each kind of tokenizer as a tokenizer.json.
 *
 * bytes, bpe   a BPE model over characters that stand for bytes (GPT-2's alphabet). The text is turned into these
 *              characters before it is split, so that the pattern counts bytes, as tt_bpe_piece does.
 * chars        a WordLevel model, after a split between all characters
 * words        a WordLevel model, after a split at spaces and before punctuation at the end of a word
 *
 * The byte or character 0, which ends documents, is the special token <|endoftext|>: other programs then leave it out
 * of the text that they show. */
#include "core/data/tokenizers/hf_tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "core/data/tokenizers/hf_bpe.h"
#include "core/data/tokenizers/hf_pieces.h"

/* ---- back to text ---- */

static void put_decoder(struct tt_json_writer *w, enum tt_tokenizer_kind kind)
{
    if (kind == TT_BYTES || kind == TT_BPE) {
        tt_hf_put_byte_level(w, "decoder");
        return;
    }
    tt_json_begin(w, "decoder", '{');
    tt_json_put_string(w, "type", kind == TT_CHARS ? "Fuse" : "WordPiece");
    if (kind == TT_WORDS) { /* cleanup joins punctuation to the word before */
        tt_json_put_string(w, "prefix", "##");
        tt_json_put_bool(w, "cleanup", true);
    }
    tt_json_end(w, '}');
}

/* ---- the vocabulary ---- */

int32_t tt_hf_special_end(const struct tt_tokenizer *t)
{
    if (t->kind == TT_BYTE_LEVEL) return -1;
    for (int64_t i = 0; t->kind == TT_BPE && i < t->size - 256; i++)
        if (!t->merges[i].left || !t->merges[i].right) return -1;
    return tt_tokenizer_end(t);
}

static void spell(const struct tt_tokenizer *t, int32_t token, struct tt_text *out)
{
    struct tt_text bytes = {0};
    tt_tokenizer_decode(t, &token, 1, &bytes);
    if (t->kind == TT_BYTES || t->kind == TT_BPE)
        for (size_t i = 0; i < bytes.n; i++) tt_hf_put_byte(out, (unsigned char)bytes.s[i]);
    else
        tt_text_add(out, bytes.s ? bytes.s : "", bytes.n);
    out->failed |= bytes.failed;
    tt_text_free(&bytes);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* In a tokenizer.json each spelling is one token. */
static tt_status check_spellings(char *const *spelling, int64_t n)
{
    char **sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return tt_no_memory("the tokenizer");
    memcpy(sorted, spelling, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    tt_status st = TT_OK;
    for (int64_t i = 1; i < n && !st; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            st = tt_fail(TT_UNSUPPORTED,
                         "two of its tokens are both spelled \"%s\", which a tokenizer.json cannot "
                         "express",
                         sorted[i]);
    free(sorted);
    return st;
}

static tt_status check_words(const struct tt_tokenizer *t)
{
    for (int64_t i = 0; t->kind == TT_WORDS && i < t->size; i++) {
        size_t n = strlen(t->words[i]);
        if (n > 1 && strchr(".?,", t->words[i][n - 1]))
            return tt_fail(TT_UNSUPPORTED,
                           "its word \"%s\" ends in punctuation, which a tokenizer.json would split off", t->words[i]);
    }
    return TT_OK;
}

static void put_model(struct tt_json_writer *w, const struct tt_tokenizer *t, char *const *spelling)
{
    bool bpe = t->kind == TT_BYTES || t->kind == TT_BPE;
    tt_json_begin(w, "model", '{');
    tt_json_put_string(w, "type", bpe ? "BPE" : "WordLevel");
    if (bpe) {
        tt_json_put_null(w, "dropout");
        tt_json_put_null(w, "unk_token");
        tt_json_put_null(w, "continuing_subword_prefix");
        tt_json_put_null(w, "end_of_word_suffix");
        tt_json_put_bool(w, "fuse_unk", false);
        tt_json_put_bool(w, "byte_fallback", false);
        tt_json_put_bool(w, "ignore_merges", false);
    }
    tt_json_begin(w, "vocab", '{');
    for (int64_t i = 0; i < t->size; i++) tt_json_put_int(w, spelling[i], i);
    tt_json_end(w, '}');
    if (bpe) {
        tt_json_begin(w, "merges", '[');
        for (int64_t i = 0; t->kind == TT_BPE && i < t->size - 256; i++) {
            struct tt_text pair = {0};
            tt_text_printf(&pair, "%s %s", spelling[t->merges[i].left], spelling[t->merges[i].right]);
            tt_json_put_string(w, NULL, pair.s ? pair.s : "");
            w->text.failed |= pair.failed;
            tt_text_free(&pair);
        }
        tt_json_end(w, ']');
    } else {
        tt_json_put_string(w, "unk_token",
                           "<unk>"); /* no such token: an unknown word is an error there as it is here */
    }
    tt_json_end(w, '}');
}

void tt_hf_put_added(struct tt_json_writer *w, int64_t id, const char *content, size_t n, bool special)
{
    static const char *const no[] = {"single_word", "lstrip", "rstrip", "normalized"};
    tt_json_begin(w, NULL, '{');
    tt_json_put_int(w, "id", id);
    tt_json_put_text(w, "content", content, n);
    for (int i = 0; i < 4; i++) tt_json_put_bool(w, no[i], false);
    tt_json_put_bool(w, "special", special);
    tt_json_end(w, '}');
}

static void put_all(struct tt_json_writer *w, const struct tt_tokenizer *t, int32_t special_end, char *const *spelling)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "version", "1.0");
    tt_json_put_null(w, "truncation");
    tt_json_put_null(w, "padding");
    tt_json_begin(w, "added_tokens", '[');
    if (special_end >= 0) tt_hf_put_added(w, special_end, TT_END_OF_TEXT, strlen(TT_END_OF_TEXT), true);
    tt_json_end(w, ']');
    tt_json_put_null(w, "normalizer");
    tt_hf_put_pre_tokenizer(w, "pre_tokenizer", t->kind);
    tt_json_put_null(w, "post_processor");
    put_decoder(w, t->kind);
    put_model(w, t, spelling);
    tt_json_end(w, '}');
}

tt_status tt_hf_tokenizer_write_as(const struct tt_tokenizer *t, int32_t special_end, struct tt_json_writer *w)
{
    if (t->kind == TT_BYTE_LEVEL) { /* as it was read */
        tt_text_puts(&w->text, t->hf->source);
        return tt_text_status(&w->text);
    }
    TT_TRY(check_words(t));
    char **spelling = calloc((size_t)t->size, sizeof *spelling);
    tt_status st = spelling ? TT_OK : tt_no_memory("the tokenizer");
    for (int64_t i = 0; i < t->size && !st; i++) {
        struct tt_text text = {0};
        if (i == special_end)
            tt_text_puts(&text, TT_END_OF_TEXT);
        else
            spell(t, (int32_t)i, &text);
        spelling[i] = text.s;
        st = tt_text_status(&text);
    }
    if (!st) st = check_spellings(spelling, t->size);
    if (!st) put_all(w, t, special_end, spelling);
    for (int64_t i = 0; spelling && i < t->size; i++) free(spelling[i]);
    free(spelling);
    return st ? st : tt_text_status(&w->text);
}

tt_status tt_hf_tokenizer_write(const struct tt_tokenizer *t, struct tt_json_writer *w)
{
    return tt_hf_tokenizer_write_as(t, tt_hf_special_end(t), w);
}
