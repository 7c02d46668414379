#include "profiling/report/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/load.h"
#include "profiling/report/svg.h"

const char *const tt_family_names[TT_FAMILIES] = {
    [TT_FAMILY_PROJECTION] = "QKV projections",
    [TT_FAMILY_FFN] = "feed-forward",
    [TT_FAMILY_HEAD] = "embedding, head and loss",
    [TT_FAMILY_OTHER] = "other",
    [TT_FAMILY_ATTENTION] = "attention",
    [TT_FAMILY_NORM] = "norms and residuals",
    [TT_FAMILY_COPY] = "copies",
    [TT_FAMILY_GAP] = "gaps",
    [TT_FAMILY_GEMM] = "matrix products",
    [TT_FAMILY_OPTIMIZER] = "clip and optimiser",
    [TT_FAMILY_COMMUNICATION] = "communication",
};

enum tt_family tt_family_of(const char *group)
{
    static const struct {
        const char *group;
        enum tt_family family;
    } families[] = {
        {"qkv_projection", TT_FAMILY_PROJECTION},
        {"swiglu_gate_up", TT_FAMILY_FFN},
        {"swiglu_activation", TT_FAMILY_FFN},
        {"swiglu_down", TT_FAMILY_FFN},
        {"embedding", TT_FAMILY_HEAD},
        {"loss_calculation", TT_FAMILY_HEAD},
        {"rope_embedding", TT_FAMILY_ATTENTION},
        {"attention_scores", TT_FAMILY_ATTENTION},
        {"attention_softmax", TT_FAMILY_ATTENTION},
        {"attention_output", TT_FAMILY_ATTENTION},
        {"rms_norm", TT_FAMILY_NORM},
        {"residual", TT_FAMILY_NORM},
        {"gradient_clip", TT_FAMILY_OPTIMIZER},
        {"optimizer", TT_FAMILY_OPTIMIZER},
        {"communication", TT_FAMILY_COMMUNICATION},
        {"copies", TT_FAMILY_COPY},
        {"gaps", TT_FAMILY_GAP},
        {"gemm", TT_FAMILY_GEMM},
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(group, families[i].group) == 0) return families[i].family;
    return TT_FAMILY_OTHER;
}

/* The family's share of the step, 0 to 1. */
static double family_share(const struct tt_profile *p, enum tt_family family)
{
    double sum = 0;
    for (int i = 0; i < p->groups_count; i++)
        if (tt_family_of(p->groups[i].name) == family && p->groups[i].share > 0) sum += p->groups[i].share;
    return sum;
}

static double group_share(const struct tt_profile *p, const char *name)
{
    for (int i = 0; i < p->groups_count; i++)
        if (strcmp(p->groups[i].name, name) == 0 && p->groups[i].share > 0) return p->groups[i].share;
    return 0;
}

/* ---- the headline ---- */

void tt_headline(const struct tt_profile *p, char out[400])
{
    enum tt_family order[TT_FAMILIES];
    double share[TT_FAMILIES];
    char time[32];
    int n = 0;
    for (int f = 0; f < TT_FAMILIES; f++) {
        share[f] = family_share(p, (enum tt_family)f);
        if (f == TT_FAMILY_GAP || share[f] < 0.005) continue;
        int at = n++;
        for (; at > 0 && share[order[at - 1]] < share[f]; at--) order[at] = order[at - 1];
        order[at] = (enum tt_family)f;
    }
    double seconds = isnan(p->step.seconds) ? p->step.kernel_seconds : p->step.seconds;
    size_t used =
        (size_t)snprintf(out, 400, "%s takes %s",
                         p->run.steps > 0 || strncmp(p->run.source, "tt", 2) == 0 ? "A step" : "What was recorded",
                         tt_si_time(seconds, time));
    for (int i = 0; i < n && i < 4 && used < 300; i++)
        used += (size_t)snprintf(out + used, 400 - used, "%s%.0f %% %s%s", i ? ", " : ": ", 100 * share[order[i]],
                                 i ? "" : "of it in ", tt_family_names[order[i]]);
    if (share[TT_FAMILY_GAP] >= 0.005 && used < 340)
        used += (size_t)snprintf(out + used, 400 - used, "; the device waits %.0f %%", 100 * share[TT_FAMILY_GAP]);
    snprintf(out + used, 400 - used, "%s.", n && tt_recorded_slowed(p) > 1 ? " (shares of disturbed steps)" : "");
}

/* ---- advice ---- */

struct list {
    const struct tt_profile *p;
    struct tt_advice *out;
    int n;
    bool own; /* a profile of tt, so its options can be advised; else an import from another profiler */
    const char *of_step, *of_recorded; /* the doubt added to a reason that follows from these steps' times, or "" */
};

/* The speed-up of the whole when a part of it, `share`, becomes `times` as fast. */
static double amdahl(double share, double times) { return 1 / (1 - share + share / times); }

static void add(struct list *l, double gain, const char *what, const char *doubt, const char *reason, va_list ap)
{
    if (l->n == TT_ADVICE_LIMIT) return;
    struct tt_advice *a = &l->out[l->n++];
    char words[sizeof a->reason - 32];
    vsnprintf(words, sizeof words, reason, ap);
    snprintf(a->what, sizeof a->what, "%s", what);
    snprintf(a->reason, sizeof a->reason, "%s%s", words, isfinite(gain) ? doubt : "");
    a->gain = gain;
}

/* Advice that follows from shares and roofs, which are of the recorded steps, or that is not about time. */
static void advise(struct list *l, double gain, const char *what, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));
static void advise(struct list *l, double gain, const char *what, const char *reason, ...)
{
    va_list ap;
    va_start(ap, reason);
    add(l, gain, what, l->of_recorded, reason, ap);
    va_end(ap);
}

/* Advice that follows from the time of undisturbed steps. */
static void advise_by_step(struct list *l, double gain, const char *what, const char *reason, ...)
    __attribute__((format(printf, 4, 5)));
static void advise_by_step(struct list *l, double gain, const char *what, const char *reason, ...)
{
    va_list ap;
    va_start(ap, reason);
    add(l, gain, what, l->of_step, reason, ap);
    va_end(ap);
}

static void about_gaps(struct list *l)
{
    const struct tt_profile *p = l->p;
    double gaps = family_share(p, TT_FAMILY_GAP);
    double between = tt_between_steps(p), one_by_one = p->step.launched_seconds;
    char launch[32];
    if (p->run.graph && p->step.seconds > 1.02 * one_by_one && one_by_one > 0) {
        advise_by_step(l, p->step.seconds / one_by_one,
                       "run no kernels at the same time (--fuse no-overlap), or use --graph off",
                       "as a graph the step takes %.1f %% longer than launched one by one",
                       100 * (p->step.seconds / one_by_one - 1));
        return;
    }
    if (gaps < 0.08) return;
    if (between > 0.5 * p->step.gap_seconds) {
        advise_by_step(
            l, amdahl(gaps, INFINITY), "let the host do less between steps: wait and copy less, validate less often",
            "the host works for %s between steps (phase other), and the device waits", tt_si_time(between, launch));
        return;
    }
    const char *what = !l->own ? "capture the step as a graph, or give each kernel more work: larger batches"
                       : p->run.graph || isnan(p->launch.graph_kernel_seconds)
                           ? "give each kernel more work: a larger --batch-size or --seq-len"
                       : strcmp(p->run.version, "baseline") == 0
                           ? "launch fewer kernels, and as a graph: --version fused"
                           : "capture the step as a graph (--graph on), or give kernels more work";
    advise_by_step(l, amdahl(gaps, INFINITY), what,
                   "the device waits %.0f %% of the step; %lld kernels a step, %s each to launch", 100 * gaps,
                   (long long)p->step.kernels, tt_si_time(p->launch.launch_seconds, launch));
}

static void about_attention(struct list *l)
{
    double share = group_share(l->p, "attention_scores") + group_share(l->p, "attention_softmax") +
                   group_share(l->p, "attention_output");
    double softmax = group_share(l->p, "attention_softmax");
    if (share < 0.1 || softmax == 0) return; /* without a softmax of its own, attention is computed in tiles already */
    advise(l, amdahl(share, INFINITY),
           l->own ? "compute attention in tiles, without S×S scores in memory: --version flash"
                  : "compute attention in tiles, without S×S scores in memory: flash attention",
           "scores, softmax and output take %.0f %% of the step, %.0f %% of that in softmax, which does little but "
           "read and write S×S scores",
           100 * share, 100 * softmax / share);
}

static void about_small_kernels(struct list *l)
{
    double share = family_share(l->p, TT_FAMILY_NORM) + group_share(l->p, "rope_embedding") +
                   group_share(l->p, "swiglu_activation");
    if (share < 0.1 || strcmp(l->p->run.version, "baseline") != 0) return;
    advise(l, amdahl(share, 2.5), "fuse the small kernels: --version fused",
           "norms, residuals, RoPE and SiLU take %.0f %% of the step; fused kernels read and write less than "
           "half the bytes",
           100 * share);
}

static void about_optimizer(struct list *l)
{
    double share = family_share(l->p, TT_FAMILY_OPTIMIZER);
    if (share < 0.12) return;
    bool baseline = strcmp(l->p->run.version, "baseline") == 0;
    advise(l, amdahl(share, baseline ? 3 : 2),
           !l->own    ? "update all parameters in one kernel, or give each update more tokens"
           : baseline ? "clip and update all parameters in one kernel: --fuse optimizer"
                      : "more tokens for each update: --grad-accum 2, or a larger --batch-size",
           "clipping and the optimiser take %.0f %% of the step; their time does not grow with the tokens",
           100 * share);
}

/* All versions but baseline have every fusion that is not switched off by name. */
static bool is_fused(const struct tt_profile_run *run, const char *name)
{
    char off[32];
    snprintf(off, sizeof off, "no-%s", name);
    return !strstr(run->fuse, off) && (strstr(run->fuse, name) || strcmp(run->version, "baseline") != 0);
}

/* Matrix products, judged by how much of their roof they reach. */
static void about_products(struct list *l)
{
    const struct tt_profile *p = l->p;
    double share = 0, reached = 0;
    for (int i = 0; i < p->operators_count; i++) {
        const struct tt_profile_row *r = &p->operators[i];
        if (strncmp(r->name, "gemm", 4) != 0 || !(r->share > 0) || isnan(r->roof_percent)) continue;
        share += r->share;
        reached += r->share * fmin(r->roof_percent, 100);
    }
    if (share < 0.1) return;
    reached /= share;
    bool fp32 = strcmp(p->run.precision, "fp32") == 0 && strcmp(p->run.backend, "cpu") != 0;
    if (fp32)
        advise(l, amdahl(share, 4), "multiply on matrix cores: --precision bf16 (or tf32)",
               "matrix products take %.0f %% of the step, in fp32", 100 * share);
    if (reached * tt_recorded_slowed(p) < 70)
        advise(l, amdahl(share, 100 / reached),
               !l->own ? "larger matrix products: larger batches, or several products as one"
               : is_fused(&p->run, "qkv") && is_fused(&p->run, "gate-up")
                   ? "larger matrix products: a larger --batch-size"
                   : "larger matrix products: a larger --batch-size, or fused projections (--fuse qkv,gate-up)",
               "matrix products take %.0f %% of the step and reach %.0f %% of their roof", 100 * share, reached);
}

static void about_data(struct list *l)
{
    if (l->own && !strcmp(l->p->run.data, "random")) return; /* these are not read from anywhere */
    for (int i = 0; i < l->p->phases_count; i++) {
        const struct tt_profile_phase *f = &l->p->phases[i];
        double share =
            strcmp(f->name, "data") == 0 && l->p->step.wall_seconds > 0 ? f->wall / l->p->step.wall_seconds : 0;
        if (share > 0.05)
            advise_by_step(l, amdahl(fmin(share, 0.99), INFINITY),
                           "read data faster: token files instead of text, on a local disk",
                           "the host spends %.0f %% of the step on data", 100 * share);
    }
}

static void about_copies(struct list *l)
{
    double share = family_share(l->p, TT_FAMILY_COPY);
    if (share < 0.05) return;
    advise(l, amdahl(share, INFINITY), "copy less, or while kernels run: with pinned memory and a separate stream",
           "copies take %.0f %% of what was recorded", 100 * share);
}

/* For several ranks of tt: the group communication has only what is exposed. */
static void about_communication(struct list *l)
{
    const struct tt_profile_job *j = &l->p->job;
    double share = family_share(l->p, TT_FAMILY_COMMUNICATION);
    if (!j->ranks || share < 0.08) return;
    bool gathers = strcmp(j->shard, "weights") == 0;
    advise(l, amdahl(share, INFINITY),
           gathers ? "compute more for each byte sent: a larger --grad-accum or --batch-size, or --shard gradients"
                   : "compute more for each byte sent: a larger --grad-accum or --batch-size",
           "waiting for other ranks takes %.0f %% of the step; %.0f %% of the communication is hidden, and the "
           "slowest rank computes for %.0f %% longer than the ranks do on average",
           100 * share, 100 * j->hidden / j->communication, j->slowest_percent);
}

static double memory_of(const struct tt_profile *p, const char *kind)
{
    for (int i = 0; i < p->memory_kinds_count; i++)
        if (strcmp(p->memory_kinds[i].kind, kind) == 0) return p->memory_kinds[i].predicted;
    return 0;
}

static void about_memory(struct list *l)
{
    const struct tt_profile *p = l->p;
    double all = p->memory.predicted_bytes, activations = memory_of(p, "activations") / all,
           logits = memory_of(p, "logits") / all;
    char free_text[32];
    if (logits > 0.2)
        advise(l, NAN, "never hold all logits in memory: --fuse head (--version flash has it)",
               "logits are %.0f %% of the memory", 100 * logits);
    if (activations > 0.6 && strcmp(p->run.recompute, "none") == 0)
        advise(l, NAN, "if memory is short: --recompute attention, or block", "activations are %.0f %% of the memory",
               100 * activations);
    if (p->memory.device_free_bytes > 4 * p->memory.measured_bytes && strcmp(p->run.backend, "cpu") != 0)
        advise(l, NAN, "a larger --batch-size fits",
               "%s of the device's memory were free before the run, which took less than a quarter of that",
               tt_si_bytes(p->memory.device_free_bytes, free_text));
}

static void about_gradients(struct list *l)
{
    int empty = 0;
    for (int i = 0; i < l->p->gradients_count; i++)
        empty += l->p->gradients[i].zeros == l->p->gradients[i].count || l->p->gradients[i].nonfinite > 0;
    if (empty)
        advise(l, INFINITY, "first of all, look at the gradients: tt check grads",
               "%d of %d tensors got no gradient or one that is not finite; until that is mended, speed means nothing",
               empty,
               l->p->gradients_count);
}

/* The largest gain first; advice without a gain last. */
static int most_first(const void *x, const void *y)
{
    double a = ((const struct tt_advice *)x)->gain, b = ((const struct tt_advice *)y)->gain;
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return a > b ? -1 : a < b;
}

/* Comes before all other advice, which it puts in doubt, and after missing gradients. */
static void about_the_machine(struct list *l)
{
    char busy[120], recorded[120];
    tt_step_busy_words(l->p, busy);
    tt_recorded_words(l->p, recorded);
    if (!busy[0] && !recorded[0]) return;
    if (l->n == TT_ADVICE_LIMIT) l->n--;
    if (busy[0] && (recorded[0] || !tt_host_computes(l->p)))
        advise(l, NAN, "measure again when the machine is quiet", "%s, so advice that follows from times may be wrong",
               busy);
    else if (busy[0])
        advise(l, NAN, "measure again when the machine is quiet",
               "%s when the step was timed, so its time may be too long; shares and roofs come from steps that were "
               "not disturbed",
               busy);
    else
        advise(l, NAN, "measure again when the machine is quiet",
               "%s; shares, roof %% and the times of operators come from the recorded steps", recorded);
    struct tt_advice last = l->out[l->n - 1];
    int at = l->n - 1;
    for (; at > 0 && !isinf(l->out[at - 1].gain); at--) l->out[at] = l->out[at - 1];
    l->out[at] = last;
}

static const char *doubt_of_recorded(const struct tt_profile *p)
{
    return tt_recorded_busy(p) ? " (busy machine)" : tt_recorded_slowed(p) > 1 ? " (from disturbed steps)" : "";
}

int tt_advise(const struct tt_profile *p, struct tt_advice out[TT_ADVICE_LIMIT])
{
    struct list l = {
        p, out, 0, p->run.version[0] != 0, tt_step_slowed(p) > 1 ? " (busy machine)" : "", doubt_of_recorded(p)};
    about_gradients(&l);
    about_gaps(&l);
    about_attention(&l);
    about_small_kernels(&l);
    about_optimizer(&l);
    about_products(&l);
    about_data(&l);
    about_copies(&l);
    about_communication(&l);
    about_memory(&l);
    qsort(out, (size_t)l.n, sizeof *out, most_first);
    about_the_machine(&l);
    return l.n;
}
