/* Writes protocol buffers: fields of a message, each a key (its number and kind) and the value. */
#ifndef TT_PROTOBUF_H
#define TT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

void tt_little_endian(unsigned char *out, uint64_t x, int bytes);

void tt_proto_int(struct tt_text *t, int field, int64_t x);
void tt_proto_double(struct tt_text *t, int field, double x);
void tt_proto_float(struct tt_text *t, int field, float x);
void tt_proto_bytes(struct tt_text *t, int field, const char *s, size_t n);
void tt_proto_string(struct tt_text *t, int field, const char *s);
void tt_proto_doubles(struct tt_text *t, int field, const double *x, int n); /* packed */

/* Adds a message as a field of another one, and frees it. */
void tt_proto_message(struct tt_text *t, int field, struct tt_text *message);

#endif
