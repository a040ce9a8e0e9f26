/* Facts about an engine before it runs. */
#include "latency/step/coverage.h"
#include "lua/bind/bind.h"
#include "lua/engine/capacity.h"
#include "lua/engine/engine.h"
#include "lua/engine/layered_kv.h"

enum { BATCH_MAX = 8 };

/* A batch whose step time characterizes the model. */
typedef struct example {
  const char *name;
  blis_batch_item items[BATCH_MAX]; /* progress, new, prompt, output tokens */
} example;

static const example examples[] = {
    {"1 prefill of 1,000 tokens", {{0, 1000, 1000, 4}}},
    {"8 decodes at 333 to 4,096 tokens",
     {{512, 1, 512, 128},
      {600, 1, 512, 128},
      {1024, 1, 1000, 256},
      {1100, 1, 1000, 256},
      {2048, 1, 2000, 300},
      {2200, 1, 2000, 300},
      {4096, 1, 4000, 400},
      {333, 1, 300, 64}}},
    {"2 prefills, 2,048 tokens in total", {{0, 1000, 1000, 100}, {512, 1048, 3000, 200}}},
    {"2 prefills, 1,212 tokens in total, and 4 decodes",
     {{0, 700, 700, 100},
      {1024, 512, 2048, 100},
      {512, 1, 512, 128},
      {600, 1, 512, 128},
      {1500, 1, 1000, 1000},
      {3000, 1, 2000, 2000}}},
};

static size_t batch_size(const example *batch) {
  size_t count = 0;
  while (count < BATCH_MAX && batch->items[count].new_tokens > 0) {
    count++;
  }
  return count;
}

static void set_step_times(lua_State *L, const bind_engine *engine) {
  enum { COUNT = sizeof examples / sizeof *examples };
  bool is_scripted = engine->latency.ops == NULL; /* it may reject the batches */
  lua_createtable(L, COUNT, 0);
  for (int i = 0; i < COUNT && !is_scripted; i++) {
    int64_t step_us = 0;
    blis_error error = {0};
    check_status(L,
                 blis_latency_step_time(&engine->latency, examples[i].items,
                                        batch_size(&examples[i]), &step_us, &error),
                 &error);
    lua_createtable(L, 0, 2);
    set_field_string(L, "batch", examples[i].name);
    set_field_integer(L, "step_us", step_us);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "step_times");
}

static void set_coverage(lua_State *L, const blis_coverage *coverage) {
  char limits[256];
  blis_coverage_describe(coverage, limits, sizeof limits);
  lua_createtable(L, 0, 3);
  set_field_string(L, "fitted_on", coverage->fitted_on);
  set_field_string(L, "limits", limits);
  lua_pushboolean(L, coverage->extrapolated);
  lua_setfield(L, -2, "extrapolated");
  lua_setfield(L, -2, "coverage");
}

/* Sets the properties that determine the error of step times, for results/expected_error.lua. */
static void set_regime(lua_State *L, const bind_engine *engine) {
  const blis_step_regime *regime = &engine->regime;
  lua_createtable(L, 0, 11);
  set_field_string(L, "gpu", engine->hardware);
  set_field_string(L, "weights", regime->weights);
  lua_pushboolean(L, regime->has_experts);
  lua_setfield(L, -2, "has_experts");
  lua_pushboolean(L, regime->has_usual_attention);
  lua_setfield(L, -2, "has_usual_attention");
  lua_pushboolean(L, regime->is_async);
  lua_setfield(L, -2, "is_async");
  set_field_integer(L, "layers", regime->layers);
  set_field_integer(L, "hidden_size", regime->hidden_size);
  set_field_number(L, "kv_bits", regime->kv_bits);
  set_field_integer(L, "step_tokens", engine->config.max_batched_tokens);
  if (engine->has_own_gpu) {
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "has_own_gpu");
  }
  if (engine->has_own_constants) {
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "has_own_constants");
  }
  lua_setfield(L, -2, "regime");
}

/* Returns the number of maximum-length sequences that fit at the same time, as logged by vLLM; 0
   = no maximum length. */
static double max_concurrency(const blis_instance_config *config) {
  int64_t tokens = config->max_model_len_tokens;
  int64_t size = config->block_size_tokens;
  int64_t blocks = tokens / size + (tokens % size != 0);
  if (config->kv_layout != NULL) {
    blocks = blis_kv_layout_peak_blocks(config->kv_layout, tokens, config->max_batched_tokens, 0);
  }
  return blocks > 0 ? (double)config->kv_blocks / (double)blocks : 0.0;
}

void push_engine_facts(lua_State *L, const bind_engine *engine) {
  lua_createtable(L, 0, 16);
  set_field_string(L, "model", engine->model);
  set_field_string(L, "hardware", engine->hardware);
  set_field_integer(L, "tp", engine->tp);
  set_field_integer(L, "dp", engine->dp);
  if (engine->config.ranks != NULL) {
    set_field_integer(L, "ranks", engine->config.ranks->count);
  }
  set_field_string(L, "latency_model", engine->latency_name);
  set_field_integer(L, "kv_blocks", engine->config.kv_blocks);
  set_field_integer(L, "block_size", engine->config.block_size_tokens);
  const blis_instance_config *config = &engine->config;
  set_field_integer(L, "kv_tokens",
                    logged_kv_tokens(config->kv_layout, config->kv_blocks,
                                     config->block_size_tokens, config->max_model_len_tokens));
  if (config->kv_layout != NULL) {
    set_field_integer(L, "kv_groups", blis_kv_layout_groups(config->kv_layout));
  }
  set_field_integer(L, "max_num_seqs", engine->config.max_num_seqs);
  set_field_integer(L, "max_model_len", engine->config.max_model_len_tokens);
  set_field_number(L, "max_concurrency", max_concurrency(config));
  lua_pushboolean(L, engine->is_capacity_computed);
  lua_setfield(L, -2, "kv_blocks_computed");
  set_field_string(L, "notes", engine->notes);
  set_field_number(L, "gpu_price_per_hour", engine->gpu_price_per_hour);
  if (engine->capacity.blocks > 0) {
    lua_createtable(L, 0, 16);
    set_capacity(L, &engine->capacity);
    lua_setfield(L, -2, "capacity");
  }
  set_step_times(L, engine);
  if (engine->regime.weights != NULL) {
    set_regime(L, engine);
  }
  const blis_coverage *coverage = bind_engine_coverage(engine);
  if (coverage != NULL) {
    set_coverage(L, coverage);
  }
}

static int engine_gc(lua_State *L) {
  bind_engine_close(lua_touserdata(L, 1));
  return 0;
}

int bind_engine_facts(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  bind_engine *engine = push_guarded(L, 1, sizeof *engine, engine_gc);
  check_engine(L, 1, engine);
  push_engine_facts(L, engine);
  return 1;
}
