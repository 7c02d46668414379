/* What the files of the library share. */
#ifndef TT_LIB_INSIDE_H
#define TT_LIB_INSIDE_H

#include <locale.h>

#include "core/config/options.h"
#include "core/data/data.h"
#include "lib/libtt.h"
#include "model/session.h"

struct libtt_model {
    struct tt_options o;
    struct tt_session session;
    struct tt_data *data;           /* NULL: the caller gives the tokens */
    struct tt_tokenizer *tokenizer; /* of the checkpoint, if there are no data; or NULL */
    struct tt_run run;
    struct tt_text config_text;
};

/* Every call of the library runs between these two, with the locale C for this thread. Settings, checkpoints and
 * exports have decimal points, whatever locale the program has chosen. begin returns the program's locale, which end
 * restores. */
locale_t tt_library_begin(void);
/* Also puts the status into *error, which may be NULL, and frees it. Returns whether it was a success. */
bool tt_library_end(locale_t before, tt_status st, struct libtt_error *error);

/* An error if one of rows x width tokens is not in the model's vocabulary. */
tt_status tt_library_check(const libtt_model *m, const int32_t *tokens, int64_t rows, int64_t width);

static inline const struct tt_tokenizer *tt_library_tokenizer(const libtt_model *m)
{
    return m->data ? tt_data_tokenizer(m->data) : m->tokenizer;
}

#endif
