/* Formulas over the profiles of several runs. */
#include "exercises/engine/template.h"
#include "tests/exercises/runs_fixture.h"

static void gives(const char *text, double wanted)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_formula_value v = eval(text, &scope);
    CHECK(v.kind == TT_FORMULA_NUMBER && fabs(v.number - wanted) < 1e-12, "%s: kind %d, %g", text, v.kind, v.number);
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

/* A figure near a limit gives both words. Arguments that make no sense are errors, and missing runs give nothing. */
static void leaves_open(void)
{
    says("either(0.2, 0.05, 'faster', 'slower')", "faster");
    says("either(-0.2, 0.05, 'faster', 'slower')", "slower");
    says("either(-0.02, 0.05, 'faster', 'slower')", "faster|slower");
    says("also('faster', 'undecided', 1 < 2)", "faster|undecided");
    says("also('faster', 'undecided', 2 < 1)", "faster");
    says("also('faster|undecided', 'undecided', 1 < 2)", "faster|undecided");
    refuses("either(1, 2, 3, 4)", "either needs two numbers and two words");
    refuses("also(1, 2, 3)", "two words and a comparison");
    refuses("low('slow', 'nobody')", "two runs");
    refuses("gradients_apart('slow', 'nobody')", "two runs");
    refuses("disturbed('nobody')", "disturbed needs a run: disturbed('baseline')");
    refuses("disturbed(1)", "disturbed needs a run");
    is_kind("low('slow', 'gone')", TT_FORMULA_MISSING, 0);
    is_kind("interval('slow', 'gone')", TT_FORMULA_MISSING, 0);
    is_kind("disturbed('gone')", TT_FORMULA_MISSING, 0);
    is_kind("losses_apart('slow', 'fast')", TT_FORMULA_MISSING, 0);
}

/* Without whole profiles nothing is known: the interval is "anything", and no run counts as disturbed. */
static void knows_nothing_of_parts(void)
{
    gives("low('slow', 'fast')", 0);
    gives("high('slow', 'fast')", 1e100);
    says("interval('slow', 'fast')", "anything");
    is_kind("disturbed('slow')", TT_FORMULA_TRUTH, 0);
}

static void joins(void)
{
    is_kind("1 < 2 and 2 < 3", TT_FORMULA_TRUTH, 1);
    is_kind("1 < 2 and 3 < 2", TT_FORMULA_TRUTH, 0);
    is_kind("3 < 2 or 1 < 2 and 2 < 3", TT_FORMULA_TRUTH, 1);
    is_kind("(3 < 2 or 1 < 2) and 3 < 2", TT_FORMULA_TRUTH, 0);
    is_kind("not 1 < 2", TT_FORMULA_TRUTH, 0);
    is_kind("not not run.version == 'baseline' and not run.graph", TT_FORMULA_TRUTH, 1);
    is_kind("step.nothing < 1 and 2 < 1", TT_FORMULA_TRUTH, 0);
    is_kind("1 < 2 or step.nothing < 1", TT_FORMULA_TRUTH, 1);
    is_kind("step.nothing < 1 or 2 < 1", TT_FORMULA_MISSING, 0);
    is_kind("step.nothing < 1 and 1 < 2", TT_FORMULA_MISSING, 0);
    is_kind("not step.nothing < 1", TT_FORMULA_MISSING, 0);
    gives("larger(2, 3) + smaller(2, 3)", 5);
    is_kind("larger(2, step.nothing)", TT_FORMULA_MISSING, 0);
    refuses("1 and 2 < 3", "needs a comparison on both sides");
    refuses("1 < 2 or 'a'", "needs a comparison on both sides");
    refuses("not 1", "not needs a comparison");
    refuses("1 < 2 andstep.kernels > 1", "should end here");
    char deep[400] = "";
    for (int i = 0; i < 64; i++) strcat(deep, "not ");
    refuses(strcat(deep, "1 < 2"), "too deeply");
}

static const char definitions[] = "far: 2 * step.seconds\n"
                                  "share(group): groups[$group].share\n"
                                  "bound(group): >-\n"
                                  "  first(groups[name=$group].share) + count(groups[name=$group, bound=memory])\n"
                                  "times(a, b): $a:step.seconds / $b:step.seconds\n"
                                  "near(x, y): abs($x - $y) < 0.1 and same(far, far)\n"
                                  "same(x, y): $x == $y\n"
                                  "twice(x): 2 * $x\n"
                                  "loop(x): loop($x)\n"
                                  "stray: $x\n"
                                  "none:\n";

static void defines(void)
{
    struct tt_yaml *tree = yaml(definitions);
    struct tt_formula_scope scope = {.runs = runs, .count = 3, .define = tree};
    static const struct {
        const char *text;
        double wanted;
    } good[] = {{"far", 0.5}, {"share('ffn')", 0.5}, {"bound('norm')", 1.2}, {"times('slow', 'fast')", 2.5},
                {"if(near(1, 1.05), 3, 4)", 3}, {"share(argmax(groups.share))", 0.5}, {"twice(twice(far))", 2}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tt_formula_value v = eval(good[i].text, &scope);
        CHECK(v.kind == TT_FORMULA_NUMBER && fabs(v.number - good[i].wanted) < 1e-12, "%s: %g", good[i].text, v.number);
        tt_formula_free(&v);
    }
    static const char *const bad[][2] = {
        {"share(1)", "in brackets a parameter has to be a word"}, {"share('a', 'b')", "no function share of 2"},
        {"share", "no share"}, {"times(1, 'fast')", "the name of a run has to be a word"},
        {"times('nobody', 'fast')", "no run nobody"}, {"twice(groups.share)", "numbers and words, no lists"},
        {"loop(1)", "defined by itself, or nested too deeply"}, {"stray", "no parameter $x here"},
        {"$x", "no parameter $x here"}, {"$", "a name is missing after the $"}, {"none", "none has no formula"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_formula_value v;
        CHECK_FAILS(tt_formula(bad[i][0], &scope, &v), bad[i][1]);
        tt_formula_free(&v);
        CHECK(!scope.bound && !scope.nested, "%s", bad[i][0]);
    }
    tt_yaml_free(tree);
}

/* A template's text; "-" where a figure that it needs is missing. */
static void fills(const char *missing, const char *text, const char *wanted)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    const struct tt_template t = {.scope = &scope, .missing = missing};
    struct tt_text out = {0};
    bool there;
    CHECK_OK(tt_template_fill(&t, text, &out, &there));
    CHECK(!strcmp(there ? out.n ? out.s : "" : "-", wanted), "%s: %s", text, there ? out.s : "-");
    tt_text_free(&out);
}

static void fails(const char *text, const char *words)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    const struct tt_template t = {.scope = &scope};
    struct tt_text out = {0};
    bool there;
    CHECK_FAILS(tt_template_fill(&t, text, &out, &there), words);
    tt_text_free(&out);
}

static void fills_templates(void)
{
    fills(NULL, "", "");
    fills(NULL, "{step.kernels} kernels, {1000 * step.seconds} ms, {run.version}, {1.0034}, {1234.5}, {1 < 2}",
          "40 kernels, 250 ms, baseline, 1.003, 1234, true");
    fills(NULL, "{if step.kernels > 30}many{else}few{end}.", "many.");
    fills(NULL, "a{if 2 < 1}b{elif 1 < 2}c{elif 1 < 2}d{else}e{end}", "ac");
    fills(NULL, "a{if 2 < 1}b{elif 2 < 1}c{else}e{end}f", "aef");
    fills(NULL, "{if 2 < 1}b{end}", "");
    fills(NULL, "{if 1 < 2}a{if 2 < 1}b{else}c{end}d{else}{if 1 < 2}e{end}f{end}", "acd");
    fills(NULL, "{if 2 < 1}a{if 1 < 2}b{else}c{end}d{else}{if 1 < 2}e{end}f{end}", "ef");
    fills(NULL, "{step.nothing} ms", "-");
    fills("n/a", "{step.nothing} ms", "n/a ms");
    fills(NULL, "{if 2 < 1}{step.nothing}{end}a", "a");
    fills(NULL, "{if step.nothing < 1}a{end}b", "-");
    fills("n/a", "{if step.nothing < 1}a{end}b", "b");
    fails("{if 2 < 1}{step.secnds}{end}", "no secnds"); /* a mistake where it is not shown */
    fails("{if 1}a{end}", "neither true nor false");
    fails("{if 1 < 2}a", "has no {end}");
    fails("a{end}", "{end} without an {if}");
    fails("a{else}", "without an {if}");
    fails("a{step.kernels", "a } is missing");
    fails("{if 1<2}{if 1<2}{if 1<2}{if 1<2}{if 1<2}{if 1<2}{if 1<2}{if 1<2}{if 1<2}a", "more than 8 deep");
}

int main(void)
{
    open_runs();
    TEST(computes);
    TEST(names);
    TEST(misses);
    TEST(finds_mistakes);
    TEST(leaves_open);
    TEST(knows_nothing_of_parts);
    TEST(joins);
    TEST(defines);
    TEST(fills_templates);
    close_runs();
    return test_end();
}
