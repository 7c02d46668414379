/* A text read in blocks and encoded by several threads has the same tokens as when encoded at once, and messages name
 * the right place. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/core/data/text_fixture.h"

static const char *write_story(const char *name, int64_t n)
{
    static const char *const words[] = {"the ", "dog", " ran\n", "\n\n", "  ", "é", "10\n\n  x", "\n\t", "'s\n",
                                        "\r\n!",
                                        "\xc2\xa0", "\n\xc2\xa0y", "(a)\n", "longer\nwords", "日本\n"};
    struct tt_text text = {0};
    for (uint64_t i = 0; (int64_t)text.n < n; i++)
        tt_text_puts(&text, words[tt_random(7, 0, i) % (sizeof words / sizeof *words)]);
    const char *path = write_bytes(name, text.s, text.n);
    tt_text_free(&text);
    return path;
}

/* Split into spans and encoded by several threads, a text has the same tokens as when encoded at once. */
static void same_tokens(const char *path, const struct tt_tokenizer *t, int threads)
{
    char *text;
    size_t n;
    int32_t *whole;
    int64_t count;
    struct list parts = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .threads = threads};
    CHECK_OK(tt_file_read(path, 64 << 20, &text, &n));
    CHECK_OK(tt_tokenizer_encode(t, text, (int64_t)n, &whole, &count));
    CHECK_OK(tt_text_tokens(&w, t, take_list, &parts));
    CHECK(parts.n == count && !memcmp(parts.tokens, whole, (size_t)count * sizeof *whole), "%s, %d threads",
          tt_tokenizer_kind(t), threads);
    free(parts.tokens);
    free(whole);
    free(text);
}

/* Lines with Windows line ends, after words and after punctuation. */
static const char *write_crlf_story(const char *name, int64_t n)
{
    static const char *const words[] = {"the dog ran\r\n", "and stopped.\r\n", "(why?)\r\n", "10\r\n", "日本。\r\n",
                                        "  far away \r\n", "\r\n", "'s\r\n", "one two "};
    struct tt_text text = {0};
    for (uint64_t i = 0; (int64_t)text.n < n; i++)
        tt_text_puts(&text, words[tt_random(8, 0, i) % (sizeof words / sizeof *words)]);
    const char *path = write_bytes(name, text.s, text.n);
    tt_text_free(&text);
    return path;
}

/* A plain text is read in spans, so the memory does not grow with its size. */
static void is_cut(const char *path, const struct tt_tokenizer *t)
{
    struct tt_text_reader *r = NULL;
    struct tt_text_block b = {0};
    struct tt_text_options options = {.cut = tt_tokenizer_line_cut(t)};
    CHECK_OK(tt_text_reader_open(&path, 1, &options, &r));
    CHECK_OK(tt_text_reader_next(r, &b));
    CHECK(b.count > 1, "%s, %s", path, tt_tokenizer_kind(t));
    for (int64_t i = 0; i < b.count; i++) CHECK(b.spans[i].n < 100000, "a span of %lld bytes", (long long)b.spans[i].n);
    tt_text_block_free(&b);
    tt_text_reader_close(r);
}

/* Texts of several spans, with one thread and with more, and texts of several blocks. */
static void cuts_and_threads_change_nothing(void)
{
    static const char *const files[] = {"tests/fixtures/tokenizers/gpt2/tokenizer.json",
                                        "tests/fixtures/tokenizers/llama3/tokenizer.json",
                                        "tests/fixtures/tokenizers/qwen2/tokenizer.json",
                                        "tests/fixtures/tokenizers/smollm/tokenizer.json"};
    const char *path = write_story("story.txt", 150000), *blocks = write_story("blocks.txt", 1100000);
    const char *crlf = write_crlf_story("crlf.txt", 100000);
    struct tt_text_work w = {.paths = &path, .count = 1};
    struct tt_tokenizer *bytes = NULL;
    char *first = NULL, *again = NULL;
    CHECK_OK(tt_tokenizer_bytes(&bytes));
    same_tokens(blocks, bytes, 3);
    tt_tokenizer_free(bytes);
    for (int threads = 1; threads <= 5; threads += 2) {
        struct tt_tokenizer *t = NULL;
        size_t n = 0, m = 0;
        w.threads = threads;
        CHECK_OK(tt_text_tokenizer(&w, "bpe", 300, &t));
        CHECK(tt_tokenizer_size(t) == 300);
        CHECK_OK(tt_tokenizer_save(t, in_folder(threads == 1 ? "first.json" : "again.json")));
        CHECK_OK(tt_file_read(in_folder("first.json"), 1 << 20, &first, &n));
        CHECK_OK(tt_file_read(in_folder(threads == 1 ? "first.json" : "again.json"), 1 << 20, &again, &m));
        CHECK(n == m && !memcmp(first, again, n), "%d threads learn other merges", threads);
        same_tokens(path, t, threads);
        same_tokens(crlf, t, threads);
        is_cut(crlf, t);
        tt_tokenizer_free(t);
        free(first);
        free(again);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct tt_tokenizer *t = NULL;
        CHECK_OK(tt_tokenizer_load(files[i], &t));
        same_tokens(path, t, 3);
        same_tokens(crlf, t, 3);
        is_cut(crlf, t);
        tt_tokenizer_free(t);
    }
}

static void places_in_messages(void)
{
    struct tt_text text = {0};
    struct tt_tokenizer *t = NULL;
    struct list none = {0};
    for (int i = 0; i < 40000; i++) tt_text_puts(&text, "line\n");
    tt_text_puts(&text, "caf\xe9\n");
    const char *path = write_bytes("latin1.txt", text.s, text.n);
    struct tt_text_work w = {.paths = &path, .count = 1, .threads = 2};
    CHECK_FAILS(tt_text_tokenizer(&w, "chars", 0, &t), "latin1.txt: byte 0xe9 at offset 200003 is not UTF-8");
    CHECK_OK(tt_tokenizer_chars("line\ncaf", 8, &t));
    CHECK_FAILS(tt_text_tokens(&w, t, take_list, &none), "latin1.txt: byte 0xe9 at offset 200003 is not UTF-8");
    path = write_text("odd.jsonl", "{\"text\":\"line\"}\n{\"text\":\"lineX\"}\n");
    tt_tokenizer_free(t);
    CHECK_OK(tt_tokenizer_chars("line\0", 5, &t));
    CHECK_FAILS(tt_text_tokens(&w, t, take_list, &none), "odd.jsonl:2: the character U+0058 at byte 4");
    tt_tokenizer_free(t);
    tt_text_free(&text);
    free(none.tokens);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(cuts_and_threads_change_nothing);
    TEST(places_in_messages);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
