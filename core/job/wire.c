#include "core/job/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"

enum { MAGIC = 0x74746a31, ROOM = 1 << 20 }; /* "ttj1" */

void tt_wire_set_up(int fd)
{
    int on = 1, room = ROOM;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
}

/* False on timeout. A signal does not end the wait; the main thread acts on signals after the call. */
static int wait_for(int fd, short events, double until)
{
    for (;;) {
        double left = until - tt_seconds();
        if (left <= 0) return 0;
        struct pollfd p = {.fd = fd, .events = events};
        if (poll(&p, 1, left > 60 ? 60000 : (int)(left * 1000) + 1) > 0) return 1;
    }
}

static int would_block(void) { return errno == EAGAIN || errno == EWOULDBLOCK; }

enum tt_wire tt_wire_write(int fd, const void *bytes, size_t size, double until)
{
    for (const char *p = bytes; size;) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        } else if (errno != EINTR && !would_block()) {
            return TT_WIRE_CLOSED;
        } else if (!wait_for(fd, POLLOUT, until)) {
            return TT_WIRE_LATE;
        }
    }
    return TT_WIRE_OK;
}

enum tt_wire tt_wire_read(int fd, void *bytes, size_t size, double until)
{
    for (char *p = bytes; size;) {
        ssize_t n = recv(fd, p, size, 0);
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        } else if (n == 0 || (errno != EINTR && !would_block())) {
            return TT_WIRE_CLOSED;
        } else if (!wait_for(fd, POLLIN, until)) {
            return TT_WIRE_LATE;
        }
    }
    return TT_WIRE_OK;
}

struct tt_frame tt_frame_of(enum tt_message kind, uint64_t number, size_t size)
{
    return (struct tt_frame){MAGIC, kind, number, size};
}

int tt_frame_is_sound(const struct tt_frame *f, size_t most) { return f->magic == MAGIC && f->size <= most; }

/* A small message is sent with its frame in one packet. */
enum tt_wire tt_wire_send(int fd, enum tt_message kind, uint64_t number, const void *bytes, size_t size, double until)
{
    enum { SMALL = 1400 };
    struct {
        struct tt_frame frame;
        char bytes[SMALL];
    } packet = {.frame = tt_frame_of(kind, number, size)};
    if (size > SMALL) {
        enum tt_wire sent = tt_wire_write(fd, &packet.frame, sizeof packet.frame, until);
        return sent ? sent : tt_wire_write(fd, bytes, size, until);
    }
    if (size) memcpy(packet.bytes, bytes, size);
    return tt_wire_write(fd, &packet, sizeof packet.frame + size, until);
}

enum tt_wire tt_wire_receive_up_to(int fd, enum tt_message kind, uint64_t number, void *bytes, size_t *size,
                                   double until)
{
    struct tt_frame frame;
    enum tt_wire got = tt_wire_read(fd, &frame, sizeof frame, until);
    if (got) return got;
    if (!tt_frame_is_sound(&frame, *size) || frame.kind != kind || frame.number != number) return TT_WIRE_WRONG;
    *size = (size_t)frame.size;
    return tt_wire_read(fd, bytes, *size, until);
}

enum tt_wire tt_wire_receive(int fd, enum tt_message kind, uint64_t number, void *bytes, size_t size, double until)
{
    size_t came = size;
    enum tt_wire got = tt_wire_receive_up_to(fd, kind, number, bytes, &came, until);
    return got ? got : came == size ? TT_WIRE_OK : TT_WIRE_WRONG;
}
