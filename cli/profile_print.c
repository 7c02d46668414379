#include "cli/profile_print.h"

#include <math.h>
#include <stdio.h>

#include "core/base/format.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "profiling/profile_write.h"
#include "profiling/report/advice.h"

static void print_remark(const struct tt_profile *p, void (*of)(const struct tt_profile *, char *))
{
    char words[400];
    of(p, words);
    if (words[0]) printf("note    %s\n", words);
}

static void print_rows(const struct tt_profile *p)
{
    printf("\n%-18s %6s %10s %7s %9s %9s %8s %7s  %s\n", "group", "ops", "ms", "share", "FLOP/B", "TFLOP/s", "TB/s",
           "roof %", "bound by");
    for (int i = 0; i < p->groups_count; i++) {
        const struct tt_profile_row *r = &p->groups[i];
        printf("%-18s %6lld %10.3f %6.1f%%", r->name, (long long)r->count, 1e3 * r->seconds, 100 * r->share);
        if (isfinite(r->roof_percent))
            printf(" %9.2f %9.4g %8.3g %7.1f  %s\n", r->intensity, r->flops_per_second / 1e12,
                   r->bytes_per_second / 1e12, r->roof_percent, r->bound);
        else
            putchar('\n');
    }
    print_remark(p, tt_rows_remark);
}

static void print_phases(const struct tt_profile *p)
{
    printf("\n%-18s %6s %10s %10s\n", "phase", "ops", "wall ms", "device ms");
    for (int i = 0; i < p->phases_count; i++)
        printf("%-18s %6lld %10.3f %10.3f\n", p->phases[i].name, (long long)p->phases[i].kernels,
               1e3 * p->phases[i].wall, 1e3 * p->phases[i].device);
    print_remark(p, tt_phase_remark);
}

/* ---- several ranks ---- */

static void print_collectives(const struct tt_profile *p)
{
    if (!p->job.ranks) return;
    printf("\n%-15s %-5s %5s %12s %10s %10s %10s %10s %11s\n", "collective", "type", "ops", "bytes", "sent MiB", "ms",
           "hidden ms", "exposed ms", "busbw GB/s");
    for (int i = 0; i < p->collectives_count; i++) {
        const struct tt_profile_collective *c = &p->collectives[i];
        printf("%-15s %-5s %5lld %12.0f %10.3f %10.3f %10.3f %10.3f %11.3f\n", c->name, c->type, (long long)c->count,
               c->bytes, c->sent_bytes / 0x1p20, 1e3 * c->seconds, 1e3 * c->hidden, 1e3 * c->exposed,
               c->bus_bandwidth / 1e9);
    }
}

static void print_ranks(const struct tt_profile *p)
{
    if (!p->job.ranks) return;
    printf("\n%-5s %-24s %10s %10s %10s %10s %10s %10s\n", "rank", "host", "step ms", "p95 ms", "own ms", "comm. ms",
           "hidden ms", "exposed ms");
    for (int i = 0; i < p->ranks_count; i++) {
        const struct tt_profile_rank *r = &p->ranks[i];
        printf("%-5lld %-24.24s %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f%s\n", (long long)r->rank, r->host,
               1e3 * r->seconds, 1e3 * r->p95, 1e3 * r->own_seconds, 1e3 * r->communication, 1e3 * r->hidden,
               1e3 * r->exposed, i == p->job.slowest ? "  slowest" : "");
    }
}

/* Steps of all ranks take the same time: the slowest is the one that computes for longest, and the others wait. */
static void print_job(const struct tt_profile *p)
{
    const struct tt_profile_job *j = &p->job;
    if (!j->ranks) return;
    printf("ranks   %lld by %s through %s; shard %s; a rank sends %.2f MiB in a step\n", (long long)j->ranks,
           j->starter, j->collectives, j->shard, j->sent_bytes / 0x1p20);
    printf("comm.   %.3f ms on rank 0: %.3f ms hidden behind computation, %.3f ms exposed", 1e3 * j->communication,
           1e3 * j->hidden, 1e3 * j->exposed);
    if (j->exposed <= p->step.seconds)
        printf(" (%.1f %% of the step)\n", 100 * j->exposed / p->step.seconds);
    else
        puts(" in the recorded steps: longer than a whole step, so noise");
    printf("slowest rank %lld (%s): it computes for %.1f %% longer in a step than the ranks do on average\n",
           (long long)j->slowest, p->ranks[j->slowest].host, j->slowest_percent);
}

/* The step, and what ran in it that a reader would not expect. Brief: no note on a busy machine follows. */
static void print_step(const struct tt_profile *p, bool brief)
{
    const struct tt_profile_step *s = &p->step;
    bool busy = brief && tt_step_busy(p);
    printf("step    %.3f ms (%s %s %s, %lld x %lld tokens, %lld operations%s), %.2f samples/s, %.0f tokens/s%s\n",
           1e3 * s->seconds, p->run.preset, p->run.version, p->run.precision,
           (long long)(p->run.batch_size * p->run.grad_accum * (p->job.ranks ? p->job.ranks : 1)),
           (long long)p->run.seq_len, (long long)s->kernels,
           p->run.graph ? ", graph" : "", s->samples_per_second, s->tokens_per_second,
           busy ? " (busy machine)" : "");
    if (p->run.own_kernel[0])
        printf("kernel  residual_norm of %s (SHA-256 %s...) replaces rmsnorm; it %s\n", p->run.own_kernel,
               p->run.own_kernel_sha, p->run.own_kernel_scratch ? "writes to scratch" : "leaves scratch alone");
    print_remark(p, tt_attention_remark);
}

static void print_head(const struct tt_profile *p)
{
    const struct tt_profile_step *s = &p->step;
    const struct tt_profile_efficiency *e = &p->efficiency;
    const struct tt_profile_launch *l = &p->launch;
    char measured[32], predicted[32], gaps[100], recording[TT_RECORDING_WORDS];
    tt_format_bytes(p->memory.measured_bytes, measured);
    tt_format_bytes(p->memory.predicted_bytes, predicted);
    printf("device  %s: %s; %s\n", p->run.backend, p->run.device, p->run.library);
    print_step(p, false);
    print_remark(p, tt_busy_remark);
    printf("sums    kernels %.3f ms; gaps: %s\n", 1e3 * s->kernel_seconds, tt_gap_words(p, gaps));
    print_remark(p, tt_gap_remark);
    printf("launch  %.2f us each, %.3f ms per step; recording cost %.2f us per operation, the recorded step took %s\n",
           1e6 * l->launch_seconds, 1e3 * l->total_seconds, 1e6 * l->event_seconds, tt_recording_words(p, recording));
    printf("MFU     %.1f %% of %.4g TFLOP/s measured: %s", e->mfu_percent, e->gemm_flops_per_second / 1e12,
           e->mfu_class);
    if (isfinite(e->mfu_datasheet_percent)) printf("; %.1f %% of the datasheet", e->mfu_datasheet_percent);
    putchar('\n');
    print_remark(p, tt_roof_remark);
    print_job(p);
    printf("memory  %s, predicted %s; most activations in the %s pass\n", measured, predicted, p->memory.peak_phase);
}

tt_status tt_profile_print_json(const struct tt_profile *p)
{
    static const char *const keys[] = {"run", "step", "launch", "efficiency", "memory", "phases", "groups"};
    static const char *const of_ranks[] = {"job", "collectives", "ranks"};
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) tt_profile_put(&w, p, keys[i]);
    for (size_t i = 0; p->job.ranks && i < sizeof of_ranks / sizeof *of_ranks; i++) tt_profile_put(&w, p, of_ranks[i]);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

void tt_profile_print(const struct tt_profile *p, bool brief)
{
    if (brief) {
        print_step(p, true);
        return;
    }
    print_head(p);
    print_rows(p);
    print_phases(p);
    print_collectives(p);
    print_ranks(p);
}
