/* tt info with --update-every: what the steps between two choices leave out. Which groups are chosen is known only in a
 * run, so it is shown for the groups that --update-by random would choose first. */
#ifndef TT_CLI_INFO_UPDATE_H
#define TT_CLI_INFO_UPDATE_H

#include "core/base/json.h"
#include "model/session.h"
#include "profiling/measure/cost.h"

struct tt_info_update {
    const struct tt_session *s; /* NULL: every step chooses */
    struct tt_plan *less;       /* what is left of s->between */
    struct tt_plan_cost whole, left;
    int lowest;     /* layer with a backward pass; the number of layers: none has one */
    double seconds; /* that the host took to leave out the rest */
};

tt_status tt_info_update_gather(const struct tt_session *s, struct tt_info_update *out);
void tt_info_update_print(const struct tt_info_update *u);
/* Whether operation i of s->between is in such a step. To be called for each i in order, with *at 0 before the
 * first. */
bool tt_info_update_has(const struct tt_info_update *u, int i, int *at);
void tt_info_update_put(const struct tt_info_update *u, struct tt_json_writer *w);
void tt_info_update_free(struct tt_info_update *u);

#endif
