/*
 * gateway.c - the gateway's queue: who gets in.
 */
#include "cluster/gateway.h"

#include <inttypes.h>
#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/features.h"
#include "cluster/gateway_run.h"
#include "cluster/handoff_run.h"

/* llm-d takes the size of the body; a token is 4 bytes of text or so. */
enum { BYTES_PER_TOKEN = 4, COLUMNS_SEEN = 5 };

/* Ends. */

int blis_gateway_status_code(const char *reason) {
  static const struct {
    const char *reason;
    int code;
  } codes[] = {{BLIS_GATEWAY_FULL, 429},
               {BLIS_GATEWAY_NO_INSTANCE, 503},
               {BLIS_GATEWAY_EXPIRED, 429},
               {BLIS_GATEWAY_SHED, 429},
               {BLIS_GATEWAY_EVICTED, 429}};
  for (size_t i = 0; reason != NULL && i < sizeof codes / sizeof *codes; i++) {
    if (strcmp(codes[i].reason, reason) == 0) {
      return codes[i].code;
    }
  }
  return 0;
}

/* Coming. */

static int64_t order_of(const blis__gateway *gateway,
                        const blis_request *request, int64_t now_us) {
  if (gateway->policy.order == BLIS_GATEWAY_FIFO) {
    return 0;
  }
  if (request->slo_target_us > 0) {
    return blis_time_after_us(now_us, request->slo_target_us);
  }
  for (size_t i = 0; i < gateway->target_classes.count; i++) {
    if (gateway->target_classes.items[i] == request->slo_class) {
      return blis_time_after_us(now_us, gateway->targets_us.items[i]);
    }
  }
  return BLIS_TIME_NEVER_US;
}

static blis_status shed(blis_cluster *cluster, blis__gateway *gateway,
                        const blis_flow_item *displaced, blis_error *error) {
  gateway->counts.shed++;
  return blis__gateway_end(cluster, blis__gateway_request(cluster, displaced),
                           BLIS_GATEWAY_SHED, error);
}

static blis_status refuse(blis_cluster *cluster, blis__gateway *gateway,
                          blis__cluster_request *request, blis_error *error) {
  gateway->counts.rejected++;
  gateway->counts.without_instances += gateway->is_pool_empty;
  return blis__gateway_end(cluster, request,
                           gateway->is_pool_empty ? BLIS_GATEWAY_NO_INSTANCE
                                                  : BLIS_GATEWAY_FULL,
                           error);
}

static void count_in(blis__gateway *gateway) {
  int64_t waiting = blis_flow_queue_count(gateway->queue);
  gateway->counts.enqueued++;
  if (waiting > gateway->counts.peak) {
    gateway->counts.peak = waiting;
  }
}

static blis_status enqueue(blis_cluster *cluster,
                           blis__cluster_request *request, blis_error *error) {
  blis__gateway *gateway = cluster->gateway;
  const blis_request *its = &request->request;
  const blis_flow_item item = {
      .handle = request->live.slot,
      .priority = request->slo_value,
      .tenant = its->tenant == 0 ? gateway->default_tenant : its->tenant,
      .order = order_of(gateway, its, cluster->now_us),
      .size_bytes = (int64_t)its->prompt_tokens * BYTES_PER_TOKEN,
      .enqueue_us = cluster->now_us};
  blis_flow_verdict verdict;
  bool has_displaced = false;
  blis_flow_item displaced;
  blis__request_move(request, BLIS__AT_GATEWAY);
  BLIS_TRY(blis__gateway_note_pool(cluster, gateway, error));
  BLIS_TRY_MEM(blis_flow_queue_add(gateway->queue, &item, &verdict,
                                   &has_displaced, &displaced),
               error);
  if (verdict != BLIS_FLOW_QUEUED) {
    return refuse(cluster, gateway, request, error);
  }
  count_in(gateway);
  if (has_displaced) {
    BLIS_TRY(shed(cluster, gateway, &displaced, error));
  }
  BLIS_TRY(blis__gateway_plan_sweep(cluster, gateway, error));
  return blis__gateway_came(cluster, gateway, error);
}

blis_status blis__gateway_event(blis_cluster *cluster, const blis_event *event,
                                blis_error *error) {
  switch (event->event_class) {
  case BLIS__CLUSTER_EVICT:
    return blis__gateway_evict(cluster, event->object, error);
  case BLIS__CLUSTER_EXPIRY:
    return blis__gateway_sweep(cluster, cluster->gateway, error);
  default:
    return blis__gateway_cycle(cluster, cluster->gateway, error);
  }
}

void blis_cluster_get_gateway(const blis_cluster *cluster,
                              blis_gateway_counts *counts) {
  const blis__gateway *gateway = cluster->gateway;
  *counts = gateway == NULL ? (blis_gateway_counts){0} : gateway->counts;
  if (gateway != NULL) {
    counts->waiting = blis_flow_queue_count(gateway->queue);
    counts->band_count = (int64_t)blis_flow_queue_band_count(gateway->queue);
  }
  const blis_gateway_counts *c = counts;
  BLIS_ASSERT(c->enqueued == c->dispatched + c->shed + c->expired + c->waiting);
}

/* What is heard of requests that have left the queue. */

static blis_status on_joined(void *ud, blis_cluster *cluster,
                             const blis__news *news, blis_error *error) {
  (void)cluster;
  blis__gateway *gateway = ud;
  blis__cluster_request *request = news->request;
  gateway->tokens_in_flight[news->instance] +=
      (double)request->request.prompt_tokens;
  if (gateway->policy.eviction != BLIS_GATEWAY_SPARES &&
      request->slo_value < 0 && request->place != BLIS__AT_HANDOFF) {
    BLIS_TRY_MEM(blis__evictables_add(gateway, request), error);
  }
  return BLIS_OK;
}

static blis_status on_left(void *ud, blis_cluster *cluster,
                           const blis__news *news, blis_error *error) {
  (void)cluster, (void)error;
  blis__gateway *gateway = ud;
  blis__cluster_request *request = news->request;
  gateway->tokens_in_flight[request->instance] -=
      (double)request->request.prompt_tokens;
  blis__evictables_remove(gateway, request);
  return BLIS_OK;
}

static blis_status on_reporting(void *ud, blis_cluster *cluster,
                                const blis__news *news, blis_error *error) {
  (void)ud, (void)cluster, (void)error;
  news->end->gateway_wait_us = news->request->gateway_wait_us;
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster,
                            const blis__news *news, blis_error *error) {
  blis__gateway *gateway = ud;
  const blis_request *request = &news->request->request;
  if (news->end->state == BLIS_REQUEST_COMPLETED ||
      news->end->state == BLIS_REQUEST_LENGTH_CAPPED) {
    uint32_t tenant =
        request->tenant == 0 ? gateway->default_tenant : request->tenant;
    BLIS_TRY_MEM(blis_flow_service_add(gateway->service, tenant,
                                       cluster->now_us, request->prompt_tokens,
                                       news->end->itl_count + 1),
                 error);
  }
  return BLIS_OK;
}

/* Construction. */

/* How often the ideal one tries is not defined, so nothing may go by that. */
static blis_status check_ideal(const blis_gateway *policy, blis_error *error) {
  const blis_usage_limit *limit = &policy->usage_limit;
  const blis_saturation *detector = &policy->saturation;
  const char *what = NULL;
  if (policy->eviction != BLIS_GATEWAY_SPARES) {
    what = "eviction";
  } else if (limit->ops != NULL && !limit->ops->is_pure) {
    what = limit->name;
  } else if (detector->ops != NULL && !detector->ops->is_pure) {
    what = detector->name;
  }
  return what == NULL
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_INVALID,
                         "queue: %s goes by how often the queue is looked at, "
                         "which dispatch \"event\" leaves open; use dispatch "
                         "\"cycle\" or \"tick\"",
                         what);
}

static blis_status check_policy(const blis_gateway *policy, blis_error *error) {
  const struct {
    const char *name;
    int64_t value;
    int64_t least;
  } numbers[] = {{"cycle_us", policy->cycle_us, 1},
                 {"sweep_us", policy->sweep_us, 1},
                 {"ttl_us", policy->ttl_us, 0},
                 {"empty_ttl_us", policy->empty_ttl_us, 0},
                 {"forget_bands_us", policy->forget_bands_us, 0},
                 {"max_requests", policy->limits.max_requests, 0},
                 {"max_bytes", policy->limits.max_bytes, 0},
                 {"band_max_requests", policy->limits.band_max_requests, 0},
                 {"band_max_bytes", policy->limits.band_max_bytes, 0}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i].value < numbers[i].least) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "queue: %s is %" PRId64 ", expected %" PRId64 " or more",
                       numbers[i].name, numbers[i].value, numbers[i].least);
    }
  }
  return policy->dispatch == BLIS_GATEWAY_EVENT ? check_ideal(policy, error)
                                                : BLIS_OK;
}

static blis_status copy_targets(blis_cluster *cluster, blis__gateway *gateway,
                                const blis_gateway *policy) {
  blis_intern *strings = cluster->source->strings;
  BLIS_TRY(blis_intern_add(strings, "default", strlen("default"),
                           &gateway->default_tenant));
  for (size_t i = 0; i < policy->target_count; i++) {
    const char *name = policy->targets[i].slo_class;
    uint32_t slo_class = 0;
    BLIS_TRY(blis_intern_add(strings, name, strlen(name), &slo_class));
    BLIS_TRY(
        blis_array_push(&gateway->alloc, &gateway->target_classes, slo_class));
    BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->targets_us,
                             policy->targets[i].target_us));
  }
  return BLIS_OK;
}

static blis_status make_parts(blis_cluster *cluster, blis__gateway *gateway) {
  const blis_gateway *policy = &gateway->policy;
  uint32_t count = cluster->config.instance_count;
  gateway->columns =
      blis_alloc_zeroed(&gateway->alloc, count, COLUMNS_SEEN * sizeof(double));
  gateway->tokens_in_flight =
      blis_alloc_zeroed(&gateway->alloc, count, sizeof(double));
  bool has_service = policy->fairness == BLIS_FLOW_LEAST_SERVICE;
  if (has_service) {
    gateway->service = blis_flow_service_new(&gateway->alloc, &policy->service);
  }
  gateway->queue =
      blis_flow_queue_new(&gateway->alloc, &policy->limits, policy->fairness,
                          cluster->source->strings, gateway->service);
  if (gateway->columns == NULL || gateway->tokens_in_flight == NULL ||
      gateway->queue == NULL || (has_service && gateway->service == NULL)) {
    return BLIS_ERR_NOMEM;
  }
  const blis__listener listener = {
      .ud = gateway,
      .rank = BLIS__BOOKS,
      .need = policy->saturation.needs == 0 &&
                      cluster->config.snapshot_refresh_us == 0
                  ? BLIS__NEEDS_NOTHING
                  : BLIS__NEEDS_STATE,
      .on = {[BLIS__JOINED] = on_joined,
             [BLIS__LEFT] = on_left,
             [BLIS__REPORTING] = on_reporting,
             [BLIS__ENDED] = has_service ? on_ended : NULL}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

static bool is_pure(const blis_gateway *policy) {
  return (policy->saturation.ops == NULL || policy->saturation.ops->is_pure) &&
         (policy->usage_limit.ops == NULL || policy->usage_limit.ops->is_pure);
}

blis_status blis_cluster_set_gateway(blis_cluster *cluster, blis_gateway *given,
                                     blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && cluster->gateway == NULL);
  blis_gateway policy = *given;
  given->saturation = (blis_saturation){0};
  given->usage_limit = (blis_usage_limit){0};
  blis__gateway *gateway =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *gateway);
  if (gateway == NULL) {
    blis_saturation_free(&policy.saturation);
    blis_usage_limit_free(&policy.usage_limit);
    return blis_fail_nomem(error);
  }
  gateway->alloc = cluster->alloc;
  gateway->policy = policy;
  gateway->policy.targets = NULL;
  gateway->last_cycle_us = -1;
  gateway->cycle_at_us = BLIS_TIME_NEVER_US;
  gateway->sweep_at_us = BLIS_TIME_NEVER_US;
  gateway->may_skip =
      is_pure(&policy) && cluster->config.snapshot_refresh_us == 0;
  cluster->gateway = gateway;
  cluster->hold = enqueue;
  BLIS_TRY(check_policy(&policy, error));
  BLIS_TRY_MEM(copy_targets(cluster, gateway, &policy), error);
  BLIS_TRY_MEM(make_parts(cluster, gateway), error);
  blis__snapshot_declare(&cluster->snapshot, policy.saturation.needs);
  return BLIS_OK;
}

void blis__free_gateway(blis_cluster *cluster) {
  blis__gateway *gateway = cluster->gateway;
  if (gateway == NULL) {
    return;
  }
  const blis_alloc *alloc = &cluster->alloc;
  uint32_t count = cluster->config.instance_count;
  blis_saturation_free(&gateway->policy.saturation);
  blis_usage_limit_free(&gateway->policy.usage_limit);
  blis_flow_queue_free(gateway->queue);
  blis_flow_service_free(gateway->service);
  blis_array_deinit(alloc, &gateway->target_classes);
  blis_array_deinit(alloc, &gateway->targets_us);
  blis_array_deinit(alloc, &gateway->priorities);
  blis_array_deinit(alloc, &gateway->ceilings);
  blis_array_deinit(alloc, &gateway->evictables);
  blis_alloc_free(alloc, gateway->columns,
                  count * COLUMNS_SEEN * sizeof(double));
  blis_alloc_free(alloc, gateway->tokens_in_flight, count * sizeof(double));
  blis_alloc_free(alloc, gateway, sizeof *gateway);
}
