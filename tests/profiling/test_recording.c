/* What the report says of recorded steps that took longer or shorter than undisturbed ones. */
#include "profiling/report/advice.h"
#include "tests/profiling/by_hand.h"

/* A step of 108 ms on a CPU with 142 events, and three undisturbed ones from 107.8 to 108.3 ms. */
static struct tt_profile of_cpu(void)
{
    struct tt_profile p = by_hand(1);
    strcpy(p.run.backend, "cpu");
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

/* Noise is what the run's own steps show of it, or a few percent. */
static void calls_noise_what_the_steps_show(void)
{
    struct tt_profile p = of_cpu();
    says(&p, 0.012, "1.2 % more");
    says(&p, -0.004, "0.4 % less: within the noise");
    says(&p, 0.227, "22.7 % more, though the events cost 0.0 % and the other steps vary by 0.4 %: something else "
                    "slowed the recorded ones");
    says(&p, 0.051, "5.1 % more, though the events cost 0.0 % and the other steps vary by 0.4 %: something else "
                    "slowed the recorded ones");
    says(&p, -0.228, "22.8 % less, and the other steps vary by 0.4 %: the machine was faster in the recorded ones");
    p.step.p95 = 140e-3;
    says(&p, 0.227, "22.7 % more: within the noise");
    says(&p, -0.228, "22.8 % less: within the noise");
    tt_profile_free(&p);
}

static void leaves_open_what_one_step_does_not_tell(void)
{
    struct tt_profile p = of_cpu();
    p.step.p95 = p.step.fastest = p.step.seconds, p.step.deviation = NAN;
    says(&p, 0.227, "22.7 % more, and the events cost 0.0 %: one step does not tell why");
    p.run.waited = 0.3;
    says(&p, 0.227, "22.7 % more: the machine was busy, and this is its noise");
    says(&p, NAN, "n/a");
    tt_profile_free(&p);
}

int main(void)
{
    TEST(calls_noise_what_the_steps_show);
    TEST(leaves_open_what_one_step_does_not_tell);
    return test_end();
}
