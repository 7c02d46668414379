/* What tt diagnose concludes from its measurements, tested with made-up measurements. */
#include <math.h>

#include "cli/diagnose.h"
#include "tests/test.h"

static struct tt_diagnosis healthy(struct tt_config *c)
{
    *c = (struct tt_config){
        .batch_size = 8, .grad_accum = 1, .seq_len = 64, .num_steps = 100, .val_interval = 10};
    static const struct tt_diagnose_options quick = {.quick = true};
    struct tt_diagnosis d = {.c = c, .own = &quick, .sweet = -1, .load = 0.1, .device.name = "Xeon, 1 thread"};
    d.step = (struct tt_timing){.median = 0.1, .slow = 0.11, .tokens_per_second = 5120, .steps = 20};
    d.data_seconds = 0.001;
    d.step_time = 10;
    d.validation_time = 0.5;
    d.total_time = 10.5;
    return d;
}

/* There is one finding, of this level, and its two halves contain these words. */
static void expect(struct tt_diagnosis *d, enum tt_level level, const char *what, const char *change)
{
    d->count = 0;
    CHECK_OK(tt_diagnose_judge_speed(d));
    CHECK(d->count == 1, "%d findings", d->count);
    const struct tt_finding *f = &d->findings[0];
    CHECK(f->level == level && strstr(f->what, what) && strstr(f->change, change), "%s -> %s", f->what, f->change);
    CHECK(tt_diagnose_worst(d) == level);
}

static void a_run_without(struct tt_diagnosis *d)
{
    d->count = 0;
    CHECK_OK(tt_diagnose_judge_speed(d));
    CHECK(d->count == 0 && tt_diagnose_worst(d) == TT_ADVICE, "%d findings", d->count);
}

static void communication_of_ranks(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    d.ranks = (struct tt_rank_diagnosis){.own = 0.1, .exposed = 0.02};
    d.ranks.links = (struct tt_links){.ranks = 3, .pairs = 3, .slowest = {0, 2, 6e9}, .fastest = {1, 2, 10e9}};
    tt_diagnose_judge_ranks(&d);
    d.member.job = (struct tt_job *)1; /* only whether it is NULL matters */
    tt_diagnose_judge_ranks(&d);
    CHECK(d.count == 0, "%s", d.findings[0].what);
    d.ranks.exposed = 0.05;
    d.ranks.links.slowest.bytes_per_second = 4e9;
    tt_diagnose_judge_ranks(&d);
    CHECK(d.count == 2 && tt_diagnose_worst(&d) == TT_ADVICE);
    CHECK(strstr(d.findings[0].what, "exposed for 50.00 ms") && strstr(d.findings[0].change, "--grad-accum"));
    CHECK(strstr(d.findings[1].what, "ranks 0 and 2 exchange 4 GB/s, ranks 1 and 2 10"), "%s", d.findings[1].what);
}

static void a_healthy_run_has_none(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    a_run_without(&d);
}

static void slow_data(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    d.data_seconds = 0.2;
    expect(&d, TT_WARN, "data for a step take 200.00 ms to gather, the step itself 100.00 ms: the device would wait",
           "token files");
    d.data_seconds = 0.06;
    expect(&d, TT_ADVICE, "60.00 ms", "token files");
}

static void widths_of_rows(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    c.hidden_dim = 320, c.ffn_dim = 860, c.vocab_size = 50257, c.precision = TT_PREC_BF16;
    a_run_without(&d); /* because the device is a CPU */
    d.device.wave_width = 32;
    expect(&d, TT_ADVICE, "ffn-dim = 860 is no multiple of 8: its products in bf16", "--ffn-dim 864");
    c.precision = TT_TF32;
    a_run_without(&d);
    c.hidden_dim = 322;
    expect(&d, TT_ADVICE, "hidden-dim = 322 is no multiple of 4: its products in tf32", "--hidden-dim 324");
    c.precision = TT_FP32;
    a_run_without(&d);
}

static void a_better_batch(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    d.rows[0] = (struct tt_sweep_row){.batch_size = 8, .fits = true, .t = d.step};
    d.rows[1] = (struct tt_sweep_row){.batch_size = 16, .fits = true, .t = {.tokens_per_second = 9000, .median = 0.11}};
    d.row_count = 2;
    d.sweet = 1;
    expect(&d, TT_ADVICE, "batches of 8 give 5.1 k tokens/s, batches of 16 9.0 k: 1.76 times",
           "--batch-size 16, with fewer");
    c.grad_accum = 4;
    expect(&d, TT_ADVICE, "1.76 times", "--batch-size 16 --grad-accum 2: the same training");
    d.rows[1].t.tokens_per_second = 5200; /* too little to mention */
    d.count = 0;
    CHECK_OK(tt_diagnose_judge_speed(&d));
    CHECK(d.count == 0);
}

static void room_for_one_checkpoint(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    strcpy(c.out, "runs/long");
    c.save_minutes = 0.1;
    d.checkpoint_bytes = 10;
    d.disk_free = 19;
    expect(&d, TT_WARN, "runs/long has room for one checkpoint", "--save-minutes 0");
    d.disk_free = 20;
    a_run_without(&d);
    d.disk_free = 19;
    c.save_minutes = 1; /* longer than the run */
    a_run_without(&d);
    c.save_minutes = 0;
    a_run_without(&d);
    c.save_minutes = 0.1;
    c.save_interval = 50;
    a_run_without(&d);
}

static void much_validation(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    d.validation_time = 10;
    d.total_time = 20;
    d.validation_seconds = 1;
    expect(&d, TT_ADVICE, "validation takes 50 % of the time (1.00 s each)", "--val-interval");
}

static void unsteady_steps(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    d.step.slow = 0.2;
    expect(&d, TT_ADVICE, "the median is 100.00 ms, one in twenty takes more than 200.00 ms", "what else runs");
    d.load = 4; /* from programs that have ended; only the waiting of the steps counts */
    expect(&d, TT_ADVICE, "one in twenty takes more", "what else runs");
    d.step.waited = NAN;
    expect(&d, TT_ADVICE, "a load of 4.0", "quiet");
    d.load = 0.1, d.step.waited = 0.2;
    expect(&d, TT_ADVICE, "threads waited 20 % of their time", "quiet");
}

/* If steps got 70 % of the machine or less, their undisturbed time is known only up to a factor. */
static void busy_machines_decide_little(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    struct tt_timing t = {.median = 0.1 / 1.12, .waited = 0.01};
    tt_diagnose_judge_instead(&d, &t, "--version flash");
    CHECK(d.count == 1 && strstr(d.findings[0].what, "1.12 times as fast") && !strstr(d.findings[0].what, "busy"));
    d.count = 0, t.waited = 0.2929; /* it would be even faster undisturbed */
    tt_diagnose_judge_instead(&d, &t, "--version flash");
    CHECK(d.count == 1 && strstr(d.findings[0].what, "1.12 times as fast or more (busy machine)"), "%s",
          d.findings[0].what);
    d.count = 0, d.step.waited = 0.2929;
    tt_diagnose_judge_instead(&d, &t, "--version flash");
    CHECK(d.count == 0, "%s", d.findings[0].what);
    t.median = 0.1 / 6;
    tt_diagnose_judge_instead(&d, &t, "--version flash");
    CHECK(d.count == 1 && strstr(d.findings[0].what, "6.00 times as fast (busy machine: at least 1.50 times)"), "%s",
          d.findings[0].what);
    d.data_seconds = 0.06; /* a quiet machine might take a quarter of that */
    d.validation_time = 5, d.total_time = 15;
    expect(&d, TT_ADVICE, "threads waited 29 %", "quiet");
    d.data_seconds = 0.3;
    CHECK_OK(tt_diagnose_judge_speed(&d));
    const char *data = d.findings[1].what;
    CHECK(strstr(data, "data for a step take 300.00 ms") && strstr(data, "100.00 ms (busy machine)"), "%s", data);
}

/* 640, 608 and 739 tokens/s for batches of 8, 16 and 32. */
static void busy_machines_hide_the_sweet_spot(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    static const double rates[] = {640, 608, 739};
    for (int i = 0; i < 3; i++)
        d.rows[i] = (struct tt_sweep_row){.batch_size = 8 << i, .fits = true, .t = {.tokens_per_second = rates[i]}};
    d.row_count = 3, d.step = d.rows[0].t;
    tt_diagnose_sweet_spot(&d);
    CHECK(d.sweet == 2, "quiet: %d", d.sweet);
    d.rows[1].t.waited = 0.45;
    tt_diagnose_sweet_spot(&d);
    CHECK(d.sweet == -1, "16 may be as fast: %d", d.sweet);
    d.rows[1].t.waited = 0, d.rows[2].t.waited = 0.45;
    tt_diagnose_sweet_spot(&d);
    CHECK(d.sweet == 2, "32 can only be faster: %d", d.sweet);
    for (int i = 0; i < 3; i++) d.rows[i].t.waited = 0.45;
    d.rows[2].t.tokens_per_second = 7390;
    tt_diagnose_sweet_spot(&d);
    CHECK(d.sweet == 2, "11 times are more than others explain: %d", d.sweet);
}

/* With two threads that waited half of their time, a step may be any factor faster undisturbed. */
static void threads_that_wait_decide_nothing(void)
{
    struct tt_config c;
    struct tt_diagnosis d = healthy(&c);
    struct tt_timing t = {.median = 0.1 / 20, .waited = 0.01};
    d.device.shares_memory = true;
    d.step.waited = 0.5;
    tt_diagnose_judge_instead(&d, &t, "--version flash");
    CHECK(d.count == 1, "one thread: 20 times are more than 8");
    d.count = 0, strcpy(d.device.name, "Xeon, 2 threads");
    tt_diagnose_judge_instead(&d, &t, "--version flash");
    CHECK(d.count == 0, "%s", d.findings[0].what);
    d.data_seconds = 3;
    d.validation_time = 10, d.total_time = 20;
    expect(&d, TT_ADVICE, "threads waited 50 % of their time", "quiet");
    d.rows[0] = (struct tt_sweep_row){.batch_size = 8, .fits = true, .t = d.step};
    d.rows[1] = (struct tt_sweep_row){.batch_size = 16, .fits = true, .t = {.tokens_per_second = 90000}};
    d.row_count = 2;
    tt_diagnose_sweet_spot(&d);
    CHECK(d.sweet == -1, "%d", d.sweet);
}

int main(void)
{
    TEST(communication_of_ranks);
    TEST(a_healthy_run_has_none);
    TEST(slow_data);
    TEST(widths_of_rows);
    TEST(a_better_batch);
    TEST(room_for_one_checkpoint);
    TEST(much_validation);
    TEST(unsteady_steps);
    TEST(busy_machines_decide_little);
    TEST(busy_machines_hide_the_sweet_spot);
    TEST(threads_that_wait_decide_nothing);
    return test_end();
}
