/* RCCL's names are NCCL's, for HIP on an NVIDIA GPU. */
#ifndef TT_TEST_RCCL_H
#define TT_TEST_RCCL_H

#include <nccl.h>

#endif
