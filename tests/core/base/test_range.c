/* Confidence intervals of medians and ratios, against what can be counted by hand. */
#include <math.h>

#include "core/base/range.h"
#include "core/base/rng.h"
#include "tests/test.h"

static void of_medians(void)
{
    double x[] = {5, 1, 4, 2, 3, 6, 9, 8, 7};
    struct tt_range r;
    CHECK_OK(tt_median_range(x, 0, &r));
    CHECK(isnan(r.low) && isnan(r.confidence));
    CHECK_OK(tt_median_range(x, 1, &r));
    CHECK(r.low == 5 && r.high == 5 && r.confidence == 0);
    CHECK_OK(tt_median_range(x, 3, &r));
    CHECK(r.low == 1 && r.high == 5 && r.confidence == 0.75, "%g", r.confidence);
    CHECK_OK(tt_median_range(x, 6, &r));
    CHECK(r.low == 1 && r.high == 6 && r.confidence == 1 - 2.0 / 64, "%g", r.confidence);
    CHECK_OK(tt_median_range(x, 9, &r));
    CHECK(r.low == 2 && r.high == 8 && fabs(r.confidence - (1 - 20.0 / 512)) < 1e-12, "%g to %g", r.low, r.high);
    CHECK(x[0] == 5, "they stay in their order");
}

static void of_ratios(void)
{
    double a[] = {2, 2.2, 2.1, 1.9}, b[] = {1, 1.1, 0.9, 1.05};
    struct tt_range r;
    CHECK_OK(tt_ratio_range(a, 3, b, 3, &r));
    CHECK(fabs(r.low - 2 / 1.1) < 1e-12 && fabs(r.high - 2.2 / 0.9) < 1e-12, "%g to %g", r.low, r.high);
    CHECK(fabs(r.confidence - (1 - 2.0 / 20)) < 1e-12, "%g", r.confidence);
    CHECK_OK(tt_ratio_range(a, 4, b, 4, &r));
    CHECK(fabs(r.confidence - (1 - 2.0 / 70)) < 1e-12, "%g", r.confidence);
    CHECK_OK(tt_ratio_range(a, 0, b, 4, &r));
    CHECK(isnan(r.low));
    double many[40];
    for (int i = 0; i < 40; i++) many[i] = 1 + 0.01 * i;
    CHECK_OK(tt_ratio_range(many, 30, b, 1, &r)); /* one step is the smallest or largest of 31 in 2 of 31 orders */
    CHECK(fabs(r.confidence - (1 - 2.0 / 31)) < 1e-12 && r.confidence < 0.95, "%g", r.confidence);
    CHECK_OK(tt_ratio_range(b, 1, many, 40, &r));
    CHECK(r.confidence >= 0.95 && fabs(r.confidence - (1 - 2.0 / 41)) < 1e-12, "%g", r.confidence);
}

/* The intervals contain the truth as often as they promise: samples with a true ratio of 1.25 that scatter by a
 * third. */
static void hold_what_they_promise(void)
{
    enum { TRIALS = 400 };
    static const int sizes[] = {3, 6, 10, 40};
    for (int s = 0; s < 4; s++) {
        int n = sizes[s], held = 0, in = 0;
        double a[40], b[40], ratios[40], confidence = 0, of_median = 0;
        for (int t = 0; t < TRIALS; t++) {
            struct tt_range r;
            for (int i = 0; i < n; i++) {
                uint64_t draw = (uint64_t)(t * n + i);
                a[i] = 1.25 * exp(tt_uniform(3, (uint64_t)(2 * s), draw) / 3);
                b[i] = exp(tt_uniform(3, (uint64_t)(2 * s + 1), draw) / 3);
                ratios[i] = a[i] / b[i];
            }
            CHECK_OK(tt_ratio_range(a, n, b, n, &r));
            held += r.low <= 1.25 && r.high >= 1.25;
            confidence = r.confidence;
            CHECK_OK(tt_median_range(ratios, n, &r));
            in += r.low <= 1.25 && r.high >= 1.25;
            of_median = r.confidence;
        }
        CHECK(fabs((double)held / TRIALS - confidence) < 0.04, "%d: %d of %d, not %g", n, held, TRIALS, confidence);
        CHECK(fabs((double)in / TRIALS - of_median) < 0.05, "%d: %d of %d, not %g", n, in, TRIALS, of_median);
    }
}

int main(void)
{
    TEST(of_medians);
    TEST(of_ratios);
    TEST(hold_what_they_promise);
    return test_end();
}
