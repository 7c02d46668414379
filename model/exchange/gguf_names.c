#include "model/exchange/gguf_names.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *ours, *theirs;
    bool biased; /* may have a bias */
} pieces[] = {
    {"attention.wq", "attn_q", true},       {"attention.wk", "attn_k", true},
    {"attention.wv", "attn_v", true},       {"attention.wo", "attn_output", false},
    {"feed_forward.w1", "ffn_gate", false}, {"feed_forward.w3", "ffn_up", false},
    {"feed_forward.w2", "ffn_down", false}, {"attention_norm", "attn_norm", false},
    {"ffn_norm", "ffn_norm", false},        {"tok_embeddings", "token_embd", false},
    {"norm", "output_norm", false},         {"output", "output", false},
    {"attention.q_norm", "attn_q_norm", false}, {"attention.k_norm", "attn_k_norm", false},
};

bool tt_gguf_name(const char *ours, char *out, size_t size)
{
    int layer, skip = 0;
    bool inside = sscanf(ours, "layers.%d.%n", &layer, &skip) == 1;
    const char *piece = ours + skip, *end = strrchr(piece, '.');
    size_t n = end ? (size_t)(end - piece) : 0;
    out[0] = 0;
    for (size_t i = 0; n && i < sizeof pieces / sizeof *pieces; i++) {
        if (strlen(pieces[i].ours) != n || memcmp(pieces[i].ours, piece, n) != 0) continue;
        if (strcmp(end, ".weight") && !(pieces[i].biased && !strcmp(end, ".bias"))) continue;
        if (inside)
            snprintf(out, size, "blk.%d.%s%s", layer, pieces[i].theirs, end);
        else
            snprintf(out, size, "%s%s", pieces[i].theirs, end);
    }
    return out[0] != 0;
}
