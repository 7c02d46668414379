/* Published peak rates of common GPUs, as data sheets and reviews give them: dense matrix multiplies with
 * fp32 sums, at boost clock. A GPU held below its datasheet by power or clocks is compared with it all the same. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/peaks.h"

/* The first whose name is a word of the device's name counts, so the particular come before the general. */
static const struct tt_peaks table[] = {
    /* a part of a GPU, or a slower sibling whose name goes on: not known */
    {"MIG", 0, 0, 0, 0, 0},
    {"Laptop", 0, 0, 0, 0, 0},
    {"Max-Q", 0, 0, 0, 0, 0},
    {"RTX 4090 D", 0, 0, 0, 0, 0},
    {"RTX 5090 D", 0, 0, 0, 0, 0},

    /* name, half, tf32, fp32, GB/s, units */
    {"T4", 65, 0, 8.1, 320, 0},
    {"A10", 125, 62.5, 31.2, 600, 0},
    {"A10G", 70, 35, 35, 600, 0},
    {"A30", 165, 82, 10.3, 933, 0},
    {"A40", 149.7, 74.8, 37.4, 696, 0},
    {"A100 80GB PCIe", 312, 156, 19.5, 1935, 0},
    {"A100-SXM4-80GB", 312, 156, 19.5, 2039, 0},
    {"A100-SXM4-40GB", 312, 156, 19.5, 1555, 0},
    {"A100-PCIE-40GB", 312, 156, 19.5, 1555, 0},
    {"L4", 121, 60, 30.3, 300, 0},
    {"L40", 181, 90.5, 90.5, 864, 0},
    {"L40S", 362, 183, 91.6, 864, 0},
    {"H100 PCIe", 756, 378, 51, 2000, 0},
    {"H100 NVL", 835, 417, 60, 3900, 0},
    {"H100 80GB HBM3", 989, 494, 67, 3350, 0},
    {"H200 NVL", 835, 417, 60, 4800, 0},
    {"H200", 989, 494, 67, 4800, 0},
    {"GH200 144G HBM3e", 990, 494, 67, 4900, 0},
    {"GH200", 990, 494, 67, 4000, 0},
    {"GB200", 2500, 1250, 80, 8000, 0},
    {"B200", 2250, 1125, 75, 8000, 0},
    {"RTX 3090 Ti", 80, 40, 40, 1008, 0},
    {"RTX 3090", 71, 35.6, 35.6, 936, 0},
    {"RTX 4090", 165.2, 82.6, 82.6, 1008, 0},
    {"RTX 5090", 209.5, 104.8, 104.8, 1792, 0},

    /* AMD. tf32 is xf32, which CDNA 3 alone has; fp32 is that of the matrix cores where there are such. A MI250 is two
     * devices, so half of what its card is sold for. A rate is operations per clock of a compute unit × units × highest
     * clock. Where each stands:
     * - MI100, MI250, MI300X: ROCm documentation, "AMD Instinct MI100 microarchitecture", "... MI250 ...", "... MI300
     *   Series ...", tables of peak TFLOPS, and their text on memory. Half of a MI100 is its fp16; bf16 is 92.3.
     * - MI210, MI250X, MI300A, MI325X: the same operations per clock, with the units of ROCm's "GPU hardware
     *   specifications" (104, 110 to a device, 228, 304) at 1.7 GHz (CDNA 2) and 2.1 GHz (CDNA 3). They agree with
     *   what is quoted from AMD's data sheet of the MI300A and product page of the MI325X, 6 TB/s of the latter too.
     * - MI350X, MI355X: fp32 as on CDNA 3, half 16 times that (ROCm blog "Matrix Core Programming on AMD CDNA3 and
     *   CDNA4 Architecture"), 256 units at 2.2 and 2.4 GHz with 8 TB/s (AMD at Hot Chips 2025, as reported).
     * - Radeon: 512 operations per clock on RDNA 3, 1024 on RDNA 4 (GPUOpen, "Using the Matrix Cores of AMD RDNA 4
     *   architecture GPUs"), with units, boost clocks and bandwidths as reviews of the cards print them: 96 at 2.5
     *   GHz, 84 at 2.4, 80 at 2.245, 64 at 2.97, 56 at 2.52. Fp32 counts both instructions that a SIMD issues at once.
     * A CDNA 3 or 4 GPU in a compute partition mode shows as several devices, each with its name and some of its units.
     * Cards whose specification was not at hand (Radeon PRO, Radeon AI PRO) are not here. */
    {"MI100", 184.6, 0, 46.1, 1229, 0},
    {"MI210", 181, 0, 45.3, 1638, 0},
    {"MI250X", 191.5, 0, 47.9, 1638, 0},
    {"MI250", 181, 0, 45.3, 1638, 0},
    {"MI300A", 980.6, 490.3, 122.6, 5300, 228},
    {"MI300X", 1307.4, 653.7, 163.4, 5300, 304},
    {"MI325X", 1307.4, 653.7, 163.4, 6000, 304},
    {"MI350X", 2306.9, 0, 144.2, 8000, 256},
    {"MI355X", 2516.6, 0, 157.3, 8000, 256},
    {"RX 7900 XTX", 122.8, 0, 61.4, 960, 0},
    {"RX 7900 XT", 103, 0, 51.5, 800, 0},
    {"RX 7900 GRE", 91.9, 0, 46, 576, 0},
    {"RX 9070 XT", 194.6, 0, 48.7, 640, 0},
    {"RX 9070", 144.5, 0, 36.1, 640, 0},
};

/* "L4" is in "NVIDIA L4" but not in "NVIDIA L40S". */
static bool is_word_of(const char *name, const char *word)
{
    for (const char *at = name; (at = strstr(at, word)); at++) {
        bool starts = at == name || !isalnum((unsigned char)at[-1]);
        if (starts && !isalnum((unsigned char)at[strlen(word)])) return true;
    }
    return false;
}

struct tt_peaks tt_peaks_of(const char *name, int units)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!is_word_of(name, table[i].name)) continue;
        bool part = units && table[i].units && units != table[i].units;
        return part ? (struct tt_peaks){0} : table[i];
    }
    return (struct tt_peaks){0};
}
