/* tt bench: what its ways to time steps share. */
#ifndef TT_CLI_BENCH_H
#define TT_CLI_BENCH_H

#include "cli/common.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "core/base/json.h"

struct tt_bench_options {
    char versions[128], sizes[256], profile_dir[1024], ranks[128], generate[128];
    char against[2048]; /* one a line */
    int64_t warmup, repeats, turns, prompt_tokens, new_tokens;
    bool feed;
};

/* The options of one size and version. */
tt_status tt_bench_choose(const struct tt_options *o, const char *size, const char *version, struct tt_options *out);

/* What a row is called: its size, or "4x128", layers x hidden, where options gave the model a shape of its own. */
void tt_bench_label(const struct tt_options *o, const char *size, const struct tt_config *c, char out[32]);

/* Fails where the loss or the gradients are wrong: then the speed means nothing. */
tt_status tt_bench_check(struct tt_session *s, const char *size, const char *version);

/* Prints the JSON, writes it as bench.json into the folder ("": none), and frees it. */
tt_status tt_bench_write(struct tt_json_writer *w, bool prints, const char *dir);

/* --against: two sets of options in turns, and how many times as fast the second is. */
tt_status tt_bench_against(const struct tt_options *o);

/* --generate: text generation instead of training steps. */
tt_status tt_bench_generate(const struct tt_options *o);

/* ---- several ranks ---- */

/* --ranks: starts copies of this program for each number of ranks, and makes a table of what they measure. */
tt_status tt_bench_ranks(const struct tt_options *o);
struct tt_hidden {
    double communication, part, noise; /* of a step; what of it is hidden; how far that may be off */
    double load, waited;               /* of the machine, as tt_was_busy has them */
};
/* Whether there is a figure: it is off by no more than a third of the communication, on a machine that was not busy. */
bool tt_bench_hidden_known(const struct tt_hidden *h);
/* "42 +- 7": how much of the communication is hidden, in percent, and how far that may be off; "not measurable" where
 * it is not known, "n/a" without communication. */
void tt_bench_hidden(const struct tt_hidden *h, char out[48]);
/* The same table, or JSON, of what ranks found that somebody else has started. `load` is that before they began. */
tt_status tt_bench_ranks_show(const struct tt_options *o, const struct tt_text *found, double load);
/* One of several ranks: measures. Rank 0 prints the figures: of copies that tt bench started, as JSON for it. */
tt_status tt_bench_as_rank(const struct tt_options *o);

#endif
