/* Reads protocol buffers back, field by field. */
#ifndef TT_TEST_PROTO_READER_H
#define TT_TEST_PROTO_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const unsigned char *at, *end;
};

static inline uint64_t little(const unsigned char *p, int n)
{
    uint64_t x = 0;
    for (int i = 0; i < n; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static inline uint64_t varint(struct bytes *b)
{
    uint64_t x = 0;
    for (int shift = 0; b->at < b->end && shift < 64; shift += 7) {
        unsigned char c = *b->at++;
        x |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) break;
    }
    return x;
}

/* Reads the next field of a message and moves past it: its number, and its bytes or value. */
static inline bool next_field(struct bytes *message, unsigned *number, struct bytes *inside, double *value)
{
    if (message->at >= message->end) return false;
    uint64_t key = varint(message), n;
    *number = (unsigned)(key >> 3);
    *inside = (struct bytes){message->at, message->at};
    *value = 0;
    if ((key & 7) == 0) {
        *value = (double)varint(message);
    } else if ((key & 7) == 1) {
        uint64_t bits = little(message->at, 8);
        memcpy(value, &bits, 8);
        message->at += 8;
    } else if ((key & 7) == 5) {
        uint32_t bits = (uint32_t)little(message->at, 4);
        float f;
        memcpy(&f, &bits, 4);
        *value = (double)f;
        message->at += 4;
    } else {
        n = varint(message);
        *inside = (struct bytes){message->at, message->at + n};
        message->at += n;
    }
    return message->at <= message->end;
}

/* The n-th field, from 0, with the number `wanted`: its bytes, or its number in *value; either may be NULL. */
static inline bool nth_field(struct bytes message, unsigned wanted, int n, struct bytes *inside, double *value)
{
    unsigned number;
    struct bytes here;
    double x;
    while (next_field(&message, &number, &here, &x)) {
        if (number != wanted || n-- > 0) continue;
        if (inside) *inside = here;
        if (value) *value = x;
        return true;
    }
    return false;
}

static inline bool field(struct bytes message, unsigned wanted, struct bytes *inside, double *value)
{
    return nth_field(message, wanted, 0, inside, value);
}

static inline bool is_text(struct bytes b, const char *text)
{
    return (size_t)(b.end - b.at) == strlen(text) && memcmp(b.at, text, strlen(text)) == 0;
}

#endif
