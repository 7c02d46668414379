#include "core/config/hooks.h"

#include "core/config/config.h"

tt_status tt_hooks_check(const struct tt_config *c) { return c->hooks && c->hooks->check ? c->hooks->check(c) : TT_OK; }

tt_status tt_hooks_edit(const struct tt_config *c, struct tt_plan *p, bool trains)
{
    return c->hooks && c->hooks->edit_plan ? c->hooks->edit_plan(c, p, trains) : TT_OK;
}

bool tt_hooks_validate(const struct tt_config *c) { return c->hooks && c->hooks->validates && c->hooks->validates(c); }
