#include "lua/policies/view/view.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nearest.h"
#include "lua/bind/bind.h"
#include "lua/policies/view/prefix_store.h"
#include "lua/policies/view/request.h"
#include "policy/contract/stages.h"

static bool has_signal(const bind_signal_list *list, blis_signal signal) {
  bool has = false;
  for (size_t i = 0; i < list->count; i++) {
    has |= list->items[i] == signal;
  }
  return has;
}

static void add_signal(bind_signal_list *list, blis_signal signal) {
  if (!has_signal(list, signal)) {
    list->items[list->count++] = signal;
  }
}

static const double *column_of(const blis_routing_view *shown, blis_signal signal) {
  const double *column = shown->columns[signal];
  return column == NULL && shown->column != NULL ? shown->column(shown->column_ud, signal) : column;
}

const double *bind_view_column(const bind_view *view, blis_signal signal) {
  return column_of(view->view, signal);
}

static const double *check_column_of(lua_State *L, const bind_view *view,
                                     const blis_routing_view *shown, blis_signal signal) {
  if ((BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_PROMPT) != 0 && view->is_strict) {
    luaL_error(L,
               "'%s' tells where prompts are cached, which locality = 'strict' "
               "hides from policies; with oracle = true they see it",
               blis_signal_name(signal));
  }
  if (signal == BLIS_SIGNAL_LIVE_PREFIX_HIT && view->hides_live) {
    luaL_error(L, "instance.live_prefix_hit has no signal delay; policies see it "
                  "only with live_signals = true in the experiment");
  }
  const double *column = column_of(shown, signal);
  if (column == NULL && shown->column == NULL) {
    luaL_error(L,
               "%s can be read only while a request is being admitted or "
               "routed",
               blis_signal_name(signal));
  }
  if (column == NULL) {
    luaL_error(L, "not enough memory for %s", blis_signal_name(signal));
  }
  return column;
}

const double *check_view_column(lua_State *L, const bind_view *view, blis_signal signal) {
  return check_column_of(L, view, view->view, signal);
}

/* Refreshes one field of the tables of the visible instances. */
static void refresh_field_of(lua_State *L, const bind_view *view, const blis_routing_view *shown,
                             int tables, blis_signal signal) {
  const double *column = check_column_of(L, view, shown, signal);
  const uint32_t *instances = shown->instances;
  const size_t count = shown->count;
  double *held = &view->instance_values[(size_t)signal * view->instance_count];
  lua_pushstring(L, blis_signal_name(signal));
  int name = lua_gettop(L);
  for (size_t i = 0; i < count; i++) {
    const uint32_t instance = instances[i];
    const double value = column[i];
    if (held[instance] != value) {
      lua_rawgeti(L, tables, (lua_Integer)instance + 1);
      lua_pushvalue(L, name);
      push_signal(L, value);
      lua_rawset(L, name + 1);
      lua_settop(L, name);
      held[instance] = value;
    }
  }
  lua_pop(L, 1);
}

static void refresh_field(lua_State *L, const bind_view *view, int tables, blis_signal signal) {
  refresh_field_of(L, view, view->view, tables, signal);
}

/* Returns whether the value at index is what push_signal would push. */
static bool is_signal(lua_State *L, int index, double value) {
  lua_Integer integer;
  bool is_integer = bind_signal_is_integer(value, &integer);
  return lua_type(L, index) == LUA_TNUMBER && (lua_isinteger(L, index) != 0) == is_integer &&
         lua_tonumberx(L, index, NULL) == value;
}

bool bind_view_holds(lua_State *L, const bind_view *view, int anchor, int name,
                     blis_signal signal) {
  const int top = lua_gettop(L);
  const double *held = &view->instance_values[(size_t)signal * view->instance_count];
  bool holds = has_signal(&view->instance_fields, signal);
  lua_rawgeti(L, anchor, ANCHOR_INSTANCES);
  for (uint32_t i = 0; holds && i < view->instance_count; i++) {
    if (!isnan(held[i])) { /* otherwise it is written before it is read */
      lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
      lua_pushvalue(L, name);
      lua_rawget(L, top + 2);
      holds = is_signal(L, top + 3, held[i]);
      lua_settop(L, top + 1);
    }
  }
  lua_settop(L, top);
  return holds;
}

/* Makes the next refresh write the field into every table. */
static void forget_field(bind_view *view, blis_signal signal) {
  double *held = &view->instance_values[(size_t)signal * view->instance_count];
  for (uint32_t i = 0; i < view->instance_count; i++) {
    held[i] = (double)NAN; /* differs from every value */
  }
}

static blis_signal check_signal(lua_State *L, int index, const char *owner) {
  const char *name =
      lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : luaL_tolstring(L, index, NULL);
  blis_signal signal = blis_signal_find(name);
  if (signal == BLIS_SIGNAL_COUNT) {
    blis_nearest nearest = {.wanted = name};
    for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
      blis_nearest_offer(&nearest, blis_signal_name((blis_signal)i));
    }
    blis_suggestion suggestion = blis_nearest_suggest_or(
        &nearest, "'blis help signals' lists its fields, such as queue_depth "
                  "and kv_utilization");
    luaL_error(L, "%s has no field '%s'%s", owner, name, suggestion.text);
  }
  return signal;
}

static bind_view *check_open_view(lua_State *L, const char *owner) {
  bind_view *view = lua_touserdata(L, lua_upvalueindex(1));
  if (view->view == NULL) {
    luaL_error(L, "%s can be read only during a decision", owner);
  }
  return view;
}

/* Handles the first read of a field, which makes every later decision refresh it. */
static int instance_index(lua_State *L) {
  blis_signal signal = check_signal(L, 2, "an instance");
  bind_view *view = check_open_view(L, "an instance");
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, -1, ANCHOR_INSTANCES);
  add_signal(&view->instance_fields, signal);
  forget_field(view, signal);
  refresh_field(L, view, lua_gettop(L), signal);
  if (view->peers != NULL) {
    refresh_field_of(L, view, view->peers, lua_gettop(L), signal);
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, 1) == LUA_TNIL) {
    return luaL_error(L, "this instance is not a candidate of this decision");
  }
  return 1;
}

static void point(const bind_view *view, blis_signal signal, const double *column) {
  bind_vector *vector = view->columns[signal];
  vector->items = column;
  vector->count = view->view->count;
  vector->decision = view->pool->decision;
}

static void check_and_point(lua_State *L, bind_view *view, blis_signal signal) {
  point(view, signal, check_view_column(L, view, signal));
}

bool bind_view_point_columns(const bind_view *view) {
  const bind_signal_list *fields = &view->column_fields;
  for (size_t i = 0; i < fields->count; i++) {
    const double *column = bind_view_column(view, fields->items[i]);
    if (column == NULL) {
      return false;
    }
    point(view, fields->items[i], column);
  }
  return true;
}

/* Handles the first use of a column. */
static int columns_index(lua_State *L) {
  bind_view *view = check_open_view(L, "a column");
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "count") == 0) {
    lua_pushinteger(L, (lua_Integer)view->view->count);
    return 1;
  }
  blis_signal signal = check_signal(L, 2, "the set of columns");
  bind_hooks_anchor(L, view->hooks);
  lua_rawgeti(L, -1, ANCHOR_VECTORS);
  if (lua_rawgeti(L, -1, signal + 1) == LUA_TNIL) {
    lua_pop(L, 1);
    bind_vector *vector = push_vector_view(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, signal + 1);
    view->columns[signal] = vector;
  } // [columns, name, anchor, vectors, vector]
  check_and_point(L, view, signal);
  add_signal(&view->column_fields, signal);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static int columns_newindex(lua_State *L) {
  return luaL_error(L, "columns are read-only");
}

static int columns_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_open_view(L, "a column")->view->count);
  return 1;
}

static const luaL_Reg instance_meta[] = {{"__index", instance_index}, {NULL, NULL}};
static const luaL_Reg columns_meta[] = {{"__index", columns_index},
                                        {"__newindex", columns_newindex},
                                        {"__len", columns_len},
                                        {NULL, NULL}};

/* Pushes a metatable whose functions have the view as upvalue. */
static void push_view_metatable(lua_State *L, const luaL_Reg *functions, bind_view *view) {
  lua_newtable(L);
  lua_pushlightuserdata(L, view);
  luaL_setfuncs(L, functions, 1);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

/* Sets the id and the index of every instance in its table. */
static void push_instance_tables(lua_State *L, bind_view *view) {
  lua_createtable(L, (int)view->instance_count, 0);
  push_view_metatable(L, instance_meta, view);
  for (uint32_t i = 0; i < view->instance_count; i++) {
    lua_createtable(L, 0, BLIS_SIGNAL_COUNT);
    push_alias_instance(L, &view->hooks->alias, i);
    lua_setfield(L, -2, "id");
    lua_pushinteger(L, (lua_Integer)i + 1);
    lua_setfield(L, -2, "index");
    lua_pushvalue(L, -2);
    lua_setmetatable(L, -2);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  lua_pop(L, 1);
}

/* Allocates both arrays in one userdata, so that Lua frees them. */
static void push_view_arrays(lua_State *L, bind_view *view) {
  size_t values = (size_t)view->instance_count * BLIS_SIGNAL_COUNT;
  double *buffer = push_buffer(L, values + view->instance_count, sizeof(double));
  view->instance_values = buffer;
  view->candidates = (uint32_t *)(void *)(buffer + values);
}

void push_view_tables(lua_State *L, bind_view *view, bind_hooks *hooks,
                      const blis_policy_context *context, bool oracle) {
  uint32_t instance_count = context->instance_count;
  *view = (bind_view){.hooks = hooks,
                      .pool = bind_vector_pool_of(L),
                      .instance_count = instance_count,
                      .oracle = oracle,
                      .context = *context};
  bind_hooks_anchor(L, hooks);
  int anchor = lua_gettop(L);
  push_request_table(L, view);
  view->request_table = lua_topointer(L, -1);
  lua_rawseti(L, anchor, ANCHOR_REQUEST);
  push_instance_tables(L, view);
  lua_rawseti(L, anchor, ANCHOR_INSTANCES);
  lua_createtable(L, (int)instance_count, 0);
  lua_rawseti(L, anchor, ANCHOR_CANDIDATES);
  lua_newtable(L);
  lua_rawseti(L, anchor, ANCHOR_PEERS);
  lua_createtable(L, 0, BLIS_SIGNAL_COUNT);
  push_view_metatable(L, columns_meta, view);
  lua_setmetatable(L, -2);
  view->columns_table = lua_topointer(L, -1);
  lua_rawseti(L, anchor, ANCHOR_COLUMNS);
  lua_createtable(L, BLIS_SIGNAL_COUNT, 0);
  lua_rawseti(L, anchor, ANCHOR_VECTORS);
  lua_createtable(L, (int)instance_count, 0);
  lua_rawseti(L, anchor, ANCHOR_SUMS);
  push_prefix_stores(L);
  lua_rawseti(L, anchor, ANCHOR_PREFIXES);
  push_view_arrays(L, view);
  lua_rawseti(L, anchor, ANCHOR_BUFFER);
  lua_pop(L, 1);
}

void push_view_instances(lua_State *L, bind_view *view, int anchor) {
  lua_rawgeti(L, anchor, ANCHOR_INSTANCES);
  int tables = lua_gettop(L);
  for (size_t i = 0; i < view->instance_fields.count; i++) {
    refresh_field(L, view, tables, view->instance_fields.items[i]);
  }
}

void push_view_candidates(lua_State *L, bind_view *view, int anchor) {
  push_view_instances(L, view, anchor);
  lua_rawgeti(L, anchor, ANCHOR_CANDIDATES); // [.., tables, candidates]
  const blis_routing_view *shown = view->view;
  if (view->candidate_count == shown->count &&
      memcmp(view->candidates, shown->instances, shown->count * sizeof *shown->instances) == 0) {
    lua_remove(L, -2);
    return;
  }
  for (size_t i = 0; i < shown->count; i++) {
    if (i >= view->candidate_count || view->candidates[i] != shown->instances[i]) {
      lua_rawgeti(L, -2, (lua_Integer)shown->instances[i] + 1);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
      view->candidates[i] = shown->instances[i];
    }
  }
  for (size_t i = shown->count; i < view->candidate_count; i++) {
    lua_pushnil(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  view->candidate_count = shown->count;
  BLIS_ASSERT((size_t)lua_rawlen(L, -1) == shown->count);
  lua_remove(L, -2);
}

void push_view_peers(lua_State *L, bind_view *view, int anchor) {
  const blis_stages *stages = view->request->stages;
  view->peers = stages->peers(stages->ud, view->request);
  if (view->peers == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  lua_rawgeti(L, anchor, ANCHOR_INSTANCES);
  int tables = lua_gettop(L);
  for (size_t i = 0; i < view->instance_fields.count; i++) {
    refresh_field_of(L, view, view->peers, tables, view->instance_fields.items[i]);
  }
  lua_rawgeti(L, anchor, ANCHOR_PEERS);
  lua_Integer before = (lua_Integer)lua_rawlen(L, tables + 1);
  lua_Integer count = (lua_Integer)view->peers->count;
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, tables, (lua_Integer)view->peers->instances[i - 1] + 1);
    lua_rawseti(L, tables + 1, i);
  }
  for (lua_Integer i = count + 1; i <= before; i++) {
    lua_pushnil(L);
    lua_rawseti(L, tables + 1, i);
  }
  lua_remove(L, tables);
}

size_t check_candidate_index(lua_State *L, int index, const bind_view *view) {
  int is_integer = 0;
  lua_Integer value = lua_tointegerx(L, index, &is_integer);
  lua_Integer count = (lua_Integer)view->view->count;
  if (lua_type(L, index) != LUA_TNUMBER || !is_integer || value < 1 || value > count) {
    luaL_error(L,
               "it returned %s, expected the index of a candidate, an integer "
               "from 1 to %I (its place in the list, not the instance)",
               push_what(L, index), (LUAI_UACINT)count);
  }
  return (size_t)value - 1;
}

void push_view_columns(lua_State *L, bind_view *view, int anchor) {
  lua_rawgeti(L, anchor, ANCHOR_COLUMNS);
  for (size_t i = 0; i < view->column_fields.count; i++) {
    check_and_point(L, view, view->column_fields.items[i]);
  }
}
