#include "lua/policies/queue/gateway.h"

#include <string.h>

#include "cluster/gateway/gateway.h"
#include "lua/bind/bind.h"
#include "lua/bind/profile.h"
#include "lua/policies/queue/flow_function.h"
#include "lua/policies/queue/queue_hook.h"

static void check_policies(lua_State *L, int index, bind_view *view,
                           const blis_policy_context *context, blis_gateway *made) {
  int top = lua_gettop(L);
  lua_getfield(L, index, "saturation");
  check_saturation(L, top + 1, view->hooks, context, &made->saturation);
  lua_getfield(L, index, "usage_limit");
  check_usage_limit(L, top + 2, view->hooks, context, &made->usage_limit);
  lua_settop(L, top);
}

/* Reads the functions of the script that replace built-in decisions. */
static void check_hooks(lua_State *L, int index, bind_view *view,
                        const blis_policy_context *context, blis_gateway *made) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "fairness_policy") != LUA_TNIL) {
    check_fairness_hook(L, top + 1, view, context, &made->flow_hook);
    made->fairness = BLIS_FLOW_CHOSEN;
  }
  if (lua_getfield(L, index, "order_policy") != LUA_TNIL) {
    check_order_hook(L, top + 2, view, context, &made->order_hook);
    made->order = BLIS_GATEWAY_SCRIPTED;
  }
  if (lua_getfield(L, index, "band_policy") != LUA_TNIL) {
    check_band_hook(L, top + 3, view, context, &made->band_hook);
  }
  lua_settop(L, top);
}

/* Reads the targets. The table keeps their buffer alive. */
static void check_targets(lua_State *L, int index, blis_gateway *made) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "slo_targets") != LUA_TTABLE) {
    return;
  }
  made->target_count = (size_t)lua_rawlen(L, top + 1);
  blis_gateway_target *targets = push_buffer(L, made->target_count + 1, sizeof *targets);
  for (size_t i = 0; i < made->target_count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    targets[i].slo_class = check_field_string(L, top + 3, "name");
    targets[i].target_us = check_field_integer(L, top + 3, "value");
    lua_settop(L, top + 2);
  }
  made->targets = targets;
  lua_setfield(L, index, "targets_buffer");
  lua_settop(L, top);
}

/* Reads bands with separate limits. */
static void check_bands(lua_State *L, int index, blis_gateway *made) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "bands") != LUA_TTABLE) {
    lua_settop(L, top);
    return;
  }
  size_t count = (size_t)lua_rawlen(L, top + 1);
  blis_flow_band_limits *bands = push_buffer(L, count + 1, sizeof *bands);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    bands[i] =
        (blis_flow_band_limits){.priority = (int32_t)check_field_integer(L, top + 3, "priority"),
                                .max_requests = check_field_integer(L, top + 3, "max_requests"),
                                .max_bytes = check_field_integer(L, top + 3, "max_bytes")};
    lua_settop(L, top + 2);
  }
  made->limits.bands = bands;
  made->limits.band_count = count;
  lua_setfield(L, index, "bands_buffer");
  lua_settop(L, top);
}

static blis_flow_fairness check_fairness(lua_State *L, int index,
                                         const bind_gateway_variants *variants) {
  static const char *const names[] = {"global-strict", "round-robin", "least-service", NULL};
  const blis_flow_fairness values[] = {variants->strict, BLIS_FLOW_ROUND_ROBIN,
                                       BLIS_FLOW_LEAST_SERVICE};
  return values[check_field_choice(L, index, "fairness", names)];
}

static blis_gateway_order check_order(lua_State *L, int index,
                                      const bind_gateway_variants *variants) {
  static const char *const names[] = {"fifo", "priority", "edf", "slo-deadline", NULL};
  const blis_gateway_order values[] = {BLIS_GATEWAY_FIFO, BLIS_GATEWAY_FIFO, BLIS_GATEWAY_EDF,
                                       variants->deadline};
  return values[check_field_choice(L, index, "order", names)];
}

void check_gateway(lua_State *L, int index, bind_view *view, const blis_policy_context *context,
                   blis_gateway *made) {
  static const char *const dispatches[] = {"cycle", "tick", "event", NULL};
  const bind_gateway_variants *variants = &check_profile(L, index)->gateway;
  made->dispatch = (blis_gateway_dispatch)check_field_choice(L, index, "dispatch", dispatches);
  made->order = check_order(L, index, variants);
  made->fairness = check_fairness(L, index, variants);
  made->service =
      (blis_flow_service_rules){.service_weight = check_field_number(L, index, "service_weight"),
                                .wait_weight = check_field_number(L, index, "wait_weight"),
                                .half_life_s = check_field_number(L, index, "service_half_life_s")};
  made->limits =
      (blis_flow_limits){.max_requests = check_field_integer(L, index, "max_requests"),
                         .max_bytes = check_field_integer(L, index, "max_bytes"),
                         .band_max_requests = check_field_integer(L, index, "band_max_requests"),
                         .band_max_bytes = check_field_integer(L, index, "band_max_bytes"),
                         .sheds = opt_field_boolean(L, index, "sheds", false)};
  made->cycle_us = check_field_integer(L, index, "cycle_us");
  made->ttl_us = check_field_integer(L, index, "ttl_us");
  made->empty_ttl_us = check_field_integer(L, index, "no_endpoint_ttl_us");
  made->sweep_us = check_field_integer(L, index, "sweep_us");
  made->forget_bands_us = check_field_integer(L, index, "forget_bands_us");
  if (opt_field_boolean(L, index, "eviction", false)) {
    made->eviction = variants->eviction;
  }
  made->by_stage = !variants->joins_stages;
  check_policies(L, index, view, context, made);
  check_hooks(L, index, view, context, made);
  check_targets(L, index, made);
  check_bands(L, index, made);
}
