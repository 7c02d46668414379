/* SHA-256 (FIPS 180-4), as 64 hexadecimal digits. */
#ifndef TT_SHA256_H
#define TT_SHA256_H

#include <stddef.h>

enum { TT_SHA256_DIGITS = 64 };

void tt_sha256(const void *data, size_t n, char out[TT_SHA256_DIGITS + 1]);

#endif
