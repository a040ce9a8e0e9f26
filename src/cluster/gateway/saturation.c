/*
 * saturation.c - the saturation of the instances according to the gateway's detector, and the
 * ceilings of the bands.
 */
#include <inttypes.h>
#include <math.h>

#include "cluster/gateway/gateway.h"
#include "cluster/gateway/gateway_queue.h"

typedef enum column { QUEUE, KV, IN_FLIGHT, TOKENS, AGE, SCRATCH } column;

static const blis_signal signals[] = {[QUEUE] = BLIS_SIGNAL_QUEUE_DEPTH,
                                      [KV] = BLIS_SIGNAL_KV_UTILIZATION,
                                      [IN_FLIGHT] = BLIS_SIGNAL_IN_FLIGHT};

/* Age of the data that a measurement uses. */
typedef enum freshness {
  AS_SAMPLED,  /* delayed signals are refreshed if they are due */
  AS_IT_STOOD, /* nothing is refreshed */
  AS_IT_IS
} freshness;

/* The input of one evaluation. */
typedef struct sight {
  const blis_cluster *cluster;
  const blis__gateway *gateway;
  const blis__group *group;
  bool is_live;      /* current values, not the last readings */
  bool counts_bound; /* including requests in transit to an instance of the group */
} sight;

static double *place_of(const sight *s, column which) {
  return s->gateway->columns + (size_t)which * s->cluster->config.instance_count;
}

/* Returns whether dispatch is ideal. Ideal dispatch measures again immediately, before an instance
   has counted the request that was sent to it. */
static bool is_ideal(const sight *s) {
  return s->gateway->policy.dispatch == BLIS_GATEWAY_EVENT;
}

/* Returns the share of instance k. The destinations of these requests are unknown, so they are
   distributed over the instances such that sums are exact. */
static double bound_share(const sight *s, int64_t bound, uint32_t k) {
  int64_t count = s->group->count;
  return s->counts_bound ? (double)(bound / count + (k < bound % count)) : 0;
}

static double value_of(const sight *s, uint32_t i, blis_signal signal) {
  const blis__snapshot *snapshot = &s->cluster->snapshot;
  return s->is_live ? blis__snapshot_live(snapshot, i, signal)
                    : blis__snapshot_column(snapshot, signal)[i];
}

/*
 * Adds requests that signals do not contain yet. They are already queued or in flight and will use
 * KV blocks.
 */
static void add_unseen(const sight *s, column which, double *to) {
  const blis__gateway_bound *bound = &s->gateway->bound;
  if (which == KV) {
    blis__bound_add_kv(s->cluster, s->gateway, s->group, s->counts_bound, to, place_of(s, SCRATCH));
    return;
  }
  for (uint32_t k = 0; k < s->group->count; k++) {
    uint32_t i = s->group->instances[k];
    to[k] +=
        bound_share(s, bound->requests, k) +
        (which == QUEUE ? blis__snapshot_live(&s->cluster->snapshot, i, BLIS_SIGNAL_PENDING) : 0);
  }
}

static const double *column_of(const sight *s, column which) {
  blis_signal signal = signals[which];
  double *to = place_of(s, which);
  if ((s->gateway->policy.saturation.needs & BLIS_SIGNAL_BIT(signal)) == 0) {
    return to; /* never read */
  }
  if (!s->is_live && s->group->is_prefix && !is_ideal(s)) {
    return blis__snapshot_column(&s->cluster->snapshot, signal);
  }
  for (uint32_t k = 0; k < s->group->count; k++) {
    to[k] = value_of(s, s->group->instances[k], signal);
  }
  if (is_ideal(s)) {
    add_unseen(s, which, to);
  }
  return to;
}

static const double *tokens_of(const sight *s) {
  double *to = place_of(s, TOKENS);
  if (s->group->is_prefix && !s->counts_bound) {
    return s->gateway->tokens_in_flight;
  }
  for (uint32_t k = 0; k < s->group->count; k++) {
    to[k] = s->gateway->tokens_in_flight[s->group->instances[k]] +
            bound_share(s, s->gateway->bound.prompt_tokens, k);
  }
  return to;
}

/* Returns the ages of the data; NULL = all data is current. */
static const double *ages_of(const sight *s) {
  if (s->is_live || s->cluster->config.snapshot_refresh_us == 0) {
    return NULL;
  }
  double *to = place_of(s, AGE);
  for (uint32_t k = 0; k < s->group->count; k++) {
    to[k] =
        (double)(s->cluster->now_us - s->cluster->snapshot.refreshed_us[s->group->instances[k]]);
  }
  return to;
}

static blis_status ask(const sight *s, double *value, blis_error *error) {
  const blis_saturation *detector = &s->gateway->policy.saturation;
  const blis_saturation_look look = {.now_us = s->cluster->now_us,
                                     .count = s->group->count,
                                     .queue_depth = column_of(s, QUEUE),
                                     .kv_utilization = column_of(s, KV),
                                     .in_flight = column_of(s, IN_FLIGHT),
                                     .in_flight_tokens = tokens_of(s),
                                     .age_us = ages_of(s)};
  BLIS_TRY(detector->ops->value(detector->state, &look, value, error));
  if (!isfinite(*value)) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "saturation detector%s%s: it says %g at %" PRId64
                     " us, expected a finite number",
                     detector->name[0] == '\0' ? "" : " ", detector->name, *value, look.now_us);
  }
  return BLIS_OK;
}

static blis_status measure(blis_cluster *cluster, blis__gateway *gateway, uint32_t role,
                           freshness when, double *value, blis_error *error) {
  sight s = {.cluster = cluster,
             .gateway = gateway,
             .is_live = when == AS_IT_IS,
             .counts_bound = gateway->bound.requests > 0 && role != BLIS_ROLE_DECODE};
  BLIS_TRY_MEM(blis__snapshot_survey(&cluster->snapshot, role,
                                     when == AS_SAMPLED ? cluster->now_us : -1, &s.group),
               error);
  *value = 0;
  return gateway->policy.saturation.ops == NULL ? BLIS_OK : ask(&s, value, error);
}

static blis_status measure_stages(blis_cluster *cluster, blis__gateway *gateway, freshness when,
                                  double *saturation, blis_error *error) {
  if (!gateway->policy.by_stage || cluster->main_role == 0) {
    return measure(cluster, gateway, 0, when, saturation, error);
  }
  double decode = 0;
  BLIS_TRY(measure(cluster, gateway, BLIS_ROLE_PREFILL, when, saturation, error));
  BLIS_TRY(measure(cluster, gateway, BLIS_ROLE_DECODE, when, &decode, error));
  *saturation = fmax(*saturation, decode);
  return BLIS_OK;
}

bool blis__gateway_counts_requests(const blis_cluster *cluster, const blis__gateway *gateway) {
  return gateway->may_skip && cluster->main_role == 0 &&
         (gateway->policy.saturation.needs & ~BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT)) == 0;
}

blis_status blis__gateway_look(blis_cluster *cluster, blis__gateway *gateway, blis_error *error) {
  if (gateway->is_current) {
    return BLIS_OK;
  }
  /* The ideal detector reads current values, and its evaluations do not affect other readers. */
  bool is_live =
      gateway->policy.dispatch == BLIS_GATEWAY_EVENT && cluster->config.snapshot_refresh_us > 0;
  BLIS_TRY(measure_stages(cluster, gateway, is_live ? AS_IT_IS : AS_SAMPLED, &gateway->saturation,
                          error));
  gateway->is_current = gateway->may_skip && cluster->main_role == 0;
  return BLIS_OK;
}

bool blis__gateway_tell_saturation(blis_cluster *cluster, bool is_live, double *value) {
  blis__gateway *gateway = blis__gateway_of(cluster);
  freshness when = is_live ? AS_IT_IS : AS_IT_STOOD;
  if (gateway == NULL) {
    return false;
  }
  blis_error error;
  if (!gateway->is_pure || measure_stages(cluster, gateway, when, value, &error) != BLIS_OK) {
    *value = gateway->saturation;
  }
  return true;
}

bool blis_cluster_gateway_saturation(blis_cluster *cluster, double *value) {
  return blis__gateway_tell_saturation(cluster, true, value);
}

blis_status blis__gateway_find_ceilings(blis__gateway *gateway, blis_error *error) {
  const blis_usage_limit *limit = &gateway->policy.usage_limit;
  size_t count = blis_flow_queue_band_count(gateway->queue);
  BLIS_TRY_MEM(blis_array_reserve(&gateway->alloc, &gateway->priorities, count), error);
  BLIS_TRY_MEM(blis_array_reserve(&gateway->alloc, &gateway->ceilings, count), error);
  for (size_t i = 0; i < count; i++) {
    gateway->priorities.items[i] = blis_flow_queue_band(gateway->queue, i).priority;
    gateway->ceilings.items[i] = 1;
  }
  return limit->ops == NULL
             ? BLIS_OK
             : limit->ops->ceilings(limit->state, gateway->saturation, gateway->priorities.items,
                                    count, gateway->ceilings.items, error);
}
