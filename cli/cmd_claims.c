/* tt claims: its options, and where its results go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/claims.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "profiling/profile.h"

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_claims_options, field)
#define HERE 1 << TT_CMD_CLAIMS
// clang-format off
static const struct tt_option rows[] = {
    {"only", AT(only), "What to time", HERE, "", NULL, "LIST",
     .help = "claims to measure; \"\" = all", .choices = tt_claim_names, .list = ','},
    {"list", AT(list), "What to time", HERE, "false", NULL, NULL, .help = "list the claims, and measure nothing"},
    {"warmup", AT(warmup), "What to time", HERE, "1", "[0, 100000]", "N",
     .help = "warm-up steps of each turn, before the clock starts"},
    {"repeats", AT(repeats), "What to time", HERE, "3", "[1, 100000]", "N", .help = "timed steps of each turn"},
    {"turns", AT(turns), "What to time", HERE, "6", "[1, 1000]", "N",
     .help = "turns of each pair; with fewer than 5 no verdict is given"},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, HERE, "claims", NULL, "DIR",
     .help = "folder for claims.html, claims.json and claims.txt; \"\" = print only", .here = true},
};
// clang-format on
const struct tt_rows tt_claims_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_claims_options);

/* Better refused now than after minutes. */
static tt_status check_folder(const char *folder)
{
    int lock = -1;
    if (tt_is_dir(folder)) TT_TRY(tt_folder_lock(folder, TT_LOCK_WAIT, &lock)); /* another may be writing there */
    tt_status st = tt_folder_check(folder, "claims.json", "set of claims");
    tt_folder_unlock(&lock);
    return st;
}

static tt_status write_folder(const struct tt_claims_report *r, const struct tt_text *text, const struct tt_text *json)
{
    const char *folder = r->o->c.out;
    char path[1200];
    int lock;
    TT_TRY(tt_folder_lock(folder, TT_LOCK_WAIT, &lock));
    tt_status st = tt_folder_prepare(folder, "claims.json", "set of claims");
    if (!st) st = tt_write_text(folder, "claims.txt", text);
    if (!st) st = tt_write_text(folder, "claims.json", json);
    snprintf(path, sizeof path, "%s/claims.html", folder);
    if (!st) st = tt_claims_html(r, path);
    tt_folder_unlock(&lock);
    return st;
}

static tt_status show(const struct tt_claims_report *r)
{
    const struct tt_config *c = &r->o->c;
    struct tt_text text = {0}, json = {0};
    tt_claims_text(r, &text);
    tt_claims_json(r, &json);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_text_status(&json);
    if (!st) fputs(c->json ? json.s : text.s, stdout);
    if (!st && c->json) putchar('\n');
    if (!st && c->out[0]) st = write_folder(r, &text, &json);
    if (!st && c->out[0] && !c->json) printf("saved   %s/claims.html\n", c->out);
    tt_text_free(&text);
    tt_text_free(&json);
    return st;
}

static tt_status print_list(bool json)
{
    struct tt_text text = {0};
    tt_claims_list(json, &text);
    tt_status st = tt_text_status(&text);
    if (!st) fputs(text.s, stdout);
    if (!st && json) putchar('\n');
    tt_text_free(&text);
    return st;
}

tt_status tt_cmd_claims(const struct tt_options *o)
{
    const struct tt_claims_options *own = tt_own(o);
    if (own->list) return print_list(o->c.json);
    if (o->c.out[0]) TT_TRY(check_folder(o->c.out));
    struct tt_claims_report r;
    tt_status st = tt_claims_open(&r, o);
    if (!st) st = tt_claims_measure(&r);
    if (!st) st = show(&r);
    if (!st && r.stopped)
        st = tt_fail(TT_INTERRUPTED, "stopped by %s; %s", strsignal(r.stopped),
                     o->c.out[0] ? "what was measured until then is saved, marked as incomplete"
                                 : "nothing was saved, since there is no --out");
    tt_claims_close(&r);
    return st;
}
