/* The checks of exercise 11 on runs of several ranks. */
#include "exercises/engine/formula_parts.h"
#include "tests/exercises/course_fixture.h"

static const char row_format[] =
    "{\"run\": {\"link\": \"0.05\"}, \"load\": %g, \"rows\": [{\"ranks\": 1, \"median_ms\": %g}, {\"ranks\": 2, "
    "\"communication_ms\": %g, \"hidden_ms\": %g, \"hidden_noise_ms\": %g, \"hidden_known\": %s, "
    "\"one_stream_ms\": %g, \"sent_bytes\": 16777216, \"efficiency_percent\": %g, \"median_ms\": %g, "
    "\"tokens_per_second\": 1753, \"collectives\": 5, \"peak_memory_bytes\": 1e8, \"each\": [{"
    "\"work_ms\": %g}, {\"work_ms\": %g}]}]}";

/* A file of one and of two ranks. */
struct ranks {
    double load, alone, communication, hidden, noise;
    const char *known;
    double one_stream, efficiency, median, work;
};

static struct tt_json *of(const struct ranks *x)
{
    char text[700];
    snprintf(text, sizeof text, row_format, x->load, x->alone, x->communication, x->hidden, x->noise, x->known,
             x->one_stream, x->efficiency, x->median, x->work - 20, x->work + 20);
    return json(text);
}

static const struct ranks busy = {3.08, 860, 406, 227, 28, "false", 1395, 73.6, 1168, 950},
                          quiet = {0.4, 250, 166, 88, 6, "true", 390, 80, 310, 260},
                          late = {0.4, 250, 166, 0, 6, "true", 400, 61, 405, 260},
                          strong = {0.4, 250, 160, 0, 6, "true", 300, 57.8, 290, 130};

/* The run that hides more is right if the difference exceeds the noise of both; else `undecided` is. `undecided` is
 * right too if a run was disturbed or tt bench says "not measurable". */
static void hiding_is_decided_beyond_the_noise(void)
{
    static const struct {
        const char *what;
        struct ranks weak, late;
        const char *right, *wrong; /* for hides */
        bool shows;                /* the runs show that late communicates after the backward pass */
    } cases[] = {
        {"beyond", {0.4, 250, 166, 88, 6, "true", 390, 80, 310, 260}, {0.4, 250, 166, 0, 6, "true", 400, 61, 405, 260},
         "weak", "late undecided", true},
        {"within", {0.1, 60.8, 345, 0, 6.2, "true", 400, 15, 405, 60}, {0.1, 61, 343, 0, 4.5, "true", 400, 15, 405, 60},
         "undecided", "weak late", false},
        {"the other way", {0.4, 250, 166, 0, 6, "true", 390, 80, 310, 260},
         {0.4, 250, 166, 88, 6, "true", 400, 61, 405, 260}, "late", "weak undecided", true},
        {"busy", {3.1, 250, 166, 88, 6, "true", 390, 80, 310, 260}, {0.4, 250, 166, 0, 6, "true", 400, 61, 405, 260},
         "weak undecided", "late", false},
        {"busy late", {0.4, 250, 166, 88, 6, "true", 390, 80, 310, 260},
         {3.1, 250, 166, 0, 6, "true", 400, 61, 405, 260}, "weak undecided", "late", false},
        {"not measurable", {0.4, 250, 166, 88, 6, "true", 390, 80, 310, 260},
         {0.4, 250, 345, 51.6, 142, "false", 400, 61, 405, 260}, "undecided", "weak late", false}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *a = of(&cases[i].weak), *b = of(&cases[i].late);
        struct tt_formula_run r[] = {{.name = "weak", .profile = a}, {.name = "late", .profile = b}};
        check_words(&e, r, 2, "hides", cases[i].right, cases[i].wrong, cases[i].what);
        check_words(&e, r, 2, "late_when", cases[i].shows ? "after" : "after undecided",
                    cases[i].shows ? "beside undecided" : "beside", cases[i].what);
        CHECK(ask(&e, r, 2, "late_when", "beside", &m) == TT_MARK_WRONG &&
              (strstr(m.reason, "your runs do not show that") != NULL) != cases[i].shows, "%s", m.reason);
        tt_json_free(a);
        tt_json_free(b);
    }
    tt_exercise_free(&e);
}

/* The meaning gives both figures and their noise, and says what to do if the noise decides. */
static void what_is_hidden_says_how_sure_it_is(void)
{
    struct tt_json *weak = of(&quiet), *b = of(&late), *shard = of(&strong);
    struct tt_formula_run r[] = {{.name = "weak", .profile = weak}, {.name = "late", .profile = b},
                                 {.name = "strong", .profile = shard}, {.name = "sharded", .profile = shard}};
    static const struct asked q[] = {
        {"hides", "weak", TT_MARK_RIGHT, "Hidden are 88 of 166 ms in weak, 0 of 166 ms in late, and the difference may "
                                         "be off by 12 ms. Where it is undecided, take more STEPS, or another LINK"},
        {"exposed_ms", "78", TT_MARK_RIGHT, "What is hidden may be off by 6 ms."},
        {"exposed_ms", "60", TT_MARK_WRONG, "by so much is the step longer than that of one rank alone"},
        {"late_hidden", "0", TT_MARK_RIGHT, "it should be 0. It is the difference of two measurements, 6 ms more or "},
        {"late_hidden", "-5", TT_MARK_WRONG, "hidden_ms is the median over pairs"},
        {"same_losses", "slow", TT_MARK_RIGHT, "This check has not seen"},
        {"strong_bytes", "true", TT_MARK_RIGHT, "divide the work, not the bytes"}};
    ask_all("exercises/11-scaling", r, 4, q, sizeof q / sizeof *q);
    r[1].profile = weak;
    static const struct asked should[] = {
        {"late_hidden", "88", TT_MARK_RIGHT, "it should be 0"},
        {"late_hidden", "0", TT_MARK_WRONG, "that is what it should be; write what was measured"}};
    ask_all("exercises/11-scaling", r, 4, should, sizeof should / sizeof *should);
    tt_json_free(weak);
    tt_json_free(b);
    tt_json_free(shard);
}

/* The share of communication is decided if the two runs differ by more than 10 %. It grows with the ranks, so if a run
 * was disturbed, both `undecided` and `strong` are right, whatever its times are. */
static void the_part_of_communication_is_decided_beyond_a_tenth(void)
{
    static const struct {
        double weak_load, load, work; /* ms of work in strong, which communicates 160 ms; in weak 260 and 166 */
        const char *right, *wrong;
    } cases[] = {{0.4, 0.4, 130, "strong", "weak undecided"}, {0.4, 0.4, 240, "strong weak undecided", ""},
                 {0.4, 0.4, 400, "weak", "strong undecided"}, {0.4, 3.1, 130, "strong undecided", "weak"},
                 {3.1, 0.4, 130, "strong undecided", "weak"}, {0.4, 3.1, 400, "weak strong undecided", ""}};
    struct tt_exercise e;
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ranks x = quiet, y = strong;
        x.load = cases[i].weak_load, y.load = cases[i].load, y.work = cases[i].work;
        struct tt_json *a = of(&x), *b = of(&y);
        struct tt_formula_run r[] = {{.name = "weak", .profile = a}, {.name = "strong", .profile = b}};
        check_words(&e, r, 2, "strong_part", cases[i].right, cases[i].wrong,
                    fmax(x.load, y.load) > 1 ? "busy" : "quiet");
        tt_json_free(a);
        tt_json_free(b);
    }
    tt_exercise_free(&e);
}

/* The reply names the figure behind each number of a sentence, in quiet and in busy runs. */
static void sentences_hold_figures_of_ranks(void)
{
    static const struct {
        const char *sentence, *says; /* NULL: it holds none */
    } cases[] = {{"strong reaches 57.8 %: accumulate, or a larger batch", "57.8 %: the efficiency of strong"},
                 {"of 406 ms communication less would be sent", "406 ms: the communication of weak"},
                 {"The efficiency of weak is 73.6 %", "73.6 %: the efficiency of weak"},
                 {"strong hides 57.8 % of its communication", "57.8 %: the efficiency of strong"},
                 {"fewer than 5 collectives a step", "5: the collectives of a step of strong"},
                 {"I would stop, after 5 tries", NULL},
                 {"its 1 and only way, 2 more", NULL}};
    struct tt_exercise e;
    struct tt_mark m;
    struct tt_json *weak = of(&busy), *b = of(&strong);
    struct tt_formula_run r[] = {{.name = "weak", .profile = weak}, {.name = "strong", .profile = b},
                                 {.name = "late", .profile = b}, {.name = "sharded", .profile = b}};
    CHECK(tt_exercise_disturbed(weak) && !tt_exercise_disturbed(b));
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum tt_mark_kind kind = ask(&e, r, 4, "cure", cases[i].sentence, &m);
        CHECK(cases[i].says ? kind == TT_MARK_RIGHT && strstr(m.means, cases[i].says) : kind == TT_MARK_UNKNOWN,
              "%s: %s%s", cases[i].sentence, m.reason, m.means);
        CHECK(!strstr(m.means, "busy") && !strstr(m.means, "far off"), "the line noise says that: %s", m.means);
    }
    tt_exercise_free(&e);
    tt_json_free(weak);
    tt_json_free(b);
}

/* A rank may be given by its number or by its name. The meaning says which rank is the slowest without the fault. */
static void ranks_have_names_and_numbers(void)
{
    struct tt_json *slow = json("{\"rows\": [{}, {\"slowest_rank\": 1, \"slowest_percent\": 21.2, \"each\": [{"
                                "\"name\": \"rank_0\", \"operations\": 700}, {\"name\": \"rank_1\", "
                                "\"operations\": 900}]}]}"),
                   *weak = json("{\"rows\": [{}, {\"slowest_rank\": 0, \"slowest_percent\": 30.4}]}");
    struct tt_formula_run r[] = {{.name = "slow", .profile = slow}, {.name = "weak", .profile = weak}};
    static const struct asked q[] = {{"named_rank", "1", TT_MARK_RIGHT, "In weak, without the fault, it names rank 0"},
                                     {"named_rank", "rank_1", TT_MARK_RIGHT, NULL},
                                     {"named_rank", "Rank 1", TT_MARK_RIGHT, NULL},
                                     {"named_rank", "0", TT_MARK_WRONG, NULL},
                                     {"named_rank", "rank_0", TT_MARK_WRONG, NULL},
                                     {"named_rank", "layer_1", TT_MARK_UNKNOWN, NULL},
                                     {"named_rank", "not 1", TT_MARK_UNKNOWN, NULL},
                                     {"named_rank", "the 1", TT_MARK_UNKNOWN, NULL},
                                     {"slow_rank", "1", TT_MARK_RIGHT, NULL},
                                     {"slow_rank", "rank_1", TT_MARK_RIGHT, NULL},
                                     {"slow_rank", "Rank 1", TT_MARK_RIGHT, NULL},
                                     {"slow_rank", "0", TT_MARK_WRONG, NULL},
                                     {"slow_rank", "rank_0", TT_MARK_WRONG, NULL},
                                     {"slow_rank", "7", TT_MARK_UNKNOWN, NULL}};
    ask_all("exercises/11-scaling", r, 2, q, sizeof q / sizeof *q);
    tt_json_free(slow);
    tt_json_free(weak);
}

int main(void)
{
    TEST(hiding_is_decided_beyond_the_noise);
    TEST(what_is_hidden_says_how_sure_it_is);
    TEST(the_part_of_communication_is_decided_beyond_a_tenth);
    TEST(sentences_hold_figures_of_ranks);
    TEST(ranks_have_names_and_numbers);
    return test_end();
}
