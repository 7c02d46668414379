/* What the report says about recorded steps and phases that took longer or shorter than undisturbed ones. */
#include "profiling/report/advice.h"
#include "tests/profiling/by_hand.h"

/* A step of 108 ms on a CPU with 142 events, and three undisturbed steps between 107.8 and 108.3 ms. */
static struct tt_profile of_cpu(void)
{
    struct tt_profile p = by_hand(1);
    strcpy(p.run.backend, "cpu");
    strcpy(p.run.device, "Xeon, 1 thread");
    p.phases_count = 0;
    p.run.load = 0.2, p.run.waited = 0.005;
    p.step.seconds = p.step.launched_seconds = 107.964e-3;
    p.step.p95 = 108.269e-3, p.step.fastest = 107.827e-3, p.step.deviation = 0.245e-3;
    p.step.kernels = 142;
    p.launch.event_seconds = 45e-9;
    return p;
}

static void says(const struct tt_profile *p, double overhead, const char *words)
{
    struct tt_profile same = *p;
    char out[TT_RECORDING_WORDS];
    same.launch.recorded_overhead = overhead;
    CHECK(!strcmp(tt_recording_words(&same, out), words), "%s", out);
}

/* Noise is what the run's own steps show, or a few percent. */
static void calls_noise_what_the_steps_show(void)
{
    struct tt_profile p = of_cpu();
    says(&p, 0.012, "1.2 % more");
    says(&p, -0.004, "0.4 % less: within the noise");
    says(&p, 0.227, "22.7 % more; the events cost only 0.0 % and the other steps vary by only 0.4 %, so something else "
                    "slowed the recorded ones");
    says(&p, 0.051, "5.1 % more; the events cost only 0.0 % and the other steps vary by only 0.4 %, so something else "
                    "slowed the recorded ones");
    says(&p, -0.228, "22.8 % less; the other steps vary by only 0.4 %, so the machine was faster in the recorded ones");
    p.step.p95 = 140e-3;
    says(&p, 0.227, "22.7 % more: within the noise");
    says(&p, -0.228, "22.8 % less: within the noise");
    tt_profile_free(&p);
}

/* Shares come from the recorded steps, so only those matter, whatever the undisturbed steps did. */
static void recorded_steps_may_be_slowed_alone(void)
{
    struct tt_profile p = of_cpu();
    p.launch.recorded_overhead = 0.003, p.run.recorded_waited = 0.01;
    CHECK(tt_recorded_slowed(&p) == 1, "%g", tt_recorded_slowed(&p));
    p.run.waited = 0.16;
    CHECK(tt_recorded_slowed(&p) == 1, "only undisturbed steps waited: %g", tt_recorded_slowed(&p));
    p.run.recorded_waited = 0.5;
    CHECK(tt_recorded_slowed(&p) == 8, "%g", tt_recorded_slowed(&p));
    strcpy(p.run.device, "Xeon, 2 threads");
    CHECK(isinf(tt_recorded_slowed(&p)), "%g", tt_recorded_slowed(&p));
    p.job.ranks = 3, strcpy(p.run.device, "Xeon, 1 thread");
    CHECK(isinf(tt_recorded_slowed(&p)) && tt_profile_threads(&p) == 3, "ranks wait for each other");
    p.job.ranks = 0;
    p.run.waited = 0.024, p.run.recorded_waited = 0.01, p.launch.recorded_overhead = 0.544;
    CHECK(fabs(tt_recorded_slowed(&p) - 3.088) < 0.001, "%g", tt_recorded_slowed(&p));
    p.step.p95 = 200e-3;
    CHECK(fabs(tt_recorded_slowed(&p) - 3.088) < 0.001, "more than a quarter: %g", tt_recorded_slowed(&p));
    p.launch.recorded_overhead = 0.24;
    CHECK(tt_recorded_slowed(&p) == 1, "as far as the steps lie apart: %g", tt_recorded_slowed(&p));
    strcpy(p.run.backend, "cuda");
    p.run.recorded_waited = 0.5;
    CHECK(tt_recorded_slowed(&p) == 1, "a device does not wait for processors: %g", tt_recorded_slowed(&p));
    tt_profile_free(&p);
}

static bool advises(const struct tt_profile *p, const char *what, const char *reason)
{
    struct tt_advice advice[TT_ADVICE_LIMIT];
    int n = tt_advise(p, advice);
    for (int i = 0; i < n; i++)
        if (strstr(advice[i].what, what) && strstr(advice[i].reason, reason)) return true;
    return false;
}

/* Shares and roofs come from the recorded steps, the step's time from the others: each has its own caveat. */
static void says_which_figures_are_disturbed(void)
{
    struct tt_profile p = of_cpu();
    char words[400], line[400];
    p.launch.recorded_overhead = 0.003, p.run.recorded_waited = 0.01;
    for (int i = 0; i < p.operators_count; i++) p.operators[i].roof_percent = 61;
    tt_busy_remark(&p, words);
    tt_headline(&p, line);
    CHECK(!words[0] && !strstr(line, "disturbed"), "%s%s", words, line);
    CHECK(advises(&p, "larger matrix products", "reach 61 % of their roof") && !advises(&p, "", "(busy") &&
          !advises(&p, "", "(from dist"));

    p.run.waited = 0.024, p.launch.recorded_overhead = 0.544; /* a run that counts as quiet */
    tt_busy_remark(&p, words);
    tt_headline(&p, line);
    CHECK(strstr(words, "come from disturbed steps: the recorded steps took 54 % more time than the others. They may "
                        "be wrong, times up to 3.1 times too long, short ones even more.") &&
          strstr(words, "MFU come from other steps"), "%s", words);
    CHECK(strstr(line, "(shares of disturbed steps)."), "%s", line);
    tt_rows_remark(&p, words);
    CHECK(strstr(words, "disturbed steps: the recorded") && strstr(words, "up to 3.1 times too long"), "%s", words);
    CHECK(advises(&p, "when the machine is quiet", "took 54 % more time than the others; shares"));
    CHECK(!advises(&p, "larger matrix products", ""), "61 %% may be 94");
    CHECK(advises(&p, "flash", "(from disturbed steps)") && !advises(&p, "", "(busy machine)"));
    for (int i = 0; i < p.operators_count; i++) p.operators[i].roof_percent = 15;
    CHECK(advises(&p, "larger matrix products", "15 % of their roof (from disturbed steps)"));

    p.launch.recorded_overhead = 0.003, p.run.recorded_waited = 0.3;
    tt_busy_remark(&p, words);
    CHECK(strstr(words, "threads waited 30 % of their time for a processor in the recorded steps."), "%s", words);
    says(&p, 0.227, "22.7 % more: the machine was busy, so this is noise");

    p.run.waited = 0.16, p.run.recorded_waited = 0.01; /* the opposite case */
    tt_busy_remark(&p, words);
    tt_headline(&p, line);
    CHECK(strstr(words, "When the step was timed, the machine was busy: threads waited 16 %") &&
          strstr(words, "recorded steps, of which no disturbance was seen."), "%s", words);
    tt_rows_remark(&p, words);
    CHECK(!words[0], "%s", words);
    CHECK(!strstr(line, "disturbed") && !advises(&p, "flash", "(") && advises(&p, "flash", "softmax"), "%s", line);
    CHECK(advises(&p, "when the machine is quiet", "from steps that were not disturbed"));
    says(&p, -0.228, "22.8 % less: the machine was busy, so this is noise");
    p.run.recorded_waited = NAN; /* an old profile */
    tt_busy_remark(&p, words);
    CHECK(strstr(words, "and shares, roof % and bounds may be wrong") && advises(&p, "flash", "(busy machine)"), "%s",
          words);
    tt_profile_free(&p);
}

/* The waiting of two threads may explain any factor. A single thread would not have waited for another. */
static void says_that_any_factor_is_possible(void)
{
    struct tt_profile p = of_cpu();
    char words[400];
    strcpy(p.run.device, "Xeon, 2 threads");
    p.launch.recorded_overhead = 0.003, p.run.recorded_waited = 0.5;
    tt_busy_remark(&p, words);
    CHECK(strstr(words, "times too long by an unknown factor. Measure again when it is quiet; one thread "
                        "is disturbed least: export OMP_NUM_THREADS=1. Step time, tokens/s and MFU come from "
                        "other steps."),
          "%s", words);
    tt_rows_remark(&p, words);
    CHECK(strstr(words, "times too long by an unknown factor") && !strstr(words, "inf"), "%s", words);
    p.run.waited = 0.5;
    tt_busy_remark(&p, words);
    CHECK(strstr(words, "Measure again when the machine is quiet; one thread is disturbed least: export "
                        "OMP_NUM_THREADS=1."),
          "%s", words);
    strcpy(p.run.device, "Xeon, 1 thread");
    tt_busy_remark(&p, words);
    CHECK(words[0] && !strstr(words, "OMP"), "%s", words);
    strcpy(p.run.backend, "cuda"), strcpy(p.run.device, "NVIDIA H200");
    tt_busy_remark(&p, words);
    CHECK(words[0] && !strstr(words, "OMP"), "%s", words);
    tt_profile_free(&p);
}

static void leaves_open_what_one_step_does_not_tell(void)
{
    struct tt_profile p = of_cpu();
    p.step.p95 = p.step.fastest = p.step.seconds, p.step.deviation = NAN;
    says(&p, 0.227, "22.7 % more; the events cost 0.0 %, and a single step does not show how much steps vary");
    p.run.waited = 0.3;
    says(&p, 0.227, "22.7 % more: the machine was busy, so this is noise");
    says(&p, NAN, "n/a");
    tt_profile_free(&p);
}

/* Every phase whose kernels seem to take longer is named. A few percent, by which steps differ anyway, are ignored. */
static void names_all_phases_that_seem_longer(void)
{
    struct tt_profile p = of_cpu();
    struct tt_profile_phase phases[] = {{.name = "forward", .wall = 1.374, .device = 1.524},
                                        {.name = "backward", .wall = 2.303, .device = 3.078},
                                        {.name = "optimizer", .wall = 1, .device = 1.02}};
    struct tt_profile_phase *own = p.phases;
    char words[400];
    p.phases = phases, p.phases_count = 3;
    tt_phase_remark(&p, words);
    CHECK(strstr(words, "the kernels of forward and backward seem to take longer than these phases."), "%s", words);
    phases[1].device = 2.3;
    tt_phase_remark(&p, words);
    CHECK(strstr(words, "the kernels of forward seem to take longer than the phase."), "%s", words);
    phases[0].device = 1.3;
    tt_phase_remark(&p, words);
    CHECK(!strstr(words, "longer"), "%s", words);
    phases[1].device = 1.7, phases[1].kernels = 60;
    tt_phase_remark(&p, words);
    CHECK(strstr(words, "from different steps: backward took longer than its kernels, which may be how much steps "
                        "vary"), "%s", words);
    phases[0].device = 1.6;
    tt_phase_remark(&p, words);
    CHECK(strstr(words, ", so the kernels of forward seem to take longer than the phase; backward took longer than"),
          "%s", words);
    phases[0].device = 1.3, phases[1].kernels = 0; /* the host reads the data: no kernel is involved */
    tt_phase_remark(&p, words);
    CHECK(!strstr(words, "longer"), "%s", words);
    p.phases = own, p.phases_count = 0;
    tt_profile_free(&p);
}

/* Beside another program, operations took 2.41 times the medians of their kinds, and the step took 2.25 times as
 * long. */
static void a_device_may_be_interrupted(void)
{
    struct tt_profile p = of_cpu();
    char words[120], remark[400];
    strcpy(p.run.backend, "cuda");
    p.launch.recorded_overhead = 0.003, p.run.recorded_waited = 4e-5, p.run.waited = 4e-5;
    p.run.interrupted = 1.03;
    CHECK(!tt_step_busy(&p) && tt_step_slowed(&p) == 1 && tt_recorded_slowed(&p) == 1, "quiet");
    tt_busy_remark(&p, remark);
    CHECK(!remark[0], "%s", remark);
    p.run.interrupted = NAN;
    CHECK(!tt_step_busy(&p) && tt_recorded_slowed(&p) == 1, "of an older profile it is not known");
    p.run.interrupted = 2.41;
    CHECK(tt_step_busy(&p) && tt_recorded_busy(&p) && tt_step_slowed(&p) == 4.82 && tt_recorded_slowed(&p) == 4.82,
          "%g and %g", tt_step_slowed(&p), tt_recorded_slowed(&p));
    tt_step_busy_words(&p, words);
    CHECK(!strcmp(words, "the device was interrupted, perhaps by other programs: operations or steps took 2.4 times "
                         "their medians"), "%s", words);
    tt_busy_remark(&p, remark);
    CHECK(strstr(remark, "shares, roof % and bounds may be wrong"), "%s", remark);
    tt_profile_free(&p);
}

int main(void)
{
    TEST(a_device_may_be_interrupted);
    TEST(calls_noise_what_the_steps_show);
    TEST(recorded_steps_may_be_slowed_alone);
    TEST(says_which_figures_are_disturbed);
    TEST(says_that_any_factor_is_possible);
    TEST(leaves_open_what_one_step_does_not_tell);
    TEST(names_all_phases_that_seem_longer);
    return test_end();
}
