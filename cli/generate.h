/* What `tt generate` is made of: the prompts, and the results as they grow. */
#ifndef TT_CLI_GENERATE_H
#define TT_CLI_GENERATE_H

#include "core/base/stops.h"
#include "core/base/text.h"
#include "core/data/tokenizers/tokenizer.h"
#include "core/train/open.h"

/* ---- generate_prompts.c ---- */

/* Prompts as text, from the list of an option and from a file: one per line, also an empty one, or JSON lines with a
 * "prompt". */
struct tt_prompts {
    char **texts;
    int64_t count;
    size_t room;
};

enum { TT_PROMPT_SEPARATOR = 0x1f }; /* between the values of an option that is given several times */

tt_status tt_prompts_add_list(struct tt_prompts *p, const char *list);
tt_status tt_prompts_add_file(struct tt_prompts *p, const char *path);
void tt_prompts_free(struct tt_prompts *p);

/* The tokens of a prompt. An empty one starts where the data starts, as tt_text_start says for `data_end`. `added`
 * counts tokens at the beginning that the user did not write. */
struct tt_prompt_tokens {
    int32_t *tokens;
    int64_t count, added;
};
tt_status tt_prompt_encode(const struct tt_tokenizer *t, int64_t vocab_size, int64_t data_end, const char *text,
                           struct tt_prompt_tokens *out);

/* ---- generate_result.c ---- */

enum tt_finish { TT_GOES_ON, TT_AT_LENGTH, TT_AT_STOP, TT_AT_END_TOKEN, TT_AT_SIGNAL };

/* One prompt continued. */
struct tt_result {
    const struct tt_prompt_tokens *prompt;
    int64_t index, sample; /* number of the prompt, and of its continuation, from 0 */
    uint64_t seed;
    int32_t *tokens;     /* prompt and continuation */
    int64_t count, most; /* of all tokens */
    struct tt_text text; /* the prompt without what was added, and the continuation */
    size_t begin;        /* where the continuation begins in `text` */
    size_t end, shown;   /* how much of `text` may be shown, and how much is */
    enum tt_finish finish;
};

/* What all results share. */
struct tt_results {
    const struct tt_tokenizer *tokenizer; /* NULL: tokens are numbers */
    struct tt_stops stops;
    struct tt_text_ends ends;
    const char *checkpoint;
};

/* Begins the result of r->prompt, with room for max_tokens new tokens. */
tt_status tt_result_begin(struct tt_result *r, const struct tt_results *all, int64_t max_tokens);
/* Takes a token; false when the result is complete with it. */
bool tt_result_add(struct tt_result *r, const struct tt_results *all, int32_t token);
/* Prints what may be shown and is not yet; with `last`, all that is left and a line end. */
void tt_result_print(struct tt_result *r, const struct tt_results *all, bool last);
tt_status tt_result_print_json(const struct tt_result *r, const struct tt_results *all);
void tt_result_free(struct tt_result *r);

#endif
