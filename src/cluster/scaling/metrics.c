#include "cluster/scaling/metrics.h"

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/feature.h"
#include "cluster/machines/machines.h"
#include "cluster/pool_state.h"
#include "cluster/service.h"

enum { WINDOW_US = 60000000 };

static bool is_own(const blis__scale_look *look, const blis_cluster *cluster, uint32_t i) {
  return blis__is_in_scaled_pool(cluster, look->config->role, i);
}

static bool needs(const blis__scale_look *look, blis_scale_metric metric) {
  return (look->needs & BLIS_SCALE_BIT(metric)) != 0;
}

/* Listeners. */

static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  (void)cluster, (void)error;
  blis__scale_look *look = ud;
  look->arrivals++;
  look->prompt_tokens += news->request->live.prompt_tokens;
  return BLIS_OK;
}

static void forget_old(blis__scale_samples *samples, int64_t now_us) {
  size_t kept = 0;
  for (size_t i = 0; i < samples->count; i++) {
    if (samples->items[i].time_us > now_us - WINDOW_US) {
      samples->items[kept++] = samples->items[i];
    }
  }
  samples->count = kept;
}

/* Adds a sample. Drops old samples before it allocates more memory. */
static blis_status add(const blis_cluster *cluster, blis__scale_samples *samples, int64_t time_us,
                       double value, blis_error *error) {
  const blis__scale_sample sample = {time_us, value};
  bool was_full = samples->count == samples->capacity;
  if (was_full) {
    forget_old(samples, cluster->now_us);
  }
  /* If more than half of the samples remain, the array would soon be full again. */
  if (samples->count == samples->capacity || (was_full && samples->count > samples->capacity / 2)) {
    BLIS_TRY_MEM(blis_array_reserve(&cluster->alloc, samples, 2 * samples->capacity + 64), error);
  }
  BLIS_TRY_MEM(blis_array_push(&cluster->alloc, samples, sample), error);
  return BLIS_OK;
}

static blis_status on_first_token(void *ud, blis_cluster *cluster, const blis__news *news,
                                  blis_error *error) {
  blis__scale_look *look = ud;
  const blis_live_request *live = &news->request->live;
  return add(cluster, &look->ttft_us, live->arrival_us + live->ttft_us, (double)live->ttft_us,
             error);
}

static bool is_within(int64_t target_us, double value_us) {
  return target_us == 0 || (value_us >= 0 && value_us <= (double)target_us);
}

static double tpot_us_of(const blis_request_end *end) {
  return end->itl_count > 0 ? (double)end->itl_sum_us / (double)end->itl_count : 0;
}

bool blis__keeps_scale_targets(const blis_scaling_config *config, const blis_request_end *end) {
  return blis_request_is_completed(end->state) &&
         is_within(config->ttft_target_us, (double)end->ttft_us) &&
         is_within(config->tpot_target_us, tpot_us_of(end)) &&
         is_within(config->e2e_target_us, (double)end->e2e_us);
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  blis__scale_look *look = ud;
  const blis_request_end *end = news->end;
  if (blis_request_is_completed(end->state)) {
    look->completed++;
    look->output_tokens += news->request->live.output_tokens;
    if (end->itl_count > 0 && needs(look, BLIS_SCALE_TPOT_P90)) {
      BLIS_TRY(add(cluster, &look->tpot_us, end->end_us, tpot_us_of(end), error));
    }
  }
  return needs(look, BLIS_SCALE_SLO_ATTAINMENT)
             ? add(cluster, &look->kept, end->end_us, blis__keeps_scale_targets(look->config, end),
                   error)
             : BLIS_OK;
}

blis_status blis__scale_look_init(blis__scale_look *look, blis_cluster *cluster,
                                  const blis_scaling_config *config, blis_scale_needs wanted) {
  *look = (blis__scale_look){.config = config, .needs = wanted};
  uint32_t count = cluster->config.instance_count;
  look->place_of = blis_alloc_zeroed(&cluster->alloc, count, sizeof *look->place_of);
  if (look->place_of == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_array_reserve(&cluster->alloc, &look->instances, count));
  bool hears_arrivals =
      needs(look, BLIS_SCALE_REQUEST_RATE) || needs(look, BLIS_SCALE_PROMPT_TOKENS_MEAN);
  bool hears_ends = needs(look, BLIS_SCALE_TPOT_P90) || needs(look, BLIS_SCALE_SLO_ATTAINMENT) ||
                    needs(look, BLIS_SCALE_OUTPUT_TOKENS_MEAN);
  blis__listener listener = {.ud = look, .phase = BLIS__BOOKS};
  listener.on[BLIS__ARRIVED] = hears_arrivals ? on_arrived : NULL;
  listener.on[BLIS__FIRST_TOKEN] = needs(look, BLIS_SCALE_TTFT_P90) ? on_first_token : NULL;
  listener.on[BLIS__ENDED] = hears_ends ? on_ended : NULL;
  return blis__listeners_add(&cluster->listeners, &listener);
}

void blis__scale_look_deinit(blis__scale_look *look, const blis_cluster *cluster) {
  const blis_alloc *alloc = &cluster->alloc;
  blis_array_deinit(alloc, &look->ttft_us);
  blis_array_deinit(alloc, &look->tpot_us);
  blis_array_deinit(alloc, &look->kept);
  blis_array_deinit(alloc, &look->instances);
  blis_alloc_free(alloc, look->place_of, cluster->config.instance_count * sizeof *look->place_of);
}

/* Metrics shown to autoscalers. */

static void swap(blis__scale_sample *a, blis__scale_sample *b) {
  blis__scale_sample kept = *a;
  *a = *b;
  *b = kept;
}

/* Returns the value of rank k, from 0, and reorders the samples (Hoare's selection). */
static double select_rank(blis__scale_sample *items, size_t count, size_t k) {
  size_t low = 0;
  size_t high = count - 1;
  while (low < high) {
    double pivot = items[k].value;
    size_t i = low;
    size_t j = high;
    while (i <= j) {
      while (items[i].value < pivot) {
        i++;
      }
      while (items[j].value > pivot) {
        j--;
      }
      if (i <= j) {
        swap(&items[i++], &items[j]);
        if (j == 0) {
          break;
        }
        j--;
      }
    }
    low = j < k ? i : low;
    high = i > k ? j : high;
  }
  return items[k].value;
}

/* Returns the 90th percentile (nearest rank); 0 without samples. */
static double p90(blis__scale_samples *samples, int64_t now_us) {
  forget_old(samples, now_us);
  size_t count = samples->count;
  return count == 0 ? 0 : select_rank(samples->items, count, (count * 9 + 9) / 10 - 1);
}

static double share_kept(blis__scale_look *look, int64_t now_us) {
  forget_old(&look->kept, now_us);
  double sum = 0;
  for (size_t i = 0; i < look->kept.count; i++) {
    sum += look->kept.items[i].value;
  }
  return look->kept.count == 0 ? 1 : sum / (double)look->kept.count;
}

static double measure(void *ud, blis_scale_metric metric) {
  blis__scale_look *look = ud;
  switch (metric) {
  case BLIS_SCALE_TTFT_P90:
    return p90(&look->ttft_us, look->looked_us);
  case BLIS_SCALE_TPOT_P90:
    return p90(&look->tpot_us, look->looked_us);
  default:
    return share_kept(look, look->looked_us);
  }
}

/* Adds one rank to the metrics of its group. */
static void add_rank(blis_scale_instance *seen, const blis_cluster *cluster, uint32_t i,
                     double *metrics) {
  const blis_instance *instance = cluster->instances[i];
  const blis_instance_config *config = blis_instance_get_config(instance);
  blis_instance_stats stats;
  blis_instance_get_stats(instance, &stats);
  double block = (double)config->block_size_tokens;
  double room = (double)stats.kv_blocks * block;
  double longest = (double)config->max_model_len_tokens;
  blis__machine machine = blis__machine_of(cluster, i);
  double part = 1 / (double)blis__unit_size(cluster, i);
  double use = (double)stats.used_kv_blocks / (double)stats.kv_blocks;
  double queue_depth = (double)stats.queue_depth;
  seen->kv_utilization += part * use;
  seen->queue_depth += queue_depth;
  seen->batch_size += (double)stats.batch_size;
  seen->running_kv_tokens += (double)stats.used_kv_blocks * block;
  seen->kv_capacity_tokens += room;
  seen->context_length_tokens = longest > 0 ? longest : room;
  seen->gpu = machine.gpu;
  seen->tp += machine.tp;
  seen->cost_per_hour += machine.cost_per_hour;
  metrics[BLIS_SCALE_POOL_SATURATION] += part * blis__instance_fullness(queue_depth, use);
}

static void look_at_group(blis__scale_look *look, const blis_cluster *cluster, uint32_t first,
                          double *metrics) {
  blis_scale_instance seen = {.id = first};
  size_t place = look->instances.count++;
  for (uint32_t i = first; i < blis__unit_end(cluster, first); i++) {
    add_rank(&seen, cluster, i, metrics);
    look->place_of[i] = (uint32_t)place + 1;
  }
  look->instances.items[place] = seen;
  metrics[BLIS_SCALE_KV_UTILIZATION] += seen.kv_utilization;
  metrics[BLIS_SCALE_QUEUE_DEPTH] += seen.queue_depth;
  metrics[BLIS_SCALE_BATCH_SIZE] += seen.batch_size;
}

static void look_at_instances(blis__scale_look *look, const blis_cluster *cluster,
                              double *metrics) {
  look->instances.count = 0;
  for (uint32_t i = 0; i < cluster->existing; i = blis__unit_end(cluster, i)) {
    for (uint32_t k = i; k < blis__unit_end(cluster, i); k++) {
      look->place_of[k] = 0;
    }
    if (cluster->services[i] == BLIS_SERVICE_ACTIVE && is_own(look, cluster, i)) {
      look_at_group(look, cluster, i, metrics);
    }
  }
  /* If no instance can accept requests, the saturation is 1, as in llm-d. */
  double count = (double)look->instances.count;
  metrics[BLIS_SCALE_POOL_SATURATION] = count > 0 ? metrics[BLIS_SCALE_POOL_SATURATION] / count : 1;
}

static double starting_kv_tokens(const blis__scale_look *look, const blis_cluster *cluster) {
  double sum = 0;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    const blis_instance_config *config = blis_instance_get_config(cluster->instances[i]);
    sum += blis__is_starting(cluster->services[i]) && is_own(look, cluster, i)
               ? (double)config->kv_blocks * (double)config->block_size_tokens
               : 0;
  }
  return sum;
}

/* Returns the live record of a request on an instance; NULL = it is on no instance. */
static const blis_live_request *leg_of(const blis__cluster_request *r) {
  if (r->place == BLIS__AT_INSTANCE) {
    return &r->live;
  }
  return r->other == NULL ? NULL : r->other->live;
}

/*
 * Returns the number of running requests, regardless of the states of their instances. Hand-offs
 * have additional records.
 */
static double count_running(const blis__scale_look *look, const blis_cluster *cluster) {
  double count = 0;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    count += is_own(look, cluster, i)
                 ? blis__snapshot_live(&cluster->snapshot, i, BLIS_SIGNAL_IN_FLIGHT)
                 : 0;
  }
  return count;
}

/* Computes metrics of instances and of the cluster from live requests. */
static void look_at_requests(blis__scale_look *look, const blis_cluster *cluster, double *metrics) {
  double running = 0;
  for (const blis__cluster_request *r = cluster->requests.first; r != NULL; r = r->later) {
    double prompt = (double)r->live.prompt_tokens;
    const blis_live_request *leg = leg_of(r);
    uint32_t where = leg == NULL ? 0 : (uint32_t)r->instance;
    bool is_there = leg != NULL && is_own(look, cluster, where);
    running += is_there;
    if (r->live.ttft_us < 0) {
      metrics[BLIS_SCALE_INFLIGHT_TOKENS] += prompt;
    }
    uint32_t place = is_there ? look->place_of[where] : 0;
    if (place == 0) {
      continue;
    }
    blis_scale_instance *instance = &look->instances.items[place - 1];
    if (leg->ttft_us < 0) {
      instance->queued_prefill_tokens += prompt;
    }
    if (leg->state != BLIS_REQUEST_RUNNING) {
      instance->queued_kv_tokens += prompt;
    }
  }
  BLIS_ASSERT(cluster->main_role != 0 || running == count_running(look, cluster));
  metrics[BLIS_SCALE_REQUESTS_RUNNING] = running;
}

static double per(double value, double count) {
  return count > 0 ? value / count : 0;
}

static void begin_anew(blis__scale_look *look, int64_t now_us) {
  look->arrivals = 0;
  look->prompt_tokens = 0;
  look->completed = 0;
  look->output_tokens = 0;
  look->looked_us = now_us;
}

void blis__scale_look_take(blis__scale_look *look, blis_cluster *cluster,
                           blis_scale_context *context) {
  context->collected = look->needs;
  double *metrics = context->metrics;
  int64_t now_us = cluster->now_us;
  double seconds = (double)(now_us - look->looked_us) / 1e6;
  look_at_instances(look, cluster, metrics);
  if (needs(look, BLIS_SCALE_POOL_SATURATION)) { /* a gateway computes its own value */
    blis__features_saturation(cluster, true, &metrics[BLIS_SCALE_POOL_SATURATION]);
  }
  metrics[BLIS_SCALE_REQUESTS_RUNNING] = count_running(look, cluster);
  if ((needs(look, BLIS_SCALE_REQUESTS_RUNNING) && cluster->main_role != 0) ||
      needs(look, BLIS_SCALE_INFLIGHT_TOKENS) ||
      (look->needs & BLIS_SCALE_NEEDS_QUEUED_TOKENS) != 0) {
    look_at_requests(look, cluster, metrics);
  }
  metrics[BLIS_SCALE_GATEWAY_QUEUE_SIZE] = (double)blis__waiting_for_pool(cluster);
  metrics[BLIS_SCALE_REQUEST_RATE] = per((double)look->arrivals, seconds);
  metrics[BLIS_SCALE_PROMPT_TOKENS_MEAN] = per((double)look->prompt_tokens, (double)look->arrivals);
  metrics[BLIS_SCALE_OUTPUT_TOKENS_MEAN] =
      per((double)look->output_tokens, (double)look->completed);
  begin_anew(look, now_us);
  context->measure = measure;
  context->measure_ud = look;
  context->instances = look->instances.items;
  context->instance_count = look->instances.count;
  context->starting_kv_tokens = starting_kv_tokens(look, cluster);
  context->model = blis__scale_engine_of(&look->engine, cluster, look->config->role);
}
