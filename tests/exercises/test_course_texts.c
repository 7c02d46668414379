/* Which parts of a check.yaml may use disturbed(): those that decide which answer is right. A check does not know the
 * machine, so no text may give a disturbed run as a reason. */
#include <ctype.h>

#include "cli/exercise.h"
#include "tests/test.h"

static const char used[] = "disturbed(";

/* Two texts of exercise 9 say which figures count as evidence. Some figures count in quiet runs only. */
static bool says_what_counts(const struct tt_exercise *e, const char *id)
{
    return e->number == 9 && (!strcmp(id, "evidence") || !strcmp(id, "cure"));
}

static tt_status each(tt_status (*visit)(const struct tt_exercise *e, void *context), int *count)
{
    struct tt_exercise_call course = {.root = "exercises"};
    return tt_exercise_each(&course, visit, count);
}

/* ---- direct use ---- */

static int scalars_that_use(const struct tt_yaml *y)
{
    int n = y->text && strstr(y->text, used) != NULL;
    for (const struct tt_yaml *child = y->first; child; child = child->next) n += scalars_that_use(child);
    return n;
}

/* Adds to *count how many formulas use it. */
static tt_status only_in_formulas(const struct tt_exercise *e, void *count)
{
    for (const struct tt_yaml *part = e->tree->first; part; part = part->next) {
        int n = scalars_that_use(part);
        if (strcmp(part->key, "questions") && strcmp(part->key, "define"))
            CHECK(!n, "%s: line %d: %s uses disturbed()", e->folder, part->line, part->key);
        else
            *(int *)count += n;
    }
    const struct tt_yaml *questions = tt_yaml_get(e->tree, "questions");
    for (const struct tt_yaml *q = questions->first; q; q = q->next)
        for (const struct tt_yaml *y = q->first; y; y = y->next)
            CHECK(!scalars_that_use(y) || !strcmp(y->key, "answer") || !strcmp(y->key, "items"),
                  "%s: line %d: %s uses disturbed()", e->folder, y->line, y->key);
    return TT_OK;
}

/* disturbed() is used in answers, items and definitions, and nowhere else. */
static void only_what_is_right_depends_on_disturbed_runs(void)
{
    int formulas = 0;
    CHECK_OK(each(only_in_formulas, &formulas));
    CHECK(formulas > 5, "only %d formulas use it", formulas);
}

/* ---- use through a definition ---- */

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether a formula has the name of a definition ("far" or "gain(a, b)") as a whole word. */
static bool has_name(const char *formula, size_t length, const char *definition)
{
    size_t n = strcspn(definition, "(");
    for (size_t i = 0; i + n <= length; i++) {
        bool begins = i == 0 || !is_letter(formula[i - 1]), ends = i + n == length || !is_letter(formula[i + n]);
        if (begins && ends && !strncmp(formula + i, definition, n)) return true;
    }
    return false;
}

static bool depends(const struct tt_exercise *e, const char *formula, size_t length, int deep)
{
    const char *at = strstr(formula, used);
    if (at && at < formula + length) return true;
    for (const struct tt_yaml *y = e->define ? e->define->first : NULL; y && deep < 8; y = y->next)
        if (has_name(formula, length, y->key) && depends(e, y->text, strlen(y->text), deep + 1)) return true;
    return false;
}

/* Whether a formula in braces within the text depends on disturbed(). */
static bool text_depends(const struct tt_exercise *e, const char *text)
{
    for (const char *at = text ? strchr(text, '{') : NULL; at; at = strchr(at + 1, '{'))
        if (depends(e, at, strcspn(at, "}"), 0)) return true;
    return false;
}

/* Adds to *count how many texts depend on it and may. */
static tt_status no_text_depends(const struct tt_exercise *e, void *count)
{
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        bool otherwise = text_depends(e, q->otherwise);
        CHECK(!text_depends(e, q->means), "%s: the meaning of %s depends on disturbed()", e->folder, q->id);
        CHECK(!text_depends(e, q->why), "%s: the reason of %s depends on disturbed()", e->folder, q->id);
        CHECK(!otherwise || says_what_counts(e, q->id), "%s: what %s says otherwise depends on disturbed()", e->folder,
              q->id);
        *(int *)count += otherwise;
    }
    return TT_OK;
}

/* No text that is printed about an answer depends on disturbed(), not even through a definition. */
static void no_text_has_a_disturbed_run_for_a_reason(void)
{
    int texts = 0;
    CHECK_OK(each(no_text_depends, &texts));
    CHECK(texts == 2, "%d texts of exercise 9 say which figures count", texts);
}

int main(void)
{
    TEST(only_what_is_right_depends_on_disturbed_runs);
    TEST(no_text_has_a_disturbed_run_for_a_reason);
    return test_end();
}
