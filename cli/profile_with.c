#include "cli/profile_with.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/common.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "exercises/engine/course.h"
#include "profiling/import/tools.h"

/* ---- the tool around us ---- */

/* The options as a file: the tool's command stays short and can be run again by hand. */
static tt_status write_config(const struct tt_options *o, const char *path)
{
    struct tt_text text = {0};
    tt_options_print(o, &text);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_file_replace(path, text.s, text.n);
    tt_text_free(&text);
    return st;
}

static tt_status own_path(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n < 0) return tt_fail(TT_FAILED, "cannot find this program's own file: %s", strerror(errno));
    out[n] = 0;
    return TT_OK;
}

tt_status tt_profile_with_tool(struct tt_options *o)
{
    const struct tt_profile_command *own = tt_own(o);
    char config[1200], self[4096];
    int lock;
    /* ncu replays every kernel several times: one step is enough unless more are asked for. */
    if (strcmp(own->with, "ncu") == 0 && !tt_option_given(o, "num-steps")) o->c.num_steps = 1;
    snprintf(config, sizeof config, "%s/%s.yaml", o->c.out, own->with);
    TT_TRY(own_path(self, sizeof self));
    TT_TRY(tt_folder_lock(o->c.out, 0, &lock));
    const char *command[] = {self, "profile", "--bare", "--config", config, NULL, NULL, NULL};
    const char *kernel = tt_course_of(&o->c)->own_kernel;
    if (kernel[0]) command[5] = "--own-kernel", command[6] = kernel;
    tt_status st = write_config(o, config);
    if (!st)
        st = tt_profile_with(&(struct tt_tool_run){
            .tool = own->with, .out = o->c.out, .command = command, .marks_range = true, .steps = o->c.num_steps});
    tt_folder_unlock(&lock);
    return st;
}

/* ---- inside the tool ---- */

static tt_status run_steps(struct tt_run *run, struct tt_backend *b, int64_t warmup)
{
    const struct tt_backend_ops *ops = b->ops;
    int64_t before = warmup < 2 ? 2 : warmup; /* one sets the libraries up, one is captured */
    tt_status st = TT_OK;
    for (int64_t i = 0; i < before && !st; i++) st = tt_run_step(run);
    if (!st) st = ops->stream_sync(b->self, NULL);
    if (ops->range_push) ops->range_push(b->self, TT_TOOL_RANGE);
    for (int64_t i = 0; i < run->config->num_steps && !st; i++) {
        if (ops->range_push) ops->range_push(b->self, TT_TOOL_STEP);
        st = tt_run_step(run);
        if (ops->range_push) ops->range_pop(b->self);
    }
    if (!st) st = ops->stream_sync(b->self, NULL);
    if (ops->range_push) ops->range_pop(b->self);
    return st;
}

static tt_status bare_session(struct tt_session *s, struct tt_backend *b, const struct tt_config *c, int64_t warmup)
{
    struct tt_data *data;
    struct tt_run run;
    TT_TRY(tt_open_data(c, c->vocab_size, NULL, &data));
    tt_status st = tt_session_try(s, b, c, data, &run);
    tt_data_close(data);
    if (!st) st = run_steps(&run, b, warmup);
    tt_run_close(&run);
    return st;
}

tt_status tt_profile_bare(struct tt_member *m, const struct tt_config *c, int64_t warmup)
{
    struct tt_backend backend = {0};
    struct tt_session session = {0};
    tt_status st = tt_job_agree(m->job, tt_open_backend(c, &backend));
    if (!st) st = tt_job_agree(m->job, tt_member_join(m, &backend));
    tt_job_busy(m->job);
    if (!st) st = bare_session(&session, &backend, c, warmup);
    tt_session_close(&session);
    if (backend.ops) tt_backend_close(&backend);
    if (!st && !c->quiet) printf("ran     %lld step%s\n", (long long)c->num_steps, tt_plural(c->num_steps));
    return st;
}
