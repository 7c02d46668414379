/* Replaces blaslt.cpp if hipBLASLt was not found: opening always fails. */
#include "backend/hip/blaslt.h"

int tt_lt_open(void **lt)
{
    *lt = NULL;
    return 1;
}

void tt_lt_close(void *lt) { (void)lt; }

int tt_lt_version(void *lt)
{
    (void)lt;
    return 0;
}

int tt_lt_plan(const struct lt_shape *shape, void **plan)
{
    (void)shape;
    *plan = NULL;
    return 1;
}

void tt_lt_plan_free(void *plan) { (void)plan; }

int tt_lt_propose(void *lt, const void *plan, size_t workspace_bytes, int most, unsigned char (*found)[LT_ALGORITHM],
                  int *count)
{
    (void)lt, (void)plan, (void)workspace_bytes, (void)most, (void)found;
    *count = 0;
    return 1;
}

int tt_lt_multiply(void *lt, const void *plan, const unsigned char algorithm[LT_ALGORITHM], const struct lt_call *call)
{
    (void)lt, (void)plan, (void)algorithm, (void)call;
    return 1;
}
