/* What a profile says in words: where the time goes, and what to try next, each with the measured reason. */
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
    double gain;      /* times faster at most, by Amdahl's law; NaN: not a matter of speed */
};

enum { TT_ADVICE_LIMIT = 12 };

/* The most promising first; before them, where something disturbed the steps, to measure again: what follows from
 * disturbed steps is marked, and left out where their being slower could be all of it. Returns how many. */
int tt_advise(const struct tt_profile *p, struct tt_advice out[TT_ADVICE_LIMIT]);

/* "The step takes 12.3 ms: 41 % in feed-forward, 30 % in attention, ...; the device idles 3 %." */
void tt_headline(const struct tt_profile *p, char out[400]);

/* What a step that is launched one by one takes outside its phases; 0 where it is not known. */
double tt_between_steps(const struct tt_profile *p);

/* "1.23 ms, 4.5 % of the step", or, where the operations add up to more than the step, that there are none. */
const char *tt_gap_words(const struct tt_profile *p, char out[100]);
/* How much longer a step took that was recorded, and why it can be less, or what no event explains. */
enum { TT_RECORDING_WORDS = 200 };
const char *tt_recording_words(const struct tt_profile *p, char out[TT_RECORDING_WORDS]);

/* Sentences that belong beside the figures, "" where there is nothing to say: how old the roofs are, and whether the
 * step beats them; what the step takes beyond its kernels, or they beyond the step; what the two ways of judging the
 * step say; what the device did not compute as asked for; that the machine had other work, and whether it disturbed the
 * step, its shares and roofs, or both. */
void tt_roof_remark(const struct tt_profile *p, char out[400]);
/* What of the communication of several ranks is exposed, and which of them is slowest. */
void tt_ranks_remark(const struct tt_profile *p, char out[400]);
void tt_gap_remark(const struct tt_profile *p, char out[400]);
void tt_bound_remark(const struct tt_profile *p, char out[400]);
void tt_attention_remark(const struct tt_profile *p, char out[400]);
/* On a CPU: that the host computes, and that wall and device times are of different steps, where kernels seem to take
 * longer than their phase. */
void tt_phase_remark(const struct tt_profile *p, char out[400]);
void tt_busy_remark(const struct tt_profile *p, char out[400]);
/* Beside the tables of groups and operators: that the steps they are of were disturbed. */
void tt_rows_remark(const struct tt_profile *p, char out[400]);

#endif
