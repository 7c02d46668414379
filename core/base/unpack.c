#include "core/base/unpack.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum tt_packing tt_packing_of(const char *head, size_t n)
{
    if (n >= 3 && !memcmp(head, "\x1f\x8b\x08", 3)) return TT_GZIP;
    if (n >= 4 && !memcmp(head, "\x28\xb5\x2f\xfd", 4)) return TT_ZSTD;
    if (n >= 4 && (head[0] & 0xf0) == 0x50 && !memcmp(head + 1, "\x2a\x4d\x18", 3)) return TT_ZSTD; /* skippable */
    return TT_NOT_PACKED;
}

/* ---- the libraries: the parts of their documented interfaces that are used ---- */

struct z_stream {
    const void *next_in;
    unsigned avail_in;
    unsigned long total_in;
    void *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
};
enum { Z_DONE = 1, Z_NEEDS_MORE = -5, Z_GZIP_WINDOW = 15 + 16 };

struct zstd_in {
    const void *src;
    size_t size, pos;
};
struct zstd_out {
    void *dst;
    size_t size, pos;
};

struct zlib {
    int (*init)(struct z_stream *, int, const char *, int);
    int (*inflate)(struct z_stream *, int);
    int (*reset)(struct z_stream *);
    int (*end)(struct z_stream *);
    const char *(*version)(void);
};
struct zstd {
    void *(*create)(void);
    size_t (*free)(void *);
    size_t (*unpack)(void *, struct zstd_out *, struct zstd_in *);
    unsigned (*is_error)(size_t);
    const char *(*error_name)(size_t);
};
enum { FUNCTIONS = 5 };
_Static_assert(sizeof(struct zlib) == FUNCTIONS * sizeof(void *) && sizeof(struct zstd) == sizeof(struct zlib),
               "a function of a library has no name");

struct tt_unpacker {
    enum tt_packing packing;
    void *library;
    struct zlib zlib;
    struct z_stream z;
    bool between; /* gzip: the member before is complete */
    struct zstd zstd;
    void *frames;
};

static void *load(enum tt_packing packing, void *functions)
{
    static const char *const names[][FUNCTIONS] = {
        [TT_GZIP] = {"inflateInit2_", "inflate", "inflateReset", "inflateEnd", "zlibVersion"},
        [TT_ZSTD] = {"ZSTD_createDStream", "ZSTD_freeDStream", "ZSTD_decompressStream", "ZSTD_isError",
                     "ZSTD_getErrorName"}};
    void *found[FUNCTIONS], *library = dlopen(packing == TT_GZIP ? "libz.so.1" : "libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; library && i < FUNCTIONS; i++) {
        found[i] = dlsym(library, names[packing][i]);
        if (found[i]) continue;
        dlclose(library);
        library = NULL;
    }
    if (library) memcpy(functions, found, sizeof found); /* in the order of the names */
    return library;
}

struct tt_unpacker *tt_unpacker_open(enum tt_packing packing)
{
    struct tt_unpacker *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    u->packing = packing;
    u->library = load(packing, packing == TT_GZIP ? (void *)&u->zlib : (void *)&u->zstd);
    bool begun = u->library != NULL;
    if (begun && packing == TT_GZIP)
        begun = !u->zlib.init(&u->z, Z_GZIP_WINDOW, u->zlib.version(), (int)sizeof u->z);
    else if (begun)
        begun = (u->frames = u->zstd.create()) != NULL;
    if (begun) return u;
    if (u->library) dlclose(u->library);
    free(u);
    return NULL;
}

void tt_unpacker_close(struct tt_unpacker *u)
{
    if (!u) return;
    if (u->packing == TT_GZIP) u->zlib.end(&u->z);
    if (u->frames) u->zstd.free(u->frames);
    dlclose(u->library);
    free(u);
}

/* ---- unpacking ---- */

/* Zeros after the last member are padding. */
static struct tt_unpacked unpack_gzip(struct tt_unpacker *u, const char *in, size_t n, char *out, size_t room)
{
    struct tt_unpacked r = {.ended = u->between};
    if (u->between) {
        while (r.in < n && !in[r.in]) r.in++;
        if (r.in == n) return r;
        if (r.in || in[0] != '\x1f') r.error = "something else follows the packed text";
        if (r.error) return r;
        u->zlib.reset(&u->z);
    }
    u->z.next_in = in;
    u->z.avail_in = (unsigned)n;
    u->z.next_out = out;
    u->z.avail_out = (unsigned)room;
    int code = u->zlib.inflate(&u->z, 0);
    r.in = n - u->z.avail_in;
    r.out = room - u->z.avail_out;
    r.ended = u->between = code == Z_DONE;
    if (code && code != Z_DONE && code != Z_NEEDS_MORE) r.error = u->z.msg ? u->z.msg : "it cannot be unpacked";
    return r;
}

static struct tt_unpacked unpack_zstd(struct tt_unpacker *u, const char *in, size_t n, char *out, size_t room)
{
    struct zstd_in from = {in, n, 0};
    struct zstd_out to = {out, room, 0};
    size_t left = u->zstd.unpack(u->frames, &to, &from);
    struct tt_unpacked r = {.in = from.pos, .out = to.pos, .ended = left == 0};
    if (u->zstd.is_error(left)) r.error = u->zstd.error_name(left);
    r.wide = r.error && strstr(r.error, "too much memory"); /* ZSTD_error_frameParameter_windowTooLarge */
    return r;
}

struct tt_unpacked tt_unpack(struct tt_unpacker *u, const char *in, size_t n, char *out, size_t room)
{
    return (u->packing == TT_GZIP ? unpack_gzip : unpack_zstd)(u, in, n, out, room);
}
