#include "results/summary/feature_figures.h"

#include <math.h>

#include "base/invariant.h"
#include "cluster/adapters/adapters.h"
#include "cluster/encode/encode.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/ranks/ranks.h"
#include "cluster/regions/regions.h"
#include "cluster/watch/cache_belief.h"

static void put_belief(blis_summary *summary, const blis_cluster *cluster) {
  blis_belief *belief = &summary->cache_belief;
  blis_cache_belief *counts = &belief->counts;
  blis_cluster_get_cache_belief(cluster, counts);
  double prompt = counts->prompt_tokens > 0 ? (double)counts->prompt_tokens : 1;
  belief->predicted_hit_rate = (double)counts->predicted_tokens / prompt;
  belief->true_hit_rate = (double)counts->true_tokens / prompt;
}

static double mean_of(double sum, int64_t count) {
  return count > 0 ? sum / (double)count : 0;
}

/* Returns the duration for links: a run that ends early can have transfers after its last step. */
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
  BLIS_ASSERT(index < blis_cluster_link_count(cluster));
  link->counts = blis_cluster_link(cluster, index);
  double busy_us = link->counts.busy_us;
  double rate = link->counts.bytes_per_us;
  link->gb_s = isfinite(rate) ? rate / 1000 : 0;
  link->moved_gb = link->counts.bytes / 1e9;
  link->utilization = mean_of(busy_us, window_us(cluster, duration_us));
  link->mean_depth = busy_us > 0 ? link->counts.transfer_us / busy_us : 0;
}

static void put_queue(blis_summary *summary, const blis_cluster *cluster) {
  blis_queue_summary *queue = &summary->queue;
  const blis_gateway_counts *c = &queue->counts;
  const blis_sketch *waits = blis_cluster_gateway_waits(cluster);
  blis_cluster_get_gateway(cluster, &queue->counts);
  queue->status_503 = c->without_instances;
  queue->status_429 = c->rejected + c->shed + c->expired + c->evicted - queue->status_503;
  BLIS_ASSERT(queue->status_429 >= 0 && queue->status_503 >= 0);
  queue->mean_wait_ms = mean_of(c->wait_us, c->dispatched) / 1000;
  if (waits != NULL) {
    blis_percentiles_of_sketch(&queue->wait_ms, waits);
  }
}

/* Sets the latencies per chunk: excludes the latencies of 0 of tokens that arrived together with
   the previous token. The histogram is restored afterwards. */
static blis_status put_itl_per_chunk(blis_speculation_summary *s, blis_histogram *itl_us) {
  uint64_t zeros = (uint64_t)s->counts.itl_zeros;
  BLIS_ASSERT(s->counts.itl_zeros >= 0);
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
  BLIS_ASSERT(c->accepted_tokens <= c->draft_tokens);
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
  BLIS_ASSERT(c.own_us <= c.pass_us && c.dummy_passes <= c.rank_passes);
  double lost_us = (double)(c.pass_us - c.own_us);
  *summary = (blis_ranks_summary){.passes = c.passes,
                                  .barrier_loss = mean_of(lost_us, c.pass_us),
                                  .dummy_share = mean_of((double)c.dummy_passes, c.rank_passes),
                                  .running_imbalance = ratio_of(c.most_running, c.running),
                                  .kv_imbalance = ratio_of(c.most_kv_blocks, c.kv_blocks)};
}

static void put_lora(blis_summary *summary, const blis_cluster *cluster) {
  blis_lora_summary *lora = &summary->lora;
  const blis_adapter_stats *c = &lora->counts;
  blis_cluster_get_adapters(cluster, &lora->counts);
  lora->hit_rate = mean_of((double)c->hits, c->requests);
  lora->loads_per_100 = mean_of(100.0 * (double)c->loads, c->requests);
  lora->mean_load_ms = mean_of((double)c->load_us, c->loads) / 1000;
  lora->mean_wait_ms = mean_of((double)c->wait_us, c->requests) / 1000;
}

void blis_adapter_summary_fill(blis_adapter_summary *summary, const blis_cluster *cluster,
                               uint32_t adapter) {
  BLIS_ASSERT(adapter >= 1 && adapter <= blis_cluster_adapter_count(cluster));
  const blis_cluster_adapter a = blis_cluster_adapter_at(cluster, adapter);
  *summary = (blis_adapter_summary){
      .name = a.name, .loads = a.loads, .evictions = a.evictions, .instances = a.instances};
}

static double egress_gb(const blis_region_counts *counts) {
  return (double)counts->egress_bytes / 1e9;
}

void blis_region_summary_fill(blis_region_summary *summary, const blis_cluster *cluster,
                              uint32_t region) {
  BLIS_ASSERT(region < blis_cluster_region_count(cluster));
  const blis_region_counts c = blis_cluster_region_counts(cluster, region);
  *summary = (blis_region_summary){.sent = c.sent,
                                   .entered = c.entered,
                                   .served = c.served,
                                   .forwarded = c.forwarded,
                                   .egress_gb = egress_gb(&c),
                                   .egress_usd = egress_gb(&c) *
                                                 blis_cluster_region_egress_price(cluster, region)};
  blis_percentiles_of_sketch(&summary->client_ttft_ms,
                             blis_cluster_region_client_ttft(cluster, region));
  blis_percentiles_of_sketch(&summary->client_e2e_ms,
                             blis_cluster_region_client_e2e(cluster, region));
}

void blis_regions_summary_fill(blis_regions_summary *summary, const blis_cluster *cluster) {
  uint32_t count = blis_cluster_region_count(cluster);
  *summary = (blis_regions_summary){.forwarded = 0};
  for (uint32_t r = 0; r < count; r++) {
    const blis_region_counts c = blis_cluster_region_counts(cluster, r);
    summary->forwarded += c.forwarded;
    summary->egress_gb += egress_gb(&c);
    summary->egress_usd += egress_gb(&c) * blis_cluster_region_egress_price(cluster, r);
  }
  blis_percentiles_of_sketch(&summary->client_ttft_ms,
                             blis_cluster_region_client_ttft(cluster, count));
  blis_percentiles_of_sketch(&summary->client_e2e_ms,
                             blis_cluster_region_client_e2e(cluster, count));
}

void blis_queue_band_fill(blis_queue_band *band, const blis_cluster *cluster, size_t index) {
  BLIS_ASSERT(index < blis_cluster_gateway_band_count(cluster));
  band->counts = blis_cluster_gateway_band(cluster, index);
  blis_percentiles_of_sketch(&band->wait_ms, blis_cluster_gateway_band_waits(cluster, index));
}

blis_status blis__summary_add_features(blis_summary *summary, const blis_cluster *cluster,
                                       blis_histogram *itl_us) {
  BLIS_ASSERT(summary->instance_count == blis_cluster_instance_count(cluster));
  static void (*const put[])(blis_summary * summary, const blis_cluster *cluster) = {
      put_belief, put_handoffs, put_queue, put_lora};
  for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
    put[i](summary, cluster);
  }
  return put_speculation(&summary->speculation, cluster, itl_us);
}
