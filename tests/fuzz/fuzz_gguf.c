/* GGUF files: an opened file can be read completely, with the number of floats that it declares. A model whose shape is
 * accepted can be planned, and its weights are loaded or refused. Text that its tokenizer accepts gives tokens of the
 * vocabulary. */
#include "core/checkpoint/gguf.h"
#include "model/exchange/gguf_model.h"
#include "model/exchange/gguf_tokenizer.h"
#include "model/params.h"
#include "tests/fuzz/fuzz.h"

static void read_tensor(const struct tt_gguf *g, const struct tt_tensor *t, size_t file)
{
    PROMISE(t->size <= file && t->offset <= file && tt_gguf_find(g, t->name) == t && t->count > 0);
    float *out = malloc((size_t)t->count * sizeof *out);
    PROMISE(out);
    fuzz_refused(tt_gguf_read(g, t, out));
    free(out);
}

static void read_model(const struct tt_gguf *g)
{
    struct tt_config c = {.seq_len = 1, .init_std = 0.02};
    struct tt_params params = {0};
    float *weights;
    if (fuzz_refused(tt_gguf_import_config(g, "fuzz", &c))) return;
    PROMISE(c.hidden_dim > 0 && c.num_layers > 0 && c.num_heads > 0 && c.num_kv_heads > 0 && c.vocab_size > 0);
    PROMISE(c.norm_eps > 0 && c.rope_theta >= 1 && c.seq_len > 0);
    if (fuzz_refused(tt_config_check_shape(&c)) || c.num_layers > 100) return;
    if (!fuzz_refused(tt_params_create(&c, &params)) &&
        !fuzz_refused(tt_gguf_import_weights(g, "fuzz", &c, &params, &weights)))
        free(weights);
    tt_params_free(&params);
}

static void read_tokenizer(const struct tt_gguf *g)
{
    static const char sample[] = "the cat  sees\n a \xc3\xa9 12345 \x01";
    struct tt_tokenizer *t = NULL;
    struct tt_text note = {0};
    int32_t *tokens = NULL;
    int64_t n;
    if (!fuzz_refused(tt_gguf_tokenizer_get(g, &t, &note))) PROMISE(t || note.n);
    if (t && !fuzz_refused(tt_tokenizer_encode(t, sample, sizeof sample - 1, &tokens, &n)))
        for (int64_t i = 0; i < n; i++) PROMISE(tokens[i] >= 0 && tokens[i] < tt_tokenizer_size(t));
    if (t) {
        struct tt_gguf_writer w = {0};
        fuzz_refused(tt_gguf_tokenizer_put(t, tt_tokenizer_size(t) + 1, tt_tokenizer_end(t), true, &w));
        tt_gguf_writer_free(&w);
    }
    free(tokens);
    tt_tokenizer_free(t);
    tt_text_free(&note);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tt_gguf *g;
    if (fuzz_refused(tt_gguf_open(fuzz_file(data, n), &g))) return 0;
    for (int i = 0; i < tt_gguf_count(g); i++) read_tensor(g, tt_gguf_at(g, i), n);
    read_model(g);
    read_tokenizer(g);
    tt_gguf_close(g);
    return 0;
}
