#include "cluster/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

#define BIT(name) BLIS_SIGNAL_BIT(BLIS_SIGNAL_##name)

#define ENGINE_SIGNALS                                                         \
  (BIT(QUEUE_DEPTH) | BIT(BATCH_SIZE) | BIT(KV_UTILIZATION) |                  \
   BIT(FREE_KV_BLOCKS) | BIT(PREEMPTIONS) | BIT(CACHE_HIT_RATE))
#define REQUEST_SIGNALS (BIT(CACHED_TOKENS) | BIT(PREFIX_HIT))

enum { ENGINE_CHANGED = 1, COUNTERS_CHANGED = 2 };

static double *column(const blis__snapshot *snapshot, blis_signal signal) {
  return snapshot->values + (size_t)signal * snapshot->count;
}

#define COLUMN(snapshot, name) column(snapshot, BLIS_SIGNAL_##name)

/* Instances. */

typedef struct engine_signals {
  double queue_depth;
  double batch_size;
  double kv_utilization;
  double free_kv_blocks;
  double preemptions;
  double cache_hit_rate;
} engine_signals;

static engine_signals read_engine(const blis_instance *instance) {
  blis_instance_stats stats;
  blis_instance_get_stats(instance, &stats);
  int64_t looked_up = stats.cache_hits + stats.cache_misses;
  return (engine_signals){
      .queue_depth = (double)stats.queue_depth,
      .batch_size = (double)stats.batch_size,
      .kv_utilization = (double)stats.used_kv_blocks / (double)stats.kv_blocks,
      .free_kv_blocks = (double)(stats.kv_blocks - stats.used_kv_blocks),
      .preemptions = (double)stats.preemptions,
      .cache_hit_rate =
          looked_up > 0 ? (double)stats.cache_hits / (double)looked_up : 0,
  };
}

static void write_engine(blis__snapshot *snapshot, uint32_t i) {
  engine_signals s = read_engine(snapshot->instances[i]);
  COLUMN(snapshot, QUEUE_DEPTH)[i] = s.queue_depth;
  COLUMN(snapshot, BATCH_SIZE)[i] = s.batch_size;
  COLUMN(snapshot, KV_UTILIZATION)[i] = s.kv_utilization;
  COLUMN(snapshot, FREE_KV_BLOCKS)[i] = s.free_kv_blocks;
  COLUMN(snapshot, PREEMPTIONS)[i] = s.preemptions;
  COLUMN(snapshot, CACHE_HIT_RATE)[i] = s.cache_hit_rate;
}

static double load_of(const blis__snapshot *snapshot, uint32_t i,
                      double queue_depth, double batch_size) {
  double routed = snapshot->load_counts_in_flight
                      ? COLUMN(snapshot, IN_FLIGHT)[i]
                      : COLUMN(snapshot, PENDING)[i];
  return queue_depth + batch_size + routed;
}

static void write_load(blis__snapshot *snapshot, uint32_t i) {
  COLUMN(snapshot, EFFECTIVE_LOAD)
  [i] = load_of(snapshot, i, COLUMN(snapshot, QUEUE_DEPTH)[i],
                COLUMN(snapshot, BATCH_SIZE)[i]);
}

static void mark(blis__snapshot *snapshot, uint32_t i, uint8_t change) {
  if (snapshot->changes[i] == 0) {
    snapshot->changed.items[snapshot->changed.count++] = i;
  }
  snapshot->changes[i] |= change;
}

void blis__snapshot_instance_changed(blis__snapshot *snapshot, uint32_t i) {
  mark(snapshot, i, ENGINE_CHANGED);
}

void blis__snapshot_add_pending(blis__snapshot *snapshot, uint32_t i,
                                int change) {
  COLUMN(snapshot, PENDING)[i] += change;
  mark(snapshot, i, COUNTERS_CHANGED);
}

void blis__snapshot_add_in_flight(blis__snapshot *snapshot, uint32_t i,
                                  int change) {
  COLUMN(snapshot, IN_FLIGHT)[i] += change;
  COLUMN(snapshot, REQUESTS)[i] += change;
  mark(snapshot, i, COUNTERS_CHANGED);
}

void blis__snapshot_add_prefill(blis__snapshot *snapshot, uint32_t i,
                                int64_t tokens) {
  COLUMN(snapshot, PENDING_PREFILL_TOKENS)[i] += (double)tokens;
}

/* Construction. */

static void write_constants(blis__snapshot *snapshot) {
  for (uint32_t i = 0; i < snapshot->count; i++) {
    const blis_instance_config *config =
        blis_instance_get_config(snapshot->instances[i]);
    COLUMN(snapshot, KV_BLOCKS)[i] = (double)config->kv_blocks;
    COLUMN(snapshot, MAX_NUM_SEQS)[i] = (double)config->max_num_seqs;
    COLUMN(snapshot, CAPACITY)[i] = 1;
    snapshot->numbers[i] = i;
    if (snapshot->refresh_us == 0) {
      mark(snapshot, i, ENGINE_CHANGED);
    }
  }
}

typedef struct ranked_id {
  const char *id;
  uint32_t number;
} ranked_id;

static int compare_ids(const void *a, const void *b) {
  const ranked_id *left = a;
  const ranked_id *right = b;
  return strcmp(left->id, right->id);
}

static blis_status rank_ids(blis__snapshot *snapshot, const char *const *ids) {
  uint32_t count = snapshot->count;
  ranked_id *ranked = blis_alloc_new(&snapshot->alloc, count * sizeof *ranked);
  if (ranked == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < count; i++) {
    ranked[i] = (ranked_id){ids[i], i};
  }
  qsort(ranked, count, sizeof *ranked, compare_ids);
  for (uint32_t rank = 0; rank < count; rank++) {
    snapshot->id_ranks[ranked[rank].number] = rank;
  }
  blis_alloc_free(&snapshot->alloc, ranked, count * sizeof *ranked);
  return BLIS_OK;
}

static blis_status allocate(blis__snapshot *snapshot) {
  const blis_alloc *alloc = &snapshot->alloc;
  uint32_t count = snapshot->count;
  snapshot->values = blis_alloc_zeroed(
      alloc, count, BLIS_SIGNAL_COUNT * sizeof *snapshot->values);
  snapshot->refreshed_us =
      blis_alloc_zeroed(alloc, count, sizeof *snapshot->refreshed_us);
  snapshot->changes =
      blis_alloc_zeroed(alloc, count, sizeof *snapshot->changes);
  snapshot->numbers =
      blis_alloc_zeroed(alloc, count, sizeof *snapshot->numbers);
  snapshot->id_ranks =
      blis_alloc_zeroed(alloc, count, sizeof *snapshot->id_ranks);
  if (snapshot->values == NULL || snapshot->refreshed_us == NULL ||
      snapshot->changes == NULL || snapshot->numbers == NULL ||
      snapshot->id_ranks == NULL) {
    return BLIS_ERR_NOMEM;
  }
  return blis_array_reserve(alloc, &snapshot->changed, count);
}

static const double *column_on_demand(void *column_ud, blis_signal signal);

blis_status blis__snapshot_init(blis__snapshot *snapshot,
                                const blis_alloc *alloc,
                                const blis__snapshot_config *config) {
  *snapshot =
      (blis__snapshot){.alloc = *alloc,
                       .count = config->count,
                       .instances = config->instances,
                       .refresh_us = config->refresh_us,
                       .load_counts_in_flight = config->load_counts_in_flight};
  blis_status status = allocate(snapshot);
  if (status == BLIS_OK) {
    status = rank_ids(snapshot, config->ids);
  }
  if (status != BLIS_OK) {
    blis__snapshot_deinit(snapshot);
    return status;
  }
  write_constants(snapshot);
  snapshot->view = (blis_routing_view){.count = config->count,
                                       .instances = snapshot->numbers,
                                       .ids = config->ids,
                                       .id_ranks = snapshot->id_ranks,
                                       .column = column_on_demand,
                                       .column_ud = snapshot};
  return BLIS_OK;
}

void blis__snapshot_deinit(blis__snapshot *snapshot) {
  const blis_alloc *alloc = &snapshot->alloc;
  size_t count = snapshot->count;
  blis_alloc_free(alloc, snapshot->values,
                  count * BLIS_SIGNAL_COUNT * sizeof *snapshot->values);
  blis_alloc_free(alloc, snapshot->refreshed_us,
                  count * sizeof *snapshot->refreshed_us);
  blis_alloc_free(alloc, snapshot->changes, count * sizeof *snapshot->changes);
  blis_alloc_free(alloc, snapshot->numbers, count * sizeof *snapshot->numbers);
  blis_alloc_free(alloc, snapshot->id_ranks,
                  count * sizeof *snapshot->id_ranks);
  blis_array_deinit(alloc, &snapshot->changed);
  *snapshot = (blis__snapshot){0};
}

/* Showing. */

static bool keeps_engine(const blis__snapshot *snapshot) {
  return (snapshot->kept & (ENGINE_SIGNALS | BIT(EFFECTIVE_LOAD))) != 0;
}

void blis__snapshot_need(blis__snapshot *snapshot, blis_signal_set signals) {
  bool kept_engine = keeps_engine(snapshot);
  snapshot->kept |= signals;
  if (keeps_engine(snapshot) && !kept_engine) {
    for (uint32_t i = 0; i < snapshot->count; i++) {
      mark(snapshot, i,
           snapshot->refresh_us == 0 ? ENGINE_CHANGED : COUNTERS_CHANGED);
    }
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((snapshot->kept & BLIS_SIGNAL_BIT(s)) != 0) {
      snapshot->view.columns[s] = column(snapshot, (blis_signal)s);
    }
  }
}

/* Brings the columns up to date where something has changed. */
static void update_changed(blis__snapshot *snapshot) {
  if (!keeps_engine(snapshot)) {
    return;
  }
  for (size_t k = 0; k < snapshot->changed.count; k++) {
    uint32_t i = snapshot->changed.items[k];
    if (snapshot->refresh_us == 0 &&
        (snapshot->changes[i] & ENGINE_CHANGED) != 0) {
      write_engine(snapshot, i);
    }
    write_load(snapshot, i);
    snapshot->changes[i] = 0;
  }
  snapshot->changed.count = 0;
}

/*
 * Stale signals are read whether somebody keeps them or not: a policy that
 * starts to look later must find what was seen at the last refresh.
 */
void blis__snapshot_refresh(blis__snapshot *snapshot, int64_t now_us) {
  if (snapshot->refresh_us == 0) {
    return;
  }
  for (uint32_t i = 0; i < snapshot->count; i++) {
    if (now_us - snapshot->refreshed_us[i] >= snapshot->refresh_us) {
      snapshot->refreshed_us[i] = now_us;
      write_engine(snapshot, i);
      mark(snapshot, i, COUNTERS_CHANGED);
    }
  }
}

static bool write_request_signals(blis__snapshot *snapshot) {
  const blis_routing_request *request = snapshot->request;
  for (uint32_t i = 0; i < snapshot->count; i++) {
    const blis_instance *instance = snapshot->instances[i];
    int64_t block_size = blis_instance_get_config(instance)->block_size_tokens;
    const blis_block_chain *chain =
        request->chain(request->chain_ud, (uint32_t)block_size);
    if (chain == NULL) {
      return false;
    }
    uint32_t cached = blis_instance_cached_blocks(instance, chain);
    COLUMN(snapshot, CACHED_TOKENS)[i] = (double)cached * (double)block_size;
    COLUMN(snapshot, PREFIX_HIT)
    [i] = chain->prompt_blocks > 0
              ? (double)cached / (double)chain->prompt_blocks
              : 0;
  }
  return true;
}

const blis_routing_view *
blis__snapshot_show(blis__snapshot *snapshot,
                    const blis_routing_request *request, int64_t now_us) {
  snapshot->request = request;
  snapshot->view.now_us = now_us;
  blis__snapshot_refresh(snapshot, now_us);
  update_changed(snapshot);
  if ((snapshot->kept & REQUEST_SIGNALS) != 0 &&
      !write_request_signals(snapshot)) {
    return NULL;
  }
  return &snapshot->view;
}

static const double *column_on_demand(void *column_ud, blis_signal signal) {
  blis__snapshot *snapshot = column_ud;
  blis_signal_set bit = BLIS_SIGNAL_BIT(signal);
  if ((snapshot->kept & bit) == 0) {
    bool kept_request_signals = (snapshot->kept & REQUEST_SIGNALS) != 0;
    if ((bit & BLIS_SIGNALS_WITH_HISTORY) != 0) {
      return NULL;
    }
    blis__snapshot_need(snapshot, bit);
    update_changed(snapshot);
    if ((bit & REQUEST_SIGNALS) != 0 && !kept_request_signals &&
        !write_request_signals(snapshot)) {
      return NULL;
    }
  }
  return column(snapshot, signal);
}

double blis__snapshot_live(const blis__snapshot *snapshot, uint32_t i,
                           blis_signal signal) {
  engine_signals s = read_engine(snapshot->instances[i]);
  switch (signal) {
  case BLIS_SIGNAL_QUEUE_DEPTH:
    return s.queue_depth;
  case BLIS_SIGNAL_BATCH_SIZE:
    return s.batch_size;
  case BLIS_SIGNAL_EFFECTIVE_LOAD:
    return load_of(snapshot, i, s.queue_depth, s.batch_size);
  case BLIS_SIGNAL_KV_UTILIZATION:
    return s.kv_utilization;
  case BLIS_SIGNAL_FREE_KV_BLOCKS:
    return s.free_kv_blocks;
  case BLIS_SIGNAL_PREEMPTIONS:
    return s.preemptions;
  case BLIS_SIGNAL_CACHE_HIT_RATE:
    return s.cache_hit_rate;
  default: /* counters and constants */
    return column(snapshot, signal)[i];
  }
}
