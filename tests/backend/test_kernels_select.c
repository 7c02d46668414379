/* Selective updates: norms of groups of weights, the choice of the largest, and AdamW on the chosen groups. */
#include <float.h>

#include "core/base/half.h"
#include "tests/backend/kernels/kernels.h"

static uint64_t draw(uint64_t index) { return tt_random(7, kt.draws, index); }

/* ---- squares ---- */

/* Cuts each run of ceil(n / parts) into spans of 1 to `longest` elements, with occasional gaps. first[p] is the first
 * span of run p. Returns the number of spans. */
static int64_t cut_spans(int64_t n, int64_t parts, int64_t longest, struct tt_update_span *spans, int32_t *first)
{
    int64_t run = (n + parts - 1) / parts, count = 0;
    for (int64_t p = 0; p < parts; p++) {
        int64_t at = p * run < n ? p * run : n, end = at + run < n ? at + run : n;
        first[p] = (int32_t)count;
        while (at < end) {
            int64_t length = 1 + (int64_t)(draw((uint64_t)count) % (uint64_t)longest);
            if (length > end - at) length = end - at;
            spans[count] = (struct tt_update_span){at, (int32_t)length, (int32_t)count % 5};
            at += length + (count % 3 == 1 ? 2 : 0);
            count++;
        }
    }
    first[parts] = (int32_t)count;
    kt.draws++;
    return count;
}

static void check_group_squares(int64_t n, int64_t parts, int64_t longest, int64_t gap)
{
    new_case("%" PRId64 " in %" PRId64 " parts, spans up to %" PRId64 ", gap %" PRId64, n, parts, longest, gap);
    struct tt_update_span *cut = must(malloc((size_t)n * sizeof *cut));
    int32_t *begins = must(malloc((size_t)(parts + 1) * sizeof *begins));
    int64_t count = cut_spans(n, parts, longest, cut, begins);
    struct tensor *x = input("x", TT_F32, 1, n, gap, 1), *plain = output("plain", TT_F32, 1, parts, 0);
    struct tensor *partial = output("partial", TT_F32, 1, parts, 0), *square = output("square", TT_F32, 1, count, 0);
    struct tensor *spans = structure("spans", cut, (size_t)count * sizeof *cut);
    struct tensor *first = structure("first", begins, (size_t)(parts + 1) * sizeof *begins);
    double *want = doubles(count);
    for (int64_t s = 0; s < count; s++)
        for (int64_t i = cut[s].begin; i < cut[s].begin + cut[s].count; i++) want[s] += x->v[i] * x->v[i];
    LAUNCH(sum_squares, .x = (float *)x->data, .partial = (float *)plain->data, .n = n, .parts = parts);
    LAUNCH(group_squares, .x = (float *)x->data, .spans = (struct tt_update_span *)spans->data,
           .first = (int32_t *)first->data, .partial = (float *)partial->data, .square = (float *)square->data, .n = n,
           .parts = parts, .count = count);
    exactly(partial, plain->v);
    close_to(square, want, 2e-6, 0);
    LAUNCH(span_squares, .x = x->data, .spans = (struct tt_update_span *)spans->data, .square = (float *)square->data,
           .n = n, .count = count, .expected = n);
    close_to(square, want, 2e-6, 0);
    free(cut);
    free(begins);
}

static void group_squares(int64_t n)
{
    for EACH (parts, 1, 3, 64) {
        check_group_squares(n, *parts, 100000, 1);
        check_group_squares(n, *parts, 700, 0);
        if (n < 5000) check_group_squares(n, *parts, 3, *parts % 2);
    }
}

static void squares_of_groups(void) { for_lengths(group_squares); }

/* Weights of every type. */
static void squares_of_weights(void)
{
    for EACH (n, 1, 17, 1000, 20011) {
        new_case("%" PRId64, *n);
        struct tt_update_span cut[2] = {{0, (int32_t)(*n / 3), 0}, {*n / 3, (int32_t)(*n - *n / 3), 1}};
        struct tensor *x = input("x", (int)kt.dtype, 1, *n, 1, 1), *square = output("square", TT_F32, 1, 2, 0);
        struct tensor *spans = structure("spans", cut, sizeof cut);
        double *want = doubles(2);
        for (int64_t i = 0; i < *n; i++) want[i >= *n / 3] += x->v[i] * x->v[i];
        LAUNCH(span_squares, .x = x->data, .spans = (struct tt_update_span *)spans->data,
               .square = (float *)square->data, .n = *n, .count = 2, .expected = *n);
        close_to(square, want, 2e-6, 0);
    }
}

/* Between two choices: only spans of the groups that the previous update changed, here the even ones. */
static void squares_of_chosen(void)
{
    enum { SPANS = 5, GROUPS = 4 };
    for EACH (n, 5, 64, 20011) {
        new_case("%" PRId64, *n);
        struct tt_update_span cut[SPANS];
        struct tt_update_group seen[GROUPS + 1] = {{3, 7}, {9, 6}, {1, 7}, {0, 0}, {2, 5}};
        struct tt_state state = {.step = 11, .skipped = 3};
        struct tensor *x = input("x", TT_F32, 1, *n, 1, 1), *square = output("square", TT_F32, 1, SPANS, 0);
        double *want = doubles(SPANS);
        for (int s = 0; s < SPANS; s++) {
            int64_t begin = s * *n / SPANS, end = (s + 1) * *n / SPANS;
            cut[s] = (struct tt_update_span){begin, (int32_t)(end - begin), s % GROUPS};
            for (int64_t i = begin; i < end; i++) want[s] += cut[s].group % 2 ? 0 : x->v[i] * x->v[i];
        }
        struct tensor *spans = structure("spans", cut, sizeof cut), *group = structure("group", seen, sizeof seen);
        struct tensor *now = structure("state", &state, sizeof state);
        LAUNCH(span_squares, .x = x->data, .spans = (struct tt_update_span *)spans->data,
               .state = (struct tt_state *)now->data, .group = (struct tt_update_group *)group->data,
               .square = (float *)square->data, .n = *n, .count = SPANS, .groups = GROUPS, .expected = *n / 2);
        close_to(square, want, 2e-6, 0);
    }
}

static void check_group_sums(int64_t groups, int64_t count)
{
    new_case("%" PRId64 " spans of %" PRId64 " groups", count, groups);
    struct tensor *square = input("square", TT_F32, 1, count, 0, 1), *sum = output("sum", TT_F32, 1, groups, 0);
    struct tensor *order = integers("order", 1, count, 1), *begin = integers("begin", 1, groups + 1, 1);
    double *want = doubles(groups);
    for (int64_t i = 0; i < count; i++) square->v[i] = fabs(square->v[i]);
    encode(square);
    for (int64_t g = 0, at = 0; g < groups; g++) { /* span i is of group i % groups; group 1 of three has no spans */
        begin->v[g] = (double)at;
        for (int64_t i = g; i < count && !(groups == 3 && g == 1); i += groups) {
            order->v[at++] = (double)i;
            want[g] += square->v[i];
        }
        begin->v[g + 1] = (double)at;
    }
    encode(order);
    encode(begin);
    LAUNCH(group_sums, .square = (float *)square->data, .order = (int32_t *)order->data,
           .begin = (int32_t *)begin->data, .sum = (float *)sum->data, .groups = groups, .count = count);
    close_to(sum, want, 2e-6, 0);
}

static void sums_of_groups(void)
{
    for EACH (groups, 1, 3, 9, 100)
        for EACH (count, 1, 70, 1000, 5001) check_group_sums(*groups, *count);
}

/* ---- the choice ---- */

static const float beta1 = 0.9f, beta2 = 0.95f;

enum { ENTRIES = 3 };

struct choice {
    int64_t groups, chosen;
    enum tt_update_by by;
    bool decays;
    struct tensor *state, *square, *weight_square, *size, *group, *steps, *choices, *keys;
    uint8_t *want; /* the groups that the reference chooses */
};

/* Squares with few different values, so that many are equal; some are 0 or infinite. */
static struct choice make_choice(int64_t groups, int64_t chosen, enum tt_update_by by, bool decays)
{
    struct choice c = {.groups = groups, .chosen = chosen, .by = by, .decays = decays};
    size_t words = TT_CHOICE_WORDS((size_t)groups);
    struct tt_update_group *seen = must(calloc((size_t)groups + 1, sizeof *seen));
    uint32_t *bits = must(malloc(ENTRIES * words * sizeof *bits));
    memset(bits, 0xaa, ENTRIES * words * sizeof *bits);
    c.square = integers("square", 1, groups, 7);
    c.weight_square = integers("weight_square", 1, groups, 3);
    c.size = integers("size", 1, groups, 4);
    c.square->type = c.weight_square->type = c.size->type = TT_F32;
    for (int64_t g = 0; g < groups; g++) {
        if (g % 5 == 3) c.square->v[g] = 0.37 * (double)g;
        if (g % 97 == 50) c.square->v[g] = (double)INFINITY;
        c.size->v[g]++;
    }
    encode(c.square);
    encode(c.weight_square);
    encode(c.size);
    c.group = structure("group", seen, ((size_t)groups + 1) * sizeof *seen);
    c.steps = new_tensor("steps", BYTES, 1, groups * (int64_t)sizeof(struct tt_update_step), 0);
    c.choices = structure("choices", bits, ENTRIES * words * sizeof *bits);
    c.keys = new_tensor("keys", BYTES, 1, groups * 4, 0);
    c.want = must(calloc((size_t)groups, 1));
    free(seen);
    free(bits);
    return c;
}

static float key_of(const struct choice *c, int64_t g, int64_t update)
{
    if (c->by == TT_BY_RANDOM) {
        uint32_t bits = (uint32_t)(tt_random(99, (uint64_t)update, (uint64_t)g) >> 33);
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    double by = c->by == TT_BY_RMS ? c->size->v[g] : 1;
    if (c->by == TT_BY_RELATIVE) by = c->weight_square->v[g] > 0 ? c->weight_square->v[g] : (double)FLT_MIN;
    return (float)(c->square->v[g] / by);
}

static struct {
    int64_t g;
    uint32_t key;
} ranked[8192];

static int largest_first(const void *a, const void *b)
{
    const struct {
        int64_t g;
        uint32_t key;
    } *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return x->g < y->g ? -1 : 1;
}

static void choose(struct choice *c, int64_t update)
{
    for (int64_t g = 0; g < c->groups; g++) {
        float key = key_of(c, g, update);
        ranked[g].g = g;
        memcpy(&ranked[g].key, &key, sizeof key);
    }
    qsort(ranked, (size_t)c->groups, sizeof *ranked, largest_first);
    memset(c->want, 0, (size_t)c->groups);
    for (int64_t i = 0; i < c->chosen; i++) c->want[ranked[i].g] = 1;
}

static struct tt_update_group group_at(const struct choice *c, int64_t g)
{
    return ((const struct tt_update_group *)(const void *)c->group->data)[g];
}

static void launch_choice(struct choice *c, const struct tt_state *s, bool anew)
{
    c->state = structure("state", s, sizeof *s);
    LAUNCH(choose_groups, .state = (struct tt_state *)c->state->data, .square = (float *)c->square->data,
           .weight_square = (float *)c->weight_square->data, .size = (float *)c->size->data,
           .group = (struct tt_update_group *)c->group->data, .steps = (struct tt_update_step *)c->steps->data,
           .choices = (uint32_t *)c->choices->data, .keys = (uint32_t *)c->keys->data, .groups = c->groups,
           .chosen = c->chosen, .entries = ENTRIES, .seed = 99, .by = c->by, .anew = anew, .decays = c->decays,
           .beta1 = beta1, .beta2 = beta2);
}

static void check_step(const struct choice *c, int64_t g, bool chosen, struct tt_update_group was, int64_t update)
{
    const struct tt_update_step s = ((const struct tt_update_step *)(const void *)c->steps->data)[g];
    struct tt_update_group now = group_at(c, g);
    if (!chosen) {
        CHECK(!s.chosen && !memcmp(&now, &was, sizeof now), "[%s] update %" PRId64 ": group %" PRId64, kt.label, update,
              g);
        return;
    }
    double t = (double)(c->decays ? update : was.updates + 1), gap = c->decays ? (double)(update - was.last - 1) : 0;
    CHECK(s.chosen && now.updates == was.updates + 1 && now.last == update &&
          s.bias1 == (float)(1 - pow((double)beta1, t)) && s.bias2 == (float)(1 - pow((double)beta2, t)) &&
          s.keep1 == (float)pow((double)beta1, gap) && s.keep2 == (float)pow((double)beta2, gap),
          "[%s] update %" PRId64 ", group %" PRId64 ": chosen %d, %" PRId64 " updates, bias %g %g, keep %g %g",
          kt.label, update, g, s.chosen, now.updates, s.bias1, s.bias2, s.keep1, s.keep2);
}

/* Several steps in a row; the third changes nothing. */
static void check_choices(int64_t groups, int64_t chosen, int64_t every, enum tt_update_by by, bool decays)
{
    new_case("%" PRId64 " of %" PRId64 " groups, every %" PRId64 ", by %d, decays %d", chosen, groups, every, by,
             decays);
    struct choice c = make_choice(groups, chosen, by, decays);
    struct tt_update_group *was = must(malloc((size_t)(groups + 1) * sizeof *was));
    int64_t words = TT_CHOICE_WORDS(groups), skipped = 0, since = 0;
    for (int64_t step = 1; step <= 5; step++) {
        bool apply = step != 3;
        skipped += !apply;
        int64_t update = step - skipped;
        memcpy(was, c.group->data, (size_t)(groups + 1) * sizeof *was);
        for (int64_t g = step; g < groups; g += 3) c.square->v[g] = (double)((g * step) % 11);
        encode(c.square);
        struct tt_state s = {.step = step, .skipped = skipped, .apply = apply};
        bool anew = since == 0 || step - since >= every;
        launch_choice(&c, &s, anew);
        if (apply && anew) choose(&c, update), since = step;
        const uint32_t *bits = (const uint32_t *)(const void *)c.choices->data + (step - 1) % ENTRIES * words;
        int64_t wrong = 0, set = 0;
        for (int64_t g = 0; g < words * 32; g++) {
            bool got = bits[g / 32] >> g % 32 & 1;
            set += got;
            wrong += got != (apply && g < groups && c.want[g]);
        }
        CHECK(!wrong && set == (apply ? chosen : 0), "[%s] step %" PRId64 ": %" PRId64 " wrong, %" PRId64 " chosen",
              kt.label, step, wrong, set);
        for (int64_t g = 0; g < groups && !wrong; g++) check_step(&c, g, apply && c.want[g], was[g], update);
        CHECK(group_at(&c, groups).last == since, "[%s] step %" PRId64 ": the choice is of step %" PRId64, kt.label,
              step, group_at(&c, groups).last);
        kt.tensor_count--; /* frees the state of this step */
        free(kt.tensors[kt.tensor_count].image);
    }
    free(was);
    free(c.want);
}

static void chooses_the_largest(void)
{
    for EACH (groups, 1, 2, 33, 255, 1025, 3001) {
        int64_t n = *groups;
        check_choices(n, n, 1, TT_BY_NORM, true);
        check_choices(n, (n + 9) / 10, 1, TT_BY_NORM, false);
        check_choices(n, 1, 1, TT_BY_RMS, true);
        check_choices(n, n > 1 ? n - 1 : 1, 1, TT_BY_RELATIVE, false);
        check_choices(n, (n + 1) / 2, 2, TT_BY_NORM, true);
        check_choices(n, (n + 2) / 3, 3, TT_BY_RANDOM, false);
    }
}

/* If all are equal, the smallest indices are chosen. */
static void equal_groups_go_by_index(void)
{
    for EACH (groups, 40, 2000) {
        new_case("%" PRId64 " equal groups", *groups);
        struct choice c = make_choice(*groups, *groups / 3, TT_BY_NORM, false);
        for (int64_t g = 0; g < *groups; g++) c.square->v[g] = 0;
        encode(c.square);
        launch_choice(&c, &(struct tt_state){.step = 1, .apply = 1}, true);
        const struct tt_update_step *steps = (const struct tt_update_step *)(const void *)c.steps->data;
        for (int64_t g = 0; g < *groups; g++)
            CHECK(steps[g].chosen == (g < *groups / 3), "[%s] group %" PRId64 " is %d", kt.label, g, steps[g].chosen);
        free(c.want);
    }
}

/* ---- AdamW on the chosen groups ---- */

static const float adam_eps = 1e-3f, decay = 0.1f;

struct arena {
    int64_t n, groups, tiles;
    struct tensor *w, *m, *v, *grad, *copy, *low, *state, *steps, *spans;
};

/* Consecutive groups of `length` elements, in tiles of at most `tile`. */
static struct arena make_arena(int64_t n, int64_t length, int64_t tile, int64_t gap)
{
    struct arena a = {.n = n, .groups = (n + length - 1) / length, .w = input("w", TT_F32, 1, n, gap, 0.1),
                      .m = input("m", TT_F32, 1, n, gap, 0.01), .v = input("v", TT_F32, 1, n, gap, 0.01),
                      .grad = input("grad", TT_F32, 1, n, gap, 0.1)};
    for (int64_t i = 0; i < n; i++) a.v->v[i] = 1e-3 + fabs(a.v->v[i]);
    encode(a.v);
    struct tt_update_span *spans = must(malloc((size_t)n * sizeof *spans));
    for (int64_t at = 0; at < n;) {
        int64_t g = at / length, end = (g + 1) * length < n ? (g + 1) * length : n;
        int64_t count = end - at < tile ? end - at : tile;
        spans[a.tiles++] = (struct tt_update_span){at, (int32_t)count, (int32_t)g};
        at += count;
    }
    a.spans = structure("tiles", spans, (size_t)a.tiles * sizeof *spans);
    free(spans);
    struct tt_state s = {.step = 5, .apply = 1, .lr = 1e-2f, .clip = 0.6f, .loss_scale = 1,
                         .bias1 = (float)(1 - pow((double)beta1, 5)), .bias2 = (float)(1 - pow((double)beta2, 5))};
    a.state = structure("state", &s, sizeof s);
    return a;
}

static struct tt_state *state_in(const struct arena *a) { return (struct tt_state *)a->state->data; }

/* Chooses every `stride`-th group; with `late`, as if it had been left out for a while. */
static void set_steps(struct arena *a, int64_t stride, bool late)
{
    struct tt_update_step *steps = must(calloc((size_t)a->groups, sizeof *steps));
    for (int64_t g = 0; g < a->groups; g++) {
        struct tt_state *s = state_in(a);
        steps[g] = (struct tt_update_step){g % stride == 0, s->bias1, s->bias2, 1, 1};
        if (late) steps[g].bias1 *= 0.5f, steps[g].bias2 *= 0.75f, steps[g].keep1 = 0.7f, steps[g].keep2 = 0.9f;
    }
    a->steps = structure("steps", steps, (size_t)a->groups * sizeof *steps);
    free(steps);
}

static enum tt_dtype moments; /* AdamW's type of moments in the running test */

#define ADAM_ARGS(a, end)                                                                          \
    {.dtype = kt.dtype, .state = state_in(a), .w = data_or_null((a)->w), .m = (a)->m->data,        \
     .v = (a)->v->data, .moments = moments, .first = 77, .grad = (float *)(a)->grad->data,         \
     .copy = data_or_null((a)->copy), .low = data_or_null((a)->low), .n = (a)->n, .decay_end = end, \
     .beta1 = beta1, .beta2 = beta2, .eps = adam_eps, .decay = decay}

static void launch_chosen(const struct arena *a, int64_t decay_end)
{
    LAUNCH(adamw_chosen, .all = ADAM_ARGS(a, decay_end), .tiles = (struct tt_update_span *)a->spans->data,
           .steps = (struct tt_update_step *)a->steps->data, .count = a->tiles, .groups = a->groups, .expected = a->n);
}

/* Compares with double precision; groups that are not chosen keep their bits. */
static void check_chosen(int64_t n, int64_t length, int64_t stride, bool late, int64_t gap)
{
    new_case("%" PRId64 " in groups of %" PRId64 ", every %" PRId64 ", late %d, gap %" PRId64, n, length, stride, late,
             gap);
    struct arena a = make_arena(n, length, 2050, gap);
    set_steps(&a, stride, late);
    double *w = copy_doubles(a.w->v, n), *m = copy_doubles(a.m->v, n), *v = copy_doubles(a.v->v, n);
    const struct tt_state s = *state_in(&a);
    const struct tt_update_step step = ((const struct tt_update_step *)(const void *)a.steps->data)[0];
    for (int64_t i = 0; i < n; i++) {
        if (i / length % stride) continue;
        double g = s.clip * a.grad->v[i];
        m[i] = beta1 * step.keep1 * m[i] + (1 - (double)beta1) * g;
        v[i] = beta2 * step.keep2 * v[i] + (1 - (double)beta2) * g * g;
        w[i] -= s.lr * (m[i] / step.bias1 / (sqrt(v[i] / step.bias2) + adam_eps) + (i < n / 2 ? decay * w[i] : 0));
    }
    launch_chosen(&a, n / 2);
    for (int64_t i = 0; i < n; i++)
        if (i / length % stride)
            CHECK(a.w->v[i] == w[i] && a.m->v[i] == m[i] && a.v->v[i] == v[i], "[%s] %" PRId64 " was changed", kt.label,
                  i);
    close_to(a.m, m, 2e-6, 1e-8);
    close_to(a.v, v, 2e-6, 1e-9);
    close_to(a.w, w, 2e-6, 1e-7);
}

static void changes_the_chosen(void)
{
    for EACH (n, 1, 65, 1000, 4099, 9001)
        for EACH (length, 1, 63, 3001, 100000) {
            if (*n / *length > 1000) continue;
            check_chosen(*n, *length, 1, true, 0);
            check_chosen(*n, *length, 2, false, 1);
            check_chosen(*n, *length, 3, true, *length % 2);
        }
}

/* Choosing all groups in every update equals adamw to the bit, in everything that it writes. */
static void check_all_chosen(int64_t n, int64_t length, int64_t gap, bool halves)
{
    new_case("all of %" PRId64 " in groups of %" PRId64 ", gap %" PRId64 ", halves %d", n, length, gap, halves);
    struct arena a = make_arena(n, length, TT_UPDATE_TILE, gap), b = a;
    set_steps(&a, 1, false);
    a.m = given("m", (int)moments, 1, n, gap, a.m->v);
    a.v = given("v", (int)moments, 1, n, gap, a.v->v);
    b.m = given("m of all", (int)moments, 1, n, gap, a.m->v);
    b.v = given("v of all", (int)moments, 1, n, gap, a.v->v);
    b.w = given("w of all", TT_F32, 1, n, gap, a.w->v);
    a.copy = new_tensor("copy", (int)kt.dtype, 1, n, gap);
    b.copy = new_tensor("copy of all", (int)kt.dtype, 1, n, gap);
    if (halves) {
        uint16_t *parts = must(malloc(2 * (size_t)n * sizeof *parts));
        a.low = new_tensor("low", TT_F16, 1, n, gap);
        b.low = new_tensor("low of all", TT_F16, 1, n, gap);
        tt_split_halves((float *)a.w->data, parts, parts + n, n);
        struct arena *both[] = {&a, &b};
        for (int i = 0; i < 2; i++) {
            memcpy(both[i]->copy->data, parts, (size_t)n * 2);
            memcpy(both[i]->low->data, parts + n, (size_t)n * 2);
            both[i]->w = NULL;
        }
        free(parts);
    }
    for (int step = 0; step < 3; step++) {
        launch_chosen(&a, n / 3);
        launch(TT_K_adamw, &(struct tt_adamw_args)ADAM_ARGS(&b, n / 3));
    }
    exactly(a.m, b.m->v);
    exactly(a.v, b.v->v);
    if (a.w) exactly(a.w, b.w->v);
    CHECK(!memcmp(a.copy->data, b.copy->data, (size_t)n * a.copy->element), "[%s] other copies", kt.label);
    if (halves) CHECK(!memcmp(a.low->data, b.low->data, (size_t)n * 2), "[%s] other lower halves", kt.label);
}

static void all_chosen_is_adamw(void)
{
    for EACH (n, 1, 65, 4099, 20011)
        for EACH (length, 129, 100000)
            for EACH (gap, 0, 1) check_all_chosen(*n, *length, *gap, false);
}

static void all_chosen_with_moments_in_bf16(void)
{
    moments = TT_BF16;
    all_chosen_is_adamw();
    moments = TT_F32;
}

static void all_chosen_in_halves(void)
{
    if (!kt.has[TT_BF16]) SKIP("the upper halves are bf16, which this device does not compute in");
    kt.dtype = TT_BF16;
    for EACH (n, 65, 4099, 20011)
        for EACH (gap, 0, 1) check_all_chosen(*n, 129, *gap, true);
    kt.dtype = TT_F32;
}

/* A skipped step changes nothing, whatever its gradients are. */
static void skips(void)
{
    new_case("apply 0");
    struct arena a = make_arena(1000, 100, 64, 0);
    set_steps(&a, 1, true);
    state_in(&a)->apply = 0;
    for (int64_t i = 0; i < a.n; i += 3) a.grad->v[i] = i % 2 ? (double)NAN : (double)INFINITY;
    encode(a.grad);
    double *w = copy_doubles(a.w->v, a.n), *m = copy_doubles(a.m->v, a.n), *v = copy_doubles(a.v->v, a.n);
    launch_chosen(&a, 500);
    exactly(a.w, w);
    exactly(a.m, m);
    exactly(a.v, v);
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(squares_of_groups);
    TEST_TYPES(squares_of_weights);
    TEST(squares_of_chosen);
    TEST(sums_of_groups);
    TEST(chooses_the_largest);
    TEST(equal_groups_go_by_index);
    TEST(changes_the_chosen);
    TEST_TYPES(all_chosen_is_adamw);
    TEST(all_chosen_in_halves);
    TEST(all_chosen_with_moments_in_bf16);
    TEST(skips);
    END_KERNEL_TESTS(COVER_SELECT);
}
