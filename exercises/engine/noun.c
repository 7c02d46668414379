/* What a number in a sentence is a number of: the noun that stands nearest to it. Quotients, losses and norms lie close
 * together, and one of many is near most numbers; "1.3 times as long" names no gradient that is off by 1.3. */
#include <ctype.h>
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
