/*
 * stages.c - the way of a request in: arrival, admission, routing, injection
 * into an instance.
 */
#include <inttypes.h>

#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/stages.h"

blis_status blis__cluster_fetch_arrival(blis_cluster *cluster,
                                        blis_error *error) {
  const blis_request_source *source = cluster->source;
  int64_t previous_us = cluster->arrival.arrival_us;
  bool done = false;
  BLIS_TRY(source->next(source->state, &cluster->arrival, &done, error));
  cluster->has_arrival = !done;
  if (!done && cluster->arrival.arrival_us < previous_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request_%" PRId64 " arrives at %" PRId64
                     " us, before the request in front of it (%" PRId64
                     " us); requests must come in order of arrival",
                     cluster->arrival.number, cluster->arrival.arrival_us,
                     previous_us);
  }
  return BLIS_OK;
}

/* Looks a class up once; classes are few. */
static blis_status classify(blis_cluster *cluster,
                            blis__cluster_request *request) {
  uint32_t slo_class = request->request.slo_class;
  if (slo_class >= cluster->classes.count) {
    BLIS_TRY(blis_array_reserve(&cluster->alloc, &cluster->classes,
                                (size_t)slo_class + 1));
    while (cluster->classes.count <= slo_class) {
      const char *name = blis_intern_text(cluster->source->strings,
                                          (uint32_t)cluster->classes.count);
      cluster->classes.items[cluster->classes.count++] = (blis__class){
          .priority = blis_slo_priority_of(cluster->priorities, name),
          .value = blis_slo_priority_value(cluster->priorities, name)};
    }
  }
  request->live.priority = cluster->classes.items[slo_class].priority;
  request->slo_value = cluster->classes.items[slo_class].value;
  return BLIS_OK;
}

static blis_status prioritise(blis_cluster *cluster,
                              blis__cluster_request *request,
                              blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  if (config->priority == NULL) {
    return BLIS_OK;
  }
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  return config->priority(config->priority_ud, &shown, cluster->now_us,
                          &request->live.priority, error);
}

blis_status blis__cluster_enter(blis_cluster *cluster,
                                const blis_request *arrival,
                                blis_error *error) {
  int64_t limit = cluster->config.max_requests_in_memory;
  if (limit > 0 && cluster->counts.in_flight >= limit) {
    return blis_fail(error, BLIS_ERR_NOMEM,
                     "more than %" PRId64
                     " requests are waiting or running at %" PRId64
                     " us (max_requests_in_memory)",
                     limit, cluster->now_us);
  }
  blis__cluster_request *request =
      blis__request_table_add(&cluster->requests, arrival);
  BLIS_TRY_NEW(request, error);
  BLIS_TRY_MEM(classify(cluster, request), error);
  request->live.session =
      blis_intern_text(cluster->source->strings, arrival->session);
  cluster->counts.arrived++;
  cluster->counts.in_flight++;
  cluster->fruitless = 0;
  BLIS_TRY(prioritise(cluster, request, error));
  BLIS_TRY(blis__cluster_tell_arrival(cluster, request, error));
  BLIS_TRY(blis__cascade_begin(cluster, request, error));
  return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ADMISSION,
                                cluster->config.admission_latency_us, error);
}

blis_status blis__cluster_arrive(blis_cluster *cluster, blis_error *error) {
  BLIS_TRY(blis__cluster_enter(cluster, &cluster->arrival, error));
  return blis__cluster_fetch_arrival(cluster, error);
}

blis_status blis__cluster_follow_up_arrives(blis_cluster *cluster,
                                            uint32_t index, blis_error *error) {
  const blis_request follow_up =
      *(blis_request *)blis_pool_item(&cluster->follow_ups, index);
  blis_pool_give(&cluster->follow_ups, index);
  return blis__cluster_enter(cluster, &follow_up, error);
}

/* Decisions. */

static const blis_block_chain *give_chain(void *chain_ud, uint32_t block_size) {
  return blis__chain_cache_get(chain_ud, block_size);
}

static blis_routing_request shown_request(blis_cluster *cluster,
                                          const blis__cluster_request *request,
                                          blis_ticket *ticket) {
  blis_routing_request shown = blis__cluster_show_request(cluster, request);
  shown.ticket = ticket;
  shown.chain = give_chain;
  shown.chain_ud = &cluster->chains;
  return shown;
}

static blis_status decide_admission(blis_cluster *cluster,
                                    blis__cluster_request *request,
                                    blis_admission_decision *decision,
                                    blis_error *error) {
  const blis_admission *admission = &cluster->admission;
  blis_routing_request shown =
      shown_request(cluster, request, &request->admission_ticket);
  blis__chain_cache_begin(&cluster->chains, &request->request);
  const blis_routing_view *view =
      blis__snapshot_show(&cluster->snapshot, &shown, cluster->now_us);
  blis_status status = view == NULL
                           ? blis_fail_nomem(error)
                           : admission->ops->decide(admission->state, &shown,
                                                    view, decision, error);
  blis__chain_cache_end(&cluster->chains);
  if (status == BLIS_OK && decision->verdict == BLIS_DELAY &&
      decision->delay_us <= 0) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "admission policy %s: delays request_%" PRId64
                     " by %" PRId64 " us, expected more than 0",
                     admission->name, request->request.number,
                     decision->delay_us);
  }
  return status;
}

static blis_status reject(blis_cluster *cluster, blis__cluster_request *request,
                          const char *reason, blis_error *error) {
  request->live.state = BLIS_REQUEST_REJECTED;
  return blis__cluster_end(cluster, request, cluster->now_us, reason, error);
}

/*
 * What is done at every admission: signals that lag behind are read if they
 * are due, and tenants are kept within their budgets.
 */
static blis_status look_without_policy(blis_cluster *cluster,
                                       const blis__cluster_request *request,
                                       bool *is_over_budget,
                                       blis_error *error) {
  const blis_request *r = &request->request;
  const blis_intern *strings = cluster->source->strings;
  BLIS_TRY_MEM(blis__snapshot_refresh(&cluster->snapshot, strings, r->model,
                                      cluster->now_us),
               error);
  if (request->slo_value < 0 &&
      blis__tenant_budgets_is_over(&cluster->budgets, strings, r->tenant,
                                   is_over_budget) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status tell_admission(blis_cluster *cluster,
                                  blis__cluster_request *request,
                                  blis_admission_verdict verdict,
                                  const char *reason, blis_error *error) {
  const blis_decision_sink *sink = cluster->config.decisions;
  if (sink == NULL) {
    return BLIS_OK;
  }
  const blis_routing_request shown =
      shown_request(cluster, request, &request->admission_ticket);
  const char *policy =
      cluster->admission.ops == NULL ? "always-admit" : cluster->admission.name;
  const blis_admission_event event = {
      .request = &shown,
      .now_us = cluster->now_us,
      .verdict = verdict,
      .reason = verdict == BLIS_REJECT && reason != NULL ? reason : policy};
  return sink->admission(sink->ud, &event, error);
}

static blis_status tell_routing(const blis_cluster *cluster,
                                const blis_routing_request *shown,
                                const blis_routing_view *view,
                                const blis_decision *decision,
                                blis_error *error) {
  const blis_decision_sink *sink = cluster->config.decisions;
  if (sink == NULL) {
    return BLIS_OK;
  }
  const blis_routing_event event = {.request = shown,
                                    .now_us = cluster->now_us,
                                    .view = view,
                                    .decision = decision,
                                    .policy = cluster->router.name};
  return sink->routing(sink->ud, &event, error);
}

blis_status blis__cluster_admit(blis_cluster *cluster,
                                blis__cluster_request *request,
                                blis_error *error) {
  blis_admission_decision decision = {.verdict = BLIS_ADMIT};
  bool is_over_budget = false;
  BLIS_TRY(look_without_policy(cluster, request, &is_over_budget, error));
  if (is_over_budget) {
    BLIS_TRY(tell_admission(cluster, request, BLIS_REJECT, "tenant-budget-shed",
                            error));
    return reject(cluster, request, "tenant-budget-shed", error);
  }
  if (cluster->admission.ops != NULL) {
    BLIS_TRY(decide_admission(cluster, request, &decision, error));
  }
  BLIS_TRY(tell_admission(cluster, request, decision.verdict, decision.reason,
                          error));
  switch (decision.verdict) {
  case BLIS_DELAY:
    BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
    return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ADMISSION,
                                  decision.delay_us, error);
  case BLIS_REJECT:
    return reject(cluster, request, decision.reason, error);
  case BLIS_ADMIT:
    break;
  }
  return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING,
                                cluster->config.routing_latency_us, error);
}

/* Books the request on its instance and hands it over. */
static blis_status inject(blis_cluster *cluster, blis__cluster_request *request,
                          uint32_t number, blis_error *error) {
  blis_instance *instance = cluster->instances[number];
  blis_live_request *live = &request->live;
  uint32_t block_size =
      (uint32_t)blis_instance_get_config(instance)->block_size_tokens;
  BLIS_TRY_MEM(
      blis__chain_cache_take(&cluster->chains, block_size, &live->chain),
      error);
  blis__snapshot *snapshot = &cluster->snapshot;
  request->instance = (int32_t)number;
  if ((snapshot->kept & BLIS_SIGNALS_WITH_HISTORY) != 0) {
    uint32_t cached;
    BLIS_TRY_MEM(
        blis__snapshot_cached_blocks(snapshot, number, &live->chain, &cached),
        error);
    request->pending_prefill_tokens =
        live->prompt_tokens - (int64_t)cached * (int64_t)block_size;
    blis__snapshot_add_prefill(snapshot, number,
                               request->pending_prefill_tokens);
  }
  BLIS_TRY_MEM(blis__tenant_budgets_add(&cluster->budgets,
                                        cluster->source->strings,
                                        request->request.tenant),
               error);
  request->is_pending = true;
  blis__snapshot_add_pending(snapshot, number, 1);
  blis__snapshot_add_in_flight(snapshot, number, 1);
  cluster->counts.routed++;
  BLIS_TRY(blis_instance_inject(instance, live, cluster->now_us, error));
  blis__snapshot_instance_changed(snapshot, number);
  blis_winner_tree_set(cluster->next_events, number,
                       blis_instance_next_us(instance));
  return BLIS_OK;
}

/* Compares what the policy thought of a cache with the cache. */
static blis_status check_belief(blis_cluster *cluster,
                                const blis__cluster_request *request,
                                uint32_t number, int64_t believed_tokens,
                                blis_error *error) {
  const blis_instance *instance = cluster->instances[number];
  int64_t block_size = blis_instance_get_config(instance)->block_size_tokens;
  const blis_block_chain *chain =
      blis__chain_cache_get(&cluster->chains, (uint32_t)block_size);
  BLIS_TRY_NEW(chain, error);
  int64_t true_tokens =
      (int64_t)blis_instance_cached_blocks(instance, chain) * block_size;
  int64_t excess = believed_tokens - true_tokens;
  blis_cache_belief *belief = &cluster->belief;
  belief->decisions++;
  belief->prompt_tokens += request->live.prompt_tokens;
  belief->believed_tokens += believed_tokens;
  belief->true_tokens += true_tokens;
  belief->missing_tokens += excess > 0 ? excess : 0;
  belief->unknown_tokens += excess < 0 ? -excess : 0;
  return BLIS_OK;
}

static blis_status route_and_inject(blis_cluster *cluster,
                                    blis__cluster_request *request,
                                    blis_decision *decision,
                                    blis_error *error) {
  const blis_router *router = &cluster->router;
  blis_routing_request shown =
      shown_request(cluster, request, &request->router_ticket);
  shown.wants_parts = cluster->config.decisions != NULL;
  const blis_routing_view *view =
      blis__snapshot_show(&cluster->snapshot, &shown, cluster->now_us);
  BLIS_TRY_NEW(view, error);
  if (view->count == 0) {
    decision->rejected = "no-candidate";
    return tell_routing(cluster, &shown, view, decision, error);
  }
  BLIS_TRY(blis__pins_apply(&cluster->pins, shown.number, &view, error));
  BLIS_TRY(router->ops->route(router->state, &shown, view, decision, error));
  if (decision->rejected != NULL) {
    return tell_routing(cluster, &shown, view, decision, error);
  }
  if (decision->chosen >= view->count) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "routing policy %s: chose candidate %zu of %zu for "
                     "request_%" PRId64,
                     router->name, decision->chosen, view->count,
                     request->request.number);
  }
  BLIS_TRY(tell_routing(cluster, &shown, view, decision, error));
  uint32_t number = view->instances[decision->chosen];
  BLIS_TRY(blis__cluster_bring_forward(cluster, number, error));
  if (decision->has_belief) {
    BLIS_TRY(check_belief(cluster, request, number, decision->believed_tokens,
                          error));
  }
  BLIS_TRY(blis__cluster_tell_routed(cluster, request, number, error));
  return inject(cluster, request, number, error);
}

/* Nobody took an admitted request. */
static blis_status refuse(blis_cluster *cluster, blis__cluster_request *request,
                          const char *reason, blis_error *error) {
  blis__cluster_end_admission(cluster, request);
  return reject(cluster, request, reason, error);
}

blis_status blis__cluster_route(blis_cluster *cluster,
                                blis__cluster_request *request,
                                blis_error *error) {
  blis_decision decision = {.chosen = 0};
  blis__chain_cache_begin(&cluster->chains, &request->request);
  blis_status status = route_and_inject(cluster, request, &decision, error);
  blis__chain_cache_end(&cluster->chains);
  if (status == BLIS_OK && decision.rejected != NULL) {
    return refuse(cluster, request, decision.rejected, error);
  }
  return status;
}
