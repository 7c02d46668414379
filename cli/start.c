#include "cli/start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/checkpoint/checkpoint.h"
#include "core/train/origin.h"

tt_status tt_continues_in(const char *checkpoint, const char *folder, bool *here)
{
    char path[1200];
    struct stat parent, out;
    *here = false;
    if (!checkpoint) return TT_OK;
    snprintf(path, sizeof path, "%s/..", checkpoint);
    if (stat(path, &parent)) return tt_file_error(errno, "read", path);
    if (stat(folder, &out)) return errno == ENOENT ? TT_OK : tt_file_error(errno, "read", folder);
    *here = parent.st_dev == out.st_dev && parent.st_ino == out.st_ino;
    return TT_OK;
}

/* A resumed run goes on in its own folder. Refuses to go back to an earlier checkpoint there: its results would mix
 * with the later ones. */
static tt_status choose_folder(struct tt_options *o, const char *checkpoint)
{
    char *newest = NULL;
    bool here;
    struct stat own, other;
    if (!tt_option_given(o, "out")) tt_stay_in_run(o, checkpoint);
    TT_TRY(tt_continues_in(checkpoint, o->c.out, &here));
    if (!here || o->c.rank || strcmp(o->c.resume, checkpoint)) return TT_OK; /* of a run the newest was taken */
    tt_status st = tt_checkpoint_find(o->c.out, NULL, NULL, &newest);
    if (st && st->code != TT_DAMAGED) return st;
    tt_status_free(st); /* what is damaged is found when it is loaded */
    bool later = newest && !stat(newest, &other) && !stat(checkpoint, &own) && own.st_ino != other.st_ino;
    st = TT_OK;
    if (later)
        st = tt_fail(TT_USAGE,
                     "%s is not the newest checkpoint of its run, %s is; go on from that one, or give another --out "
                     "for a run that branches off", checkpoint, newest);
    free(newest);
    return st;
}

tt_status tt_choose_start(struct tt_options *o, const char *found, char **checkpoint, char **origin)
{
    const char *resume = o->c.resume, *init = o->c.init_from;
    bool resumes = strcmp(resume, "none") && resume[0];
    if (init[0] && resumes)
        return tt_fail(TT_USAGE,
                       "--init-from begins a new run and --resume goes on with one; give one of them, not both");
    if (init[0]) return tt_use_checkpoint(o, found && found[0] ? found : init, origin);
    if (!resumes) return TT_OK;
    bool newest = !strcmp(resume, "auto");
    if (newest && !found) return tt_use_newest(o, o->c.out, checkpoint);
    if (newest) return found[0] ? tt_use_checkpoint(o, found, checkpoint) : TT_OK;
    TT_TRY(tt_use_checkpoint(o, found && found[0] ? found : resume, checkpoint));
    return choose_folder(o, *checkpoint);
}

tt_status tt_check_left(const struct tt_config *c, const char *checkpoint, int64_t done)
{
    if (done < c->num_steps) return TT_OK;
    return tt_fail(TT_USAGE, "%s has run all %lld steps already; give a larger %s to go on", checkpoint,
                   (long long)done, c->epochs ? "--epochs" : "--num-steps");
}
