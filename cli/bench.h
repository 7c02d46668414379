/* tt bench: what the files of its modes share. */
#ifndef TT_CLI_BENCH_H
#define TT_CLI_BENCH_H

#include "cli/common.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "core/base/json.h"

struct tt_bench_options {
    char versions[128], sizes[256], profile_dir[1024], ranks[128], generate[128];
    char against[2048]; /* two sets of options, one a line */
    int64_t warmup, repeats, turns, prompt_tokens, new_tokens;
    bool feed;
};

/* The options of one size and version. */
tt_status tt_bench_choose(const struct tt_options *o, const char *size, const char *version, struct tt_options *out);

/* The name of a row: its size, or layers x hidden, "4x128", where options gave the model a shape of its own. */
void tt_bench_label(const struct tt_options *o, const char *size, const struct tt_config *c, char out[32]);

/* Fails if the loss is not valid or steps were skipped: then the speed means nothing. */
tt_status tt_bench_check(struct tt_session *s, const char *size, const char *version);

/* Prints the JSON, writes it as bench.json into the folder ("": none), and frees it. */
tt_status tt_bench_write(struct tt_json_writer *w, bool prints, const char *dir);

/* --against: times two sets of options in turns, and says how many times as fast the second is. */
tt_status tt_bench_against(const struct tt_options *o);

/* --generate: text generation instead of training steps. */
tt_status tt_bench_generate(const struct tt_options *o);

/* ---- several ranks ---- */

/* --ranks: starts copies of this program for each number of ranks, and prints a table of what they measure. */
tt_status tt_bench_ranks(const struct tt_options *o);
struct tt_hidden {
    double communication, part, noise; /* of a step; the part of it that is hidden; how far that part may be off */
    double load, waited;               /* of the machine, as tt_was_busy takes them */
};
/* Whether the hidden part is known: it is off by at most a third of the communication, and the machine was not busy. */
bool tt_bench_hidden_known(const struct tt_hidden *h);
/* "42 +- 7": how much of the communication is hidden, in percent, and how far that may be off; "not measurable" where
 * it is not known, "n/a" without communication. */
void tt_bench_hidden(const struct tt_hidden *h, char out[48]);
/* Shows the same table, or JSON, for ranks that another launcher started. `found` is what they measured, as JSON;
 * `load` is the load of the machine before they began. */
tt_status tt_bench_ranks_show(const struct tt_options *o, const struct tt_text *found, double load);
/* Measures as one of several ranks. Rank 0 prints the figures; in copies that tt bench started, as JSON for it. */
tt_status tt_bench_as_rank(const struct tt_options *o);

#endif
