/* Published peak rates of common GPUs, as datasheets and reviews give them: dense matrix multiplies with
 * fp32 sums, at boost clock. A GPU held below its datasheet by power or clocks is compared with it all the same. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/peaks.h"

/* The first whose name is a word of the device's name counts, so the particular come before the general. */
static const struct tt_peaks table[] = {
    /* a part of a GPU, or a slower sibling whose name goes on: not known */
    {"MIG", 0, 0, 0, 0},
    {"Laptop", 0, 0, 0, 0},
    {"Max-Q", 0, 0, 0, 0},
    {"RTX 4090 D", 0, 0, 0, 0},
    {"RTX 5090 D", 0, 0, 0, 0},

    /* name             half    tf32   fp32    GB/s */
    {"T4", 65, 0, 8.1, 320},
    {"A10", 125, 62.5, 31.2, 600},
    {"A10G", 70, 35, 35, 600},
    {"A30", 165, 82, 10.3, 933},
    {"A40", 149.7, 74.8, 37.4, 696},
    {"A100 80GB PCIe", 312, 156, 19.5, 1935},
    {"A100-SXM4-80GB", 312, 156, 19.5, 2039},
    {"A100-SXM4-40GB", 312, 156, 19.5, 1555},
    {"A100-PCIE-40GB", 312, 156, 19.5, 1555},
    {"L4", 121, 60, 30.3, 300},
    {"L40", 181, 90.5, 90.5, 864},
    {"L40S", 362, 183, 91.6, 864},
    {"H100 PCIe", 756, 378, 51, 2000},
    {"H100 NVL", 835, 417, 60, 3900},
    {"H100 80GB HBM3", 989, 494, 67, 3350},
    {"H200 NVL", 835, 417, 60, 4800},
    {"H200", 989, 494, 67, 4800},
    {"GH200 144G HBM3e", 990, 494, 67, 4900},
    {"GH200", 990, 494, 67, 4000},
    {"GB200", 2500, 1250, 80, 8000},
    {"B200", 2250, 1125, 75, 8000},
    {"RTX 3090 Ti", 80, 40, 40, 1008},
    {"RTX 3090", 71, 35.6, 35.6, 936},
    {"RTX 4090", 165.2, 82.6, 82.6, 1008},
    {"RTX 5090", 209.5, 104.8, 104.8, 1792},
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

struct tt_peaks tt_peaks_of(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_word_of(name, table[i].name)) return table[i];
    return (struct tt_peaks){0};
}
