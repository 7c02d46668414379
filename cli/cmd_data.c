/* tt data: turn text into token files and a tokenizer. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/data_inspect.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/json.h"
#include "core/base/terminal.h"
#include "core/data/sources.h"
#include "core/data/text_tokens.h"
#include "core/data/token_spool.h"
#include "core/train/open.h"

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
     .help = "text to read: a file, a folder or a glob, also of .jsonl, .gz and .zst; may be given several times",
     .list = '\n'},
    {"inspect", AT(inspect), "Token files", 1 << TT_CMD_DATA, "", NULL, "FILE",
     .help = "describe this token file, and write nothing"},
    {"vocab-size", TT_RUN_FIELD(vocab_size), "Token files", 1 << TT_CMD_DATA, "1024", "[257, 65536]", "N",
     .help = "size of the vocabulary of --tokenizer bpe"},
    {"shard-tokens", AT(shard_tokens), "Token files", 1 << TT_CMD_DATA, "100000000", "[1024, 2000000000]", "N",
     .help = "tokens in one file at most"},
    {"token-type", AT(token_type), "Token files", 1 << TT_CMD_DATA, "auto", TT_CHOICE,
     .help = "how tokens are stored; auto: as uint16 if the vocabulary fits, else as uint32",
     .choices = token_type_names},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_DATA, "data", NULL, "DIR",
     .help = "folder for the token files and the tokenizer", .here = true, .required = true},
};
// clang-format on
const struct tt_rows tt_data_rows = TT_ROWS(rows);
TT_OWN_FITS(struct data_options);

struct making {
    const struct tt_config *c;
    const struct data_options *own;
    struct tt_sources sources;
    struct tt_text_work work;
    struct tt_tokenizer *tokenizer;
    struct tt_token_spool spool;
    double painted;
    int files;
};

static tt_status find_inputs(struct making *m)
{
    char path[1024];
    for (const char *at = m->own->input; tt_list_next(&at, '\n', path, sizeof path);) {
        bool are_tokens = false;
        struct tt_sources here = {0};
        tt_status st = tt_sources_add(&here, path);
        if (!st) st = tt_sources_sniff(&here, path, &are_tokens);
        tt_sources_free(&here);
        TT_TRY(st);
        if (are_tokens)
            return tt_fail(TT_USAGE, "%s is a token file already; look into it with: tt data --inspect %s", path, path);
        TT_TRY(tt_sources_add(&m->sources, path));
    }
    m->work = (struct tt_text_work){.paths = (const char *const *)m->sources.paths, .count = m->sources.count,
                                    .options = tt_text_options_of(m->c), .threads = (int)m->c->threads,
                                    .progress = tt_reading_progress(m->c), .arg = &m->painted};
    m->work.options.end_token = -1;
    if (m->sources.count) return TT_OK;
    return tt_fail(TT_USAGE, "no text to read; name one or more files: tt data book.txt --out data/book");
}

static tt_status read_inputs(struct making *m)
{
    tt_status st = tt_text_tokenizer(&m->work, m->c->tokenizer, m->c->vocab_size, &m->tokenizer);
    if (!st) st = tt_token_spool_open(m->c->out, &m->spool);
    if (!st) st = tt_text_tokens(&m->work, m->tokenizer, tt_token_spool_add, &m->spool);
    tt_reading_done(m->c, m->painted);
    TT_TRY(st);
    const struct tt_text_totals *t = &m->work.totals;
    if (!m->spool.count) return tt_fail(TT_USAGE, "there is no text in %s; name files with some", m->own->input);
    if (m->sources.unread)
        tt_say("note: %d subfolder%s %s not read: name the files there with a pattern, such as '*/*.txt'",
               m->sources.unread, tt_plural(m->sources.unread), m->sources.unread == 1 ? "is" : "are");
    if (t->has_objects)
        tt_say("note: the text looks like JSON Lines, but is read as plain text; to read a field of its lines, name "
               "the field with --text-field");
    if (t->has_zeros)
        tt_say("note: the text contains zero bytes, so it is probably not text; they become tokens like other bytes");
    if (t->skipped)
        tt_say("note: %lld bad line%s left out, the first: %s", (long long)t->skipped,
               t->skipped == 1 ? " was" : "s were", t->first_skipped);
    return TT_OK;
}

static tt_status write_shard(struct making *m, const char *path, int64_t first, int64_t n)
{
    int32_t *tokens = malloc((size_t)n * sizeof *tokens);
    if (!tokens) return tt_no_memory("a file of %lld tokens; choose a smaller --shard-tokens", (long long)n);
    tt_status st = tt_token_spool_read(&m->spool, first, n, tokens);
    if (!st)
        st = tt_tokens_write_documents(path, tokens, n, tt_tokenizer_size(m->tokenizer), 2 * (int)m->own->token_type,
                                       m->work.totals.documents ? tt_tokenizer_end(m->tokenizer) : -1);
    free(tokens);
    return st;
}

static tt_status write_shards(struct making *m, const char *split, int64_t first, int64_t end)
{
    for (int shard = 0; first < end; shard++, m->files++) {
        char path[1200];
        int64_t n = end - first < m->own->shard_tokens ? end - first : m->own->shard_tokens;
        snprintf(path, sizeof path, "%s/%s_%06d.bin.part", m->c->out, split, shard);
        TT_TRY(write_shard(m, path, first, n));
        first += n;
    }
    return TT_OK;
}

/* Shards have temporary names until all are there: a part of a text must not pass for the whole. The first shard is
 * renamed last, since --data takes a folder for token files when that one is there. */
static tt_status name_shards(const struct making *m, const char *split)
{
    char part[1200], path[1200];
    int count = 0;
    do snprintf(part, sizeof part, "%s/%s_%06d.bin.part", m->c->out, split, count++);
    while (tt_is_file(part));
    for (int shard = count - 2; shard >= 0; shard--) {
        snprintf(part, sizeof part, "%s/%s_%06d.bin.part", m->c->out, split, shard);
        snprintf(path, sizeof path, "%s/%s_%06d.bin", m->c->out, split, shard);
        if (rename(part, path)) return tt_file_error(errno, "rename", part);
    }
    return TT_OK;
}

/* Removes temporary shards: of this text if it cannot be written, or of an earlier command that was cut off. */
static void remove_parts(const struct making *m, const char *split)
{
    char part[1200];
    for (int shard = 0;; shard++) {
        snprintf(part, sizeof part, "%s/%s_%06d.bin.part", m->c->out, split, shard);
        if (unlink(part)) return;
    }
}

/* Refuses a folder with token files: shards of an earlier, longer text would be read along with the new ones. */
static tt_status refuse_old_shards(const struct making *m)
{
    bool found = false;
    DIR *d = opendir(m->c->out);
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = !fnmatch("train_*.bin", e->d_name, 0) || !fnmatch("val_*.bin", e->d_name, 0);
    if (d) closedir(d);
    if (!found) return TT_OK;
    return tt_fail(TT_USAGE, "%s holds token files already; remove them, or choose another --out", m->c->out);
}

/* Refuses a folder with a run or checkpoint, whose tokenizer would be replaced by another. */
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

static int64_t held_out(const struct making *m) { return (int64_t)((double)m->spool.count * m->c->val_fraction); }

static tt_status write_files(struct making *m)
{
    char path[1200];
    int64_t train = m->spool.count - held_out(m);
    remove_parts(m, "train");
    remove_parts(m, "val");
    tt_status st = write_shards(m, "train", 0, train);
    if (!st) st = write_shards(m, "val", train, m->spool.count);
    snprintf(path, sizeof path, "%s/tokenizer.json", m->c->out);
    if (!st) st = tt_tokenizer_save(m->tokenizer, path);
    if (!st) st = name_shards(m, "val");
    if (!st) st = name_shards(m, "train");
    remove_parts(m, "train");
    remove_parts(m, "val");
    return st;
}

static tt_status make(struct making *m)
{
    int lock;
    TT_TRY(refuse_run(m));
    TT_TRY(refuse_old_shards(m));
    TT_TRY(find_inputs(m));
    TT_TRY(read_inputs(m));
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
    tt_json_put_int(&w, "bytes", m->work.totals.bytes);
    tt_json_put_int(&w, "documents", m->work.totals.documents);
    tt_json_put_int(&w, "pairs", m->work.totals.pairs);
    tt_json_put_int(&w, "bad_lines", m->work.totals.skipped);
    tt_json_put_int(&w, "tokens", m->spool.count);
    tt_json_put_int(&w, "validation_tokens", held_out(m));
    tt_json_put_int(&w, "vocabulary", tt_tokenizer_size(m->tokenizer));
    tt_json_put_int(&w, "files", m->files);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static void print_text(const struct making *m)
{
    int64_t bytes = m->work.totals.bytes, documents = m->work.totals.documents, count = m->spool.count;
    printf("%lld bytes became %lld tokens (%.2f bytes a token), %lld of them for validation; ", (long long)bytes,
           (long long)count, (double)bytes / (double)count, (long long)held_out(m));
    if (documents) printf("%lld document%s", (long long)documents, tt_plural(documents));
    if (m->work.totals.pairs) printf(", %lld of them pairs of prompt and completion", (long long)m->work.totals.pairs);
    if (documents) printf("; ");
    printf("vocabulary %lld (%s); %d file%s in %s\n", (long long)tt_tokenizer_size(m->tokenizer),
           tt_tokenizer_kind(m->tokenizer), m->files, tt_plural(m->files), m->c->out);
    char out[1300];
    printf("train on them: tt train --data %s\n", tt_shell_word(m->c->out, out, sizeof out));
}

tt_status tt_cmd_data(const struct tt_options *o)
{
    const struct data_options *own = tt_own(o);
    if (own->inspect[0]) return tt_data_inspect(&o->c, own->inspect);
    struct making m = {.c = &o->c, .own = own, .spool.fd = -1};
    tt_status st = make(&m);
    if (!st && o->c.json) st = print_json(&m);
    if (!st && !o->c.json) print_text(&m);
    tt_sources_free(&m.sources);
    tt_tokenizer_free(m.tokenizer);
    tt_token_spool_close(&m.spool);
    return st;
}
