/* What follows from the measurements of tt diagnose: each finding says what was measured, and what to change. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/diagnose.h"
#include "core/base/file.h"
#include "core/base/format.h"
#include "core/base/load.h"
#include "core/train/usage.h"

static void find(struct tt_diagnosis *d, enum tt_level level, const char *change, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void find(struct tt_diagnosis *d, enum tt_level level, const char *change, const char *format, ...)
{
    if (d->count == TT_FINDINGS) return;
    struct tt_finding *f = &d->findings[d->count++];
    va_list args;
    va_start(args, format);
    vsnprintf(f->what, sizeof f->what, format, args);
    va_end(args);
    f->level = level;
    snprintf(f->change, sizeof f->change, "%s", change);
}

/* How many times as long as on a quiet machine the step, and what was timed beside it, may have taken. */
static double slowed(const struct tt_diagnosis *d) { return tt_diagnose_slowed(d, &d->step); }

/* Follows a finding from times that holds although other programs were running. */
static const char *beside_others(const struct tt_diagnosis *d) { return slowed(d) > 1 ? " (busy machine)" : ""; }

/* Follows a gain that other programs may have changed: on a busy machine it is `least` at least. */
static const char *at_least(double gain, double least, bool busy, char out[64])
{
    out[0] = 0;
    if (busy && least < gain)
        snprintf(out, 64, " (busy machine: at least %.2f times)", least);
    else if (busy)
        snprintf(out, 64, " or more (busy machine)");
    return out;
}

enum tt_level tt_diagnose_worst(const struct tt_diagnosis *d)
{
    enum tt_level worst = TT_ADVICE;
    for (int i = 0; i < d->count; i++)
        if (d->findings[i].level > worst) worst = d->findings[i].level;
    return worst;
}

/* ---- sizes ---- */

static void advise_smaller(const struct tt_config *c, const struct tt_smaller *s, char change[160])
{
    bool recomputes = c->recompute == TT_RECOMPUTE_BLOCK;
    const char *recompute = recomputes ? "" : "--recompute block, or ";
    if (s->batch_size)
        snprintf(change, 160, "--batch-size %lld fits; --grad-accum keeps the tokens of a step%s",
                 (long long)s->batch_size, recomputes ? "" : ", --recompute block saves more");
    else if (s->seq_len)
        snprintf(change, 160, "%sa shorter sequence: --batch-size 1 --seq-len %lld fits", recompute,
                 (long long)s->seq_len);
    else
        snprintf(change, 160, "%sa smaller model: not even --batch-size 1 fits", recompute);
}

static void judge_memory(struct tt_diagnosis *d)
{
    char need[32], room[32], change[160];
    /* on the host, other programs may give memory back; on a GPU, only what is free now counts */
    double most = d->device.shares_memory ? (double)d->device.memory_total / tt_diagnose_sharing(d) : d->room;
    if (d->room <= 0 || d->need <= 0.9 * d->room) return;
    struct tt_smaller smaller = {0};
    tt_status_free(tt_session_smaller(&d->backend, d->c, TT_USE_TRAIN | TT_USE_EVAL, 0.9 * d->room, &smaller));
    advise_smaller(d->c, &smaller, change);
    tt_format_bytes(d->need, need);
    tt_format_bytes(d->room, room);
    find(d, d->need > most ? TT_FATAL : TT_WARN, change, "the run takes %s of device memory, of which %s are free",
         need, room);
}

static void judge_others(struct tt_diagnosis *d)
{
    char used[32];
    double taken = (double)d->device.memory_total - (double)d->device.memory_free - (double)d->device.memory_used;
    if (d->device.shares_memory || taken < 0.1 * (double)d->device.memory_total) return;
    tt_format_bytes(taken, used);
    find(d, TT_WARN, "see which they are (nvidia-smi, rocm-smi), or choose another --device",
         "other programs hold %s of the device's memory", used);
}

static void judge_pinned(struct tt_diagnosis *d)
{
    char need[32], limit[32];
    if (d->device.shares_memory || d->pinned <= d->pinned_limit) return;
    tt_format_bytes(d->pinned, need);
    tt_format_bytes(d->pinned_limit, limit);
    find(d, TT_WARN, "raise it: ulimit -l unlimited, or ask the administrator; copies from ordinary memory are slower",
         "the run pins %s of host memory, and the limit (ulimit -l) is %s", need, limit);
}

static void judge_disk(struct tt_diagnosis *d)
{
    char need[32], room[32], parent[1100];
    const char *out = d->c->out;
    if (!out[0]) {
        find(d, TT_WARN, "give --out", "without --out nothing of the %lld steps is saved",
             (long long)d->c->num_steps);
        return;
    }
    if (d->disk_free >= 0 && d->disk_need > d->disk_free) {
        tt_format_bytes(d->disk_need, need);
        tt_format_bytes(d->disk_free, room);
        find(d, TT_FATAL,
             2 * d->checkpoint_bytes <= d->disk_free ? "free some space, choose another --out, or a smaller --keep"
                                                     : "free some space, or choose another --out",
             "checkpoints take %s, and %s are free at %s", need, room, out);
    }
    snprintf(parent, sizeof parent, "%s", out);
    while (access(parent, F_OK) && strrchr(parent, '/') > parent) *strrchr(parent, '/') = 0;
    if (access(parent, F_OK)) strcpy(parent, out[0] == '/' ? "/" : ".");
    if (!tt_is_dir(parent))
        find(d, TT_FATAL, "choose another --out", "%s is a file, and the run needs a folder there", parent);
    else if (access(parent, W_OK))
        find(d, TT_FATAL, "choose another --out", "%s cannot be written to", parent);
}

static void judge_data(struct tt_diagnosis *d)
{
    char change[160];
    if (d->epochs > 4) {
        snprintf(change, sizeof change, "more data, or --num-steps %lld for four times through",
                 (long long)(4 * (double)d->c->num_steps / d->epochs));
        find(d, TT_WARN, change, "the run goes %.1f times through the %lld sequences of the data", d->epochs,
             (long long)tt_data_samples(d->data, TT_TRAIN));
    }
    int64_t there = tt_data_samples(d->data, TT_VAL) / d->c->batch_size;
    if (d->c->val_interval > 0 && there > 0 && there < tt_validation_batches(d->c))
        find(d, TT_ADVICE, "a larger --val-fraction, or more --val-data",
             "validation asks for %lld batches, and the data have %lld", (long long)tt_validation_batches(d->c),
             (long long)there);
    if (!tt_data_learnable(d->data)) find(d, TT_WARN, "give --data", "random tokens: there is nothing to learn");
}

void tt_diagnose_judge_sizes(struct tt_diagnosis *d)
{
    if (d->note[0]) find(d, TT_ADVICE, "smaller heads: a larger --num-heads", "%s", d->note);
    if (d->note_fp8[0]) find(d, TT_ADVICE, "sizes that are multiples of 16", "%s", d->note_fp8);
    judge_memory(d);
    judge_others(d);
    judge_pinned(d);
    judge_disk(d);
    judge_data(d);
}

/* ---- speed ---- */

/* On a busy machine, finds only what holds even if other programs slowed the gathering by as much as they may have. */
static void judge_feeding(struct tt_diagnosis *d)
{
    double part = d->data_seconds / d->step.median, least = part / slowed(d);
    if (least < 0.5) return;
    find(d, least > 1 ? TT_WARN : TT_ADVICE,
         "token files instead of text, a faster disk (copy the data to a local one), or fewer, larger files",
         "data for a step take %.2f ms to gather, the step itself %.2f ms%s%s", 1e3 * d->data_seconds,
         1e3 * d->step.median, least > 1 ? ": the device would wait" : "", beside_others(d));
}

/* Libraries have fast kernels for the matrix units where rows begin at multiples of 16 bytes. Those of the logits
 * do, whatever the vocabulary's size is. */
static void judge_widths(struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    const struct {
        const char *option;
        int64_t n;
    } widths[] = {{"hidden-dim", c->hidden_dim}, {"ffn-dim", c->ffn_dim}};
    int64_t unit = c->precision == TT_FP32 ? 1 : c->precision == TT_TF32 ? 4 : 8;
    for (size_t i = 0; d->device.wave_width > 1 && i < sizeof widths / sizeof *widths; i++) {
        char change[64];
        long long wider = (widths[i].n + unit - 1) / unit * unit;
        snprintf(change, sizeof change, "--%s %lld", widths[i].option, wider);
        if (widths[i].n % unit)
            find(d, TT_ADVICE, change,
                 "%s = %lld is no multiple of %lld: its products in %s use slow kernels of the libraries",
                 widths[i].option, (long long)widths[i].n, (long long)unit, tt_precision_names[c->precision]);
    }
}

static void judge_batch(struct tt_diagnosis *d)
{
    char change[160], now[32], then[32], sure[64];
    if (d->sweet < 0) return;
    const struct tt_sweep_row *best = &d->rows[d->sweet];
    double gain = best->t.tokens_per_second / d->step.tokens_per_second, least = gain / slowed(d);
    bool busy = fmax(slowed(d), tt_diagnose_slowed(d, &best->t)) > 1;
    if (best->batch_size <= d->c->batch_size || least < 1.1) return;
    int64_t times = best->batch_size / d->c->batch_size;
    if (d->c->grad_accum % times == 0)
        snprintf(change, sizeof change, "--batch-size %lld --grad-accum %lld: the same training",
                 (long long)best->batch_size, (long long)(d->c->grad_accum / times));
    else
        snprintf(change, sizeof change,
                 "--batch-size %lld, with fewer --num-steps and perhaps a larger --learning-rate",
                 (long long)best->batch_size);
    tt_format_count(d->step.tokens_per_second, now);
    tt_format_count(best->t.tokens_per_second, then);
    find(d, TT_ADVICE, change, "batches of %lld give %s tokens/s, batches of %lld %s: %.2f times as many%s",
         (long long)d->c->batch_size, now, (long long)best->batch_size, then, gain, at_least(gain, least, busy, sure));
}

static void judge_validation(struct tt_diagnosis *d)
{
    double alone = d->validation_time / slowed(d);
    if (!(d->total_time > 0) || alone < 0.2 * (d->total_time - d->validation_time + alone)) return;
    find(d, TT_ADVICE, "a larger --val-interval, or fewer --val-batches",
         "validation takes %.0f %% of the time (%.2f s each)%s", 100 * d->validation_time / d->total_time,
         d->validation_seconds, beside_others(d));
}

/* A timed checkpoint stays until the next one is written, so for a moment there are two. */
static void judge_saving(struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    bool timed = c->out[0] && c->save_interval == 0 && c->save_minutes > 0 && d->total_time > 60 * c->save_minutes;
    if (!timed || d->disk_free < 0 || 2 * d->checkpoint_bytes <= d->disk_free) return;
    find(d, TT_WARN, "free some space, or --save-minutes 0",
         "%s has room for one checkpoint, and a run of this length saves on the way: the last one would not fit",
         c->out);
}

static void judge_spread(struct tt_diagnosis *d)
{
    char busy[100], others[80];
    tt_usage_others_words(d->others, others);
    if (others[0]) find(d, TT_ADVICE, "see which: nvidia-smi or rocm-smi", "%s", others);
    tt_was_busy_words(d->load, d->step.waited, busy);
    if (busy[0])
        find(d, TT_ADVICE, "measure again when it is quiet", "%s", busy);
    else if (d->step.steps >= 5 && d->step.slow > 1.5 * d->step.median)
        find(d, TT_ADVICE, "see what else runs here",
             "steps vary: the median is %.2f ms, one in twenty takes more than %.2f ms", 1e3 * d->step.median,
             1e3 * d->step.slow);
}

/* ---- several ranks ---- */

void tt_diagnose_judge_ranks(struct tt_diagnosis *d)
{
    const struct tt_rank_diagnosis *r = &d->ranks;
    const struct tt_link_pair *slow = &r->links.slowest, *fast = &r->links.fastest;
    if (!d->member.job) return;
    if (r->exposed / slowed(d) > 0.2 * (r->own + r->exposed / slowed(d)))
        find(d, TT_ADVICE, d->c->shard == TT_SHARD_WEIGHTS ? "more --grad-accum or --batch-size, or --shard gradients"
                                                           : "more --grad-accum or --batch-size: the same bytes for "
                                                             "more computing",
             "communication would be exposed for %.2f ms of a step, whose kernels take %.2f ms%s", 1e3 * r->exposed,
             1e3 * r->own, beside_others(d));
    if (r->links.pairs > 1 && slow->bytes_per_second * slowed(d) < 0.5 * fast->bytes_per_second)
        find(d, TT_ADVICE, "look at what lies between them (nvidia-smi topo -m, rocm-smi --showtopo, the network)",
             "ranks %d and %d exchange %.3g GB/s, ranks %d and %d %.3g%s", slow->a, slow->b,
             slow->bytes_per_second / 1e9, fast->a, fast->b, fast->bytes_per_second / 1e9, beside_others(d));
}

/* ---- another run ---- */

void tt_diagnose_judge_instead(struct tt_diagnosis *d, const struct tt_timing *t, const char *change)
{
    char sure[64];
    double gain = d->step.median / t->median, least = gain / slowed(d);
    bool busy = fmax(slowed(d), tt_diagnose_slowed(d, t)) > 1;
    if (least > 1.1)
        find(d, TT_ADVICE, change, "a step takes %.2f ms, and with this change %.2f ms: %.2f times as fast%s",
             1e3 * d->step.median, 1e3 * t->median, gain, at_least(gain, least, busy, sure));
}

/* Tries another version or precision. */
static tt_status try_instead(struct tt_diagnosis *d, const struct tt_config *c, const char *change)
{
    struct tt_timing t;
    TT_TRY(tt_time_steps(d, c, 10, 1.5, &t));
    tt_diagnose_judge_instead(d, &t, change);
    return TT_OK;
}

static tt_status judge_alternatives(struct tt_diagnosis *d)
{
    struct tt_config *c = &d->trial;
    if (d->own->quick) return TT_OK;
    *c = *d->c;
    c->version = TT_FLASH;
    if (d->c->version != TT_FLASH && !c->fuse[0]) TT_TRY(try_instead(d, c, "--version flash"));
    *c = *d->c;
    c->precision = TT_PREC_BF16;
    bool wider = d->c->precision == TT_FP32 || d->c->precision == TT_TF32;
    return wider && d->device.has[TT_PREC_BF16] ? try_instead(d, c, "--precision bf16 (master weights stay fp32)")
                                                : TT_OK;
}

tt_status tt_diagnose_judge_speed(struct tt_diagnosis *d)
{
    judge_feeding(d);
    judge_widths(d);
    judge_batch(d);
    judge_validation(d);
    judge_saving(d);
    judge_spread(d);
    return judge_alternatives(d);
}
