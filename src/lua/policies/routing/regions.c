#include "lua/policies/routing/regions.h"

#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/closed.h"
#include "lua/policies/view/decision.h"

static const char *const rules[] = {"nearest", "least-cost", "weighted",
                                    "prefix",  "function",   NULL};

typedef struct region_functions {
  bind_decider origin; /* function = 0 = none */
  bind_decider choose;
  const blis_region *items;
  uint32_t count;
} region_functions;

typedef struct region_call {
  const region_functions *self;
  const blis_region_look *looks;
  uint32_t count;
  uint32_t *result;
} region_call;

/* Returns the string at index; raises if the value is not one. */
static const char *check_name(lua_State *L, int index, const char *expected) {
  if (lua_type(L, index) != LUA_TSTRING) {
    luaL_error(L, "it returned %s, expected %s", push_what(L, index), expected);
  }
  return lua_tostring(L, index);
}

static int call_origin(lua_State *L, void *ud) {
  const region_call *call = ud;
  lua_call(L, 1, 1);
  const char *name = check_name(L, lua_gettop(L), "the name of a region");
  for (uint32_t r = 0; r < call->self->count; r++) {
    if (strcmp(call->self->items[r].name, name) == 0) {
      *call->result = r;
      return 0;
    }
  }
  return luaL_error(L, "it returned '%s', which is no region", name);
}

static const char *const look_names[] = {"name",          "rtt_ms",  "in_flight", "instances",
                                         "cost_per_hour", "is_full", NULL};
static const bind_closed of_look = {"blis.RegionLook", "a region", look_names,
                                    "'blis help RegionLook' lists the fields", NULL};

static void push_looks(lua_State *L, const region_call *call) {
  lua_createtable(L, (int)call->count, 0);
  for (uint32_t i = 0; i < call->count; i++) {
    const blis_region_look *look = &call->looks[i];
    lua_createtable(L, 0, 6);
    set_field_string(L, "name", look->name);
    set_field_number(L, "rtt_ms", (double)look->rtt_us / 1000);
    set_field_integer(L, "in_flight", look->in_flight);
    set_field_integer(L, "instances", look->instances);
    set_field_number(L, "cost_per_hour", look->cost_per_hour);
    lua_pushboolean(L, look->is_full);
    lua_setfield(L, -2, "is_full");
    close_table(L, &of_look);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static int call_choose(lua_State *L, void *ud) {
  const region_call *call = ud;
  push_looks(L, call);
  lua_call(L, 2, 1);
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "name");
  }
  const char *name = check_name(L, lua_gettop(L), "one of the regions, or its name");
  for (uint32_t i = 0; i < call->count; i++) {
    if (strcmp(call->looks[i].name, name) == 0) {
      *call->result = i;
      return 0;
    }
  }
  return luaL_error(L, "it returned '%s', which is not among the regions of this request", name);
}

static blis_status find_origin(void *ud, const blis_routing_request *request, int64_t now_us,
                               uint32_t *origin, blis_error *error) {
  const region_functions *self = ud;
  region_call call = {.self = self, .result = origin};
  const blis_routing_view nobody = {.now_us = now_us};
  return bind_decide(&self->origin, request, &nobody, call_origin, &call, error);
}

static blis_status choose(void *ud, const blis_routing_request *request, int64_t now_us,
                          const blis_region_look *looks, uint32_t count, uint32_t *chosen,
                          blis_error *error) {
  const region_functions *self = ud;
  region_call call = {.self = self, .looks = looks, .count = count, .result = chosen};
  const blis_routing_view nobody = {.now_us = now_us};
  return bind_decide(&self->choose, request, &nobody, call_choose, &call, error);
}

/* Returns the function in a field as a decider without a function if the field is nil. */
static bind_decider function_of(lua_State *L, int index, bind_view *view, const char *field,
                                const char *kind) {
  bind_decider made = {.view = view, .kind = kind};
  made.function = push_hook_field(L, index, field, view->hooks);
  return made;
}

static void check_functions(lua_State *L, int index, bind_view *view, blis_regions *made) {
  region_functions *self = push_buffer(L, 1, sizeof *self);
  push_hook_function(L, view->hooks);
  *self = (region_functions){.origin = function_of(L, index, view, "origin", "origin of a request"),
                             .choose = function_of(L, index, view, "choose", "choice of a region"),
                             .items = made->items,
                             .count = made->count};
  made->functions =
      (blis_region_functions){.ud = self,
                              .origin = self->origin.function != 0 ? find_origin : NULL,
                              .choose = self->choose.function != 0 ? choose : NULL};
}

/* Fills the regions. The buffer of them belongs to the anchor, since functions refer to it. */
static void check_items(lua_State *L, int index, bind_view *view, blis_regions *made) {
  int top = lua_gettop(L);
  lua_getfield(L, index, "list");
  made->count = (uint32_t)lua_rawlen(L, -1);
  blis_region *items = push_buffer(L, made->count, sizeof *items);
  push_hook_function(L, view->hooks);
  int64_t *rtt_us = push_buffer(L, (size_t)made->count * made->count, sizeof *rtt_us);
  lua_insert(L, top + 1);
  for (uint32_t r = 0; r < made->count; r++) {
    lua_rawgeti(L, top + 2, (lua_Integer)r + 1);
    items[r] = (blis_region){.name = check_field_string(L, -1, "name"),
                             .weight = check_field_number(L, -1, "weight"),
                             .egress_usd_per_gb = check_field_number(L, -1, "egress_usd_per_gb"),
                             .may_serve_in = (uint64_t)check_field_integer(L, -1, "may_serve_in")};
    lua_getfield(L, -1, "rtt_us");
    for (uint32_t k = 0; k < made->count; k++) {
      lua_rawgeti(L, -1, (lua_Integer)k + 1);
      rtt_us[(size_t)r * made->count + k] = luaL_checkinteger(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
  made->items = items;
  made->rtt_us = rtt_us;
  lua_settop(L, top + 1);
}

static void check_groups_of_regions(lua_State *L, int index, blis_regions *made) {
  lua_getfield(L, index, "of_group");
  size_t count = lua_rawlen(L, -1);
  uint32_t *of_group = push_buffer(L, count, sizeof *of_group);
  for (size_t g = 0; g < count; g++) {
    lua_rawgeti(L, -2, (lua_Integer)g + 1);
    of_group[g] = (uint32_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  made->of_group = of_group;
}

void check_regions(lua_State *L, int index, bind_view *view, blis_regions *made) {
  *made = (blis_regions){
      .rule = (blis_region_rule)check_field_choice(L, index, "rule", rules),
      .origin_is_client = opt_field_boolean(L, index, "origin_is_client", false),
      .default_origin = (int32_t)opt_field_integer(L, index, "default_origin", -1),
      .spill_above = opt_field_number(L, index, "spill_above", 0),
      .max_hops = (uint32_t)check_field_integer(L, index, "max_hops"),
      .handshakes = (uint32_t)check_field_integer(L, index, "handshakes"),
      .bytes_per_prompt_token = check_field_number(L, index, "bytes_per_prompt_token"),
      .bytes_per_output_token = check_field_number(L, index, "bytes_per_output_token"),
      .health_interval_us = check_field_integer(L, index, "health_interval_us"),
      .unhealthy_after = check_field_integer(L, index, "unhealthy_after"),
      .dns_ttl_us = check_field_integer(L, index, "dns_ttl_us")};
  check_items(L, index, view, made);
  check_groups_of_regions(L, index, made);
  check_functions(L, index, view, made);
}
