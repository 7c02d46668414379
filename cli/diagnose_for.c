/* tt diagnose --for: which batch fits on cards that are not here, and what to expect of it. Nothing is run. Each kernel
 * takes the time that its bytes or FLOPs need at the published rates, and the step takes longer than that by the
 * factors below. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/diagnose.h"
#include "cli/paper.h"
#include "core/config/batch.h"
#include "core/base/json.h"
#include "core/train/epochs.h"
#include "profiling/measure/predict.h"

/* How many times as long as on paper a step takes. On one H200 it was 1.39 to 2.33 times for the presets small, medium,
 * gpt2 and 1b in bf16, tf32 and fp32 (README.md has the times). It was most where operations are short. No other card
 * was measured. */
static const double least_times = 1.4, most_times = 2.4, most_per_operation = 4e-6;
static const double usable = 0.9; /* of the memory: the rest is the driver's and the libraries' */

enum { CARDS = 32, SIZES = 40, MOST_BATCH = 65536 };

/* A batch size that is tried, and its step. */
struct size {
    int64_t batch;
    struct tt_paper paper;
};

struct card {
    char name[40];
    const struct tt_chip *chip; /* NULL: memory alone */
    double memory;
    int largest, best; /* index of a size; -1: none. The best is the smallest within 5 % of the largest throughput */
    int64_t most;      /* the largest batch that fits, also between two sizes; 0: none */
    double takes;      /* bytes that it takes, or that a batch of 1 takes */
    double fast, slow; /* seconds of a step of the best */
};

struct outlook {
    struct tt_options o;
    struct tt_config *c;
    struct tt_data *data;
    struct card cards[CARDS];
    int card_count;
    struct size sizes[SIZES];
    int size_count;
};

/* ---- the list ---- */

/* "16GiB" or "16GB"; 0: neither. */
static double read_memory(const char *text)
{
    char *unit;
    double n = strtod(text, &unit);
    if (text[0] < '0' || text[0] > '9' || n <= 0 || n > 1e6) return 0;
    return !strcasecmp(unit, "gib") ? n * 0x1p30 : !strcasecmp(unit, "gb") ? n * 1e9 : 0;
}

static tt_status read_card(const char *text, struct card *out)
{
    *out = (struct card){.chip = tt_chip_find(text), .memory = read_memory(text), .largest = -1, .best = -1};
    snprintf(out->name, sizeof out->name, "%.39s", out->chip ? out->chip->name : text);
    if (out->chip) out->memory = out->chip->memory;
    return out->memory > 0 ? TT_OK : tt_no_card(text, ", and sizes of memory: 16GiB");
}

tt_status tt_check_cards(const char *list)
{
    char name[64];
    struct card card;
    int n = 0;
    for (; tt_list_next(&list, ',', name, sizeof name); n++) TT_TRY(read_card(name, &card));
    return n <= CARDS ? TT_OK : tt_fail(TT_USAGE, "at most %d cards at a time", CARDS);
}

/* ---- batches: 1, 2, 3, 4, 6, 8, 12, 16, 24, ... ---- */

static int64_t next_batch(int64_t batch)
{
    bool power = (batch & (batch - 1)) == 0;
    return batch == 1 ? 2 : power ? batch + batch / 2 : batch / 3 * 4;
}

static double most_memory(const struct outlook *f)
{
    double most = 0;
    for (int i = 0; i < f->card_count; i++) most = fmax(most, f->cards[i].memory);
    return usable * most;
}

/* Plans sizes until no card has room for more; a size that cannot be planned ends the list. */
static tt_status plan_sizes(struct outlook *f)
{
    struct tt_config *trial;
    tt_status st = TT_OK;
    TT_TRY(tt_config_copy(f->c, &trial));
    double most = most_memory(f);
    for (trial->batch_size = 1; !st && f->size_count < SIZES && trial->batch_size <= MOST_BATCH;
         trial->batch_size = next_batch(trial->batch_size)) {
        struct size *s = &f->sizes[f->size_count];
        *s = (struct size){.batch = trial->batch_size};
        st = tt_config_check_shape(trial);
        if (!st) st = tt_paper_plan(trial, &s->paper);
        if (!st) f->size_count++;
        if (!st && s->paper.memory > most) break;
    }
    free(trial);
    if (f->size_count) tt_status_free(st);
    return f->size_count ? TT_OK : st;
}

/* ---- what to expect ---- */

static tt_status predict(const struct outlook *f, const struct size *s, const struct tt_chip *chip, double *fast,
                         double *slow)
{
    struct tt_prediction p;
    TT_TRY(tt_predict(s->paper.plan, f->c->precision, chip, (struct tt_ring){0}, &p));
    *fast = least_times * p.seconds;
    *slow = most_times * p.seconds + most_per_operation * s->paper.cost.total.count;
    return TT_OK;
}

static double samples(const struct outlook *f, int size)
{
    return (double)(f->sizes[size].batch * f->c->grad_accum);
}

static bool computes(const struct outlook *f, const struct card *c)
{
    bool rows = f->c->fp8_scaling != TT_SCALING_ROW || (c->chip && tt_chip_fp8_rows(c->chip));
    return c->chip && c->chip->matrix[f->c->precision] > 0 && rows;
}

static tt_status memory_of(const struct outlook *f, int64_t batch, double *out)
{
    struct tt_config *trial;
    struct tt_paper paper;
    TT_TRY(tt_config_copy(f->c, &trial));
    trial->batch_size = batch;
    tt_status st = tt_paper_plan(trial, &paper);
    *out = st ? 0 : paper.memory;
    tt_paper_free(&paper);
    free(trial);
    return st;
}

/* Bisects between the largest of the sizes that fits and the next, which does not, until they are neighbours. */
static tt_status find_most(const struct outlook *f, struct card *c)
{
    int at = c->largest;
    c->most = at < 0 ? 0 : f->sizes[at].batch;
    c->takes = f->sizes[at < 0 ? 0 : at].paper.memory;
    if (at < 0 || at + 1 == f->size_count) return TT_OK;
    for (int64_t low = c->most, high = f->sizes[at + 1].batch; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        double bytes;
        TT_TRY(memory_of(f, middle, &bytes));
        if (bytes <= usable * c->memory)
            low = c->most = middle, c->takes = bytes;
        else
            high = middle;
    }
    return TT_OK;
}

static tt_status judge(const struct outlook *f, struct card *c)
{
    double rates[SIZES], best = 0, fast, slow;
    while (c->largest + 1 < f->size_count && f->sizes[c->largest + 1].paper.memory <= usable * c->memory) c->largest++;
    TT_TRY(find_most(f, c));
    if (!computes(f, c)) return TT_OK;
    for (int i = 0; i <= c->largest; i++) {
        TT_TRY(predict(f, &f->sizes[i], c->chip, &fast, &slow));
        rates[i] = samples(f, i) / slow;
        best = fmax(best, rates[i]);
    }
    for (int i = c->largest; i >= 0; i--)
        if (rates[i] >= 0.95 * best) c->best = i;
    return c->best < 0 ? TT_OK : predict(f, &f->sizes[c->best], c->chip, &c->fast, &c->slow);
}

/* ---- text ---- */

static void print_head(const struct outlook *f)
{
    const struct tt_config *c = f->c;
    char parameters[32];
    tt_format_count((double)tt_model_param_count(f->sizes[0].paper.model), parameters);
    printf("PREDICTION, not a measurement: nothing was run. A step takes %.1f to %.1f times what its kernels need at "
           "the card's published\nrates, plus up to %.0f us for each operation, as measured on an H200 and no other "
           "card. A tenth of the memory is left free.\n\n",
           least_times, most_times, 1e6 * most_per_operation);
    printf("%s %s %s, %s parameters, sequences of %lld tokens%s\n\n", c->preset, tt_version_names[c->version],
           tt_precision_names[c->precision], parameters, (long long)c->seq_len,
           c->grad_accum > 1 ? ", several batches to a step" : "");
}

/* "12.3 - 45.6": three digits, or all before the point. */
static const char *range(double low, double high, char out[48])
{
    int digits = high >= 100 ? 0 : high >= 10 ? 1 : 2;
    snprintf(out, 48, "%.*f - %.*f", digits, low, digits, high);
    return out;
}

static void epoch_range(const struct outlook *f, const struct card *c, char out[48])
{
    char fast[32], slow[32];
    double steps = (double)tt_data_samples(f->data, TT_TRAIN) / samples(f, c->best);
    tt_format_duration(steps * c->fast, fast);
    tt_format_duration(steps * c->slow, slow);
    snprintf(out, 48, " %.20s - %.20s", fast, slow);
}

static void print_card(const struct outlook *f, const struct card *c)
{
    char takes[32], ms[48], rate[48], tokens[48], epoch[48] = "";
    printf("%-10s %7.1f GiB", c->name, c->memory / 0x1p30);
    tt_format_bytes(c->takes, takes);
    if (c->largest < 0) {
        printf("  not even --batch-size 1 fits: it takes %s\n", takes);
        return;
    }
    printf(" %8lld %11s %5s", (long long)c->most, takes, f->c->batch_size <= c->most ? "yes" : "no");
    if (c->best < 0) {
        if (c->chip)
            printf("   it has no %s%s", tt_precision_names[f->c->precision],
                   c->chip->matrix[f->c->precision] > 0 ? " with scales of rows" : "");
        putchar('\n');
        return;
    }
    double n = samples(f, c->best), length = (double)f->c->seq_len;
    if (tt_data_samples(f->data, TT_TRAIN)) epoch_range(f, c, epoch);
    printf(" %8lld %15s %15s %19s%s\n", (long long)f->sizes[c->best].batch, range(1e3 * c->fast, 1e3 * c->slow, ms),
           range(n / c->slow, n / c->fast, rate), range(n * length / c->slow, n * length / c->fast, tokens), epoch);
}

static void print_text(const struct outlook *f)
{
    char own[24];
    print_head(f);
    snprintf(own, sizeof own, "%lld?", (long long)f->c->batch_size);
    printf("%-10s %11s %8s %11s %5s %8s %15s %15s %19s%s\n", "card", "memory", "largest", "takes", own, "batch",
           "ms a step", "samples/s", "tokens/s", tt_data_samples(f->data, TT_TRAIN) ? " an epoch" : "");
    for (int i = 0; i < f->card_count; i++) print_card(f, &f->cards[i]);
    printf("\nlargest: the largest --batch-size that fits; takes: its memory; %s whether this run's fits; batch: the "
           "smallest within\n5 %% of the most samples/s; the columns after it are for that batch.\n", own);
}

/* ---- JSON ---- */

static void put_expected(struct tt_json_writer *w, const struct outlook *f, const struct card *c)
{
    double n = samples(f, c->best);
    tt_json_put_int(w, "batch_size", f->sizes[c->best].batch);
    tt_json_put_number(w, "seconds_low", c->fast);
    tt_json_put_number(w, "seconds_high", c->slow);
    tt_json_put_number(w, "samples_per_second_low", n / c->slow);
    tt_json_put_number(w, "samples_per_second_high", n / c->fast);
}

static void put_card(struct tt_json_writer *w, const struct outlook *f, const struct card *c)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "card", c->name);
    if (c->chip) tt_json_put_string(w, "title", c->chip->title);
    tt_json_put_number(w, "memory_bytes", c->memory);
    tt_json_put_bool(w, "prediction", true);
    tt_json_put_int(w, "largest_batch_size", c->most);
    tt_json_put_number(w, "needed_bytes", c->takes);
    if (c->best >= 0) put_expected(w, f, c);
    tt_json_end(w, '}');
}

static tt_status print_json(const struct outlook *f)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_bool(&w, "prediction", true);
    tt_json_put_string(&w, "preset", f->c->preset);
    tt_json_put_string(&w, "version", tt_version_names[f->c->version]);
    tt_json_put_string(&w, "precision", tt_precision_names[f->c->precision]);
    tt_json_put_int(&w, "samples_in_an_epoch", tt_data_samples(f->data, TT_TRAIN));
    tt_json_begin(&w, "cards", '[');
    for (int i = 0; i < f->card_count; i++) put_card(&w, f, &f->cards[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

/* ---- all of it ---- */

static tt_status run(struct outlook *f)
{
    const struct tt_diagnose_options *own = tt_own(&f->o);
    char name[64];
    TT_TRY(tt_check_cards(own->cards)); /* several --for were checked one by one */
    for (const char *at = own->cards; tt_list_next(&at, ',', name, sizeof name);)
        TT_TRY(read_card(name, &f->cards[f->card_count++]));
    TT_TRY(tt_batch_fit(&f->o));
    TT_TRY(tt_config_check_shape(f->c));
    TT_TRY(tt_open_training_data(&f->o, NULL, &f->data));
    TT_TRY(tt_take_epochs(&f->o, f->data, NULL));
    TT_TRY(plan_sizes(f));
    for (int i = 0; i < f->card_count; i++) TT_TRY(judge(f, &f->cards[i]));
    if (f->c->json) return print_json(f);
    print_text(f);
    return TT_OK;
}

tt_status tt_diagnose_for(const struct tt_options *o)
{
    if (o->c.ranks > 1)
        return tt_fail(TT_USAGE, "--for predicts for one card; leave out --ranks, or ask for several: tt info "
                       "--predict %lldxh200", (long long)o->c.ranks);
    struct outlook *f = calloc(1, sizeof *f);
    if (!f) return tt_no_memory("the command");
    f->o = *o;
    f->c = &f->o.c;
    tt_status st = run(f);
    for (int i = 0; i < f->size_count; i++) tt_paper_free(&f->sizes[i].paper);
    if (f->data) tt_data_close(f->data);
    free(f);
    return st;
}
