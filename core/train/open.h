/* Opening what a run needs: the device and the data. */
#ifndef TT_OPEN_H
#define TT_OPEN_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/options.h"
#include "core/data/data.h"

/* --data of an imported model, which has no data of its own. */
#define TT_NO_DATA "none"

tt_status tt_open_device(const struct tt_config *c, struct tt_backend *out);

/* If --data or --val-data is a folder that tt data made, replaces it by the pattern of the files in it. A folder of
 * --data also gives --val-data, if that is empty and the folder has such files. tt_open_data does so by itself; this is
 * for callers that keep or show the names. */
void tt_take_folders(struct tt_config *c);

/* Opens the data. vocab_size 0: the data's own. `tokenizer_dir` is a checkpoint whose tokenizer takes precedence over
 * --tokenizer, or NULL; a warning says so if the data are known to be made with another tokenizer. */
tt_status tt_open_data(const struct tt_config *c, int64_t vocab_size, const char *tokenizer_dir, struct tt_data **out);

/* Fails if the data are text and the checkpoint has no tokenizer, so the text cannot be encoded. */
tt_status tt_need_tokenizer(const struct tt_config *c, const char *checkpoint);

/* Takes the token that ends documents from the data, unless --document-end names one; with --documents separate it is
 * an error if neither does. With joined documents the token is needed only after training, when a tokenizer tells it;
 * so it is taken only from data without a tokenizer. tt_open_training_data does so by itself. */
tt_status tt_take_end_token(struct tt_config *c, const struct tt_data *data);

/* The token that ends a text of the model, for commands that generate text or write the model for other programs: the
 * one that its documents end with, else that of the tokenizer `t`, which may be NULL; -1: there is none. */
int64_t tt_text_end(const struct tt_config *c, const struct tt_tokenizer *t);
/* All that end a text: that one first, then --end-tokens. */
struct tt_text_ends {
    int64_t tokens[TT_ENDS_MOST + 1];
    int count;
};
struct tt_text_ends tt_text_ends(const struct tt_config *c, const struct tt_tokenizer *t);
bool tt_ends_text(const struct tt_text_ends *ends, int64_t token);

/* The tokens to begin a text with when there is no prompt, malloc'd: the token that the tokenizer puts before texts;
 * else the one that ends documents, if the data had one (`data_end` of the progress); else a line end, or token 0
 * without a tokenizer and in the built-in language. */
tt_status tt_text_start(const struct tt_tokenizer *t, int64_t vocab_size, int64_t data_end, int32_t **tokens,
                        int64_t *count);

/* Sets what checkpoints of a run keep about its data: data_mark and data_end. */
tt_status tt_note_data(const struct tt_config *c, const struct tt_data *data, struct tt_progress *progress);

/* Opens the data for training. The vocabulary of files becomes that of the model, in o->c, unless --vocab-size asks for
 * another or a checkpoint `from`, which may be NULL, has one. */
tt_status tt_open_training_data(struct tt_options *o, const char *from, struct tt_data **out);
/* The same for callers that open their data later: takes only the vocabulary. */
tt_status tt_take_vocabulary(struct tt_options *o);

/* *validates: whether training validates. If the data hold out nothing to validate on, it does not; a note says so if
 * --val-interval was given. An error if the options ask for something that the data do not allow. */
tt_status tt_check_validation(const struct tt_options *o, struct tt_data *data, bool *validates);

/* How to read text, from the options. */
struct tt_text_options tt_text_options_of(const struct tt_config *c);

/* A callback that shows the progress of reading text. NULL if none is to be shown: with --quiet, in the library, and on
 * all ranks but the first. `painted` points to a double that is 0 before the first call. */
typedef void (*tt_reading)(const char *what, int64_t done, int64_t total, void *painted);
tt_reading tt_reading_progress(const struct tt_config *c);
/* Erases the line that the callback may have left; `painted` is that double. */
void tt_reading_done(const struct tt_config *c, double painted);

/* tt_say as a callback. */
void tt_warn(const char *line, void *arg);

#endif
