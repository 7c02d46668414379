/* tt claims: what guides for faster training promise. Each promise is a pair of options that is timed on this
 * device. */
#ifndef TT_CLAIMS_H
#define TT_CLAIMS_H

#include "cli/common.h"
#include "cli/options.h"
#include "cli/turns.h"

/* ---- what is claimed ---- */

struct tt_claim {
    const char *name;
    const char *words;   /* what is done */
    const char *source;  /* which guide says so */
    const char *claimed; /* as it is written there */
    double low, high;    /* the claim as a range; a single figure stands for all that rounds to it */
    bool share;          /* the figure is a percentage of the time of `on`, not a speed-up from `off` to `on` */
    const char *off, *on;         /* options of tt bench without and with it; with `share`, `on` is of tt train */
    const char *on_gpu;           /* on a GPU, instead of `on`; or NULL */
    const char *gpu;              /* why it needs a GPU; NULL: it does not */
    enum tt_precision precision;  /* that it needs */
    double off_weight, on_weight; /* how long their steps take, relative to others, for the estimate of time; 0: 1 */
};

extern const struct tt_claim tt_claims[];
extern const int tt_claim_count;
extern const char *const tt_claim_names[]; /* NULL at the end */

/* ---- what was found ---- */

enum tt_verdict {
    TT_CONFIRMED,
    TT_SMALLER,
    TT_LARGER,
    TT_NOT_SEEN,
    TT_NOT_DECIDED,
    TT_NOT_HERE, /* this device cannot do it */
    TT_NOT_RUN,  /* it failed */
    TT_VERDICTS
};
extern const char *const tt_verdict_names[TT_VERDICTS];
extern const char *const tt_verdict_words[TT_VERDICTS]; /* what they mean */

/* The verdict on a measured interval:
 *
 *   confirmed   it overlaps the claim, shows an effect, and lies within the claim or is narrow (a tenth at most)
 *   larger      it lies above the claim
 *   smaller     it lies below the claim, and shows an effect
 *   not seen    it lies below the claim, and includes no effect at all
 *   undecided   otherwise, or with too little confidence */
enum tt_verdict tt_claim_judge(const struct tt_claim *c, const struct tt_range *measured);

struct tt_claim_result {
    const struct tt_claim *claim;
    struct tt_side off, on;
    double *off_rate, *on_rate, *figures; /* of each turn: tokens a second; speed-up or percent */
    int turns;                            /* turns that were taken */
    double measured;
    struct tt_range range;
    enum tt_verdict verdict;
    char why[240];     /* why it could not be measured; "" where it was */
    char command[700]; /* the command that measures this claim alone */
};

struct tt_claims_options {
    char only[512];
    bool list;
    int64_t warmup, repeats, turns;
};

struct tt_claims_report {
    const struct tt_options *o;
    const struct tt_claims_options *own;
    struct tt_claim_result *results;
    int count;
    char backend[16], device[160], library[160], model[160], command[400];
    double load, waited, seconds; /* machine load before it began; what its copies waited; time it took */
    int stopped;          /* by this signal, before the last turn; 0: it was not */

    /* while it measures */
    struct tt_text shared; /* options of all copies, one a line, then cut into words */
    char *shared_words[64];
    int shared_count;
    char size_words[2][64], warmup_word[32], repeats_word[32]; /* size_words: of tt bench, of tt train */
    const struct tt_side *last; /* the side that ran last, and its figure */
    double last_rate, started, expected;
};

/* Chooses the claims, and makes the words of their copies. To be closed, also after a failure. */
tt_status tt_claims_open(struct tt_claims_report *r, const struct tt_options *o);
tt_status tt_claims_measure(struct tt_claims_report *r);
void tt_claims_close(struct tt_claims_report *r);

/* "1.23x" or "12.3 %"; "n/a" where it is no number. */
const char *tt_claim_figure(const struct tt_claim *c, double value, char out[32]);
void tt_claims_text(const struct tt_claims_report *r, struct tt_text *out);
void tt_claims_json(const struct tt_claims_report *r, struct tt_text *out);
tt_status tt_claims_html(const struct tt_claims_report *r, const char *path);
void tt_claims_list(bool json, struct tt_text *out);

#endif
