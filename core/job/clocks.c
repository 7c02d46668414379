/* How far the clocks of the ranks are apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/job/job.h"

enum { MESSAGES = 32 };

struct noted {
    double at[MESSAGES][2]; /* before and after each message */
    char machine[48];       /* the system's id of this boot of this machine; "" if it has none */
};

static void note_machine(char out[48])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f && !fgets(out, 48, f)) out[0] = 0;
    if (f) fclose(f);
}

struct tt_clock tt_clock_between(const double (*theirs)[2], const double (*of_0)[2], int messages)
{
    double least = -INFINITY, most = INFINITY;
    for (int i = 0; i < messages; i++) {
        least = fmax(least, theirs[i][0] - of_0[i][1]);
        most = fmin(most, theirs[i][1] - of_0[i][0]);
    }
    return (struct tt_clock){(least + most) / 2, fabs(most - least) / 2};
}

static struct tt_clock compare(const struct noted *theirs, const struct noted *of_0)
{
    struct tt_clock c = tt_clock_between(theirs->at, of_0->at, MESSAGES);
    bool same = of_0->machine[0] && !strcmp(theirs->machine, of_0->machine);
    return same && fabs(c.ahead) <= c.within ? (struct tt_clock){0} : c;
}

tt_status tt_job_clocks(struct tt_job *j, struct tt_clock *all)
{
    int ranks = tt_job_ranks(j);
    struct noted mine = {0}, *noted = calloc((size_t)ranks, sizeof *noted);
    char *nothing = calloc((size_t)ranks, 1);
    tt_status st = tt_job_agree(j, noted && nothing ? TT_OK : tt_no_memory("the clocks of %d ranks", ranks));
    note_machine(mine.machine);
    for (int i = 0; i < MESSAGES && !st; i++) {
        mine.at[i][0] = tt_seconds();
        st = tt_job_gather(j, "", 1, nothing);
        mine.at[i][1] = tt_seconds();
    }
    if (!st) st = tt_job_gather(j, &mine, sizeof mine, noted);
    all[0] = (struct tt_clock){0};
    for (int r = 1; r < ranks && !st; r++) all[r] = compare(&noted[r], &noted[0]);
    free(noted);
    free(nothing);
    return st;
}
