/* Which way a sentence says a change, and of what. "0.62 times as fast" is a quotient of speeds, "38 % less time" a
 * change of the time: a figure is named only where its words say it so. Else the reply names the slip, such as a
 * reciprocal. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* The words of either way; of times, what is longer is slower. */
#define UP                                                                                                             \
    "more|larger|bigger|higher|greater|extra|additional|adds|added|grew|grows|grown|rose|rises|increased|increases"
#define DOWN                                                                                                           \
    "less|fewer|smaller|lower|saves|saved|saving|shrinks|shrank|fell|falls|drops|dropped|loses|lost|decreased|"        \
    "decreases"
#define SLOW "longer|slower"
#define QUICK "faster|quicker|shorter"
/* What they are said of. What is slower may be so by its speed or by its time. */
#define SPEED "fast|faster|quick|quicker|speed|speedup|token|tokens|throughput|sample|samples|sequence|sequences"
#define TIME_ALONE "long|longer|slow|time|duration"
#define TIME TIME_ALONE "|take|takes|took"

struct said {
    const struct tt_quoted *number;
    const struct tt_figure *f;
    struct tt_clause own, way; /* of the number, and of the words that say which way it goes */
    bool other;                /* it is said of the run that the figure is changed from */
    bool negated;              /* "not slower", "not 1.3 times" */
};

static bool has(const struct tt_clause *c, const char *words)
{
    char word[24];
    return tt_exercise_has_word(c, words, word);
}

static bool is_of_time(const struct tt_figure *f)
{
    return f->change == TT_CHANGE_LONGER || f->change == TT_CHANGE_FASTER;
}

/* The clause before this one, and what parts the two; false: there is none. */
static bool before(const char *sentence, struct tt_clause *c, const char **joint)
{
    const char *begin = sentence;
    for (const char *s = sentence; s < c->begin; s++) {
        size_t n = tt_exercise_parts_at(sentence, s);
        if (n && s + n == c->begin) {
            *c = (struct tt_clause){begin, s};
            *joint = s;
            return true;
        }
        if (n) begin = s + n;
    }
    return false;
}

/* "It is slower than fused: 0.62 times": the words may stand before a comma or colon, where there are none beside the
 * number. "No faster than 1.3 times" is a bound. */
static struct tt_clause way_of(const char *sentence, const struct said *s)
{
    const char *words = is_of_time(s->f) ? SLOW "|" QUICK : UP "|" DOWN, *joints = is_of_time(s->f) ? ",;:(" : ":(";
    const char *own = is_of_time(s->f) ? SPEED "|" TIME "|" SLOW "|" QUICK "|" UP "|" DOWN : UP "|" DOWN, *joint;
    struct tt_clause c = s->own;
    if (has(&c, own)) return c;
    for (bool first = true; before(sentence, &c, &joint); first = false) {
        bool than = !strncasecmp(joint, "than", 4) || !strncasecmp(joint, "so", 2);
        if (!strchr(joints, *joint) && (first || !than)) break;
        if (has(&c, words)) return c;
    }
    return s->own;
}

/* The word before s is one of these. */
static bool follows(const struct tt_clause *c, const char *s, const char *words)
{
    while (s > c->begin && s[-1] == ' ') s--;
    const char *end = s;
    while (s > c->begin && isalpha((unsigned char)s[-1])) s--;
    struct tt_clause word = {s, end};
    return end > s && has(&word, words);
}

/* What is denied is the number, or a word that says which way; *open: something else, and who knows what. */
static bool is_negated(const struct said *s, bool *open)
{
    bool negated = follows(&s->own, s->number->begin, "not|no|never");
    for (const char *w = s->way.begin; w < s->way.end && !negated; w++) {
        struct tt_clause word = {w, w};
        while (word.end < s->way.end && isalpha((unsigned char)*word.end)) word.end++;
        negated = word.end > w && (w == s->way.begin || w[-1] == ' ') && has(&word, SLOW "|" QUICK "|" UP "|" DOWN) &&
                  follows(&s->way, w, "not|no|never");
    }
    *open = !negated && (has(&s->own, "not|no|never|without|nor") || has(&s->way, "not|no|never|without|nor"));
    return negated;
}

/* The clause has a word that denies the change, and none that says it. */
static bool denies(const struct tt_clause *c, const char *denied, const char *said, char word[24])
{
    return tt_exercise_has_word(c, denied, word) && !has(c, said);
}

/* Of a step that is longer or not: "less" is said of the time, or of the tokens a second. */
static bool denies_time(const struct said *s, bool longer, char word[24])
{
    const struct tt_clause *c = &s->way;
    bool speed = has(c, "token|tokens|throughput|speed|sample|samples|sequence|sequences");
    bool time = s->f->change == TT_CHANGE_LONGER || has(c, "time|duration");
    bool more = speed ? !longer : longer; /* which of the two is said of it */
    if (denies(c, longer ? QUICK : SLOW, longer ? SLOW : QUICK, word)) return true;
    return (speed || time) && denies(c, more ? DOWN : UP, more ? UP "|" SLOW : DOWN "|" QUICK, word);
}

/* The words say the opposite of what the figure does. */
static bool is_opposite(const struct said *s, char word[24])
{
    bool longer = s->f->change == TT_CHANGE_LONGER, more = s->f->change == TT_CHANGE_MORE;
    bool up = (s->f->value > (s->f->times ? 1 : 0)) != s->other; /* from the side of the run that it speaks of */
    if (s->negated && s->f->open) return false; /* neither faster nor slower */
    if (s->negated) up = !up;
    if (is_of_time(s->f)) return denies_time(s, up == longer, word);
    return denies(&s->way, up == more ? DOWN : UP, up == more ? UP : DOWN, word);
}

/* "74 % of the time" and "falls to 74 %" are quotients. */
static bool is_to(const struct said *s) { return follows(&s->own, s->number->begin, "to"); }

static bool is_part(const struct said *said)
{
    const char *s = said->number->end + strspn(said->number->end, " %");
    return !strncasecmp(s, "percent ", 8) ? !strncasecmp(s + 8, "of ", 3) : !strncasecmp(s, "of ", 3);
}

/* Said as a change, "35 % faster", or as a quotient, "1.35 times", "135 % as fast", where the figure is the other. */
static bool is_other_form(const struct said *s)
{
    bool compares = has(&s->own, SLOW "|" QUICK "|" UP "|" DOWN), times = tt_exercise_is_times(s->number);
    if (s->f->times) return s->number->unit && compares && !is_part(s) && !is_to(s);
    return times || is_to(s) || (!compares && (is_part(s) || has(&s->own, "fast|quick|long|slow")));
}

/* Of the speed where the figure is of the time, or the other way round, as a quotient where it is a change, or so. */
static bool is_of_other(const struct said *s, char says[160])
{
    bool time = (s->f->change == TT_CHANGE_LONGER) != s->other, form = is_other_form(s);
    bool speeds = has(&s->own, SPEED), fast = has(&s->own, "fast|quick"); /* "takes 1.3 times as fast" */
    bool times = has(&s->own, s->f->times ? TIME : TIME "|shorter") && !(fast && !has(&s->own, TIME_ALONE));
    bool other = time ? speeds && !times : times && !speeds;
    if (!other && !form) return false;
    const char *of = time != other ? "time" : "speed";
    if (!form && s->f->times && s->other)
        snprintf(says, 160, ", and the sentence says it the other way round");
    else if (!form && s->f->times)
        snprintf(says, 160, ", and the sentence says it of the %s, of which it is the reciprocal", of);
    else
        snprintf(says, 160, ", and the sentence says it of %s of the %s, which is another number",
                 s->f->times == form ? "a change" : "a quotient", of);
    return true;
}

/* "1.7 times the bytes" of the run that has fewer. */
static bool is_other_way(const struct said *s, char says[160])
{
    bool behind = !strncasecmp(s->number->end + strspn(s->number->end, " "), "times", 5);
    if ((s->f->change == TT_CHANGE_FEWER) == s->other || !behind || has(&s->way, UP "|" DOWN)) return false;
    snprintf(says, 160, ", and the sentence says it the other way round");
    return true;
}

/* The word before s; *begin is where it begins. */
static struct tt_clause word_before(const char *sentence, const char *s)
{
    while (s > sentence && !isalnum((unsigned char)s[-1]) && s[-1] != '%') s--;
    struct tt_clause word = {s, s};
    while (word.begin > sentence && (isalnum((unsigned char)word.begin[-1]) || strchr("_%", word.begin[-1])))
        word.begin--;
    return word;
}

static struct tt_clause word_behind(const char *s)
{
    struct tt_clause word = {s + strspn(s, " "), s + strspn(s, " ")};
    while (isalpha((unsigned char)*word.end)) word.end++;
    return word;
}

/* It is said of that, "fused moves", "% of the long fused step", and not in comparison with it, "as fused". */
static bool is_spoken_of(const char *sentence, const char *s)
{
    struct tt_clause word = word_before(sentence, s);
    while (has(&word, "the|a|that|step|steps|run|long|short|version|time|one"))
        word = word_before(sentence, word.begin);
    if (has(&word, "of")) {
        word = word_before(sentence, word.begin);
        return word.end > word.begin && word.end[-1] == '%';
    }
    return !has(&word, "as|than|over|to|against|vs|versus|with|from|beside");
}

/* The sentence speaks of that run where no grammar of ours sees it: "the fused version", "the long fused step". */
static bool speaks_of(const char *sentence, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = sentence; n && (s = strcasestr(s, name)) != NULL; s += n) {
        bool begins = s == sentence || !(isalnum((unsigned char)s[-1]) || s[-1] == '_');
        struct tt_clause next = word_behind(s + n);
        if (has(&next, "version|step|run")) next = word_behind(next.end);
        bool verb = has(&next, "takes|took|is|was|needs|needed|moves|moved|has|had|does|did|reaches|runs");
        if (!begins || isalnum((unsigned char)s[n]) || s[n] == '_') continue;
        if (verb || is_spoken_of(sentence, s)) return true;
    }
    return false;
}

/* Of which run it says the change is open. */
static bool is_open(const char *sentence, const struct said *s)
{
    char part[64];
    if (has(&s->own, "which") || speaks_of(sentence, "unfused")) return true;
    if (!s->f->than) return false;
    snprintf(part, sizeof part, "%.*s", (int)strcspn(s->f->than, "_"), s->f->than);
    return speaks_of(sentence, s->f->than) || (s->f->brief && speaks_of(sentence, part));
}

bool tt_exercise_turned(const char *sentence, const struct tt_quoted *number, const struct tt_figure *f, char says[160])
{
    struct said s = {.number = number, .f = f, .own = tt_exercise_clause(sentence, number)};
    char word[24];
    bool open;
    if (f->change == TT_CHANGE_NONE) return false;
    enum tt_mention base = f->than ? tt_exercise_names_run(&s.own, f->than, f->brief) : TT_MENTION_NONE;
    s.way = base == TT_MENTION_SUBJECT ? s.own : way_of(sentence, &s);
    if (f->than && s.way.begin != s.own.begin && !base) base = tt_exercise_names_run(&s.way, f->than, f->brief);
    if (base == TT_MENTION_BESIDE || (!base && is_open(sentence, &s))) return false;
    s.other = base == TT_MENTION_SUBJECT;
    s.negated = is_negated(&s, &open);
    if (open) return false;
    if (is_opposite(&s, word)) {
        snprintf(says, 160, ": in your runs that is the opposite of \"%s%s\"%s", s.negated ? "not " : "", word,
                 f->times && f->change == TT_CHANGE_LONGER ? "; of the speed it is the reciprocal" : "");
        return true;
    }
    if (!is_of_time(f)) return f->times && !s.negated && is_other_way(&s, says);
    bool quotient = f->times || tt_exercise_part(f->unit) > 0, other = quotient && is_of_other(&s, says);
    if (!s.negated || !quotient || has(&s.way, SLOW "|" QUICK "|" UP "|" DOWN)) return other && !s.negated;
    snprintf(says, 160, ": in your runs it is that");
    return !other;
}
