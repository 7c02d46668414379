/* A step on paper: against sums by hand, and against the order that the chips' rates demand. */
#include "backend/peaks.h"
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

static void names_agree(void)
{
    for (int i = 0; i < tt_chip_count; i++) {
        CHECK(tt_chip_names[i] && !strcmp(tt_chip_names[i], tt_chips[i].name));
        CHECK(tt_chip_find(tt_chips[i].name) == &tt_chips[i]);
        CHECK(tt_chip_is(&tt_chips[i], tt_chips[i].words), "%s", tt_chips[i].words);
    }
    CHECK(!tt_chip_names[tt_chip_count] && !tt_chip_find("abacus"));
}

static void devices_are_recognised(void)
{
    CHECK(tt_chip_is(tt_chip_find("h200"), "NVIDIA H200"));
    CHECK(tt_chip_is(tt_chip_find("mi300x"), "AMD Instinct MI300X"));
    CHECK(tt_chip_is(tt_chip_find("7900xtx"), "AMD Radeon RX 7900 XTX"));
    CHECK(tt_chip_is(tt_chip_find("h100"), "NVIDIA H100 80GB HBM3"));
    CHECK(!tt_chip_is(tt_chip_find("h200"), "NVIDIA GH200 480GB"));
    CHECK(!tt_chip_is(tt_chip_find("h200"), "NVIDIA H200 NVL"));
    CHECK(!tt_chip_is(tt_chip_find("h100"), "NVIDIA H100 PCIe"));
    CHECK(!tt_chip_is(tt_chip_find("mi300x"), "AMD Instinct MI325X"));
}

static void rates_make_sense(void)
{
    for (int i = 0; i < tt_chip_count; i++) {
        const struct tt_chip *c = &tt_chips[i];
        CHECK(c->matrix[TT_FP32] > 1e13 && c->matrix[TT_FP32] <= c->matrix[TT_TF32] &&
              c->matrix[TT_TF32] < c->matrix[TT_PREC_BF16]);
        CHECK(c->vector > 1e13 && c->vector <= c->matrix[TT_FP32] && c->bandwidth > 5e11 && c->bandwidth < 1e13, "%s",
              c->name);
        struct tt_peaks peaks = tt_peaks_of(c->words, 0); /* what tt bench compares with on such a device */
        CHECK(c->matrix[TT_PREC_BF16] == 1e12 * peaks.half && c->matrix[TT_FP32] == 1e12 * peaks.fp32, "%s", c->name);
        CHECK(c->matrix[TT_TF32] == 1e12 * (peaks.tf32 > 0 ? peaks.tf32 : peaks.fp32), "%s", c->name);
        CHECK(fabs(c->bandwidth / (1e9 * peaks.bandwidth) - 1) < 1e-3, "%s", c->name);
        CHECK((c->wave == 32 || c->wave == 64) && c->shared_kib >= 48 && c->units > 50 && c->memory > 2e10);
        CHECK(!peaks.units || peaks.units == c->units, "%s", c->name);
    }
    CHECK(tt_peaks_of("AMD Instinct MI300X VF", 304).half > 1307 && tt_peaks_of("AMD Instinct MI300X", 38).half == 0);
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
    TEST(sums_by_hand);
    TEST(one_product);
    TEST(faster_chips_are_faster);
    return test_end();
}
