#include "core/data/tokenizers/nfc.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/base/utf8.h"

struct tt_nfc_parts {
    uint32_t point, first, second; /* second 0: point is another spelling of first */
};
struct tt_nfc_class {
    uint32_t from, to;
    uint8_t class; /* marks of different classes may change places */
};
#include "core/data/tokenizers/nfc_tables.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { L = 0x1100, V = 0x1161, T = 0x11a7, SYLLABLES = 0xac00, VS = 21, TS = 28, LS = 19 }; /* Hangul */
enum { BYTE = 0x120000 }; /* and above: a byte that is not UTF-8 */

struct unit {
    uint32_t point;
    int32_t class;
    int64_t at;
};

struct work {
    struct unit *units;
    size_t n, room;
    bool failed;
};

/* ---- the tables ---- */

static const struct tt_nfc_parts *parts_of(uint32_t point)
{
    for (int low = 0, high = COUNT(parts); low < high;) {
        int middle = (low + high) / 2;
        if (parts[middle].point == point) return &parts[middle];
        if (parts[middle].point < point)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int class_of(uint32_t point)
{
    for (int low = 0, high = COUNT(classes); low < high;) {
        int middle = (low + high) / 2;
        if (point < classes[middle].from)
            high = middle;
        else if (point > classes[middle].to)
            low = middle + 1;
        else
            return classes[middle].class;
    }
    return 0;
}

/* The character that the two make; 0: none. */
static uint32_t pair_of(uint32_t first, uint32_t second)
{
    if (first >= L && first < L + LS && second >= V && second < V + VS)
        return SYLLABLES + ((first - L) * VS + (second - V)) * TS;
    if (first >= SYLLABLES && first < SYLLABLES + LS * VS * TS && (first - SYLLABLES) % TS == 0 && second > T &&
        second < T + TS)
        return first + (second - T);
    for (int low = 0, high = COUNT(pairs); low < high;) {
        int middle = (low + high) / 2;
        const struct tt_nfc_parts *p = &parts[pairs[middle]];
        if (p->first == first && p->second == second) return p->point;
        if (p->first < first || (p->first == first && p->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- decompose, order, compose ---- */

static void add(struct work *w, uint32_t point)
{
    if (w->n == w->room) {
        size_t room = w->room ? 2 * w->room : 256;
        struct unit *units = realloc(w->units, room * sizeof *units);
        w->failed |= !units;
        if (!units) return;
        w->units = units;
        w->room = room;
    }
    w->units[w->n] = (struct unit){point, point < BYTE ? class_of(point) : 0, (int64_t)w->n};
    w->n++;
}

static void take_apart(struct work *w, uint32_t point)
{
    uint32_t syllable = point - SYLLABLES;
    if (point >= SYLLABLES && syllable < LS * VS * TS) {
        add(w, L + syllable / (VS * TS));
        add(w, V + syllable % (VS * TS) / TS);
        if (syllable % TS) add(w, T + syllable % TS);
        return;
    }
    const struct tt_nfc_parts *p = parts_of(point);
    if (!p) {
        add(w, point);
        return;
    }
    take_apart(w, p->first);
    if (p->second) take_apart(w, p->second);
}

static int by_class(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    return x->class != y->class ? (x->class > y->class) - (x->class < y->class) : (x->at > y->at) - (x->at < y->at);
}

static void order(struct work *w)
{
    for (size_t from = 0, to; from < w->n; from = to) {
        for (to = from; to < w->n && w->units[to].class; to++) continue;
        if (to > from + 1) qsort(w->units + from, to - from, sizeof *w->units, by_class);
        if (to == from) to++;
    }
}

static void put_together(struct work *w)
{
    if (!w->n) return;
    struct unit *u = w->units;
    size_t starter = 0, n = 1;
    int last = u[0].class ? 256 : 0;
    for (size_t i = 1; i < w->n; i++) {
        bool free_way = last < u[i].class || !last;
        uint32_t both = free_way ? pair_of(u[starter].point, u[i].point) : 0;
        if (both) {
            u[starter].point = both;
            continue;
        }
        if (!u[i].class) starter = n;
        last = u[i].class;
        u[n++] = u[i];
    }
    w->n = n;
}

bool tt_nfc_is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= 0xcc) return false;
    return true;
}

tt_status tt_nfc(const char *text, size_t n, struct tt_text *out)
{
    struct work w = {0};
    uint32_t point;
    for (size_t at = 0, step; at < n && !w.failed; at += step) {
        step = (size_t)tt_utf8_decode(text + at, n - at, &point);
        if (tt_utf8_is_character(point))
            take_apart(&w, point);
        else
            for (size_t i = 0; i < step; i++) add(&w, BYTE + (unsigned char)text[at + i]);
    }
    order(&w);
    put_together(&w);
    for (size_t i = 0; i < w.n; i++)
        if (w.units[i].point >= BYTE)
            tt_text_add(out, &(char){(char)(w.units[i].point - BYTE)}, 1);
        else
            tt_utf8_put(out, w.units[i].point);
    free(w.units);
    return w.failed ? tt_no_memory("a text of %zu bytes", n) : tt_text_status(out);
}
