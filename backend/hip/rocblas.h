/* Whether rocBLAS, with which hipBLAS multiplies, has kernels for a chip. It cannot be asked: where it has none, its
 * first product ends the program. So its files are looked at, where it would look for them. */
#ifndef TT_HIP_ROCBLAS_H
#define TT_HIP_ROCBLAS_H

#include <stdbool.h>

struct rocblas_files {
    char folder[512]; /* where its kernels lie; empty when that could not be found out */
    char chips[200];  /* those that it has kernels for: "gfx908 gfx90a gfx942" */
};

/* False only when it is sure that there are none for `arch`, such as "gfx906"; fills *out then. */
bool tt_rocblas_has(const char *arch, struct rocblas_files *out);

#endif
