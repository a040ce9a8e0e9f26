/*
 * follow_up.c - closed loops: the end of a request may start the next one of
 * its session, or those of a graph that waited for it.
 */
#include <inttypes.h>

#include "cluster/clock.h"
#include "cluster/features.h"

static blis_status let_arrive(blis_cluster *cluster, const blis_request *follow_up, int64_t end_us,
                              blis_error *error) {
  if (follow_up->arrival_us < end_us) {
    char id[BLIS_REQUEST_ID_SIZE];
    return blis_fail(
        error, BLIS_ERR_INVALID,
        "%s arrives at %" PRId64 " us, before the request it follows has ended (%" PRId64 " us)",
        blis_request_id(follow_up, cluster->source->strings, id), follow_up->arrival_us, end_us);
  }
  return blis__cluster_schedule_arrival(cluster, follow_up, error);
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  const blis_request_source *source = ud;
  const blis_live_request *live = &news->request->live;
  int64_t end_us = news->end->end_us;
  if (live->state < BLIS_REQUEST_COMPLETED) {
    return BLIS_OK;
  }
  const blis_request_outcome outcome = {.end_us = end_us,
                                        .produced_tokens = live->itl_count,
                                        .is_completed = blis_request_is_completed(live->state),
                                        .scheduling_delay_us = live->scheduling_delay_us,
                                        .ttft_us = live->ttft_us,
                                        .cached_tokens = news->end->cached_tokens};
  blis_request follow_up;
  bool has_follow_up = false;
  BLIS_TRY(source->ended(source->state, &news->request->request, &outcome, &follow_up,
                         &has_follow_up, error));
  while (has_follow_up) {
    BLIS_TRY(let_arrive(cluster, &follow_up, end_us, error));
    has_follow_up = false;
    if (source->also != NULL) {
      BLIS_TRY(source->also(source->state, &follow_up, &has_follow_up, error));
    }
  }
  return BLIS_OK;
}

blis_status blis__add_follow_ups(blis_cluster *cluster) {
  if (cluster->source->ended == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {.ud = (void *)cluster->source,
                                   .rank = BLIS__SEQUELS,
                                   .need = BLIS__NEEDS_ORDER,
                                   .on = {[BLIS__ENDED] = on_ended}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
