/* The fusions of a run, and the checks of a configuration that involve more than one field. */
#include "core/config/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/config/hooks.h"

const char *const tt_version_names[] = {"baseline", "fused", "flash", NULL};
const char *const tt_precision_names[] = {"fp32", "tf32", "bf16", "fp16", "fp8", NULL};
const char *const tt_fp8_names[] = {"linear", "all", NULL};
const char *const tt_moments_names[] = {"fp32", "bf16", NULL};
const char *const tt_fp8_scaling_names[] = {"tensor", "delayed", "row", NULL};

const char *tt_fp8_words(const struct tt_config *c)
{
    static const char *const words[][3] = {{"linear", "linear delayed", "linear row"},
                                            {"all", "all delayed", "all row"}};
    return words[c->fp8][c->fp8_scaling];
}

void tt_config_compute_in(struct tt_config *c, enum tt_precision precision)
{
    c->precision = precision;
    if (precision == TT_PREC_FP8) return;
    c->fp8 = TT_FP8_LINEAR;
    c->fp8_scaling = TT_SCALING_TENSOR;
}

const char *const tt_recompute_names[] = {"none", "attention", "block", NULL};
const char *const tt_schedule_names[] = {"constant", "linear", "cosine", NULL};
const char *const tt_on_nan_names[] = {"stop", "skip", NULL};
const char *const tt_update_names[] = {"all", "top-k", NULL};
const char *const tt_update_level_names[] = {"matrix", "layer", "rows", NULL};
const char *const tt_update_by_names[] = {"norm", "rms", "relative", "random", NULL};
const char *const tt_update_rest_names[] = {"freeze", "decay", NULL};
const char *const tt_documents_names[] = {"joined", "separate", NULL};
const char *const tt_switch_names[] = {"off", "on", NULL};
const char *const tt_shard_names[] = {"none", "optimizer", "gradients", "weights", NULL};
const char *const tt_gemm_tune_names[] = {"off", "quick", "full", NULL};
const char *const tt_dtype_names[] = {"fp32", "bf16", "fp16", NULL};
const char *const tt_kernel_set_names[] = {"native", "portable", NULL};

#define X(id, name, what) name,
const char *const tt_fusion_names[] = {TT_FUSIONS(X) NULL};
#undef X
#define X(id, name, what) what,
const char *const tt_fusion_texts[] = {TT_FUSIONS(X) NULL};
#undef X

/* ---- fusions ---- */

bool tt_version_has(enum tt_version version, enum tt_fusion fusion)
{
    bool only_flash = fusion == TT_FUSE_ATTENTION || fusion == TT_FUSE_HEAD;
    return version == TT_FLASH || (version == TT_FUSED && !only_flash);
}

bool tt_list_next(const char **at, char separator, char *item, size_t size)
{
    const char *start = *at;
    if (!*start) return false;
    const char *end = strchr(start, separator);
    *at = end ? end + 1 : start + strlen(start);
    if (!end) end = *at;
    if (separator == ',') {
        while (start < end && *start == ' ') start++;
        while (end > start && end[-1] == ' ') end--;
    }
    size_t n = (size_t)(end - start);
    if (n >= size) n = size - 1;
    memcpy(item, start, n);
    item[n] = 0;
    return true;
}

tt_status tt_config_copy(const struct tt_config *c, struct tt_config **copy)
{
    *copy = malloc(sizeof **copy);
    if (!*copy) return tt_no_memory("a configuration");
    **copy = *c;
    return TT_OK;
}

static void set_all(bool fuse[TT_FUSION_COUNT], bool value)
{
    for (int i = 0; i < TT_FUSION_COUNT; i++) fuse[i] = value;
}

static tt_status no_such_fusion(const char *item, const char *name)
{
    if (strcmp(name, "all") == 0 || strcmp(name, "none") == 0)
        return tt_fail(TT_USAGE, "\"%s\" can only be the first of the list", item);
    const char *near = tt_nearest(name, tt_fusion_names, TT_FUSION_COUNT);
    if (near) {
        const char *no = name > item ? "no-" : "";
        return tt_fail(TT_USAGE, "there is no fusion \"%s\"; did you mean \"%s%s\"?", item, no, near);
    }
    struct tt_text names = {0};
    for (int i = 0; i < TT_FUSION_COUNT; i++) tt_text_printf(&names, "%s%s", i ? ", " : "", tt_fusion_names[i]);
    tt_status st = tt_fail(TT_USAGE, "there is no fusion \"%s\"; there are all, none, %s, and no-NAME for each", item,
                           names.failed ? "..." : names.s);
    tt_text_free(&names);
    return st;
}

tt_status tt_config_fusions(const struct tt_config *c, bool fuse[TT_FUSION_COUNT])
{
    return tt_fusions_of(c->version, c->fuse, fuse);
}

tt_status tt_fusions_of(enum tt_version version, const char *list, bool fuse[TT_FUSION_COUNT])
{
    for (int i = 0; i < TT_FUSION_COUNT; i++) fuse[i] = tt_version_has(version, (enum tt_fusion)i);
    bool named[TT_FUSION_COUNT] = {0};
    char item[64];
    for (bool first = true; tt_list_next(&list, ',', item, sizeof item); first = false) {
        if (first && (strcmp(item, "all") == 0 || strcmp(item, "none") == 0)) {
            set_all(fuse, item[0] == 'a');
            continue;
        }
        bool on = strncmp(item, "no-", 3) != 0;
        const char *name = on ? item : item + 3;
        int i = 0;
        while (i < TT_FUSION_COUNT && strcmp(name, tt_fusion_names[i]) != 0) i++;
        if (i == TT_FUSION_COUNT) return no_such_fusion(item, name);
        if (named[i] && fuse[i] != on)
            return tt_fail(TT_USAGE, "\"%s\" and \"no-%s\" contradict each other; name one of them", name, name);
        named[i] = true;
        fuse[i] = on;
    }
    return TT_OK;
}

/* ---- tiles ---- */

enum { LARGEST_TILE = 4096 }; /* in the backward pass each thread has two tiles of cols x cols floats */

static bool read_side(const char **at, int32_t *out)
{
    *out = 0;
    const char *start = *at;
    while (**at >= '0' && **at <= '9' && *out <= LARGEST_TILE) *out = 10 * *out + (*(*at)++ - '0');
    return *at > start && *out > 0 && *out <= LARGEST_TILE;
}

static bool read_tile(const char *text, struct tt_flash_tile *out)
{
    return read_side(&text, &out->rows) && *text++ == 'x' && read_side(&text, &out->cols) && !*text;
}

tt_status tt_flash_tile_check(const char *text)
{
    struct tt_flash_tile tile;
    if (!text[0] || read_tile(text, &tile)) return TT_OK;
    return tt_fail(TT_USAGE, "\"%s\" is not a tile size; write rows and columns from 1 to %d, like 256x64", text,
                   LARGEST_TILE);
}

struct tt_flash_tile tt_config_flash_tile(const struct tt_config *c)
{
    struct tt_flash_tile tile;
    return read_tile(c->flash_tile, &tile) ? tile : (struct tt_flash_tile){0};
}

/* ---- selective updates ---- */

static const double default_share = 0.1;

static bool read_share(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end > text && !*end && *out > 0 && *out <= 1;
}

tt_status tt_update_share_check(const char *text)
{
    double share;
    if (!text[0] || read_share(text, &share)) return TT_OK;
    return tt_fail(TT_USAGE, "\"%s\" is not a share of the groups; give a number above 0 and up to 1, such as 0.1",
                   text);
}

static double share_of(const struct tt_config *c)
{
    double share = default_share;
    if (c->update_share[0]) (void)read_share(c->update_share, &share);
    return share;
}

void tt_update_words(const struct tt_config *c, char out[TT_UPDATE_WORDS])
{
    char many[32], level[16] = "", by[16] = "", every[32] = "";
    if (c->update == TT_UPDATE_ALL) {
        strcpy(out, tt_update_names[TT_UPDATE_ALL]);
        return;
    }
    if (c->update_count > 0)
        snprintf(many, sizeof many, "count %" PRId64, c->update_count);
    else
        snprintf(many, sizeof many, "share %g", share_of(c));
    if (c->update_level != TT_LEVEL_MATRIX)
        snprintf(level, sizeof level, " level %s", tt_update_level_names[c->update_level]);
    if (c->update_by != TT_BY_NORM) snprintf(by, sizeof by, " by %s", tt_update_by_names[c->update_by]);
    if (c->update_every > 1) snprintf(every, sizeof every, " every %" PRId64, c->update_every);
    snprintf(out, TT_UPDATE_WORDS, "%s %s%s%s%s%s", tt_update_names[c->update], many, level, by,
             c->update_rest == TT_REST_DECAY ? " rest decay" : "", every);
}

int64_t tt_config_chosen(const struct tt_config *c, int64_t groups)
{
    if (c->update_count > 0) return c->update_count;
    int64_t chosen = llround(share_of(c) * (double)groups);
    return chosen < 1 ? 1 : chosen;
}

/* An option that only top-k reads and that differs from its default; NULL: none. */
static const char *idle_update_option(const struct tt_config *c)
{
    if (c->update_share[0]) return "update-share";
    if (c->update_count) return "update-count";
    if (c->update_every > 1) return "update-every";
    if (c->update_level != TT_LEVEL_MATRIX) return "update-level";
    if (c->update_by != TT_BY_NORM) return "update-by";
    return c->update_rest != TT_REST_FREEZE ? "update-rest" : NULL;
}

static tt_status check_update(const struct tt_config *c)
{
    const char *idle = c->update == TT_UPDATE_ALL ? idle_update_option(c) : NULL;
    if (idle)
        return tt_fail(TT_USAGE, "--%s says which groups of weights are updated, but --update all updates every one; "
                                 "add --update top-k, or leave --%s out", idle, idle);
    if (c->update == TT_UPDATE_TOP_K && c->update_count > 0 && c->update_share[0])
        return tt_fail(TT_USAGE, "--update-share %s and --update-count %" PRId64 " both say how many groups are "
                                 "updated; give one of them", c->update_share, c->update_count);
    return TT_OK;
}

/* ---- sizes ---- */

/* More than any machine can hold, and small enough that the bytes of each array fit into the offset bits of a plan's
 * address (core/plan/plan.c). */
static const int64_t most_params = (int64_t)1 << 39, most_elements = (int64_t)1 << 39, most_rows = (int64_t)1 << 30;

/* A GPU's grid has at most 65535 blocks in y, and the smallest tiles of attention have 16 rows. */
enum { most_seq_len = 16 * 65535 };

struct size {
    const char *option;
    int64_t value, most;
};

static tt_status check_positive(const struct tt_config *c)
{
    const struct size sizes[] = {
        {"hidden-dim", c->hidden_dim, 1 << 16}, {"num-layers", c->num_layers, 1 << 10},
        {"num-heads", c->num_heads, 1 << 10},   {"num-kv-heads", c->num_kv_heads, 1 << 10},
        {"ffn-dim", c->ffn_dim, 1 << 18},       {"vocab-size", c->vocab_size, TT_VOCAB_MOST},
        {"seq-len", c->seq_len, most_seq_len},  {"batch-size", c->batch_size, 1 << 16},
        {"grad-accum", c->grad_accum, 1 << 16}, {"num-steps", c->num_steps, (int64_t)1 << 31},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1 || sizes[i].value > sizes[i].most)
            return tt_fail(TT_USAGE, "%s is %" PRId64 "; it must be from 1 to %" PRId64, sizes[i].option,
                           sizes[i].value, sizes[i].most);
    return TT_OK;
}

static tt_status check_heads(const struct tt_config *c)
{
    int64_t hidden = c->hidden_dim, heads = c->num_heads, kv = c->num_kv_heads;
    if (c->head_dim < 0 || c->head_dim > 1 << 16 || c->head_dim % 2)
        return tt_fail(TT_USAGE, "head-dim is %" PRId64 "; it must be an even number from 2 to 65536, or 0 for "
                                 "hidden-dim / num-heads", c->head_dim);
    if (!c->head_dim && hidden % heads)
        return tt_fail(TT_USAGE,
                       "hidden-dim %" PRId64 " cannot be split into %" PRId64
                       " heads; make hidden-dim a multiple of num-heads, such as %" PRId64 ", or give a head-dim",
                       hidden, heads, 2 * heads * (hidden / (2 * heads) + 1));
    if (!c->head_dim && hidden / heads % 2)
        return tt_fail(TT_USAGE,
                       "a head of %" PRId64 " numbers cannot be rotated in pairs; hidden-dim / num-heads must "
                       "be even: try hidden-dim %" PRId64,
                       hidden / heads, hidden + heads);
    if (heads % kv)
        return tt_fail(TT_USAGE,
                       "%" PRId64 " heads cannot share %" PRId64 " key/value heads; make num-heads a multiple "
                       "of num-kv-heads, or set num-kv-heads to %" PRId64,
                       heads, kv, heads);
    return TT_OK;
}

static tt_status check_rope(const struct tt_config *c)
{
    struct tt_rope_scaling s;
    TT_TRY(tt_context(tt_rope_scaling_read(c->rope_scaling, &s), "rope-scaling"));
    if (s.type == TT_ROPE_YARN && c->rope_theta <= 1)
        return tt_fail(TT_USAGE, "rope-scaling yarn treats slow and fast angles differently, but with rope-theta 1 "
                                 "all are alike; make rope-theta larger");
    return TT_OK;
}

/* a·b·c·d, or INT64_MAX on overflow. */
static int64_t product(int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t ab, cd, all;
    if (__builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(c, d, &cd) || __builtin_mul_overflow(ab, cd, &all))
        return INT64_MAX;
    return all;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static tt_status check_volume(const struct tt_config *c, const bool fuse[TT_FUSION_COUNT])
{
    int64_t q_dim = tt_head_dim(c) * c->num_heads, kv_dim = tt_head_dim(c) * c->num_kv_heads;
    int64_t layer = c->hidden_dim * (2 * q_dim + 2 * kv_dim + 3 * c->ffn_dim + 2);
    int64_t params = layer * c->num_layers + c->hidden_dim * (c->vocab_size * (c->tie_embeddings ? 1 : 2) + 1);
    if (params > most_params)
        return tt_fail(TT_USAGE,
                       "a model of %" PRId64 " parameters is too large; make hidden-dim, ffn-dim, num-layers or "
                       "vocab-size smaller",
                       params);
    int64_t rows = c->batch_size * c->seq_len;
    if (rows > most_rows)
        return tt_fail(TT_USAGE,
                       "batch-size %" PRId64 " times seq-len %" PRId64 " is too large; make one smaller, and "
                       "grad-accum larger",
                       c->batch_size, c->seq_len);
    int64_t widest = larger(larger(c->hidden_dim, q_dim + 2 * kv_dim), 2 * c->ffn_dim);
    widest = larger(widest, fuse[TT_FUSE_HEAD] ? 0 : c->vocab_size);
    if (product(rows, widest, 1, 1) > most_elements)
        return tt_fail(TT_USAGE,
                       "%" PRId64 " tokens times %" PRId64 " numbers each is too large; make batch-size or "
                       "seq-len smaller",
                       rows, widest);
    if (!fuse[TT_FUSE_ATTENTION] && product(rows, c->seq_len, c->num_heads, 1) > most_elements)
        return tt_fail(TT_USAGE,
                       "attention scores of %" PRId64 " x %" PRId64 " per head are too large; make seq-len or "
                       "batch-size smaller, or use version flash",
                       c->seq_len, c->seq_len);
    if (product(c->num_steps, c->batch_size, c->grad_accum, c->seq_len + 1) == INT64_MAX)
        return tt_fail(TT_USAGE, "num-steps x batch-size x grad-accum x seq-len is more tokens than can be counted");
    return TT_OK;
}

/* ---- the rest ---- */

static tt_status check_precision(const struct tt_config *c)
{
    bool here = c->precision == TT_FP32 || c->precision == TT_PREC_FP8;
    if (c->fp8 != TT_FP8_LINEAR && c->precision != TT_PREC_FP8)
        return tt_fail(TT_USAGE, "fp8 %s does nothing with precision %s; give --precision fp8 too, or leave --fp8 out",
                       tt_fp8_names[c->fp8], tt_precision_names[c->precision]);
    if (c->fp8_scaling != TT_SCALING_TENSOR && c->precision != TT_PREC_FP8)
        return tt_fail(TT_USAGE, "fp8-scaling %s does nothing with precision %s; give --precision fp8 too, or leave "
                       "--fp8-scaling out", tt_fp8_scaling_names[c->fp8_scaling], tt_precision_names[c->precision]);
    if (here || strcmp(tt_backend_name(), "cpu") != 0) return TT_OK;
    return tt_fail(TT_USAGE,
                   "%s needs a GPU build: cmake -B build -DBACKEND=cuda or hip; this tt was built for cpu, "
                   "which has --precision fp32, and fp8 to compare with",
                   tt_precision_names[c->precision]);
}

/* The kernels take these values as fp32, in which a value close to a limit may become the limit itself. */
static tt_status check_rounded(const struct tt_config *c)
{
    if ((float)c->beta1 >= 1 || (float)c->beta2 >= 1)
        return tt_fail(TT_USAGE, "--%s %.12g rounds to 1 in fp32; use 0.99999994 or less",
                       (float)c->beta1 >= 1 ? "beta1" : "beta2", (float)c->beta1 >= 1 ? c->beta1 : c->beta2);
    if (!((float)c->adam_eps > 0))
        return tt_fail(TT_USAGE, "--adam-eps %g rounds to 0 in fp32; use 1e-38 or more", c->adam_eps);
    if (c->clip_norm > 0 && !((float)c->clip_norm > 0))
        return tt_fail(TT_USAGE, "--clip-norm %g rounds to 0 in fp32, which means no clipping; use 1e-38 or more",
                       c->clip_norm);
    return TT_OK;
}

static tt_status check_training(const struct tt_config *c)
{
    TT_TRY(check_rounded(c));
    if (c->warmup_steps < 0 || c->warmup_steps > c->num_steps)
        return tt_fail(TT_USAGE,
                       "warmup-steps %" PRId64 " does not fit into num-steps %" PRId64 "; make warmup-steps smaller",
                       c->warmup_steps, c->num_steps);
    if (c->patience > 0 && c->val_interval == 0)
        return tt_fail(TT_USAGE,
                       "patience %" PRId64 " counts validations, but val-interval 0 has none; set val-interval, "
                       "or patience 0",
                       c->patience);
    return TT_OK;
}

static tt_status check_flash_tile(const struct tt_config *c)
{
    bool fuse[TT_FUSION_COUNT];
    if (!c->flash_tile[0]) return TT_OK;
    if (strcmp(tt_backend_name(), "cpu"))
        return tt_fail(TT_USAGE, "--flash-tile is for the CPU; a GPU's tiles are compiled in, so leave it out "
                                 "(--kernels native or portable chooses between two sets of them)");
    TT_TRY(tt_config_fusions(c, fuse));
    if (fuse[TT_FUSE_ATTENTION]) return TT_OK;
    return tt_fail(TT_USAGE,
                   "--flash-tile is a tile of flash attention, which --version %s does not have; use "
                   "--version flash, or --fuse attention",
                   tt_version_names[c->version]);
}

tt_status tt_check_end_token(const struct tt_config *c)
{
    if (c->documents == TT_DOCUMENTS_JOINED) return TT_OK;
    if (c->end_token < 0)
        return tt_fail(TT_USAGE,
                       "--documents separate needs the token that ends a document, and the data %s do not say which it "
                       "is; name it with --document-end",
                       c->data);
    if (c->end_token >= c->vocab_size)
        return tt_fail(TT_USAGE,
                       "--document-end %" PRId64 " is not below the vocabulary of %" PRId64 "; name a token of it",
                       c->end_token, c->vocab_size);
    return TT_OK;
}

tt_status tt_ends_read(const char *text, int64_t tokens[TT_ENDS_MOST], int *count)
{
    char word[TT_ENDS_SIZE];
    *count = 0;
    for (const char *at = text; tt_list_next(&at, ',', word, sizeof word);) {
        char *end;
        long token = strtol(word, &end, 10);
        if (end == word || *end || token < 0 || token >= TT_VOCAB_MOST || *count == TT_ENDS_MOST)
            return tt_fail(TT_USAGE, "\"%s\" must be at most %d token numbers, like 7,9", text, TT_ENDS_MOST);
        tokens[(*count)++] = token;
    }
    return TT_OK;
}

void tt_ends_add(struct tt_config *c, int64_t token)
{
    int64_t tokens[TT_ENDS_MOST];
    int count;
    if (c->end_token < 0) c->end_token = token;
    tt_status_free(tt_ends_read(c->end_tokens, tokens, &count));
    bool known = token == c->end_token || count == TT_ENDS_MOST;
    for (int i = 0; i < count; i++) known |= tokens[i] == token;
    size_t n = strlen(c->end_tokens);
    if (!known) snprintf(c->end_tokens + n, sizeof c->end_tokens - n, "%s%" PRId64, n ? "," : "", token);
}

tt_status tt_ends_check(const char *text)
{
    int64_t tokens[TT_ENDS_MOST];
    int count;
    return tt_ends_read(text, tokens, &count);
}

tt_status tt_config_check(const struct tt_config *c)
{
    TT_TRY(check_precision(c));
    TT_TRY(check_flash_tile(c));
    TT_TRY(tt_hooks_check(c));
    return tt_config_check_shape(c);
}

tt_status tt_config_check_shape(const struct tt_config *c)
{
    bool fuse[TT_FUSION_COUNT];
    TT_TRY(tt_config_fusions(c, fuse));
    TT_TRY(check_positive(c));
    TT_TRY(check_heads(c));
    TT_TRY(check_rope(c));
    TT_TRY(check_volume(c, fuse));
    TT_TRY(check_update(c));
    return check_training(c);
}
