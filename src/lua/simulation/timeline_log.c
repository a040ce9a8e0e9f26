#include "lua/simulation/timeline_log.h"

#include "cluster/tiers/kv_tiers.h"
#include "lua/bind/bind.h"
#include "lua/simulation/visit_columns.h"

/* Stores the value on top of the stack in a row of a column of the table below it. */
static void set_cell(lua_State *L, int table, const char *column, size_t row) {
  if (lua_getfield(L, table, column) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, table, column);
  }
  lua_insert(L, -2);
  lua_rawseti(L, -2, (lua_Integer)row + 1);
  lua_pop(L, 1);
}

static void set_integer(lua_State *L, int table, const char *column, size_t row, int64_t value) {
  lua_pushinteger(L, value);
  set_cell(L, table, column, row);
}

static void set_instance(lua_State *L, const bind_simulation *sim, int table, const char *column,
                         size_t row, uint32_t instance) {
  push_instance_id(L, instance, sim->records->id_digits);
  set_cell(L, table, column, row);
}

static void set_id(lua_State *L, int table, const char *column, size_t row,
                   const blis_request_name *request) {
  char id[BLIS_REQUEST_ID_SIZE];
  lua_pushstring(L,
                 blis_request_id_of(request->number, request->session, request->round_index, id));
  set_cell(L, table, column, row);
}

static void push_loads(lua_State *L, const bind_simulation *sim) {
  lua_createtable(L, 0, 8);
  int top = lua_gettop(L);
  for (size_t i = 0; i < sim->loads.loads.count; i++) {
    const blis_logged_load *logged = &sim->loads.loads.items[i];
    const blis_adapter_load *load = &logged->load;
    set_instance(L, sim, top, "instance", i, logged->instance);
    lua_pushstring(L, sim->adapters.names.names[load->adapter - 1]);
    set_cell(L, top, "adapter", i);
    set_integer(L, top, "rank", i, load->rank);
    set_id(L, top, "request", i, &load->request);
    set_integer(L, top, "start_us", i, load->start_us);
    set_integer(L, top, "end_us", i, load->end_us);
    set_integer(L, top, "waiting", i, load->waiting);
  }
}

/* Pushes "instance_2" or "node_1", or "" if all instances share one store. */
static void push_owner(lua_State *L, const bind_simulation *sim, blis_tier_scope scope,
                       uint32_t owner) {
  if (scope == BLIS_TIER_OF_CLUSTER) {
    lua_pushliteral(L, "");
  } else if (scope == BLIS_TIER_OF_NODE) {
    lua_pushfstring(L, "node_%I", (LUAI_UACINT)owner);
  } else {
    push_instance_id(L, owner, sim->records->id_digits);
  }
}

static void push_moves(lua_State *L, const bind_simulation *sim) {
  lua_createtable(L, 0, 10);
  int top = lua_gettop(L);
  for (size_t i = 0; i < sim->loads.moves.count; i++) {
    const blis_kv_move *move = &sim->loads.moves.items[i];
    const blis_kv_tier_counts tier = blis_cluster_kv_tier(sim->cluster, move->tier);
    lua_pushstring(L, tier.name);
    set_cell(L, top, "tier", i);
    push_owner(L, sim, tier.scope, move->owner);
    set_cell(L, top, "owner", i);
    set_instance(L, sim, top, "instance", i, move->instance);
    lua_pushboolean(L, move->is_read);
    set_cell(L, top, "is_read", i);
    lua_pushboolean(L, move->is_cut);
    set_cell(L, top, "is_cut", i);
    if (move->is_read) {
      set_id(L, top, "request", i, &move->request);
    } else {
      lua_pushliteral(L, "");
      set_cell(L, top, "request", i);
    }
    set_integer(L, top, "start_us", i, move->start_us);
    set_integer(L, top, "end_us", i, move->end_us);
    set_integer(L, top, "blocks", i, move->blocks);
    set_integer(L, top, "bytes", i, (int64_t)move->bytes);
  }
}

static void set_join_end(lua_State *L, int table, const char *column, size_t row,
                         const bind_simulation *sim, const blis_join_end *end) {
  const blis_intern *strings = sim->records->source.source.strings;
  const blis_request_name name = {end->number, blis_intern_text(strings, end->session),
                                  end->round_index};
  set_id(L, table, column, row, &name);
}

/* Returns the number of omitted rows. */
static int64_t push_joins(lua_State *L, const bind_simulation *sim) {
  size_t count;
  int64_t left_out;
  const blis_join *joins =
      blis_graph_player_joins(sim->records->source.graphs.player, &count, &left_out);
  lua_createtable(L, 0, 2);
  int top = lua_gettop(L);
  for (size_t i = 0; i < count; i++) {
    set_join_end(L, top, "parent", i, sim, &joins[i].parent);
    set_join_end(L, top, "child", i, sim, &joins[i].child);
  }
  return left_out;
}

void push_timeline_log(lua_State *L, bind_simulation *sim) {
  blis_visit_log_sort(&sim->visits);
  int64_t left_out = sim->loads.left_out + sim->visits.left_out;
  lua_createtable(L, 0, 7);
  push_visits(L, &sim->visits, sim->records->id_digits);
  lua_setfield(L, -2, "visits");
  push_preemptions(L, &sim->visits, sim->records->id_digits);
  lua_setfield(L, -2, "preemptions");
  push_states(L, &sim->visits, sim->records->id_digits);
  lua_setfield(L, -2, "states");
  if (sim->visits.whole_until_us < INT64_MAX) {
    set_field_integer(L, "complete_until_us", sim->visits.whole_until_us);
  }
  if (sim->adapters.names.count > 0) {
    push_loads(L, sim);
    lua_setfield(L, -2, "loads");
  }
  if (blis_cluster_kv_tier_count(sim->cluster) > 0) {
    push_moves(L, sim);
    lua_setfield(L, -2, "moves");
  }
  if (sim->records->source.graphs.player != NULL) {
    left_out += push_joins(L, sim);
    lua_setfield(L, -2, "joins");
  }
  set_field_integer(L, "left_out", left_out);
}
