/* A file that is read once, from its start to its end. One that begins as gzip or zstd do, whatever its name, is
 * unpacked on the way, by zlib or libzstd of the system, which are loaded at run time. */
#ifndef TT_STREAM_H
#define TT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct tt_stream;

/* TT_NO_TOOL, with what to install, where the library that unpacks the file is missing. */
tt_status tt_stream_open(const char *path, struct tt_stream **out);
void tt_stream_close(struct tt_stream *s); /* NULL is allowed */

/* Up to `room` bytes; 0 only at the end. Data that are damaged, end too early, or unpack to more than 500 times their
 * size are errors that name the file and the byte. */
tt_status tt_stream_read(struct tt_stream *s, char *out, size_t room, size_t *got);

bool tt_stream_is_packed(const struct tt_stream *s);
int64_t tt_stream_done(const struct tt_stream *s); /* bytes of the file that were read, packed as they are */
int64_t tt_stream_size(const struct tt_stream *s); /* bytes of the file */

#endif
