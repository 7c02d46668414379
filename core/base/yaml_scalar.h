/* What the YAML reader and writer share: printable characters, and the kind of a plain scalar. */
#ifndef TT_YAML_SCALAR_H
#define TT_YAML_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/yaml.h"

/* Characters that every YAML version reads literally. Excludes those that only YAML 1.1 takes for line breaks. */
bool tt_yaml_printable(uint32_t c);

/* The kind of a plain scalar; false when libraries disagree about it. */
bool tt_yaml_resolve(const char *s, enum tt_yaml_kind *kind);

#endif
