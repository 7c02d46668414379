/* What the words around a number in a sentence say of it: of which run, of which row of a table, and in which
 * direction. They are looked for between the commas and conjunctions beside it, so that "28.1 % in wide, 40.9 % in
 * fused_wide" says each of its own run. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

struct clause {
    const char *begin, *end;
};

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The word that begins at s, of `length` letters, is one of "a|b". */
static bool is_one_of(const char *s, size_t length, const char *words)
{
    for (size_t n; *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        if (n == length && !strncasecmp(s, words, n)) return true;
    }
    return false;
}

static size_t name_at(const char *s)
{
    size_t n = 0;
    while (in_name(s[n])) n++;
    return n;
}

/* How long what parts two clauses is, or 0 where nothing does. */
static size_t parts_at(const char *sentence, const char *s)
{
    static const char words[] = "and|but|while|where|whereas|instead|than|against|versus|vs|so|because|since|although|"
                                "though|compared";
    if (strchr(",;:()", *s)) return 1;
    if (*s == '.' && (!s[1] || s[1] == ' ')) return 1;
    size_t n = s == sentence || !in_name(s[-1]) ? name_at(s) : 0;
    return n && is_one_of(s, n, words) ? n : 0;
}

static struct clause clause_of(const char *sentence, const struct tt_quoted *number)
{
    struct clause c = {sentence, number->end};
    for (const char *s = sentence; s < number->begin; s++) {
        size_t n = parts_at(sentence, s);
        if (n && s + n <= number->begin) c.begin = s + n;
    }
    while (*c.end && !parts_at(sentence, c.end)) c.end++;
    return c;
}

/* The next place of the name in the clause; NULL: none. Names have spaces in them too ("layer 3"). */
static const char *find(const struct clause *c, const char *from, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = from; n && s + n <= c->end; s++)
        if ((s == c->begin || !in_name(s[-1])) && !strncasecmp(s, name, n) && !in_name(s[n])) return s;
    return NULL;
}

/* The word before s in the clause is one of these. */
static bool follows(const struct clause *c, const char *s, const char *words)
{
    while (s > c->begin && s[-1] == ' ') s--;
    const char *end = s;
    while (s > c->begin && in_name(s[-1])) s--;
    return end > s && is_one_of(s, (size_t)(end - s), words);
}

enum mention { NONE, BESIDE, SUBJECT };

/* Names of runs may be plain words (late, double, norm): they are runs as the subject, or behind a preposition. */
static enum mention names_run(const struct clause *c, const char *name)
{
    static const char verbs[] = "is|was|has|had|does|takes|took|needs|reaches|shows|gives|comes|moves|hides|sends|ends";
    enum mention found = NONE;
    for (const char *s = c->begin; (s = find(c, s, name)); s++) {
        const char *behind = s + strlen(name), *before = s;
        bool beside = strchr(name, '_') || follows(c, s, "of|in|run|for|by") || !strncmp(behind, "'s", 2);
        while (before > c->begin && before[-1] == ' ') before--;
        behind += strspn(behind, " ");
        if (before == c->begin && is_one_of(behind, name_at(behind), verbs)) return SUBJECT;
        if (beside) found = BESIDE;
    }
    return found;
}

unsigned tt_exercise_named_runs(const char *text, const struct tt_formula_scope *scope)
{
    struct clause c = {text, text ? text + strlen(text) : text};
    unsigned runs = 0;
    for (int i = 0; text && i < scope->count; i++)
        if (find(&c, c.begin, scope->runs[i].name)) runs |= 1u << i;
    return runs;
}

static bool is_noun_of(const struct tt_figure *f, const char *name)
{
    return f->noun && is_one_of(name, strlen(name), f->noun);
}

const char *tt_exercise_other_run(const char *sentence, const struct tt_quoted *number, double x,
                                  const struct tt_figure *f, const struct tt_formula_scope *scope)
{
    struct clause c = clause_of(sentence, number);
    const char *other = NULL;
    for (int i = 0; f->runs && scope && i < scope->count; i++) {
        if (is_noun_of(f, scope->runs[i].name) || !names_run(&c, scope->runs[i].name)) continue;
        if ((f->runs >> i & 1) || tt_exercise_is_run_of(number, x, f, i)) return NULL;
        other = scope->runs[i].name;
    }
    return other;
}

const char *tt_exercise_other_row(const char *sentence, const struct tt_quoted *number, const struct tt_figure *f,
                                  const struct tt_figure *all, int n)
{
    struct clause c = clause_of(sentence, number);
    if (!f->row[0] || find(&c, c.begin, f->row)) return NULL;
    for (int i = 0; i < n; i++)
        if (all[i].row[0] && find(&c, c.begin, all[i].row)) return all[i].row;
    return NULL;
}

/* The first word of the clause that is one of these; copied to out. */
static bool has_one_of(const struct clause *c, const char *words, char out[24])
{
    for (const char *s = c->begin; s < c->end; s++) {
        size_t n = s == c->begin || !in_name(s[-1]) ? name_at(s) : 0;
        if (!n || !is_one_of(s, n, words)) continue;
        snprintf(out, 24, "%.*s", (int)n, s);
        return true;
    }
    return false;
}

bool tt_exercise_clause_has(const char *sentence, const struct tt_quoted *number, const char *words)
{
    struct clause c = clause_of(sentence, number);
    char word[24];
    return has_one_of(&c, words, word);
}

/* "1.6 times the time": as long, and not as fast. */
static bool is_times_the_time(const struct tt_quoted *number, char word[24])
{
    const char *behind = number->end + strspn(number->end, " ");
    snprintf(word, 24, "times the time");
    return !strncasecmp(behind, word, strlen(word)) && !in_name(behind[strlen(word)]);
}

/* The words of either way; of times, what is longer is slower. */
#define UP "more|larger|bigger|higher|greater|extra|additional|grew|grows|grown|rose|rises|increased|increases"
#define DOWN "less|fewer|smaller|lower|saves|saved|saving|shrinks|shrank|fell|falls|decreased|decreases"
#define SLOW "longer|slower"
#define QUICK "faster|quicker|shorter"

/* The clause has a word that denies the change, and none that says it. */
static bool denies(const struct clause *c, const char *denied, const char *said, char word[24])
{
    char other[24];
    return has_one_of(c, denied, word) && !has_one_of(c, said, other);
}

/* Of a step that is longer or not: "less" is said of the time, or of the tokens a second. */
static bool denies_time(const struct clause *c, const struct tt_figure *f, bool longer, char word[24])
{
    char other[24];
    bool speed = has_one_of(c, "token|tokens|throughput|speed|sample|samples|sequence|sequences", other);
    bool time = f->change == TT_CHANGE_LONGER || has_one_of(c, "time|duration", other);
    bool more = speed ? !longer : longer; /* which of the two is said of it */
    if (denies(c, longer ? QUICK : SLOW, longer ? SLOW : QUICK, word)) return true;
    return (speed || time) && denies(c, more ? DOWN : UP, more ? UP "|" SLOW : DOWN "|" QUICK, word);
}

bool tt_exercise_turned(const char *sentence, const struct tt_quoted *number, const struct tt_figure *f, char word[24])
{
    struct clause c = clause_of(sentence, number);
    if (f->change == TT_CHANGE_NONE || has_one_of(&c, "not|no|never|without|nor", word)) return false;
    enum mention base = f->than ? names_run(&c, f->than) : NONE;
    if (base == BESIDE) return false; /* of which run it speaks is open */
    bool longer = f->change == TT_CHANGE_LONGER, faster = f->change == TT_CHANGE_FASTER;
    bool up = (f->value > (f->times ? 1 : 0)) != (base == SUBJECT); /* from the side of the run that it speaks of */
    if (f->times && base == NONE && longer && has_one_of(&c, "fast|quick", word)) return true;
    if (f->times && base == NONE && faster && (has_one_of(&c, "long|slow", word) || is_times_the_time(number, word)))
        return true;
    if (longer || faster) return denies_time(&c, f, up == longer, word);
    bool more = up == (f->change == TT_CHANGE_MORE);
    return denies(&c, more ? DOWN : UP, more ? UP : DOWN, word);
}
