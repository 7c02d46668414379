/* The commands, the table of options, and finding things in them. */
#include "cli/options.h"

#include <string.h>

#include "cli/help.h"
#include "cli/presets.h"
#include "exercises/engine/fault.h"
#include "profiling/measure/chips.h"
#include "profiling/compare/compare.h"
#include "profiling/import/tools.h"

// clang-format off
const struct tt_command_info tt_commands[TT_COMMANDS] = {
    [TT_CMD_TRAIN] = {"train", "train a model and save checkpoints",
        "Trains a model of the chosen shape on the chosen data. Without options it trains the default preset on the\n"
        "built-in language. Checkpoints go into the folder of the run, at the end and when the run is interrupted.",
        NULL,
        {"tt train", "tt train --preset small --data corpus.bin --out runs/small --save-interval 100",
         "tt train --out runs/small --resume auto --num-steps 1000"}},
    [TT_CMD_EVAL] = {"eval", "measure the loss of a checkpoint on validation data",
        "Loads a checkpoint and computes its mean loss on validation data. Shape and data are the checkpoint's own,\n"
        "unless given: of --data the part that training would hold out, of --val-data all.", "checkpoint",
        {"tt eval", "tt eval runs/small --val-data other.bin --val-batches 100"}},
    [TT_CMD_GENERATE] = {"generate", "continue a text with a checkpoint",
        "Loads a checkpoint and continues a prompt with tokens drawn from it. The model is the checkpoint's own.",
        "checkpoint",
        {"tt generate", "tt generate runs/small --prompt \"Once upon a time\" --temperature 0.7 --top-k 40"}},
    [TT_CMD_DATA] = {"data", "turn text into token files, or look into one",
        "Reads text files, makes or loads a tokenizer, and writes token files and the tokenizer into a folder; or,\n"
        "with --inspect, says what is in a token file.", "input",
        {"tt data book.txt --out data/book", "tt data a.txt b.txt --tokenizer bpe --vocab-size 4096 --out data/ab",
         "tt data --inspect data/book/train_000000.bin"}},
    [TT_CMD_INFO] = {"info", "say what a run would be: parameters, memory, work, the device",
        "Describes the model, the device, the memory and the floating-point work of a step without training.", NULL,
        {"tt info --preset 1b --version flash", "tt info --plan --preset tiny",
         "tt info --preset medium --precision bf16 --predict mi300x,h200"}},
    [TT_CMD_BENCH] = {"bench", "time training steps of versions and sizes against each other",
        "Times whole training steps on random tokens, for each size and version, and prints one table. Options of the\n"
        "shape override each size's own.", NULL,
        {"tt bench", "tt bench --sizes tiny,small --versions baseline,flash",
         "tt bench --versions fused --fuse no-norm"}},
    [TT_CMD_PROFILE] = {"profile", "measure where the time and the memory of a step go",
        "Trains for a few steps, with and without events around every operation, and writes a folder: report.html,\n"
        "summary.md, profile.json with everything, operators.csv, trace.json, memory.json, roofline.json.", NULL,
        {"tt profile --preset small --out profiles/small", "tt profile --version baseline --sweep batch,seq",
         "tt profile --preset medium --precision bf16 --num-steps 20"}},
    [TT_CMD_REPORT] = {"report", "show a profile again, or read what another profiler exported",
        "Makes summary.md and report.html of a profile anew; or reads exports of nsys (stats as csv), ncu (csv),\n"
        "rocprofv3 (csv, json) and PyTorch (Chrome trace) into the same tables. With both it makes one report.", "run",
        {"tt report profiles/small", "tt report --import kernels.csv ncu.csv --out profiles/nsys",
         "tt report profiles/small --import run_kernel_trace.csv"}},
    [TT_CMD_COMPARE] = {"compare", "put runs side by side: speed-ups, memory, what changed, accuracy",
        "Compares profiles (folders of tt profile or tt report), bench.json files or training runs with the first.\n"
        "With --fail-if it is a gate: exit code 5 when a condition holds.", "run",
        {"tt compare profiles/baseline profiles/flash", "tt compare old new --fail-if slower:5%,gradients",
         "tt compare a b c --out comparison"}},
    [TT_CMD_CHECK] = {"check", "audit the gradients of a step",
        "grads: runs one step and looks at the gradient of every tensor: norm, zeros, what is not finite, and against\n"
        "another version. Fails when any tensor got no gradient.", "what",
        {"tt check grads", "tt check grads --preset tiny --version flash --against baseline"}},
    [TT_CMD_DIAGNOSE] = {"diagnose", "say before a run whether it will work, how long it takes, and what to change",
        "Takes the options of train and tries the run out: device and libraries, memory against what is free, the\n"
        "speed of data against that of steps, the best batch size, the time of the whole run. Each advice names what\n"
        "was measured. The exit code is 0 when all is well, 1 when the run would fail, 6 when there are warnings.",
        "config",
        {"tt diagnose run.yaml", "tt diagnose --preset small --data 'shards/*.bin' --quick",
         "tt diagnose run.yaml --json"}},
    [TT_CMD_EXPORT] = {"export", "write a checkpoint as a model for Hugging Face's transformers",
        "Writes a folder with model.safetensors, config.json and the tokenizer's files, which\n"
        "transformers.AutoModelForCausalLM and AutoTokenizer open: a LLaMA with the same logits and the same tokens.",
        "out",
        {"tt export --format hf model", "tt export model --checkpoint runs/small --dtype bf16"}},
    [TT_CMD_IMPORT] = {"import", "make a checkpoint of a LLaMA from Hugging Face's transformers",
        "Reads the folder of a LLaMA (model.safetensors, or shards with their index; fp32, fp16 or bf16) and writes a\n"
        "checkpoint of step 0, from which training goes on. What this program does not compute is refused by name.\n"
        "A byte-level tokenizer in the way of GPT-2, Llama 3 or SmolLM comes along, and so does one that tt exported:\n"
        "the same tokens for every text, but no token is put before or behind it.",
        "from",
        {"tt import model --out runs/model", "tt train --resume runs/model --data 'shards/*.bin' --out runs/tuned"}},
    [TT_CMD_EXERCISE] = {"exercise", "the course: start an exercise, get hints, have the worksheet checked",
        "list: the exercises. start N DIR: a folder with the walkthrough and a worksheet. hint N, hint N K: the first, the\n"
        "Kth hint. check N DIR: recomputes every answer from your own profiles in DIR; exit code 6 while some are not\n"
        "right. solution N. In the folder of an exercise check, hint and solution need no number. class DIR...: the\n"
        "results of many learners. roadmap DIR: predicted against measured.", "do",
        {"tt exercise start 1 my-first", "tt exercise check 1 my-first", "tt exercise class learners/* --csv class.csv"}},
    [TT_CMD_HELP] = {"help", "explain a command, or all of them",
        "Without a command it lists the commands.", "topic",
        {"tt help train", "tt help --markdown"}},
};

const char *const tt_command_names[TT_COMMANDS + 1] = {
    "train", "eval", "generate", "data", "info", "bench", "profile", "report", "compare", "check", "diagnose", "export", "import", "exercise", "help", NULL};

const char *const tt_section_names[TT_SECTIONS] = {
    [TT_SECTION_CHECKPOINT] = "Checkpoint",
    [TT_SECTION_GENERATE] = "Generation", [TT_SECTION_TOKENS] = "Token files", [TT_SECTION_INFO] = "What to show",
    [TT_SECTION_BENCH] = "What to time", [TT_SECTION_PROFILE] = "What to measure", [TT_SECTION_REPORT] = "What to read",
    [TT_SECTION_DIAGNOSE] = "What to try", [TT_SECTION_EXCHANGE] = "Exchange", [TT_SECTION_EXERCISE] = "Exercise", [TT_SECTION_MODEL] = "Model", [TT_SECTION_COMPUTE] = "Computation",
    [TT_SECTION_TRAINING] = "Training", [TT_SECTION_VALIDATION] = "Validation", [TT_SECTION_DATA] = "Data",
    [TT_SECTION_OUTPUT] = "Output", [TT_SECTION_GENERAL] = "General",
};

/* --fuse is a list with a grammar of its own. */
static tt_status check_fuse(const char *text)
{
    bool fuse[TT_FUSION_COUNT];
    return tt_fusions_of(TT_BASELINE, text, fuse);
}

/* Which commands take an option. What train takes, diagnose takes too. */
enum {
    N = 1 << TT_CMD_DIAGNOSE, T = 1 << TT_CMD_TRAIN | N, X = 1 << TT_CMD_EXPORT, M = 1 << TT_CMD_IMPORT, E = 1 << TT_CMD_EVAL,
    G = 1 << TT_CMD_GENERATE, D = 1 << TT_CMD_DATA, I = 1 << TT_CMD_INFO, B = 1 << TT_CMD_BENCH, P = 1 << TT_CMD_PROFILE,
    R = 1 << TT_CMD_REPORT, C = 1 << TT_CMD_COMPARE, K = 1 << TT_CMD_CHECK, L = 1 << TT_CMD_EXERCISE, H = 1 << TT_CMD_HELP,
};

/* Where a field lies, and its type as an option: enums are choices. */
#define AT(field) \
    offsetof(struct tt_config, field), sizeof((struct tt_config *)0)->field, \
    _Generic(((struct tt_config *)0)->field, int64_t: TT_OPTION_INT, double: TT_OPTION_NUMBER, bool: TT_OPTION_BOOL, \
             char *: TT_OPTION_TEXT, default: TT_OPTION_CHOICE)

#define WORD_OF(number) WORD_OF_(number)
#define WORD_OF_(number) #number
#define BY_PRESET NULL
#define CHOICE NULL, NULL /* no range, and the choices instead of a metavar */

const struct tt_option tt_option_table[] = {
    /* generation */
    {"checkpoint", AT(checkpoint), TT_SECTION_CHECKPOINT, E | G | X, "runs/default", NULL, "PATH",
     .help = "a checkpoint, or the folder of a run: then its newest", .required = true, .here = true},
    {"prompt", AT(prompt), TT_SECTION_GENERATE, G, "", NULL, "TEXT", .help = "the text to continue"},
    {"max-tokens", AT(max_tokens), TT_SECTION_GENERATE, G, "128", "[1, 1048576]", "N", .help = "tokens to generate"},
    {"temperature", AT(temperature), TT_SECTION_GENERATE, G, "0.8", "[0, 100]", "X",
     .help = "below 1 sharpens, above 1 flattens the probabilities; 0 takes the likeliest token"},
    {"top-k", AT(top_k), TT_SECTION_GENERATE, G, "0", "[0, " WORD_OF(TT_VOCAB_MOST) "]", "N",
     .help = "draw from the N likeliest tokens; 0 = from all"},
    {"top-p", AT(top_p), TT_SECTION_GENERATE, G, "1", "(0, 1]", "P",
     .help = "draw from the likeliest tokens that together have probability P"},
    {"cache", AT(no_cache), TT_SECTION_GENERATE, G, "true", NULL, NULL,
     .help = "keep keys and values between tokens; without it every token recomputes all before it", .inverted = true},

    /* token files */
    {"input", AT(input), TT_SECTION_TOKENS, D, "", NULL, "FILE",
     .help = "a text file to read; may be given several times", .list = '\n'},
    {"inspect", AT(inspect), TT_SECTION_TOKENS, D, "", NULL, "FILE",
     .help = "say what is in this token file, and write nothing"},
    {"vocab-size", AT(vocab_size), TT_SECTION_TOKENS, D, "1024", "[257, 65536]", "N",
     .help = "tokens that --tokenizer bpe learns"},
    {"shard-tokens", AT(shard_tokens), TT_SECTION_TOKENS, D, "100000000", "[1024, 2000000000]", "N",
     .help = "tokens in a file at most"},
    {"token-type", AT(token_type), TT_SECTION_TOKENS, D, "auto", CHOICE,
     .help = "how tokens are stored; auto: uint16 as long as the vocabulary fits", .choices = tt_token_type_names},

    /* info, bench */
    {"plan", AT(plan), TT_SECTION_INFO, I, "false", NULL, NULL,
     .help = "list every operation of a step with its shapes, FLOPs and bytes"},
    {"predict", AT(predict), TT_SECTION_INFO, I, "", NULL, "LIST",
     .help = "the step on paper on these chips, from each kernel's bytes and FLOPs and the published rates",
     .choices = tt_chip_names, .list = ','},
    {"measured", AT(measured), TT_SECTION_INFO, I, "", NULL, "DIR",
     .help = "a profile of one of these chips, to stand beside its prediction", .here = true},
    {"sizes", AT(sizes), TT_SECTION_BENCH, B, "small", NULL, "LIST",
     .help = "presets to time", .choices = tt_preset_names, .list = ',', .required = true},
    {"versions", AT(versions), TT_SECTION_BENCH, B, "baseline,fused,flash", NULL, "LIST",
     .help = "versions to time", .choices = tt_version_names, .list = ',', .required = true},
    {"warmup", AT(warmup), TT_SECTION_BENCH, B, "3", "[0, 100000]", "N", .help = "steps before the clock starts"},
    {"warmup", AT(warmup), TT_SECTION_PROFILE, P, "3", "[1, 1000]", "N",
     .help = "steps before anything is measured; at least 2 are run"},
    {"num-steps", AT(num_steps), TT_SECTION_PROFILE, P, "10", "[1, 1000]", "N",
     .help = "steps measured in each of three passes: undisturbed, by phase, by operation"},
    {"sweep", AT(sweep), TT_SECTION_PROFILE, P, "", NULL, "LIST",
     .help = "run other batch sizes and lengths too; their memory is predicted in any case",
     .choices = tt_sweep_names, .list = ','},
    {"remeasure", AT(remeasure), TT_SECTION_PROFILE, P, "false", NULL, NULL,
     .help = "measure the rates of the device again, though an earlier run left them in ~/.cache/tt", .here = true},
    {"repeats", AT(repeats), TT_SECTION_BENCH, B, "10", "[1, 100000]", "N", .help = "steps that are timed"},
    {"profile-dir", AT(profile_dir), TT_SECTION_BENCH, B, "", NULL, "DIR",
     .help = "folder for the measurements as JSON; \"\" = none", .here = true},

    {"with", AT(with), TT_SECTION_PROFILE, P, "", CHOICE,
     .help = "run this profiler of the vendor over the steps instead; its files go into --out",
     .choices = tt_tool_names, .flag_only = true},
    {"bare", AT(bare), TT_SECTION_PROFILE, P, "false", NULL, NULL,
     .help = "only run the steps, marked as the range " TT_TOOL_RANGE ": for a profiler around it", .flag_only = true},

    /* report, compare, check */
    {"run", AT(runs), TT_SECTION_REPORT, R, "", NULL, "DIR",
     .help = "the folder of a profile, or its profile.json", .list = '\n', .here = true},
    {"run", AT(runs), TT_SECTION_REPORT, C, "", NULL, "PATH",
     .help = "the folder of a profile or of a training run, or a bench.json; several may follow", .list = '\n', .here = true},
    {"import", AT(import), TT_SECTION_REPORT, R, "", NULL, "FILE",
     .help = "what another profiler exported; several files may follow", .list = '\n', .here = true},
    {"num-steps", AT(num_steps), TT_SECTION_REPORT, R, "1", "[1, 1000000000]", "N",
     .help = "steps in what is imported; without it as many as the file says"},
    {"fail-if", AT(fail_if), TT_SECTION_REPORT, C, "", NULL, "LIST",
     .help = "conditions that fail: slower:5%, memory:10%, loss:0.02, gradients", .check = tt_compare_gate_check},
    {"what", AT(what), TT_SECTION_REPORT, K, "grads", CHOICE,
     .help = "what to audit", .choices = tt_check_names, .required = true, .here = true},
    {"against", AT(against), TT_SECTION_REPORT, K, "", NULL, "VERSION|FILE",
     .help = "compare with another version, or with gradients that --out saved, say on the CPU", .here = true},
    {"tolerance", AT(tolerance), TT_SECTION_REPORT, K, "0", "[0, 1]", "X",
     .help = "largest relative difference of a tensor with --against; 0 = what the precision allows"},

    /* diagnose, export, import */
    {"quick", AT(quick), TT_SECTION_DIAGNOSE, N, "false", NULL, NULL,
     .help = "a few steps only, and no other batch sizes", .here = true},
    {"format", AT(format), TT_SECTION_EXCHANGE, X, "hf", CHOICE,
     .help = "what to write: hf is for Hugging Face's transformers", .choices = tt_exchange_names},
    {"dtype", AT(dtype), TT_SECTION_EXCHANGE, X, "fp32", CHOICE,
     .help = "number format of the weights in the file", .choices = tt_dtype_names},
    {"from", AT(from), TT_SECTION_EXCHANGE, M, "", NULL, "DIR",
     .help = "the folder of the model to read"},

    /* exercise */
    {"do", AT(words), TT_SECTION_EXERCISE, L, "", NULL, "WORDS",
     .help = "list, start N DIR, hint [N [K]], check [N] [DIR], solution [N], class DIR..., roadmap DIR", .list = '\n', .flag_only = true},
    {"recorded", AT(recorded), TT_SECTION_EXERCISE, L, "false", NULL, NULL,
     .help = "with start: put the profiles recorded on an H200 into the folder too, also later, where the exercise has them", .flag_only = true},
    {"reveal", AT(reveal), TT_SECTION_EXERCISE, L, "false", NULL, NULL,
     .help = "show what would have been right", .flag_only = true},
    {"csv", AT(csv), TT_SECTION_EXERCISE, L, "", NULL, "FILE",
     .help = "write the table of the class as CSV too; \"\" = do not", .flag_only = true},
    {"fault", AT(fault), TT_SECTION_EXERCISE, L, "", NULL, "NAME|random:SEED",
     .help = "with solution: say which fault this is", .check = tt_fault_check, .flag_only = true},

    /* model */
    {"preset", AT(preset), TT_SECTION_MODEL, T | I | P | K, "default", CHOICE,
     .help = "start from the values of this preset", .choices = tt_preset_names, .required = true},
    {"hidden-dim", AT(hidden_dim), TT_SECTION_MODEL, T | I | B | P | K, BY_PRESET, "[2, 65536]", "N",
     .help = "width of the residual stream"},
    {"num-layers", AT(num_layers), TT_SECTION_MODEL, T | I | B | P | K, BY_PRESET, "[1, 1024]", "N",
     .help = "transformer blocks"},
    {"num-heads", AT(num_heads), TT_SECTION_MODEL, T | I | B | P | K, BY_PRESET, "[1, 1024]", "N",
     .help = "query heads; they divide hidden-dim"},
    {"num-kv-heads", AT(num_kv_heads), TT_SECTION_MODEL, T | I | B | P | K, BY_PRESET, "[1, 1024]", "N",
     .help = "key/value heads; they divide num-heads"},
    {"ffn-dim", AT(ffn_dim), TT_SECTION_MODEL, T | I | B | P | K, BY_PRESET, "[1, 262144]", "N",
     .help = "width inside the feed-forward part"},
    {"vocab-size", AT(vocab_size), TT_SECTION_MODEL, T | I | B | P | K, BY_PRESET, "[2, " WORD_OF(TT_VOCAB_MOST) "]", "N",
     .help = "tokens the model knows; files bring theirs"},
    {"seq-len", AT(seq_len), TT_SECTION_MODEL, T | E | I | B | P | K, BY_PRESET, "[1, 1048576]", "N",
     .help = "tokens in a sequence"},
    {"seq-len", AT(seq_len), TT_SECTION_MODEL, M, "1024", "[1, 1048576]", "N",
     .help = "tokens in a sequence when training goes on, or as many as the model was made for"},
    {"batch-size", AT(batch_size), TT_SECTION_MODEL, T | E | I | B | P | K, BY_PRESET, "[1, 65536]", "N",
     .help = "sequences in a batch"},
    {"rope-theta", AT(rope_theta), TT_SECTION_MODEL, T | I | B | P | K, "10000", "[1, 1e12]", "X",
     .help = "base of the rotary position angles"},
    {"norm-eps", AT(norm_eps), TT_SECTION_MODEL, T | I | B | P | K, "1e-6", "(0, 1]", "X",
     .help = "added to the mean square in RMSNorm"},
    {"init-std", AT(init_std), TT_SECTION_MODEL, T | I | B | P | K, "0.02", "(0, 10]", "X",
     .help = "standard deviation of the initial weights"},
    {"tie-embeddings", AT(tie_embeddings), TT_SECTION_MODEL, T | I | B | P | K, "true", NULL, NULL,
     .help = "the head uses the embedding's weights"},

    /* computation */
    {"version", AT(version), TT_SECTION_COMPUTE, T | E | I | P | K, "flash", CHOICE,
     .help = "how far the step is optimised; all compute the same", .choices = tt_version_names},
    {"fuse", AT(fuse), TT_SECTION_COMPUTE, T | E | I | B | P | K, "", NULL, "LIST",
     .help = "switch single fusions of the version: all or none, then names, or no-NAME",
     .check = check_fuse, .list = ','},
    {"precision", AT(precision), TT_SECTION_COMPUTE, T | E | G | I | B | P | K, "fp32", CHOICE,
     .help = "number format; the CPU has fp32 only", .choices = tt_precision_names},
    {"graph", AT(graph), TT_SECTION_COMPUTE, T | B | P, "on", CHOICE,
     .help = "capture the step once and replay it, in fused and flash on a GPU", .choices = tt_switch_names},
    {"prefetch", AT(prefetch), TT_SECTION_COMPUTE, T | P, "on", CHOICE,
     .help = "gather batches ahead of time, in a thread of its own; off: only when a step asks for one", .choices = tt_switch_names},
    {"kernels", AT(kernels), TT_SECTION_COMPUTE, T | E | G | I | B | P | K, "native", CHOICE,
     .help = "use kernels written for this GPU's own instructions where there are any, or none of them",
     .choices = tt_kernel_set_names, .here = true},
    {"gemm-tune", AT(gemm_tune), TT_SECTION_COMPUTE, T | E | G | B | P | K, "quick", CHOICE,
     .help = "how a GPU's matrix products are chosen: as guessed, or the fastest of a few or of many",
     .choices = tt_gemm_tune_names, .here = true},
    {"recompute", AT(recompute), TT_SECTION_COMPUTE, T | I | B | P | K, "none", CHOICE,
     .help = "compute these activations again in the backward pass instead of keeping them",
     .choices = tt_recompute_names},
    {"head-chunk", AT(head_chunk), TT_SECTION_COMPUTE, T | E | I | B | P | K, "0", "[0, 1073741824]", "N",
     .help = "rows of logits at a time with the fusion head; 0 = chosen"},
    {"flash-tile", AT(flash_tile), TT_SECTION_COMPUTE, T | E | I | P | K, "", NULL, "ROWSxCOLS",
     .help = "queries and keys that meet at a time in the CPU's flash attention; a GPU's tiles are compiled in; \"\" = chosen",
     .check = tt_flash_tile_check, .here = true},
    {"own-kernel", AT(own_kernel), TT_SECTION_COMPUTE, T | I | P | K, "", NULL, "FILE",
     .help = "a shared library whose residual_norm() does residual + RMSNorm, for exercise 10; \"\" = none",
     .here = true, .flag_only = true}, /* it runs what is in the file, so no other file may ask for it */
    {"fault", AT(fault), TT_SECTION_COMPUTE, T | P | K, "", NULL, "NAME|random:SEED",
     .help = "break the run on purpose, for exercise 9: a fault by name, or one that is not told; \"\" = none", .check = tt_fault_check},
    {"threads", AT(threads), TT_SECTION_COMPUTE, T | E | G | I | B | P | K, "0", "[0, 1024]", "N",
     .help = "CPU threads; 0 = all there are", .here = true},
    {"device", AT(device), TT_SECTION_COMPUTE, T | E | G | I | B | P | K, "0", "[0, 63]", "N",
     .help = "which GPU; 0 is the first", .here = true},

    /* training */
    {"num-steps", AT(num_steps), TT_SECTION_TRAINING, T, BY_PRESET, "[1, 2147483648]", "N",
     .help = "optimiser steps in all"},
    {"grad-accum", AT(grad_accum), TT_SECTION_TRAINING, T | I | B | P | K, "1", "[1, 65536]", "N",
     .help = "batches summed into one step"},
    {"learning-rate", AT(learning_rate), TT_SECTION_TRAINING, T, BY_PRESET, "(0, 10]", "X",
     .help = "the peak, after warm-up"},
    {"warmup-steps", AT(warmup_steps), TT_SECTION_TRAINING, T, BY_PRESET, "[0, 2147483648]", "N",
     .help = "steps in which the learning rate rises to its peak; in a shorter run, a tenth of it"},
    {"lr-schedule", AT(lr_schedule), TT_SECTION_TRAINING, T, "cosine", CHOICE,
     .help = "how the learning rate falls after warm-up", .choices = tt_schedule_names},
    {"min-lr-ratio", AT(min_lr_ratio), TT_SECTION_TRAINING, T, "0.1", "[0, 1]", "X",
     .help = "learning rate at the end, as a part of the peak"},
    {"weight-decay", AT(weight_decay), TT_SECTION_TRAINING, T, "0.1", "[0, 10]", "X",
     .help = "AdamW's decay of matrices; norm weights have none"},
    {"beta1", AT(beta1), TT_SECTION_TRAINING, T, "0.9", "[0, 1)", "X", .help = "AdamW's memory of the gradient"},
    {"beta2", AT(beta2), TT_SECTION_TRAINING, T, "0.95", "[0, 1)", "X",
     .help = "AdamW's memory of the squared gradient"},
    {"adam-eps", AT(adam_eps), TT_SECTION_TRAINING, T, "1e-8", "(0, 1]", "X",
     .help = "added to the root in AdamW's denominator"},
    {"clip-norm", AT(clip_norm), TT_SECTION_TRAINING, T, "1", "[0, 1e6]", "X",
     .help = "largest norm of all gradients together; 0 = no clipping"},
    {"on-nan", AT(on_nan), TT_SECTION_TRAINING, T, "stop", CHOICE,
     .help = "when loss or gradients are not finite: save the run before that step and stop, or skip it", .choices = tt_on_nan_names},
    {"seed", AT(seed), TT_SECTION_TRAINING, T | G | B | P | K, "42", "[0, 9223372036854775807]", "N",
     .help = "start of all random numbers; the same seed gives the same run"},

    /* validation */
    {"val-interval", AT(val_interval), TT_SECTION_VALIDATION, T, "100", "[0, 2147483648]", "N",
     .help = "steps between validations; 0 = none"},
    {"val-batches", AT(val_batches), TT_SECTION_VALIDATION, T | E, "8", "[1, 1048576]", "N",
     .help = "batches in a validation"},
    {"patience", AT(patience), TT_SECTION_VALIDATION, T, "0", "[0, 1000000]", "N",
     .help = "stop after this many validations without a better loss; 0 = never"},

    /* data */
    {"data", AT(data), TT_SECTION_DATA, T | E, "builtin", NULL, "SOURCE",
     .help = "builtin (a small language), random, a token file, a glob of them, or a text file", .required = true},
    {"data", AT(data), TT_SECTION_DATA, B | P | K, "random", NULL, "SOURCE",
     .help = "random, builtin, a token file, a glob of them, or a text file", .required = true},
    {"val-data", AT(val_data), TT_SECTION_DATA, T | E, "", NULL, "SOURCE",
     .help = "validation data; \"\" = a part of --data is held out"},
    {"tokenizer", AT(tokenizer), TT_SECTION_DATA, T | D, "bytes", NULL, "NAME",
     .help = "for text: bytes, chars, bpe, or a tokenizer file: of tt, or a byte-level tokenizer.json of transformers", .required = true},
    {"val-fraction", AT(val_fraction), TT_SECTION_DATA, T | E | D, "0.1", "[0, 0.5]", "X",
     .help = "part of the data held out for validation; 0 = none"},

    /* output */
    {"out", AT(out), TT_SECTION_OUTPUT, T, "runs/default", NULL, "DIR",
     .help = "folder of the run; \"\" = write nothing", .here = true},
    {"out", AT(out), TT_SECTION_OUTPUT, D, "data", NULL, "DIR",
     .help = "folder for the token files and the tokenizer", .here = true, .required = true},
    {"out", AT(out), TT_SECTION_OUTPUT, P, "profile", NULL, "DIR",
     .help = "folder for the profile; an earlier profile in it is replaced", .here = true, .required = true},
    {"out", AT(out), TT_SECTION_OUTPUT, R, "", NULL, "DIR",
     .help = "folder for the report; \"\" = that of the profile, or \"imported\"", .here = true},
    {"out", AT(out), TT_SECTION_OUTPUT, C, "", NULL, "DIR",
     .help = "folder for compare.html, compare.json and compare.txt; \"\" = print only", .here = true},
    {"out", AT(out), TT_SECTION_OUTPUT, K, "", NULL, "FILE",
     .help = "save the gradients as safetensors; \"\" = do not", .here = true},
    {"tensorboard", AT(tensorboard), TT_SECTION_OUTPUT, T, "", NULL, "DIR",
     .help = "folder for TensorBoard event files: scalars, gradient norms, the configuration; \"\" = none", .here = true},
    {"out", AT(out), TT_SECTION_OUTPUT, X, "exported", NULL, "DIR",
     .help = "folder for the model; a new or empty one", .here = true, .required = true},
    {"out", AT(out), TT_SECTION_OUTPUT, M, "runs/imported", NULL, "DIR",
     .help = "folder of the run that begins with this model", .here = true, .required = true},
    {"resume", AT(resume), TT_SECTION_OUTPUT, T, "none", NULL, "auto|none|PATH",
     .help = "go on from the newest checkpoint in --out when there is one (auto); or from this checkpoint or run, in its own folder "
             "unless --out is given",
     .here = true, .required = true},
    {"init-from", AT(init_from), TT_SECTION_OUTPUT, T, "", NULL, "PATH",
     .help = "begin a new run with the weights of this checkpoint; \"\" = with random ones", .here = true},
    {"save-interval", AT(save_interval), TT_SECTION_OUTPUT, T, "0", "[0, 2147483648]", "N",
     .help = "steps between checkpoints; 0 = by the clock (--save-minutes), at the end and when interrupted"},
    {"save-minutes", AT(save_minutes), TT_SECTION_OUTPUT, T, "10", "[0, 1e6]", "X",
     .help = "without --save-interval: minutes between checkpoints, of which one is kept until the next; 0 = none on the way"},
    {"keep", AT(keep), TT_SECTION_OUTPUT, T, "3", "[0, 1000000]", "N", .help = "newest checkpoints to keep; 0 = all"},
    {"log-interval", AT(log_interval), TT_SECTION_OUTPUT, T, "10", "[1, 2147483648]", "N",
     .help = "steps between lines of the log"},
    {"logits", AT(logits), TT_SECTION_OUTPUT, E, "", NULL, "FILE",
     .help = "write tokens and logits of the first batch into this safetensors file; \"\" = none", .here = true},
    {"quiet", AT(quiet), TT_SECTION_OUTPUT, T | E | G | D | B | P | R | C | K | X | M, "false", NULL, NULL,
     .help = "print results only", .here = true},
    {"json", AT(json), TT_SECTION_OUTPUT, T | E | G | D | I | B | P | C | K | X | M | L, "false", NULL, NULL,
     .help = "print JSON instead of text", .here = true},

    /* general */
    {"topic", AT(topic), TT_SECTION_GENERAL, H, "", CHOICE,
     .help = "the command to explain", .choices = tt_command_names, .flag_only = true},
    {"markdown", AT(markdown), TT_SECTION_GENERAL, H, "false", NULL, NULL,
     .help = "print the whole reference as Markdown", .flag_only = true},
    {"man", AT(man), TT_SECTION_GENERAL, H, "false", NULL, NULL,
     .help = "print the manual page, for man -l", .flag_only = true},
    {"completion", AT(completion), TT_SECTION_GENERAL, H, "", CHOICE,
     .help = "print what makes this shell complete the words of tt", .choices = tt_shell_names, .flag_only = true},
    {"config", AT(config), TT_SECTION_GENERAL, T | E | G | D | I | B | P | R | C | K | X | M, "", NULL, "FILE",
     .help = "read options from this YAML file; flags override it", .flag_only = true},
    {"print-config", AT(print_config), TT_SECTION_GENERAL, T | E | G | D | I | B | P | R | C | K | X | M, "false", NULL, NULL,
     .help = "print all options as such a file, and do nothing else", .flag_only = true},
    {"help", AT(help), TT_SECTION_GENERAL, T | E | G | D | I | B | P | R | C | K | X | M | L | H, "false", NULL, NULL,
     .help = "explain the command, and do nothing else", .flag_only = true},
};
// clang-format on

const int tt_option_count = sizeof tt_option_table / sizeof *tt_option_table;
_Static_assert(sizeof tt_option_table / sizeof *tt_option_table <= TT_OPTION_LIMIT, "raise TT_OPTION_LIMIT");

enum tt_command tt_command_find(const char *name)
{
    int i = 0;
    while (i < TT_COMMANDS && strcmp(tt_commands[i].name, name) != 0) i++;
    return (enum tt_command)i;
}

const struct tt_option *tt_option_find(enum tt_command command, const char *name)
{
    for (int i = 0; i < tt_option_count; i++) {
        const struct tt_option *row = &tt_option_table[i];
        if ((row->commands >> command & 1) && strcmp(row->name, name) == 0) return row;
    }
    return NULL;
}

const struct tt_option *tt_option_find_any(enum tt_command command, const char *name)
{
    const struct tt_option *row = tt_option_find(command, name);
    if (!row) row = tt_option_find(TT_CMD_TRAIN, name);
    for (int i = 0; !row && i < tt_option_count; i++)
        if (strcmp(tt_option_table[i].name, name) == 0) row = &tt_option_table[i];
    return row;
}

/* The nearest among the options of the commands in the bit set. */
static const char *nearest_of(unsigned commands, const char *name)
{
    const char *names[TT_OPTION_LIMIT];
    int n = 0;
    for (int i = 0; i < tt_option_count; i++)
        if (tt_option_table[i].commands & commands) names[n++] = tt_option_table[i].name;
    return tt_nearest(name, names, n);
}

const char *tt_option_nearest(enum tt_command command, const char *name)
{
    const char *near = nearest_of(1u << command, name);
    return near ? near : nearest_of(~0u, name);
}

static bool left_open(enum tt_command command, const char *resume, const char *data, const struct tt_option *row,
                      const char **whose)
{
    bool continues = resume[0] && strcmp(resume, "none") != 0;
    bool reads = continues || tt_option_find(command, "checkpoint");
    bool by_checkpoint = reads && !row->here && tt_option_find(TT_CMD_TRAIN, row->name);
    bool by_size = !row->value && tt_option_find(command, "sizes");
    bool files = data[0] && strcmp(data, "builtin") != 0 && strcmp(data, "random") != 0;
    bool trains = command == TT_CMD_TRAIN || command == TT_CMD_DIAGNOSE || command == TT_CMD_PROFILE ||
                  command == TT_CMD_CHECK || command == TT_CMD_BENCH;
    bool by_data = trains && files && strcmp(row->name, "vocab-size") == 0;
    bool by_run = continues && strcmp(resume, "auto") != 0 && strcmp(row->name, "out") == 0;
    if (by_data) *whose = "the data's own";
    if (by_checkpoint) *whose = "the checkpoint's own";
    if (by_run) *whose = "the folder of the resumed run";
    if (by_size) *whose = "each size's own";
    return by_checkpoint || by_size || by_data || by_run;
}

bool tt_option_left_open(const struct tt_options *o, const struct tt_option *row, const char **whose)
{
    bool chosen = o->source[row - tt_option_table] >= TT_FROM_CHECKPOINT;
    return !chosen && left_open(o->command, o->c.resume, o->c.data, row, whose);
}

bool tt_option_open_by_default(enum tt_command command, const struct tt_option *row, const char **whose)
{
    return left_open(command, "", "", row, whose);
}

bool tt_option_given(const struct tt_options *o, const char *name)
{
    const struct tt_option *row = tt_option_find_any(o->command, name);
    return row && o->source[row - tt_option_table] >= TT_FROM_FILE;
}
