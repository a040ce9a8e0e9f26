#include "lua/traffic/graph_source.h"

#include "lua/bind/bind.h"
#include "lua/traffic/distribution.h"
#include "lua/traffic/graph_file.h"

typedef struct graph_call {
  bind_graphs *graphs;
  blis_graph *graph; /* out */
  bool done;         /* out */
} graph_call;

static int ask_graph(lua_State *L) {
  graph_call *call = lua_touserdata(L, 1);
  bind_graphs *self = call->graphs;
  bind_hooks_anchor(L, self->hooks);
  lua_rawgeti(L, -1, self->function);
  lua_pushinteger(L, self->count);
  lua_call(L, 1, 1);
  call->done = lua_isnil(L, -1);
  if (!call->done) {
    *call->graph = check_graph(L, lua_gettop(L), "graphs", self->count, &self->maker);
  }
  return 0;
}

static blis_status next_graph(void *state, blis_graph *graph, bool *done, blis_error *error) {
  bind_graphs *self = state;
  if (self->function == 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "session graphs can only be had in a run");
  }
  graph_call call = {.graphs = self, .graph = graph};
  const bind_hook_place place = {.kind = "workload", .name = "", .now_us = -1};
  self->count++;
  BLIS_TRY(bind_pcall(self->hooks, &place, ask_graph, &call, error));
  *done = call.done;
  return BLIS_OK;
}

static blis_status rewind_graphs(void *state, blis_error *error) {
  (void)error;
  bind_graphs *self = state;
  self->count = 0;
  return BLIS_OK;
}

bool bind_is_graphs(lua_State *L, int index) {
  bool is_table = lua_type(L, index) == LUA_TTABLE;
  bool has_graphs = is_table && lua_getfield(L, index, "graphs") != LUA_TNIL;
  lua_pop(L, is_table ? 1 : 0);
  return has_graphs;
}

static void check_function(lua_State *L, int index, bind_graphs *graphs) {
  if (graphs->hooks == NULL) {
    return;
  }
  lua_getfield(L, index, "graphs");
  lua_call(L, 0, 1);
  graphs->function = push_hook_function(L, graphs->hooks);
}

/* Returns the feed of the file in the table at index, or of its function. */
static blis_graph_feed check_feed(lua_State *L, int index, bind_graphs *graphs) {
  lua_getfield(L, index, "graphs");
  const blis_graph_file *known = bind_graph_file_at(L, lua_gettop(L));
  if (known == NULL) {
    check_function(L, index, graphs);
    return (blis_graph_feed){
        .next = next_graph,
        .rewind = opt_field_boolean(L, index, "can_repeat", false) ? rewind_graphs : NULL,
        .state = graphs,
        .strings = graphs->maker.strings};
  }
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(
      L, blis_graph_file_open_again(known, &alloc, graphs->maker.strings, &graphs->file, &error),
      &error);
  return blis_graph_file_feed(graphs->file);
}

void check_graphs(lua_State *L, int index, bind_hooks *hooks, bind_graphs *graphs) {
  int top = lua_gettop(L);
  blis_alloc alloc = bind_alloc(L);
  blis_arrival_spec arrival;
  blis_graph_play play = {.rate = opt_field_number(L, index, "rate", 0),
                          .concurrency = opt_field_integer(L, index, "concurrency", 0),
                          .count = opt_field_integer(L, index, "count", 0),
                          .duration_us = opt_field_integer(L, index, "duration_us", 0),
                          .grace_us = opt_field_integer(L, index, "response_grace_us", -1),
                          .warm_up_requests = opt_field_integer(L, index, "warm_up_requests", 0),
                          .has_primers = opt_field_boolean(L, index, "primers", false),
                          .tree_idle_cap_us = opt_field_integer(L, index, "tree_idle_cap_us", 0),
                          .idle_cap_us = opt_field_integer(L, index, "idle_cap_us", 0),
                          .horizon_us = check_field_integer(L, index, "horizon_us"),
                          .timeout_us = opt_field_integer(L, index, "timeout_us", 0),
                          .speed = check_field_number(L, index, "speed"),
                          .continues = opt_field_boolean(L, index, "continues", false),
                          .tells_future = opt_field_boolean(L, index, "tells_future", false),
                          .seed = check_field_integer(L, index, "seed")};
  if (opt_part(L, index, "arrival")) {
    check_arrival(L, top + 1, &arrival);
    play.arrival = &arrival;
  }
  graphs->hooks = hooks;
  bind_graph_maker_init(L, &graphs->maker);
  const blis_graph_feed feed = check_feed(L, index, graphs);
  blis_error error = {0};
  check_status(L, blis_graph_player_new(&alloc, &feed, &play, &graphs->player, &error), &error);
  lua_settop(L, top);
}

void bind_graphs_close(bind_graphs *graphs) {
  blis_graph_player_free(graphs->player);
  blis_graph_file_close(graphs->file);
  bind_graph_maker_close(&graphs->maker);
  *graphs = (bind_graphs){0};
}
