/* Generates several sequences, a token of each at a time. The device chooses the tokens and feeds them to itself, so
 * steps follow each other without the host. The host reads the tokens of a step while the next one runs. */
#ifndef TT_DECODER_H
#define TT_DECODER_H

#include "core/plan/engine.h"
#include "core/plan/step.h"
#include "model/model.h"

enum { TT_DECODER_AHEAD = 2 }; /* steps that may be enqueued before their tokens are taken */

struct tt_decoder {
    struct tt_model *model;
    struct tt_engine engine, fill_engine;
    struct tt_plan *plan, *fill; /* fill: for prompts of up to fill_tokens tokens, or NULL */
    struct tt_stepper stepper;
    int64_t rows, length, fill_tokens;
    int64_t begun, taken; /* steps */
    int32_t *chosen;      /* pinned (TT_DECODER_AHEAD, rows) */
    tt_event done[TT_DECODER_AHEAD];
};

/* Positions that a sequence needs: its tokens, or more, since a prompt is padded to a power of two. */
int64_t tt_decoder_room(int64_t prompt_count, int64_t max_tokens);

/* Weights are taken from `weights`, an engine on the same backend that outlives the decoder. There is room for `length`
 * positions a row; the longest prompt has `prompt` tokens. Only tokens below `known` are chosen. */
tt_status tt_decoder_open(struct tt_decoder *d, const struct tt_config *c, const struct tt_engine *weights,
                          int64_t rows, int64_t length, int64_t prompt, const struct tt_sampling *how, int64_t known);
/* Before the first step, for every row: reads the prompt (at least one token). */
tt_status tt_decoder_start(struct tt_decoder *d, int64_t row, const int32_t *prompt, int64_t count, uint64_t seed);
/* Enqueues a step: one more token for every row. At most TT_DECODER_AHEAD steps may wait to be taken. */
tt_status tt_decoder_step(struct tt_decoder *d);
/* Waits for the oldest step that is not taken yet, and takes it: the token of each row, or -1 where its logits were not
 * finite. *chosen is good until the next step is enqueued. */
tt_status tt_decoder_take(struct tt_decoder *d, const int32_t **chosen);
void tt_decoder_close(struct tt_decoder *d);

/* The random draw for the token after position `at`, from 0 to 2^32 - 1. */
uint32_t tt_decoder_draw(uint64_t seed, int64_t at);

#endif
