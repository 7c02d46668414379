/* One step on its tracks: host, copy, compute, and communication where there are several ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiling/report/advice.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"

enum { SPANS_SHOWN = 1500 };

static const char *const tracks[] = {"host", "copy", "compute", "communication"};

static int track_of(const char *track)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(track, tracks[i]) == 0) return i;
    return 2;
}

/* Only the innermost events are drawn: kernels, copies, collectives, and waits and ranges of the host. */
static bool drawn(const struct tt_profile_event *e)
{
    return strcmp(e->kind, "kernel") == 0 || strcmp(e->kind, "copy") == 0 || strcmp(e->kind, "wait") == 0 ||
           strcmp(e->kind, "collective") == 0 ||
           (strcmp(e->track, "host") == 0 && strcmp(e->kind, "range") == 0);
}

void html_timeline(struct tt_text *t, const struct tt_profile *p)
{
    struct tt_span *spans = calloc(SPANS_SHOWN, sizeof *spans);
    int64_t step = -1;
    int n = 0, colors[TT_FAMILIES];
    double end = 0;
    for (int i = 0; spans && i < p->events_count && n < SPANS_SHOWN; i++) {
        const struct tt_profile_event *e = &p->events[i];
        if (step < 0) step = e->step;
        if (e->step != step || !drawn(e)) continue;
        spans[n++] =
            (struct tt_span){e->name, e->start, e->start + e->seconds, track_of(e->track), (int)tt_family_of(e->group)};
        end = fmax(end, e->start + e->seconds);
    }
    html_section(t, "timeline", "Timeline");
    if (n) {
        char time[32];
        tt_svg_timeline(t, &(struct tt_timeline){"One step", tracks, p->job.ranks ? 4 : 3, spans, n});
        for (int i = 0; i < TT_FAMILIES; i++) colors[i] = i;
        tt_legend(t, tt_family_names, colors, TT_FAMILIES);
        html_note(t,
                  "%d events in %s. trace.json has all of them, within their layers and phases; open it in "
                  "ui.perfetto.dev.",
                  n, tt_si_time(end, time));
        html_fold(t, "The same as a table", false);
        html_table(t, "track|name|group|#start|#length");
        for (int i = 0, k = 0; i < p->events_count && k < n; i++) {
            const struct tt_profile_event *e = &p->events[i];
            if (e->step != step || !drawn(e)) continue;
            k++;
            html_row(t);
            html_cell(t, "%s", e->track);
            html_cell(t, "%s", e->name);
            html_cell(t, "%s", e->group);
            html_number(t, e->start, tt_si_time(e->start, time));
            html_number(t, e->seconds, tt_si_time(e->seconds, time));
            html_row_end(t);
        }
        html_table_end(t);
        html_fold_end(t);
    } else {
        html_paragraph(t, "n/a: no single launches were recorded.");
    }
    html_section_end(t);
    free(spans);
}
