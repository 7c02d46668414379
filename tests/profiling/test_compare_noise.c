/* What a comparison leaves undecided: steps that scatter, too few steps, a busy machine, and a machine that was not the
 * same in both runs. */
#include "tests/profiling/compare_fixture.h"

/* Steps scatter by a fifth, so a median that is 6 % off decides nothing, and the gate says so. */
static void noise_is_no_regression(void)
{
    struct tt_profile a = by_hand(1), b = by_hand(1.06);
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (int i = 0; i < 20; i++) {
        a.samples[i].seconds = 10e-3 * (0.8 + 0.02 * ((i * 7) % 20));
        b.samples[i].seconds = 10.6e-3 * (0.8 + 0.02 * ((i * 3) % 20));
    }
    save(&a, "a");
    save(&b, "b");
    CHECK_OK(compare("a", "b", c));
    CHECK(c->runs[1].range.low < 1 && c->runs[1].range.high > 1, "%g to %g", c->runs[1].range.low,
          c->runs[1].range.high);
    CHECK(c->runs[1].range.confidence >= 0.95);
    undecided(c, "slower:5%");
    CHECK_OK(gate(c, "slower:100%"));
    /* With several conditions: a failure outweighs "undecided", which outweighs "passed", and all are printed. */
    struct tt_text said = {0};
    tt_status st = tt_compare_gate(c, "memory:10%,slower:5%,loss:0.02", &said);
    CHECK(st && st->code == TT_UNDECIDED);
    tt_status_free(st);
    CHECK(strstr(said.s, "memory:10% passed") && strstr(said.s, "slower:5% undecided") &&
          strstr(said.s, "loss:0.02 passed"), "%s", said.s);
    tt_text_free(&said);
    tt_compare_free(c);
    free(c);
}

/* Three steps each give an interval and its confidence; two give one that decides nothing. */
static void few_steps_are_told(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text text = {0};
    const char *names[] = {"few-a", "few-b"};
    for (int n = 3; n >= 1; n--) {
        for (int k = 0; k < 2; k++) {
            struct tt_profile p = by_hand(1 + k);
            for (int i = 0; i < 20; i++) p.samples[i].seconds = i < n ? 10e-3 * (1 + k) * (1 + 0.01 * i) : NAN;
            save(&p, names[k]);
        }
        CHECK_OK(compare("few-a", "few-b", c));
        const struct tt_range *range = &c->runs[1].range;
        CHECK(range->low <= 0.5 && range->low > 0.48 && range->high >= 0.5 && range->high < 0.52, "%g to %g",
              range->low, range->high);
        tt_compare_text(c, &text);
        if (n == 3) {
            CHECK(fabs(range->confidence - 0.9) < 1e-12 && strstr(text.s, "to 0.51 (90 %)"), "%s", text.s);
            CHECK_FAILS(gate(c, "slower:5%"), "100.0 % more time");
        } else {
            CHECK(strstr(text.s, n == 1 ? "warning  few-b: only one step of it or of few-a was timed"
                                        : "warning  few-b: few steps were timed") &&
                  !strstr(text.s, "only 0 %"), "%s", text.s);
            undecided(c, "slower:5%");
        }
        tt_text_free(&text);
        tt_compare_free(c);
    }
    free(c);
}

/* The compared runs may have been measured beside other programs. */
static void busy_runs_are_told(void)
{
    struct tt_profile quiet = by_hand(1), busy = by_hand(1);
    struct tt_comparison *c = calloc(1, sizeof *c);
    busy.run.load = 7;
    save(&quiet, "quiet");
    save(&busy, "busy");
    CHECK_OK(compare("quiet", "busy", c));
    CHECK(c->warnings.s && strstr(c->warnings.s, "busy: when it was measured, the machine was busy: a load of 7.0") &&
          !strstr(c->warnings.s, "quiet: when"), "%s", c->warnings.s);
    tt_compare_free(c);
    busy.run.waited = 0.016; /* the other programs had ended before it began */
    save(&busy, "busy");
    CHECK_OK(compare("quiet", "busy", c));
    CHECK(!c->runs[1].undecided && (!c->warnings.s || !strstr(c->warnings.s, "busy: when")), "%s", c->warnings.s);
    tt_compare_free(c);
    free(c);
}

/* Groups and operators come from the recorded steps, the speed-up from the others. */
static void disturbed_rows_are_marked(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (int i = 0; i < 3; i++) {
        struct tt_profile quiet = by_hand(1), other = by_hand(1);
        struct tt_text text = {0};
        bool disturbed = i == 1; /* i = 1: the recorded steps are disturbed; i = 2: the others */
        strcpy(quiet.run.backend, "cpu"), strcpy(other.run.backend, "cpu");
        quiet.run.waited = quiet.run.recorded_waited = other.run.waited = other.run.recorded_waited = 0.01;
        quiet.step.launched_seconds = other.step.launched_seconds = 10e-3;
        if (i == 1) other.launch.recorded_overhead = 0.544;
        if (i == 2) other.run.waited = 0.16;
        save(&quiet, "quiet");
        save(&other, "other");
        CHECK_OK(compare(i ? "other" : "quiet", "quiet", c));
        tt_compare_text(c, &text);
        const char *groups = strstr(text.s, "\ngroup ");
        CHECK(c->runs[1].rows_disturbed == disturbed && groups, "%d", i);
        CHECK((strstr(groups, "1.00x?\n") && strstr(groups, "\n?: undecided, since the recorded steps")) == disturbed,
              "%s", text.s);
        CHECK((strstr(text.s, "other: its groups and operators come from disturbed steps: the recorded steps took 54 % "
                              "more time than the others; their times may be up to 3.1 times too long") != NULL) ==
              disturbed, "%s", text.s);
        CHECK(c->runs[1].undecided == (i == 2), "%s", text.s);
        tt_text_free(&text);
        tt_compare_free(c);
    }
    free(c);
}

/* The gate names each busy run: a slowed first run may hide a loss in the second. */
static void a_gate_names_the_busy_runs(void)
{
    static const struct {
        double first, second;
        const char *says;
    } cases[] = {{0.66, 0.01, "than a, but when a was measured, the machine was busy: threads waited 66 % of their "
                              "time for a processor: the speed-up may be"},
                 {0.66, 0.18, "but when a was measured, the machine was busy: threads waited 66 % of their time for a "
                              "processor, and when b was measured, the machine was busy: threads waited 18 %"},
                 {0.01, 0.66, NULL}};
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_profile a = by_hand(1), b = by_hand(0.2);
        strcpy(a.run.backend, "cpu"), strcpy(b.run.backend, "cpu");
        strcpy(a.run.device, "Xeon, 1 thread"), strcpy(b.run.device, "Xeon, 1 thread");
        a.run.waited = cases[i].first, b.run.waited = cases[i].second;
        save(&a, "a");
        save(&b, "b");
        CHECK_OK(compare("a", "b", c));
        tt_status st = tt_compare_gate(c, "slower:5%", NULL);
        CHECK(cases[i].says ? st && st->code == TT_UNDECIDED && strstr(st->text, cases[i].says) : !st, "%zu: %s", i,
              st ? st->text : "passed");
        tt_status_free(st);
        tt_compare_free(c);
    }
    free(c);
}

/* Other programs make steps longer, never shorter. The interval grows by what waiting explains; differences beyond that
 * count. */
static void a_busy_machine_widens_the_interval(void)
{
    static const struct {
        const char *a, *b;
        double waited_a, waited_b;
        bool undecided;
        const char *interval;
        int threads;
    } cases[] = {{"slow", "fast", 0.01, 0.01, false, "5.00x 4.58 to 5.42 ", 1},
                 {"slow", "fast", 0.5877, 0.01, true, "5.00x 0.39 to 5.42 (busy)", 1},
                 {"slow", "fast", 0.0835, 0.01, false, "5.00x 1.92 to 5.42 (busy)", 1},
                 {"slow", "fast", 0.01, 0.2929, false, "5.00x 4.58 to 21.70 (busy)", 1},
                 {"fast", "slow", 0.01, 0.0835, false, "0.20x 0.18 to 0.52 (busy)", 1},
                 {"fast", "fast", 0.5877, 0.5877, true, "1.00x 0.08 to 12.76 (busy)", 1},
                 {"slow", "fast", 0.5002, 0.01, true, "5.00x at most 5.42 (busy)", 2}, /* any factor */
                 {"fast", "slow", 0.01, 0.5002, true, "0.20x 0.18 or more (busy)", 2},
                 {"fast", "fast", 0.5002, 0.5002, true, "1.00x anything (busy)", 2},
                 {"slow", "fast", 0.01, 0.5002, false, "5.00x 4.58 or more (busy)", 2},
                 {"slow", "fast", 0.0835, 0.01, false, "5.00x 1.75 to 5.42 (busy)", 2}};
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_profile a = by_hand(!strcmp(cases[i].a, "slow") ? 1 : 0.2),
                          b = by_hand(!strcmp(cases[i].b, "slow") ? 1 : 0.2);
        struct tt_text text = {0}, json = {0};
        bool busy = i > 0;
        strcpy(a.run.backend, "cpu"), strcpy(b.run.backend, "cpu");
        strcpy(a.run.device, cases[i].threads > 1 ? "Xeon, 2 threads" : "Xeon, 1 thread");
        strcpy(b.run.device, a.run.device);
        a.run.waited = cases[i].waited_a, b.run.waited = cases[i].waited_b;
        save(&a, "a");
        save(&b, "b");
        CHECK_OK(compare("a", "b", c));
        tt_compare_text(c, &text);
        tt_compare_json(c, &json);
        CHECK(c->runs[1].busy == busy && c->runs[1].undecided == cases[i].undecided, "%zu", i);
        CHECK(strstr(text.s, cases[i].interval) && (strstr(text.s, "makes steps too long") != NULL) == busy, "%zu: %s",
              i, text.s);
        CHECK(strstr(json.s, busy ? "\"busy\": true" : "\"busy\": false") && strstr(json.s, "\"speedup_low\": ") &&
              (strstr(json.s, "\"undecided\": true") != NULL) == cases[i].undecided, "%s", json.s);
        const char *groups = strstr(text.s, "\ngroup ");
        CHECK(groups && (strstr(groups, "x?\n") && strstr(groups, "\n?: undecided")) == busy, "%s", text.s);
        tt_text_free(&text);
        tt_text_free(&json);
        tt_compare_free(c);
    }
    free(c);
}

/* 6036 ms with two threads that waited half of their time, and 183 ms for the same program on a quiet machine. */
static void a_gate_waits_for_threads_that_waited(void)
{
    struct tt_profile busy = by_hand(603.6), quiet = by_hand(18.3);
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text json = {0};
    strcpy(busy.run.backend, "cpu"), strcpy(busy.run.device, "Xeon, 2 threads");
    strcpy(quiet.run.backend, "cpu"), strcpy(quiet.run.device, "Xeon, 2 threads");
    busy.run.load = 0.69, busy.run.waited = busy.run.recorded_waited = 0.5002;
    quiet.run.load = 1.1, quiet.run.waited = quiet.run.recorded_waited = 0.0106;
    save(&busy, "busy");
    save(&quiet, "quiet");
    CHECK_OK(compare("busy", "quiet", c));
    CHECK(c->runs[1].undecided && c->runs[1].range.low == 0 && c->runs[1].range.high > 1);
    undecided(c, "slower:5%");
    CHECK_FAILS(gate(c, "slower:5%"), "the speed-up may be at most 35.");
    CHECK_OK(tt_compare_write_html(c, in("busy.html")));
    tt_compare_free(c);
    CHECK_OK(compare("quiet", "busy", c));
    CHECK(c->runs[1].undecided && c->runs[1].range.low < 1 && isinf(c->runs[1].range.high));
    undecided(c, "slower:5%");
    CHECK_FAILS(gate(c, "slower:5%"), "the speed-up may be 0.03 or more");
    tt_compare_json(c, &json);
    CHECK(strstr(json.s, "\"speedup_high\": null") && !strstr(json.s, "inf"), "%s", json.s);
    tt_text_free(&json);
    tt_compare_free(c);
    free(c);
}

/* In a busy run, a step of twice the median says nothing about its undisturbed time. */
static void slow_steps_are_of_others(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (int busy = 0; busy < 2; busy++) {
        struct tt_profile a = by_hand(1), b = by_hand(0.96);
        a.run.waited = busy ? 0.16 : 0.01, b.run.waited = 0.02;
        a.samples_count = b.samples_count = 3;
        a.samples[2].seconds = 18e-3;
        save(&a, "a");
        save(&b, "b");
        CHECK_OK(compare("a", "b", c));
        double high = c->runs[1].range.high;
        CHECK(busy ? high > 1.04 && high < 1.1 : high > 1.8, "1.04 times, and at most %g", high);
        tt_compare_free(c);
    }
    free(c);
}

/* 4 and 8 microseconds in a step of 10 ms differ by a factor of 2, which is nothing for the step. */
static void little_time_is_marked(void)
{
    struct tt_profile a = by_hand(1), b = by_hand(1);
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text text = {0};
    a.groups[0].seconds = 8e-6, b.groups[0].seconds = 4e-6;
    save(&a, "a");
    save(&b, "b");
    CHECK_OK(compare("a", "b", c));
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "2.00x~\n") && strstr(text.s, "~: the two times differ by less than 0.1 % of the step"), "%s",
          text.s);
    CHECK(!strstr(text.s, "1.00x~"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);
    CHECK_OK(compare("a", "a", c));
    tt_compare_text(c, &text);
    CHECK(!strstr(text.s, "~"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);
    free(c);
}

/* If two runs did not alternate, a busy machine may have slowed down either, but not by any factor. */
static void a_busy_machine_fails_few_gates(void)
{
    struct tt_profile quiet = by_hand(1), slow = by_hand(3), busy = by_hand(3), little = by_hand(3);
    struct tt_comparison *c = calloc(1, sizeof *c);
    busy.run.waited = 0.5877, little.run.waited = 0.0513;
    save(&quiet, "quiet");
    save(&little, "little");
    save(&slow, "slow");
    save(&busy, "busy");
    CHECK_OK(compare("quiet", "slow", c));
    tt_status st = gate(c, "slower:5%");
    CHECK(st && st->code == TT_GATE, "%s", st ? st->text : "passed");
    tt_status_free(st);
    tt_compare_free(c);
    CHECK_OK(compare("quiet", "busy", c));
    undecided(c, "slower:5%");
    CHECK_OK(gate(c, "slower:300%"));
    struct tt_text said = {0};
    tt_status_free(tt_compare_gate(c, "slower:5%", &said));
    CHECK(strstr(said.s, "more time than quiet, but when busy was measured, the machine was busy"), "%s", said.s);
    tt_text_free(&said);
    tt_compare_free(c);
    CHECK_OK(compare("busy", "quiet", c));
    undecided(c, "slower:5%");
    undecided(c, "slower:200%"); /* the first may have been slowed down 11.8 times */
    CHECK_OK(gate(c, "slower:400%"));
    tt_compare_free(c);
    CHECK_OK(compare("quiet", "little", c)); /* 3 times as long, of which others explain 2.2 */
    st = gate(c, "slower:5%");
    CHECK(st && st->code == TT_GATE, "%s", st ? st->text : "passed");
    tt_status_free(st);
    undecided(c, "slower:50%");
    CHECK_OK(gate(c, "slower:300%"));
    tt_compare_free(c);
    free(c);
}

/* The softmax is another kernel and the rest is the same; the rest takes `alike` times as long. */
static struct tt_profile changed(double step, double alike)
{
    struct tt_profile p = by_hand(step);
    strcpy(p.operators[2].name, "flash");
    for (int i = 0; i < 4; i++)
        if (i != 2) p.operators[i].share *= alike / step;
    return p;
}

/* Operators that both runs share show whether the machine was the same. */
static void what_is_alike_is_a_control(void)
{
    struct tt_profile first = by_hand(1), moved = changed(1.4, 1.6), still = changed(1.4, 1), gains = changed(0.5, 1.6),
                      other = changed(1.4, 1.6);
    struct tt_comparison *c = calloc(1, sizeof *c);
    strcpy(other.run.precision, "bf16");
    save(&first, "first");
    save(&moved, "moved");
    save(&still, "still");
    save(&gains, "gains");
    save(&other, "other");

    CHECK_OK(compare("first", "moved", c));
    CHECK(c->runs[1].control.moved && c->runs[1].control.operators == 3 && fabs(c->runs[1].control.times - 1.6) < 1e-9,
          "%g", c->runs[1].control.times);
    CHECK(c->runs[1].range.low < 0.75 && c->runs[1].range.high > 1.1, "%g to %g", c->runs[1].range.low,
          c->runs[1].range.high);
    CHECK(strstr(c->warnings.s, "moved: the 3 operators that it has in common with first (kernel, shape and calls) "
                                "took 1.60 times as long (median, times as shares of the undisturbed steps: together "
                                "60.0 % of 10 ms there, 68.6 % of 14 ms here)") &&
          strstr(c->warnings.s, "the interval holds"),
          "%s", c->warnings.s);
    undecided(c, "slower:5%");
    CHECK_FAILS(gate(c, "slower:5%"), "in common took 1.60 times as long");
    tt_compare_free(c);

    struct tt_profile waited = changed(1.4, 1.6);
    waited.run.waited = 0.5;
    save(&waited, "waited");
    CHECK_OK(compare("first", "waited", c));
    CHECK(strstr(c->warnings.s, "took 1.60 times") && strstr(c->warnings.s, "the interval holds") &&
          c->runs[1].range.high > 4 * 0.7, "and what the machine explains: %g: %s", c->runs[1].range.high,
          c->warnings.s);
    tt_compare_free(c);

    struct tt_profile recorded = changed(1.4, 1.6);
    recorded.launch.recorded_overhead = 0.5, recorded.step.launched_seconds = recorded.step.seconds;
    save(&recorded, "recorded");
    CHECK_OK(compare("first", "recorded", c)); /* no thread waited: a clock changed, or a virtual machine */
    CHECK(c->runs[1].control.moved && fabs(c->runs[1].control.times - 1.6) < 1e-9 && c->runs[1].range.high > 1.1 &&
          strstr(c->warnings.s, "or the recording is the reason (their shares come from disturbed steps)") &&
          strstr(c->warnings.s, "its groups and operators come from disturbed steps"), "%s", c->warnings.s);
    tt_compare_free(c);

    struct tt_profile alone = by_hand(1), others = changed(1.4, 1.6);
    strcpy(alone.run.backend, "cpu");
    strcpy(others.run.backend, "cpu");
    others.run.recorded_waited = 0.5, others.run.waited = 0.001, others.run.load = 0.1;
    save(&alone, "alone");
    save(&others, "others");
    CHECK_OK(compare("alone", "others", c)); /* others explain the longer time, but the machine may too */
    CHECK(!c->runs[1].control.moved && fabs(c->runs[1].control.times - 1.6) < 1e-9 && c->runs[1].range.high > 1 &&
          strstr(c->warnings.s, "whether the machine was as fast as for alone is not known") &&
          strstr(c->warnings.s, "holds the speed-up with and without their change"), "%g, %g: %s",
          c->runs[1].control.times, c->runs[1].range.high, c->warnings.s);
    tt_compare_free(c);

    CHECK_OK(compare("first", "still", c)); /* only the change is slower */
    CHECK(!c->runs[1].control.moved && !c->warnings.n && c->runs[1].range.high < 1);
    CHECK_FAILS(gate(c, "slower:5%"), "40.0 % more time");
    tt_compare_free(c);

    struct tt_profile little = changed(0.92, 0.88); /* no warning, but all of the gain may come from the machine */
    save(&little, "little");
    CHECK_OK(compare("first", "little", c));
    CHECK(!c->runs[1].control.moved && !c->warnings.n && c->runs[1].range.low < 1 && c->runs[1].range.high > 1.08,
          "%g to %g", c->runs[1].range.low, c->runs[1].range.high);
    tt_compare_free(c);

    CHECK_OK(compare("first", "gains", c)); /* faster despite a slower machine */
    CHECK(c->runs[1].control.moved && c->runs[1].range.low > 1);
    CHECK_OK(gate(c, "slower:5%"));
    tt_compare_free(c);

    CHECK_OK(compare("first", "other", c)); /* other kernels with the same names */
    CHECK(isnan(c->runs[1].control.times) && !c->runs[1].control.moved);
    tt_compare_free(c);

    struct tt_profile one = changed(1, 1), tile = changed(1.4, 1.6);
    strcpy(tile.run.flash_tile, "8x8");
    save(&one, "one");
    save(&tile, "tile");
    CHECK_OK(compare("one", "tile", c)); /* another tile makes another kernel */
    CHECK(c->runs[1].control.moved && c->runs[1].control.operators == 3, "%d", c->runs[1].control.operators);
    tt_compare_free(c);

    free(c);
}

/* Other programs cannot slow down the run without them: one program took 116 ms beside them and 214 ms without. */
static void a_busy_run_has_a_control_too(void)
{
    struct tt_profile busy = by_hand(1), slow = by_hand(1.845), same = by_hand(1.845);
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_profile *const all[] = {&busy, &slow, &same};
    for (int i = 0; i < 3; i++) {
        strcpy(all[i]->run.backend, "cpu"), strcpy(all[i]->run.device, "Xeon, 1 thread");
        snprintf(all[i]->run.build, sizeof all[i]->run.build, "0a1b");
        all[i]->run.waited = all[i]->run.recorded_waited = i ? 0.0002 : 0.553;
    }
    slow.operators[0].share *= 0.76, slow.operators[1].share *= 0.9, slow.operators[2].share *= 1.3;
    save(&busy, "busy");
    save(&slow, "slow");
    save(&same, "same");
    CHECK_OK(compare("busy", "slow", c));
    const struct tt_compared *r = &c->runs[1];
    CHECK(r->control.busy && r->control.moved && r->control.least < r->control.times &&
          r->control.times < r->control.most, "%g %g %g", r->control.least, r->control.times, r->control.most);
    CHECK(r->undecided && r->range.low < 0.1 && r->range.high > 1, "%g to %g", r->range.low, r->range.high);
    CHECK(strstr(c->warnings.s, "the machine was not equally fast in both"), "%s", c->warnings.s);
    undecided(c, "slower:5%");
    tt_compare_free(c);
    CHECK_OK(compare("slow", "busy", c));
    CHECK(r->undecided && r->range.low < 1 && r->range.high > 10, "%g to %g", r->range.low, r->range.high);
    tt_compare_free(c);
    CHECK_OK(compare("slow", "same", c)); /* both quiet: one number, the median */
    CHECK(r->control.least == r->control.times && r->control.most == r->control.times, "%g", r->control.times);
    tt_compare_free(c);
    free(c);
}

/* Two builds may have different kernels, one of them slower: the gate fails, and names the other possible reason. */
static void the_same_work_may_be_the_machine(void)
{
    struct tt_profile first = by_hand(1), again = by_hand(1.6), like = by_hand(1.07), waits = by_hand(1.6);
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (int i = 0; i < waits.operators_count; i++) waits.operators[i].share /= 1.6; /* outside its kernels */
    save(&first, "first");
    save(&again, "again");
    save(&like, "like");
    save(&waits, "waits");

    CHECK_OK(compare("first", "again", c));
    CHECK(c->runs[1].control.all && fabs(c->runs[1].control.times - 1.6) < 1e-9 && c->runs[1].range.high < 1);
    CHECK(strstr(c->warnings.s, "do the same work as those of first, and took 1.60 times as long"), "%s",
          c->warnings.s);
    CHECK_FAILS(gate(c, "slower:5%"), "60.0 % more time");
    CHECK_FAILS(gate(c, "slower:5%"), "the reason is the machine");
    tt_compare_free(c);

    CHECK_OK(compare("first", "like", c)); /* little, but more than the steps of either run scatter */
    CHECK(c->runs[1].range.high < 1 && strstr(c->warnings.s, "took 1.07 times as long"), "%s", c->warnings.s);
    tt_compare_free(c);

    CHECK_OK(compare("first", "waits", c));
    CHECK(c->runs[1].control.all && !tt_compare_same_work(&c->runs[1]) && !c->warnings.n, "%s", c->warnings.s);
    CHECK_FAILS(gate(c, "slower:5%"), "60.0 % more time");
    tt_compare_free(c);
    free(c);
}

/* One operator of many took ten times as long because of its values or its kernel. That is not the machine, in either
 * order of the runs. */
static void one_operator_is_not_the_machine(void)
{
    struct tt_profile first = by_hand(1), one = by_hand(3.2), all = by_hand(1.6);
    struct tt_comparison *c = calloc(1, sizeof *c);
    first.operators[0].share = 0.25; /* 2.5 of 10 ms, and 25 of 32 */
    for (int i = 0; i < 4; i++) one.operators[i].share = i ? one.operators[i].share / 3.2 : 0.78;
    for (int i = 0; i < all.samples_count; i++) all.samples[i].loss += 1;
    save(&first, "first");
    save(&one, "one");
    save(&all, "all");
    first = by_hand(1);
    save(&first, "plain");

    CHECK_OK(compare("first", "one", c));
    CHECK(c->runs[1].control.all && fabs(c->runs[1].control.times - 1) < 1e-9 && !tt_compare_same_work(&c->runs[1]),
          "%g %s", c->runs[1].control.times, c->warnings.s);
    tt_compare_free(c);
    CHECK_OK(compare("one", "first", c));
    CHECK(fabs(c->runs[1].control.times - 1) < 1e-9, "%g", c->runs[1].control.times);
    tt_compare_free(c);

    CHECK_OK(compare("plain", "all", c)); /* all took longer, and compute other values */
    CHECK(strstr(c->warnings.s, "took 1.60 times as long (median"), "%s", c->warnings.s);
    CHECK(strstr(c->warnings.s, "Or the values are the reason"), "%s", c->warnings.s);
    CHECK_FAILS(gate(c, "slower:5%"), "or other values");
    tt_compare_free(c);
    free(c);
}

/* The same build has the same kernels. */
static void one_build_is_no_regression(void)
{
    struct tt_profile first = by_hand(1), again = by_hand(1.6), other = by_hand(1.6);
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text text = {0};
    snprintf(first.run.build, sizeof first.run.build, "0a1b");
    snprintf(again.run.build, sizeof again.run.build, "0a1b");
    snprintf(other.run.build, sizeof other.run.build, "0a1c");
    save(&first, "first");
    save(&again, "again");
    save(&other, "other");

    CHECK_OK(compare("first", "again", c));
    CHECK(c->runs[1].range.low < 0.63 && c->runs[1].range.high > 1, "%g to %g", c->runs[1].range.low,
          c->runs[1].range.high);
    CHECK(strstr(c->warnings.s, "Both runs are of one build"), "%s", c->warnings.s);
    undecided(c, "slower:5%");
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "have in common. tt bench"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);

    CHECK_OK(compare("first", "other", c));
    CHECK(c->runs[1].range.high < 1 && strstr(c->warnings.s, "otherwise the kernels may differ"), "%s", c->warnings.s);
    CHECK_FAILS(gate(c, "slower:5%"), "60.0 % more time");
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "all operators and the builds differ or are not known"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);
    free(c);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(noise_is_no_regression);
    TEST(few_steps_are_told);
    TEST(busy_runs_are_told);
    TEST(disturbed_rows_are_marked);
    TEST(a_gate_names_the_busy_runs);
    TEST(a_busy_machine_widens_the_interval);
    TEST(a_gate_waits_for_threads_that_waited);
    TEST(slow_steps_are_of_others);
    TEST(little_time_is_marked);
    TEST(a_busy_machine_fails_few_gates);
    TEST(what_is_alike_is_a_control);
    TEST(a_busy_run_has_a_control_too);
    TEST(one_operator_is_not_the_machine);
    TEST(the_same_work_may_be_the_machine);
    TEST(one_build_is_no_regression);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
