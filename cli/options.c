/* What tt offers: its commands, the rows that several of them share, and the schema of it all. */
#include "cli/options.h"

#include <string.h>

#include "cli/commands.h"
#include "exercises/engine/course.h"

// clang-format off
const struct tt_command_info tt_commands[TT_COMMANDS] = {
    [TT_CMD_TRAIN] = {"train", "train a model and save checkpoints",
        "Trains a model of the chosen shape on the chosen data. Without options it trains the default preset on the\n"
        "built-in language.\n\n"
        "Checkpoints go into the folder of the run: every ten minutes unless options say otherwise, at the end, and\n"
        "when the run is interrupted.",
        NULL,
        {"tt train", "tt train --preset small --data corpus.bin --out runs/small --save-interval 100",
         "tt train --out runs/small --resume auto --num-steps 1000"}},
    [TT_CMD_EVAL] = {"eval", "measure the loss of a checkpoint on validation data",
        "Loads a checkpoint and computes its mean loss on validation data. The model and the data are those of the\n"
        "checkpoint, unless options name other data.\n\n"
        "With --data it evaluates the part that training would hold out, with --val-data all of it; in both cases at\n"
        "most --val-batches batches.", "checkpoint",
        {"tt eval", "tt eval runs/small --val-data other.bin --val-batches 100"}},
    [TT_CMD_GENERATE] = {"generate", "continue a text with a checkpoint",
        "Loads a checkpoint and continues prompts with tokens drawn from its model.\n\n"
        "The other prompts of a call do not change the continuation of a prompt. The samples of --num-samples 3 with\n"
        "--seed S are those of three calls with the seeds S, S+1 and S+2.",
        "checkpoint",
        {"tt generate", "tt generate runs/small --prompt \"Once upon a time\" --temperature 0.7 --top-k 40",
         "tt generate runs/small --prompts questions.txt --num-samples 2 --stop \"Q:\" --json"}},
    [TT_CMD_DATA] = {"data", "turn text into token files, or describe one",
        "Reads text files, makes or loads a tokenizer, and writes token files and the tokenizer into a folder. With\n"
        "--inspect it describes a token file instead.", "input",
        {"tt data book.txt --out data/book", "tt data a.txt b.txt --tokenizer bpe --vocab-size 4096 --out data/ab",
         "tt data --inspect data/book/train_000000.bin"}},
    [TT_CMD_INFO] = {"info", "describe a run without starting it: parameters, memory, work, the device",
        "Describes the device, the model, and the memory and floating-point work of a training step. Nothing is\n"
        "trained.\n\n"
        "With --ranks it also shows, for every --shard, the memory of each rank and the bytes that it sends. Memory\n"
        "that NCCL and MPI need for themselves is not included.\n\n"
        "With --predict it predicts a step on other GPUs instead.", NULL,
        {"tt info --preset 1b --ranks 8 --shard weights", "tt info --plan --preset tiny",
         "tt info --preset medium --precision bf16 --predict mi300x,h200"}},
    [TT_CMD_BENCH] = {"bench", "time training steps of versions and sizes against each other",
        "Times whole training steps for each size and version, and prints one table. Tokens are random unless --data\n"
        "names other data. Options of the shape override each size's own.\n\n"
        "With --ranks it times several ranks. For each number it starts that many copies of itself on this machine,\n"
        "or it times the ranks that a launcher such as mpirun or srun has started. The table also has\n\n"
        "  - the efficiency: tokens/s of a rank, relative to one rank alone\n"
        "  - the time of communication\n"
        "  - how much of that is hidden behind computation, +- the uncertainty\n\n"
        "profiling/README.md says how these are measured, and when the hidden part is not measurable.\n\n"
        "With --against it times two sets of options in turns, so that drift of the machine slows both alike. It says\n"
        "how many times as fast the second is, with an interval. --profile-dir keeps both as bench.json for\n"
        "tt compare.\n\n"
        "With --generate it times text generation instead of training.", "against",
        {"tt bench --sizes tiny,small --versions baseline,flash",
         "tt bench --versions flash --ranks 1,2 --shard weights",
         "tt bench --against fused '--version flash --batch-size 4' --sizes small"}},
    [TT_CMD_PROFILE] = {"profile", "measure where the time and the memory of a step go",
        "Trains for a few steps, with and without events around every operation, and writes a folder: report.html,\n"
        "summary.md, profile.json (everything), operators.csv, trace.json, memory.json, roofline.json.\n\n"
        "With several ranks (--ranks, mpirun, srun, torchrun) all of them measure, and rank 0 writes one profile. It\n"
        "also has every collective, how much of it is hidden behind computation, the slowest rank, and a trace of\n"
        "all ranks.", NULL,
        {"tt profile --preset small --out profiles/small", "tt profile --version baseline --sweep batch,seq",
         "tt profile --preset small --ranks 2 --shard weights --out profiles/two"}},
    [TT_CMD_REPORT] = {"report", "show a training run or a profile, or read what another profiler exported",
        "Writes a page, report.html, about one of these:\n\n"
        "  - a training run, also while it goes on: loss, norms, speed, time\n"
        "  - a profile: its summary.md and report.html are written anew\n"
        "  - what other profilers exported, with --import\n\n"
        "--import reads files of nsys (sqlite, stats as csv), ncu (csv), rocprofv3 (rocpd, csv, json), rocprof-sys\n"
        "(rocpd) and PyTorch (Chrome trace). They become the same tables, cut to the range measured_steps where the\n"
        "program marked it. A profile and --import together become one report.", "run",
        {"tt report runs/default --open", "tt report --import kernels.csv ncu.csv --out profiles/nsys",
         "tt report profiles/small --import run_kernel_trace.csv"}},
    [TT_CMD_COMPARE] = {"compare", "put runs side by side: speed-ups, memory, what changed, accuracy",
        "Compares profiles (folders of tt profile or tt report), bench.json files or training runs with the first one.\n\n"
        "Two sets of options may stand in place of folders, such as '--version fused --preset tiny'. They are first\n"
        "run in turns, as by tt bench --against.\n\n"
        "With --fail-if the exit code is 5 when a condition holds, and 8 when none holds but one is undecided.", "run",
        {"tt compare profiles/baseline profiles/flash", "tt compare old new --fail-if slower:5%,gradients",
         "tt compare --run baseline '--version flash --batch-size 4'"}},
    [TT_CMD_CLAIMS] = {"claims", "measure on this device the speed-ups that guides for faster training promise",
        "A claim is a figure from a guide for faster training, such as \"AdamW in one kernel: 1.1x\". For each claim,\n"
        "training steps without and with that one thing are run in turns, as by tt bench --against. The measured\n"
        "speed-up stands beside the claim, with its interval and a verdict.\n\n"
        "A claim that this device cannot test is listed without a figure. Options of the model hold for all claims.", NULL,
        {"tt claims", "tt claims --only flash,qkv,adamw --preset small", "tt claims --preset medium --precision bf16 --repeats 10"}},
    [TT_CMD_CHECK] = {"check", "audit the gradients of a step",
        "tt check grads runs one step and shows the gradient of every tensor: its norm, its zeros, and values that are\n"
        "not finite. With --against it also shows how much each tensor and each layer differs from another version,\n"
        "another precision, or saved gradients.\n\n"
        "It fails when a tensor has no gradient or one that is not finite, or differs by more than --tolerance.",
        "what",
        {"tt check grads", "tt check grads --preset tiny --version flash --against baseline",
         "tt check grads --precision fp8 --against bf16"}},
    [TT_CMD_DIAGNOSE] = {"diagnose", "say before a run whether it will work, how long it takes, and what to change",
        "Takes the options of tt train and tries the run out. It shows\n\n"
        "  - the device and its libraries\n"
        "  - the memory that the run takes, and how much is free\n"
        "  - whether the data arrive as fast as the steps need them\n"
        "  - the batch size with the best speed\n"
        "  - the time of the whole run\n\n"
        "Every piece of advice names what was measured. If other programs used the processors meanwhile, it says so,\n"
        "and advises only what they cannot explain.\n\n"
        "With several ranks it does not try other batch sizes. It also shows the bandwidth of collectives by size\n"
        "(in the columns of nccl-tests), the slowest pair of ranks, and what communication costs a step.\n\n"
        "The exit code is 0 when all is well, 1 when the run would fail, 6 when there are warnings. With --for it\n"
        "predicts the speed on other cards instead, and runs nothing.",
        "config",
        {"tt diagnose run.yaml", "tt diagnose --preset small --data 'shards/*.bin' --quick",
         "tt diagnose --preset small --ranks 2 --shard weights"}},
    [TT_CMD_EXPORT] = {"export", "write a checkpoint as a model for Hugging Face's transformers or for llama.cpp",
        "Format hf is a folder with model.safetensors, config.json and the tokenizer's files, which\n"
        "AutoModelForCausalLM and AutoTokenizer of transformers open. It is a LLaMA with the same logits and the same\n"
        "tokens, with --qkv-bias a Qwen2, with --qk-norm a Qwen3.\n\n"
        "Format gguf is one file with all of that, for llama.cpp and programs built on it. It is a LLaMA, also with\n"
        "--qkv-bias; with --qk-norm a Qwen3.\n\n"
        "Neither format has a model with both --qkv-bias and --qk-norm. llama.cpp lacks some kinds of --rope-scaling.\n\n"
        "A tokenizer that llama.cpp cannot reproduce is left out of a gguf file, and a line says what to do. Such are\n\n"
        "  - words, the tokenizer of the built-in language\n"
        "  - chars, unless --vocab-size left a token free\n"
        "  - bpe, unless --nearest-split allows other tokens for some texts",
        "folder",
        {"tt export runs/small model", "tt export model --checkpoint runs/small --dtype bf16",
         "tt export runs/small model.gguf --dtype q8_0"}},
    [TT_CMD_IMPORT] = {"import", "make a checkpoint of a LLaMA from Hugging Face's transformers or from llama.cpp",
        "Reads a model and writes it as a checkpoint of step 0, from which training goes on.\n\n"
        "A folder of transformers may hold a LLaMA, a Qwen2, a Qwen3, or a Mistral without a sliding window, in fp32,\n"
        "fp16 or bf16 (model.safetensors, or shards with an index). A GGUF file may hold a LLaMA, a Qwen2 or a Qwen3,\n"
        "in F32, F16, BF16 or Q8_0.\n\n"
        "RoPE may be scaled: linear, dynamic, yarn, llama3. A model that needs something else than tt computes is\n"
        "refused, and the message names what it needs.\n\n"
        "The tokenizer comes along if it is byte-level, like those of GPT-2, Llama 3, Qwen and SmolLM, or if tt\n"
        "exported it. It makes the same tokens of every text, keeps its chat template and its special tokens, and puts\n"
        "the same token before prompts and documents. Every token of eos_token_id ends a text.\n"
        "max_position_embeddings is kept for exports.",
        "from",
        {"tt import model --out runs/model", "tt import model.gguf --out runs/model",
         "tt train --resume runs/model --data 'shards/*.bin' --out runs/tuned"}},
    [TT_CMD_EXERCISE] = {"exercise", "the course: start an exercise, get hints, have the worksheet checked",
        "The first word says what to do:\n\n"
        "  - list: the exercises, also without any word\n"
        "  - start N DIR: a new folder with the walkthrough and a worksheet\n"
        "  - hint N, hint N K, hint N NAME: the first, the Kth, that for a question\n"
        "  - check N DIR: marks your answers in DIR\n"
        "  - page DIR...: your work as one page for a browser\n"
        "  - report N DIR: your answers as a document, report.md and report.html\n"
        "  - solution N: how each answer comes about\n"
        "  - class DIR...: the results of many learners\n"
        "  - roadmap DIR: predicted against measured speed-ups\n\n"
        "check computes every right answer from your own profiles. page has the walkthroughs, the marked worksheets\n"
        "and plots of your runs.\n\n"
        "In the folder of an exercise check, hint, page, report and solution need no number.\n\n"
        "The exit code of check and report is 6 while some answers are not right, that of roadmap while a gate does not\n"
        "hold.", "do",
        {"tt exercise start 1 my-first", "tt exercise check 1 my-first",
         "tt exercise class learners --html class.html --every 20"}},
    [TT_CMD_HELP] = {"help", "explain a command, or all of them",
        "Explains a command. Without one it lists the commands.", "topic",
        {"tt help train", "tt help --markdown"}},
};

const char *const tt_command_names[TT_COMMANDS + 1] = {
    "train", "eval", "generate", "data", "info", "bench", "profile", "report", "compare", "claims", "check", "diagnose", "export", "import", "exercise", "help", NULL};

static const char *const sections[] = {"Checkpoint", "Generation", "Token files", "What to show", "What to time", "What to measure", "What to read", "What to try",
    "Exchange", "Exercise", TT_S_MODEL, TT_S_COMPUTE, TT_S_RANKS, TT_S_TRAINING, TT_S_VALIDATION, TT_S_DATA, TT_S_OUTPUT, "General", NULL};

enum {
    T = 1 << TT_CMD_TRAIN | 1 << TT_CMD_DIAGNOSE, X = 1 << TT_CMD_EXPORT, M = 1 << TT_CMD_IMPORT, E = 1 << TT_CMD_EVAL,
    G = 1 << TT_CMD_GENERATE, D = 1 << TT_CMD_DATA, I = 1 << TT_CMD_INFO, B = 1 << TT_CMD_BENCH, P = 1 << TT_CMD_PROFILE,
    R = 1 << TT_CMD_REPORT, C = 1 << TT_CMD_COMPARE, Q = 1 << TT_CMD_CLAIMS, K = 1 << TT_CMD_CHECK, L = 1 << TT_CMD_EXERCISE, H = 1 << TT_CMD_HELP,
};

#define AT(field) TT_FIELD(TT_OF_CALL, struct tt_call, field)
static const struct tt_option call[] = {
    {"checkpoint", AT(checkpoint), "Checkpoint", E | G | X, "runs/default", NULL, "PATH",
     .help = "a checkpoint, or the folder of a run, of which the newest checkpoint is taken", .required = true, .here = true},
    {"config", AT(config), "General", T | E | G | D | I | B | P | R | C | Q | K | X | M, "", NULL, "FILE",
     .help = "read options from this YAML file; flags override it", .flag_only = true},
    {"print-config", AT(print_config), "General", T | E | G | D | I | B | P | R | C | Q | K | X | M, "false", NULL, NULL,
     .help = "print all options as a file for --config, and do nothing else", .flag_only = true},
    {"help", AT(help), "General", T | E | G | D | I | B | P | R | C | Q | K | X | M | L | H, "false", NULL, NULL,
     .help = "explain the command, and do nothing else", .flag_only = true},
};
static const struct tt_rows call_rows = TT_ROWS(call);

static const struct tt_rows *const groups[] = {
    &tt_generate_rows, &tt_data_rows, &tt_info_rows, &tt_bench_rows, &tt_profile_rows, &tt_report_rows, &tt_compare_rows, &tt_claims_rows, &tt_check_rows,
    &tt_diagnose_rows, &tt_export_rows, &tt_import_rows, &tt_exercise_rows, &tt_eval_rows, &tt_help_rows,
    &tt_model_rows, &tt_course_rows, &tt_machine_rows, &tt_training_rows, &call_rows,
};
// clang-format on

const struct tt_schema tt_schema = {.commands = tt_commands, .command_count = TT_COMMANDS, .sections = sections,
                                    .groups = groups,
                                    .group_count = sizeof groups / sizeof *groups, .hooks = &tt_course};

enum tt_command tt_command_find(const char *name)
{
    int i = 0;
    while (i < TT_COMMANDS && strcmp(tt_commands[i].name, name) != 0) i++;
    return (enum tt_command)i;
}
