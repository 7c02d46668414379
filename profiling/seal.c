#include "profiling/seal.h"

#include <string.h>

static const char before[] = ",\n  \"seal\": \"", after[] = "\"\n}\n";
enum { BEFORE = sizeof before - 1, AFTER = sizeof after - 1 };

void tt_seal_put(struct tt_json_writer *w)
{
    char seal[TT_SHA256_DIGITS + 1];
    if (w->text.failed) return;
    tt_sha256(w->text.s, w->text.n, seal);
    tt_json_put_string(w, "seal", seal);
}

bool tt_seal_read(const char *text, size_t n, char out[TT_SHA256_DIGITS + 1])
{
    enum { LINE = BEFORE + TT_SHA256_DIGITS + AFTER };
    out[0] = 0;
    if (n < LINE) return false;
    const char *line = text + n - LINE, *digits = line + BEFORE;
    if (memcmp(line, before, BEFORE) != 0 || memcmp(digits + TT_SHA256_DIGITS, after, AFTER) != 0) return false;
    char seal[TT_SHA256_DIGITS + 1];
    tt_sha256(text, n - LINE, seal);
    if (memcmp(seal, digits, TT_SHA256_DIGITS) != 0) return false;
    memcpy(out, seal, sizeof seal);
    return true;
}
