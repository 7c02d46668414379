/* tt info --plan: every operation of a step. */
#ifndef TT_CLI_INFO_PLAN_H
#define TT_CLI_INFO_PLAN_H

#include "cli/info_update.h"
#include "core/base/json.h"
#include "core/plan/plan.h"

void tt_info_plan_print(const struct tt_plan *p);
/* Prints the step between two choices of --update-every, and marks what it leaves out. */
void tt_info_plan_print_between(const struct tt_info_update *u);
void tt_info_plan_put(const struct tt_plan *p, struct tt_json_writer *w);

#endif
