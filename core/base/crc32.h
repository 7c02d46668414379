/* CRC-32 as in zlib, PNG and gzip. It detects damage to checkpoints and records, not forgery. */
#ifndef TT_CRC32_H
#define TT_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc = 0; pass the result in again to continue with the next piece. */
uint32_t tt_crc32(uint32_t crc, const void *data, size_t n);

/* The CRC of A followed by B, from the CRC of A (`first`) and the CRC of B (`second`, n bytes long). */
uint32_t tt_crc32_join(uint32_t first, uint32_t second, uint64_t n);

#endif
