/* What a kernel is called by a profiler, and what part of a step it belongs to: our own kernels, the matrix products of
 * cuBLAS, hipBLASLt (Tensile) and CUTLASS, PyTorch's operators and kernels. */
#ifndef TT_NAMES_H
#define TT_NAMES_H

#include <stddef.h>

/* Without return type, namespaces, template arguments and parameters; "map_vectors<swiglu_op<float>>" is "swiglu". */
void tt_kernel_short_name(const char *name, char *out, size_t size);

/* A group of backend/kernels.h where the name tells; else "gemm", "elementwise", "reduction", "copies",
 * "communication" or "other". */
const char *tt_kernel_group_of(const char *name);

#endif
