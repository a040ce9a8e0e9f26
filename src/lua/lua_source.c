/* Requests for one run, from a specification or from a list in memory. */
#include "lua/bind.h"
#include "lua/lua_workload.h"
#include "workload/generator.h"
#include "workload/short_form.h"

/* Keeps the value on top in the table at keep, and pops it. */
static void push_into(lua_State *L, int keep) {
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
}

/* {type =, params = {{name, value}, ...}} */
static void check_distribution(lua_State *L, int table, int keep,
                               blis_distribution_spec *spec) {
  luaL_checktype(L, table, LUA_TTABLE);
  spec->type = opt_field_string(L, table, "type");
  lua_getfield(L, table, "params");
  luaL_checktype(L, -1, LUA_TTABLE);
  spec->param_count = lua_rawlen(L, -1);
  blis_distribution_param *params =
      push_buffer(L, spec->param_count, sizeof *params);
  push_into(L, keep);
  for (size_t i = 0; i < spec->param_count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    params[i].name = luaL_checkstring(L, -2); /* the specification keeps it */
    params[i].value = luaL_checknumber(L, -1);
    lua_pop(L, 3);
  }
  spec->params = params;
  lua_pop(L, 1);
}

static void check_arrival(lua_State *L, int table, blis_arrival_spec *spec) {
  luaL_checktype(L, table, LUA_TTABLE);
  spec->process = opt_field_string(L, table, "process");
  spec->cv = opt_field_number(L, table, "cv", 0);
  spec->shape = opt_field_number(L, table, "shape", 0);
  spec->scale = opt_field_number(L, table, "scale", 0);
  spec->has_cv = lua_getfield(L, table, "cv") != LUA_TNIL;
  spec->has_shape = lua_getfield(L, table, "shape") != LUA_TNIL;
  spec->has_scale = lua_getfield(L, table, "scale") != LUA_TNIL;
  lua_pop(L, 3);
}

int bind_check_distribution(lua_State *L) {
  const char *where = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  lua_newtable(L);
  blis_distribution_spec spec;
  check_distribution(L, 1, 3, &spec);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_distribution ready = {0};
  blis_status status =
      blis_distribution_init(&ready, &alloc, &spec, where, &error);
  if (status == BLIS_OK) {
    blis_distribution_deinit(&ready, &alloc);
  }
  check_status(L, status, &error);
  return 0;
}

int bind_check_arrival(lua_State *L) {
  const char *where = luaL_checkstring(L, 2);
  blis_arrival_spec spec;
  check_arrival(L, 1, &spec);
  blis_error error = {0};
  check_status(L, blis_arrival_check(&spec, where, &error), &error);
  return 0;
}

static void check_client(lua_State *L, int index, int keep,
                         blis_client_spec *client) {
  client->id = opt_field_string(L, index, "id");
  client->tenant = opt_field_string(L, index, "tenant");
  client->slo_class = opt_field_string(L, index, "slo_class");
  client->model = opt_field_string(L, index, "model");
  client->rate_fraction = check_field_number(L, index, "rate_fraction");
  lua_getfield(L, index, "arrival");
  check_arrival(L, lua_gettop(L), &client->arrival);
  lua_getfield(L, index, "input");
  check_distribution(L, lua_gettop(L), keep, &client->input);
  lua_getfield(L, index, "output");
  check_distribution(L, lua_gettop(L), keep, &client->output);
  lua_pop(L, 3);
  client->prefix_group = opt_field_string(L, index, "prefix_group");
  client->prefix_tokens = opt_field_integer(L, index, "prefix_tokens", 0);
  client->timeout_us = opt_field_integer(L, index, "timeout_us", 0);
}

/* Pushes a part; false when it is left out. */
static bool opt_part(lua_State *L, int index, const char *name) {
  return lua_getfield(L, index, name) != LUA_TNIL;
}

/* {rate =, requests =, prompt =, output =, arrival =, prefixes =, ...} */
static void check_short_form(lua_State *L, int index, int keep,
                             blis_short_form *form) {
  *form = blis_short_form_default();
  form->seed = check_field_integer(L, index, "seed");
  form->rate = check_field_number(L, index, "rate");
  form->num_requests = check_field_integer(L, index, "requests");
  form->horizon_us = check_field_integer(L, index, "horizon_us");
  form->tenant = opt_field_string(L, index, "tenant");
  form->slo_class = opt_field_string(L, index, "slo_class");
  form->model = opt_field_string(L, index, "model");
  form->timeout_us = check_field_integer(L, index, "timeout_us");
  form->lazy_tokens = opt_field_boolean(L, index, "lazy_tokens", false);
  int top = lua_gettop(L);
  if (opt_part(L, index, "arrival")) {
    check_arrival(L, top + 1, &form->arrival);
  }
  if (opt_part(L, index, "prompt")) {
    check_distribution(L, top + 2, keep, &form->prompt);
  }
  if (opt_part(L, index, "output")) {
    check_distribution(L, top + 3, keep, &form->output);
  }
  if (opt_part(L, index, "prefixes")) {
    form->prefix_groups = check_field_integer(L, top + 4, "groups");
    form->prefix_tokens = check_field_integer(L, top + 4, "tokens");
    form->prefix_zipf = check_field_number(L, top + 4, "zipf");
  }
  lua_settop(L, top);
}

/* Everything the specification borrows is kept alive by the table at keep. */
static void check_clients(lua_State *L, int index, int keep,
                          blis_workload_spec *spec) {
  *spec = (blis_workload_spec){
      .seed = check_field_integer(L, index, "seed"),
      .aggregate_rate = check_field_number(L, index, "aggregate_rate"),
      .num_requests = check_field_integer(L, index, "num_requests"),
      .horizon_us = check_field_integer(L, index, "horizon_us"),
      .lazy_tokens = opt_field_boolean(L, index, "lazy_tokens", false),
  };
  lua_getfield(L, index, "clients");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  spec->client_count = lua_rawlen(L, list);
  blis_client_spec *clients =
      push_buffer(L, spec->client_count, sizeof *clients);
  push_into(L, keep);
  for (size_t i = 0; i < spec->client_count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    check_client(L, lua_gettop(L), keep, &clients[i]);
    lua_pop(L, 1);
  }
  spec->clients = clients;
  lua_settop(L, list - 1);
}

static blis_status new_from_short_form(const blis_alloc *alloc,
                                       const blis_short_form *form,
                                       blis_generator **generator,
                                       blis_error *error) {
  blis_arena arena;
  blis_arena_init(&arena, alloc);
  blis_workload_spec spec;
  blis_status status = blis_short_form_expand(form, &arena, &spec, error);
  if (status == BLIS_OK) {
    status = blis_generator_new(alloc, &spec, generator, error);
  }
  blis_arena_deinit(&arena);
  return status;
}

static void check_generator(lua_State *L, int index, bind_source *source) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_status status;
  lua_newtable(L);
  int keep = lua_gettop(L);
  bool has_clients = opt_part(L, index, "clients");
  if (has_clients) {
    blis_workload_spec spec;
    check_clients(L, index, keep, &spec);
    status = blis_generator_new(&alloc, &spec, &source->generator, &error);
  } else {
    blis_short_form form;
    check_short_form(L, index, keep, &form);
    status = new_from_short_form(&alloc, &form, &source->generator, &error);
  }
  check_status(L, status, &error);
  source->source = blis_generator_source(source->generator);
  lua_settop(L, keep - 1);
}

void check_source(lua_State *L, int index, bind_source *source) {
  if (lua_type(L, index) == LUA_TTABLE) {
    check_generator(L, index, source);
    return;
  }
  const blis_workload *workload = check_workload(L, index);
  source->source = blis_workload_source(workload, &source->cursor);
}

void bind_source_close(bind_source *source) {
  blis_generator_free(source->generator);
  *source = (bind_source){0};
}
