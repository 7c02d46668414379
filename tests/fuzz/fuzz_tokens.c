/* Token files: every window of an opened dataset can be read, and its tokens are below the vocabulary. */
#include "core/data/data.h"
#include "core/data/token_file.h"
#include "tests/fuzz/fuzz.h"

enum { SEQ = 8 };

static void read_all(struct tt_data *d, enum tt_split split)
{
    int32_t out[SEQ + 1];
    int64_t samples = tt_data_samples(d, split);
    for (int64_t i = 0; i < samples + 1 && i < 200; i++) {
        PROMISE(!fuzz_refused(tt_data_sample(d, split, (uint64_t)i, out)));
        for (int t = 0; t <= SEQ; t++) PROMISE(tt_token_of(out[t]) < tt_data_vocab(d));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tt_data_options options = {
        .source = fuzz_file(data, n), .tokenizer = "bytes", .val_fraction = 0.2, .seq_len = SEQ};
    for (int vocab = 0; vocab < 2; vocab++) {
        struct tt_data *d;
        options.vocab_size = vocab ? 300 : 0;
        if (fuzz_refused(tt_data_open(&options, &d))) continue;
        read_all(d, TT_TRAIN);
        read_all(d, TT_VAL);
        tt_data_close(d);
    }
    return 0;
}
