#include "model/exchange/gguf_kind.h"

#include <stdio.h>
#include <string.h>

static const struct tt_gguf_kind llama = {"llama", false, false, true}, qwen2 = {"qwen2", false, true, false},
                                 qwen3 = {"qwen3", true, true, false};

/* llama.cpp's LLaMA takes biases of q, k and v, and more kinds of RoPE than its Qwen2. */
tt_status tt_gguf_kind_for(const struct tt_config *c, const struct tt_gguf_kind **out)
{
    *out = c->qk_norm ? &qwen3 : &llama;
    if (!c->qk_norm || !c->qkv_bias) return TT_OK;
    return tt_fail(TT_USAGE, "no model of llama.cpp has both --qkv-bias and --qk-norm, so only tt can run this one; "
                             "train with one of them to export it");
}

tt_status tt_gguf_kind_of(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind **out)
{
    const struct tt_gguf_kind *const all[] = {&llama, &qwen2, &qwen3};
    char name[64];
    if (!tt_gguf_string(g, "general.architecture", name, sizeof name))
        return tt_fail(TT_FAILED, "%s names no architecture; give the GGUF file of a model", path);
    for (int i = 0; i < 3; i++) {
        *out = all[i];
        if (!strcmp(all[i]->name, name)) return TT_OK;
    }
    return tt_fail(TT_USAGE, "%s is a model of the architecture \"%s\"; tt reads llama, qwen2 and qwen3", path, name);
}

struct tt_gguf_key tt_gguf_key(const struct tt_gguf_kind *kind, const char *name)
{
    struct tt_gguf_key key;
    snprintf(key.s, sizeof key.s, "%s.%s", kind->name, name);
    return key;
}
