/*
 * tier_summary.h - metrics of KV cache tiers.
 */
#ifndef BLIS_RESULTS_SUMMARY_TIER_SUMMARY_H
#define BLIS_RESULTS_SUMMARY_TIER_SUMMARY_H

#include "cluster/cluster.h"
#include "cluster/tiers/kv_tiers.h"
#include "results/metrics/figures.h"

/* All tiers of a run. */
typedef struct blis_tiers_summary {
  blis_kv_tiers_counts counts;
  BLIS_TIERS_FIGURES(BLIS_FIGURE_MEMBER)
} blis_tiers_summary;

/* One tier of a run. */
typedef struct blis_tier_summary {
  blis_kv_tier_counts counts;
  BLIS_TIER_FIGURES(BLIS_FIGURE_MEMBER)
} blis_tier_summary;

/* Fills the metrics of all tiers. Rates are relative to the blocks of all prompts that instances
   have admitted. */
void blis_tiers_summary_fill(blis_tiers_summary *tiers, const blis_cluster *cluster);

/* Fills the metrics of a tier. index < blis_cluster_kv_tier_count(cluster). duration_us is the
   duration of the run. */
void blis_tier_summary_fill(blis_tier_summary *tier, const blis_cluster *cluster, size_t index,
                            int64_t duration_us);

#endif
