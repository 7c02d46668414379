/* The table of GPUs: dense peak rates at boost clock, from data sheets and reviews. A GPU that runs slower because of
 * power or clock limits is still compared with these. Memory is what a program sees of it: vendors write GB where it is
 * GiB, and error correction takes a sixteenth of GDDR6. */
#include "backend/chips.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define T(x) ((x)*1e12)
#define GB(x) ((x)*1e9)
#define GIB(x) ((x)*0x1p30)
#define MATRIX(fp32, tf32, bf16, fp16) {T(fp32), T(tf32), T(bf16), T(fp16)}
/* With 8-bit products too: by the same sources, every chip that has them does them at twice the rate of bf16. */
#define MATRIX8(fp32, tf32, bf16, fp16) {T(fp32), T(tf32), T(bf16), T(fp16), 2 * T(bf16)}

/* Links between the GPUs of a node, per direction. NVLink through a switch: 12 links of 25 GB/s (A100), 18 of 25 (H100,
 * H200), 18 of 50 (B200). xGMI has direct links, so a pair of GPUs has only its own: 7 of 64 GB/s (MI300X, MI325X) or
 * of 76.8 (MI350X, MI355X), one per pair; 6 of 64, two per pair, in a node of 4 MI300A. PCIe cards: 16 lanes; optional
 * bridges between pairs of cards are not counted. Unknown where it depends on the machine (MI250, GH200). */
#define NVLINK_3 {"NVLink 3", GB(300)}
#define NVLINK_4 {"NVLink 4", GB(450)}
#define NVLINK_5 {"NVLink 5", GB(900)}
#define XGMI_300 {"xGMI", GB(448)}
#define XGMI_300A {"xGMI", GB(384)}
#define XGMI_350 {"xGMI", GB(537.6)}
#define PCIE_3 {"PCIe 3 x16", GB(16)}
#define PCIE_4 {"PCIe 4 x16", GB(32)}
#define PCIE_5 {"PCIe 5 x16", GB(64)}
#define UNKNOWN {NULL, 0}

// clang-format off
/* The first row whose words are in the device name is used, so longer names come first. */
static const struct tt_chip chips[] = {
    /* a partition of a GPU, or a slower model with a longer name: unknown */
    {.words = "MIG"}, {.words = "Laptop"}, {.words = "Max-Q"}, {.words = "RTX 4090 D"}, {.words = "RTX 5090 D"},

    /* NVIDIA. Sources:
     * - data centre: NVIDIA's data sheets; their rates with sparsity are twice those given here. Memory: what
     *   nvidia-smi shows, as users report it (T4 15360 MiB, A10 23028, L4 23034, L40S 46068, A100 40960 and 81920, H100
     *   81559; H200: our own profiles). GB200: as sold.
     * - GeForce: cores x 2 x boost clock, which reviews print (3080: 8704 at 1.71 GHz; 4070: 5888 at 2.475; 4080 SUPER:
     *   10240 at 2.55; 4090: 16384 at 2.52); matrix rates with fp32 sums are twice that in half precision and the same
     *   in tf32, by the white papers of Ampere and Ada. RTX A5000, A6000: the same white paper; four times and twice
     *   the vector rate, since the halving applies only to GeForce.
     * words, arch, matrix rates, vector rate, bandwidth, memory, units, wave, KiB */
    {"T4", "sm_75", MATRIX(8.1, 8.1, 0, 65), T(8.1), GB(320), GIB(15), 40, 32, 64, .link = PCIE_3,
     .name = "t4", .title = "NVIDIA T4"},
    {"A10", "sm_86", MATRIX(31.2, 62.5, 125, 125), T(31.2), GB(600), GIB(22.5), 72, 32, 99, .link = PCIE_4,
     .name = "a10", .title = "NVIDIA A10"},
    {"A10G", "sm_86", MATRIX(35, 35, 70, 70), T(35), GB(600), GIB(22.5), 80, 32, 99, .link = PCIE_4,
     .name = "a10g", .title = "NVIDIA A10G"},
    {"A30", "sm_80", MATRIX(10.3, 82, 165, 165), T(10.3), GB(933), GIB(24), 56, 32, 163, .link = PCIE_4,
     .name = "a30", .title = "NVIDIA A30"},
    {"A40", "sm_86", MATRIX(37.4, 74.8, 149.7, 149.7), T(37.4), GB(696), GIB(45), 84, 32, 99, .link = PCIE_4,
     .name = "a40", .title = "NVIDIA A40"},
    {"A100 80GB PCIe", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(1935), GIB(80), 108, 32, 163,
     .link = PCIE_4},
    {"A100-SXM4-80GB", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(2039), GIB(80), 108, 32, 163,
     .link = NVLINK_3, .name = "a100", .title = "NVIDIA A100 SXM 80 GB"},
    {"A100-SXM4-40GB", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(1555), GIB(40), 108, 32, 163,
     .link = NVLINK_3,
     .name = "a100-40gb", .title = "NVIDIA A100 SXM 40 GB"},
    {"A100-PCIE-40GB", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(1555), GIB(40), 108, 32, 163,
     .link = PCIE_4},
    {"L4", "sm_89", MATRIX8(30.3, 60, 121, 121), T(30.3), GB(300), GIB(22.5), 58, 32, 99, .link = PCIE_4,
     .name = "l4", .title = "NVIDIA L4"},
    {"L40", "sm_89", MATRIX8(90.5, 90.5, 181, 181), T(90.5), GB(864), GIB(45), 142, 32, 99, .link = PCIE_4,
     .name = "l40", .title = "NVIDIA L40"},
    {"L40S", "sm_89", MATRIX8(91.6, 183, 362, 362), T(91.6), GB(864), GIB(45), 142, 32, 99, .link = PCIE_4,
     .name = "l40s", .title = "NVIDIA L40S"},
    {"H100 PCIe", "sm_90", MATRIX8(51, 378, 756, 756), T(51), GB(2000), GIB(79.6), 114, 32, 227, .link = PCIE_5,
     .name = "h100-pcie", .title = "NVIDIA H100 PCIe"},
    {"H100 NVL", "sm_90", MATRIX8(60, 417, 835, 835), T(60), GB(3900), GIB(93), 132, 32, 227, .link = PCIE_5,
     .name = "h100-nvl", .title = "NVIDIA H100 NVL"},
    {"H100 80GB HBM3", "sm_90", MATRIX8(67, 494, 989, 989), T(67), GB(3350), GIB(79.6), 132, 32, 227, .link = NVLINK_4,
     .name = "h100", .title = "NVIDIA H100 SXM"},
    {"H200 NVL", "sm_90", MATRIX8(60, 417, 835, 835), T(60), GB(4800), GIB(139.8), 132, 32, 227, .link = PCIE_5,
     .name = "h200-nvl", .title = "NVIDIA H200 NVL"},
    {"H200", "sm_90", MATRIX8(67, 494, 989, 989), T(67), GB(4800), GIB(139.8), 132, 32, 227, .link = NVLINK_4,
     .name = "h200", .title = "NVIDIA H200"},
    {"GH200 144G HBM3e", "sm_90", MATRIX8(67, 494, 990, 990), T(67), GB(4900), GIB(141), 132, 32, 227, .link = UNKNOWN},
    {"GH200", "sm_90", MATRIX8(67, 494, 990, 990), T(67), GB(4000), GIB(95), 132, 32, 227, .link = UNKNOWN,
     .name = "gh200", .title = "NVIDIA GH200 96 GB"},
    {"GB200", "sm_100", MATRIX8(80, 1250, 2500, 2500), T(80), GB(8000), GB(186), 152, 32, 227, .link = NVLINK_5,
     .name = "gb200", .title = "NVIDIA GB200, one of its GPUs"},
    {"B200", "sm_100", MATRIX8(75, 1125, 2250, 2250), T(75), GB(8000), GIB(179), 148, 32, 227, .link = NVLINK_5,
     .name = "b200", .title = "NVIDIA B200"},
    {"RTX A5000", "sm_86", MATRIX(27.8, 55.6, 111.1, 111.1), T(27.8), GB(768), GIB(24), 64, 32, 99, .link = PCIE_4,
     .name = "a5000", .title = "NVIDIA RTX A5000"},
    {"RTX A6000", "sm_86", MATRIX(38.7, 77.4, 154.8, 154.8), T(38.7), GB(768), GIB(48), 84, 32, 99, .link = PCIE_4,
     .name = "a6000", .title = "NVIDIA RTX A6000"},
    {"RTX 3080 Ti", "sm_86", MATRIX(34.1, 34.1, 68.2, 68.2), T(34.1), GB(912), GIB(12), 80, 32, 99, .link = PCIE_4,
     .name = "3080ti", .title = "NVIDIA GeForce RTX 3080 Ti"},
    /* the 12 GB card has the same name, but 70 units */
    {"RTX 3080", "sm_86", MATRIX(29.8, 29.8, 59.5, 59.5), T(29.8), GB(760), GIB(10), 68, 32, 99, .partitioned = true,
     .link = PCIE_4, .name = "3080", .title = "NVIDIA GeForce RTX 3080 10 GB"},
    {"RTX 4070 Ti SUPER", "sm_89", MATRIX8(44.1, 44.1, 88.2, 88.2), T(44.1), GB(672), GIB(16), 66, 32, 99,
     .link = PCIE_4, .name = "4070tis", .title = "NVIDIA GeForce RTX 4070 Ti SUPER"},
    {"RTX 4070 Ti", "sm_89", MATRIX8(40.1, 40.1, 80.2, 80.2), T(40.1), GB(504), GIB(12), 60, 32, 99, .link = PCIE_4,
     .name = "4070ti", .title = "NVIDIA GeForce RTX 4070 Ti"},
    {"RTX 4070 SUPER", "sm_89", MATRIX8(35.5, 35.5, 71, 71), T(35.5), GB(504), GIB(12), 56, 32, 99, .link = PCIE_4,
     .name = "4070s", .title = "NVIDIA GeForce RTX 4070 SUPER"},
    {"RTX 4070", "sm_89", MATRIX8(29.1, 29.1, 58.3, 58.3), T(29.1), GB(504), GIB(12), 46, 32, 99, .link = PCIE_4,
     .name = "4070", .title = "NVIDIA GeForce RTX 4070"},
    {"RTX 4080 SUPER", "sm_89", MATRIX8(52.2, 52.2, 104.4, 104.4), T(52.2), GB(736), GIB(16), 80, 32, 99,
     .link = PCIE_4, .name = "4080s", .title = "NVIDIA GeForce RTX 4080 SUPER"},
    {"RTX 4080", "sm_89", MATRIX8(48.7, 48.7, 97.5, 97.5), T(48.7), GB(717), GIB(16), 76, 32, 99, .link = PCIE_4,
     .name = "4080", .title = "NVIDIA GeForce RTX 4080"},
    {"RTX 3090 Ti", "sm_86", MATRIX(40, 40, 80, 80), T(40), GB(1008), GIB(24), 84, 32, 99, .link = PCIE_4,
     .name = "3090ti", .title = "NVIDIA GeForce RTX 3090 Ti"},
    {"RTX 3090", "sm_86", MATRIX(35.6, 35.6, 71, 71), T(35.6), GB(936), GIB(24), 82, 32, 99, .link = PCIE_4,
     .name = "3090", .title = "NVIDIA GeForce RTX 3090"},
    {"RTX 4090", "sm_89", MATRIX8(82.6, 82.6, 165.2, 165.2), T(82.6), GB(1008), GIB(24), 128, 32, 99, .link = PCIE_4,
     .name = "4090", .title = "NVIDIA GeForce RTX 4090"},
    {"RTX 5090", "sm_120", MATRIX8(104.8, 104.8, 209.5, 209.5), T(104.8), GB(1792), GIB(31.8), 170, 32, 99,
     .link = PCIE_5,
     .name = "5090", .title = "NVIDIA GeForce RTX 5090"},

    /* AMD. tf32 is xf32, which only CDNA 3 has; fp32 is that of the matrix cores if there are any. Each of the two dies
     * of a MI250 is a device, so its rows have half of the card. A rate is operations per clock of a compute unit ×
     * units × peak clock. Sources:
     * - units, wave, LDS and memory (in GiB): ROCm documentation, "AMD GPU specifications".
     * - MI100, MI250, MI300X: ROCm documentation, "AMD Instinct MI100 microarchitecture", "... MI250 ...", "... MI300
     *   Series ...", tables of peak TFLOPS, and their text on memory.
     * - MI210, MI250X, MI300A, MI325X: the same operations per clock, with the units of ROCm's "GPU hardware
     *   specifications" (104, 110 to a device, 228, 304) at 1.7 GHz (CDNA 2) and 2.1 GHz (CDNA 3). They agree with
     *   the quoted figures of AMD's MI300A data sheet and MI325X product page, including the 6 TB/s of the latter.
     * - MI350X, MI355X: fp32 as on CDNA 3, half 16 times that (ROCm blog "Matrix Core Programming on AMD CDNA3 and
     *   CDNA4 Architecture"), 256 units at 2.2 and 2.4 GHz with 8 TB/s (AMD at Hot Chips 2025, as reported).
     * - Radeon: 512 operations per clock on RDNA 3, 1024 on RDNA 4 (GPUOpen, "Using the Matrix Cores of AMD RDNA 4
     *   architecture GPUs"), with units, boost clocks and bandwidths as reviews of the cards print them: 96 at 2.5
     *   GHz, 84 at 2.4, 80 at 2.245, 64 at 2.97, 56 at 2.52. Fp32 counts both instructions that a SIMD issues at once.
     * A CDNA 3 or 4 GPU in a compute partition mode appears as several devices with its name and a part of its units.
     * Cards without a specification at hand (Radeon PRO, Radeon AI PRO) are missing. */
    {"MI100", "gfx908", MATRIX(46.1, 46.1, 92.3, 184.6), T(23.1), GB(1229), GIB(32), 120, 64, 64, .link = UNKNOWN,
     .name = "mi100", .title = "AMD Instinct MI100"},
    {"MI210", "gfx90a", MATRIX(45.3, 45.3, 181, 181), T(22.6), GB(1638.4), GIB(64), 104, 64, 64, .link = PCIE_4,
     .name = "mi210", .title = "AMD Instinct MI210"},
    {"MI250X", "gfx90a", MATRIX(47.9, 47.9, 191.5, 191.5), T(23.9), GB(1638.4), GIB(64), 110, 64, 64, .link = UNKNOWN,
     .name = "mi250x", .title = "AMD Instinct MI250X, one of 2 dies"},
    {"MI250", "gfx90a", MATRIX(45.3, 45.3, 181, 181), T(22.6), GB(1638.4), GIB(64), 104, 64, 64, .link = UNKNOWN,
     .name = "mi250", .title = "AMD Instinct MI250, one of 2 dies"},
    {"MI300A", "gfx942", MATRIX8(122.6, 490.3, 980.6, 980.6), T(122.6), GB(5300), GIB(128), 228, 64, 64,
     .partitioned = true, .link = XGMI_300A, .name = "mi300a", .title = "AMD Instinct MI300A"},
    {"MI300X", "gfx942", MATRIX8(163.4, 653.7, 1307.4, 1307.4), T(163.4), GB(5300), GIB(192), 304, 64, 64,
     .partitioned = true, .link = XGMI_300, .name = "mi300x", .title = "AMD Instinct MI300X"},
    {"MI325X", "gfx942", MATRIX8(163.4, 653.7, 1307.4, 1307.4), T(163.4), GB(6000), GIB(256), 304, 64, 64,
     .partitioned = true, .link = XGMI_300, .name = "mi325x", .title = "AMD Instinct MI325X"},
    {"MI350X", "gfx950", MATRIX8(144.2, 144.2, 2306.9, 2306.9), T(144.2), GB(8000), GIB(288), 256, 64, 160,
     .partitioned = true, .link = XGMI_350,
     .name = "mi350x", .title = "AMD Instinct MI350X"},
    {"MI355X", "gfx950", MATRIX8(157.3, 157.3, 2516.6, 2516.6), T(157.3), GB(8000), GIB(288), 256, 64, 160,
     .partitioned = true, .link = XGMI_350, .name = "mi355x", .title = "AMD Instinct MI355X"},
    {"RX 7900 XTX", "gfx1100", MATRIX(61.4, 61.4, 122.8, 122.8), T(61.4), GB(960), GIB(24), 96, 32, 64,
     .link = PCIE_4,
     .name = "7900xtx", .title = "AMD Radeon RX 7900 XTX"},
    {"RX 7900 XT", "gfx1100", MATRIX(51.5, 51.5, 103, 103), T(51.5), GB(800), GIB(20), 84, 32, 64, .link = PCIE_4,
     .name = "7900xt", .title = "AMD Radeon RX 7900 XT"},
    {"RX 7900 GRE", "gfx1100", MATRIX(46, 46, 91.9, 91.9), T(46), GB(576), GIB(16), 80, 32, 64, .link = PCIE_4,
     .name = "7900gre", .title = "AMD Radeon RX 7900 GRE"},
    {"RX 9070 XT", "gfx1201", MATRIX8(48.7, 48.7, 194.6, 194.6), T(48.7), GB(640), GIB(16), 64, 32, 64,
     .link = PCIE_5,
     .name = "9070xt", .title = "AMD Radeon RX 9070 XT"},
    {"RX 9070", "gfx1201", MATRIX8(36.1, 36.1, 144.5, 144.5), T(36.1), GB(640), GIB(16), 56, 32, 64, .link = PCIE_5,
     .name = "9070", .title = "AMD Radeon RX 9070"},
};
// clang-format on

/* The names again, since the table of options needs a constant array; a test compares the two. */
const char *const tt_chip_names[] = {
    "t4", "a10", "a10g", "a30", "a40", "a100", "a100-40gb", "l4", "l40", "l40s", "h100-pcie", "h100-nvl", "h100",
    "h200-nvl", "h200", "gh200", "gb200", "b200", "a5000", "a6000", "3080ti", "3080", "4070tis", "4070ti", "4070s",
    "4070", "4080s", "4080", "3090ti", "3090", "4090", "5090", "mi100", "mi210", "mi250x", "mi250", "mi300a",
    "mi300x", "mi325x", "mi350x", "mi355x", "7900xtx", "7900xt", "7900gre", "9070xt", "9070", NULL
};

const struct tt_chip *tt_chip_find(const char *name)
{
    if (!strncasecmp(name, "rtx", 3)) name += 3;
    if (!strncasecmp(name, "rx", 2)) name += 2;
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (chips[i].name && !strcasecmp(chips[i].name, name)) return &chips[i];
    return NULL;
}

/* "L4" is in "NVIDIA L4" but not in "NVIDIA L40S". */
static bool has_words(const char *device, const char *words)
{
    size_t n = strlen(words);
    for (const char *at = device; *at; at++) {
        bool starts = at == device || !isalnum((unsigned char)at[-1]);
        if (starts && !strncasecmp(at, words, n) && !isalnum((unsigned char)at[n])) return true;
    }
    return false;
}

const struct tt_chip *tt_chip_of(const char *device, int units)
{
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        const struct tt_chip *chip = &chips[i];
        if (!has_words(device, chip->words)) continue;
        bool part = chip->partitioned && units && units != chip->units;
        return chip->arch && !part ? chip : NULL;
    }
    return NULL;
}

bool tt_chip_fp8_rows(const struct tt_chip *chip)
{
    return chip->matrix[TT_PREC_FP8] > 0 && (!strcmp(chip->arch, "sm_90") || !strncmp(chip->arch, "gfx", 3));
}
