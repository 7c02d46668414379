/* What several commands do: open the device and the data, find a checkpoint, describe a model. */
#ifndef TT_COMMON_H
#define TT_COMMON_H

#include "cli/options.h"
#include "core/data/data.h"
#include "model/session.h"

/* $XDG_CACHE_HOME/tt/name or ~/.cache/tt/name, its folder made: for what is kept from run to run. NULL: no such place. */
const char *tt_cache_path(const char *name, char *out, size_t size);

/* The data of a model that was imported: it brings none. */
#define TT_NO_DATA "none"

tt_status tt_open_backend(const struct tt_config *c, struct tt_backend *out);

/* vocab_size 0: the data's own. `tokenizer_dir`, a checkpoint whose tokenizer goes before --tokenizer, may be NULL; data that
 * are known to be of another than this are warned of. */
tt_status tt_open_data(const struct tt_config *c, int64_t vocab_size, const char *tokenizer_dir, struct tt_data **out);

/* Text is no data for a checkpoint that has no tokenizer: bytes would be other tokens than those it knows. */
tt_status tt_need_tokenizer(const struct tt_config *c, const char *checkpoint);

/* For training: a model for files takes their vocabulary into o->c, unless --vocab-size asks for another or a checkpoint
 * `from`, which may be NULL, has one. */
tt_status tt_open_training_data(struct tt_options *o, const char *from, struct tt_data **out);
/* The same for what opens its data later: only the vocabulary is taken. */
tt_status tt_take_vocabulary(struct tt_options *o);

/* Whether training validates, and an error where it is asked for what it cannot do. Where the data hold out nothing to validate
 * on there is no validation; a note says so to whom set --val-interval. */
tt_status tt_check_validation(const struct tt_options *o, const struct tt_data *data, bool *validates);

/* The first sequences of the data into every slot for the tokens of a step. */
tt_status tt_upload_tokens(struct tt_session *s, struct tt_data *data);

/* The line, behind the program's name, on stderr. */
void tt_warn(const char *line, void *arg);

/* A checkpoint folder, or the newest good one of a run's folder: malloc'd. Takes its configuration into o. */
tt_status tt_use_checkpoint(struct tt_options *o, const char *path, char **checkpoint);
/* The same for a run's folder that may have none yet: then *checkpoint is NULL. */
tt_status tt_use_newest(struct tt_options *o, const char *dir, char **checkpoint);

/* Where --out was not given, the folder of the run that the resumed checkpoint belongs to: runs/a of runs/a/step-00000100. One
 * under another name belongs to none. */
void tt_stay_in_run(struct tt_options *o, const char *checkpoint);

/* "0.87 M", "31.98 M", "1.03 B" */
void tt_format_count(double n, char out[32]);
void tt_format_bytes(double n, char out[32]);

/* Lines that say what will run, for the log. */
void tt_print_device(const struct tt_backend *b);
void tt_print_model(const struct tt_session *s);

#endif
