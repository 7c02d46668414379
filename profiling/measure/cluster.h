/* GPUs of one kind that train together, on paper: how many, in how many nodes, and how fast a ring of them passes bytes
 * on. Inside a node that is the published rate of the chip's link. */
#ifndef TT_CLUSTER_H
#define TT_CLUSTER_H

#include <stdint.h>

#include "backend/chips.h"
#include "core/base/status.h"

/* Assumed between nodes, since a chip's data does not say: one network card for each GPU, with this rate each way. */
#define TT_NETWORK "InfiniBand, 400 Gb/s for each GPU"
static const double tt_network_bandwidth = 400e9 / 8;

struct tt_cluster {
    const struct tt_chip *chip;
    int nodes, gpus; /* gpus: of each node */
    char name[40];   /* "h200", "8xh200", "4x8xh100" */
};

/* Reads `text`, the value of --predict: a chip, and then there are `ranks` of them in one node, or a chip with counts
 * (4x8xh200). Refuses counts that contradict `ranks` (1: not given), and several GPUs of a chip whose link rate is not
 * known. */
tt_status tt_cluster_read(const char *text, int64_t ranks, struct tt_cluster *out);

static inline int tt_cluster_ranks(const struct tt_cluster *c) { return c->nodes * c->gpus; }

/* Bytes/s that each GPU passes on around a ring when all do; 0 for a single GPU. Between nodes there are as many rings
 * as a node has GPUs, and each ring leaves the node through a card of its own. */
double tt_cluster_rate(const struct tt_cluster *c);

#endif
