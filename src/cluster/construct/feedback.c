/* feedback.c - reports the outcome of requests to the policies that decided about them. */
#include "cluster/core_listeners.h"

static blis_request_times times_of(const blis_cluster *cluster, const blis_live_request *live) {
  return (blis_request_times){.now_us = cluster->now_us,
                              .end_us = cluster->now_us,
                              .ttft_us = live->ttft_us,
                              .itl_sum_us = live->itl_sum_us,
                              .itl_count = live->itl_count};
}

/* Returns the router that sent the request to its instance, and stores the ticket. */
static const blis_router *sender_of(const blis_cluster *cluster, blis__cluster_request *request,
                                    blis_ticket **ticket) {
  const blis__attempt *attempt = request->other != NULL ? request->other : &request->own;
  *ticket = attempt->router != NULL ? attempt->ticket : &request->router_ticket;
  return attempt->router != NULL ? attempt->router : &cluster->router;
}

/* Returns the instance that the router chose. */
static uint32_t chosen_of(const blis_cluster *cluster, const blis__cluster_request *request) {
  return blis__front_of(cluster, (uint32_t)request->instance);
}

static blis_status on_first_token(void *ud, blis_cluster *cluster, const blis__news *news,
                                  blis_error *error) {
  (void)ud, (void)error;
  blis__cluster_request *request = news->request;
  blis_ticket *ticket;
  const blis_router *router = sender_of(cluster, request, &ticket);
  const blis_request_times times = times_of(cluster, &request->live);
  if (router->ops->first_token != NULL) {
    router->ops->first_token(router->state, ticket, chosen_of(cluster, request), &times);
  }
  return BLIS_OK;
}

static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)ud, (void)error;
  blis__cluster_request *request = news->request;
  blis_ticket *ticket;
  const blis_router *router = sender_of(cluster, request, &ticket);
  blis_request_times times = times_of(cluster, blis__live_of(request));
  times.end_us = news->end_us > times.now_us ? news->end_us : times.now_us;
  if (router->ops->ended != NULL) {
    router->ops->ended(router->state, ticket, chosen_of(cluster, request), &times);
  }
  return BLIS_OK;
}

blis_status blis__add_router_feedback(blis_cluster *cluster) {
  const blis_router_ops *ops = cluster->router.ops;
  const blis__listener listener = {
      .ud = NULL,
      .phase = BLIS__POLICIES,
      .need = cluster->router.is_blind ? BLIS__NEEDS_NOTHING : BLIS__NEEDS_STATE,
      .on = {
          [BLIS__FIRST_TOKEN] = ops->first_token == NULL ? NULL : on_first_token,
          [BLIS__LEFT] = ops->ended == NULL ? NULL : on_left,
      }};
  return blis__listeners_add(&cluster->listeners, &listener);
}

blis_status blis__add_feedback_of(blis_cluster *cluster, const blis_router *router) {
  if (router->ops == NULL || router->ops->ended == NULL || cluster->router.ops->ended != NULL) {
    return BLIS_OK; /* no feedback is needed, or on_left was already added */
  }
  const blis__listener listener = {.ud = NULL,
                                   .phase = BLIS__POLICIES,
                                   .need = BLIS__NEEDS_STATE,
                                   .on = {[BLIS__LEFT] = on_left}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

static blis_status on_over(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)error;
  const blis_admission *admission = ud;
  if (news->request->place != BLIS__AT_ADMISSION) {
    admission->ops->ended(admission->state, &news->request->admission_ticket, cluster->now_us,
                          news->end_us);
  }
  return BLIS_OK;
}

blis_status blis__add_admission_feedback(blis_cluster *cluster) {
  const blis_admission_ops *ops = cluster->admission.ops;
  if (ops == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {.ud = &cluster->admission,
                                   .phase = BLIS__POLICIES,
                                   .need = BLIS__NEEDS_STATE,
                                   .on = {[BLIS__OVER] = ops->ended == NULL ? NULL : on_over}};
  return blis__listeners_add(&cluster->listeners, &listener);
}
