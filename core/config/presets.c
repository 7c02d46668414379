/* The table of presets. */
#include "core/config/presets.h"

#include <string.h>

// clang-format off
const char *const tt_preset_columns[TT_PRESET_COLUMNS + 1] = {
    "hidden-dim", "num-layers", "num-heads", "num-kv-heads", "ffn-dim", "vocab-size",
    "seq-len", "batch-size", "num-steps", "warmup-steps", "learning-rate", NULL};

const struct tt_preset tt_presets[] = {
    /*          hidden  layers  heads kv    ffn      vocab    S       B     steps  warmup  rate */
    {"default", "small enough for the CPU of a laptop, made for the built-in language",
               {"128",  "4",    "4",  "2",  "384",   "64",    "64",   "32", "300", "20",   "3e-3"}},
    {"tiny",    "the smallest size of AMD's TinyTransformer workshop; heads of 32",
               {"256",  "4",    "8",  "4",  "1024",  "1000",  "128",  "8",  "100", "10",   "1e-3"}},
    {"small",   "the usual size of AMD's TinyTransformer workshop; heads of 64",
               {"512",  "8",    "8",  "4",  "2048",  "1000",  "128",  "8",  "100", "10",   "6e-4"}},
    {"medium",  "190 million parameters; heads of 128",
               {"1024", "12",   "8",  "4",  "4096",  "1000",  "512",  "16", "100", "10",   "3e-4"}},
    {"large",   "one billion parameters; heads of 256",
               {"2048", "16",   "8",  "4",  "8192",  "1000",  "1024", "8",  "100", "10",   "3e-4"}},
    {"xl",      "six billion parameters; heads of 512",
               {"4096", "24",   "8",  "4",  "16384", "1000",  "2048", "4",  "100", "10",   "2e-4"}},
    {"gpt2",    "as much matrix work as GPT-2 124M",
               {"768",  "12",   "12", "12", "2048",  "50304", "1024", "32", "100", "10",   "6e-4"}},
    {"1b",      "one billion parameters in 32 heads that share 4 key/value heads",
               {"2048", "22",   "32", "4",  "5632",  "32000", "2048", "8",  "100", "10",   "4e-4"}},
};
// clang-format on

const int tt_preset_count = sizeof tt_presets / sizeof *tt_presets;

/* The names again, since the table of options needs a constant array; a test compares the two. */
const char *const tt_preset_names[] = {"default", "tiny", "small", "medium", "large", "xl", "gpt2", "1b", NULL};

const struct tt_preset *tt_preset_find(const char *name)
{
    for (int i = 0; i < tt_preset_count; i++)
        if (strcmp(tt_presets[i].name, name) == 0) return &tt_presets[i];
    return NULL;
}
