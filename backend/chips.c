/* The table of GPUs: dense peak rates at boost clock, from data sheets and reviews. A GPU that runs slower because of
 * power or clock limits is still compared with these. */
#include "backend/chips.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define T(x) ((x)*1e12)
#define GB(x) ((x)*1e9)
#define MATRIX(fp32, tf32, bf16, fp16) {T(fp32), T(tf32), T(bf16), T(fp16)}

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
/* The first row whose words are in the device name counts, so longer names come first. */
static const struct tt_chip chips[] = {
    /* a partition of a GPU, or a slower model with a longer name: unknown */
    {.words = "MIG"}, {.words = "Laptop"}, {.words = "Max-Q"}, {.words = "RTX 4090 D"}, {.words = "RTX 5090 D"},

    /* words, arch, matrix rates, vector rate, bandwidth, memory, units, wave, KiB */
    {"T4", "sm_75", MATRIX(8.1, 8.1, 0, 65), T(8.1), GB(320), GB(16), 40, 32, 64, .link = PCIE_3},
    {"A10", "sm_86", MATRIX(31.2, 62.5, 125, 125), T(31.2), GB(600), GB(24), 72, 32, 99, .link = PCIE_4},
    {"A10G", "sm_86", MATRIX(35, 35, 70, 70), T(35), GB(600), GB(24), 80, 32, 99, .link = PCIE_4},
    {"A30", "sm_80", MATRIX(10.3, 82, 165, 165), T(10.3), GB(933), GB(24), 56, 32, 163, .link = PCIE_4},
    {"A40", "sm_86", MATRIX(37.4, 74.8, 149.7, 149.7), T(37.4), GB(696), GB(48), 84, 32, 99, .link = PCIE_4},
    {"A100 80GB PCIe", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(1935), GB(80), 108, 32, 163,
     .link = PCIE_4},
    {"A100-SXM4-80GB", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(2039), GB(80), 108, 32, 163,
     .link = NVLINK_3, .name = "a100", .title = "NVIDIA A100 SXM 80 GB"},
    {"A100-SXM4-40GB", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(1555), GB(40), 108, 32, 163,
     .link = NVLINK_3},
    {"A100-PCIE-40GB", "sm_80", MATRIX(19.5, 156, 312, 312), T(19.5), GB(1555), GB(40), 108, 32, 163,
     .link = PCIE_4},
    {"L4", "sm_89", MATRIX(30.3, 60, 121, 121), T(30.3), GB(300), GB(24), 58, 32, 99, .link = PCIE_4},
    {"L40", "sm_89", MATRIX(90.5, 90.5, 181, 181), T(90.5), GB(864), GB(48), 142, 32, 99, .link = PCIE_4},
    {"L40S", "sm_89", MATRIX(91.6, 183, 362, 362), T(91.6), GB(864), GB(48), 142, 32, 99, .link = PCIE_4},
    {"H100 PCIe", "sm_90", MATRIX(51, 378, 756, 756), T(51), GB(2000), GB(80), 114, 32, 227, .link = PCIE_5},
    {"H100 NVL", "sm_90", MATRIX(60, 417, 835, 835), T(60), GB(3900), GB(94), 132, 32, 227, .link = PCIE_5},
    {"H100 80GB HBM3", "sm_90", MATRIX(67, 494, 989, 989), T(67), GB(3350), GB(80), 132, 32, 227, .link = NVLINK_4,
     .name = "h100", .title = "NVIDIA H100 SXM"},
    {"H200 NVL", "sm_90", MATRIX(60, 417, 835, 835), T(60), GB(4800), GB(141), 132, 32, 227, .link = PCIE_5},
    {"H200", "sm_90", MATRIX(67, 494, 989, 989), T(67), GB(4800), GB(141), 132, 32, 227, .link = NVLINK_4,
     .name = "h200", .title = "NVIDIA H200"},
    {"GH200 144G HBM3e", "sm_90", MATRIX(67, 494, 990, 990), T(67), GB(4900), GB(144), 132, 32, 227, .link = UNKNOWN},
    {"GH200", "sm_90", MATRIX(67, 494, 990, 990), T(67), GB(4000), GB(96), 132, 32, 227, .link = UNKNOWN},
    {"GB200", "sm_100", MATRIX(80, 1250, 2500, 2500), T(80), GB(8000), GB(186), 152, 32, 227, .link = NVLINK_5},
    {"B200", "sm_100", MATRIX(75, 1125, 2250, 2250), T(75), GB(8000), GB(180), 148, 32, 227, .link = NVLINK_5},
    {"RTX 3090 Ti", "sm_86", MATRIX(40, 40, 80, 80), T(40), GB(1008), GB(24), 84, 32, 99, .link = PCIE_4},
    {"RTX 3090", "sm_86", MATRIX(35.6, 35.6, 71, 71), T(35.6), GB(936), GB(24), 82, 32, 99, .link = PCIE_4},
    {"RTX 4090", "sm_89", MATRIX(82.6, 82.6, 165.2, 165.2), T(82.6), GB(1008), GB(24), 128, 32, 99, .link = PCIE_4},
    {"RTX 5090", "sm_120", MATRIX(104.8, 104.8, 209.5, 209.5), T(104.8), GB(1792), GB(32), 170, 32, 99,
     .link = PCIE_5},

    /* AMD. tf32 is xf32, which only CDNA 3 has; fp32 is that of the matrix cores if there are any. Each of the two dies
     * of a MI250 is a device, so its rows have half of the card. A rate is operations per clock of a compute unit ×
     * units × peak clock. Sources:
     * - MI100, MI250, MI300X: ROCm documentation, "AMD Instinct MI100 microarchitecture", "... MI250 ...", "... MI300
     *   Series ...", tables of peak TFLOPS, and their text on memory.
     * - MI210, MI250X, MI300A, MI325X: the same operations per clock, with the units of ROCm's "GPU hardware
     *   specifications" (104, 110 to a device, 228, 304) at 1.7 GHz (CDNA 2) and 2.1 GHz (CDNA 3). They agree with
     *   what is quoted from AMD's data sheet of the MI300A and product page of the MI325X, 6 TB/s of the latter too.
     * - MI350X, MI355X: fp32 as on CDNA 3, half 16 times that (ROCm blog "Matrix Core Programming on AMD CDNA3 and
     *   CDNA4 Architecture"), 256 units at 2.2 and 2.4 GHz with 8 TB/s (AMD at Hot Chips 2025, as reported).
     * - Radeon: 512 operations per clock on RDNA 3, 1024 on RDNA 4 (GPUOpen, "Using the Matrix Cores of AMD RDNA 4
     *   architecture GPUs"), with units, boost clocks and bandwidths as reviews of the cards print them: 96 at 2.5
     *   GHz, 84 at 2.4, 80 at 2.245, 64 at 2.97, 56 at 2.52. Fp32 counts both instructions that a SIMD issues at once.
     * A CDNA 3 or 4 GPU in a compute partition mode appears as several devices with its name and a part of its units.
     * Cards without a specification at hand (Radeon PRO, Radeon AI PRO) are missing. */
    {"MI100", "gfx908", MATRIX(46.1, 46.1, 92.3, 184.6), T(23.1), GB(1229), GB(32), 120, 64, 64, .link = UNKNOWN},
    {"MI210", "gfx90a", MATRIX(45.3, 45.3, 181, 181), T(22.6), GB(1638.4), GB(64), 104, 64, 64, .link = PCIE_4},
    {"MI250X", "gfx90a", MATRIX(47.9, 47.9, 191.5, 191.5), T(23.9), GB(1638.4), GB(64), 110, 64, 64, .link = UNKNOWN,
     .name = "mi250x", .title = "AMD Instinct MI250X, one of 2 dies"},
    {"MI250", "gfx90a", MATRIX(45.3, 45.3, 181, 181), T(22.6), GB(1638.4), GB(64), 104, 64, 64, .link = UNKNOWN},
    {"MI300A", "gfx942", MATRIX(122.6, 490.3, 980.6, 980.6), T(122.6), GB(5300), GB(128), 228, 64, 64,
     .partitioned = true, .link = XGMI_300A, .name = "mi300a", .title = "AMD Instinct MI300A"},
    {"MI300X", "gfx942", MATRIX(163.4, 653.7, 1307.4, 1307.4), T(163.4), GB(5300), GB(192), 304, 64, 64,
     .partitioned = true, .link = XGMI_300, .name = "mi300x", .title = "AMD Instinct MI300X"},
    {"MI325X", "gfx942", MATRIX(163.4, 653.7, 1307.4, 1307.4), T(163.4), GB(6000), GB(256), 304, 64, 64,
     .partitioned = true, .link = XGMI_300, .name = "mi325x", .title = "AMD Instinct MI325X"},
    {"MI350X", "gfx950", MATRIX(144.2, 144.2, 2306.9, 2306.9), T(144.2), GB(8000), GB(288), 256, 64, 160,
     .partitioned = true, .link = XGMI_350},
    {"MI355X", "gfx950", MATRIX(157.3, 157.3, 2516.6, 2516.6), T(157.3), GB(8000), GB(288), 256, 64, 160,
     .partitioned = true, .link = XGMI_350, .name = "mi355x", .title = "AMD Instinct MI355X"},
    {"RX 7900 XTX", "gfx1100", MATRIX(61.4, 61.4, 122.8, 122.8), T(61.4), GB(960), GB(24), 96, 32, 64,
     .link = PCIE_4,
     .name = "7900xtx", .title = "AMD Radeon RX 7900 XTX"},
    {"RX 7900 XT", "gfx1100", MATRIX(51.5, 51.5, 103, 103), T(51.5), GB(800), GB(20), 84, 32, 64, .link = PCIE_4},
    {"RX 7900 GRE", "gfx1100", MATRIX(46, 46, 91.9, 91.9), T(46), GB(576), GB(16), 80, 32, 64, .link = PCIE_4},
    {"RX 9070 XT", "gfx1201", MATRIX(48.7, 48.7, 194.6, 194.6), T(48.7), GB(640), GB(16), 64, 32, 64,
     .link = PCIE_5},
    {"RX 9070", "gfx1201", MATRIX(36.1, 36.1, 144.5, 144.5), T(36.1), GB(640), GB(16), 56, 32, 64, .link = PCIE_5},
};
// clang-format on

/* The names again, since the table of options needs a constant array; a test compares the two. */
const char *const tt_chip_names[] = {"mi300x", "mi300a", "mi325x", "mi355x", "mi250x", "7900xtx", "a100", "h100",
                                     "h200", NULL};

const struct tt_chip *tt_chip_find(const char *name)
{
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (chips[i].name && !strcmp(chips[i].name, name)) return &chips[i];
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
