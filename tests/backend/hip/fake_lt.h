/* What was asked of the fake hipBLASLt in fake_runtime.c. */
#ifndef TT_TEST_FAKE_LT_H
#define TT_TEST_FAKE_LT_H

#include <stdbool.h>

#include "backend/hip/blaslt.h"

struct fake_lt {
    bool no_fp8;           /* it proposes nothing for 8-bit factors */
    bool no_rows;          /* it proposes nothing for row scales */
    struct lt_shape shape; /* of the last product */
    struct lt_call call;
};

extern struct fake_lt fake_lt;

#endif
