/* gzip and zstd, unpacked by the libraries of the system. */
#ifndef TT_UNPACK_H
#define TT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

enum tt_packing { TT_NOT_PACKED, TT_GZIP, TT_ZSTD };

/* The packing of a file, from its first n bytes. */
enum tt_packing tt_packing_of(const char *head, size_t n);

struct tt_unpacker; /* for gzip or for zstd */

/* NULL: the library was not found, or there is no memory. */
struct tt_unpacker *tt_unpacker_open(enum tt_packing packing);
void tt_unpacker_close(struct tt_unpacker *u);

struct tt_unpacked {
    size_t in, out;    /* bytes taken from the input and put into the output */
    bool ended;        /* a gzip member or zstd frame is complete: another may follow, or the file ends */
    const char *error; /* what is wrong with the data; NULL: nothing */
    bool wide;         /* an error, but not damage: the data need more memory than the library takes by itself */
};
/* Unpacks up to n bytes of input into up to `room` bytes of output. Call it again with the rest of the input. */
struct tt_unpacked tt_unpack(struct tt_unpacker *u, const char *in, size_t n, char *out, size_t room);

#endif
