/*
 * follow_up.c - closed loops: a request that ended may bring the next one of
 * its session.
 */
#include <inttypes.h>

#include "cluster/clock.h"

blis_status blis__cluster_tell_source(blis_cluster *cluster,
                                      const blis__cluster_request *request,
                                      int64_t end_us, blis_error *error) {
  const blis_request_source *source = cluster->source;
  const blis_live_request *live = &request->live;
  if (source->ended == NULL || live->state < BLIS_REQUEST_COMPLETED) {
    return BLIS_OK;
  }
  const blis_request_outcome outcome = {
      .end_us = end_us,
      .produced_tokens = live->progress_tokens - live->prompt_tokens,
      .is_completed = live->state == BLIS_REQUEST_COMPLETED ||
                      live->state == BLIS_REQUEST_LENGTH_CAPPED};
  blis_request follow_up;
  bool has_follow_up = false;
  BLIS_TRY(source->ended(source->state, &request->request, &outcome, &follow_up,
                         &has_follow_up, error));
  if (!has_follow_up) {
    return BLIS_OK;
  }
  if (follow_up.arrival_us < end_us) {
    char id[BLIS_REQUEST_ID_SIZE];
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s arrives at %" PRId64
                     " us, before the request it follows has ended (%" PRId64
                     " us)",
                     blis_request_id(&follow_up, source->strings, id),
                     follow_up.arrival_us, end_us);
  }
  uint32_t index;
  BLIS_TRY_MEM(blis_pool_take(&cluster->follow_ups, &index), error);
  *(blis_request *)blis_pool_item(&cluster->follow_ups, index) = follow_up;
  const blis_event event = {.time_us = follow_up.arrival_us,
                            .event_class = BLIS__CLUSTER_ARRIVAL,
                            .number = index};
  if (blis_event_queue_push(cluster->queue, &event, NULL) != BLIS_OK) {
    blis_pool_give(&cluster->follow_ups, index);
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}
