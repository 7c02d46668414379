/* The build id that this program reads of itself is the one in its file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/build_id.h"
#include "tests/test.h"

static bool file_has(const unsigned char *bytes, size_t n)
{
    FILE *f = fopen("/proc/self/exe", "rb");
    bool found = false;
    if (!f) return false;
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    unsigned char *all = malloc(size);
    rewind(f);
    size_t got = all ? fread(all, 1, size, f) : 0;
    for (size_t i = 0; i + n <= got && !found; i++) found = memcmp(all + i, bytes, n) == 0;
    free(all);
    fclose(f);
    return found;
}

static void it_is_that_of_the_file(void)
{
    char id[48], again[48];
    unsigned char bytes[24];
    tt_build_id(id, sizeof id);
    tt_build_id(again, sizeof again);
    CHECK(!strcmp(id, again), "%s, then %s", id, again);
    if (!id[0]) return; /* the linker has no such option */
    size_t n = strlen(id) / 2;
    CHECK(n >= 8 && strlen(id) % 2 == 0 && strspn(id, "0123456789abcdef") == strlen(id), "%s", id);
    for (size_t i = 0; i < n && i < sizeof bytes; i++) {
        char digits[] = {id[2 * i], id[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    CHECK(file_has(bytes, n < sizeof bytes ? n : sizeof bytes), "%s is not in the program", id);
}

static void it_fits_its_room(void)
{
    char id[48], less[6] = "xxxxx";
    tt_build_id(id, sizeof id);
    tt_build_id(less, sizeof less);
    CHECK(strlen(less) < sizeof less && !strncmp(id, less, strlen(less)), "%s of %s", less, id);
}

int main(void)
{
    TEST(it_is_that_of_the_file);
    TEST(it_fits_its_room);
    return test_end();
}
