/* What the files of the CPU backend share. The kernels are compiled once per instruction set (kernels.c); each
 * compilation is one struct cpu_kernels, and cpu.c picks the best one this processor can run. */
#ifndef TT_CPU_H
#define TT_CPU_H

#include "backend/backend.h"

/* Who works: this many threads, each with `scratch_floats` of memory of its own that lives as long as the backend. */
struct cpu_team {
    int threads;
    float *scratch;
    size_t scratch_floats; /* per thread */
};

struct cpu_kernels {
    const char *isa;
    void (*launch[TT_KERNELS])(const struct cpu_team *team, const void *args);

    /* floats of scratch per thread that a kernel needs; 0 for most */
    size_t (*launch_scratch)(enum tt_kernel kernel, const void *args);

    /* the built-in matrix multiply, for machines without a BLAS */
    void (*gemm)(const struct cpu_team *team, const struct tt_gemm *g);
    size_t gemm_scratch;

    /* for one row, faster than a BLAS too */
    void (*gemv)(const struct cpu_team *team, const struct tt_gemm *g);
    bool (*gemv_can)(const struct tt_gemm *g);
};

extern const struct cpu_kernels tt_cpu_kernels_base;
#ifdef __x86_64__
extern const struct cpu_kernels tt_cpu_kernels_v3, tt_cpu_kernels_v4;
#endif

/* blas.c: a CBLAS on our own threads. When there is none tt_cpu_blas_open answers false. */
bool tt_cpu_blas_open(char *name, size_t size);
/* OpenBLAS waits for ever when there is no memory for its buffers, one per thread. So that memory is held from the
 * start, where running out of it can be reported, and let go right before the first multiply asks for it. */
struct cpu_room {
    void *at;
    size_t bytes;
};
tt_status tt_cpu_blas_hold(int threads, struct cpu_room *room);
void tt_cpu_blas_let_go(struct cpu_room *room);
bool tt_cpu_blas_can(const struct tt_gemm *g);
void tt_cpu_blas_gemm(const struct cpu_team *team, const struct tt_gemm *g);

/* machine.c: what this computer is. */
int tt_cpu_thread_count(void);
void tt_cpu_model_name(char *name, size_t size);
void tt_cpu_memory(size_t *total, size_t *free);

#endif
