/* Remembers which right answers were shown: check --reveal notes them in result.json, and the next check reads that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "exercises/engine/parts.h"

static struct tt_json *last_result(const char *folder)
{
    char path[1200], *text = NULL;
    size_t size;
    struct tt_json *result = NULL;
    snprintf(path, sizeof path, "%s/result.json", folder);
    if (!tt_is_file(path)) return NULL;
    tt_status st = tt_file_read(path, 1 << 24, &text, &size);
    bool read = !st;
    if (read) st = tt_json_parse(text, size, &result);
    if (read) free(text);
    bool failed = st;
    tt_status_free(st);
    return failed ? NULL : result;
}

void tt_exercise_recall(struct tt_marked *m)
{
    struct tt_json *result = last_result(m->folder);
    const struct tt_json *list = result ? tt_json_get(result, "questions") : NULL;
    for (const struct tt_json *q = list && list->type == TT_JSON_ARRAY ? list->first : NULL; q; q = q->next) {
        const struct tt_json *revealed = tt_json_get(q, "revealed");
        for (int i = 0; revealed && revealed->boolean && i < m->exercise->question_count; i++)
            if (!strcmp(m->exercise->questions[i].id, tt_json_string(q, "id", ""))) m->marks[i].revealed = true;
    }
    tt_json_free(result);
}

void tt_marked_reveal(struct tt_marked *m)
{
    m->revealed = 0;
    for (int i = 0; i < m->exercise->question_count; i++) {
        struct tt_mark *mark = &m->marks[i];
        bool open = mark->kind == TT_MARK_WRONG || mark->kind == TT_MARK_UNKNOWN || mark->kind == TT_MARK_EMPTY;
        if (open && mark->right[0]) mark->revealed = true;
        m->revealed += mark->revealed;
    }
}
