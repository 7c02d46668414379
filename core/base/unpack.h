/* gzip and zstd, unpacked by the libraries of the system. */
#ifndef TT_UNPACK_H
#define TT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

enum tt_packing { TT_NOT_PACKED, TT_GZIP, TT_ZSTD };

/* By the first bytes, of which n are there. */
enum tt_packing tt_packing_of(const char *head, size_t n);

struct tt_unpacker; /* of one of the two */

/* NULL: the library was not found, or there is no memory. */
struct tt_unpacker *tt_unpacker_open(enum tt_packing packing);
void tt_unpacker_close(struct tt_unpacker *u);

/* What was taken of the input and put into the output. */
struct tt_unpacked {
    size_t in, out;
    bool ended;        /* a member of the file, or a frame, is complete: another may follow, or the file ends */
    const char *error; /* what is wrong with the data; NULL: nothing */
    bool wide;         /* they are not damaged, but need more memory than the library takes by itself */
};
struct tt_unpacked tt_unpack(struct tt_unpacker *u, const char *in, size_t n, char *out, size_t room);

#endif
