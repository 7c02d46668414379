/* The seal of a profile: the last key of profile.json, a SHA-256 over everything before it. It tells a profile as `tt
 * profile` wrote it from one that was changed afterwards; it is neither a secret nor a proof against somebody who wants
 * to cheat. */
#ifndef TT_SEAL_H
#define TT_SEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/json.h"
#include "core/base/sha256.h"

/* Seals what was written so far, inside the outermost object. */
void tt_seal_put(struct tt_json_writer *w);

/* Whether the text of a profile.json has an unbroken seal. `out` is that seal, or empty. */
bool tt_seal_read(const char *text, size_t n, char out[TT_SHA256_DIGITS + 1]);

#endif
