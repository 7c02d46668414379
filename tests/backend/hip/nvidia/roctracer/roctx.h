/* rocTX's ranges over NVTX, for HIP on an NVIDIA GPU. */
#ifndef TT_TEST_ROCTX_H
#define TT_TEST_ROCTX_H

#include <nvtx3/nvToolsExt.h>

#define roctxRangePushA nvtxRangePushA
#define roctxRangePop nvtxRangePop

#endif
