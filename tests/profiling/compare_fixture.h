/* Comparisons of profiles made by hand. */
#ifndef TT_COMPARE_FIXTURE_H
#define TT_COMPARE_FIXTURE_H

#include "profiling/compare/compare.h"
#include "tests/profiling/by_hand.h"

static inline void save(struct tt_profile *p, const char *name)
{
    CHECK_OK(tt_make_dirs(in(name)));
    char path[220];
    snprintf(path, sizeof path, "%s/%s/profile.json", folder, name);
    CHECK_OK(tt_profile_write_json(p, path));
    tt_profile_free(p);
}

static inline tt_status compare(const char *a, const char *b, struct tt_comparison *c)
{
    char first[200], second[200];
    const char *paths[] = {first, second};
    snprintf(first, sizeof first, "%s/%s", folder, a);
    snprintf(second, sizeof second, "%s/%s", folder, b);
    return tt_compare(paths, 2, c);
}

static inline tt_status gate(const struct tt_comparison *c, const char *conditions)
{
    struct tt_text said = {0};
    tt_status st = tt_compare_gate(c, conditions, &said);
    CHECK(st || strstr(said.s, "passed"), "%s: a gate that passes says so", conditions);
    tt_text_free(&said);
    return st;
}

static inline void undecided(const struct tt_comparison *c, const char *conditions)
{
    tt_status st = gate(c, conditions);
    CHECK(st && st->code == TT_UNDECIDED, "%s: %s", conditions, st ? st->text : "passed");
    tt_status_free(st);
}

#endif
