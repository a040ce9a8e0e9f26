/*
 * record_store.h - the records of a run, at most 64 bytes each.
 *
 * Almost all times of a run fit 32 bits; the few records with longer ones keep
 * theirs beside the others. What few requests have, or all have alike, is kept
 * beside them, too: sessions, waits at the gateway and for adapters, drafts,
 * energy, carbon, and who sent it for which model and adapter.
 */
#ifndef BLIS_RESULTS_RECORD_RECORD_STORE_H
#define BLIS_RESULTS_RECORD_RECORD_STORE_H

#include "base/array.h"
#include "base/containers/map.h"
#include "results/record/record.h"

/* Where requests come from: numbers in the workload's string table. */
typedef struct blis__origin {
  uint32_t tenant;
  uint32_t slo_class;
  uint32_t model;
  uint32_t adapter;
} blis__origin;

/* Times are one more than they are: 0 = it never came to that. */
typedef struct blis__short_record {
  int64_t arrival_us;
  int32_t number; /* of a long one: its place among these */
  uint32_t ttft_us;
  uint32_t e2e_us;
  uint32_t scheduling_delay_us;
  uint32_t itl_sum_us;
  uint32_t end_us; /* since its arrival */
  uint32_t itl_count;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  int32_t instance;
  uint32_t origin; /* place among the origins */
  uint32_t reason : 25;
  uint32_t had_hit : 1;
  uint32_t is_long : 1;
  uint32_t was_counted : 1;
  uint32_t state : 4;
} blis__short_record;

_Static_assert(sizeof(blis__short_record) <= 56, "records are many");

typedef struct blis__long_record {
  int64_t number;
  int64_t ttft_us;
  int64_t e2e_us;
  int64_t scheduling_delay_us;
  int64_t itl_sum_us;
  int64_t end_us;
} blis__long_record;

typedef struct blis__session {
  uint32_t session;
  int32_t round_index;
  uint32_t program;
} blis__session;

typedef struct blis__drafted {
  int64_t drafted_tokens; /* -1 = nobody drafts there */
  int64_t accepted_tokens;
} blis__drafted;

typedef struct blis__record_store {
  blis_alloc alloc;
  BLIS_ARRAY(blis__short_record) records;
  BLIS_ARRAY(blis__long_record) longs;
  BLIS_ARRAY(blis__session) sessions; /* by record; none while all are 0 */
  /* In the gateway's queue, by record as far as any has one; -1 = none. */
  BLIS_ARRAY(int64_t) gateway_waits_us;
  BLIS_ARRAY(int64_t) adapter_waits_us; /* for adapters, likewise */
  BLIS_ARRAY(blis__drafted) drafted;    /* likewise */
  BLIS_ARRAY(int64_t) energies_nj;      /* likewise */
  BLIS_ARRAY(int64_t) carbons_pg;       /* likewise */
  BLIS_ARRAY(blis__origin) origins;     /* in the order of first sight */
  blis_map origin_of_sender;            /* a sender is a tenant's class, */
  blis_map senders;
  blis_map targets; /* and a target a model with an adapter */
} blis__record_store;

/* Copies *alloc; allocates nothing yet. */
void blis__record_store_init(blis__record_store *store, const blis_alloc *alloc);
void blis__record_store_deinit(blis__record_store *store);

/* After BLIS_ERR_NOMEM the store can only be looked at and freed. */
BLIS_MUSTUSE blis_status blis__record_store_add(blis__record_store *store,
                                                const blis_record *record);

/* As it was added. */
blis_record blis__record_store_get(const blis__record_store *store, size_t index);

static inline int64_t blis__record_store_gateway_wait_us(const blis__record_store *store,
                                                         size_t index) {
  return index < store->gateway_waits_us.count ? store->gateway_waits_us.items[index] : -1;
}

static inline int64_t blis__record_store_adapter_wait_us(const blis__record_store *store,
                                                         size_t index) {
  return index < store->adapter_waits_us.count ? store->adapter_waits_us.items[index] : -1;
}

static inline blis__drafted blis__record_store_drafted(const blis__record_store *store,
                                                       size_t index) {
  return index < store->drafted.count ? store->drafted.items[index] : (blis__drafted){-1, -1};
}

static inline int64_t blis__record_store_energy_nj(const blis__record_store *store, size_t index) {
  return index < store->energies_nj.count ? store->energies_nj.items[index] : -1;
}

static inline int64_t blis__record_store_carbon_pg(const blis__record_store *store, size_t index) {
  return index < store->carbons_pg.count ? store->carbons_pg.items[index] : -1;
}

/* The times of one record; below 0 = it has none. */
typedef struct blis__record_times {
  int64_t ttft_us;
  int64_t e2e_us;
  int64_t scheduling_delay_us;
  int64_t itl_sum_us;
} blis__record_times;

static inline blis__record_times blis__record_store_times(const blis__record_store *store,
                                                          const blis__short_record *record) {
  if (record->is_long) {
    const blis__long_record *other = &store->longs.items[record->number];
    return (blis__record_times){other->ttft_us, other->e2e_us, other->scheduling_delay_us,
                                other->itl_sum_us};
  }
  return (blis__record_times){(int64_t)record->ttft_us - 1, (int64_t)record->e2e_us - 1,
                              (int64_t)record->scheduling_delay_us - 1,
                              (int64_t)record->itl_sum_us - 1};
}

#endif
