/*
 * prefill_history.c - prompt tokens that instances still have to compute for
 * the requests sent to them.
 */
#include "cluster/features.h"
#include "cluster/handoff_run.h"

static blis_status on_joined(void *ud, blis_cluster *cluster,
                             const blis__news *news, blis_error *error) {
  blis__snapshot *snapshot = ud;
  blis__cluster_request *request = news->request;
  const blis_live_request *live = blis__handoff_leg(request);
  const blis_instance *instance = cluster->instances[news->instance];
  uint32_t cached;
  BLIS_TRY_MEM(blis__snapshot_cached_blocks(snapshot, news->instance,
                                            &live->chain, &cached),
               error);
  request->pending_prefill_tokens =
      live->prompt_tokens -
      (int64_t)cached * blis_instance_get_config(instance)->block_size_tokens;
  blis__snapshot_add_prefill(snapshot, news->instance,
                             request->pending_prefill_tokens);
  return BLIS_OK;
}

static blis_status forget(void *ud, blis_cluster *cluster,
                          const blis__news *news, blis_error *error) {
  (void)cluster, (void)error;
  blis__cluster_request *request = news->request;
  blis__snapshot_add_prefill(ud, (uint32_t)request->instance,
                             -request->pending_prefill_tokens);
  request->pending_prefill_tokens = 0;
  return BLIS_OK;
}

blis_status blis__add_prefill_history(blis_cluster *cluster) {
  bool is_wanted = (cluster->snapshot.kept & BLIS_SIGNALS_WITH_HISTORY) != 0;
  if (!is_wanted || cluster->has_prefill_history) {
    return BLIS_OK;
  }
  cluster->has_prefill_history = true;
  const blis__listener listener = {.ud = &cluster->snapshot,
                                   .rank = BLIS__BOOKS,
                                   .need = BLIS__NEEDS_STATE,
                                   .on = {[BLIS__JOINED] = on_joined,
                                          [BLIS__FIRST_TOKEN] = forget,
                                          [BLIS__LEFT] = forget}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
