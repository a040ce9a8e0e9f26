/*
 * prefill_history.c - the state of instances derived from the requests sent to them: pending prompt
 * tokens, prompts in progress, and their history (instance_history.h).
 */
#include "cluster/core_listeners.h"

static blis__instance_history *history_of(blis__snapshot *snapshot,
                                          const blis__cluster_request *r) {
  return &snapshot->history[(uint32_t)r->instance];
}

static void begin_ongoing(blis__snapshot *snapshot, blis__cluster_request *request,
                          int64_t now_us) {
  request->is_ongoing = true;
  request->is_decoding = false;
  blis__history_join(history_of(snapshot, request), now_us);
  blis__snapshot_add_ongoing(snapshot, (uint32_t)request->instance, request->live.prompt_tokens, 0);
}

static void end_ongoing(blis__snapshot *snapshot, blis__cluster_request *request, int64_t at_us) {
  if (!request->is_ongoing) {
    return;
  }
  int64_t tokens = request->live.prompt_tokens;
  request->is_ongoing = false;
  blis__history_leave(history_of(snapshot, request), at_us);
  blis__snapshot_add_ongoing(snapshot, (uint32_t)request->instance, -tokens,
                             request->is_decoding ? -tokens : 0);
  request->is_decoding = false;
}

static blis_status on_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  blis__snapshot *snapshot = ud;
  blis__cluster_request *request = news->request;
  const blis_live_request *live = blis__live_of(request);
  const blis_instance *instance = cluster->instances[news->instance];
  uint32_t cached;
  BLIS_TRY_MEM(blis__snapshot_cached_blocks(snapshot, news->instance, &live->chain, &cached),
               error);
  request->pending_prefill_tokens =
      live->prompt_tokens - (int64_t)cached * blis_instance_get_config(instance)->block_size_tokens;
  blis__snapshot_add_prefill(snapshot, news->instance, request->pending_prefill_tokens);
  begin_ongoing(snapshot, request, cluster->now_us);
  return BLIS_OK;
}

static void forget_prefill(blis__snapshot *snapshot, blis__cluster_request *request) {
  blis__snapshot_add_prefill(snapshot, (uint32_t)request->instance,
                             -request->pending_prefill_tokens);
  request->pending_prefill_tokens = 0;
}

static blis_status on_first_token(void *ud, blis_cluster *cluster, const blis__news *news,
                                  blis_error *error) {
  (void)cluster, (void)error;
  blis__snapshot *snapshot = ud;
  blis__cluster_request *request = news->request;
  forget_prefill(snapshot, request);
  blis__history_first_token(history_of(snapshot, request), request->live.ttft_us);
  if (request->is_ongoing && !request->is_decoding) {
    request->is_decoding = true;
    blis__snapshot_add_ongoing(snapshot, (uint32_t)request->instance, 0,
                               request->live.prompt_tokens);
  }
  return BLIS_OK;
}

static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)error;
  blis__snapshot *snapshot = ud;
  blis__cluster_request *request = news->request;
  const blis_live_request *live = &request->live;
  forget_prefill(snapshot, request);
  if (blis_request_is_completed(live->state)) {
    blis__history_completed(history_of(snapshot, request),
                            live->itl_count > 0 ? (double)live->itl_sum_us / (double)live->itl_count
                                                : -1);
  }
  end_ongoing(snapshot, request, news->end_us > cluster->now_us ? news->end_us : cluster->now_us);
  return BLIS_OK;
}

blis_status blis__add_prefill_history(blis_cluster *cluster) {
  bool is_wanted = (cluster->snapshot.kept & BLIS_SIGNALS_WITH_HISTORY) != 0;
  if (!is_wanted || cluster->has_prefill_history) {
    return BLIS_OK;
  }
  cluster->has_prefill_history = true;
  BLIS_TRY(blis__snapshot_keep_history(&cluster->snapshot));
  const blis__listener listener = {.ud = &cluster->snapshot,
                                   .phase = BLIS__BOOKS,
                                   .need = BLIS__NEEDS_STATE,
                                   .on = {[BLIS__JOINED] = on_joined,
                                          [BLIS__FIRST_TOKEN] = on_first_token,
                                          [BLIS__LEFT] = on_left}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
