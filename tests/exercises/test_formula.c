/* Formulas over the profiles of several runs. */
#include "tests/exercises/runs_fixture.h"

static void gives(const char *text, double wanted)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v = eval(text, &scope);
    CHECK(v.kind == TT_FORMULA_NUMBER && fabs(v.number - wanted) < 1e-12, "%s: kind %d, %g", text, v.kind, v.number);
    tt_formula_free(&v);
}

static void is_word(const char *text, const char *word)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v = eval(text, &scope);
    CHECK(v.kind == TT_FORMULA_WORD && !strcmp(v.word, word), "%s: kind %d, %s", text, v.kind, v.word);
    tt_formula_free(&v);
}

static void is_kind(const char *text, enum tt_formula_kind kind, double truth)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v = eval(text, &scope);
    CHECK(v.kind == kind && v.number == truth, "%s: kind %d, %g", text, v.kind, v.number);
    tt_formula_free(&v);
}

static void says(const char *text, const char *wanted)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v = eval(text, &scope);
    CHECK(v.kind == TT_FORMULA_WORD && !strcmp(v.word, wanted), "%s: %s", text, v.word);
    tt_formula_free(&v);
}

static void refuses(const char *text, const char *words)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v;
    CHECK_FAILS(tt_formula(text, &scope, &v), words);
    tt_formula_free(&v);
}

static void computes(void)
{
    gives("1 + 2 * 3 - 4 / 2", 5);
    gives("-(1 - 3) * 2e3", 4000);
    gives("1000 * step.seconds", 250);
    gives("slow:step.seconds / fast:step.seconds", 2.5);
    gives("groups[ffn].share", 0.5);
    gives("groups[1].share", 0.5);
    gives("kinds[first moments].bytes / 1024", 4);
    gives("sum(groups[bound=memory].share)", 0.2 + 0.1);
    gives("sum(groups[bound=memory, share>0.15].share)", 0.2);
    gives("count(groups[bound!=memory])", 3);
    gives("count(groups[bound~mem])", 2);
    gives("sum(groups[name~f, bound=compute].share)", 0.5);
    gives("count(groups[bound~(])", 0);
    gives("sum(groups[name=nobody].share) + count(groups[name=nobody])", 0);
    gives("max(groups.share) + min(groups.share)", 0.6);
    gives("mean(groups.share)", 0.995 / 4);
    gives("weighted(groups.share, 'share')", (0.04 + 0.25 + 0.01 + 0.195 * 0.195) / 0.995);
    gives("first(groups.share)", 0.2);
    gives("last(groups.share)", 0.195);
    gives("top(groups.share, 2)", 0.7);
    gives("rank(groups.share, 'rope')", 4);
    gives("amdahl(0.5, 2)", 1 / 0.75);
    gives("amdahl(0.5, 0)", 2);
    gives("if(step.kernels > 30, 1, 2)", 1);
    gives("round(abs(-2.4)) + sqrt(9) + log(1) + pow(2, 3)", 13);
}

static void names(void)
{
    says("argmax(groups.share)", "ffn");
    says("argmin(groups.share)", "rope");
    says("groups[0].bound", "memory");
    says("if(step.seconds < 0.1, 'a', 'b')", "b");
    is_kind("run.version == 'baseline'", TT_FORMULA_TRUTH, 1);
    is_kind("run.version != 'baseline'", TT_FORMULA_TRUTH, 0);
    is_kind("step.kernels >= 40", TT_FORMULA_TRUTH, 1);
    is_kind("run.graph", TT_FORMULA_TRUTH, 0);
    struct tt_formula_scope close = {.runs = runs, .count = 3, .closeness = 0.05};
    struct tt_formula_value v = eval("argmin(groups[share>0.15].share)", &close);
    CHECK(v.count == 2 && !strcmp(tt_formula_row_name(v.cells[1].row), "norm"), "0.195 and 0.2 are within 5 %%: %d",
          v.count);
    tt_formula_free(&v);
}

static void misses(void)
{
    is_kind("step.nothing", TT_FORMULA_MISSING, 0);
    is_kind("1 + step.nothing", TT_FORMULA_MISSING, 0);
    is_kind("step.nothing < 3", TT_FORMULA_MISSING, 0);
    is_kind("groups[nobody].share", TT_FORMULA_MISSING, 0);
    is_kind("groups[99].share", TT_FORMULA_MISSING, 0);
    is_kind("max(groups[name=nobody].share)", TT_FORMULA_MISSING, 0);
    is_kind("1 / 0", TT_FORMULA_MISSING, 0);
    is_kind("has(step.nothing)", TT_FORMULA_TRUTH, 0);
    is_kind("has(step.never)", TT_FORMULA_TRUTH, 0);
    is_kind("has(groups[ffn].share)", TT_FORMULA_TRUTH, 1);
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v = eval("sum(gone:groups.share)", &scope);
    CHECK(v.kind == TT_FORMULA_MISSING && scope.lacking && !strcmp(scope.lacking, "gone"));
    tt_formula_free(&v);
}

static void finds_mistakes(void)
{
    refuses("step.secnds", "no secnds");
    refuses("groups.shares", "no shares");
    refuses("nobody:step.seconds", "no run nobody");
    refuses("summe(groups.share)", "no function summe");
    refuses("amdahl(1)", "2 arguments");
    refuses("groups[ffn", "missing");
    refuses("(1 + 2", ") is missing");
    refuses("1 + ", "value is missing");
    refuses("1 2", "end here");
    refuses("'open", "not closed");
    refuses("groups.share + 1", "number on both sides");
    refuses("run.version < 'x'", "cannot compare");
    refuses("step", "column is missing");
    refuses("sum(groups)", "column");
    refuses("sum(groups.share, 1, 2, 3, 4, 5)", "too many");
    char deep[300];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    refuses(deep, "too deeply");
}

static void leaves_open(void)
{
    says("decide(0.2, 0.05, 'faster', 'slower')", "faster");
    says("decide(0.04, 0.05, 'faster', 'slower')", "undecided|faster");
    says("decide(-0.02, 0.05, 'faster', 'slower')", "undecided");
    says("either(-0.02, 0.05, 'faster', 'slower')", "faster|slower");
    refuses("decide(1, 2, 3, 4)", "two numbers and two words");
    refuses("also(1, 2, 3)", "two words and a comparison");
    refuses("noise('slow', 'nobody')", "two runs");
    is_kind("noise('slow', 'gone')", TT_FORMULA_MISSING, 0);
    gives("noise('slow', 'fast')", 1); /* neither says how its steps scatter */
    is_word("noise_words('slow', 'fast')", "not known, since too few steps were measured");
    is_kind("losses_apart('slow', 'fast')", TT_FORMULA_MISSING, 0);
    refuses("gradients_apart('slow', 'nobody')", "two runs");
    refuses("either(1, 2, 3, 4)", "either needs two numbers and two words");
}

int main(void)
{
    open_runs();
    TEST(computes);
    TEST(names);
    TEST(misses);
    TEST(finds_mistakes);
    TEST(leaves_open);
    close_runs();
    return test_end();
}
