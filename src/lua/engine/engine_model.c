#include "lua/engine/engine_model.h"

#include <string.h>

#include "latency/model/layered_spec.h"
#include "lua/bind/bind.h"
#include "lua/engine/catalogue.h"
#include "lua/engine/layered_kv.h"

static bool is_kind(const bind_engine_model *m, const char *kind) {
  return strcmp(m->kind, kind) == 0;
}

static bool needs_dimensions(const bind_engine_model *m) {
  return is_kind(m, "trained-physics") || is_kind(m, "calibrated") || is_kind(m, "roofline") ||
         is_kind(m, "composed");
}

static bool needs_lookup(const bind_engine_model *m) {
  return is_kind(m, "blackbox") && m->coefficients.beta == NULL;
}

/* Returns the numbers in a field, kept alive on the stack; NULL if the field is not set. */
static const double *push_numbers(lua_State *L, int index, const char *name, size_t *count) {
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

/* Returns whether the engine counts the real structure of the model (see blis_model_spec). Profile
   go-blis does not. */
static bool counts_as_built(lua_State *L, int index) {
  return opt_field_boolean(L, index, "counts_as_built", false);
}

static int layered_gc(lua_State *L) {
  blis_layered_model_free(lua_touserdata(L, 1));
  return 0;
}

/* Pushes an empty model with layers, which Lua owns and collects. */
static blis_layered_model *push_layered(lua_State *L) {
  return push_guarded(L, 1, sizeof(blis_layered_model), layered_gc);
}

/* Reads the options that replace the model's files. */
static blis_model_options model_options(lua_State *L, int index) {
  return (blis_model_options){
      .quantization = opt_field_string(L, index, "quantization"),
      .kv_cache_dtype = opt_field_string(L, index, "kv_cache_dtype"),
      .dtype = opt_field_string(L, index, "dtype"),
  };
}

/* Reads a config.json, which has priority over the catalog entry of the model. */
static bool check_model_config(lua_State *L, int index, bind_engine_model *m) {
  const char *path = opt_field_string(L, index, "model_config");
  if (path == NULL) {
    return false;
  }
  m->spec = &m->own_spec;
  if (!counts_as_built(L, index)) {
    check_model_file(L, path, m->id, &m->own_spec);
    return true;
  }
  const blis_model_options options = model_options(L, index);
  blis_layered_model *layered = push_layered(L);
  check_layered_file(L, path, m->id, &options, layered);
  m->layered = layered;
  m->has_own_layers = true;
  m->own_spec = blis_layered_model_spec(layered);
  return true;
}

/* Uses the layer list of a similar catalog model for an entry without layers. */
static void check_listed_layers(lua_State *L, bind_engine_model *m) {
  const blis_catalogue_model *listed = NULL;
  blis_error error = {0};
  check_status(L, blis_catalogue_find_layered(m->catalogue, m->model, &listed, &error), &error);
  if (listed != NULL) {
    m->has_own_layers = listed == m->model || !m->model->has_dimensions;
    m->spec = m->model->has_dimensions ? &m->model->spec : &listed->spec;
    m->model = listed;
    m->layered = listed->layered;
  }
}

static void check_model(lua_State *L, int index, bool has_blocks, bind_engine_model *m) {
  blis_error error = {0};
  bool has_config = check_model_config(L, index, m);
  bool is_optional = has_config || (has_blocks && !needs_dimensions(m) && !needs_lookup(m));
  blis_status status = blis_catalogue_find_model(m->catalogue, m->id, &m->model, &error);
  if (status != BLIS_OK && !is_optional) {
    check_status(L, status, &error);
  }
  if (has_config) {
    return;
  }
  if (m->model != NULL && counts_as_built(L, index)) {
    check_listed_layers(L, m);
  }
  if (m->spec != NULL) {
    return;
  }
  if (m->model != NULL && m->model->has_dimensions) {
    m->spec = &m->model->spec;
  } else if (needs_dimensions(m)) {
    check_status(L, blis_catalogue_find_model_spec(m->catalogue, m->id, &m->spec, &error), &error);
  }
}

/* Creates the layers of a model with equal layers. A model that lacks a size has no layers; the
   computation of the KV capacity reports a missing size that it needs. */
static void expand_equal_layers(lua_State *L, bind_engine_model *m) {
  blis_alloc alloc = bind_alloc(L);
  blis_layered_model *layered = push_layered(L);
  blis_error error;
  if (m->layered == NULL && blis_model_spec_expand(&alloc, m->spec, layered, &error) == BLIS_OK) {
    m->layered = layered;
  }
}

static bool is_stated(const char *option) {
  return option != NULL && option[0] != '\0';
}

static bool has_formats(const blis_model_options *options) {
  return is_stated(options->quantization) || is_stated(options->kv_cache_dtype) ||
         is_stated(options->dtype);
}

/* Raises if the options set formats that have no effect. */
static void check_formats_are_used(lua_State *L, int index, const bind_engine_model *m) {
  const blis_model_options options = model_options(L, index);
  if (m->layered == NULL && has_formats(&options)) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID,
              "quantization, kv_cache_dtype, and dtype have no effect on %s; expected a model with "
              "known layers, and profile design",
              m->id);
    bind_raise(L, &error);
  }
}

/* Replaces the formats of the catalog by the options of the user. Layers of a config.json already
   include them. */
static void override_formats(lua_State *L, int index, bind_engine_model *m) {
  const blis_model_options options = model_options(L, index);
  bool has_any = has_formats(&options);
  if (!has_any || m->layered == NULL || opt_field_string(L, index, "model_config") != NULL) {
    return;
  }
  blis_layered_model *copy = push_layered(L);
  blis_error error = {0};
  check_status(L, blis_layered_model_copy(m->layered, copy, &error), &error);
  check_status(L, blis_layered_model_override(copy, &options, &error), &error);
  blis_model_spec spec = blis_layered_model_spec(copy);
  m->own_spec.bytes_per_param = spec.bytes_per_param;
  m->own_spec.weight_bytes_per_param = spec.weight_bytes_per_param;
  m->layered = copy;
}

/* Copies the model with its real structure (see blis_model_spec) and its layers. */
static void count_as_built(lua_State *L, int index, bind_engine_model *m) {
  if (m->spec == NULL || !counts_as_built(L, index)) {
    return;
  }
  if (m->spec != &m->own_spec) {
    m->own_spec = *m->spec;
    m->spec = &m->own_spec;
  }
  m->own_spec.counts_as_built = true;
  expand_equal_layers(L, m);
  override_formats(L, index, m);
}

static void check_hardware(lua_State *L, int index, bind_engine_model *m) {
  blis_error error = {0};
  const char *name = opt_field_string(L, index, "hardware");
  if (name == NULL && m->model != NULL && m->model->hardware[0] != '\0') {
    name = m->model->hardware;
  }
  if (name == NULL && m->layered != NULL) {
    name = ENGINE_USUAL_GPU;
  }
  if (name != NULL) {
    check_status(L, blis_catalogue_find_hardware(m->catalogue, name, &m->hardware, &error), &error);
  } else if (m->model != NULL || m->spec != NULL) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "cluster.hardware is missing, and the catalogue has no default "
              "GPU for %s",
              m->id);
    bind_raise(L, &error);
  }
}

/* Returns the smallest common degree >= `least` at which the model fits. Returns `least` if none
   fits or if the options set the number of KV blocks. */
static int64_t fitting_tp(lua_State *L, int index, const bind_engine_model *m, int64_t least) {
  static const int64_t DEGREES[] = {1, 2, 4, 8};
  bool has_blocks = opt_field_integer(L, index, "kv_blocks", 0) > 0;
  for (int i = 0; i < 4 && !has_blocks && m->layered != NULL && m->hardware != NULL; i++) {
    if (DEGREES[i] >= least && layers_fit(L, index, m, DEGREES[i])) {
      return DEGREES[i];
    }
  }
  return least;
}

static void check_parallelism(lua_State *L, int index, bind_engine_model *m) {
  blis_error error = {0};
  int64_t usual_tp = m->model != NULL ? m->model->tp : 1;
  if (usual_tp == 0 && m->layered != NULL) {
    usual_tp = 1;
  }
  m->parallelism =
      (blis_parallelism){.tp = opt_field_integer(L, index, "tp", 0),
                         .dp = check_field_integer(L, index, "dp"),
                         .expert_parallel = opt_field_boolean(L, index, "expert_parallel", false),
                         .moe_comm_backend = opt_field_string(L, index, "moe_comm_backend")};
  if (m->parallelism.tp == 0) {
    m->parallelism.tp = fitting_tp(L, index, m, usual_tp);
  }
  if (m->parallelism.tp == 0) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "cluster.tp is missing, and the catalogue has no default degree for %s", m->id);
    bind_raise(L, &error);
  }
}

/* Determines the number of ranks over which the experts of a MoE model are spread: the ranks
   with a barrier. */
static void check_sharing(lua_State *L, int index, bind_engine_model *m) {
  int top = lua_gettop(L);
  m->sharing_ranks = 1;
  if (m->spec != NULL && blis_model_spec_is_moe(m->spec) &&
      lua_getfield(L, index, "ranks") != LUA_TNIL &&
      opt_field_boolean(L, top + 1, "barrier", true)) {
    m->sharing_ranks = check_field_integer(L, top + 1, "count");
  }
  lua_settop(L, top);
}

/* Sets the overheads. In BLIS (Go), a pool with roofline and without alpha uses the alpha of the
   other pools' model ("overheads_of"). */
static void check_overheads(lua_State *L, int index, bind_engine_model *m) {
  const char *kind = opt_field_string(L, index, "overheads_of");
  const blis_catalogue_coefficients *found;
  blis_error error = {0};
  if (kind == NULL || m->coefficients.alpha_count > 0) {
    return;
  }
  const blis_coefficients_key key = {.kind = kind,
                                     .model = m->id,
                                     .hardware = m->hardware != NULL ? m->hardware->name : NULL,
                                     .tp = m->parallelism.tp};
  check_status(L, blis_catalogue_find_coefficients(m->catalogue, &key, &found, &error), &error);
  m->coefficients.alpha = found->values.alpha;
  m->coefficients.alpha_count = found->values.alpha_count;
}

void check_engine_model(lua_State *L, int index, bool has_blocks, bind_engine_model *m) {
  *m = (bind_engine_model){
      .catalogue = check_catalogue_of(L, index),
      .kind = check_field_string(L, index, "latency_model"),
      .id = check_field_string(L, index, "model"),
  };
  m->coefficients.alpha = push_numbers(L, index, "alpha_coeffs", &m->coefficients.alpha_count);
  m->coefficients.beta = push_numbers(L, index, "beta_coeffs", &m->coefficients.beta_count);
  check_model(L, index, has_blocks, m);
  count_as_built(L, index, m);
  check_formats_are_used(L, index, m);
  check_hardware(L, index, m);
  check_sharing(L, index, m);
  check_parallelism(L, index, m);
  check_overheads(L, index, m);
}

static blis_slice opt_field_slice(lua_State *L, int index, const char *name) {
  blis_slice text = {NULL, 0};
  lua_getfield(L, index, name);
  text.data = luaL_optlstring(L, -1, NULL, &text.length);
  lua_pop(L, 1); /* the table keeps it alive */
  return text;
}

/* Returns the kernel tables of a folder, by file name. Lua has read them, and the table of options
   keeps them alive. */
static blis__kernel_tables opt_own_tables(lua_State *L, int index) {
  blis__kernel_tables tables = {0};
  if (lua_getfield(L, index, "kernel_texts") != LUA_TNIL) {
    for (int kind = 0; kind < BLIS__TABLE_COUNT; kind++) {
      const char *file = blis__table_file((blis__table_kind)kind);
      tables.texts[kind] = opt_field_slice(L, lua_gettop(L), file);
    }
  }
  lua_pop(L, 1);
  return tables;
}

static blis_composed_config check_composed_config(lua_State *L, int index,
                                                  const bind_engine_model *m) {
  if (!is_kind(m, "composed") || m->hardware == NULL) {
    return (blis_composed_config){0};
  }
  return (blis_composed_config){
      .constants = check_composed_constants(L, m->catalogue, m->hardware->name),
      .is_async = opt_field_boolean(L, index, "async_scheduling", true),
      .tokens_max = opt_field_integer(L, index, "max_num_batched_tokens", 0),
      .requests_max = opt_field_integer(L, index, "max_num_seqs", 0),
      .engine_scale = opt_field_number(L, index, "engine_scale", 0),
      .backend_number = opt_field_integer(L, index, "backend_number", 0),
      .uses_tables = opt_field_boolean(L, index, "uses_kernel_tables", false),
      .shipped_tables = shipped_kernel_tables(),
      .own_tables = opt_own_tables(L, index),
      .cache = check_step_cache(L),
  };
}

blis_latency_config check_latency_config(lua_State *L, int index, const bind_engine_model *m) {
  return (blis_latency_config){
      .kind = m->kind,
      .model_id = m->model != NULL ? m->model->id : m->id,
      .model = m->spec,
      .layered = m->layered,
      .hardware = m->hardware != NULL ? &m->hardware->spec : NULL,
      .parallelism = m->parallelism,
      .version = opt_field_string(L, index, "engine_version"),
      .coefficients = m->coefficients,
      .catalogue = m->catalogue,
      .composed = check_composed_config(L, index, m),
  };
}
