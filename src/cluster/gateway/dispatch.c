/* dispatch.c - selects the next request to dispatch from the gateway queue, if any. */
#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/gateway/gateway.h"
#include "cluster/gateway/gateway_queue.h"
#include "cluster/stages.h"

static blis_status dispatch(blis_cluster *cluster, blis__gateway *gateway,
                            const blis_flow_item *item, blis_error *error) {
  blis__cluster_request *request = blis__gateway_request(cluster, item);
  blis__gateway_book *book = blis__gateway_known_book(gateway, item->priority);
  int64_t wait_us = cluster->now_us - item->enqueue_us;
  blis__gateway_part *part = blis__gateway_part_of(request);
  part->wait_us = (part->wait_us < 0 ? 0 : part->wait_us) + wait_us;
  part->left_us = cluster->now_us;
  gateway->counts.dispatched++;
  gateway->counts.wait_us += (double)wait_us;
  book->counts.dispatched++;
  book->counts.waiting--;
  book->counts.dispatched_tokens += (double)request->request.prompt_tokens;
  BLIS_TRY_MEM(blis_sketch_add(&gateway->wait_us, wait_us), error);
  BLIS_TRY_MEM(blis_sketch_add(&book->wait_us, wait_us), error);
  cluster->fruitless = 0;
  if (gateway->policy.dispatch == BLIS_GATEWAY_EVENT) {
    blis__bound_dispatch(gateway, request);
  }
  return blis__cluster_go_to_routing(cluster, request, error);
}

/* Selects the flow of a band with the hook. */

static blis_status choose_flow(blis_cluster *cluster, blis__gateway *gateway, size_t band,
                               size_t *chosen, blis_error *error) {
  const blis_flow_hook *hook = &gateway->policy.flow_hook;
  size_t count = blis_flow_queue_flow_count(gateway->queue, band);
  *chosen = 0;
  if (count < 2) {
    return BLIS_OK;
  }
  gateway->flows_seen.count = 0;
  for (size_t i = 0; i < count; i++) {
    const blis_flow its = blis_flow_queue_flow(gateway->queue, band, i);
    const blis_flow_seen seen = {
        .tenant = its.name,
        .waiting = its.count,
        .head_wait_us = cluster->now_us - its.head.enqueue_us,
        .service_tokens = blis_flow_service_of(gateway->service, its.tenant, cluster->now_us)};
    BLIS_TRY_MEM(blis_array_push(&gateway->alloc, &gateway->flows_seen, seen), error);
  }
  const blis_flow_question question = {.now_us = cluster->now_us,
                                       .saturation = gateway->saturation,
                                       .priority = gateway->priorities.items[band],
                                       .flows = gateway->flows_seen.items,
                                       .count = count};
  double answer = 0;
  BLIS_TRY(hook->ask(hook->state, &question, &answer, error));
  BLIS_ASSERT(answer >= 0 && answer < (double)count);
  *chosen = (size_t)answer;
  return BLIS_OK;
}

static blis_status take_one(blis_cluster *cluster, blis__gateway *gateway, size_t band,
                            blis_flow_item *item, blis_error *error) {
  if (gateway->policy.fairness != BLIS_FLOW_CHOSEN) {
    *item = blis_flow_queue_take(gateway->queue, band, cluster->now_us);
    return BLIS_OK;
  }
  size_t flow = 0;
  BLIS_TRY(choose_flow(cluster, gateway, band, &flow, error));
  *item = blis_flow_queue_take_from(gateway->queue, band, flow, cluster->now_us);
  return BLIS_OK;
}

/* Dispatches the next unexpired request of a band; *has_left is false if there is none. */
static blis_status serve(blis_cluster *cluster, blis__gateway *gateway, size_t band, bool *has_left,
                         blis_error *error) {
  while (blis_flow_queue_band(gateway->queue, band).count > 0) {
    blis_flow_item item;
    BLIS_TRY(take_one(cluster, gateway, band, &item, error));
    *has_left = !blis__gateway_is_expired(cluster, gateway, &item);
    if (*has_left) {
      return dispatch(cluster, gateway, &item, error);
    }
    BLIS_TRY(blis__gateway_expire(cluster, gateway, &item, error));
  }
  return BLIS_OK;
}

static bool find_waiting(const blis__gateway *gateway, size_t *band) {
  size_t count = blis_flow_queue_band_count(gateway->queue);
  while (*band < count && blis_flow_queue_band(gateway->queue, *band).count == 0) {
    ++*band;
  }
  return *band < count;
}

/*
 * Evicts requests. BLIS (Go) evicts before it examines the bands. llm-d evicts for the band at
 * which it stops.
 */
static blis_status evict_from(blis_cluster *cluster, blis__gateway *gateway, size_t band,
                              bool *has_any, blis_error *error) {
  *has_any = false;
  return !find_waiting(gateway, &band)
             ? BLIS_OK
             : blis__gateway_evict_for(cluster, gateway, gateway->priorities.items[band],
                                       gateway->saturation, gateway->ceilings.items[band], has_any,
                                       error);
}

/* Selects the band with the hook. */

static blis_status see_bands(blis_cluster *cluster, blis__gateway *gateway) {
  size_t count = blis_flow_queue_band_count(gateway->queue);
  gateway->bands_seen.count = 0;
  gateway->bands_shown.count = 0;
  for (size_t i = 0; i < count; i++) {
    blis_flow_band its = blis_flow_queue_band(gateway->queue, i);
    if (its.count == 0) {
      continue;
    }
    const blis_gateway_band_counts *counts =
        &blis__gateway_known_book(gateway, its.priority)->counts;
    const blis_flow_band_seen seen = {.priority = its.priority,
                                      .waiting = its.count,
                                      .longest_wait_us = cluster->now_us - its.oldest_us,
                                      .ceiling = gateway->ceilings.items[i],
                                      .dispatched = counts->dispatched,
                                      .dispatched_tokens = counts->dispatched_tokens};
    BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->bands_seen, seen));
    BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->bands_shown, i));
  }
  return BLIS_OK;
}

static blis_status serve_chosen(blis_cluster *cluster, blis__gateway *gateway, bool *has_left,
                                blis_error *error) {
  const blis_flow_hook *hook = &gateway->policy.band_hook;
  BLIS_TRY_MEM(see_bands(cluster, gateway), error);
  const blis_flow_question question = {.now_us = cluster->now_us,
                                       .saturation = gateway->saturation,
                                       .bands = gateway->bands_seen.items,
                                       .count = gateway->bands_seen.count};
  double answer = -1;
  if (question.count > 0) {
    BLIS_TRY(hook->ask(hook->state, &question, &answer, error));
  }
  if (answer < 0) {
    return BLIS_OK;
  }
  BLIS_ASSERT(answer < (double)question.count);
  size_t band = gateway->bands_shown.items[(size_t)answer];
  bool has_evicted = false;
  return gateway->saturation < gateway->ceilings.items[band]
             ? serve(cluster, gateway, band, has_left, error)
             : evict_from(cluster, gateway, band, &has_evicted, error);
}

/* Tries the bands in order of descending priority. The first closed band ends the attempt. */
static blis_status serve_in_order(blis_cluster *cluster, blis__gateway *gateway, bool evicts,
                                  bool *has_left, blis_error *error) {
  size_t count = blis_flow_queue_band_count(gateway->queue);
  for (size_t i = 0; i < count && !*has_left; i++) {
    bool has_evicted = false;
    if (gateway->saturation >= gateway->ceilings.items[i]) {
      return evicts ? evict_from(cluster, gateway, i, &has_evicted, error) : BLIS_OK;
    }
    BLIS_TRY(serve(cluster, gateway, i, has_left, error));
  }
  return BLIS_OK;
}

static blis_status look(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  gateway->counts.tries++;
  if (gateway->policy.forget_bands_us > 0) {
    blis_flow_queue_forget_bands(gateway->queue, cluster->now_us - gateway->policy.forget_bands_us);
  }
  BLIS_TRY(blis__gateway_note_pool(cluster, gateway, error));
  return blis__gateway_look(cluster, gateway, error);
}

blis_status blis__gateway_try(blis_cluster *cluster, blis__gateway *gateway, bool *has_left,
                              blis_error *error) {
  bool evicts_first = gateway->policy.eviction == BLIS_GATEWAY_EVICTS_ONE;
  bool has_evicted = false;
  *has_left = false;
  BLIS_TRY(look(cluster, gateway, error));
  BLIS_TRY(blis__gateway_find_ceilings(gateway, error));
  if (evicts_first) {
    BLIS_TRY(evict_from(cluster, gateway, 0, &has_evicted, error));
  }
  if (has_evicted) {
    return BLIS_OK;
  }
  return gateway->policy.band_hook.ask == NULL
             ? serve_in_order(cluster, gateway, !evicts_first, has_left, error)
             : serve_chosen(cluster, gateway, has_left, error);
}

/* Returns whether all bands from the highest priority down to this one are open. */
static bool are_open(const blis__gateway *gateway, int32_t lowest) {
  for (size_t i = 0; gateway->saturation < gateway->ceilings.items[i]; i++) {
    if (gateway->priorities.items[i] == lowest) {
      return true;
    }
  }
  return false;
}

blis_status blis__gateway_pass(blis_cluster *cluster, blis__gateway *gateway,
                               const blis_flow_item *item, bool *has_passed, blis_error *error) {
  *has_passed = false;
  BLIS_TRY_MEM(blis_flow_queue_open_band(gateway->queue, item->priority, cluster->now_us), error);
  BLIS_TRY(look(cluster, gateway, error));
  BLIS_TRY(blis__gateway_find_ceilings(gateway, error));
  *has_passed = are_open(gateway, item->priority) && blis_flow_queue_pass(gateway->queue, item);
  if (!*has_passed) {
    return BLIS_OK;
  }
  gateway->last_cycle_us = cluster->now_us;
  blis__gateway_count_in(gateway, blis__gateway_known_book(gateway, item->priority), 1);
  return dispatch(cluster, gateway, item, error);
}
