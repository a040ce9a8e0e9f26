#include "lua/simulation/simulation.h"

#include "cluster/gateway/gateway.h"
#include "lua/bind/bind.h"

bind_simulation *check_any_simulation(lua_State *L, int index) {
  return luaL_checkudata(L, index, SIMULATION_TYPE);
}

bind_simulation *check_simulation(lua_State *L, int index) {
  bind_simulation *sim = check_any_simulation(L, index);
  luaL_argcheck(L, sim->cluster != NULL, index, "the simulation is closed");
  return sim;
}

/* Closes the histograms of instances. */
static void close_instance_times(bind_simulation *sim) {
  if (sim->itl_of_instance_us == NULL) {
    return;
  }
  for (uint32_t i = 0; i < sim->instance_count; i++) {
    blis_histogram_deinit(&sim->itl_of_instance_us[i]);
  }
  blis_alloc_free(&sim->itl_us.alloc, sim->itl_of_instance_us,
                  sim->instance_count * sizeof *sim->itl_of_instance_us);
  sim->itl_of_instance_us = NULL;
}

void bind_simulation_close(bind_simulation *sim) {
  blis_cluster_free(sim->cluster);
  sim->cluster = NULL;
  blis_series_deinit(&sim->series);
  blis_step_log_deinit(&sim->steps);
  blis_load_log_deinit(&sim->loads);
  blis_visit_log_deinit(&sim->visits);
  bind_watch_close(&sim->watch);
  blis_router_free(&sim->router);
  blis_admission_free(&sim->admission);
  blis_cascade_free(&sim->cascade);
  bind_future_close(&sim->future);
  for (int k = 0; k < SIMULATION_SCALED_POOLS; k++) {
    blis_autoscaler_free(&sim->autoscalers[k]);
  }
  blis_router_free(&sim->apart.prefill);
  blis_decider_free(&sim->apart.decider);
  blis_router_free(&sim->encode.router);
  blis_gateway_free(&sim->gateway);
  blis_priority_free(&sim->priority);
  if (sim->itl_us.alloc.fn != NULL) {
    close_instance_times(sim);
    blis_histogram_deinit(&sim->itl_us);
  }
  bind_engine_close(&sim->engine);
  bind_groups_close(&sim->groups);
}

int bind_simulation_raise_failure(lua_State *L, int self) {
  lua_getiuservalue(L, self, SIMULATION_ANCHOR);
  lua_rawgeti(L, -1, ANCHOR_ERROR);
  return lua_error(L);
}

/* Opens the hooks of the simulation at index, which has not failed. */
static void check_open(lua_State *L, int index, bind_simulation *sim) {
  if (sim->has_failed) {
    bind_simulation_raise_failure(L, index);
  }
  lua_getiuservalue(L, index, SIMULATION_ANCHOR);
  check_hooks_open(L, &sim->hooks);
  sim->hooks.L = L;
  sim->random_before = bind_script_random_enter(L, &sim->script_random);
}

void check_shut(lua_State *L, int index, bind_simulation *sim, blis_status status,
                const blis_error *error) {
  bind_watch_rest(L, &sim->watch, status != BLIS_OK || sim->hooks.has_error);
  sim->hooks.L = NULL;
  bind_script_random_leave(L, sim->random_before);
  bind_hooks_shut(L, &sim->hooks);
  if (sim->hooks.has_error) { /* includes errors of hooks in which the core cannot fail */
    status = BLIS_ERR_POLICY;
  }
  if (status == BLIS_OK || status == BLIS_ERR_INTERRUPTED) {
    check_status(L, status, error);
    return;
  }
  sim->has_failed = true;
  if (!sim->hooks.has_error) {
    lua_getiuservalue(L, index, SIMULATION_ANCHOR);
    push_core_error(L, error);
    lua_rawseti(L, -2, ANCHOR_ERROR);
    lua_pop(L, 1);
  }
  bind_simulation_raise_failure(L, index);
}

bind_simulation *check_drivable(lua_State *L, const char *method) {
  bind_simulation *sim = check_simulation(L, 1);
  if (sim->hooks.L != NULL) {
    luaL_error(L,
               "sim:%s() is not re-entrant: it was called inside a hook of the "
               "same simulation",
               method);
  }
  check_open(L, 1, sim);
  return sim;
}

void check_change(lua_State *L, int index,
                  blis_status (*change)(void *ud, blis_cluster *cluster, blis_error *error),
                  void *ud) {
  bind_simulation *sim = check_simulation(L, index);
  luaL_argcheck(L, !sim->is_finished, 1, "the simulation is over");
  bool is_inside = sim->hooks.L != NULL;
  if (!is_inside) {
    check_open(L, index, sim);
  }
  blis_error error = {0};
  blis_status status = change(ud, sim->cluster, &error);
  bool is_refused = status == BLIS_ERR_INVALID;
  if (!is_inside) {
    check_shut(L, index, sim, is_refused ? BLIS_OK : status, &error);
  } else if (sim->hooks.has_error) {
    bind_simulation_raise_failure(L, index);
  }
  check_status(L, status, &error);
}
