/* TensorBoard event files: records with checksums, each a protocol buffer with a wall-clock time, a step and values.
 * Scalars, histograms and text can be written. */
#ifndef TT_EVENTS_H
#define TT_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct tt_events; /* an open file */

/* Makes the folder if it does not exist, and a new file in it, whose name contains the time, as TensorBoard expects.
 * TensorBoard then drops steps after `done` that older files in the folder have. So a resumed run shows as one curve,
 * and a new run replaces the old one. */
tt_status tt_events_open(const char *folder, int64_t done, struct tt_events **out);
/* Fails if anything could not be written. */
tt_status tt_events_close(struct tt_events *e);

/* A failure to write is remembered; tt_events_flush and tt_events_close return it. */
void tt_events_scalar(struct tt_events *e, int64_t step, const char *tag, double value);
void tt_events_histogram(struct tt_events *e, int64_t step, const char *tag, const double *values, int n);
void tt_events_text(struct tt_events *e, int64_t step, const char *tag, const char *text);
tt_status tt_events_flush(struct tt_events *e);

/* The checksum of the records: CRC-32C, rotated by 15 bits and with a constant added ("masked"). */
uint32_t tt_events_checksum(const void *data, size_t n);

#endif
