/* The empty worksheet that tt exercise start writes from the questions of check.yaml. */
#include <stdlib.h>

#include "cli/exercise.h"
#include "core/base/file.h"
#include "tests/test.h"

static struct tt_text sheet_of(const struct tt_exercise *e)
{
    struct tt_text out = {0};
    tt_exercise_worksheet(e, &out);
    CHECK_OK(tt_text_status(&out));
    return out;
}

/* Joins the comment lines above the key of an answer. Returns false if there is no such key. */
static bool comment_of(const char *sheet, const char *id, char *out, size_t size)
{
    size_t n = 0, key = strlen(id);
    for (const char *line = strstr(sheet, "\nanswers:\n"); line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, "\n");
        bool comment = length > 4 && !strncmp(line, "  # ", 4);
        if (length > key + 3 && !strncmp(line, "  ", 2) && !strncmp(line + 2, id, key) && line[key + 2] == ':')
            return true;
        if (!comment) n = 0;
        const char *at = line + 4 + (comment ? strspn(line + 4, " ") : 0);
        if (comment && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%.*s", n ? " " : "", (int)(line + length - at), at);
    }
    return false;
}

/* A worksheet with a question of each kind is exactly this text. */
static void a_sheet_is_made_of_the_questions(void)
{
    static const char check[] =
        "exercise: 7\ntitle: Of each kind\nminutes: 1\n"
        "runs:\n  - name: first\n    command: tt profile --out first\n  - name: second\n    command: tt profile\n"
        "questions:\n"
        "  - id: time\n    text: How long?\n    kind: number\n    unit: ms\n    answer: 1\n"
        "    look: summary.md, the line step\n"
        "  - id: gain\n    text: Is it a gain? (yes, undecided)\n    kind: choice\n    answer: \"'yes'\"\n"
        "    choices: [\"yes\", undecided]\n"
        "  - id: side\n    text: Which side?\n    kind: choice\n    answer: \"'left'\"\n    choices: [left, right]\n"
        "  - id: group\n    text: Which group?\n    kind: choice\n    items:\n      ffn: \"1\"\n      norm: \"2\"\n"
        "  - id: order\n    text: Largest first\n    kind: ranking\n    count: 2\n"
        "    items:\n      a: \"1\"\n      b: \"2\"\n"
        "  - id: holds\n    text: \"True or false: it holds.\"\n    kind: truth\n    answer: 1 < 2\n"
        "  - id: plan\n    text: From where to where?\n    kind: interval\n    at_least: 1\n"
        "  - id: aim\n    text: memory\n    kind: target\n    unit: MiB\n    answer: 1\n    at_most: 1\n"
        "  - id: guess\n    text: How many?\n    kind: range\n    at_least: 1\n"
        "  - id: why\n    text: Why?\n    kind: text\n    look: what differs\n";
    static const char wanted[] =
        "# Worksheet of exercise 7: Of each kind. Write your answers between the quotes;\n"
        "# tt exercise check says which are right.\n"
        "exercise: 7\n"
        "learner: \"\"   # your name, for the instructor's table\n"
        "runs:         # the seals that tt printed, or their first 8 characters; may stay empty\n"
        "  first: \"\"\n  second: \"\"\n"
        "answers:\n"
        "  # How long? [ms]\n  # look: summary.md, the line step\n  time: \"\"\n\n"
        "  # Is it a gain? (yes, undecided)\n  gain: \"\"\n\n"
        "  # Which side? (left, right)\n  side: \"\"\n\n"
        "  # Which group? (ffn, norm)\n  group: \"\"\n\n"
        "  # Largest first (a, b)\n  order: []\n\n"
        "  # True or false: it holds.\n  holds: \"\"\n\n"
        "  # From where to where? (from - to, like 1.05 to 1.3)\n  plan: \"\"\n\n"
        "  # memory (before -> after) [MiB]\n  aim: \"\"\n\n"
        "  # How many?\n  guess: \"\"\n\n"
        "  # Why? (a sentence or two, on one line)\n  # look: what differs\n  why: \"\"\n";
    char folder[] = "/tmp/test_worksheet_XXXXXX", path[64];
    struct tt_exercise e;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/check.yaml", folder);
    CHECK_OK(tt_file_replace(path, check, sizeof check - 1));
    CHECK_OK(tt_exercise_read(folder, &e));
    struct tt_text sheet = sheet_of(&e);
    CHECK(sheet.s && !strcmp(sheet.s, wanted), "%s", sheet.s ? sheet.s : "");
    tt_text_free(&sheet);
    tt_exercise_free(&e);
    CHECK_OK(tt_remove_tree(folder));
}

/* ---- the sheets of the course ---- */

/* A check that runs on each exercise of the course and its worksheet. */
struct held {
    void (*check)(const struct tt_exercise *e, const char *sheet);
    int exercises;
};

static tt_status hold(const struct tt_exercise *e, void *context)
{
    struct held *h = context;
    struct tt_text sheet = sheet_of(e);
    h->check(e, sheet.s ? sheet.s : "");
    h->exercises++;
    tt_text_free(&sheet);
    return TT_OK;
}

static void of_each_exercise(void (*check)(const struct tt_exercise *e, const char *sheet))
{
    struct tt_exercise_call course = {.root = "exercises"};
    struct held h = {.check = check};
    CHECK_OK(tt_exercise_each(&course, hold, &h));
    CHECK(h.exercises >= 11, "%d exercises", h.exercises);
}

static void has_keys(const struct tt_exercise *e, const char *sheet)
{
    struct tt_yaml *tree = NULL;
    CHECK_OK(tt_yaml_parse(sheet, strlen(sheet), &tree));
    const struct tt_yaml *runs = tt_yaml_get(tree, "runs"), *answers = tt_yaml_get(tree, "answers");
    const struct tt_yaml *number = tt_yaml_get(tree, "exercise"), *learner = tt_yaml_get(tree, "learner");
    CHECK(number && atoll(number->text) == e->number && learner && !learner->text[0], "%s", e->title);
    CHECK(runs && runs->count == e->run_count && answers && answers->count == e->question_count, "%s", e->title);
    const struct tt_yaml *y = runs ? runs->first : NULL;
    for (int i = 0; y && i < e->run_count; i++, y = y->next)
        CHECK(!strcmp(y->key, e->runs[i].name) && y->kind == TT_YAML_STRING && !y->text[0], "%s: %s", e->title, y->key);
    y = answers ? answers->first : NULL;
    for (int i = 0; y && i < e->question_count; i++, y = y->next) {
        bool list = e->questions[i].kind == TT_ASK_RANKING;
        CHECK(!strcmp(y->key, e->questions[i].id), "%s: %s, not %s", e->title, y->key, e->questions[i].id);
        CHECK(list ? y->kind == TT_YAML_LIST && !y->count : y->kind == TT_YAML_STRING && !y->text[0], "%s: %s",
              e->title, y->key);
    }
    tt_yaml_free(tree);
}

/* A worksheet is YAML with an empty key for each run and each question, in the order of check.yaml. */
static void a_sheet_has_a_key_for_each_question(void) { of_each_exercise(has_keys); }

static void fits(const struct tt_exercise *e, const char *sheet)
{
    for (const char *line = sheet; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
        int n = (int)strcspn(line, "\n"), columns = 0;
        for (int i = 0; i < n; i++) columns += ((unsigned char)line[i] & 0xc0) != 0x80;
        CHECK(columns <= 120, "%s: %d columns: %.*s", e->title, columns, n, line);
        CHECK(!n || line[n - 1] != ' ', "%s: a blank at the end: %.*s", e->title, n, line);
    }
}

/* No line has more than 120 columns. */
static void a_sheet_is_as_wide_as_the_course(void) { of_each_exercise(fits); }

/* How many choices of the question a text mentions. */
static int choices_in(const struct tt_question *q, const char *text)
{
    const struct tt_yaml *list = q->items ? q->items : q->choices;
    int n = 0;
    for (const struct tt_yaml *y = list ? list->first : NULL; y; y = y->next)
        n += strcasestr(text, q->items ? y->key : y->text) != NULL;
    return n;
}

static void asks(const struct tt_exercise *e, const char *sheet)
{
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        const struct tt_yaml *list = q->items ? q->items : q->choices;
        char comment[3000] = "", rest[3000];
        bool there = comment_of(sheet, q->id, comment, sizeof comment);
        size_t n = strlen(q->text);
        CHECK(there && !strncmp(comment, q->text, n), "%s: %s: %s", e->title, q->id, comment);
        snprintf(rest, sizeof rest, "%s", strlen(comment) > n ? comment + n : "");
        char *look = strstr(rest, " look: ");
        CHECK(q->look ? look && !strcmp(look + 7, q->look) : !look, "%s: %s: %s", e->title, q->id, rest);
        if (look) *look = 0;
        CHECK(!q->unit || strstr(rest, "["), "%s: %s has no unit", e->title, q->id);
        bool listed = !list || choices_in(q, q->text) == list->count;
        CHECK(listed || choices_in(q, rest) == list->count, "%s: %s lists not all: %s", e->title, q->id, rest);
        CHECK(!listed || q->kind == TT_ASK_TEXT || q->kind == TT_ASK_INTERVAL || q->kind == TT_ASK_TARGET ||
              !strchr(rest, '('), "%s: %s lists its choices twice: %s", e->title, q->id, comment);
    }
}

/* The comment above a key has the question, its unit, where to look, and the choices if the question lists not all. */
static void a_sheet_asks_what_the_check_asks(void) { of_each_exercise(asks); }

int main(void)
{
    TEST(a_sheet_is_made_of_the_questions);
    TEST(a_sheet_has_a_key_for_each_question);
    TEST(a_sheet_is_as_wide_as_the_course);
    TEST(a_sheet_asks_what_the_check_asks);
    return test_end();
}
