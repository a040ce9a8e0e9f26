#include "cluster/scaling/go_blis_loop.h"

#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/feature.h"
#include "cluster/instances/start.h"
#include "cluster/machines/machines.h"

struct blis__go_blis_scaler {
  blis_autoscaler policy;
  blis_go_blis_scaling_config config;
  blis_random loading;
  blis_random actuation;
  BLIS_ARRAY(blis_scale_instance) seen;
};

static struct blis__go_blis_scaler *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_GO_BLIS_SCALING);
}

/* A pending decision. */
typedef struct change {
  int64_t by;
  uint32_t like;
} change;

/* Collector. */

static blis_scale_instance look_at(const blis_cluster *cluster, uint32_t i) {
  const blis__snapshot *snapshot = &cluster->snapshot;
  const blis_instance_config *config = blis_instance_get_config(cluster->instances[i]);
  double block = (double)config->block_size_tokens;
  double free = blis__snapshot_column(snapshot, BLIS_SIGNAL_FREE_KV_BLOCKS)[i];
  double use = blis__snapshot_column(snapshot, BLIS_SIGNAL_KV_UTILIZATION)[i];
  bool was_read = free > 0 || use > 0;
  double blocks = was_read ? (double)config->kv_blocks : 0;
  blis__machine machine = blis__machine_of(cluster, i);
  return (blis_scale_instance){.id = i,
                               .kv_utilization = use,
                               .queue_depth =
                                   blis__snapshot_column(snapshot, BLIS_SIGNAL_QUEUE_DEPTH)[i],
                               .running_kv_tokens = (blocks - free) * block,
                               .kv_capacity_tokens = blocks * block,
                               .gpu = machine.gpu,
                               .tp = machine.tp,
                               .cost_per_hour = machine.cost_per_hour};
}

static double starting_kv_tokens(const blis_cluster *cluster) {
  double sum = 0;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    const blis_instance_config *config = blis_instance_get_config(cluster->instances[i]);
    sum += cluster->services[i] == BLIS_SERVICE_LOADING
               ? (double)config->kv_blocks * (double)config->block_size_tokens
               : 0;
  }
  return sum;
}

static blis_status look(blis_cluster *cluster, blis_scale_context *context, blis_error *error) {
  struct blis__go_blis_scaler *scaler = state_of(cluster);
  const blis__group *all;
  BLIS_TRY_MEM(blis__snapshot_survey(&cluster->snapshot, 0, cluster->now_us, &all), error);
  scaler->seen.count = 0;
  for (uint32_t k = 0; k < all->count; k++) {
    const blis_scale_instance seen = look_at(cluster, all->instances[k]);
    BLIS_TRY_MEM(blis_array_push(&cluster->alloc, &scaler->seen, seen), error);
  }
  *context = (blis_scale_context){.now_us = cluster->now_us,
                                  .since_last_scale_us = BLIS_TIME_NEVER_US,
                                  .collected = scaler->policy.needs,
                                  .replicas = all->count,
                                  .ready = all->count,
                                  .min = all->count > 0 ? 1 : 0,
                                  .max = UINT32_MAX,
                                  .instances = scaler->seen.items,
                                  .instance_count = scaler->seen.count,
                                  .starting_kv_tokens = starting_kv_tokens(cluster)};
  return BLIS_OK;
}

/* Actuator. */

static blis_status start_some(blis_cluster *cluster, const change *c, blis_error *error) {
  struct blis__go_blis_scaler *scaler = state_of(cluster);
  bool has_machines = blis__has_machines(cluster); /* otherwise, nothing starts */
  for (int64_t k = 0; k < c->by && has_machines && blis__has_room_like(cluster, c->like); k++) {
    blis__start start = {.warming_factor = 0};
    start.part_us[BLIS_SERVICE_LOADING - BLIS_SERVICE_REQUESTED] =
        blis_delay_draw(&scaler->config.loading, &scaler->loading);
    uint32_t index;
    BLIS_TRY(blis__start_next(cluster, c->like, &start, &index, error));
  }
  return BLIS_OK;
}

static bool is_like(const blis_cluster *cluster, uint32_t i, uint32_t other) {
  blis__machine a = blis__machine_of(cluster, i);
  blis__machine b = blis__machine_of(cluster, other);
  return cluster->services[i] == BLIS_SERVICE_ACTIVE && a.tp == b.tp && strcmp(a.gpu, b.gpu) == 0;
}

/* Drains one instance. The last serving instance is kept. */
static blis_status drain_one(blis_cluster *cluster, const change *c, blis_error *error) {
  uint32_t oldest = cluster->existing;
  uint32_t serving = 0;
  for (uint32_t i = cluster->existing; i-- > 0;) {
    serving += cluster->services[i] == BLIS_SERVICE_ACTIVE;
    oldest = is_like(cluster, i, c->like) ? i : oldest;
  }
  return serving < 2 || oldest == cluster->existing
             ? BLIS_OK
             : blis_cluster_instance_drain(cluster, oldest, false, error);
}

static blis_status act(void *ud, blis_cluster *cluster, blis_error *error) {
  const change *c = ud;
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  for (int64_t k = 0; k > c->by; k--) {
    BLIS_TRY(drain_one(cluster, c, error));
  }
  return start_some(cluster, c, error);
}

/* The loop. */

static blis_status schedule(blis_cluster *cluster, int64_t by, uint32_t like, blis_error *error) {
  struct blis__go_blis_scaler *scaler = state_of(cluster);
  change *c = blis_arena_new(&cluster->texts, sizeof *c);
  BLIS_TRY_NEW(c, error);
  *c = (change){by, like};
  int64_t delay_us = blis_delay_draw(&scaler->config.actuation, &scaler->actuation);
  return blis__cluster_call_in(cluster, BLIS__CLUSTER_SCALED,
                               blis_time_after_us(cluster->now_us, delay_us), act, c, error);
}

static blis_status check(void *ud, blis_cluster *cluster, blis_error *error) {
  struct blis__go_blis_scaler *scaler = ud;
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  blis_scale_context context;
  blis_scale_decision decision;
  int64_t proposed;
  BLIS_TRY(look(cluster, &context, error));
  BLIS_TRY(blis_autoscaler_decide(&scaler->policy, &context, &decision, &proposed, error));
  int64_t by = decision.target - (int64_t)context.replicas;
  if (by != 0) {
    uint32_t like = decision.like >= 0 ? (uint32_t)decision.like : context.instances[0].id;
    BLIS_TRY(schedule(cluster, by, like, error));
  }
  return blis__cluster_call_in(cluster, BLIS__CLUSTER_CHECK,
                               blis_time_after_us(cluster->now_us, scaler->config.interval_us),
                               check, scaler, error);
}

/* Construction. */

static blis_status load_first_ones(blis_cluster *cluster, blis_error *error) {
  struct blis__go_blis_scaler *scaler = state_of(cluster);
  for (uint32_t i = 0; i < cluster->existing && scaler->config.initial_ones_load; i++) {
    blis__start start = {0};
    start.part_us[BLIS_SERVICE_LOADING - BLIS_SERVICE_REQUESTED] =
        blis_delay_draw(&scaler->config.loading, &scaler->loading);
    BLIS_TRY(blis__begin_loading(cluster, i, &start, error));
  }
  return BLIS_OK;
}

blis_status blis_cluster_set_go_blis_autoscaler(blis_cluster *cluster, blis_autoscaler *autoscaler,
                                                const blis_go_blis_scaling_config *config,
                                                blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && state_of(cluster) == NULL);
  struct blis__go_blis_scaler *scaler = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *scaler);
  if (scaler == NULL) {
    blis_autoscaler_free(autoscaler);
    return blis_fail_nomem(error);
  }
  scaler->policy = *autoscaler;
  *autoscaler = (blis_autoscaler){0};
  scaler->config = *config;
  cluster->features[BLIS_FEATURE_GO_BLIS_SCALING] = scaler;
  cluster->loaded_event_class = BLIS__CLUSTER_LOADED;
  blis_random_init_named(&scaler->loading, config->seed, "instance-loading");
  blis_random_init_named(&scaler->actuation, config->seed, "autoscaler");
  BLIS_TRY(load_first_ones(cluster, error));
  if (config->interval_us == 0) {
    return BLIS_OK;
  }
  const blis_signal_set signals = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                  BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION) |
                                  BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS);
  blis__snapshot_declare(&cluster->snapshot, signals);
  return blis__cluster_call_in(cluster, BLIS__CLUSTER_CHECK, 0, check, scaler, error);
}

static void free_scaler(blis_cluster *cluster) {
  struct blis__go_blis_scaler *scaler = state_of(cluster);
  if (scaler != NULL) {
    blis_autoscaler_free(&scaler->policy);
    blis_array_deinit(&cluster->alloc, &scaler->seen);
    blis_alloc_free(&cluster->alloc, scaler, sizeof *scaler);
  }
}

const blis__feature blis__go_blis_scaling_feature = {
    .slot = BLIS_FEATURE_GO_BLIS_SCALING,
    .name = "go blis scaling",
    .free = free_scaler,
};
