#include "profiling/report/run_curve.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/grow.h"

static const char *const keys[TT_CURVE_COLUMNS] = {"loss", "grad_norm", "lr", "tokens_per_second", "loss_scale"};

static bool add_step(struct tt_curve *c, double step, const struct tt_json *line)
{
    if (!tt_grow(&c->steps, sizeof *c->steps, c->n, &c->room)) return false;
    const struct tt_json *applied = tt_json_get(line, "applied");
    struct tt_curve_step *s = &c->steps[c->n++];
    s->step = step;
    for (int i = 0; i < TT_CURVE_COLUMNS; i++) s->column[i] = tt_json_number(line, keys[i], NAN);
    c->not_applied += applied && applied->type == TT_JSON_BOOL && !applied->boolean;
    return true;
}

static bool add_validation(struct tt_curve *c, double step, const struct tt_json *line)
{
    if (!tt_grow(&c->validations, sizeof *c->validations, c->validation_count, &c->validation_room)) return false;
    c->validations[c->validation_count++] = (struct tt_curve_validation){step, tt_json_number(line, "val_loss", NAN)};
    return true;
}

/* Skips what is no line of tt's: the last one may be half written. */
static bool add_line(struct tt_curve *c, const char *text, size_t n)
{
    struct tt_json *line = NULL;
    tt_status st = tt_json_parse(text, n, &line);
    double step = tt_json_number(line, "step", NAN);
    bool good = true, known = !st && isfinite(step);
    if (known && tt_json_get(line, "val_loss")) good = add_validation(c, step, line);
    if (known && tt_json_get(line, "loss")) good = add_step(c, step, line); /* a step: lines of epochs have no loss */
    tt_status_free(st);
    tt_json_free(line);
    return good;
}

static tt_status read_lines(const char *path, struct tt_curve *c)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t n;
    bool good = true;
    FILE *f = fopen(path, "r");
    if (!f) return tt_file_error(errno, "read", path);
    while (good && (n = getline(&text, &room, f)) > 0) good = add_line(c, text, (size_t)n);
    bool broken = ferror(f);
    int error = errno;
    fclose(f);
    free(text);
    if (!good) return tt_no_memory("the lines of %s", path);
    if (broken) return tt_file_error(error, "read", path);
    if (!c->n) return tt_fail(TT_FAILED, "%s has no step of a training run yet; wait for its first log line", path);
    return TT_OK;
}

tt_status tt_curve_read(const char *folder, struct tt_curve *c)
{
    enum { LIMIT = 1 << 24 };
    char path[1200], *text;
    size_t n;
    *c = (struct tt_curve){0};
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    TT_TRY(read_lines(path, c));
    TT_TRY(tt_run_choices_read(folder, &c->choices));
    snprintf(path, sizeof path, "%s/run.json", folder);
    if (!tt_is_file(path)) return TT_OK;
    TT_TRY(tt_file_read(path, LIMIT, &text, &n));
    tt_status st = tt_json_parse(text, n, &c->end);
    free(text);
    return tt_context(st, "%s", path);
}

void tt_curve_free(struct tt_curve *c)
{
    free(c->steps);
    free(c->validations);
    tt_run_choices_free(&c->choices);
    tt_json_free(c->end);
    *c = (struct tt_curve){0};
}
