/* The address of rank 0, in this order: MASTER_ADDR with MASTER_PORT; the file of --comm-file; this machine, if all
 * ranks are on it; the first node of the SLURM step. Without MASTER_PORT the port is a hash of the job's id, so that
 * all ranks choose the same one of the TT_PORTS ports from TT_FIRST_PORT on. */
#include "core/job/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/staged.h"
#include "core/job/place.h"
#include "core/job/wire.h"

void tt_host_name(char *out, size_t size)
{
    if (gethostname(out, size)) snprintf(out, size, "unknown host");
    out[size - 1] = 0;
}

tt_status tt_random_word(char out[TT_SHA256_DIGITS + 1])
{
    unsigned char bytes[32];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return tt_fail(TT_FAILED, "cannot get random numbers from the system: %s", strerror(errno));
    tt_sha256(bytes, sizeof bytes, out);
    return TT_OK;
}

static int port_of(const char *id)
{
    char digits[TT_SHA256_DIGITS + 1];
    tt_sha256(id, strlen(id), digits);
    digits[8] = 0;
    return TT_FIRST_PORT + (int)(strtoul(digits, NULL, 16) % TT_PORTS);
}

static struct addrinfo *look_up(const char *host, int port, int *error)
{
    char service[8];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    *error = getaddrinfo(host, service, &hints, &found);
    return *error ? NULL : found;
}

static bool is_known(const char *host)
{
    int error;
    struct addrinfo *found = look_up(host, 1, &error);
    if (found) freeaddrinfo(found);
    return found != NULL;
}

static tt_status find_host(const struct tt_place *p, bool in_file, char *out, size_t size)
{
    bool here = p->local_ranks == p->ranks;
    if (p->address[0] && (!here || is_known(p->address))) /* torchrun may give a name that does not resolve */
        snprintf(out, size, "%s", p->address);
    else if (here)
        snprintf(out, size, "127.0.0.1");
    else if (in_file)
        tt_host_name(out, size);
    else
        tt_slurm_first_node(out, size);
    if (out[0]) return TT_OK;
    return tt_fail(TT_USAGE,
                   "%s does not say on which machine rank 0 is; set MASTER_ADDR to it, or give all ranks the "
                   "same --comm-file in a folder that they share",
                   p->starter[0] ? p->starter : "the environment");
}

tt_status tt_address_find(const struct tt_job_options *options, struct tt_address *out, bool *in_file)
{
    const struct tt_place *p = &options->place;
    *out = (struct tt_address){.port = p->port};
    *in_file = options->file && options->file[0] && !(p->address[0] && p->port);
    TT_TRY(find_host(p, *in_file, out->host, sizeof out->host));
    if (*in_file) return tt_random_word(out->secret);
    if (!out->port && !p->id[0])
        return tt_fail(TT_USAGE, "the port of rank 0 is not known; set MASTER_PORT to one that is free on %s",
                       out->host);
    if (!out->port) out->port = port_of(p->id);
    return TT_OK;
}

/* Readable by its owner only, because of the secret. */
tt_status tt_address_write(const char *path, const struct tt_address *where)
{
    struct tt_staged b;
    TT_TRY(tt_stage_file(path, &b));
    char line[400];
    int n = snprintf(line, sizeof line, "%s %d %s\n", where->host, where->port, where->secret);
    tt_status st = fchmod(b.fd, 0600) ? tt_file_error(errno, "protect", path) : TT_OK;
    if (!st) st = tt_write_all(b.fd, line, (size_t)n, path);
    if (!st) return tt_staged_replace(&b);
    tt_staged_drop(&b);
    return st;
}

bool tt_address_read(const char *path, struct tt_address *out)
{
    enum { LONGEST = 400 };
    char *line;
    size_t n;
    tt_status st = tt_file_read(path, LONGEST, &line, &n);
    if (st) {
        tt_status_free(st);
        return false;
    }
    struct tt_address a = {0};
    int got = sscanf(line, "%255s %d %64s", a.host, &a.port, a.secret);
    free(line);
    bool whole = got == 3 && a.port > 0 && a.port <= 65535 && strlen(a.secret) == TT_SHA256_DIGITS;
    if (whole) *out = a;
    return whole;
}

void tt_address_remove(const char *path, const struct tt_address *where)
{
    struct tt_address now;
    if (tt_address_read(path, &now) && strcmp(now.secret, where->secret) == 0) unlink(path);
}

/* The socket that tt --ranks opened before it started rank 0, so that nothing else can take the port. */
static int inherited(int port)
{
    const char *text = tt_env(TT_STARTED) ? tt_env(TT_LISTEN) : NULL;
    if (!text) return -1;
    int fd = atoi(text), listens = 0;
    socklen_t n = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) || !listens) return -1;
    struct sockaddr_in at;
    n = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &n) || at.sin_family != AF_INET) return -1;
    return ntohs(at.sin_port) == port ? fd : -1;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static int listen_at(const struct sockaddr *a, socklen_t size)
{
    int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0;
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* a port in TIME_WAIT, not one in use */
    if (a->sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (!bind(fd, a, size) && !listen(fd, 4096)) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* On the loopback interface if the address is a loopback address, else on all interfaces. */
static int listen_for(const struct tt_address *where)
{
    int error;
    struct addrinfo *found = look_up(where->host, where->port, &error);
    if (found && is_loopback(found->ai_addr)) {
        int fd = listen_at(found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
        return fd;
    }
    if (found) freeaddrinfo(found);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)where->port)};
    int fd = listen_at((struct sockaddr *)&any6, sizeof any6);
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES) return fd;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)where->port)};
    return listen_at((struct sockaddr *)&any, sizeof any);
}

tt_status tt_listen(struct tt_address *where, int *fd)
{
    *fd = where->port ? inherited(where->port) : -1;
    if (*fd < 0) *fd = listen_for(where);
    if (*fd < 0 && errno == EADDRINUSE)
        return tt_fail(TT_FAILED,
                       "rank 0 cannot listen on port %d: something else uses it; set MASTER_PORT to a port "
                       "that is free on this machine",
                       where->port);
    if (*fd < 0)
        return tt_fail(TT_FAILED, "rank 0 cannot listen on port %d: %s; set MASTER_PORT to another", where->port,
                       strerror(errno));
    tt_wire_set_up(*fd);
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    if (getsockname(*fd, (struct sockaddr *)&at, &n)) return TT_OK;
    where->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                                 : ((struct sockaddr_in *)&at)->sin_port);
    return TT_OK;
}

/* 0, or an errno. */
static int finish_connecting(int fd, double until)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    for (;;) {
        double left = until - tt_seconds();
        if (left <= 0) return ETIMEDOUT;
        int n = poll(&p, 1, (int)(left * 1000) + 1);
        if (n > 0) break;
    }
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? errno : error;
}

static int connect_to(const struct addrinfo *a, double until, int *error)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *error = fd < 0 ? errno : 0;
    if (fd < 0) return -1;
    tt_wire_set_up(fd);
    if (connect(fd, a->ai_addr, a->ai_addrlen)) *error = errno == EINPROGRESS ? finish_connecting(fd, until) : errno;
    if (!*error) return fd;
    close(fd);
    return -1;
}

int tt_connect(const struct tt_address *where, double until, char *why, size_t size)
{
    int error, fd = -1;
    struct addrinfo *found = look_up(where->host, where->port, &error);
    if (!found) snprintf(why, size, "%s", gai_strerror(error));
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = connect_to(a, until, &error);
        if (fd < 0) snprintf(why, size, "%s", strerror(error));
    }
    if (found) freeaddrinfo(found);
    return fd;
}
