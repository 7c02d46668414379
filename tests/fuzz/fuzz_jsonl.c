/* JSON Lines, plain and packed by gzip: one end token per document, one token per byte, marks on prompts only; without
 * --skip-bad-lines nothing is left out. zstd is not tried: a frame may ask libzstd for a large window. */
#include "core/base/unpack.h"
#include "core/data/text_tokens.h"
#include "tests/fuzz/fuzz.h"

struct seen {
    int64_t tokens, ends, marked;
};

static tt_status take(void *to, const int32_t *tokens, int64_t n)
{
    struct seen *s = to;
    for (int64_t i = 0; i < n; i++) {
        PROMISE(tokens[i] >= -256 && tokens[i] < 256 && tokens[i] != ~0); /* no prompt contains the end token */
        s->ends += tokens[i] == 0;
        s->marked += tokens[i] < 0;
    }
    s->tokens += n;
    return TT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const fields[] = {"text", "prompt"};
    struct tt_tokenizer *t = NULL;
    const char *path = fuzz_file(data, n);
    if (tt_packing_of((const char *)data, n) == TT_ZSTD) return 0;
    PROMISE(!tt_tokenizer_bytes(&t));
    for (int i = 0; i < 4; i++) {
        struct seen all = {0};
        struct tt_text_work w = {.paths = &path, .count = 1, .threads = 1, .options.skip_bad = i / 2};
        *(i % 2 ? &w.options.prompt_field : &w.options.text_field) = fields[i % 2];
        if (fuzz_refused(tt_text_tokens(&w, t, take, &all))) continue;
        PROMISE(all.ends == w.totals.documents && all.tokens == w.totals.bytes + w.totals.documents);
        PROMISE(w.totals.pairs == (i % 2 ? w.totals.documents : 0) && (all.marked == 0 || i % 2));
        PROMISE(i / 2 || !w.totals.skipped);
    }
    tt_tokenizer_free(t);
    return 0;
}
