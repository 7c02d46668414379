/* Tokenizer files and the training of byte-pair encodings: a loaded tokenizer encodes and decodes to the same text. */
#include "core/data/tokenizers/tokenizer.h"
#include "tests/fuzz/fuzz.h"

/* Decodes the encoded text again. `exact`: no text may be refused or changed; `faithful`: none may be changed. */
static void round_trip(const struct tt_tokenizer *t, const char *text, size_t n, bool exact)
{
    bool faithful = exact || !strcmp(tt_tokenizer_kind(t), "byte-level");
    int32_t *tokens = NULL;
    int64_t count;
    if (fuzz_refused(tt_tokenizer_encode(t, text, (int64_t)n, &tokens, &count))) {
        PROMISE(!exact);
        return;
    }
    struct tt_text back = {0};
    for (int64_t i = 0; i < count; i++) PROMISE(tokens[i] >= 0 && tokens[i] < tt_tokenizer_size(t));
    tt_tokenizer_decode(t, tokens, count, &back);
    PROMISE(!faithful || (back.n == n && !memcmp(back.s ? back.s : "", text, n)));
    tt_text_free(&back);
    free(tokens);
}

static void use(const struct tt_tokenizer *t, const uint8_t *data, size_t n)
{
    const char *kind = tt_tokenizer_kind(t);
    bool bytes = !strcmp(kind, "bytes") || !strcmp(kind, "bpe");
    int32_t wild[] = {-1, 0, INT32_MAX, 255, 256, 257};
    struct tt_text out = {0};
    round_trip(t, "the cat, the hat: a \xc3\xa9 \x01", 22, bytes);
    round_trip(t, (const char *)data, n, bytes);
    tt_tokenizer_decode(t, wild, 6, &out);
    tt_text_free(&out);
}

static void train(const uint8_t *data, size_t n)
{
    struct tt_tokenizer *t;
    if (fuzz_refused(tt_tokenizer_train((const char *)data, (int64_t)n, 280, NULL, NULL, &t))) return;
    use(t, data, n);
    tt_tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tt_tokenizer *t;
    if (n && data[0] != '{') train(data, n);
    if (fuzz_refused(tt_tokenizer_load(fuzz_file(data, n), &t))) return 0;
    use(t, data, n);
    tt_tokenizer_free(t);
    return 0;
}
