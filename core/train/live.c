#include "core/train/live.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

void tt_live_add(struct tt_live *l, int importance, const char *format, ...)
{
    if (l->count == TT_LIVE_PARTS) return;
    struct tt_live_part *part = &l->parts[l->count++];
    part->importance = importance;
    va_list args;
    va_start(args, format);
    vsnprintf(part->text, sizeof part->text, format, args);
    va_end(args);
}

static size_t length(const struct tt_live *l)
{
    size_t n = 0;
    for (int i = 0; i < l->count; i++)
        if (l->parts[i].text[0]) n += strlen(l->parts[i].text) + (n ? 2 : 0);
    return n;
}

/* Drops the least important part; among equals, the rightmost one. */
static bool drop_one(struct tt_live *l)
{
    struct tt_live_part *least = NULL;
    for (int i = 0; i < l->count; i++) {
        struct tt_live_part *part = &l->parts[i];
        if (part->text[0] && (!least || part->importance <= least->importance)) least = part;
    }
    if (least) least->text[0] = 0;
    return least != NULL;
}

void tt_live_text(const struct tt_live *l, int width, char *out, size_t size)
{
    struct tt_live fitting = *l;
    while (length(&fitting) > (size_t)(width > 0 ? width : 0) && drop_one(&fitting)) {
    }
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < fitting.count && n < size; i++)
        if (fitting.parts[i].text[0])
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "  " : "", fitting.parts[i].text);
}

int tt_live_width(FILE *terminal)
{
    struct winsize size;
    if (ioctl(fileno(terminal), TIOCGWINSZ, &size) || size.ws_col == 0) return 80;
    return size.ws_col;
}

static void number(double rate, bool slow, char out[16])
{
    double x = slow ? 1 / rate : rate;
    snprintf(out, 16, "%.*f", x < 100 ? 2 : 0, x);
}

void tt_live_rates(double recent, double overall, char out[32], char out_overall[32])
{
    char text[16];
    bool slow = recent < 1;
    number(recent, slow, text);
    snprintf(out, 32, "%s %s", text, slow ? "s/step" : "steps/s");
    number(overall, slow, text);
    snprintf(out_overall, 32, "(overall %s)", text);
}
