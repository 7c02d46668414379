/* Profiles that other programs exported.
 * needs: profiling/import/import.h */
#include "profiling/import/import.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    struct tt_text log = {0};
    struct tt_profile *profile = calloc(1, sizeof *profile);
    PROMISE(profile);
    fuzz_refused(tt_import(&path, 1, 1, profile, &log));
    tt_profile_free(profile);
    tt_text_free(&log);
    free(profile);
    return 0;
}
