#include "lua/simulation/scaling.h"

#include "base/time.h"
#include "cluster/faults/presence.h"
#include "cluster/machines/node_pools.h"
#include "cluster/scaling/go_blis_loop.h"
#include "lua/bind/bind.h"
#include "lua/bind/profile.h"
#include "lua/policies/scaling/autoscaler.h"
#include "lua/simulation/paid.h"

/* Reading of the configuration. */

/* Pushes the table `scaling`. Returns false, and pushes nothing, if it is not set. */
static bool push_scaling(lua_State *L, int config) {
  return lua_getfield(L, config, "scaling") == LUA_TTABLE;
}

void check_scaling_room(lua_State *L, int config, bind_simulation *sim) {
  int top = lua_gettop(L);
  if (push_scaling(L, config)) {
    sim->initial_count = sim->instance_count;
    sim->instance_count = (uint32_t)check_field_integer(L, top + 1, "max_starts");
  }
  lua_settop(L, top);
}

/* Reads the requests in advance for an oracle, from a second copy of their source. */
void check_scaling_future(lua_State *L, int workload, bind_simulation *sim) {
  blis_scale_needs needs = 0;
  for (int k = 0; k < SIMULATION_SCALED_POOLS; k++) {
    needs |= sim->autoscalers[k].needs;
  }
  if ((needs & BLIS_SCALE_NEEDS_FUTURE) != 0) {
    check_future(L, workload, &sim->future);
  }
}

/* Pushes the options of a pool (counted from 1). Returns false if there are no more pools. */
static bool push_pool(lua_State *L, int scaling, int pool) {
  lua_getfield(L, scaling, "pools");
  return lua_rawgeti(L, -1, pool) == LUA_TTABLE;
}

static void check_pool_policy(lua_State *L, int pool, bind_simulation *sim,
                              blis_autoscaler *autoscaler) {
  if (lua_getfield(L, pool, "policy") != LUA_TNIL) {
    check_autoscaler(L, lua_gettop(L), &sim->hooks, &sim->view.context, autoscaler);
    autoscaler->interval_us = opt_field_integer(L, pool, "interval_us", autoscaler->interval_us);
  }
}

void check_scaling_policy(lua_State *L, int config, bind_simulation *sim) {
  int top = lua_gettop(L);
  if (push_scaling(L, config)) {
    for (int k = 0; k < SIMULATION_SCALED_POOLS; k++) {
      if (push_pool(L, top + 1, k + 1)) {
        check_pool_policy(L, lua_gettop(L), sim, &sim->autoscalers[k]);
      }
    }
  }
  lua_settop(L, top);
}

static blis_delay check_delay(lua_State *L, int index, const char *name) {
  lua_getfield(L, index, name);
  int delay = lua_gettop(L);
  luaL_checktype(L, delay, LUA_TTABLE);
  static const char *const shapes[] = {"normal", "lognormal", "uniform", "exponential", NULL};
  const blis_delay read = {check_field_number(L, delay, "mean_us"),
                           check_field_number(L, delay, "stddev_us"),
                           (blis_delay_shape)check_field_choice(L, delay, "distribution", shapes)};
  lua_pop(L, 1);
  return read;
}

static blis_scaling_config check_config(lua_State *L, int index, const bind_simulation *sim) {
  static const char *const stops[] = {"wait", "redirect", "immediate", NULL};
  static const char *const victims[] = {"newest", "oldest", "least-loaded", NULL};
  return (blis_scaling_config){
      .role = (blis_scale_role)check_field_integer(L, index, "role"),
      .min = (uint32_t)check_field_integer(L, index, "min_replicas"),
      .max = (uint32_t)check_field_integer(L, index, "max_replicas"),
      .cold_start = {.request = check_delay(L, index, "request_delay_us"),
                     .provisioning = check_delay(L, index, "provisioning_delay_us"),
                     .loading = check_delay(L, index, "loading_delay_us"),
                     .warming = check_delay(L, index, "warmup_duration_us"),
                     .warming_factor = opt_field_number(L, index, "warmup_factor", 0),
                     .failure = check_field_number(L, index, "start_failure"),
                     .retries = check_field_integer(L, index, "start_retries")},
      .actuation = check_delay(L, index, "actuation_delay_us"),
      .stop = (blis_stop)check_field_choice(L, index, "drain", stops),
      .grace_us = opt_field_integer(L, index, "grace_us", BLIS_TIME_NEVER_US),
      .victim = (blis_scale_victim)check_field_choice(L, index, "victim", victims),
      .oscillation_us = check_field_integer(L, index, "oscillation_us"),
      .ttft_target_us = check_field_integer(L, index, "ttft_target_us"),
      .tpot_target_us = check_field_integer(L, index, "tpot_target_us"),
      .e2e_target_us = check_field_integer(L, index, "e2e_target_us"),
      .trigger_queue_depth = opt_field_integer(L, index, "trigger_queue_depth", 0),
      .trigger_slo_attainment = check_field_number(L, index, "trigger_slo_attainment"),
      .trigger_gap_us = check_field_integer(L, index, "trigger_gap_us"),
      .initial_ones_load = !opt_field_boolean(L, index, "warm_start", true),
      .seed = sim->seed};
}

static blis_node_pool check_node_pool(lua_State *L, int index) {
  return (blis_node_pool){.name = check_field_string(L, index, "name"),
                          .gpu = check_field_string(L, index, "gpu"),
                          .gpus_per_node = (uint32_t)check_field_integer(L, index, "gpus_per_node"),
                          .nodes = (uint32_t)check_field_integer(L, index, "nodes"),
                          .max_nodes = (uint32_t)check_field_integer(L, index, "max_nodes"),
                          .provisioning = check_delay(L, index, "provisioning_delay_us"),
                          .cost_per_hour = opt_field_number(L, index, "cost_per_hour", -1),
                          .gpu_price_per_hour =
                              opt_field_number(L, index, "gpu_price_per_hour", -1)};
}

/* Sets the node pools from the table at index `scaling`. */
static void check_set_node_pools(lua_State *L, int scaling, const bind_simulation *sim) {
  if (lua_getfield(L, scaling, "node_pools") == LUA_TNIL) {
    return;
  }
  int list = lua_gettop(L);
  size_t count = lua_rawlen(L, list);
  blis_node_pool *pools = push_buffer(L, count, sizeof *pools);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    pools[i] = check_node_pool(L, lua_gettop(L));
  }
  const blis_node_pools_config config = {.pools = pools,
                                         .count = count,
                                         .rules = check_profile(L, scaling)->node_pools,
                                         .seed = sim->seed};
  blis_error error = {0};
  check_status(L, blis_cluster_set_node_pools(sim->cluster, &config, &error), &error);
}

static void check_set_own_loop(lua_State *L, int scaling, blis_autoscaler *policy,
                               const bind_simulation *sim) {
  const blis_go_blis_scaling_config config = {
      .interval_us = policy->interval_us,
      .actuation = check_delay(L, scaling, "actuation_delay_us"),
      .loading = check_delay(L, scaling, "loading_delay_us"),
      .initial_ones_load = !opt_field_boolean(L, scaling, "warm_start", true),
      .seed = sim->seed};
  blis_error error = {0};
  check_status(L, blis_cluster_set_go_blis_autoscaler(sim->cluster, policy, &config, &error),
               &error);
}

static void check_set_usual(lua_State *L, int scaling, blis_autoscaler *policy,
                            const bind_simulation *sim) {
  blis_scaling_config config = check_config(L, scaling, sim);
  if ((policy->needs & BLIS_SCALE_NEEDS_FUTURE) != 0) {
    config.future = &sim->future.future;
  }
  blis_error error = {0};
  check_status(L, blis_cluster_set_autoscaler(sim->cluster, policy, &config, &error), &error);
}

void check_set_scaling(lua_State *L, int config, bind_simulation *sim) {
  int top = lua_gettop(L);
  if (push_scaling(L, config)) {
    bool has_own_loop = check_profile(L, top + 1)->has_own_scaling_loop;
    check_set_node_pools(L, top + 1, sim);
    for (int k = 0; k < SIMULATION_SCALED_POOLS; k++) {
      if (push_pool(L, top + 1, k + 1)) {
        (has_own_loop ? check_set_own_loop : check_set_usual)(L, lua_gettop(L),
                                                              &sim->autoscalers[k], sim);
      }
    }
  }
  lua_settop(L, top);
}

/* Pushes the scaling events. */

static void push_events(lua_State *L, const blis_scaling_report *report) {
  lua_createtable(L, (int)report->event_count, 0);
  for (size_t i = 0; i < report->event_count; i++) {
    const blis_scale_event *event = &report->events[i];
    lua_createtable(L, 0, 7);
    set_field_integer(L, "time_us", event->time_us);
    set_field_integer(L, "from", event->from);
    set_field_integer(L, "to", event->to);
    set_field_integer(L, "proposed", event->proposed);
    lua_pushboolean(L, event->is_oscillation);
    lua_setfield(L, -2, "is_oscillation");
    set_field_string(L, "trigger", blis_scale_cause_name(event->cause));
    set_field_string(L, "reason", event->reason);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_levels(lua_State *L, const blis_scaling_report *report) {
  lua_createtable(L, (int)report->level_count, 0);
  for (size_t i = 0; i < report->level_count; i++) {
    const blis_scale_level *level = &report->levels[i];
    lua_createtable(L, 0, 4);
    set_field_integer(L, "time_us", level->time_us);
    set_field_integer(L, "wanted", level->wanted);
    set_field_integer(L, "ready", level->ready);
    set_field_integer(L, "paid", level->paid);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes the microseconds that all instances have spent in each state. */
static void push_states(lua_State *L, const blis_cluster *cluster, int64_t end_us) {
  lua_createtable(L, 0, BLIS_SERVICE_COUNT);
  for (int s = 0; s < BLIS_SERVICE_COUNT; s++) {
    int64_t spent_us = 0;
    for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
      spent_us += blis_cluster_place_in_unit(cluster, i) == 0
                      ? blis_cluster_instance_time_us(cluster, i, (blis_service)s, end_us)
                      : 0;
    }
    if (s != BLIS_SERVICE_ABSENT && s != BLIS_SERVICE_DRAINED) {
      set_field_number(L, blis_service_name((blis_service)s), (double)spent_us / 1e6);
    }
  }
}

static void push_node_pools(lua_State *L, const blis_cluster *cluster) {
  size_t count = blis_cluster_node_pool_count(cluster);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    blis_node_pool_use use = blis_cluster_node_pool_use(cluster, i);
    lua_createtable(L, 0, 6);
    set_field_string(L, "name", use.name);
    set_field_string(L, "gpu", use.gpu);
    set_field_integer(L, "nodes", use.nodes);
    set_field_integer(L, "most_nodes", use.most_nodes);
    set_field_integer(L, "gpus", use.gpus);
    set_field_integer(L, "used", use.used);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Returns the paid time. The ranks of a group are paid together, so they count once. */
static int64_t paid_us_of(const blis_cluster *cluster, int64_t end_us) {
  int64_t paid_us = 0;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    paid_us += blis_cluster_place_in_unit(cluster, i) == 0
                   ? blis_cluster_instance_paid_us(cluster, i, end_us)
                   : 0;
  }
  return paid_us;
}

/* Sets the decisions for a pool in the table on top of the stack. */
static void set_pool(lua_State *L, const blis_scaling_report *report) {
  set_field_integer(L, "checks", report->checks);
  set_field_integer(L, "triggered", report->triggered);
  set_field_integer(L, "scale_ups", report->scale_ups);
  set_field_integer(L, "scale_downs", report->scale_downs);
  set_field_integer(L, "clamped", report->clamped);
  set_field_integer(L, "oscillations", report->oscillations);
  set_field_integer(L, "started", report->started);
  set_field_integer(L, "failed_starts", report->failed_starts);
  if (report->off != NULL) {
    set_field_string(L, "off", report->off);
  }
  push_events(L, report);
  lua_setfield(L, -2, "events");
  push_levels(L, report);
  lua_setfield(L, -2, "levels");
}

/* Pushes the pools of the stages, by name. */
static void push_pools(lua_State *L, const blis_cluster *cluster) {
  static const char *const names[] = {"all", "prefill", "decode"};
  blis_scaling_report report;
  lua_createtable(L, 0, 2);
  for (size_t k = 0; blis_cluster_get_scaling(cluster, k, &report); k++) {
    lua_createtable(L, 0, 10);
    set_pool(L, &report);
    lua_setfield(L, -2, names[report.role]);
  }
}

/* Sets the number of instances over time without an autoscaler. If a market may reclaim instances,
   they are counted until the last request has ended, with any outcome. */
static void set_present(lua_State *L, const bind_simulation *sim, int64_t duration_us) {
  blis_market_times times;
  if (!blis_cluster_get_market_times(sim->cluster, duration_us, &times)) {
    set_paid(L, sim, duration_us, false);
    return;
  }
  set_paid(L, sim, times.span_us, true);
  lua_createtable(L, 0, 4);
  set_field_integer(L, "span_us", times.span_us);
  set_field_integer(L, "wanted", times.wanted);
  set_field_integer(L, "full_us", times.full_us);
  set_field_integer(L, "serving_us", times.serving_us);
  lua_setfield(L, -2, "market");
}

void set_scaling(lua_State *L, const bind_simulation *sim, int64_t duration_us) {
  const blis_cluster *cluster = sim->cluster;
  blis_scaling_report report;
  if (!blis_cluster_get_scaling(cluster, 0, &report)) {
    set_present(L, sim, duration_us);
    return;
  }
  set_paid(L, sim, report.end_us, true);
  lua_createtable(L, 0, 20);
  set_field_integer(L, "end_us", report.end_us);
  set_field_number(L, "replica_seconds", (double)paid_us_of(cluster, report.end_us) / 1e6);
  set_field_integer(L, "waited", report.waited);
  set_field_integer(L, "most_waiting", report.most_waiting);
  set_field_number(L, "waited_mean_ms",
                   report.waited == 0 ? 0 : (double)report.waited_us / (double)report.waited / 1e3);
  set_field_number(L, "waited_max_ms", (double)report.longest_us / 1e3);
  push_states(L, cluster, report.end_us);
  lua_setfield(L, -2, "state_seconds");
  if (blis_cluster_node_pool_count(cluster) > 0) {
    push_node_pools(L, cluster);
    lua_setfield(L, -2, "node_pools");
  }
  if (report.role == BLIS_SCALE_BOTH) {
    set_pool(L, &report);
  } else {
    push_pools(L, cluster);
    lua_setfield(L, -2, "pools");
  }
  lua_setfield(L, -2, "scaling");
}
