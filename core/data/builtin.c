/* The built-in language: its words, its grammar, and the check of sentences against it. */
#include "core/data/builtin.h"

#include "core/data/data.h"

/* ---- the words ----
 * The words of a class are consecutive tokens, numbered in this order. Token 0 is the full stop; every sample starts
 * with it. No word that can follow "a" begins with a vowel. */
#define CLASSES(X)                                                                                                     \
    X(STOP, ".")                                                                                                       \
    X(ASK, "?")                                                                                                        \
    X(COMMA, ",")                                                                                                      \
    X(IF, "if")                                                                                                        \
    X(THEN, "then")                                                                                                    \
    X(AND, "and", "but")                                                                                               \
    X(DOES, "does")                                                                                                    \
    X(DO, "do")                                                                                                        \
    X(A, "a", "every", "this")                                                                                         \
    X(SOME, "some", "many", "these")                                                                                   \
    X(THE, "the", "my")                                                                                                \
    X(IT, "it", "Rex")                                                                                                 \
    X(THEY, "they", "others")                                                                                          \
    X(ITSELF, "itself")                                                                                                \
    X(THEMSELVES, "themselves")                                                                                        \
    X(BIG, "big", "small", "young", "black", "wise")                                                                   \
    X(DOG, "dog", "cat", "bird", "horse", "fox", "rabbit")                                                             \
    X(DOGS, "dogs", "cats", "birds", "horses", "foxes", "rabbits")                                                     \
    X(SLEEPS, "sleeps", "runs", "waits", "sings")                                                                      \
    X(SLEEP, "sleep", "run", "wait", "sing")                                                                           \
    X(SEES, "sees", "likes", "follows", "hears")                                                                       \
    X(SEE, "see", "like", "follow", "hear")                                                                            \
    X(THAT, "that")                                                                                                    \
    X(NEAR, "near", "behind", "with")                                                                                  \
    X(TODAY, "today", "often", "here", "quietly")

/* clang-format off */
enum class {
#define X(name, ...) name,
    CLASSES(X)
#undef X
    NO_WORD,
};

#define COUNT(...) (sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *))

enum { /* the first and last word of each class */
#define X(name, ...) FIRST_##name, LAST_##name = FIRST_##name + COUNT(__VA_ARGS__) - 1,
    CLASSES(X)
#undef X
    WORD_COUNT,
};
/* clang-format on */
_Static_assert((int)WORD_COUNT == (int)TT_BUILTIN_WORDS, "count the words");
_Static_assert((int)FIRST_STOP == (int)TT_BUILTIN_STOP, "a sample begins after token 0");

static const struct {
    int first, count;
} classes[] = {
#define X(name, ...) {FIRST_##name, COUNT(__VA_ARGS__)},
    CLASSES(X)
#undef X
};

const char *const tt_builtin_words[TT_BUILTIN_WORDS] = {
#define X(name, ...) __VA_ARGS__,
    CLASSES(X)
#undef X
};

/* ---- the grammar ----
 * A rule replaces a pending symbol by a word of a class and more symbols. Its probability is its weight over the total
 * weight of the rules of that symbol. A NO_WORD rule only replaces symbols. No two continuations of a state begin with
 * the same word, so the words so far determine the stack of pending symbols; this makes the entropy computable.
 *
 * A noun can have a modifier, whose nouns can have modifiers again. INNER rules go one level deeper, at most DEEPEST
 * levels; OUTER rules apply only at level 0. (An adverb inside a modifier would be ambiguous: it could also belong to
 * the outer clause.) ONE and MANY are the grammatical number, which a subject passes to its verb across its modifiers;
 * after "the" and "my" the noun decides it. */
/* clang-format off */
enum symbol {
    NOTHING,
    SENTENCE, CONDITION, FULL_STOP, CONTINUATION, QUESTION_MARK,
    CLAUSE, SUBJECT, SUBJECT_NOUN,         /* a clause that has yet to name its subject */
    PHRASE_ONE, NOMINAL_ONE, NOUN_ONE,     /* a noun phrase, after its determiner, after its adjective */
    PHRASE_MANY, NOMINAL_MANY, NOUN_MANY,
    OBJECT, NOMINAL, NOUN,                 /* the same, of either number */
    MODIFIER_ONE, MODIFIER_MANY,           /* what may follow a noun */
    RELATIVE_ONE, RELATIVE_MANY,           /* after "that" */
    GAPPED, GAPPED_SUBJECT, GAPPED_NOUN,   /* "that [the cats see]": a clause whose object is the noun before */
    GAP_VERB_ONE, GAP_VERB_MANY,
    VERB_ONE, VERB_MANY, VERB_BASE_ONE,    /* a verb and what belongs to it; BASE_ONE after "does" */
    OBJECT_OF_ONE, OBJECT_OF_MANY,         /* may be the subject itself */
    ADVERB,
    SYMBOLS
};

enum { ANYWHERE, OUTERMOST, ONE_DEEPER };
enum { DEEPEST = 2, MOST_THEN = 3 };

struct rule {
    uint8_t symbol, weight, class, then[MOST_THEN], where;
};

#define RULE(symbol, weight, class, ...) {symbol, weight, class, {__VA_ARGS__}, ANYWHERE}
#define OUTER(symbol, weight, class, ...) {symbol, weight, class, {__VA_ARGS__}, OUTERMOST}
#define INNER(symbol, weight, class, ...) {symbol, weight, class, {__VA_ARGS__}, ONE_DEEPER}
/* clang-format on */

/* symbol, weight, class of the word, symbols that follow it */
static const struct rule rules[] = {
    RULE(SENTENCE, 70, NO_WORD, CLAUSE, FULL_STOP),
    RULE(SENTENCE, 12, IF, CLAUSE, CONDITION),
    RULE(SENTENCE, 10, DOES, PHRASE_ONE, VERB_BASE_ONE, QUESTION_MARK),
    RULE(SENTENCE, 8, DO, PHRASE_MANY, VERB_MANY, QUESTION_MARK),
    RULE(CONDITION, 1, THEN, CLAUSE, FULL_STOP),
    RULE(FULL_STOP, 85, STOP, NOTHING),
    RULE(FULL_STOP, 15, COMMA, CONTINUATION),
    RULE(CONTINUATION, 1, AND, CLAUSE, FULL_STOP),
    RULE(QUESTION_MARK, 1, ASK, NOTHING),

    RULE(CLAUSE, 28, A, NOMINAL_ONE, VERB_ONE),
    RULE(CLAUSE, 20, SOME, NOMINAL_MANY, VERB_MANY),
    RULE(CLAUSE, 32, THE, SUBJECT),
    RULE(CLAUSE, 11, IT, VERB_ONE),
    RULE(CLAUSE, 9, THEY, VERB_MANY),
    RULE(SUBJECT, 30, BIG, SUBJECT_NOUN),
    RULE(SUBJECT, 70, NO_WORD, SUBJECT_NOUN),
    RULE(SUBJECT_NOUN, 55, DOG, MODIFIER_ONE, VERB_ONE),
    RULE(SUBJECT_NOUN, 45, DOGS, MODIFIER_MANY, VERB_MANY),

    RULE(PHRASE_ONE, 40, A, NOMINAL_ONE),
    RULE(PHRASE_ONE, 40, THE, NOMINAL_ONE),
    RULE(PHRASE_ONE, 20, IT, NOTHING),
    RULE(NOMINAL_ONE, 30, BIG, NOUN_ONE),
    RULE(NOMINAL_ONE, 70, NO_WORD, NOUN_ONE),
    RULE(NOUN_ONE, 1, DOG, MODIFIER_ONE),

    RULE(PHRASE_MANY, 40, SOME, NOMINAL_MANY),
    RULE(PHRASE_MANY, 40, THE, NOMINAL_MANY),
    RULE(PHRASE_MANY, 20, THEY, NOTHING),
    RULE(NOMINAL_MANY, 30, BIG, NOUN_MANY),
    RULE(NOMINAL_MANY, 70, NO_WORD, NOUN_MANY),
    RULE(NOUN_MANY, 1, DOGS, MODIFIER_MANY),

    RULE(OBJECT, 35, A, NOMINAL_ONE),
    RULE(OBJECT, 25, SOME, NOMINAL_MANY),
    RULE(OBJECT, 40, THE, NOMINAL),
    RULE(NOMINAL, 30, BIG, NOUN),
    RULE(NOMINAL, 70, NO_WORD, NOUN),
    RULE(NOUN, 55, DOG, MODIFIER_ONE),
    RULE(NOUN, 45, DOGS, MODIFIER_MANY),

    RULE(MODIFIER_ONE, 60, NO_WORD, NOTHING),
    INNER(MODIFIER_ONE, 26, THAT, RELATIVE_ONE),
    INNER(MODIFIER_ONE, 14, NEAR, OBJECT),
    RULE(MODIFIER_MANY, 60, NO_WORD, NOTHING),
    INNER(MODIFIER_MANY, 26, THAT, RELATIVE_MANY),
    INNER(MODIFIER_MANY, 14, NEAR, OBJECT),

    RULE(RELATIVE_ONE, 60, NO_WORD, VERB_ONE),
    RULE(RELATIVE_ONE, 40, NO_WORD, GAPPED),
    RULE(RELATIVE_MANY, 60, NO_WORD, VERB_MANY),
    RULE(RELATIVE_MANY, 40, NO_WORD, GAPPED),
    RULE(GAPPED, 28, A, NOMINAL_ONE, GAP_VERB_ONE),
    RULE(GAPPED, 20, SOME, NOMINAL_MANY, GAP_VERB_MANY),
    RULE(GAPPED, 32, THE, GAPPED_SUBJECT),
    RULE(GAPPED, 11, IT, GAP_VERB_ONE),
    RULE(GAPPED, 9, THEY, GAP_VERB_MANY),
    RULE(GAPPED_SUBJECT, 30, BIG, GAPPED_NOUN),
    RULE(GAPPED_SUBJECT, 70, NO_WORD, GAPPED_NOUN),
    RULE(GAPPED_NOUN, 55, DOG, MODIFIER_ONE, GAP_VERB_ONE),
    RULE(GAPPED_NOUN, 45, DOGS, MODIFIER_MANY, GAP_VERB_MANY),
    RULE(GAP_VERB_ONE, 1, SEES, NOTHING),
    RULE(GAP_VERB_MANY, 1, SEE, NOTHING),

    RULE(VERB_ONE, 45, SLEEPS, ADVERB),
    RULE(VERB_ONE, 55, SEES, OBJECT_OF_ONE, ADVERB),
    RULE(VERB_MANY, 45, SLEEP, ADVERB),
    RULE(VERB_MANY, 55, SEE, OBJECT_OF_MANY, ADVERB),
    RULE(VERB_BASE_ONE, 45, SLEEP, ADVERB),
    RULE(VERB_BASE_ONE, 55, SEE, OBJECT_OF_ONE, ADVERB),
    RULE(OBJECT_OF_ONE, 86, NO_WORD, OBJECT),
    RULE(OBJECT_OF_ONE, 14, ITSELF, NOTHING),
    RULE(OBJECT_OF_MANY, 86, NO_WORD, OBJECT),
    RULE(OBJECT_OF_MANY, 14, THEMSELVES, NOTHING),
    RULE(ADVERB, 65, NO_WORD, NOTHING),
    OUTER(ADVERB, 35, TODAY, NOTHING),
};

enum { RULE_COUNT = sizeof rules / sizeof *rules };
_Static_assert((int)RULE_COUNT <= (int)TT_BUILTIN_RULES, "more rules than the automaton has room for");

/* ---- the continuations of a stack of pending symbols ---- */
static void push(struct tt_builtin_stack *s, int symbol, int level)
{
    if (s->n < TT_BUILTIN_PENDING) s->pending[s->n++] = (uint8_t)(symbol + SYMBOLS * level);
}

static bool holds(const struct rule *r, int symbol, int level)
{
    return r->symbol == symbol && !(r->where == OUTERMOST && level > 0) &&
           !(r->where == ONE_DEEPER && level == DEEPEST);
}

static int total_weight(int symbol, int level)
{
    int total = 0;
    for (int i = 0; i < RULE_COUNT; i++)
        if (holds(&rules[i], symbol, level)) total += rules[i].weight;
    return total;
}

static int add_ways(struct tt_builtin_stack s, double p, struct tt_builtin_way *ways, int n)
{
    if (!s.n) push(&s, SENTENCE, 0);
    int top = s.pending[--s.n], symbol = top % SYMBOLS, level = top / SYMBOLS, total = total_weight(symbol, level);
    for (int i = 0; i < RULE_COUNT; i++) {
        const struct rule *r = &rules[i];
        if (!holds(r, symbol, level)) continue;
        struct tt_builtin_stack then = s;
        for (int k = MOST_THEN - 1; k >= 0; k--)
            if (r->then[k]) push(&then, r->then[k], level + (r->where == ONE_DEEPER));
        double q = p * r->weight / total;
        if (r->class == NO_WORD)
            n = add_ways(then, q, ways, n);
        else if (n < TT_BUILTIN_WAYS)
            ways[n++] = (struct tt_builtin_way){i, classes[r->class].first, classes[r->class].count, q, then};
    }
    return n;
}

int tt_builtin_ways(const struct tt_builtin_stack *s, struct tt_builtin_way ways[TT_BUILTIN_WAYS])
{
    return add_ways(*s, 1, ways, 0);
}

/* ---- checking ---- */
static bool read_word(struct tt_builtin_stack *s, int32_t word)
{
    struct tt_builtin_way ways[TT_BUILTIN_WAYS];
    int n = tt_builtin_ways(s, ways);
    for (int i = 0; i < n; i++) {
        if (word < ways[i].first || word >= ways[i].first + ways[i].count) continue;
        *s = ways[i].then;
        return true;
    }
    return false;
}

struct tt_grammar_check tt_builtin_check(const int32_t *tokens, int64_t n)
{
    struct tt_grammar_check c = {.first_error = -1};
    struct tt_builtin_stack s = {0};
    bool inside = false, wrong = false;
    int64_t begin = n > 0 && tokens[0] == TT_BUILTIN_STOP; /* the full stop that starts a sample is not a sentence */
    for (int64_t t = begin; t < n; t++) {
        if (!inside) c.sentences++, c.grammatical++;
        inside = true;
        if (!wrong && !read_word(&s, tokens[t])) {
            wrong = true;
            c.grammatical--;
            if (c.first_error < 0) c.first_error = t;
        }
        if (tokens[t] == FIRST_STOP || tokens[t] == FIRST_ASK) { /* also ends a wrong sentence */
            s.n = 0;
            inside = wrong = false;
        }
    }
    return c;
}
