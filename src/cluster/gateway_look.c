/*
 * gateway_look.c - how full the instances are, as the gateway's detector says,
 * and up to where each band may leave.
 */
#include <inttypes.h>
#include <math.h>

#include "cluster/gateway_run.h"

typedef enum column { QUEUE, KV, IN_FLIGHT, TOKENS, AGE } column;

static const blis_signal signals[] = {[QUEUE] = BLIS_SIGNAL_QUEUE_DEPTH,
                                      [KV] = BLIS_SIGNAL_KV_UTILIZATION,
                                      [IN_FLIGHT] = BLIS_SIGNAL_IN_FLIGHT};

/* What one look sees. */
typedef struct sight {
  const blis_cluster *cluster;
  const blis__gateway *gateway;
  const blis__group *group;
  bool is_live; /* all as it is, not as it was when it was last read */
} sight;

static double *place_of(const sight *s, column which) {
  return s->gateway->columns +
         (size_t)which * s->cluster->config.instance_count;
}

/* The ideal one looks again at once, before an instance has counted whom it was
   sent: they stand in its queue already. */
static bool adds_pending(const sight *s, column which) {
  return which == QUEUE && s->gateway->policy.dispatch == BLIS_GATEWAY_EVENT;
}

static const double *column_of(const sight *s, column which) {
  blis_signal signal = signals[which];
  const blis__snapshot *snapshot = &s->cluster->snapshot;
  const double *values = blis__snapshot_column(snapshot, signal);
  double *to = place_of(s, which);
  if ((s->gateway->policy.saturation.needs & BLIS_SIGNAL_BIT(signal)) == 0) {
    return to; /* nobody looks at it */
  }
  bool has_pending = adds_pending(s, which);
  if (!s->is_live && s->group->is_prefix && !has_pending) {
    return values;
  }
  for (uint32_t k = 0; k < s->group->count; k++) {
    uint32_t i = s->group->instances[k];
    to[k] = s->is_live ? blis__snapshot_live(snapshot, i, signal) : values[i];
    if (has_pending) {
      to[k] += blis__snapshot_live(snapshot, i, BLIS_SIGNAL_PENDING);
    }
  }
  return to;
}

static const double *tokens_of(const sight *s) {
  double *to = place_of(s, TOKENS);
  if (s->group->is_prefix) {
    return s->gateway->tokens_in_flight;
  }
  for (uint32_t k = 0; k < s->group->count; k++) {
    to[k] = s->gateway->tokens_in_flight[s->group->instances[k]];
  }
  return to;
}

/* NULL = everything is of now. */
static const double *ages_of(const sight *s) {
  if (s->is_live || s->cluster->config.snapshot_refresh_us == 0) {
    return NULL;
  }
  double *to = place_of(s, AGE);
  for (uint32_t k = 0; k < s->group->count; k++) {
    to[k] = (double)(s->cluster->now_us -
                     s->cluster->snapshot.refreshed_us[s->group->instances[k]]);
  }
  return to;
}

static blis_status measure(blis_cluster *cluster, blis__gateway *gateway,
                           uint32_t role, bool is_live, double *value,
                           blis_error *error) {
  const blis_saturation *detector = &gateway->policy.saturation;
  sight s = {.cluster = cluster, .gateway = gateway, .is_live = is_live};
  BLIS_TRY_MEM(blis__snapshot_survey(&cluster->snapshot,
                                     cluster->source->strings, role,
                                     is_live ? -1 : cluster->now_us, &s.group),
               error);
  if (detector->ops == NULL) {
    *value = 0;
    return BLIS_OK;
  }
  const blis_saturation_look look = {.now_us = cluster->now_us,
                                     .count = s.group->count,
                                     .queue_depth = column_of(&s, QUEUE),
                                     .kv_utilization = column_of(&s, KV),
                                     .in_flight = column_of(&s, IN_FLIGHT),
                                     .in_flight_tokens = tokens_of(&s),
                                     .age_us = ages_of(&s)};
  BLIS_TRY(detector->ops->value(detector->state, &look, value, error));
  if (!isfinite(*value)) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "saturation detector%s%s: it says %g at %" PRId64
                     " us, expected a finite number",
                     detector->name[0] == '\0' ? "" : " ", detector->name,
                     *value, cluster->now_us);
  }
  return BLIS_OK;
}

static blis_status measure_stages(blis_cluster *cluster, blis__gateway *gateway,
                                  bool is_live, double *saturation,
                                  blis_error *error) {
  if (!gateway->policy.by_stage || cluster->handoffs == NULL) {
    return measure(cluster, gateway, 0, is_live, saturation, error);
  }
  double decode = 0;
  BLIS_TRY(
      measure(cluster, gateway, BLIS_ROLE_PREFILL, is_live, saturation, error));
  BLIS_TRY(
      measure(cluster, gateway, BLIS_ROLE_DECODE, is_live, &decode, error));
  *saturation = fmax(*saturation, decode);
  return BLIS_OK;
}

bool blis__gateway_counts_requests(const blis_cluster *cluster,
                                   const blis__gateway *gateway) {
  return gateway->may_skip && cluster->handoffs == NULL &&
         (gateway->policy.saturation.needs &
          ~BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT)) == 0;
}

blis_status blis__gateway_look(blis_cluster *cluster, blis__gateway *gateway,
                               blis_error *error) {
  if (gateway->is_current) {
    return BLIS_OK;
  }
  /* The ideal one sees all as it is, and when it looks makes no difference to
     others. */
  bool is_live = gateway->policy.dispatch == BLIS_GATEWAY_EVENT &&
                 cluster->config.snapshot_refresh_us > 0;
  BLIS_TRY(
      measure_stages(cluster, gateway, is_live, &gateway->saturation, error));
  gateway->is_current = gateway->may_skip && cluster->handoffs == NULL;
  return BLIS_OK;
}

bool blis_cluster_gateway_saturation(blis_cluster *cluster, double *value) {
  blis__gateway *gateway = cluster->gateway;
  if (gateway == NULL) {
    return false;
  }
  blis_error error;
  if (!gateway->is_pure ||
      measure_stages(cluster, gateway, true, value, &error) != BLIS_OK) {
    *value = gateway->saturation;
  }
  return true;
}

blis_status blis__gateway_find_ceilings(blis__gateway *gateway,
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
             : limit->ops->ceilings(limit->state, gateway->saturation,
                                    gateway->priorities.items, count,
                                    gateway->ceilings.items, error);
}
