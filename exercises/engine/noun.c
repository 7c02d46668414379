/* What a number in a sentence is a number of. Quotients, losses and norms lie close together, and one of many is near
 * most numbers; "1.3 times as long" names no gradient that is off by 1.3. Where a figure lists its nouns, the nearest
 * one decides; else the name of the figure says what it is, and a clause about another quantity does not name it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* Things that runs are measured by, on either side of their number. */
static const char things[] = "memory|kernel|kernels|launch|launches|operations|loss|losses|norm|norms|gradient|"
                             "gradients|tensor|tensors|weight|wait|waits|copy|copies|time|token|tokens|"
                             "sample|samples|sequences|MFU|throughput|bytes";
/* What compares times, behind the number: "1.3 times as long". Before it, a loss may fall "more slowly". */
static const char slower[] = "long|longer|slow|slower|slowly|fast|faster|duration";
/* The word that begins at s is one of "a|b". */
static bool is_one_of(const char *s, const char *words)
{
    for (size_t n; *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        if (n && !strncasecmp(s, words, n) && !isalnum((unsigned char)s[n])) return true;
    }
    return false;
}

static bool begins_word(const char *sentence, const char *s)
{
    return isalpha((unsigned char)*s) && (s == sentence || !isalnum((unsigned char)s[-1]));
}

static bool has_one_of(const char *sentence, const char *words)
{
    for (const char *s = sentence; *s; s++)
        if (begins_word(sentence, s) && is_one_of(s, words)) return true;
    return false;
}

bool tt_exercise_of_speed(const char *sentence)
{
    return has_one_of(sentence, slower) ||
           has_one_of(sentence, "time|token|tokens|sample|samples|MFU|throughput|speed");
}

bool tt_exercise_is_times(const struct tt_quoted *number)
{
    const char *behind = number->end + strspn(number->end, " -");
    return is_one_of(behind, "times|x|fold") || !strncmp(behind, "\xc3\x97", 2);
}

enum tt_nouns tt_exercise_noun(const char *sentence, const struct tt_quoted *number, const char *nouns)
{
    long nearest = -1;
    enum tt_nouns found = TT_NOUN_NONE;
    for (const char *s = sentence; *s; s++) {
        if (!begins_word(sentence, s)) continue;
        bool mine = is_one_of(s, nouns), behind = s >= number->end;
        if (!mine && !is_one_of(s, things) && !(behind && is_one_of(s, slower))) continue;
        const char *end = s;
        while (isalnum((unsigned char)*end)) end++;
        long away = behind ? (long)(s - number->end) : (long)(number->begin - end);
        if (nearest >= 0 && (away > nearest || (away == nearest && !mine))) continue;
        nearest = away;
        found = mine ? TT_NOUN_OWN : TT_NOUN_OTHER;
    }
    return found;
}

static const char to_lose[] = "lose|loses|losing|lost|gain|gains|gained|waste|wastes|wasted|save|saves|saved|potential";

/* What figures are of: the word in the name of such a figure, those that people say of it, and those which say that a
 * number is of it, and of nothing else. */
static const struct quantity {
    const char *name, *own, *tells;
} quantities[] = {
    {"share|part", "share|shares|part|parts|percentage|take|takes|took|spend|spends|spent|step|time", "share|shares"},
    {"roof", "roof|roofs", "roof|roofs"},
    {"MFU", "MFU|utilisation|utilization", "MFU"},
    {"tokens", "token|tokens|tok|throughput|speed", "token|tokens|tok"},
    {"sequences", "sequence|sequences|sample|samples|throughput|speed", "sequence|sequences|sample|samples"},
    {"kernels", "kernel|kernels|launch|launches|operation|operations", "kernel|kernels"},
    {"loss", "loss|losses", "loss|losses"},
    {"bytes|move", "byte|bytes|traffic|move|moves|moved|data", "byte|bytes"},
    {"FLOPs|compute", "FLOP|FLOPs|GFLOP|arithmetic|compute|computes|operations", "FLOP|FLOPs"},
    {"intensity", "intensity|FLOP|FLOPs", "intensity"},
    {"efficiency", "efficiency|efficient|scaling|scales", "efficiency"},
    {"communication", "communication|communicate|communicates|hide|hides|hidden|exposed|link",
     "hide|hides|hidden|exposed"},
    {"lose", to_lose, ""},
    {"limit", "limit|limits|Amdahl|most|gain|gains|fast|faster|speed|speedup", ""}};

static bool in_clause(const struct tt_clause *c, const char *words)
{
    char word[24];
    return tt_exercise_has_word(c, words, word);
}

static bool is_of_time(const struct tt_figure *f)
{
    return f->change == TT_CHANGE_LONGER || f->change == TT_CHANGE_FASTER;
}

/* "29.4 % of the step", "takes 29.4 %" are shares. */
static bool is_share(const struct tt_clause *c, const struct tt_quoted *number)
{
    const char *s = number->end + strspn(number->end, " %");
    if (!number->unit) return false;
    if (in_clause(c, "take|takes|took|spend|spends|spent")) return true;
    if (strncasecmp(s, "of ", 3)) return false;
    for (s += 3; is_one_of(s, "the|a|its|this|whole|long"); s += strspn(s, " ")) s += strcspn(s, " ");
    return is_one_of(s, "step|time");
}

/* "29.4 % slower", "257 MiB less", "by 467 ms" are changes, and "29.4 % of it" is none. */
static bool is_change(const struct tt_clause *c, const struct tt_quoted *number, bool part)
{
    const char *s = number->end + strspn(number->end, " "), *word = number->begin;
    s += strcspn(s, " ");
    if (!number->unit) return false;
    if (is_one_of(s + strspn(s, " "), "slower|faster|quicker|shorter|longer|less|more")) return true;
    while (word > c->begin && word[-1] == ' ') word--;
    while (word > c->begin && isalpha((unsigned char)word[-1])) word--;
    return !part && is_one_of(word, "by|save|saves|saved|saving");
}

/* The clause says that the number is of another thing. */
static bool tells_other(const struct tt_clause *c, const struct tt_quoted *number, const struct tt_figure *f)
{
    bool part = tt_exercise_part(f->unit) > 0;
    bool memory = in_clause(c, "memory");
    if (!part || f->change != TT_CHANGE_NONE) return (!part || is_of_time(f)) && memory;
    if (memory && !in_clause(c, "roof|roofs|share|shares|bound") && !strstr(f->name, "memory")) return true;
    return is_change(c, number, true) || (tt_exercise_is_times(number) && !f->quotient);
}

/* "Share times 1 - roof": what a group has to lose is of both, and neither of them. */
static bool is_product(const struct tt_clause *c)
{
    return in_clause(c, "share") && in_clause(c, "roof") && in_clause(c, "times|x|product|multiplied|minus");
}

/* Of figures that have no unit, or are a part: those in ms or MiB are told apart by that. */
static enum tt_nouns quantity_of(const struct tt_clause *c, const struct tt_quoted *number, const struct tt_figure *f)
{
    static const char times[] =
        "quick|quicker|shorter|speed|speedup|time|step|throughput|token|tokens|gain|gains|gained|win|wins|take|"
        "takes|took|compare";
    bool time = is_of_time(f),
         own = time &&
               (in_clause(c, slower) || in_clause(c, times) || (tt_exercise_is_times(number) && in_clause(c, "MFU"))),
         known = time;
    bool other = tells_other(c, number, f);
    struct tt_clause name = {f->name, f->name + strlen(f->name)};
    if (other && !time && tt_exercise_part(f->unit) > 0) return TT_NOUN_OTHER;
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        bool mine = !time && in_clause(&name, quantities[i].name);
        known |= mine;
        own |= mine && (in_clause(c, quantities[i].own) || (quantities[i].own == to_lose && is_product(c)));
        other |= !mine && (in_clause(c, quantities[i].tells) || (!time && !i && is_share(c, number)));
    }
    return own ? TT_NOUN_OWN : known && other ? TT_NOUN_OTHER : TT_NOUN_NONE;
}

/* A word of the name stands in the sentence, but for what it is of or in; of the id of a question any part of it. */
static bool has_word_of(const struct tt_clause *all, const struct tt_figure *f)
{
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    bool found = in_clause(all, f->row) || (f->from && in_clause(all, f->from)), of = false;
    char word[40];
    for (const char *s = f->name ? f->name : f->from; *s && !found; s += *s != 0) {
        size_t n = strspn(s, f->name ? letters : letters + 1), least = f->name ? 4 : 3;
        snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : 0, s);
        found =
            n >= least && !of && in_clause(all, word) && !is_one_of(word, "that|what|those|over|minus|which|many|does");
        if (n) of = is_one_of(word, "of|in");
        s += n;
    }
    return found;
}

enum tt_nouns tt_exercise_quantity(const char *sentence, const struct tt_quoted *number, const struct tt_figure *f)
{
    struct tt_clause c = tt_exercise_clause(sentence, number), all = {sentence, sentence + strlen(sentence)};
    if ((!f->name && !f->from) || f->about || f->with) return TT_NOUN_OWN;
    bool unitless = f->name && (!f->unit || tt_exercise_part(f->unit) > 0);
    enum tt_nouns found = unitless ? quantity_of(&c, number, f) : TT_NOUN_NONE;
    bool bare = !number->unit && !tt_exercise_is_times(number);
    if (f->name && !unitless && f->change == TT_CHANGE_NONE && is_change(&c, number, false)) return TT_NOUN_OTHER;
    if (found != TT_NOUN_NONE) return found;
    if (!bare || has_word_of(&all, f)) return TT_NOUN_OWN;
    return unitless && quantity_of(&all, number, f) == TT_NOUN_OWN ? TT_NOUN_OWN : TT_NOUN_NONE;
}
