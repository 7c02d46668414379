/* A string that grows. Zero-initialise; free with tt_text_free. Running out of memory is remembered in `failed`. */
#ifndef TT_TEXT_H
#define TT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status.h"

struct tt_text {
    char *s; /* always ends with 0 once anything was added; NULL before */
    size_t n, cap;
    bool failed;
};

void tt_text_add(struct tt_text *t, const char *s, size_t n);
void tt_text_puts(struct tt_text *t, const char *s);
void tt_text_printf(struct tt_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
tt_status tt_text_status(const struct tt_text *t); /* an error when memory ran out on the way */
void tt_text_free(struct tt_text *t);

/* A word of a shell command, quoted if it needs quotes, so that the command can be pasted. Returns `out`. */
const char *tt_shell_word(const char *s, char *out, size_t size);

/* Whether s is a decimal number without a sign: "12", "1.", ".5", "1e-3"; not hexadecimal, not inf. */
bool tt_is_decimal(const char *s);

/* For "did you mean": the edit distance, and the nearest of n names, or NULL when none is near enough. */
int tt_edit_distance(const char *a, const char *b);
const char *tt_nearest(const char *word, const char *const *names, int n);

#endif
