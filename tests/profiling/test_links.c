/* The speed of links between ranks: the formulas, the pairing, and the traffic of a step. */
#include "profiling/measure/links.h"

#include <math.h>

#include "backend/kernel_info.h"
#include "tests/test.h"

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b)); }

/* As doc/PERFORMANCE.md of nccl-tests defines them. */
static void bus_factors(void)
{
    for (int n = 2; n <= 9; n++) {
        CHECK(near(tt_bus_factor(TT_ALL_REDUCE, n), 2.0 * (n - 1) / n), "%d ranks", n);
        CHECK(near(tt_bus_factor(TT_REDUCE_SCATTER, n), (n - 1.0) / n), "%d ranks", n);
        CHECK(near(tt_bus_factor(TT_ALL_GATHER, n), (n - 1.0) / n), "%d ranks", n);
    }
    struct tt_link_row row = {.kind = TT_ALL_REDUCE, .count = 3000, .bytes = 12000, .seconds = 1e-3};
    tt_link_rates(&row, 3);
    CHECK(near(row.algbw, 12e6) && near(row.busbw, 16e6), "%g %g", row.algbw, row.busbw);
    row.kind = TT_ALL_GATHER;
    tt_link_rates(&row, 3);
    CHECK(near(row.algbw, 12e6) && near(row.busbw, 8e6), "%g %g", row.algbw, row.busbw);
    struct tt_collective c = {.kind = TT_ALL_REDUCE, .count = 3000, .type = TT_F32, .ranks = 3};
    CHECK(tt_collective_sent(&c) == 16000, "what is sent is not what the bus carries");
}

static void everyone_meets_everyone_once(void)
{
    for (int n = 2; n <= 33; n++) {
        static int met[33][33];
        memset(met, 0, sizeof met);
        for (int round = 0; round < tt_link_rounds(n); round++)
            for (int r = 0; r < n; r++) {
                int other = tt_link_partner(n, round, r);
                if (other < 0) continue;
                CHECK(other != r && other < n && tt_link_partner(n, round, other) == r, "%d of %d", r, n);
                met[r][other]++;
            }
        for (int a = 0; a < n; a++)
            for (int b = 0; b < n; b++)
                CHECK(met[a][b] == (a != b), "%d and %d of %d meet %d times", a, b, n, met[a][b]);
    }
}

static void times_by_the_table(void)
{
    struct tt_links l = {.ranks = 2, .row_count = 3,
                         .rows = {{.kind = TT_ALL_REDUCE, .bytes = 4000, .seconds = 1e-5},
                                  {.kind = TT_ALL_REDUCE, .bytes = 8000, .seconds = 3e-5},
                                  {.kind = TT_ALL_GATHER, .bytes = 4000, .seconds = 7e-5}}};
    struct tt_collective c = {.kind = TT_ALL_REDUCE, .count = 1, .type = TT_F32, .ranks = 2};
    CHECK(near(tt_links_seconds(&l, &c), 1e-5), "a small one takes as long as the smallest of the table");
    c.count = 1500;
    CHECK(near(tt_links_seconds(&l, &c), 2e-5), "%g", tt_links_seconds(&l, &c));
    c.count = 8000;
    CHECK(near(tt_links_seconds(&l, &c), 12e-5), "%g", tt_links_seconds(&l, &c));
    struct tt_op ops[3] = {{.kind = TT_OP_COLLECTIVE, .args.collective = c}, {.kind = TT_OP_GEMM},
                           {.kind = TT_OP_COLLECTIVE, .args.collective = c}};
    ops[2].args.collective = (struct tt_collective){.kind = TT_ALL_GATHER, .count = 2000, .type = TT_BF16, .ranks = 2};
    struct tt_plan plan = {.ops = ops, .count = 3};
    CHECK(near(tt_links_plan_seconds(&l, &plan), 19e-5), "%g", tt_links_plan_seconds(&l, &plan));
}

int main(void)
{
    TEST(bus_factors);
    TEST(everyone_meets_everyone_once);
    TEST(times_by_the_table);
    return test_end();
}
