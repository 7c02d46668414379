/* What the words around a number in a sentence say of it: of which run, and of which row of a table. They are looked
 * for between the commas and conjunctions beside it, so that "28.1 % in wide, 40.9 % in fused_wide" says each of its
 * own run. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

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

/* "from 55.3 % to 81 %": two figures. */
static bool is_from_to(const char *sentence, const char *s)
{
    struct tt_clause before = {sentence, s};
    char word[24];
    return isdigit((unsigned char)s[2 + strspn(s + 2, " ")]) && tt_exercise_has_word(&before, "from", word);
}

size_t tt_exercise_parts_at(const char *sentence, const char *s)
{
    static const char words[] = "and|but|while|where|whereas|instead|than|against|versus|vs|so|because|since|although|"
                                "though|compared";
    if (strchr(",;:()", *s)) return 1;
    if (*s == '.' && (!s[1] || s[1] == ' ')) return 1;
    size_t n = s == sentence || !in_name(s[-1]) ? name_at(s) : 0;
    if (n == 2 && is_one_of(s, n, "to") && is_from_to(sentence, s)) return n;
    return n && is_one_of(s, n, words) ? n : 0;
}

/* "flash: 1353 ms", "1353 ms (flash)": a name alone belongs to the clause beside it. */
static struct tt_clause with_name(const char *sentence, struct tt_clause c)
{
    size_t n = *c.end == '(' ? name_at(c.end + 1) : 0;
    const char *s = c.begin - (c.begin > sentence);
    if (n && c.end[n + 1] == ')') c.end += n + 1;
    if (*s != ':') return c;
    while (s > sentence && in_name(s[-1])) s--;
    const char *before = s;
    while (before > sentence && before[-1] == ' ') before--;
    bool answer = is_one_of(s, (size_t)(c.begin - (c.begin > sentence) - s), "yes|no|true|false|indeed");
    if (!answer && (before == sentence || strchr(",;:.()", before[-1]))) c.begin = s;
    return c;
}

/* "attention_scores and ffn take 12.9 and 17.9 %": what stands before the "and" or comma at `joint` is a name, or ends
 * in one, and has no number of its own, so that the clause goes on. */
static bool goes_on(const char *begin, const char *joint)
{
    const char *end = joint, *last;
    while (begin < end && *begin == ' ') begin++;
    while (end > begin && end[-1] == ' ') end--;
    for (const char *s = begin; s < end; s++)
        if (isdigit((unsigned char)*s) && (s == begin || !in_name(s[-1]))) return false;
    for (last = end; last > begin && in_name(last[-1]);) last--;
    bool table = last < end && memchr(last, '_', (size_t)(end - last));
    return *joint == ',' ? last == begin && table : is_one_of(joint, name_at(joint), "and") && (last == begin || table);
}

struct tt_clause tt_exercise_clause(const char *sentence, const struct tt_quoted *number)
{
    struct tt_clause c = {sentence, number->end};
    for (const char *s = sentence; s < number->begin; s++) {
        size_t n = tt_exercise_parts_at(sentence, s);
        if (n && s + n <= number->begin && !goes_on(c.begin, s)) c.begin = s + n;
    }
    while (*c.end && !tt_exercise_parts_at(sentence, c.end)) c.end++;
    return with_name(sentence, c);
}

/* The next place of the name in the clause; NULL: none. Names have spaces in them too ("layer 3"). */
static const char *find(const struct tt_clause *c, const char *from, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = from; n && s + n <= c->end; s++)
        if ((s == c->begin || !in_name(s[-1])) && !strncasecmp(s, name, n) && !in_name(s[n])) return s;
    return NULL;
}

/* The word before s in the clause is one of these. */
static bool follows(const struct tt_clause *c, const char *s, const char *words)
{
    while (s > c->begin && s[-1] == ' ') s--;
    const char *end = s;
    while (s > c->begin && in_name(s[-1])) s--;
    return end > s && is_one_of(s, (size_t)(end - s), words);
}

/* "as that of fused", "times the step of fused", "over fused": what stands at s is compared with. */
static bool is_compared(const struct tt_clause *c, const char *s)
{
    static const char between[] = "of|that|the|in|run|step|time|speed|times|x|bytes|flops|memory|kernels|traffic|host|"
                                  "wait|waits|copies|copied|launches|operations";
    while (follows(c, s, between)) {
        while (s > c->begin && s[-1] == ' ') s--;
        while (s > c->begin && in_name(s[-1])) s--;
    }
    while (s > c->begin && s[-1] == ' ') s--;
    bool number = s > c->begin && (isdigit((unsigned char)s[-1]) || s[-1] == '%');
    return number || follows(c, s, "as|over|to|twice|double");
}

/* Names of runs may be plain words (late, double, norm): they are runs as the subject, or behind a preposition. */
static enum tt_mention names(const struct tt_clause *c, const char *name)
{
    static const char verbs[] =
        "is|was|has|had|does|takes|took|needs|reaches|shows|gives|comes|moves|hides|sends|ends|"
        "makes|runs|starts|launches|uses|gets|spends|rises|falls|grows|gains|loses|processes|waits|"
        "waited|copies|copied|ran|did|reached|moved|spent|used|needed";
    enum tt_mention found = TT_MENTION_NONE;
    for (const char *s = c->begin; (s = find(c, s, name)); s++) {
        const char *behind = s + strlen(name), *before = s;
        bool alone = s > c->begin ? s[-1] == '(' : *behind == ':';
        bool beside = alone || strchr(name, '_') || follows(c, s, "of|in|run|for|by") || !strncmp(behind, "'s", 2);
        while (before > c->begin && before[-1] == ' ') before--;
        behind += strspn(behind, " ");
        bool verb = is_one_of(behind, name_at(behind), verbs), compared = beside && is_compared(c, s);
        if (verb && (before == c->begin || (beside && !compared))) return TT_MENTION_SUBJECT;
        beside |= follows(c, s, "the") && is_one_of(behind, name_at(behind), "step|run");
        beside |= before == c->begin && memchr(behind, '_', name_at(behind)); /* "baseline attention_scores 8.9 %" */
        beside |= before == c->begin && is_one_of(behind, name_at(behind), "and"); /* "wide and fused_wide take" */
        if (beside && !(compared && found)) found = compared ? TT_MENTION_COMPARED : TT_MENTION_BESIDE;
    }
    return found;
}

/* The part of the name before a _, all of it where there is none. */
static void shorten(const char *name, char out[64]) { snprintf(out, 64, "%.*s", (int)strcspn(name, "_"), name); }

enum tt_mention tt_exercise_names_run(const struct tt_clause *c, const char *name, bool brief)
{
    char start[64];
    enum tt_mention found = names(c, name);
    shorten(name, start);
    return !found && brief ? names(c, start) : found;
}

/* What stands for another run stands for one that the figure is of: "flash" for flash_long. */
static bool is_short_for(const struct tt_figure *f, const char *name, const struct tt_formula_scope *scope)
{
    char start[64];
    for (int i = 0; f->brief && i < scope->count; i++) {
        shorten(scope->runs[i].name, start);
        if ((f->runs >> i & 1) && !strcmp(start, name)) return true;
    }
    return false;
}

unsigned tt_exercise_named_runs(const char *text, const struct tt_formula_scope *scope)
{
    struct tt_clause c = {text, text ? text + strlen(text) : text};
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
    struct tt_clause c = tt_exercise_clause(sentence, number);
    const char *other = NULL;
    for (int i = 0; f->runs && scope && i < scope->count; i++) {
        enum tt_mention mention = names(&c, scope->runs[i].name);
        bool base = mention == TT_MENTION_COMPARED && tt_exercise_is_count(f); /* "twice the waits of healthy" */
        if (is_noun_of(f, scope->runs[i].name) || !mention || base) continue;
        if (is_short_for(f, scope->runs[i].name, scope)) return NULL;
        if ((f->runs >> i & 1) || tt_exercise_is_run_of(number, x, f, i)) return NULL;
        other = scope->runs[i].name;
    }
    return other;
}

const char *tt_exercise_other_row(const char *sentence, const struct tt_quoted *number, const struct tt_figure *f,
                                  const struct tt_figure *all, int n)
{
    struct tt_clause c = tt_exercise_clause(sentence, number);
    if (!f->row[0] || find(&c, c.begin, f->row)) return NULL;
    for (int i = 0; i < n; i++)
        if (all[i].row[0] && find(&c, c.begin, all[i].row)) return all[i].row;
    return NULL;
}

bool tt_exercise_has_word(const struct tt_clause *c, const char *words, char out[24])
{
    for (const char *s = c->begin; s < c->end; s++) {
        size_t n = s == c->begin || !in_name(s[-1]) ? name_at(s) : 0;
        if (!n || !is_one_of(s, n, words)) continue;
        snprintf(out, 24, "%.*s", (int)n, s);
        return true;
    }
    return false;
}
