/* Hand-offs: the decision, and the prefill. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/ops.h"
#include "cluster/stages.h"
#include "cluster/waiting_room.h"
#include "instance/parts/remote_kv.h"

enum { PROBLEM_SIZE = 128 };

/* The decision. */

/*
 * Returns the name of the policy that decides whether a request is split; NULL = none was called.
 */
static const char *who_decides(const blis_cluster *cluster, const blis__choice *choice) {
  const blis_decider *decider = &blis__handoffs_of(cluster)->policy.decider;
  return choice->decision.has_prefill ? choice->policy
         : decider->ops != NULL       ? decider->name
                                      : NULL;
}

/*
 * Fails with a message about a policy that selected an invalid instance, with the request and the
 * time.
 */
static blis_status refuse_choice(const blis_cluster *cluster, const blis__choice *choice,
                                 int64_t number, const char *task, blis_error *error) {
  bool is_router = choice->decision.has_prefill;
  const char *name = who_decides(cluster, choice);
  const blis_routing_request *shown = &choice->shown;
  const char *session = shown->number < 0 ? blis_intern_text(shown->strings, shown->session) : NULL;
  char id[BLIS_REQUEST_ID_SIZE];
  char problem[PROBLEM_SIZE];
  if (number < (int64_t)cluster->config.instance_count) {
    snprintf(problem, sizeof problem, "instance_%" PRId64 " is not one of those that %s", number,
             task);
  } else {
    snprintf(problem, sizeof problem,
             "the number %" PRId64 " to %s is none of the %" PRId64 " instances of the cluster",
             number + 1, task, (int64_t)cluster->config.instance_count);
  }
  return blis_fail(error, BLIS_ERR_POLICY, "%s%s%s%s, %s, at %" PRId64 " us: %s",
                   is_router ? "routing policy" : "decider", name[0] != '\0' ? " '" : "", name,
                   name[0] != '\0' ? "'" : "",
                   blis_request_id_of(shown->number, session, shown->round_index, id),
                   cluster->now_us, problem);
}

/* Finds the candidate that the disaggregation policy selected instead of the router's choice. */
static blis_status find_destination(const blis_cluster *cluster, const blis__choice *choice,
                                    const blis_split *split, size_t *chosen, blis_error *error) {
  int64_t count = cluster->config.instance_count;
  const blis_routing_view *view = choice->view;
  if (split->prefill >= count ||
      (split->prefill >= 0 && (cluster->facts[split->prefill].roles & BLIS_ROLE_PREFILL) == 0)) {
    return refuse_choice(cluster, choice, split->prefill, "prefill", error);
  }
  if (split->decode < 0) {
    return BLIS_OK;
  }
  *chosen =
      split->decode < count ? blis_routing_view_find(view, (uint32_t)split->decode) : view->count;
  return *chosen < view->count ? BLIS_OK
                               : refuse_choice(cluster, choice, split->decode, "decode", error);
}

/*
 * Returns whether a request can be split: at least one prompt token is transferred, and at least
 * one output token is decoded.
 */
static bool can_split(const blis_cluster *cluster, const blis__cluster_request *request,
                      const blis_split *split, uint32_t destination) {
  const blis_live_request *live = &request->live;
  const blis_handoff_ops *ops = blis__handoffs_of(cluster)->ops;
  return split->splits && split->prefill != (int64_t)destination &&
         live->prompt_tokens >= ops->prompt_tokens_min && live->output_tokens >= 1 &&
         (!ops->checks_fit || blis_instance_serves(cluster->instances[destination], live));
}

/* Reuses the record of the request's last hand-off, if any. */
static blis_status new_handoff(blis_cluster *cluster, blis__cluster_request *request,
                               blis__handoff **made) {
  blis__handoff *handoff = blis__handoff_of(request);
  int32_t retries = 0;
  uint32_t slot;
  if (handoff != NULL) {
    BLIS_ASSERT(blis__handoff_is_over(&handoff->state));
    retries = handoff->retries + 1;
    slot = handoff->slot;
  } else {
    BLIS_TRY(blis_pool_take(&blis__handoffs_of(cluster)->pool, &slot));
    handoff = blis_pool_item(&blis__handoffs_of(cluster)->pool, slot);
  }
  memset(handoff, 0, offsetof(blis__handoff, times)); /* in place, because it is large */
  handoff->request = request;
  handoff->slot = slot;
  handoff->retries = retries;
  handoff->times = BLIS_STAGE_TIMES_NONE;
  handoff->transfer.is_on_its_way = false;
  handoff->transfer.was_shared = false;
  request->parts[BLIS__PART_HANDOFF] = handoff;
  request->was_split = true;
  *made = handoff;
  return BLIS_OK;
}

/* Returns whether the next turn of the session contains the only output token in its prompt. */
static bool gains_token(const blis_cluster *cluster, const blis_request *request) {
  return blis__handoffs_of(cluster)->ops->shares_only_token && request->output_tokens == 1 &&
         request->shares_output && !request->shares_last_output;
}

/* Creates the block names for the destination. */
static blis_status take_chain(blis_cluster *cluster, blis__cluster_request *request,
                              uint32_t destination) {
  const blis_instance_config *config = blis_instance_get_config(cluster->instances[destination]);
  uint32_t size = (uint32_t)config->block_size_tokens;
  blis_block_chain *chain = &request->live.chain;
  BLIS_TRY(blis__chain_cache_take(&cluster->chains, size, chain));
  if (!gains_token(cluster, &request->request)) {
    return BLIS_OK;
  }
  uint64_t private_base = chain->private_base;
  blis_block_namer_release(cluster->namer, chain);
  request->request.shares_last_output = true;
  BLIS_TRY(blis__chain_cache_take(&cluster->chains, size, chain));
  chain->private_base = private_base;
  return BLIS_OK;
}

/* Returns whether the source emits the only output token, so that no KV needs to be transferred. */
static bool ends_at_source(const blis_cluster *cluster, const blis_live_request *live) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  return h->policy.gives_first_token && h->ops->may_cancel && live->output_tokens == 1;
}

static blis_status begin(blis_cluster *cluster, blis__cluster_request *request,
                         uint32_t destination, int64_t source, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__handoff *handoff;
  BLIS_TRY_MEM(new_handoff(cluster, request, &handoff), error);
  handoff->destination = destination;
  handoff->wanted_source = source;
  blis__handoff_take_preview(cluster, handoff);
  handoff->times.decode_instance = (int32_t)destination;
  BLIS_TRY_MEM(take_chain(cluster, request, destination), error);
  blis__request_move(request, BLIS__HELD_ROUTED);
  h->counts.started++;
  h->counts.in_flight++;
  if (h->ops->counts_choice) {
    blis__snapshot_add_coming(&cluster->snapshot, destination, 1);
  }
  bool reserves = h->policy.reserves_first && !ends_at_source(cluster, &request->live);
  blis__handoff_enter(&handoff->state, reserves ? BLIS__HANDOFF_RESERVING : BLIS__HANDOFF_ROUTING);
  return blis__handoff_schedule(cluster, handoff,
                                reserves ? BLIS__CLUSTER_MOVE : BLIS__CLUSTER_PREFILL,
                                cluster->now_us, error);
}

/*
 * Determines whether the request is split: by the router's decision or, without one, by the
 * disaggregation policy.
 */
static blis_status ask(blis_cluster *cluster, blis__choice *choice, blis_split *split,
                       blis_error *error) {
  const blis_decider *decider = &blis__handoffs_of(cluster)->policy.decider;
  const blis_decision *decision = &choice->decision;
  const blis_routing_view *view = choice->view;
  size_t chosen = decision->chosen;
  if (decision->has_prefill) {
    *split = (blis_split){.splits = true, .prefill = decision->prefill, .decode = -1};
  } else if (decider->ops != NULL) {
    blis__handoffs_of(cluster)->preview.peer = view->instances[chosen];
    BLIS_TRY(decider->ops->decide(&(blis_question){decider->state, &choice->shown, view, error},
                                  chosen, split));
  }
  BLIS_TRY(find_destination(cluster, choice, split, &chosen, error));
  choice->instance = view->instances[chosen];
  return BLIS_OK;
}

static blis_status tell_split(blis_cluster *cluster, blis__cluster_request *request,
                              const blis__choice *choice, blis_split split, bool is_taken,
                              blis_error *error) {
  const char *policy = who_decides(cluster, choice);
  split.splits = is_taken;
  return policy == NULL || !blis__handoffs_of(cluster)->ops->traces
             ? BLIS_OK
             : BLIS__TELL(cluster, BLIS__SPLIT_DECIDED, error, .request = request,
                          .instance = choice->instance, .decided = &split, .policy = policy);
}

/*
 * Called when a request is routed again after it has left the instance of its last hand-off,
 * including its KV.
 */
static void leave_last(blis__cluster_request *request) {
  blis__handoff *handoff = blis__handoff_of(request);
  request->kv_came = false;
  request->own.events = NULL;
  request->own.router = NULL;
  if (handoff != NULL && handoff->state.stage != BLIS__HANDOFF_CLOSED) {
    BLIS_ASSERT(blis__handoff_is_over(&handoff->state));
    blis__handoff_enter(&handoff->state, BLIS__HANDOFF_CLOSED);
  }
}

blis_status blis__handoff_decide(blis_cluster *cluster, blis__cluster_request *request,
                                 blis__choice *choice, bool *is_taken, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis_split split = {.prefill = -1, .decode = -1};
  leave_last(request);
  if (h->ops->traces) {
    BLIS_TRY(blis__cluster_tell_choice(cluster, request, choice, error));
  }
  BLIS_TRY(ask(cluster, choice, &split, error));
  *is_taken = can_split(cluster, request, &split, choice->instance);
  BLIS_TRY(tell_split(cluster, request, choice, split, *is_taken, error));
  if (blis__listeners_hear(&cluster->listeners, BLIS__SPLIT_SETTLED)) {
    BLIS_TRY(BLIS__TELL(cluster, BLIS__SPLIT_SETTLED, error, .request = request));
    choice->view = blis__snapshot_show(&cluster->snapshot, &choice->shown, cluster->now_us);
    BLIS_TRY_NEW(choice->view, error);
  }
  if (!*is_taken) {
    blis__handoff_drop_preview(cluster);
    h->counts.colocated++;
    return BLIS_OK;
  }
  BLIS_TRY(begin(cluster, request, choice->instance, split.prefill, error));
  blis__handoff_drop_preview(cluster); /* has no effect if it was used */
  return BLIS_OK;
}

/* The prefill. */

/* Sets the prefill record, which covers only the prompt. All other members are 0 in a new hand-off,
   which is routed once. */
static void make_leg(const blis_cluster *cluster, blis__handoff *handoff) {
  const blis_handoff_ops *ops = blis__handoffs_of(cluster)->ops;
  const blis_live_request *live = &handoff->request->live;
  blis_live_request *leg = &handoff->prefill;
  BLIS_ASSERT(leg->prompt_tokens == 0 && leg->engine == NULL);
  leg->arrival_us = live->arrival_us;
  leg->deadline_us = live->deadline_us;
  leg->number = live->number;
  leg->session = live->session;
  leg->round_index = live->round_index;
  leg->prompt_tokens = live->prompt_tokens;
  leg->priority = live->priority;
  leg->slot = live->slot;
  leg->owner = &handoff->attempt;
  leg->adapter = live->adapter;
  leg->part = (char)ops->prefill_part;
  leg->ttft_us = -1;
  leg->scheduling_delay_us = -1;
  leg->e2e_us = -1;
  leg->adapter_asked_us = -1;
  ops->fill_leg(handoff);
}

/*
 * Checks that source and destination have the same model, because KV cannot be used by another
 * model.
 */
static blis_status check_model(const blis_cluster *cluster, const blis__handoff *handoff,
                               uint32_t source, blis_error *error) {
  const char *from = cluster->facts[source].model;
  const char *to = cluster->facts[handoff->destination].model;
  if (!blis__handoffs_of(cluster)->ops->checks_models || from == NULL || to == NULL ||
      blis__is_same_model(from, to)) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_POLICY,
                   "disaggregation: instance_%" PRIu32
                   ", which has the model %s, hands KV off to another model, "
                   "%s of instance_%" PRIu32 "; requests have to name their model",
                   source, from, to, handoff->destination);
}

static const blis_instance_events leg_events;

static blis_status inject(blis_cluster *cluster, blis__handoff *handoff, uint32_t source,
                          blis_error *error) {
  blis__cluster_request *request = handoff->request;
  blis_instance *instance = cluster->instances[source];
  const blis_instance_config *config = blis_instance_get_config(instance);
  BLIS_TRY(check_model(cluster, handoff, source, error));
  BLIS_TRY(blis__cluster_bring_forward(cluster, source, error));
  make_leg(cluster, handoff);
  handoff->attempt = (blis__attempt){.request = request,
                                     .live = &handoff->prefill,
                                     .events = &leg_events,
                                     .part = handoff,
                                     .router = blis__handoff_prefill_router(cluster),
                                     .ticket = &handoff->prefill_ticket};
  request->other = &handoff->attempt;
  BLIS_TRY_MEM(blis__chain_cache_take(&cluster->chains, (uint32_t)config->block_size_tokens,
                                      &handoff->prefill.chain),
               error);
  blis__source_becomes(&handoff->state, BLIS__SOURCE_COMING);
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_PREFILL);
  handoff->source = source;
  handoff->times.prefill_instance = (int32_t)source;
  handoff->times.moved_bytes = 0;
  request->instance = (int32_t)source;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__ROUTED, error, .request = request, .instance = source));
  BLIS_TRY(BLIS__TELL(cluster, BLIS__JOINED, error, .request = request, .instance = source));
  blis__snapshot_add_coming(&cluster->snapshot, source, 1);
  cluster->counts.routed++;
  BLIS_TRY(blis_instance_inject(instance, &handoff->prefill, cluster->now_us, error));
  blis__handoff_note_instance(cluster, source);
  return BLIS_OK;
}

/*
 * Handles a rejection. If a prefill instance is expected, the request is decided again when it is
 * up.
 */
static blis_status refuse(blis_cluster *cluster, blis__handoff *handoff, const char *reason,
                          blis_error *error) {
  blis__cluster_request *request = handoff->request;
  bool waits = false;
  blis__handoffs_of(cluster)->counts.failed++;
  BLIS_TRY(blis__handoff_close(cluster, handoff, error));
  if (cluster->waiting_room != NULL) {
    request->router_ticket = (blis_ticket){{0}};
    blis__request_move(request, BLIS__AT_ROUTING);
    BLIS_TRY(blis__wait_for_candidates(cluster, request, BLIS_ROLE_PREFILL, &waits, error));
  }
  if (waits) {
    return BLIS_OK;
  }
  request->live.state = BLIS_REQUEST_REJECTED;
  return blis__cluster_end(cluster, request, cluster->now_us, reason, error);
}

/* Calls the router of the stage unless the disaggregation policy has chosen the source. */
static blis_status choose_source(blis_cluster *cluster, blis__handoff *handoff,
                                 const char **rejected, uint32_t *source, blis_error *error) {
  int64_t wanted = handoff->wanted_source;
  if (wanted >= 0 && cluster->services[wanted] == BLIS_SERVICE_ACTIVE) {
    *source = (uint32_t)wanted;
    return BLIS_OK;
  }
  blis__handoff_unbook(cluster, handoff);
  blis__choice choice;
  BLIS_TRY(blis__handoff_choose_source(cluster, handoff->request, &handoff->prefill_ticket,
                                       handoff->destination, &choice, error));
  *rejected = choice.decision.rejected;
  *source = choice.instance;
  return BLIS_OK;
}

/* Cancels the split: one instance, the destination or the source, computes the whole request. */
static blis_status cancel(blis_cluster *cluster, blis__handoff *handoff, uint32_t source,
                          blis_error *error) {
  blis__handoffs_of(cluster)->counts.cancelled++;
  return source == handoff->destination
             ? blis__handoff_stay(cluster, handoff, error)
             : blis__handoff_stay_at_source(cluster, handoff, source, error);
}

static blis_status route(blis_cluster *cluster, blis__handoff *handoff, const char **rejected,
                         uint32_t *source, bool *is_one, blis_error *error) {
  const blis_live_request *live = &handoff->request->live;
  BLIS_TRY(choose_source(cluster, handoff, rejected, source, error));
  if (*rejected != NULL) {
    return BLIS_OK;
  }
  *is_one = blis__handoffs_of(cluster)->ops->may_cancel &&
            (*source == handoff->destination || ends_at_source(cluster, live));
  return *is_one ? BLIS_OK : inject(cluster, handoff, *source, error);
}

blis_status blis__handoff_route(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  const char *rejected = NULL;
  uint32_t source = 0;
  bool is_one = false;
  const blis__cluster_request *request = handoff->request;
  if (blis__handoffs_of(cluster)->ops->keeps_names) {
    blis__chain_cache_begin_again(&cluster->chains, &request->request, &request->live.chain);
  } else {
    blis__chain_cache_begin(&cluster->chains, &request->request);
  }
  blis_status status = route(cluster, handoff, &rejected, &source, &is_one, error);
  blis__chain_cache_end(&cluster->chains);
  if (status != BLIS_OK) {
    return status;
  }
  if (rejected != NULL) {
    return refuse(cluster, handoff, rejected, error);
  }
  return is_one ? cancel(cluster, handoff, source, error) : BLIS_OK;
}

/* Reports of instances. */

static blis__handoff *handoff_of(const blis_live_request *leg) {
  return blis__attempt_of(leg)->part;
}

static void on_queued(void *ud, blis_live_request *leg, int64_t now_us) {
  (void)now_us;
  blis_cluster *cluster = ud;
  blis__handoff *handoff = handoff_of(leg);
  blis__source_becomes(&handoff->state, BLIS__SOURCE_THERE);
  blis__snapshot_add_pending(&cluster->snapshot, handoff->source, -1);
}

/* Ignores first tokens, which the request's own attempt handles. */
static void on_first_token(void *ud, blis_live_request *leg, int64_t now_us) {
  (void)ud, (void)leg, (void)now_us;
}

static blis_status on_computing(void *ud, blis_live_request *leg, const blis_prefill_step *step,
                                blis_error *error) {
  return blis__handoff_feed(ud, handoff_of(leg), step, error);
}

static blis_status on_completed(void *ud, const blis_live_request *leg, int64_t end_us,
                                bool *counts_itl, blis_error *error) {
  (void)ud, (void)leg, (void)end_us, (void)counts_itl, (void)error;
  return BLIS_OK;
}

static blis_status prefill_is_done(blis_cluster *cluster, blis__handoff *handoff, int64_t now_us,
                                   blis_error *error) {
  blis__cluster_request *request = handoff->request;
  const blis_live_request *leg = &handoff->prefill;
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_READY);
  handoff->ready_us = now_us;
  handoff->prefill_ttft_us = leg->ttft_us;
  handoff->times.prefill_end_us = now_us;
  handoff->times.prefill_admitted_us = leg->arrival_us + leg->scheduling_delay_us;
  cluster->dropped.completed++;
  blis__snapshot_add_prefill(&cluster->snapshot, handoff->source, -request->pending_prefill_tokens);
  request->pending_prefill_tokens = 0;
  BLIS_TRY(
      BLIS__TELL(cluster, BLIS__PREFILLED, error, .request = request, .instance = handoff->source));
  const blis_handoff_ops *ops = blis__handoffs_of(cluster)->ops;
  if (ops->prefilled != NULL) {
    BLIS_TRY(ops->prefilled(cluster, handoff, error));
  }
  return ops->schedule_move(cluster, handoff, error);
}

static blis_status on_ended(void *ud, blis_live_request *leg, int64_t now_us, int64_t end_us,
                            blis_error *error) {
  return leg->state == BLIS_REQUEST_COMPLETED
             ? prefill_is_done(ud, handoff_of(leg), now_us, error)
             : blis__handoff_give_up(ud, handoff_of(leg), leg->state, end_us, error);
}

/* Callbacks for the prefill at the source. */
static const blis_instance_events leg_events = {
    .queued = on_queued,
    .first_token = on_first_token,
    .computing = on_computing,
    .completed = on_completed,
    .ended = on_ended,
};
