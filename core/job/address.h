/* The address at which rank 0 listens, and the sockets for it. */
#ifndef TT_ADDRESS_H
#define TT_ADDRESS_H

#include "core/base/sha256.h"
#include "core/job/job.h"

/* Ports for jobs without MASTER_PORT. They are below the ephemeral ports of the system. */
enum { TT_FIRST_PORT = 20000, TT_PORTS = 8192 };

struct tt_address {
    char host[256];
    int port;                          /* 0: any free port */
    char secret[TT_SHA256_DIGITS + 1]; /* of this job, if the address is passed in a file; else "" */
};

/* Finds the address in the launcher's environment. *in_file: rank 0 listens there and writes the address to the file of
 * --comm-file; the other ranks read that file instead. */
tt_status tt_address_find(const struct tt_job_options *options, struct tt_address *out, bool *in_file);

/* The file has one line, "host port secret", and is written atomically. Reading returns false if it is missing or
 * invalid. */
tt_status tt_address_write(const char *path, const struct tt_address *where);
bool tt_address_read(const char *path, struct tt_address *out);
void tt_address_remove(const char *path, const struct tt_address *where); /* unless another job has overwritten it */

tt_status tt_listen(struct tt_address *where, int *fd); /* sets where->port */
/* A non-blocking connection, or -1 with the reason in `why`. */
int tt_connect(const struct tt_address *where, double until, char *why, size_t size);

tt_status tt_random_word(char out[TT_SHA256_DIGITS + 1]); /* cryptographically random */
void tt_host_name(char *out, size_t size);

#endif
