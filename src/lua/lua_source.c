/* Requests for one run, from a specification or from a list in memory. */
#include "lua/bind.h"
#include "lua/lua_client.h"
#include "lua/lua_workload.h"
#include "workload/generator.h"
#include "workload/short_form.h"

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

/* Pushes the list of a part and room for its entries, which keep keeps. */
static void *push_entries(lua_State *L, int index, const char *name, int keep,
                          size_t item_size, size_t *count) {
  *count = 0;
  if (!opt_part(L, index, name)) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  *count = lua_rawlen(L, -1);
  void *entries = push_buffer(L, *count, item_size);
  keep_on_top(L, keep);
  return entries;
}

static void check_targets(lua_State *L, int index, int keep,
                          blis_workload_spec *spec) {
  blis_goodput_target *targets = push_entries(
      L, index, "targets", keep, sizeof *targets, &spec->goodput_target_count);
  for (size_t i = 0; i < spec->goodput_target_count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    targets[i] = (blis_goodput_target){
        .slo_class = check_field_string(L, -1, "slo_class"),
        .ttft_ms = opt_field_number(L, -1, "ttft_ms", 0),
        .itl_ms = opt_field_number(L, -1, "itl_ms", 0),
        .e2e_ms = opt_field_number(L, -1, "e2e_ms", 0),
    };
    lua_pop(L, 1);
  }
  spec->goodput_targets = targets;
  lua_pop(L, 1);
}

/* Everything the specification borrows is kept alive by the table at keep. */
static void check_clients(lua_State *L, int index, int keep,
                          blis_workload_spec *spec) {
  *spec = (blis_workload_spec){
      .seed = check_field_integer(L, index, "seed"),
      .category = opt_field_string(L, index, "category"),
      .aggregate_rate = check_field_number(L, index, "aggregate_rate"),
      .num_requests = check_field_integer(L, index, "num_requests"),
      .horizon_us = check_field_integer(L, index, "horizon_us"),
      .lazy_tokens = opt_field_boolean(L, index, "lazy_tokens", false),
      .reproduce_go_blis_defects =
          opt_field_boolean(L, index, "reproduce_go_blis_defects", false),
  };
  blis_client_spec *clients = push_entries(
      L, index, "clients", keep, sizeof *clients, &spec->client_count);
  for (size_t i = 0; i < spec->client_count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    check_client(L, lua_gettop(L), keep, &clients[i]);
    lua_pop(L, 1);
  }
  spec->clients = clients;
  blis_cohort_spec *cohorts = push_entries(
      L, index, "cohorts", keep, sizeof *cohorts, &spec->cohort_count);
  for (size_t i = 0; i < spec->cohort_count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    check_cohort(L, lua_gettop(L), keep, &cohorts[i]);
    lua_pop(L, 1);
  }
  spec->cohorts = cohorts;
  lua_pop(L, 2);
  check_targets(L, index, keep, spec);
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
