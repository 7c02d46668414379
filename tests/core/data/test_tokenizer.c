/* Tokenizers: texts and files round-trip, and hostile files are refused. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/data/tokenizers/tokenizer_kinds.h"
#include "tests/test.h"

static char folder[] = "/tmp/tt-tokenizer-XXXXXX";
static char path[64];

static const char story[] =
    "The dog sees the cat. The cat sees the other dog, the old one!\n\n  And then the dogs, all 42 of "
    "them, see the cats: caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x95.\n";

static void write_file(const char *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(data, 1, n, f) == n && !fclose(f));
}

static struct tt_tokenizer *trained(const char *text, int64_t n, int64_t size)
{
    struct tt_tokenizer *t = NULL;
    CHECK_OK(tt_tokenizer_train(text, n, size, NULL, NULL, &t));
    return t;
}

/* Checks that decode(encode(text)) is text. Returns the number of tokens. */
static int64_t round_trip(const struct tt_tokenizer *t, const char *text, int64_t n)
{
    int32_t *tokens = NULL;
    int64_t count = 0;
    struct tt_text back = {0};
    CHECK_OK(tt_tokenizer_encode(t, text, n, &tokens, &count));
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= tt_tokenizer_size(t)) CHECK(0, "token %d", tokens[i]);
    tt_tokenizer_decode(t, tokens, count, &back);
    CHECK(back.n == (size_t)n && (!n || !memcmp(back.s, text, (size_t)n)), "%lld bytes, %zu came back", (long long)n,
          back.n);
    tt_text_free(&back);
    free(tokens);
    return count;
}

static char *random_bytes(int64_t n, uint64_t seed, int alphabet)
{
    char *s = malloc((size_t)n + 1);
    for (int64_t i = 0; i < n; i++) s[i] = (char)(tt_random(seed, 1, (uint64_t)i) % (uint64_t)alphabet);
    return s;
}

static void bytes_round_trip(void)
{
    struct tt_tokenizer *t = NULL;
    CHECK_OK(tt_tokenizer_bytes(&t));
    CHECK(tt_tokenizer_size(t) == 256 && !strcmp(tt_tokenizer_kind(t), "bytes"));
    char *noise = random_bytes(1000, 1, 256);
    CHECK(round_trip(t, noise, 1000) == 1000);
    CHECK(round_trip(t, "", 0) == 0);
    free(noise);
    tt_tokenizer_free(t);
}

static void tokens_out_of_range_become_replacement_characters(void)
{
    struct tt_tokenizer *t = NULL;
    struct tt_text out = {0};
    CHECK_OK(tt_tokenizer_bytes(&t));
    tt_tokenizer_decode(t, (int32_t[]){'a', 256, -1, 'b'}, 4, &out);
    CHECK(!strcmp(out.s, "a\xef\xbf\xbd\xef\xbf\xbd"
                         "b"));
    tt_text_free(&out);
    tt_tokenizer_free(t);
}

static void chars_are_sorted_code_points(void)
{
    struct tt_tokenizer *t = NULL;
    const char text[] = "b\xe2\x82\xac"
                        "a\xc3\xa9"
                        "b\xf0\x9f\x90\x95";
    CHECK_OK(tt_tokenizer_chars(text, sizeof text - 1, &t));
    CHECK(tt_tokenizer_size(t) == 5);
    int32_t *tokens = NULL;
    int64_t n = 0;
    CHECK_OK(tt_tokenizer_encode(t, text, sizeof text - 1, &tokens, &n));
    CHECK(n == 6 && !memcmp(tokens, (int32_t[]){1, 3, 0, 2, 1, 4}, 6 * sizeof *tokens));
    free(tokens);
    CHECK(round_trip(t, text, sizeof text - 1) == 6);
    CHECK_FAILS(tt_tokenizer_encode(t, "abc", 3, &tokens, &n), "U+0063 at byte 2");
    CHECK_FAILS(tt_tokenizer_encode(t, "ab\xff", 3, &tokens, &n), "0xff at offset 2");
    tt_tokenizer_free(t);

    CHECK_OK(tt_tokenizer_chars("a\0b", 3, &t));
    CHECK(tt_tokenizer_size(t) == 3 && round_trip(t, "b\0\0a", 4) == 4);
    tt_tokenizer_free(t);
}

static void chars_refuse_what_is_not_utf8(void)
{
    struct tt_tokenizer *t = NULL;
    static const struct {
        const char *text;
        int n;
        const char *words;
    } bad[] = {
        {"abc\x80", 4, "offset 3"},          {"\xc3", 1, "offset 0"},         {"a\xc0\xaf", 3, "offset 1"},
        {"\xed\xa0\x80", 3, "offset 0"},     {"\xe0\x80\xaf", 3, "offset 0"}, {"\xf5\x80\x80\x80", 4, "offset 0"},
        {"\xf4\x90\x80\x80", 4, "offset 0"}, {"ab\xe2\x82", 4, "offset 2"},   {"", 0, "some text"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(tt_tokenizer_chars(bad[i].text, bad[i].n, &t), bad[i].words);
}

static void words_come_and_go(void)
{
    static const char *const list[] = {".", "the", "dog", "?", "them", ","};
    struct tt_tokenizer *t = NULL;
    int32_t *tokens = NULL;
    int64_t n = 0;
    CHECK_OK(tt_tokenizer_words(list, 6, &t));
    CHECK_OK(tt_tokenizer_encode(t, "  the dog. them , the\n\tdog ?.", 29, &tokens, &n));
    CHECK(n == 9 && !memcmp(tokens, (int32_t[]){1, 2, 0, 4, 5, 1, 2, 3, 0}, 9 * sizeof *tokens));
    struct tt_text out = {0};
    tt_tokenizer_decode(t, tokens, 5, &out); /* in two parts, as during generation */
    tt_tokenizer_decode(t, tokens + 5, n - 5, &out);
    CHECK(!strcmp(out.s, "the dog. them, the dog?."), "%s", out.s);
    tt_text_free(&out);
    free(tokens);
    CHECK_FAILS(tt_tokenizer_encode(t, "the cat", 7, &tokens, &n), "\"cat\" at byte 4");
    CHECK_FAILS(tt_tokenizer_encode(t, "the dog!", 8, &tokens, &n), "\"dog!\" at byte 4");
    CHECK_FAILS(tt_tokenizer_encode(t, "th", 2, &tokens, &n), "\"th\" at byte 0");
    CHECK_FAILS(tt_tokenizer_encode(t, "the\0", 4, &tokens, &n), "at byte 3");
    CHECK(!tokens);
    tt_tokenizer_free(t);
    CHECK_FAILS(tt_tokenizer_words((const char *[]){"a", "b", "a"}, 3, &t), "\"a\" is in the tokenizer twice");
    CHECK_FAILS(tt_tokenizer_words((const char *[]){"a", ""}, 2, &t), "word 1");
    CHECK_FAILS(tt_tokenizer_words((const char *[]){"a b"}, 1, &t), "word 0");
    CHECK_FAILS(tt_tokenizer_words(list, 0, &t), "1 to");
}

/* The pair "ab" occurs 6 times, and so on: the merges can be counted by hand. */
static void bpe_learns_the_most_frequent_pair(void)
{
    const char text[] = "ababab c ab c abab c";
    struct tt_tokenizer *t = trained(text, sizeof text - 1, 259);
    CHECK(tt_tokenizer_size(t) == 259);
    CHECK(t->merges[0].left == 'a' && t->merges[0].right == 'b'); /* 6 */
    CHECK(t->merges[1].left == ' ' && t->merges[1].right == 'c'); /* 3, like the next; the smaller tokens first */
    CHECK(t->merges[2].left == 256 && t->merges[2].right == 256);
    CHECK(round_trip(t, text, sizeof text - 1) < 20);
    tt_tokenizer_free(t);
}

/* The reference recounts every pair before each merge, on the text itself. */
static void bpe_equals_the_slow_way(void)
{
    enum { N = 3000, MERGES = 150 };
    char *text = random_bytes(N, 5, 6);
    for (int i = 0; i < N; i++) text[i] = "ab c.d"[(int)text[i]];
    struct tt_tokenizer *t = trained(text, N, 256 + MERGES);
    static int32_t tokens[N];
    static int first[N]; /* whether a piece begins here */
    int n = N;
    for (int at = 0; at < N; at += tt_bpe_piece(text + at, N - at)) first[at] = 1;
    for (int i = 0; i < N; i++) tokens[i] = (unsigned char)text[i];
    static int count[256 + MERGES][256 + MERGES];
    bool same = true;
    for (int m = 0; m < MERGES; m++) {
        memset(count, 0, sizeof count);
        int left = 0, right = 0;
        for (int i = 0; i + 1 < n; i++)
            if (!first[i + 1]) count[tokens[i]][tokens[i + 1]]++;
        for (int a = 0; a < 256 + m; a++)
            for (int b = 0; b < 256 + m; b++)
                if (count[a][b] > count[left][right]) left = a, right = b;
        same = same && t->merges[m].left == left && t->merges[m].right == right;
        int kept = 0;
        for (int i = 0; i < n; i++, kept++) {
            bool here = i + 1 < n && !first[i + 1] && tokens[i] == left && tokens[i + 1] == right;
            first[kept] = first[i];
            tokens[kept] = here ? 256 + m : tokens[i];
            i += here;
        }
        n = kept;
    }
    CHECK(same);
    int32_t *encoded = NULL;
    int64_t length = 0;
    CHECK_OK(tt_tokenizer_encode(t, text, N, &encoded, &length));
    CHECK(length == n && !memcmp(encoded, tokens, (size_t)n * sizeof *tokens), "encoding repeats the training");
    free(encoded);
    free(text);
    tt_tokenizer_free(t);
}

static void bpe_round_trips_anything(void)
{
    struct tt_tokenizer *t = trained(story, sizeof story - 1, 300);
    CHECK(round_trip(t, story, sizeof story - 1) < (int64_t)sizeof story - 40);
    for (uint64_t seed = 0; seed < 20; seed++) {
        char *noise = random_bytes(5000, seed, seed % 2 ? 256 : 40);
        round_trip(t, noise, 1 + (int64_t)seed * 250);
        free(noise);
    }
    tt_tokenizer_free(t);
    char *same = malloc(100000);
    memset(same, 'x', 100000);
    t = trained(same, 100000, 1000); /* a piece is finite, so the merges run out */
    CHECK(tt_tokenizer_size(t) > 256 && tt_tokenizer_size(t) < 300, "%lld", (long long)tt_tokenizer_size(t));
    round_trip(t, same, 99999);
    tt_tokenizer_free(t);
    memset(same, 0xe4, 100000);
    for (int i = 0; i < 100000; i += 3) memcpy(same + i, "\xe4\xb8\xad", i + 3 <= 100000 ? 3 : 1);
    CHECK(tt_bpe_piece(same, 100000) % 3 == 0, "a piece ends between characters");
    t = trained(same, 100000, 260);
    round_trip(t, same, 100000);
    tt_tokenizer_free(t);
    free(same);
}

static void count_calls(int64_t done, int64_t total, void *arg)
{
    int64_t *calls = arg;
    CHECK(done == ++*calls && total == 10);
}

static void bpe_training_knows_its_limits(void)
{
    struct tt_tokenizer *t = NULL;
    CHECK_FAILS(tt_tokenizer_train("abc", 3, 255, NULL, NULL, &t), "256 to");
    CHECK_FAILS(tt_tokenizer_train("abc", 3, (int64_t)1 << 40, NULL, NULL, &t), "--vocab-size");
    t = trained("", 0, 300);
    CHECK(tt_tokenizer_size(t) == 256);
    tt_tokenizer_free(t);
    t = trained("ab", 2, 300);
    CHECK(tt_tokenizer_size(t) == 257);
    tt_tokenizer_free(t);
    int64_t calls = 0;
    CHECK_OK(tt_tokenizer_train(story, sizeof story - 1, 266, count_calls, &calls, &t));
    CHECK(calls == 10);
    tt_tokenizer_free(t);
}

static void training_is_quick(void)
{
    static const char *const stems[] = {"run", "walk", "sing",   "token",  "train",
                                        "gpu", "wave", "kernel", "memory", "layer"};
    struct tt_text text = {0};
    for (uint64_t i = 0; text.n < 500000; i++)
        tt_text_printf(&text, " %s%s%d", stems[tt_random(1, 1, i) % 10], stems[tt_random(1, 2, i) % 10],
                       (int)(tt_random(1, 3, i) % 1000));
    struct tt_tokenizer *t = trained(text.s, (int64_t)text.n, 1000);
    CHECK(tt_tokenizer_size(t) == 1000);
    CHECK(round_trip(t, text.s, (int64_t)text.n) < (int64_t)text.n / 3);
    tt_tokenizer_free(t);
    tt_text_free(&text);
}

static void agree_on_what_tokens_mean(void)
{
    struct tt_tokenizer *bytes, *chars, *longer, *bpe, *words;
    const char text[] = "abababab cdcdcdcd";
    CHECK_OK(tt_tokenizer_bytes(&bytes));
    CHECK_OK(tt_tokenizer_chars("abc", 3, &chars));
    CHECK_OK(tt_tokenizer_chars("abcd", 4, &longer));
    CHECK_OK(tt_tokenizer_train(text, sizeof text - 1, 258, NULL, NULL, &bpe));
    CHECK_OK(tt_tokenizer_words((const char *const[]){".", "a", "b"}, 3, &words));
    CHECK(tt_tokenizers_agree(bytes, bytes) && tt_tokenizers_agree(chars, longer) &&
          tt_tokenizers_agree(longer, chars));
    CHECK(tt_tokenizers_agree(bytes, bpe)); /* its first 256 tokens are the bytes */
    CHECK(!tt_tokenizers_agree(bytes, chars) && !tt_tokenizers_agree(words, bpe) && !tt_tokenizers_agree(words, chars));
    struct tt_tokenizer *all[] = {bytes, chars, longer, bpe, words};
    for (int i = 0; i < 5; i++) tt_tokenizer_free(all[i]);
}

static void files_come_back(void)
{
    struct tt_tokenizer *kinds[4] = {0};
    CHECK_OK(tt_tokenizer_bytes(&kinds[0]));
    CHECK_OK(tt_tokenizer_words((const char *[]){".", "caf\xc3\xa9", "\"\\"}, 3, &kinds[1]));
    CHECK_OK(tt_tokenizer_chars(story, sizeof story, &kinds[2])); /* with the 0 at its end */
    kinds[3] = trained(story, sizeof story - 1, 300);
    for (int i = 0; i < 4; i++) {
        struct tt_tokenizer *t = NULL;
        CHECK_OK(tt_tokenizer_save(kinds[i], path));
        CHECK_OK(tt_tokenizer_load(path, &t));
        CHECK(t && tt_tokenizer_size(t) == tt_tokenizer_size(kinds[i]) && t->kind == kinds[i]->kind);
        for (int32_t token = 0; t && token < tt_tokenizer_size(t); token++) {
            struct tt_text a = {0}, b = {0};
            tt_tokenizer_decode(kinds[i], &token, 1, &a);
            tt_tokenizer_decode(t, &token, 1, &b);
            CHECK(a.n == b.n && !memcmp(a.s, b.s, a.n));
            tt_text_free(&a);
            tt_text_free(&b);
        }
        if (t && i != 1) CHECK(round_trip(t, story, sizeof story - 1) == round_trip(kinds[i], story, sizeof story - 1));
        tt_tokenizer_free(t);
        tt_tokenizer_free(kinds[i]);
    }
}

#define HEAD "{\"format\": \"tt-tokenizer\", \"version\": 1, \"kind\": "

static void bad_files_are_refused(void)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "usable"},
        {"[", "usable"},
        {"[]", "format"},
        {"{}", "format"},
        {"{\"format\": 7}", "format"},
        {"{\"format\": \"tt-tokenizer\", \"version\": 2, \"kind\": \"bytes\"}", "version"},
        {"{\"format\": \"tt-tokenizer\", \"version\": 1}", "kind"},
        {HEAD "\"sentencepiece\"}", "kind \"sentencepiece\""},
        {HEAD "\"bpe\"}", "merges"},
        {HEAD "\"bpe\", \"merges\": {}}", "merges"},
        {HEAD "\"bpe\", \"merges\": [1, 2]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, 2, 3]]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, 256]]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, -1]]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, 1.5]]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, \"2\"]]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, 2], [1, 2]]}", "as merge 0"},
        {HEAD "\"bpe\", \"merges\": [[1, 1e300]]}", "merge 0"},
        {HEAD "\"bpe\", \"merges\": [[97,97],[256,256],[257,257],[258,258],[259,259],[260,260],[261,261],[262,262]]}",
         "more than 128 bytes"},
        {HEAD "\"chars\", \"chars\": []}", "chars"},
        {HEAD "\"chars\", \"chars\": [97, 97]}", "character 1"},
        {HEAD "\"chars\", \"chars\": [98, 97]}", "character 1"},
        {HEAD "\"chars\", \"chars\": [55296]}", "character 0"},
        {HEAD "\"chars\", \"chars\": [1114112]}", "character 0"},
        {HEAD "\"words\", \"words\": \"a\"}", "words"},
        {HEAD "\"words\", \"words\": []}", "words"},
        {HEAD "\"words\", \"words\": [\"a\", 1]}", "word 1"},
        {HEAD "\"words\", \"words\": [\"a\", \"\"]}", "word 1"},
        {HEAD "\"words\", \"words\": [\"a\", \"b c\"]}", "word 1"},
        {HEAD "\"words\", \"words\": [\"a\", \"a\"]}", "twice"},
    };
    struct tt_tokenizer *t = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(bad[i].text, strlen(bad[i].text));
        CHECK_FAILS(tt_tokenizer_load(path, &t), bad[i].words);
        CHECK_FAILS(tt_tokenizer_load(path, &t), path);
    }
    CHECK_FAILS(tt_tokenizer_load("/nonexistent/tokenizer.json", &t), "/nonexistent");
    CHECK(!t);
}

/* A good file with bytes changed or cut off is loaded or refused. A loaded one is usable. */
static void damaged_files_do_no_harm(void)
{
    struct tt_tokenizer *good = trained(story, sizeof story - 1, 270);
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(tt_tokenizer_save(good, path));
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &size));
    int loaded = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct tt_tokenizer *t = NULL;
        char kept[2] = {0};
        size_t at = tt_random(9, i, 0) % size, n = i % 3 ? size : at;
        kept[0] = text[at];
        text[at] = "0123456789,[]{}\" -."[tt_random(9, i, 1) % 19];
        write_file(text, n);
        tt_status st = tt_tokenizer_load(path, &t);
        text[at] = kept[0];
        if (!st && t) round_trip(t, story, sizeof story - 1);
        loaded += !st;
        tt_status_free(st);
        tt_tokenizer_free(t);
    }
    CHECK(loaded > 0 && loaded < 300, "%d loaded", loaded);
    free(text);
    tt_tokenizer_free(good);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    TEST(bytes_round_trip);
    TEST(tokens_out_of_range_become_replacement_characters);
    TEST(chars_are_sorted_code_points);
    TEST(chars_refuse_what_is_not_utf8);
    TEST(words_come_and_go);
    TEST(bpe_learns_the_most_frequent_pair);
    TEST(bpe_equals_the_slow_way);
    TEST(bpe_round_trips_anything);
    TEST(bpe_training_knows_its_limits);
    TEST(training_is_quick);
    TEST(agree_on_what_tokens_mean);
    TEST(files_come_back);
    TEST(bad_files_are_refused);
    TEST(damaged_files_do_no_harm);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
