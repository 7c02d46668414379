#include "model/exchange/hf_names.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *ours, *theirs;
} pieces[] = {
    {"attention.wq", "self_attn.q_proj"},
    {"attention.wk", "self_attn.k_proj"},
    {"attention.wv", "self_attn.v_proj"},
    {"attention.wo", "self_attn.o_proj"},
    {"attention.q_norm", "self_attn.q_norm"},
    {"attention.k_norm", "self_attn.k_norm"},
    {"feed_forward.w1", "mlp.gate_proj"},
    {"feed_forward.w3", "mlp.up_proj"},
    {"feed_forward.w2", "mlp.down_proj"},
    {"attention_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"tok_embeddings", "embed_tokens"},
    {"norm", "norm"},
};

static const char *translate(const char *piece, size_t n)
{
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (strlen(pieces[i].ours) == n && !memcmp(pieces[i].ours, piece, n)) return pieces[i].theirs;
    return "unknown";
}

void tt_hf_name(const char *ours, bool bare, char *out, size_t size)
{
    const char *model = bare ? "" : "model.";
    int layer, skip = 0;
    if (!strcmp(ours, "output.weight")) {
        snprintf(out, size, "lm_head.weight");
        return;
    }
    bool inside = sscanf(ours, "layers.%d.%n", &layer, &skip) == 1;
    const char *piece = ours + skip;
    const char *kind = strrchr(piece, '.'); /* .weight or .bias */
    const char *theirs = translate(piece, (size_t)(kind - piece));
    if (inside)
        snprintf(out, size, "%slayers.%d.%s%s", model, layer, theirs, kind);
    else
        snprintf(out, size, "%s%s%s", model, theirs, kind);
}

bool tt_hf_rotary(const char *ours)
{
    static const char *const of[] = {"attention.wq.", "attention.wk.", "attention.q_norm.", "attention.k_norm."};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strstr(ours, of[i])) return true;
    return false;
}
