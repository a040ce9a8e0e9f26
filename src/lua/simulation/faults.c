#include "lua/simulation/faults.h"

#include "base/time.h"
#include "cluster/faults/fault_plan.h"
#include "cluster/faults/presence.h"
#include "lua/bind/bind.h"

/* Reads the option `requests`; returns the default if it is not set. */
static blis_loss check_loss(lua_State *L, int index) {
  static const char *const kinds[] = {"usual", "failed", "rerouted", "retried", NULL};
  return (blis_loss){.kind = (blis_loss_kind)check_field_choice(L, index, "requests", kinds),
                     .pause_us = opt_field_integer(L, index, "retry_us", 0)};
}

static blis_fault_effect check_effect(lua_State *L, int index) {
  static const char *const kinds[] = {"crash",   "hang",  "slow",       "partition",
                                      "reclaim", "stale", "lost-cache", NULL};
  return (blis_fault_effect){.kind = (blis_fault_kind)check_field_choice(L, index, "kind", kinds),
                             .recover_us =
                                 opt_field_integer(L, index, "recover_us", BLIS_TIME_NEVER_US),
                             .recovering_us = opt_field_integer(L, index, "recovering_us", 0),
                             .factor = opt_field_number(L, index, "factor", 1),
                             .notice_us = opt_field_integer(L, index, "notice_us", 0),
                             .gives_back = opt_field_boolean(L, index, "gives_back", false),
                             .period_us = opt_field_integer(L, index, "period_us", 1),
                             .loss = check_loss(L, index)};
}

static void check_declared(lua_State *L, int list, blis_fault *faults, size_t count) {
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int fault = lua_gettop(L);
    faults[i] = (blis_fault){.at_us = check_field_integer(L, fault, "at_us"),
                             .instance = (uint32_t)check_field_integer(L, fault, "instance"),
                             .is_absence = opt_field_boolean(L, fault, "is_absence", false),
                             .effect = check_effect(L, fault)};
    lua_pop(L, 1);
  }
}

static void check_random(lua_State *L, int list, blis_random_fault *faults, size_t count,
                         int64_t seed) {
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int fault = lua_gettop(L);
    faults[i] = (blis_random_fault){.mtbf_us = check_field_number(L, fault, "mtbf_us"),
                                    .instance = opt_field_integer(L, fault, "instance", -1),
                                    .seed = opt_field_integer(L, fault, "seed", seed),
                                    .effect = check_effect(L, fault)};
    lua_pop(L, 1);
  }
}

/* Reads the list of groups that a spot market may reclaim, from the faults at index. */
static void check_set_markets(lua_State *L, int index, const bind_simulation *sim) {
  if (lua_getfield(L, index, "markets") == LUA_TNIL) {
    return;
  }
  int list = lua_gettop(L);
  blis_error error = {0};
  for (lua_Unsigned i = 1; i <= lua_rawlen(L, list); i++) {
    lua_rawgeti(L, list, (lua_Integer)i);
    uint32_t group = (uint32_t)luaL_checkinteger(L, -1);
    check_status(L, blis_cluster_set_market(sim->cluster, group, &error), &error);
    lua_pop(L, 1);
  }
}

void check_set_faults(lua_State *L, int config, const bind_simulation *sim) {
  int top = lua_gettop(L);
  if (lua_getfield(L, config, "faults") == LUA_TNIL) {
    lua_settop(L, top);
    return;
  }
  lua_getfield(L, top + 1, "declared");
  int list = lua_gettop(L);
  size_t count = lua_rawlen(L, list);
  blis_fault *faults = push_buffer(L, count, sizeof *faults);
  check_declared(L, list, faults, count);
  lua_getfield(L, top + 1, "random");
  list = lua_gettop(L);
  size_t random_count = lua_rawlen(L, list);
  blis_random_fault *random = push_buffer(L, random_count, sizeof *random);
  check_random(L, list, random, random_count, sim->seed);
  blis_error error = {0};
  check_status(L,
               blis_cluster_set_faults(sim->cluster, faults, count, random, random_count, &error),
               &error);
  check_set_markets(L, top + 1, sim);
  lua_settop(L, top);
}

typedef struct fault_list {
  const blis_fault *faults;
  size_t count;
} fault_list;

static blis_status add_faults(void *ud, blis_cluster *cluster, blis_error *error) {
  const fault_list *list = ud;
  return blis_cluster_add_faults(cluster, list->faults, list->count, error);
}

int bind_add_faults(lua_State *L) {
  enum { SIMULATION = 1, LIST };
  luaL_checktype(L, LIST, LUA_TTABLE);
  lua_settop(L, LIST);
  fault_list list = {.count = lua_rawlen(L, LIST)};
  blis_fault *faults = push_buffer(L, list.count, sizeof *faults);
  check_declared(L, LIST, faults, list.count);
  list.faults = faults;
  check_change(L, SIMULATION, add_faults, &list);
  return 0;
}

/* Sets instance_counts of the table on top of the stack. */
static void set_presence(lua_State *L, const bind_simulation *sim) {
  size_t count = 0;
  const blis_presence_level *levels = NULL;
  if (!blis_cluster_get_presence(sim->cluster, &levels, &count)) {
    return;
  }
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 4);
    set_field_integer(L, "time_us", levels[i].time_us);
    set_field_integer(L, "serving", levels[i].serving);
    set_field_integer(L, "leaving", levels[i].leaving);
    set_field_integer(L, "starting", levels[i].starting);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instance_counts");
}

void set_faults(lua_State *L, const bind_simulation *sim) {
  size_t count = 0;
  const blis_fault_note *notes = NULL;
  if (!blis_cluster_get_faults(sim->cluster, &notes, &count)) {
    return;
  }
  blis_cluster_counts counts;
  blis_cluster_get_counts(sim->cluster, &counts);
  set_field_integer(L, "rerouted", counts.rerouted);
  set_field_integer(L, "retried", counts.retried);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const blis_fault_note *note = &notes[i];
    lua_createtable(L, 0, 10);
    set_field_integer(L, "time_us", note->time_us);
    push_instance_id(L, note->instance, sim->records->id_digits);
    lua_setfield(L, -2, "instance");
    set_field_string(L, "kind", blis_fault_kind_name(note->kind));
    lua_pushboolean(L, note->is_missed);
    lua_setfield(L, -2, "is_missed");
    if (note->recover_us != BLIS_TIME_NEVER_US && note->kind != BLIS_FAULT_LOST_CACHE) {
      set_field_integer(L, "recover_us", note->recover_us);
    }
    if (note->factor > 0) {
      set_field_number(L, "factor", note->factor);
    }
    set_field_integer(L, "lost", note->lost);
    set_field_integer(L, "rerouted", note->rerouted);
    set_field_integer(L, "retried", note->retried);
    set_field_integer(L, "recomputed_tokens", note->recomputed_tokens);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "faults");
  set_presence(L, sim);
}
