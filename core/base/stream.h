/* A file that is read once, from start to end. If its first bytes are those of gzip or zstd, it is unpacked on the way,
 * whatever its name. The system's zlib or libzstd does that; they are loaded at run time. */
#ifndef TT_STREAM_H
#define TT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct tt_stream;

/* Fails with TT_NO_TOOL, and says what to install, if the library that unpacks the file is missing. */
tt_status tt_stream_open(const char *path, struct tt_stream **out);
void tt_stream_close(struct tt_stream *s); /* NULL is allowed */

/* Reads up to `room` bytes; *got is 0 only at the end. Data that are damaged, end too early, or unpack to more than 64
 * MiB and 500 times their size are errors that name the file and the byte. */
tt_status tt_stream_read(struct tt_stream *s, char *out, size_t room, size_t *got);

bool tt_stream_is_packed(const struct tt_stream *s);
int64_t tt_stream_done(const struct tt_stream *s); /* bytes read from the file, before unpacking */
int64_t tt_stream_size(const struct tt_stream *s); /* bytes of the file */

#endif
