#include "lua/engine/groups.h"

#include <math.h>

#include "lua/bind/bind.h"

void check_groups(lua_State *L, int index, int owner, int value, bind_groups *groups) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "groups") != LUA_TNIL) {
    luaL_checktype(L, top + 1, LUA_TTABLE);
    uint32_t count = (uint32_t)lua_rawlen(L, top + 1);
    groups->others = push_buffer(L, count, sizeof *groups->others);
    lua_setiuservalue(L, owner, value); /* before any resource is acquired */
    for (uint32_t i = 1; i < count; i++) {
      lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
      groups->other_count = i;
      check_engine(L, top + 2, &groups->others[i - 1]);
      lua_pop(L, 1);
    }
  }
  lua_settop(L, top);
}

void bind_groups_close(bind_groups *groups) {
  for (uint32_t i = 0; i < groups->other_count; i++) {
    bind_engine_close(&groups->others[i]);
  }
  groups->other_count = 0;
}

static const bind_engine *engine_at(const bind_engine *first, const bind_groups *groups,
                                    uint32_t group) {
  return group == 0 ? first : &groups->others[group - 1];
}

static blis_instance_config config_of(const bind_engine *engine, const bind_engine *first) {
  blis_instance_config config = engine->config;
  const blis_instance_config *whole = &first->config;
  config.horizon_us = whole->horizon_us;
  config.scheduler = whole->scheduler;
  config.goes_before = whole->goes_before;
  config.goes_before_ud = whole->goes_before_ud;
  config.make_batch = whole->make_batch;
  config.request_queued = whole->request_queued;
  config.preemption = whole->preemption;
  config.choose_victim = whole->choose_victim;
  config.choose_victim_ud = whole->choose_victim_ud;
  config.engine = whole->engine;
  config.adapters = whole->adapters;
  config.defects = whole->defects;
  return config;
}

/* Reads the facts in the options at index that cannot be derived from the engine. */
static blis_instance_facts facts_of(lua_State *L, int index, const bind_engine *engine) {
  double gpus = (double)engine->tp * (double)engine->dp;
  double cap = opt_field_number(L, index, "gpu_power_cap_watts", INFINITY);
  double watts = fmin(opt_field_number(L, index, "gpu_watts", 0), cap);
  double idle = fmin(opt_field_number(L, index, "gpu_idle_watts", 0), cap);
  return (blis_instance_facts){
      .model = opt_field_string(L, index, "serves"),
      .gpu = engine->hardware,
      .tp = engine->tp,
      .gpus = engine->tp * engine->dp,
      .cost_per_hour =
          opt_field_number(L, index, "cost_per_hour", engine->gpu_price_per_hour * gpus),
      .watts = opt_field_number(L, index, "watts", watts * gpus),
      .idle_watts = idle * gpus,
      .capacity = opt_field_number(L, index, "capacity", 1),
      .roles = (uint32_t)opt_field_integer(L, index, "roles", 0),
      .kv_bytes_per_token = engine->kv_bytes_per_token,
      .fixed_kv = engine->fixed_kv,
      .nic_bytes_per_us = opt_field_number(L, index, "nic_gb_s", 0) * 1000};
}

void check_instances(lua_State *L, int index, const bind_engine *first, const bind_groups *groups,
                     blis_instance_config *instances, blis_instance_facts *facts,
                     uint32_t instance_count) {
  int top = lua_gettop(L);
  bool has_groups = lua_getfield(L, index, "groups") != LUA_TNIL;
  uint32_t made = 0;
  for (uint32_t g = 0; g <= groups->other_count; g++) {
    const bind_engine *engine = engine_at(first, groups, g);
    if (has_groups) {
      lua_rawgeti(L, top + 1, (lua_Integer)g + 1);
    } else {
      lua_pushvalue(L, index);
    }
    int64_t count = check_field_integer(L, top + 2, "instances");
    blis_instance_facts known = facts_of(L, top + 2, engine);
    known.group = g;
    for (int64_t i = 0; i < count && made < instance_count; i++) {
      instances[made] = config_of(engine, first);
      facts[made++] = known;
    }
    lua_pop(L, 1);
  }
  for (; made < instance_count; made++) { /* reserved for more instances of the same kind */
    instances[made] = instances[made - 1];
    facts[made] = facts[made - 1];
  }
  lua_settop(L, top);
}

void push_group_facts(lua_State *L, int index, const bind_engine *first,
                      const bind_groups *groups) {
  if (lua_getfield(L, index, "groups") == LUA_TNIL) {
    return;
  }
  int list = lua_gettop(L);
  lua_createtable(L, (int)groups->other_count + 1, 0);
  for (uint32_t g = 0; g <= groups->other_count; g++) {
    push_engine_facts(L, engine_at(first, groups, g));
    lua_rawgeti(L, list, (lua_Integer)g + 1);
    lua_getfield(L, -1, "instances");
    lua_setfield(L, -3, "instances");
    lua_getfield(L, -1, "role");
    lua_setfield(L, -3, "role");
    lua_pop(L, 1);
    lua_rawseti(L, -2, (lua_Integer)g + 1);
  }
  lua_remove(L, list);
}
