/* SHA-256, and the seal of a profile, which uses it. */
#include <unistd.h>

#include "core/base/sha256.h"
#include "profiling/profile.h"
#include "profiling/profile_write.h"
#include "profiling/seal.h"
#include "tests/test.h"

static void hashes(void)
{
    char out[TT_SHA256_DIGITS + 1], long_one[1000];
    tt_sha256("", 0, out);
    CHECK(!strcmp(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"), "%s", out);
    tt_sha256("abc", 3, out);
    CHECK(!strcmp(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), "%s", out);
    memset(long_one, 'a', sizeof long_one);
    tt_sha256(long_one, sizeof long_one, out);
    CHECK(!strcmp(out, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"), "%s", out);
}

static void seals(void)
{
    char path[] = "/tmp/tt-seal-XXXXXX", seal[TT_SHA256_DIGITS + 1];
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    struct tt_profile p = {.sealed = true}, back;
    p.step.seconds = 0.5;
    CHECK_OK(tt_profile_write_json(&p, path));
    CHECK_OK(tt_profile_read(path, &back));
    CHECK(back.sealed && back.step.seconds == 0.5);
    tt_profile_free(&back);
    FILE *f = fopen(path, "r");
    static char text[1 << 16];
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    CHECK(tt_seal_read(text, n, seal) && strlen(seal) == TT_SHA256_DIGITS);
    char *number = strstr(text, "0.5");
    CHECK(number != NULL);
    if (number) number[2] = '4';
    CHECK(!tt_seal_read(text, n, seal) && !seal[0], "a changed figure breaks it");
    CHECK(!tt_seal_read(text, 10, seal) && !tt_seal_read("", 0, seal));
    p.sealed = false;
    CHECK_OK(tt_profile_write_json(&p, path));
    CHECK_OK(tt_profile_read(path, &back));
    CHECK(!back.sealed, "what nobody measured has no seal");
    tt_profile_free(&back);
    remove(path);
    fclose(fdopen(fd, "r"));
}

int main(void)
{
    TEST(hashes);
    TEST(seals);
    return test_end();
}
