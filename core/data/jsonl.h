/* A line of JSON Lines: one object, with a document in one of its fields, or a prompt and its completion in two. */
#ifndef TT_JSONL_H
#define TT_JSONL_H

#include "core/base/json.h"
#include "core/data/text_reader.h"

struct tt_jsonl_document {
    const char *text;     /* the document, or the completion of a pair; NULL: the line is blank */
    const char *prompt;   /* NULL: none */
    struct tt_json *line; /* owns the texts above; free it with tt_json_free */
};

/* Reads one line of n bytes. TT_USAGE for a bad line: not JSON, not an object, without the fields, or with something
 * else than text in them. The message names neither file nor line. With options->prompts, the text is the prompt. */
tt_status tt_jsonl_read(const char *line, size_t n, const struct tt_text_options *options,
                        struct tt_jsonl_document *out);

#endif
