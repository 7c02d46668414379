#include "core/base/protobuf.h"

#include <string.h>

enum kind { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

void tt_little_endian(unsigned char *out, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) out[i] = (unsigned char)(x >> 8 * i);
}

static void put_varint(struct tt_text *t, uint64_t x)
{
    do {
        char byte = (char)((x & 0x7f) | (x > 0x7f ? 0x80 : 0));
        tt_text_add(t, &byte, 1);
        x >>= 7;
    } while (x);
}

static void put_key(struct tt_text *t, int field, enum kind kind) { put_varint(t, (uint64_t)field << 3 | kind); }

void tt_proto_int(struct tt_text *t, int field, int64_t x)
{
    put_key(t, field, VARINT);
    put_varint(t, (uint64_t)x);
}

static void put_fixed(struct tt_text *t, uint64_t bits, int size)
{
    unsigned char bytes[8];
    tt_little_endian(bytes, bits, size);
    tt_text_add(t, (char *)bytes, (size_t)size);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

void tt_proto_double(struct tt_text *t, int field, double x)
{
    put_key(t, field, FIXED64);
    put_fixed(t, bits_of(x), 8);
}

void tt_proto_float(struct tt_text *t, int field, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    put_key(t, field, FIXED32);
    put_fixed(t, bits, 4);
}

void tt_proto_bytes(struct tt_text *t, int field, const char *s, size_t n)
{
    put_key(t, field, BYTES);
    put_varint(t, n);
    tt_text_add(t, s, n);
}

void tt_proto_string(struct tt_text *t, int field, const char *s) { tt_proto_bytes(t, field, s, strlen(s)); }

void tt_proto_doubles(struct tt_text *t, int field, const double *x, int n)
{
    put_key(t, field, BYTES);
    put_varint(t, (uint64_t)n * 8);
    for (int i = 0; i < n; i++) put_fixed(t, bits_of(x[i]), 8);
}

void tt_proto_message(struct tt_text *t, int field, struct tt_text *message)
{
    if (message->failed) t->failed = true;
    tt_proto_bytes(t, field, message->s ? message->s : "", message->n);
    tt_text_free(message);
}
