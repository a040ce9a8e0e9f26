#include "results/log/series.h"

#include <inttypes.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/adapters/adapters.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/tiers/kv_tiers.h"

const char *blis_series_count_name(blis_series_count count) {
  static const char *const names[] = {
#define XX(constant, name) name,
      BLIS_SERIES_COUNT_MAP(XX)
#undef XX
  };
  return names[count];
}

/* Adds up the counts of the instances. */
static void count_instances(const blis_cluster *cluster, int64_t *counts) {
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(cluster, i), &stats);
    counts[BLIS_SERIES_PROMPT_TOKENS] += stats.prompt_tokens;
    counts[BLIS_SERIES_OUTPUT_TOKENS] += stats.output_tokens;
    counts[BLIS_SERIES_PREEMPTIONS] += stats.preemptions;
  }
}

static blis_status add_counts(blis_series *series, const blis_cluster *cluster) {
  blis_cluster_counts c;
  blis_cluster_get_counts(cluster, &c);
  int64_t counts[BLIS_SERIES_COUNT_COUNT] = {
      [BLIS_SERIES_ARRIVED] = c.arrived,
      [BLIS_SERIES_COMPLETED] = c.completed,
      [BLIS_SERIES_REJECTED] = c.rejected,
      [BLIS_SERIES_TIMED_OUT] = c.timed_out,
  };
  count_instances(cluster, counts);
  for (int i = 0; i < BLIS_SERIES_COUNT_COUNT; i++) {
    BLIS_TRY(blis_array_push(&series->alloc, &series->counts, counts[i]));
  }
  return BLIS_OK;
}

static blis_status add_instances(blis_series *series, const blis_cluster *cluster) {
  series->instance_count = blis_cluster_instance_count(cluster);
  for (uint32_t i = 0; i < series->instance_count; i++) {
    const blis_series_instance seen = {
        .queue_depth = (uint32_t)blis_cluster_signal(cluster, i, BLIS_SIGNAL_QUEUE_DEPTH),
        .batch_size = (uint32_t)blis_cluster_signal(cluster, i, BLIS_SIGNAL_BATCH_SIZE),
        .kv_utilization = blis_cluster_signal(cluster, i, BLIS_SIGNAL_KV_UTILIZATION),
    };
    BLIS_TRY(blis_array_push(&series->alloc, &series->instances, seen));
  }
  return blis_array_push(&series->alloc, &series->row_ends, series->instances.count);
}

/* Adds the state of the gateway queue; adds nothing without a queue. */
static blis_status add_queue(blis_series *series, blis_cluster *cluster) {
  double saturation = 0;
  if (!blis_cluster_gateway_saturation(cluster, &saturation)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_push(&series->alloc, &series->saturations, saturation));
  for (size_t i = 0; i < blis_cluster_gateway_band_count(cluster); i++) {
    blis_gateway_band_counts its = blis_cluster_gateway_band(cluster, i);
    const blis_series_band seen = {its.priority, its.waiting};
    BLIS_TRY(blis_array_push(&series->alloc, &series->bands, seen));
  }
  return blis_array_push(&series->alloc, &series->band_ends, series->bands.count);
}

static blis_status add_handoffs(blis_series *series, const blis_cluster *cluster) {
  if (!blis_cluster_has_pools(cluster)) {
    return BLIS_OK;
  }
  blis_handoff_counts counts;
  blis_cluster_get_handoffs(cluster, &counts);
  blis_series_handoffs seen = {
      .moving = counts.moving, .waiting = counts.waiting, .moved_bytes = counts.bytes};
  series->link_count = blis_cluster_link_count(cluster);
  for (size_t i = 0; i < series->link_count; i++) {
    const blis_link_counts link = blis_cluster_link(cluster, i);
    const blis_series_link so_far = {link.busy_us, link.transfer_us};
    seen.on_one_link = blis_max_i64(seen.on_one_link, link.active);
    BLIS_TRY(blis_array_push(&series->alloc, &series->links, so_far));
  }
  return blis_array_push(&series->alloc, &series->handoffs, seen);
}

static blis_status add_tiers(blis_series *series, const blis_cluster *cluster) {
  series->tier_count = blis_cluster_kv_tier_count(cluster);
  for (size_t t = 0; t < series->tier_count; t++) {
    const blis_kv_tier_counts counts = blis_cluster_kv_tier(cluster, t);
    const blis_series_tier seen = {counts.name, counts.used_blocks, counts.loaded_blocks,
                                   counts.saved_blocks};
    BLIS_TRY(blis_array_push(&series->alloc, &series->tiers, seen));
  }
  return BLIS_OK;
}

static blis_status add_adapters(blis_series *series, const blis_cluster *cluster) {
  if (blis_cluster_adapter_count(cluster) == 0) {
    return BLIS_OK;
  }
  blis_adapter_stats stats;
  blis_cluster_get_adapters(cluster, &stats);
  const blis_series_adapters seen = {
      .loaded = stats.loaded,
      .loading = stats.loading,
      .running = stats.running,
      .waiting = stats.waiting,
      .free_slots = stats.slots - stats.loaded - stats.loading,
      .loads = stats.loads,
  };
  return blis_array_push(&series->alloc, &series->adapters, seen);
}

static blis_status take_row(void *ud, blis_cluster *cluster, blis_error *error) {
  blis_series *series = ud;
  if (series->rows == BLIS_SERIES_ROWS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "series_interval_us is %" PRId64 ": there are %d rows by "
                     "%" PRId64 " us already, the maximum",
                     series->interval_us, BLIS_SERIES_ROWS_MAX, blis_cluster_now_us(cluster));
  }
  BLIS_TRY_MEM(add_counts(series, cluster), error);
  BLIS_TRY_MEM(add_instances(series, cluster), error);
  BLIS_TRY_MEM(add_queue(series, cluster), error);
  BLIS_TRY_MEM(add_handoffs(series, cluster), error);
  BLIS_TRY_MEM(add_tiers(series, cluster), error);
  BLIS_TRY_MEM(add_adapters(series, cluster), error);
  series->rows++;
  BLIS_ASSERT(series->counts.count == series->rows * BLIS_SERIES_COUNT_COUNT);
  BLIS_ASSERT(series->row_ends.count == series->rows);
  BLIS_ASSERT(series->rows < 2 ||
              blis_series_at(series, series->rows - 2, BLIS_SERIES_ARRIVED) <=
                  blis_series_at(series, series->rows - 1, BLIS_SERIES_ARRIVED));
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  int64_t next_us = blis_time_after_us(blis_cluster_now_us(cluster), series->interval_us);
  return blis_cluster_call_at(cluster, next_us, take_row, series, error);
}

blis_status blis_series_init(blis_series *series, const blis_alloc *alloc, blis_cluster *cluster,
                             int64_t interval_us, blis_error *error) {
  *series = (blis_series){.alloc = *alloc,
                          .interval_us = interval_us,
                          .instance_count = blis_cluster_instance_count(cluster)};
  return blis_cluster_call_at(cluster, 0, take_row, series, error);
}

void blis_series_deinit(blis_series *series) {
  if (series->alloc.fn != NULL) {
    blis_array_deinit(&series->alloc, &series->counts);
    blis_array_deinit(&series->alloc, &series->instances);
    blis_array_deinit(&series->alloc, &series->row_ends);
    blis_array_deinit(&series->alloc, &series->saturations);
    blis_array_deinit(&series->alloc, &series->bands);
    blis_array_deinit(&series->alloc, &series->band_ends);
    blis_array_deinit(&series->alloc, &series->handoffs);
    blis_array_deinit(&series->alloc, &series->links);
    blis_array_deinit(&series->alloc, &series->tiers);
    blis_array_deinit(&series->alloc, &series->adapters);
  }
  *series = (blis_series){0};
}

blis_series_link_use blis_series_link_at(const blis_series *series, size_t row, size_t link) {
  if (row == 0) {
    return (blis_series_link_use){0};
  }
  const blis_series_link *now = &series->links.items[row * series->link_count + link];
  const blis_series_link *before = now - series->link_count;
  double busy_us = now->busy_us - before->busy_us;
  double transfer_us = now->transfer_us - before->transfer_us;
  return (blis_series_link_use){.utilization = busy_us / (double)series->interval_us,
                                .mean_depth = busy_us > 0 ? transfer_us / busy_us : 0};
}

int64_t blis_series_at(const blis_series *series, size_t row, blis_series_count count) {
  return series->counts.items[row * BLIS_SERIES_COUNT_COUNT + count];
}

const blis_series_instance *blis_series_instance_at(const blis_series *series, size_t row,
                                                    uint32_t instance) {
  static const blis_series_instance absent = {0};
  size_t start = row == 0 ? 0 : series->row_ends.items[row - 1];
  size_t end = series->row_ends.items[row];
  return instance < end - start ? &series->instances.items[start + instance] : &absent;
}

int64_t blis_series_waiting(const blis_series *series, size_t row, int64_t priority) {
  size_t start = row == 0 ? 0 : series->band_ends.items[row - 1];
  for (size_t i = start; i < series->band_ends.items[row]; i++) {
    if (series->bands.items[i].priority == priority) {
      return series->bands.items[i].waiting;
    }
  }
  return 0;
}
