/* Short names for kernels as profilers report them, and the part of a step that each belongs to: our own kernels, the
 * matrix products of cuBLAS, hipBLASLt (Tensile) and CUTLASS, PyTorch's operators and kernels. */
#ifndef TT_NAMES_H
#define TT_NAMES_H

#include <stddef.h>

/* The name without return type, namespaces, template arguments and parameters. A kernel that applies an operation gets
 * the operation's name: "swiglu" for "map_vectors<swiglu_op<float>>". */
void tt_kernel_short_name(const char *name, char *out, size_t size);

/* The group of backend/kernels.h where the name tells it; else "gemm", "elementwise", "reduction", "copies",
 * "communication" or "other". */
const char *tt_kernel_group_of(const char *name);

#endif
