/* CRC-32 by table lookup, sixteen bytes at a time: as fast as a disk, without CRC instructions. Little-endian hosts. */
#include "core/base/crc32.h"

#include <string.h>

/* tables[k][b] is the CRC remainder of byte b followed by k zero bytes, for the polynomial 0xedb88320 (bits reversed).
 * The CRC is linear: the entry of a byte is the xor of the entries of its bits. So the compiler builds each table of
 * 256 from its eight entries 1, 2, 4, ... 128. */
#define BIT(b, i, c) ((b) >> (i)&1 ? (c) : 0u)
#define ENTRY(b, c0, c1, c2, c3, c4, c5, c6, c7)                                                                       \
    BIT(b, 0, c0) ^ BIT(b, 1, c1) ^ BIT(b, 2, c2) ^ BIT(b, 3, c3) ^ BIT(b, 4, c4) ^ BIT(b, 5, c5) ^ BIT(b, 6, c6) ^    \
        BIT(b, 7, c7)
#define ENTRIES_4(b, ...)                                                                                              \
    ENTRY((b) + 0, __VA_ARGS__), ENTRY((b) + 1, __VA_ARGS__), ENTRY((b) + 2, __VA_ARGS__), ENTRY((b) + 3, __VA_ARGS__)
#define ENTRIES_16(b, ...)                                                                                             \
    ENTRIES_4((b) + 0, __VA_ARGS__), ENTRIES_4((b) + 4, __VA_ARGS__), ENTRIES_4((b) + 8, __VA_ARGS__),                 \
        ENTRIES_4((b) + 12, __VA_ARGS__)
#define ENTRIES_64(b, ...)                                                                                             \
    ENTRIES_16((b) + 0, __VA_ARGS__), ENTRIES_16((b) + 16, __VA_ARGS__), ENTRIES_16((b) + 32, __VA_ARGS__),            \
        ENTRIES_16((b) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                                     \
    {                                                                                                                  \
        ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),                         \
            ENTRIES_64(192, __VA_ARGS__)                                                                               \
    }

static const uint32_t tables[16][256] = {
    TABLE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
    TABLE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
    TABLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
    TABLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
    TABLE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
    TABLE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
    TABLE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
    TABLE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
    TABLE(0x177b1443, 0x2ef62886, 0x5dec510c, 0xbbd8a218, 0xacc04271, 0x82f182a3, 0xde920307, 0x6655004f),
    TABLE(0xefc26b3e, 0x04f5d03d, 0x09eba07a, 0x13d740f4, 0x27ae81e8, 0x4f5d03d0, 0x9eba07a0, 0xe6050901),
    TABLE(0xc18edfc0, 0x586cb9c1, 0xb0d97382, 0xbac3e145, 0xaef6c4cb, 0x869c8fd7, 0xd64819ef, 0x77e1359f),
    TABLE(0x9ba54c6f, 0xec3b9e9f, 0x03063b7f, 0x060c76fe, 0x0c18edfc, 0x1831dbf8, 0x3063b7f0, 0x60c76fe0),
    TABLE(0xdd96d985, 0x605cb54b, 0xc0b96a96, 0x5a03d36d, 0xb407a6da, 0xb37e4bf5, 0xbd8d91ab, 0xa06a2517),
    TABLE(0x9d0fe176, 0xe16ec4ad, 0x19ac8f1b, 0x33591e36, 0x66b23c6c, 0xcd6478d8, 0x41b9f7f1, 0x8373efe2),
    TABLE(0xb9fbdbe8, 0xa886b191, 0x8a7c6563, 0xcf89cc87, 0x44629f4f, 0x88c53e9e, 0xcafb7b7d, 0x4e87f0bb),
    TABLE(0xae689191, 0x87a02563, 0xd4314c87, 0x73139f4f, 0xe6273e9e, 0x173f7b7d, 0x2e7ef6fa, 0x5cfdedf4),
};

static uint64_t load8(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The contribution of the eight bytes in x; the last byte uses t[0]. */
static uint32_t fold(const uint32_t t[8][256], uint64_t x)
{
    return t[7][x & 255] ^ t[6][x >> 8 & 255] ^ t[5][x >> 16 & 255] ^ t[4][x >> 24 & 255] ^ t[3][x >> 32 & 255] ^
           t[2][x >> 40 & 255] ^ t[1][x >> 48 & 255] ^ t[0][x >> 56];
}

/* ---- joining two CRCs ---- */

/* a·b modulo the polynomial; the highest bit is the coefficient of x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (b & bit) product ^= a;
        a = a >> 1 ^ (a & 1 ? 0xedb88320u : 0);
    }
    return product;
}

/* n bytes after the first part multiply its CRC by x^(8n). */
uint32_t tt_crc32_join(uint32_t first, uint32_t second, uint64_t n)
{
    uint32_t power = 1u << 23; /* x^8, squared in each round */
    for (; n; n >>= 1) {
        if (n & 1) first = multiply(power, first);
        power = multiply(power, power);
    }
    return first ^ second;
}

/* ---- the CRC of bytes ---- */

uint32_t tt_crc32(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;
    crc = ~crc;
    for (; n >= 16; p += 16, n -= 16) crc = fold(tables + 8, load8(p) ^ crc) ^ fold(tables, load8(p + 8));
    for (; n; n--) crc = crc >> 8 ^ tables[0][(crc ^ *p++) & 255];
    return ~crc;
}
