/* JSON, read into a tree and written as text. The reader accepts RFC 8259, at most 64 levels deep, and never allocates
 * more than a small multiple of its input. It refuses what it could not represent: invalid UTF-8, half a surrogate
 * pair, \u0000 in a string, a number beyond the range of double. */
#ifndef TT_JSON_H
#define TT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/text.h"

enum tt_json_type { TT_JSON_NULL, TT_JSON_BOOL, TT_JSON_NUMBER, TT_JSON_STRING, TT_JSON_ARRAY, TT_JSON_OBJECT };

struct tt_json {
    enum tt_json_type type;
    bool boolean;
    double number;
    const char *string; /* UTF-8, 0-terminated (an embedded \u0000 is refused); for a number, its source text */
    const char *key;    /* when inside an object */
    struct tt_json *first, *next; /* children of an array or object, in order */
    int count;                    /* of children */
};

/* `text` of n bytes. tt_json_free frees the whole tree; give it the root. Errors name line and column. */
tt_status tt_json_parse(const char *text, size_t n, struct tt_json **out);
void tt_json_free(struct tt_json *j);

/* NULL when absent, or when `object` is NULL or not an object. If a key is repeated, the last one counts, as in most
 * readers. */
const struct tt_json *tt_json_get(const struct tt_json *object, const char *key);
/* The value of a key; `otherwise` when it is absent or of another type. */
const char *tt_json_string(const struct tt_json *object, const char *key, const char *otherwise);
double tt_json_number(const struct tt_json *object, const char *key, double otherwise);
/* Exact integers; false when the value is absent, not written as an integer, or out of [min, max]. */
bool tt_json_int(const struct tt_json *object, const char *key, int64_t min, int64_t max, int64_t *out);
bool tt_json_uint(const struct tt_json *object, const char *key, uint64_t min, uint64_t max, uint64_t *out);
/* The same for a value itself, such as an element of an array. */
bool tt_json_as_int(const struct tt_json *value, int64_t min, int64_t max, int64_t *out);
bool tt_json_as_uint(const struct tt_json *value, uint64_t min, uint64_t max, uint64_t *out);

/* Writing. The writer adds commas and quotes. A number gets the fewest digits that read back as the same value; one
 * that is not finite becomes null. key may be NULL inside an array. */
struct tt_json_writer {
    struct tt_text text;
    int depth;
    bool comma[64];
    bool pretty; /* one value per line */
};
void tt_json_begin(struct tt_json_writer *w, const char *key, char open); /* '{' or '[' */
void tt_json_end(struct tt_json_writer *w, char close);
void tt_json_put_string(struct tt_json_writer *w, const char *key, const char *value); /* NULL: null */
/* The n bytes may include 0. */
void tt_json_put_text(struct tt_json_writer *w, const char *key, const char *value, size_t n);
void tt_json_put_int(struct tt_json_writer *w, const char *key, int64_t value);
void tt_json_put_uint(struct tt_json_writer *w, const char *key, uint64_t value);
void tt_json_put_number(struct tt_json_writer *w, const char *key, double value);
void tt_json_put_float(struct tt_json_writer *w, const char *key, float value); /* shortest that reads back as float */
void tt_json_put_bool(struct tt_json_writer *w, const char *key, bool value);
void tt_json_put_null(struct tt_json_writer *w, const char *key);
void tt_json_put_value(struct tt_json_writer *w, const char *key, const struct tt_json *value); /* a whole tree */

/* Prints the written text and a newline on stdout, and frees it. Fails if memory ran out while writing. */
tt_status tt_json_print(struct tt_json_writer *w);

/* Appends n bytes as a JSON string. A 0 is written as \u0000; invalid UTF-8 becomes U+FFFD. */
void tt_json_quote(struct tt_text *out, const char *s, size_t n);

#endif
