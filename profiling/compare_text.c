/* A comparison in words: for a terminal, for programs, and as a gate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/json.h"
#include "profiling/compare.h"
#include "profiling/csv.h"
#include "profiling/svg.h"

enum { OPERATORS_SHOWN = 10 };

/* Fits a column of plain text; n/a where it is not known. */
static const char *cell(char out[32], const char *format, double value)
{
    if (!isfinite(value)) return strcpy(out, "n/a");
    snprintf(out, 32, format, value);
    return out;
}

static void run_lines(const struct tt_comparison *c, struct tt_text *out)
{
    char a[32], b[32], d[32], e[32], f[32], low[32], high[32], range[80];
    tt_text_printf(out, "%-32s %10s %9s %-15s %11s %7s %9s %11s %9s\n", "run", "step ms", "speed-up", "95 % interval",
                   "tokens/s", "MFU %", "kernels", "memory MiB", "loss");
    for (int i = 0; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        snprintf(range, sizeof range, "%s to %s", cell(low, "%.2f", r->speedup_low),
                 cell(high, "%.2f", r->speedup_high));
        if (!i) strcpy(range, "the first");
        if (i && isnan(r->speedup_low)) strcpy(range, "n/a");
        tt_text_printf(out, "%-32.32s %10s", r->label, cell(a, "%.3f", 1e3 * r->seconds));
        tt_text_printf(out, " %8s%c %-15s", cell(b, "%.2f", r->speedup), isfinite(r->speedup) ? 'x' : ' ', range);
        tt_text_printf(out, " %11s %7s", cell(d, "%.0f", r->tokens_per_second), cell(e, "%.1f", r->mfu_percent));
        tt_text_printf(out, " %9s %11s", cell(f, "%.0f", r->kernels), cell(a, "%.1f", r->memory_bytes / 0x1p20));
        tt_text_printf(out, " %9s\n", cell(b, "%.4f", r->loss));
    }
}

static void row_lines(const struct tt_comparison *c, const char *title, const struct tt_compare_row *rows, int n,
                      struct tt_text *out)
{
    char number[32];
    if (!n) return;
    tt_text_printf(out, "\n%-48s", title);
    for (int i = 0; i < c->n; i++) tt_text_printf(out, " %14.14s", c->runs[i].label);
    for (int i = 1; i < c->n; i++) tt_text_printf(out, " %9s", i == 1 ? "speed-up" : "");
    tt_text_puts(out, "\n");
    for (int k = 0; k < n; k++) {
        tt_text_printf(out, "%-48.48s", rows[k].name);
        for (int i = 0; i < c->n; i++) tt_text_printf(out, " %11s ms", cell(number, "%.4f", 1e3 * rows[k].seconds[i]));
        for (int i = 1; i < c->n; i++) {
            double ratio = rows[k].seconds[0] / rows[k].seconds[i];
            bool gone = rows[k].seconds[i] == 0 && rows[k].seconds[0] > 0,
                 new_row = rows[k].seconds[0] == 0 && rows[k].seconds[i] > 0;
            tt_text_printf(out, " %9s", gone ? "gone" : new_row ? "new" : cell(number, "%.2fx", ratio));
        }
        tt_text_puts(out, "\n");
    }
}

/* Trailing spaces have no place in a text. */
static void trim_lines(struct tt_text *t)
{
    size_t to = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->s[i] == '\n')
            while (to && t->s[to - 1] == ' ') to--;
        t->s[to++] = t->s[i];
    }
    t->n = to;
    if (t->s) t->s[to] = 0;
}

static void differences(const struct tt_comparison *c, struct tt_text *out)
{
    const struct tt_profile_run *a = &c->runs[0].profile.run;
    for (int i = 1; i < c->n; i++) {
        const struct tt_profile_run *b = &c->runs[i].profile.run;
        const struct {
            const char *name, *from, *to;
        } words[] = {{"device", a->device, b->device},          {"version", a->version, b->version},
                     {"precision", a->precision, b->precision}, {"fuse", a->fuse, b->fuse},
                     {"preset", a->preset, b->preset},          {"recompute", a->recompute, b->recompute},
                     {"library", a->library, b->library},       {"data", a->data, b->data}};
        const char *sep = ": ";
        struct tt_text line = {0};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            bool unknown = (!words[k].from[0] || !words[k].to[0]) && strcmp(words[k].name, "fuse") != 0;
            if (unknown || strcmp(words[k].from, words[k].to) == 0) continue;
            tt_text_printf(&line, "%s%s %s -> %s", sep, words[k].name, words[k].from[0] ? words[k].from : "-",
                           words[k].to[0] ? words[k].to : "-");
            sep = ", ";
        }
        if (a->batch_size != b->batch_size && a->batch_size && b->batch_size)
            tt_text_printf(&line, "%sbatch %lld -> %lld", sep, (long long)a->batch_size, (long long)b->batch_size),
                sep = ", ";
        if (a->seq_len != b->seq_len && a->seq_len && b->seq_len)
            tt_text_printf(&line, "%sseq-len %lld -> %lld", sep, (long long)a->seq_len, (long long)b->seq_len),
                sep = ", ";
        if (a->graph != b->graph)
            tt_text_printf(&line, "%sgraph %s -> %s", sep, a->graph ? "on" : "off", b->graph ? "on" : "off");
        if (line.n) tt_text_printf(out, "changed  %s%s\n", c->runs[i].label, line.s);
        tt_text_free(&line);
    }
}

static void accuracy(const struct tt_comparison *c, struct tt_text *out)
{
    for (int i = 1; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        if (isnan(r->loss_difference) && isnan(r->gradient_difference)) continue;
        tt_text_printf(out, "accuracy %s: losses differ by at most %.3g", r->label, r->loss_difference);
        if (!isnan(r->gradient_difference))
            tt_text_printf(out, ", norms of gradients by at most %.2g %%; %d of %d tensors have a gradient",
                           100 * r->gradient_difference, r->gradients - r->missing_gradients, r->gradients);
        tt_text_puts(out, "\n");
    }
}

void tt_compare_text(const struct tt_comparison *c, struct tt_text *out)
{
    int shown = c->operator_count < OPERATORS_SHOWN ? c->operator_count : OPERATORS_SHOWN;
    run_lines(c, out);
    row_lines(c, "group", c->groups, c->group_count, out);
    row_lines(c, "operators that changed most", c->operators, shown, out);
    tt_text_puts(out, "\n");
    differences(c, out);
    accuracy(c, out);
    for (const char *at = c->warnings.s; at && *at;) {
        const char *end = strchr(at, '\n');
        tt_text_printf(out, "warning  %.*s\n", (int)(end - at), at);
        at = end + 1;
    }
    trim_lines(out);
}

/* ---- JSON ---- */

static void put_rows(struct tt_json_writer *w, const char *key, const struct tt_comparison *c,
                     const struct tt_compare_row *rows, int n)
{
    tt_json_begin(w, key, '[');
    for (int k = 0; k < n; k++) {
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "name", rows[k].name);
        tt_json_begin(w, "seconds", '[');
        for (int i = 0; i < c->n; i++) tt_json_put_number(w, NULL, rows[k].seconds[i]);
        tt_json_end(w, ']');
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

void tt_compare_json(const struct tt_comparison *c, struct tt_text *out)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_begin(&w, "runs", '[');
    for (int i = 0; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "label", r->label);
        tt_json_put_string(&w, "device", r->profile.run.device);
        tt_json_put_string(&w, "version", r->profile.run.version);
        tt_json_put_string(&w, "precision", r->profile.run.precision);
        tt_json_put_number(&w, "seconds", r->seconds);
        tt_json_put_number(&w, "speedup", r->speedup);
        tt_json_put_number(&w, "speedup_low", r->speedup_low);
        tt_json_put_number(&w, "speedup_high", r->speedup_high);
        tt_json_put_number(&w, "tokens_per_second", r->tokens_per_second);
        tt_json_put_number(&w, "mfu_percent", r->mfu_percent);
        tt_json_put_number(&w, "kernels", r->kernels);
        tt_json_put_number(&w, "memory_bytes", r->memory_bytes);
        tt_json_put_number(&w, "loss", r->loss);
        tt_json_put_bool(&w, "same_task", r->same_task);
        tt_json_put_number(&w, "loss_difference", r->loss_difference);
        tt_json_put_number(&w, "gradient_difference", r->gradient_difference);
        tt_json_put_int(&w, "gradients", r->gradients);
        tt_json_put_int(&w, "missing_gradients", r->missing_gradients);
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    put_rows(&w, "groups", c, c->groups, c->group_count);
    put_rows(&w, "operators", c, c->operators, c->operator_count);
    tt_json_begin(&w, "warnings", '[');
    char line[400];
    for (const char *at = c->warnings.s; at && tt_list_next(&at, '\n', line, sizeof line);)
        tt_json_put_string(&w, NULL, line);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    if (w.text.failed) out->failed = true;
    if (w.text.s) tt_text_puts(out, w.text.s);
    tt_text_free(&w.text);
}

/* ---- the gate ---- */

enum condition { SLOWER, MEMORY, LOSS, GRADIENTS };

static tt_status read_condition(const char *text, enum condition *what, double *limit)
{
    static const char *const names[] = {"slower", "memory", "loss", "gradients"};
    char number[40];
    size_t word = strcspn(text, ":");
    *limit = 0;
    for (int i = 0; i < 4; i++) {
        if (strlen(names[i]) != word || strncmp(names[i], text, word) != 0) continue;
        *what = (enum condition)i;
        if (i == GRADIENTS && !text[word]) return TT_OK;
        if (i == GRADIENTS || text[word] != ':') break;
        snprintf(number, sizeof number, "%s", text + word + 1);
        size_t n = strlen(number);
        bool percent = n && number[n - 1] == '%';
        if (percent) number[n - 1] = 0;
        if (!tt_csv_number(number, limit) || *limit < 0) break;
        if (percent) *limit /= 100;
        if (!percent && i != LOSS) break;
        return TT_OK;
    }
    return tt_fail(TT_USAGE, "--fail-if %.60s: the conditions are slower:5%%, memory:10%%, loss:0.02 and gradients",
                   text);
}

tt_status tt_compare_gate_check(const char *conditions)
{
    char one[80];
    enum condition what;
    double limit;
    while (tt_list_next(&conditions, ',', one, sizeof one)) TT_TRY(read_condition(one, &what, &limit));
    return TT_OK;
}

static tt_status gate(const struct tt_comparison *c, const struct tt_compared *r, enum condition what, double limit)
{
    const struct tt_compared *base = &c->runs[0];
    double slower = 1 / r->speedup - 1, more = r->memory_bytes / base->memory_bytes - 1;
    if (what == SLOWER && isnan(slower))
        return tt_fail(TT_FAILED, "%s: its speed is not known, so that the gate cannot judge it", r->label);
    if (what == SLOWER && slower > limit && !(r->speedup_high >= 1))
        return tt_fail(TT_GATE, "%s is %.1f %% slower than %s; the limit is %.3g %%", r->label, 100 * slower,
                       base->label, 100 * limit);
    if (what == MEMORY && isnan(more))
        return tt_fail(TT_FAILED, "%s: its memory is not known, so that the gate cannot judge it", r->label);
    if (what == MEMORY && more > limit)
        return tt_fail(TT_GATE, "%s takes %.1f %% more memory than %s; the limit is %.3g %%", r->label, 100 * more,
                       base->label, 100 * limit);
    if (what == LOSS && isnan(r->loss_difference))
        return tt_fail(TT_FAILED,
                       "%s: its losses cannot be compared with those of %s, so that the gate cannot judge them",
                       r->label, base->label);
    if (what == LOSS && r->loss_difference > limit)
        return tt_fail(TT_GATE, "%s: its loss differs from that of %s by %.3g; the limit is %.3g", r->label,
                       base->label, r->loss_difference, limit);
    if (what == GRADIENTS && r->missing_gradients)
        return tt_fail(TT_GATE, "%s: %d of %d tensors got no gradient", r->label, r->missing_gradients, r->gradients);
    return TT_OK;
}

tt_status tt_compare_gate(const struct tt_comparison *c, const char *conditions)
{
    char one[80];
    while (tt_list_next(&conditions, ',', one, sizeof one)) {
        enum condition what;
        double limit;
        TT_TRY(read_condition(one, &what, &limit));
        for (int i = 1; i < c->n; i++) TT_TRY(gate(c, &c->runs[i], what, limit));
    }
    return TT_OK;
}
