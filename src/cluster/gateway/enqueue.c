/* enqueue.c - adds requests to the gateway queue, or rejects them. */
#include "cluster/gateway/gateway.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/feature.h"
#include "cluster/gateway/gateway_queue.h"

/* llm-d uses the size of the body. A token is about 4 bytes of text. */
enum { BYTES_PER_TOKEN = 4, COLUMNS_SEEN = 6 };

/* Ends. */

int blis_gateway_status_code(const char *reason) {
  static const struct {
    const char *reason;
    int code;
  } codes[] = {{BLIS_GATEWAY_FULL, 429},    {BLIS_GATEWAY_NO_INSTANCE, 503},
               {BLIS_GATEWAY_EXPIRED, 429}, {BLIS_GATEWAY_SHED, 429},
               {BLIS_GATEWAY_EVICTED, 429}, {"no-instance", 503},
               {"no-candidate", 429}};
  for (size_t i = 0; reason != NULL && i < sizeof codes / sizeof *codes; i++) {
    if (strcmp(codes[i].reason, reason) == 0) {
      return codes[i].code;
    }
  }
  /* These admission policies append details to their names. */
  static const char *const policies[] = {"gaie-legacy:", "probabilistic:", "latency-slo:"};
  for (size_t i = 0; reason != NULL && i < sizeof policies / sizeof *policies; i++) {
    if (strncmp(policies[i], reason, strlen(policies[i])) == 0) {
      return 429;
    }
  }
  return 0;
}

/* Coming. */

/* Returns the TTFT deadline of a request, counted from from_us; BLIS_TIME_NEVER_US = no target. */
static int64_t deadline_of(const blis__gateway *gateway, const blis_request *request,
                           int64_t from_us) {
  if (request->slo_target_us > 0) {
    return blis_time_after_us(from_us, request->slo_target_us);
  }
  for (size_t i = 0; i < gateway->target_classes.count; i++) {
    if (gateway->target_classes.items[i] == request->slo_class) {
      return blis_time_after_us(from_us, gateway->targets_us.items[i]);
    }
  }
  return BLIS_TIME_NEVER_US;
}

/* Maps numbers to integers in the same order. */
static int64_t rank_of(double number) {
  int64_t bits;
  double plain = number + 0.0; /* maps -0 to 0 */
  memcpy(&bits, &plain, sizeof bits);
  return bits >= 0 ? bits : INT64_MIN - bits;
}

static blis_status ask_order(blis_cluster *cluster, const blis__gateway *gateway,
                             const blis__cluster_request *request, int64_t *order,
                             blis_error *error) {
  const blis_flow_hook *hook = &gateway->policy.order_hook;
  const blis_routing_request shown = blis__cluster_show_request(cluster, request);
  const blis_flow_question question = {.now_us = cluster->now_us, .request = &shown};
  double answer = 0;
  BLIS_TRY(hook->ask(hook->state, &question, &answer, error));
  *order = rank_of(answer);
  return BLIS_OK;
}

static blis_status find_order(blis_cluster *cluster, const blis__gateway *gateway,
                              const blis__cluster_request *request, int64_t *order,
                              blis_error *error) {
  int64_t now_us = cluster->now_us;
  int64_t ttl_us = gateway->policy.ttl_us;
  switch (gateway->policy.order) {
  case BLIS_GATEWAY_SCRIPTED:
    return ask_order(cluster, gateway, request, order, error);
  case BLIS_GATEWAY_DEADLINE:
    *order = deadline_of(gateway, &request->request, request->request.arrival_us);
    return BLIS_OK;
  case BLIS_GATEWAY_DEADLINE_INSIDE:
    *order = deadline_of(gateway, &request->request, now_us);
    return BLIS_OK;
  case BLIS_GATEWAY_EDF:
    *order = ttl_us > 0 ? blis_time_after_us(now_us, ttl_us) : BLIS_TIME_NEVER_US;
    return BLIS_OK;
  default:
    *order = 0;
    return BLIS_OK;
  }
}

static blis_status shed(blis_cluster *cluster, blis__gateway *gateway,
                        const blis_flow_item *displaced, blis_error *error) {
  blis_gateway_band_counts *band = &blis__gateway_known_book(gateway, displaced->priority)->counts;
  gateway->counts.shed++;
  band->shed++;
  band->waiting--;
  return blis__gateway_end(cluster, blis__gateway_request(cluster, displaced), BLIS_GATEWAY_SHED,
                           error);
}

static blis_status refuse(blis_cluster *cluster, blis__gateway *gateway,
                          blis__cluster_request *request, blis__gateway_book *book,
                          blis_error *error) {
  gateway->counts.rejected++;
  book->counts.rejected++;
  gateway->counts.without_instances += gateway->is_pool_empty;
  return blis__gateway_end(cluster, request,
                           gateway->is_pool_empty ? BLIS_GATEWAY_NO_INSTANCE : BLIS_GATEWAY_FULL,
                           error);
}

/* Returns whether the request would be dispatched immediately, so that it need not be queued. */
static bool may_pass(const blis_cluster *cluster, const blis__gateway *gateway) {
  return gateway->policy.dispatch == BLIS_GATEWAY_CYCLE && gateway->is_pure &&
         gateway->last_cycle_us != cluster->now_us && blis_flow_queue_count(gateway->queue) == 0;
}

static blis_status make_item(blis_cluster *cluster, blis__gateway *gateway,
                             const blis__cluster_request *request, blis_flow_item *item,
                             blis_error *error) {
  const blis_request *its = &request->request;
  *item = (blis_flow_item){.handle = request->live.slot,
                           .priority = request->slo_value,
                           .tenant = its->tenant == 0 ? gateway->default_tenant : its->tenant,
                           .size_bytes = (int64_t)its->prompt_tokens * BYTES_PER_TOKEN,
                           .enqueue_us = cluster->now_us};
  return find_order(cluster, gateway, request, &item->order, error);
}

static blis_status queue_up(blis_cluster *cluster, blis__gateway *gateway,
                            blis__cluster_request *request, blis__gateway_book *book,
                            const blis_flow_item *item, blis_error *error) {
  blis_flow_verdict verdict;
  bool has_displaced = false;
  blis_flow_item displaced;
  BLIS_TRY_MEM(blis_flow_queue_add(gateway->queue, item, &verdict, &has_displaced, &displaced),
               error);
  if (verdict != BLIS_FLOW_QUEUED) {
    return refuse(cluster, gateway, request, book, error);
  }
  blis__gateway_count_in(gateway, book, blis_flow_queue_count(gateway->queue));
  if (has_displaced) {
    BLIS_TRY(shed(cluster, gateway, &displaced, error));
  }
  BLIS_TRY(blis__gateway_plan_sweep(cluster, gateway, error));
  return blis__gateway_came(cluster, gateway, error);
}

/*
 * Creates the gateway data of a request. A request may return after a failure or for another model.
 */
static blis_status need_part(blis__gateway *gateway, blis__cluster_request *request) {
  uint32_t slot;
  if (blis__gateway_part_of(request) != NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_pool_take(&gateway->parts, &slot));
  blis__gateway_part *part = blis_pool_item(&gateway->parts, slot);
  *part = (blis__gateway_part){.slot = slot, .wait_us = -1};
  request->parts[BLIS__PART_GATEWAY] = part;
  return BLIS_OK;
}

static blis_status on_admitted(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error) {
  blis__gateway *gateway = ud;
  blis__cluster_request *request = news->request;
  blis__gateway_book *book = NULL;
  blis_flow_item item;
  BLIS_TRY_MEM(need_part(gateway, request), error);
  *news->is_taken = true;
  blis__request_move(request, BLIS__HELD_ADMITTED);
  BLIS_TRY(blis__gateway_note_pool(cluster, gateway, error));
  BLIS_TRY_MEM(blis__gateway_book_of(gateway, request->slo_value, &book), error);
  BLIS_TRY(make_item(cluster, gateway, request, &item, error));
  if (may_pass(cluster, gateway)) {
    bool has_passed = false;
    BLIS_TRY(blis__gateway_pass(cluster, gateway, &item, &has_passed, error));
    if (has_passed) {
      return BLIS_OK;
    }
  }
  return queue_up(cluster, gateway, request, book, &item, error);
}

static blis_status run_event(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  switch (event->event_class) {
  case BLIS__CLUSTER_EVICT:
    BLIS_TRY(blis__gateway_evict(cluster, event->object, error));
    return blis__gateway_wake(cluster, blis__gateway_of(cluster), error);
  case BLIS__CLUSTER_EXPIRY:
    BLIS_TRY(blis__gateway_sweep(cluster, blis__gateway_of(cluster), error));
    blis__gateway_settle(cluster, blis__gateway_of(cluster));
    return BLIS_OK;
  default:
    return blis__gateway_cycle(cluster, blis__gateway_of(cluster), error);
  }
}

static int64_t waiting(const blis_cluster *cluster) {
  const blis__gateway *gateway = blis__gateway_of(cluster);
  return gateway == NULL ? 0 : blis_flow_queue_count(gateway->queue);
}

static void describe_waiting(const blis_cluster *cluster, char *words, size_t size) {
  if (waiting(cluster) > 0) {
    snprintf(words, size, ", %" PRId64 " of them in the gateway's queue at saturation %g",
             waiting(cluster), blis__gateway_of(cluster)->saturation);
  }
}

static bool expects_change(const blis_cluster *cluster) {
  const blis__gateway *gateway = blis__gateway_of(cluster);
  return gateway != NULL && gateway->sweep_at_us != BLIS_TIME_NEVER_US;
}

void blis_cluster_get_gateway(const blis_cluster *cluster, blis_gateway_counts *counts) {
  const blis__gateway *gateway = blis__gateway_of(cluster);
  *counts = gateway == NULL ? (blis_gateway_counts){0} : gateway->counts;
  if (gateway != NULL) {
    counts->waiting = blis_flow_queue_count(gateway->queue);
    counts->saturation = gateway->saturation;
  }
  const blis_gateway_counts *c = counts;
  BLIS_ASSERT(c->enqueued == c->dispatched + c->shed + c->expired + c->waiting);
}

/* Events of requests that have left the queue. */

static blis_status on_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  (void)cluster;
  blis__gateway *gateway = ud;
  blis__cluster_request *request = news->request;
  gateway->is_current = false;
  gateway->tokens_in_flight[news->instance] += (double)request->request.prompt_tokens;
  if (gateway->policy.eviction != BLIS_GATEWAY_SPARES && request->slo_value < 0 &&
      request->place != BLIS__HELD_ROUTED) {
    BLIS_TRY_MEM(blis__evictables_add(gateway, request), error);
  }
  return BLIS_OK;
}

static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)cluster, (void)error;
  blis__gateway *gateway = ud;
  blis__cluster_request *request = news->request;
  gateway->is_current = false;
  gateway->tokens_in_flight[request->instance] -= (double)request->request.prompt_tokens;
  blis__evictables_remove(gateway, request);
  return BLIS_OK;
}

/* The same events for ideal dispatch. */

/* Stops counting a request that is no longer in transit. */
static blis_status on_bound_over(void *ud, blis_cluster *cluster, const blis__news *news,
                                 blis_error *error) {
  return blis__bound_arrive(ud, news->request) ? blis__gateway_wake(cluster, ud, error) : BLIS_OK;
}

static blis_status on_bound_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                                   blis_error *error) {
  BLIS_TRY_MEM(blis__bound_join(ud, news->request), error);
  return on_bound_over(ud, cluster, news, error);
}

static blis_status on_bound_settled(void *ud, blis_cluster *cluster, const blis__news *news,
                                    blis_error *error) {
  (void)cluster, (void)error;
  blis__bound_settle(ud, news->request);
  return BLIS_OK;
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)news;
  return blis__gateway_wake(cluster, ud, error);
}

static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)cluster, (void)error;
  const blis__gateway_part *part = blis__gateway_part_of(news->request);
  if (part != NULL) {
    blis_record_extras_set_known(news->end->extras, BLIS_EXTRA_gateway_wait_us, part->wait_us);
  }
  return BLIS_OK;
}

static blis_status add_service(blis_cluster *cluster, blis__gateway *gateway,
                               const blis__news *news, blis_error *error) {
  const blis_request *request = &news->request->request;
  uint32_t tenant = request->tenant == 0 ? gateway->default_tenant : request->tenant;
  BLIS_TRY_MEM(blis_flow_service_add(gateway->service, tenant, cluster->now_us,
                                     request->prompt_tokens, news->end->itl_count + 1),
               error);
  blis_flow_queue_note_service(gateway->queue, tenant);
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  blis__gateway *gateway = ud;
  blis__gateway_part *part = blis__gateway_part_of(news->request);
  if (part != NULL) {
    blis_pool_give(&gateway->parts, part->slot);
    news->request->parts[BLIS__PART_GATEWAY] = NULL;
  }
  return gateway->service != NULL && blis_request_is_completed(news->end->state)
             ? add_service(cluster, gateway, news, error)
             : BLIS_OK;
}

/* Construction. */

static const char *name_or(const char *name, const char *noun) {
  return name[0] == '\0' ? noun : name;
}

/* The ideal dispatch has no defined attempt rate, so no policy can depend on it. */
static blis_status check_ideal(const blis_gateway *policy, blis_error *error) {
  const blis_usage_limit *limit = &policy->usage_limit;
  const blis_saturation *detector = &policy->saturation;
  const char *what = NULL;
  if (policy->eviction != BLIS_GATEWAY_SPARES) {
    what = "eviction";
  } else if (limit->ops != NULL && !limit->ops->is_pure) {
    what = name_or(limit->name, "the usage limit");
  } else if (detector->ops != NULL && !detector->ops->is_pure) {
    what = name_or(detector->name, "the saturation detector");
  } else if (policy->band_hook.ask != NULL) {
    what = policy->band_hook.name;
  }
  return what == NULL ? BLIS_OK
                      : blis_fail(error, BLIS_ERR_INVALID,
                                  "queue: %s depends on the rate of dispatch attempts, which "
                                  "dispatch \"event\" does not define; use dispatch \"cycle\" or "
                                  "\"tick\"",
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
                       "queue: %s is %" PRId64 ", expected %" PRId64 " or more", numbers[i].name,
                       numbers[i].value, numbers[i].least);
    }
  }
  return policy->dispatch == BLIS_GATEWAY_EVENT ? check_ideal(policy, error) : BLIS_OK;
}

static blis_status copy_targets(blis_cluster *cluster, blis__gateway *gateway,
                                const blis_gateway *policy) {
  blis_intern *strings = cluster->source->strings;
  BLIS_TRY(blis_intern_add(strings, "default", strlen("default"), &gateway->default_tenant));
  for (size_t i = 0; i < policy->target_count; i++) {
    const char *name = policy->targets[i].slo_class;
    uint32_t slo_class = 0;
    BLIS_TRY(blis_intern_add(strings, name, strlen(name), &slo_class));
    BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->target_classes, slo_class));
    BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->targets_us, policy->targets[i].target_us));
  }
  return BLIS_OK;
}

static bool has_service(const blis_gateway *policy) {
  return policy->fairness == BLIS_FLOW_LEAST_SERVICE || policy->fairness == BLIS_FLOW_CHOSEN;
}

/*
 * Returns the required time order. Service must be summed in time order, because the order affects
 * rounding. The eviction among equal requests depends on the order in which others left.
 */
static blis__need need_of(const blis_cluster *cluster, const blis_gateway *policy) {
  if (has_service(policy) || policy->eviction != BLIS_GATEWAY_SPARES) {
    return BLIS__NEEDS_ORDER;
  }
  return policy->saturation.needs == 0 && cluster->config.snapshot_refresh_us == 0
             ? BLIS__NEEDS_NOTHING
             : BLIS__NEEDS_STATE;
}

static blis_status listen_for_bound(blis_cluster *cluster, blis__gateway *gateway) {
  const blis__listener listener = {.ud = gateway,
                                   .phase = BLIS__BOOKS,
                                   .need = need_of(cluster, &gateway->policy),
                                   .on = {[BLIS__JOINED] = on_bound_joined,
                                          [BLIS__FIRST_TOKEN] = on_bound_settled,
                                          [BLIS__LEFT] = on_bound_settled,
                                          [BLIS__OVER] = on_bound_over}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

static blis_status make_parts(blis_cluster *cluster, blis__gateway *gateway) {
  const blis_gateway *policy = &gateway->policy;
  uint32_t count = cluster->config.instance_count;
  gateway->columns = blis_alloc_zeroed(&gateway->alloc, count, COLUMNS_SEEN * sizeof(double));
  gateway->tokens_in_flight = blis_alloc_zeroed(&gateway->alloc, count, sizeof(double));
  if (has_service(policy)) {
    gateway->service = blis_flow_service_new(&gateway->alloc, &policy->service);
  }
  gateway->queue = blis_flow_queue_new(&gateway->alloc, &policy->limits, policy->fairness,
                                       cluster->source->strings, gateway->service);
  if (gateway->columns == NULL || gateway->tokens_in_flight == NULL || gateway->queue == NULL ||
      (has_service(policy) && gateway->service == NULL)) {
    return BLIS_ERR_NOMEM;
  }
  const blis__listener listener = {.ud = gateway,
                                   .phase = BLIS__BOOKS,
                                   .need = need_of(cluster, policy),
                                   .on = {[BLIS__ADMITTED] = on_admitted,
                                          [BLIS__JOINED] = on_joined,
                                          [BLIS__LEFT] = on_left,
                                          [BLIS__SERVICE_CHANGED] = on_service_changed,
                                          [BLIS__REPORTING] = on_reporting,
                                          [BLIS__ENDED] = on_ended}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &listener));
  return policy->dispatch == BLIS_GATEWAY_EVENT ? listen_for_bound(cluster, gateway) : BLIS_OK;
}

void blis_gateway_free(blis_gateway *gateway) {
  blis_saturation_free(&gateway->saturation);
  blis_usage_limit_free(&gateway->usage_limit);
  blis_flow_hook_free(&gateway->order_hook);
  blis_flow_hook_free(&gateway->flow_hook);
  blis_flow_hook_free(&gateway->band_hook);
}

static bool is_pure(const blis_gateway *policy) {
  return (policy->saturation.ops == NULL || policy->saturation.ops->is_pure) &&
         (policy->usage_limit.ops == NULL || policy->usage_limit.ops->is_pure) &&
         policy->band_hook.ask == NULL;
}

/* Takes ownership of the policies. */
static blis__gateway *make_gateway(blis_cluster *cluster, const blis_gateway *policy) {
  blis__gateway *gateway = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *gateway);
  if (gateway == NULL) {
    return NULL;
  }
  gateway->alloc = cluster->alloc;
  gateway->policy = *policy;
  gateway->policy.targets = NULL;
  gateway->last_cycle_us = -1;
  gateway->cycle_at_us = BLIS_TIME_NEVER_US;
  gateway->sweep_at_us = BLIS_TIME_NEVER_US;
  gateway->is_pure = is_pure(policy);
  gateway->may_skip = gateway->is_pure && cluster->config.snapshot_refresh_us == 0;
  blis_sketch_init(&gateway->wait_us, &gateway->alloc);
  blis_pool_init(&gateway->parts, &gateway->alloc, sizeof(blis__gateway_part));
  return gateway;
}

blis_status blis_cluster_set_gateway(blis_cluster *cluster, blis_gateway *given,
                                     blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && blis__gateway_of(cluster) == NULL);
  blis_gateway policy = *given;
  *given = (blis_gateway){0};
  blis__gateway *gateway = make_gateway(cluster, &policy);
  if (gateway == NULL) {
    blis_gateway_free(&policy);
    return blis_fail_nomem(error);
  }
  cluster->features[BLIS_FEATURE_GATEWAY] = gateway;
  blis__hooks_add(&cluster->hooks, BLIS__ROOM_MADE, blis__gateway_look_again);
  BLIS_TRY(check_policy(&policy, error));
  BLIS_TRY_MEM(copy_targets(cluster, gateway, &policy), error);
  BLIS_TRY_MEM(make_parts(cluster, gateway), error);
  blis__snapshot_declare(&cluster->snapshot, policy.saturation.needs);
  return BLIS_OK;
}

static void free_gateway(blis_cluster *cluster) {
  blis__gateway *gateway = blis__gateway_of(cluster);
  if (gateway == NULL) {
    return;
  }
  const blis_alloc *alloc = &cluster->alloc;
  uint32_t count = cluster->config.instance_count;
  blis_gateway_free(&gateway->policy);
  blis__gateway_free_books(gateway);
  blis_pool_deinit(&gateway->parts);
  blis_flow_queue_free(gateway->queue);
  blis_flow_service_free(gateway->service);
  blis_array_deinit(alloc, &gateway->target_classes);
  blis_array_deinit(alloc, &gateway->targets_us);
  blis_array_deinit(alloc, &gateway->priorities);
  blis_array_deinit(alloc, &gateway->ceilings);
  blis_array_deinit(alloc, &gateway->bands_seen);
  blis_array_deinit(alloc, &gateway->bands_shown);
  blis_array_deinit(alloc, &gateway->flows_seen);
  blis_array_deinit(alloc, &gateway->bound.prompts);
  blis_array_deinit(alloc, &gateway->evictables);
  blis_alloc_free(alloc, gateway->columns, (size_t)count * COLUMNS_SEEN * sizeof(double));
  blis_alloc_free(alloc, gateway->tokens_in_flight, count * sizeof(double));
  blis_alloc_free(alloc, gateway, sizeof *gateway);
}

const blis__feature blis__gateway_feature = {
    .slot = BLIS_FEATURE_GATEWAY,
    .name = "gateway",
    .free = free_gateway,
    .event = run_event,
    .expects_change = expects_change,
    .waiting = waiting,
    .describe_waiting = describe_waiting,
    .saturation = blis__gateway_tell_saturation,
};
