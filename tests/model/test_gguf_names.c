/* model/exchange/gguf_names: each parameter has its name in llama.cpp, and one without a counterpart gets no made-up
 * name. */
#include "model/exchange/gguf_names.h"

#include "core/config/config.h"
#include "model/params.h"
#include "tests/test.h"

static const char *name_of(const char *ours)
{
    static char name[128];
    return tt_gguf_name(ours, name, sizeof name) ? name : "none";
}

static void names_tensors(void)
{
    CHECK(!strcmp(name_of("layers.12.attention.wq.weight"), "blk.12.attn_q.weight"));
    CHECK(!strcmp(name_of("layers.0.feed_forward.w2.weight"), "blk.0.ffn_down.weight"));
    CHECK(!strcmp(name_of("layers.0.attention_norm.weight"), "blk.0.attn_norm.weight"));
    CHECK(!strcmp(name_of("tok_embeddings.weight"), "token_embd.weight"));
    CHECK(!strcmp(name_of("norm.weight"), "output_norm.weight"));
    CHECK(!strcmp(name_of("output.weight"), "output.weight"));
    CHECK(!strcmp(name_of("layers.0.attention.wq.bias"), "blk.0.attn_q.bias"));
    CHECK(!strcmp(name_of("layers.0.attention.wo.bias"), "none"));
    CHECK(!strcmp(name_of("layers.3.attention.q_norm.weight"), "blk.3.attn_q_norm.weight"));
    CHECK(!strcmp(name_of("layers.0.attention.q_norm.bias"), "none"));
    CHECK(!strcmp(name_of("norm"), "none") && !strcmp(name_of(""), "none"));
}

static void names_every_parameter_once(void)
{
    struct tt_config c = {
        .hidden_dim = 8, .num_layers = 2, .num_heads = 2, .num_kv_heads = 1, .ffn_dim = 8, .vocab_size = 4};
    struct tt_params p = {0};
    char names[64][128];
    CHECK_OK(tt_params_create(&c, &p));
    CHECK(p.n == 21, "%d", p.n); /* an untied head */
    for (int i = 0; i < p.n && i < 64; i++) {
        CHECK(tt_gguf_name(p.items[i].name, names[i], sizeof names[i]), "%s", p.items[i].name);
        for (int k = 0; k < i; k++) CHECK(strcmp(names[i], names[k]), "%s twice", names[i]);
    }
    tt_params_free(&p);
}

int main(void)
{
    TEST(names_tensors);
    TEST(names_every_parameter_once);
    return test_end();
}
