/* tt claims: what guides for faster training promise, each promise as a pair of options, timed on this device. */
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
    double low, high;    /* the same; a single figure stands for all that rounds to it */
    bool share;          /* percent of the time of `on`, and not a speed-up from `off` to `on` */
    const char *off, *on;         /* options of tt bench without and with it; of a share, `on` of tt train */
    const char *on_gpu;           /* the same on a GPU, where that is not `on` */
    const char *gpu;              /* why it needs a GPU; NULL: it does not */
    enum tt_precision precision;  /* that it needs */
    double off_weight, on_weight; /* work of their steps against that of others; 0: 1 */
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

/* Of a measured interval. Whether it lies beside what is claimed, and on which side; "not seen" where it also includes
 * no effect at all. One that meets the claim confirms it when it lies within the claim or is narrow (a tenth at most),
 * and shows an effect; else nothing is decided, nor by an interval of too little confidence. */
enum tt_verdict tt_claim_judge(const struct tt_claim *c, const struct tt_range *measured);

struct tt_claim_result {
    const struct tt_claim *claim;
    struct tt_side off, on;
    double *off_rate, *on_rate, *figures; /* of each turn: tokens a second, and speed-up or percent */
    int turns;                            /* taken */
    double measured;
    struct tt_range range;
    enum tt_verdict verdict;
    char why[240];     /* it could not be measured; "" where it was */
    char command[700]; /* that measures this alone */
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
    double load, waited, seconds; /* of the machine before it began; what its copies waited; that it took */
    int stopped;          /* by this signal, before the last turn; 0: it was not */

    /* while it measures */
    struct tt_text shared; /* words of all copies, one a line, then cut */
    char *shared_words[64];
    int shared_count;
    char size_words[2][64], warmup_word[32], repeats_word[32]; /* of tt bench and tt train */
    const struct tt_side *last; /* that had its turn, and what it gave */
    double last_rate, started, expected;
};

/* Which claims, with the words of their copies. To be freed, also after a failure. */
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
