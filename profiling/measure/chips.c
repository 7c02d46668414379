/* Dense rates at boost clock, as the vendors give them; those of backend/peaks.c, as a test sees to. A program sees one
 * of the two dies of an MI250X as a device, so that is what stands here. */
#include "profiling/measure/chips.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define T(x) ((x)*1e12)
#define GB(x) ((x)*1e9)

// clang-format off
const struct tt_chip tt_chips[] = {
    /* name, title, words;  {fp32, tf32, bf16, fp16}, vector, bandwidth, memory, units, wave, KiB */
    {"mi300x", "AMD Instinct MI300X", "MI300X",
     {T(163.4), T(653.7), T(1307.4), T(1307.4)}, T(163.4), T(5.3), GB(192), 304, 64, 64},
    {"mi300a", "AMD Instinct MI300A", "MI300A",
     {T(122.6), T(490.3), T(980.6), T(980.6)}, T(122.6), T(5.3), GB(128), 228, 64, 64},
    {"mi325x", "AMD Instinct MI325X", "MI325X",
     {T(163.4), T(653.7), T(1307.4), T(1307.4)}, T(163.4), T(6.0), GB(256), 304, 64, 64},
    {"mi355x", "AMD Instinct MI355X", "MI355X",
     {T(157.3), T(157.3), T(2516.6), T(2516.6)}, T(157.3), T(8.0), GB(288), 256, 64, 160},
    {"mi250x", "AMD Instinct MI250X, one of 2 dies", "MI250X",
     {T(47.9), T(47.9), T(191.5), T(191.5)}, T(23.9), T(1.6384), GB(64), 110, 64, 64},
    {"7900xtx", "AMD Radeon RX 7900 XTX", "RX 7900 XTX",
     {T(61.4), T(61.4), T(122.8), T(122.8)}, T(61.4), T(0.96), GB(24), 96, 32, 64},
    {"a100", "NVIDIA A100 SXM 80 GB", "A100-SXM4-80GB",
     {T(19.5), T(156), T(312), T(312)}, T(19.5), T(2.039), GB(80), 108, 32, 163},
    {"h100", "NVIDIA H100 SXM", "H100 80GB HBM3",
     {T(67), T(494), T(989), T(989)}, T(67), T(3.35), GB(80), 132, 32, 227},
    {"h200", "NVIDIA H200", "H200",
     {T(67), T(494), T(989), T(989)}, T(67), T(4.8), GB(141), 132, 32, 227},
};
// clang-format on

const int tt_chip_count = sizeof tt_chips / sizeof *tt_chips;

/* Beside the table because an array of names must be a constant; a test compares the two. */
const char *const tt_chip_names[] = {"mi300x", "mi300a", "mi325x", "mi355x", "mi250x", "7900xtx", "a100", "h100",
                                     "h200", NULL};

const struct tt_chip *tt_chip_find(const char *name)
{
    for (int i = 0; i < tt_chip_count; i++)
        if (!strcmp(tt_chips[i].name, name)) return &tt_chips[i];
    return NULL;
}

/* "H200" is in "NVIDIA H200" but not in "NVIDIA GH200", and "H200 NVL" is another chip. */
bool tt_chip_is(const struct tt_chip *chip, const char *device)
{
    size_t n = strlen(chip->words);
    if (strstr(device, "NVL")) return false;
    for (const char *at = device; *at; at++) {
        bool starts = at == device || !isalnum((unsigned char)at[-1]);
        if (starts && !strncasecmp(at, chip->words, n) && !isalnum((unsigned char)at[n])) return true;
    }
    return false;
}
