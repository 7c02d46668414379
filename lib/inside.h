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
    struct tt_tokenizer *tokenizer; /* of the checkpoint, where there are no data; or NULL */
    struct tt_run run;
    struct tt_text config_text;
};

/* Settings, checkpoints and exports have points in their numbers, whatever locale the program has chosen: from the
 * beginning of a call to its end this thread has the locale C. The program's is what begin returns and end takes. */
locale_t tt_library_begin(void);
/* Frees the status, and says in *error what it was. Whether all was well. */
bool tt_library_end(locale_t before, tt_status st, struct libtt_error *error);

/* Fails where one of rows x width tokens is none of the model's. */
tt_status tt_library_check(const libtt_model *m, const int32_t *tokens, int64_t rows, int64_t width);

static inline const struct tt_tokenizer *tt_library_tokenizer(const libtt_model *m)
{
    return m->data ? tt_data_tokenizer(m->data) : m->tokenizer;
}

#endif
