/* Opening what a run needs: the device and the data. */
#ifndef TT_OPEN_H
#define TT_OPEN_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/options.h"
#include "core/data/data.h"

/* --data of an imported model, which has no data of its own. */
#define TT_NO_DATA "none"

tt_status tt_open_device(const struct tt_config *c, struct tt_backend *out);

/* Where --data or --val-data is a folder that tt data made, the patterns of its files: those to validate on come with
 * it. tt_open_data does so by itself; this is for callers that keep or show the names. */
void tt_take_folders(struct tt_config *c);

/* vocab_size 0: the data's own. `tokenizer_dir`, a checkpoint whose tokenizer goes before --tokenizer, may be NULL;
 * warns where the data are known to be made with another tokenizer. */
tt_status tt_open_data(const struct tt_config *c, int64_t vocab_size, const char *tokenizer_dir, struct tt_data **out);

/* Fails where the data is text and the checkpoint has no tokenizer, so the text cannot be encoded. */
tt_status tt_need_tokenizer(const struct tt_config *c, const char *checkpoint);

/* Takes the token that ends documents from the data, unless --document-end names one; with --documents separate it is
 * an error where neither does. With joined documents it is needed only after training, and a tokenizer knows it then,
 * so it is taken from data without one. tt_open_training_data does so by itself. */
tt_status tt_take_end_token(struct tt_config *c, const struct tt_data *data);

/* The token that ends a text of the model, for all that generate or write the model for others: the one its documents
 * end with, else the tokenizer's, which may be NULL; -1: there is none. */
int64_t tt_text_end(const struct tt_config *c, const struct tt_tokenizer *t);
/* All that end a text: that one first, then --end-tokens. */
struct tt_text_ends {
    int64_t tokens[TT_ENDS_MOST + 1];
    int count;
};
struct tt_text_ends tt_text_ends(const struct tt_config *c, const struct tt_tokenizer *t);
bool tt_ends_text(const struct tt_text_ends *ends, int64_t token);

/* The tokens of a text of which nothing is given, malloc'd: the token that the tokenizer puts before texts, else the
 * one that ends documents, where the data had one
 * (`data_end` of the progress), else a line end, and without a tokenizer or in the built-in language token 0. */
tt_status tt_text_start(const struct tt_tokenizer *t, int64_t vocab_size, int64_t data_end, int32_t **tokens,
                        int64_t *count);

/* What checkpoints of a run keep of its data: data_mark and data_end. */
tt_status tt_note_data(const struct tt_config *c, const struct tt_data *data, struct tt_progress *progress);

/* For training: a model for files takes their vocabulary into o->c, unless --vocab-size asks for another or a
 * checkpoint `from`, which may be NULL, has one. */
tt_status tt_open_training_data(struct tt_options *o, const char *from, struct tt_data **out);
/* The same for callers that open their data later: takes only the vocabulary. */
tt_status tt_take_vocabulary(struct tt_options *o);

/* Whether training validates, and an error where it is asked for what it cannot do. Where the data hold out nothing to
 * validate on there is no validation; a note says so where --val-interval was given. */
tt_status tt_check_validation(const struct tt_options *o, struct tt_data *data, bool *validates);

/* How the options say that text is read. */
struct tt_text_options tt_text_options_of(const struct tt_config *c);

/* The progress of reading text as a callback: NULL where none is to be seen, because of --quiet, in the library and on
 * all ranks but the first. Its argument is a double that is 0 before the first call. */
typedef void (*tt_reading)(const char *what, int64_t done, int64_t total, void *painted);
tt_reading tt_reading_progress(const struct tt_config *c);
/* Takes the line away that it may have left. */
void tt_reading_done(const struct tt_config *c, double painted);

/* tt_say as a callback. */
void tt_warn(const char *line, void *arg);

#endif
