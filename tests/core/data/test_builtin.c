/* The built-in language: its loss floor is exact, its samples are grammatical, and its streams depend on what they
 * should. */
#include "core/base/rng.h"
#include "core/data/builtin.h"
#include "core/data/data.h"
#include "tests/test.h"

static struct tt_builtin *language(void)
{
    struct tt_builtin *b = NULL;
    CHECK_OK(tt_builtin_open(&b));
    return b;
}

static double entropy(const struct tt_builtin *b, int64_t n)
{
    double h = -1;
    CHECK_OK(tt_builtin_entropy(b, n, &h));
    return h;
}

/* In every state the probabilities of the next words sum to 1, and they lead to existing states. */
static void automaton_is_complete(void)
{
    struct tt_builtin *b = language();
    int states = tt_builtin_states(b);
    CHECK(states > 500 && states < 5000, "%d states", states);
    for (int s = 0; s < states; s++) {
        double p[TT_BUILTIN_WORDS], sum = 0;
        int next[TT_BUILTIN_WORDS];
        tt_builtin_next(b, s, p, next);
        bool sane = true;
        for (int w = 0; w < TT_BUILTIN_WORDS; w++) {
            sum += p[w];
            sane = sane && p[w] >= 0 && (p[w] > 0) == (next[w] >= 0) && next[w] < states;
        }
        if (!sane || fabs(sum - 1) > 1e-12) CHECK(0, "state %d: probabilities add up to %.17g", s, sum);
    }
    CHECK(states > 0);
    tt_builtin_close(b);
}

static void entropy_is_in_range(void)
{
    struct tt_builtin *b = language();
    double h = entropy(b, 256);
    CHECK(h > 1.8 && h < 2.3, "%g nats", h);
    CHECK(entropy(b, 1) > h, "the start of a sentence is the least certain place");
    double far = entropy(b, 1000000), farther = entropy(b, 1 << 30);
    CHECK(fabs(far - farther) < 1e-5, "%.9f and %.9f", far, farther);
    CHECK_FAILS(tt_builtin_entropy(b, 0, &h), "at least one");
    tt_builtin_close(b);
}

/* -sum P log P over all texts of n words, by enumeration. */
static double text_entropy(const struct tt_builtin *b, int state, int n, double p_before)
{
    if (!n) return -p_before * log(p_before);
    double p[TT_BUILTIN_WORDS], sum = 0;
    int next[TT_BUILTIN_WORDS];
    tt_builtin_next(b, state, p, next);
    for (int w = 0; w < TT_BUILTIN_WORDS; w++)
        if (p[w] > 0) sum += text_entropy(b, next[w], n - 1, p_before * p[w]);
    return sum;
}

static void floor_equals_enumeration(void)
{
    struct tt_builtin *b = language();
    for (int n = 1; n <= 4; n++) {
        double by_hand = text_entropy(b, 0, n, 1) / n, h = entropy(b, n);
        CHECK(fabs(by_hand - h) < 1e-12, "%d words: %.15f by enumeration, %.15f", n, by_hand, h);
    }
    tt_builtin_close(b);
}

/* Mean and standard error of -log p per token, over samples of S tokens drawn through the data interface. */
static void floor_equals_sampling(void)
{
    enum { S = 100, SAMPLES = 4000 };
    struct tt_builtin *b = language();
    struct tt_data *d = NULL;
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = S, .seed = 3}, &d));
    double sum = 0, squares = 0;
    bool possible = true;
    for (int i = 0; i < SAMPLES; i++) {
        int32_t out[S + 1];
        int state = 0;
        double nats = 0;
        CHECK_OK(tt_data_sample(d, TT_TRAIN, (uint64_t)i, out));
        possible = possible && out[0] == TT_BUILTIN_STOP;
        for (int t = 1; t <= S && state >= 0; t++) {
            double p[TT_BUILTIN_WORDS];
            int next[TT_BUILTIN_WORDS];
            tt_builtin_next(b, state, p, next);
            possible = possible && p[out[t]] > 0;
            nats -= log(p[out[t]]) / S;
            state = next[out[t]];
        }
        sum += nats;
        squares += nats * nats;
    }
    double mean = sum / SAMPLES, error = sqrt((squares / SAMPLES - mean * mean) / SAMPLES);
    CHECK(possible);
    CHECK(error < 0.002, "standard error %g", error);
    CHECK(fabs(mean - tt_data_floor(d)) < 3.5 * error, "%.5f sampled, %.5f computed, %.5f error", mean,
          tt_data_floor(d), error);
    tt_data_close(d);
    tt_builtin_close(b);
}

/* The best that a model could reach with only the last word, or two: far above the floor, so attention is needed. */
static void context_matters(void)
{
    enum { N = 200000 };
    static int32_t t[N];
    static double one[64], two[64][64], three[64][64][64];
    struct tt_builtin *b = language();
    tt_builtin_sample(b, 1, 2, N, t);
    double h0 = 0, h1 = 0, h2 = 0;
    for (int i = 2; i < N; i++) one[t[i]]++, two[t[i - 1]][t[i]]++, three[t[i - 2]][t[i - 1]][t[i]]++;
    for (int i = 0; i < 64; i++) {
        CHECK(one[i] > N / 1000, "\"%s\" came %g times in %d", tt_builtin_words[i], one[i], N);
        CHECK(one[i] < N / 8, "\"%s\" came %g times in %d", tt_builtin_words[i], one[i], N);
        h0 -= one[i] / N * log(one[i] / N);
        for (int j = 0; j < 64; j++) {
            if (two[i][j]) h1 -= two[i][j] / N * log(two[i][j] / one[i]);
            for (int k = 0; k < 64; k++)
                if (three[i][j][k]) h2 -= three[i][j][k] / N * log(three[i][j][k] / two[i][j]);
        }
    }
    double h = entropy(b, 256);
    CHECK(h0 > 1.7 * h, "unigram %g", h0);
    CHECK(h1 > 1.15 * h, "bigram %g", h1);
    CHECK(h2 > 1.1 * h, "trigram %g", h2);
    tt_builtin_close(b);
}

static void streams_depend_on_what_they_should(void)
{
    enum { S = 64 };
    struct tt_data *d[2] = {0};
    int32_t a[S + 1], b[S + 1];
    for (int i = 0; i < 2; i++)
        CHECK_OK(
            tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = S, .seed = (uint64_t)i}, &d[i]));
    CHECK_OK(tt_data_sample(d[0], TT_TRAIN, 5, a));
    CHECK_OK(tt_data_sample(d[0], TT_TRAIN, 6, b));
    CHECK(memcmp(a, b, sizeof a), "position 5 and 6");
    CHECK_OK(tt_data_sample(d[0], TT_VAL, 5, b));
    CHECK(memcmp(a, b, sizeof a), "training and validation");
    CHECK_OK(tt_data_sample(d[1], TT_TRAIN, 5, b));
    CHECK(memcmp(a, b, sizeof a), "seed 0 and 1");
    CHECK_OK(tt_data_sample(d[0], TT_TRAIN, 5, b));
    CHECK(!memcmp(a, b, sizeof a), "asked again");
    CHECK(tt_data_floor(d[0]) == tt_data_floor(d[1]), "the language is the same for every seed");
    for (int i = 0; i < 2; i++) tt_data_close(d[i]);
}

static int word(const char *w)
{
    for (int i = 0; i < TT_BUILTIN_WORDS; i++)
        if (!strcmp(tt_builtin_words[i], w)) return i;
    return -1;
}

/* Reads words that are separated by spaces. */
static struct tt_grammar_check check(const char *text)
{
    int32_t tokens[64];
    char copy[512], *save = NULL;
    int n = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok_r(copy, " ", &save); w && n < 64; w = strtok_r(NULL, " ", &save)) {
        tokens[n] = word(w);
        CHECK(tokens[n] >= 0, "\"%s\" is no word", w);
        n++;
    }
    return tt_builtin_check(tokens, n);
}

static void accepts(const char *text, int sentences)
{
    struct tt_grammar_check c = check(text);
    CHECK(c.sentences == sentences && c.grammatical == sentences && c.first_error == -1,
          "\"%s\": %lld of %lld, error at %lld", text, (long long)c.grammatical, (long long)c.sentences,
          (long long)c.first_error);
}

static void rejects(const char *text, int64_t at)
{
    struct tt_grammar_check c = check(text);
    CHECK(c.first_error == at && c.grammatical == c.sentences - 1, "\"%s\": error at %lld", text,
          (long long)c.first_error);
}

static void knows_its_grammar(void)
{
    accepts("the dog sleeps .", 1);
    accepts(". the dog sleeps . they run", 2);
    accepts("the dogs that a cat sees sleep today .", 1);
    accepts("the dog that sees the cats that the birds follow hears itself .", 1);
    accepts("does the dog that waits see itself ? if it runs then others wait , but Rex sings .", 2);
    accepts("some wise foxes near the horse like themselves quietly .", 1);
    rejects("the dog sleep .", 2);
    rejects("the dogs that a cat sees sleeps .", 6);
    rejects("the dogs near a cat sees it .", 5);
    rejects("does the dog see themselves ?", 4);
    rejects("if the dog runs .", 4);
    rejects("the dog runs ? the dog runs .", 3);
    rejects(". .", 1);
    rejects("the dog that sees the cat that hears the bird that sings runs .", 10);
    rejects("many dog runs . it runs .", 1);

    int32_t strange[] = {0, -1, 64, 1 << 30, 0, word("it"), word("runs"), 0};
    struct tt_grammar_check c = tt_builtin_check(strange, 8);
    CHECK(c.sentences == 2 && c.grammatical == 1 && c.first_error == 1);
    c = tt_builtin_check(strange, 0);
    CHECK(c.sentences == 0 && c.first_error == -1);
}

/* All samples pass. A sample with one word changed passes only if the automaton could have produced it. */
static void check_agrees_with_the_automaton(void)
{
    enum { S = 60 };
    struct tt_builtin *b = language();
    int rejected = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        int32_t t[S + 1] = {TT_BUILTIN_STOP};
        tt_builtin_sample(b, 11, i, S, t + 1);
        struct tt_grammar_check c = tt_builtin_check(t, S + 1);
        if (c.first_error != -1 || c.grammatical != c.sentences) CHECK(0, "sample %d refused", (int)i);
        t[1 + tt_random(12, i, 0) % S] = (int32_t)(tt_random(12, i, 1) % TT_BUILTIN_WORDS);
        int64_t impossible = -1;
        for (int at = 1, state = 0; at <= S && impossible < 0; at++) {
            double p[TT_BUILTIN_WORDS];
            int next[TT_BUILTIN_WORDS];
            tt_builtin_next(b, state, p, next);
            if (p[t[at]] > 0)
                state = next[t[at]];
            else
                impossible = at;
        }
        c = tt_builtin_check(t, S + 1);
        if (c.first_error != impossible)
            CHECK(0, "sample %d: error at %d, not %d", (int)i, (int)impossible, (int)c.first_error);
        rejected += c.first_error >= 0;
    }
    CHECK(rejected > 1600, "only %d of 2000 corrupted samples rejected", rejected);
    tt_builtin_close(b);
}

static void says_who_it_is(void)
{
    struct tt_data *d = NULL;
    CHECK_FAILS(tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = 8, .vocab_size = 63}, &d),
                "64 words");
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = "builtin", .seq_len = 8}, &d));
    CHECK(tt_data_vocab(d) == 64 && tt_data_samples(d, TT_TRAIN) == 0 && tt_data_samples(d, TT_VAL) == 0);
    CHECK(tt_data_learnable(d) && strstr(tt_data_describe(d), "built-in language"));
    struct tt_text text = {0};
    int32_t tokens[] = {word("the"), word("dog"), word("sleeps"), word(","), word("but"), word("it"), word("runs"), 0};
    tt_tokenizer_decode(tt_data_tokenizer(d), tokens, 8, &text);
    CHECK(!strcmp(text.s, "the dog sleeps, but it runs."), "%s", text.s);
    tt_text_free(&text);
    tt_data_close(d);
}

int main(void)
{
    TEST(automaton_is_complete);
    TEST(entropy_is_in_range);
    TEST(floor_equals_enumeration);
    TEST(floor_equals_sampling);
    TEST(context_matters);
    TEST(streams_depend_on_what_they_should);
    TEST(knows_its_grammar);
    TEST(check_agrees_with_the_automaton);
    TEST(says_who_it_is);
    return test_end();
}
