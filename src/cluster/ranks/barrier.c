/*
 * barrier.c - the barrier of a group of data-parallel ranks.
 *
 * A pass of the group begins when a rank has work, and takes as long as its slowest rank. Ranks
 * without work run a dummy pass. A rank that gets work during a pass waits for the end of the pass,
 * when every rank with work begins its next step. After every sync_every passes, the ranks check
 * whether all of them are without work. Until then, a group without work runs dummy passes, which
 * are counted when the next request arrives.
 *
 * A step of a rank stops at its gate (blis_step_gate) when its own duration is known. When no rank
 * has another event at that time, all ranks continue together. Barriers therefore require the clock
 * to run instances in time order. A pass costs O(ranks).
 */
#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/feature.h"
#include "cluster/ranks/ranks.h"
#include "cluster/units.h"

/* State of a group. */
typedef struct barrier {
  blis_cluster *cluster;
  const blis_rank_config *config; /* NULL = the group has no barrier */
  uint32_t first;
  int64_t end_us; /* end of the last pass, which may be in the future */
  int64_t passes; /* passes since the group began to work */
  blis_step_gate gate;
} barrier;

typedef struct blis__barriers {
  barrier *items; /* indexed by group */
  blis_rank_counts counts;
} blis__barriers;

static blis__barriers *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_RANK_BARRIER);
}

/* Returns the duration of the open step of a rank. A missing rank has no work. */
static int64_t open_us(const barrier *b, uint32_t rank) {
  const blis_instance *instance = b->cluster->instances[b->first + rank];
  return instance == NULL ? -1 : blis_instance_open_us(instance);
}

/* Computes the duration of a pass for a rank without work. */
static blis_status dummy_us(const barrier *b, int64_t *us, blis_error *error) {
  const blis_batch_item decode = {
      .progress_tokens = 1, .new_tokens = 1, .prompt_tokens = 1, .output_tokens = 2};
  *us = b->config->dummy_us;
  if (*us >= 0) {
    return BLIS_OK;
  }
  const blis_instance *first = b->cluster->instances[b->first];
  BLIS_TRY(blis_latency_step_time(blis_instance_get_config(first)->latency, &decode, 1, us, error));
  *us = blis_max_i64(*us, 0);
  return BLIS_OK;
}

/* Counts this number of passes without work on all ranks. */
static blis_status run_dummies(barrier *b, int64_t passes, int64_t each_us, blis_error *error) {
  blis_rank_counts *counts = &state_of(b->cluster)->counts;
  int64_t us = passes * each_us;
  int64_t ranks = b->config->count;
  int64_t start_us = b->end_us;
  b->passes += passes;
  b->end_us += us;
  counts->passes += passes;
  counts->rank_passes += passes * ranks;
  counts->dummy_passes += passes * ranks;
  counts->own_us += us * ranks;
  counts->pass_us += us * ranks;
  for (uint32_t k = 0; k < b->config->count; k++) {
    blis_instance *instance = b->cluster->instances[b->first + k];
    if (instance != NULL) {
      BLIS_TRY(blis_instance_be_busy(instance, start_us, us, error));
    }
  }
  return BLIS_OK;
}

/*
 * Called when a request reaches a group without work. Computes the dummy passes since the last
 * pass, and whether the group stopped in the meantime.
 */
static blis_status wake(barrier *b, int64_t now_us, blis_error *error) {
  int64_t over = b->passes % b->config->sync_every;
  int64_t left = over == 0 ? 0 : b->config->sync_every - over;
  int64_t each_us = 0;
  if (left > 0) {
    BLIS_TRY(dummy_us(b, &each_us, error));
  }
  if (each_us > 0) {
    int64_t begun = (now_us - b->end_us - 1) / each_us + 1;
    BLIS_TRY(run_dummies(b, blis_min_i64(begun, left), each_us, error));
  }
  if (b->end_us < now_us) {
    b->end_us = now_us;
    b->passes = 0;
  }
  return BLIS_OK;
}

static blis_status begins_at(void *ud, int64_t now_us, int64_t *at_us, blis_error *error) {
  barrier *b = ud;
  if (b->end_us < now_us) {
    BLIS_TRY(wake(b, now_us, error));
  }
  *at_us = b->end_us;
  return BLIS_OK;
}

static bool may_prefill(const void *ud) {
  const barrier *b = ud;
  return b->passes % b->config->prefill_interval == 0;
}

/* Adds the loads of the ranks during a pass to the balance counters. */
static void weigh(const barrier *b, int64_t pass_us) {
  blis_rank_counts *counts = &state_of(b->cluster)->counts;
  blis_instance_load sum = {0};
  blis_instance_load most = {0};
  for (uint32_t k = 0; k < b->config->count; k++) {
    const blis_instance *instance = b->cluster->instances[b->first + k];
    if (instance != NULL) {
      blis_instance_load load = blis_instance_get_load(instance);
      sum.batch_size += load.batch_size;
      sum.used_kv_blocks += load.used_kv_blocks;
      most.batch_size = blis_max_i64(most.batch_size, load.batch_size);
      most.used_kv_blocks = blis_max_i64(most.used_kv_blocks, load.used_kv_blocks);
    }
  }
  double ranks = (double)b->config->count;
  double us = (double)pass_us;
  counts->running += (double)sum.batch_size / ranks * us;
  counts->most_running += (double)most.batch_size * us;
  counts->kv_blocks += (double)sum.used_kv_blocks / ranks * us;
  counts->most_kv_blocks += (double)most.used_kv_blocks * us;
}

/* Computes the duration of the pass, and counts it. */
static blis_status count_pass(barrier *b, int64_t *pass_us, blis_error *error) {
  blis_rank_counts *counts = &state_of(b->cluster)->counts;
  int64_t ranks = b->config->count;
  int64_t working = 0;
  int64_t own_us = 0;
  *pass_us = 1;
  for (uint32_t k = 0; k < b->config->count; k++) {
    int64_t us = open_us(b, k);
    working += us > 0;
    own_us += blis_max_i64(us, 0);
    *pass_us = blis_max_i64(*pass_us, us);
  }
  if (working < ranks) {
    int64_t each_us;
    BLIS_TRY(dummy_us(b, &each_us, error));
    own_us += each_us * (ranks - working);
    *pass_us = blis_max_i64(*pass_us, each_us);
  }
  counts->passes++;
  counts->rank_passes += ranks;
  counts->dummy_passes += ranks - working;
  counts->own_us += own_us;
  counts->pass_us += *pass_us * ranks;
  return BLIS_OK;
}

/* Runs the pass that begins now. No further rank can join it. */
static blis_status run_pass(barrier *b, blis_error *error) {
  blis_cluster *cluster = b->cluster;
  int64_t pass_us;
  BLIS_TRY(count_pass(b, &pass_us, error));
  weigh(b, pass_us);
  b->passes++;
  b->end_us = blis_time_after_us(cluster->now_us, pass_us);
  for (uint32_t k = 0; k < b->config->count; k++) {
    if (open_us(b, k) >= 0) {
      BLIS_TRY(blis__cluster_go_on(cluster, b->first + k, pass_us, error));
    } else if (cluster->instances[b->first + k] != NULL) {
      BLIS_TRY(
          blis_instance_be_busy(cluster->instances[b->first + k], cluster->now_us, pass_us, error));
    }
  }
  return BLIS_OK;
}

/* Called when an instance has executed events. Other instances of its group may still have events
   at the same time. */
static blis_status meet(blis_cluster *cluster, uint32_t number, blis_error *error) {
  barrier *b = &state_of(cluster)->items[blis__unit_number(cluster, number)];
  bool is_open = false;
  if (b->config == NULL) {
    return BLIS_OK;
  }
  for (uint32_t k = 0; k < b->config->count; k++) {
    const blis_instance *instance = cluster->instances[b->first + k];
    if (open_us(b, k) >= 0) {
      is_open = true;
    } else if (instance != NULL && blis_instance_next_us(instance) <= cluster->now_us) {
      return BLIS_OK;
    }
  }
  return is_open ? run_pass(b, error) : BLIS_OK;
}

/* Returns the gate of the barrier of an instance's group; NULL = none. */
static const blis_step_gate *gate_of(const blis_cluster *cluster, uint32_t number) {
  const blis__barriers *barriers = state_of(cluster);
  if (barriers == NULL) {
    return NULL;
  }
  const barrier *b = &barriers->items[blis__unit_number(cluster, number)];
  return b->config == NULL ? NULL : &b->gate;
}

/* Called before a group is created as a copy of an existing one. */
static blis_status on_unit_planned(void *ud, blis_cluster *cluster, const blis__news *news,
                                   blis_error *error) {
  (void)error;
  const blis__barriers *barriers = ud;
  barrier *b = &barriers->items[blis__unit_number(cluster, news->instance)];
  b->config = barriers->items[blis__unit_number(cluster, news->destination)].config;
  b->first = news->instance;
  b->end_us = cluster->now_us;
  return BLIS_OK;
}

/* Called when the group of an instance has stopped. It starts again with the next request. */
static blis_status on_restarted(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)error;
  const blis__barriers *barriers = ud;
  barrier *b = &barriers->items[blis__unit_number(cluster, news->instance)];
  if (b->config != NULL) {
    b->end_us = cluster->now_us;
    b->passes = 0;
  }
  return BLIS_OK;
}

/* Returns whether an instance needs a barrier. A single rank does not. */
static bool has_barrier(const blis_cluster *cluster, uint32_t number) {
  const blis_rank_config *ranks = cluster->config.instances[number].ranks;
  return ranks != NULL && ranks->has_barrier && ranks->count > 1;
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  uint32_t count = cluster->config.instance_count;
  uint32_t first_one = 0;
  while (first_one < count && !has_barrier(cluster, first_one)) {
    first_one++;
  }
  if (first_one == count) {
    return BLIS_OK;
  }
  size_t groups = (size_t)blis__unit_number(cluster, count - 1) + 1;
  blis__barriers *barriers = blis_arena_new(&cluster->texts, sizeof *barriers);
  barrier *items = blis_arena_new(&cluster->texts, groups * sizeof *items);
  BLIS_TRY_NEW(barriers, error);
  BLIS_TRY_NEW(items, error);
  *barriers = (blis__barriers){.items = items};
  for (uint32_t i = 0; i < count; i += blis__unit_size(cluster, i)) {
    barrier *b = &items[blis__unit_number(cluster, i)];
    *b = (barrier){.cluster = cluster,
                   .config = i < cluster->existing && has_barrier(cluster, i)
                                 ? cluster->config.instances[i].ranks
                                 : NULL,
                   .first = i,
                   .gate = {b, begins_at, may_prefill}};
  }
  cluster->features[BLIS_FEATURE_RANK_BARRIER] = barriers;
  blis__hooks_add(&cluster->hooks, BLIS__INSTANCE_RAN, meet);
  const blis__listener listener = {
      .ud = barriers,
      .phase = BLIS__BOOKS,
      .need = BLIS__NEEDS_ORDER,
      .on = {[BLIS__UNIT_PLANNED] = on_unit_planned, [BLIS__RESTARTED] = on_restarted}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  config->gate = gate_of(cluster, instance);
}

void blis_cluster_get_ranks(const blis_cluster *cluster, blis_rank_counts *counts) {
  *counts = state_of(cluster) == NULL ? (blis_rank_counts){0} : state_of(cluster)->counts;
}

const blis__feature blis__rank_barrier_feature = {
    .slot = BLIS_FEATURE_RANK_BARRIER,
    .name = "rank barrier",
    .prepare = prepare,
    .equip = equip,
};
