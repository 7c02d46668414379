/* Rows of tokens cut into documents, for the tests of kernels that restrict attention to a document. */
#ifndef TT_TEST_DOCUMENTS_H
#define TT_TEST_DOCUMENTS_H

#include "tests/backend/kernels/tensor.h"

/* JOINED: no bounds. WHOLE: one document per row. SINGLE: one token per document. AT_TILES: documents end where tiles
 * end. AROUND_TILES: one token before and one token after that. MIXED: long and short documents, different in every
 * row. */
enum cut { JOINED, WHOLE, SINGLE, AT_TILES, AROUND_TILES, MIXED, CUTS };

struct documents {
    struct tensor *starts, *ends; /* (B, S), or NULL */
};

static inline bool ends_document(enum cut cut, int64_t b, int64_t i)
{
    switch (cut) {
    case SINGLE: return true;
    case AT_TILES: return (i + 1) % (b % 2 ? 128 : 64) == 0;
    case AROUND_TILES: return i % 64 == 62 || i % 64 == 0;
    case MIXED: return tt_random(20240229, (uint64_t)b, (uint64_t)i) % (i / 64 % 2 ? 50 : 9) == 0;
    default: return false;
    }
}

/* The bounds of a token's document, found by searching for its ends. */
static inline int64_t document_start(enum cut cut, int64_t b, int64_t i)
{
    while (i > 0 && !ends_document(cut, b, i - 1)) i--;
    return i;
}

static inline int64_t document_end(enum cut cut, int64_t b, int64_t i, int64_t S)
{
    while (i < S - 1 && !ends_document(cut, b, i)) i++;
    return i + 1;
}

static inline struct documents cut_rows(enum cut cut, int64_t B, int64_t S)
{
    if (cut == JOINED) return (struct documents){0};
    struct documents d = {new_tensor("starts", INT32, B, S, 0), new_tensor("ends", INT32, B, S, 0)};
    for (int64_t n = 0; n < B * S; n++) {
        d.starts->v[n] = (double)document_start(cut, n / S, n % S);
        d.ends->v[n] = (double)document_end(cut, n / S, n % S, S);
    }
    encode(d.starts);
    encode(d.ends);
    return d;
}

#endif
