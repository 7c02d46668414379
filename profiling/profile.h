/* A profile: where the time and the memory of a training step went. `tt profile` measures one and writes it as a
 * folder; reports, comparisons and exercises read it back from there.
 *
 * profile.json holds all of it and is described by one table (profile_json.c), from which the writer and the reader
 * come:
 * each field below is a key of the same name, each struct an object, each list an array. Seconds, bytes, FLOP/s and
 * bytes/s throughout; a figure that is not available is NaN here, null in JSON and n/a in a text. A time "per step" is
 * the median over the measured steps. */
#ifndef TT_PROFILE_H
#define TT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

/* "schema" in profile.json. A reader refuses a larger one; keys may be added without a new number. */
enum { TT_PROFILE_SCHEMA = 1 };

struct tt_profile_run {
    char created[32]; /* 2025-01-31T12:00:00Z */
    char tt[32];      /* version of the program */
    char build[48];   /* its tt_build_id, or "" */
    char source[32];  /* "tt profile"; an importer writes the tool's name */
    char scope[400];  /* which part of a recording the figures are of; "": what tt profile measured */
    char backend[16], device[128], arch[32], library[128];
    char preset[32], version[16], fuse[256], precision[16], recompute[16], data[128];
    char flash_tile[24]; /* --flash-tile: "256x64", or "" where it was not given */
    char fault[24];   /* --fault: its name, "hidden", or "" */
    char fault_seed[24]; /* the SEED of a hidden one, or "" */
    /* --own-kernel: the file's name and the first 16 digits of its SHA-256, or "". */
    char own_kernel[64], own_kernel_sha[20];
    bool own_kernel_scratch; /* it wrote into its scratch: several passes */
    int64_t hidden_dim, num_layers, num_heads, num_kv_heads, head_dim, ffn_dim, vocab_size;
    int64_t seq_len, batch_size, grad_accum, seed, parameters;
    int64_t steps, warmup; /* measured, and before them; steps is 0 where an import cannot tell */
    double load;           /* of the machine before it began: processes that want to run, per processor */
    double waited;         /* in the undisturbed steps: what part of their time threads waited for a processor */
    double recorded_waited; /* the same in the steps with an event after each operation: of shares, roofs and bounds */
    double interrupted;    /* of a device: how many times the medians of their kinds its operations took */
    bool tie_embeddings, qkv_bias, qk_norm;
    char rope_scaling[288]; /* --rope-scaling, or "" */
    char documents[16];     /* --documents; "": not known */
    char fp8[16];           /* tt_fp8_words, or "" in another precision */
    char update[128];       /* --update and what goes with it: "all", "top-k share 0.1"; "": not known */
    bool graph;            /* the step was captured and replayed */
    bool prefetch;         /* batches were gathered ahead of time */
    bool flash_refused;    /* the heads are too large for this device's flash attention; the fused one ran */
};

/* The step as a whole, undisturbed: no event but one at its end. */
struct tt_profile_step {
    double seconds, p95, fastest, mean, deviation; /* as configured; deviation: of a sample, of single steps */
    double launched_seconds;  /* without a graph; the same as seconds where there is none */
    double wall_seconds;      /* of the host: all measured steps by the clock, over their number */
    double kernel_seconds;    /* sum of the operators: median over the steps with an event after each operation */
    /* Seconds - kernel_seconds (and copies where they are not beside it); where the host computes, without what only
     * noise explains. Below 0: the sum is larger. */
    double gap_seconds;
    double gap_fraction;      /* its share among the groups; below 0: gap_seconds / seconds */
    double samples_per_second, tokens_per_second;
    int64_t kernels;          /* per step */
    double loss, grad_norm;   /* of the last step */
    double peak_memory_bytes; /* through the backend */
};

/* What measuring costs, and what starting a kernel costs. */
struct tt_profile_launch {
    double event_seconds;        /* added to an operation by the event after it; subtracted from the times below */
    double recorded_seconds;     /* the step with an event after each operation */
    double recorded_overhead;    /* recorded_seconds / launched_seconds - 1 */
    double launch_seconds;       /* host: to enqueue an empty kernel */
    double empty_kernel_seconds; /* device: an empty kernel among empty kernels */
    double graph_replay_seconds; /* host: to enqueue a graph of as many empty kernels; NaN: none */
    double graph_kernel_seconds; /* device: an empty kernel in a graph of them; NaN: none */
    double total_seconds;        /* kernels per step x launch_seconds */
    double idle_seconds;         /* launched_seconds - kernel_seconds: the device waits; 0 where the host computes */
    double waits;                /* host waits per step: stream_sync, event_sync, event_elapsed */
};

/* An operator (all operations of a step with the same kernel, shape, group and phase) or a group. */
struct tt_profile_row {
    char name[48];  /* "gemm", "flash_backward"; of a group its name, or "copies", "gaps" */
    char shape[64]; /* of a GEMM, "1024x512x2048" or "32x(128x128x64)"; else "" */
    char group[32], phase[32]; /* as in backend/kernels.h and core/plan/plan.h; phase of a group: "" */
    int64_t count;             /* per step */
    /* Per step: medians of its operations, scaled so that all operators add up to kernel_seconds. Of what ranks do
     * together, only what is exposed: the rest is beside other operators, and is among the collectives. */
    double seconds;
    double median;             /* of one launch, as measured */
    /* Of the host, per step, to enqueue them, in the traced steps; NaN where the host computes them itself, or where
     * that is not known. */
    double host_seconds;
    /* Of the sum of all groups: those of groups add up to 1, and so do those of operators, "copies" and "gaps". */
    double share;
    double flops, bytes;       /* per step, from backend/kernels.def */
    double intensity;          /* flops / bytes */
    double flops_per_second, bytes_per_second;
    double roof_percent;       /* of what the roofs allow at this intensity; above 100: caches, or too low a roof */
    char bound[16];            /* "memory", "compute", "latency", "uncertain" (bound.h), "launch", "link" of what ranks
                                * do together, "" */
};

/* data, forward, backward, optimizer, other. */
struct tt_profile_phase {
    char name[32];
    int64_t kernels;
    double wall;   /* from its first to its last operation on the device's clock, launched one by one; data: host */
    double host;   /* the host was busy enqueueing it */
    double device; /* sum of its kernels; data: the copies */
    double flops, bytes;
};

struct tt_profile_efficiency {
    /* exact: 2 per multiply-add of the matrix products of the mathematics; the backward pass twice the forward */
    double forward_flops, backward_flops, step_flops;                /* causal attention: the half that is needed */
    double forward_flops_full, backward_flops_full, step_flops_full; /* all of S x S */
    double flops_per_parameter, flops_per_parameter_full;
    double plan_flops, plan_bytes; /* what the kernels do, with norms, softmax, recomputation, optimiser */
    double intensity;              /* plan_flops / plan_bytes */
    double flops_per_second;       /* step_flops / step.seconds */
    double bytes_per_second;       /* plan_bytes / step.seconds */
    double gemm_flops_per_second, datasheet_flops_per_second;   /* NaN: not published */
    double copy_bytes_per_second, datasheet_bytes_per_second;
    double mfu_percent, mfu_datasheet_percent;           /* step_flops / seconds over those */
    double mfu_full_percent, mfu_full_datasheet_percent; /* step_flops_full */
    double bandwidth_percent;                            /* bytes_per_second over copy_bytes_per_second */
    double ridge, ridge_datasheet;                       /* FLOP/byte where the roofs meet */
    char mfu_class[48];  /* of mfu_percent, below 20, 40, to 60, above: "low", "moderate", "good", "high" */
    char bound[16];      /* of the whole step, as of a row */
    char roofs_measured[32]; /* when the two rates were, as run.created; "": not known */
    bool roofs_kept;         /* by an earlier run */
    bool roofs_earlier;      /* measured by this run, but a higher rate of an earlier one is kept */
    /* How far the median of their samples fell short of the best, 0 to 1, and run.load when they were measured. */
    double gemm_spread, copy_spread, roofs_load;
    double roofs_waited; /* where the host computes, what part of their time threads waited meanwhile */
};

struct tt_profile_roof {
    char name[48];
    char kind[16];   /* "compute": FLOP/s; "memory": bytes/s */
    char source[16]; /* "measured", "datasheet" */
    double rate;
};

struct tt_profile_point {
    char name[128];
    char kind[16]; /* "operator", "group", "step" */
    double intensity, flops_per_second, seconds;
    double roof;   /* FLOP/s that the measured roofs allow there */
};

/* ---- memory ---- */

struct tt_profile_memory {
    double predicted_bytes, measured_bytes; /* of the device, by the plan; peak through the backend */
    double arena_bytes;                     /* room for the activations, and */
    double live_bytes;                      /* most that live at once */
    double device_total_bytes, device_free_bytes; /* free: before anything was allocated */
    double process_bytes;                   /* peak of the process on the host */
    char peak_phase[32], peak_operation[48];
    int64_t peak_layer;                     /* -1: outside the layers */
};

struct tt_profile_memory_kind {
    char kind[32];     /* "weights", "gradients", …; of the arena when most is alive "logits" and the other
                        * "activations"; "workspace", "graph pool" */
    double predicted;  /* NaN: the plan knows nothing of it */
    double measured;   /* NaN: not told apart by the device */
};

/* The activations of one name in one layer. */
struct tt_profile_activation {
    char name[48];
    char kind[32];         /* the group of the operation that writes it first */
    int64_t layer;         /* -1: outside the layers */
    int64_t count;         /* buffers */
    double bytes;          /* their sum, as if nothing shared */
    double peak_bytes;     /* of them alive when most is alive */
    int64_t first, last;   /* operations */
};

struct tt_profile_memory_phase {
    char name[32];
    double peak_bytes; /* activations alive at most in it */
};

struct tt_profile_sweep {
    char axis[16]; /* "batch", "seq" */
    int64_t value;
    double predicted, activations; /* bytes: all; activations alone */
    double measured;               /* NaN: not run */
    double seconds;                /* of a step; NaN: not run */
};

/* ---- parts, steps, gradients, events ---- */

/* embedding, block (the mean of the layers), block attention, block ffn, block norms, head + loss, forward, forward +
 * backward, full step (with its gaps; where the kernels add up to more than the step, what they add up to). */
struct tt_profile_component {
    char name[32];
    int64_t kernels;
    double forward, backward, seconds; /* of one such; backward NaN where there is none */
    double share;                      /* seconds over those of the full step */
    double flops, bytes;
};

struct tt_profile_sample {
    int64_t step;
    double seconds; /* NaN: not timed */
    double loss, grad_norm;
};

struct tt_profile_gradient {
    char name[96];
    int64_t count, zeros, nonfinite;
    double norm;       /* before clipping, without the loss scale; NaN when nonfinite */
    double first_norm; /* so too, in the first step, from the weights the run began with; NaN: not known */
};

struct tt_profile_event {
    char track[16]; /* "host", "copy", "compute", "communication" */
    char name[64];
    /* "step", "phase", "layer", "kernel", "copy", "collective"; of the host also "range", "launch", "wait" */
    char kind[16];
    char group[32];
    int64_t step, layer;
    double start, seconds; /* start: since the first traced step began */
    int64_t rank;          /* only in rank_events */
};

/* ---- several ranks: all of this is empty, and not in profile.json, where there is one ---- */

/* The tables above are those of rank 0. A collective's time has in it the waiting for ranks that come later. */
struct tt_profile_job {
    int64_t ranks;
    char shard[16], starter[32], collectives[64]; /* --shard; who started them; who carries collectives */
    double sent_bytes;                            /* by each rank, in a step */
    double communication, hidden, exposed;        /* seconds of a step of rank 0: the first is the sum of the others */
    int64_t slowest;                              /* the rank whose own seconds are most */
    double slowest_percent;                       /* by which they are above the mean of all */
    char clocks[160];                             /* how the times of ranks in the trace were brought together */
};

/* All collectives of a step of the same kind, size and phase. */
struct tt_profile_collective {
    char name[32], type[8], phase[32]; /* "all_reduce"; of its elements; as in operators */
    int64_t count, elements;           /* of them in a step; of each, all parts */
    double bytes, sent_bytes;          /* of each, all parts; that a rank sends in a step in all of them */
    double seconds;                    /* in a step, on the stream of communication: hidden + exposed */
    double hidden, exposed;            /* beside operations that compute; while these wait */
    double fastest;                    /* seconds of one, on the rank that waits least for the others */
    double algorithm_bandwidth, bus_bandwidth; /* bytes / fastest, and what a rank sends of one / fastest */
};

struct tt_profile_rank {
    int64_t rank;
    char host[64], device[128];
    double seconds, p95;                   /* of an undisturbed step */
    double own_seconds;                    /* of its operations that compute */
    double communication, hidden, exposed; /* of a step */
    double peak_memory_bytes;
    double clock_ahead, clock_within;      /* of rank 0's clock; give or take so much */
};

/* ---- all of it ---- */

#define TT_PROFILE_LIST(type, name)                                                                \
    struct type *name;                                                                             \
    int name##_count

struct tt_profile {
    bool sealed; /* as `tt profile` measured it (seal.h): reading tells, and writing keeps it */
    struct tt_profile_run run;
    struct tt_profile_step step;
    struct tt_profile_launch launch;
    struct tt_profile_efficiency efficiency;
    struct tt_profile_memory memory;
    TT_PROFILE_LIST(tt_profile_row, operators); /* longest first */
    TT_PROFILE_LIST(tt_profile_row, groups);    /* in the order of a step; "copies" and "gaps" last */
    TT_PROFILE_LIST(tt_profile_phase, phases);
    TT_PROFILE_LIST(tt_profile_component, components);
    TT_PROFILE_LIST(tt_profile_roof, roofs);
    TT_PROFILE_LIST(tt_profile_point, points);
    TT_PROFILE_LIST(tt_profile_memory_kind, memory_kinds);
    TT_PROFILE_LIST(tt_profile_activation, activations);
    TT_PROFILE_LIST(tt_profile_memory_phase, memory_phases);
    TT_PROFILE_LIST(tt_profile_sweep, sweeps);
    TT_PROFILE_LIST(tt_profile_sample, samples); /* every step that was run, in order */
    TT_PROFILE_LIST(tt_profile_gradient, gradients); /* of the last step, but for first_norm */
    TT_PROFILE_LIST(tt_profile_event, events);   /* of the traced steps, by track, then start, then longest first */
    struct tt_profile_job job;
    TT_PROFILE_LIST(tt_profile_collective, collectives); /* in the order of a step */
    TT_PROFILE_LIST(tt_profile_rank, ranks);
    TT_PROFILE_LIST(tt_profile_event, rank_events); /* of the ranks after 0, on rank 0's clock; sorted as events are */
};

struct tt_json;

/* profile.json, or the folder that holds one. Free with tt_profile_free, also after a failure. */
tt_status tt_profile_read(const char *path, struct tt_profile *out);
/* The same of a profile.json that was read already; whether it is sealed is not known then. */
tt_status tt_profile_of_json(const struct tt_json *root, struct tt_profile *out);
/* Without its tables of operators, groups, kernels, ..., which most of it are. */
tt_status tt_profile_without_lists(const struct tt_json *root, struct tt_profile *out);
void tt_profile_free(struct tt_profile *p);

/* One file each; `path` is the file. */
tt_status tt_profile_write_json(const struct tt_profile *p, const char *path);      /* all of it */
tt_status tt_profile_write_operators(const struct tt_profile *p, const char *path); /* CSV */
tt_status tt_profile_write_trace(const struct tt_profile *p, const char *path);     /* Chrome trace events */
tt_status tt_profile_write_memory(const struct tt_profile *p, const char *path);    /* JSON */
tt_status tt_profile_write_roofline(const struct tt_profile *p, const char *path);  /* JSON */
tt_status tt_profile_write_summary(const struct tt_profile *p, const char *path);   /* Markdown */

/* Only sees whether a profile could be written there; nothing stays made. */
tt_status tt_profile_check_folder(const char *dir);
/* Makes the folder and sees that it can be written to. One that holds other things and no profile is refused. */
tt_status tt_profile_prepare(const char *dir);
/* The same for a folder of something else, which `file` tells: "comparison" for one. */
tt_status tt_folder_check(const char *dir, const char *file, const char *what);
tt_status tt_folder_prepare(const char *dir, const char *file, const char *what);
/* All of these into that folder, and report.html (html.h). */
tt_status tt_profile_write(const struct tt_profile *p, const char *dir);

#endif
