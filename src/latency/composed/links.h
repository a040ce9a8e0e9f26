/*
 * links.h - the time of an all-reduce between the GPUs of one node, from measurements or from the
 * properties of the link.
 *
 * A measured row (kernel_tables.h) takes precedence: first the row of the GPU itself in the user's
 * tables, then the row of the GPU that the constants name. Without a row, the time is t0 + bytes /
 * rate. t0 and rate depend on the kind of link and the number of GPUs, and the rate grows with the
 * link's bandwidth:
 *
 *   NVLink            fitted to H100 (NVLink 4, 900 GB/s)
 *   PCIe              fitted to RTX PRO 6000 (PCIe 5 x16, 128 GB/s)
 *   Infinity Fabric   assumed to equal NVLink
 *   a bridge          NVLink between two GPUs, PCIe 5 x16 between more
 *
 * An all-reduce that is fused with the next norm is a different kernel. It has no jump where the
 * library of the measured rows changes its algorithm. Its times are the lower convex hull of the
 * measured rows on a log-log scale. Engines fuse all-reduces in dense models on B200
 * (pass_config.enable_fi_allreduce_fusion in vLLM's scripts for Blackwell).
 *
 * Source of the fits: kernel times under vLLM 0.19 in data/kernels/allreduce.csv. More than 8 GPUs
 * count as 8. The model does not include traffic between nodes.
 */
#ifndef BLIS_LATENCY_COMPOSED_LINKS_H
#define BLIS_LATENCY_COMPOSED_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "latency/composed/kernel_tables.h"
#include "latency/composed/kernels.h"

typedef struct blis__links {
  const char *gpu; /* name of the simulated GPU */
  /* Link of the GPU as named in the catalog; "" = unknown, uses PCIe. */
  const char *link;
  double link_gb_s;               /* both directions; 0 = bandwidth of the fit */
  const blis__kernel_tables *own; /* the user's tables */
  const blis__kernel_tables *shipped;
  const char *rows_of; /* GPU whose shipped rows apply; NULL = none */
  double factor;       /* factor on the times of these rows */
  bool is_fused;       /* fused with the next norm, so without the jumps of these rows */
} blis__links;

/* Returns the all-reduce among this many GPUs. */
blis__allreduce blis__links_allreduce(const blis__links *links, int64_t gpus);

#endif
