#include "profiling/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct rule {
    const char *word, *group;
};

// clang-format off
/* Exact names: functions of backend/gpu and kernels of kernels.def. One that serves several groups is listed under the
 * group that uses it most. */
static const struct rule own[] = {
    {"embedding", "embedding"},           {"embedding_backward", "embedding"},
    {"count", "embedding"},               {"place", "embedding"},
    {"sum_long", "embedding"},            {"sum_short", "embedding"},
    {"add", "residual"},                  {"rmsnorm", "rms_norm"},
    {"rmsnorm_backward", "rms_norm"},     {"rmsnorm_backward_any", "rms_norm"},
    {"residual_norm", "rms_norm"},
    {"head_norm", "rms_norm"},            {"head_norm_backward", "rms_norm"},
    {"head_norm_backward_any", "rms_norm"},
    {"reduce_parts", "rms_norm"},         {"column_sum", "rms_norm"},
    {"square", "rms_norm"},               {"row_sum", "rms_norm"},
    {"col_sum", "rms_norm"},              {"rsqrt", "rms_norm"},
    {"rsqrt_backward", "rms_norm"},       {"mul_rows", "rms_norm"},
    {"mul_cols", "rms_norm"},             {"rope", "rope_embedding"},
    {"add_cols", "qkv_projection"},
    {"rope_cos", "rope_embedding"},       {"rope_sin", "rope_embedding"},
    {"rope_rotate", "rope_embedding"},    {"rope_split", "rope_embedding"},
    {"rope_merge", "rope_embedding"},     {"rope_heads", "rope_embedding"},
    {"heads", "rope_embedding"},          {"heads_split", "rope_embedding"},
    {"heads_merge", "rope_embedding"},    {"repeat", "attention_scores"},
    {"repeat_kv", "attention_scores"},    {"repeat_kv_backward", "attention_scores"},
    {"repeat_backward", "attention_scores"},
    {"scale", "attention_softmax"},       {"causal_mask", "attention_softmax"},
    {"softmax", "attention_softmax"},     {"softmax_backward", "attention_softmax"},
    {"causal_softmax", "attention_softmax"},
    {"causal_softmax_backward", "attention_softmax"},
    {"flash", "attention_output"},        {"flash_backward", "attention_output"},
    {"flash_delta", "attention_output"},  {"attention_decode", "attention_output"},
    {"cache_fill", "attention_output"},   {"mul", "swiglu_activation"},
    {"silu", "swiglu_activation"},        {"silu_backward", "swiglu_activation"},
    {"swiglu", "swiglu_activation"},      {"swiglu_backward", "swiglu_activation"},
    {"row_logsumexp", "loss_calculation"}, {"sub_rows", "loss_calculation"},
    {"gather_nll", "loss_calculation"},   {"exp", "loss_calculation"},
    {"sub_target", "loss_calculation"},   {"cross_entropy", "loss_calculation"},
    {"target_logit", "loss_calculation"}, {"loss_of_sums", "loss_calculation"},
    {"loss_sum", "loss_calculation"},     {"sum_squares", "gradient_clip"},
    {"clip_scale", "gradient_clip"},      {"clip_grad", "gradient_clip"},
    {"group_squares", "gradient_clip"},   {"span_squares", "gradient_clip"},
    {"group_sums", "gradient_clip"},      {"choose_groups", "optimizer"},
    {"adamw_chosen", "optimizer"},
    {"adamw", "optimizer"},               {"adam_m", "optimizer"},
    {"adam_v", "optimizer"},              {"adam_update", "optimizer"},
    {"weight_decay", "optimizer"},        {"cast", "optimizer"},
    {"zero", "control"},                  {"step_begin", "control"},
    {"record", "control"},                {"gemm", "gemm"},
    {"gemm_swiglu", "swiglu_gate_up"},    {"gemm_swiglu_backward", "swiglu_down"},
    {"gemm_rope", "qkv_projection"},      {"gemm_exp", "loss_calculation"},
};

/* Words in the names of other programs' kernels and operators; case does not matter. The first that is found decides,
 * so a narrower word stands before a wider one: "log_softmax" before "softmax". */
static const struct rule others[] = {
    {"nccl", "communication"},       {"rccl", "communication"},
    {"memcpy", "copies"},            {"memset", "copies"},
    {"memory_copy", "copies"},       {"copybuffer", "copies"},
    {"fillbuffer", "copies"},        {"host_to_device", "copies"},
    {"device_to_host", "copies"},    {"device_to_device", "copies"},
    {"direct_copy", "copies"},       {"aten::copy_", "copies"},
    {"aten::_to_copy", "copies"},    {"aten::to", "copies"},
    {"aten::clone", "copies"},       {"aten::contiguous", "copies"},
    {"log_softmax", "loss_calculation"}, {"logsoftmax", "loss_calculation"},
    {"nll_loss", "loss_calculation"}, {"nllloss", "loss_calculation"},
    {"cross_entropy", "loss_calculation"}, {"crossentropy", "loss_calculation"},
    {"multi_tensor_apply", "optimizer"}, {"adam", "optimizer"},
    {"_foreach_", "optimizer"},      {"addcdiv", "optimizer"},
    {"addcmul", "optimizer"},        {"lerp", "optimizer"},
    {"clip_grad", "gradient_clip"},
    {"fmha", "attention_output"},    {"flash", "attention_output"},
    {"scaled_dot_product", "attention_output"}, {"attn_fwd", "attention_output"},
    {"attn_bwd", "attention_output"}, {"attention", "attention_output"},
    {"softmax", "attention_softmax"}, {"masked_fill", "attention_softmax"},
    {"triu", "attention_softmax"},   {"tril", "attention_softmax"},
    {"rmsnorm", "rms_norm"},         {"rms_norm", "rms_norm"},
    {"layer_norm", "rms_norm"},      {"layernorm", "rms_norm"},
    {"rsqrt", "rms_norm"},           {"rotary", "rope_embedding"},
    {"rope", "rope_embedding"},      {"swiglu", "swiglu_activation"},
    {"silu", "swiglu_activation"},   {"gelu", "swiglu_activation"},
    {"embedding", "embedding"},      {"indexselect", "embedding"},
    {"index_select", "embedding"},
    {"gemm", "gemm"},                {"gemv", "gemm"},
    {"cijk_", "gemm"},               {"cutlass", "gemm"},
    {"xmma", "gemm"},                {"nvjet", "gemm"},
    {"splitk", "gemm"},              {"aten::mm", "gemm"},
    {"aten::bmm", "gemm"},           {"aten::addmm", "gemm"},
    {"aten::matmul", "gemm"},        {"aten::linear", "gemm"},
    {"reduce", "reduction"},         {"triton_red", "reduction"},
    {"aten::sum", "reduction"},      {"aten::mean", "reduction"},
    {"elementwise", "elementwise"},  {"triton_poi", "elementwise"},
    {"catarray", "elementwise"},     {"aten::mul", "elementwise"},
    {"aten::add", "elementwise"},    {"aten::sub", "elementwise"},
    {"aten::div", "elementwise"},    {"aten::neg", "elementwise"},
    {"aten::pow", "elementwise"},    {"aten::cat", "elementwise"},
    {"aten::fill_", "elementwise"},  {"aten::zero_", "elementwise"},
};
// clang-format on

static const char *skip_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0 ? name + n : name;
}

static int is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The last part of a qualified name, and its length in *n: "a::b<c>::d" gives "d". Template arguments and
 * "(anonymous namespace)" are skipped. */
static const char *last_part(const char *s, size_t *n)
{
    const char *begin = s;
    int depth = 0;
    for (; *s; s++) {
        if (!depth && strncmp(s, "(anonymous namespace)", 21) == 0) {
            s += 20;
            continue;
        }
        if (*s == '<') depth++;
        if (*s == '>' && depth) depth--;
        if (depth) continue;
        if (*s == '(' || *s == ' ' || *s == '[') break;
        if (s[0] == ':' && s[1] == ':') begin = ++s + 1;
    }
    size_t length = strcspn(begin, "<([ ");
    *n = length < (size_t)(s - begin) ? length : (size_t)(s - begin);
    return begin;
}

/* The first template argument that begins with `prefix`; NULL when there is none. */
static const char *argument_with(const char *s, const char *prefix)
{
    for (; *s; s++)
        if (!is_name(s[0]) && strncmp(s + 1, prefix, strlen(prefix)) == 0) return s + 1;
    return NULL;
}

/* The operation that a generic kernel applies, and its length in *n: "swiglu" of map_vectors<swiglu_op<float>>, "scale"
 * of map_vectors<each_op<float, 1, f_scale>>. Any other name stays as it is. */
static const char *inner_operation(const char *part, size_t *n)
{
    if (strncmp(part, "map_vectors<", 12) != 0 && strncmp(part, "map_singles<", 12) != 0) return part;
    const char *function = argument_with(part + 11, "f_"), *open = function ? function + 2 : part + 12, *end = open;
    while (is_name(*end)) end++;
    size_t length = (size_t)(end - open);
    if (length > 3 && strncmp(end - 3, "_op", 3) == 0) length -= 3;
    if (!length) return part;
    *n = length;
    return open;
}

void tt_kernel_short_name(const char *name, char *out, size_t size)
{
    name = skip_word(name, "void ");
    size_t n;
    if (strncmp(name, "aten::", 6) == 0 || name[0] == '[') { /* operators of PyTorch, and [CUDA memcpy HtoD] */
        snprintf(out, size, "%s", name);
        return;
    }
    const char *part = last_part(name, &n);
    part = inner_operation(part, &n);
    if (!n || !is_name(*part)) { /* it has no such part: the whole name */
        part = name;
        n = strlen(name);
    }
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), part);
}

static const char *find_any_case(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)text[i]) == word[i]) i++;
        if (i == n) return text;
    }
    return NULL;
}

const char *tt_kernel_group_of(const char *name)
{
    char base[64];
    tt_kernel_short_name(name, base, sizeof base);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(base, own[i].word) == 0) return own[i].group;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (find_any_case(name, others[i].word)) return others[i].group;
    return "other";
}
