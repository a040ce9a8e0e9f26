/* cycle.c - the times at which requests can be dispatched from the gateway queue. */
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/gateway/gateway.h"
#include "cluster/gateway/gateway_queue.h"

static bool has_waiting(const blis__gateway *gateway) {
  return blis_flow_queue_count(gateway->queue) > 0;
}

static blis_status plan(blis_cluster *cluster, blis__gateway *gateway, int64_t at_us,
                        blis_error *error) {
  if (gateway->cycle_at_us == at_us) {
    return BLIS_OK;
  }
  blis_event_queue_cancel(cluster->queue, gateway->cycle);
  gateway->cycle = BLIS_EVENT_NONE;
  gateway->cycle_at_us = at_us;
  if (at_us == BLIS_TIME_NEVER_US) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__gateway_push(cluster, BLIS__CLUSTER_CYCLE, at_us, NULL, &gateway->cycle),
               error);
  return BLIS_OK;
}

/* Returns the first multiple of the cycle time that is >= at_us. */
static int64_t cycle_from(const blis__gateway *gateway, int64_t at_us) {
  int64_t cycle_us = gateway->policy.cycle_us;
  int64_t rest_us = at_us % cycle_us;
  return rest_us == 0 ? at_us : blis_time_after_us(at_us, cycle_us - rest_us);
}

/* Returns whether only arriving and departing requests change the saturation. In this case, the
   queue is notified of them in time order. Otherwise, it is checked after each event. */
static bool is_told(const blis_cluster *cluster, const blis__gateway *gateway) {
  return gateway->policy.saturation.needs != 0 && blis__gateway_counts_requests(cluster, gateway);
}

static void set_order(blis_cluster *cluster, blis__gateway *gateway, bool needs) {
  if (gateway->needs_order == needs) {
    return;
  }
  gateway->needs_order = needs;
  if (needs) {
    blis__listeners_need(&cluster->listeners, BLIS__NEEDS_ORDER);
  } else {
    blis__listeners_need_no_more(&cluster->listeners, BLIS__NEEDS_ORDER);
  }
}

void blis__gateway_settle(blis_cluster *cluster, blis__gateway *gateway) {
  if (!has_waiting(gateway)) {
    set_order(cluster, gateway, false);
  }
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
  return a_us < b_us ? a_us : b_us;
}

/* Returns when the next empty band is deleted, which changes the ceilings. */
static int64_t next_forgotten_us(const blis__gateway *gateway) {
  int64_t forget_us = gateway->policy.forget_bands_us;
  return forget_us == 0
             ? BLIS_TIME_NEVER_US
             : blis_flow_queue_first_idle_us(gateway->queue, blis_time_after_us(forget_us, 1));
}

/* Returns the time of the next change, unless a request reaches the gateway earlier. */
static int64_t next_change_us(const blis_cluster *cluster, const blis__gateway *gateway) {
  int64_t next_us = next_forgotten_us(gateway);
  if (!is_told(cluster, gateway)) {
    next_us = earlier(next_us, blis__cluster_planned_us(cluster));
    next_us = earlier(next_us, blis__cluster_instances_next_us(cluster));
  }
  return gateway->evictables.count > 0 && gateway->next_eviction_us > cluster->now_us
             ? earlier(next_us, gateway->next_eviction_us)
             : next_us;
}

/* Runs a cycle of llm-d. Cycles without any change are skipped. */
static blis_status run_cycle(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  bool has_left = false;
  gateway->last_cycle_us = cluster->now_us;
  BLIS_TRY(blis__gateway_try(cluster, gateway, &has_left, error));
  bool waits = has_waiting(gateway);
  bool sleeps = waits && !has_left && gateway->may_skip;
  set_order(cluster, gateway, sleeps && is_told(cluster, gateway));
  if (!waits) {
    return plan(cluster, gateway, BLIS_TIME_NEVER_US, error);
  }
  int64_t next_us = blis_time_after_us(cluster->now_us, 1);
  if (sleeps) {
    int64_t change_us = next_change_us(cluster, gateway);
    next_us = change_us > next_us ? change_us : next_us;
  } else if (!has_left) {
    BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
  }
  return plan(cluster, gateway,
              next_us == BLIS_TIME_NEVER_US ? next_us : cycle_from(gateway, next_us), error);
}

/* Runs a tick of BLIS (Go). */
static blis_status run_tick(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  bool has_left = false;
  if (has_waiting(gateway)) {
    BLIS_TRY(blis__gateway_try(cluster, gateway, &has_left, error));
  }
  gateway->is_ticking = has_waiting(gateway);
  if (!gateway->is_ticking) {
    return BLIS_OK;
  }
  if (!has_left) {
    BLIS_TRY(blis__cluster_note_fruitless(cluster, error));
  }
  return plan(cluster, gateway, blis_time_after_us(cluster->now_us, gateway->policy.cycle_us),
              error);
}

/*
 * Runs one dispatch attempt. The next attempt follows after the dispatched request has been routed.
 */
static blis_status run_look(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  bool has_left = false;
  if (has_waiting(gateway)) {
    BLIS_TRY(blis__gateway_try(cluster, gateway, &has_left, error));
  }
  bool waits = has_waiting(gateway);
  set_order(cluster, gateway, waits);
  if (!waits) {
    return BLIS_OK;
  }
  return plan(cluster, gateway, has_left ? cluster->now_us : next_forgotten_us(gateway), error);
}

blis_status blis__gateway_cycle(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  gateway->cycle = BLIS_EVENT_NONE;
  gateway->cycle_at_us = BLIS_TIME_NEVER_US;
  switch (gateway->policy.dispatch) {
  case BLIS_GATEWAY_CYCLE:
    return run_cycle(cluster, gateway, error);
  case BLIS_GATEWAY_TICK:
    return run_tick(cluster, gateway, error);
  default:
    return run_look(cluster, gateway, error);
  }
}

/* Handles an enqueue between ticks. The next tick is scheduled before a request is dispatched. */
static blis_status came_between_ticks(blis_cluster *cluster, blis__gateway *gateway,
                                      blis_error *error) {
  bool has_left = false;
  if (!gateway->is_ticking) {
    gateway->is_ticking = true;
    BLIS_TRY(plan(cluster, gateway, blis_time_after_us(cluster->now_us, gateway->policy.cycle_us),
                  error));
  }
  return blis__gateway_try(cluster, gateway, &has_left, error);
}

static blis_status plan_until(blis_cluster *cluster, blis__gateway *gateway, int64_t at_us,
                              blis_error *error) {
  return gateway->cycle_at_us <= at_us ? BLIS_OK : plan(cluster, gateway, at_us, error);
}

blis_status blis__gateway_came(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  int64_t now_us = cluster->now_us;
  switch (gateway->policy.dispatch) {
  case BLIS_GATEWAY_TICK:
    return came_between_ticks(cluster, gateway, error);
  case BLIS_GATEWAY_CYCLE:
    return gateway->last_cycle_us != now_us
               ? run_cycle(cluster, gateway, error)
               : plan_until(cluster, gateway, cycle_from(gateway, blis_time_after_us(now_us, 1)),
                            error);
  default:
    return plan_until(cluster, gateway, now_us, error);
  }
}

blis_status blis__gateway_wake(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  gateway->is_current = false;
  if (!has_waiting(gateway) || gateway->policy.dispatch == BLIS_GATEWAY_TICK) {
    return BLIS_OK;
  }
  int64_t soon_us = blis_time_after_us(cluster->now_us, 1);
  return plan_until(cluster, gateway,
                    gateway->policy.dispatch == BLIS_GATEWAY_EVENT ? soon_us
                                                                   : cycle_from(gateway, soon_us),
                    error);
}

blis_status blis__gateway_look_again(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  (void)instance;
  blis__gateway *gateway = blis__gateway_of(cluster);
  bool is_known = blis__gateway_counts_requests(cluster, gateway);
  gateway->is_current = gateway->is_current && is_known;
  bool must_look = is_known ? !gateway->is_current : gateway->policy.dispatch == BLIS_GATEWAY_EVENT;
  return must_look && has_waiting(gateway) ? blis__gateway_wake(cluster, gateway, error) : BLIS_OK;
}
