/* Loss curves that runs of tt train left in the learner's folder: where each ended, and how far two of them differ. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/yaml.h"
#include "core/checkpoint/checkpoint.h"
#include "exercises/engine/parts.h"

enum { STEPS = 4096, LARGEST = 1 << 22, PERCENT = 3 /* index of the figure in % */ };

struct curve {
    double losses[STEPS];
    int n;
    double mean, floor; /* mean loss since the last line of the log; lowest possible loss; NaN: not known */
};

static tt_status read_text(const char *folder, const char *run, const char *file, char **text, size_t *size)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/%s/%s", folder, run, file);
    return tt_file_read(path, LARGEST, text, size);
}

static tt_status read_losses(const char *text, struct curve *c)
{
    for (size_t n; *text && c->n < STEPS; text += n + (text[n] == '\n')) {
        struct tt_json *line = NULL;
        n = strcspn(text, "\n");
        if (n) TT_TRY(tt_json_parse(text, n, &line));
        if (n) c->losses[c->n++] = tt_json_number(line, "loss", NAN);
        tt_json_free(line);
    }
    return TT_OK;
}

static tt_status read_curve(const char *folder, const char *run, struct curve *c)
{
    char *steps = NULL, *text = NULL;
    size_t size;
    struct tt_json *end = NULL;
    tt_status st = read_text(folder, run, "metrics.jsonl", &steps, &size);
    if (!st) st = read_losses(steps, c);
    if (!st) st = read_text(folder, run, "run.json", &text, &size);
    if (!st) st = tt_json_parse(text, size, &end);
    c->mean = end ? tt_json_number(end, "loss", NAN) : NAN;
    c->floor = end ? tt_json_number(end, "floor", NAN) : NAN;
    tt_json_free(end);
    free(steps);
    free(text);
    return st;
}

static double largest_of(const struct curve *c)
{
    double most = NAN;
    for (int i = 0; i < c->n; i++) most = fmax(most, c->losses[i]);
    return most;
}

static double last_of(const struct curve *c) { return c->n ? c->losses[c->n - 1] : NAN; }

/* The largest difference of the losses. NaN if the numbers of steps differ: then so do their learning rates. */
static double apart(const struct curve *a, const struct curve *b)
{
    double most = a->n == b->n ? 0 : NAN;
    for (int i = 0; i < a->n && a->n == b->n; i++) most = fmax(most, fabs(a->losses[i] - b->losses[i]));
    return most;
}

int tt_exercise_curve_figures(const char *folder, const char *run, const char *beside, const char *unlike,
                              struct tt_figure out[TT_CURVE_FIGURES])
{
    struct curve *c = calloc(2, sizeof *c);
    tt_status st = c ? read_curve(folder, run, &c[0]) : tt_no_memory("the curves");
    if (!st) st = read_curve(folder, beside, &c[1]);
    int n = 0;
    if (!st) {
        const struct {
            const char *name;
            double here, there;
        } pairs[TT_CURVE_FIGURES] = {
            {"the loss that {row} ended with", c[0].mean, c[1].mean},
            {"the loss of the last step of {row}", last_of(&c[0]), last_of(&c[1])},
            {"the gap of {row} to the floor", c[0].mean - c[0].floor, c[1].mean - c[1].floor},
            {"the gap of {row} to the floor, as a part of that", 100 * (c[0].mean / c[0].floor - 1),
             100 * (c[1].mean / c[1].floor - 1)},
            {"the largest difference between the losses of {row} and the other curve", apart(&c[0], &c[1]), 0},
            {"the largest loss of {row}", largest_of(&c[0]), largest_of(&c[1])}};
        for (int i = 0; i < TT_CURVE_FIGURES; i++)
            if (isfinite(pairs[i].here) && isfinite(pairs[i].there))
                out[n++] = (struct tt_figure){.value = pairs[i].here, .other = pairs[i].there, .unlike = unlike,
                                              .name = pairs[i].name,
                                              .unit = i == PERCENT ? tt_exercise_unit("%") : NULL};
    }
    tt_status_free(st); /* without both curves there are no figures */
    free(c);
    return n;
}

static void no_word(const char *line, void *arg) { (void)line, (void)arg; }

bool tt_exercise_curve_fault(const char *folder, const char *run, char out[TT_FAULT_WORDS])
{
    char path[1400], *checkpoint = NULL, *config = NULL;
    struct tt_progress progress;
    struct tt_yaml *tree = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, run);
    tt_status st = tt_checkpoint_find(path, no_word, NULL, &checkpoint);
    if (!st && checkpoint) st = tt_checkpoint_peek(checkpoint, &progress, &config);
    if (!st && config) st = tt_yaml_parse(config, strlen(config), &tree);
    const struct tt_yaml *fault = !st && tree ? tt_yaml_get(tree, "fault") : NULL;
    bool known = fault && fault->text;
    if (known) snprintf(out, TT_FAULT_WORDS, "%s", fault->text);
    tt_yaml_free(tree);
    tt_status_free(st); /* without a checkpoint the fault is not known */
    free(config);
    free(checkpoint);
    return known;
}
