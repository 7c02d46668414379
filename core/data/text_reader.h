/* Text as people have it: plain files and JSON Lines, packed or not, one after the other, in blocks of about a MiB. No
 * file is held whole, except one without line ends. */
#ifndef TT_TEXT_READER_H
#define TT_TEXT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_text_options {
    const char *text_field; /* of a line of JSON; "" or NULL: "text", and only files called .jsonl are JSON Lines */
    /* The fields of a pair; "" or NULL: "prompt" and "completion". If one of them is given, every line is a pair. */
    const char *prompt_field, *completion_field;
    /* Every line of a file is a text to continue. In JSON Lines that is the "prompt", or the line if it is a string. */
    bool prompts;
    /* Several plain files are documents, each followed by the end token; else they are one text. If JSON Lines are
     * among them, they are documents anyway. `end_token`: the one that the user named; -1: the tokenizer's. */
    bool separate;
    int64_t end_token;
    bool file_ends;         /* set by text_tokens.c from these: the end of a plain file ends a document */
    bool skip_bad;          /* leave bad lines out and count them */
    int64_t max_chars;      /* of each file, from its start; 0 = all */
    enum tt_line_cut cut;   /* of a plain text; TT_NO_CUT: it is one span */
};

/* A piece of the text that is encoded by itself: a document, or some lines of a plain text, which is cut only where
 * that changes no token. */
struct tt_text_span {
    int64_t from, n; /* bytes of the block */
    bool ends;       /* a document ends here */
    bool prompt;     /* its tokens are ignored as targets */
    int file;        /* its index */
    int64_t where;   /* line of JSON Lines, from 1; of a plain text the byte it begins at */
};

struct tt_text_block { /* {0} before the first */
    struct tt_text text;
    struct tt_text_span *spans;
    int64_t count;
    size_t room;
};
void tt_text_block_free(struct tt_text_block *b);

/* What has been read so far. */
struct tt_text_totals {
    /* bytes: of text. documents: lines of JSON, and plain files that are documents. pairs: documents with a prompt.
     * skipped: bad lines. */
    int64_t bytes, documents, pairs, skipped;
    bool has_zeros;                    /* a plain text contains zero bytes */
    bool has_objects;                  /* a plain text begins with a line that is a JSON object */
    char first_skipped[400];           /* why the first line was skipped */
};

struct tt_text_reader;

/* The paths must last as long as the reader. */
tt_status tt_text_reader_open(const char *const *paths, int count, const struct tt_text_options *options,
                              struct tt_text_reader **out);
void tt_text_reader_close(struct tt_text_reader *r);

/* Reads the next block; it has 0 spans after the end of the last file. A bad line is an error that names file and line.
 */
tt_status tt_text_reader_next(struct tt_text_reader *r, struct tt_text_block *block);

const struct tt_text_totals *tt_text_reader_totals(const struct tt_text_reader *r);
/* Bytes of the files: how many were read, and how many there are. */
void tt_text_reader_progress(const struct tt_text_reader *r, int64_t *done, int64_t *total);

/* Whether the file is JSON Lines, by its name and the options. */
bool tt_text_is_lines(const char *path, const struct tt_text_options *options);

/* Puts the file and the place of the span before the message. */
tt_status tt_text_at(tt_status st, const char *path, const struct tt_text_options *options,
                     const struct tt_text_span *span);

#endif
