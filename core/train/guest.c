#include "core/train/guest.h"

#include "core/config/hooks.h"

tt_status tt_guest_open(struct tt_guest *g, const struct tt_visit *v)
{
    *g = (struct tt_guest){.hooks = v->config->hooks};
    return g->hooks && g->hooks->open ? g->hooks->open(v, &g->self) : TT_OK;
}

tt_status tt_guest_step(void *guest, struct tt_backend *b)
{
    const struct tt_guest *g = guest;
    return g->self && g->hooks->after_step ? g->hooks->after_step(g->self, b) : TT_OK;
}

void tt_guest_close(struct tt_guest *g)
{
    if (g->self && g->hooks->close) g->hooks->close(g->self);
    *g = (struct tt_guest){0};
}
