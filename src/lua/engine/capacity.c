#include "lua/engine/capacity.h"

#include <inttypes.h>
#include <math.h>

#include "latency/kv/layered_capacity.h"
#include "latency/layers/totals.h"
#include "lua/bind/bind.h"

static const double GIB = 1073741824.0;

/* Full attention everywhere, in the model's type: equal layers describe it. */
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

static void check_fits(lua_State *L, const bind_engine_model *m, const blis_layered_capacity *c) {
  double other = c->activations_gib + c->logits_gib + c->fixed_gib + c->adapters_gib;
  double left = c->memory_gib - other;
  if (c->logged_tokens > 0) {
    return;
  }
  blis_error error = {0};
  int64_t tp = m->parallelism.tp;
  blis_fail(&error, BLIS_ERR_INVALID,
            "model %s does not fit: on each GPU weights %.2f + other %.2f GiB, available %.2f GiB "
            "(%s); at least %.0f GPUs are needed",
            m->id, c->weights_gib, other, c->memory_gib, m->hardware->name,
            left > 0.0 ? ceil(c->weights_gib * (double)tp / left) : (double)INFINITY);
  bind_raise(L, &error);
}

/* The capacity of a model with kinds of layers or formats that equal layers do not describe. Blocks
   count the tokens that vLLM logs: those for which every group of layers has a block. */
static void check_layered_capacity(lua_State *L, int index, const bind_engine_model *m,
                                   blis_kv_capacity *capacity) {
  const blis_layered_model *model = m->layered;
  int64_t tp = m->parallelism.tp;
  int64_t block_size = check_field_integer(L, index, "block_size");
  int64_t experts_gpus = tp * m->parallelism.dp * m->sharing_ranks;
  const blis_sharding sharding = {tp, experts_gpus};
  const blis_layered_capacity_config config = {
      .pages = {.runs = model->runs,
                .run_count = model->run_count,
                .hidden_size = model->hidden_size,
                .widths = blis_layered_widths(model),
                .tp = tp,
                .block_tokens = block_size},
      .vocabulary = model->vocabulary,
      .weight_bytes = blis_layered_weight_bytes_per_gpu(model, &sharding),
      .memory_gib = m->hardware->spec.memory_gib,
      .utilization = check_field_number(L, index, "gpu_memory_utilization"),
      .step_tokens = opt_field_integer(L, index, "max_num_batched_tokens", 2048),
      .sequences = opt_field_integer(L, index, "max_num_seqs", 256),
      .adapter_bytes = (double)opt_field_integer(L, index, "adapter_bytes", 0) / (double)tp,
  };
  blis_layered_capacity c;
  blis_error error = {0};
  check_status(L, blis_layered_check_tp(model, tp, &error), &error);
  check_status(L, blis_layered_capacity_compute(&config, &c, &error), &error);
  check_fits(L, m, &c);
  double gpus = (double)tp;
  int64_t blocks = c.logged_tokens / block_size;
  *capacity = (blis_kv_capacity){
      .blocks = blocks * (blis_layered_model_has_experts(model) ? m->parallelism.dp : 1),
      .bytes_per_token = blis_layered_cache(model, tp).token_bytes,
      .bytes_per_block = (int64_t)(c.room_gib * GIB / (double)(blocks > 0 ? blocks : 1)),
      .params = (int64_t)blis_layered_parameters(model),
      .weight_bytes = (int64_t)blis_layered_weight_bytes(model),
      .allocatable_bytes = (int64_t)(c.room_gib * GIB),
      .memory_gib = c.memory_gib * gpus,
      .weights_gib = c.weights_gib * gpus,
      .activations_gib = (c.activations_gib + c.logits_gib) * gpus,
      .non_torch_gib = c.fixed_gib * gpus,
      .reserved_gib = c.adapters_gib * gpus,
      .overhead_gib = (c.memory_gib - c.room_gib) * gpus,
  };
}

void check_capacity(lua_State *L, int index, const bind_engine_model *m,
                    blis_kv_capacity *capacity) {
  if (m->has_own_layers && !is_plain(m->layered)) {
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
    blis_fail(&error, BLIS_ERR_INVALID, "the dimensions of %s are not known", m.id);
    bind_raise(L, &error);
  }
  blis_kv_capacity capacity = {0};
  check_capacity(L, 1, &m, &capacity);
  lua_createtable(L, 0, 20);
  set_field_string(L, "model", m.id);
  set_field_string(L, "hardware", m.hardware->name);
  set_field_integer(L, "tp", m.parallelism.tp);
  set_field_integer(L, "dp", m.parallelism.dp);
  int64_t block_size = check_field_integer(L, 1, "block_size");
  set_field_integer(L, "block_size", block_size);
  set_field_integer(L, "blocks", capacity.blocks);
  set_field_integer(L, "tokens", capacity.blocks * block_size);
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
