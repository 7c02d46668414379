/* Real-world text: JSON Lines, pairs of prompt and completion, globs and folders; and every way in which they can be
 * wrong. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/data/data.h"
#include "core/data/token_file.h"
#include "tests/core/data/text_fixture.h"

/* ---- JSON Lines ---- */

static void documents_are_read(void)
{
    READS(write_text("a.jsonl", "{\"text\":\"one\"}\n{\"id\":2,\"text\":\"two\"}\n"), "one\0two\0");
    READS(write_text("a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"no line end\"}"), "one\0no line end\0");
    READS(write_text("a.jsonl", "\xef\xbb\xbf{\"text\":\"mark\"}\r\n\r\n  \n{\"text\":\"\"}\r\n"), "mark\0\0");
    READS(write_text("a.jsonl", "{\"text\":\"\\u00e9\\ud83d\\ude00\\n\\t\\\"\\\\\\/\"}"),
          "\xc3\xa9\xf0\x9f\x98\x80\n\t\"\\/\0");
    READS(write_text("a.ndjson", "{\"text\":\"first\",\"text\":\"last counts\"}"), "last counts\0");
    READS(write_text("a.txt", "{\"text\":\"plain\"}\n"), "{\"text\":\"plain\"}\n");

    const char *path = write_text("a.txt", "{\"body\":\"by its field\"}\n");
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options.text_field = "body"};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == 13 && !memcmp(got.s, "by its field", 13) && w.totals.documents == 1 && w.totals.bytes == 12);
    tt_text_free(&got);
}

static void bad_lines_are_named(void)
{
    static const struct {
        const char *line, *words;
    } bad[] = {{"{\"txt\":\"a\",\"id\":1}",
                "a.jsonl:2: the object has no field \"text\", nor both \"prompt\" and \"completion\", "
                "but \"txt\", \"id\""},
               {"{}", "\"completion\"; name the right one by --text-field"},
               {"[1]", "a.jsonl:2: the line is JSON, but not an object"},
               {"{\"text\":null}", "a.jsonl:2: the field \"text\" is null, not text"},
               {"{\"text\":[\"a\"]}", "is a list, not text"},
               {"{\"text\":[{\"role\":\"user\"}]}", "named by --prompt-field and --completion-field"},
               {"{\"text\":\"a\",\"score\":NaN}", "JSON has no NaN"},
               {"{\"text\":\"\\ud800\"}", "a.jsonl:2: column 10: half of a surrogate pair"},
               {"{\"text\":\"\\udc00\\ud800\"}", "half of a surrogate pair"},
               {"{\"text\":\"\\u0000\"}", "a.jsonl:2: column 10: \\u0000"},
               {"{\"text\":\"\xff\"}", "a.jsonl:2: column 10: invalid UTF-8"},
               {"{\"text\":\"\x01\"}", "control character"},
               {"{\"text\":\"a\"", "expected ',' or '}'"},
               {"{\"text\":\"a\"} {}", "unexpected text after the value"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"text\":\"good\"}\n%s\n{\"text\":\"also\"}\n", bad[i].line);
        const char *path = write_text("a.jsonl", text);
        struct tt_text got = {0};
        struct tt_text_work w = {.paths = &path, .count = 1};
        CHECK_FAILS(read_as_bytes(&w, &got), bad[i].words);
        CHECK_FAILS(read_as_bytes(&w, &got), "--skip-bad-lines");
        w.options.skip_bad = true;
        CHECK_OK(read_as_bytes(&w, &got));
        CHECK(got.n == 10 && !memcmp(got.s, "good\0also", 10) && w.totals.skipped == 1 && w.totals.documents == 2);
        CHECK(strstr(w.totals.first_skipped, "a.jsonl:2") && !strstr(w.totals.first_skipped, "--skip-bad-lines"), "%s",
              w.totals.first_skipped);
        tt_text_free(&got);
    }
    refuses(write_bytes("a.jsonl", "{\"text\":\"a\0b\"}", 14), "a.jsonl:1: column 11: control character");
}

static void all_lines_bad(void)
{
    const char *path = write_text("a.jsonl", "{\"question\":\"q\",\"answer\":\"a\"}\n{\"question\":1}\n");
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options.skip_bad = true};
    CHECK_FAILS(read_as_bytes(&w, &got), "every line is bad, so --skip-bad-lines leaves out all 2 of them; the first:");
    CHECK_FAILS(read_as_bytes(&w, &got), "a.jsonl:1: the object has no field");
    refuses(path, "but \"question\", \"answer\"; name the right one by --text-field, or the two of a pair by "
                  "--prompt-field and --completion-field");
    tt_text_free(&got);
}

static void other_files_are_named(void)
{
    refuses(write_bytes("u.txt", "\xff\xfe" "x\0y\0", 6), "u.txt is text in UTF-16, and tt reads UTF-8; convert it");
    refuses(write_bytes("u.jsonl", "\xfe\xff\0{\0}", 6), "text in UTF-16");
    refuses(write_bytes("a.jsonl.bz2", "BZh91AY&SY....", 14), "a.jsonl.bz2 is packed with bzip2, not text; unpack it");
    refuses(write_bytes("a.xz", "\xfd" "7zXZ\0..", 8), "xz -dc FILE >NEW");
    refuses(write_bytes("a.zip", "PK\3\4....", 8), "a zip archive, not text");
    char tar[512] = "book.txt";
    memcpy(tar + 257, "ustar", 6);
    refuses(write_bytes("a.tar", tar, sizeof tar), "a.tar is a tar archive, not text; unpack it: tar -xf FILE");
    memset(tar, 'x', sizeof tar);
    memcpy(tar + 257, "ustar", 5);
    tar[sizeof tar - 1] = 0;
    READS(write_text("tar.txt", tar), tar);
    refuses(write_text("a.pdf", "%PDF-1.7\n"), "a.pdf is a PDF, not text; make text of it: pdftotext");
    refuses(write_bytes("a.parquet", "PAR1\x15\4\x15", 7), "to_json('NEW.jsonl'");
    refuses(write_bytes("a.gguf", "GGUF\3\0\0\0\1", 9), "tt import FILE --out DIR");
    refuses(write_text("a.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"),
            "a.txt is a Git LFS pointer, not text; fetch the file itself: git lfs pull");
    refuses(write_bytes("u.txt", "\xff\xfe\0\0a\0\0\0", 8), "text in UTF-32");
    refuses(write_text("l.jsonl", "[{\"text\": \"one\"},\n {\"text\": \"two\"}]\n"), "one JSON list, not JSON Lines");
    refuses(write_text("l.json", "\xef\xbb\xbf [\r\n  {\"text\": \"one\"}\n]\n"), "jq -c '.[]'");
    refuses(write_text("l.jsonl", "[\"a\", \"b\"]\n"), "l.jsonl:1: the line is JSON, but not an object");
    READS(write_text("l.txt", "[{}]"), "[{}]");
    refuses(write_text("p.txt.gz", "plain"), "p.txt.gz does not begin like gzip data");
    refuses(write_text("p.txt.zst", ""), "p.txt.zst does not begin like zstd data");
}

/* ---- prompts and completions ---- */

static struct list read_list(struct tt_text_work *w)
{
    struct tt_tokenizer *t = NULL;
    struct list l = {0};
    CHECK_OK(tt_tokenizer_bytes(&t));
    CHECK_OK(tt_text_tokens(w, t, take_list, &l));
    tt_tokenizer_free(t);
    return l;
}

static void only_completions_count(void)
{
    static const int32_t wanted[] = {~'q', ~'?', 'y', 'e', 's', 0, 't', 0};
    const char *path = write_text("p.jsonl", "{\"prompt\":\"q?\",\"completion\":\"yes\"}\n{\"text\":\"t\"}\n");
    struct tt_text_work w = {.paths = &path, .count = 1};
    struct list l = read_list(&w);
    CHECK(l.n == 8 && !memcmp(l.tokens, wanted, sizeof wanted) && w.totals.documents == 2 && w.totals.pairs == 1);
    free(l.tokens);
    path = write_text("p.txt", "{\"in\":\"q?\",\"out\":\"yes\",\"text\":\"no\"}\n");
    w.options = (struct tt_text_options){.text_field = "text", .prompt_field = "in"};
    CHECK_FAILS(tt_text_reader_open(w.paths, 1, &w.options, &(struct tt_text_reader *){NULL}),
                "--text-field is for lines with one text");
    w.options = (struct tt_text_options){.prompt_field = "in", .completion_field = "out"};
    l = read_list(&w);
    CHECK(l.n == 6 && !memcmp(l.tokens, wanted, 6 * sizeof *wanted) && w.totals.pairs == 1);
    free(l.tokens);
    refuses(write_text("p.jsonl", "{\"prompt\":\"q\",\"completion\":\"a\",\"text\":\"t\"}"), "say which of them");
    refuses(write_text("p.jsonl", "{\"prompt\":\"q\"}"), "nor both \"prompt\" and \"completion\"");
    refuses(write_text("p.jsonl", "{\"prompt\":\"q\",\"completion\":1}"), "\"completion\" is a number");
}

/* A token file stores which tokens count, wherever a window begins. A file without prompts is a plain llm.c file. */
static void token_files_keep_what_counts(void)
{
    enum { N = 20011 };
    static int32_t tokens[N], back[N];
    for (int width = 2; width <= 4; width += 2) {
        struct tt_token_file f;
        for (int i = 0; i < N; i++) tokens[i] = tt_random(3, 0, (uint64_t)i) % 3 ? i % 300 : ~(i % 300);
        const char *path = in_folder("mask.bin");
        CHECK_OK(tt_tokens_write_documents(path, tokens, N, 300, width, 7));
        CHECK_OK(tt_token_file_open(path, width == 2, &f));
        CHECK(f.masked && f.end_token == 7 && f.count == N && f.width == width);
        for (int first = 0; first < 20; first++) {
            CHECK_OK(tt_token_file_read(&f, first, N - 2 * first, back));
            CHECK(!memcmp(back, tokens + first, (size_t)(N - 2 * first) * sizeof *back), "from token %d", first);
        }
        tt_token_file_close(&f);
        struct tt_data *d = NULL;
        struct tt_data_options o = {.source = path, .seq_len = 100};
        CHECK_OK(tt_data_open(&o, &d));
        uint64_t mark = tt_data_mark(d);
        CHECK(tt_data_end_token(d) == 7 && tt_data_vocab(d) == 300);
        CHECK_OK(tt_data_sample(d, TT_TRAIN, 5, back));
        bool found = false;
        for (int i = 0; i + 100 < N && !found; i += 100) found = !memcmp(back, tokens + i, 101 * sizeof *back);
        CHECK(found, "a window of the file");
        tt_data_close(d);
        for (int i = 0; i < N; i++) tokens[i] = tt_token_of(tokens[i]);
        CHECK_OK(tt_tokens_write_documents(path, tokens, N, 300, width, 7));
        CHECK_OK(tt_data_open(&o, &d));
        CHECK(tt_data_mark(d) != mark, "other targets count");
        tt_data_close(d);
        CHECK_OK(tt_token_file_open(path, false, &f));
        CHECK(!f.masked && f.end_token == 7);
        tt_token_file_close(&f);
    }
    char *file;
    size_t n;
    tokens[9] = ~tokens[9];
    CHECK_OK(tt_tokens_write_documents(in_folder("mask.bin"), tokens, N, 300, 2, -1));
    CHECK_OK(tt_file_read(in_folder("mask.bin"), 1 << 20, &file, &n));
    struct tt_data *d = NULL;
    struct tt_data_options cut = {.source = write_bytes("mask.bin", file, n - 1), .seq_len = 8};
    CHECK_FAILS(tt_data_open(&cut, &d), "ends within the mask of which");
    free(file);
}

static void the_first_characters(void)
{
    const char *path = write_text("a.jsonl", "{\"text\":\"\\u00e9\\u00e9\\u00e9\"}\n{\"text\":\"abc\"}\n"
                                             "{\"text\":\"never\"}");
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options.max_chars = 4};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == 9 && !memcmp(got.s, "\xc3\xa9\xc3\xa9\xc3\xa9\0a", 9), "%zu", got.n);
    tt_text_free(&got);
}

static void documents_need_an_end_token(void)
{
    const char *path = write_text("a.jsonl", "{\"text\":\"the dog\"}\n");
    const char *const words[] = {"the", "dog"};
    struct tt_tokenizer *t = NULL;
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1, .options = {.end_token = -1}};
    CHECK_OK(tt_tokenizer_words(words, 2, &t));
    CHECK(tt_tokenizer_end(t) == -1);
    CHECK_FAILS(tt_text_tokens(&w, t, take_bytes, &got), "no token that ends a document");
    w.options.end_token = 2; /* not one of its tokens */
    CHECK_FAILS(tt_text_tokens(&w, t, take_bytes, &got), "name one with --document-end");
    w.options.end_token = 0;
    CHECK_OK(tt_text_tokens(&w, t, take_bytes, &got));
    CHECK(got.n == 3 && !memcmp(got.s, "\0\1\0", 3), "the named token does not end the document");
    tt_tokenizer_free(t);
    CHECK_OK(tt_text_tokenizer(&w, "chars", 0, &t));
    CHECK(tt_tokenizer_end(t) == 0 && tt_tokenizer_size(t) == 8, "the zero and \" deghot\"");
    tt_tokenizer_free(t);
    tt_text_free(&got);
}

/* ---- sources ---- */

static struct tt_data *open_data(struct tt_data_options o)
{
    struct tt_data *d = NULL;
    o.seq_len = 4;
    CHECK_OK(tt_data_open(&o, &d));
    return d;
}

static void globs_and_folders(void)
{
    CHECK_OK(tt_make_dirs(in_folder("many/deeper.txt")));
    write_text("many/b.jsonl", "{\"text\":\"second\"}\n");
    write_text("many/a.txt", "first!");
    write_text("many/c.md", "third.");
    write_text("many/.hidden.txt", "never");
    write_text("many/picture.png", "never");
    struct tt_data *d = open_data((struct tt_data_options){.source = in_folder("many")});
    int32_t sample[5];
    char seen[32] = "";
    CHECK(tt_data_samples(d, TT_TRAIN) == 5 && tt_data_end_token(d) == 0);
    CHECK(strstr(tt_data_describe(d), "21 tokens") && strstr(tt_data_describe(d), "3 documents"));
    CHECK(strstr(tt_data_describe(d), "; 1 folder in it is not read: name the files"), "%s", tt_data_describe(d));
    for (uint64_t i = 0; i < 5; i++) {
        CHECK_OK(tt_data_sample(d, TT_TRAIN, i, sample));
        seen[i] = (char)sample[0];
    }
    CHECK(memchr(seen, 'e', 5) && memchr(seen, 'd', 5) && memchr(seen, 'i', 5), "windows of first!\\0second\\0third.");
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = in_folder("many/?.[jm]*")});
    CHECK(strstr(tt_data_describe(d), "14 tokens"), "%s", tt_data_describe(d));
    tt_data_close(d);
    struct tt_data *none = NULL;
    CHECK_FAILS(tt_data_open(&(struct tt_data_options){.source = in_folder("many/deeper.txt"), .seq_len = 4}, &none),
                "is a folder without text");
    CHECK_OK(tt_make_dirs(in_folder("nested/one")));
    CHECK_OK(tt_make_dirs(in_folder("nested/.git")));
    CHECK_FAILS(tt_data_open(&(struct tt_data_options){.source = in_folder("nested"), .seq_len = 4}, &none),
                "has folders but no text");
    write_text("nested/one/a.txt", "text of a folder");
    CHECK_OK(tt_make_dirs(in_folder("nested/two")));
    write_text("nested/top.txt", "text beside them");
    d = open_data((struct tt_data_options){.source = in_folder("nested")});
    CHECK(strstr(tt_data_describe(d), ": 16 tokens") && strstr(tt_data_describe(d), "; 2 folders in it are not read"),
          "%s", tt_data_describe(d));
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = in_folder("nested/*/*.txt")});
    CHECK(!strstr(tt_data_describe(d), "not read"), "%s", tt_data_describe(d));
    tt_data_close(d);
}

/* Windows tools write a byte order mark; without this rule a model would learn three meaningless bytes. */
static void a_byte_order_mark_is_no_text(void)
{
    READS(write_text("m.txt", "\xef\xbb\xbf" "first"), "first");
    READS(write_text("m.txt", "first\xef\xbb\xbf"), "first\xef\xbb\xbf");
    READS(write_text("m.txt", "\xef\xbb"), "\xef\xbb");
    READS(write_text("m.txt", "\xef\xbb\xbf"), "");
    char *one = strdup(write_text("m1.txt", "\xef\xbb\xbf" "one\n")),
         *two = strdup(write_text("m2.txt", "\xef\xbb\xbftwo")),
         *none = strdup(write_text("m3.txt", "\xef\xbb\xbf"));
    const char *paths[] = {one, two, none};
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = paths, .count = 3, .options.end_token = -1};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == 7 && !memcmp(got.s, "one\ntwo", 7), "%zu bytes", got.n);
    w.options = (struct tt_text_options){.separate = true, .end_token = -1, .max_chars = 2};
    w.totals = (struct tt_text_totals){0};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == 6 && !memcmp(got.s, "on\0tw", 6) && w.totals.documents == 2, "%zu bytes", got.n);
    tt_text_free(&got);
    struct tt_tokenizer *t = NULL;
    CHECK_OK(tt_text_tokenizer(&w, "chars", 0, &t));
    CHECK(tt_tokenizer_size(t) == 5, "%lld characters: the zero and \"notw\"", (long long)tt_tokenizer_size(t));
    tt_tokenizer_free(t);
    const char *bad = write_text("m.txt", "\xef\xbb\xbf\xe9");
    w = (struct tt_text_work){.paths = &bad, .count = 1};
    CHECK_FAILS(tt_text_tokenizer(&w, "chars", 0, &t), "0xe9 at offset 3");
    const char *path = write_text("o.txt", "\xef\xbb\xbf{\"text\":\"a\"}\n{}\n");
    struct tt_data *d = open_data((struct tt_data_options){.source = path});
    CHECK(strstr(tt_data_describe(d), "looks like JSON Lines"), "%s", tt_data_describe(d));
    tt_data_close(d);
    free(one);
    free(two);
    free(none);
}

/* Several plain files are one text, or one document each. A single file has no document boundary. */
static void plain_files_are_documents(void)
{
    static const struct {
        struct tt_text_options options;
        int count;
        const char *wanted;
        size_t n;
    } cases[] = {{{.end_token = -1}, 2, "one\ntwo", 7},
                 {{.separate = true, .end_token = -1}, 2, "one\n\0two\0", 9},
                 {{.separate = true, .end_token = 0}, 2, "one\n\0two\0", 9},
                 {{.separate = true, .end_token = 10}, 2, "one\ntwo", 7},
                 {{.separate = true, .end_token = -1}, 1, "one\n", 4},
                 {{.separate = true, .end_token = -1, .max_chars = 2}, 2, "on\0tw\0", 6}};
    char *one = strdup(write_text("p1.txt", "one\n")), *two = strdup(write_text("p2.txt", "two"));
    const char *paths[] = {one, two};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_text got = {0};
        struct tt_text_work w = {.paths = paths, .count = cases[i].count, .options = cases[i].options};
        CHECK_OK(read_as_bytes(&w, &got));
        CHECK(got.n == cases[i].n && !memcmp(got.s, cases[i].wanted, got.n), "case %zu: %zu tokens", i, got.n);
        CHECK(w.totals.documents == (cases[i].n == 7 || cases[i].n == 4 ? 0 : 2), "case %zu", i);
        tt_text_free(&got);
        struct tt_tokenizer *t = NULL;
        CHECK_OK(tt_text_tokenizer(&w, "chars", 0, &t));
        CHECK((tt_tokenizer_end(t) == 0) == (w.totals.documents > 0), "case %zu: characters that documents need", i);
        tt_tokenizer_free(t);
    }
    free(one);
    free(two);
}

static void objects_in_plain_text_are_told(void)
{
    struct tt_data *d = open_data((struct tt_data_options){.source = write_text("o.txt", "{\"text\":\"a\"}\n{}\n")});
    CHECK(strstr(tt_data_describe(d), "looks like JSON Lines, but is read as plain text"), "%s", tt_data_describe(d));
    tt_data_close(d);
    d = open_data((struct tt_data_options){.source = write_text("o.txt", "{not json}\n{}\n")});
    CHECK(!strstr(tt_data_describe(d), "JSON Lines"), "%s", tt_data_describe(d));
    tt_data_close(d);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(documents_are_read);
    TEST(bad_lines_are_named);
    TEST(all_lines_bad);
    TEST(other_files_are_named);
    TEST(only_completions_count);
    TEST(token_files_keep_what_counts);
    TEST(the_first_characters);
    TEST(documents_need_an_end_token);
    TEST(globs_and_folders);
    TEST(a_byte_order_mark_is_no_text);
    TEST(plain_files_are_documents);
    TEST(objects_in_plain_text_are_told);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
