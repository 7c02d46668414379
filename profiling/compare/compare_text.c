/* A comparison in words: for a terminal and for programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/config/config.h"
#include "profiling/compare/compare.h"
#include "profiling/report/svg.h"
#include "profiling/speedup.h"

enum { OPERATORS_SHOWN = 10, NAME = 64 };

/* A number for a column of plain text; "n/a" where it is not known. */
static const char *cell(char out[32], const char *format, double value)
{
    if (!isfinite(value)) return strcpy(out, "n/a");
    snprintf(out, 32, format, value);
    return out;
}

/* "1.02 to 1.31", with the confidence of the interval where that is less than 95 %. */
static void put_range(const struct tt_compared *r, char out[80])
{
    const struct tt_range *g = &r->range;
    char words[48];
    if (isnan(g->low))
        snprintf(out, 80, "unknown");
    else if (r->busy && g->confidence < 0.945)
        snprintf(out, 80, "%s (%.0f %%, busy)", tt_speedup_words(g->low, g->high, words), 100 * g->confidence);
    else if (r->busy)
        snprintf(out, 80, "%s (busy)", tt_speedup_words(g->low, g->high, words));
    else if (g->confidence < 0.945)
        snprintf(out, 80, "%.2f to %.2f (%.0f %%)", g->low, g->high, 100 * g->confidence);
    else
        snprintf(out, 80, "%.2f to %.2f", g->low, g->high);
}

static void run_lines(const struct tt_comparison *c, struct tt_text *out)
{
    char a[32], b[32], d[32], e[32], f[32], range[80];
    tt_text_printf(out, "%-32s %10s %9s %-25s %11s %7s  %9s %11s %9s\n", "run", "step ms", "speed-up", "interval",
                   "tokens/s", "MFU %", "kernels", "memory MiB", "loss");
    for (int i = 0; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        put_range(r, range);
        if (!i) strcpy(range, "the first");
        if (i && i < c->rows) strcpy(range, "one of the first");
        tt_text_printf(out, "%-32.32s %10s", r->label, cell(a, "%.3f", 1e3 * r->seconds));
        tt_text_printf(out, " %8s%c %-25s", cell(b, "%.2f", r->speedup), isfinite(r->speedup) ? 'x' : ' ', range);
        tt_text_printf(out, " %11s %7s%c", cell(d, "%.0f", r->tokens_per_second), cell(e, "%.1f", r->mfu_percent),
                       r->other_roof ? '*' : ' ');
        tt_text_printf(out, " %9s %11s", cell(f, "%.0f", r->kernels), cell(a, "%.1f", r->memory_bytes / 0x1p20));
        tt_text_printf(out, " %9s\n", cell(b, "%.4f", r->loss));
    }
}

/* What the intervals cover: runs that were not timed in turns differ by more than their single steps show. */
static void interval_line(const struct tt_comparison *c, struct tt_text *out)
{
    bool apart = false, busy = false, builds = false;
    for (int i = 1; i < c->n; i++) {
        const struct tt_compared *r = &c->runs[i];
        apart |= isfinite(r->range.low) && !r->in_turns;
        busy |= r->busy && isfinite(r->range.low);
        builds |= r->control.all && isfinite(r->control.times) && !tt_compare_one_build(&c->runs[r->base], r);
    }
    if (busy)
        tt_text_puts(out, "busy: at least one of the two runs was measured on a busy machine, which makes steps too "
                          "long. The interval allows for the time that other programs may have taken; if it holds 1, "
                          "nothing is decided\n");
    if (c->rows > 1)
        tt_text_printf(out, "speed-up of each against the row of the same name among the first %d\n", c->rows);
    if (apart)
        tt_text_printf(out,
                       "interval: 95 %% or as noted, from the steps of these runs, no narrower than the difference "
                       "between runs of one program (1.4 %% to both sides on a GPU, 8.5 %% on a CPU). It holds the "
                       "speed-up with and without the change of the operators that both runs have in common%s. tt "
                       "bench --against runs them in turns\n",
                       builds ? " (not where these are all operators and the builds differ or are not known, since "
                                "kernels may differ then)" : "");
}

/* What the host did in a step, for the runs that know. */
static void host_lines(const struct tt_comparison *c, struct tt_text *out)
{
    for (int i = 0; i < c->n; i++) {
        const struct tt_profile *p = &c->runs[i].profile;
        if (!p->operators_count || !isfinite(p->launch.waits)) continue;
        tt_text_printf(out, "host     %s: %.3g waits a step", c->runs[i].label, p->launch.waits);
        for (int k = 0; k < p->groups_count; k++)
            if (strcmp(p->groups[k].name, "copies") == 0)
                tt_text_printf(out, ", %lld cop%s of %.4g MB together in %.4f ms", (long long)p->groups[k].count,
                               p->groups[k].count == 1 ? "y" : "ies", p->groups[k].bytes / 1e6,
                               1e3 * p->groups[k].seconds);
        tt_text_puts(out, "\n");
    }
}

/* Whether two times differ much in ratio, but too little to matter in the step: 0.07 and 0.15 ms of 100 ms. */
static bool is_little(const struct tt_comparison *c, double from, double to)
{
    return fabs(from - to) < 0.001 * c->runs[0].seconds && fabs(from / to - 1) > 0.1;
}

static void row_lines(const struct tt_comparison *c, const char *title, const struct tt_compare_row *rows, int n,
                      struct tt_text *out)
{
    char number[32];
    bool open = false, little = false; /* some ratios are undecided, or matter little */
    if (!n) return;
    tt_text_printf(out, "\n%-*s", NAME, title);
    for (int i = 0; i < c->n; i++) tt_text_printf(out, " %14.14s", c->runs[i].label);
    for (int i = 1; i < c->n; i++) tt_text_printf(out, " %9s", i == 1 ? "speed-up" : "");
    tt_text_puts(out, "\n");
    for (int k = 0; k < n; k++) {
        tt_text_printf(out, "%-*.*s", NAME, NAME, rows[k].name);
        for (int i = 0; i < c->n; i++) tt_text_printf(out, " %11s ms", cell(number, "%.4f", 1e3 * rows[k].seconds[i]));
        for (int i = 1; i < c->n; i++) {
            double ratio = rows[k].seconds[0] / rows[k].seconds[i];
            bool gone = rows[k].seconds[i] == 0 && rows[k].seconds[0] > 0,
                 new_row = rows[k].seconds[0] == 0 && rows[k].seconds[i] > 0;
            bool small = !c->runs[i].rows_disturbed && is_little(c, rows[k].seconds[0], rows[k].seconds[i]);
            const char *format = c->runs[i].rows_disturbed ? "%.2fx?" : small ? "%.2fx~" : "%.2fx";
            open |= c->runs[i].rows_disturbed && !gone && !new_row;
            little |= small && !gone && !new_row;
            tt_text_printf(out, " %9s", gone ? "gone" : new_row ? "new" : cell(number, format, ratio));
        }
        tt_text_puts(out, "\n");
    }
    if (little) tt_text_puts(out, "~: the two times differ by less than 0.1 % of the step\n");
    if (open)
        tt_text_puts(out, "?: undecided, since the recorded steps of at least one of the two runs were disturbed\n");
}

/* Removes trailing spaces. */
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
    for (int i = 1; i < c->n; i++) {
        const struct tt_profile_run *a = &c->runs[c->runs[i].base].profile.run;
        const struct tt_profile_run *b = &c->runs[i].profile.run;
        const struct {
            const char *name, *from, *to;
            bool often_empty; /* "" is a known value, not an unknown one */
        } words[] = {{"device", a->device, b->device, false},
                     {"version", a->version, b->version, false},
                     {"precision", a->precision, b->precision, false},
                     {"fuse", a->fuse, b->fuse, true},
                     {"preset", a->preset, b->preset, false},
                     {"recompute", a->recompute, b->recompute, false},
                     {"library", a->library, b->library, false},
                     {"data", a->data, b->data, false},
                     {"flash-tile", a->flash_tile, b->flash_tile, true},
                     {"documents", a->documents, b->documents, false},
                     {"fp8", a->fp8, b->fp8, strcmp(a->precision, b->precision) != 0},
                     {"update", a->update, b->update, false},
                     {"rope-scaling", a->rope_scaling, b->rope_scaling, true},
                     {"own-kernel", a->own_kernel, b->own_kernel, true}};
        const char *sep = ": ";
        struct tt_text line = {0};
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            bool unknown = (!words[k].from[0] || !words[k].to[0]) && !words[k].often_empty;
            if (unknown || strcmp(words[k].from, words[k].to) == 0) continue;
            tt_text_printf(&line, "%s%s %s -> %s", sep, words[k].name, words[k].from[0] ? words[k].from : "-",
                           words[k].to[0] ? words[k].to : "-");
            sep = ", ";
        }
        const struct {
            const char *name;
            int64_t from, to;
        } numbers[] = {{"layers", a->num_layers, b->num_layers},
                       {"hidden", a->hidden_dim, b->hidden_dim},
                       {"heads", a->num_heads, b->num_heads},
                       {"kv-heads", a->num_kv_heads, b->num_kv_heads},
                       {"head-dim", b->head_dim ? a->head_dim : 0, a->head_dim ? b->head_dim : 0},
                       {"ffn", a->ffn_dim, b->ffn_dim},
                       {"vocab", a->vocab_size, b->vocab_size},
                       {"seq-len", a->seq_len, b->seq_len},
                       {"qkv-bias", a->qkv_bias, b->qkv_bias},
                       {"qk-norm", a->qk_norm, b->qk_norm},
                       {"batch", a->batch_size, b->batch_size},
                       {"grad-accum", a->grad_accum, b->grad_accum},
                       {"seed", a->seed, b->seed}};
        bool known = a->num_layers && b->num_layers;
        for (size_t k = 0; known && k < sizeof numbers / sizeof *numbers; k++) {
            if (numbers[k].from == numbers[k].to) continue;
            tt_text_printf(&line, "%s%s %lld -> %lld", sep, numbers[k].name, (long long)numbers[k].from,
                           (long long)numbers[k].to);
            sep = ", ";
        }
        if (a->flash_refused != b->flash_refused) {
            tt_text_printf(&line, "%sflash attention %srefused", sep, b->flash_refused ? "" : "no longer ");
            sep = ", ";
        }
        bool profiles = c->runs[0].profile.operators_count && c->runs[i].profile.operators_count;
        if (profiles && a->graph != b->graph)
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
        if (r->same_steps)
            tt_text_printf(out, "accuracy %s: losses of the same steps differ by at most %.3g", r->label,
                           r->loss_difference);
        else
            tt_text_printf(out, "accuracy %s: losses are not compared, since the runs measured different numbers of "
                                "steps", r->label);
        if (r->gradient_difference > 1)
            tt_text_printf(out, ", norms of gradients in the first step are up to %.4g times as large",
                           1 + r->gradient_difference);
        else if (!isnan(r->gradient_difference))
            tt_text_printf(out, ", norms of gradients in the first step %sby at most %.3g %%",
                           r->same_steps ? "" : "differ ", 100 * r->gradient_difference);
        if (r->gradients)
            tt_text_printf(out, "; %d of %d tensors have a gradient", r->gradients - r->missing_gradients,
                           r->gradients);
        tt_text_puts(out, "\n");
    }
}

static void warnings(const struct tt_comparison *c, struct tt_text *out)
{
    for (const char *at = c->warnings.s; at && *at;) {
        const char *end = strchr(at, '\n');
        tt_text_printf(out, "warning  %.*s\n", (int)(end - at), at);
        at = end + 1;
    }
}

void tt_compare_brief(const struct tt_comparison *c, struct tt_text *out)
{
    run_lines(c, out);
    interval_line(c, out);
    warnings(c, out);
    trim_lines(out);
}

void tt_compare_text(const struct tt_comparison *c, struct tt_text *out)
{
    int shown = c->operator_count < OPERATORS_SHOWN ? c->operator_count : OPERATORS_SHOWN;
    run_lines(c, out);
    interval_line(c, out);
    row_lines(c, "group", c->groups, c->group_count, out);
    row_lines(c, "operators that changed most", c->operators, shown, out);
    tt_text_puts(out, "\n");
    differences(c, out);
    host_lines(c, out);
    accuracy(c, out);
    warnings(c, out);
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

/* The roof that its MFU is of. */
static double rate_of(const struct tt_compared *r)
{
    double rate = r->profile.efficiency.gemm_flops_per_second;
    return rate > 0 ? rate : NAN;
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
        tt_json_put_number(&w, "speedup_low", r->range.low);
        tt_json_put_number(&w, "speedup_high", r->range.high);
        tt_json_put_number(&w, "speedup_confidence", r->range.confidence);
        tt_json_put_bool(&w, "busy", r->busy);
        tt_json_put_bool(&w, "undecided", r->undecided);
        tt_json_put_bool(&w, "rows_disturbed", r->rows_disturbed);
        tt_json_put_number(&w, "control_times", r->control.operators ? r->control.times : NAN);
        tt_json_put_number(&w, "tokens_per_second", r->tokens_per_second);
        tt_json_put_number(&w, "mfu_percent", r->mfu_percent);
        tt_json_put_number(&w, "gemm_flops_per_second", rate_of(r));
        tt_json_put_number(&w, "host_waits", r->profile.operators_count ? r->profile.launch.waits : NAN);
        tt_json_put_number(&w, "load", r->profile.run.load);
        tt_json_put_number(&w, "waited", r->profile.run.waited);
        tt_json_put_number(&w, "kernels", r->kernels);
        tt_json_put_number(&w, "memory_bytes", r->memory_bytes);
        tt_json_put_number(&w, "loss", r->loss);
        tt_json_put_bool(&w, "same_model", r->same_model);
        tt_json_put_bool(&w, "same_task", r->same_task);
        tt_json_put_bool(&w, "same_steps", r->same_steps);
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
    char line[600];
    for (const char *at = c->warnings.s; at && tt_list_next(&at, '\n', line, sizeof line);)
        tt_json_put_string(&w, NULL, line);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    if (w.text.failed) out->failed = true;
    if (w.text.s) tt_text_puts(out, w.text.s);
    tt_text_free(&w.text);
}
