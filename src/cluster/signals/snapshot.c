#include "cluster/signals/snapshot.h"

#include <math.h>

#include "base/inline.h"
#include "base/invariant.h"
#include "base/time.h"

#define BIT(name) BLIS_SIGNAL_BIT(BLIS_SIGNAL_##name)

/* Sets of signals by their groups, see policy/contract/signals.h. */
#define IN_HISTORY(constant, group, ...) BLIS_SIGNAL_IF(BLIS__IN_HISTORY, constant, group)
#define HISTORY_SIGNALS ((blis_signal_set)0 BLIS_SIGNAL_MAP(IN_HISTORY))
#define IN_TIME(constant, group, ...) BLIS_SIGNAL_IF(BLIS__IN_TIME, constant, group)
#define TIME_SIGNALS ((blis_signal_set)0 BLIS_SIGNAL_MAP(IN_TIME))
#define IN_ENGINE(constant, group, ...)                                                            \
  BLIS_SIGNAL_IF(BLIS__IN_ENGINE | BLIS__IN_HISTORY | BLIS__IN_TIME, constant, group)
#define ENGINE_SIGNALS (BLIS_SIGNALS_OF_PARTS BLIS_SIGNAL_MAP(IN_ENGINE))
#define IN_CACHE(constant, group, ...)                                                             \
  BLIS_SIGNAL_IF(BLIS__IN_CACHE | BLIS__IN_ESTIMATE, constant, group)
#define CACHE_SIGNALS ((blis_signal_set)0 BLIS_SIGNAL_MAP(IN_CACHE))

enum { ENGINE_CHANGED = 1, COUNTERS_CHANGED = 2 };

#define COLUMN(snapshot, name) blis__snapshot_column(snapshot, BLIS_SIGNAL_##name)

/* Instances. */

static inline double share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : 0;
}

/* XX(signal, expression for its value from the load l of an instance) */
#define LOAD_READINGS(XX)                                                                          \
  XX(QUEUE_DEPTH, (double)l->queue_depth)                                                          \
  XX(BATCH_SIZE, (double)l->batch_size)                                                            \
  XX(KV_UTILIZATION, share(l->used_kv_blocks, l->kv_blocks))                                       \
  XX(FREE_KV_BLOCKS, (double)(l->kv_blocks - l->used_kv_blocks))

/* Readings from the statistics s of an instance, which are more expensive. */
#define STATS_READINGS(XX)                                                                         \
  XX(DECODED_TOKENS, (double)s->decoded_tokens)                                                    \
  XX(OUTPUT_TOKENS, (double)(s->decoded_tokens + s->output_tokens))                                \
  XX(PREEMPTIONS, (double)s->preemptions)                                                          \
  XX(CACHE_HIT_RATE, share(s->cache_hits, s->cache_hits + s->cache_misses))                        \
  XX(TOKENS_PER_SEC, tokens_per_sec(instance, l))

#define BIT_OF(name, value) | BIT(name)
#define STATS_SIGNALS ((blis_signal_set)0 STATS_READINGS(BIT_OF))

/* Returns the sums of the running batch, treating all its requests as decodes. */
static blis_batch_sums sums_of(const blis_instance_config *config, const blis_instance_load *load) {
  return (blis_batch_sums){
      .requests = load->batch_size,
      .decode_requests = load->batch_size,
      .decode_context_tokens =
          load->batch_size > 0 ? load->used_kv_blocks * config->block_size_tokens : 0};
}

static double tokens_per_sec(const blis_instance *instance, const blis_instance_load *load) {
  const blis_instance_config *config = blis_instance_get_config(instance);
  const blis_batch_sums sums = sums_of(config, load);
  int64_t step_us = 0;
  bool is_told = load->batch_size > 0 &&
                 blis_latency_step_time_from_sums(config->latency, &sums, &step_us) && step_us > 0;
  return is_told ? (double)load->batch_size / (double)step_us * 1e6 : 0;
}

double blis__snapshot_prefill_us(const blis__snapshot *snapshot, uint32_t i, double tokens) {
  const blis_instance *instance = snapshot->instances[i];
  const blis_instance_config *config = blis_instance_get_config(instance);
  blis_instance_load load = blis_instance_get_load(instance);
  double budget = (double)config->max_batched_tokens;
  int64_t chunk = (int64_t)(tokens < budget ? tokens : budget);
  blis_batch_sums sums = sums_of(config, &load);
  const blis_batch_item item = {.new_tokens = chunk, .prompt_tokens = chunk, .output_tokens = 1};
  int64_t step_us = 0;
  blis_batch_sums_add(&sums, &item);
  bool is_told = chunk > 0 && blis_latency_step_time_from_sums(config->latency, &sums, &step_us);
  return is_told ? (double)step_us * (tokens / (double)chunk) : 0;
}

/*
 * Returns half of the duration of the running step plus that of the step whose batch is already
 * formed.
 */
static double look_ahead_us(const blis_instance *instance) {
  const blis_instance_config *config = blis_instance_get_config(instance);
  blis_instance_load load = blis_instance_get_load(instance);
  const blis_batch_sums sums = sums_of(config, &load);
  int64_t step_us = 0;
  bool is_told = config->rules.looks_ahead && load.batch_size > 0 &&
                 blis_latency_step_time_from_sums(config->latency, &sums, &step_us);
  return is_told ? 1.5 * (double)step_us : 0;
}

double blis__snapshot_entry_us(const blis__snapshot *snapshot, uint32_t i, int64_t prompt_tokens) {
  const blis_instance *instance = snapshot->instances[i];
  const blis_front_end_config *front_end = blis_instance_get_config(instance)->front_end;
  double front_end_us = 0;
  if (front_end != NULL) {
    front_end_us = front_end->request_us + front_end->token_us * (double)prompt_tokens +
                   (double)front_end->delay_us;
  }
  return front_end_us + look_ahead_us(instance);
}

static double history_value(const blis__snapshot *snapshot, uint32_t i, blis_signal signal) {
  const blis__instance_history *history = &snapshot->history[i];
  switch (signal) {
  case BLIS_SIGNAL_REQUESTS_SERVED:
    return (double)history->served;
  case BLIS_SIGNAL_RECENT_TTFT_US:
    return history->recent_ttft_us;
  case BLIS_SIGNAL_RECENT_TPOT_US:
    return history->recent_tpot_us;
  default:
    return blis__snapshot_prefill_us(snapshot, i, COLUMN(snapshot, PENDING_PREFILL_TOKENS)[i]);
  }
}

static double time_value(const blis__snapshot *snapshot, uint32_t i, blis_signal signal,
                         int64_t now_us) {
  double utilization = blis__history_utilization(&snapshot->history[i], now_us);
  double idle_watts = snapshot->idle_watts[i];
  double watts = COLUMN(snapshot, WATTS)[i];
  return signal == BLIS_SIGNAL_UTILIZATION ? utilization
                                           : idle_watts + (watts - idle_watts) * utilization;
}

/* Returns the value of one of these signals. */
static double engine_value(const blis__snapshot *snapshot, uint32_t i, blis_signal signal) {
  const blis_instance *instance = snapshot->instances[i];
  if ((BLIS_SIGNAL_BIT(signal) & (HISTORY_SIGNALS | TIME_SIGNALS)) != 0) {
    if (snapshot->history == NULL) {
      return 0;
    }
    return (BLIS_SIGNAL_BIT(signal) & TIME_SIGNALS) != 0
               ? time_value(snapshot, i, signal, snapshot->seen_us)
               : history_value(snapshot, i, signal);
  }
  if ((BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_PARTS) != 0) {
    const blis__signal_source *source = snapshot->sources[signal];
    return source == NULL || source->value == NULL ? 0 : source->value(source->ud, i, signal);
  }
  blis_instance_load load = blis_instance_get_load(instance);
  blis_instance_stats stats;
  blis_instance_get_stats(instance, &stats);
  const blis_instance_load *l = &load;
  const blis_instance_stats *s = &stats;
  switch (signal) {
#define XX(name, value)                                                                            \
  case BLIS_SIGNAL_##name:                                                                         \
    return value;
    LOAD_READINGS(XX)
    STATS_READINGS(XX)
#undef XX
  default:
    BLIS_ASSERT(false);
    return 0;
  }
}

/* Writes a value to a column. All changes of columns go through this function. */
static inline void put(blis__snapshot *snapshot, blis_signal signal, uint32_t i, double value) {
  double *place = &blis__snapshot_column(snapshot, signal)[i];
  double before = *place;
  if (value == before) {
    return;
  }
  *place = value;
  if (snapshot->extremes[signal] != NULL) {
    blis_extremes_note(snapshot->extremes[signal], i, before);
  }
}

#define PUT(snapshot, name, i, value) put((snapshot), BLIS_SIGNAL_##name, (i), (value))

static void read_history(blis__snapshot *snapshot, uint32_t i) {
  static const blis_signal signals[] = {BLIS_SIGNAL_REQUESTS_SERVED, BLIS_SIGNAL_RECENT_TTFT_US,
                                        BLIS_SIGNAL_RECENT_TPOT_US, BLIS_SIGNAL_ESTIMATED_WAIT_US};
  for (size_t k = 0; snapshot->history != NULL && k < sizeof signals / sizeof *signals; k++) {
    if ((snapshot->written & BLIS_SIGNAL_BIT(signals[k])) != 0) {
      put(snapshot, signals[k], i, history_value(snapshot, i, signals[k]));
    }
  }
}

/* Reads signals that change with time; a partitioned instance keeps its values. */
static void read_time(blis__snapshot *snapshot, uint32_t i, int64_t now_us) {
  if (snapshot->history == NULL || snapshot->is_apart[i]) {
    return;
  }
  PUT(snapshot, UTILIZATION, i, time_value(snapshot, i, BLIS_SIGNAL_UTILIZATION, now_us));
  PUT(snapshot, ROLLING_WATTS, i, time_value(snapshot, i, BLIS_SIGNAL_ROLLING_WATTS, now_us));
}

void blis__snapshot_put(blis__snapshot *snapshot, blis_signal signal, uint32_t i, double value) {
  put(snapshot, signal, i, value);
}

void blis__snapshot_add_source(blis__snapshot *snapshot, const blis__signal_source *source) {
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((source->signals & BLIS_SIGNAL_BIT(s)) != 0) {
      BLIS_ASSERT(snapshot->sources[s] == NULL);
      snapshot->sources[s] = source;
    }
  }
  if (source->read != NULL) {
    BLIS_ASSERT(snapshot->keeper == NULL);
    snapshot->keeper = source;
  }
}

static void read_again(blis__snapshot *snapshot, uint32_t i) {
  if (snapshot->is_apart[i]) {
    return; /* it will be read when this is possible */
  }
  const blis_instance *instance = snapshot->instances[i];
  blis_signal_set written = snapshot->written;
  blis_instance_load load = blis_instance_get_load(instance);
  const blis_instance_load *l = &load;
#define XX(name, value)                                                                            \
  if ((written & BIT(name)) != 0) {                                                                \
    PUT(snapshot, name, i, value);                                                                 \
  }
  LOAD_READINGS(XX)
  if ((written & STATS_SIGNALS) != 0) {
    blis_instance_stats stats;
    blis_instance_get_stats(instance, &stats);
    const blis_instance_stats *s = &stats;
    STATS_READINGS(XX)
  }
#undef XX
  if ((written & HISTORY_SIGNALS) != 0) {
    read_history(snapshot, i);
  }
  if ((written & BLIS_SIGNALS_OF_PARTS) != 0 && snapshot->keeper != NULL) {
    snapshot->keeper->read(snapshot->keeper->ud, snapshot, i);
  }
  snapshot->has_moved[i] = false;
}

/* Resets the readings, as if the instance had never been read. */
static void clear_readings(blis__snapshot *snapshot, uint32_t i) {
#define XX(name, value) PUT(snapshot, name, i, 0);
  LOAD_READINGS(XX)
  STATS_READINGS(XX)
#undef XX
  if (snapshot->keeper != NULL && snapshot->keeper->forget != NULL) {
    snapshot->keeper->forget(snapshot->keeper->ud, snapshot, i);
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((BLIS_SIGNAL_BIT(s) & (HISTORY_SIGNALS | TIME_SIGNALS)) != 0) {
      put(snapshot, (blis_signal)s, i, 0);
    }
  }
}

static double load_of(const blis__snapshot *snapshot, uint32_t i, double queue_depth,
                      double batch_size) {
  double routed = snapshot->load_counts_in_flight ? COLUMN(snapshot, IN_FLIGHT)[i]
                                                  : COLUMN(snapshot, PENDING)[i];
  return queue_depth + batch_size + routed;
}

static void write_load(blis__snapshot *snapshot, uint32_t i) {
  double load =
      load_of(snapshot, i, COLUMN(snapshot, QUEUE_DEPTH)[i], COLUMN(snapshot, BATCH_SIZE)[i]);
  PUT(snapshot, EFFECTIVE_LOAD, i, load);
  if (i < snapshot->least_count) {
    bool is_out = snapshot->candidates.is_out[i];
    blis_least_tree_set(snapshot->least_load, i, is_out ? (double)INFINITY : load);
  }
}

static void mark(blis__snapshot *snapshot, uint32_t i, uint8_t change) {
  if (snapshot->changes[i] == 0) {
    BLIS_ASSERT(snapshot->changed.count < snapshot->count);
    snapshot->changed.items[snapshot->changed.count++] = i;
  }
  snapshot->changes[i] |= change;
}

void blis__snapshot_instance_changed(blis__snapshot *snapshot, uint32_t i) {
  if (snapshot->refresh_us == 0) {
    mark(snapshot, i, ENGINE_CHANGED);
  }
  snapshot->has_moved[i] = true;
  if (!snapshot->is_unmarked[i]) {
    BLIS_ASSERT(snapshot->unmarked.count < snapshot->count);
    snapshot->is_unmarked[i] = true;
    snapshot->unmarked.items[snapshot->unmarked.count++] = i;
  }
}

/* Adds change to a counter. change is not 0, so the column always changes. */
static BLIS_ALWAYS_INLINE void count(blis__snapshot *snapshot, blis_signal signal, uint32_t i,
                                     int change) {
  double *place = &blis__snapshot_column(snapshot, signal)[i];
  double before = *place;
  BLIS_ASSERT(before + change >= 0);
  *place = before + change;
  if (snapshot->extremes[signal] != NULL) {
    blis_extremes_note(snapshot->extremes[signal], i, before);
  }
}

static BLIS_ALWAYS_INLINE void count_pending(blis__snapshot *snapshot, uint32_t i, int change) {
  count(snapshot, BLIS_SIGNAL_PENDING, i, change);
}

static BLIS_ALWAYS_INLINE void count_in_flight(blis__snapshot *snapshot, uint32_t i, int change) {
  count(snapshot, BLIS_SIGNAL_IN_FLIGHT, i, change);
  count(snapshot, BLIS_SIGNAL_REQUESTS, i, change);
}

void blis__snapshot_add_pending(blis__snapshot *snapshot, uint32_t i, int change) {
  count_pending(snapshot, i, change);
  mark(snapshot, i, COUNTERS_CHANGED);
}

void blis__snapshot_add_in_flight(blis__snapshot *snapshot, uint32_t i, int change) {
  count_in_flight(snapshot, i, change);
  mark(snapshot, i, COUNTERS_CHANGED);
}

void blis__snapshot_add_coming(blis__snapshot *snapshot, uint32_t i, int change) {
  count_pending(snapshot, i, change);
  count_in_flight(snapshot, i, change);
  mark(snapshot, i, COUNTERS_CHANGED);
}

void blis__snapshot_add_prefill(blis__snapshot *snapshot, uint32_t i, int64_t tokens) {
  PUT(snapshot, PENDING_PREFILL_TOKENS, i,
      COLUMN(snapshot, PENDING_PREFILL_TOKENS)[i] + (double)tokens);
  BLIS_ASSERT(COLUMN(snapshot, PENDING_PREFILL_TOKENS)[i] >= 0);
}

static void forget_shown(blis__snapshot *snapshot) {
  for (int k = 0; k < BLIS__STAGE_COUNT; k++) {
    snapshot->shown[k].group = NULL;
  }
}

blis_status blis__snapshot_keep_history(blis__snapshot *snapshot) {
  snapshot->history =
      blis_alloc_zeroed(&snapshot->alloc, snapshot->count, sizeof *snapshot->history);
  return snapshot->history == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

void blis__snapshot_add_ongoing(blis__snapshot *snapshot, uint32_t i, int64_t tokens,
                                int64_t decode_tokens) {
  if (tokens != 0) {
    double ongoing = COLUMN(snapshot, ONGOING_TOKENS)[i] + (double)tokens;
    BLIS_ASSERT(ongoing >= 0);
    PUT(snapshot, ONGOING_TOKENS, i, ongoing);
  }
  if (decode_tokens != 0) {
    double decoding = COLUMN(snapshot, ONGOING_DECODE_TOKENS)[i] + (double)decode_tokens;
    BLIS_ASSERT(decoding >= 0);
    PUT(snapshot, ONGOING_DECODE_TOKENS, i, decoding);
  }
}

void blis__snapshot_put_in_service(blis__snapshot *snapshot, uint32_t i, bool is_in_service) {
  blis__candidates_put_in_service(&snapshot->candidates, i, is_in_service);
  forget_shown(snapshot); /* the candidates have changed */
  mark(snapshot, i, COUNTERS_CHANGED);
}

void blis__snapshot_set_apart(blis__snapshot *snapshot, uint32_t i, bool is_apart) {
  blis__snapshot_update(snapshot); /* last readings */
  snapshot->is_apart[i] = is_apart;
  blis__snapshot_instance_changed(snapshot, i);
}

void blis__snapshot_forget(blis__snapshot *snapshot, uint32_t i) {
  blis__snapshot_instance_changed(snapshot, i);
  if (snapshot->refresh_us > 0) {
    snapshot->refreshed_us[i] = 0;
    clear_readings(snapshot, i);
    mark(snapshot, i, COUNTERS_CHANGED);
  }
}

/* Construction. */

static void write_constants(blis__snapshot *snapshot, uint32_t i,
                            const blis_instance_facts *facts) {
  const blis_instance_config *config = blis_instance_get_config(snapshot->instances[i]);
  COLUMN(snapshot, KV_BLOCKS)[i] = (double)config->kv_blocks;
  COLUMN(snapshot, MAX_NUM_SEQS)[i] = (double)config->max_num_seqs;
  COLUMN(snapshot, MAX_NUM_BATCHED_TOKENS)
  [i] = (double)config->max_batched_tokens;
  COLUMN(snapshot, TP)[i] = (double)facts->tp;
  COLUMN(snapshot, WATTS)[i] = facts->watts;
  snapshot->idle_watts[i] = facts->idle_watts;
  COLUMN(snapshot, CAPACITY)[i] = facts->capacity;
  COLUMN(snapshot, COST_PER_HOUR)[i] = facts->cost_per_hour;
  COLUMN(snapshot, ROLE)[i] = (double)facts->roles;
}

static void show_first(blis__snapshot *snapshot, uint32_t i) {
  const blis_instance_facts *facts = snapshot->candidates.facts;
  write_constants(snapshot, i, facts == NULL ? &BLIS_INSTANCE_FACTS_UNKNOWN : &facts[i]);
  blis__snapshot_instance_changed(snapshot, i);
}

/* Returns whether the instance exists; its slot may be empty. */
static bool is_there(const blis__snapshot *snapshot, uint32_t i) {
  return snapshot->instances[i] != NULL;
}

static blis_status allocate(blis__snapshot *snapshot) {
  const blis_alloc *alloc = &snapshot->alloc;
  uint32_t count = snapshot->count;
  snapshot->values = blis_alloc_zeroed(alloc, count, BLIS_SIGNAL_COUNT * sizeof *snapshot->values);
  snapshot->idle_watts = blis_alloc_zeroed(alloc, count, sizeof *snapshot->idle_watts);
  snapshot->refreshed_us = blis_alloc_zeroed(alloc, count, sizeof *snapshot->refreshed_us);
  snapshot->changes = blis_alloc_zeroed(alloc, count, sizeof *snapshot->changes);
  snapshot->has_moved = blis_alloc_zeroed(alloc, count, sizeof *snapshot->has_moved);
  snapshot->is_apart = blis_alloc_zeroed(alloc, count, sizeof *snapshot->is_apart);
  snapshot->is_unmarked = blis_alloc_zeroed(alloc, count, sizeof *snapshot->is_unmarked);
  if (snapshot->values == NULL || snapshot->idle_watts == NULL || snapshot->refreshed_us == NULL ||
      snapshot->changes == NULL || snapshot->has_moved == NULL || snapshot->is_apart == NULL ||
      snapshot->is_unmarked == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_array_reserve(alloc, &snapshot->unmarked, count));
  return blis_array_reserve(alloc, &snapshot->changed, count);
}

blis_status blis__snapshot_init(blis__snapshot *snapshot, const blis_alloc *alloc,
                                const blis__snapshot_config *config) {
  *snapshot = (blis__snapshot){.alloc = *alloc,
                               .count = config->count,
                               .instances = config->instances,
                               .refresh_us = config->refresh_us,
                               .cache_delay_us = config->cache_delay_us,
                               .load_counts_in_flight = config->load_counts_in_flight,
                               .surveys_mark_caches = config->surveys_mark_caches};
  blis_status status = allocate(snapshot);
  if (status == BLIS_OK) {
    status = blis__candidates_init(&snapshot->candidates, alloc, config->facts, config->ids,
                                   config->fronts, config->count);
  }
  if (status != BLIS_OK) {
    blis__snapshot_deinit(snapshot);
    return status;
  }
  for (uint32_t i = 0; i < config->count; i++) {
    if (is_there(snapshot, i)) {
      show_first(snapshot, i);
    }
  }
  return BLIS_OK;
}

void blis__snapshot_deinit(blis__snapshot *snapshot) {
  const blis_alloc *alloc = &snapshot->alloc;
  size_t count = snapshot->count;
  size_t values_size = count * BLIS_SIGNAL_COUNT * sizeof *snapshot->values;
  blis_alloc_free(alloc, snapshot->values, values_size);
  for (int k = 0; k < BLIS__STAGE_COUNT; k++) {
    blis_alloc_free(alloc, snapshot->shown[k].gathered, values_size);
  }
  blis_alloc_free(alloc, snapshot->history, count * sizeof *snapshot->history);
  blis_alloc_free(alloc, snapshot->idle_watts, count * sizeof *snapshot->idle_watts);
  blis_alloc_free(alloc, snapshot->refreshed_us, count * sizeof *snapshot->refreshed_us);
  blis_alloc_free(alloc, snapshot->changes, count * sizeof *snapshot->changes);
  blis_alloc_free(alloc, snapshot->has_moved, count * sizeof *snapshot->has_moved);
  blis_alloc_free(alloc, snapshot->is_apart, count * sizeof *snapshot->is_apart);
  blis_alloc_free(alloc, snapshot->is_unmarked, count * sizeof *snapshot->is_unmarked);
  blis_array_deinit(alloc, &snapshot->changed);
  blis_array_deinit(alloc, &snapshot->unmarked);
  blis_least_tree_free(snapshot->least_load);
  for (int signal = 0; signal < BLIS_SIGNAL_COUNT; signal++) {
    blis_extremes_free(snapshot->extremes[signal]);
  }
  blis_extremes_free(snapshot->rank_extremes);
  blis_alloc_free(alloc, snapshot->ranks, count * sizeof *snapshot->ranks);
  if (snapshot->candidates.count > 0) {
    blis__candidates_deinit(&snapshot->candidates);
  }
  *snapshot = (blis__snapshot){0};
}

/* Maintenance. */

static bool keeps_engine(const blis__snapshot *snapshot) {
  return (snapshot->kept & ENGINE_SIGNALS) != 0;
}

/*
 * Returns the maintained engine signals that an update writes. With delays, these are all engine
 * signals.
 */
static blis_signal_set written_signals(const blis__snapshot *snapshot) {
  blis_signal_set kept = snapshot->kept & ENGINE_SIGNALS;
  if (snapshot->refresh_us > 0) {
    return ENGINE_SIGNALS;
  }
  bool has_load = (kept & BIT(EFFECTIVE_LOAD)) != 0;
  return kept | (has_load ? BIT(QUEUE_DEPTH) | BIT(BATCH_SIZE) : 0);
}

void blis__snapshot_keep(blis__snapshot *snapshot, blis_signal_set signals) {
  blis_signal_set kept_engine = snapshot->kept & ENGINE_SIGNALS;
  if ((signals & BLIS_SIGNALS_OF_HISTORY) != 0) {
    signals |= BIT(PENDING_PREFILL_TOKENS);
  }
  if ((signals & BIT(ESTIMATED_TTFT_US)) != 0) {
    signals |= BIT(ESTIMATED_WAIT_US);
  }
  snapshot->kept |= signals;
  snapshot->written = written_signals(snapshot);
  forget_shown(snapshot); /* the next view has more columns */
  if ((snapshot->kept & ENGINE_SIGNALS) != kept_engine) {
    for (uint32_t i = 0; i < snapshot->count; i++) {
      if (!is_there(snapshot, i)) {
        continue;
      }
      mark(snapshot, i, snapshot->refresh_us == 0 ? ENGINE_CHANGED : COUNTERS_CHANGED);
      if (snapshot->refresh_us == 0 && (signals & TIME_SIGNALS) != 0) {
        read_time(snapshot, i, snapshot->seen_us);
      }
    }
  }
}

void blis__snapshot_declare(blis__snapshot *snapshot, blis_signal_set signals) {
  blis_signal_set late = signals & BLIS_SIGNALS_WITH_HISTORY;
  snapshot->has_readers |= (signals & ENGINE_SIGNALS) != 0 || late != 0;
  if (snapshot->cache_delay_us > 0 && !snapshot->has_marks &&
      ((signals & CACHE_SIGNALS) != 0 || late != 0)) {
    snapshot->has_marks = true;
    for (uint32_t i = 0; i < snapshot->count; i++) {
      if (is_there(snapshot, i)) {
        blis_instance_mark_cache(snapshot->instances[i]);
      }
    }
  }
  blis__snapshot_keep(snapshot, signals);
}

/* Creates a tree for this number of instances, with their current loads. */
static blis_status make_least_tree(blis__snapshot *snapshot, uint32_t count) {
  blis_least_tree *made =
      blis_least_tree_new(&snapshot->alloc, snapshot->candidates.id_ranks, count);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < count; i++) {
    bool is_in = is_there(snapshot, i) && !snapshot->candidates.is_out[i];
    blis_least_tree_set(made, i, is_in ? COLUMN(snapshot, EFFECTIVE_LOAD)[i] : (double)INFINITY);
  }
  blis_least_tree_free(snapshot->least_load);
  snapshot->least_load = made;
  snapshot->least_count = count;
  forget_shown(snapshot); /* views contain the tree */
  return BLIS_OK;
}

blis_status blis__snapshot_keep_least_load(blis__snapshot *snapshot) {
  uint32_t count = snapshot->count;
  while (count > 1 && !is_there(snapshot, count - 1)) {
    count--;
  }
  return make_least_tree(snapshot, count);
}

/* Grows the tree for the existing instances, not for the maximum number. */
static blis_status grow_least_tree(blis__snapshot *snapshot, uint32_t i) {
  uint32_t count = snapshot->least_count;
  if (snapshot->least_load == NULL || i < count) {
    return BLIS_OK;
  }
  return make_least_tree(snapshot, count > snapshot->count / 2 ? snapshot->count : 2 * count);
}

blis_status blis__snapshot_add(blis__snapshot *snapshot, uint32_t i) {
  BLIS_TRY(grow_least_tree(snapshot, i));
  blis__candidates_note_facts(&snapshot->candidates, i);
  show_first(snapshot, i);
  if (snapshot->has_marks) {
    blis_instance_mark_cache(snapshot->instances[i]);
  }
  return BLIS_OK;
}

static blis_status rank_extremes(blis__snapshot *snapshot) {
  uint32_t count = snapshot->count;
  snapshot->ranks = blis_alloc_zeroed(&snapshot->alloc, count, sizeof *snapshot->ranks);
  if (snapshot->ranks == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < count; i++) {
    snapshot->ranks[i] = snapshot->candidates.id_ranks[i];
  }
  snapshot->rank_extremes = blis_extremes_new(&snapshot->alloc, snapshot->ranks, count);
  return snapshot->rank_extremes == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

blis_status blis__snapshot_keep_extremes(blis__snapshot *snapshot, blis_signal_set signals) {
  if (signals != 0) {
    BLIS_TRY(rank_extremes(snapshot));
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((signals & BLIS_SIGNAL_BIT(s)) != 0) {
      snapshot->extremes[s] = blis_extremes_new(
          &snapshot->alloc, blis__snapshot_column(snapshot, (blis_signal)s), snapshot->count);
      if (snapshot->extremes[s] == NULL) {
        return BLIS_ERR_NOMEM;
      }
    }
  }
  return BLIS_OK;
}

bool blis__snapshot_can_keep(const blis__snapshot *snapshot, blis_signal signal) {
  blis_signal_set bit = BLIS_SIGNAL_BIT(signal);
  blis_signal_set engine = ENGINE_SIGNALS | BIT(ESTIMATED_TTFT_US);
  if ((bit & BLIS_SIGNALS_OF_HISTORY) != 0 && snapshot->history == NULL) {
    return false;
  }
  if ((bit & engine) != 0 && snapshot->refresh_us > 0 && !snapshot->has_readers) {
    return false;
  }
  if ((bit & CACHE_SIGNALS) != 0 && snapshot->cache_delay_us > 0) {
    return snapshot->has_marks;
  }
  return (bit & BLIS_SIGNALS_WITH_HISTORY) == 0;
}

void blis__snapshot_update(blis__snapshot *snapshot) {
  if (!keeps_engine(snapshot)) {
    return;
  }
  bool has_load = snapshot->least_load != NULL || (snapshot->kept & BIT(EFFECTIVE_LOAD)) != 0;
  for (size_t k = 0; k < snapshot->changed.count; k++) {
    uint32_t i = snapshot->changed.items[k];
    if ((snapshot->changes[i] & ENGINE_CHANGED) != 0) {
      read_again(snapshot, i);
    }
    if (has_load) {
      write_load(snapshot, i);
    }
    snapshot->changes[i] = 0;
  }
  snapshot->changed.count = 0;
}

/* Reads an instance if it is due. Returns when it is due next. */
static int64_t read_if_due(blis__snapshot *snapshot, uint32_t i, int64_t now_us) {
  if (now_us - snapshot->refreshed_us[i] >= snapshot->refresh_us) {
    snapshot->refreshed_us[i] = now_us;
    read_time(snapshot, i, now_us);
    if (snapshot->has_moved[i]) {
      read_again(snapshot, i);
      mark(snapshot, i, COUNTERS_CHANGED);
    }
  }
  return blis_time_after_us(snapshot->refreshed_us[i], snapshot->refresh_us);
}

/* Reads the due instances of the group; other instances keep their last readings. */
static void read_due(blis__snapshot *snapshot, blis__group *group, int64_t now_us) {
  int64_t due_us = BLIS_TIME_NEVER_US;
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t front = group->instances[k];
    for (uint32_t i = front; blis__is_shown_by(&snapshot->candidates, i, front); i++) {
      int64_t next_us = read_if_due(snapshot, i, now_us);
      due_us = next_us < due_us ? next_us : due_us;
    }
  }
  group->due_us = due_us;
}

static void mark_caches(blis__snapshot *snapshot, int64_t now_us) {
  for (size_t k = 0; k < snapshot->unmarked.count; k++) {
    uint32_t i = snapshot->unmarked.items[k];
    blis_instance_mark_cache(snapshot->instances[i]);
    snapshot->is_unmarked[i] = false;
  }
  snapshot->unmarked.count = 0;
  snapshot->caches_marked_us = now_us;
}

void blis__snapshot_catch_up(blis__snapshot *snapshot, blis__group *group, int64_t now_us) {
  snapshot->seen_us = now_us;
  if (snapshot->refresh_us == 0 && (snapshot->kept & TIME_SIGNALS) != 0) {
    for (uint32_t k = 0; k < group->count; k++) {
      uint32_t front = group->instances[k];
      for (uint32_t i = front; blis__is_shown_by(&snapshot->candidates, i, front); i++) {
        read_time(snapshot, i, now_us);
      }
    }
  }
  if (snapshot->refresh_us > 0 && snapshot->has_readers && now_us >= group->due_us) {
    read_due(snapshot, group, now_us);
  }
}

void blis__snapshot_catch_up_caches(blis__snapshot *snapshot, int64_t now_us) {
  if (snapshot->has_marks && now_us - snapshot->caches_marked_us >= snapshot->cache_delay_us) {
    mark_caches(snapshot, now_us);
  }
}

double blis__snapshot_live(const blis__snapshot *snapshot, uint32_t i, blis_signal signal) {
  if ((BLIS_SIGNAL_BIT(signal) & ENGINE_SIGNALS) == 0) {
    return blis__snapshot_column(snapshot, signal)[i];
  }
  if (signal != BLIS_SIGNAL_EFFECTIVE_LOAD) {
    return engine_value(snapshot, i, signal);
  }
  blis_instance_load load = blis_instance_get_load(snapshot->instances[i]);
  return load_of(snapshot, i, (double)load.queue_depth, (double)load.batch_size);
}
