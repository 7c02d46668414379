/* Datasets: token files, patterns, text, random tokens; every window once per epoch; and every way in which a file can
 * be wrong. */
#include "core/data/data.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/config/config.h"
#include "core/data/token_file.h"
#include "tests/core/data/data_fixture.h"

/* Tokens first, first+1, … modulo `modulo`, so that a token's value tells its position. */
static const char *write_tokens(const char *name, int64_t n, int first, int modulo, int64_t vocab)
{
    int32_t *tokens = malloc(((size_t)n + 1) * sizeof *tokens);
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)((first + i) % modulo);
    CHECK_OK(tt_tokens_write(in_folder(name), tokens, n, vocab, 0));
    free(tokens);
    return in_folder(name);
}

static struct tt_data *open_data(struct tt_data_options o)
{
    struct tt_data *d = NULL;
    CHECK_OK(tt_data_open(&o, &d));
    return d;
}

static bool given(const char *s) { return s && *s; }

static void refused(struct tt_data_options o, const char *words)
{
    struct tt_data *d = NULL;
    if (!o.seq_len) o.seq_len = 8;
    CHECK_FAILS(tt_data_open(&o, &d), words);
    const char *name = o.source ? strrchr(o.source, '/') : NULL; /* the message must name the file */
    bool elsewhere = given(o.val_source) || given(o.tokenizer);
    if (name && !elsewhere && !strchr(name, '*')) CHECK_FAILS(tt_data_open(&o, &d), name + 1);
    CHECK(!d);
}

static void refused_file(const char *path, const char *words)
{
    refused((struct tt_data_options){.source = path}, words);
}

/* ---- good data ---- */
static void random_tokens(void)
{
    enum { S = 1000, V = 7 };
    struct tt_data *d =
        open_data((struct tt_data_options){.source = "random", .seq_len = S, .vocab_size = V, .seed = 1});
    int32_t a[S + 1], b[S + 1];
    int count[V] = {0};
    bool in_range = true;
    for (uint64_t i = 0; i < 100; i++) {
        CHECK_OK(tt_data_sample(d, TT_TRAIN, i, a));
        for (int t = 0; t <= S; t++) {
            in_range = in_range && a[t] >= 1 && a[t] < V;
            if (in_range) count[a[t]]++;
        }
    }
    CHECK(in_range);
    for (int v = 1; v < V; v++) CHECK(abs(count[v] - 100 * S / (V - 1)) < 600, "%d came %d times", v, count[v]);
    CHECK_OK(tt_data_sample(d, TT_VAL, 99, b));
    CHECK(memcmp(a, b, sizeof a));
    CHECK(!tt_data_learnable(d) && tt_data_floor(d) == log(V - 1) && tt_data_samples(d, TT_TRAIN) == 0);
    CHECK(!strcmp(tt_data_describe(d), "random tokens: nothing to learn, for benchmarks only"));
    CHECK(!tt_data_tokenizer(d) && tt_data_vocab(d) == V);
    tt_data_close(d);
    refused((struct tt_data_options){.source = "random"}, "--vocab-size");
    refused((struct tt_data_options){.source = "random", .vocab_size = 1}, "at least 2");
}

static void both_formats_come_back(void)
{
    static const int64_t vocabs[] = {65536, 65537};
    for (int i = 0; i < 2; i++) {
        struct tt_token_file f;
        struct stat st;
        bool is_tokens = false;
        int32_t out[100];
        struct tt_token_census census;
        const char *path = write_tokens("both.bin", 100, (int)vocabs[i] - 100, (int)vocabs[i], vocabs[i]);
        CHECK(!stat(path, &st) && st.st_size == 1024 + 100 * (i ? 4 : 2));
        CHECK_OK(tt_token_file_sniff(path, &is_tokens));
        CHECK(is_tokens);
        CHECK_OK(tt_token_file_open(path, i, &f));
        CHECK(f.count == 100 && f.width == (i ? 4 : 2));
        CHECK_OK(tt_token_file_read(&f, 10, 90, out));
        for (int k = 0; k < 90; k++) CHECK(out[k] == vocabs[i] - 90 + k, "%d", out[k]);
        CHECK_OK(tt_token_file_scan(&f, 0, 0, &census));
        CHECK(census.largest == vocabs[i] - 1);
        CHECK_OK(tt_token_file_read(&f, 0, 100, out));
        CHECK(census.mark == tt_token_mark(tt_token_mark(0, out, 37), out + 37, 63));
        int32_t first = out[0];
        out[0] = out[1], out[1] = first;
        CHECK(census.mark != tt_token_mark(0, out, 100), "in another order");
        tt_token_file_close(&f);
    }
    int32_t bad[] = {1, 2, 64};
    CHECK_FAILS(tt_tokens_write(in_folder("new.bin"), bad, 3, 64, 0), "token 64 at index 2");
    CHECK_FAILS(tt_tokens_write(in_folder("new.bin"), (int32_t[]){-1}, 1, 64, 0), "token -1 at index 0");
    CHECK_FAILS(tt_tokens_write(in_folder("new.bin"), bad, (int64_t)1 << 31, 64, 0), "write several");
    CHECK_FAILS(tt_tokens_write(in_folder("new.bin"), bad, 3, 0, 0), "vocabulary");
    CHECK(!tt_is_file(in_folder("new.bin")));
}

/* Each window of a split appears once per epoch, complete, in an order that changes with epoch and seed. The token
 * values identify window and shard. */
static void order_of(struct tt_data *d, enum tt_split split, int S, uint64_t epoch, int *order)
{
    int64_t n = tt_data_samples(d, split);
    int32_t out[64];
    for (int64_t i = 0; i < n; i++) {
        CHECK_OK(tt_data_sample(d, split, epoch * (uint64_t)n + (uint64_t)i, out));
        for (int t = 1; t <= S; t++)
            if (out[t] != out[0] + t) CHECK(0, "window is not whole: %d, then %d", out[0], out[t]);
        order[i] = out[0];
    }
}

static bool all_different(const int *order, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            if (order[i] == order[k]) return false;
    return true;
}

static void every_window_once_an_epoch(void)
{
    enum { S = 10, V = 60000 };
    write_tokens("shard-1.bin", 10 * S + 1, 1000, V, V); /* 10 windows */
    write_tokens("shard-2.bin", 7 * S, 2000, V, V);      /* 6: the last one lacks a token */
    write_tokens("shard-3.bin", 3, 3000, V, V);          /* none */
    write_tokens("shard-4.bin", 5 * S + 4, 4000, V, V);  /* 5 */
    struct tt_data_options o = {.source = in_folder("shard-*.bin"), .seq_len = S, .val_fraction = 0.15, .seed = 1};
    struct tt_data *d = open_data(o);
    CHECK(tt_data_samples(d, TT_TRAIN) == 18 && tt_data_samples(d, TT_VAL) == 3);
    CHECK(tt_data_vocab(d) == 4000 + 5 * S + 4, "one more than the largest token");
    CHECK(tt_data_floor(d) < 0 && tt_data_learnable(d) && strstr(tt_data_describe(d), "4 files"));
    int first[18], second[18], val[3], other[18];
    order_of(d, TT_TRAIN, S, 0, first);
    order_of(d, TT_TRAIN, S, 1, second);
    order_of(d, TT_VAL, S, 0, val);
    CHECK(all_different(first, 18) && all_different(second, 18) && all_different(val, 3));
    CHECK(memcmp(first, second, sizeof first), "another epoch, another order");
    for (int i = 0; i < 3; i++) CHECK(val[i] >= 4000 + 2 * S, "held out: the last ones, not %d", val[i]);
    for (int i = 0; i < 18; i++) CHECK(first[i] < 4000 + 2 * S && first[i] % S == 0);
    int changes = 0;
    for (int i = 1; i < 18; i++) changes += first[i] / 1000 != first[i - 1] / 1000;
    CHECK(changes == 2, "one shard after the other");
    tt_data_close(d);
    o.seed = 2;
    d = open_data(o);
    order_of(d, TT_TRAIN, S, 0, other);
    CHECK(memcmp(first, other, sizeof first), "another seed, another order");
    int val_other[3];
    order_of(d, TT_VAL, S, 0, val_other);
    CHECK(!memcmp(val, val_other, sizeof val), "validation does not depend on the seed");
    tt_data_close(d);
}

static void validation_from_its_own_file(void)
{
    enum { S = 10, V = 5000 };
    const char *train = write_tokens("train.bin", 4 * S + 1, 0, V, V),
               *val = write_tokens("val.bin", 2 * S + 1, 1000, V, V);
    struct tt_data *d =
        open_data((struct tt_data_options){.source = train, .val_source = val, .seq_len = S, .val_fraction = 0.5});
    int order[4];
    CHECK(tt_data_samples(d, TT_TRAIN) == 4 && tt_data_samples(d, TT_VAL) == 2 && tt_data_vocab(d) == 1000 + 2 * S + 1);
    order_of(d, TT_VAL, S, 0, order);
    CHECK(order[0] >= 1000 && order[1] >= 1000 && order[0] != order[1]);
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = train, .seq_len = S, .val_fraction = 0.999, .vocab_size = V});
    CHECK(tt_data_samples(d, TT_TRAIN) == 1 && tt_data_samples(d, TT_VAL) == 3 && tt_data_vocab(d) == V);
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = train, .seq_len = S, .val_fraction = 0.001});
    CHECK(tt_data_samples(d, TT_TRAIN) == 3 && tt_data_samples(d, TT_VAL) == 1, "one window at least is held out");
    tt_data_close(d);
}

static void a_fraction_of_0_holds_out_nothing(void)
{
    enum { S = 10, V = 5000 };
    const char *path = write_tokens("all.bin", 4 * S + 1, 0, V, V), *one = write_tokens("one.bin", S + 1, 0, V, V);
    int order[4];
    int32_t sample[S + 1];
    struct tt_data *d = open_data((struct tt_data_options){.source = path, .seq_len = S});
    CHECK(tt_data_samples(d, TT_TRAIN) == 4 && tt_data_samples(d, TT_VAL) == 0 && !tt_data_validates(d));
    CHECK(strstr(tt_data_describe(d), "4 windows of 10 to train, none to validate"), "%s", tt_data_describe(d));
    order_of(d, TT_TRAIN, S, 0, order);
    CHECK(all_different(order, 4));
    CHECK_FAILS(tt_data_sample(d, TT_VAL, 0, sample), "no part of the data is held out");
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = one, .seq_len = S});
    CHECK(tt_data_samples(d, TT_TRAIN) == 1 && !tt_data_validates(d), "one window is enough");
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = path, .val_source = one, .seq_len = S});
    CHECK(tt_data_samples(d, TT_TRAIN) == 4 && tt_data_samples(d, TT_VAL) == 1 && tt_data_validates(d));
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = "builtin", .seq_len = S});
    CHECK(tt_data_validates(d), "of a stream nothing need be held out");
    tt_data_close(d);
    refused((struct tt_data_options){.source = one, .seq_len = S + 1},
            "a window takes at least 12 in one file; use a smaller --seq-len, or more data");
}

static void more_files_than_stay_open(void)
{
    enum { FILES = 300, S = 4, V = 60000 };
    for (int i = 0; i < FILES; i++) {
        char name[32];
        int32_t header[256] = {20240520, 1, S + 1};
        char file[1024 + 2 * (S + 1)];
        memcpy(file, header, sizeof header);
        for (int t = 0; t <= S; t++) memcpy(file + 1024 + 2 * t, &(uint16_t){(uint16_t)(100 * i + t)}, 2);
        snprintf(name, sizeof name, "many-%03d.bin", i);
        write_bytes(name, file, sizeof file);
    }
    struct tt_data *d =
        open_data((struct tt_data_options){.source = in_folder("many-*.bin"), .seq_len = S, .val_fraction = 0.01});
    CHECK(tt_data_samples(d, TT_TRAIN) == 297 && tt_data_samples(d, TT_VAL) == 3);
    int order[297], val[3];
    order_of(d, TT_TRAIN, S, 7, order);
    order_of(d, TT_VAL, S, 0, val);
    CHECK(all_different(order, 297));
    for (int i = 0; i < 3; i++) CHECK(val[i] >= 29700);
    tt_data_close(d);
}

static void text_files(void)
{
    static const char *const tokenizers[] = {"", "bytes", "chars", "bpe"};
    struct tt_text text = {0};
    for (int i = 0; i < 200; i++) tt_text_printf(&text, "line %d of caf\xc3\xa9 text\n", i);
    const char *path = write_bytes("text[1].txt", text.s, text.n);
    for (int i = 0; i < 4; i++) {
        struct tt_data *d = open_data((struct tt_data_options){.source = path,
                                                               .tokenizer = tokenizers[i],
                                                               .seq_len = 8,
                                                               .val_fraction = 0.1,
                                                               .vocab_size = i == 3 ? 300 : 0});
        const struct tt_tokenizer *t = tt_data_tokenizer(d);
        CHECK(!strcmp(tt_tokenizer_kind(t), i ? tokenizers[i] : "bytes"));
        CHECK(tt_data_vocab(d) == tt_tokenizer_size(t) &&
              tt_data_samples(d, TT_TRAIN) > 9 * tt_data_samples(d, TT_VAL) - 9);
        int32_t out[9];
        struct tt_text back = {0};
        CHECK_OK(tt_data_sample(d, TT_TRAIN, 3, out));
        tt_tokenizer_decode(t, out, 9, &back);
        CHECK(strstr(text.s, back.s), "\"%s\" is not in the text", back.s);
        tt_text_free(&back);
        CHECK_OK(tt_tokenizer_save(t, in_folder("tokenizer.json")));
        tt_data_close(d);
        d = open_data((struct tt_data_options){.source = path, .tokenizer = in_folder("tokenizer.json"), .seq_len = 8});
        int32_t again[9];
        CHECK_OK(tt_data_sample(d, TT_TRAIN, 3, again));
        tt_data_close(d);
    }
    const char *other = write_bytes("other.txt", "e line 0 of text, long enough", 29);
    struct tt_data *d =
        open_data((struct tt_data_options){.source = path, .val_source = other, .tokenizer = "bytes", .seq_len = 8});
    CHECK(tt_data_samples(d, TT_VAL) == 3);
    tt_data_close(d);
    refused((struct tt_data_options){.source = path, .val_source = other, .tokenizer = "chars"}, "U+002C at byte 16");
    refused((struct tt_data_options){.source = path, .tokenizer = "bpe", .vocab_size = 100}, "256 to");
    refused((struct tt_data_options){.source = path, .vocab_size = 120}, "token 195 at index 13");
    refused((struct tt_data_options){.source = path, .tokenizer = in_folder("no.json")}, "no.json");
    refused_file(write_bytes("latin1.txt", "caf\xe9", 4), "too few");
    refused((struct tt_data_options){.source = in_folder("latin1.txt"), .tokenizer = "chars"}, "0xe9 at offset 3");
    const char *tokens = write_tokens("tokens-for-text.bin", 100, 0, 256, 256);
    refused((struct tt_data_options){.source = tokens, .val_source = path}, "the training data are tokens");
    tt_text_free(&text);
}

static void token_files_with_a_tokenizer(void)
{
    struct tt_tokenizer *t = NULL;
    CHECK_OK(tt_tokenizer_bytes(&t));
    CHECK_OK(tt_tokenizer_save(t, in_folder("bytes.json")));
    tt_tokenizer_free(t);
    struct tt_data_options o = {
        .source = write_tokens("low.bin", 100, 0, 50, 256), .tokenizer = in_folder("bytes.json"), .seq_len = 8};
    struct tt_data *d = open_data(o);
    CHECK(tt_data_vocab(d) == 256 && tt_data_tokenizer(d));
    tt_data_close(d);
    write_tokens("low.bin", 300, 0, 300, 300);
    CHECK_FAILS(tt_data_open(&o, &d), "token 299 is in the data");
}

/* ---- bad data ---- */
static void wrong_options(void)
{
    refused((struct tt_data_options){.source = ""}, "no data named");
    refused((struct tt_data_options){.source = NULL}, "no data named");
    refused((struct tt_data_options){.source = "builtin", .seq_len = -1}, "--seq-len");
    refused((struct tt_data_options){.source = "builtin", .seq_len = INT64_MAX}, "--seq-len");
    refused((struct tt_data_options){.source = "builtin", .vocab_size = -1}, "--vocab-size");
    refused((struct tt_data_options){.source = "builtin", .val_fraction = 1}, "--val-fraction");
    refused((struct tt_data_options){.source = "builtin", .val_fraction = NAN}, "--val-fraction");
    refused((struct tt_data_options){.source = "builtin", .val_source = "random"},
            "cannot train on builtin and validate on random");
}

static void wrong_paths(void)
{
    refused_file(in_folder("missing.bin"), "there is no data file");
    refused_file(in_folder("nothing-*.bin"), "no file matches");
    refused_file(in_folder("nothing-*.bin"), "''");
    CHECK_OK(tt_make_dirs(in_folder("sub.bin")));
    refused_file(in_folder("sub.bin"), "is a folder");
    refused_file(in_folder("sub.b*"), "sub.bin is a folder");
    refused_file(write_bytes("empty.bin", "", 0), "is empty");
    CHECK(!mkfifo(in_folder("pipe.bin"), 0600));
    refused_file(in_folder("pipe.bin"), "not a regular file");
    write_bytes("mixed-1.txt", "text", 4);
    write_tokens("mixed-2.bin", 100, 0, 50, 50);
    refused_file(in_folder("mixed-*"), "mixed-2.bin, which matches");
    refused_file(in_folder("mixed-*"), "mixed-1.txt is text; give files of one kind");
    if (geteuid()) { /* root may read everything */
        CHECK(!chmod(write_tokens("closed.bin", 100, 0, 50, 50), 0));
        refused_file(in_folder("closed.bin"), "permissions");
    }
}

struct header {
    int32_t ints[256];
    uint16_t tokens[64];
};

static void wrong_headers(void)
{
    struct header h = {{20240520, 1, 64}, {0}};
    struct tt_data *d = open_data((struct tt_data_options){.source = write_bytes("h.bin", &h, sizeof h), .seq_len = 8});
    tt_data_close(d);
    refused_file(write_bytes("h.bin", &h, 1023), "less than the 1024 of a token file's header");
    refused_file(write_bytes("h.bin", &h, 3), "less than the 1024");
    refused_file(write_bytes("h.bin", &h, sizeof h - 1), "ends after 63 of them");
    refused_file(write_bytes("h.bin", &h, 1024), "ends after 0 of them");
    refused_file(write_bytes("h", &h, sizeof h - 1), "ends after 63 of them");
    h.ints[2] = 63;
    refused_file(write_bytes("h.bin", &h, sizeof h), "2 bytes follow");
    h.ints[2] = INT32_MAX;
    refused_file(write_bytes("h.bin", &h, sizeof h), "2147483647 tokens");
    h.ints[2] = -64;
    refused_file(write_bytes("h.bin", &h, sizeof h), "header is damaged");
    h.ints[2] = 0;
    refused_file(write_bytes("h.bin", &h, 1024), "has 0 tokens, too few");
    h = (struct header){{20240520, 2, 64}, {0}};
    refused_file(write_bytes("h.bin", &h, sizeof h), "version 2");
    h = (struct header){{20240801, 1, 64}, {0}};
    refused_file(write_bytes("h.bin", &h, sizeof h), "version 1");
    h = (struct header){{20240519, 1, 64}, {0}};
    refused_file(write_bytes("h.bin", &h, sizeof h), "begins with 20240519");
    refused_file(write_bytes("h.bin", &h, sizeof h), "20240520: uint16, 20240801: uint32");
    h = (struct header){{20240801, 7, 32}, {[40] = 0xffff, [41] = 0xffff}};
    refused_file(write_bytes("h.bin", &h, sizeof h), "token 4294967295 at index 20");
}

/* Any header is refused or read without harm. */
static void hostile_headers(void)
{
    int opened = 0;
    for (uint64_t i = 0; i < 400; i++) {
        struct header h = {{i % 2 ? 20240520 : 20240801, i % 2 ? 1 : 7, i % 2 ? 64 : 32}, {0}};
        uint64_t where = tt_random(1, i, 0) % 12;
        ((unsigned char *)&h)[where] ^= (unsigned char)(tt_random(1, i, 1) % 4 ? 1 << tt_random(1, i, 2) % 8 : 0);
        struct tt_data *d = NULL;
        tt_status st = tt_data_open(
            &(struct tt_data_options){.source = write_bytes("hostile", &h, sizeof h), .seq_len = 8, .vocab_size = 256},
            &d);
        int32_t out[9];
        if (!st) CHECK_OK(tt_data_sample(d, TT_TRAIN, i, out));
        opened += !st;
        tt_data_close(d);
        tt_status_free(st);
    }
    CHECK(opened > 50 && opened < 400, "%d opened", opened);
}

static void too_short(void)
{
    const char *path = write_tokens("short.bin", 16, 0, 10, 10);
    refused(
        (struct tt_data_options){.source = path, .val_fraction = 0.1},
        "has 16 tokens, too few: with --seq-len 8 one window to train on and one to validate on take at least 17");
    refused((struct tt_data_options){.source = path, .val_fraction = 0.1}, "or hold out nothing with --val-fraction 0");
    refused((struct tt_data_options){.source = path, .val_source = path, .seq_len = 16}, "a window takes at least 17");
    const char *longer = write_tokens("longer.bin", 17, 0, 10, 10);
    struct tt_data *d = open_data((struct tt_data_options){.source = longer, .seq_len = 8, .val_fraction = 0.1});
    CHECK(tt_data_samples(d, TT_TRAIN) == 1 && tt_data_samples(d, TT_VAL) == 1);
    tt_data_close(d);
    struct tt_data_options o = {.source = longer, .val_source = path, .seq_len = 16};
    CHECK_FAILS(tt_data_open(&o, &d), "short.bin has 16 tokens");
}

static void tokens_above_the_vocabulary(void)
{
    const char *path = write_tokens("vocab.bin", 100, 0, 65, 65);
    refused((struct tt_data_options){.source = path, .vocab_size = 64}, "token 64 at index 64 of");
    refused((struct tt_data_options){.source = path, .vocab_size = 64}, "at least 65");
    struct tt_data *d = open_data((struct tt_data_options){.source = path, .vocab_size = 65, .seq_len = 8});
    tt_data_close(d);
    struct tt_data_options o = {
        .source = write_tokens("low.bin", 100, 0, 9, 9), .val_source = path, .seq_len = 8, .vocab_size = 64};
    CHECK_FAILS(tt_data_open(&o, &d), "vocab.bin");
}

/* No message proposes a --vocab-size that the option would refuse. */
static void tokens_above_every_vocabulary(void)
{
    enum { MOST = TT_VOCAB_MOST };
    const char *last = write_tokens("last.bin", 100, MOST - 100, MOST, MOST),
               *beyond = write_tokens("beyond.bin", 100, MOST - 99, MOST + 1, MOST + 1);
    refused((struct tt_data_options){.source = last, .vocab_size = 64}, "at least 4194304, or other data");
    struct tt_data *d = open_data((struct tt_data_options){.source = last, .seq_len = 8});
    CHECK(tt_data_vocab(d) == MOST);
    tt_data_close(d);
    refused((struct tt_data_options){.source = beyond, .vocab_size = 64},
            "they need 4194305, and a model has at most 4194304");
    refused((struct tt_data_options){.source = beyond, .vocab_size = MOST}, "token 4194304 at index 99 of");
    refused((struct tt_data_options){.source = beyond},
            "beyond.bin needs a vocabulary of 4194305, and a model has at most 4194304 tokens");
}

static void shortened_while_in_use(void)
{
    const char *path = write_tokens("shrinks.bin", 1000, 0, 50, 50);
    struct tt_data *d = open_data((struct tt_data_options){.source = path, .seq_len = 8});
    int32_t out[9];
    CHECK_OK(tt_data_sample(d, TT_TRAIN, 0, out));
    CHECK(!truncate(path, 1100));
    int failed = 0;
    for (uint64_t i = 0; i < 100; i++) {
        tt_status st = tt_data_sample(d, TT_TRAIN, i, out);
        if (st) CHECK(strstr(st->text, "shorter") && strstr(st->text, "shrinks.bin"), "%s", st->text);
        failed += st != TT_OK;
        tt_status_free(st);
    }
    CHECK(failed > 80, "%d of 100 failed", failed);
    tt_data_close(d);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(random_tokens);
    TEST(both_formats_come_back);
    TEST(every_window_once_an_epoch);
    TEST(validation_from_its_own_file);
    TEST(a_fraction_of_0_holds_out_nothing);
    TEST(more_files_than_stay_open);
    TEST(text_files);
    TEST(token_files_with_a_tokenizer);
    TEST(wrong_options);
    TEST(wrong_paths);
    TEST(wrong_headers);
    TEST(hostile_headers);
    TEST(too_short);
    TEST(tokens_above_the_vocabulary);
    TEST(tokens_above_every_vocabulary);
    TEST(shortened_while_in_use);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
