/* A predicted step: against sums by hand, and against the order that the chips' rates imply. */
#include "model/model.h"
#include "core/base/fp8.h"
#include "profiling/measure/ceiling.h"
#include "profiling/measure/cluster.h"
#include "profiling/measure/cost.h"
#include "profiling/measure/predict.h"
#include "tests/model/model_fixture.h"

static struct tt_chip even = {
    .name = "even", .words = "even", .matrix = {1e12, 2e12, 4e12, 4e12}, .vector = 1e12, .bandwidth = 1e11};

static struct tt_plan *plan_for(enum tt_version version, enum tt_precision precision, int ranks, enum tt_sharding shard)
{
    struct tt_config c = tiny_config();
    struct tt_model *m;
    struct tt_plan *p = NULL;
    c.version = version, c.ranks = ranks, c.shard = shard;
    CHECK_OK(tt_model_create(&c, &m));
    m->config.precision = precision;
    CHECK_OK(tt_model_plan_train(m, &p));
    tt_model_free(m);
    return p;
}

static struct tt_plan *plan_of(enum tt_version version, enum tt_precision precision)
{
    return plan_for(version, precision, 1, TT_SHARD_NONE);
}

static struct tt_prediction on(const struct tt_plan *p, enum tt_precision precision, const struct tt_chip *chip)
{
    struct tt_prediction out = {0};
    CHECK_OK(tt_predict(p, precision, chip, (struct tt_ring){0}, &out));
    return out;
}

static bool is(const char *device, const char *name) { return tt_chip_of(device, 0) == tt_chip_find(name); }

static void names_agree(void)
{
    int count = 0;
    for (; tt_chip_names[count]; count++) {
        const struct tt_chip *c = tt_chip_find(tt_chip_names[count]);
        CHECK(c && !strcmp(c->name, tt_chip_names[count]) && c->title, "%s", tt_chip_names[count]);
        CHECK(is(c->words, c->name), "%s", c->words);
    }
    CHECK(count == 46 && !tt_chip_find("abacus"));
    CHECK(tt_chip_find("RTX4080S") == tt_chip_find("4080s") && tt_chip_find("rx7900xtx") == tt_chip_find("7900xtx"));
    CHECK(tt_chip_find("rtxa5000") == tt_chip_find("a5000"));
}

static void devices_are_recognised(void)
{
    CHECK(is("NVIDIA H200", "h200") && is("AMD Instinct MI300X", "mi300x") && is("AMD Radeon RX 7900 XTX", "7900xtx"));
    CHECK(is("NVIDIA H100 80GB HBM3", "h100") && is("NVIDIA A100-SXM4-80GB", "a100"));
    CHECK(!is("NVIDIA GH200 480GB", "h200") && !is("NVIDIA H200 NVL", "h200") && !is("NVIDIA H100 PCIe", "h100"));
    CHECK(!is("AMD Instinct MI325X", "mi300x"));
    CHECK(!tt_chip_of("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 0) && !tt_chip_of("NVIDIA RTX 4090 Laptop GPU", 0));
    CHECK(!tt_chip_of("NVIDIA GeForce RTX 4090 D", 0) && !tt_chip_of("abacus", 0) && !tt_chip_of("", 0));
    CHECK(tt_chip_of("AMD Instinct MI300X VF", 304) == tt_chip_find("mi300x"));
    CHECK(!tt_chip_of("AMD Instinct MI300X", 38)); /* a part of the chip */
    CHECK(is("NVIDIA GeForce RTX 4080 SUPER", "4080s") && is("NVIDIA GeForce RTX 4070 Ti SUPER", "4070tis"));
    CHECK(is("NVIDIA GeForce RTX 4070", "4070") && is("Tesla T4", "t4") && is("NVIDIA RTX A5000", "a5000"));
    CHECK(tt_chip_of("NVIDIA GeForce RTX 3080", 68) == tt_chip_find("3080"));
    CHECK(!tt_chip_of("NVIDIA GeForce RTX 3080", 70)); /* the 12 GB model */
}

static void rates_make_sense(void)
{
    for (int i = 0; tt_chip_names[i]; i++) {
        const struct tt_chip *c = tt_chip_find(tt_chip_names[i]);
        bool turing = !strcmp(c->arch, "sm_75"); /* has no bf16 */
        CHECK(c->matrix[TT_FP32] > 8e12 && c->matrix[TT_FP32] <= c->matrix[TT_TF32] &&
              c->matrix[TT_TF32] < c->matrix[TT_PREC_FP16], "%s", c->name);
        CHECK(turing ? !c->matrix[TT_PREC_BF16] : c->matrix[TT_TF32] < c->matrix[TT_PREC_BF16], "%s", c->name);
        static const char *const eight[] = {"sm_89", "sm_90", "sm_100", "sm_120", "gfx942", "gfx950", "gfx1201"};
        bool has_fp8 = false;
        for (size_t k = 0; k < sizeof eight / sizeof *eight; k++) has_fp8 |= !strcmp(c->arch, eight[k]);
        CHECK(c->matrix[TT_PREC_FP8] == (has_fp8 ? 2 * c->matrix[TT_PREC_BF16] : 0), "%s", c->name);
        CHECK(c->vector > 8e12 && c->vector <= c->matrix[TT_FP32] && c->bandwidth >= 3e11 && c->bandwidth < 1e13, "%s",
              c->name);
        CHECK((c->wave == 32 || c->wave == 64) && c->shared_kib >= 48 && c->units >= 40 && c->memory > 1e10);
        CHECK((c->arch[0] == 's') == !strncmp(c->title, "NVIDIA", 6), "%s is %s", c->title, c->arch);
        CHECK(c->link.name ? c->link.bandwidth >= 16e9 && c->link.bandwidth < c->bandwidth : !c->link.bandwidth);
    }
}

/* Drivers' own figures in MiB; for the H200, those of our recorded profiles. */
static void memory_is_what_programs_see(void)
{
    const struct { const char *name; double mib; } seen[] = {
        {"t4", 15360}, {"a10", 23028}, {"l4", 23034}, {"l40s", 46068}, {"a100", 81920}, {"a100-40gb", 40960},
        {"h100", 81559}, {"h200", 143155}, {"4090", 24564}, {"mi300x", 196592},
    };
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        double there = tt_chip_find(seen[i].name)->memory / 0x1p20;
        CHECK(fabs(there / seen[i].mib - 1) < 0.005, "%s: %.0f MiB", seen[i].name, there);
    }
}

static void links_are_those_published(void)
{
    const struct { const char *device, *link; double gigabytes; } known[] = {
        {"NVIDIA H100 80GB HBM3", "NVLink 4", 450}, {"NVIDIA H200", "NVLink 4", 450},
        {"NVIDIA A100-SXM4-40GB", "NVLink 3", 300}, {"NVIDIA A100-PCIE-40GB", "PCIe 4 x16", 32},
        {"NVIDIA H100 PCIe", "PCIe 5 x16", 64},     {"AMD Instinct MI300X", "xGMI", 7 * 64},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct tt_chip *c = tt_chip_of(known[i].device, 0);
        CHECK(c && !strcmp(c->link.name, known[i].link) && c->link.bandwidth == 1e9 * known[i].gigabytes, "%s",
              known[i].device);
    }
}

/* Adds up every kernel again from its own numbers. */
static void sums_by_hand(void)
{
    for (int precision = TT_FP32; precision <= TT_PREC_FP16; precision++) {
        struct tt_plan *p = plan_of(TT_FLASH, (enum tt_precision)precision);
        double total = 0, memory = 0, groups = 0, phases = 0;
        for (int i = 0; i < p->count; i++) {
            const char *name = tt_op_name(&p->ops[i]);
            bool matrix = !strcmp(name, "gemm") || !strncmp(name, "flash", 5);
            double compute = tt_op_flops(&p->ops[i]) / (matrix ? even.matrix[precision] : even.vector);
            double moved = tt_op_bytes(&p->ops[i]) / even.bandwidth;
            total += fmax(compute, moved);
            if (moved > compute) memory += moved;
        }
        struct tt_prediction got = on(p, (enum tt_precision)precision, &even);
        for (int g = 0; g < TT_GROUP_COUNT; g++) groups += got.group[g];
        for (int f = 0; f < TT_PHASES; f++) phases += got.phase[f];
        CHECK(got.seconds == total && got.communication == 0 && got.exposed == 0);
        CHECK( fabs(got.memory_seconds / memory - 1) < 1e-12);
        CHECK(fabs(groups / total - 1) < 1e-12 && fabs(phases / total - 1) < 1e-12);
        tt_plan_free(p);
    }
}

/* One product with a known time: 2·m·n·k FLOPs, (mk + kn + mn)·4 bytes. */
static void one_product(void)
{
    bool by_memory;
    struct tt_op op = {.kind = TT_OP_GEMM,
                       .args.gemm = {.m = 1000, .n = 2000, .k = 500, .batch = 1, .a = &op, .b = &op, .c = &op}};
    struct tt_chip chip = even;
    CHECK(fabs(tt_predict_op(&op, TT_FP32, &chip, &by_memory) - 2e9 / 1e12) < 1e-15 && !by_memory);
    chip.bandwidth = 1e9;
    CHECK(fabs(tt_predict_op(&op, TT_FP32, &chip, &by_memory) - 14e6 / 1e9) < 1e-15 && by_memory);
}

/* ---- 8-bit products ---- */

static struct tt_plan *plan_in_fp8(void)
{
    struct tt_config c = tiny_config();
    struct tt_model *m;
    struct tt_plan *p = NULL;
    c.hidden_dim = 64, c.num_heads = 4, c.num_kv_heads = 2, c.ffn_dim = 96, c.seq_len = 16, c.batch_size = 4;
    c.version = TT_FLASH;
    CHECK_OK(tt_model_create(&c, &m));
    m->config.precision = TT_PREC_FP8;
    CHECK_OK(tt_model_plan_train(m, &p));
    tt_model_free(m);
    return p;
}

/* 8-bit products have the roof of fp8, the rest that of bf16. A plan's rate is that of all of them in sequence. */
static void eight_bits_have_a_roof_of_their_own(void)
{
    struct tt_plan *p = plan_in_fp8();
    const struct tt_ceilings c = {.flops = 2e12, .rest = 1e12, .bandwidth = 1e11};
    double eight = 0, rest = 0;
    for (int i = 0; i < p->count; i++) {
        bool is_eight = p->ops[i].kind == TT_OP_GEMM && tt_is_fp8(p->ops[i].args.gemm.type_a);
        CHECK(tt_roof_of_op(&c, &p->ops[i]) == (is_eight ? 2e12 : 1e12), "%s", tt_op_name(&p->ops[i]));
        *(is_eight ? &eight : &rest) += tt_op_flops(&p->ops[i]);
    }
    double rate = (eight + rest) / (eight / 2e12 + rest / 1e12);
    CHECK(eight > rest && fabs(tt_roof_of_plan(&c, p) / rate - 1) < 1e-12, "%g", tt_roof_of_plan(&c, p));
    tt_plan_free(p);
}

/* A CPU multiplies widened factors, so its roof is that of the other products. */
static void the_roof_is_of_the_precision(void)
{
    struct tt_device_info gpu = {.has = {[TT_FP32] = true, [TT_PREC_BF16] = true, [TT_PREC_FP8] = true},
                                 .peak_flops = {[TT_F32] = 1, [TT_BF16] = 3}, .peak_fp8 = 6};
    struct tt_device_info cpu = {.has = {[TT_FP32] = true, [TT_PREC_FP8] = true}, .shares_memory = true,
                                 .peak_flops = {[TT_F32] = 2}};
    CHECK(tt_roof_precision(TT_PREC_FP8, &gpu) == TT_PREC_FP8 && tt_roof_datasheet(TT_PREC_FP8, &gpu) == 6);
    CHECK(tt_roof_precision(TT_PREC_BF16, &gpu) == TT_PREC_BF16 && tt_roof_datasheet(TT_PREC_BF16, &gpu) == 3);
    CHECK(tt_roof_precision(TT_PREC_FP8, &cpu) == TT_FP32 && tt_roof_datasheet(TT_PREC_FP8, &cpu) == 2);
}

/* As published by the vendors, dense, in TFLOP/s. */
static void fp8_rates_are_those_published(void)
{
    const struct { const char *name; double tera; } known[] = {
        {"h100", 1979}, {"h200", 1979}, {"b200", 4500}, {"l40s", 733}, {"l4", 242.5}, {"mi300x", 2614.9},
        {"mi355x", 5033}, {"mi350x", 4614},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double there = tt_chip_find(known[i].name)->matrix[TT_PREC_FP8] / 1e12;
        CHECK(fabs(there / known[i].tera - 1) < 0.015, "%s: %g", known[i].name, there);
    }
}

static void faster_chips_are_faster(void)
{
    struct tt_plan *flash = plan_of(TT_FLASH, TT_PREC_BF16), *baseline = plan_of(TT_BASELINE, TT_PREC_BF16);
    double h100 = on(flash, TT_PREC_BF16, tt_chip_find("h100")).seconds,
           h200 = on(flash, TT_PREC_BF16, tt_chip_find("h200")).seconds;
    double mi300 = on(flash, TT_PREC_BF16, tt_chip_find("mi300x")).seconds,
           mi325 = on(flash, TT_PREC_BF16, tt_chip_find("mi325x")).seconds;
    CHECK(h200 < h100 && mi325 < mi300 && mi300 < h200);
    CHECK(on(baseline, TT_PREC_BF16, tt_chip_find("h200")).seconds > h200);
    tt_plan_free(flash);
    tt_plan_free(baseline);
}

/* ---- several ranks ---- */

/* 2·1000·1000·k FLOPs at 1e12 per second: 2 µs for each k. */
static struct tt_op compute(double milliseconds, int wait, int signal)
{
    int64_t k = (int64_t)(milliseconds * 500 + 0.5);
    return (struct tt_op){.kind = TT_OP_GEMM, .wait = {-1, -1, wait}, .signal = signal, .group = TT_G_LOSS,
                          .args.gemm = {.m = 1000, .n = 1000, .k = k, .batch = 1}};
}

/* For 2 ranks, so 4 bytes are sent per element: 4 ns at 1e9 bytes per second. */
static struct tt_op sum_up(double milliseconds, int wait, int signal)
{
    int64_t count = (int64_t)(milliseconds * 250e3 + 0.5);
    return (struct tt_op){.kind = TT_OP_COLLECTIVE, .stream = TT_STREAM_COMM, .wait = {wait, -1, -1}, .signal = signal,
                          .group = TT_G_COMMUNICATION,
                          .args.collective = {.kind = TT_ALL_REDUCE, .count = count, .type = TT_F32, .ranks = 2}};
}

static void check_walk(struct tt_op *ops, int count, double total, double communication, double exposed)
{
    struct tt_plan plan = {.ops = ops, .count = count, .signals = 4};
    struct tt_chip chip = even;
    struct tt_prediction p;
    chip.bandwidth = 1e15;
    CHECK_OK(tt_predict(&plan, TT_FP32, &chip, (struct tt_ring){1e9, 0}, &p));
    CHECK(fabs(1e3 * p.seconds - total) < 1e-9, "%g ms, not %g", 1e3 * p.seconds, total);
    CHECK(fabs(1e3 * p.communication - communication) < 1e-9, "%g ms, not %g", 1e3 * p.communication, communication);
    CHECK(fabs(1e3 * p.exposed - exposed) < 1e-9, "%g ms exposed, not %g", 1e3 * p.exposed, exposed);
    CHECK(fabs(1e3 * p.group[TT_G_COMMUNICATION] - communication) < 1e-9);
}

/* Plans whose times are easy to see; the signals say which operation waits for which. */
static void clocks_wait_for_each_other(void)
{
    struct tt_op hidden[] = {compute(10, -1, 0), sum_up(20, 0, 1), compute(30, -1, -1), compute(5, 1, -1)};
    check_walk(hidden, 4, 45, 20, 0); /* 10-30 beside 10-40 */
    struct tt_op partly[] = {compute(10, -1, 0), sum_up(20, 0, 1), compute(15, -1, -1), compute(5, 1, -1)};
    check_walk(partly, 4, 35, 20, 5); /* until 30; from 25 on nothing computes */
    struct tt_op last[] = {compute(10, -1, -1), compute(10, -1, 0), sum_up(4, 0, 1)};
    check_walk(last, 3, 24, 4, 4); /* only the end of the step waits for it */
    struct tt_op queue[] = {compute(10, -1, 0), sum_up(20, 0, -1), compute(10, -1, 1), sum_up(5, 1, 2),
                            compute(10, 2, -1)};
    check_walk(queue, 5, 45, 25, 15); /* the second sum waits for the first, until 35 */
    struct tt_op behind[] = {compute(10, -1, -1), sum_up(20, -1, -1), compute(5, -1, -1)};
    behind[1].stream = TT_STREAM_MAIN;
    check_walk(behind, 3, 35, 20, 20); /* a sum on the kernels' stream is not hidden */
    struct tt_op alone[] = {compute(10, -1, -1), compute(10, -1, -1)};
    alone[1].stream = TT_STREAM_SIDE;
    check_walk(alone, 2, 20, 0, 0); /* two streams that compute share one chip */
}

static void links_hide_behind_kernels(void)
{
    const struct tt_chip *h200 = tt_chip_find("h200");
    for (int s = TT_SHARD_NONE; s <= TT_SHARD_WEIGHTS; s++) {
        struct tt_plan *p = plan_for(TT_FLASH, TT_PREC_BF16, 4, (enum tt_sharding)s);
        struct tt_prediction slow, fast;
        double sent = tt_cost_of_plan(p).sent;
        CHECK_OK(tt_predict(p, TT_PREC_BF16, h200, (struct tt_ring){1e9, 0}, &slow));
        CHECK_OK(tt_predict(p, TT_PREC_BF16, h200, (struct tt_ring){450e9, 0}, &fast));
        CHECK(fabs(slow.group[TT_G_COMMUNICATION] * 1e9 / sent - 1) < 0.01, "%s: %g s for %g bytes", tt_shard_names[s],
              slow.group[TT_G_COMMUNICATION], sent);
        CHECK(fast.seconds < slow.seconds && fast.exposed <= fast.communication && fast.exposed >= 0);
        CHECK(slow.exposed < slow.communication, "%s: nothing is hidden", tt_shard_names[s]);
        tt_plan_free(p);
    }
}

static void clusters_are_read(void)
{
    const struct { const char *text; int ranks, nodes, gpus; double rate; const char *name; } good[] = {
        {"h200", 1, 1, 1, 0, "h200"},          {"h200", 8, 1, 8, 450e9, "8xh200"},
        {"8xh200", 1, 1, 8, 450e9, "8xh200"},  {"8xh200", 8, 1, 8, 450e9, "8xh200"},
        {"4x8xh100", 1, 4, 8, 400e9, "4x8xh100"}, {"4x1xh100", 1, 4, 1, 50e9, "4x1xh100"},
        {"2x4xmi300a", 1, 2, 4, 200e9, "2x4xmi300a"}, {"2x7900xtx", 1, 1, 2, 32e9, "2x7900xtx"},
        {"2x8x7900xtx", 16, 2, 8, 32e9, "2x8x7900xtx"}, {"2x1xmi250x", 1, 2, 1, 50e9, "2x1xmi250x"},
        {"1x1xmi250x", 1, 1, 1, 0, "mi250x"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tt_cluster c;
        CHECK_OK(tt_cluster_read(good[i].text, good[i].ranks, &c));
        CHECK(c.nodes == good[i].nodes && c.gpus == good[i].gpus && !strcmp(c.name, good[i].name), "%s", good[i].text);
        CHECK(fabs(tt_cluster_rate(&c) - good[i].rate) < 1, "%s: %g", good[i].text, tt_cluster_rate(&c));
    }
    const struct { const char *text; int ranks; } refused[] = {{"8xh200", 4}, {"h200", 16}, {"0xh200", 1},
        {"2x2x2xh200", 1}, {"xh200", 1}, {"99999999999999999999xh200", 1}, {"65536x65536xh200", 1}, {"2xmi250x", 1},
        {"mi250x", 2}, {"-2xh200", 1}, {"2x", 1}, {"", 1}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct tt_cluster c;
        tt_status st = tt_cluster_read(refused[i].text, refused[i].ranks, &c);
        CHECK(st && st->code == TT_USAGE, "\"%s\" is taken", refused[i].text);
        tt_status_free(st);
    }
}

int main(void)
{
    TEST(names_agree);
    TEST(devices_are_recognised);
    TEST(rates_make_sense);
    TEST(memory_is_what_programs_see);
    TEST(links_are_those_published);
    TEST(sums_by_hand);
    TEST(one_product);
    TEST(eight_bits_have_a_roof_of_their_own);
    TEST(the_roof_is_of_the_precision);
    TEST(fp8_rates_are_those_published);
    TEST(faster_chips_are_faster);
    TEST(clocks_wait_for_each_other);
    TEST(links_hide_behind_kernels);
    TEST(clusters_are_read);
    return test_end();
}
