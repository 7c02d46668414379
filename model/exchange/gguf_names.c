#include "model/exchange/gguf_names.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *ours, *theirs;
} pieces[] = {
    {"attention.wq", "attn_q"},       {"attention.wk", "attn_k"},      {"attention.wv", "attn_v"},
    {"attention.wo", "attn_output"},  {"feed_forward.w1", "ffn_gate"}, {"feed_forward.w3", "ffn_up"},
    {"feed_forward.w2", "ffn_down"},  {"attention_norm", "attn_norm"}, {"ffn_norm", "ffn_norm"},
    {"tok_embeddings", "token_embd"}, {"norm", "output_norm"},         {"output", "output"},
};

bool tt_gguf_name(const char *ours, char *out, size_t size)
{
    int layer, skip = 0;
    bool inside = sscanf(ours, "layers.%d.%n", &layer, &skip) == 1;
    const char *piece = ours + skip, *end = strrchr(piece, '.');
    size_t n = end ? (size_t)(end - piece) : 0;
    out[0] = 0;
    for (size_t i = 0; n && !strcmp(end, ".weight") && i < sizeof pieces / sizeof *pieces; i++) {
        if (strlen(pieces[i].ours) != n || memcmp(pieces[i].ours, piece, n) != 0) continue;
        if (inside)
            snprintf(out, size, "blk.%d.%s%s", layer, pieces[i].theirs, end);
        else
            snprintf(out, size, "%s%s", pieces[i].theirs, end);
    }
    return out[0] != 0;
}
