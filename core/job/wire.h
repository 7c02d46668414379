/* Framed messages over a connection. Nothing that arrives is trusted: a frame of the wrong kind or call, or larger than
 * expected, is an error. All machines of a job must have the same byte order; the greeting (rendezvous.c) of one with
 * another byte order is rejected. */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum tt_message {
    TT_WAITING = 1, /* rendezvous: rank 0 still waits for other ranks */
    TT_READY,       /* rendezvous: this rank will use this connection */
    TT_GO,          /* rendezvous: all ranks are connected */
    TT_ENDED,       /* rendezvous: it failed; struct tt_failure says why */
    TT_SHARE,       /* the calls of job.h */
    TT_GATHER,
    TT_AGREE,
    TT_SAME,
    TT_DECIDE,
    TT_CLOSE,
    TT_BEAT,   /* watching: heartbeat */
    TT_FAILS,  /* watching: this rank ends with an error */
    TT_LOST,   /* watching: from rank 0: which rank is lost; to rank 0: it was silent itself */
    TT_LEAVES, /* watching: this rank is done */
};

struct tt_frame {
    uint32_t magic, kind;
    uint64_t number, size; /* number of the call; bytes that follow */
};

enum tt_wire {
    TT_WIRE_OK,
    TT_WIRE_CLOSED, /* the connection has ended */
    TT_WIRE_LATE,   /* timeout */
    TT_WIRE_WRONG,  /* an unexpected frame */
};

#define TT_FOREVER 1e300

struct tt_frame tt_frame_of(enum tt_message kind, uint64_t number, size_t size);
int tt_frame_is_sound(const struct tt_frame *f, size_t most); /* right magic number, and size <= most */

/* Transfer all bytes, with a timeout when tt_seconds() reaches `until`. The sockets are non-blocking. */
enum tt_wire tt_wire_write(int fd, const void *bytes, size_t size, double until);
enum tt_wire tt_wire_read(int fd, void *bytes, size_t size, double until);

enum tt_wire tt_wire_send(int fd, enum tt_message kind, uint64_t number, const void *bytes, size_t size, double until);
/* The next frame must have this kind, number and size. */
enum tt_wire tt_wire_receive(int fd, enum tt_message kind, uint64_t number, void *bytes, size_t size, double until);
/* The same for a frame of any size up to *size; returns its size in *size. */
enum tt_wire tt_wire_receive_up_to(int fd, enum tt_message kind, uint64_t number, void *bytes, size_t *size,
                                   double until);

void tt_wire_set_up(int fd); /* non-blocking, TCP_NODELAY, a large send buffer */

#endif
