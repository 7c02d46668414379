/* Where rank 0 listens, and the sockets for it. */
#ifndef TT_ADDRESS_H
#define TT_ADDRESS_H

#include "core/base/sha256.h"
#include "core/job/job.h"

/* Ports for jobs to which nobody gave one: below those that systems hand out by themselves. */
enum { TT_FIRST_PORT = 20000, TT_PORTS = 8192 };

struct tt_where {
    char host[256];
    int port;                          /* 0: whichever is free */
    char secret[TT_SHA256_DIGITS + 1]; /* of this meeting, where it is told in a file; else "" */
};

/* From what the launcher said. *in_file: the others learn it from the file, and *out is for rank 0 only. */
tt_status tt_where_find(const struct tt_job_options *options, struct tt_where *out, bool *in_file);

/* "host port secret" in a file that appears whole. Reading is false where there is none that can be understood. */
tt_status tt_where_write(const char *path, const struct tt_where *where);
bool tt_where_read(const char *path, struct tt_where *out);
void tt_where_remove(const char *path, const struct tt_where *where); /* if it is still this one */

tt_status tt_listen(struct tt_where *where, int *fd); /* fills in the port */
/* A connection that does not block, or -1 with the reason in `why`. */
int tt_connect(const struct tt_where *where, double until, char *why, size_t size);

tt_status tt_random_word(char out[TT_SHA256_DIGITS + 1]); /* that nobody can guess */
void tt_host_name(char *out, size_t size);

#endif
