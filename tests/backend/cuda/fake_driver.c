/* A libcuda.so.1 that exists but does not work, for the real CUDA runtime to load. It reports version
 * $FAKE_CUDA_VERSION, and cuInit returns $FAKE_CUDA_INIT. The runtime looks up every function by name; functions that
 * it calls only after cuInit do nothing. */
#include <stdlib.h>
#include <string.h>

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

int cuDriverGetVersion(int *version)
{
    *version = number("FAKE_CUDA_VERSION");
    return 0;
}

int cuInit(unsigned flags)
{
    (void)flags;
    return number("FAKE_CUDA_INIT");
}

static int nothing(void) { return 0; }

int cuGetExportTable(const void **table, const void *id)
{
    static const void *entries[64] = {(void *)sizeof entries};
    (void)id;
    for (int i = 1; i < 64; i++) entries[i] = (void *)nothing;
    *table = entries;
    return 0;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *found)
{
    static const struct {
        const char *name;
        void *function;
    } known[] = {{"cuDriverGetVersion", (void *)cuDriverGetVersion},
                 {"cuInit", (void *)cuInit},
                 {"cuGetExportTable", (void *)cuGetExportTable},
                 {"cuGetProcAddress", (void *)cuGetProcAddress_v2}};
    (void)version, (void)flags;
    *function = (void *)nothing;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) *function = known[i].function;
    if (found) *found = 0;
    return 0;
}

int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
