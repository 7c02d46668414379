/* The trace for TensorBoard's profile plugin, read back: planes, lines, events, and the link from a launch to its
 * operation. With a folder as its argument, the program only writes a GPU trace there, for test_board.sh to show to the
 * real plugin. */
#include "profiling/report/xspace.h"

#include "core/base/file.h"
#include "tests/core/base/proto_reader.h"
#include "tests/test.h"

/* Two steps on a GPU, each with two products of the same name; the second is launched before the first has ended. */
static struct tt_profile_event events[] = {
    {"compute", "step", "step", "", 7, -1, 10e-6, 90e-6, 0},
    {"compute", "gemm 1024x1024x512, forward", "kernel", "qkv_projection", 7, 0, 10e-6, 30e-6, 0},
    {"compute", "gemm 1024x512x512, forward", "kernel", "attention_output", 7, 0, 40e-6, 50e-6, 0},
    {"compute", "gemm 1024x1024x512, forward", "kernel", "qkv_projection", 8, 0, 110e-6, 30e-6, 0},
    {"compute", "gemm 1024x512x512, forward", "kernel", "attention_output", 8, 0, 140e-6, 50e-6, 0},
    {"copy", "copy tokens", "copy", "", 7, -1, 1e-6, 2e-6, 0},
    {"host", "step", "step", "", 7, -1, 0, 95e-6, 0},
    {"host", "gemm", "launch", "qkv_projection", 7, 0, 5e-6, 3e-6, 0},
    {"host", "gemm", "launch", "attention_output", 7, 0, 9e-6, 3e-6, 0},
    {"host", "step", "step", "", 8, -1, 100e-6, 95e-6, 0},
    {"host", "gemm", "launch", "qkv_projection", 8, 0, 105e-6, 3e-6, 0},
    {"host", "gemm", "launch", "attention_output", 8, 0, 109e-6, 3e-6, 0},
};
enum { EVENTS = sizeof events / sizeof *events };

static struct tt_profile profile_on(const char *backend)
{
    struct tt_profile p = {.events = events, .events_count = EVENTS};
    strcpy(p.run.created, "2026-01-02T03:04:05Z");
    strcpy(p.run.backend, backend);
    return p;
}

/* ---- reading ---- */

static struct bytes bytes_of(const struct tt_text *t)
{
    return (struct bytes){(const unsigned char *)t->s, (const unsigned char *)t->s + t->n};
}

static bool plane(struct bytes space, const char *name, struct bytes *out)
{
    struct bytes text;
    for (int i = 0; nth_field(space, 1, i, out, NULL); i++)
        if (field(*out, 2, &text, NULL) && is_text(text, name)) return true;
    return false;
}

static bool line(struct bytes of, const char *name, struct bytes *out)
{
    struct bytes text;
    for (int i = 0; nth_field(of, 3, i, out, NULL); i++)
        if (field(*out, 2, &text, NULL) && is_text(text, name)) return true;
    return false;
}

/* The name for a number, from the plane's map of events (4) or of stats (5). */
static struct bytes named(struct bytes of, unsigned map, double number)
{
    struct bytes entry, value, text = {0};
    double key;
    for (int i = 0; nth_field(of, map, i, &entry, NULL); i++)
        if (field(entry, 1, NULL, &key) && key == number && field(entry, 2, &value, NULL)) field(value, 2, &text, NULL);
    return text;
}

static struct bytes name_of(struct bytes of, struct bytes event)
{
    double number = 0;
    field(event, 1, NULL, &number);
    return named(of, 4, number);
}

static bool stat(struct bytes of, struct bytes event, const char *name, struct bytes *text, double *value)
{
    struct bytes one;
    double number;
    for (int i = 0; nth_field(event, 4, i, &one, NULL); i++)
        if (field(one, 1, NULL, &number) && is_text(named(of, 5, number), name))
            return field(one, text ? 5 : 4, text, value);
    return false;
}

static int count(struct bytes of, unsigned number)
{
    int n = 0;
    while (nth_field(of, number, n, NULL, NULL)) n++;
    return n;
}

/* ---- tests ---- */

static void of_a_gpu(void)
{
    struct tt_text text = {0};
    struct bytes device = {0}, host = {0}, compute = {0}, launches = {0}, e = {0}, words, launch = {0};
    double x = 0, tied = 0;
    struct tt_profile p = profile_on("cuda");
    CHECK_OK(tt_profile_xspace(&p, 0, &text));
    struct bytes space = bytes_of(&text);
    CHECK(plane(space, "/device:GPU:0", &device) && plane(space, "/host:CPU", &host) && count(space, 1) == 2);
    CHECK(line(device, "compute", &compute) && count(compute, 4) == 4 && line(device, "copy", &e) && count(e, 4) == 1);
    CHECK(field(compute, 3, NULL, &x) && x == 1767323045e9, "begins at %.0f", x);
    CHECK(nth_field(compute, 4, 1, &e, NULL) && is_text(name_of(device, e), "gemm 1024x512x512, forward"));
    CHECK(field(e, 2, NULL, &x) && x == 40e6 && field(e, 3, NULL, &x) && x == 50e6, "%g ps", x);
    CHECK(stat(device, e, "tf_op", &words, NULL) && is_text(words, "attention_output/gemm:gemm"));
    CHECK(line(host, "host", &launches) && count(launches, 4) == 6);
    /* the n-th launch belongs to the n-th operation */
    static const int of_launch[] = {-1, 0, 1, -1, 2, 3};
    for (int i = 0; i < 6; i++) {
        CHECK(nth_field(launches, 4, i, &launch, NULL));
        if (of_launch[i] < 0) {
            CHECK(is_text(name_of(host, launch), "train") && stat(host, launch, "step_num", NULL, &x) && x >= 7);
            continue;
        }
        CHECK(stat(host, launch, "correlation_id", NULL, &tied) && nth_field(compute, 4, of_launch[i], &e, NULL));
        CHECK(stat(device, e, "correlation_id", NULL, &x) && x == tied, "launch %d: %g, %g", i, tied, x);
    }
    tt_text_free(&text);
}

/* There is no GPU plane; operations are on the thread that computed them. */
static void of_a_cpu(void)
{
    struct tt_text text = {0};
    struct bytes host = {0}, all = {0}, e = {0};
    struct tt_profile p = profile_on("cpu");
    CHECK_OK(tt_profile_xspace(&p, 0, &text));
    struct bytes space = bytes_of(&text);
    CHECK(!plane(space, "/device:GPU:0", &e) && plane(space, "/host:CPU", &host) && line(host, "host", &all));
    CHECK(count(all, 4) == 6, "%d events", count(all, 4)); /* four products, two steps, no launches */
    CHECK(nth_field(all, 4, 0, &e, NULL) && is_text(name_of(host, e), "qkv_projection/gemm:gemm"));
    tt_text_free(&text);
}

static void of_several_ranks(void)
{
    char folder[] = "/tmp/tt-test-xspace-XXXXXX", path[200], *data = NULL;
    size_t n = 0;
    struct bytes device = {0}, compute = {0};
    struct tt_profile_event second = {"compute", "gemm", "kernel", "qkv_projection", 7, 0, 0, 1e-6, 1};
    struct tt_profile_rank ranks[2] = {{0}};
    struct tt_profile p = profile_on("cuda");
    p.ranks = ranks, p.ranks_count = 2, p.rank_events = &second, p.rank_events_count = 1;
    CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(tt_profile_write_xspace(&p, folder, "two"));
    snprintf(path, sizeof path, "%s/plugins/profile/two/rank1.xplane.pb", folder);
    CHECK_OK(tt_file_read(path, 1 << 20, &data, &n));
    struct bytes space = {(unsigned char *)data, (unsigned char *)data + n};
    CHECK(data && plane(space, "/device:GPU:1", &device) && line(device, "compute", &compute));
    CHECK(count(compute, 4) == 1, "%d events", count(compute, 4));
    free(data);
    CHECK_OK(tt_remove_tree(folder));
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        struct tt_profile p = profile_on("cuda");
        CHECK_OK(tt_profile_write_xspace(&p, argv[1], "gpu"));
        return 0;
    }
    TEST(of_a_gpu);
    TEST(of_a_cpu);
    TEST(of_several_ranks);
    return test_end();
}
