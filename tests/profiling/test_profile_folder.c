/* The folder of a profile: it reads back as it was measured, never mixes two profiles, and respects other files in it.
 * What is not a profile is refused. The ceilings kept between runs are also files. */
#include "core/base/json.h"
#include "profiling/measure/ceiling.h"
#include "tests/profiling/profile_fixture.h"

static char *read_text(const char *name, size_t *size)
{
    char path[600], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK_OK(tt_file_read(path, 1 << 26, &text, size));
    return text;
}

static struct tt_json *read_json(const char *name)
{
    size_t size;
    char *text = read_text(name, &size);
    struct tt_json *j = NULL;
    if (text) CHECK_OK(tt_json_parse(text, size, &j));
    free(text);
    return j;
}

/* Compares 8 bytes at a time: equal, both NaN, or both zero. */
static bool same_bytes(const void *x, const void *y, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t a, b;
        double s, t;
        memcpy(&a, (const char *)x + i, 8), memcpy(&b, (const char *)y + i, 8);
        memcpy(&s, &a, 8), memcpy(&t, &b, 8);
        if (a != b && !(isnan(s) && isnan(t)) && !(s == 0 && t == 0)) return false;
    }
    return true;
}

static void check_same(const struct tt_profile *p, const struct tt_profile *q)
{
    CHECK(same_bytes(&p->run, &q->run, sizeof p->run));
    CHECK(same_bytes(&p->step, &q->step, sizeof p->step));
    CHECK(same_bytes(&p->launch, &q->launch, sizeof p->launch));
    CHECK(same_bytes(&p->efficiency, &q->efficiency, sizeof p->efficiency));
    CHECK(same_bytes(&p->memory, &q->memory, sizeof p->memory));
#define SAME(list)                                                                                 \
    CHECK(p->list##_count > 0 && p->list##_count == q->list##_count &&                             \
          same_bytes(p->list, q->list, (size_t)p->list##_count * sizeof *p->list), #list)
    SAME(operators);
    SAME(groups);
    SAME(phases);
    SAME(components);
    SAME(roofs);
    SAME(points);
    SAME(memory_kinds);
    SAME(activations);
    SAME(memory_phases);
    SAME(sweeps);
    SAME(samples);
    SAME(gradients);
    SAME(events);
#undef SAME
}

static void check_trace_file(const struct tt_profile *p)
{
    struct tt_json *j = read_json("trace.json");
    const struct tt_json *list = tt_json_get(j, "traceEvents");
    int complete = 0, names = 0;
    for (const struct tt_json *e = list ? list->first : NULL; e; e = e->next) {
        const char *ph = tt_json_string(e, "ph", "");
        names += !strcmp(ph, "M");
        complete += !strcmp(ph, "X");
        if (!strcmp(ph, "X"))
            CHECK(tt_json_number(e, "ts", -1) >= 0 && tt_json_number(e, "dur", -1) >= 0 &&
                  tt_json_number(e, "tid", 0) >= 1);
    }
    CHECK(complete == p->events_count && names == 4);
    tt_json_free(j);
}

static void check_csv(const struct tt_profile *p)
{
    size_t size;
    char *text = read_text("operators.csv", &size);
    int lines = 0, commas = 0;
    for (size_t i = 0; text && i < size; i++) {
        commas += text[i] == ',';
        if (text[i] != '\n') continue;
        CHECK(commas == 16, "line %d has %d commas", lines + 1, commas);
        lines++;
        commas = 0;
    }
    CHECK(lines == 1 + p->operators_count + p->groups_count);
    free(text);
}

static void folder_reads_back(void)
{
    struct tt_config c = tiny_config();
    struct tt_profile p, q;
    size_t size;
    c.version = TT_FUSED;
    measure(&c, &p);
    CHECK_OK(tt_profile_write(&p, dir));
    CHECK_OK(tt_profile_read(dir, &q));
    check_same(&p, &q);
    check_trace_file(&p);
    check_csv(&p);
    struct tt_json *memory = read_json("memory.json"), *roofline = read_json("roofline.json");
    CHECK(tt_json_get(memory, "activations") && tt_json_get(memory, "sweeps") && tt_json_get(roofline, "roofs"));
    tt_json_free(memory);
    tt_json_free(roofline);
    char *summary = read_text("summary.md", &size);
    CHECK(summary && strstr(summary, "## Groups") && strstr(summary, "attention_softmax") && !strstr(summary, "nan"));
    free(summary);
    CHECK_OK(tt_profile_write(&p, dir)); /* replaces the earlier profile */
    tt_profile_free(&q);
    tt_profile_free(&p);
}

/* ---- what is refused ---- */

static void write_as(const char *path, const char *text) { CHECK_OK(tt_file_replace(path, text, strlen(text))); }

/* If the last file of a second profile cannot be written, the first profile stays complete. */
static void nothing_is_mixed(void)
{
    struct tt_profile first, read;
    char path[600], *before, *after;
    size_t n, m;
    struct tt_config c = tiny_config();
    struct tt_profile_options o = options_for(&c);
    CHECK_OK(tt_profile_measure(&o, &first));
    snprintf(path, sizeof path, "%s/whole", dir);
    CHECK_OK(tt_profile_write(&first, path));
    snprintf(path, sizeof path, "%s/whole/summary.md", dir);
    CHECK_OK(tt_file_read(path, 1 << 20, &before, &n));
    snprintf(path, sizeof path, "%s/whole/profile.json.new/in-the-way", dir);
    CHECK_OK(tt_make_dirs(path));
    snprintf(first.run.preset, sizeof first.run.preset, "another");
    snprintf(path, sizeof path, "%s/whole", dir);
    CHECK_FAILS(tt_profile_write(&first, path), "profile.json");
    snprintf(path, sizeof path, "%s/whole/summary.md", dir);
    CHECK_OK(tt_file_read(path, 1 << 20, &after, &m));
    CHECK(n == m && !memcmp(before, after, n), "a summary of another profile");
    snprintf(path, sizeof path, "%s/whole/summary.md.new", dir);
    CHECK(access(path, F_OK) != 0, "%s is left", path);
    snprintf(path, sizeof path, "%s/whole", dir);
    CHECK_OK(tt_profile_read(path, &read));
    CHECK(strcmp(read.run.preset, "another") != 0);
    tt_profile_free(&read);
    tt_profile_free(&first);
    free(before);
    free(after);
}

static void reading_refuses(void)
{
    struct tt_profile p;
    char path[600];
    snprintf(path, sizeof path, "%s/bad.json", dir);
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{", "line"}, {"[]", "not a profile"}, {"{\"schema\":1}", "not a profile"},
            {"{\"schema\":\"1\",\"run\":{}}", "not a profile"},
        {"{\"schema\":99,\"run\":{}}", "newer tt"}, {"{\"schema\":1,\"run\":[]}", "run is not an object"},
        {"{\"schema\":1,\"run\":{\"device\":7}}", "run.device is not a text"},
        {"{\"schema\":1,\"run\":{\"steps\":1.5}}", "run.steps is not an integer"},
        {"{\"schema\":1,\"run\":{},\"step\":{\"seconds\":\"fast\"}}", "step.seconds is not a number"},
        {"{\"schema\":1,\"run\":{},\"operators\":{}}", "operators is not a list"},
        {"{\"schema\":1,\"run\":{},\"operators\":[7]}", "operators is not an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_as(path, cases[i].text);
        CHECK_FAILS(tt_profile_read(path, &p), cases[i].words);
        tt_profile_free(&p);
    }
    write_as(path, "{\"schema\":1,\"run\":{\"device\":\"x\",\"new\":1},"
                   "\"operators\":[{\"name\":\"gemm\"},{}],\"later\":[]}");
    CHECK_OK(tt_profile_read(path, &p));
    CHECK(p.operators_count == 2 && !strcmp(p.operators[0].name, "gemm") && isnan(p.operators[0].seconds) &&
          isnan(p.step.seconds));
    tt_profile_free(&p);
    snprintf(path, sizeof path, "%s/nothing-here", dir);
    CHECK_FAILS(tt_profile_read(path, &p), "nothing-here");
}

static void folders_are_respected(void)
{
    char path[600], file[700];
    snprintf(path, sizeof path, "%s/mine", dir);
    CHECK_OK(tt_profile_prepare(path));
    CHECK_OK(tt_profile_prepare(path)); /* empty is fine */
    snprintf(file, sizeof file, "%s/thesis.tex", path);
    write_as(file, "precious");
    CHECK_FAILS(tt_profile_prepare(path), "holds other files");
    CHECK_FAILS(tt_profile_prepare(file), "thesis.tex");
}

static void ceilings_are_kept(void)
{
    struct tt_ceilings c;
    char path[600];
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, ceilings, TT_CEILINGS_KEPT, &c));
    CHECK(c.flops == GEMM_RATE && c.bandwidth == COPY_RATE && c.kept);
    snprintf(path, sizeof path, "%s/rubbish.json", dir);
    write_as(path, "{\"ceilings\": [7, {}, {\"device\": 3}]");
    struct tt_ceilings first, second;
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, path, TT_CEILINGS_KEPT, &first));
    CHECK(first.flops > 0 && first.bandwidth > 0 && first.flops != GEMM_RATE);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, path, TT_CEILINGS_KEPT, &second));
    /* Kept, unless the first was doubtful or a copy contradicted it: then it is raised, never lowered. */
    CHECK(second.flops >= first.flops && second.bandwidth >= first.bandwidth, "%g, %g", second.flops, second.bandwidth);
    if (second.kept) CHECK(second.flops == first.flops && second.bandwidth == first.bandwidth, "measured only once");
    CHECK(first.flops_spread >= 0 && first.flops_spread < 1 && first.bandwidth_spread >= 0 &&
          first.bandwidth_spread < 1 && isfinite(first.load), "%g %g %g", first.flops_spread, first.bandwidth_spread,
          first.load);
    if (second.kept) CHECK(second.load == first.load && second.bandwidth_spread == first.bandwidth_spread);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, ceilings, TT_CEILINGS_RAISE, &c));
    CHECK(c.flops >= GEMM_RATE && c.bandwidth >= COPY_RATE, "%g and %g: lower than they were", c.flops, c.bandwidth);
    CHECK(c.earlier == (c.flops == GEMM_RATE || c.bandwidth == COPY_RATE), "it says whose rates they are");
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, ceilings, TT_CEILINGS_KEPT, &second));
    CHECK(second.flops == c.flops && second.bandwidth == c.bandwidth, "kept");
}

/* Rates are doubtful, and measured again, if threads waited during the measurement, just as with a high load. */
static void ceilings_of_threads_that_waited_are_doubtful(void)
{
    struct tt_ceilings c = {.load = 0.1, .waited = 0.5, .flops_spread = 0.001, .bandwidth_spread = 0.001};
    char path[600], *text, with[2000];
    size_t size;
    CHECK(tt_ceilings_doubtful(&c));
    c.waited = 0.01;
    CHECK(!tt_ceilings_doubtful(&c));
    snprintf(path, sizeof path, "%s/waited.json", dir);
    fixture_ceilings_at(&backend, path, GEMM_RATE, COPY_RATE);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &size));
    char *rate = strstr(text, "\"flops_per_second\"");
    snprintf(with, sizeof with, "%.*s\"waited\": 0.5, %s", (int)(rate - text), text, rate);
    free(text);
    write_as(path, with);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, path, TT_CEILINGS_KEPT, &c));
    if (c.kept) CHECK(c.waited == 0.5 && tt_ceilings_doubtful(&c), "only a machine that is busy leaves it");
    if (!c.kept) CHECK(c.earlier && c.waited != 0.5 && c.flops == GEMM_RATE, "raised, never lowered: %g", c.flops);
}

static char beside[600]; /* written by another process while this one measures */

static tt_status multiply_beside(void *self, const struct tt_gemm *g, tt_stream stream)
{
    if (!tt_is_file(beside)) fixture_ceilings_at(&backend, beside, GEMM_RATE, COPY_RATE);
    return backend.ops->gemm(self, g, stream);
}

/* Rates that another process has stored meanwhile are kept, unless they were to be measured again. */
static void nothing_of_others_is_lost(void)
{
    struct tt_backend_ops ops = *backend.ops;
    struct tt_backend with_another = {.self = backend.self, .ops = &ops};
    struct tt_ceilings c, again;
    ops.gemm = multiply_beside;
    snprintf(beside, sizeof beside, "%s/beside.json", dir);
    CHECK_OK(tt_ceilings_find(&with_another, TT_FP32, beside, TT_CEILINGS_KEPT, &c));
    CHECK(c.flops == GEMM_RATE && c.bandwidth == COPY_RATE && c.earlier, "%g, %g", c.flops, c.bandwidth);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, beside, TT_CEILINGS_KEPT, &again));
    CHECK(again.kept || again.earlier, "kept, or raised where threads waited while it was measured");
    CHECK(again.flops == GEMM_RATE && again.bandwidth == COPY_RATE, "%g", again.flops);
    unlink(beside);
    CHECK_OK(tt_ceilings_find(&with_another, TT_FP32, beside, TT_CEILINGS_AGAIN, &c));
    CHECK(c.flops > 0 && c.flops < GEMM_RATE && !c.earlier, "%g", c.flops);
}

/* Rates from a busy or slow machine do not stay: a trial copy contradicts them; on a CPU a product does too. */
static void slow_roofs_are_raised(void)
{
    struct tt_device_info info;
    struct tt_ceilings c, again;
    char path[600];
    CHECK_OK(backend.ops->info(backend.self, &info));
    snprintf(path, sizeof path, "%s/slow.json", dir);
    fixture_ceilings_at(&backend, path, GEMM_RATE, 1e6);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, path, TT_CEILINGS_KEPT, &c));
    CHECK(c.bandwidth > 1.1e6 && !c.kept, "%g", c.bandwidth);
    CHECK(c.flops == GEMM_RATE, "%g: lower than it was", c.flops);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, path, TT_CEILINGS_KEPT, &again));
    CHECK(again.bandwidth >= c.bandwidth);
    fixture_ceilings_at(&backend, path, 1e6, COPY_RATE);
    CHECK_OK(tt_ceilings_find(&backend, TT_FP32, path, TT_CEILINGS_KEPT, &c));
    CHECK(info.shares_memory ? c.flops > 1.1e6 && !c.kept : c.flops == 1e6 && c.kept, "%g", c.flops);
    CHECK(c.bandwidth == COPY_RATE, "%g: lower than it was", c.bandwidth);
}

/* On a GPU 8-bit products are faster than the other ones; a CPU has one roof for both. */
static void eight_bits_are_measured_too(void)
{
    struct tt_device_info info;
    struct tt_ceilings c;
    char path[600];
    CHECK_OK(backend.ops->info(backend.self, &info));
    if (!info.has[TT_PREC_FP8]) SKIP("this device does not multiply 8-bit numbers");
    snprintf(path, sizeof path, "%s/fp8.json", dir);
    CHECK_OK(tt_ceilings_find(&backend, TT_PREC_FP8, path, TT_CEILINGS_KEPT, &c));
    CHECK(info.shares_memory ? c.flops == c.rest : c.flops > 1.2 * c.rest, "%g and %g", c.flops, c.rest);
}

int main(void)
{
    OPEN_OR_SKIP(begin_profiles());
    TEST(folder_reads_back);
    TEST(nothing_is_mixed);
    TEST(reading_refuses);
    TEST(folders_are_respected);
    if (!test_few()) TEST(ceilings_are_kept); /* these measure large products */
    if (!test_few()) TEST(ceilings_of_threads_that_waited_are_doubtful);
    if (!test_few()) TEST(nothing_of_others_is_lost);
    if (!test_few()) TEST(slow_roofs_are_raised);
    if (!test_few()) TEST(eight_bits_are_measured_too);
    return end_profiles();
}
