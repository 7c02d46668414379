/* The judging of answers, one by one and together. */
#include "core/base/file.h"
#include "tests/exercises/runs_fixture.h"

static void judges_numbers(void)
{
    struct tt_mark m;
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "1000 * step.seconds", .unit = "ms", .tolerance = 0.02};
    CHECK(judge(q, "250", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "254.9 ms", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "256", &m) == TT_MARK_WRONG && strstr(m.reason, "too large"), "%s", m.reason);
    CHECK(judge(q, "0.25", &m) == TT_MARK_WRONG && strstr(m.reason, "1000 times too small"), "%s", m.reason);
    CHECK(judge(q, "0.25 s", &m) == TT_MARK_RIGHT && judge(q, "0.3 s", &m) == TT_MARK_WRONG, "%s", m.reason);
    CHECK(judge(q, "0.25 MiB", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "in ms"), "%s", m.reason);
    CHECK(judge(q, "  250ms ", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "much", &m) == TT_MARK_UNKNOWN);
    CHECK(judge(q, "", &m) == TT_MARK_EMPTY);
    CHECK(!strcmp(m.right, "250 ms"), "%s", m.right);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "0.00390625", .tolerance = 0.02};
    CHECK(judge(q, "2^-8", &m) == TT_MARK_RIGHT && judge(q, "1/256", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(judge(q, "2^-7", &m) == TT_MARK_WRONG && judge(q, "1/128", &m) == TT_MARK_WRONG);
    CHECK(judge(q, "2^", &m) == TT_MARK_UNKNOWN && judge(q, "1/0", &m) == TT_MARK_UNKNOWN &&
          judge(q, "1/2/128", &m) == TT_MARK_UNKNOWN && judge(q, "9^999", &m) == TT_MARK_UNKNOWN, "%s", m.reason);
    q = (struct tt_question){
        .kind = TT_ASK_NUMBER, .answer = "fast:step.seconds / slow:step.seconds", .tolerance = 0.02};
    CHECK(judge(q, "2.5", &m) == TT_MARK_WRONG && strstr(m.reason, "reciprocal"), "%s", m.reason);
    CHECK(judge(q, "40", &m) == TT_MARK_WRONG && strstr(m.reason, "a fraction is wanted"), "%s", m.reason);
    q.answer = "slow:step.seconds / fast:step.seconds";
    CHECK(judge(q, "250", &m) == TT_MARK_WRONG && strstr(m.reason, "how many times is wanted"), "no fraction: %s",
          m.reason);
    q.answer = "fast:step.seconds / slow:step.seconds";
    q.unit = "%"; /* 0.4 % */
    CHECK(judge(q, "40", &m) == TT_MARK_WRONG && strstr(m.reason, "multiplied by 100 twice"), "%s", m.reason);
    CHECK(judge(q, "0.004", &m) == TT_MARK_WRONG && strstr(m.reason, "not a fraction"), "%s", m.reason);
    q.unit = NULL;
    CHECK(judge(q, "400", &m) == TT_MARK_WRONG && !strstr(m.reason, "unit"), "it has none: %s", m.reason);
    q.answer = "slow:step.seconds / fast:step.seconds";
    CHECK(judge(q, "2.5x", &m) == TT_MARK_RIGHT && judge(q, "2.5 ×", &m) == TT_MARK_RIGHT &&
          judge(q, "2.5 times", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "0x2", &m) == TT_MARK_UNKNOWN && judge(q, "2.5 ms", &m) == TT_MARK_UNKNOWN);
    CHECK(judge(q, "2.5 of them", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "\"of them\" after the number"), "%s",
          m.reason);
    CHECK(judge(q, "2.622", &m) == TT_MARK_WRONG && !strstr(m.reason, "MiB"), "5 %% off is no slip of units here: %s",
          m.reason);
    q.tolerance = 0.01;
    q.answer = "fast:step.seconds * 3.263"; /* 0.3263, of which tt compare prints 0.33x */
    CHECK(judge(q, "0.33", &m) == TT_MARK_RIGHT && judge(q, "0.33x", &m) == TT_MARK_RIGHT &&
          judge(q, "0.32", &m) == TT_MARK_WRONG && judge(q, "0.330", &m) == TT_MARK_WRONG &&
          judge(q, "0.3", &m) == TT_MARK_WRONG, "%s", m.reason);
    q.answer = "fast:step.seconds * 0.4263"; /* 0.04263: one digit is not enough */
    CHECK(judge(q, "0.04", &m) == TT_MARK_WRONG, "%s", m.means);
    q.tolerance = 0.02;
    q.answer = "slow:step.seconds / fast:step.seconds";
    q.must = "fast:step.seconds < slow:step.seconds";
    CHECK(judge(q, "2.5", &m) == TT_MARK_RIGHT);
    q.must = "fast:step.seconds > slow:step.seconds";
    CHECK(judge(q, "2.5", &m) == TT_MARK_WRONG && strstr(m.reason, "not as the question needs them") &&
          !strstr(m.reason, "say so"), "%s", m.reason);
    CHECK(!m.right[0], "where no answer is right, none is shown: %s", m.right);
    CHECK(judge(q, "7", &m) == TT_MARK_WRONG && strstr(m.reason, "too large") && !m.right[0], "%s", m.reason);
    CHECK(judge(q, "", &m) == TT_MARK_EMPTY && !m.right[0], "%s", m.right);
    q.must = "if(fast:step.seconds < slow:step.seconds, 'fast is too fast', '')";
    CHECK(judge(q, "2.5", &m) == TT_MARK_WRONG && !strcmp(m.reason, "fast is too fast"), "%s", m.reason);
    q.must = "if(fast:step.seconds > slow:step.seconds, 'fast is too fast', '')";
    CHECK(judge(q, "2.5", &m) == TT_MARK_RIGHT, "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "fast:step.seconds", .tolerance = 0.05, .slack = 0.2};
    CHECK(judge(q, "0.6", &m) == TT_MARK_WRONG && !strstr(m.reason, "times"),
          "what is allowed beside the tolerance is no unit: %s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "step.kernels", .tolerance = 0};
    CHECK(judge(q, "40", &m) == TT_MARK_RIGHT && judge(q, "41", &m) == TT_MARK_WRONG);
    CHECK(judge(q, "4000", &m) == TT_MARK_WRONG && !strcmp(m.reason, "100 times too large"),
          "a count is no fraction: %s", m.reason);
    q.answer = "step.nothing";
    CHECK(judge(q, "5", &m) == TT_MARK_PASSED);
    q = (struct tt_question){.kind = TT_ASK_RANGE, .at_least = "1", .at_most = "amdahl(0.5, 0)"};
    CHECK(judge(q, "1.5", &m) == TT_MARK_RIGHT && judge(q, "2.1", &m) == TT_MARK_WRONG &&
          judge(q, "0.9", &m) == TT_MARK_WRONG);
}

static void judges_units(void)
{
    struct tt_mark m;
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "1e6 * step.seconds", .unit = "us", .tolerance = 0.02};
    CHECK(judge(q, "250000 us", &m) == TT_MARK_RIGHT && judge(q, "250000 \xc2\xb5s", &m) == TT_MARK_RIGHT &&
          judge(q, "250000\xce\xbcs", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "250 ms", &m) == TT_MARK_RIGHT && judge(q, "0.25 seconds", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(judge(q, "250 ms more", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "in us"), "%s", m.reason);
    CHECK(judge(q, "250 000", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "\"000\" after the number; write the number"),
          "%s", m.reason);
    CHECK(judge(q, "250000\xc2\xb1" "5", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "write the number alone, in us"),
          "%s", m.reason);
    CHECK(judge(q, "250k", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "\"k\" after the number"), "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "step.kernels", .unit = "MiB", .tolerance = 0.01};
    CHECK(judge(q, "41.943", &m) == TT_MARK_WRONG && strstr(m.reason, "1048576"), "%s", m.reason);
    CHECK(judge(q, "0.0390625 GiB", &m) == TT_MARK_RIGHT && judge(q, "41.943 MB", &m) == TT_MARK_RIGHT &&
          judge(q, "41,943,040 bytes", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(judge(q, "40 MB", &m) == TT_MARK_WRONG && strstr(m.reason, "1048576"), "%s", m.reason);
    q.unit = "GB/s";
    CHECK(judge(q, "40 GB", &m) == TT_MARK_UNKNOWN && judge(q, "40000 ms/s", &m) == TT_MARK_UNKNOWN &&
          strstr(m.reason, "in GB/s"), "%s", m.reason);
    CHECK(judge(q, "40000 MB/s", &m) == TT_MARK_RIGHT && judge(q, "40 GB/s", &m) == TT_MARK_RIGHT &&
          judge(q, "40 MB/s", &m) == TT_MARK_WRONG, "%s", m.reason);
    q.unit = "%";
    CHECK(judge(q, "41.943", &m) == TT_MARK_WRONG && strstr(m.reason, "too large for this run"), "%s", m.reason);
    CHECK(judge(q, "40 % less", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "negative"), "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "1 + pow(2.718281828459045, -2)", .tolerance = 0.001};
    CHECK(judge(q, "1.1353", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "1.14", &m) == TT_MARK_WRONG && strstr(m.reason, "more digits"), "%s", m.reason);
    CHECK(judge(q, "1.2", &m) == TT_MARK_WRONG && !strcmp(m.reason, "too large"), "%s", m.reason);
    CHECK(judge(q, "1", &m) == TT_MARK_WRONG && !strcmp(m.reason, "too small"), "another idea: %s", m.reason);
    q.answer = "2.96 * step.seconds"; /* 0.74 */
    CHECK(judge(q, "0.7", &m) == TT_MARK_WRONG && strstr(m.reason, "more digits"), "%s", m.reason);
    q.answer = "1 + pow(2.718281828459045, -2)";
    q.slack = 0.01;
    CHECK(judge(q, "1.14", &m) == TT_MARK_RIGHT);
    q = (struct tt_question){.kind = TT_ASK_RANGE, .at_least = "3", .at_most = "4"};
    CHECK(judge(q, "5", &m) == TT_MARK_WRONG && !strcmp(m.reason, "too large"), "%s", m.reason);
}

static void judges_words(void)
{
    struct tt_mark m;
    struct tt_question q = {.kind = TT_ASK_CHOICE, .answer = "argmax(groups.share)"};
    CHECK(judge(q, "ffn", &m) == TT_MARK_RIGHT && judge(q, "FFN", &m) == TT_MARK_RIGHT &&
          judge(q, "norm", &m) == TT_MARK_WRONG);
    CHECK(judge(q, "nrom", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "none of: ffn, gaps, norm, rope"), "%s",
          m.reason);
    q.answer = "groups[1].name";
    CHECK(judge(q, "ffn 128x64x3", &m) == TT_MARK_RIGHT && judge(q, "ffn twice", &m) == TT_MARK_WRONG &&
          judge(q, "norm 1x2", &m) == TT_MARK_WRONG);
    q.answer = "argmin(groups[share>0.15].share)";
    CHECK(judge(q, "norm", &m) == TT_MARK_WRONG);
    q.tolerance = 0.05;
    CHECK(judge(q, "norm", &m) == TT_MARK_RIGHT, "as good as gaps, within 5 %%");
    CHECK(strstr(m.means, "In your run gaps has 0.195, norm 0.2: that close, either counts as first."),
          "%s", m.means);
    CHECK(judge(q, "gaps", &m) == TT_MARK_RIGHT && !m.means[0], "%s", m.means);
    struct tt_yaml *choices = yaml("[memory, compute]"),
                   *items = yaml("slow: slow:step.seconds\nfast: fast:step.seconds\n");
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .answer = "groups[0].bound", .choices = choices};
    CHECK(judge(q, "memory", &m) == TT_MARK_RIGHT && judge(q, "compute", &m) == TT_MARK_WRONG);
    CHECK(judge(q, "disk", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "memory, compute"), "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .items = items};
    CHECK(judge(q, "slow", &m) == TT_MARK_RIGHT && judge(q, "fast", &m) == TT_MARK_WRONG);
    CHECK(judge(q, "", &m) == TT_MARK_EMPTY && !strcmp(m.right, "slow"), "%s", m.right);
    q.tolerance = 0.7;
    CHECK(judge(q, "fast", &m) == TT_MARK_RIGHT && strstr(m.means, "slow has 0.25, fast 0.1"), "%s", m.means);
    CHECK(judge(q, "", &m) == TT_MARK_EMPTY && !strcmp(m.right, "slow/fast"), "what --reveal shows: %s", m.right);
    q.tolerance = 0;
    q.least = true;
    CHECK(judge(q, "fast", &m) == TT_MARK_RIGHT && judge(q, "slow", &m) == TT_MARK_WRONG);
    struct tt_yaml *faults = yaml("[mask-rebuild, host-wait, rank_1]");
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .answer = "'mask-rebuild'", .choices = faults};
    CHECK(judge(q, "Mask rebuild", &m) == TT_MARK_RIGHT && judge(q, "host_wait", &m) == TT_MARK_WRONG &&
          judge(q, "mask-rebuilds", &m) == TT_MARK_UNKNOWN && judge(q, "mask", &m) == TT_MARK_UNKNOWN);
    CHECK(judge(q, "The mask-rebuild.", &m) == TT_MARK_RIGHT && judge(q, "m ask rebuild", &m) == TT_MARK_RIGHT &&
          judge(q, "the", &m) == TT_MARK_UNKNOWN && judge(q, ".", &m) == TT_MARK_UNKNOWN, "%s", m.reason);
    q.answer = "'rank_1'";
    CHECK(judge(q, "rank 1", &m) == TT_MARK_RIGHT && judge(q, "rank 2", &m) == TT_MARK_UNKNOWN &&
          strstr(m.reason, "\"rank 2\""), "%s", m.reason);
    tt_yaml_free(faults);
    struct tt_yaml *sides = yaml("[rows, cols]"), *words = yaml("rows: [row]\ncols: [columns, column]\n"),
                   *others = yaml("slow: [not fast]\n");
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .answer = "'cols'", .choices = sides, .words = words};
    CHECK(judge(q, "columns", &m) == TT_MARK_RIGHT && judge(q, "The columns.", &m) == TT_MARK_RIGHT &&
          judge(q, "cols", &m) == TT_MARK_RIGHT && judge(q, "row", &m) == TT_MARK_WRONG &&
          judge(q, "lines", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "none of: rows, cols"), "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .items = items, .words = others};
    CHECK(judge(q, "not fast", &m) == TT_MARK_RIGHT && judge(q, "fast", &m) == TT_MARK_WRONG, "%s", m.reason);
    tt_yaml_free(sides);
    tt_yaml_free(words);
    tt_yaml_free(others);
    q = (struct tt_question){.kind = TT_ASK_TRUTH, .answer = "step.kernels > 30"};
    CHECK(judge(q, "true", &m) == TT_MARK_RIGHT && judge(q, "false", &m) == TT_MARK_WRONG &&
          judge(q, "maybe", &m) == TT_MARK_UNKNOWN);
    CHECK(judge(q, "Yes", &m) == TT_MARK_RIGHT && judge(q, "y", &m) == TT_MARK_RIGHT && judge(q, "no", &m) ==
          TT_MARK_WRONG && judge(q, "N", &m) == TT_MARK_WRONG && judge(q, "yesterday", &m) == TT_MARK_UNKNOWN);
    q = (struct tt_question){.kind = TT_ASK_RANKING, .answer = "groups.share", .count = 3, .tolerance = 0.05};
    CHECK(judge(q, "ffn, norm, gaps", &m) == TT_MARK_RIGHT && judge(q, "ffn, gaps, norm", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "norm, ffn, gaps", &m) == TT_MARK_WRONG && strstr(m.reason, "number 1"), "%s", m.reason);
    CHECK(judge(q, "ffn, norm, norm", &m) == TT_MARK_WRONG, "one name twice");
    CHECK(judge(q, "ffn, norm", &m) == TT_MARK_UNKNOWN && judge(q, "ffn, norm, nobody", &m) == TT_MARK_UNKNOWN);
    CHECK(strstr(m.reason, "none of: ffn, gaps, norm, rope"), "by the alphabet, which tells nothing: %s", m.reason);
    CHECK(judge(q, "ffn, norm, norm", &m) == TT_MARK_WRONG && judge(q, "rope, gaps, norm", &m) == TT_MARK_WRONG &&
              !strstr(m.reason, "other way round"),
          "three of four are not all: %s", m.reason);
    q.count = 4;
    CHECK(judge(q, "rope, gaps, norm, ffn", &m) == TT_MARK_WRONG && strstr(m.reason, "other way round"), "%s",
          m.reason);
    tt_yaml_free(choices);
    tt_yaml_free(items);
}

/* What tt prints for large numbers is a number. */
static void reads_letters(void)
{
    struct tt_mark m;
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "4190464", .tolerance = 0.001};
    CHECK(judge(q, "4.19M", &m) == TT_MARK_RIGHT && judge(q, "4.19 M", &m) == TT_MARK_RIGHT &&
          judge(q, "4190k", &m) == TT_MARK_RIGHT && judge(q, "0.00419G", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "4,190,464", &m) == TT_MARK_RIGHT && judge(q, "4,190,464.0", &m) == TT_MARK_RIGHT &&
          judge(q, "9,190,464", &m) == TT_MARK_WRONG, "%s", m.reason);
    static const char *const marks[] = {"4,190", "4,190,46", "4190,464,000", "4,190,4640", "4,190,464,", "4,,190,464"};
    for (int i = 0; i < 6; i++)
        CHECK(judge(q, marks[i], &m) == TT_MARK_UNKNOWN && strstr(m.reason, "comma"), "%s: %s", marks[i], m.reason);
    CHECK(judge(q, "4.2M", &m) == TT_MARK_WRONG && strstr(m.reason, "rounded too far"), "%s", m.reason);
    CHECK(judge(q, "4.19", &m) == TT_MARK_WRONG && strstr(m.reason, "1000000 times too small"), "%s", m.reason);
    CHECK(judge(q, "4.19 Mi", &m) == TT_MARK_UNKNOWN && judge(q, "4.19 MB", &m) == TT_MARK_UNKNOWN);
    q.answer = "31977984";
    CHECK(judge(q, "32.0M", &m) == TT_MARK_RIGHT, "as many digits as were printed: %s", m.reason);
    q.tolerance = 0;
    CHECK(judge(q, "32.0M", &m) == TT_MARK_RIGHT && judge(q, "3.20e7", &m) == TT_MARK_RIGHT, "also of a count: %s",
          m.reason);
    CHECK(judge(q, "32M", &m) == TT_MARK_WRONG && judge(q, "32000000", &m) == TT_MARK_WRONG &&
          judge(q, "31.9M", &m) == TT_MARK_WRONG, "two digits, or digits that are not its own");
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "4190464", .unit = "ms", .tolerance = 0.001};
    CHECK(judge(q, "4.19M", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "in ms"), "%s", m.reason);
}

static void judges_what_is_foreseen(void)
{
    struct tt_mark m;
    struct tt_question q = {.kind = TT_ASK_INTERVAL, .at_least = "0.8", .at_most = "amdahl(0.5, 0)"};
    CHECK(judge(q, "1.1 to 1.3", &m) == TT_MARK_RIGHT && judge(q, "1.1-1.3", &m) == TT_MARK_RIGHT &&
          judge(q, "1.1, 1.3", &m) == TT_MARK_RIGHT && judge(q, "1.1x .. 1.3x", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "1.3 to 1.1", &m) == TT_MARK_WRONG && strstr(m.reason, "swapped"), "%s", m.reason);
    CHECK(judge(q, "1.1 to 1.1", &m) == TT_MARK_WRONG && strstr(m.reason, "how sure"), "%s", m.reason);
    CHECK(judge(q, "1.1 to 2.1", &m) == TT_MARK_WRONG && strstr(m.reason, "ends above"), "%s", m.reason);
    CHECK(judge(q, "0.1 to 1.1", &m) == TT_MARK_WRONG && strstr(m.reason, "begins below"), "%s", m.reason);
    CHECK(judge(q, "1.1", &m) == TT_MARK_UNKNOWN && judge(q, "a to b", &m) == TT_MARK_UNKNOWN &&
          judge(q, "-", &m) == TT_MARK_UNKNOWN && judge(q, "", &m) == TT_MARK_EMPTY);
    q.measured = "step.kernels / 32";
    q.means = "{step.kernels} kernels.";
    CHECK(judge(q, "1.1 to 1.3", &m) == TT_MARK_RIGHT);
    CHECK(!strcmp(m.means, "Measured 1.25: within your range. 40 kernels."), "%s", m.means);
    CHECK(judge(q, "1.1 to 1.2", &m) == TT_MARK_RIGHT && strstr(m.means, "above your range"), "%s", m.means);
    CHECK(judge(q, "1.3 to 1.4", &m) == TT_MARK_RIGHT && strstr(m.means, "below your range"), "%s", m.means);
    q.kind = TT_ASK_RANGE;
    CHECK(judge(q, "1", &m) == TT_MARK_RIGHT && strstr(m.means, "Measured 1.25, which is 1.25 times what you"), "%s",
          m.means);
    CHECK(judge(q, "1.3", &m) == TT_MARK_RIGHT && strstr(m.means, "Measured 1.25: close to what you said."), "%s",
          m.means);
    CHECK(judge(q, "1.2", &m) == TT_MARK_RIGHT && strstr(m.means, "close to"), "%s", m.means);
    q.kind = TT_ASK_INTERVAL;
    CHECK(judge(q, "1.1 to 1.25", &m) == TT_MARK_RIGHT && strstr(m.means, "within your range"), "%s", m.means);
    q.measured = "step.kernels / 32.1"; /* 1.246 */
    CHECK(judge(q, "1.1 to 1.25", &m) == TT_MARK_RIGHT && strstr(m.means, "within your range"), "%s", m.means);
    q.measured = "step.kernels / 31.9"; /* 1.254: its three digits are those of the end */
    CHECK(judge(q, "1.1 to 1.25", &m) == TT_MARK_RIGHT && strstr(m.means, "within your range"), "%s", m.means);
    CHECK(judge(q, "1.1 to 1.2", &m) == TT_MARK_RIGHT && strstr(m.means, "above your range"), "%s", m.means);
    q.kind = TT_ASK_RANGE;
    q.measured = "step.nothing";
    CHECK(judge(q, "1.3", &m) == TT_MARK_RIGHT && !strcmp(m.means, "40 kernels."), "%s", m.means);
    q = (struct tt_question){.kind = TT_ASK_INTERVAL, .at_least = "0.8", .at_most = "step.nothing"};
    CHECK(judge(q, "1.1 to 1.3", &m) == TT_MARK_PASSED);
    q = (struct tt_question){
        .kind = TT_ASK_TARGET, .answer = "step.kernels", .at_least = "10", .at_most = "step.kernels", .tolerance = 0};
    CHECK(judge(q, "40 -> 20", &m) == TT_MARK_RIGHT && judge(q, "40 to 20", &m) == TT_MARK_RIGHT &&
          judge(q, "40 \xe2\x86\x92 20", &m) == TT_MARK_RIGHT && judge(q, "40 => 20", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "20 -> 40", &m) == TT_MARK_WRONG && strstr(m.reason, "swapped"), "%s", m.reason);
    CHECK(judge(q, "40 -> 5", &m) == TT_MARK_WRONG && strstr(m.reason, "after: smaller"), "%s", m.reason);
    CHECK(judge(q, "80 -> 20", &m) == TT_MARK_WRONG && strstr(m.reason, "before: twice"), "%s", m.reason);
    CHECK(judge(q, "40", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "before and after"), "%s", m.reason);
    q.unit = "MiB";
    CHECK(judge(q, "0.0390625 GiB -> 20 MiB", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(judge(q, "40 ms -> 20 ms", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "give it in MiB"), "%s", m.reason);
    q.unit = NULL;
    q.measured = "fast:step.kernels";
    CHECK(judge(q, "40 -> 20", &m) == TT_MARK_RIGHT && !strcmp(m.means, "Measured 20: your target is reached."), "%s",
          m.means);
    CHECK(judge(q, "40 -> 15", &m) == TT_MARK_RIGHT && strstr(m.means, "your target is missed"), "%s", m.means);
    q.low = "18";
    q.high = "22";
    CHECK(judge(q, "40 -> 19", &m) == TT_MARK_RIGHT && strstr(m.means, "reached or missed is not decided"), "%s",
          m.means);
    CHECK(judge(q, "40 -> 21", &m) == TT_MARK_RIGHT && strstr(m.means, "is not decided"), "%s", m.means);
    CHECK(judge(q, "40 -> 15", &m) == TT_MARK_RIGHT && strstr(m.means, "is missed"), "%s", m.means);
    CHECK(judge(q, "40 -> 25", &m) == TT_MARK_RIGHT && strstr(m.means, "is reached"), "%s", m.means);
    q.low = "0";
    q.high = "1e9";
    CHECK(judge(q, "40 -> 15", &m) == TT_MARK_RIGHT && strstr(m.means, "is not decided"), "a busy one: %s", m.means);
    q.low = q.high = NULL;
    q.measured = "1.0002 * fast:step.kernels"; /* 20.004 */
    CHECK(judge(q, "40 -> 20", &m) == TT_MARK_RIGHT && strstr(m.means, "reached"), "to the digits given: %s", m.means);
    CHECK(judge(q, "40 -> 20.00", &m) == TT_MARK_RIGHT && strstr(m.means, "reached"), "%s", m.means);
    CHECK(judge(q, "40 -> 20.000", &m) == TT_MARK_RIGHT && strstr(m.means, "missed"), "%s", m.means);
}

/* If two words are right, the run does not tell them apart, so `undecided` is right too if it is a choice. */
static void leaves_open(void)
{
    struct tt_mark m;
    struct tt_yaml *choices = yaml("[faster, slower, undecided]"), *two = yaml("[faster, slower]");
    struct tt_question q = {
        .kind = TT_ASK_CHOICE, .answer = "either(0.02, 0.05, 'faster', 'slower')", .choices = choices};
    CHECK(judge(q, "undecided", &m) == TT_MARK_RIGHT && judge(q, "faster", &m) == TT_MARK_RIGHT &&
              judge(q, "slower", &m) == TT_MARK_RIGHT && !strcmp(m.right, "faster/slower/undecided"),
          "two boxes that touch: %s", m.right);
    q.choices = two;
    CHECK(judge(q, "undecided", &m) == TT_MARK_UNKNOWN && judge(q, "slower", &m) == TT_MARK_RIGHT &&
              !strcmp(m.right, "faster/slower"),
          "where that is no choice: %s", m.right);
    q.choices = choices;
    q.answer = "either(0.2, 0.05, 'faster', 'slower')";
    CHECK(judge(q, "faster", &m) == TT_MARK_RIGHT && judge(q, "slower", &m) == TT_MARK_WRONG &&
          judge(q, "undecided", &m) == TT_MARK_WRONG);
    q.answer = "also(also('faster', 'undecided', step.kernels > 30), 'undecided', step.kernels > 20)";
    CHECK(judge(q, "undecided", &m) == TT_MARK_RIGHT && judge(q, "faster", &m) == TT_MARK_RIGHT &&
          judge(q, "slower", &m) == TT_MARK_WRONG && strstr(m.reason, "your runs do not show that"), "%s", m.reason);
    CHECK(!strcmp(m.right, "faster/undecided"), "each once: %s", m.right);
    q.answer = "if(step.kernels > 30, 'undecided', 'faster')";
    CHECK(judge(q, "undecided", &m) == TT_MARK_RIGHT && judge(q, "faster", &m) == TT_MARK_WRONG &&
          strstr(m.reason, "your runs do not decide it"), "%s", m.reason);
    tt_yaml_free(choices);
    tt_yaml_free(two);
}

static void defines(void)
{
    struct tt_yaml *names = yaml("half: 0.5 * whole\nwhole: step.kernels\nitself: itself + 1\n");
    struct tt_formula_scope scope = {.runs = runs, .count = 3, .define = names};
    struct tt_formula_value v = eval("half + 1", &scope);
    CHECK(v.kind == TT_FORMULA_NUMBER && v.number == 21, "%g", v.number);
    tt_formula_free(&v);
    CHECK_FAILS(tt_formula("itself", &scope, &v), "defined by itself");
    tt_formula_free(&v);
    tt_yaml_free(names);
}

/* MiB, MB and bytes. */
static void bytes_have_units(void)
{
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "256", .unit = "MiB", .tolerance = 0.01};
    struct tt_mark m;
    CHECK(judge(q, "268.4", &m) == TT_MARK_WRONG && strstr(m.reason, "a MB 1000000"), "%s", m.reason);
    CHECK(judge(q, "268435456", &m) == TT_MARK_WRONG && strstr(m.reason, "those are bytes"), "%s", m.reason);
    CHECK(judge(q, "268435456 bytes", &m) == TT_MARK_RIGHT, "%s", m.reason);
}

/* Three questions of a worksheet: two numbers that were swapped, and a sentence that may name either. */
static void looks_at_all_answers(void)
{
    struct tt_question q[] = {{.id = "a", .kind = TT_ASK_NUMBER, .tolerance = 0.01},
                              {.id = "b", .kind = TT_ASK_NUMBER, .tolerance = 0.01},
                              {.id = "why", .kind = TT_ASK_TEXT}};
    struct tt_mark marks[] = {{.kind = TT_MARK_WRONG, .value = 3, .number = 137, .right = "3"},
                              {.kind = TT_MARK_WRONG, .value = 137, .number = 3, .right = "137"},
                              {.kind = TT_MARK_EMPTY, .value = NAN, .number = NAN, .given = "because of the 137 of b"}};
    struct tt_exercise e = {.questions = q, .question_count = 3};
    struct tt_marked m = {.exercise = &e, .marks = marks};
    tt_exercise_swapped(&m);
    CHECK(marks[0].likely && !strcmp(marks[0].reason, "this and b are swapped") &&
          !strcmp(marks[1].reason, "this and a are swapped"), "%s, %s", marks[0].reason, marks[1].reason);
    marks[1].number = 8;
    marks[1].reason[0] = 0;
    tt_exercise_swapped(&m);
    CHECK(!strcmp(marks[0].reason, "that is the answer to b") && !marks[1].reason[0], "%s, %s", marks[0].reason,
          marks[1].reason);
    marks[0].known = true;
    snprintf(marks[0].reason, sizeof marks[0].reason, "that is the figure of the run healthy");
    tt_exercise_swapped(&m);
    CHECK(strstr(marks[0].reason, "healthy"), "a slip of the question itself comes first: %s", marks[0].reason);
    marks[0].known = false;
    q[1].unit = "ms";
    marks[0].reason[0] = 0;
    tt_exercise_swapped(&m);
    CHECK(!marks[0].reason[0], "another unit is another answer");
    marks[1].number = 3;
    tt_exercise_swapped(&m);
    CHECK(!strcmp(marks[0].reason, "this and b are swapped"), "of two units, but each is the other's: %s",
          marks[0].reason);
    q[1].unit = NULL;
    marks[1] = (struct tt_mark){.kind = TT_MARK_RIGHT, .value = 7, .number = 7, .right = "7"};
    marks[0].number = 7;
    marks[0].reason[0] = 0;
    tt_exercise_swapped(&m);
    CHECK(!marks[0].reason[0], "small whole numbers are equal by chance: %s", marks[0].reason);
    marks[1].value = 137;
    snprintf(marks[2].given, sizeof marks[2].given, "since b is 137");
    tt_exercise_sentences(&m);
    CHECK(marks[2].kind == TT_MARK_RIGHT);
    snprintf(marks[2].given, sizeof marks[2].given, "because of all that");
    tt_exercise_sentences(&m);
    CHECK(marks[2].kind == TT_MARK_UNKNOWN && strstr(marks[2].reason, "such as your a"), "%s", marks[2].reason);
}

static void takes_points_for_what_was_shown(void)
{
    struct tt_question q[] = {{.id = "a", .points = 2}, {.id = "b", .points = 3}};
    struct tt_mark marks[] = {{.kind = TT_MARK_RIGHT, .right = "3"}, {.kind = TT_MARK_WRONG, .right = "7"}};
    struct tt_exercise e = {.questions = q, .question_count = 2};
    struct tt_marked m = {.exercise = &e, .marks = marks};
    tt_marked_reveal(&m);
    CHECK(!marks[0].revealed && marks[1].revealed && m.revealed == 1, "only what was not right is shown");
    marks[1].kind = TT_MARK_RIGHT;
    CHECK(tt_exercise_points(&q[0], &marks[0]) == 2 && tt_exercise_points(&q[1], &marks[1]) == 0);
}

/* The document has the units, so that its numbers are in them, however they were written. */
static void the_document_has_the_units(void)
{
    static const char text[] = "{answer time} ms, {answer count}, {answer aim}\n";
    static const char *const shown[][4] = {{"250.0 ms", "40", "40 -> 20", "250.0 ms, 40, 40 -> 20\n"},
                                           {"0.25 s", "4,190,464", "9 -> 20", "250 ms, 4,190,464, 9 -> 20\n"},
                                           {"1 MiB", "4.19 M", "40", "1 MiB ms, 4.19 M, 40\n"}};
    struct tt_question q[] = {{.id = "time", .kind = TT_ASK_NUMBER, .unit = "ms", .answer = "250", .tolerance = 0.1},
                              {.id = "count", .kind = TT_ASK_NUMBER, .answer = "40"},
                              {.id = "aim", .kind = TT_ASK_TARGET, .answer = "40", .at_least = "10"}};
    struct tt_mark marks[3];
    struct tt_exercise e = {.title = "", .questions = q, .question_count = 3, .folder = "/tmp/tt-document-XXXXXX"};
    struct tt_marked m = {.exercise = &e, .marks = marks};
    char path[1100];
    CHECK(mkdtemp(e.folder) != NULL);
    snprintf(path, sizeof path, "%s/report.md", e.folder);
    CHECK_OK(tt_file_replace(path, text, sizeof text - 1));
    for (int i = 0; i < 3; i++) {
        struct tt_text out = {0};
        for (int j = 0; j < 3; j++) {
            judge(q[j], shown[i][j], &marks[j]);
            marks[j].kind = TT_MARK_RIGHT; /* what is wrong has its mark behind it */
        }
        CHECK_OK(tt_marked_report(&m, &out));
        const char *line = out.s ? strchr(out.s, '\n') + 1 : "";
        CHECK(!strcmp(line, shown[i][3]), "%s", line);
        tt_text_free(&out);
    }
    CHECK_OK(tt_remove_tree(e.folder));
}

/* A class page lists what was refused; what need not be there was not. */
static void refuses_nothing_that_may_be_absent(void)
{
    struct tt_question q = {.id = "a", .text = "?", .look = "the table says so"};
    struct tt_exercise e = {.title = "", .runs = {{.name = "tile", .command = "", .optional = true}, {.name = "base"}},
                            .run_count = 2, .questions = &q, .question_count = 1};
    struct tt_mark mark = {.kind = TT_MARK_EMPTY};
    struct tt_marked m = {.exercise = &e, .marks = &mark,
                          .runs = {{.absent = true, .refusal = "make the tile"}, {.refusal = "make the base"}}};
    struct tt_text out = {0};
    tt_marked_json(&m, false, &out);
    CHECK(strstr(out.s, "make the base") && !strstr(out.s, "make the tile"), "%s", out.s);
    tt_text_free(&out);
    tt_marked_text(&m, false, &out);
    CHECK(strstr(out.s, " look: the table says so\n"), "%s", out.s);
    tt_text_free(&out);
    q = (struct tt_question){.id = "a", .kind = TT_ASK_INTERVAL, .at_least = "0.8", .at_most = "2", .why = "Amdahl."};
    for (int swapped = 0; swapped < 2; swapped++) {
        judge(q, swapped ? "1.3 to 1.05" : "1.3 to 3", &mark);
        tt_marked_text(&m, false, &out);
        CHECK(mark.kind == TT_MARK_WRONG && (strstr(out.s, "Amdahl.") == NULL) == (swapped == 1), "%s", out.s);
        tt_text_free(&out);
    }
}

int main(void)
{
    open_runs();
    TEST(judges_numbers);
    TEST(judges_units);
    TEST(judges_words);
    TEST(reads_letters);
    TEST(judges_what_is_foreseen);
    TEST(leaves_open);
    TEST(defines);
    TEST(bytes_have_units);
    TEST(looks_at_all_answers);
    TEST(takes_points_for_what_was_shown);
    TEST(the_document_has_the_units);
    TEST(refuses_nothing_that_may_be_absent);
    close_runs();
    return test_end();
}
