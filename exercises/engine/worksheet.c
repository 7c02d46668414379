/* Writes the empty worksheet of an exercise from its questions. */
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

enum { WIDTH = 116 };

/* A comment above an answer, wrapped between words; lines after the first are indented by `hang` more. */
static void put_comment(struct tt_text *out, const char *text, int hang)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, " ");
        if (column && column + 1 + n > WIDTH) column = 0;
        if (!column)
            tt_text_printf(out, "%s  # %*s", at == text ? "" : "\n", at == text ? 0 : hang, "");
        else
            tt_text_puts(out, " ");
        column = column ? column + 1 + n : 4 + n + (at == text ? 0 : (size_t)hang);
        tt_text_add(out, at, n);
        at += n + strspn(at + n, " ");
    }
    tt_text_puts(out, "\n");
}

/* The words that may be chosen, where the question does not list them itself. */
static void put_choices(struct tt_text *out, const struct tt_question *q)
{
    const struct tt_yaml *list = q->choices ? q->choices : q->items;
    bool listed = true;
    for (const struct tt_yaml *y = list ? list->first : NULL; y; y = y->next)
        listed &= strcasestr(q->text, y->text && !q->items ? y->text : y->key) != NULL;
    if (listed) return;
    for (const struct tt_yaml *y = list->first; y; y = y->next)
        tt_text_printf(out, "%s%s", y == list->first ? " (" : ", ", y->text && !q->items ? y->text : y->key);
    tt_text_puts(out, ")");
}

static void put_question(struct tt_text *out, const struct tt_question *q)
{
    static const char *const how[TT_ASK_KINDS] = {[TT_ASK_TEXT] = " (a sentence or two, on one line)",
                                                  [TT_ASK_INTERVAL] = " (from - to, like 1.05 to 1.3)",
                                                  [TT_ASK_TARGET] = " (before -> after)"};
    struct tt_text line = {0};
    tt_text_puts(&line, q->text);
    if (how[q->kind]) tt_text_puts(&line, how[q->kind]);
    if (q->unit) tt_text_printf(&line, " [%s]", q->unit);
    put_choices(&line, q);
    put_comment(out, line.s ? line.s : "", 0);
    out->failed |= line.failed;
    tt_text_free(&line);
    if (q->look) tt_text_printf(&line, "look: %s", q->look);
    if (q->look) put_comment(out, line.s ? line.s : "", 6);
    out->failed |= line.failed;
    tt_text_free(&line);
    tt_text_printf(out, "  %s: %s\n", q->id, q->kind == TT_ASK_RANKING ? "[]" : "\"\"");
}

void tt_exercise_worksheet(const struct tt_exercise *e, struct tt_text *out)
{
    tt_text_printf(out, "# Worksheet of exercise %lld: %s. Write your answers between the quotes;\n"
                        "# tt exercise check says which are right.\n"
                        "exercise: %lld\n"
                        "learner: \"\"   # your name, for the instructor's table\n",
                   (long long)e->number, e->title, (long long)e->number);
    if (e->run_count)
        tt_text_puts(out, "runs:         # the seals that tt printed, or their first 8 characters; may stay empty\n");
    for (int i = 0; i < e->run_count; i++) tt_text_printf(out, "  %s: \"\"\n", e->runs[i].name);
    tt_text_puts(out, "answers:\n");
    for (int i = 0; i < e->question_count; i++) {
        if (i) tt_text_puts(out, "\n");
        put_question(out, &e->questions[i]);
    }
}
