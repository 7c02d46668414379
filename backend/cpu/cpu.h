/* Shared by the files of the CPU backend. The kernels are compiled once per instruction set (kernels.c); each
 * compilation gives one struct cpu_kernels, and cpu.c picks the best one that this processor can run. */
#ifndef TT_CPU_H
#define TT_CPU_H

#include <stdatomic.h>
#include <time.h>

#include "backend/backend.h"

/* The number of threads, and `scratch_floats` of scratch memory for each, kept as long as the backend. */
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

    /* the built-in matrix multiply, and the floats of scratch per thread that it needs */
    void (*gemm)(const struct cpu_team *team, const struct tt_gemm *g);
    size_t (*gemm_scratch)(const struct tt_gemm *g, int threads);

    /* widens rows of 8-bit codes to a dense matrix of floats, times scales[row] unless `scales` is NULL */
    void (*fp8_widen)(const struct cpu_team *team, const uint8_t *codes, int64_t rows, int64_t cols, int64_t ld,
                      enum tt_dtype type, const float *scales, float *out);

    /* for C of one row; faster than a BLAS */
    void (*gemv)(const struct cpu_team *team, const struct tt_gemm *g);
    bool (*gemv_can)(const struct tt_gemm *g);
};

/* OpenBLAS hangs if it cannot allocate its buffers, one per thread. So that much address space is reserved at start,
 * where a failure can be reported, and released right before the first multiply. */
struct cpu_room {
    void *at;
    size_t bytes;
};

/* Seconds on the wall clock, and CPU seconds of all threads of this process. */
struct cpu_clocks {
    double wall, work;
};

struct cpu {
    const struct cpu_kernels *kernels;
    struct cpu_team team;
    bool blas;
    char blas_name[64];
    struct cpu_room blas_room;
    bool amx;
    void *panels; /* packed factors of a product on matrix units */
    size_t panel_bytes;
    float *wide; /* 8-bit factors as floats, while they are multiplied */
    size_t wide_floats;
    size_t memory_total;       /* 0 when unknown */
    atomic_size_t used, peak;  /* atomic: other threads may allocate too */
    struct cpu_worker *worker; /* NULL until the first task */
    struct cpu_mpi *mpi;       /* NULL before join */
    struct cpu_clocks asked;   /* at the last call of `usage`, or when the backend was opened */
};

struct tt_stream_s {
    uint64_t last; /* ticket of its last task; 0: none */
};

struct tt_event_s {
    bool recorded;
    struct timespec at;
    uint64_t ticket; /* of the task it comes after; 0: none */
};

extern const struct cpu_kernels tt_cpu_kernels_base;
#ifdef __x86_64__
extern const struct cpu_kernels tt_cpu_kernels_v3, tt_cpu_kernels_v4;
#endif

/* blas.c: a CBLAS, called from our own threads. tt_cpu_blas_open returns false if there is none. */
bool tt_cpu_blas_open(char *name, size_t size);
tt_status tt_cpu_blas_hold(int threads, struct cpu_room *room);
void tt_cpu_blas_let_go(struct cpu_room *room);
bool tt_cpu_blas_can(const struct tt_gemm *g);
void tt_cpu_blas_gemm(const struct cpu_team *team, const struct tt_gemm *g);

/* amx.c: products on the matrix units of x86; amx_none.c for other processors and compilers. `room` has
 * tt_cpu_amx_bytes(), aligned to 64. */
bool tt_cpu_amx_can(const struct tt_gemm *g);
size_t tt_cpu_amx_bytes(const struct tt_gemm *g);
void tt_cpu_amx_gemm(const struct cpu_team *team, const struct tt_gemm *g, void *room);

/* streams.c */
tt_status tt_cpu_stream_create(void *self, tt_stream *out);
void tt_cpu_stream_destroy(void *self, tt_stream s);
tt_status tt_cpu_stream_sync(void *self, tt_stream s); /* also called before every computation on s */
tt_status tt_cpu_stream_wait(void *self, tt_stream s, tt_event e);
tt_status tt_cpu_event_create(void *self, tt_event *out);
void tt_cpu_event_destroy(void *self, tt_event e);
tt_status tt_cpu_event_record(void *self, tt_event e, tt_stream s);
tt_status tt_cpu_event_query(void *self, tt_event e, bool *done);
tt_status tt_cpu_event_sync(void *self, tt_event e);
tt_status tt_cpu_event_elapsed(void *self, tt_event from, tt_event to, double *seconds);

/* Gives a task to the worker. On the NULL stream it waits for the task; on other streams it returns at once. */
struct cpu_task;
tt_status tt_cpu_enqueue(struct cpu *cpu, const struct cpu_task *task, tt_stream s);
tt_status tt_cpu_delay(void *self, double seconds, tt_stream s);

/* collectives.c */
tt_status tt_cpu_join(void *self, const struct tt_ranks *ranks);
tt_status tt_cpu_collective(void *self, const struct tt_collective *c, tt_stream s);
tt_status tt_cpu_split(void *self, int group);

/* mpi.c: collectives through MPI; mpi_none.c: without MPI. After joining, only one thread at a time may call these. */
void tt_cpu_mpi_name(char *name, size_t size);
tt_status tt_cpu_mpi_join(const struct tt_ranks *ranks, struct cpu_mpi **out);
void tt_cpu_mpi_leave(struct cpu_mpi *m, bool whole); /* false: a collective has failed, so other ranks may be gone */
int tt_cpu_mpi_ranks(const struct cpu_mpi *m); /* of its group */
tt_status tt_cpu_mpi_split(struct cpu_mpi *m, int group);
/* `to` of reduce-scatter and `from` of all-gather are one part; they may be this rank's part of the other buffer. */
tt_status tt_cpu_mpi_reduce_scatter(struct cpu_mpi *m, const float *from, float *to, size_t count);
tt_status tt_cpu_mpi_all_gather(struct cpu_mpi *m, const void *from, void *to, size_t count, size_t element);
/* `count` need not be a multiple of the ranks. */
tt_status tt_cpu_mpi_all_reduce(struct cpu_mpi *m, float *x, size_t count);

/* machine.c: properties of this computer. */
int tt_cpu_thread_count(void);
void tt_cpu_model_name(char *name, size_t size);
void tt_cpu_memory(size_t *total, size_t *free);
struct cpu_clocks tt_cpu_clocks(void);
bool tt_cpu_amx_allowed(void); /* whether the processor has AMX, and the system lets this process use it */
/* Whether the built-in multiply is preferred to a BLAS. On arm64 it is, except where a BLAS may use vectors of 512
 * bits. Vectors of 256 bits (SVE) are no faster than NEON, of which there are twice as many units. */
bool tt_cpu_builtin_first(void);

#endif
