#include "lua/engine/layered_kv.h"

#include <math.h>
#include <stdio.h>

#include "base/minmax.h"
#include "latency/kv/layered_capacity.h"
#include "latency/layers/totals.h"
#include "lua/bind/bind.h"

static const double GIB = 1073741824.0;

/* KV connectors that cannot handle freed blocks disable the hybrid KV cache, as in vLLM. */
static bool keeps_all_tokens(lua_State *L, int index) {
  return !opt_field_boolean(L, index, "hybrid_kv_cache", true) ||
         opt_field_integer(L, index, "kv_cpu_blocks", 0) > 0;
}

blis_model_cache kept_cache(lua_State *L, int index, const bind_engine_model *m) {
  blis_model_cache cache = blis_layered_cache(m->layered, m->parallelism.tp);
  if (keeps_all_tokens(L, index)) {
    cache.token_bytes += cache.span_bytes;
    cache.window_bytes = 0.0;
    cache.span_bytes = 0.0;
    cache.span_tokens = 0;
  }
  return cache;
}

static blis_page_groups_config pages_of(lua_State *L, int index, const bind_engine_model *m,
                                        bool keeps_all) {
  return (blis_page_groups_config){.runs = m->layered->runs,
                                   .run_count = m->layered->run_count,
                                   .hidden_size = m->layered->hidden_size,
                                   .widths = blis_layered_widths(m->layered),
                                   .tp = m->parallelism.tp,
                                   .block_tokens = check_field_integer(L, index, "block_size"),
                                   .keeps_all_tokens = keeps_all};
}

static blis_page_groups check_groups(lua_State *L, const blis_page_groups_config *config) {
  blis_page_groups groups = {0};
  blis_error error = {0};
  check_status(L, blis_page_groups_make(config, &groups, &error), &error);
  return groups;
}

static blis_kv_layout layout_of(const blis_page_groups *groups) {
  static const blis_kv_group_kind KINDS[] = {[BLIS_CACHE_FULL] = BLIS_KV_FULL,
                                             [BLIS_CACHE_WINDOW] = BLIS_KV_WINDOW,
                                             [BLIS_CACHE_CHUNK] = BLIS_KV_CHUNK,
                                             [BLIS_CACHE_STATE] = BLIS_KV_STATE};
  blis_kv_layout layout = {.count = groups->count};
  for (size_t i = 0; i < groups->count; i++) {
    const blis_page_group *group = &groups->groups[i];
    layout.groups[i] = (blis_kv_group){.kind = KINDS[group->kind],
                                       .block_tokens = group->block_tokens,
                                       .span_tokens = group->span_tokens,
                                       .count = group->count};
  }
  return layout;
}

bool check_layered_layout(lua_State *L, int index, const bind_engine_model *m,
                          blis_kv_layout *layout) {
  bool is_stated = lua_getfield(L, index, "kv_layout") != LUA_TNIL;
  lua_pop(L, 1);
  if (m->layered == NULL || is_stated) {
    return false;
  }
  blis_page_groups_config config = pages_of(L, index, m, false);
  blis_page_groups groups = check_groups(L, &config);
  if (groups.count == 0 || blis_page_groups_is_plain(&groups)) {
    return false;
  }
  if (keeps_all_tokens(L, index)) {
    config.keeps_all_tokens = true;
    groups = check_groups(L, &config);
  }
  *layout = layout_of(&groups);
  return true;
}

int64_t logged_kv_tokens(const blis_kv_layout *layout, int64_t blocks, int64_t block_tokens,
                         int64_t max_model_len) {
  if (layout == NULL) {
    return blocks * block_tokens;
  }
  int64_t least = 0;
  for (size_t i = 0; i < layout->count; i++) {
    const blis_kv_group *group = &layout->groups[i];
    bool is_less = least == 0 || group->block_tokens < least;
    least = group->kind != BLIS_KV_STATE && is_less ? group->block_tokens : least;
  }
  if (least == 0) { /* states only: a block holds a sequence of any length */
    least = max_model_len > 0 ? max_model_len : block_tokens;
  }
  return blocks / blis_kv_layout_groups(layout) * least;
}

/* Raises if no block fits. The message contains the number of GPUs that would hold the weights. */
static void check_fits(lua_State *L, const bind_engine_model *m, const blis_layered_capacity *c) {
  double other = c->activations_gib + c->logits_gib + c->fixed_gib + c->adapters_gib;
  double left = c->memory_gib - other;
  if (c->logged_tokens > 0) {
    return;
  }
  char remedy[64] = "no number of GPUs suffices";
  if (left > 0.0) {
    double tp = (double)m->parallelism.tp;
    double gpus = fmax(floor(c->weights_gib * tp / left), tp) + 1.0;
    (void)snprintf(remedy, sizeof remedy, "at least %.0f GPUs are needed", gpus);
  }
  blis_error error = {0};
  blis_fail(&error, BLIS_ERR_INVALID,
            "model %s does not fit: each GPU needs %.2f GiB (weights %.2f + other %.2f) and has "
            "%.2f GiB (%s); %s",
            m->id, c->weights_gib + other, c->weights_gib, other, c->memory_gib, m->hardware->name,
            remedy);
  bind_raise(L, &error);
}

static blis_layered_capacity_config capacity_config(lua_State *L, int index,
                                                    const bind_engine_model *m) {
  bool is_stated = lua_getfield(L, index, "kv_layout") != LUA_TNIL;
  lua_pop(L, 1);
  int64_t tp = m->parallelism.tp;
  int64_t sharing = blis_max_i64(m->sharing_ranks, m->parallelism.dp);
  const blis_sharding sharding = {.tp = tp, .experts_gpus = tp * sharing};
  return (blis_layered_capacity_config){
      /* In a stated layout the groups define the blocks, even if all tokens are stored. */
      .pages = pages_of(L, index, m, !is_stated && keeps_all_tokens(L, index)),
      .vocabulary = m->layered->vocabulary,
      .weight_bytes = blis_layered_weight_bytes_per_gpu(m->layered, &sharding),
      .memory_gib = blis_hardware_spec_usable_gib(&m->hardware->spec),
      .utilization = check_field_number(L, index, "gpu_memory_utilization"),
      .step_tokens = opt_field_integer(L, index, "max_num_batched_tokens", 2048),
      .sequences = opt_field_integer(L, index, "max_num_seqs", 256),
      .adapter_bytes = (double)opt_field_integer(L, index, "adapter_bytes", 0) / (double)tp};
}

bool layers_fit(lua_State *L, int index, const bind_engine_model *m, int64_t tp) {
  bind_engine_model at = *m;
  at.parallelism.tp = tp;
  const blis_layered_capacity_config config = capacity_config(L, index, &at);
  blis_layered_capacity c;
  blis_error error;
  return blis_layered_check_tp(m->layered, tp, &error) == BLIS_OK &&
         blis_layered_capacity_compute(&config, &c, &error) == BLIS_OK && c.logged_tokens > 0;
}

void check_layered_capacity(lua_State *L, int index, const bind_engine_model *m,
                            blis_kv_capacity *capacity) {
  int64_t tp = m->parallelism.tp;
  const blis_layered_capacity_config config = capacity_config(L, index, m);
  blis_layered_capacity c;
  blis_error error = {0};
  if (config.memory_gib <= 0.0) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "hardware %s: memory_gib (MemoryGiB) is missing; state it or give the KV block count "
              "(--total-kv-blocks)",
              m->hardware->name);
    bind_raise(L, &error);
  }
  check_status(L, blis_layered_check_tp(m->layered, tp, &error), &error);
  check_status(L, blis_layered_capacity_compute(&config, &c, &error), &error);
  check_fits(L, m, &c);
  double gpus = (double)tp;
  *capacity = (blis_kv_capacity){
      .blocks = c.blocks * (blis_layered_model_has_experts(m->layered) ? m->parallelism.dp : 1),
      .bytes_per_token = kept_cache(L, index, m).token_bytes,
      .bytes_per_block = c.pages.block_bytes,
      .params = (int64_t)blis_layered_parameters(m->layered),
      .weight_bytes = (int64_t)blis_layered_weight_bytes(m->layered),
      .allocatable_bytes = (int64_t)(c.room_gib * GIB),
      .memory_gib = c.memory_gib * gpus,
      .weights_gib = c.weights_gib * gpus,
      .activations_gib = (c.activations_gib + c.logits_gib) * gpus,
      .non_torch_gib = c.fixed_gib * gpus,
      .reserved_gib = c.adapters_gib * gpus,
      .overhead_gib = (c.memory_gib - c.room_gib) * gpus};
}
