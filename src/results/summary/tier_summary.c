#include "results/summary/tier_summary.h"

#include "cluster/tiers/kv_tiers.h"

#include <math.h>

static double mean_of(double sum, double count) {
  return count > 0 ? sum / count : 0;
}

/* Returns the number of prompt blocks that were looked up, found or not. */
static double blocks_looked_for(const blis_cluster *cluster) {
  int64_t blocks = 0;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(cluster, i), &stats);
    blocks += stats.cache_hits + stats.cache_misses;
  }
  return (double)blocks;
}

void blis_tiers_summary_fill(blis_tiers_summary *tiers, const blis_cluster *cluster) {
  *tiers = (blis_tiers_summary){.counts = blis_cluster_kv_tiers(cluster)};
  const blis_kv_tiers_counts *counts = &tiers->counts;
  tiers->hit_rate = mean_of((double)counts->loaded_blocks, blocks_looked_for(cluster));
  tiers->mean_load_ms =
      mean_of(counts->wait_us, (double)(counts->completed + counts->failed)) / 1000;
}

void blis_tier_summary_fill(blis_tier_summary *tier, const blis_cluster *cluster, size_t index,
                            int64_t duration_us) {
  *tier = (blis_tier_summary){.counts = blis_cluster_kv_tier(cluster, index)};
  const blis_kv_tier_counts *counts = &tier->counts;
  tier->hit_rate = mean_of((double)counts->loaded_blocks, blocks_looked_for(cluster));
  tier->mean_load_ms = mean_of(counts->load_us, (double)counts->loads) / 1000;
  tier->loaded_gb = counts->loaded_bytes / 1e9;
  tier->saved_gb = counts->saved_bytes / 1e9;
  /* Writes can continue after the last requests have ended. */
  double until_us = fmax((double)duration_us, (double)blis_cluster_now_us(cluster));
  tier->read_utilization = mean_of(counts->read_busy_us, until_us);
  tier->write_utilization = mean_of(counts->write_busy_us, until_us);
}
