/* Hand-offs: reservations at the destination, links, and transfers. */
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/ops.h"
#include "instance/parts/remote_kv.h"

/* Waiting. */

static blis_status join(blis_cluster *cluster, blis__handoff *handoff) {
  blis__room_queue *queue = &blis__handoffs_of(cluster)->rooms[handoff->destination];
  BLIS_TRY(blis__handoff_hear_who_leaves(cluster));
  if (queue->head == NULL) {
    blis__cluster_set_eager(cluster, handoff->destination, true);
  }
  handoff->next_waiting = NULL;
  *(queue->tail != NULL ? &queue->tail->next_waiting : &queue->head) = handoff;
  queue->tail = handoff;
  blis__room_becomes(&handoff->state, BLIS__ROOM_AWAITED);
  blis__handoffs_of(cluster)->counts.waiting++;
  return BLIS_OK;
}

/* Removes a hand-off from the queue for blocks. */
static void leave(blis_cluster *cluster, blis__handoff *handoff) {
  uint32_t instance = handoff->destination;
  blis__room_queue *queue = &blis__handoffs_of(cluster)->rooms[instance];
  blis__handoff *before = NULL;
  blis__handoff *at = queue->head;
  while (at != handoff) {
    before = at;
    at = at->next_waiting;
  }
  *(before != NULL ? &before->next_waiting : &queue->head) = at->next_waiting;
  if (queue->tail == handoff) {
    queue->tail = before;
  }
  if (queue->head == NULL && !blis__handoff_is_source(cluster, instance)) {
    blis__cluster_set_eager(cluster, instance, false);
  }
  blis__handoffs_of(cluster)->counts.waiting--;
}

blis_status blis__handoff_try_again(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  blis__handoff *first = blis__handoffs_of(cluster)->rooms[instance].head;
  blis__handoff_unschedule(cluster, first);
  return blis__handoff_schedule(cluster, first, BLIS__CLUSTER_MOVE, cluster->now_us, error);
}

/* Sets the time limit, counted from the first allocation or reservation of blocks. Instances
   with both stages can block each other's requests; only this timeout resolves it. */
static blis_status set_timeout(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  const blis_disaggregation *policy = &blis__handoffs_of(cluster)->policy;
  int64_t deadline_us = handoff->request->live.deadline_us;
  int64_t at_us = policy->timeout_us > 0 ? blis_time_after_us(cluster->now_us, policy->timeout_us)
                                         : BLIS_TIME_NEVER_US;
  if (deadline_us > 0) { /* may already have passed */
    at_us = blis_max_i64(blis_min_i64(at_us, deadline_us), cluster->now_us);
  }
  return blis__handoff_set_timeout(cluster, handoff, at_us, error);
}

/* Reservations. */

/*
 * Returns the number of tokens to transfer. The instance that emits the first token recomputes the
 * last prompt token.
 */
static int64_t tokens_to_move(const blis_cluster *cluster, const blis__handoff *handoff) {
  const blis_disaggregation *policy = &blis__handoffs_of(cluster)->policy;
  const blis_live_request *live = &handoff->request->live;
  const blis_instance_config *config =
      blis_instance_get_config(cluster->instances[handoff->destination]);
  bool is_whole =
      blis__handoffs_of(cluster)->ops->moves_last_token ||
      (policy->gives_first_token && blis_can_bring_first_token(config, live, live->prompt_tokens));
  return live->prompt_tokens - !is_whole;
}

static bool is_too_full(const blis_cluster *cluster, const blis__handoff *handoff, int64_t tokens) {
  double limit = blis__handoffs_of(cluster)->policy.kv_limit;
  blis_instance_stats stats;
  if (limit >= 1) {
    return false;
  }
  const blis_instance *instance = cluster->instances[handoff->destination];
  int64_t size = blis_instance_get_config(instance)->block_size_tokens;
  blis_instance_get_stats(instance, &stats);
  int64_t used = stats.used_kv_blocks;
  return used > 0 && (double)(used + (tokens + size - 1) / size) > limit * (double)stats.kv_blocks;
}

static blis_status try_reserve(blis_cluster *cluster, blis__handoff *handoff, bool *is_done,
                               blis_error *error) {
  const blis_handoff_ops *ops = blis__handoffs_of(cluster)->ops;
  uint32_t number = handoff->destination;
  BLIS_TRY(blis__cluster_bring_forward(cluster, number, error));
  const blis_kv_demand demand = {.tokens = tokens_to_move(cluster, handoff),
                                 .reuses_cache = ops->reuses_cache,
                                 .is_found_at_once = ops->finds_room_at_once};
  *is_done = false;
  if (is_too_full(cluster, handoff, demand.tokens)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_instance_reserve(cluster->instances[number], &handoff->request->live, &demand,
                                 &handoff->cached_tokens, is_done, error));
  if (*is_done) {
    blis__room_becomes(&handoff->state, BLIS__ROOM_RESERVED);
    handoff->kv_tokens = demand.tokens;
    /* The time of its next event has not changed. */
    blis__snapshot_instance_changed(&cluster->snapshot, number);
  }
  return BLIS_OK;
}

static blis_status drop(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  h->counts.dropped++;
  h->counts.failed++;
  blis__cluster_request *request = handoff->request;
  BLIS_TRY(blis__handoff_close(cluster, handoff, error));
  h->ops->drop(cluster, request);
  return blis__cluster_end(cluster, request, cluster->now_us, "no-kv-room", error);
}

static blis_status wait_for_room(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  switch (h->policy.on_no_room) {
  case BLIS_NO_ROOM_DROP:
    return drop(cluster, handoff, error);
  case BLIS_NO_ROOM_LOCAL:
    h->counts.cancelled++;
    return blis__handoff_stay(cluster, handoff, error);
  case BLIS_NO_ROOM_WAIT:
    break;
  }
  h->counts.waited++;
  handoff->wait_since_us = cluster->now_us;
  BLIS_TRY_MEM(join(cluster, handoff), error);
  if (handoff->state.stage == BLIS__HANDOFF_READY) {
    blis__handoff_enter(&handoff->state, BLIS__HANDOFF_HELD);
  }
  return BLIS_OK;
}

/* Transfers. */

static uint64_t pair_of(const blis__handoff *handoff) {
  return blis__pair_of(handoff->source, handoff->destination);
}

/* Adds the time of the handshake at the first contact of two instances. */
static blis_status shake_hands(blis__handoffs *h, const blis__handoff *handoff, double *us) {
  uint64_t known;
  *us = 0;
  if (h->policy.handshake_us == 0 || blis_map_get(&h->pairs, pair_of(handoff), &known)) {
    return BLIS_OK;
  }
  *us = (double)h->policy.handshake_us;
  return blis_map_put(&h->pairs, pair_of(handoff), 1);
}

/* Returns the bytes of the first `tokens` tokens. Only whole blocks are transferred. The last block
   follows when it is complete, together with windows and states. */
static double bytes_of(const blis_cluster *cluster, const blis__handoff *handoff, int64_t tokens) {
  const blis_instance_config *config =
      blis_instance_get_config(cluster->instances[handoff->destination]);
  int64_t size = config->block_size_tokens;
  int64_t there = blis__handoffs_of(cluster)->policy.moves_missing ? handoff->cached_tokens : 0;
  bool is_all = tokens >= handoff->kv_tokens;
  int64_t moved = blis_min_i64(tokens, handoff->kv_tokens) - there;
  int64_t blocks = (blis_max_i64(moved, 0) + (is_all ? size - 1 : 0)) / size;
  uint32_t source = handoff->source;
  uint32_t destination = handoff->destination;
  double fixed =
      is_all ? blis__handoff_fixed_bytes(cluster, source, destination, handoff->kv_tokens) : 0;
  return (double)blocks * (double)size * blis__handoff_token_bytes(cluster, source, destination) +
         fixed;
}

static double bytes_to_move(const blis_cluster *cluster, const blis__handoff *handoff) {
  return bytes_of(cluster, handoff, handoff->kv_tokens);
}

/* Schedules the next event of the links. */
static void schedule_links(blis_cluster *cluster) {
  double next_us = blis__links_next_us(&blis__handoffs_of(cluster)->links);
  blis__handoff_set_links_due(cluster, next_us < (double)BLIS_TIME_NEVER_US
                                           ? blis_max_i64((int64_t)ceil(next_us), cluster->now_us)
                                           : BLIS_TIME_NEVER_US);
}

static blis_status prepare(blis_cluster *cluster, blis__handoff *handoff, int64_t now_us,
                           blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  uint32_t source = handoff->source;
  uint32_t destination = handoff->destination;
  double handshake_us;
  BLIS_TRY_MEM(shake_hands(h, handoff, &handshake_us), error);
  blis__transfer *transfer = &handoff->transfer;
  transfer->from_us = (double)now_us + h->policy.base_us + handshake_us;
  transfer->links[0] = h->egress[source];
  transfer->parts[0] = blis__handoff_part(cluster, source, destination);
  transfer->links[1] = h->ingress[destination];
  transfer->parts[1] = blis__handoff_part(cluster, destination, source);
  transfer->link_count = 2;
  if (h->has_fabric) {
    transfer->links[2] = h->fabric;
    transfer->parts[2] = 1;
    transfer->link_count = 3;
  }
  blis__links_advance(&h->links, (double)now_us);
  return BLIS_OK;
}

blis_status blis__handoff_start_on_links(blis_cluster *cluster, blis__handoff *handoff,
                                         double bytes, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  BLIS_TRY(prepare(cluster, handoff, cluster->now_us, error));
  BLIS_TRY_MEM(blis__links_start(&h->links, &handoff->transfer, bytes), error);
  schedule_links(cluster);
  return BLIS_OK;
}

void blis__handoff_stop_on_links(blis_cluster *cluster, blis__handoff *handoff) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__links_advance(&h->links, (double)cluster->now_us);
  blis__links_stop(&h->links, &handoff->transfer);
  schedule_links(cluster);
}

static blis_status note_transfer(blis_cluster *cluster, blis__handoff *handoff, double bytes,
                                 int64_t now_us, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__transfer_becomes(&handoff->state, BLIS__MOVE_MOVING);
  handoff->times.transfer_start_us = now_us;
  handoff->times.moved_bytes = (int64_t)bytes;
  h->active++;
  h->counts.peak = blis_max_i64(h->counts.peak, h->active);
  h->counts.moves++;
  h->counts.depth_sum += (double)h->active;
  h->counts.bytes += bytes; /* if there are links, they have the exact sum */
  return BLIS__TELL(cluster, BLIS__TRANSFER_BEGAN, error, .request = handoff->request,
                    .instance = handoff->source, .destination = handoff->destination);
}

static blis_status end_transfer(blis_cluster *cluster, blis__handoff *handoff, blis_error *error);

/*
 * Begins the transfer. With overlap, it has already begun and may have moved all available bytes.
 */
static blis_status begin_transfer(blis_cluster *cluster, blis__handoff *handoff,
                                  blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  BLIS_ASSERT(!h->ops->has_links || handoff->state.source == BLIS__SOURCE_THERE);
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_TRANSFER);
  if (blis__handoff_is_moving(&handoff->state)) {
    BLIS_ASSERT(!handoff->transfer.is_open);
    return handoff->state.transfer == BLIS__MOVE_SENT ? end_transfer(cluster, handoff, error)
                                                      : BLIS_OK;
  }
  double bytes = bytes_to_move(cluster, handoff);
  BLIS_TRY(note_transfer(cluster, handoff, bytes, cluster->now_us, error));
  return h->ops->start(cluster, handoff, bytes, error);
}

blis_status blis__handoff_stop_moving(blis_cluster *cluster, blis__handoff *handoff,
                                      blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  if (handoff->state.room == BLIS__ROOM_AWAITED) {
    leave(cluster, handoff);
    blis__room_becomes(&handoff->state, BLIS__ROOM_NONE);
    BLIS_TRY(blis__handoff_note_room(cluster, handoff->destination, error));
  }
  if (!blis__handoff_is_moving(&handoff->state)) {
    return BLIS_OK;
  }
  blis__transfer_becomes(&handoff->state, BLIS__MOVE_STOPPED);
  h->active--;
  BLIS_ASSERT(h->active >= 0);
  h->ops->stop(cluster, handoff);
  return BLIS_OK;
}

static bool overlaps(const blis_disaggregation *policy, const blis__handoff *handoff) {
  int64_t prompt_tokens = handoff->request->live.prompt_tokens;
  return policy->overlap_portion > 0 && prompt_tokens >= policy->overlap_from_tokens;
}

/* Makes tokens available for transfer. Cached tokens are ready immediately, and all others layer by
   layer. Tokens lost by a preemption are not sent again. */
static void feed_tokens(blis_cluster *cluster, blis__handoff *handoff, int64_t tokens,
                        double from_us, double to_us) {
  if (tokens <= handoff->fed_tokens) {
    return;
  }
  blis__handoffs *h = blis__handoffs_of(cluster);
  double bytes =
      bytes_of(cluster, handoff, tokens) - bytes_of(cluster, handoff, handoff->fed_tokens);
  handoff->fed_tokens = tokens;
  const blis__feed feed = {.bytes = bytes,
                           .from_us = from_us,
                           .to_us = to_us,
                           .portion = h->policy.overlap_portion,
                           .is_last = tokens == handoff->request->live.prompt_tokens};
  blis__links_feed(&h->links, &handoff->transfer, &feed);
}

blis_status blis__handoff_feed(blis_cluster *cluster, blis__handoff *handoff,
                               const blis_prefill_step *step, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  if (!overlaps(&h->policy, handoff)) {
    return BLIS_OK;
  }
  if (blis__handoff_is_moving(&handoff->state)) {
    blis__links_advance(&h->links, (double)step->start_us);
  } else {
    BLIS_TRY(prepare(cluster, handoff, step->start_us, error));
    BLIS_TRY_MEM(blis__links_open(&h->links, &handoff->transfer), error);
    BLIS_TRY(
        note_transfer(cluster, handoff, bytes_to_move(cluster, handoff), step->start_us, error));
  }
  double start_us = (double)step->start_us;
  feed_tokens(cluster, handoff, step->from_tokens, start_us, start_us);
  feed_tokens(cluster, handoff, step->to_tokens, start_us, (double)step->end_us);
  schedule_links(cluster);
  return BLIS_OK;
}

/* The blocks are reserved: begins the prefill or, after it, the transfer. */
static blis_status go_on(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  if (handoff->state.stage != BLIS__HANDOFF_RESERVING) {
    return begin_transfer(cluster, handoff, error);
  }
  blis__handoff_enter(&handoff->state, BLIS__HANDOFF_ROUTING);
  return blis__handoff_schedule(cluster, handoff, BLIS__CLUSTER_PREFILL, cluster->now_us, error);
}

/* Serves the head of the queue while blocks are available. */
static blis_status serve_queue(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  for (;;) {
    blis__handoff *first = h->rooms[instance].head;
    bool is_done = false;
    if (first == NULL) {
      return BLIS_OK;
    }
    BLIS_TRY(try_reserve(cluster, first, &is_done, error));
    if (!is_done) {
      return BLIS_OK;
    }
    leave(cluster, first);
    h->counts.wait_us += (double)(cluster->now_us - first->wait_since_us);
    BLIS_TRY(go_on(cluster, first, error));
  }
}

blis_status blis__handoff_seek_room(blis_cluster *cluster, blis__handoff *handoff,
                                    blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  if (handoff->state.room == BLIS__ROOM_AWAITED) {
    return serve_queue(cluster, handoff->destination, error);
  }
  if (handoff->state.room == BLIS__ROOM_NONE && h->ops->limits_time) {
    BLIS_TRY(set_timeout(cluster, handoff, error));
  }
  if (cluster->services[handoff->destination] != BLIS_SERVICE_ACTIVE &&
      cluster->services[handoff->destination] != BLIS_SERVICE_DRAINING) {
    return blis__handoff_fail(cluster, handoff, "decode-failed", error);
  }
  if (handoff->state.room == BLIS__ROOM_RESERVED) {
    return go_on(cluster, handoff, error);
  }
  bool is_done = false;
  if (h->rooms[handoff->destination].head == NULL) {
    BLIS_TRY(try_reserve(cluster, handoff, &is_done, error));
  }
  return is_done ? go_on(cluster, handoff, error) : wait_for_room(cluster, handoff, error);
}

/* Arrivals. */

static blis_kv_arrival what_came(const blis_cluster *cluster, const blis__handoff *handoff) {
  const blis_live_request *live = &handoff->request->live;
  blis_kv_arrival arrival = {
      .tokens = handoff->kv_tokens, .scheduling_delay_us = -1, .ttft_us = -1};
  if (!blis__handoffs_of(cluster)->ops->brings_times) {
    return arrival;
  }
  arrival.scheduling_delay_us = handoff->prefill.scheduling_delay_us;
  if (arrival.tokens == live->prompt_tokens) {
    int64_t way_us = cluster->now_us - handoff->times.prefill_end_us;
    arrival.ttft_us = blis_time_after_us(handoff->prefill_ttft_us, way_us);
  }
  return arrival;
}

static bool is_past_deadline(const blis_cluster *cluster, const blis__cluster_request *request) {
  int64_t deadline_us = request->live.deadline_us;
  return deadline_us > 0 && deadline_us < cluster->now_us;
}

/* Continues the request at its destination. */
static blis_status arrive(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__cluster_request *request = handoff->request;
  uint32_t number = handoff->destination;
  const blis_kv_arrival arrival = what_came(cluster, handoff);
  const blis_handoff_ops *ops = blis__handoffs_of(cluster)->ops;
  request->live.part = (char)ops->decode_part;
  BLIS_TRY(blis__handoff_complete(cluster, handoff, error));
  BLIS_TRY(blis__cluster_bring_forward(cluster, number, error));
  request->instance = (int32_t)number;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__ROUTED, error, .request = request, .instance = number));
  blis__request_move(request, BLIS__AT_INSTANCE);
  BLIS_TRY(BLIS__TELL(cluster, BLIS__JOINED, error, .request = request, .instance = number,
                      .arrival = &arrival));
  if (ops->counts_choice) {
    blis__snapshot_add_pending(&cluster->snapshot, number, -1);
  } else {
    blis__snapshot_add_in_flight(&cluster->snapshot, number, 1);
  }
  BLIS_ASSERT(!ops->limits_time || !is_past_deadline(cluster, request));
  if (ops->end_late != NULL && is_past_deadline(cluster, request)) {
    return ops->end_late(cluster, handoff, error);
  }
  BLIS_TRY(blis_instance_activate(cluster->instances[number], &request->live, &arrival,
                                  cluster->now_us, error));
  blis__handoff_note_instance(cluster, number);
  return arrival.ttft_us < 0 ? BLIS_OK
                             : BLIS__TELL(cluster, BLIS__FIRST_TOKEN, error, .request = request);
}

static blis_status end_transfer(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__transfer_becomes(&handoff->state, BLIS__MOVE_ENDED);
  h->active--;
  h->counts.transfers++;
  h->counts.transfer_us += (double)(cluster->now_us - handoff->times.transfer_start_us);
  h->counts.shared += handoff->transfer.was_shared;
  handoff->times.transfer_end_us = cluster->now_us;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__TRANSFER_ENDED, error, .request = handoff->request,
                      .instance = handoff->source, .destination = handoff->destination));
  return arrive(cluster, handoff, error);
}

static blis__handoff *handoff_of(blis__transfer *transfer) {
  return (blis__handoff *)((char *)transfer - offsetof(blis__handoff, transfer));
}

blis_status blis__handoff_moved(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  return end_transfer(cluster, handoff, error);
}

blis_status blis__handoff_links_moved(blis_cluster *cluster, blis_error *error) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  /* Nothing is due until the next update; policies can read the links in between. */
  blis__handoff_set_links_due(cluster, BLIS_TIME_NEVER_US);
  blis__links_advance(&h->links, (double)cluster->now_us);
  for (blis__transfer *t = blis__links_take_ended(&h->links); t != NULL;
       t = blis__links_take_ended(&h->links)) {
    blis__handoff *handoff = handoff_of(t);
    if (handoff->state.stage == BLIS__HANDOFF_TRANSFER) {
      BLIS_TRY(end_transfer(cluster, handoff, error));
    } else { /* begin_transfer handles its end */
      blis__transfer_becomes(&handoff->state, BLIS__MOVE_SENT);
    }
  }
  schedule_links(cluster);
  return BLIS_OK;
}
