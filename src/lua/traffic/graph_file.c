#include "lua/traffic/graph_file.h"

#include "lua/bind/bind.h"

static bind_graph_file *check_file(lua_State *L, int index) {
  bind_graph_file *self = luaL_checkudata(L, index, GRAPH_FILE_TYPE);
  luaL_argcheck(L, self->file != NULL, index, "the file is closed");
  return self;
}

blis_graph_file *bind_graph_file_at(lua_State *L, int index) {
  bind_graph_file *self = luaL_testudata(L, index, GRAPH_FILE_TYPE);
  return self == NULL ? NULL : self->file;
}

static int file_gc(lua_State *L) {
  bind_graph_file *self = luaL_checkudata(L, 1, GRAPH_FILE_TYPE);
  blis_graph_file_close(self->file);
  blis_intern_free(self->strings);
  *self = (bind_graph_file){0};
  return 0;
}

/* Returns the strings of a list in a table, which keeps them alive; NULL if there is no list.
   Leaves the array on the stack. */
static const char *const *check_texts(lua_State *L, int index, const char *name, size_t *count) {
  if (lua_getfield(L, index, name) == LUA_TNIL) {
    return NULL;
  }
  int list = lua_gettop(L);
  *count = (size_t)luaL_len(L, list);
  const char **texts = push_buffer(L, *count, sizeof *texts);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    texts[i] = luaL_checkstring(L, -1);
    lua_pop(L, 1);
  }
  return texts;
}

static void check_models(lua_State *L, int index, blis_graph_models *models) {
  if (lua_getfield(L, index, "models") == LUA_TTABLE) {
    int given = lua_gettop(L);
    models->recorded = check_texts(L, given, "recorded", &models->count);
    models->served = check_texts(L, given, "served", &models->count);
  }
}

static void check_options(lua_State *L, int index, blis_graph_file_options *options) {
  static const char *const readings[] = {"design",  "aiperf",       "inference-perf", "guidellm",
                                         "go-blis", "llm-d-router", "aisimulate",     NULL};
  static const char *const delays[] = {"usual", "completion", "starts", "think-time", "none", NULL};
  static const char *const nested[] = {"auto", "relative", "absolute", NULL};
  luaL_checktype(L, index, LUA_TTABLE);
  *options = (blis_graph_file_options){
      .format = opt_field_string(L, index, "format"),
      .limit = opt_field_integer(L, index, "limit", 0),
      .hash_block_tokens = (uint32_t)opt_field_integer(L, index, "hash_block_tokens", 0),
      .reading = (blis_graph_reading)check_field_choice(L, index, "reading", readings),
      .delays = (blis_graph_delays)check_field_choice(L, index, "delays", delays),
      .nested = (blis_graph_nested)check_field_choice(L, index, "nested", nested),
      .delay_cap_us = opt_field_integer(L, index, "delay_cap_us", 0),
      .idle_gap_cap_us = opt_field_integer(L, index, "idle_gap_cap_us", 0),
      .bytes_per_token = opt_field_number(L, index, "bytes_per_token", 0)};
  check_models(L, index, &options->models);
}

int bind_graph_file_new(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  blis_graph_file_options options;
  check_options(L, 2, &options);
  bind_graph_file *self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = (bind_graph_file){0};
  luaL_setmetatable(L, GRAPH_FILE_TYPE);
  blis_alloc alloc = bind_alloc(L);
  self->strings = blis_intern_new(&alloc);
  if (self->strings == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  blis_error error = {0};
  check_status(L, blis_graph_file_open(&alloc, path, &options, self->strings, &self->file, &error),
               &error);
  return 1;
}

int bind_graph_formats(lua_State *L) {
  size_t count = blis_graph_format_count();
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 3);
    set_field_string(L, "name", blis_graph_format_name(i));
    set_field_string(L, "summary", blis_graph_format_text(i));
    set_field_string(L, "needs", blis_graph_format_needs(i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Graphs as tables. */

static void push_node(lua_State *L, const blis_graph *graph, uint32_t index,
                      const blis_intern *strings) {
  const blis_graph_node *node = &graph->nodes[index];
  const blis_request *request = &node->request;
  lua_createtable(L, 0, 12);
  set_field_text(L, "session", strings, request->session);
  set_field_text(L, "parent_session", strings, node->parent_session);
  set_field_integer(L, "round_index", request->round_index);
  set_field_integer(L, "prompt_tokens", request->prompt_tokens);
  set_field_integer(L, "known_tokens", request->shared_tokens);
  set_field_integer(L, "output_tokens", request->output_tokens);
  if (request->model != 0) {
    set_field_text(L, "model", strings, request->model);
  }
  set_field_integer(L, "delay_us", node->delay_us);
  set_field_integer(L, "tool_us", node->tool_us);
  lua_pushboolean(L, node->is_background);
  lua_setfield(L, -2, "background");
  if (node->extends != BLIS_GRAPH_NO_NODE) {
    set_field_integer(L, "extends", (int64_t)node->extends + 1);
  }
  lua_createtable(L, (int)node->wait_count, 0);
  for (uint32_t i = 0; i < node->wait_count; i++) {
    lua_pushinteger(L, (lua_Integer)graph->waits[node->first_wait + i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "after");
}

void push_graph(lua_State *L, const blis_graph *graph, const blis_intern *strings) {
  lua_createtable(L, (int)graph->node_count, 2);
  set_field_text(L, "name", strings, graph->name);
  if (graph->start_us >= 0) {
    set_field_integer(L, "start_us", graph->start_us);
  }
  for (uint32_t i = 0; i < graph->node_count; i++) {
    push_node(L, graph, i, strings);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* file:list([count]): returns the first count graphs; by default, all graphs. */
static int file_list(lua_State *L) {
  const bind_graph_file *self = check_file(L, 1);
  lua_Integer most = luaL_optinteger(L, 2, LUA_MAXINTEGER);
  blis_graph_feed feed = blis_graph_file_feed(self->file);
  blis_error error = {0};
  check_status(L, feed.rewind(feed.state, &error), &error);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= most; i++) {
    blis_graph graph;
    bool done;
    check_status(L, feed.next(feed.state, &graph, &done, &error), &error);
    if (done) {
      break;
    }
    push_graph(L, &graph, self->strings);
    lua_rawseti(L, -2, i);
  }
  return 1;
}

/* file:notes(): returns notes for users. */
static int file_notes(lua_State *L) {
  const bind_graph_file *self = check_file(L, 1);
  lua_newtable(L);
  for (size_t i = 0; blis_graph_file_note(self->file, i) != NULL; i++) {
    lua_pushstring(L, blis_graph_file_note(self->file, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Pushes the list of models, or nil if there are none. */
static void push_models(lua_State *L, const blis_graph_file *file) {
  if (blis_graph_file_model(file, 0) == NULL) {
    lua_pushnil(L);
    return;
  }
  lua_newtable(L);
  for (size_t i = 0; blis_graph_file_model(file, i) != NULL; i++) {
    lua_pushstring(L, blis_graph_file_model(file, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* file:about(): returns { format =, graphs =, requests =, has_starts =, models = } */
static int file_about(lua_State *L) {
  const bind_graph_file *self = check_file(L, 1);
  lua_createtable(L, 0, 5);
  set_field_string(L, "format", blis_graph_file_format(self->file));
  set_field_integer(L, "graphs", blis_graph_file_count(self->file));
  set_field_integer(L, "requests", blis_graph_file_requests(self->file));
  lua_pushboolean(L, blis_graph_file_has_starts(self->file));
  lua_setfield(L, -2, "has_starts");
  push_models(L, self->file);
  lua_setfield(L, -2, "models");
  return 1;
}

static int file_len(lua_State *L) {
  const bind_graph_file *self = check_file(L, 1);
  lua_pushinteger(L, blis_graph_file_count(self->file));
  return 1;
}

static int file_tostring(lua_State *L) {
  const bind_graph_file *self = check_file(L, 1);
  lua_pushfstring(L, "%s: %I session graphs of %I requests", blis_graph_file_format(self->file),
                  (LUAI_UACINT)blis_graph_file_count(self->file),
                  (LUAI_UACINT)blis_graph_file_requests(self->file));
  return 1;
}

static const luaL_Reg meta[] = {
    {"__gc", file_gc}, {"__len", file_len}, {"__tostring", file_tostring}, {NULL, NULL}};

static const luaL_Reg methods[] = {
    {"about", file_about}, {"list", file_list}, {"notes", file_notes}, {NULL, NULL}};

void bind_open_graph_files(lua_State *L) {
  push_new_type(L, GRAPH_FILE_TYPE, meta, methods);
  lua_pop(L, 1);
}
