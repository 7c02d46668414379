/* The options of a run: a row for each field of its configuration. */
#include "core/config/run_options.h"

#include "core/config/presets.h"

/* --fuse is a list with a grammar of its own. */
static tt_status check_fuse(const char *text)
{
    bool fuse[TT_FUSION_COUNT];
    return tt_fusions_of(TT_BASELINE, text, fuse);
}

/* Which commands take an option. What train takes, diagnose takes too. */
enum {
    /* what only several devices need */
    ALL = 1 << TT_CMD_TRAIN | 1 << TT_CMD_DIAGNOSE | 1 << TT_CMD_PROFILE,
    T = 1 << TT_CMD_TRAIN | 1 << TT_CMD_DIAGNOSE, E = 1 << TT_CMD_EVAL, G = 1 << TT_CMD_GENERATE, D = 1 << TT_CMD_DATA,
        I = 1 << TT_CMD_INFO,
    B = 1 << TT_CMD_BENCH, P = 1 << TT_CMD_PROFILE, R = 1 << TT_CMD_REPORT, C = 1 << TT_CMD_COMPARE,
    K = 1 << TT_CMD_CHECK, X = 1 << TT_CMD_EXPORT, M = 1 << TT_CMD_IMPORT, L = 1 << TT_CMD_EXERCISE,
};

#define AT(field) TT_FIELD(TT_OF_RUN, struct tt_config, field)
#define WORD_OF(number) WORD_OF_(number)
#define WORD_OF_(number) #number

// clang-format off
static const struct tt_option model[] = {
    {"preset", AT(preset), TT_S_MODEL, T | I | P | K, "default", TT_CHOICE,
     .help = "start from the values of this preset", .choices = tt_preset_names, .required = true},
    {"hidden-dim", AT(hidden_dim), TT_S_MODEL, T | I | B | P | K, TT_BY_PRESET, "[2, 65536]", "N",
     .help = "width of the residual stream"},
    {"num-layers", AT(num_layers), TT_S_MODEL, T | I | B | P | K, TT_BY_PRESET, "[1, 1024]", "N",
     .help = "transformer blocks"},
    {"num-heads", AT(num_heads), TT_S_MODEL, T | I | B | P | K, TT_BY_PRESET, "[1, 1024]", "N",
     .help = "query heads; they divide hidden-dim"},
    {"num-kv-heads", AT(num_kv_heads), TT_S_MODEL, T | I | B | P | K, TT_BY_PRESET, "[1, 1024]", "N",
     .help = "key/value heads; they divide num-heads"},
    {"ffn-dim", AT(ffn_dim), TT_S_MODEL, T | I | B | P | K, TT_BY_PRESET, "[1, 262144]", "N",
     .help = "width inside the feed-forward part"},
    {"vocab-size", AT(vocab_size), TT_S_MODEL, T | I | B | P | K, TT_BY_PRESET, "[2, " WORD_OF(TT_VOCAB_MOST) "]", "N",
     .help = "tokens the model knows; files bring theirs"},
    {"seq-len", AT(seq_len), TT_S_MODEL, T | E | I | B | P | K, TT_BY_PRESET, "[1, 1048576]", "N",
     .help = "tokens in a sequence"},
    {"batch-size", AT(batch_size), TT_S_MODEL, T | E | I | B | P | K, TT_BY_PRESET, "[1, 65536]", "N",
     .help = "sequences in a batch of one device"},
    {"rope-theta", AT(rope_theta), TT_S_MODEL, T | I | B | P | K, "10000", "[1, 1e12]", "X",
     .help = "base of the rotary position angles"},
    {"norm-eps", AT(norm_eps), TT_S_MODEL, T | I | B | P | K, "1e-6", "(0, 1]", "X",
     .help = "added to the mean square in RMSNorm"},
    {"init-std", AT(init_std), TT_S_MODEL, T | I | B | P | K, "0.02", "(0, 10]", "X",
     .help = "standard deviation of the initial weights"},
    {"tie-embeddings", AT(tie_embeddings), TT_S_MODEL, T | I | B | P | K, "true", NULL, NULL,
     .help = "the head uses the embedding's weights"},
    {"version", AT(version), TT_S_COMPUTE, T | E | I | P | K, "flash", TT_CHOICE,
     .help = "how far the step is optimised; all compute the same", .choices = tt_version_names},
    {"fuse", AT(fuse), TT_S_COMPUTE, T | E | I | B | P | K, "", NULL, "LIST",
     .help = "switch single fusions of the version: all or none, then names, or no-NAME",
     .check = check_fuse, .list = ','},
    {"precision", AT(precision), TT_S_COMPUTE, T | E | G | I | B | P | K, "fp32", TT_CHOICE,
     .help = "number format; the CPU has fp32 only", .choices = tt_precision_names},
    {"graph", AT(graph), TT_S_COMPUTE, T | B | P, "on", TT_CHOICE,
     .help = "capture the step once and replay it, in fused and flash on a GPU", .choices = tt_switch_names},
    {"prefetch", AT(prefetch), TT_S_COMPUTE, T | P, "on", TT_CHOICE,
     .help = "gather batches ahead of time, in a thread of its own; off: only when a step asks for one", .choices = tt_switch_names},
    {"kernels", AT(kernels), TT_S_COMPUTE, T | E | G | I | B | P | K, "native", TT_CHOICE,
     .help = "use kernels written for this GPU's own instructions where there are any, or none of them",
     .choices = tt_kernel_set_names, .here = true},
    {"gemm-tune", AT(gemm_tune), TT_S_COMPUTE, T | E | G | B | P | K, "quick", TT_CHOICE,
     .help = "how a GPU's matrix products are chosen: as guessed, or the fastest of a few or of many",
     .choices = tt_gemm_tune_names, .here = true},
    {"recompute", AT(recompute), TT_S_COMPUTE, T | I | B | P | K, "none", TT_CHOICE,
     .help = "compute these activations again in the backward pass instead of keeping them",
     .choices = tt_recompute_names},
    {"head-chunk", AT(head_chunk), TT_S_COMPUTE, T | E | I | B | P | K, "0", "[0, 1073741824]", "N",
     .help = "rows of logits at a time with the fusion head; 0 = chosen"},
    {"flash-tile", AT(flash_tile), TT_S_COMPUTE, T | E | I | P | K, "", NULL, "ROWSxCOLS",
     .help = "queries and keys that meet at a time in the CPU's flash attention; a GPU's tiles are compiled in; \"\" = chosen",
     .check = tt_flash_tile_check, .here = true},
};

static const struct tt_option machine[] = {
    {"threads", AT(threads), TT_S_COMPUTE, T | E | G | I | B | P | K, "0", "[0, 1024]", "N",
     .help = "CPU threads; 0 = all there are", .here = true},
    {"device", AT(device), TT_S_COMPUTE, T | E | G | I | B | P | K, "0", "[0, 63]", "N",
     .help = "which GPU; 0 is the first", .here = true},
    {"ranks", AT(ranks), TT_S_RANKS, ALL | I, "1", "[1, 65536]", "N",
     .help = "processes that train together, one for each device; more than 1 starts them on this machine", .here = true},
    {"shard", AT(shard), TT_S_RANKS, ALL | I | B, "none", TT_CHOICE,
     .help = "what is divided among the ranks: the moments; gradients too; weights too", .choices = tt_shard_names,
     .here = true},
    {"comm-timeout", AT(comm_timeout), TT_S_RANKS, ALL, "60", "[1, 86400]", "SECONDS",
     .help = "a rank without a sign of life for so long counts as gone", .here = true},
    {"comm-file", AT(comm_file), TT_S_RANKS, ALL, "", NULL, "FILE",
     .help = "file that all ranks see, in which rank 0 writes where it is; \"\" = by the environment", .here = true},
};

static const struct tt_option training[] = {
    {"num-steps", AT(num_steps), TT_S_TRAINING, T, TT_BY_PRESET, "[1, 2147483648]", "N",
     .help = "optimiser steps in all"},
    {"grad-accum", AT(grad_accum), TT_S_TRAINING, T | I | B | P | K, "1", "[1, 65536]", "N",
     .help = "batches summed into one step"},
    {"global-batch", AT(global_batch), TT_S_TRAINING, ALL | I, "0", "[0, 1073741824]", "N",
     .help = "sequences in a step of all ranks: batch-size x grad-accum x ranks; 0 = what these come to"},
    {"learning-rate", AT(learning_rate), TT_S_TRAINING, T, TT_BY_PRESET, "(0, 10]", "X",
     .help = "the peak, after warm-up"},
    {"warmup-steps", AT(warmup_steps), TT_S_TRAINING, T, TT_BY_PRESET, "[0, 2147483648]", "N",
     .help = "steps in which the learning rate rises to its peak; in a shorter run, a tenth of it"},
    {"lr-schedule", AT(lr_schedule), TT_S_TRAINING, T, "cosine", TT_CHOICE,
     .help = "how the learning rate falls after warm-up", .choices = tt_schedule_names},
    {"min-lr-ratio", AT(min_lr_ratio), TT_S_TRAINING, T, "0.1", "[0, 1]", "X",
     .help = "learning rate at the end, as a part of the peak"},
    {"weight-decay", AT(weight_decay), TT_S_TRAINING, T, "0.1", "[0, 10]", "X",
     .help = "AdamW's decay of matrices; norm weights have none"},
    {"beta1", AT(beta1), TT_S_TRAINING, T, "0.9", "[0, 1)", "X", .help = "AdamW's memory of the gradient"},
    {"beta2", AT(beta2), TT_S_TRAINING, T, "0.95", "[0, 1)", "X",
     .help = "AdamW's memory of the squared gradient"},
    {"adam-eps", AT(adam_eps), TT_S_TRAINING, T, "1e-8", "(0, 1]", "X",
     .help = "added to the root in AdamW's denominator"},
    {"clip-norm", AT(clip_norm), TT_S_TRAINING, T, "1", "[0, 1e6]", "X",
     .help = "largest norm of all gradients together; 0 = no clipping"},
    {"on-nan", AT(on_nan), TT_S_TRAINING, T, "stop", TT_CHOICE,
     .help = "when loss or gradients are not finite: save the run before that step and stop, or skip it", .choices = tt_on_nan_names},
    {"seed", AT(seed), TT_S_TRAINING, T | G | B | P | K, "42", "[0, 9223372036854775807]", "N",
     .help = "start of all random numbers; the same seed gives the same run"},
    {"val-interval", AT(val_interval), TT_S_VALIDATION, T, "100", "[0, 2147483648]", "N",
     .help = "steps between validations; 0 = none"},
    {"val-batches", AT(val_batches), TT_S_VALIDATION, T | E, "8", "[1, 1048576]", "N",
     .help = "batches in a validation; with --global-batch or several ranks, of that many sequences"},
    {"patience", AT(patience), TT_S_VALIDATION, T, "0", "[0, 1000000]", "N",
     .help = "stop after this many validations without a better loss; 0 = never"},
    {"data", AT(data), TT_S_DATA, T | E, "builtin", NULL, "SOURCE",
     .help = "builtin (a small language), random, a token file, a glob of them, or a text file", .required = true},
    {"data", AT(data), TT_S_DATA, B | P | K, "random", NULL, "SOURCE",
     .help = "random, builtin, a token file, a glob of them, or a text file", .required = true},
    {"val-data", AT(val_data), TT_S_DATA, T | E, "", NULL, "SOURCE",
     .help = "validation data; \"\" = a part of --data is held out"},
    {"tokenizer", AT(tokenizer), TT_S_DATA, T | D, "bytes", NULL, "NAME",
     .help = "for text: bytes, chars, bpe, or a tokenizer file: of tt, or a byte-level tokenizer.json of transformers", .required = true},
    {"val-fraction", AT(val_fraction), TT_S_DATA, T | E | D, "0.1", "[0, 0.5]", "X",
     .help = "part of the data held out for validation; 0 = none"},
    {"out", AT(out), TT_S_OUTPUT, T, "runs/default", NULL, "DIR",
     .help = "folder of the run; \"\" = write nothing", .here = true},
    {"tensorboard", AT(tensorboard), TT_S_OUTPUT, T, "", NULL, "DIR",
     .help = "folder for TensorBoard event files: scalars, gradient norms, the configuration; \"\" = none", .here = true},
    {"resume", AT(resume), TT_S_OUTPUT, T, "none", NULL, "auto|none|PATH",
     .help = "go on from the newest checkpoint in --out when there is one (auto); or from this checkpoint or run, in its own folder "
             "unless --out is given",
     .here = true, .required = true},
    {"init-from", AT(init_from), TT_S_OUTPUT, T, "", NULL, "PATH",
     .help = "begin a new run with the weights of this checkpoint; \"\" = with random ones", .here = true},
    {"save-interval", AT(save_interval), TT_S_OUTPUT, T, "0", "[0, 2147483648]", "N",
     .help = "steps between checkpoints; 0 = by the clock (--save-minutes), at the end and when interrupted"},
    {"save-minutes", AT(save_minutes), TT_S_OUTPUT, T, "10", "[0, 1e6]", "X",
     .help = "without --save-interval: minutes between checkpoints, of which one is kept until the next; 0 = none on the way"},
    {"keep", AT(keep), TT_S_OUTPUT, T, "3", "[0, 1000000]", "N", .help = "newest checkpoints to keep; 0 = all"},
    {"log-interval", AT(log_interval), TT_S_OUTPUT, T, "10", "[1, 2147483648]", "N",
     .help = "steps between lines of the log"},
    {"quiet", AT(quiet), TT_S_OUTPUT, T | E | G | D | B | P | R | C | K | X | M, "false", NULL, NULL,
     .help = "print results only", .here = true},
    {"json", AT(json), TT_S_OUTPUT, T | E | G | D | I | B | P | C | K | X | M | L, "false", NULL, NULL,
     .help = "print JSON instead of text", .here = true},
};
// clang-format on

const struct tt_rows tt_model_rows = TT_ROWS(model), tt_machine_rows = TT_ROWS(machine),
tt_training_rows = TT_ROWS(training);
