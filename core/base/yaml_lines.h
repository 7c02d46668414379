/* The line level of the YAML reader: characters, comments, indentation and scalars. */
#ifndef TT_YAML_LINES_H
#define TT_YAML_LINES_H

#include <stdbool.h>
#include <string.h>

#include "core/base/yaml.h"

struct yaml_reader {
    const char *p; /* next byte; the text is a copy that ends with its only 0 */
    const char *line_start;
    int line, depth;
    bool begun; /* a marker or content was seen; --- is no longer allowed */
};

static inline bool line_break(const char *p) { return *p == '\n' || *p == '\r'; }
static inline bool at_end(const char *p) { return *p == 0 || line_break(p); }
static inline bool blank(const char *p) { return *p == ' ' || at_end(p); }
static inline int column(const struct yaml_reader *r) { return (int)(r->p - r->line_start); }
static inline void skip_spaces(struct yaml_reader *r) { r->p += strspn(r->p, " "); }
static inline bool at_dash(const struct yaml_reader *r) { return r->p[0] == '-' && blank(r->p + 1); }

tt_status yaml_fail(const struct yaml_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
tt_status yaml_check(const char *text, size_t n); /* an error unless all is printable UTF-8 */
int yaml_excerpt(const char *p);                  /* bytes at p to quote in a message */

/* Skips blank lines and comments up to the next content. */
tt_status yaml_find_content(struct yaml_reader *r);
/* Ends a line, where only a comment may still follow, and goes to the next content. */
tt_status yaml_end_line(struct yaml_reader *r);

/* Reads the scalar at r->p into a new string, and tells its kind. `flow`: inside [ ] or { }. */
tt_status yaml_scalar(struct yaml_reader *r, bool flow, char **text, enum tt_yaml_kind *kind);

/* yaml_folded.c: reads the lines below the >- at r->p, whose key is at column of_key, and goes to the next content. */
static inline bool at_folded(const struct yaml_reader *r) { return !strncmp(r->p, ">-", 2) && blank(r->p + 2); }
tt_status yaml_folded(struct yaml_reader *r, int of_key, char **text);

#endif
