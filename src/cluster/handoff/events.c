#include "cluster/handoff/handoff.h"
#include "cluster/handoff/handoffs.h"

#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/handoff/ops.h"
#include "cluster/instances/send_again.h"
#include "cluster/service.h"
#include "cluster/stages.h"
#include "instance/parts/arrival.h"
#include "instance/parts/remote_kv.h"

void blis__handoff_note_instance(blis_cluster *cluster, uint32_t instance) {
  blis__snapshot_instance_changed(&cluster->snapshot, instance);
  blis__cluster_note_next(cluster, instance);
}

static blis_status push(blis_cluster *cluster, blis__handoff *handoff, int event_class,
                        int64_t at_us, blis_error *error) {
  const blis_event event = {.time_us = blis_max_i64(at_us, cluster->now_us),
                            .event_class = event_class,
                            .object = handoff};
  BLIS_TRY_MEM(blis_event_queue_push(cluster->queue, &event, &handoff->event), error);
  return BLIS_OK;
}

/*
 * Pushes the pending event to the queue, because other events exist and events of the same time run
 * in the order of scheduling.
 */
static blis_status push_soon(blis_cluster *cluster, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__handoff *handoff = h->soon;
  h->soon = NULL;
  return handoff == NULL ? BLIS_OK : push(cluster, handoff, h->soon_class, cluster->now_us, error);
}

blis_status blis__handoff_schedule(blis_cluster *cluster, blis__handoff *handoff, int event_class,
                                   int64_t at_us, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  bool is_stage = event_class == BLIS__CLUSTER_PREFILL || event_class == BLIS__CLUSTER_MOVE;
  if (is_stage && cluster->is_busy && at_us <= cluster->now_us && h->soon == NULL) {
    h->soon = handoff;
    h->soon_class = event_class;
    return BLIS_OK;
  }
  if (is_stage) {
    BLIS_TRY(push_soon(cluster, error));
  }
  return push(cluster, handoff, event_class, at_us, error);
}

void blis__handoff_unschedule(blis_cluster *cluster, const blis__handoff *handoff) {
  if (blis__handoffs_of(cluster)->soon == handoff) {
    blis__handoffs_of(cluster)->soon = NULL;
  }
  blis_event_queue_cancel(cluster->queue, handoff->event);
}

/* Drops the variant's state: the hand-off now reserves blocks or never will. */
static void forget(blis_cluster *cluster, blis__handoff *handoff) {
  const blis_handoff_ops *ops = blis__handoffs_of(cluster)->ops;
  if (ops->forget != NULL) {
    ops->forget(cluster, handoff);
  }
}

/* Handles the timeout, which is the deadline of the request or the timeout of the policy. */
blis_status blis__handoff_timed_out(blis_cluster *cluster, blis__handoff *handoff,
                                    blis_error *error) {
  int64_t deadline_us = handoff->request->live.deadline_us;
  return deadline_us > 0 && deadline_us <= cluster->now_us
             ? blis__handoff_is_late(cluster, handoff, error)
             : blis__handoff_fail(cluster, handoff, "handoff-timeout", error);
}

static blis_status run_event(blis_cluster *cluster, blis__handoff *handoff, int event_class,
                             blis_error *error) {
  cluster->fruitless = 0;
  switch (event_class) {
  case BLIS__CLUSTER_PREFILL:
    return blis__handoff_route(cluster, handoff, error);
  case BLIS__CLUSTER_MOVE:
    forget(cluster, handoff);
    return blis__handoff_seek_room(cluster, handoff, error);
  case BLIS__CLUSTER_MOVED:
    return blis__handoff_moved(cluster, handoff, error);
  default:
    BLIS_ASSERT(event_class == BLIS__CLUSTER_TIMEOUT);
    return blis__handoff_timed_out(cluster, handoff, error);
  }
}

blis_status blis__handoff_event(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  return run_event(cluster, event->object, event->event_class, error);
}

blis_status blis__handoff_go_on(blis_cluster *cluster, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  while (h->soon != NULL) {
    if (cluster->hooks.points[BLIS__ROOM_MADE].count > 0 || !blis__cluster_is_free(cluster)) {
      return push_soon(cluster, error); /* its hooks are called in between */
    }
    blis__handoff *handoff = h->soon;
    h->soon = NULL;
    BLIS_TRY(run_event(cluster, handoff, h->soon_class, error));
  }
  return BLIS_OK;
}

/* Ends. */

blis_status blis__handoff_leave_source(blis_cluster *cluster, blis__handoff *handoff,
                                       blis_error *error) {
  if (!blis__handoff_is_at_source(&handoff->state)) {
    return BLIS_OK;
  }
  uint32_t source = handoff->source;
  bool is_pending = handoff->state.source == BLIS__SOURCE_COMING;
  blis__source_becomes(&handoff->state, BLIS__SOURCE_GONE);
  if (handoff->prefill.engine != NULL) {
    BLIS_TRY(blis__cluster_bring_forward(cluster, source, error));
    BLIS_TRY(
        blis_instance_evict(cluster->instances[source], &handoff->prefill, cluster->now_us, error));
    blis__handoff_note_instance(cluster, source);
  }
  if (is_pending) {
    blis__snapshot_add_pending(&cluster->snapshot, source, -1);
  }
  blis__snapshot_add_in_flight(&cluster->snapshot, source, -1);
  blis_drawn_add(&handoff->request->live.drawn, &handoff->prefill.drawn, 1);
  handoff->prefill.drawn = (blis_drawn){0};
  blis_block_namer_release(cluster->namer, &handoff->prefill.chain);
  BLIS_TRY(BLIS__TELL(cluster, BLIS__LEFT, error, .request = handoff->request));
  handoff->request->other = NULL;
  handoff->request->instance = -1;
  return blis__handoff_note_room(cluster, source, error);
}

/* Removes the request from its destination, as if the destination had never been chosen. */
static blis_status leave_destination(blis_cluster *cluster, blis__handoff *handoff,
                                     blis_error *error) {
  uint32_t destination = handoff->destination;
  blis_live_request *live = &handoff->request->live;
  if (handoff->state.room == BLIS__ROOM_RESERVED) {
    blis__room_becomes(&handoff->state, BLIS__ROOM_NONE);
    BLIS_TRY(blis__cluster_bring_forward(cluster, destination, error));
    BLIS_TRY(blis_instance_evict(cluster->instances[destination], live, cluster->now_us, error));
    blis__handoff_note_instance(cluster, destination);
    BLIS_TRY(blis__handoff_note_room(cluster, destination, error));
  }
  if (blis__handoffs_of(cluster)->ops->counts_choice) {
    blis__snapshot_add_coming(&cluster->snapshot, destination, -1);
  }
  blis_block_namer_release(cluster->namer, &live->chain);
  blis__reset_request(live);
  return blis__check_drained(cluster, destination, error);
}

/* Reports to the router that chose the destination that its choice was withdrawn. */
static void take_choice_back(const blis_cluster *cluster, const blis__handoff *handoff) {
  const blis_router *router = &cluster->router;
  const blis_request_times times = {.now_us = cluster->now_us, .ttft_us = -1};
  if (router->ops->ended != NULL) {
    router->ops->ended(router->state, &handoff->request->router_ticket, handoff->destination,
                       &times);
  }
}

static blis_status close_handoff(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  BLIS_ASSERT(!blis__handoff_is_over(&handoff->state));
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_CLOSED);
  blis__handoffs_of(cluster)->counts.in_flight--;
  blis__handoff_unbook(cluster, handoff);
  forget(cluster, handoff);
  blis__handoff_unschedule(cluster, handoff);
  blis__handoff_clear_timeout(cluster, handoff);
  BLIS_TRY(blis__handoff_stop_moving(cluster, handoff, error));
  BLIS_TRY(blis__handoff_leave_source(cluster, handoff, error));
  return leave_destination(cluster, handoff, error);
}

blis_status blis__handoff_close(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  BLIS_TRY(close_handoff(cluster, handoff, error));
  take_choice_back(cluster, handoff);
  return BLIS_OK;
}

/*
 * Removes the cached blocks of the source that no request holds, including the transferred ones, so
 * that the KV has only one owner.
 */
static blis_status drop_source_cache(blis_cluster *cluster, uint32_t source, blis_error *error) {
  if (!blis__handoffs_of(cluster)->policy.drops_source_cache) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_instance_forget_cache(cluster->instances[source], error));
  blis__handoff_note_instance(cluster, source);
  return BLIS_OK;
}

blis_status blis__handoff_complete(blis_cluster *cluster, blis__handoff *handoff,
                                   blis_error *error) {
  blis__room_becomes(&handoff->state, BLIS__ROOM_FILLED);
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_DECODE);
  handoff->request->kv_came = true;
  if (blis__handoffs_of(cluster)->ops->decode_events != NULL) {
    handoff->request->own.events = blis__handoffs_of(cluster)->ops->decode_events;
  }
  blis__handoffs_of(cluster)->counts.in_flight--;
  blis__handoffs_of(cluster)->counts.completed++;
  blis__handoff_clear_timeout(cluster, handoff);
  uint32_t source = handoff->source;
  BLIS_TRY(blis__handoff_leave_source(cluster, handoff, error));
  return drop_source_cache(cluster, source, error);
}

static blis_status end_request(blis_cluster *cluster, blis__cluster_request *request,
                               blis_request_state state, int64_t end_us, const char *reason,
                               blis_error *error) {
  request->live.state = state;
  return blis__cluster_end(cluster, request, end_us, reason, error);
}

blis_status blis__handoff_give_up(blis_cluster *cluster, blis__handoff *handoff,
                                  blis_request_state state, int64_t end_us, blis_error *error) {
  blis__cluster_request *request = handoff->request;
  bool was_counted = handoff->prefill.was_counted;
  blis__handoffs_of(cluster)->counts.timed_out += state == BLIS_REQUEST_TIMED_OUT;
  blis__handoffs_of(cluster)->counts.failed += state != BLIS_REQUEST_TIMED_OUT;
  BLIS_TRY(blis__handoff_close(cluster, handoff, error));
  request->live.was_counted = was_counted;
  return end_request(cluster, request, state, end_us, NULL, error);
}

blis_status blis__handoff_is_late(blis_cluster *cluster, blis__handoff *handoff,
                                  blis_error *error) {
  cluster->dropped.timed_out--; /* no instance has counted it */
  return blis__handoff_give_up(cluster, handoff, BLIS_REQUEST_TIMED_OUT, cluster->now_us, error);
}

/* Repeats routing after a pause. */
static blis_status retry(blis_cluster *cluster, blis__cluster_request *request, int64_t pause_us,
                         blis_error *error) {
  request->router_ticket = (blis_ticket){{0}};
  cluster->counts.rerouted++;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__SENT_AGAIN, error, .request = request,
                      .loss = {.kind = BLIS_LOSS_REROUTED}));
  return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING,
                                blis_time_after_us(pause_us, cluster->config.routing_latency_us),
                                error);
}

/* Sends the complete request to an instance. */
static blis_status send_whole(blis_cluster *cluster, blis__cluster_request *request,
                              uint32_t instance, blis_error *error) {
  blis__request_move(request, BLIS__AT_ROUTING);
  blis__chain_cache_begin(&cluster->chains, &request->request);
  blis_status status = blis__cluster_send(cluster, request, instance, error);
  blis__chain_cache_end(&cluster->chains);
  return status;
}

blis_status blis__handoff_stay(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__cluster_request *request = handoff->request;
  uint32_t destination = handoff->destination;
  BLIS_TRY(close_handoff(cluster, handoff, error));
  if (cluster->services[destination] != BLIS_SERVICE_ACTIVE) {
    take_choice_back(cluster, handoff);
    return retry(cluster, request, 0, error);
  }
  return send_whole(cluster, request, destination, error);
}

blis_status blis__handoff_stay_at_source(blis_cluster *cluster, blis__handoff *handoff,
                                         uint32_t source, blis_error *error) {
  blis__cluster_request *request = handoff->request;
  if (handoff->state.source == BLIS__SOURCE_BOOKED) { /* feedback.c reports its end later */
    blis__source_becomes(&handoff->state, BLIS__SOURCE_NONE);
  }
  BLIS_TRY(blis__handoff_close(cluster, handoff, error));
  request->router_ticket = (blis_ticket){{0}};
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_AT_SOURCE_ONLY);
  request->own.router = blis__handoff_prefill_router(cluster);
  request->own.ticket = &handoff->prefill_ticket;
  handoff->times = BLIS_STAGE_TIMES_NONE;
  return send_whole(cluster, request, source, error);
}

blis_status blis__handoff_fail(blis_cluster *cluster, blis__handoff *handoff, const char *reason,
                               blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__cluster_request *request = handoff->request;
  h->counts.failed++;
  switch (h->policy.on_failure) {
  case BLIS_HANDOFF_IS_RECOMPUTED:
    h->counts.recomputed++;
    return blis__handoff_stay(cluster, handoff, error);
  case BLIS_HANDOFF_IS_RETRIED:
    if (handoff->retries < h->policy.retries_max) {
      h->counts.retried++;
      BLIS_TRY(blis__handoff_close(cluster, handoff, error));
      return retry(cluster, request, h->policy.retry_pause_us, error);
    }
    break;
  case BLIS_HANDOFF_FAILS:
    break;
  }
  BLIS_TRY(blis__handoff_close(cluster, handoff, error));
  return end_request(cluster, request, BLIS_REQUEST_FAILED, cluster->now_us, reason, error);
}

/* The fault determines how the request is handled, and takes precedence over the policy. */
static blis_status lose(blis_cluster *cluster, blis__handoff *handoff, blis_loss loss,
                        const char *reason, blis_error *error) {
  blis__cluster_request *request = handoff->request;
  blis__handoffs_of(cluster)->counts.failed++;
  BLIS_TRY(blis__handoff_close(cluster, handoff, error));
  return blis__goes_on(loss)
             ? blis__send_again(cluster, request, loss, error)
             : end_request(cluster, request, BLIS_REQUEST_FAILED, cluster->now_us, reason, error);
}

blis_status blis__handoff_lose_instance(blis_cluster *cluster, uint32_t instance, blis_loss loss,
                                        blis_error *error) {
  blis__cluster_request *later;
  for (blis__cluster_request *request = cluster->requests.first;
       blis__handoffs_of(cluster) != NULL && request != NULL; request = later) {
    later = request->later;
    blis__handoff *handoff = blis__handoff_of(request);
    if (request->place != BLIS__HELD_ROUTED || blis__handoff_is_over(&handoff->state)) {
      continue;
    }
    bool is_source = blis__handoff_is_at_source(&handoff->state) && handoff->source == instance;
    if (!is_source && handoff->destination != instance) {
      continue;
    }
    const char *reason = is_source ? "prefill-failed" : "decode-failed";
    BLIS_TRY(loss.kind == BLIS_LOSS_USUAL ? blis__handoff_fail(cluster, handoff, reason, error)
                                          : lose(cluster, handoff, loss, reason, error));
  }
  return BLIS_OK;
}

/* Queries. */

/* Fails with a message about the resource for which the hand-off waits. */
static blis_status name_stuck(const blis_cluster *cluster, const blis__handoff *handoff,
                              blis_error *error) {
  char id[BLIS_REQUEST_ID_SIZE];
  blis_request_id(&handoff->request->request, cluster->source->strings, id);
  const char *destination = cluster->ids[handoff->destination];
  static const char *const hint =
      "instances that do both stages hold what each other's requests wait for, "
      "which a limit of the transfer's time would end";
  if (handoff->state.room == BLIS__ROOM_AWAITED) {
    return blis_fail(error, BLIS_ERR_STUCK,
                     "%s waits for KV blocks of %s since %" PRId64
                     " us, and nothing is left to happen that could free any: "
                     "%s",
                     id, destination, handoff->wait_since_us, hint);
  }
  return blis_fail(error, BLIS_ERR_STUCK,
                   "%s has KV blocks of %s and waits for its prefill on %s, and "
                   "nothing is left to happen that could free blocks there: %s",
                   id, destination, cluster->ids[handoff->source], hint);
}

blis_status blis__handoff_check_stuck(const blis_cluster *cluster, blis_error *error) {
  bool may_go_on =
      blis__handoffs_of(cluster) == NULL || blis__handoffs_of(cluster)->ops->may_lose ||
      blis__cluster_planned_us(cluster) != BLIS_TIME_NEVER_US ||
      blis__cluster_instances_next_us(cluster) != BLIS_TIME_NEVER_US || cluster->has_arrival;
  for (const blis__cluster_request *r = cluster->requests.first; !may_go_on && r != NULL;
       r = r->later) {
    if (r->place == BLIS__HELD_ROUTED) {
      return name_stuck(cluster, blis__handoff_of(r), error);
    }
  }
  return BLIS_OK;
}

bool blis_cluster_has_pools(const blis_cluster *cluster) {
  return blis__handoffs_of(cluster) != NULL;
}

size_t blis_cluster_link_count(const blis_cluster *cluster) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  return h == NULL || !h->ops->has_links ? 0 : h->links.all.count;
}

/* Links of instances are in pairs (out, in). The fabric is the last link. */
blis_link_counts blis_cluster_link(const blis_cluster *cluster, size_t index) {
  const blis__link link = blis__links_look(&blis__handoffs_of(cluster)->links, (uint32_t)index,
                                           (double)cluster->now_us);
  bool is_fabric = index == 2 * (size_t)cluster->config.instance_count;
  return (blis_link_counts){.instance = is_fabric ? -1 : (int32_t)(index / 2),
                            .is_in = !is_fabric && index % 2 == 1,
                            .bytes_per_us = link.bytes_per_us,
                            .active = link.active,
                            .peak = link.peak,
                            .transfers = link.transfers,
                            .bytes = link.bytes,
                            .busy_us = link.busy_us,
                            .transfer_us = link.transfer_us};
}

void blis_cluster_get_handoffs(const blis_cluster *cluster, blis_handoff_counts *counts) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  *counts = h == NULL ? (blis_handoff_counts){0} : h->counts;
  counts->moving = h == NULL ? 0 : h->active;
  if (h != NULL && h->ops->has_links) {
    /* Includes unfinished transfers, whose bytes may be fractional. */
    counts->bytes = round(blis__links_moved(&h->links, (double)cluster->now_us));
  }
  for (size_t i = 0; h != NULL && i < h->links.all.count; i++) {
    counts->busiest_link_us = fmax(counts->busiest_link_us, blis_cluster_link(cluster, i).busy_us);
  }
  BLIS_ASSERT(counts->started == counts->completed + counts->failed + counts->timed_out +
                                     counts->cancelled + counts->in_flight);
}
