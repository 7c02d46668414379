/* For tests of products with our own epilogues, which few devices have. */
#ifndef TT_PRODUCTS_OR_SKIP_H
#define TT_PRODUCTS_OR_SKIP_H

#include "backend/backend.h"
#include "tests/test.h"

/* In main: skips the whole program if the device has none. */
#define PRODUCTS_OR_SKIP(backend)                                                                  \
    do {                                                                                           \
        struct tt_device_info info;                                                                \
        OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, backend));                   \
        CHECK_OK((backend)->ops->info((backend)->self, &info));                                    \
        tt_backend_close(backend);                                                                 \
        if (!info.product_epilogues) {                                                             \
            printf("skipped: this device has no products with epilogues of ours\n");              \
            return 77;                                                                             \
        }                                                                                          \
    } while (0)

#endif
