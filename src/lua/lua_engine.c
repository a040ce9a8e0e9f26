#include "lua/lua_engine.h"

#include <stdio.h>
#include <string.h>

#include "latency/model_config.h"
#include "lua/bind.h"
#include "lua/lua_catalogue.h"

/* What the options and the catalogue say about one engine. */
typedef struct resolved {
  const blis_catalogue *catalogue;
  const char *kind;
  const blis_catalogue_model *model;       /* NULL: unknown and not needed */
  const blis_model_spec *spec;             /* NULL: dimensions not known */
  const blis_catalogue_hardware *hardware; /* NULL: not needed */
  blis_parallelism parallelism;
  blis_coefficients coefficients;
  int64_t kv_blocks; /* 0 = to be worked out */
} resolved;

static bool needs_dimensions(const char *kind) {
  return strcmp(kind, "trained-physics") == 0 || strcmp(kind, "roofline") == 0;
}

/* The numbers in a field, kept alive on the stack; NULL without the field. */
static const double *push_numbers(lua_State *L, int index, const char *name,
                                  size_t *count) {
  *count = 0;
  if (lua_getfield(L, index, name) == LUA_TNIL) {
    return NULL;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *count = lua_rawlen(L, list);
  double *numbers = push_buffer(L, *count, sizeof *numbers);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    numbers[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  return numbers;
}

/* A config.json goes before what the catalogue says of the model. */
static bool check_model_config(lua_State *L, int index, resolved *r,
                               bind_engine *engine) {
  const char *path = opt_field_string(L, index, "model_config");
  if (path == NULL) {
    return false;
  }
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L,
               blis_model_config_load(&alloc, path, engine->model,
                                      &engine->own_spec, &error),
               &error);
  r->spec = &engine->own_spec;
  return true;
}

static void check_model(lua_State *L, int index, resolved *r,
                        bind_engine *engine) {
  blis_error error = {0};
  const char *id = check_field_string(L, index, "model");
  bool has_config = check_model_config(L, index, r, engine);
  bool is_optional =
      has_config || (!needs_dimensions(r->kind) &&
                     r->coefficients.beta != NULL && r->kv_blocks > 0);
  blis_status status =
      blis_catalogue_find_model(r->catalogue, id, &r->model, &error);
  if (status != BLIS_OK && !is_optional) {
    check_status(L, status, &error);
  }
  if (has_config) {
    return;
  }
  if (r->model != NULL && r->model->has_dimensions) {
    r->spec = &r->model->spec;
  } else if (needs_dimensions(r->kind)) {
    check_status(
        L, blis_catalogue_find_model_spec(r->catalogue, id, &r->spec, &error),
        &error);
  }
}

static void check_hardware(lua_State *L, int index, resolved *r) {
  blis_error error = {0};
  const char *name = opt_field_string(L, index, "hardware");
  if (name == NULL && r->model != NULL && r->model->hardware[0] != '\0') {
    name = r->model->hardware;
  }
  if (name != NULL) {
    check_status(
        L,
        blis_catalogue_find_hardware(r->catalogue, name, &r->hardware, &error),
        &error);
  } else if (r->model != NULL || r->spec != NULL) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "cluster.hardware is missing, and the catalogue knows no usual "
              "GPU for %s",
              check_field_string(L, index, "model"));
    bind_raise(L, &error);
  }
  int64_t usual_tp = r->model != NULL ? r->model->tp : 1;
  r->parallelism.tp = opt_field_integer(L, index, "tp", usual_tp);
  if (r->parallelism.tp == 0) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "cluster.tp is missing, and the catalogue knows no usual degree "
              "for %s",
              r->model->id);
    bind_raise(L, &error);
  }
}

static void add_note(void *ud, const char *text) {
  bind_engine *engine = ud;
  size_t used = strlen(engine->notes);
  snprintf(engine->notes + used, ENGINE_NOTES_SIZE - used, "%s%s",
           used == 0 ? "" : "\n", text);
}

static void check_latency(lua_State *L, int index, const resolved *r,
                          bind_engine *engine) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  const blis_latency_config config = {
      .kind = r->kind,
      .model_id = r->model != NULL ? r->model->id : engine->model,
      .model = r->spec,
      .hardware = r->hardware != NULL ? &r->hardware->spec : NULL,
      .parallelism = r->parallelism,
      .version = opt_field_string(L, index, "engine_version"),
      .coefficients = r->coefficients,
      .catalogue = r->catalogue,
  };
  check_status(L,
               blis_latency_create(&alloc, &config, &engine->latency, &error),
               &error);
  blis_latency_warnings(&config, add_note, engine);
}

/* Blocks measured together with the coefficients of a blackbox model. */
static int64_t measured_blocks(const resolved *r) {
  const blis_coefficients_key key = {
      .kind = r->kind,
      .model = r->model != NULL ? r->model->id : NULL,
      .hardware = r->hardware != NULL ? r->hardware->name : NULL,
      .tp = r->parallelism.tp,
  };
  const blis_catalogue_coefficients *entry = NULL;
  blis_error error;
  return blis_catalogue_find_coefficients(r->catalogue, &key, &entry, &error) ==
                 BLIS_OK
             ? entry->kv_blocks
             : 0;
}

static int64_t check_kv_blocks(lua_State *L, int index, const resolved *r,
                               bind_engine *engine) {
  if (r->kv_blocks > 0) {
    return r->kv_blocks;
  }
  blis_error error = {0};
  engine->is_capacity_computed = true;
  if (r->spec == NULL || r->hardware == NULL) {
    int64_t blocks = measured_blocks(r);
    if (blocks == 0) {
      blis_fail(&error, BLIS_ERR_INVALID,
                "cluster.kv_blocks is missing, and cannot be worked out "
                "without the dimensions of %s",
                engine->model);
      bind_raise(L, &error);
    }
    return blocks;
  }
  const blis_kv_capacity_config config = {
      .model = r->spec,
      .hardware = &r->hardware->spec,
      .tp = r->parallelism.tp,
      .dp = r->parallelism.dp,
      .block_size_tokens = check_field_integer(L, index, "block_size"),
      .memory_utilization =
          check_field_number(L, index, "gpu_memory_utilization"),
  };
  check_status(L, blis_kv_capacity_compute(&config, &engine->capacity, &error),
               &error);
  return engine->capacity.blocks;
}

static void check_instance_config(lua_State *L, int index, const resolved *r,
                                  bind_engine *engine) {
  static const char *const schedulers[] = {
      "fcfs", "priority-fcfs", "sjf", "reverse-priority", "scripted", NULL};
  static const char *const preemptions[] = {"fcfs", "priority", NULL};
  static const char *const engines[] = {"fast", "stepwise", NULL};
  int64_t blocks = check_kv_blocks(L, index, r, engine);
  int64_t block_size = check_field_integer(L, index, "block_size");
  int64_t longest =
      opt_field_integer(L, index, "max_model_len",
                        r->spec != NULL ? r->spec->max_model_tokens : 0);
  engine->config = (blis_instance_config){
      .latency = &engine->latency,
      .kv_blocks = blocks,
      .block_size_tokens = block_size,
      .max_num_seqs = check_field_integer(L, index, "max_num_seqs"),
      .max_batched_tokens =
          check_field_integer(L, index, "max_num_batched_tokens"),
      .long_prefill_threshold_tokens =
          check_field_integer(L, index, "long_prefill_token_threshold"),
      .max_model_len_tokens =
          blis_kv_limit_model_tokens(longest, blocks, block_size),
      .horizon_us = check_field_integer(L, index, "horizon_us"),
      .scheduler = (blis_scheduler_kind)check_field_choice(
          L, index, "scheduler", schedulers),
      .preemption = (blis_preemption_kind)check_field_choice(
          L, index, "preemption_policy", preemptions),
      .engine =
          (blis_engine_kind)check_field_choice(L, index, "engine", engines),
      .reproduce_go_blis_defects =
          opt_field_boolean(L, index, "reproduce_go_blis_defects", false),
      .cpu_blocks = check_field_integer(L, index, "kv_cpu_blocks"),
      .cpu_bandwidth_tokens_per_us =
          check_field_number(L, index, "kv_transfer_bandwidth"),
      .cpu_base_latency_us =
          check_field_integer(L, index, "kv_transfer_base_latency_us"),
  };
}

void check_engine(lua_State *L, int index, bind_engine *engine) {
  int top = lua_gettop(L);
  resolved r = {
      .catalogue = check_catalogue(L),
      .kind = check_field_string(L, index, "latency_model"),
      .parallelism = {.dp = check_field_integer(L, index, "dp"),
                      .expert_parallel =
                          opt_field_boolean(L, index, "expert_parallel", false),
                      .moe_comm_backend =
                          opt_field_string(L, index, "moe_comm_backend")},
      .kv_blocks = opt_field_integer(L, index, "kv_blocks", 0),
  };
  r.coefficients.alpha =
      push_numbers(L, index, "alpha_coeffs", &r.coefficients.alpha_count);
  r.coefficients.beta =
      push_numbers(L, index, "beta_coeffs", &r.coefficients.beta_count);
  snprintf(engine->model, ENGINE_NAME_SIZE, "%s",
           check_field_string(L, index, "model"));
  check_model(L, index, &r, engine);
  check_hardware(L, index, &r);
  if (r.hardware != NULL) {
    snprintf(engine->hardware, ENGINE_NAME_SIZE, "%s", r.hardware->name);
  }
  engine->tp = r.parallelism.tp;
  check_latency(L, index, &r, engine);
  check_instance_config(L, index, &r, engine);
  lua_settop(L, top);
}

void bind_engine_close(bind_engine *engine) {
  blis_latency_free(&engine->latency);
}
