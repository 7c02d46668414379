/* What tt offers: its commands, the rows that several of them share, and the schema of it all. */
#include "cli/options.h"

#include <string.h>

#include "cli/commands.h"
#include "exercises/engine/course.h"

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
        "Loads a checkpoint and continues prompts with tokens drawn from it. The model is the checkpoint's own. What a\n"
        "prompt gets does not depend on those beside it: --seed S --num-samples 3 draws what seeds S, S+1 and S+2 draw.",
        "checkpoint",
        {"tt generate", "tt generate runs/small --prompt \"Once upon a time\" --temperature 0.7 --top-k 40",
         "tt generate runs/small --prompts questions.txt --num-samples 2 --stop \"Q:\" --json"}},
    [TT_CMD_DATA] = {"data", "turn text into token files, or look into one",
        "Reads text files, makes or loads a tokenizer, and writes token files and the tokenizer into a folder; or,\n"
        "with --inspect, says what is in a token file.", "input",
        {"tt data book.txt --out data/book", "tt data a.txt b.txt --tokenizer bpe --vocab-size 4096 --out data/ab",
         "tt data --inspect data/book/train_000000.bin"}},
    [TT_CMD_INFO] = {"info", "say what a run would be: parameters, memory, work, the device",
        "Describes the model, the device, the memory and the floating-point work of a step without training. With\n"
        "--ranks, also what each rank has in memory and sends, for every --shard; NCCL and MPI take memory of their\n"
        "own beside it.", NULL,
        {"tt info --preset 1b --ranks 8 --shard weights", "tt info --plan --preset tiny",
         "tt info --preset medium --precision bf16 --predict mi300x,h200"}},
    [TT_CMD_BENCH] = {"bench", "time training steps of versions and sizes against each other",
        "Times whole training steps on random tokens, for each size and version, and prints one table. Options of the\n"
        "shape override each size's own. With --ranks it starts that many copies of itself on this machine for each\n"
        "number, or times the ranks that mpirun or srun has started. Every rank has the same batch in all rows, and on\n"
        "a CPU the same number of threads: --threads, or the cores by the largest number of ranks. The efficiency is\n"
        "a rank's tokens/s against one rank alone. The time of communication is that of events around the collectives\n"
        "with everything on one stream, on the rank whose kernels are slowest; hidden of it is what such a step takes\n"
        "longer than one with communication beside the kernels: the median of six pairs or more that took turns. +-\n"
        "says by how much their spread may move it. Beyond a third of the communication, and on a busy machine, it is\n"
        "not measurable.\n"
        "With --against it times two sets of options in turns, so that what drifts on the machine slows both alike, and\n"
        "says how many times as fast the second is: the median of the pairs' ratios, and the interval that their order\n"
        "allows. The bench.json of --profile-dir keeps them for tt compare.", "against",
        {"tt bench --sizes tiny,small --versions baseline,flash",
         "tt bench --versions flash --ranks 1,2 --shard weights",
         "tt bench --against fused '--version flash --batch-size 4' --sizes small"}},
    [TT_CMD_PROFILE] = {"profile", "measure where the time and the memory of a step go",
        "Trains for a few steps, with and without events around every operation, and writes a folder: report.html,\n"
        "summary.md, profile.json with everything, operators.csv, trace.json, memory.json, roofline.json. With\n"
        "several ranks (--ranks, mpirun, srun, torchrun) all of them measure, and rank 0 writes one profile: every\n"
        "collective, how much of it is hidden behind computation, the slowest rank, and a trace of all of them.", NULL,
        {"tt profile --preset small --out profiles/small", "tt profile --version baseline --sweep batch,seq",
         "tt profile --preset small --ranks 2 --shard weights --out profiles/two"}},
    [TT_CMD_REPORT] = {"report", "show a training run or a profile, or read what another profiler exported",
        "Makes report.html of a training run, also while it goes on: loss, norms, speed, where the time went. Makes\n"
        "summary.md and report.html of a profile anew; or reads what nsys (sqlite, stats as csv), ncu (csv),\n"
        "rocprofv3 (rocpd, csv, json) and PyTorch (Chrome trace) wrote into the same tables, cut to the range\n"
        "measured_steps where the program marked it. With both it makes one report.", "run",
        {"tt report runs/default --open", "tt report --import kernels.csv ncu.csv --out profiles/nsys",
         "tt report profiles/small --import run_kernel_trace.csv"}},
    [TT_CMD_COMPARE] = {"compare", "put runs side by side: speed-ups, memory, what changed, accuracy",
        "Compares profiles (folders of tt profile or tt report), bench.json files or training runs with the first.\n"
        "Two sets of options instead of folders, '--version fused --preset tiny' for one, are run in turns first, as\n"
        "by tt bench --against. With --fail-if it is a gate: exit code 5 when a condition holds, 8 when one is\n"
        "undecided.", "run",
        {"tt compare profiles/baseline profiles/flash", "tt compare old new --fail-if slower:5%,gradients",
         "tt compare --run baseline '--version flash --batch-size 4'"}},
    [TT_CMD_CLAIMS] = {"claims", "measure on this device what guides for faster training promise",
        "Each claim, \"AdamW in one kernel: 1.1x\" for one, is a pair of runs without and with that one thing. The pairs\n"
        "are run in turns, as by tt bench --against, and the speed-up stands beside the claim with its interval and a\n"
        "verdict. What this device cannot do is said and not guessed. Options of the model hold for all of them.", NULL,
        {"tt claims", "tt claims --only flash,qkv,adamw --preset small", "tt claims --preset medium --precision bf16 --repeats 10"}},
    [TT_CMD_CHECK] = {"check", "audit the gradients of a step",
        "grads: runs one step and looks at the gradient of every tensor: norm, zeros, what is not finite, and against\n"
        "another version or precision how far off it is, tensor by tensor and layer by layer. Fails when any tensor got\n"
        "no gradient.", "what",
        {"tt check grads", "tt check grads --preset tiny --version flash --against baseline",
         "tt check grads --precision fp8 --against bf16"}},
    [TT_CMD_DIAGNOSE] = {"diagnose", "say before a run whether it will work, how long it takes, and what to change",
        "Takes the options of train and tries the run out: device and libraries, memory against what is free, the\n"
        "speed of data against that of steps, the best batch size, the time of the whole run. Each advice names what\n"
        "was measured; where other programs had the processors, it says so, and gives only what these cannot\n"
        "explain. The exit code is 0 when all is well, 1 when the run would fail, 6 when there are warnings. With\n"
        "several ranks also the bandwidth of collectives by size, in the columns of nccl-tests, the slowest pair of\n"
        "ranks, and what communication costs a step by these; other batch sizes are not tried then.",
        "config",
        {"tt diagnose run.yaml", "tt diagnose --preset small --data 'shards/*.bin' --quick",
         "tt diagnose --preset small --ranks 2 --shard weights"}},
    [TT_CMD_EXPORT] = {"export", "write a checkpoint as a model for Hugging Face's transformers or for llama.cpp",
        "hf: a folder with model.safetensors, config.json and the tokenizer's files, which\n"
        "transformers.AutoModelForCausalLM and AutoTokenizer open: a LLaMA with the same logits and the same tokens,\n"
        "with --qkv-bias a Qwen2, with --qk-norm a Qwen3.\n"
        "gguf: a file with all of that, which llama.cpp and what builds on it open: a LLaMA, also with --qkv-bias, or\n"
        "with --qk-norm a Qwen3. Neither format has a model with both, nor llama.cpp every --rope-scaling. Tokenizers\n"
        "that llama.cpp cannot reproduce are left out, with a line that says what to do: words; chars, unless\n"
        "--vocab-size left a token free; tt's own bpe, unless --nearest-split allows other tokens for some texts.",
        "folder",
        {"tt export runs/small model", "tt export model --checkpoint runs/small --dtype bf16",
         "tt export runs/small model.gguf --dtype q8_0"}},
    [TT_CMD_IMPORT] = {"import", "make a checkpoint of a LLaMA from Hugging Face's transformers or from llama.cpp",
        "Reads the folder of a LLaMA, Qwen2, Qwen3 or of a Mistral without a sliding window (model.safetensors, or\n"
        "shards with an index; fp32, fp16 or bf16), or the GGUF file of a LLaMA, Qwen2 or Qwen3 (F32, F16, BF16 or\n"
        "Q8_0), and writes a checkpoint of step 0, from which training goes on. RoPE may be scaled: linear, dynamic,\n"
        "yarn, llama3. What this program does not compute is refused by name.\n"
        "A byte-level tokenizer like those of GPT-2, Llama 3, Qwen and SmolLM comes along, or one that tt exported:\n"
        "the same tokens for every text, the one that it puts before prompts and documents, chat template and special\n"
        "tokens. All of eos_token_id ends a text, and max_position_embeddings is kept for exports.",
        "from",
        {"tt import model --out runs/model", "tt import model.gguf --out runs/model",
         "tt train --resume runs/model --data 'shards/*.bin' --out runs/tuned"}},
    [TT_CMD_EXERCISE] = {"exercise", "the course: start an exercise, get hints, have the worksheet checked",
        "list: the exercises. start N DIR: a folder with the walkthrough and a worksheet. hint N, hint N K, hint N NAME:\n"
        "the first, the Kth, that for a question. check N DIR: recomputes every answer from your own profiles in DIR; exit\n"
        "code 6 while some are not right. page DIR...: walkthroughs, worksheets with their marks, and plots of your runs as\n"
        "one file for a browser. report N DIR: your answers as a document; exit code 6 as with check. solution N. In the\n"
        "folder of an exercise check, hint, page, report and solution need no number. class DIR...: the results of many\n"
        "learners. roadmap DIR: predicted against measured.", "do",
        {"tt exercise start 1 my-first", "tt exercise check 1 my-first",
         "tt exercise class learners --html class.html --every 20"}},
    [TT_CMD_HELP] = {"help", "explain a command, or all of them",
        "Without a command it lists the commands.", "topic",
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
     .help = "a checkpoint, or the folder of a run: then its newest", .required = true, .here = true},
    {"config", AT(config), "General", T | E | G | D | I | B | P | R | C | Q | K | X | M, "", NULL, "FILE",
     .help = "read options from this YAML file; flags override it", .flag_only = true},
    {"print-config", AT(print_config), "General", T | E | G | D | I | B | P | R | C | Q | K | X | M, "false", NULL, NULL,
     .help = "print all options as such a file, and do nothing else", .flag_only = true},
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
