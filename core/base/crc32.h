/* CRC-32 as in zlib, PNG and gzip: guards checkpoints and records against damage, not against forgery. */
#ifndef TT_CRC32_H
#define TT_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Start with 0; hand the result back in to go on with the next piece. */
uint32_t tt_crc32(uint32_t crc, const void *data, size_t n);

/* Of what has the CRC `first` with n bytes behind it that have the CRC `second`. */
uint32_t tt_crc32_join(uint32_t first, uint32_t second, uint64_t n);

#endif
