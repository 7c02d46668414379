/* Text in gzip and zstd: read as if it were unpacked, wherever its pieces end, and refused if it is damaged. */
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/stream.h"
#include "core/base/unpack.h"
#include "tests/core/data/text_fixture.h"

/* {"text":"one"} and {"text":"two"}, packed by gzip and by zstd. */
static const unsigned char in_gzip[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x2a, 0x49, 0xad, 0x28, 0x51, 0xb2, 0x52,
    0xca, 0xcf, 0x4b, 0x55, 0xaa, 0xe5, 0xaa, 0x86, 0x71, 0x4b, 0xca, 0xf3, 0x81, 0x5c, 0x00, 0xfb, 0x0e, 0x50, 0xcb,
    0x1e, 0x00, 0x00, 0x00};
static const unsigned char in_zstd[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0xdd, 0x00, 0x00, 0xa8, 0x7b, 0x22, 0x74, 0x65, 0x78, 0x74, 0x22, 0x3a, 0x22,
    0x6f, 0x6e, 0x65, 0x22, 0x7d, 0x0a, 0x74, 0x77, 0x6f, 0x22, 0x7d, 0x0a, 0x01, 0x00, 0x52, 0xcc, 0x3a, 0x90, 0xe2,
    0xdf, 0xee};

static void packed_files_are_read(void)
{
    struct tt_unpacker *gzip = tt_unpacker_open(TT_GZIP), *zstd = tt_unpacker_open(TT_ZSTD);
    if (gzip) {
        char twice[2 * sizeof in_gzip + 9] = {0};
        memcpy(twice, in_gzip, sizeof in_gzip);
        memcpy(twice + sizeof in_gzip, in_gzip, sizeof in_gzip);
        READS(write_bytes("p.jsonl.gz", in_gzip, sizeof in_gzip), "one\0two\0");
        READS(write_bytes("p.jsonl", in_gzip, sizeof in_gzip), "one\0two\0"); /* known by its bytes, not by its name */
        READS(write_bytes("p.jsonl.gz", twice, sizeof twice), "one\0two\0one\0two\0");
        twice[sizeof in_gzip] = 'x';
        refuses(write_bytes("p.jsonl.gz", twice, sizeof twice), "damaged at byte 42: something else follows");
    }
    if (zstd) {
        char twice[2 * sizeof in_zstd], skipped[10 + sizeof in_zstd] = "\x53\x2a\x4d\x18\2\0\0\0xx";
        memcpy(skipped + 10, in_zstd, sizeof in_zstd);
        READS(write_bytes("p.jsonl.zst", skipped, sizeof skipped), "one\0two\0");
        memcpy(twice, in_zstd, sizeof in_zstd);
        memcpy(twice + sizeof in_zstd, in_zstd, sizeof in_zstd);
        READS(write_bytes("p.jsonl.zst", in_zstd, sizeof in_zstd), "one\0two\0");
        READS(write_bytes("p.jsonl.zst", twice, sizeof twice), "one\0two\0one\0two\0");
    }
    tt_unpacker_close(gzip);
    tt_unpacker_close(zstd);
    if (!gzip || !zstd) SKIP("zlib or libzstd is not installed");
}

static void put_number(struct tt_text *out, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++, n >>= 8) tt_text_add(out, &(char){(char)n}, 1);
}

/* A zstd frame of run-length blocks. */
static void put_frame(struct tt_text *out, const char *text, size_t n)
{
    tt_text_add(out, "\x28\xb5\x2f\xfd\xa0", 5); /* the size follows in 4 bytes */
    put_number(out, n, 4);
    for (size_t from = 0, step; from < n; from += step) {
        for (step = 1; from + step < n && text[from + step] == text[from];) step++;
        put_number(out, step << 3 | 1 << 1 | (from + step == n), 3);
        tt_text_add(out, text + from, 1);
    }
}

/* A gzip member with stored, uncompressed text. */
static void put_member(struct tt_text *out, const char *text, size_t n)
{
    enum { STORED = 65535 };
    uint32_t crc = ~0U;
    tt_text_add(out, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    for (size_t from = 0, step; from < n; from += step) {
        step = n - from < STORED ? n - from : STORED;
        put_number(out, from + step == n, 1);
        put_number(out, step | (~step & 0xffff) << 16, 4);
        tt_text_add(out, text + from, step);
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    }
    put_number(out, ~crc, 4);
    put_number(out, n, 4);
}

/* Text is unpacked 64 KiB at a time. A frame may end exactly there, with or without another one after it. */
static void packed_in_frames(const char *name, void (*put)(struct tt_text *, const char *, size_t))
{
    enum { PIECE = 64 << 10 };
    static char text[3 * PIECE];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i % 61 == 60 ? '\n' : 'a' + i / 1000 % 23);
    for (int pieces = 1; pieces <= 2; pieces++)
        for (int more = -1; more <= 1; more++)
            for (int frames = 1; frames <= 3; frames++) {
                size_t n = (size_t)(pieces * PIECE + more);
                struct tt_text packed = {0}, wanted = {0};
                for (int i = 0; i < frames; i++) {
                    put(&packed, text + i, n);
                    tt_text_add(&wanted, text + i, n);
                }
                reads(write_bytes(name, packed.s, packed.n), wanted.s, wanted.n);
                refuses(write_bytes(name, packed.s, packed.n - 1), "truncated");
                tt_text_free(&packed);
                tt_text_free(&wanted);
            }
}

static void packed_pieces_end_anywhere(void)
{
    struct tt_unpacker *gzip = tt_unpacker_open(TT_GZIP), *zstd = tt_unpacker_open(TT_ZSTD);
    if (gzip) packed_in_frames("p.txt.gz", put_member);
    if (zstd) packed_in_frames("p.txt.zst", put_frame);
    tt_unpacker_close(gzip);
    tt_unpacker_close(zstd);
    if (!gzip || !zstd) SKIP("zlib or libzstd is not installed");
}

/* Cuts the file at every length and changes every byte: an error, or the same text if the byte does not matter. */
static void damaged(const char *name, const unsigned char *whole, size_t n)
{
    unsigned char bytes[256];
    struct tt_text got = {0};
    int wrong = 0;
    for (size_t cut = 5; cut < n; cut++) refuses(write_bytes(name, whole, cut), "truncated");
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes, whole, n);
        bytes[i] ^= 0x55;
        const char *path = write_bytes(name, bytes, n);
        struct tt_text_work w = {.paths = &path, .count = 1};
        tt_status st = read_as_bytes(&w, &got);
        CHECK(st || (got.n == 8 && !memcmp(got.s, "one\0two", 8)), "byte %zu", i);
        CHECK(!st || strstr(st->text, "damaged") || strstr(st->text, "truncated"), "%zu: %s", i, st ? st->text : "");
        if (st) wrong++;
        tt_status_free(st);
    }
    CHECK(wrong > (int)n / 2, "%d errors in %zu bytes", wrong, n);
    tt_text_free(&got);
}

static void damaged_files_are_refused(void)
{
    struct tt_unpacker *gzip = tt_unpacker_open(TT_GZIP), *zstd = tt_unpacker_open(TT_ZSTD);
    if (gzip) damaged("d.jsonl.gz", in_gzip, sizeof in_gzip);
    if (zstd) damaged("d.jsonl.zst", in_zstd, sizeof in_zstd);
    tt_unpacker_close(gzip);
    tt_unpacker_close(zstd);
    if (!gzip || !zstd) SKIP("zlib or libzstd is not installed");
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(packed_files_are_read);
    TEST(packed_pieces_end_anywhere);
    TEST(damaged_files_are_refused);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
