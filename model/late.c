/* The update of a step is made by the next step, beside its forward pass (fusion late-update). AdamW moves bytes and
 * the products compute, so each uses what the other leaves idle. The update cannot begin sooner, because the norm that
 * clips is known only when all gradients are. The weights of a layer are ready just before its forward pass reads them:
 * the order between the streams follows from the bytes that operations touch. The result has the same bits as an update
 * within the step. */
#include <stddef.h>

#include "model/build.h"

static void update(struct build *b, const struct tt_state *state, int64_t from, int64_t to)
{
    struct slice s = slice_at(b, from, to - from);
    struct tt_adamw_args args = adamw_args(b, &s);
    args.state = state;
    args.units = b->p->stream == TT_STREAM_SIDE ? b->m->beside_units : 0;
    tt_plan_launch(b->p, TT_K_adamw, &args);
}

static int64_t layer_end(const struct build *b, int layer)
{
    const struct tt_params *p = &b->m->params;
    return layer + 1 < b->c->num_layers ? tt_param_offset(p, b->c, layer + 1, TT_W_Q) : p->decay_end;
}

/* The weights that the forward pass needs first are updated first, on the main stream: norms and biases, which are
 * small, the embedding (and an untied head, which lies behind it) and the first projections. The others follow on the
 * side stream, layer after layer. The first layer is updated in pieces, so that its products do not wait for all of
 * it. */
void update_before(struct build *b, const struct tt_state *before)
{
    const struct tt_params *p = &b->m->params;
    const enum tt_weight pieces[] = {TT_W_O, TT_W_GATE, TT_W_DOWN};
    enum { PIECES = sizeof pieces / sizeof *pieces };
    int64_t at[PIECES + 1] = {[PIECES] = layer_end(b, 0)};
    for (int i = 0; i < PIECES; i++) at[i] = tt_param_offset(p, b->c, 0, pieces[i]);
    b->p->phase = TT_OPTIMIZE;
    b->p->group = TT_G_OPTIMIZER;
    update(b, before, p->decay_end, p->total);
    update(b, before, 0, at[0]);
    b->p->stream = TT_STREAM_SIDE;
    for (int i = 0; i < PIECES; i++) update(b, before, at[i], at[i + 1]);
    for (int i = 1; i < b->c->num_layers; i++) {
        b->p->layer = i;
        update(b, before, tt_param_offset(p, b->c, i, TT_W_Q), layer_end(b, i));
    }
    b->p->layer = -1;
    b->p->stream = TT_STREAM_MAIN;
}

void update_now(struct build *b, struct tt_state *state)
{
    b->p->phase = TT_OPTIMIZE;
    b->p->group = TT_G_OPTIMIZER;
    update(b, state, 0, b->m->params.total);
    LAUNCH(b->p, zero, .x = (float *)(void *)((char *)state + offsetof(struct tt_state, due)), .n = 1);
}
