/* A profile: where the time and the memory of a training step went. `tt profile` measures one and writes it as a
 * folder; reports, comparisons and exercises read it back from there.
 *
 * profile.json holds all of it. Each field below is a key of the same name, each struct an object, each list an array;
 * one table (profile_json.c) serves the writer and the reader.
 *
 * Units are seconds, bytes, FLOP/s and bytes/s throughout. A figure that is not available is NaN here, null in JSON and
 * n/a in a text. A time "per step" is the median over the measured steps. Steps are measured in several ways
 * (README.md): undisturbed, as configured; launched operation by operation; recorded, with an event after each
 * operation; traced, with events before and after each. */
#ifndef TT_PROFILE_H
#define TT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

/* "schema" in profile.json. A reader refuses a larger number; keys may be added without a new one. */
enum { TT_PROFILE_SCHEMA = 1 };

struct tt_profile_run {
    char created[32]; /* 2025-01-31T12:00:00Z */
    char tt[32];      /* version of the program that wrote the profile */
    char build[48];   /* its tt_build_id, or "" */
    char source[32];  /* what measured: "tt profile", or the tool that an import is from */
    char scope[400];  /* of an import: which part of the recording the figures are of, in words; else "" */
    char backend[16], device[128], arch[32], library[128];
    char preset[32], version[16], fuse[256], precision[16], recompute[16], data[128];
    char flash_tile[24]; /* --flash-tile: "256x64", or "" where it was not given */
    char fault[24];   /* --fault: its name, "hidden", or "" */
    char fault_seed[24]; /* the SEED of a hidden fault, or "" */
    /* --own-kernel: the file's name and the first 16 digits of its SHA-256, or "". */
    char own_kernel[64], own_kernel_sha[20];
    bool own_kernel_scratch; /* it wrote into its scratch memory: it has several passes */
    int64_t hidden_dim, num_layers, num_heads, num_kv_heads, head_dim, ffn_dim, vocab_size;
    int64_t seq_len, batch_size, grad_accum, seed, parameters;
    int64_t steps, warmup; /* measured steps, and steps before them; steps is 0 where an import cannot tell */
    double load;           /* of the machine before the run: processes that want to run, per processor */
    double waited;         /* in the undisturbed steps: fraction of the time that threads waited for a processor */
    double recorded_waited; /* the same in the recorded steps, from which shares, roofs and bounds come */
    double interrupted;    /* of a GPU: how many times as long as usual its operations took (disturbed.h) */
    bool tie_embeddings, qkv_bias, qk_norm;
    char rope_scaling[288]; /* --rope-scaling, or "" */
    char documents[16];     /* --documents; "": not known */
    char fp8[16];           /* tt_fp8_words, or "" in another precision */
    char update[128];       /* --update and its options: "all", "top-k share 0.1"; "": not known */
    bool graph;            /* the step was captured and replayed */
    bool prefetch;         /* batches were gathered ahead of time */
    bool flash_refused;    /* the heads are too large for this device's flash attention; the fused one ran */
};

/* The step as a whole, undisturbed: its only event is the one at its end. */
struct tt_profile_step {
    double seconds, p95, fastest, mean, deviation; /* as configured; seconds: median; deviation: standard deviation */
    double launched_seconds;  /* launched operation by operation; without a graph the same as seconds */
    double wall_seconds;      /* by the host's clock: all undisturbed steps, over their number */
    double kernel_seconds;    /* sum of the operators: its median over the recorded steps */
    /* seconds - kernel_seconds. On a CPU the copies are subtracted too, since they are part of its step, and what only
     * noise explains is left out. Below 0: the sum is larger than the step. */
    double gap_seconds;
    double gap_fraction;      /* the share of "gaps" among the groups; if gap_seconds < 0: gap_seconds / seconds */
    double samples_per_second, tokens_per_second;
    int64_t kernels;          /* operations per step */
    double loss, grad_norm;   /* of the last step */
    double peak_memory_bytes; /* allocated through the backend */
};

/* What measuring costs, and what starting a kernel costs. */
struct tt_profile_launch {
    double event_seconds;        /* what the event after an operation adds to it; subtracted from all operators */
    double recorded_seconds;     /* the recorded step, with an event after each operation */
    double recorded_overhead;    /* recorded_seconds / launched_seconds - 1 */
    double launch_seconds;       /* host: to enqueue an empty kernel */
    double empty_kernel_seconds; /* device: an empty kernel among empty kernels */
    double graph_replay_seconds; /* host: to enqueue a graph of as many empty kernels; NaN: no graphs here */
    double graph_kernel_seconds; /* device: an empty kernel in such a graph; NaN: no graphs here */
    double total_seconds;        /* kernels per step x launch_seconds */
    double idle_seconds;         /* launched_seconds - kernel_seconds: the device idles; 0 where the host computes */
    double waits;                /* per step, calls in which the host waits: stream_sync, event_sync, event_elapsed */
};

/* An operator (all operations of a step with the same kernel, shape, group and phase) or a group. */
struct tt_profile_row {
    char name[48];  /* "gemm", "flash_backward"; for a group its name, "copies" or "gaps" */
    char shape[64]; /* of a GEMM, "1024x512x2048" or "32x(128x128x64)"; else "" */
    char group[32], phase[32]; /* as in backend/kernels.h and core/plan/plan.h; phase of a group: "" */
    int64_t count;             /* operations per step */
    /* Per step: the sum of its operations' medians, scaled so that all operators add up to kernel_seconds. Of
     * communication only the exposed part counts: the rest runs beside other operators (see `collectives`). */
    double seconds;
    double median;             /* of one launch, as measured */
    /* Per step, the host's time to enqueue them, in the traced steps. NaN where the host computes them itself, or where
     * it is not known. */
    double host_seconds;
    /* Fraction of the sum of all groups. The shares of groups add up to 1; so do those of operators, "copies" and
     * "gaps". */
    double share;
    double flops, bytes;       /* per step, from backend/kernels.def */
    double intensity;          /* flops / bytes */
    double flops_per_second, bytes_per_second;
    double roof_percent;       /* of what the roofs allow at this intensity; above 100: caches, or too low a roof */
    char bound[16];            /* "memory", "compute", "latency", "uncertain" (bound.h), "launch"; "link" for
                                * communication; "": not known */
};

/* One of "data", "forward", "backward", "optimizer" and "other". */
struct tt_profile_phase {
    char name[32];
    int64_t kernels;
    double wall;   /* first to last operation by the device's clock, launched one by one; "data": by the host's */
    double host;   /* the host's time to enqueue it, or to compute it on a CPU */
    double device; /* sum of its kernels; "data": of the copies */
    double flops, bytes;
};

struct tt_profile_efficiency {
    /* Of the model's mathematics: 2 per multiply-add of its matrix products, the backward pass twice the forward. */
    double forward_flops, backward_flops, step_flops;                /* causal attention: only the half needed */
    double forward_flops_full, backward_flops_full, step_flops_full; /* attention over all of S x S */
    double flops_per_parameter, flops_per_parameter_full;
    double plan_flops, plan_bytes; /* of the kernels: norms, softmax, recomputation and optimiser, too */
    double intensity;              /* plan_flops / plan_bytes */
    double flops_per_second;       /* step_flops / step.seconds */
    double bytes_per_second;       /* plan_bytes / step.seconds */
    double gemm_flops_per_second, datasheet_flops_per_second;   /* the compute roof, measured and published (or NaN) */
    double copy_bytes_per_second, datasheet_bytes_per_second;   /* the memory roof, likewise */
    double mfu_percent, mfu_datasheet_percent;           /* step_flops / seconds over the two compute roofs */
    double mfu_full_percent, mfu_full_datasheet_percent; /* the same with step_flops_full */
    double bandwidth_percent;                            /* bytes_per_second over copy_bytes_per_second */
    double ridge, ridge_datasheet;                       /* FLOP/byte where the roofs meet */
    char mfu_class[48];  /* mfu_percent below 20: "low"; below 40: "moderate"; to 60: "good"; above: "high" */
    char bound[16];      /* of the whole step, as for a row */
    char roofs_measured[32]; /* when the two roofs were measured, written as run.created is; "": not known */
    bool roofs_kept;         /* an earlier run measured them */
    bool roofs_earlier;      /* this run measured them, but an earlier, higher rate is kept */
    /* When the roofs were measured: how far the median sample fell below the best, 0 to 1, and run.load. */
    double gemm_spread, copy_spread, roofs_load;
    double roofs_waited; /* on a CPU: fraction of the time that threads waited for a processor meanwhile */
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
    double roof;   /* FLOP/s that the measured roofs allow at this intensity */
};

/* ---- memory ---- */

struct tt_profile_memory {
    double predicted_bytes, measured_bytes; /* of the device: by the plan; the peak through the backend */
    double arena_bytes;                     /* the memory that holds the activations */
    double live_bytes;                      /* most activations that are alive at once */
    double device_total_bytes, device_free_bytes; /* free: before anything was allocated */
    double process_bytes;                   /* peak of the process on the host */
    char peak_phase[32], peak_operation[48]; /* where most activations are alive */
    int64_t peak_layer;                     /* likewise; -1: outside the layers */
};

struct tt_profile_memory_kind {
    char kind[32];     /* "weights", "gradients", ...; the arena as "logits" (what they take when most is alive) and
                        * "activations" (the rest); "workspace", "graph pool" */
    double predicted;  /* NaN: not in the plan */
    double measured;   /* NaN: not measured */
};

/* The activations of one name in one layer. */
struct tt_profile_activation {
    char name[48];
    char kind[32];         /* the group of the operation that writes it first */
    int64_t layer;         /* -1: outside the layers */
    int64_t count;         /* of buffers */
    double bytes;          /* sum of the buffers, as if none shared memory */
    double peak_bytes;     /* those alive when most activations are alive */
    int64_t first, last;   /* first and last operation of the plan that use it */
};

struct tt_profile_memory_phase {
    char name[32];
    double peak_bytes; /* most activations that are alive at once in it */
};

struct tt_profile_sweep {
    char axis[16]; /* "batch", "seq" */
    int64_t value;
    double predicted, activations; /* bytes of the plan: in all; of activations alone */
    double measured;               /* NaN: not run */
    double seconds;                /* per step; NaN: not run */
};

/* ---- parts, steps, gradients, events ---- */

/* One of: embedding, block (mean over the layers), block attention, block ffn, block norms, head + loss, forward,
 * forward + backward, full step (the sum of all groups, with copies and gaps; it can be more than the step). */
struct tt_profile_component {
    char name[32];
    int64_t kernels;
    double forward, backward, seconds; /* of one such part; backward is NaN where there is none */
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
    double first_norm; /* the same in the first step, from the run's first weights; NaN: not known */
};

struct tt_profile_event {
    char track[16]; /* "host", "copy", "compute", "communication" */
    char name[64];
    /* "step", "phase", "layer", "kernel", "copy", "collective"; on the host's track also "range", "launch", "wait" */
    char kind[16];
    char group[32];
    int64_t step, layer;
    double start, seconds; /* start: since the first traced step began */
    int64_t rank;          /* only in rank_events */
};

/* ---- several ranks: empty, and not in profile.json, for a run without collectives ---- */

/* The tables above are those of rank 0. The time of a collective includes waiting for ranks that arrive later. */
struct tt_profile_job {
    int64_t ranks;
    char shard[16], starter[32], collectives[64]; /* --shard; the launcher; the library that carries collectives */
    double sent_bytes;                            /* by each rank, in a step */
    double communication, hidden, exposed;        /* seconds of a step of rank 0: the first is the sum of the others */
    int64_t slowest;                              /* the rank with the most own_seconds */
    double slowest_percent;                       /* how far these are above the mean of all ranks */
    char clocks[160];                             /* in words, how the times of ranks in the trace were aligned */
};

/* All collectives of a step of the same kind, size and phase. */
struct tt_profile_collective {
    char name[32], type[8], phase[32]; /* "all_reduce"; type of its elements; as in operators */
    int64_t count, elements;           /* collectives in a step; elements of one, over all ranks' parts */
    double bytes, sent_bytes;          /* of one, over all ranks' parts; what a rank sends for all of them in a step */
    double seconds;                    /* in a step, on the communication stream: hidden + exposed */
    double hidden, exposed;            /* while operations compute; while these wait for it */
    double fastest;                    /* seconds of one, on the rank that waits least for the others */
    double algorithm_bandwidth, bus_bandwidth; /* bytes / fastest; what a rank sends for one / fastest */
};

struct tt_profile_rank {
    int64_t rank;
    char host[64], device[128];
    double seconds, p95;                   /* of an undisturbed step */
    double own_seconds;                    /* of its operations that compute, in a step */
    double communication, hidden, exposed; /* seconds of a step, as in the job */
    double peak_memory_bytes;
    double clock_ahead, clock_within;      /* how far its clock is ahead of rank 0's; the error of that, either way */
};

/* ---- all of it ---- */

#define TT_PROFILE_LIST(type, name)                                                                \
    struct type *name;                                                                             \
    int name##_count

struct tt_profile {
    bool sealed; /* unchanged since `tt profile` measured it (seal.h): then it is written with a seal, too */
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
    TT_PROFILE_LIST(tt_profile_gradient, gradients); /* of the last step, except first_norm */
    TT_PROFILE_LIST(tt_profile_event, events);   /* of the traced steps, by track, then start, then longest first */
    struct tt_profile_job job;
    TT_PROFILE_LIST(tt_profile_collective, collectives); /* in the order of a step */
    TT_PROFILE_LIST(tt_profile_rank, ranks);
    TT_PROFILE_LIST(tt_profile_event, rank_events); /* of all ranks but 0, by rank, on rank 0's clock; then as events */
};

struct tt_json;

/* Reads a profile.json, or the one in a folder. Free with tt_profile_free, also after a failure. */
tt_status tt_profile_read(const char *path, struct tt_profile *out);
/* The same from a profile.json that is parsed already. `sealed` stays false: the seal is checked against the text. */
tt_status tt_profile_of_json(const struct tt_json *root, struct tt_profile *out);
/* The same without the lists (operators, groups, events, ...), which are most of a profile. */
tt_status tt_profile_without_lists(const struct tt_json *root, struct tt_profile *out);
void tt_profile_free(struct tt_profile *p);

/* Each writes one file, `path`. */
tt_status tt_profile_write_json(const struct tt_profile *p, const char *path);      /* all of it */
tt_status tt_profile_write_operators(const struct tt_profile *p, const char *path); /* CSV */
tt_status tt_profile_write_trace(const struct tt_profile *p, const char *path);     /* Chrome trace events */
tt_status tt_profile_write_memory(const struct tt_profile *p, const char *path);    /* JSON */
tt_status tt_profile_write_roofline(const struct tt_profile *p, const char *path);  /* JSON */
tt_status tt_profile_write_summary(const struct tt_profile *p, const char *path);   /* Markdown */

/* Checks that a profile could be written to the folder, without leaving anything behind. */
tt_status tt_profile_check_folder(const char *dir);
/* Makes the folder and checks that it can be written to. A folder that holds other files and no profile is refused. */
tt_status tt_profile_prepare(const char *dir);
/* The same two for other folders. `file` is the file by which such a folder is known, "compare.json" for one; `what` is
 * its name in messages, "comparison". */
tt_status tt_folder_check(const char *dir, const char *file, const char *what);
tt_status tt_folder_prepare(const char *dir, const char *file, const char *what);
/* Prepares the folder and writes all of the files above into it, and report.html (html.h). */
tt_status tt_profile_write(const struct tt_profile *p, const char *dir);

#endif
