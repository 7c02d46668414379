/* tt data: turn text into token files and a tokenizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/data_inspect.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/json.h"
#include "core/base/terminal.h"
#include "core/base/utf8.h"
#include "core/data/token_file.h"

/* ---- options ---- */

enum token_type { TOKEN_AUTO, TOKEN_UINT16, TOKEN_UINT32 };
static const char *const token_type_names[] = {"auto", "uint16", "uint32", NULL};

struct data_options {
    char input[16384]; /* text files, one a line */
    char inspect[1024];
    int64_t shard_tokens;
    enum token_type token_type;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct data_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"input", AT(input), "Token files", 1 << TT_CMD_DATA, "", NULL, "FILE",
     .help = "a text file to read; may be given several times", .list = '\n'},
    {"inspect", AT(inspect), "Token files", 1 << TT_CMD_DATA, "", NULL, "FILE",
     .help = "say what is in this token file, and write nothing"},
    {"vocab-size", TT_RUN_FIELD(vocab_size), "Token files", 1 << TT_CMD_DATA, "1024", "[257, 65536]", "N",
     .help = "tokens that --tokenizer bpe learns"},
    {"shard-tokens", AT(shard_tokens), "Token files", 1 << TT_CMD_DATA, "100000000", "[1024, 2000000000]", "N",
     .help = "tokens in a file at most"},
    {"token-type", AT(token_type), "Token files", 1 << TT_CMD_DATA, "auto", TT_CHOICE,
     .help = "how tokens are stored; auto: uint16 as long as the vocabulary fits", .choices = token_type_names},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_DATA, "data", NULL, "DIR",
     .help = "folder for the token files and the tokenizer", .here = true, .required = true},
};
// clang-format on
const struct tt_rows tt_data_rows = TT_ROWS(rows);
TT_OWN_FITS(struct data_options);

struct making {
    const struct tt_config *c;
    const struct data_options *own;
    struct tt_text text;
    struct tt_tokenizer *tokenizer;
    int32_t *tokens;
    int64_t count;
    double last_paint;
    int files;
};

static tt_status read_inputs(struct making *m)
{
    enum { LIMIT_BITS = 36 };
    char path[1024];
    for (const char *at = m->own->input; tt_list_next(&at, '\n', path, sizeof path);) {
        char *data;
        size_t size;
        bool is_tokens;
        TT_TRY(tt_token_file_sniff(path, &is_tokens));
        if (is_tokens)
            return tt_fail(TT_USAGE, "%s is a token file already; look into it with: tt data --inspect %s", path, path);
        TT_TRY(tt_file_read(path, (size_t)1 << LIMIT_BITS, &data, &size));
        if (m->c->max_chars) size = tt_utf8_prefix(data, size, m->c->max_chars);
        if (memchr(data, 0, size))
            fprintf(stderr, "tt: note: %s contains zero bytes, so it is probably not text; they become tokens like "
                            "other bytes\n", path);
        tt_text_add(&m->text, data, size);
        free(data);
        TT_TRY(tt_text_status(&m->text));
    }
    if (m->text.n) return TT_OK;
    return tt_fail(TT_USAGE, "no text to read; name one or more files: tt data book.txt --out data/book");
}

static void paint(int64_t done, int64_t total, void *arg)
{
    struct making *m = arg;
    double now = tt_seconds();
    if (m->c->quiet || !tt_is_terminal(stderr) || (now - m->last_paint < 0.2 && done < total)) return;
    m->last_paint = now;
    fprintf(stderr, "\r\033[Klearning the vocabulary: %lld of %lld tokens%s", (long long)done, (long long)total,
            done < total ? "" : "\r\033[K");
}

static tt_status make_tokenizer(struct making *m)
{
    const char *kind = m->c->tokenizer;
    int64_t n = (int64_t)m->text.n;
    if (!kind[0] || !strcmp(kind, "bytes")) return tt_tokenizer_bytes(&m->tokenizer);
    if (!strcmp(kind, "chars")) return tt_tokenizer_chars(m->text.s, n, &m->tokenizer);
    if (!strcmp(kind, "bpe")) return tt_tokenizer_train(m->text.s, n, m->c->vocab_size, paint, m, &m->tokenizer);
    return tt_tokenizer_load(kind, &m->tokenizer);
}

static tt_status write_shards(struct making *m, const char *split, int64_t first, int64_t end)
{
    for (int shard = 0; first < end; shard++, m->files++) {
        char path[1200];
        int64_t n = end - first < m->own->shard_tokens ? end - first : m->own->shard_tokens;
        snprintf(path, sizeof path, "%s/%s_%06d.bin", m->c->out, split, shard);
        TT_TRY(tt_tokens_write(path, m->tokens + first, n, tt_tokenizer_size(m->tokenizer),
                                  2 * (int)m->own->token_type));
        first += n;
    }
    return TT_OK;
}

/* Shards of an earlier, longer text would be read along with the new ones. */
static tt_status refuse_old_shards(const struct making *m)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/train_000000.bin", m->c->out);
    if (!tt_is_file(path)) return TT_OK;
    return tt_fail(TT_USAGE, "%s holds token files already; remove them, or choose another --out", m->c->out);
}

/* Its tokenizer would be replaced by another. */
static tt_status refuse_run(const struct making *m)
{
    char path[1200];
    bool run = false;
    snprintf(path, sizeof path, "%s/checkpoint.json", m->c->out);
    if (tt_is_dir(m->c->out)) TT_TRY(tt_find_run(m->c->out, &run));
    if (!run && !tt_is_file(path)) return TT_OK;
    return tt_fail(TT_USAGE, "%s holds a %s; choose another --out for token files", m->c->out,
                   run ? "training run" : "checkpoint");
}

static int64_t held_out(const struct making *m) { return (int64_t)((double)m->count * m->c->val_fraction); }

static tt_status write_files(struct making *m)
{
    char path[1200];
    int64_t train = m->count - held_out(m);
    snprintf(path, sizeof path, "%s/tokenizer.json", m->c->out);
    TT_TRY(tt_tokenizer_save(m->tokenizer, path));
    TT_TRY(write_shards(m, "train", 0, train));
    return write_shards(m, "val", train, m->count);
}

static tt_status make(struct making *m)
{
    int lock;
    TT_TRY(refuse_run(m));
    TT_TRY(refuse_old_shards(m));
    TT_TRY(read_inputs(m));
    TT_TRY(make_tokenizer(m));
    TT_TRY(tt_tokenizer_encode(m->tokenizer, m->text.s, (int64_t)m->text.n, &m->tokens, &m->count));
    TT_TRY(tt_folder_lock(m->c->out, 0, &lock));
    tt_status st = refuse_old_shards(m);
    if (st) st->code = TT_FAILED; /* they were not there when the command began */
    if (!st) st = write_files(m);
    tt_folder_unlock(&lock);
    return st;
}

static tt_status print_json(const struct making *m)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "out", m->c->out);
    tt_json_put_int(&w, "bytes", (int64_t)m->text.n);
    tt_json_put_int(&w, "tokens", m->count);
    tt_json_put_int(&w, "validation_tokens", held_out(m));
    tt_json_put_int(&w, "vocabulary", tt_tokenizer_size(m->tokenizer));
    tt_json_put_int(&w, "files", m->files);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static void print_text(const struct making *m)
{
    printf("%zu bytes became %lld tokens (%.2f bytes a token), %lld of them for validation; vocabulary %lld (%s); %d "
           "file%s in %s\n", m->text.n, (long long)m->count, (double)m->text.n / (double)m->count,
           (long long)held_out(m), (long long)tt_tokenizer_size(m->tokenizer), tt_tokenizer_kind(m->tokenizer),
           m->files, tt_plural(m->files), m->c->out);
    printf("train on them: tt train --data %s\n", m->c->out);
}

tt_status tt_cmd_data(const struct tt_options *o)
{
    const struct data_options *own = tt_own(o);
    if (own->inspect[0]) return tt_data_inspect(&o->c, own->inspect);
    struct making m = {.c = &o->c, .own = own};
    tt_status st = make(&m);
    if (!st && o->c.json) st = print_json(&m);
    if (!st && !o->c.json) print_text(&m);
    tt_text_free(&m.text);
    tt_tokenizer_free(m.tokenizer);
    free(m.tokens);
    return st;
}
