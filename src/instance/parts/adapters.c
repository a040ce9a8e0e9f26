#include "instance/parts/adapters.h"

#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "instance/parts/timing.h"

/* State of one adapter in this engine. */
typedef struct entry {
  bool is_loaded;
  bool is_loading;
  bool is_on_host; /* only used if host memory is limited */
  int64_t pins;    /* number of requests that keep it in its slot */
  int64_t running;
  int64_t waiting;
  uint64_t used;     /* sequence number of its last use */
  uint64_t fetched;  /* like used, for host memory */
  int64_t loaded_us; /* when its last load ended */
  int64_t loads;     /* loads since the start */
  int64_t evictions;
} entry;

struct blis__adapters {
  blis_alloc alloc;
  const blis_adapter_config *config;
  const blis_instance_events *events;
  entry *entries;  /* indexed by number - 1 */
  uint32_t *slots; /* adapter numbers; 0 = free */
  int64_t taken;   /* number of slots in use */
  int64_t idle;    /* number of slots with a loaded adapter that is not pinned */
  int64_t on_host;
  uint64_t uses;
  uint32_t loading; /* the adapter being loaded; 0 = none */
  int64_t load_start_us;
  int64_t load_end_us;
  blis_request_name loads_for;
  int64_t step_load_us; /* time of loads in the step that is being formed */
  double factor;        /* factor for step times */
  blis_adapter_stats stats;
};

blis_status blis__adapters_check(const blis_adapter_config *config, blis_error *error) {
  if (config->slots < 1 || config->slots > UINT32_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "adapters: there are %" PRId64 " slots; expected 1 to %" PRIu32, config->slots,
                     UINT32_MAX);
  }
  if (config->host_slots != 0 && config->host_slots < config->slots) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "adapters: the host has room for %" PRId64
                     "; expected at least as many as there are slots, %" PRId64 ", or 0 for all",
                     config->host_slots, config->slots);
  }
  for (uint32_t i = 0; i < config->count; i++) {
    if (config->ranks[i] < 1 || config->load_us[i] < 1 || config->fetch_us[i] < 0 ||
        config->load_us[i] > BLIS__DURATION_MAX_US || config->fetch_us[i] > BLIS__DURATION_MAX_US) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "adapter %" PRIu32 " has rank %" PRId64 " and takes %" PRId64
                       " us to load and %" PRId64 " us to fetch; expected 1 or more, 1 to %" PRId64
                       " and 0 to %" PRId64,
                       i + 1, config->ranks[i], config->load_us[i], config->fetch_us[i],
                       BLIS__DURATION_MAX_US, BLIS__DURATION_MAX_US);
    }
  }
  for (size_t i = 0; i < config->tier_count; i++) {
    if (!(config->tiers[i].factor >= 0 && isfinite(config->tiers[i].factor))) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "adapters: steps grow by %g for rank %" PRId64 "; expected 0 or more",
                       config->tiers[i].factor, config->tiers[i].rank);
    }
  }
  return BLIS_OK;
}

/* Returns the number of slots that can be in use. */
static size_t slot_count(const blis_adapter_config *config) {
  return (size_t)blis_min_i64(config->slots, config->count);
}

/* Restores the initial state, except the counters. */
static void reset(blis__adapters *a) {
  for (uint32_t i = 0; i < a->config->count; i++) {
    a->entries[i] = (entry){.loads = a->entries[i].loads, .evictions = a->entries[i].evictions};
  }
  for (size_t i = 0; i < slot_count(a->config); i++) {
    a->slots[i] = 0;
  }
  a->stats.loaded = 0;
  a->taken = 0;
  a->idle = 0;
  a->on_host = 0;
  a->loading = 0;
  a->load_end_us = BLIS_TIME_NEVER_US;
  a->step_load_us = 0;
  a->factor = 1;
}

blis__adapters *blis__adapters_new(const blis_alloc *alloc, const blis_adapter_config *config,
                                   const blis_instance_events *events) {
  blis__adapters *a = blis_alloc_zeroed(alloc, 1, sizeof *a);
  if (a == NULL) {
    return NULL;
  }
  a->alloc = *alloc;
  a->config = config;
  a->events = events;
  a->entries = blis_alloc_zeroed(alloc, config->count, sizeof *a->entries);
  a->slots = blis_alloc_zeroed(alloc, slot_count(config), sizeof *a->slots);
  if ((a->entries == NULL && config->count > 0) || (a->slots == NULL && config->count > 0)) {
    blis__adapters_free(a);
    return NULL;
  }
  reset(a);
  return a;
}

void blis__adapters_free(blis__adapters *adapters) {
  if (adapters == NULL) {
    return;
  }
  blis_alloc alloc = adapters->alloc;
  const blis_adapter_config *config = adapters->config;
  blis_alloc_free(&alloc, adapters->entries, config->count * sizeof *adapters->entries);
  blis_alloc_free(&alloc, adapters->slots, slot_count(config) * sizeof *adapters->slots);
  blis_alloc_free(&alloc, adapters, sizeof *adapters);
}

void blis__adapters_restart(blis__adapters *adapters) {
  BLIS_ASSERT(adapters->stats.running == 0 && adapters->stats.waiting == 0);
  reset(adapters);
}

/* Returns NULL if the request needs no adapter. */
static entry *entry_of(const blis__adapters *adapters, const blis_live_request *request) {
  BLIS_ASSERT(request->adapter <= adapters->config->count);
  return request->adapter == 0 ? NULL : &adapters->entries[request->adapter - 1];
}

/* Steps. */

static double factor_of_rank(const blis_adapter_config *config, int64_t rank) {
  const blis_adapter_tier *best = &config->tiers[0];
  for (size_t i = 1; i < config->tier_count; i++) {
    const blis_adapter_tier *tier = &config->tiers[i];
    int64_t away = tier->rank > rank ? tier->rank - rank : rank - tier->rank;
    int64_t least = best->rank > rank ? best->rank - rank : rank - best->rank;
    if (away < least || (away == least && tier->rank < best->rank)) {
      best = tier;
    }
  }
  return best->factor;
}

/* Updates the factor after the adapters of the batch have changed. */
static void find_factor(blis__adapters *adapters) {
  const blis_adapter_config *config = adapters->config;
  adapters->factor = 1;
  if (config->tier_count == 0 || adapters->stats.running == 0) {
    return;
  }
  int64_t rank = 0;
  for (size_t i = 0; i < slot_count(config); i++) {
    uint32_t number = adapters->slots[i];
    if (number != 0 && adapters->entries[number - 1].running > 0) {
      rank = blis_max_i64(rank, config->ranks[number - 1]);
    }
  }
  adapters->factor += factor_of_rank(config, rank) * (double)adapters->stats.running;
}

bool blis__adapters_slow_steps(const blis__adapters *adapters) {
  return adapters->factor > 1 && isfinite(adapters->factor);
}

int64_t blis__adapters_step_us(const blis__adapters *adapters, int64_t step_us) {
  if (!blis__adapters_slow_steps(adapters)) {
    return step_us;
  }
  double slowed_us = (double)step_us * adapters->factor;
  return slowed_us < 0x1p62 ? blis_max_i64((int64_t)slowed_us, 1) : BLIS_TIME_NEVER_US;
}

int64_t blis__adapters_take_load_us(blis__adapters *adapters) {
  int64_t load_us = adapters->step_load_us;
  adapters->step_load_us = 0;
  return load_us;
}

/* Requests. */

static void pin(blis__adapters *adapters, entry *e, blis_live_request *request) {
  if (!request->pins_adapter) {
    request->pins_adapter = true;
    adapters->idle -= e->pins++ == 0;
  }
}

static void unpin(blis__adapters *adapters, entry *e, blis_live_request *request) {
  if (request->pins_adapter) {
    request->pins_adapter = false;
    e->used = ++adapters->uses;
    adapters->idle += --e->pins == 0;
  }
}

static void add_waiting(blis__adapters *adapters, entry *e, int change) {
  adapters->stats.waiting -= e->waiting > 0;
  e->waiting += change;
  adapters->stats.waiting += e->waiting > 0;
  BLIS_ASSERT(e->waiting >= 0);
}

static void add_running(blis__adapters *adapters, entry *e, int change) {
  int64_t before = adapters->stats.running;
  adapters->stats.running -= e->running > 0;
  e->running += change;
  adapters->stats.running += e->running > 0;
  BLIS_ASSERT(e->running >= 0);
  if (adapters->stats.running != before) {
    find_factor(adapters);
  }
}

void blis__adapters_queued(blis__adapters *adapters, blis_live_request *request) {
  entry *e = entry_of(adapters, request);
  if (e != NULL) {
    add_waiting(adapters, e, 1);
  }
}

/* Adds the wait of a request, from its first refusal until its adapter was loaded. */
static void count_wait(blis__adapters *adapters, const entry *e, blis_live_request *request) {
  blis_adapter_stats *stats = &adapters->stats;
  bool waited = request->adapter_asked_us >= 0;
  if (!request->is_adapter_counted) {
    request->is_adapter_counted = true;
    request->had_adapter = !waited;
    stats->requests++;
    stats->hits += !waited;
  }
  if (waited) {
    int64_t wait_us = blis_max_i64(e->loaded_us - request->adapter_asked_us, 0);
    request->adapter_wait_us = blis_time_after_us(request->adapter_wait_us, wait_us);
    request->adapter_asked_us = -1;
    stats->waits++;
    stats->wait_us = blis_time_after_us(stats->wait_us, wait_us);
  }
}

void blis__adapters_admitted(blis__adapters *adapters, blis_live_request *request) {
  entry *e = entry_of(adapters, request);
  if (e == NULL) {
    return;
  }
  BLIS_ASSERT(e->is_loaded);
  count_wait(adapters, e, request);
  add_waiting(adapters, e, -1);
  pin(adapters, e, request);
  add_running(adapters, e, 1);
}

void blis__adapters_preempted(blis__adapters *adapters, blis_live_request *request) {
  entry *e = entry_of(adapters, request);
  if (e == NULL) {
    return;
  }
  add_running(adapters, e, -1);
  add_waiting(adapters, e, 1);
  if (!adapters->config->pins_preempted) {
    unpin(adapters, e, request);
  }
}

void blis__adapters_left_queue(blis__adapters *adapters, blis_live_request *request) {
  entry *e = entry_of(adapters, request);
  if (e != NULL) {
    add_waiting(adapters, e, -1);
    unpin(adapters, e, request);
  }
}

void blis__adapters_left_batch(blis__adapters *adapters, blis_live_request *request) {
  entry *e = entry_of(adapters, request);
  if (e != NULL) {
    add_running(adapters, e, -1);
    unpin(adapters, e, request);
  }
}

/* Loads. */

/* Returns the slot for the next load. There must be one. */
static uint32_t *find_slot(blis__adapters *adapters) {
  uint32_t *found = NULL;
  uint64_t oldest = UINT64_MAX;
  for (size_t i = 0; i < slot_count(adapters->config); i++) {
    uint32_t *slot = &adapters->slots[i];
    if (*slot == 0) {
      return slot;
    }
    const entry *e = &adapters->entries[*slot - 1];
    if (e->is_loaded && e->pins == 0 && e->used < oldest) {
      oldest = e->used;
      found = slot;
    }
  }
  BLIS_ASSERT(found != NULL);
  return found;
}

static void empty_slot(blis__adapters *adapters, uint32_t *slot) {
  if (*slot != 0) {
    entry *e = &adapters->entries[*slot - 1];
    e->is_loaded = false;
    e->evictions++;
    adapters->stats.evictions++;
    adapters->stats.loaded--;
    adapters->idle--;
    adapters->taken--;
    *slot = 0;
  }
}

/* Removes the oldest adapter in host memory that is not in a slot. */
static void leave_host(blis__adapters *adapters) {
  entry *oldest = NULL;
  for (uint32_t i = 0; i < adapters->config->count; i++) {
    entry *e = &adapters->entries[i];
    if (e->is_on_host && !e->is_loaded && !e->is_loading &&
        (oldest == NULL || e->fetched < oldest->fetched)) {
      oldest = e;
    }
  }
  BLIS_ASSERT(oldest != NULL);
  oldest->is_on_host = false;
  adapters->on_host--;
}

/* Fetches an adapter to host memory. Returns the time that this takes. */
static int64_t fetch(blis__adapters *adapters, entry *e) {
  const blis_adapter_config *config = adapters->config;
  e->fetched = ++adapters->uses;
  if (config->host_slots == 0 || e->is_on_host) {
    return 0;
  }
  if (adapters->on_host >= config->host_slots) {
    leave_host(adapters);
  }
  e->is_on_host = true;
  adapters->on_host++;
  adapters->stats.fetches++;
  return config->fetch_us[e - adapters->entries];
}

static void tell_load(const blis__adapters *adapters, const entry *e,
                      const blis_request_name *request, int64_t start_us) {
  const blis_instance_events *events = adapters->events;
  if (events->adapter_loaded != NULL) {
    uint32_t place = (uint32_t)(e - adapters->entries);
    const blis_adapter_load load = {.adapter = place + 1,
                                    .rank = adapters->config->ranks[place],
                                    .request = *request,
                                    .start_us = start_us,
                                    .end_us = e->loaded_us,
                                    .waiting = e->waiting};
    events->adapter_loaded(events->ud, &load);
  }
}

static void come_in(blis__adapters *adapters, entry *e, const blis_request_name *request,
                    int64_t start_us, int64_t loaded_us) {
  e->is_loading = false;
  e->is_loaded = true;
  e->loaded_us = loaded_us;
  e->used = ++adapters->uses;
  adapters->stats.loaded++;
  adapters->idle += e->pins == 0;
  tell_load(adapters, e, request, start_us);
}

static void begin_load(blis__adapters *adapters, const blis_live_request *request, int64_t now_us) {
  uint32_t number = request->adapter;
  blis_request_name name = blis_request_name_of(request);
  entry *e = &adapters->entries[number - 1];
  uint32_t *slot = find_slot(adapters);
  empty_slot(adapters, slot);
  *slot = number;
  adapters->taken++;
  e->is_loading = true;
  int64_t load_us = fetch(adapters, e) + adapters->config->load_us[number - 1];
  e->loads++;
  adapters->stats.loads++;
  adapters->stats.load_us = blis_time_after_us(adapters->stats.load_us, load_us);
  if (adapters->config->loads_in_steps) {
    int64_t start_us = blis_time_after_us(now_us, adapters->step_load_us);
    adapters->step_load_us = blis_time_after_us(adapters->step_load_us, load_us);
    come_in(adapters, e, &name, start_us, blis_time_after_us(now_us, adapters->step_load_us));
    return;
  }
  adapters->loading = number;
  adapters->loads_for = name;
  adapters->load_start_us = now_us;
  adapters->load_end_us = blis_time_after_us(now_us, load_us);
}

static bool has_slot(const blis__adapters *adapters) {
  return adapters->taken < (int64_t)slot_count(adapters->config) || adapters->idle > 0;
}

static bool may_load(const blis__adapters *adapters, const entry *e) {
  return !e->is_loading && adapters->loading == 0 && has_slot(adapters);
}

/* Returns whether waiting preempted requests keep every slot. In this case, no request would ever
   get a slot unless these requests may overtake. */
static bool is_stuck(const blis__adapters *adapters) {
  return adapters->stats.running == 0 && adapters->loading == 0 && !has_slot(adapters);
}

/* Returns whether later requests may overtake this waiting request. */
static bool lets_pass(const blis__adapters *adapters, const blis_live_request *request,
                      int64_t now_us) {
  const blis_adapter_config *config = adapters->config;
  bool is_patient = config->skips && (config->max_skip_us == 0 ||
                                      now_us - request->adapter_asked_us < config->max_skip_us);
  return is_patient || is_stuck(adapters);
}

bool blis__adapters_ask(blis__adapters *adapters, blis_live_request *request, int64_t now_us,
                        bool *goes_on) {
  const entry *e = entry_of(adapters, request);
  *goes_on = true;
  if (e == NULL || e->is_loaded) {
    return true;
  }
  if (request->adapter_asked_us < 0) {
    request->adapter_asked_us = now_us;
  }
  if (may_load(adapters, e)) {
    begin_load(adapters, request, now_us);
  }
  *goes_on = e->is_loaded || lets_pass(adapters, request, now_us);
  return e->is_loaded;
}

blis__adapter_look blis__adapters_look(const blis__adapters *adapters,
                                       const blis_live_request *request, int64_t now_us) {
  const entry *e = entry_of(adapters, request);
  if (e == NULL || e->is_loaded) {
    return BLIS__ADAPTER_READY;
  }
  if (request->adapter_asked_us < 0 || may_load(adapters, e)) {
    return BLIS__ADAPTER_ACTS;
  }
  return lets_pass(adapters, request, now_us) ? BLIS__ADAPTER_WAITS : BLIS__ADAPTER_BLOCKS;
}

int64_t blis__adapters_load_end_us(const blis__adapters *adapters) {
  return adapters->load_end_us;
}

void blis__adapters_loaded(blis__adapters *adapters) {
  BLIS_ASSERT(adapters->loading != 0);
  entry *e = &adapters->entries[adapters->loading - 1];
  come_in(adapters, e, &adapters->loads_for, adapters->load_start_us, adapters->load_end_us);
  adapters->loading = 0;
  adapters->load_end_us = BLIS_TIME_NEVER_US;
}

/* Public statistics. */

void blis__adapters_get_stats(const blis__adapters *adapters, blis_adapter_stats *stats) {
  *stats = adapters->stats;
  stats->slots = adapters->config->slots;
  stats->loading = adapters->loading != 0;
}

blis_adapter_state blis__adapters_state(const blis__adapters *adapters, uint32_t adapter) {
  BLIS_ASSERT(adapter >= 1 && adapter <= adapters->config->count);
  const entry *e = &adapters->entries[adapter - 1];
  return (blis_adapter_state){.is_loaded = e->is_loaded,
                              .is_loading = e->is_loading,
                              .running = e->running,
                              .waiting = e->waiting,
                              .loads = e->loads,
                              .evictions = e->evictions};
}

bool blis__adapters_are_sound(const blis__adapters *adapters) {
  blis_adapter_stats found = {0};
  int64_t idle = 0;
  int64_t loading = 0;
  int64_t on_host = 0;
  for (uint32_t i = 0; i < adapters->config->count; i++) {
    const entry *e = &adapters->entries[i];
    found.loaded += e->is_loaded;
    found.running += e->running > 0;
    found.waiting += e->waiting > 0;
    found.loads += e->loads;
    found.evictions += e->evictions;
    idle += e->is_loaded && e->pins == 0;
    loading += e->is_loading;
    on_host += e->is_on_host;
    if (e->pins < e->running || (e->pins > 0 && !e->is_loaded)) {
      return false;
    }
  }
  const blis_adapter_stats *stats = &adapters->stats;
  return found.loaded == stats->loaded && found.running == stats->running &&
         found.waiting == stats->waiting && found.loads == stats->loads &&
         found.evictions == stats->evictions && idle == adapters->idle &&
         loading == (adapters->loading != 0) && on_host == adapters->on_host &&
         adapters->taken == stats->loaded + loading &&
         adapters->taken <= (int64_t)slot_count(adapters->config);
}
