/* Numbers as people read them. */
#ifndef TT_FORMAT_H
#define TT_FORMAT_H

/* "1 layer", "2 layers": printf("%d layer%s", n, tt_plural(n)). */
static inline const char *tt_plural(long long n) { return n == 1 ? "" : "s"; }

/* "999", "1.5 k", "31.98 M", "1.03 G", "2.00 T" */
void tt_format_count(double n, char out[32]);
/* "0.5 KiB", "12.0 MiB", "1.25 GiB" */
void tt_format_bytes(double n, char out[32]);

/* "1:02:03", "12:05", "7 s" */
void tt_format_duration(double seconds, char out[32]);

#endif
