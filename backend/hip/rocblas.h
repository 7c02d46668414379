/* Whether rocBLAS, which hipBLAS uses, has kernels for a chip. It has no function for that, and if it has none, its
 * first product aborts the program. So this looks at its files, where rocBLAS would look for them. */
#ifndef TT_HIP_ROCBLAS_H
#define TT_HIP_ROCBLAS_H

#include <stdbool.h>

struct rocblas_files {
    char folder[512]; /* with its kernels; empty if not found */
    char chips[200];  /* chips that it has kernels for: "gfx908 gfx90a gfx942" */
};

/* False only if there are certainly none for `arch`, such as "gfx906". Fills *out. */
bool tt_rocblas_has(const char *arch, struct rocblas_files *out);

#endif
