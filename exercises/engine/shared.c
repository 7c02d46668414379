/* Finds learners of a class who handed in the same profile. A copy has the seal and the time of measurement of its
 * original, but its file is newer. */
#include <string.h>

#include "exercises/engine/parts.h"

enum { HOLDERS = 64 };

struct holder {
    const char *learner;
    const struct tt_json *run;
};

static const char *seal_of(const struct tt_json *run) { return tt_json_string(run, "seal", ""); }
static const char *since(const struct tt_json *run) { return tt_json_string(run, "written", ""); }

static bool is_true(const struct tt_json *run, const char *key)
{
    const struct tt_json *t = tt_json_get(run, key);
    return t && t->boolean;
}

static const struct tt_json *first_run(const struct tt_json *result)
{
    const struct tt_json *runs = tt_json_get(result, "runs");
    return runs ? runs->first : NULL;
}

/* Whether the run counts as the learner's own: it was taken, and is not a recorded one of the course. */
static bool is_own(const struct tt_json *run)
{
    return seal_of(run)[0] && is_true(run, "taken") && !is_true(run, "recorded");
}

static bool earlier(const struct tt_json *a, const struct tt_json *b)
{
    return since(a)[0] && since(b)[0] && strcmp(since(a), since(b)) < 0;
}

static bool listed(const struct holder *h, int n, const char *learner)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(h[i].learner, learner)) return true;
    return false;
}

/* The learners who have the profile with this seal, the oldest file first. */
static int find_holders(struct tt_json *const *results, int n, const char *seal, struct holder h[HOLDERS])
{
    int count = 0;
    for (int i = 0; i < n; i++)
        for (const struct tt_json *r = first_run(results[i]); r && count < HOLDERS; r = r->next) {
            struct holder own = {tt_class_learner(results[i]), r};
            if (!is_own(r) || strcmp(seal_of(r), seal) || listed(h, count, own.learner)) continue;
            int at = count++;
            for (; at > 0 && earlier(r, h[at - 1].run); at--) h[at] = h[at - 1];
            h[at] = own;
        }
    return count;
}

void tt_class_shares(struct tt_json *const *results, int n, int own, struct tt_text *out)
{
    struct holder h[HOLDERS];
    const char *self = tt_class_learner(results[own]);
    for (const struct tt_json *r = first_run(results[own]); r; r = r->next) {
        if (!is_own(r) || find_holders(results, n, seal_of(r), h) < 2) continue;
        const struct holder *other = strcmp(h[0].learner, self) ? &h[0] : &h[1];
        const char *when = earlier(other->run, r)   ? ", who had it first"
                           : earlier(r, other->run) ? ", who had it later"
                                                    : "";
        tt_text_printf(out, "  shares a run with %s%s", other->learner, when);
        return;
    }
}

static bool seen_before(struct tt_json *const *results, int own, const struct tt_json *run)
{
    for (int i = 0; i <= own; i++)
        for (const struct tt_json *r = first_run(results[i]); r; r = r->next) {
            if (r == run) return false;
            if (is_own(r) && !strcmp(seal_of(r), seal_of(run))) return true;
        }
    return false;
}

void tt_class_shared(struct tt_json *const *results, int n, struct tt_text *out)
{
    struct holder h[HOLDERS];
    for (int i = 0; i < n; i++)
        for (const struct tt_json *r = first_run(results[i]); r; r = r->next) {
            int count = is_own(r) && !seen_before(results, i, r) ? find_holders(results, n, seal_of(r), h) : 0;
            if (count < 2) continue;
            tt_text_printf(out, "shared: %s, seal %.8s, measured %s; its file is", tt_json_string(r, "name", ""),
                           seal_of(r), tt_json_string(r, "created", "at an unknown time"));
            for (int k = 0; k < count; k++)
                tt_text_printf(out, "%s of %s at %s", k ? "," : "",
                               since(h[k].run)[0] ? since(h[k].run) : "an unknown time", h[k].learner);
            tt_text_puts(out, "\n");
        }
}
