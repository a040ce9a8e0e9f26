/* Clients and cohorts of a workload specification. */
#include "lua/lua_client.h"

#include "lua/bind.h"
#include "lua/lua_workload.h"

void keep_on_top(lua_State *L, int keep) {
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
}

void check_distribution(lua_State *L, int table, int keep,
                        blis_distribution_spec *spec) {
  luaL_checktype(L, table, LUA_TTABLE);
  spec->type = opt_field_string(L, table, "type");
  lua_getfield(L, table, "params");
  luaL_checktype(L, -1, LUA_TTABLE);
  spec->param_count = lua_rawlen(L, -1);
  blis_distribution_param *params =
      push_buffer(L, spec->param_count, sizeof *params);
  keep_on_top(L, keep);
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

void check_arrival(lua_State *L, int table, blis_arrival_spec *spec) {
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

bool opt_part(lua_State *L, int index, const char *name) {
  if (lua_getfield(L, index, name) == LUA_TNIL) {
    return false;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  return true;
}

static void opt_distribution(lua_State *L, int index, const char *name,
                             int keep, blis_distribution_spec *spec) {
  if (opt_part(L, index, name)) {
    check_distribution(L, lua_gettop(L), keep, spec);
  }
  lua_pop(L, 1);
}

/* Returns whether there is one. */
static bool opt_arrival(lua_State *L, int index, blis_arrival_spec *spec) {
  bool is_given = opt_part(L, index, "arrival");
  if (is_given) {
    check_arrival(L, lua_gettop(L), spec);
  }
  lua_pop(L, 1);
  return is_given;
}

static void check_windows(lua_State *L, int list, int keep,
                          blis_client_spec *client) {
  client->window_count = lua_rawlen(L, list);
  blis_window_spec *windows =
      push_buffer(L, client->window_count, sizeof *windows);
  keep_on_top(L, keep);
  for (size_t i = 0; i < client->window_count; i++) {
    blis_window_spec *window = &windows[i];
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int index = lua_gettop(L);
    window->start_us = check_field_integer(L, index, "start_us");
    window->end_us = check_field_integer(L, index, "end_us");
    window->has_trace_rate = lua_getfield(L, index, "trace_rate") != LUA_TNIL;
    lua_pop(L, 1);
    window->trace_rate = opt_field_number(L, index, "trace_rate", 0);
    window->has_arrival = opt_arrival(L, index, &window->arrival);
    opt_distribution(L, index, "input", keep, &window->input);
    opt_distribution(L, index, "output", keep, &window->output);
    lua_pop(L, 1);
  }
  client->windows = windows;
}

static void check_multimodal(lua_State *L, int index, int keep,
                             blis_client_spec *client) {
  blis_multimodal_spec *spec = push_buffer(L, 1, sizeof *spec);
  keep_on_top(L, keep);
  opt_distribution(L, index, "text", keep, &spec->text);
  opt_distribution(L, index, "image", keep, &spec->image);
  opt_distribution(L, index, "image_count", keep, &spec->image_count);
  opt_distribution(L, index, "audio", keep, &spec->audio);
  opt_distribution(L, index, "audio_count", keep, &spec->audio_count);
  opt_distribution(L, index, "video", keep, &spec->video);
  opt_distribution(L, index, "video_count", keep, &spec->video_count);
  client->multimodal = spec;
}

static void check_multi_turn(lua_State *L, int index, int keep,
                             blis_client_spec *client) {
  blis_multi_turn_spec *spec = push_buffer(L, 1, sizeof *spec);
  keep_on_top(L, keep);
  spec->max_rounds = check_field_integer(L, index, "max_rounds");
  spec->think_time_us = check_field_integer(L, index, "think_time_us");
  spec->context_growth = opt_field_string(L, index, "context_growth");
  spec->single_session = opt_field_boolean(L, index, "single_session", false);
  client->multi_turn = spec;
}

static void check_session_parts(lua_State *L, int index, int keep,
                                blis_client_spec *client) {
  static const char *const loops[] = {"default", "open", "closed", NULL};
  int top = lua_gettop(L);
  if (opt_part(L, index, "windows")) {
    check_windows(L, top + 1, keep, client);
  }
  if (opt_part(L, index, "multimodal")) {
    check_multimodal(L, top + 2, keep, client);
  }
  if (opt_part(L, index, "multi_turn")) {
    check_multi_turn(L, top + 3, keep, client);
  }
  opt_distribution(L, index, "reason_ratio", keep, &client->reason_ratio);
  client->loop = (blis_loop)check_field_choice(L, index, "loop", loops);
  lua_settop(L, top);
}

void check_client(lua_State *L, int index, int keep, blis_client_spec *client) {
  luaL_checktype(L, index, LUA_TTABLE);
  client->id = opt_field_string(L, index, "id");
  client->tenant = opt_field_string(L, index, "tenant");
  client->slo_class = opt_field_string(L, index, "slo_class");
  client->model = opt_field_string(L, index, "model");
  client->adapter = opt_field_string(L, index, "adapter");
  client->rate_fraction = check_field_number(L, index, "rate_fraction");
  client->concurrency = check_field_integer(L, index, "concurrency");
  client->think_time_us = check_field_integer(L, index, "think_time_us");
  opt_arrival(L, index, &client->arrival);
  opt_distribution(L, index, "input", keep, &client->input);
  opt_distribution(L, index, "output", keep, &client->output);
  client->prefix_group = opt_field_string(L, index, "prefix_group");
  client->prefix_tokens = opt_field_integer(L, index, "prefix_tokens", 0);
  client->is_streaming = opt_field_boolean(L, index, "is_streaming", false);
  client->has_network = opt_field_boolean(L, index, "has_network", false);
  client->timeout_us = opt_field_integer(L, index, "timeout_us", 0);
  client->has_no_timeout = opt_field_boolean(L, index, "has_no_timeout", false);
  client->slo_target_us = opt_field_integer(L, index, "slo_target_us", 0);
  check_session_parts(L, index, keep, client);
}

static void check_diurnal(lua_State *L, int index, int keep,
                          blis_cohort_spec *cohort) {
  blis_diurnal_spec *diurnal = push_buffer(L, 1, sizeof *diurnal);
  keep_on_top(L, keep);
  diurnal->peak_hour = check_field_integer(L, index, "peak_hour");
  diurnal->peak_to_trough_ratio =
      check_field_number(L, index, "peak_to_trough_ratio");
  cohort->diurnal = diurnal;
}

static void check_spike(lua_State *L, int index, int keep,
                        blis_cohort_spec *cohort) {
  blis_spike_spec *spike = push_buffer(L, 1, sizeof *spike);
  keep_on_top(L, keep);
  spike->start_us = check_field_integer(L, index, "start_us");
  spike->duration_us = check_field_integer(L, index, "duration_us");
  spike->has_trace_rate = lua_getfield(L, index, "trace_rate") != LUA_TNIL;
  lua_pop(L, 1);
  spike->trace_rate = opt_field_number(L, index, "trace_rate", 0);
  cohort->spike = spike;
}

static void check_drain(lua_State *L, int index, int keep,
                        blis_cohort_spec *cohort) {
  blis_drain_spec *drain = push_buffer(L, 1, sizeof *drain);
  keep_on_top(L, keep);
  drain->start_us = check_field_integer(L, index, "start_us");
  drain->ramp_us = check_field_integer(L, index, "ramp_us");
  cohort->drain = drain;
}

void check_cohort(lua_State *L, int index, int keep, blis_cohort_spec *cohort) {
  int top = lua_gettop(L);
  check_client(L, index, keep, &cohort->client);
  cohort->population = check_field_integer(L, index, "population");
  cohort->prefix_sharing = opt_field_string(L, index, "prefix_sharing");
  if (opt_part(L, index, "diurnal")) {
    check_diurnal(L, top + 1, keep, cohort);
  }
  if (opt_part(L, index, "spike")) {
    check_spike(L, top + 2, keep, cohort);
  }
  if (opt_part(L, index, "drain")) {
    check_drain(L, top + 3, keep, cohort);
  }
  lua_settop(L, top);
}
