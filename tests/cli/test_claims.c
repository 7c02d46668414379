/* tt claims: its list, its verdicts, and its output for made-up results. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/claims.h"
#include "core/base/file.h"
#include "profiling/report/svg.h"
#include "tests/test.h"

/* ---- verdicts ---- */

static const struct tt_claim speedup = {.name = "speedup", .claimed = "1.2x", .low = 1.15, .high = 1.25},
                             wide = {.name = "wide", .claimed = "2-3x", .low = 2, .high = 3},
                             share = {.name = "share", .claimed = "24 %", .low = 23.5, .high = 24.5, .share = true};

static enum tt_verdict judged(const struct tt_claim *c, double low, double high)
{
    return tt_claim_judge(c, &(struct tt_range){low, high, 0.96875});
}

static void beside_the_claim(void)
{
    CHECK(judged(&speedup, 1.02, 1.14) == TT_SMALLER);
    CHECK(judged(&speedup, 1.26, 1.27) == TT_LARGER);
    CHECK(judged(&speedup, 1.26, 9) == TT_LARGER, "however wide, it lies above");
    CHECK(judged(&speedup, 0.99, 1.01) == TT_NOT_SEEN);
    CHECK(judged(&speedup, 0.5, 0.6) == TT_NOT_SEEN, "a loss is no speed-up");
    CHECK(judged(&speedup, 1, 1.1) == TT_NOT_SEEN, "an interval that begins at 1 includes no effect");
    CHECK(judged(&share, 0, 10) == TT_NOT_SEEN);
    CHECK(judged(&share, 5, 10) == TT_SMALLER);
    CHECK(judged(&share, 40, 50) == TT_LARGER);
}

static void on_the_claim(void)
{
    CHECK(judged(&speedup, 1.16, 1.24) == TT_CONFIRMED, "inside");
    CHECK(judged(&speedup, 1.15, 1.25) == TT_CONFIRMED, "as wide as the claim");
    CHECK(judged(&speedup, 1.1, 1.15) == TT_CONFIRMED, "narrow, and it touches the claim");
    CHECK(judged(&speedup, 1.25, 1.3) == TT_CONFIRMED, "narrow, and it touches the claim from above");
    CHECK(judged(&speedup, 1.02, 1.4) == TT_NOT_DECIDED, "it contains the claim, and much else");
    CHECK(judged(&speedup, 0.9, 1.2) == TT_NOT_DECIDED, "the claim or nothing");
    CHECK(judged(&wide, 2.1, 2.9) == TT_CONFIRMED, "wide, but inside");
    CHECK(judged(&wide, 1.5, 2.5) == TT_NOT_DECIDED);
    CHECK(judged(&share, 23, 25) == TT_CONFIRMED);
    CHECK(judged(&share, 10, 40) == TT_NOT_DECIDED);
}

static void without_enough(void)
{
    struct tt_range few = {1.2, 1.2, 0.75}, none = {NAN, NAN, NAN}, five = {1.2, 1.2, 0.9375};
    CHECK(tt_claim_judge(&speedup, &few) == TT_NOT_DECIDED);
    CHECK(tt_claim_judge(&speedup, &none) == TT_NOT_DECIDED);
    CHECK(tt_claim_judge(&speedup, &five) == TT_CONFIRMED);
    CHECK(judged(&speedup, 1.2, INFINITY) == TT_NOT_DECIDED);
}

/* ---- the list ---- */

/* A misspelt option in a claim's command would make that claim always fail. */
static void parses(const char *name, enum tt_command command, const char *words)
{
    char text[400], *list[40];
    int n = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (word[0] == '-' || n) list[n++] = word; /* a version without -- may only come first */
    struct tt_options *o = calloc(1, sizeof *o);
    tt_status st = tt_options_parse(o, command, n, list);
    CHECK(!st, "%s: %s: %s", name, words, st ? st->text : "");
    tt_status_free(st);
    free(o);
}

static void list_is_sound(void)
{
    for (int i = 0; i < tt_claim_count; i++) {
        const struct tt_claim *c = &tt_claims[i];
        double first = strtod(c->claimed, NULL);
        CHECK(!strcmp(tt_claim_names[i], c->name));
        for (int k = 0; k < i; k++) CHECK(strcmp(c->name, tt_claims[k].name) != 0, "%s is there twice", c->name);
        CHECK(c->low < c->high && first >= c->low && first <= c->high, "%s: %s, %g to %g", c->name, c->claimed, c->low,
              c->high);
        CHECK(c->share == (strchr(c->claimed, '%') != NULL) && c->share == !c->off, "%s", c->name);
        if (c->off) parses(c->name, TT_CMD_BENCH, c->off);
        parses(c->name, c->share ? TT_CMD_TRAIN : TT_CMD_BENCH, c->on);
        if (c->on_gpu) parses(c->name, TT_CMD_TRAIN, c->on_gpu);
    }
    CHECK(!tt_claim_names[tt_claim_count]);
}

/* ---- output ---- */

static struct tt_claim_result results[3];
static double figures[] = {1.2, 1.21, 1.19};

static struct tt_claims_report made_up(struct tt_options *o)
{
    struct tt_claims_report r = {.o = o, .results = results, .count = 3, .device = "<made up>", .backend = "cpu",
                                 .library = "none", .model = "tiny", .command = "tt claims", .load = 0};
    struct tt_claims_options *own = (struct tt_claims_options *)(void *)o->own;
    own->turns = 3;
    r.own = own;
    results[0] = (struct tt_claim_result){.claim = &speedup, .figures = figures, .turns = 3, .measured = 1.2,
                                          .range = {1.19, 1.21, 0.75}, .verdict = TT_NOT_DECIDED,
                                          .command = "tt bench --against 'flash <' flash"};
    results[1] = (struct tt_claim_result){.claim = &wide, .measured = NAN, .range = {NAN, NAN, NAN},
                                          .verdict = TT_NOT_HERE, .why = "a CPU has none"};
    results[2] = (struct tt_claim_result){.claim = &share, .figures = figures, .turns = 3, .measured = 50,
                                          .range = {49, 51, 0.97}, .verdict = TT_LARGER};
    return r;
}

static void text_and_json_agree(void)
{
    struct tt_options *o = calloc(1, sizeof *o);
    struct tt_claims_report r = made_up(o);
    struct tt_text text = {0}, json = {0};
    struct tt_json *root;
    tt_claims_text(&r, &text);
    tt_claims_json(&r, &json);
    CHECK(strstr(text.s, "speedup            1.2x     1.20x  1.19x to 1.21x     undecided"), "%s", text.s);
    CHECK(strstr(text.s, "not on this device  a CPU has none"), "%s", text.s);
    CHECK(strstr(text.s, "share              24 %    50.0 %  49.0 % to 51.0 %   larger"), "%s", text.s);
    CHECK(strstr(text.s, "3 claims: 1 larger, 1 undecided, 1 not on this device"), "%s", text.s);
    CHECK(strstr(text.s, "3 turns are few"), "%s", text.s);
    CHECK_OK(tt_json_parse(json.s, json.n, &root));
    const struct tt_json *first = tt_json_get(root, "claims")->first, *second = first->next;
    CHECK(tt_json_number(first, "measured", 0) == 1.2 && tt_json_number(first, "claimed_low", 0) == 1.15);
    CHECK(!strcmp(tt_json_string(first, "verdict", ""), "undecided") && tt_json_get(first, "turns")->count == 3);
    CHECK(!strcmp(tt_json_string(second, "why", ""), "a CPU has none"));
    CHECK(tt_json_get(second, "measured")->type == TT_JSON_NULL, "what was not measured is no number");
    tt_json_free(root);
    tt_text_free(&text);
    tt_text_free(&json);
    free(o);
}

/* Whether the machine was busy follows from how long the copies waited, not from the load of programs that had already
 * ended. */
static void waiting_is_of_the_copies(void)
{
    static const struct {
        double load, waited;
        const char *says; /* NULL: no such note */
    } cases[] = {{3, 0.01, NULL}, {0.1, 0.2, "threads waited 20 % of their time"}, {3, NAN, "a load of 3.0"}};
    struct tt_json *one, *two;
    CHECK_OK(tt_json_parse("{\"waited\": 0.1}", 15, &one));
    CHECK_OK(tt_json_parse("{\"waited\": 0.3}", 15, &two));
    struct tt_side a = {.turns = 2, .found = (struct tt_json *[]){one, NULL}};
    struct tt_side b = {.turns = 1, .found = (struct tt_json *[]){two}}, none = {0};
    CHECK(fabs(tt_sides_waited((const struct tt_side *const[]){&a, &b, &none}, 3) - 0.2) < 1e-12, "those taken");
    CHECK(isnan(tt_sides_waited((const struct tt_side *const[]){&none}, 1)), "not known");
    tt_json_free(one);
    tt_json_free(two);
    for (int i = 0; i < 3; i++) {
        struct tt_options *o = calloc(1, sizeof *o);
        struct tt_claims_report r = made_up(o);
        struct tt_text text = {0}, json = {0};
        r.load = cases[i].load, r.waited = cases[i].waited;
        tt_claims_text(&r, &text);
        tt_claims_json(&r, &json);
        CHECK(cases[i].says ? strstr(text.s, cases[i].says) != NULL : !strstr(text.s, "busy"), "%s", text.s);
        CHECK(strstr(json.s, cases[i].says ? "\"busy\": true" : "\"busy\": false"), "%s", json.s);
        tt_text_free(&text);
        tt_text_free(&json);
        free(o);
    }
}

/* A stopped run is marked in every output, and a claim without all its turns is not judged. */
static void stopped_is_marked(void)
{
    struct tt_options *o = calloc(1, sizeof *o);
    struct tt_claims_report r = made_up(o);
    struct tt_text text = {0}, json = {0};
    char path[] = "/tmp/tt_claims_XXXXXX", *page;
    size_t n;
    int file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
    r.stopped = SIGTERM, results[2].turns = 2;
    tt_claims_text(&r, &text);
    tt_claims_json(&r, &json);
    CHECK(strstr(text.s, "incomplete: stopped by Terminated before the last of 3 turns"), "%s", text.s);
    CHECK(strstr(text.s, "2 turns are few") && !strstr(text.s, "\ndone"), "%s", text.s);
    CHECK(strstr(json.s, "\"complete\": false"), "%s", json.s);
    CHECK_OK(tt_claims_html(&r, path));
    CHECK_OK(tt_file_read(path, 1 << 20, &page, &n));
    CHECK(strstr(page, "Incomplete: it was stopped"));
    free(page);
    remove(path);
    tt_text_free(&text);
    tt_text_free(&json);
    free(o);
}

/* Axis labels that overlap could not be read. */
static void ticks_have_room(void)
{
    static const double widest[] = {1.3, 5, 30, 150};
    for (int i = 0; i < 4; i++) {
        struct tt_svg_interval row = {.label = "wide", .claimed_low = 1 / widest[i], .claimed_high = widest[i],
                                      .value = 1, .low = 0.9, .high = 1.1};
        struct tt_text t = {0};
        double last = -100;
        int n = 0, ones = 0;
        tt_svg_intervals(&t, "wide", &row, 1);
        for (const char *p = t.s; (p = strstr(p, "<text x=\"")); p++) {
            double x = strtod(p + 9, NULL);
            const char *word = strchr(p, '>') + 1, *end = strchr(word, '<');
            if (end[-1] != 'x' || word[0] < '0' || word[0] > '9') continue;
            CHECK(x - last >= 30, "%.*s stands %g beside the last", (int)(end - word), word, x - last);
            ones += !strncmp(word, "1x", 2);
            last = x;
            n++;
        }
        CHECK(n >= 1 && ones == 1, "%d ticks up to %g", n, widest[i]);
        tt_text_free(&t);
    }
}

static void page_is_whole(void)
{
    struct tt_options *o = calloc(1, sizeof *o);
    struct tt_claims_report r = made_up(o);
    char path[] = "/tmp/tt_claims_XXXXXX", *page;
    size_t n;
    int file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
    CHECK_OK(tt_claims_html(&r, path));
    CHECK_OK(tt_file_read(path, 1 << 20, &page, &n));
    CHECK(strstr(page, "&lt;made up&gt;") && !strstr(page, "<made up>"), "names are escaped");
    CHECK(strstr(page, "measured 1.2, interval 1.19 to 1.21"), "the chart has no interval");
    CHECK(strstr(page, "not on this device: a CPU has none"));
    CHECK(strstr(page, "'flash &lt;' flash"), "the command is shown");
    CHECK(!strstr(page, "nan") && !strstr(page, "https://"), "what is no number, or a link");
    free(page);
    remove(path);
    free(o);
}

int main(void)
{
    TEST(beside_the_claim);
    TEST(on_the_claim);
    TEST(without_enough);
    TEST(list_is_sound);
    TEST(text_and_json_agree);
    TEST(page_is_whole);
    TEST(waiting_is_of_the_copies);
    TEST(stopped_is_marked);
    TEST(ticks_have_room);
    return test_end();
}
