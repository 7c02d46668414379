/* Several ranks: their collectives, and how the ranks differ. */
#include "profiling/report/advice.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"

static void time_cell(struct tt_text *t, double seconds)
{
    char a[32];
    html_number(t, seconds, tt_si_time(seconds, a));
}

static void collectives(struct tt_text *t, const struct tt_profile *p)
{
    char a[32];
    html_table(t, "collective|type|phase|#count|#bytes|#sent|#a step|#hidden|#exposed|#fastest|#algorithm B/s|"
                  "#bus B/s");
    for (int i = 0; i < p->collectives_count; i++) {
        const struct tt_profile_collective *c = &p->collectives[i];
        html_row(t);
        html_cell(t, "%s", c->name);
        html_cell(t, "%s", c->type);
        html_cell(t, "%s", c->phase);
        html_number(t, (double)c->count, html_fixed((double)c->count, 0, a));
        html_number(t, c->bytes, tt_si_bytes(c->bytes, a));
        html_number(t, c->sent_bytes, tt_si_bytes(c->sent_bytes, a));
        time_cell(t, c->seconds);
        time_cell(t, c->hidden);
        time_cell(t, c->exposed);
        time_cell(t, c->fastest);
        html_number(t, c->algorithm_bandwidth, tt_si(c->algorithm_bandwidth, a));
        html_number(t, c->bus_bandwidth, tt_si(c->bus_bandwidth, a));
        html_row_end(t);
    }
    html_table_end(t);
    html_note(t, "Times are those of rank 0 and include waiting for later ranks. Fastest: the time of one collective "
                 "on the rank that waits least; both bandwidths follow from it. Bus: what a rank sends around a ring, "
                 "as nccl-tests counts it.");
}

static void ranks(struct tt_text *t, const struct tt_profile *p)
{
    char a[32];
    html_table(t, "#rank|host|device|#step|#p95|#computes|#communicates|#hidden|#exposed|#peak memory|#clock ahead|"
                  "#within");
    for (int i = 0; i < p->ranks_count; i++) {
        const struct tt_profile_rank *r = &p->ranks[i];
        html_row(t);
        html_number(t, (double)r->rank, html_fixed((double)r->rank, 0, a));
        html_cell(t, "%s%s", r->host, i == p->job.slowest ? " (slowest)" : "");
        html_cell(t, "%s", r->device);
        time_cell(t, r->seconds);
        time_cell(t, r->p95);
        time_cell(t, r->own_seconds);
        time_cell(t, r->communication);
        time_cell(t, r->hidden);
        time_cell(t, r->exposed);
        html_number(t, r->peak_memory_bytes, tt_si_bytes(r->peak_memory_bytes, a));
        time_cell(t, r->clock_ahead);
        time_cell(t, r->clock_within);
        html_row_end(t);
    }
    html_table_end(t);
    html_note(t, "Everything else on this page shows rank 0. trace.json has all ranks: %s.", p->job.clocks);
}

void html_ranks(struct tt_text *t, const struct tt_profile *p)
{
    char words[400];
    if (!p->job.ranks) return;
    html_section(t, "ranks", "Ranks and communication");
    tt_ranks_remark(p, words);
    html_paragraph(t, "%s", words);
    collectives(t, p);
    ranks(t, p);
    html_section_end(t);
}
