#include "results/summary/summary.h"

#include <math.h>

#include "base/invariant.h"
#include "cluster/instances/life_cycle.h"
#include "kv/kv_cache.h"
#include "results/summary/feature_figures.h"
#include "results/summary/times.h"

double blis_jain_index(const double *values, size_t count) {
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    sum += values[i];
    squares += values[i] * values[i];
  }
  if (count == 0) {
    return 0;
  }
  return squares == 0 ? 1 : (sum * sum) / ((double)count * squares);
}

static void add_instance(blis_summary *summary, blis_instance_summary *instance,
                         const blis_cluster *cluster, uint32_t index) {
  blis_instance_stats *stats = &instance->stats;
  blis_instance_get_stats(blis_cluster_instance(cluster, index), stats);
  instance->end_us = stats->end_us;
  instance->group = (int64_t)blis_cluster_instance_facts(cluster, index)->group + 1;
  instance->cache_hit_rate =
      blis_kv_cache_hit_rate(stats->cache_hits, stats->cache_misses, stats->cpu_misses);
  if (stats->end_us > summary->duration_us) {
    summary->duration_us = stats->end_us;
  }
  summary->prompt_tokens += stats->prompt_tokens;
  summary->output_tokens += stats->output_tokens;
  summary->preemptions += stats->preemptions;
  summary->kv_allocation_failures += stats->kv_allocation_failures;
  summary->steps += stats->steps;
  summary->uncovered_steps += stats->uncovered_steps;
  summary->cache_hit_rate += instance->cache_hit_rate;
}

static void sum_instances(blis_summary *summary, const blis_cluster *cluster) {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t cpu_misses = 0;
  for (uint32_t i = 0; i < summary->instance_count; i++) {
    add_instance(summary, &summary->instances[i], cluster, i);
    hits += summary->instances[i].stats.cache_hits;
    misses += summary->instances[i].stats.cache_misses;
    cpu_misses += summary->instances[i].stats.cpu_misses;
  }
  for (uint32_t i = 0; i < summary->instance_count; i++) {
    summary->instances[i].active_seconds =
        (double)blis_cluster_instance_time_us(cluster, i, BLIS_SERVICE_ACTIVE,
                                              summary->duration_us) /
        1e6;
  }
  summary->cache_hit_rate /= (double)summary->instance_count;
  summary->cache_hit_rate_overall = blis_kv_cache_hit_rate(hits, misses, cpu_misses);
}

static void copy_tally(blis_summary *summary, const blis_recorder *recorder) {
  const blis_tally *tally = blis_recorder_tally(recorder);
  summary->counts = tally->counts;
  for (uint32_t i = 0; i < summary->instance_count; i++) {
    summary->instances[i].requests = blis_tally_of_instance(tally, i);
  }
  summary->output_tokens -= blis_recorder_attempts(recorder)->all.dropped_output_tokens;
  summary->hash = blis_recorder_hash(recorder);
}

static void put_rates(blis_summary *summary, int64_t hits) {
  int64_t completed = summary->counts.completed;
  double seconds = (double)summary->duration_us / 1e6;
  if (completed > 0) {
    summary->request_hit_rate = (double)hits / (double)completed;
  }
  if (completed > 0 && seconds > 0) {
    summary->requests_per_sec = (double)completed / seconds;
    summary->tokens_per_sec = (double)summary->output_tokens / seconds;
    summary->preemption_rate = (double)summary->preemptions / (double)completed;
  }
}

/* Collects the requests of each instance with exactly this role; returns the number of
   instances. */
static size_t requests_of_role(const blis_summary *summary, const blis_cluster *cluster,
                               uint32_t roles, double *requests) {
  size_t count = 0;
  for (uint32_t i = 0; i < summary->instance_count; i++) {
    if (blis_cluster_instance_facts(cluster, i)->roles == roles) {
      requests[count++] = (double)summary->instances[i].requests;
    }
  }
  return count;
}

/* Computes the balance. Pools do different kinds of work, so each pool is balanced separately. */
static blis_status put_balance(blis_summary *summary, const blis_cluster *cluster,
                               const blis_alloc *alloc) {
  size_t count = summary->instance_count;
  double *requests = blis_alloc_new(alloc, count * sizeof *requests);
  if (requests == NULL) {
    return BLIS_ERR_NOMEM;
  }
  bool has_pools = requests_of_role(summary, cluster, 0, requests) < count;
  double least = 1;
  for (uint32_t roles = has_pools; roles <= BLIS_ROLES_ALL; roles++) {
    size_t n = requests_of_role(summary, cluster, roles, requests);
    least = n > 0 ? fmin(least, blis_jain_index(requests, n)) : least;
  }
  summary->balance = least;
  blis_alloc_free(alloc, requests, count * sizeof *requests);
  return BLIS_OK;
}

static blis_status put_times(blis_summary *summary, const blis_alloc *alloc,
                             const blis_recorder *recorder, blis_histogram *itl_us) {
  if (summary->counts.completed == 0) {
    return BLIS_OK;
  }
  const blis_tally *tally = blis_recorder_tally(recorder);
  if (!tally->has_sketches) {
    const blis__whole *whole;
    BLIS_TRY(blis__times_of_whole(recorder, alloc, &whole));
    summary->times = whole->times;
    blis_percentiles_of_histogram(&summary->times.itl, itl_us);
    return BLIS_OK;
  }
  blis_times *times = &summary->times;
  blis_percentiles_of_histogram(&times->itl, itl_us);
  blis_percentiles_of_sketch(&times->ttft, &tally->ttft_us);
  blis_percentiles_of_sketch(&times->e2e, &tally->e2e_us);
  blis_percentiles_of_sketch(&times->scheduling_delay, &tally->scheduling_delay_us);
  return BLIS_OK;
}

blis_status blis_summary_init(blis_summary *summary, const blis_alloc *alloc,
                              const blis_cluster *cluster, const blis_recorder *recorder,
                              blis_histogram *itl_us, blis_error *error) {
  uint32_t count = blis_cluster_instance_count(cluster);
  *summary = (blis_summary){.instance_count = count};
  summary->instances = blis_alloc_zeroed(alloc, count, sizeof *summary->instances);
  BLIS_TRY_NEW(summary->instances, error);
  sum_instances(summary, cluster);
  copy_tally(summary, recorder);
  put_rates(summary, blis_recorder_tally(recorder)->hits);
  blis_status status = blis__summary_add_features(summary, cluster, itl_us);
  if (status == BLIS_OK) {
    status = put_balance(summary, cluster, alloc);
  }
  if (status == BLIS_OK) {
    status = put_times(summary, alloc, recorder, itl_us);
  }
  if (status != BLIS_OK) {
    blis_summary_deinit(summary, alloc);
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

void blis_summary_deinit(blis_summary *summary, const blis_alloc *alloc) {
  blis_alloc_free(alloc, summary->instances, summary->instance_count * sizeof *summary->instances);
  *summary = (blis_summary){0};
}
