/* A step on paper: against sums by hand, and against the order that the chips' rates demand. */
#include "model/model.h"
#include "profiling/measure/predict.h"
#include "tests/model/model_fixture.h"

static struct tt_chip even = {
    .name = "even", .words = "even", .matrix = {1e12, 2e12, 4e12, 4e12}, .vector = 1e12, .bandwidth = 1e11};

static struct tt_plan *plan_of(enum tt_version version, enum tt_precision precision)
{
    struct tt_config c = tiny_config();
    struct tt_model *m;
    struct tt_plan *p = NULL;
    c.version = version;
    CHECK_OK(tt_model_create(&c, &m));
    m->config.precision = precision;
    CHECK_OK(tt_model_plan_train(m, &p));
    tt_model_free(m);
    return p;
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
    CHECK(count == 9 && !tt_chip_find("abacus"));
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
    CHECK(!tt_chip_of("AMD Instinct MI300X", 38)); /* a part of it */
}

static void rates_make_sense(void)
{
    for (int i = 0; tt_chip_names[i]; i++) {
        const struct tt_chip *c = tt_chip_find(tt_chip_names[i]);
        CHECK(c->matrix[TT_FP32] > 1e13 && c->matrix[TT_FP32] <= c->matrix[TT_TF32] &&
              c->matrix[TT_TF32] < c->matrix[TT_PREC_BF16]);
        CHECK(c->vector > 1e13 && c->vector <= c->matrix[TT_FP32] && c->bandwidth > 5e11 && c->bandwidth < 1e13, "%s",
              c->name);
        CHECK((c->wave == 32 || c->wave == 64) && c->shared_kib >= 48 && c->units > 50 && c->memory > 2e10);
        CHECK((c->arch[0] == 's') == !strncmp(c->title, "NVIDIA", 6), "%s is %s", c->title, c->arch);
        CHECK(c->link.name ? c->link.bandwidth >= 16e9 && c->link.bandwidth < c->bandwidth : !c->link.bandwidth);
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

/* Every kernel once more, by its own numbers. */
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
        struct tt_prediction got = tt_predict(p, (enum tt_precision)precision, &even);
        for (int g = 0; g < TT_GROUP_COUNT; g++) groups += got.group[g];
        for (int f = 0; f < TT_PHASES; f++) phases += got.phase[f];
        CHECK(fabs(got.seconds / total - 1) < 1e-12 && fabs(got.memory_seconds / memory - 1) < 1e-12);
        CHECK(fabs(groups / total - 1) < 1e-12 && fabs(phases / total - 1) < 1e-12);
        tt_plan_free(p);
    }
}

/* One product whose time is known: 2·m·n·k FLOPs, (mk + kn + mn)·4 bytes. */
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

static void faster_chips_are_faster(void)
{
    struct tt_plan *flash = plan_of(TT_FLASH, TT_PREC_BF16), *baseline = plan_of(TT_BASELINE, TT_PREC_BF16);
    double h100 = tt_predict(flash, TT_PREC_BF16, tt_chip_find("h100")).seconds,
           h200 = tt_predict(flash, TT_PREC_BF16, tt_chip_find("h200")).seconds;
    double mi300 = tt_predict(flash, TT_PREC_BF16, tt_chip_find("mi300x")).seconds,
           mi325 = tt_predict(flash, TT_PREC_BF16, tt_chip_find("mi325x")).seconds;
    CHECK(h200 < h100 && mi325 < mi300 && mi300 < h200);
    CHECK(tt_predict(baseline, TT_PREC_BF16, tt_chip_find("h200")).seconds > h200);
    tt_plan_free(flash);
    tt_plan_free(baseline);
}

int main(void)
{
    TEST(names_agree);
    TEST(devices_are_recognised);
    TEST(rates_make_sense);
    TEST(links_are_those_published);
    TEST(sums_by_hand);
    TEST(one_product);
    TEST(faster_chips_are_faster);
    return test_end();
}
