/* What `tt import` reads besides the tensors: a config.json, then a line "====" and a tokenizer.json. A model whose
 * shape is accepted can be planned. Text that its tokenizer accepts gives tokens of the vocabulary, and the tokenizer
 * written out reads back the same. */
#include "core/data/tokenizers/hf_tokenizer.h"
#include "model/exchange/hf_config.h"
#include "tests/fuzz/fuzz.h"

static void read_config(const char *text, size_t n)
{
    struct tt_json *j;
    struct tt_config c = {.seq_len = 1};
    if (fuzz_refused(tt_json_parse(text, n, &j))) return;
    if (!fuzz_refused(tt_hf_config_read(j, &c))) {
        PROMISE(c.hidden_dim > 0 && c.num_layers > 0 && c.num_heads > 0 && c.num_kv_heads > 0 && c.vocab_size > 0 &&
                c.seq_len > 0);
        PROMISE(c.norm_eps > 0 && c.rope_theta >= 1 && c.init_std > 0);
        PROMISE(!fuzz_refused(tt_rope_scaling_check(c.rope_scaling)));
        fuzz_refused(tt_config_check_shape(&c));
    }
    tt_json_free(j);
}

static struct tt_tokenizer *again(const struct tt_tokenizer *t)
{
    struct tt_json_writer w = {0};
    struct tt_json *j;
    struct tt_tokenizer *out = NULL;
    if (!fuzz_refused(tt_hf_tokenizer_write(t, &w))) {
        PROMISE(!fuzz_refused(tt_json_parse(w.text.s, w.text.n, &j)));
        PROMISE(!fuzz_refused(tt_hf_tokenizer_read(j, &out)));
        tt_json_free(j);
    }
    tt_text_free(&w.text);
    return out;
}

static void compare(const struct tt_tokenizer *a, const struct tt_tokenizer *b, const char *text, size_t n)
{
    int32_t *first = NULL, *second = NULL;
    int64_t count, other;
    if (fuzz_refused(tt_tokenizer_encode(a, text, (int64_t)n, &first, &count))) return;
    for (int64_t i = 0; i < count; i++) PROMISE(first[i] >= 0 && first[i] < tt_tokenizer_size(a));
    if (b) {
        PROMISE(!fuzz_refused(tt_tokenizer_encode(b, text, (int64_t)n, &second, &other)));
        PROMISE(count == other && !memcmp(first, second, (size_t)count * sizeof *first));
    }
    free(first);
    free(second);
}

static void read_tokenizer(const char *text, size_t n)
{
    static const char sample[] = "the cat  sees\n a \xc3\xa9 12345 \x01";
    struct tt_json *j;
    struct tt_tokenizer *t;
    if (fuzz_refused(tt_json_parse(text, n, &j))) return;
    if (!fuzz_refused(tt_hf_tokenizer_read(j, &t))) {
        struct tt_tokenizer *twin = again(t);
        compare(t, twin, sample, sizeof sample - 1);
        compare(t, twin, text, n);
        if (twin) tt_tokenizer_free(twin);
        tt_tokenizer_free(t);
    }
    tt_json_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char line[] = "\n====\n";
    const char *text = (const char *)data, *cut = memmem(text, n, line, sizeof line - 1);
    size_t first = cut ? (size_t)(cut - text) : n, skip = cut ? sizeof line - 1 : 0;
    read_config(text, first);
    read_tokenizer(text + first + skip, n - first - skip);
    return 0;
}
