/* Framed messages over a connection. What arrives is never trusted: a frame of another kind, of another call or larger
 * than the reader can take ends the reading. All machines of a job have the same byte order; a greeting from one that
 * has not is not understood (meet.c). */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum tt_message {
    TT_WAITING = 1, /* meeting: rank 0 is there and waits for more */
    TT_READY,       /* meeting: this rank will use this connection */
    TT_GO,          /* meeting: all are there */
    TT_ENDED,       /* meeting: it failed; the text says why */
    TT_SHARE,       /* the calls of job.h */
    TT_GATHER,
    TT_AGREE,
    TT_SAME,
    TT_DECIDE,
    TT_CLOSE,
    TT_BEAT,   /* watching: a sign of life */
    TT_FAILS,  /* watching: this rank ends by itself, with an error */
    TT_LOST,   /* watching: rank 0 says who is gone */
    TT_LEAVES, /* watching: this rank is done */
};

struct tt_frame {
    uint32_t magic, kind;
    uint64_t number, size; /* of the call; of the bytes that follow */
};

enum tt_wire {
    TT_WIRE_OK,
    TT_WIRE_CLOSED, /* by the other side, or broken */
    TT_WIRE_LATE,
    TT_WIRE_WRONG, /* something arrived that does not belong here */
};

#define TT_FOREVER 1e300

struct tt_frame tt_frame_of(enum tt_message kind, uint64_t number, size_t size);
int tt_frame_is_sound(const struct tt_frame *f, size_t most); /* it is one of ours, and not too large */

/* All the bytes, until tt_seconds() is `until`. The sockets do not block by themselves. */
enum tt_wire tt_wire_write(int fd, const void *bytes, size_t size, double until);
enum tt_wire tt_wire_read(int fd, void *bytes, size_t size, double until);

enum tt_wire tt_wire_send(int fd, enum tt_message kind, uint64_t number, const void *bytes, size_t size, double until);
/* The next frame has to be this one. */
enum tt_wire tt_wire_receive(int fd, enum tt_message kind, uint64_t number, void *bytes, size_t size, double until);
/* The same for a frame whose size its sender chooses: *size is the most on entry, and what came on return. */
enum tt_wire tt_wire_receive_up_to(int fd, enum tt_message kind, uint64_t number, void *bytes, size_t *size,
                                   double until);

void tt_wire_set_up(int fd); /* does not block, sends small messages at once, has room for many */

#endif
