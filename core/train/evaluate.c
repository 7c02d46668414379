#include "core/train/evaluate.h"

#include <stdlib.h>

/* As many batches as asked for, or as the data have if that is less. */
static tt_status count_batches(const struct tt_config *c, const struct tt_data *data, const char *way_out,
                               int64_t *batches)
{
    int64_t samples = tt_data_samples(data, TT_VAL);
    if (!tt_data_validates(data))
        return tt_fail(TT_USAGE, "with --val-fraction 0 nothing of %s is held out to validate on; name data for it "
                       "with --val-data, or give a larger --val-fraction%s", c->data, way_out);
    *batches = tt_validation_batches(c);
    if (samples > 0 && samples / c->batch_size < *batches) *batches = samples / c->batch_size;
    if (*batches > 0) return TT_OK;
    return tt_fail(TT_USAGE, "the validation data has %lld samples, less than one batch of %lld; use a smaller "
                   "--batch-size or more data (--val-data, --val-fraction)%s", (long long)samples,
                   (long long)c->batch_size, way_out);
}

static tt_status only_prompts(const char *way_out)
{
    return tt_fail(TT_FAILED, "all targets of the validation data are prompts, which have no loss; validate on more of "
                   "it (--val-batches, --val-fraction), or use a longer --seq-len%s", way_out);
}

static tt_status find_counted(const struct tt_config *c, struct tt_data *data, int64_t samples, bool *counts)
{
    int32_t *tokens = malloc((size_t)(c->seq_len + 1) * sizeof *tokens);
    tt_status st = tokens ? TT_OK : tt_no_memory("a sequence");
    for (int64_t i = 0; i < samples && !st && !*counts; i++) {
        st = tt_data_sample(data, TT_VAL, (uint64_t)i, tokens);
        for (int64_t t = 1; t <= c->seq_len && !st && !*counts; t++) *counts = tokens[t] >= 0;
    }
    free(tokens);
    return st;
}

tt_status tt_evaluate_check(const struct tt_config *c, struct tt_data *data)
{
    static const char way_out[] = ", or train without validation (--val-interval 0)";
    int64_t batches;
    bool counts = false;
    TT_TRY(count_batches(c, data, way_out, &batches));
    TT_TRY(find_counted(c, data, batches * c->batch_size, &counts));
    return counts ? TT_OK : only_prompts(way_out);
}

static tt_status one_batch(struct tt_engine *e, const struct tt_plan *p, const struct tt_config *c,
                           struct tt_data *data, int64_t batch)
{
    int32_t *tokens = e->val_tokens;
    for (int64_t r = 0; r < c->batch_size; r++)
        TT_TRY(tt_data_sample(data, TT_VAL, (uint64_t)(batch * c->batch_size + r), tokens + r * (c->seq_len + 1)));
    TT_TRY(tt_engine_upload(e, TT_X_VAL_TOKENS, 0, tokens,
                            (size_t)(c->batch_size * (c->seq_len + 1)) * sizeof *tokens));
    return tt_plan_run(p, e->backend, NULL);
}

/* The device adds up losses in fp32, in which the millionth batch would be rounded away. So from time to time its sum
 * is moved to the host, and it begins with 0 again. */
enum { PARTS = 256 };

static tt_status begin_part(struct tt_engine *e)
{
    static const float none[2] = {0, 0};
    return tt_engine_upload(e, TT_X_VAL_LOSS, 0, none, sizeof none);
}

static tt_status take_part(struct tt_engine *e, double sum[2])
{
    float part[2];
    TT_TRY(tt_engine_download(e, TT_X_VAL_LOSS, 0, part, sizeof part));
    for (int i = 0; i < 2; i++) sum[i] += (double)part[i];
    return begin_part(e);
}

/* Batches are dealt to the ranks in turn. A rank that has none in the last round computes one again without counting
 * it: the collectives of the plan need all ranks. */
static tt_status my_batches(struct tt_engine *e, const struct tt_plan *p, const struct tt_config *c,
                            struct tt_data *data, int64_t batches, double sum[2])
{
    int64_t ranks = c->ranks > 1 ? c->ranks : 1, rounds = (batches + ranks - 1) / ranks;
    TT_TRY(begin_part(e));
    for (int64_t i = 0; i < rounds; i++) {
        int64_t batch = i * ranks + c->rank;
        bool mine = batch < batches;
        if (!mine || (i > 0 && i % PARTS == 0)) TT_TRY(take_part(e, sum));
        if (mine || p->collective) TT_TRY(one_batch(e, p, c, data, mine ? batch : 0));
        if (!mine) return TT_OK;
    }
    return take_part(e, sum);
}

tt_status tt_evaluate(struct tt_engine *e, const struct tt_plan *p, const struct tt_config *c, struct tt_data *data,
                      struct tt_job *job, struct tt_evaluation *out)
{
    double sum[2] = {0, 0}; /* of the batches' losses, and of the targets that do not count */
    TT_TRY(tt_engine_settle(e));
    TT_TRY(count_batches(c, data, "", &out->batches));
    TT_TRY(my_batches(e, p, c, data, out->batches, sum));
    double ignored = sum[1], targets = (double)(c->batch_size * c->seq_len);
    out->loss = sum[0];
    TT_TRY(tt_job_sum(job, &out->loss));
    TT_TRY(tt_job_sum(job, &ignored));
    double counted = (double)out->batches - ignored / targets; /* in batches */
    if (counted * targets < 0.5) return only_prompts("");
    out->loss /= counted;
    out->targets = out->batches * c->batch_size * c->seq_len - (int64_t)ignored;
    return TT_OK;
}
