#include "lua/engine/capacity.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/embedded.h"
#include "lua/engine/layered_kv.h"

/* Returns whether all layers have full attention in the data type of the model, so that equal
   layers describe it. */
static bool is_plain(const blis_layered_model *model) {
  bool is_plain = model->kv_bytes == 0.0;
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer *layer = &model->runs[i].layer;
    is_plain &= layer->attention.kind == BLIS_ATTENTION_FULL;
    for (int class = 0; class < BLIS_WEIGHT_CLASS_COUNT; class ++) {
      is_plain &= layer->formats[class].kind == BLIS_KIND_MODEL;
    }
  }
  return is_plain;
}

/* Returns whether the memory reserve depends on the sizes of the model. */
static bool is_sized(lua_State *L, int index) {
  const char *reserve = opt_field_string(L, index, "kv_reserve");
  return (reserve == NULL || strcmp(reserve, "sized") == 0) &&
         opt_field_boolean(L, index, "kv_capacity_per_gpu", false);
}

/* Returns whether the capacity is computed from the layers. With equal layers, the reserve can
   be constant. */
static bool uses_layers(lua_State *L, int index, const bind_engine_model *m) {
  blis_kv_layout layout;
  return m->layered != NULL &&
         (is_sized(L, index) || (m->has_own_layers && !is_plain(m->layered)) ||
          check_layered_layout(L, index, m, &layout));
}

void check_capacity(lua_State *L, int index, const bind_engine_model *m,
                    blis_kv_capacity *capacity) {
  if (uses_layers(L, index, m)) {
    check_layered_capacity(L, index, m, capacity);
    return;
  }
  const blis_kv_capacity_config config = {
      .model = m->spec,
      .hardware = &m->hardware->spec,
      .tp = m->parallelism.tp,
      .dp = m->parallelism.dp,
      .ranks = m->sharing_ranks,
      .block_size_tokens = check_field_integer(L, index, "block_size"),
      .memory_utilization = check_field_number(L, index, "gpu_memory_utilization"),
      .reserved_bytes = opt_field_integer(L, index, "adapter_bytes", 0),
      .is_per_gpu = opt_field_boolean(L, index, "kv_capacity_per_gpu", false),
  };
  blis_error error = {0};
  check_status(L, blis_kv_capacity_compute(&config, capacity, &error), &error);
}

void set_capacity(lua_State *L, const blis_kv_capacity *capacity) {
  set_field_number(L, "bytes_per_token", capacity->bytes_per_token);
  set_field_integer(L, "bytes_per_block", capacity->bytes_per_block);
  set_field_integer(L, "params", capacity->params);
  set_field_integer(L, "weight_bytes", capacity->weight_bytes);
  set_field_number(L, "memory_gib", capacity->memory_gib);
  set_field_number(L, "weights_gib", capacity->weights_gib);
  set_field_number(L, "activations_gib", capacity->activations_gib);
  set_field_number(L, "non_torch_gib", capacity->non_torch_gib);
  set_field_number(L, "reserved_gib", capacity->reserved_gib);
  set_field_number(L, "overhead_gib", capacity->overhead_gib);
  set_field_integer(L, "allocatable_bytes", capacity->allocatable_bytes);
}

int bind_kv_capacity(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  bind_engine_model m;
  check_engine_model(L, 1, false, &m);
  if (m.spec == NULL || m.hardware == NULL) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID, "the dimensions of %s are unknown", m.id);
    bind_raise(L, &error);
  }
  blis_kv_capacity capacity = {0};
  check_capacity(L, 1, &m, &capacity);
  blis_kv_layout layout;
  bool has_groups = check_layered_layout(L, 1, &m, &layout);
  lua_createtable(L, 0, 20);
  set_field_string(L, "model", m.id);
  set_field_string(L, "hardware", m.hardware->name);
  set_field_integer(L, "tp", m.parallelism.tp);
  set_field_integer(L, "dp", m.parallelism.dp);
  int64_t block_size = check_field_integer(L, 1, "block_size");
  set_field_integer(L, "block_size", block_size);
  set_field_integer(L, "blocks", capacity.blocks);
  set_field_integer(L, "tokens", capacity.blocks * block_size);
  set_field_integer(L, "logged_tokens",
                    logged_kv_tokens(has_groups ? &layout : NULL, capacity.blocks, block_size,
                                     opt_field_integer(L, 1, "max_model_len", 0)));
  set_capacity(L, &capacity);
  return 1;
}

static void set_numbers(lua_State *L, const char *name, const double *values, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, values[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, name);
}

int bind_coefficients(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  bind_engine_model m;
  check_engine_model(L, 1, true, &m);
  const blis_latency_config config = check_latency_config(L, 1, &m);
  blis_coefficients coefficients;
  const blis_coverage *coverage;
  blis_error error = {0};
  check_status(L, blis_latency_coefficients(&config, &coefficients, &coverage, &error), &error);
  lua_createtable(L, 0, 2);
  set_numbers(L, "alpha", coefficients.alpha, coefficients.alpha_count);
  set_numbers(L, "beta", coefficients.beta, coefficients.beta_count);
  return 1;
}

int bind_own_coefficients(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const char *kind = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  bind_engine_model m;
  check_engine_model(L, 1, true, &m);
  const blis_coefficients_key key = {
      .kind = kind,
      .model = m.model != NULL ? m.model->id : m.id,
      .hardware = m.hardware != NULL ? m.hardware->name : NULL,
      .tp = m.parallelism.tp,
      .version = opt_field_string(L, 1, "engine_version"),
  };
  const blis_catalogue_coefficients *found = NULL;
  blis_error error;
  if (blis_catalogue_find_coefficients(m.catalogue, &key, &found, &error) != BLIS_OK ||
      blis_embedded_find(found->source) != NULL) {
    return 0;
  }
  lua_pushstring(L, found->source);
  return 1;
}
