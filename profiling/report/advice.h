/* A profile in words: where the time goes, what to try next, each with the measured reason, and remarks beside
 * figures. */
#ifndef TT_ADVICE_H
#define TT_ADVICE_H

#include "profiling/disturbed.h"
#include "profiling/profile.h"

/* Groups that belong together, each with a colour of its own. */
enum tt_family {
    TT_FAMILY_PROJECTION,
    TT_FAMILY_FFN,
    TT_FAMILY_HEAD,
    TT_FAMILY_OTHER,
    TT_FAMILY_ATTENTION,
    TT_FAMILY_NORM,
    TT_FAMILY_COPY,
    TT_FAMILY_GAP,
    TT_FAMILY_GEMM,
    TT_FAMILY_OPTIMIZER,
    TT_FAMILY_COMMUNICATION,
    TT_FAMILIES
};
extern const char *const tt_family_names[TT_FAMILIES];
enum tt_family tt_family_of(const char *group);

struct tt_advice {
    char what[120];   /* "use flash attention: --version flash" */
    char reason[300]; /* the measurement behind it */
    double gain;      /* the most it can speed up the step, by Amdahl's law; NaN: it is not about speed */
};

enum { TT_ADVICE_LIMIT = 12 };

/* What to try next, the most promising first. Returns how many. Where something disturbed the steps, the advice to
 * measure again comes before the rest; advice from disturbed steps is marked, and left out if the disturbance alone
 * could explain it. */
int tt_advise(const struct tt_profile *p, struct tt_advice out[TT_ADVICE_LIMIT]);

/* "A step takes 12.3 ms: 41 % of it in feed-forward, 30 % attention, ...; the device waits 3 %." */
void tt_headline(const struct tt_profile *p, char out[400]);

/* The time that a step, launched operation by operation, takes outside its phases; 0 where it is not known. */
double tt_between_steps(const struct tt_profile *p);

/* "1.23 ms, 4.5 % of the step"; where the operations add up to more than the step, that there are no gaps. */
const char *tt_gap_words(const struct tt_profile *p, char out[100]);
/* How much longer or shorter the recorded step took than the undisturbed one, and why. */
enum { TT_RECORDING_WORDS = 200 };
const char *tt_recording_words(const struct tt_profile *p, char out[TT_RECORDING_WORDS]);

/* Sentences that belong beside the figures; "" where there is nothing to say. */

/* How old the roofs are, and whether the step beats them or they may be too low. */
void tt_roof_remark(const struct tt_profile *p, char out[400]);
/* How much of the communication of several ranks is exposed, and which rank is slowest. */
void tt_ranks_remark(const struct tt_profile *p, char out[400]);
/* What the step takes beyond its kernels, or the kernels beyond the step. */
void tt_gap_remark(const struct tt_profile *p, char out[400]);
/* Which roof the step lies under, and that its class (mfu_class) does not say so. */
void tt_bound_remark(const struct tt_profile *p, char out[400]);
/* That flash attention was asked for and could not be used. */
void tt_attention_remark(const struct tt_profile *p, char out[400]);
/* On a CPU: that the host computes; and that wall and device times are of different steps, where they do not fit. */
void tt_phase_remark(const struct tt_profile *p, char out[400]);
/* That other programs or a slow recording disturbed the step, the shares and roofs, or both. */
void tt_busy_remark(const struct tt_profile *p, char out[400]);
/* Beside tables of groups and operators: that these are of disturbed steps. */
void tt_rows_remark(const struct tt_profile *p, char out[400]);

#endif
