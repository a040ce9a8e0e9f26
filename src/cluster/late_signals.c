/*
 * late_signals.c - every admission counts as a look at the instances: stale
 * signals that are due are refreshed, whether or not a policy is asked.
 */
#include "cluster/features.h"

static blis_status on_admitting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  BLIS_TRY_MEM(blis__snapshot_refresh(ud, cluster->source->strings, news->request->request.model,
                                      cluster->now_us),
               error);
  return BLIS_OK;
}

blis_status blis__add_late_signals(blis_cluster *cluster) {
  const blis_cluster_config *config = &cluster->config;
  if (config->snapshot_refresh_us == 0 && config->cache_signal_delay_us == 0) {
    return BLIS_OK;
  }
  const blis__listener listener = {
      .ud = &cluster->snapshot, .rank = BLIS__BOOKS, .on = {[BLIS__ADMITTING] = on_admitting}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
