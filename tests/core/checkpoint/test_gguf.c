/* core/checkpoint/gguf: files round-trip, their layout is the format's, and no malformed file is trusted. */
#include "core/checkpoint/gguf.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/half.h"
#include "core/base/rng.h"
#include "tests/test.h"

static char root[] = "/tmp/tt-test-gguf-XXXXXX";
static char path[300];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* ---- files made by hand ---- */

struct bytes {
    unsigned char b[8192];
    size_t n;
};

static void raw(struct bytes *f, const void *data, size_t n)
{
    memcpy(f->b + f->n, data, n);
    f->n += n;
}
static void u32(struct bytes *f, uint32_t v) { raw(f, &v, 4); }
static void u64(struct bytes *f, uint64_t v) { raw(f, &v, 8); }
static void str(struct bytes *f, const char *s)
{
    u64(f, strlen(s));
    raw(f, s, strlen(s));
}
static void align(struct bytes *f, size_t n)
{
    while (f->n % n) f->b[f->n++] = 0;
}

static void head(struct bytes *f, uint64_t tensors, uint64_t values)
{
    *f = (struct bytes){0};
    raw(f, "GGUF", 4);
    u32(f, 3);
    u64(f, tensors);
    u64(f, values);
}

static void tensor(struct bytes *f, const char *name, uint32_t rank, uint64_t columns, uint64_t rows, uint32_t type,
                   uint64_t offset)
{
    str(f, name);
    u32(f, rank);
    if (rank) u64(f, columns);
    for (uint32_t i = 1; i < rank; i++) u64(f, rows);
    u32(f, type);
    u64(f, offset);
}

static tt_status open_bytes(const struct bytes *f, struct tt_gguf **g)
{
    const char *name = at("made");
    int fd = open(name, O_WRONLY | O_CREAT, 0666);
    CHECK(fd >= 0 && pwrite(fd, f->b, f->n, 0) == (ssize_t)f->n && !ftruncate(fd, (off_t)f->n));
    if (fd >= 0) close(fd);
    return tt_gguf_open(name, g);
}

#define REFUSED(f, words)                                                                                              \
    do {                                                                                                               \
        struct tt_gguf *g_ = NULL;                                                                                     \
        CHECK_FAILS(open_bytes(f, &g_), words);                                                                        \
        CHECK(!g_);                                                                                                    \
    } while (0)

/* ---- good files ---- */

static void put_values(struct tt_gguf_writer *w)
{
    tt_gguf_put_string(w, "general.architecture", "llama");
    tt_gguf_put_u32(w, "a.count", 4000000000u);
    tt_gguf_put_f32(w, "a.eps", 1e-5f);
    tt_gguf_put_bool(w, "a.yes", true);
    tt_gguf_begin_array(w, "words", TT_GGUF_STRING, 3);
    tt_gguf_add_string(w, "one", 3);
    tt_gguf_add_string(w, "", 0);
    tt_gguf_add_string(w, "a\0b", 3);
    tt_gguf_begin_array(w, "numbers", TT_GGUF_I32, 2);
    tt_gguf_add_i32(w, -7);
    tt_gguf_add_i32(w, 9);
    tt_gguf_begin_array(w, "none", TT_GGUF_STRING, 0);
}

static void check_values(const struct tt_gguf *g)
{
    int64_t i;
    double x;
    bool yes = false;
    char s[8];
    const char *word;
    size_t n;
    struct tt_gguf_array a;
    CHECK(tt_gguf_int(g, "a.count", 0, INT64_MAX, &i) && i == 4000000000);
    CHECK(!tt_gguf_int(g, "a.count", 0, 5, &i) && !tt_gguf_int(g, "a.eps", 0, 5, &i) &&
          !tt_gguf_int(g, "no", 0, 5, &i));
    CHECK(tt_gguf_number(g, "a.eps", &x) && (float)x == 1e-5f);
    CHECK(tt_gguf_number(g, "a.count", &x) && x == 4e9 && !tt_gguf_number(g, "a.yes", &x));
    CHECK(tt_gguf_bool(g, "a.yes", &yes) && yes && !tt_gguf_bool(g, "a.count", &yes));
    CHECK(tt_gguf_string(g, "general.architecture", s, 4) && !strcmp(s, "lla"), "%s", s);
    CHECK(!tt_gguf_string(g, "words", s, sizeof s) && !tt_gguf_array(g, "a.eps", &a));
    CHECK(tt_gguf_array(g, "words", &a) && a.n == 3 && !tt_gguf_next_int(&a, &i));
    CHECK(tt_gguf_next_string(&a, &word, &n) && n == 3 && !memcmp(word, "one", 3));
    CHECK(tt_gguf_next_string(&a, &word, &n) && n == 0);
    CHECK(tt_gguf_next_string(&a, &word, &n) && n == 3 && !memcmp(word, "a\0b", 3) &&
          !tt_gguf_next_string(&a, &word, &n));
    CHECK(tt_gguf_array(g, "numbers", &a) && tt_gguf_next_int(&a, &i) && i == -7 && tt_gguf_next_int(&a, &i) && i == 9);
    CHECK(!tt_gguf_next_int(&a, &i));
    CHECK(tt_gguf_array(g, "none", &a) && !tt_gguf_next_string(&a, &word, &n));
}

static int64_t wrong_in(const float *x, const float *wanted, int64_t n, double relative)
{
    int64_t wrong = 0;
    double tiny = relative > 0 ? 0x1p-25 : 0; /* fp16 has no smaller steps than 2^-24 */
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)wanted[i]) <= relative * fabs((double)wanted[i]) + tiny)) wrong++;
    return wrong;
}

/* Errors beyond half a step of the block plus the rounding of its scale. */
static int64_t wrong_in_blocks(const float *x, const float *wanted, int64_t n)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i += 32) {
        float most = 0;
        for (int k = 0; k < 32; k++)
            if (fabsf(wanted[i + k]) > most) most = fabsf(wanted[i + k]);
        for (int k = 0; k < 32; k++)
            if (!(fabsf(x[i + k] - wanted[i + k]) <= most * (0.51f / 127 + 0x1p-11f))) wrong++;
    }
    return wrong;
}

static void round_trips(void)
{
    enum { ROWS = 700, COLUMNS = 1024 }; /* more than one piece in every type */
    float *big = malloc(ROWS * COLUMNS * sizeof *big), *back = malloc(ROWS * COLUMNS * sizeof *back);
    for (int i = 0; i < ROWS * COLUMNS; i++) big[i] = (float)tt_normal(2, 3, (uint64_t)i);
    for (int i = 0; i < 32; i++) big[i] = 0; /* a block of zeros has no scale */
    float vector[3] = {1, -0.0f, 1e-45f};
    struct tt_tensor_source tensors[] = {{"f32", 2, {ROWS, COLUMNS}, big, NULL},
                                         {"norm", 1, {3}, vector, "F32"},
                                         {"f16", 2, {ROWS, COLUMNS}, big, "F16"},
                                         {"bf16", 2, {ROWS, COLUMNS}, big, "BF16"},
                                         {"q8", 2, {ROWS, COLUMNS}, big, "Q8_0"}};
    struct tt_gguf_writer w = {0};
    struct tt_gguf *g = NULL;
    put_values(&w);
    CHECK_OK(tt_gguf_write(at("whole.gguf"), &w, tensors, 5));
    CHECK_FAILS(tt_gguf_write(at("whole.gguf"), &w, tensors, 5), "in the way");
    tt_gguf_writer_free(&w);
    CHECK_OK(tt_gguf_open(at("whole.gguf"), &g));
    if (!g) return;
    check_values(g);
    CHECK(tt_gguf_count(g) == 5 && !strcmp(tt_gguf_at(g, 1)->name, "norm") && !tt_gguf_find(g, "nothing"));
    const double bounds[] = {0, 0, 0x1p-11, 0x1p-8, 0};
    for (int k = 0; k < 5; k++) {
        const struct tt_tensor *t = tt_gguf_at(g, k);
        const float *wanted = tensors[k].data;
        CHECK(tt_gguf_find(g, t->name) == t && t->offset % 32 == 0 && t->rank == tensors[k].rank);
        CHECK(t->shape[0] == tensors[k].shape[0] && t->shape[1] == (t->rank > 1 ? COLUMNS : 0));
        CHECK_OK(tt_gguf_read(g, t, back));
        int64_t wrong = k == 4 ? wrong_in_blocks(back, wanted, t->count) : wrong_in(back, wanted, t->count, bounds[k]);
        CHECK(!wrong, "%s: %lld numbers", t->name, (long long)wrong);
    }
    tt_gguf_close(g);
    free(big);
    free(back);
}

/* One block with known bytes: the scale in fp16, then 127, -127, 32 (rounded from 31.75) and zeros. */
static void stores_blocks_as_ggml_does(void)
{
    float x[32] = {2, -2, 0.5f};
    struct tt_tensor_source t = {"q", 2, {1, 32}, x, "Q8_0"}, odd = {"q", 2, {1, 33}, x, "Q8_0"};
    struct tt_gguf_writer w = {0};
    char *file;
    size_t n;
    CHECK_OK(tt_gguf_write(at("block.gguf"), &w, &t, 1));
    CHECK_FAILS(tt_gguf_write(at("odd.gguf"), &w, &odd, 1), "cannot be written");
    CHECK(!tt_is_file(at("odd.gguf")));
    CHECK_OK(tt_file_read(at("block.gguf"), 1 << 20, &file, &n));
    CHECK(n % 32 == 0 && n >= 64);
    uint16_t scale;
    memcpy(&scale, file + n - 64, 2);
    CHECK(scale == tt_to_f16(2.0f / 127));
    const signed char *q = (signed char *)file + n - 62;
    CHECK(q[0] == 127 && q[1] == -127 && q[2] == 32 && !q[3]);
    free(file);
}

/* Files as other programs write them: other integer types, version 2, another alignment, no padding at the end. */
static void reads_what_others_write(void)
{
    struct bytes f;
    struct tt_gguf *g = NULL;
    int64_t i = 0;
    float one[1] = {0};
    head(&f, 1, 3);
    f.b[4] = 2;
    str(&f, "general.alignment"), u32(&f, TT_GGUF_U32), u32(&f, 64);
    str(&f, "small"), u32(&f, TT_GGUF_I16), raw(&f, &(int16_t){-3}, 2);
    str(&f, "large"), u32(&f, TT_GGUF_U64), u64(&f, UINT64_MAX);
    tensor(&f, "t", 1, 1, 0, 0, 0);
    align(&f, 64);
    raw(&f, &(float){2.5f}, 4);
    CHECK_OK(open_bytes(&f, &g));
    if (!g) return;
    CHECK(tt_gguf_int(g, "small", -10, 0, &i) && i == -3 && !tt_gguf_int(g, "large", INT64_MIN, INT64_MAX, &i));
    CHECK_OK(tt_gguf_read(g, tt_gguf_find(g, "t"), one));
    CHECK(one[0] == 2.5f);
    tt_gguf_close(g);
    head(&f, 0, 0); /* an empty file is right */
    CHECK_OK(open_bytes(&f, &g));
    tt_gguf_close(g);
}

/* ---- malformed files ---- */

static void refuses_other_files(void)
{
    struct bytes f;
    struct tt_gguf *g = NULL;
    head(&f, 0, 0);
    f.b[0] = 'g';
    REFUSED(&f, "is not a GGUF file");
    f.n = 3;
    REFUSED(&f, "is not a GGUF file");
    f.n = 0;
    REFUSED(&f, "is not a GGUF file");
    head(&f, 0, 0);
    f.b[4] = 1;
    REFUSED(&f, "of version 1; tt reads versions 2 and 3");
    f.b[4] = 4;
    REFUSED(&f, "of version 4");
    f.b[4] = 0, f.b[7] = 3;
    REFUSED(&f, "big-endian");
    CHECK_FAILS(tt_gguf_open(root, &g), "not a regular file");
    CHECK_FAILS(tt_gguf_open(at("nothing"), &g), "cannot open");
}

static void refuses_wrong_values(void)
{
    struct bytes f;
    const char *const twice[] = {"same", "same"};
    head(&f, 0, UINT64_MAX);
    REFUSED(&f, "ends too early");
    head(&f, 0, 1);
    u64(&f, UINT64_MAX);
    REFUSED(&f, "is 0 or too large");
    head(&f, 0, 1);
    u64(&f, 0);
    REFUSED(&f, "is 0 or too large");
    head(&f, 0, 1);
    u64(&f, 60000);
    REFUSED(&f, "ends too early");
    head(&f, 0, 1);
    str(&f, "new\nline"), u32(&f, 0), raw(&f, "", 1);
    REFUSED(&f, "control characters");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_TYPES);
    REFUSED(&f, "'key' has an unknown type");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_STRING), u64(&f, UINT64_MAX - 8);
    REFUSED(&f, "ends too early");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_ARRAY), u32(&f, TT_GGUF_ARRAY), u64(&f, 1);
    REFUSED(&f, "array of unknown type");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_ARRAY), u32(&f, 99), u64(&f, 1);
    REFUSED(&f, "array of unknown type");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_ARRAY), u32(&f, TT_GGUF_F64), u64(&f, UINT64_MAX / 4);
    REFUSED(&f, "too long");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_ARRAY), u32(&f, TT_GGUF_U8), u64(&f, 1 << 20);
    REFUSED(&f, "ends too early");
    head(&f, 0, 1);
    str(&f, "key"), u32(&f, TT_GGUF_ARRAY), u32(&f, TT_GGUF_STRING), u64(&f, UINT64_MAX);
    REFUSED(&f, "ends too early");
    head(&f, 0, 2);
    for (int i = 0; i < 2; i++) str(&f, twice[i]), u32(&f, TT_GGUF_U8), raw(&f, "x", 1);
    REFUSED(&f, "key 'same' occurs twice");
    static const struct {
        uint32_t type, value;
        const char *words;
    } alignments[] = {{TT_GGUF_U32, 0, "not a number of bytes"},
                      {TT_GGUF_U32, 48, "power of two"},
                      {TT_GGUF_U32, 1u << 31, "not a number of bytes"},
                      {TT_GGUF_I32, (uint32_t)-32, "not a number of bytes"},
                      {TT_GGUF_F32, 32, "not a number of bytes"}};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        head(&f, 0, 1);
        str(&f, "general.alignment"), u32(&f, alignments[i].type), u32(&f, alignments[i].value);
        REFUSED(&f, alignments[i].words);
    }
}

/* A file with one tensor of these properties and 256 bytes of data. */
static void one_tensor(struct bytes *f, uint32_t rank, uint64_t columns, uint64_t rows, uint32_t type, uint64_t offset)
{
    head(f, 1, 0);
    tensor(f, "t", rank, columns, rows, type, offset);
    align(f, 32);
    f->n += 256;
}

static void refuses_wrong_tensors(void)
{
    struct bytes f;
    struct tt_gguf *g = NULL;
    one_tensor(&f, 2, 8, 8, 0, 0);
    CHECK_OK(open_bytes(&f, &g));
    tt_gguf_close(g);
    one_tensor(&f, 0, 0, 0, 0, 0);
    REFUSED(&f, "has no dimensions or more than 4");
    one_tensor(&f, 5, 1, 1, 0, 0);
    REFUSED(&f, "has no dimensions or more than 4");
    one_tensor(&f, 2, 8, 0, 0, 0);
    REFUSED(&f, "a dimension that is 0 or too large");
    one_tensor(&f, 1, UINT64_MAX, 0, 0, 0);
    REFUSED(&f, "a dimension that is 0 or too large");
    one_tensor(&f, 4, 1 << 20, 1 << 20, 0, 0);
    REFUSED(&f, "a dimension that is 0 or too large");
    one_tensor(&f, 1, (uint64_t)1 << 62, 0, 28, 0);
    REFUSED(&f, "is too large");
    one_tensor(&f, 1, 64, 0, 4, 0);
    REFUSED(&f, "is of type 4, which tt does not know");
    one_tensor(&f, 1, 64, 0, 1 << 30, 0);
    REFUSED(&f, "which tt does not know");
    one_tensor(&f, 2, 33, 2, 8, 0);
    REFUSED(&f, "not whole blocks");
    one_tensor(&f, 2, 8, 8, 0, 32);
    REFUSED(&f, "does not begin where");
    one_tensor(&f, 2, 8, 8, 0, UINT64_MAX - 31);
    REFUSED(&f, "does not begin where");
    one_tensor(&f, 2, 8, 9, 0, 0);
    REFUSED(&f, "ends after the end of the file");
    one_tensor(&f, 2, 8, 7, 0, 0);
    REFUSED(&f, "bytes after the last tensor");
    head(&f, 2, 0);
    for (int i = 0; i < 2; i++) tensor(&f, "same", 1, 8, 0, 0, 32 * (uint64_t)i);
    align(&f, 32);
    f.n += 64;
    REFUSED(&f, "tensor 'same' occurs twice");
    head(&f, (uint64_t)1 << 40, 0);
    REFUSED(&f, "more than 2^31 tensors");
    head(&f, 1000000, 0);
    REFUSED(&f, "ends too early");
    char name[65];
    memset(name, 'n', 64), name[64] = 0;
    head(&f, 1, 0);
    tensor(&f, name, 1, 8, 0, 0, 0);
    REFUSED(&f, "is 0 or too large");
}

/* A type that is known by name but cannot be read: the file opens, so that the error can name the type. */
static void knows_other_types_by_name(void)
{
    struct bytes f;
    struct tt_gguf *g = NULL;
    float out[256];
    head(&f, 1, 0);
    tensor(&f, "t", 1, 256, 0, 12, 0);
    align(&f, 32);
    f.n += 144;
    CHECK_OK(open_bytes(&f, &g));
    if (!g) return;
    CHECK(!strcmp(tt_gguf_at(g, 0)->type, "Q4_K"));
    CHECK_FAILS(tt_gguf_read(g, tt_gguf_at(g, 0), out), "'t' is Q4_K");
    tt_gguf_close(g);
    CHECK(tt_gguf_tensor_type("Q8_0") == 8 && tt_gguf_tensor_type("BF16") == 30 && tt_gguf_tensor_type("F8") == -1);
}

/* A file cut off anywhere is refused, and nothing beyond its end is read. */
static void refuses_every_cut(void)
{
    float x[64] = {1};
    struct tt_tensor_source tensors[] = {{"a", 2, {2, 32}, x, "Q8_0"}, {"b", 1, {5}, x, NULL}};
    struct tt_gguf_writer w = {0};
    struct bytes f = {0};
    char *file;
    put_values(&w);
    CHECK_OK(tt_gguf_write(at("cut.gguf"), &w, tensors, 2));
    tt_gguf_writer_free(&w);
    CHECK_OK(tt_file_read(at("cut.gguf"), sizeof f.b, &file, &f.n));
    memcpy(f.b, file, f.n);
    free(file);
    size_t whole = f.n;
    for (f.n = 0; f.n + 12 < whole; f.n++) { /* the last 12 bytes are padding */
        struct tt_gguf *g = NULL;
        tt_status st = open_bytes(&f, &g);
        CHECK(st, "%zu of %zu bytes are accepted", f.n, whole);
        tt_status_free(st);
        tt_gguf_close(g);
    }
}

int main(void)
{
    if (!mkdtemp(root)) return 1;
    TEST(round_trips);
    TEST(stores_blocks_as_ggml_does);
    TEST(reads_what_others_write);
    TEST(refuses_other_files);
    TEST(refuses_wrong_values);
    TEST(refuses_wrong_tensors);
    TEST(knows_other_types_by_name);
    TEST(refuses_every_cut);
    tt_status_free(tt_remove_tree(root));
    return test_end();
}
