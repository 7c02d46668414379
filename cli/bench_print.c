/* What tt bench shows: the table, and the same as JSON. */
#include <math.h>
#include <stdio.h>

#include "cli/bench_rows.h"
#include "core/base/file.h"
#include "core/base/load.h"
#include "exercises/engine/fault.h"

void tt_bench_print_header(const struct tt_bench *b)
{
    if (b->o->c.json) return;
    if (!b->o->c.quiet) {
        tt_print_device(&b->backend);
        printf("ceiling %.3g TFLOP/s measured in %s on a large matrix product", b->ceilings.flops / 1e12,
               tt_precision_names[b->roof]);
        if (b->ceilings.kept) printf(" at %s", b->ceilings.measured);
        if (tt_ceilings_doubtful(&b->ceilings))
            printf(", perhaps too low: the machine was busy, or its samples differed widely");
        if (b->datasheet > 0) printf("; the datasheet says %.0f", b->datasheet / 1e12);
        putchar('\n');
    }
    printf("%-7s %-9s %10s %10s %10s %9s %9s %6s %6s %9s %8s\n", "size", "version", "median ms", "p95 ms", "samples/s",
           "tokens/s",
           "TFLOP/s", "MFU %", "sheet%", "peak MiB", "ops/step");
}

void tt_bench_print_row(const struct tt_bench *b, const struct tt_bench_row *r)
{
    if (b->o->c.json) return;
    char sheet[16] = "n/a";
    double rate = r->flops / r->median;
    if (b->datasheet > 0) snprintf(sheet, sizeof sheet, "%.1f", 100 * rate / b->datasheet);
    printf("%-7s %-9s %10.2f %10.2f %10.2f %9.0f %9.3f %6.1f %6s %9.1f %8d", r->size, r->version, 1e3 * r->median,
           1e3 * r->p95,
           r->samples / r->median, r->tokens / r->median, rate / 1e12, 100 * rate / b->ceilings.flops, sheet,
           r->memory / 0x1p20, r->operations);
    if (r->refused_head) printf("  fused attention: heads of %lld", (long long)r->refused_head);
    putchar('\n');
    fflush(stdout);
}

/* With the keys of profile.json. tt compare tells by them which rows may be compared. */
static void put_shape(struct tt_json_writer *w, const struct tt_config *c)
{
    char update[TT_UPDATE_WORDS];
    tt_update_words(c, update);
    tt_json_put_int(w, "hidden_dim", c->hidden_dim);
    tt_json_put_int(w, "num_layers", c->num_layers);
    tt_json_put_int(w, "num_heads", c->num_heads);
    tt_json_put_int(w, "num_kv_heads", c->num_kv_heads);
    tt_json_put_int(w, "head_dim", tt_head_dim(c));
    tt_json_put_bool(w, "qkv_bias", c->qkv_bias);
    tt_json_put_bool(w, "qk_norm", c->qk_norm);
    tt_json_put_string(w, "rope_scaling", c->rope_scaling);
    tt_json_put_string(w, "documents", tt_documents_names[c->documents]);
    if (c->precision == TT_PREC_FP8) tt_json_put_string(w, "fp8", tt_fp8_words(c));
    tt_json_put_string(w, "update", update);
    tt_json_put_int(w, "ffn_dim", c->ffn_dim);
    tt_json_put_int(w, "vocab_size", c->vocab_size);
    tt_json_put_int(w, "seq_len", c->seq_len);
    tt_json_put_int(w, "batch_size", c->batch_size);
    tt_json_put_int(w, "grad_accum", c->grad_accum);
    tt_json_put_int(w, "seed", c->seed);
    tt_json_put_string(w, "data", c->data);
}

static void put_row(struct tt_json_writer *w, const struct tt_bench *b, const struct tt_bench_row *r)
{
    double rate = r->flops / r->median;
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "size", r->size);
    tt_json_put_string(w, "version", r->version);
    tt_json_put_bool(w, "flash_refused", r->refused_head > 0);
    tt_json_put_number(w, "median_ms", 1e3 * r->median);
    tt_json_put_number(w, "p95_ms", 1e3 * r->p95);
    tt_json_put_number(w, "min_ms", 1e3 * r->fastest);
    tt_json_put_number(w, "samples_per_second", r->samples / r->median);
    tt_json_put_number(w, "tokens_per_second", r->tokens / r->median);
    tt_json_put_number(w, "flops_per_step", r->flops);
    tt_json_put_number(w, "flops_per_second", rate);
    tt_json_put_number(w, "mfu_percent", 100 * rate / b->ceilings.flops);
    tt_json_put_number(w, "mfu_datasheet_percent", b->datasheet > 0 ? 100 * rate / b->datasheet : NAN);
    tt_json_put_number(w, "peak_memory_bytes", r->memory);
    tt_json_put_int(w, "operations_per_step", r->operations);
    put_shape(w, &r->config);
    tt_json_begin(w, "steps_ms", '[');
    for (int64_t i = 0; i < b->own->repeats; i++) tt_json_put_number(w, NULL, 1e3 * r->times[i]);
    tt_json_end(w, ']');
    tt_json_end(w, '}');
}

tt_status tt_bench_write(struct tt_json_writer *w, bool prints, const char *dir)
{
    char path[1200];
    tt_status st = tt_text_status(&w->text);
    if (!st && prints) puts(w->text.s);
    if (!st && dir[0]) {
        snprintf(path, sizeof path, "%s/bench.json", dir);
        st = tt_make_dirs(dir);
        if (!st) st = tt_file_replace(path, w->text.s, w->text.n);
    }
    tt_text_free(&w->text);
    return st;
}

tt_status tt_bench_write_json(const struct tt_bench *b)
{
    const struct tt_config *c = &b->o->c;
    struct tt_json_writer w = {.pretty = true};
    struct tt_device_info info;
    if (!c->json && !b->own->profile_dir[0]) return TT_OK;
    TT_TRY(b->backend.ops->info(b->backend.self, &info));
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "backend", b->backend.ops->name);
    tt_json_put_string(&w, "device", info.name);
    tt_json_put_string(&w, "library", info.library);
    tt_json_put_string(&w, "precision", tt_precision_names[c->precision]);
    tt_json_put_string(&w, "fault", tt_fault_shown(c));
    tt_json_put_int(&w, "repeats", b->own->repeats);
    tt_json_put_number(&w, "gemm_flops_per_second", b->ceilings.flops);
    tt_json_put_number(&w, "gemm_spread", b->ceilings.flops_spread);
    tt_json_put_string(&w, "gemm_measured", b->ceilings.measured);
    tt_json_put_number(&w, "waited", tt_turns_waited(&b->turns));
    tt_json_put_number(&w, "load", b->load);
    tt_json_put_bool(&w, "busy", tt_was_busy(b->load, tt_turns_waited(&b->turns)));
    tt_json_put_int(&w, "others", b->others);
    tt_json_put_number(&w, "datasheet_flops_per_second", b->datasheet > 0 ? b->datasheet : NAN);
    tt_json_begin(&w, "rows", '[');
    for (int i = 0; i < b->count; i++) put_row(&w, b, &b->rows[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    return tt_bench_write(&w, c->json, b->own->profile_dir);
}
