/* core/checkpoint/safetensors and core/base/crc32: files round-trip, and no malformed file is trusted. */
#include "core/checkpoint/safetensors.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/crc32.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/test.h"

static char root[] = "/tmp/tt-test-safetensors-XXXXXX";
static char buffer[2][300];

static const char *at(int n, const char *name)
{
    snprintf(buffer[n], sizeof buffer[n], "%s/%s", root, name);
    return buffer[n];
}

/* ---- CRC-32 ---- */

static uint32_t crc_bit_by_bit(const unsigned char *p, size_t n)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void crc_is_that_of_zlib(void)
{
    CHECK(tt_crc32(0, "", 0) == 0);
    CHECK(tt_crc32(0, "a", 1) == 0xe8b7be43);
    CHECK(tt_crc32(0, "123456789", 9) == 0xcbf43926);
    CHECK(tt_crc32(0, "The quick brown fox jumps over the lazy dog", 43) == 0x414fa339);
    unsigned char data[600];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)tt_random(1, 1, i);
    for (size_t from = 0; from < 20; from++)
        for (size_t n = 0; n < 300; n += 1 + n / 40)
            CHECK(tt_crc32(0, data + from, n) == crc_bit_by_bit(data + from, n), "from %zu, %zu bytes", from, n);
    for (size_t cut = 0; cut <= sizeof data; cut += 7)
        CHECK(tt_crc32(tt_crc32(0, data, cut), data + cut, sizeof data - cut) == tt_crc32(0, data, sizeof data));
}

/* ---- complete files ---- */

/* Overwrites without truncating first: after a truncation some file systems write to disk at once, and this is called
 * often. */
static void write_file(const char *path, const void *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    CHECK(fd >= 0 && pwrite(fd, data, n, 0) == (ssize_t)n && !ftruncate(fd, (off_t)n));
    if (fd >= 0) close(fd);
}

/* Writes a file with this header and `data` bytes of data. */
static void write_raw(const char *path, uint64_t length, const char *header, size_t data)
{
    char file[4096] = {0};
    memcpy(file, &length, 8);
    memcpy(file + 8, header, strlen(header));
    write_file(path, file, 8 + strlen(header) + data);
}

static void round_trips(void)
{
    enum { BIG = 700001 }; /* more than one piece */
    float *big = malloc(BIG * sizeof *big);
    for (int i = 0; i < BIG; i++) big[i] = (float)tt_normal(2, 3, (uint64_t)i);
    float vector[3] = {1, -0.0f, 1e-45f}, scalar[1] = {42};
    struct tt_tensor_source tensors[] = {{"layers.0.w", 2, {1, BIG}, big, NULL},
                                         {"norm", 1, {3}, vector, NULL},
                                         {"scalar", 0, {0}, scalar, NULL},
                                         {"empty", 2, {0, 5}, NULL, NULL}};
    struct tt_metadata metadata[] = {{"format", "tt"}, {"step", "12"}};
    uint64_t size;
    uint32_t crc;
    CHECK_OK(tt_safetensors_write(at(0, "a"), tensors, 4, metadata, 2, &size, &crc));

    char *bytes;
    size_t n;
    CHECK_OK(tt_file_read(at(0, "a"), 1 << 28, &bytes, &n));
    CHECK(n == size && tt_crc32(0, bytes, n) == crc);
    uint64_t header;
    memcpy(&header, bytes, 8);
    CHECK(header % 8 == 0 && 8 + header + (BIG + 4) * 4 == n);
    free(bytes);

    struct tt_safetensors *s;
    CHECK_OK(tt_safetensors_open(at(0, "a"), &s));
    CHECK(tt_safetensors_count(s) == 4);
    CHECK(!strcmp(tt_safetensors_metadata(s, "format"), "tt") && !strcmp(tt_safetensors_metadata(s, "step"), "12"));
    CHECK(!tt_safetensors_metadata(s, "absent") && !tt_safetensors_find(s, "absent") &&
          !tt_safetensors_find(s, "__metadata__"));
    const struct tt_tensor *t = tt_safetensors_find(s, "layers.0.w");
    CHECK(t == tt_safetensors_at(s, 0) && t->rank == 2 && t->shape[1] == BIG && t->count == BIG &&
          !strcmp(t->type, "F32"));
    float *back = malloc(BIG * sizeof *back);
    CHECK_OK(tt_safetensors_read(s, t, back));
    CHECK(!memcmp(back, big, BIG * sizeof *big));
    CHECK_OK(tt_safetensors_read(s, tt_safetensors_find(s, "norm"), back));
    CHECK(!memcmp(back, vector, sizeof vector));
    CHECK_OK(tt_safetensors_read(s, tt_safetensors_find(s, "scalar"), back));
    CHECK(back[0] == 42 && tt_safetensors_find(s, "scalar")->rank == 0);
    CHECK(tt_safetensors_find(s, "empty")->count == 0);
    CHECK_OK(tt_safetensors_read(s, tt_safetensors_find(s, "empty"), back));
    tt_safetensors_close(s);
    tt_safetensors_close(NULL);
    free(big);
    free(back);
}

static void writes_nothing_at_all(void)
{
    uint64_t size;
    uint32_t crc;
    struct tt_safetensors *s;
    CHECK_OK(tt_safetensors_write(at(0, "nothing"), NULL, 0, NULL, 0, &size, &crc));
    CHECK(size == 16);
    CHECK_OK(tt_safetensors_open(at(0, "nothing"), &s));
    CHECK(tt_safetensors_count(s) == 0 && !tt_safetensors_find(s, "x"));
    tt_safetensors_close(s);
}

static void converts_halves(void)
{
    static const uint16_t f16[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001,
                                   0x03ff, 0x0400, 0x7c00, 0xfc00, 0x3555};
    static const float f16_values[] = {0.0f,         -0.0f,    1.0f,     -2.0f,     65504.0f,   0x1p-24f,
                                       0x1.ff8p-15f, 0x1p-14f, INFINITY, -INFINITY, 0x1.554p-2f};
    static const uint16_t bf16[] = {0x0000, 0x3f80, 0xc049, 0x7f80};
    static const float bf16_values[] = {0.0f, 1.0f, -3.140625f, INFINITY};
    const char *header = "{\"h\":{\"dtype\":\"F16\",\"shape\":[11],\"data_offsets\":[0,22]},"
                         "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[22,30]},"
                         "\"i\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[30,38]}}";
    char file[1000];
    uint64_t n = strlen(header);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    memcpy(file + 8 + n, f16, 22);
    memcpy(file + 30 + n, bf16, 8);
    memset(file + 38 + n, 0, 8);
    write_file(at(0, "halves"), file, 46 + n);
    struct tt_safetensors *s;
    float out[11];
    CHECK_OK(tt_safetensors_open(at(0, "halves"), &s));
    CHECK_OK(tt_safetensors_read(s, tt_safetensors_find(s, "h"), out));
    CHECK(!memcmp(out, f16_values, sizeof f16_values));
    CHECK_OK(tt_safetensors_read(s, tt_safetensors_find(s, "b"), out));
    CHECK(!memcmp(out, bf16_values, sizeof bf16_values));
    CHECK_FAILS(tt_safetensors_read(s, tt_safetensors_find(s, "i"), out), "'i' is I64");
    tt_safetensors_close(s);
}

/* ---- files that must be refused ---- */

static void refuses(const char *header, size_t data, const char *words)
{
    struct tt_safetensors *s = NULL;
    write_raw(at(0, "bad"), strlen(header), header, data);
    CHECK_FAILS(tt_safetensors_open(at(0, "bad"), &s), words);
    CHECK(!s);
}

#define T(name, shape, offsets) "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void refuses_wrong_headers(void)
{
    refuses("", 0, "damaged");
    refuses("[]", 0, "not a JSON object");
    refuses("{\"a\":1}", 0, "not described by an object");
    refuses("{\"a\":{}}", 0, "unknown dtype");
    refuses("{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype");
    refuses("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape");
    refuses("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets");
    refuses("{" T("a", "[1]", "[0]") "}", 4, "data_offsets");
    refuses("{" T("a", "[1]", "[0,4,8]") "}", 4, "data_offsets");
    refuses("{" T("a", "[1]", "[4,0]") "}", 4, "data_offsets");
    refuses("{" T("a", "[1]", "[-4,0]") "}", 4, "data_offsets");
    refuses("{" T("a", "[1]", "[0.0,4]") "}", 4, "data_offsets");
    refuses("{" T("a", "[1]", "[0,99999999999999999999]") "}", 4, "data_offsets");
    refuses("{" T("a", "[-1]", "[0,4]") "}", 4, "not a list of sizes");
    refuses("{" T("a", "[\"1\"]", "[0,4]") "}", 4, "not a list of sizes");
    refuses("{" T("a", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 8 dimensions");
    refuses("{" T("a", "[4611686018427387904]", "[0,4]") "}", 4, "too large");
    refuses("{" T("a", "[4294967296,4294967296]", "[0,0]") "}", 0, "too large");
    refuses("{" T("a", "[2]", "[0,4]") "}", 4, "does not match");
    refuses("{\"__metadata__\":[]," T("a", "[1]", "[0,4]") "}", 4, "__metadata__");
    refuses("{\"__metadata__\":{\"a\":1}," T("a", "[1]", "[0,4]") "}", 4, "__metadata__");
    refuses("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice");
}

static void refuses_wrong_layouts(void)
{
    refuses("{" T("a", "[2]", "[0,8]") "}", 4, "ends after the end");
    refuses("{" T("a", "[1]", "[0,4]") "}", 5, "bytes after the last");
    refuses("{" T("a", "[1]", "[4,8]") "}", 8, "after a gap");
    refuses("{" T("a", "[1]", "[0,4]") "," T("b", "[1]", "[8,12]") "}", 12, "after a gap");
    refuses("{" T("a", "[2]", "[0,8]") "," T("b", "[2]", "[4,12]") "}", 12, "overlaps");
    refuses("{" T("a", "[2]", "[0,8]") "," T("b", "[2]", "[0,8]") "}", 8, "overlaps");
    refuses("{" T("a", "[1]", "[0,4]") "," T("a", "[1]", "[4,8]") "}", 8, "'a' occurs twice");
    refuses("{}", 1, "bytes after the last");
}

static void accepts_any_order(void)
{
    struct tt_safetensors *s;
    const char *header = "{" T("b", "[1]", "[4,8]") "," T("empty", "[0]", "[4,4]") "," T("a", "[1]", "[0,4]") "}   ";
    write_raw(at(0, "order"), strlen(header), header, 8);
    CHECK_OK(tt_safetensors_open(at(0, "order"), &s));
    CHECK(tt_safetensors_count(s) == 3 && !strcmp(tt_safetensors_at(s, 0)->name, "a"));
    CHECK(tt_safetensors_find(s, "b") == tt_safetensors_at(s, 2));
    tt_safetensors_close(s);
}

static void refuses_wrong_lengths(void)
{
    struct tt_safetensors *s;
    write_file(at(0, "short"), "\2\0\0\0\0\0\0", 7);
    CHECK_FAILS(tt_safetensors_open(at(0, "short"), &s), "shorter than 8 bytes");
    write_raw(at(0, "long"), 3, "{}", 0);
    CHECK_FAILS(tt_safetensors_open(at(0, "long"), &s), "ends after the end");
    write_raw(at(0, "huge"), UINT64_MAX, "{}", 0);
    CHECK_FAILS(tt_safetensors_open(at(0, "huge"), &s), "larger than 100 MB");
    write_raw(at(0, "huge"), UINT64_MAX - 7, "{}", 0);
    CHECK_FAILS(tt_safetensors_open(at(0, "huge"), &s), "larger than 100 MB");
    write_raw(at(0, "large"), 100000001, "{}", 0);
    CHECK(!truncate(at(0, "large"), 200000000));
    CHECK_FAILS(tt_safetensors_open(at(0, "large"), &s), "larger than 100 MB");
    CHECK_FAILS(tt_safetensors_open(at(0, "absent"), &s), "check the path");
    CHECK_FAILS(tt_safetensors_open(root, &s), "regular file");
    CHECK(!mkfifo(at(0, "pipe"), 0600));
    CHECK_FAILS(tt_safetensors_open(at(0, "pipe"), &s), "regular file");
}

static size_t valid_file(char *out)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"tt\"}," T("a", "[2,2]", "[0,16]") "," T("b", "[1]", "[16,20]") "}";
    uint64_t n = sizeof header - 1;
    memcpy(out, &n, 8);
    memcpy(out + 8, header, n);
    memset(out + 8 + n, 1, 20);
    return 8 + n + 20;
}

static void refuses_every_truncation(void)
{
    char file[1000];
    size_t n = valid_file(file);
    struct tt_safetensors *s;
    for (size_t k = 0; k < n; k++) {
        write_file(at(0, "cut"), file, k);
        tt_status st = tt_safetensors_open(at(0, "cut"), &s);
        CHECK(st && !s, "%zu of %zu bytes", k, n);
        tt_status_free(st);
    }
}

static void survives_mutations(void)
{
    static const char digits[] = "0123456789-[]{}\",:.e";
    int accepted = 0;
    for (int round = 0; round < 6000; round++) {
        char file[1000];
        size_t n = valid_file(file);
        for (int k = 0; k < 1 + round % 3; k++) {
            uint64_t r = tt_random(7, (uint64_t)round, (uint64_t)k);
            size_t where = (r >> 8 & 0xffff) % n;
            file[where] = r & 1 && where >= 8 ? digits[(r >> 32) % (sizeof digits - 1)] : (char)(r >> 40);
        }
        write_file(at(0, "mutant"), file, n);
        struct tt_safetensors *s;
        tt_status st = tt_safetensors_open(at(0, "mutant"), &s);
        CHECK(!st == !!s);
        for (int i = 0; s && i < tt_safetensors_count(s); i++) {
            const struct tt_tensor *t = tt_safetensors_at(s, i);
            float out[16];
            CHECK(t->count >= 0 && t->size <= 20 && t->offset + t->size <= 20);
            if (!strcmp(t->type, "F32")) CHECK_OK(tt_safetensors_read(s, t, out));
        }
        accepted += !st;
        tt_status_free(st);
        tt_safetensors_close(s);
    }
    CHECK(accepted > 50 && accepted < 5000, "accepted %d", accepted);
}

/* A limit on file sizes stands in for a full disk. */
static void leaves_nothing_when_writing_fails(void)
{
    float data[5000] = {0};
    struct tt_tensor_source t = {.name = "a", .rank = 1, .shape = {5000}, .data = data};
    uint64_t size;
    uint32_t crc;
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    setrlimit(RLIMIT_FSIZE, &small);
    tt_status st = tt_safetensors_write(at(0, "full"), &t, 1, NULL, 0, &size, &crc);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_FAILS(st, "File too large");
    CHECK(!tt_is_file(at(0, "full")));

    CHECK_OK(tt_safetensors_write(at(0, "full"), &t, 1, NULL, 0, &size, &crc));
    CHECK_FAILS(tt_safetensors_write(at(0, "full"), &t, 1, NULL, 0, &size, &crc), "in the way");
    CHECK_FAILS(tt_safetensors_write(at(0, "no/folder"), &t, 1, NULL, 0, &size, &crc), "check the path");
    t.shape[0] = -1;
    CHECK_FAILS(tt_safetensors_write(at(0, "odd"), &t, 1, NULL, 0, &size, &crc), "cannot be written");
}

static void names_shapes(void)
{
    char text[32];
    tt_tensor_shape_text(2, (int64_t[]){64, 32}, text, sizeof text);
    CHECK(!strcmp(text, "[64, 32]"));
    tt_tensor_shape_text(0, NULL, text, sizeof text);
    CHECK(!strcmp(text, "[]"));
    tt_tensor_shape_text(8, (int64_t[]){INT64_MAX, INT64_MAX, 1, 1, 1, 1, 1, 1}, text, sizeof text);
    CHECK(strlen(text) == sizeof text - 1);
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    TEST(crc_is_that_of_zlib);
    TEST(round_trips);
    TEST(writes_nothing_at_all);
    TEST(converts_halves);
    TEST(refuses_wrong_headers);
    TEST(refuses_wrong_layouts);
    TEST(accepts_any_order);
    TEST(refuses_wrong_lengths);
    TEST(refuses_every_truncation);
    TEST(survives_mutations);
    TEST(leaves_nothing_when_writing_fails);
    TEST(names_shapes);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
