/* What the YAML reader and writer share: characters, and what a plain scalar is by itself. */
#ifndef TT_YAML_SCALAR_H
#define TT_YAML_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/yaml.h"

/* The code point at s and its length in bytes; 0 when it is no valid UTF-8. */
int tt_yaml_decode(const unsigned char *s, size_t n, uint32_t *out);
char *tt_yaml_encode(char *to, uint32_t code); /* returns the end */

/* Characters every YAML version takes as they are, and none as a line break that another does not know. */
bool tt_yaml_printable(uint32_t c);

/* The kind of a plain scalar; false when libraries disagree about it. */
bool tt_yaml_resolve(const char *s, enum tt_yaml_kind *kind);

#endif
