/* Exchange with Hugging Face's transformers: its models give its logits, what we write comes back bit by bit, and what
 * we do not compute is refused. tests/hf/make_fixtures.py made the models. */
#include <dirent.h>
#include <float.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/checkpoint/safetensors.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "model/exchange/hf.h"
#include "model/exchange/hf_config.h"
#include "model/generate.h"
#include "model/params.h"
#include "tests/model/model_fixture.h"

static struct tt_backend backend;
static char folder[] = "/tmp/tt-test-hf-XXXXXX";

static const char *const fixtures[] = {"gqa_tied_fp32", "mha_untied_bf16_sharded", "mqa_untied_fp16", "rope_linear",
                                       "rope_dynamic",  "rope_yarn",               "rope_llama3",     "head_dim",
                                       "qwen2",         "qwen3"};
enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void write_file(const char *name, const char *text)
{
    CHECK_OK(tt_file_replace(in_folder(name), text, strlen(text)));
}

struct imported {
    struct tt_config c;
    struct tt_params params;
    float *weights;
};

static tt_status import(const char *dir, struct imported *m)
{
    *m = (struct imported){.c = tiny_config()};
    TT_TRY(tt_hf_import_config(dir, &m->c));
    TT_TRY(tt_params_create(&m->c, &m->params));
    return tt_hf_import_weights(dir, &m->c, &m->params, &m->weights);
}

static void drop(struct imported *m)
{
    tt_params_free(&m->params);
    free(m->weights);
}

/* ---- logits of transformers ---- */

/* The reference was computed in float64, so the difference is our rounding, which grows with the logits. A wrong angle
 * or norm moves all logits, which shows in the root mean square. */
static void check_close(const char *what, const float *ours, const float *theirs, int64_t n)
{
    double worst = 0, squares = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double error = fabs((double)ours[i] - (double)theirs[i]), size = fabs((double)theirs[i]);
        if (!(error <= worst)) worst = error;
        if (size > largest) largest = size;
        squares += error * error;
    }
    double unit = (double)FLT_EPSILON * largest, mean = sqrt(squares / (double)n);
    CHECK(worst < 32 * unit && mean < 4 * unit, "%s: logits differ by %.1f roundings, %.2f in the mean", what,
          worst / unit, mean / unit);
}

/* Token by token with a cache: the same logits as for the whole sequence. */
static void generate_again(const struct imported *m, const struct tt_session *s, const int32_t *tokens, int64_t prompt,
                           const float *theirs, bool cached)
{
    struct tt_generator g;
    int64_t V = m->c.vocab_size, S = m->c.seq_len;
    float *ours = malloc((size_t)(S * V) * sizeof *ours);
    CHECK_OK(tt_generator_open(&g, &m->c, &s->engine, S, prompt, cached));
    for (int64_t i = 0; i < S; i++) CHECK_OK(tt_generator_feed(&g, tokens[i], ours + i * V));
    check_close(cached ? "generated" : "generated without a cache", ours, theirs, S * V);
    tt_generator_close(&g);
    free(ours);
}

/* With a cache, transformers keeps the keys unchanged, although the angles of dynamic RoPE change with the length. */
static void grow_again(const struct imported *m, const struct tt_session *s, const int32_t *tokens)
{
    static const int prompts[] = {5, 12}; /* the model's limit is 8 */
    struct tt_safetensors *golden;
    if (strncmp(m->c.rope_scaling, "dynamic", 7)) return;
    CHECK_OK(tt_safetensors_open("tests/fixtures/hf/rope_dynamic/grown.safetensors", &golden));
    for (int i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "prompt_%d", prompts[i]);
        const struct tt_tensor *logits = tt_safetensors_find(golden, name);
        CHECK(logits && logits->shape[0] == m->c.seq_len && logits->shape[1] == m->c.vocab_size, "%s", name);
        float *theirs = malloc(logits->size);
        CHECK_OK(tt_safetensors_read(golden, logits, theirs));
        generate_again(m, s, tokens, prompts[i], theirs, true);
        generate_again(m, s, tokens, prompts[i], theirs, false);
        free(theirs);
    }
    tt_safetensors_close(golden);
}

static void compare_logits(struct imported *m, const char *golden_path)
{
    struct tt_safetensors *golden;
    struct tt_session s;
    struct tt_engine e = {0};
    struct tt_plan *p;
    CHECK_OK(tt_safetensors_open(golden_path, &golden));
    const struct tt_tensor *logits = tt_safetensors_find(golden, "logits"),
                           *tokens = tt_safetensors_find(golden, "tokens");
    m->c.batch_size = logits->shape[0], m->c.seq_len = logits->shape[1];
    CHECK(logits->shape[2] == m->c.vocab_size && tokens->shape[1] == m->c.seq_len + 1);
    float *theirs = malloc(logits->size), *ours = malloc(logits->size);
    int32_t *input = malloc(tokens->size);
    CHECK_OK(tt_safetensors_read(golden, logits, theirs));
    CHECK_OK(tt_safetensors_read_i32(golden, tokens, input));
    CHECK_OK(tt_session_open(&s, &backend, &m->c, 0));
    CHECK_OK(tt_session_set_weights(&s, m->weights));
    CHECK_OK(tt_model_plan_logits(s.model, &p));
    tt_engine_borrow(&e, &s.engine, TT_X_WEIGHTS);
    tt_engine_require(&e, p);
    CHECK_OK(tt_engine_alloc(&e, &backend));
    tt_engine_bind(&e, p);
    CHECK_OK(tt_model_upload_rope(s.model, &e, m->c.seq_len));
    CHECK_OK(tt_engine_upload(&e, TT_X_VAL_TOKENS, 0, input, (size_t)tokens->size));
    CHECK_OK(tt_plan_run(p, &backend, NULL));
    CHECK_OK(tt_engine_download(&e, TT_X_LOGITS, 0, ours, (size_t)logits->size));
    check_close(golden_path, ours, theirs, logits->count);
    generate_again(m, &s, input, m->c.seq_len, theirs, true);
    grow_again(m, &s, input);
    tt_engine_free(&e);
    tt_plan_free(p);
    tt_session_close(&s);
    tt_safetensors_close(golden);
    free(theirs);
    free(ours);
    free(input);
}

static void logits_of_transformers(void)
{
    for (int i = 0; i < FIXTURES; i++) {
        char dir[128], golden[160];
        struct imported m;
        snprintf(dir, sizeof dir, "tests/fixtures/hf/%s", fixtures[i]);
        snprintf(golden, sizeof golden, "%s/golden.safetensors", dir);
        CHECK_OK(import(dir, &m));
        for (int v = 0; v < TT_VERSIONS && m.weights; v++) {
            m.c.version = (enum tt_version)v;
            compare_logits(&m, golden);
        }
        drop(&m);
    }
}

/* ---- export and import ---- */

static void export_again(const char *from, enum tt_dtype type, const char *to)
{
    struct imported m;
    CHECK_OK(import(from, &m));
    struct tt_hf_export x = {.config = &m.c, .params = &m.params, .weights = m.weights, .type = type};
    CHECK_OK(tt_hf_export(to, &x, NULL));
    drop(&m);
}

static int names_with(const char *beginning)
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += !strncmp(e->d_name, beginning, strlen(beginning));
    if (d) closedir(d);
    return n;
}

static void comes_back(void)
{
    struct imported first, again;
    for (int i = 0; i < FIXTURES; i++) {
        char dir[128];
        snprintf(dir, sizeof dir, "tests/fixtures/hf/%s", fixtures[i]);
        export_again(dir, TT_F32, in_folder("back"));
        CHECK_OK(import(dir, &first));
        CHECK_OK(import(in_folder("back"), &again));
        CHECK(first.params.total == again.params.total &&
              !memcmp(first.weights, again.weights, (size_t)first.params.total * 4));
        CHECK(first.c.rope_theta == again.c.rope_theta && first.c.norm_eps == again.c.norm_eps &&
              first.c.tie_embeddings == again.c.tie_embeddings && first.c.num_kv_heads == again.c.num_kv_heads &&
              first.c.seq_len == again.c.seq_len && first.c.head_dim == again.c.head_dim &&
              first.c.qkv_bias == again.c.qkv_bias && first.c.qk_norm == again.c.qk_norm &&
              !strcmp(first.c.rope_scaling, again.c.rope_scaling));
        CHECK(names_with("back") == 1);
        drop(&first);
        drop(&again);
        CHECK_OK(tt_remove_tree(in_folder("back")));
    }
}

/* 16-bit types round to nearest: half a unit in the last place of 8 or 11 bits. */
static void narrow_types(void)
{
    const double bound[TT_DTYPES] = {[TT_BF16] = 0x1p-8, [TT_F16] = 0x1p-11};
    for (int type = TT_BF16; type <= TT_F16; type++) {
        struct imported wide, narrow;
        export_again("tests/fixtures/hf/gqa_tied_fp32", (enum tt_dtype)type, in_folder("narrow"));
        CHECK_OK(import("tests/fixtures/hf/gqa_tied_fp32", &wide));
        CHECK_OK(import(in_folder("narrow"), &narrow));
        int64_t other = 0;
        for (int64_t i = 0; i < wide.params.total; i++) {
            double w = (double)wide.weights[i], error = fabs(w - (double)narrow.weights[i]);
            CHECK(error <= bound[type] * fabs(w) + 1e-7, "%g became %g", w, (double)narrow.weights[i]);
            other += error > 0;
        }
        CHECK(other > wide.params.total / 2, "nothing was rounded");
        drop(&wide);
        drop(&narrow);
        CHECK_OK(tt_remove_tree(in_folder("narrow")));
    }
}

static void keeps_what_is_there(void)
{
    struct imported m;
    CHECK_OK(import("tests/fixtures/hf/gqa_tied_fp32", &m));
    struct tt_hf_export x = {.config = &m.c, .params = &m.params, .weights = m.weights, .type = TT_F16};
    CHECK_OK(tt_make_dirs(in_folder("taken")));
    write_file("taken/mine", "x");
    CHECK_FAILS(tt_hf_export(in_folder("taken"), &x, NULL), "is not empty");
    CHECK_FAILS(tt_hf_export(in_folder("taken/mine"), &x, NULL), "is a file; name a new folder");
    m.c.num_heads = 3;
    CHECK_FAILS(tt_hf_export(in_folder("fresh"), &x, NULL), "not a multiple of its 3 heads");
    m.c.num_heads = 4;
    m.c.qkv_bias = m.c.qk_norm = true;
    CHECK_FAILS(tt_hf_export(in_folder("fresh"), &x, NULL), "both --qkv-bias and --qk-norm");
    m.c.qkv_bias = m.c.qk_norm = false;
    m.weights[m.params.items[3].offset] = 1e5f;
    CHECK_FAILS(tt_hf_export(in_folder("fresh"), &x, NULL), "beyond the range of fp16");
    CHECK(names_with("fresh") == 0);
    drop(&m);
}

static void pairs_and_halves(void)
{
    float w[2 * 6 * 3], before[2 * 6 * 3];
    for (int i = 0; i < 36; i++) before[i] = w[i] = (float)i;
    CHECK_OK(tt_hf_permute_rows(w, 2, 6, 3, true));
    static const int order[] = {0, 2, 4, 1, 3, 5};
    for (int h = 0; h < 2; h++)
        for (int r = 0; r < 6; r++)
            CHECK(w[(h * 6 + r) * 3] == (float)((h * 6 + order[r]) * 3), "head %d row %d", h, r);
    CHECK_OK(tt_hf_permute_rows(w, 2, 6, 3, false));
    CHECK(!memcmp(w, before, sizeof w));
}

/* ---- config.json ---- */

static tt_status read_config(const char *more, struct tt_config *c)
{
    char text[1200];
    struct tt_json *j;
    snprintf(text, sizeof text,
             "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
             "\"intermediate_size\": 96, \"vocab_size\": 100%s%s}",
             *more ? ", " : "", more);
    TT_TRY(tt_json_parse(text, strlen(text), &j));
    tt_status st = tt_hf_config_read(j, c);
    tt_json_free(j);
    return st;
}

/* A scaling in the form of the option; values that config.json omits are filled in. */
static void rope_scalings(void)
{
    static const char *const read[][2] = {
        {"\"rope_scaling\": {\"rope_type\": \"default\"}", ""},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.5}", "linear,factor=2.5,max_position_embeddings=2048"},
        {"\"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 2}, \"max_position_embeddings\": 64",
         "dynamic,factor=2,max_position_embeddings=64"},
        {"\"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 32.0, \"low_freq_factor\": 1.0, "
         "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}, \"max_position_embeddings\": 131072",
         "llama3,factor=32,original_max_position_embeddings=8192,max_position_embeddings=131072,low_freq_factor=1,"
         "high_freq_factor=4"},
        {"\"rope_scaling\": {\"type\": \"yarn\", \"original_max_position_embeddings\": 512}",
         "yarn,factor=4,original_max_position_embeddings=512,max_position_embeddings=2048"},
        {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"beta_fast\": 16, \"finetuned\": true, "
         "\"attention_factor\": null}, \"original_max_position_embeddings\": 128",
         "yarn,factor=4,original_max_position_embeddings=128,max_position_embeddings=2048,beta_fast=16"},
        {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 1, \"mscale\": 2, \"mscale_all_dim\": 1}",
         "yarn,factor=1,original_max_position_embeddings=2048,max_position_embeddings=2048,attention_factor=1"},
    };
    struct tt_config c = {0};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        struct tt_rope_scaling s;
        CHECK_OK(read_config(read[i][0], &c));
        CHECK(!strcmp(c.rope_scaling, read[i][1]), "%s", c.rope_scaling);
        CHECK_OK(tt_rope_scaling_read(c.rope_scaling, &s));
    }
}

static void configs(void)
{
    struct tt_config c = {0};
    CHECK_OK(read_config("", &c));
    CHECK(c.num_kv_heads == 4 && c.seq_len == 2048 && !c.tie_embeddings && c.rope_theta == 10000 && c.norm_eps == 1e-6);
    CHECK_OK(read_config(
        "\"rope_theta\": 5e5, \"rope_scaling\": null, \"num_key_value_heads\": 2, \"rms_norm_eps\": 1e-5, "
        "\"tie_word_embeddings\": true, \"attention_bias\": false, \"sliding_window\": null, \"head_dim\": 16",
        &c));
    CHECK(c.head_dim == 0 && c.rope_theta == 5e5 && c.num_kv_heads == 2 && c.norm_eps == 1e-5 && c.tie_embeddings);
    CHECK_OK(read_config("\"head_dim\": 32", &c));
    CHECK(c.head_dim == 32 && tt_head_dim(&c) == 32);
    CHECK_OK(
        read_config("\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 1e6}, \"rope_theta\": 1", &c));
    CHECK(c.rope_theta == 1e6);
    CHECK_OK(read_config("\"model_type\": \"mistral\", \"sliding_window\": 4096", &c));
    CHECK_OK(read_config("\"model_type\": \"mistral\", \"sliding_window\": null", &c));
    CHECK_OK(read_config("\"model_type\": \"mistral\", \"max_position_embeddings\": 4096", &c));
    CHECK_OK(read_config("\"rope_scaling\": {\"rope_type\": \"default\", \"rope_theta\": 55}, \"rope_theta\": 2", &c));
    CHECK(c.rope_theta == 55);
    CHECK_OK(read_config("\"rope_scaling\": {\"rope_type\": \"default\"}, \"rope_theta\": 2", &c));
    CHECK(c.rope_theta == 2);

    CHECK_OK(read_config("\"model_type\": \"qwen2\", \"num_key_value_heads\": 2, \"sliding_window\": 1024", &c));
    CHECK(c.qkv_bias && !c.qk_norm && c.seq_len == 32768 && c.head_dim == 0);
    CHECK_OK(read_config("\"model_type\": \"qwen3\", \"num_key_value_heads\": 2, \"attention_bias\": false", &c));
    CHECK(!c.qkv_bias && c.qk_norm && c.seq_len == 32768 && c.head_dim == 128);
    CHECK_OK(read_config("\"layer_types\": [\"full_attention\", \"full_attention\"]", &c));
    CHECK(!c.qkv_bias);

    static const char *const refused[][2] = {
        {"\"model_type\": \"gpt2\"", "gpt2"},
        {"\"model_type\": \"qwen2_moe\"", "qwen2_moe"},
        {"\"model_type\": \"qwen3_moe\"", "qwen3_moe"},
        {"\"model_type\": \"qwen3\", \"attention_bias\": true", "attention_bias"},
        {"\"model_type\": \"qwen2\", \"use_sliding_window\": true", "use_sliding_window"},
        {"\"layer_types\": [\"full_attention\", \"sliding_attention\"]", "layer_types"},
        {"\"model_type\": \"qwen2\", \"attention_bias\": true", "attention_bias"},
        {"\"model_type\": \"mistral\", \"sliding_window\": 1024", "sliding_window"},
        {"\"model_type\": \"mistral\"", "\"sliding_window\": null"},
        {"\"model_type\": \"mistral\", \"max_position_embeddings\": 8192", "means 4096"},
        {"\"rope_scaling\": {\"rope_theta\": 99}, \"rope_parameters\": {\"rope_theta\": 20}", "keep one of the two"},
        {"\"rope_scaling\": {\"type\": \"default\"}, \"rope_parameters\": {\"rope_theta\": 20}", "keep one of the two"},
        {"\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0}", "llama3 needs low_freq_factor"},
        {"\"rope_scaling\": {\"type\": \"linear\"}", "linear needs factor"},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": \"two\"}", "factor"},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0.5}", "from 1 to"},
        {"\"rope_scaling\": {\"type\": \"longrope\", \"factor\": 2}", "longrope"},
        {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2, \"truncate\": false}", "truncate"},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"partial_rotary_factor\": 0.5}",
         "partial_rotary_factor"},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}, \"rope_parameters\": {\"rope_type\": \"default\"}",
         "keep one of the two"},
        {"\"rope_theta\": \"many\"", "rope_theta"},
        {"\"attention_bias\": true", "attention_bias"},
        {"\"mlp_bias\": true", "mlp_bias"},
        {"\"hidden_act\": \"gelu\"", "gelu"},
        {"\"head_dim\": 31", "head_dim"},
        {"\"head_dim\": 4611686018427387904", "head_dim"},
        {"\"partial_rotary_factor\": 0.5", "partial_rotary_factor"},
        {"\"quantization_config\": {\"bits\": 4}", "quantization_config"},
        {"\"rms_norm_eps\": 0", "rms_norm_eps"},
        {"\"rms_norm_eps\": \"small\"", "rms_norm_eps"},
        {"\"tie_word_embeddings\": 1", "tie_word_embeddings"},
        {"\"hidden_size\": -64", "hidden_size"},
        {"\"hidden_size\": 64.5", "hidden_size"},
        {"\"vocab_size\": null", "vocab_size"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CHECK_FAILS(read_config(refused[i][0], &c), refused[i][1]);
}

/* ---- wrong folders ---- */

static const char small_config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 4, \"num_hidden_layers\": 1, \"num_attention_heads\": 1, "
    "\"intermediate_size\": 2, \"vocab_size\": 3, \"tie_word_embeddings\": true}";

/* A model of one layer in which one tensor has another shape, type or name. */
static void write_small(const char *instead, const char *name, int64_t rows, const char *type, const char *also)
{
    static float data[64];
    const struct tt_tensor_source whole[] = {
        {"model.embed_tokens.weight", 2, {3, 4}, data, NULL},
        {"model.layers.0.self_attn.q_proj.weight", 2, {4, 4}, data, NULL},
        {"model.layers.0.self_attn.k_proj.weight", 2, {4, 4}, data, NULL},
        {"model.layers.0.self_attn.v_proj.weight", 2, {4, 4}, data, NULL},
        {"model.layers.0.self_attn.o_proj.weight", 2, {4, 4}, data, NULL},
        {"model.layers.0.mlp.gate_proj.weight", 2, {2, 4}, data, NULL},
        {"model.layers.0.mlp.up_proj.weight", 2, {2, 4}, data, NULL},
        {"model.layers.0.mlp.down_proj.weight", 2, {4, 2}, data, NULL},
        {"model.layers.0.input_layernorm.weight", 1, {4}, data, NULL},
        {"model.layers.0.post_attention_layernorm.weight", 1, {4}, data, NULL},
        {"model.norm.weight", 1, {4}, data, NULL},
        {also, 1, {4}, data, NULL},
    };
    struct tt_tensor_source tensors[12];
    memcpy(tensors, whole, sizeof whole);
    for (int i = 0; i < 11; i++)
        if (instead && !strcmp(tensors[i].name, instead)) {
            tensors[i].name = name;
            tensors[i].shape[0] = rows;
            tensors[i].type = type;
        }
    CHECK_OK(tt_remove_tree(in_folder("small")));
    CHECK_OK(tt_make_dirs(in_folder("small")));
    write_file("small/config.json", small_config);
    CHECK_OK(tt_safetensors_write(in_folder("small/model.safetensors"), tensors, also ? 12 : 11, NULL, 0, NULL, NULL));
}

static void refused(const char *words)
{
    struct imported m;
    CHECK_FAILS(import(in_folder("small"), &m), words);
    CHECK(!m.weights);
    drop(&m);
}

static void wrong_folders(void)
{
    struct imported m;
    const char *q = "model.layers.0.self_attn.q_proj.weight";
    write_small(NULL, NULL, 0, NULL, NULL);
    CHECK_OK(import(in_folder("small"), &m));
    drop(&m);
    write_small(NULL, NULL, 0, NULL, "model.layers.0.self_attn.rotary_emb.inv_freq");
    CHECK_OK(import(in_folder("small"), &m));
    drop(&m);
    write_small(q, q, 5, NULL, NULL);
    refused("is [5, 4], but config.json says [4, 4]");
    write_small(q, q, 4, "I32", NULL);
    refused("only F32, F16 and BF16");
    write_small(q, "model.layers.0.self_attn.query.weight", 4, NULL, NULL);
    refused("has no tensor model.layers.0.self_attn.q_proj.weight");
    write_small(NULL, NULL, 0, NULL, "model.layers.0.self_attn.q_proj.bias");
    refused("q_proj.bias does not belong");
    write_file("small/config.json", "{\"model_type\": \"llama\", ");
    refused("damaged");
    CHECK_OK(tt_remove_tree(in_folder("small/config.json")));
    refused("has no config.json");
    write_file("small/config.json", small_config);
    CHECK_OK(tt_remove_tree(in_folder("small/model.safetensors")));
    refused("neither model.safetensors nor");
    write_file("small/model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../secret\"}}");
    refused("outside");
    write_file("small/model.safetensors.index.json", "{\"weight_map\": {\"a\": \"missing.safetensors\"}}");
    refused("missing.safetensors");
    write_file("small/model.safetensors.index.json", "{\"weight_map\": []}");
    refused("weight_map");
    CHECK_FAILS(import(in_folder("nowhere"), &m), "there is no folder");
    drop(&m);
}

/* A head beside a tied embedding, in a separate file: with the same numbers, or with others. */
static void tied_heads(void)
{
    struct imported m;
    float data[12] = {0};
    for (int i = 0; i < 3; i++) {
        const struct tt_tensor_source head = {"lm_head.weight", 2, {i == 2 ? 2 : 3, 4}, data, NULL};
        data[7] = i == 1 ? 0.5f : 0;
        write_small(NULL, NULL, 0, NULL, NULL);
        CHECK(!rename(in_folder("small/model.safetensors"), in_folder("small/a.safetensors")));
        CHECK_OK(tt_safetensors_write(in_folder("small/b.safetensors"), &head, 1, NULL, 0, NULL, NULL));
        write_file("small/model.safetensors.index.json",
                   "{\"weight_map\": {\"x\": \"a.safetensors\", \"y\": \"b.safetensors\"}}");
        if (i == 1) refused("lm_head.weight differs from embed_tokens.weight");
        if (i == 2) refused("lm_head.weight is [2, 4], but config.json says [3, 4]");
        if (i) continue;
        CHECK_OK(import(in_folder("small"), &m));
        drop(&m);
    }
}

/* A config.json may claim any size. No memory is allocated before the files were checked. */
static void promises(void)
{
    struct imported m;
    write_small(NULL, NULL, 0, NULL, NULL);
    write_file("small/config.json",
               "{\"model_type\": \"llama\", \"hidden_size\": 65536, \"num_hidden_layers\": 1, "
               "\"num_attention_heads\": 1, \"intermediate_size\": 200000, \"vocab_size\": 4000000}");
    CHECK_FAILS(import(in_folder("small"), &m), "config.json says");
    drop(&m);
}

/* ---- tokenizers ---- */

static struct tt_tokenizer *through_json(const struct tt_tokenizer *t, bool older)
{
    struct tt_json_writer w = {.pretty = true};
    struct tt_json *j = NULL;
    struct tt_tokenizer *back = NULL;
    CHECK_OK(older ? tt_hf_tokenizer_write_as(t, -1, &w) : tt_hf_tokenizer_write(t, &w));
    CHECK_OK(tt_json_parse(w.text.s, w.text.n, &j));
    const struct tt_json *added = tt_json_get(j, "added_tokens");
    bool special = !older && tt_tokenizer_end(t) >= 0;
    CHECK(added && added->count == special && (!special || tt_json_get(added->first, "special")->boolean),
          "the end of a text is no special token, or another token is");
    CHECK_OK(tt_hf_tokenizer_read(j, &back));
    tt_json_free(j);
    tt_text_free(&w.text);
    return back;
}

static void tokenizers(void)
{
    static const char text[] =
        "A caf\xc3\xa9 \xe6\x97\xa5 is a caf\xc3\xa9,\n\tand \\ \"quotes\" stay. caf\xc3\xa9 caf\xc3\xa9";
    static const char *const words[] = {".", "?", ",", "the", "dog"};
    struct tt_tokenizer *t[5] = {0};
    CHECK_OK(tt_tokenizer_bytes(&t[0]));
    CHECK_OK(tt_tokenizer_chars(text, (int64_t)strlen(text) + 1, &t[1]));
    CHECK_OK(tt_tokenizer_train(text, (int64_t)strlen(text), 280, NULL, NULL, &t[2]));
    CHECK_OK(tt_tokenizer_words(words, 5, &t[3]));
    CHECK_OK(tt_tokenizer_train(text, (int64_t)strlen(text), 280, NULL, NULL, &t[4]));
    for (int i = 0; i < 5; i++) { /* the last one in the older format, which spells the byte 0 like any other */
        const char *said = i == 3 ? "the dog, the dog." : text;
        int64_t n = (int64_t)strlen(said), count, count_back;
        int32_t *tokens, *tokens_back;
        struct tt_tokenizer *back = through_json(t[i], i == 4);
        if (!back) continue;
        CHECK(!strcmp(tt_tokenizer_kind(back), tt_tokenizer_kind(t[i])) &&
              tt_tokenizer_size(back) == tt_tokenizer_size(t[i]));
        CHECK_OK(tt_tokenizer_encode(t[i], said, n, &tokens, &count));
        CHECK_OK(tt_tokenizer_encode(back, said, n, &tokens_back, &count_back));
        CHECK(count == count_back && !memcmp(tokens, tokens_back, (size_t)count * sizeof *tokens));
        free(tokens);
        free(tokens_back);
        tt_tokenizer_free(back);
        tt_tokenizer_free(t[i]);
    }
}

static void other_tokenizers(void)
{
    static const char *const texts[] = {
        "{}", "[]", "{\"pre_tokenizer\": null, \"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": []}}",
        "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\", "
        "\"add_prefix_space\": false, "
        "\"trim_offsets\": true, \"use_regex\": false}]}, \"model\": {\"vocab\": {\"a\": 0}}}",
        "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\", "
        "\"add_prefix_space\": false, "
        "\"trim_offsets\": true, \"use_regex\": false}]}, \"model\": {\"vocab\": {\"a\": 5}}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tt_json *j;
        struct tt_tokenizer *t = NULL;
        CHECK_OK(tt_json_parse(texts[i], strlen(texts[i]), &j));
        tt_status st = tt_hf_tokenizer_read(j, &t);
        CHECK(st && st->code == TT_UNSUPPORTED, "%s", texts[i]);
        tt_status_free(st);
        tt_json_free(j);
    }
    static const char *const words[] = {"etc.", "x"};
    struct tt_tokenizer *t;
    struct tt_json_writer w = {0};
    CHECK_OK(tt_tokenizer_words(words, 2, &t));
    CHECK_FAILS(tt_hf_tokenizer_write(t, &w), "ends in punctuation");
    tt_tokenizer_free(t);
    tt_text_free(&w.text);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &backend));
    if (!mkdtemp(folder)) return 1;
    TEST(logits_of_transformers);
    TEST(comes_back);
    TEST(narrow_types);
    TEST(keeps_what_is_there);
    TEST(pairs_and_halves);
    TEST(rope_scalings);
    TEST(configs);
    TEST(wrong_folders);
    TEST(tied_heads);
    TEST(promises);
    TEST(tokenizers);
    TEST(other_tokenizers);
    tt_status_free(tt_remove_tree(folder));
    tt_backend_close(&backend);
    return test_end();
}
