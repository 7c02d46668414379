/* A small reader for hand-written YAML, and a function that writes a string as a YAML scalar.
 *
 * It reads a subset, and what it accepts means the same to every YAML library:
 *   - maps `key: value` and lists `- item`, nested by indentation with spaces, also compact (`- key: value`), and
 *     both on one line: `[a, b, [c, d]]`, `{a: 1, b: [c], d: {e: f}}`
 *   - values on one line: plain, 'single quoted' ('' is a quote) or "double quoted" with the escapes
 *     \\ \" \/ \a \b \t \n \v \f \r \e \xHH \uHHHH \UHHHHHHHH and backslash-space
 *   - long values as `key: >-` and lines below it, all at one indentation: one line, with a space for each break
 *   - comments: # at the start of a line or after a space; one --- before everything
 *   - keys are strings; each stands once in its map
 * Everything else is refused with its line: tabs outside quotes and comments, anchors, aliases, tags, other block
 * scalars (|, >, >+), other values that go on in the next line, ? keys, directives, several documents.
 *
 * Plain values that YAML 1.1 and YAML 1.2 libraries read differently are refused too, with the advice to quote them:
 * yes, no, on, off, y, n (a bool to one, a string to the other), 012, 0x1f, 0b1, 0o17, 1_000, 1:30, -.5, 2024-01-31,
 * = and <<. The exception is 1e-3 and 1.5e3: everybody writes them, and they are numbers here as in YAML 1.2.
 *
 * At most 1 MiB, 32 levels, 1000 keys in a map. */
#ifndef TT_YAML_H
#define TT_YAML_H

#include <stddef.h>

#include "core/base/status.h"
#include "core/base/text.h"

enum { TT_YAML_SIZE = 1 << 20, TT_YAML_DEPTH = 32, TT_YAML_KEYS = 1000, TT_YAML_KEY_SIZE = 1000 };

enum tt_yaml_kind {
    TT_YAML_NULL, /* no value, ~ or null */
    TT_YAML_BOOL,
    TT_YAML_INT,
    TT_YAML_FLOAT,
    TT_YAML_STRING, /* quoted, or plain and none of the above */
    TT_YAML_LIST,
    TT_YAML_MAP,
};

struct tt_yaml {
    enum tt_yaml_kind kind;
    int line;   /* of its key or dash, even when the value is on a later line */
    char *key;  /* when inside a map */
    char *text; /* of a scalar: quotes and escapes removed, UTF-8, ends with 0; of a bool "true" or "false" */
    struct tt_yaml *first, *last, *next; /* children of a list or map, in order */
    int count;                           /* of children */
};

/* `text` of n bytes; an empty file is a TT_YAML_NULL. Errors are TT_USAGE and begin with "line N: ". */
tt_status tt_yaml_parse(const char *text, size_t n, struct tt_yaml **out);
void tt_yaml_free(struct tt_yaml *y);

const struct tt_yaml *tt_yaml_get(const struct tt_yaml *map, const char *key); /* NULL when absent */

/* Appends a string as a scalar that reads back as that string: plain when that is safe, else double quoted. */
void tt_yaml_put(struct tt_text *out, const char *s);

#endif
