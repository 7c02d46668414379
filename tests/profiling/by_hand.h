/* A profile made by hand, and a folder for the output from it. */
#ifndef TT_BY_HAND_H
#define TT_BY_HAND_H

#include <unistd.h>

#include "core/base/file.h"
#include "profiling/profile.h"
#include "tests/profiling/markup.h"
#include "tests/test.h"

static char folder[] = "/tmp/tt_report_XXXXXX";

static inline const char *in(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void well_formed(const char *page, const char *what)
{
    const char *fault = markup_fault(page, NULL);
    CHECK(!fault[0], "%s: %s", what, fault);
}

/* ---- a profile by hand: 10 ms per step, half of it in attention that stores S x S scores ---- */

static inline void add_group(struct tt_profile *p, const char *name, double ms)
{
    struct tt_profile_row *g = &p->groups[p->groups_count++], *op = &p->operators[p->operators_count++];
    *g = (struct tt_profile_row){.count = 4,
                                 .seconds = 1e-3 * ms,
                                 .median = 0.25e-3 * ms,
                                 .share = ms / 10,
                                 .flops = 1e9 * ms,
                                 .bytes = 1e8,
                                 .intensity = 10 * ms,
                                 .flops_per_second = 1e12,
                                 .bytes_per_second = 1e11 / ms,
                                 .roof_percent = 40,
                                 .bound = "memory"};
    snprintf(g->name, sizeof g->name, "%s", name);
    snprintf(g->group, sizeof g->group, "%s", name);
    *op = *g;
    snprintf(op->name, sizeof op->name, "%s", strcmp(name, "attention_softmax") ? "gemm" : "softmax");
    snprintf(op->shape, sizeof op->shape, "%s", strcmp(name, "attention_softmax") ? "64x64x64" : "");
    strcpy(op->phase, "forward");
}

static inline struct tt_profile by_hand(double scale)
{
    struct tt_profile p = {0};
    p.groups = calloc(8, sizeof *p.groups);
    p.operators = calloc(8, sizeof *p.operators);
    p.samples = calloc(20, sizeof *p.samples);
    p.gradients = calloc(3, sizeof *p.gradients);
    p.memory_kinds = calloc(2, sizeof *p.memory_kinds);
    p.events = calloc(3, sizeof *p.events);
    p.phases = calloc(1, sizeof *p.phases);
    p.sweeps = calloc(2, sizeof *p.sweeps);
    strcpy(p.run.source, "tt profile");
    strcpy(p.run.device, "<GPU> & \"friends\"");
    strcpy(p.run.version, "baseline");
    strcpy(p.run.precision, "fp32");
    strcpy(p.run.backend, "cuda");
    strcpy(p.run.data, "random");
    p.run.steps = 10;
    p.run.waited = p.run.recorded_waited = NAN;
    p.run.num_layers = 2;
    p.run.batch_size = 8;
    p.run.seq_len = 128;
    add_group(&p, "qkv_projection", 2);
    add_group(&p, "attention_scores", 2);
    add_group(&p, "attention_softmax", 3);
    add_group(&p, "swiglu_gate_up", 2);
    p.groups[p.groups_count] = (struct tt_profile_row){.name = "gaps",
                                                       .group = "gaps",
                                                       .seconds = 1e-3,
                                                       .share = 0.1,
                                                       .median = NAN,
                                                       .flops = NAN,
                                                       .bytes = NAN,
                                                       .intensity = NAN,
                                                       .flops_per_second = NAN,
                                                       .bytes_per_second = NAN,
                                                       .roof_percent = NAN};
    p.groups_count++;
    for (int i = 0; i < 4; i++) p.operators[i].seconds *= scale, p.groups[i].seconds *= scale;
    p.step = (struct tt_profile_step){.seconds = 10e-3 * scale,
                                      .mean = 10e-3 * scale,
                                      .kernel_seconds = 9e-3 * scale,
                                      .gap_seconds = 1e-3,
                                      .tokens_per_second = 102400 / scale,
                                      .samples_per_second = 800 / scale,
                                      .kernels = 40,
                                      .loss = 4,
                                      .grad_norm = 1,
                                      .peak_memory_bytes = 1e9,
                                      .p95 = NAN,
                                      .fastest = NAN,
                                      .wall_seconds = NAN};
    p.efficiency.mfu_percent = 30;
    strcpy(p.efficiency.mfu_class, "moderate");
    p.efficiency.gemm_flops_per_second = 5e12;
    p.efficiency.copy_bytes_per_second = 1e12;
    p.efficiency.datasheet_flops_per_second = NAN;
    p.launch.launch_seconds = 5e-6;
    p.memory = (struct tt_profile_memory){.predicted_bytes = 1e9,
                                          .measured_bytes = 1e9,
                                          .arena_bytes = 8e8,
                                          .live_bytes = 8e8,
                                          .device_free_bytes = 1.1e9,
                                          .peak_phase = "backward",
                                          .peak_operation = "softmax_backward",
                                          .peak_layer = 1};
    p.memory_kinds[p.memory_kinds_count++] = (struct tt_profile_memory_kind){"activations", 8e8, 8e8};
    p.memory_kinds[p.memory_kinds_count++] = (struct tt_profile_memory_kind){"workspace", NAN, 1e8};
    p.sweeps[p.sweeps_count++] = (struct tt_profile_sweep){"batch", 8, 1e9, 8e8, 1e9, 1e-2};
    p.sweeps[p.sweeps_count++] = (struct tt_profile_sweep){"batch", 16, 1.8e9, 1.6e9, NAN, NAN};
    p.phases[p.phases_count++] = (struct tt_profile_phase){"forward", 40, 9e-3, 1e-3, 8e-3, 1e9, 1e8};
    p.events[p.events_count++] =
        (struct tt_profile_event){"compute", "gemm", "kernel", "qkv_projection", 0, 0, 0, 2e-3, 0};
    p.events[p.events_count++] =
        (struct tt_profile_event){"compute", "softmax", "kernel", "attention_softmax", 0, 0, 2e-3, 3e-3, 0};
    for (int i = 0; i < 20; i++)
        p.samples[p.samples_count++] =
            (struct tt_profile_sample){i + 1, 10e-3 * scale * (1 + 0.01 * (i % 3 - 1)), 4 - 0.01 * i, 1};
    for (int i = 0; i < 3; i++) {
        p.gradients[i] = (struct tt_profile_gradient){.count = 100, .norm = 1 + i, .first_norm = 1 + i};
        snprintf(p.gradients[i].name, sizeof p.gradients[i].name, "layers.%d.weight", i);
    }
    p.gradients_count = 3;
    return p;
}

#endif
