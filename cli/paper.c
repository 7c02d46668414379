#include "cli/paper.h"

#include <stdlib.h>

#include "backend/chips.h"
#include "core/config/options.h"
#include "profiling/measure/derive.h"

static double plan_memory(const struct tt_plan *p)
{
    double sum = (double)p->arena_bytes;
    for (int x = 0; x < TT_EXTERNAL_COUNT; x++) sum += (double)p->external_bytes[x];
    return sum;
}

tt_status tt_paper_plan(const struct tt_config *c, struct tt_paper *out)
{
    struct tt_config *here;
    *out = (struct tt_paper){0};
    TT_TRY(tt_config_copy(c, &here));
    here->precision = TT_FP32;
    tt_status st = tt_model_create(here, &out->model);
    free(here);
    TT_TRY(st);
    out->model->config.precision = c->precision;
    tt_model_fit(out->model, &(struct tt_device_info){.flash_head = TT_GPU_FLASH_HEAD, .has = {[TT_PREC_BF16] = true}});
    TT_TRY(tt_model_plan_train(out->model, &out->plan));
    out->cost = tt_cost_of_plan(out->plan);
    out->step_flops = 3 * tt_model_work(out->model).forward;
    out->memory = plan_memory(out->plan);
    return TT_OK;
}

void tt_paper_free(struct tt_paper *p)
{
    tt_plan_free(p->plan);
    tt_model_free(p->model);
    *p = (struct tt_paper){0};
}

tt_status tt_no_card(const char *name, const char *more)
{
    struct tt_text all = {0};
    int count = 0;
    while (tt_chip_names[count]) count++;
    tt_join(&all, tt_chip_names, ", ");
    const char *near = tt_nearest(name, tt_chip_names, count);
    tt_status st = tt_fail(TT_USAGE, "there is no card \"%s\"%s%s%s; there are %s%s", name,
                           near ? ", did you mean " : "", near ? near : "", near ? "?" : "", all.failed ? "..." : all.s,
                           more);
    tt_text_free(&all);
    return st;
}
