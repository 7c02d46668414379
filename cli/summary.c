#include "cli/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/ranks.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/load.h"
#include "core/base/memory.h"
#include "core/train/usage.h"

static bool validated(const struct tt_summary *s) { return isfinite(s->progress->best_val); }

static double final_loss(const struct tt_summary *s)
{
    return isnan(s->result->val_loss) ? s->result->loss : s->result->val_loss;
}

static int64_t tokens(const struct tt_summary *s)
{
    const struct tt_config *c = s->config;
    return s->result->steps * tt_step_rows(c) * c->seq_len;
}

/* Which loss is shown: a run that was stopped between two validations has only the training loss of its last step. */
static void which_loss(const struct tt_summary *s, char out[80])
{
    out[0] = 0;
    if (isnan(s->result->val_loss) && s->config->val_interval > 0)
        snprintf(out, 80, " of training, not validated");
    else if (!isnan(s->result->val_loss) && s->result->val_step != s->progress->step)
        snprintf(out, 80, " of the validation after step %lld", (long long)s->result->val_step);
}

static void print_loss(const struct tt_summary *s)
{
    char which[80];
    double floor = tt_data_floor(s->data), loss = final_loss(s);
    which_loss(s, which);
    if (!tt_data_learnable(s->data))
        printf("loss    %.4f%s; random tokens cannot be learned: chance is ln(vocabulary - 1) = %.4f\n", loss, which,
               floor);
    else if (floor > 0)
        printf("loss    %.4f%s, floor %.4f (the exact entropy of the source): gap %.4f = %.1f %%\n", loss, which, floor,
               loss - floor, 100 * (loss - floor) / floor);
    else
        printf("loss    %.4f%s (perplexity %.2f)\n", loss, which, exp(loss));
    if (validated(s) && s->progress->best_step != s->progress->step)
        printf("best    validation loss %.4f after step %lld\n", s->progress->best_val,
               (long long)s->progress->best_step);
}

/* Where the wall-clock time went; what is left over are the steps themselves. */
static void print_time(const struct tt_train_result *r)
{
    double steps = r->seconds - r->data_seconds - r->validation_seconds - r->saving_seconds;
    printf("time    %.1f %% steps, %.1f %% waiting for data, %.1f %% validation, %.1f %% saving\n",
           100 * fmax(steps, 0) / r->seconds, 100 * r->data_seconds / r->seconds,
           100 * r->validation_seconds / r->seconds, 100 * r->saving_seconds / r->seconds);
}

static void print_usage(const struct tt_summary *s)
{
    double percent = 100 * s->result->device_utilisation;
    char others[80];
    tt_usage_others_words(s->result->device_others, others);
    if (s->device_bytes > 0)
        printf("usage   the GPU computed for %.0f %% of the time%s%s\n", percent, others[0] ? "; " : "", others);
    else
        printf("usage   its threads computed for %.0f %% of the time\n", percent);
}

static double samples_per_second(const struct tt_summary *s)
{
    return s->result->tokens_per_second / (double)s->config->seq_len;
}

static void print_epochs(const struct tt_summary *s)
{
    const struct tt_train_result *r = s->result;
    char each[32];
    if (!s->config->epochs || r->epochs_here <= 0) return;
    tt_format_duration(r->seconds / r->epochs_here, each);
    printf("epochs  %.4g of %lld, %s each with validations and checkpoints, %.0f samples/s\n", r->epochs,
           (long long)s->config->epochs, each, samples_per_second(s));
}

void tt_summary_text(const struct tt_summary *s)
{
    const struct tt_train_result *r = s->result;
    char duration[32], rate[32], memory[32], device[80] = "";
    tt_format_duration(r->seconds, duration);
    tt_format_count(r->tokens_per_second, rate);
    tt_format_bytes(tt_peak_memory(), memory);
    if (s->device_bytes > 0) {
        char bytes[32];
        tt_format_bytes(s->device_bytes, bytes);
        snprintf(device, sizeof device, " and %s on the device", bytes);
    }
    printf("%s    %lld step%s in %s, %s%stokens/s, peak memory %s%s%s\n",
           s->interrupted ? "stop" : "done", (long long)r->steps, tt_plural(r->steps), duration, rate,
           strchr(rate, ' ') ? "" : " ", memory, device,
           r->early_stop ? "; stopped early, validation no longer improves" : "");
    if (r->seconds > 0 && !s->config->quiet) print_time(r);
    if (!isnan(r->device_utilisation) && !s->config->quiet) print_usage(s);
    print_epochs(s);
    char busy[100];
    tt_was_busy_words(s->load, s->waited, busy);
    if (busy[0])
        printf("note    when this was measured, %s: its speed says little%s\n", busy, tt_fewer_threads(s->threads));
    if (r->skipped)
        printf("skipped %lld of %lld steps: their loss or gradients were not finite, so they changed no weights\n",
               (long long)r->skipped, (long long)s->progress->step);
    if (!isnan(final_loss(s))) print_loss(s);
}

void tt_summary_next(const struct tt_summary *s)
{
    const struct tt_config *c = s->config;
    if (!c->out[0]) return;
    printf("saved   %s/step-%08lld\n", c->out, (long long)s->progress->step);
    if (s->interrupted || c->quiet) return; /* a message says how to go on; --quiet prints results only */
    char ranks[TT_RANKS_WORDS];
    tt_ranks_words(c, ranks);
    char out[1300], board[1300];
    tt_shell_word(c->out, out, sizeof out);
    printf("next    tt generate %s        tt train --resume auto --out %s --%s %lld%s%s%s\n", out, out,
           c->epochs ? "epochs" : "num-steps", 2 * (long long)(c->epochs ? c->epochs : c->num_steps),
           c->tensorboard[0] ? " --tensorboard " : "",
           c->tensorboard[0] ? tt_shell_word(c->tensorboard, board, sizeof board) : "", ranks);
}

static void put_floor(struct tt_json_writer *w, const struct tt_summary *s)
{
    double floor = tt_data_floor(s->data);
    tt_json_put_number(w, "floor", floor > 0 ? floor : NAN);
}

static void put_losses(struct tt_json_writer *w, const struct tt_summary *s)
{
    const struct tt_train_result *r = s->result;
    tt_json_put_number(w, "loss", r->loss);
    tt_json_put_number(w, "val_loss", r->val_loss);
    tt_json_put_number(w, "val_step", isnan(r->val_loss) ? NAN : (double)r->val_step);
    tt_json_put_number(w, "best_val_loss", s->progress->best_val);
    tt_json_put_int(w, "best_step", s->progress->best_step);
    put_floor(w, s);
}

static void put_times(struct tt_json_writer *w, const struct tt_train_result *r)
{
    tt_json_put_number(w, "seconds", r->seconds);
    tt_json_put_number(w, "tokens_per_second", r->tokens_per_second);
    tt_json_put_number(w, "data_wait_seconds", r->data_seconds);
    tt_json_put_number(w, "validation_seconds", r->validation_seconds);
    tt_json_put_number(w, "saving_seconds", r->saving_seconds);
}

static void put_summary(struct tt_json_writer *w, const struct tt_summary *s)
{
    const struct tt_train_result *r = s->result;
    char path[1200] = "";
    if (s->config->out[0]) snprintf(path, sizeof path, "%s/step-%08lld", s->config->out, (long long)s->progress->step);
    tt_json_put_int(w, "step", s->progress->step);
    tt_json_put_int(w, "steps", r->steps);
    tt_json_put_int(w, "skipped", r->skipped);
    tt_json_put_int(w, "tokens", tokens(s));
    if (r->epochs > 0) tt_json_put_number(w, "epochs", r->epochs);
    if (s->config->ranks > 1) tt_json_put_int(w, "ranks", s->config->ranks);
    put_losses(w, s);
    put_times(w, r);
    tt_json_put_number(w, "samples_per_second", samples_per_second(s));
    tt_json_put_number(w, "device_utilisation", r->device_utilisation);
    tt_json_put_int(w, "device_others", r->device_others);
    tt_json_put_number(w, "waited", s->waited);
    tt_json_put_number(w, "load", s->load);
    tt_json_put_bool(w, "busy", tt_was_busy(s->load, s->waited));
    tt_json_put_number(w, "peak_memory_bytes", tt_peak_memory());
    tt_json_put_number(w, "device_memory_bytes", s->device_bytes > 0 ? s->device_bytes : NAN);
    tt_json_put_bool(w, "flash_refused", s->flash_refused);
    tt_json_put_bool(w, "early_stop", r->early_stop);
    tt_json_put_bool(w, "interrupted", s->interrupted);
    tt_json_put_string(w, "out", s->config->out);
    tt_json_put_string(w, "checkpoint", path);
}

tt_status tt_summary_json(const struct tt_summary *s)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    put_summary(&w, s);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

tt_status tt_summary_save(const struct tt_summary *s)
{
    struct tt_json_writer w = {.pretty = true};
    char path[1200];
    if (!s->config->out[0]) return TT_OK;
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "device", s->device);
    tt_json_put_string(&w, "model", s->model);
    tt_json_put_string(&w, "data", tt_data_describe(s->data));
    tt_json_put_bool(&w, "learnable", tt_data_learnable(s->data));
    tt_json_put_int(&w, "num_steps", s->config->num_steps);
    if (!s->result) put_floor(&w, s);
    if (s->result) put_summary(&w, s);
    tt_json_put_string(&w, "sample", s->sample);
    tt_json_end(&w, '}');
    tt_text_puts(&w.text, "\n");
    snprintf(path, sizeof path, "%s/run.json", s->config->out);
    tt_status st = tt_text_status(&w.text);
    if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    tt_text_free(&w.text);
    return st;
}
