/* What the YAML reader and writer share: characters, and what a plain scalar is by itself. */
#ifndef TT_YAML_SCALAR_H
#define TT_YAML_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/yaml.h"

/* Characters every YAML version takes as they are, and none as a line break that another does not know. */
bool tt_yaml_printable(uint32_t c);

/* The kind of a plain scalar; false when libraries disagree about it. */
bool tt_yaml_resolve(const char *s, enum tt_yaml_kind *kind);

#endif
