#include "lua/traffic/source.h"

#include "lua/bind/bind.h"
#include "lua/bind/profile.h"
#include "lua/live/desk.h"
#include "lua/traffic/distribution.h"
#include "lua/traffic/trace_stream.h"
#include "lua/traffic/workload.h"
#include "lua/traffic/written_spec.h"
#include "workload/generate/adapter_mix.h"
#include "workload/generate/generator.h"
#include "workload/generate/replay.h"
#include "workload/generate/source_copy.h"
#include "workload/spec/short_form.h"

static void check_sessions(lua_State *L, int index, blis_short_form *form) {
  form->max_rounds = check_field_integer(L, index, "max_rounds");
  form->think_time_us = check_field_integer(L, index, "think_time_us");
  form->rounds_grow = opt_field_boolean(L, index, "grows", true);
  form->is_open_loop = !opt_field_boolean(L, index, "closed_loop", true);
}

/* {rate =, requests =, prompt =, output =, arrival =, prefixes =, ...} */
static void check_short_form(lua_State *L, int index, int keep, blis_short_form *form) {
  *form = blis_short_form_default();
  form->seed = check_field_integer(L, index, "seed");
  form->rate = check_field_number(L, index, "rate");
  form->num_requests = check_field_integer(L, index, "requests");
  form->horizon_us = check_field_integer(L, index, "horizon_us");
  form->tenant = opt_field_string(L, index, "tenant");
  form->slo_class = opt_field_string(L, index, "slo_class");
  form->model = opt_field_string(L, index, "model");
  form->timeout_us = check_field_integer(L, index, "timeout_us");
  form->lazy_tokens = opt_field_boolean(L, index, "has_lazy_tokens", false);
  form->rules = check_profile(L, index)->workload;
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
  if (opt_part(L, index, "sessions")) {
    check_sessions(L, top + 5, form);
  }
  lua_settop(L, top);
}

static blis_status new_from_short_form(const blis_alloc *alloc, const blis_short_form *form,
                                       blis_generator **generator, blis_error *error) {
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
  if (luaL_testudata(L, index, WRITTEN_SPEC_TYPE) != NULL) {
    status = blis_generator_new(&alloc, check_written_spec(L, index), &source->generator, &error);
  } else {
    blis_short_form form;
    check_short_form(L, index, keep, &form);
    status = new_from_short_form(&alloc, &form, &source->generator, &error);
  }
  check_status(L, status, &error);
  source->source = blis_generator_source(source->generator);
  lua_settop(L, keep - 1);
}

/* {trace =, think_time =, seed =, horizon_us =} and a profile */
static void check_replay(lua_State *L, int index, bind_source *source) {
  blis_replay_options options = {.sessions_wait = true,
                                 .seed = check_field_integer(L, index, "seed"),
                                 .horizon_us = check_field_integer(L, index, "horizon_us"),
                                 .rules = check_profile(L, index)->workload};
  lua_newtable(L);
  int keep = lua_gettop(L);
  blis_distribution_spec think;
  if (opt_part(L, index, "think_time")) {
    check_distribution(L, lua_gettop(L), keep, &think);
    options.think = &think;
  }
  lua_getfield(L, index, "trace"); /* the table keeps it alive */
  const blis_workload *workload = check_workload(L, lua_gettop(L));
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_replay_new(&alloc, workload, &options, &source->replay, &error), &error);
  source->source = blis_replay_source(source->replay);
  lua_settop(L, keep - 1);
}

static bool is_replay(lua_State *L, int index) {
  bool is_table = lua_type(L, index) == LUA_TTABLE;
  bool has_trace = is_table && lua_getfield(L, index, "trace") != LUA_TNIL;
  lua_pop(L, is_table ? 1 : 0);
  return has_trace;
}

static void check_stream_source(lua_State *L, int index, bind_source *source) {
  blis_trace_stream *stream = check_trace_stream(L, index);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_trace_cursor_open(&alloc, stream, &source->stream, &error), &error);
  source->source = blis_trace_cursor_source(source->stream);
}

void check_source(lua_State *L, int index, bind_hooks *hooks, bind_source *source) {
  if (bind_is_graphs(L, index)) {
    check_graphs(L, index, hooks, &source->graphs);
    source->source = blis_graph_player_source(source->graphs.player);
    return;
  }
  if (bind_live_desk_at(L, index) != NULL) {
    source->source = blis_live_desk_source(check_live_desk(L, index));
    return;
  }
  if (is_replay(L, index)) {
    check_replay(L, index, source);
    return;
  }
  if (luaL_testudata(L, index, TRACE_STREAM_TYPE) != NULL) {
    check_stream_source(L, index, source);
    return;
  }
  if (luaL_testudata(L, index, WORKLOAD_TYPE) == NULL) {
    check_generator(L, index, source);
    return;
  }
  const blis_workload *workload = check_workload(L, index);
  source->source = blis_workload_source(workload, &source->cursor);
}

void check_adapter_mix(lua_State *L, int index, int64_t seed, bind_source *source) {
  int top = lua_gettop(L);
  lua_getfield(L, index, "adapters");
  luaL_checktype(L, -1, LUA_TTABLE);
  size_t count = lua_rawlen(L, -1);
  blis_adapter_share *shares = push_buffer(L, count, sizeof *shares);
  bool has_weights = false;
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    shares[i].name = check_field_string(L, -1, "id"); /* the table keeps it alive */
    shares[i].weight = opt_field_number(L, -1, "weight", 0);
    has_weights |= shares[i].weight > 0;
    lua_pop(L, 1);
  }
  if (has_weights) {
    blis_alloc alloc = bind_alloc(L);
    blis_error error = {0};
    check_status(
        L, blis_adapter_mix_new(&alloc, &source->source, shares, count, seed, &source->mix, &error),
        &error);
    source->source = blis_adapter_mix_source(source->mix);
  }
  lua_settop(L, top);
}

void check_source_copy(lua_State *L, bind_source *source) {
  blis_alloc alloc = bind_alloc(L);
  source->copy = blis_source_copy_new(&alloc, &source->source);
  if (source->copy == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  source->source = blis_source_copy_source(source->copy);
}

void bind_source_close(bind_source *source) {
  blis_source_copy_free(source->copy);
  blis_adapter_mix_free(source->mix);
  blis_generator_free(source->generator);
  blis_replay_free(source->replay);
  blis_trace_cursor_close(source->stream);
  bind_graphs_close(&source->graphs);
  *source = (bind_source){0};
}
