/*
 * core_listeners.c - short listeners that are not features, for model names, stale signals,
 * priorities, and follow-ups.
 */
#include "cluster/core_listeners.h"

#include <inttypes.h>
#include <stdio.h>

#include "cluster/clock.h"
#include "instance/parts/arrival.h"

/* Requests may omit the owner of their model, unless several owners have a model of this name in
   the cluster. */

/* Called after features that may request another model. */
static blis_status check_model(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error) {
  const blis_request *request = &news->request->request;
  const blis_intern *strings = cluster->source->strings;
  const blis__model_search search =
      blis__candidates_find(ud, blis_intern_text(strings, request->model));
  if (search.other == NULL) {
    return BLIS_OK;
  }
  char id[BLIS_REQUEST_ID_SIZE];
  char where[BLIS_REQUEST_ID_SIZE + 32];
  snprintf(where, sizeof where, "%s: its model", blis_request_id(request, strings, id));
  return blis__model_search_fail(&search, where, error);
}

blis_status blis__add_clear_models(blis_cluster *cluster) {
  if (!blis__candidates_are_confusable(&cluster->snapshot.candidates)) {
    return BLIS_OK;
  }
  const blis__listener listener = {.ud = &cluster->snapshot.candidates,
                                   .phase = BLIS__BOOKS,
                                   .on = {[BLIS__ADMITTING] = check_model}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

/* Every admission refreshes stale signals that are due, whether or not a policy reads them. */

static blis_status refresh(void *ud, blis_cluster *cluster, const blis__news *news,
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
      .ud = &cluster->snapshot, .phase = BLIS__BOOKS, .on = {[BLIS__ADMITTING] = refresh}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

/* Applies config.priority to arriving requests. */

static blis_status set_priority(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  const blis_routing_request shown = blis__cluster_show_request(cluster, news->request);
  return cluster->config.priority(ud, &shown, cluster->now_us, &news->request->live.priority,
                                  error);
}

blis_status blis__add_priority(blis_cluster *cluster) {
  if (cluster->config.priority == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {.ud = cluster->config.priority_ud,
                                   .phase = BLIS__POLICIES,
                                   .on = {[BLIS__ARRIVED] = set_priority}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

/* Closed loops: the end of a request may start the next request of its session, or requests of a
   graph that depend on it. */

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
  int64_t end_us = news->end->end_us + news->end->return_us;
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
                                   .phase = BLIS__SEQUELS,
                                   .need = BLIS__NEEDS_ORDER,
                                   .on = {[BLIS__ENDED] = on_ended}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
