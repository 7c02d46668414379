/* rocBLAS has its GEMM kernels in files: TensileLibrary_lazy_gfx942.dat and others, in lib/rocblas/library (AMD), in
 * lib/rocblas/VERSION/library (Debian), or in ROCBLAS_TENSILE_LIBPATH. Some builds have a folder for each chip in
 * there. */
#include "backend/hip/rocblas.h"

#include <dirent.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the folder ---- */

static int find_library(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "/librocblas.so")) return 0;
    snprintf(out, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

static bool is_folder(const char *path)
{
    DIR *d = opendir(path);
    if (d) closedir(d);
    return d != NULL;
}

/* Debian's lib/rocblas/5.1.0/library. */
static bool find_versioned(const char *beside, char *out, size_t size)
{
    char parent[PATH_MAX];
    bool found = false;
    snprintf(parent, sizeof parent, "%.*s/rocblas", PATH_MAX - 16, beside);
    DIR *d = opendir(parent);
    if (!d) return false;
    for (struct dirent *e; !found && (e = readdir(d));) {
        if (e->d_name[0] < '0' || e->d_name[0] > '9') continue;
        int length = snprintf(out, size, "%s/%s/library", parent, e->d_name);
        found = length > 0 && (size_t)length < size && is_folder(out);
    }
    closedir(d);
    return found;
}

static bool find_folder(char *out, size_t size)
{
    static const char *const places[] = {"/../../Tensile/library", "/library", "/../rocblas/library",
                                         "/../Tensile/library", "/rocblas/library"};
    char library[PATH_MAX] = "";
    const char *named = getenv("ROCBLAS_TENSILE_LIBPATH");
    if (named) return snprintf(out, size, "%s", named) < (int)size && is_folder(out);
    if (!dl_iterate_phdr(find_library, library)) return false;
    *strrchr(library, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(out, size, "%s%s", library, places[i]) < (int)size && is_folder(out)) return true;
    return find_versioned(library, out, size);
}

/* ---- the chips ---- */

/* The chip in the name of a file or folder: "TensileLibrary_lazy_gfx942.dat", "TensileLibrary_gfx942.dat", "gfx942",
 * "gfx942-xnack+"; empty for others. */
static void chip_of(const char *name, char *out, size_t size)
{
    static const char *const before[] = {"TensileLibrary_lazy_", "TensileLibrary_", ""};
    *out = '\0';
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t skip = strlen(before[i]);
        if (strncmp(name, before[i], skip) || strncmp(name + skip, "gfx", 3)) continue;
        size_t length = 3 + strspn(name + skip + 3, "0123456789abcdef");
        bool ends = skip ? name[skip + length] == '.' : !name[length] || !strncmp(name + length, "-xnack", 6);
        if (ends && length < size) snprintf(out, size, "%.*s", (int)length, name + skip);
        return;
    }
}

static void add_chip(char *list, size_t size, const char *chip)
{
    size_t used = strlen(list), length = strlen(chip);
    bool last = used >= length && !strcmp(list + used - length, chip); /* sorted, so duplicates are adjacent */
    if (!last && used + length + 2 <= size) snprintf(list + used, size - used, "%s%s", used ? " " : "", chip);
}

/* The chip whose kernels `arch` may use instead, or "". Builds of Linux distributions let a chip use the kernels of the
 * first chip of its family, such as gfx1031 those of gfx1030; AMD's builds do not. */
static void stand_in(const char *folder, const char *arch, char *out, size_t size)
{
    size_t length = strlen(arch);
    *out = '\0';
    if (strncmp(folder, "/usr/", 5) || length < 6 || length >= size) return;
    snprintf(out, size, "%.*s0", (int)length - 1, arch);
}

bool tt_rocblas_has(const char *arch, struct rocblas_files *out)
{
    struct dirent **files;
    char chip[32], other[32];
    bool has = false;
    *out = (struct rocblas_files){0};
    if (!find_folder(out->folder, sizeof out->folder)) return true;
    int count = scandir(out->folder, &files, NULL, alphasort);
    if (count < 0) return true;
    stand_in(out->folder, arch, other, sizeof other);
    for (int i = 0; i < count; i++) {
        const char *name = files[i]->d_name;
        chip_of(name, chip, sizeof chip);
        if (chip[0]) add_chip(out->chips, sizeof out->chips, chip);
        has |= chip[0] && (!strcmp(chip, arch) || !strcmp(chip, other));
        has |= !strncmp(name, "TensileLibrary.", 15) || strstr(name, "-generic"); /* for any chip, or for a family */
        free(files[i]);
    }
    free(files);
    return has || !out->chips[0];
}
