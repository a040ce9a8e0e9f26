/*
 * gateway_dispatch.c - when somebody leaves the gateway's queue, and who.
 */
#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/gateway_run.h"
#include "cluster/stages.h"

/* How full the instances are. */

typedef enum column { QUEUE, KV, IN_FLIGHT, TOKENS, AGE, COLUMNS } column;

static const blis_signal signals[] = {[QUEUE] = BLIS_SIGNAL_QUEUE_DEPTH,
                                      [KV] = BLIS_SIGNAL_KV_UTILIZATION,
                                      [IN_FLIGHT] = BLIS_SIGNAL_IN_FLIGHT};

/* It sees all as it is, and when it looks makes no difference to others. */
static bool is_ideal(const blis__gateway *gateway) {
  return gateway->policy.dispatch == BLIS_GATEWAY_EVENT;
}

/* By the detector. */
static bool is_read(const blis__gateway *gateway, blis_signal signal) {
  return (gateway->policy.saturation.needs & BLIS_SIGNAL_BIT(signal)) != 0;
}

static const double *gather(const blis_cluster *cluster,
                            const blis__gateway *gateway,
                            const blis__group *group, column which) {
  double *to =
      gateway->columns + (size_t)which * cluster->config.instance_count;
  const blis__snapshot *snapshot = &cluster->snapshot;
  if (which < TOKENS && !is_read(gateway, signals[which])) {
    return to; /* nobody looks at it */
  }
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t i = group->instances[k];
    switch (which) {
    case TOKENS:
      to[k] = gateway->tokens_in_flight[i];
      break;
    case AGE:
      to[k] = (double)(cluster->now_us - snapshot->refreshed_us[i]);
      break;
    default:
      to[k] = is_ideal(gateway)
                  ? blis__snapshot_live(snapshot, i, signals[which])
                  : blis__snapshot_column(snapshot, signals[which])[i];
    }
  }
  return to;
}

static blis_status measure(blis_cluster *cluster, blis__gateway *gateway,
                           uint32_t role, double *value, blis_error *error) {
  const blis_saturation *detector = &gateway->policy.saturation;
  const blis__group *group = NULL;
  BLIS_TRY_MEM(
      blis__snapshot_survey(&cluster->snapshot, cluster->source->strings, role,
                            is_ideal(gateway) ? -1 : cluster->now_us, &group),
      error);
  if (detector->ops == NULL) {
    *value = 0;
    return BLIS_OK;
  }
  const blis_saturation_look look = {
      .now_us = cluster->now_us,
      .count = group->count,
      .queue_depth = gather(cluster, gateway, group, QUEUE),
      .kv_utilization = gather(cluster, gateway, group, KV),
      .in_flight = gather(cluster, gateway, group, IN_FLIGHT),
      .in_flight_tokens = gather(cluster, gateway, group, TOKENS),
      .age_us = is_ideal(gateway) || cluster->config.snapshot_refresh_us == 0
                    ? NULL
                    : gather(cluster, gateway, group, AGE)};
  BLIS_TRY(detector->ops->value(detector->state, &look, value, error));
  if (!isfinite(*value)) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "saturation detector %s: it says %g at %" PRId64
                     " us, expected a finite number",
                     detector->name, *value, cluster->now_us);
  }
  return BLIS_OK;
}

static blis_status measure_all(blis_cluster *cluster, blis__gateway *gateway,
                               double *saturation, blis_error *error) {
  if (!gateway->policy.by_stage || cluster->handoffs == NULL) {
    return measure(cluster, gateway, 0, saturation, error);
  }
  double decode = 0;
  BLIS_TRY(measure(cluster, gateway, BLIS_ROLE_PREFILL, saturation, error));
  BLIS_TRY(measure(cluster, gateway, BLIS_ROLE_DECODE, &decode, error));
  *saturation = fmax(*saturation, decode);
  return BLIS_OK;
}

static blis_status find_ceilings(blis__gateway *gateway, double saturation,
                                 blis_error *error) {
  const blis_usage_limit *limit = &gateway->policy.usage_limit;
  size_t count = blis_flow_queue_band_count(gateway->queue);
  BLIS_TRY_MEM(blis_array_reserve(&gateway->alloc, &gateway->priorities, count),
               error);
  BLIS_TRY_MEM(blis_array_reserve(&gateway->alloc, &gateway->ceilings, count),
               error);
  for (size_t i = 0; i < count; i++) {
    gateway->priorities.items[i] =
        blis_flow_queue_band(gateway->queue, i).priority;
    gateway->ceilings.items[i] = 1;
  }
  return limit->ops == NULL
             ? BLIS_OK
             : limit->ops->ceilings(limit->state, saturation,
                                    gateway->priorities.items, count,
                                    gateway->ceilings.items, error);
}

/* One try. */

static blis_status dispatch(blis_cluster *cluster, blis__gateway *gateway,
                            const blis_flow_item *item, blis_error *error) {
  blis__cluster_request *request = blis__gateway_request(cluster, item);
  int64_t wait_us = cluster->now_us - item->enqueue_us;
  request->gateway_wait_us =
      (request->gateway_wait_us < 0 ? 0 : request->gateway_wait_us) + wait_us;
  request->gateway_left_us = cluster->now_us;
  gateway->counts.dispatched++;
  gateway->counts.wait_us += (double)wait_us;
  cluster->fruitless = 0;
  return blis__cluster_go_to_routing(cluster, request, error);
}

/* The next of a band whose time is not over; *is_there = false if none is. */
static blis_status take(blis_cluster *cluster, blis__gateway *gateway,
                        size_t band, blis_flow_item *item, bool *is_there,
                        blis_error *error) {
  while (blis_flow_queue_band(gateway->queue, band).count > 0) {
    *item = blis_flow_queue_take(gateway->queue, band, cluster->now_us);
    *is_there = !blis__gateway_is_expired(cluster, gateway, item);
    if (*is_there) {
      return BLIS_OK;
    }
    BLIS_TRY(blis__gateway_expire(cluster, gateway, item, error));
  }
  *is_there = false;
  return BLIS_OK;
}

static bool find_waiting(const blis__gateway *gateway, size_t *band) {
  size_t count = blis_flow_queue_band_count(gateway->queue);
  while (*band < count &&
         blis_flow_queue_band(gateway->queue, *band).count == 0) {
    ++*band;
  }
  return *band < count;
}

/* BLIS (Go) evicts before it looks at bands, llm-d for the one it stops at. */
static blis_status evict_from(blis_cluster *cluster, blis__gateway *gateway,
                              size_t band, double saturation, bool *has_any,
                              blis_error *error) {
  *has_any = false;
  return !find_waiting(gateway, &band)
             ? BLIS_OK
             : blis__gateway_evict_for(
                   cluster, gateway, gateway->priorities.items[band],
                   saturation, gateway->ceilings.items[band], has_any, error);
}

/* At most one request leaves; *has_left tells. */
static blis_status try_once(blis_cluster *cluster, blis__gateway *gateway,
                            bool *has_left, blis_error *error) {
  double saturation = 0;
  bool has_evicted = false;
  *has_left = false;
  gateway->counts.tries++;
  if (gateway->policy.forget_bands_us > 0) {
    blis_flow_queue_forget_bands(
        gateway->queue, cluster->now_us - gateway->policy.forget_bands_us);
  }
  BLIS_TRY(blis__gateway_note_pool(cluster, gateway, error));
  BLIS_TRY(measure_all(cluster, gateway, &saturation, error));
  gateway->counts.saturation = saturation;
  BLIS_TRY(find_ceilings(gateway, saturation, error));
  bool evicts_first = gateway->policy.eviction == BLIS_GATEWAY_EVICTS_ONE;
  if (evicts_first) {
    BLIS_TRY(evict_from(cluster, gateway, 0, saturation, &has_evicted, error));
  }
  size_t count = blis_flow_queue_band_count(gateway->queue);
  for (size_t i = 0; i < count && !has_evicted && !*has_left; i++) {
    if (saturation >= gateway->ceilings.items[i]) {
      return evicts_first ? BLIS_OK
                          : evict_from(cluster, gateway, i, saturation,
                                       &has_evicted, error);
    }
    blis_flow_item item;
    BLIS_TRY(take(cluster, gateway, i, &item, has_left, error));
    if (*has_left) {
      return dispatch(cluster, gateway, &item, error);
    }
  }
  return BLIS_OK;
}

/* When to try. */

static blis_status plan(blis_cluster *cluster, blis__gateway *gateway,
                        int64_t at_us, blis_error *error) {
  blis_event_queue_cancel(cluster->queue, gateway->cycle);
  gateway->cycle_at_us = at_us;
  BLIS_TRY_MEM(blis__gateway_push(cluster, BLIS__CLUSTER_CYCLE, at_us, NULL,
                                  &gateway->cycle),
               error);
  return BLIS_OK;
}

static void plan_nothing(blis_cluster *cluster, blis__gateway *gateway) {
  blis_event_queue_cancel(cluster->queue, gateway->cycle);
  gateway->cycle = BLIS_EVENT_NONE;
  gateway->cycle_at_us = BLIS_TIME_NEVER_US;
}

/* The first multiple of the cycle that is not before at_us. */
static int64_t cycle_from(const blis__gateway *gateway, int64_t at_us) {
  int64_t cycle_us = gateway->policy.cycle_us;
  int64_t rest_us = at_us % cycle_us;
  return rest_us == 0 ? at_us : blis_time_after_us(at_us, cycle_us - rest_us);
}

/* Nothing is different before that. */
static int64_t next_change_us(const blis_cluster *cluster) {
  int64_t next_us = blis_event_queue_next_us(cluster->queue);
  int64_t instance_us = blis_winner_tree_min_us(cluster->next_events);
  next_us = instance_us < next_us ? instance_us : next_us;
  return cluster->has_arrival && cluster->arrival.arrival_us < next_us
             ? cluster->arrival.arrival_us
             : next_us;
}

/* llm-d. Cycles that would find everything as it was are left out. */
static blis_status run_cycle(blis_cluster *cluster, blis__gateway *gateway,
                             blis_error *error) {
  bool has_left = false;
  plan_nothing(cluster, gateway);
  gateway->last_cycle_us = cluster->now_us;
  BLIS_TRY(try_once(cluster, gateway, &has_left, error));
  if (blis_flow_queue_count(gateway->queue) == 0) {
    return BLIS_OK;
  }
  int64_t next_us = blis_time_after_us(cluster->now_us, 1);
  if (!has_left && gateway->may_skip) {
    int64_t change_us = next_change_us(cluster);
    if (change_us == BLIS_TIME_NEVER_US) {
      return BLIS_OK;
    }
    next_us = change_us > next_us ? change_us : next_us;
  } else if (!has_left) {
    BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
  }
  return plan(cluster, gateway, cycle_from(gateway, next_us), error);
}

/* Of BLIS (Go). */
static blis_status run_tick(blis_cluster *cluster, blis__gateway *gateway,
                            blis_error *error) {
  bool has_left = false;
  gateway->cycle = BLIS_EVENT_NONE;
  if (blis_flow_queue_count(gateway->queue) > 0) {
    BLIS_TRY(try_once(cluster, gateway, &has_left, error));
  }
  gateway->is_ticking = blis_flow_queue_count(gateway->queue) > 0;
  if (!gateway->is_ticking) {
    return BLIS_OK;
  }
  if (!has_left) {
    BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
  }
  return plan(cluster, gateway,
              blis_time_after_us(cluster->now_us, gateway->policy.cycle_us),
              error);
}

/* The next one is looked at when the last one has been routed. */
static blis_status run_look(blis_cluster *cluster, blis__gateway *gateway,
                            blis_error *error) {
  bool has_left = false;
  plan_nothing(cluster, gateway);
  if (blis_flow_queue_count(gateway->queue) > 0) {
    BLIS_TRY(try_once(cluster, gateway, &has_left, error));
  }
  bool waits = blis_flow_queue_count(gateway->queue) > 0;
  if (gateway->needs_order && !waits) {
    blis__listeners_need_no_more(&cluster->listeners, BLIS__NEEDS_ORDER);
  } else if (!gateway->needs_order && waits) {
    blis__listeners_need(&cluster->listeners, BLIS__NEEDS_ORDER);
  }
  gateway->needs_order = waits;
  return has_left && waits ? plan(cluster, gateway, cluster->now_us, error)
                           : BLIS_OK;
}

blis_status blis__gateway_cycle(blis_cluster *cluster, blis__gateway *gateway,
                                blis_error *error) {
  switch (gateway->policy.dispatch) {
  case BLIS_GATEWAY_CYCLE:
    return run_cycle(cluster, gateway, error);
  case BLIS_GATEWAY_TICK:
    return run_tick(cluster, gateway, error);
  default:
    return run_look(cluster, gateway, error);
  }
}

/* The tick is planned before anybody leaves. */
static blis_status came_between_ticks(blis_cluster *cluster,
                                      blis__gateway *gateway,
                                      blis_error *error) {
  bool has_left = false;
  if (!gateway->is_ticking) {
    gateway->is_ticking = true;
    BLIS_TRY(plan(cluster, gateway,
                  blis_time_after_us(cluster->now_us, gateway->policy.cycle_us),
                  error));
  }
  return try_once(cluster, gateway, &has_left, error);
}

blis_status blis__gateway_came(blis_cluster *cluster, blis__gateway *gateway,
                               blis_error *error) {
  int64_t soon_us = cluster->now_us;
  switch (gateway->policy.dispatch) {
  case BLIS_GATEWAY_TICK:
    return came_between_ticks(cluster, gateway, error);
  case BLIS_GATEWAY_CYCLE:
    if (gateway->last_cycle_us != cluster->now_us) {
      return run_cycle(cluster, gateway, error);
    }
    soon_us = cycle_from(gateway, blis_time_after_us(soon_us, 1));
    break;
  default:
    break;
  }
  return gateway->cycle_at_us <= soon_us
             ? BLIS_OK
             : plan(cluster, gateway, soon_us, error);
}

blis_status blis__gateway_look_again(blis_cluster *cluster, blis_error *error) {
  blis__gateway *gateway = cluster->gateway;
  bool wants = gateway->policy.dispatch == BLIS_GATEWAY_EVENT &&
               gateway->cycle_at_us == BLIS_TIME_NEVER_US &&
               blis_flow_queue_count(gateway->queue) > 0;
  return wants ? plan(cluster, gateway, blis_time_after_us(cluster->now_us, 1),
                      error)
               : BLIS_OK;
}
