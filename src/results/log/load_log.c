#include "results/log/load_log.h"

#include <stdlib.h>

#include "base/time.h"
#include "cluster/tiers/kv_tiers.h"

void blis_load_log_init(blis_load_log *log, const blis_alloc *alloc, size_t most) {
  *log = (blis_load_log){.alloc = *alloc, .most = most};
}

void blis_load_log_deinit(blis_load_log *log) {
  if (log->alloc.fn != NULL) {
    blis_array_deinit(&log->alloc, &log->loads);
    blis_array_deinit(&log->alloc, &log->moves);
    blis_array_deinit(&log->alloc, &log->life_ends_us);
    blis_array_deinit(&log->alloc, &log->lives);
  }
  *log = (blis_load_log){0};
}

static int compare_i64(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare_loads(const void *a, const void *b) {
  const blis_logged_load *x = a;
  const blis_logged_load *y = b;
  int by = compare_i64(x->load.end_us, y->load.end_us);
  by = by != 0 ? by : compare_i64(x->instance, y->instance);
  by = by != 0 ? by : compare_i64(x->load.adapter, y->load.adapter);
  return by != 0 ? by : compare_i64(x->load.start_us, y->load.start_us);
}

/* Drops the loads that would have ended after their instance. */
static void drop_lost(blis_load_log *log) {
  size_t kept = 0;
  for (size_t i = 0; i < log->loads.count; i++) {
    const blis_logged_load *logged = &log->loads.items[i];
    if (logged->load.end_us <= log->life_ends_us.items[logged->life]) {
      log->loads.items[kept++] = *logged;
    }
  }
  log->loads.count = kept;
}

void blis_load_log_settle(blis_load_log *log) {
  drop_lost(log);
  if (log->loads.count > 0) {
    qsort(log->loads.items, log->loads.count, sizeof *log->loads.items, compare_loads);
  }
  if (log->loads.count > log->most) {
    log->left_out += (int64_t)(log->loads.count - log->most);
    log->loads.count = log->most;
  }
}

/* Returns the current life of an instance. */
static blis_status find_life(blis_load_log *log, uint32_t instance, uint32_t *life) {
  BLIS_TRY(blis_array_reserve(&log->alloc, &log->lives, (size_t)instance + 1));
  while (log->lives.count <= instance) {
    log->lives.items[log->lives.count++] = 0;
  }
  if (log->lives.items[instance] == 0) {
    BLIS_TRY(blis_array_push(&log->alloc, &log->life_ends_us, BLIS_TIME_NEVER_US));
    log->lives.items[instance] = (uint32_t)log->life_ends_us.count;
  }
  *life = log->lives.items[instance] - 1;
  return BLIS_OK;
}

/* Instances report loads at different times, depending on the engine, so the first loads are
   only known at the end. Up to twice the maximum number is stored, so that sorting is rarely
   needed. */
static blis_status add_load(void *ud, uint32_t instance, const blis_adapter_load *load,
                            blis_error *error) {
  blis_load_log *log = ud;
  blis_logged_load logged = {.instance = instance, .load = *load};
  BLIS_TRY_MEM(find_life(log, instance, &logged.life), error);
  if (log->loads.count >= 2 * log->most) {
    blis_load_log_settle(log);
  }
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->loads, logged), error);
  return BLIS_OK;
}

static void lose_loads(void *ud, uint32_t instance, int64_t at_us) {
  blis_load_log *log = ud;
  if (instance < log->lives.count && log->lives.items[instance] != 0) {
    log->life_ends_us.items[log->lives.items[instance] - 1] = at_us;
    log->lives.items[instance] = 0;
  }
}

static blis_status add_move(void *ud, const blis_kv_move *move, blis_error *error) {
  blis_load_log *log = ud;
  if (log->moves.count == log->most) {
    log->left_out++;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->moves, *move), error);
  return BLIS_OK;
}

blis_load_sink blis_load_log_sink(blis_load_log *log) {
  return (blis_load_sink){.ud = log, .adapter = add_load, .lost = lose_loads, .moved = add_move};
}
