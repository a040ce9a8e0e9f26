/*
 * stages.c - the stages of a request: arrival, admission, routing, and injection into an instance.
 */
#include <inttypes.h>

#include "base/inline.h"
#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/stages.h"
#include "cluster/waiting_room.h"

blis_status blis__cluster_fetch_arrival(blis_cluster *cluster, blis_error *error) {
  const blis_request_source *source = cluster->source;
  int64_t previous_us = cluster->arrival.arrival_us;
  bool done = false;
  BLIS_TRY(source->next(source->state, &cluster->arrival, &done, error));
  cluster->has_arrival = !done;
  if (!done && cluster->arrival.arrival_us < previous_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request_%" PRId64 " arrives at %" PRId64
                     " us, before the previous request (%" PRId64
                     " us); requests must come in order of arrival",
                     cluster->arrival.number, cluster->arrival.arrival_us, previous_us);
  }
  return BLIS_OK;
}

/* Sets the class of a request. Each class is looked up only once, because there are few. */
static blis_status classify(blis_cluster *cluster, blis__cluster_request *request) {
  uint32_t slo_class = request->request.slo_class;
  if (slo_class >= cluster->classes.count) {
    BLIS_TRY(blis_array_reserve(&cluster->alloc, &cluster->classes, (size_t)slo_class + 1));
    while (cluster->classes.count <= slo_class) {
      const char *name =
          blis_intern_text(cluster->source->strings, (uint32_t)cluster->classes.count);
      int32_t value = blis_slo_priority_value(cluster->priorities, name);
      int32_t below = blis_slo_priority_of(cluster->priorities, name);
      cluster->classes.items[cluster->classes.count++] = (blis__class){
          .priority = cluster->config.counts_priorities_down ? -below : value, .value = value};
    }
  }
  request->live.priority = cluster->classes.items[slo_class].priority;
  request->slo_value = cluster->classes.items[slo_class].value;
  return BLIS_OK;
}

/*
 * Handles an arrival. *entered is the request in the table, which reaches admission after
 * *delay_us.
 */
static blis_status enter(blis_cluster *cluster, const blis_request *arrival,
                         blis__cluster_request **entered, int64_t *delay_us, blis_error *error) {
  int64_t limit = cluster->config.max_requests_in_memory;
  if (limit > 0 && cluster->counts.in_flight >= limit) {
    return blis_fail(error, BLIS_ERR_NOMEM,
                     "more than %" PRId64 " requests are waiting or running at %" PRId64
                     " us (max_requests_in_memory)",
                     limit, cluster->now_us);
  }
  blis__cluster_request *request = blis__request_table_add(&cluster->requests, arrival);
  BLIS_TRY_NEW(request, error);
  BLIS_TRY_MEM(classify(cluster, request), error);
  request->live.session = blis_intern_text(cluster->source->strings, arrival->session);
  if (cluster->config.hides_output_limits && arrival->max_output_tokens == arrival->output_tokens) {
    request->live.max_output_tokens = 0;
  }
  cluster->counts.arrived++;
  cluster->counts.in_flight++;
  cluster->fruitless = 0;
  *delay_us = 0;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__ARRIVED, error, .request = request, .delay_us = delay_us));
  *entered = request;
  return BLIS_OK;
}

static BLIS_ALWAYS_INLINE blis_status go_to_admission(blis_cluster *cluster,
                                                      blis__cluster_request *request,
                                                      int64_t delay_us, blis_error *error) {
  int64_t latency_us = cluster->config.admission_latency_us + delay_us;
  if (latency_us > 0 || !blis__cluster_is_free(cluster)) {
    return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ADMISSION, latency_us, error);
  }
  blis__request_move(request, BLIS__AT_ADMISSION);
  return blis__cluster_admit(cluster, request, error);
}

blis_status blis__cluster_go_to_routing(blis_cluster *cluster, blis__cluster_request *request,
                                        blis_error *error) {
  int64_t latency_us = cluster->config.routing_latency_us;
  if (latency_us > 0 || !blis__cluster_is_free(cluster)) {
    return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING, latency_us, error);
  }
  blis__request_move(request, BLIS__AT_ROUTING);
  return blis__cluster_route(cluster, request, error);
}

/* Returns whether the arrival is due. */
static bool is_due(const blis_cluster *cluster, const blis_request *request) {
  const blis_request_source *source = cluster->source;
  return source->is_due == NULL || source->is_due(source->state, request);
}

blis_status blis__cluster_arrive(blis_cluster *cluster, blis_error *error) {
  if (!is_due(cluster, &cluster->arrival)) {
    return blis__cluster_fetch_arrival(cluster, error);
  }
  blis__cluster_request *request;
  int64_t delay_us;
  BLIS_TRY(enter(cluster, &cluster->arrival, &request, &delay_us, error));
  BLIS_TRY(blis__cluster_fetch_arrival(cluster, error));
  return go_to_admission(cluster, request, delay_us, error);
}

blis_status blis__cluster_follow_up_arrives(blis_cluster *cluster, uint32_t index,
                                            blis_error *error) {
  const blis_request follow_up = *(blis_request *)blis_pool_item(&cluster->follow_ups, index);
  blis_pool_give(&cluster->follow_ups, index);
  if (!is_due(cluster, &follow_up)) {
    return BLIS_OK;
  }
  blis__cluster_request *request;
  int64_t delay_us;
  BLIS_TRY(enter(cluster, &follow_up, &request, &delay_us, error));
  return go_to_admission(cluster, request, delay_us, error);
}

/* Decisions. */

static const blis_block_chain *give_chain(void *chain_ud, uint32_t block_size) {
  return blis__chain_cache_get(chain_ud, block_size);
}

static void show_request(blis_cluster *cluster, const blis__cluster_request *request,
                         blis_ticket *ticket, blis_routing_request *shown) {
  blis__cluster_show(cluster, request, shown);
  shown->ticket = ticket;
  shown->chain = give_chain;
  shown->chain_ud = &cluster->chains;
}

static blis_status decide_admission(blis_cluster *cluster, blis__cluster_request *request,
                                    blis_admission_decision *decision, blis_error *error) {
  const blis_admission *admission = &cluster->admission;
  blis_routing_request shown;
  show_request(cluster, request, &request->admission_ticket, &shown);
  blis__chain_cache_begin(&cluster->chains, &request->request);
  const blis_routing_view *view = blis__snapshot_show(&cluster->snapshot, &shown, cluster->now_us);
  blis_status status =
      view == NULL ? blis_fail_nomem(error)
                   : admission->ops->decide(&(blis_question){admission->state, &shown, view, error},
                                            decision);
  blis__chain_cache_end(&cluster->chains);
  if (status == BLIS_OK && decision->verdict == BLIS_DELAY && decision->delay_us <= 0) {
    char id[BLIS_REQUEST_ID_SIZE];
    return blis_fail(
        error, BLIS_ERR_POLICY,
        "admission policy %s: delays %s by %" PRId64 " us, expected more than 0", admission->name,
        blis_request_id(&request->request, cluster->source->strings, id), decision->delay_us);
  }
  return status;
}

static blis_status reject(blis_cluster *cluster, blis__cluster_request *request, const char *reason,
                          blis_error *error) {
  request->live.state = BLIS_REQUEST_REJECTED;
  return blis__cluster_end(cluster, request, cluster->now_us, reason, error);
}

/* Calls the admission policy, unless a listener rejects the request first. */
static blis_status ask_admission(blis_cluster *cluster, blis__cluster_request *request,
                                 blis_admission_decision *decision, blis_error *error) {
  const char *refusal = NULL;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__ADMITTING, error, .request = request, .refusal = &refusal));
  if (refusal != NULL) {
    *decision = (blis_admission_decision){BLIS_REJECT, .reason = refusal};
  } else if (cluster->admission.ops != NULL) {
    BLIS_TRY(decide_admission(cluster, request, decision, error));
  }
  return BLIS__TELL(cluster, BLIS__ADMISSION_DECIDED, error, .request = request,
                    .admission = decision);
}

blis_status blis__cluster_admit(blis_cluster *cluster, blis__cluster_request *request,
                                blis_error *error) {
  BLIS_ASSERT(request->place == BLIS__AT_ADMISSION);
  blis_admission_decision decision = {.verdict = BLIS_ADMIT};
  BLIS_TRY(ask_admission(cluster, request, &decision, error));
  switch (decision.verdict) {
  case BLIS_DELAY:
    BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
    return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ADMISSION, decision.delay_us,
                                  error);
  case BLIS_REJECT:
    return reject(cluster, request, decision.reason, error);
  case BLIS_ADMIT:
    break;
  }
  bool is_taken = false;
  BLIS_TRY(BLIS__OFFER(cluster, BLIS__ADMITTED, error, .request = request, .is_taken = &is_taken,
                       .refusal = &(const char *){NULL}));
  return is_taken ? BLIS_OK : blis__cluster_go_to_routing(cluster, request, error);
}

/* Registers the request on its instance and injects it. */
static blis_status inject(blis_cluster *cluster, blis__cluster_request *request, uint32_t number,
                          blis_error *error) {
  blis_instance *instance = cluster->instances[number];
  blis_live_request *live = &request->live;
  BLIS_ASSERT(live->state == BLIS_REQUEST_ARRIVED && request->instance < 0);
  BLIS_ASSERT(cluster->services[number] == BLIS_SERVICE_ACTIVE);
  uint32_t block_size = (uint32_t)blis_instance_get_config(instance)->block_size_tokens;
  BLIS_TRY_MEM(blis__chain_cache_take(&cluster->chains, block_size, &live->chain), error);
  request->instance = (int32_t)number;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__JOINED, error, .request = request, .instance = number));
  blis__request_move(request, BLIS__AT_INSTANCE);
  blis__snapshot *snapshot = &cluster->snapshot;
  request->is_pending = true;
  blis__snapshot_add_coming(snapshot, number, 1);
  cluster->counts.routed++;
  BLIS_TRY(blis_instance_inject(instance, live, cluster->now_us, error));
  blis__snapshot_instance_changed(snapshot, number);
  blis__cluster_note_next(cluster, number);
  return BLIS_OK;
}

static BLIS_NOT_INLINE blis_status fail_choice(const blis_router *router,
                                               const blis_routing_request *shown,
                                               const blis_decision *decision, size_t count,
                                               blis_error *error) {
  char id[BLIS_REQUEST_ID_SIZE];
  const char *session = blis_intern_text(shown->strings, shown->session);
  return blis_fail(error, BLIS_ERR_POLICY, "routing policy %s: chose candidate %zu of %zu for %s",
                   router->name, decision->chosen, count,
                   blis_request_id_of(shown->number, session, shown->round_index, id));
}

/* Calls the policy if there are candidates. */
static BLIS_ALWAYS_INLINE blis_status decide_routing(blis_cluster *cluster,
                                                     const blis_router *router,
                                                     const blis_routing_request *shown,
                                                     const blis_routing_view **view,
                                                     blis_decision *decision, blis_error *error) {
  if ((*view)->count == 0) {
    decision->rejected = "no-instance";
    return BLIS_OK;
  }
  BLIS_TRY(BLIS__TELL(cluster, BLIS__ROUTING, error, .shown = shown, .view = view));
  BLIS_TRY(router->ops->route(&(blis_question){router->state, shown, *view, error}, decision));
  return decision->rejected == NULL && decision->chosen >= (*view)->count
             ? fail_choice(router, shown, decision, (*view)->count, error)
             : BLIS_OK;
}

blis_status blis__cluster_choose(blis_cluster *cluster, blis__cluster_request *request,
                                 const blis__stage *stage, blis__choice *choice,
                                 blis_error *error) {
  blis_routing_request *shown = &choice->shown;
  choice->decision = (blis_decision){.chosen = 0};
  choice->policy = stage->router->name;
  choice->is_told = false;
  show_request(cluster, request, stage->ticket, shown);
  shown->wants_parts = blis__listeners_hear(&cluster->listeners, BLIS__ROUTING_DECIDED);
  shown->stage = stage->role;
  shown->peer = stage->peer;
  shown->stages = stage->role != 0 ? cluster->stages : NULL;
  choice->view = blis__snapshot_show(&cluster->snapshot, shown, cluster->now_us);
  BLIS_TRY_NEW(choice->view, error);
  BLIS_TRY(decide_routing(cluster, stage->router, shown, &choice->view, &choice->decision, error));
  if (choice->decision.rejected == NULL) {
    choice->instance = choice->view->instances[choice->decision.chosen];
  }
  if (choice->decision.has_priority) {
    request->live.priority = choice->decision.priority;
  }
  return BLIS_OK;
}

blis_status blis__cluster_tell_choice(blis_cluster *cluster, blis__cluster_request *request,
                                      blis__choice *choice, blis_error *error) {
  const blis_routing_view *view = choice->view;
  if (choice->is_told) {
    return BLIS_OK;
  }
  choice->is_told = true;
  return BLIS__TELL(cluster, BLIS__ROUTING_DECIDED, error, .request = request,
                    .shown = &choice->shown, .view = &view, .routing = &choice->decision,
                    .policy = choice->policy);
}

blis_status blis__cluster_send(blis_cluster *cluster, blis__cluster_request *request,
                               uint32_t instance, blis_error *error) {
  BLIS_TRY(BLIS__TELL(cluster, BLIS__ROUTED, error, .request = request, .instance = instance));
  return inject(cluster, request, instance, error);
}

static blis_status route_and_send(blis_cluster *cluster, blis__cluster_request *request,
                                  const char **rejected, blis_error *error) {
  bool is_taken = false;
  BLIS_TRY(BLIS__OFFER(cluster, BLIS__TO_BE_ROUTED, error, .request = request,
                       .is_taken = &is_taken, .refusal = rejected));
  if (is_taken || *rejected != NULL) {
    return BLIS_OK;
  }
  blis__stage stage = {.router = &cluster->router,
                       .ticket = &request->router_ticket,
                       .role = cluster->main_role,
                       .peer = -1};
  bool waits = false;
  if (cluster->waiting_room != NULL) {
    BLIS_TRY(blis__wait_for_candidates(cluster, request, stage.role, &waits, error));
  }
  if (waits) {
    return BLIS_OK;
  }
  BLIS_TRY(BLIS__TELL(cluster, BLIS__TO_BE_ASKED, error, .request = request, .peer = &stage.peer));
  blis__choice choice;
  BLIS_TRY(blis__cluster_choose(cluster, request, &stage, &choice, error));
  *rejected = choice.decision.rejected;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__CHOSEN, error, .request = request, .choice = &choice));
  if (*rejected != NULL) {
    return blis__cluster_tell_choice(cluster, request, &choice, error);
  }
  BLIS_TRY(BLIS__OFFER(cluster, BLIS__TO_BE_SENT, error, .request = request, .choice = &choice,
                       .is_taken = &is_taken, .refusal = rejected));
  if (is_taken) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__cluster_tell_choice(cluster, request, &choice, error));
  BLIS_TRY(blis__cluster_bring_forward(cluster, choice.instance, error));
  if (choice.decision.has_belief) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__BELIEVED, error, .request = request,
                        .instance = choice.instance, .routing = &choice.decision));
  }
  return blis__cluster_send(cluster, request, choice.instance, error);
}

blis_status blis__cluster_route(blis_cluster *cluster, blis__cluster_request *request,
                                blis_error *error) {
  BLIS_ASSERT(request->place == BLIS__AT_ROUTING);
  const char *rejected = NULL;
  blis__chain_cache_begin(&cluster->chains, &request->request);
  blis_status status = route_and_send(cluster, request, &rejected, error);
  blis__chain_cache_end(&cluster->chains);
  if (status == BLIS_OK && rejected != NULL) {
    return reject(cluster, request, rejected, error);
  }
  return status;
}
