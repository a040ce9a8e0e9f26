#include "results/summary/summary.h"

#include <math.h>

#include "base/invariant.h"
#include "cluster/adapters/adapters.h"
#include "cluster/encode/encode.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/life_cycle.h"
#include "cluster/ranks/ranks.h"
#include "kv/kv_cache.h"
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

/* How many instances do just this, and how many requests each got. */
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

/* Pools have work of different kinds: each is balanced in itself. */
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

static void put_belief(blis_belief *belief, const blis_cluster *cluster) {
  blis_cache_belief *counts = &belief->counts;
  blis_cluster_get_cache_belief(cluster, counts);
  double prompt = counts->prompt_tokens > 0 ? (double)counts->prompt_tokens : 1;
  belief->believed_hit_rate = (double)counts->believed_tokens / prompt;
  belief->true_hit_rate = (double)counts->true_tokens / prompt;
}

static double mean_of(double sum, int64_t count) {
  return count > 0 ? sum / (double)count : 0;
}

/* Of links: a run that is cut short may have transfers after its last step. */
static int64_t window_us(const blis_cluster *cluster, int64_t duration_us) {
  int64_t now_us = blis_cluster_now_us(cluster);
  return now_us > duration_us ? now_us : duration_us;
}

static void put_handoffs(blis_summary *summary, const blis_cluster *cluster) {
  blis_handoff_summary *h = &summary->handoffs;
  const blis_handoff_counts *counts = &h->counts;
  blis_cluster_get_handoffs(cluster, &h->counts);
  h->mean_wait_ms = mean_of(counts->wait_us, counts->waited) / 1000;
  h->mean_transfer_ms = mean_of(counts->transfer_us, counts->transfers) / 1000;
  h->mean_depth = mean_of(counts->depth_sum, counts->moves);
  h->moved_gb = counts->bytes / 1e9;
  blis_encode_counts encodes;
  blis_cluster_get_encodes(cluster, &encodes);
  h->encoded = encodes.encoded;
  h->mean_encode_wait_ms = mean_of(encodes.wait_us, encodes.encoded) / 1000;
  h->mean_encode_ms = mean_of(encodes.busy_us, encodes.encoded) / 1000;
  h->busiest_link = mean_of(counts->busiest_link_us, window_us(cluster, summary->duration_us));
}

void blis_link_summary_fill(blis_link_summary *link, const blis_cluster *cluster, size_t index,
                            int64_t duration_us) {
  link->counts = blis_cluster_link(cluster, index);
  double busy_us = link->counts.busy_us;
  double rate = link->counts.bytes_per_us;
  link->gb_s = isfinite(rate) ? rate / 1000 : 0;
  link->moved_gb = link->counts.bytes / 1e9;
  link->utilization = mean_of(busy_us, window_us(cluster, duration_us));
  link->mean_depth = busy_us > 0 ? link->counts.transfer_us / busy_us : 0;
}

static void put_queue(blis_queue_summary *queue, const blis_cluster *cluster) {
  const blis_gateway_counts *c = &queue->counts;
  const blis_sketch *waits = blis_cluster_gateway_waits(cluster);
  blis_cluster_get_gateway(cluster, &queue->counts);
  queue->status_503 = c->without_instances;
  queue->status_429 = c->rejected + c->shed + c->expired + c->evicted - queue->status_503;
  queue->mean_wait_ms = mean_of(c->wait_us, c->dispatched) / 1000;
  if (waits != NULL) {
    blis_percentiles_of_sketch(&queue->wait_ms, waits);
  }
}

/* Without the latencies of 0 of tokens that came with the one before them,
   which are in the histogram again afterwards. */
static blis_status put_itl_per_chunk(blis_speculation_summary *s, blis_histogram *itl_us) {
  uint64_t zeros = (uint64_t)s->counts.itl_zeros;
  if (zeros > 0) {
    blis_histogram_remove(itl_us, 0, zeros);
  }
  blis_percentiles_of_histogram(&s->itl_per_chunk_ms, itl_us);
  return zeros > 0 ? blis_histogram_add(itl_us, 0, zeros) : BLIS_OK;
}

static blis_status put_speculation(blis_speculation_summary *s, const blis_cluster *cluster,
                                   blis_histogram *itl_us) {
  const blis_draft_stats *c = &s->counts;
  bool speculates = false;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    const blis_instance *instance = blis_cluster_instance(cluster, i);
    blis_draft_stats stats;
    blis_instance_get_drafts(instance, &stats);
    blis_draft_stats_add(&s->counts, &stats);
    speculates |= blis_instance_get_config(instance)->speculation != NULL;
  }
  s->drafts = c->drafts;
  s->draft_tokens = c->draft_tokens;
  s->accepted_tokens = c->accepted_tokens;
  s->acceptance_rate = mean_of((double)c->accepted_tokens, c->draft_tokens);
  s->mean_acceptance_length = 1 + mean_of((double)c->accepted_tokens, c->drafts);
  return speculates ? put_itl_per_chunk(s, itl_us) : BLIS_OK;
}

static double ratio_of(double a, double b) {
  return b > 0 ? a / b : 0;
}

void blis_ranks_summary_fill(blis_ranks_summary *summary, const blis_cluster *cluster) {
  blis_rank_counts c;
  blis_cluster_get_ranks(cluster, &c);
  double lost_us = (double)(c.pass_us - c.own_us);
  *summary = (blis_ranks_summary){.passes = c.passes,
                                  .barrier_loss = mean_of(lost_us, c.pass_us),
                                  .dummy_share = mean_of((double)c.dummy_passes, c.rank_passes),
                                  .running_imbalance = ratio_of(c.most_running, c.running),
                                  .kv_imbalance = ratio_of(c.most_kv_blocks, c.kv_blocks)};
}

static void put_lora(blis_lora_summary *lora, const blis_cluster *cluster) {
  const blis_adapter_stats *c = &lora->counts;
  blis_cluster_get_adapters(cluster, &lora->counts);
  lora->hit_rate = mean_of((double)c->hits, c->requests);
  lora->loads_per_100 = mean_of(100.0 * (double)c->loads, c->requests);
  lora->mean_load_ms = mean_of((double)c->load_us, c->loads) / 1000;
  lora->mean_wait_ms = mean_of((double)c->wait_us, c->requests) / 1000;
}

void blis_adapter_summary_fill(blis_adapter_summary *summary, const blis_cluster *cluster,
                               uint32_t adapter) {
  const blis_cluster_adapter a = blis_cluster_adapter_at(cluster, adapter);
  *summary = (blis_adapter_summary){
      .name = a.name, .loads = a.loads, .evictions = a.evictions, .instances = a.instances};
}

void blis_queue_band_fill(blis_queue_band *band, const blis_cluster *cluster, size_t index) {
  band->counts = blis_cluster_gateway_band(cluster, index);
  blis_percentiles_of_sketch(&band->wait_ms, blis_cluster_gateway_band_waits(cluster, index));
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
  put_belief(&summary->cache_belief, cluster);
  put_handoffs(summary, cluster);
  put_queue(&summary->queue, cluster);
  put_lora(&summary->lora, cluster);
  blis_status status = put_speculation(&summary->speculation, cluster, itl_us);
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
