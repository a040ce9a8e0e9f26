#include "cluster/scaling/pools.h"

#include "base/minmax.h"

/* Returns the first instance of a pool; `existing` if there is none. */
static uint32_t first_of(const blis_cluster *cluster, blis_scale_role role) {
  uint32_t first = 0;
  while (first < cluster->existing && !blis__is_in_scaled_pool(cluster, role, first)) {
    first++;
  }
  return first;
}

/*
 * Returns the time of one decode or prefill step of this size according to the engine's model. The
 * work is divided evenly among the ranks.
 */
static double step_us(void *state, double prefill_tokens, double requests, double kv_tokens) {
  const blis__scale_engine *engine = state;
  int64_t t = (int64_t)(prefill_tokens / engine->ranks);
  int64_t n = (int64_t)(requests / engine->ranks);
  const blis_batch_sums sums = {.requests = n + (t > 0),
                                .prefill_tokens = t,
                                .decode_requests = n,
                                .decode_context_tokens = (int64_t)(kv_tokens / engine->ranks),
                                .prefill_attention = 3 * t * t,
                                .prefill_pairs = t * (t - 1)};
  int64_t told_us = 1;
  (void)blis_latency_step_time_from_sums(engine->latency, &sums, &told_us);
  return (double)told_us;
}

const blis_scale_model *blis__scale_engine_of(blis__scale_engine *engine,
                                              const blis_cluster *cluster, blis_scale_role role) {
  uint32_t first = first_of(cluster, role);
  if (first == cluster->existing) {
    return NULL;
  }
  const blis_instance *instance = cluster->instances[first];
  const blis_instance_config *kind = blis_instance_get_config(instance);
  engine->latency = blis_instance_usual_latency(instance);
  engine->ranks = (double)blis__unit_size(cluster, first);
  if (!blis_latency_uses_sums(engine->latency)) {
    return NULL;
  }
  engine->model = (blis_scale_model){.step_us = step_us,
                                     .state = engine,
                                     .kv_capacity_tokens = engine->ranks * (double)kind->kv_blocks *
                                                           (double)kind->block_size_tokens,
                                     .max_num_seqs = engine->ranks * (double)kind->max_num_seqs};
  return &engine->model;
}

static void add_instance(blis__scale_meter *sum, const blis_instance *instance,
                         const blis_power_config *power) {
  blis_instance_energy energy;
  blis_instance_stats stats;
  blis_instance_get_energy(instance, &energy);
  blis_instance_get_stats(instance, &stats);
  double gpus = (double)power->gpus;
  sum->prefill_nj += (double)energy.prefill_nj;
  sum->decode_nj += (double)(energy.busy_nj - energy.prefill_nj);
  sum->prefill_gpu_us += gpus * (double)stats.prefill_us;
  sum->decode_gpu_us += gpus * (double)(stats.busy_us - stats.prefill_us);
}

/* Converts to W; nJ per us is mW. */
static double watts_of(double nj, double gpu_us) {
  return gpu_us > 0 ? nj / gpu_us / 1e3 : -1;
}

static void read_meter(blis__scale_meter *meter, const blis_cluster *cluster, blis_scale_role role,
                       blis_scale_pool *seen) {
  blis__scale_meter now = {0};
  for (uint32_t i = 0; i < cluster->existing; i++) {
    const blis_instance *instance = cluster->instances[i];
    const blis_power_config *power = blis_instance_get_config(instance)->power;
    if (power != NULL && blis__is_in_scaled_pool(cluster, role, i)) {
      add_instance(&now, instance, power);
    }
  }
  seen->prefill_watts =
      watts_of(now.prefill_nj - meter->prefill_nj, now.prefill_gpu_us - meter->prefill_gpu_us);
  seen->decode_watts =
      watts_of(now.decode_nj - meter->decode_nj, now.decode_gpu_us - meter->decode_gpu_us);
  *meter = now;
}

bool blis__scale_pool_look(blis__scale_pool *pool, const blis_cluster *cluster,
                           blis_scale_role role) {
  uint32_t first = first_of(cluster, role);
  if (first == cluster->existing) {
    return false;
  }
  pool->seen = (blis_scale_pool){.model = blis__scale_engine_of(&pool->engine, cluster, role)};
  for (uint32_t i = first; i < blis__unit_end(cluster, first); i++) {
    const blis_instance_facts *facts = &cluster->facts[i];
    pool->seen.gpus += (double)blis_max_i64(facts->gpus, facts->tp);
  }
  read_meter(&pool->meter, cluster, role, &pool->seen);
  return true;
}
