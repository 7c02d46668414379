/* The configuration of a run. The option engine (options.h) fills it from defaults, a preset, files and flags. */
#ifndef TT_CONFIG_H
#define TT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "core/config/rope_scaling.h"

#define TT_VOCAB_MOST 4194304 /* the largest vocabulary of a model */
enum { TT_ENDS_MOST = 15, TT_ENDS_SIZE = 128 }; /* tokens of --end-tokens, and bytes of the list */

enum tt_version { TT_BASELINE, TT_FUSED, TT_FLASH, TT_VERSIONS };
enum tt_recompute { TT_RECOMPUTE_NONE, TT_RECOMPUTE_ATTENTION, TT_RECOMPUTE_BLOCK };
enum tt_moments { TT_MOMENTS_FP32, TT_MOMENTS_BF16 };
/* What an 8-bit tensor is scaled by: its largest magnitude now, that of the latest steps, or that of each row. */
enum tt_fp8_scaling { TT_SCALING_TENSOR, TT_SCALING_DELAYED, TT_SCALING_ROW };
enum tt_fp8 { TT_FP8_LINEAR, TT_FP8_ALL }; /* products with 8-bit factors: those of the blocks, or the head too */
enum tt_on_nan { TT_NAN_STOP, TT_NAN_SKIP };
enum tt_documents { TT_DOCUMENTS_JOINED, TT_DOCUMENTS_SEPARATE };
enum tt_switch { TT_SWITCH_OFF, TT_SWITCH_ON };
enum tt_update { TT_UPDATE_ALL, TT_UPDATE_TOP_K };
enum tt_update_level { TT_LEVEL_MATRIX, TT_LEVEL_LAYER, TT_LEVEL_ROWS }; /* what a group of weights is */
enum tt_update_rest { TT_REST_FREEZE, TT_REST_DECAY }; /* moments of groups that were not chosen */
enum tt_sharding {
    TT_SHARD_NONE,
    TT_SHARD_OPTIMIZER,
    TT_SHARD_GRADIENTS,
    TT_SHARD_WEIGHTS
}; /* each includes those before */

/* The single fusions. A version is a set of them; --fuse adds and removes. */
#define TT_FUSIONS(X)                                                                                                  \
    X(QKV, "qkv", "one GEMM for Q, K and V")                                                                           \
    X(GATE_UP, "gate-up", "one GEMM for gate and up")                                                                  \
    X(ROPE, "rope", "RoPE (and the split into heads) in one kernel")                                                   \
    X(NORM, "norm", "residual and RMSNorm in one kernel")                                                              \
    X(SWIGLU, "swiglu", "SiLU and product in one kernel")                                                              \
    X(SOFTMAX, "softmax", "scale, mask and softmax in one kernel, K and V not repeated")                               \
    X(LOSS, "loss", "cross-entropy and its gradient in one kernel")                                                    \
    X(OPTIMIZER, "optimizer", "clip and AdamW in one kernel over all parameters")                                      \
    X(GRAPH, "graph", "the step captured once and replayed (where the backend can)")                                   \
    X(OVERLAP, "overlap", "in a graph, small weight gradients on a side stream")                                       \
    X(LATE, "late-update", "in a graph, AdamW beside the forward pass of the next step")                               \
    X(ATTENTION, "attention", "flash attention: no S x S matrix of scores in memory")                                  \
    X(HEAD, "head", "head and loss in chunks: logits never exist whole")

enum tt_fusion {
#define X(id, name, what) TT_FUSE_##id,
    TT_FUSIONS(X)
#undef X
        TT_FUSION_COUNT
};

struct tt_hooks; /* core/config/hooks.h */

struct tt_config {
    /* model */
    char preset[32];
    int64_t hidden_dim, num_layers, num_heads, num_kv_heads, ffn_dim, vocab_size;
    int64_t head_dim; /* 0: hidden_dim / num_heads (tt_head_dim) */
    int64_t seq_len, batch_size;
    double rope_theta, norm_eps, init_std;
    int64_t max_positions; /* the longest sequence that the model is for, if that is more than seq_len */
    char rope_scaling[TT_ROPE_SCALING_SIZE]; /* "linear,factor=4"; "" = none (rope_scaling.h) */
    bool tie_embeddings;
    bool qkv_bias; /* added to the projections of q, k and v */
    bool qk_norm;  /* RMSNorm of each head of q and k, before RoPE */

    /* how it is computed */
    enum tt_version version;
    char fuse[256]; /* "qkv,no-norm": changes to the version's set */
    enum tt_precision precision;
    enum tt_fp8 fp8;
    enum tt_fp8_scaling fp8_scaling;
    enum tt_moments moments;
    enum tt_recompute recompute;
    int64_t head_chunk;  /* rows of logits at a time; 0 = chosen */
    char flash_tile[24]; /* "256x64": rows and columns of a tile of flash attention; "" = chosen */
    int64_t threads, device;
    enum tt_switch graph;    /* capture the step, where version and backend can */
    enum tt_switch prefetch; /* load batches ahead of time */
    enum tt_kernel_set kernels;
    enum tt_gemm_tune gemm_tune;

    /* several ranks */
    int64_t ranks; /* processes that train together, one for each device; 1: this one alone */
    int rank;      /* of this process: not an option, set by the launcher */
    enum tt_sharding shard;
    int64_t global_batch; /* sequences in a step of all ranks; 0: batch_size x grad_accum x ranks */
    double comm_timeout;  /* seconds */
    char comm_file[1024];

    /* training */
    int64_t num_steps, grad_accum, seed;
    int64_t epochs; /* num_steps is computed from them; 0: it is not */
    double learning_rate, min_lr_ratio, weight_decay, beta1, beta2, adam_eps, clip_norm;
    int64_t warmup_steps;
    enum tt_decay lr_schedule;
    enum tt_update update;
    char update_share[24]; /* of the groups, in (0, 1]; "" = what update_count says */
    int64_t update_count;  /* groups; 0 = what update_share says */
    int64_t update_every;  /* steps with the same choice */
    enum tt_update_level update_level;
    enum tt_update_by update_by;
    enum tt_update_rest update_rest;
    enum tt_on_nan on_nan;
    int64_t val_interval, val_batches, patience;

    /* data */
    char data[1024];      /* "builtin", "random", a token or text file, a glob of them, or a folder */
    char val_data[1024];  /* "" = a part of data is held out */
    char tokenizer[1024]; /* "bytes", "chars", "bpe", or a tokenizer file */
    int64_t max_chars;    /* of a text; 0: all */
    char text_field[128]; /* of JSON Lines; "" = "text", in files called .jsonl */
    char prompt_field[128], completion_field[128];
    bool skip_bad_lines;
    double val_fraction;
    enum tt_documents documents; /* whether attention goes across documents */
    int64_t end_token;           /* the last token of every document; -1 = what the data say */
    char end_tokens[TT_ENDS_SIZE]; /* further ones that end a text of the model: "7,9" (tt_ends_read) */
    int64_t begin_token;           /* begins a text of the model, if no tokenizer names one; -1 = none is known */

    /* output */
    char out[1024]; /* directory of the run; "" = write nothing */
    char resume[1024];
    char tensorboard[1024];
    char init_from[1024];
    int64_t log_interval, save_interval, save_epochs, keep;
    double save_minutes; /* if both save_interval and save_epochs are 0 */
    bool quiet, json;
    bool paints; /* show on the terminal how far reading text is; the library does not */

    const struct tt_hooks *hooks; /* callbacks of an extension (the exercises); or NULL */
    _Alignas(8) char guest[1088]; /* options of that extension, which defines their layout */
};

/* The words of the enums, in their order, NULL at the end. */
extern const char *const tt_version_names[];
extern const char *const tt_precision_names[];
extern const char *const tt_fp8_names[];
extern const char *const tt_fp8_scaling_names[];
extern const char *const tt_moments_names[];
/* Sets the precision. One other than fp8 also resets the options that only fp8 has. */
void tt_config_compute_in(struct tt_config *c, enum tt_precision precision);
const char *tt_fp8_words(const struct tt_config *c); /* --fp8 and --fp8-scaling for reports: "all", "linear delayed" */
extern const char *const tt_recompute_names[];
extern const char *const tt_schedule_names[]; /* enum tt_decay */
extern const char *const tt_on_nan_names[];
extern const char *const tt_update_names[];
extern const char *const tt_update_level_names[];
extern const char *const tt_update_by_names[];
extern const char *const tt_update_rest_names[];
extern const char *const tt_documents_names[];
extern const char *const tt_switch_names[];
extern const char *const tt_shard_names[];
extern const char *const tt_gemm_tune_names[];
extern const char *const tt_dtype_names[]; /* enum tt_dtype */
extern const char *const tt_kernel_set_names[];

extern const char *const tt_fusion_names[];
extern const char *const tt_fusion_texts[]; /* what each does, in a line */

/* Whether the version has this fusion, before --fuse changes it. */
bool tt_version_has(enum tt_version version, enum tt_fusion fusion);

/* The fusions of the version, changed by the list: an optional "all" or "none", then NAME or no-NAME. */
tt_status tt_fusions_of(enum tt_version version, const char *list, bool fuse[TT_FUSION_COUNT]);
tt_status tt_config_fusions(const struct tt_config *c, bool fuse[TT_FUSION_COUNT]);

/* --flash-tile as a kernel takes it; 0 x 0 when it is not set. */
struct tt_flash_tile tt_config_flash_tile(const struct tt_config *c);
tt_status tt_flash_tile_check(const char *text); /* "" or ROWSxCOLS */

/* How many of `groups` groups a step with --update top-k changes; at least one. An --update-count is returned as it
 * is, even if it is larger than `groups`. */
int64_t tt_config_chosen(const struct tt_config *c, int64_t groups);
/* --update and what goes with it, for reports: "all", "top-k share 0.1", "top-k count 64 level rows every 20". */
enum { TT_UPDATE_WORDS = 128 };
void tt_update_words(const struct tt_config *c, char out[TT_UPDATE_WORDS]);
tt_status tt_update_share_check(const char *text); /* "" or a number in (0, 1] */

/* The width of an attention head. */
static inline int64_t tt_head_dim(const struct tt_config *c)
{
    return c->head_dim > 0 ? c->head_dim : c->hidden_dim / c->num_heads;
}

/* Sequences in a step of all ranks. */
static inline int64_t tt_step_rows(const struct tt_config *c)
{
    return c->batch_size * c->grad_accum * (c->ranks > 1 ? c->ranks : 1);
}

/* Batches of batch_size in a validation, of all ranks together. With a global batch, --val-batches counts global
 * batches, so that validation sees the same sequences with any number of ranks. */
static inline int64_t tt_validation_batches(const struct tt_config *c)
{
    int64_t asked = c->val_batches > 0 ? c->val_batches : 1;
    return c->global_batch > 0 ? (asked * c->global_batch + c->batch_size - 1) / c->batch_size : asked;
}

/* A copy on the heap, to change and free(): the struct is large for a stack. */
tt_status tt_config_copy(const struct tt_config *c, struct tt_config **copy);

/* Checks everything that depends on more than one field, and every size against overflow. Call it when the
 * configuration is final: after a checkpoint's values were applied. Errors are TT_USAGE and say which option to change.
 */
tt_status tt_config_check(const struct tt_config *c);
/* The same, but does not check whether this build can run it: for predictions. */
tt_status tt_config_check_shape(const struct tt_config *c);

/* Checks, with --documents separate, that the token that ends a document is known and in the vocabulary. Call it when
 * the data are open, since they may name the token. */
tt_status tt_check_end_token(const struct tt_config *c);

/* The tokens of a list like "7,9", at most TT_ENDS_MOST. */
tt_status tt_ends_read(const char *text, int64_t tokens[TT_ENDS_MOST], int *count);
tt_status tt_ends_check(const char *text);
/* Adds a token that ends a text of the model: as end_token if there is none yet, else to end_tokens. */
void tt_ends_add(struct tt_config *c, int64_t token);

/* Takes the next item of a list in a text field. *at starts as the text and advances; false at the end. A separator at
 * the end is ignored; with commas, so are spaces around an item. An item that is too long is truncated. */
bool tt_list_next(const char **at, char separator, char *item, size_t size);

#endif
