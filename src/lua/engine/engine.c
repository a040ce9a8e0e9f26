#include "lua/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "latency/layers/totals.h"
#include "latency/model/transformer.h"
#include "latency/step/copied.h"
#include "latency/step/coverage.h"
#include "lua/bind/bind.h"
#include "lua/bind/profile.h"
#include "lua/engine/capacity.h"
#include "lua/engine/catalogue.h"
#include "lua/engine/engine_model.h"
#include "lua/engine/kv_layout.h"
#include "lua/engine/layered_kv.h"

static void add_note(void *ud, const char *text) {
  bind_engine *engine = ud;
  size_t used = strlen(engine->notes);
  snprintf(engine->notes + used, ENGINE_NOTES_SIZE - used, "%s%s", used == 0 ? "" : "\n", text);
}

/* Checks the options of a Lua model. It accepts every parallelism, except that data-parallel
   copies of a dense model must be separate instances. */
static void check_scripted(lua_State *L, int index, const blis_latency_config *config,
                           bind_engine *engine) {
  blis_error error = {0};
  const blis_parallelism *parallelism = &config->parallelism;
  check_status(L, blis_parallelism_validate(parallelism, &error), &error);
  bool is_moe = config->model == NULL || blis_model_spec_is_moe(config->model);
  if (!is_moe && (parallelism->dp > 1 || parallelism->expert_parallel)) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "dp above 1 and expert parallelism need a mixture-of-experts "
              "model, %s is dense; use more instances",
              engine->model);
    bind_raise(L, &error);
  }
  lua_getfield(L, index, "latency_definition");
  luaL_checktype(L, -1, LUA_TTABLE);
  snprintf(engine->latency_name, ENGINE_NAME_SIZE, "%s", check_field_string(L, -1, "name"));
  lua_pop(L, 1);
}

/* Adds a note for parameters outside the range of the coefficients, before the run. */
static void note_coverage(const bind_engine_model *m, bind_engine *engine) {
  const blis_coverage *coverage = blis_latency_coverage(&engine->latency);
  if (coverage == NULL || m->spec == NULL) {
    return;
  }
  const blis_transformer parts = blis_transformer_of(m->spec);
  double parameters = blis_transformer_parameters(&parts, m->spec);
  char lacks[160];
  char text[480];
  if (coverage->extrapolated) {
    snprintf(text, sizeof text, "step times on %s are extrapolated: %s", engine->hardware,
             coverage->fitted_on);
    add_note(engine, text);
  }
  if (blis_coverage_lacks(coverage, parameters, m->parallelism.tp, lacks, sizeof lacks)) {
    snprintf(text, sizeof text, "step times on %s were not fitted for this: %s", engine->hardware,
             lacks);
    add_note(engine, text);
  }
}

/* With strict_coverage, the notes of note_coverage are errors. */
static void check_strict_coverage(lua_State *L, int index, const bind_engine_model *m,
                                  bind_engine *engine) {
  blis_error error = {0};
  size_t before = strlen(engine->notes);
  note_coverage(m, engine);
  engine->strict_coverage = opt_field_boolean(L, index, "strict_coverage", false);
  if (!engine->strict_coverage) {
    return;
  }
  if (engine->regime.weights != NULL) {
    return; /* engine/residuals.lua decides in this case */
  }
  if (blis_latency_coverage(&engine->latency) == NULL) {
    blis_fail(&error, BLIS_ERR_INVALID,
              "cluster.strict_coverage: the fitted range of the coefficients "
              "of %s is unknown",
              engine->latency_name);
    bind_raise(L, &error);
  }
  if (engine->notes[before] != '\0') {
    const char *note = engine->notes + before;
    blis_fail(&error, BLIS_ERR_INVALID, "cluster.strict_coverage: %s",
              note[0] == '\n' ? note + 1 : note);
    bind_raise(L, &error);
  }
}

/* {count =, barrier =, ...} */
static void check_ranks(lua_State *L, int index, const bind_engine_model *m, bind_engine *engine) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "ranks") != LUA_TNIL) {
    int table = lua_gettop(L);
    bool is_moe = m->spec != NULL && blis_model_spec_is_moe(m->spec);
    engine->ranks =
        (blis_rank_config){.count = (uint32_t)check_field_integer(L, table, "count"),
                           .has_barrier = opt_field_boolean(L, table, "barrier", is_moe),
                           .dummy_us = opt_field_integer(L, table, "dummy_us", -1),
                           .sync_every = check_field_integer(L, table, "sync_every"),
                           .prefill_interval = check_field_integer(L, table, "prefill_interval"),
                           .expert_factor = check_field_number(L, table, "expert_factor"),
                           .balances_itself = opt_field_boolean(L, table, "is_internal", false),
                           .clients = (uint32_t)check_field_integer(L, table, "clients"),
                           .publish_us = check_field_integer(L, table, "publish_us")};
  }
  lua_settop(L, top);
}

/*
 * Returns whether the latency model includes the exchange between ranks of a barrier: the experts
 * are spread over these ranks, and tokens come from all ranks.
 */
static bool tells_sharing(const bind_engine_model *m) {
  bool knows = strcmp(m->kind, "calibrated") == 0 || strcmp(m->kind, "composed") == 0 ||
               strcmp(m->kind, "trained-physics") == 0;
  return knows && m->sharing_ranks > 1;
}

/* Makes ranks share experts: the step time of a rank is that of the group if all ranks had the
   same batch. */
static void share_experts(lua_State *L, bind_engine *engine) {
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_latency_model of_group = engine->latency;
  engine->latency = (blis_latency_model){0};
  check_status(
      L, blis_copied_latency_new(&alloc, &of_group, engine->ranks.count, &engine->latency, &error),
      &error);
}

static bool has_equal_rates(const blis_hardware_spec *a, const blis_hardware_spec *b) {
  return a->peak_tflops == b->peak_tflops && a->fp8_tflops == b->fp8_tflops &&
         a->fp4_tflops == b->fp4_tflops && a->int8_tops == b->int8_tops &&
         a->bandwidth_tb_s == b->bandwidth_tb_s && a->link_gb_s == b->link_gb_s &&
         strcmp(a->link, b->link) == 0;
}

/* Notes what the user's catalog files change of the data that the expected error is about. */
static void note_own_data(lua_State *L, const bind_engine_model *m, bind_engine *engine) {
  const blis_catalogue *shipped = check_catalogue(L);
  if (m->catalogue == shipped) {
    return;
  }
  const blis_catalogue_hardware *known = NULL;
  blis_error error;
  const char *name = m->hardware->name;
  engine->has_own_constants = blis__catalogue_composed(m->catalogue, name) != NULL;
  engine->has_own_gpu = blis_catalogue_find_hardware(shipped, name, &known, &error) != BLIS_OK ||
                        !has_equal_rates(&known->spec, &m->hardware->spec);
}

static void check_latency(lua_State *L, int index, const bind_engine_model *m,
                          bind_engine *engine) {
  blis_latency_config config = check_latency_config(L, index, m);
  if (strcmp(m->kind, ENGINE_SCRIPTED) == 0) {
    check_scripted(L, index, &config, engine);
    return;
  }
  if (tells_sharing(m)) {
    config.parallelism.dp = m->sharing_ranks;
  }
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_latency_create(&alloc, &config, &engine->latency, &error), &error);
  snprintf(engine->latency_name, ENGINE_NAME_SIZE, "%s", engine->latency.ops->name);
  if (strcmp(m->kind, "composed") == 0) {
    check_status(L, blis_latency_regime(&alloc, &config, &engine->regime, &error), &error);
    note_own_data(L, m, engine);
  }
  blis_latency_warnings(&config, add_note, engine);
  if (m->layered != NULL && m->layered->notes[0] != '\0') {
    add_note(engine, m->layered->notes);
  }
  check_strict_coverage(L, index, m, engine);
  if (tells_sharing(m)) {
    share_experts(L, engine);
  }
}

/* Returns the number of blocks that was measured together with the coefficients of a blackbox
   model. */
static int64_t measured_blocks(const bind_engine_model *m) {
  const blis_coefficients_key key = {
      .kind = m->kind,
      .model = m->model != NULL ? m->model->id : NULL,
      .hardware = m->hardware != NULL ? m->hardware->name : NULL,
      .tp = m->parallelism.tp,
  };
  const blis_catalogue_coefficients *entry = NULL;
  blis_error error;
  return blis_catalogue_find_coefficients(m->catalogue, &key, &entry, &error) == BLIS_OK
             ? entry->kv_blocks
             : 0;
}

static int64_t check_kv_blocks(lua_State *L, int index, const bind_engine_model *m,
                               bind_engine *engine) {
  int64_t given = opt_field_integer(L, index, "kv_blocks", 0);
  if (given > 0) {
    return given;
  }
  blis_error error = {0};
  engine->is_capacity_computed = true;
  if (m->spec == NULL || m->hardware == NULL) {
    int64_t blocks = measured_blocks(m);
    if (blocks == 0) {
      blis_fail(&error, BLIS_ERR_INVALID,
                "cluster.kv_blocks is missing and cannot be computed without "
                "the dimensions of %s",
                m->id);
      bind_raise(L, &error);
    }
    return blocks;
  }
  check_capacity(L, index, m, &engine->capacity);
  return engine->capacity.blocks;
}

/* Returns the longest sequence, at most `wanted` tokens, for which the blocks of all KV groups
   suffice. */
static int64_t longest_with_layout(lua_State *L, int index, int64_t wanted, int64_t blocks,
                                   const blis_kv_layout *layout) {
  int64_t step = check_field_integer(L, index, "max_num_batched_tokens");
  int64_t fits = 0;
  int64_t beyond = wanted + 1;
  while (beyond - fits > 1) {
    int64_t tokens = fits + (beyond - fits) / 2;
    *(blis_kv_layout_peak_blocks(layout, tokens, step, 0) <= blocks ? &fits : &beyond) = tokens;
  }
  return fits;
}

/* Returns the maximum sequence length from the options or the model, limited by the KV cache. */
static int64_t longest_sequence(lua_State *L, int index, const bind_engine_model *m, int64_t blocks,
                                int64_t block_size, bind_engine *engine) {
  int64_t given = opt_field_integer(L, index, "max_model_len", -1);
  int64_t wanted = given >= 0 ? given : m->spec == NULL ? 0 : m->spec->max_model_tokens;
  int64_t limit = engine->kv_layout.count > 0
                      ? longest_with_layout(L, index, wanted, blocks, &engine->kv_layout)
                      : blis_kv_limit_model_tokens(wanted, blocks, block_size);
  if (given > limit) {
    char text[160];
    snprintf(text, sizeof text,
             "max_model_len is %" PRId64 ", not %" PRId64 ": that is what %" PRId64
             " KV blocks hold",
             limit, given, blocks);
    add_note(engine, text);
  }
  return limit;
}

/* Returns the rules that a table lists; no rules if the table is missing. */
static blis_engine_rules check_rules(lua_State *L, int index) {
  blis_engine_rules rules = {0};
  if (lua_getfield(L, index, "engine_rules") != LUA_TNIL) {
    int table = lua_gettop(L);
#define RULE(name) (rules.name = opt_field_boolean(L, table, #name, false))
    RULE(leaves_at_step_end);
    RULE(resumes_preempted);
    RULE(counts_prompt_blocks);
    RULE(recomputes_last_token);
    RULE(drops_last_kv);
    RULE(knows_cached_context);
    RULE(schedules_ahead);
    RULE(looks_ahead);
    RULE(pays_transfer_once);
    RULE(names_whole_blocks);
    RULE(admits_whole_prompts);
    RULE(joins_at_boundaries);
    RULE(reserves_whole);
    RULE(keeps_shared_only);
#undef RULE
  }
  lua_pop(L, 1);
  return rules;
}

/* Reads {tokens =, acceptance = {...}, pass_us =, ...}. The constructor of a simulation reads
   acceptance_of, which replaces acceptance. */
static void check_speculation(lua_State *L, int index, bind_engine *engine) {
  int top = lua_gettop(L);
  blis_speculation_config *made = &engine->speculation;
  if (lua_getfield(L, index, "speculation") != LUA_TNIL) {
    int table = lua_gettop(L);
    *made = (blis_speculation_config){
        .tokens = check_field_integer(L, table, "tokens"),
        .pass_us = check_field_number(L, table, "pass_us"),
        .pass_us_per_sequence = check_field_number(L, table, "pass_us_per_sequence"),
        .drafts_in_one_pass = opt_field_boolean(L, table, "drafts_in_one_pass", false),
        .max_batch = check_field_integer(L, table, "max_batch")};
    bool is_list = lua_getfield(L, table, "acceptance") == LUA_TTABLE;
    for (int i = 0; is_list && i < BLIS_SPECULATION_MAX; i++) {
      lua_rawgeti(L, table + 1, i + 1);
      made->acceptance[i] = lua_tonumber(L, -1);
      lua_pop(L, 1);
    }
    engine->config.speculation = made;
  }
  lua_settop(L, top);
}

/* Reads {prefill_watts =, decode_watts =, cap_watts =, mixes =}. lua/engine/power.h reads values
   that are functions. */
static void check_power(lua_State *L, int index, bind_engine *engine) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "power") != LUA_TNIL) {
    int table = lua_gettop(L);
    engine->power =
        (blis_power_config){.prefill_watts = check_field_number(L, table, "prefill_watts"),
                            .decode_watts = check_field_number(L, table, "decode_watts"),
                            .cap_watts = check_field_number(L, table, "cap_watts"),
                            .mixes = opt_field_boolean(L, table, "mixes", false),
                            .gpus = engine->tp * engine->dp};
    engine->config.power = &engine->power;
  }
  lua_settop(L, top);
}

/* {servers =, request_us =, token_us =, delay_us =} */
static void check_front_end(lua_State *L, int index, bind_engine *engine) {
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "front_end") != LUA_TNIL) {
    int table = lua_gettop(L);
    engine->front_end =
        (blis_front_end_config){.servers = check_field_integer(L, table, "servers"),
                                .request_us = check_field_number(L, table, "request_us"),
                                .token_us = check_field_number(L, table, "token_us"),
                                .delay_us = check_field_integer(L, table, "delay_us")};
    engine->config.front_end = &engine->front_end;
  }
  lua_settop(L, top);
}

/* {chunk_tokens =, max_prefill_tokens =, ...} */
static void check_sglang(lua_State *L, int index, bind_engine *engine) {
  static const char *const policies[] = {"fcfs", "lpm", "dfs-weight", "lof", "random", NULL};
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "sglang") != LUA_TNIL) {
    int table = lua_gettop(L);
    engine->sglang = (blis_sglang_config){
        .chunk_tokens = check_field_integer(L, table, "chunk_tokens"),
        .max_prefill_tokens = check_field_integer(L, table, "max_prefill_tokens"),
        .init_ratio = check_field_number(L, table, "init_ratio"),
        .min_ratio = check_field_number(L, table, "min_ratio"),
        .decay_steps = check_field_integer(L, table, "decay_steps"),
        .prefill_decode_interval = check_field_integer(L, table, "prefill_decode_interval"),
        .policy = (blis_sglang_policy)check_field_choice(L, table, "policy", policies),
        .mixes = opt_field_boolean(L, table, "mixes", false),
        .has_cache = opt_field_boolean(L, table, "has_cache", true),
        .overlaps = opt_field_boolean(L, table, "overlaps", true),
        .seed = 1};
    engine->config.sglang = &engine->sglang;
  }
  lua_settop(L, top);
}

/* {capacity =, chunking =, chunks =, ...} */
static void check_trtllm(lua_State *L, int index, bind_engine *engine) {
  static const char *const capacities[] = {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH",
                                           NULL};
  static const char *const chunkings[] = {"FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS", NULL};
  int top = lua_gettop(L);
  if (lua_getfield(L, index, "trtllm") != LUA_TNIL) {
    int table = lua_gettop(L);
    engine->trtllm = (blis_trtllm_config){
        .capacity = (blis_trtllm_capacity)check_field_choice(L, table, "capacity", capacities),
        .chunking = (blis_trtllm_chunking)check_field_choice(L, table, "chunking", chunkings),
        .chunks = opt_field_boolean(L, table, "chunks", false),
        .has_reuse = opt_field_boolean(L, table, "has_reuse", true),
        .skips_equal = opt_field_boolean(L, table, "skips_equal", true),
        .look_ahead = check_field_integer(L, table, "look_ahead")};
    engine->config.trtllm = &engine->trtllm;
  }
  lua_settop(L, top);
}

static void check_instance_config(lua_State *L, int index, const bind_engine_model *m,
                                  bind_engine *engine) {
  static const char *const schedulers[] = {
      "fcfs", "priority-fcfs", "sjf", "reverse-priority", "scripted", NULL};
  static const char *const preemptions[] = {"fcfs", "priority", NULL};
  static const char *const engines[] = {"fast", "stepwise", NULL};
  int64_t blocks = check_kv_blocks(L, index, m, engine);
  int64_t block_size = check_field_integer(L, index, "block_size");
  bool has_layout = check_kv_layout(L, index, &engine->kv_layout) ||
                    check_layered_layout(L, index, m, &engine->kv_layout);
  blis_error error;
  if (has_layout && blis_kv_layout_check(&engine->kv_layout, block_size, &error) != BLIS_OK) {
    bind_raise(L, &error);
  }
  engine->config = (blis_instance_config){
      .latency = &engine->latency,
      .prefill_slowdown = opt_field_number(L, index, "prefill_slowdown", 0),
      .decode_slowdown = opt_field_number(L, index, "decode_slowdown", 0),
      .kv_blocks = blocks,
      .block_size_tokens = block_size,
      .kv_layout = has_layout ? &engine->kv_layout : NULL,
      .max_num_seqs = check_field_integer(L, index, "max_num_seqs"),
      .max_batched_tokens = check_field_integer(L, index, "max_num_batched_tokens"),
      .long_prefill_threshold_tokens =
          check_field_integer(L, index, "long_prefill_token_threshold"),
      .max_model_len_tokens = longest_sequence(L, index, m, blocks, block_size, engine),
      .horizon_us = check_field_integer(L, index, "horizon_us"),
      .scheduler = (blis_scheduler_kind)check_field_choice(L, index, "scheduler", schedulers),
      .preemption =
          (blis_preemption_kind)check_field_choice(L, index, "preemption_policy", preemptions),
      .engine = (blis_engine_kind)check_field_choice(L, index, "engine", engines),
      .defects = *check_profile(L, index)->instances,
      .rules = check_rules(L, index),
      .max_queue_depth = opt_field_integer(L, index, "max_queue_depth", 0),
      .max_reserved_tokens = opt_field_integer(L, index, "max_reserved_tokens", 0),
      .cpu_blocks = check_field_integer(L, index, "kv_cpu_blocks"),
      .cpu_bandwidth_tokens_per_us = check_field_number(L, index, "kv_transfer_bandwidth"),
      .cpu_base_latency_us = check_field_integer(L, index, "kv_transfer_base_latency_us"),
      .cpu_offload_threshold = opt_field_number(L, index, "kv_offload_threshold", 0),
  };
  check_speculation(L, index, engine);
  check_front_end(L, index, engine);
  check_sglang(L, index, engine);
  check_trtllm(L, index, engine);
  engine->config.ranks = engine->ranks.count > 0 ? &engine->ranks : NULL;
  check_power(L, index, engine);
}

static void set_names(lua_State *L, int index, const bind_engine_model *m, bind_engine *engine) {
  snprintf(engine->model, ENGINE_NAME_SIZE, "%s", m->id);
  if (m->hardware != NULL) {
    snprintf(engine->hardware, ENGINE_NAME_SIZE, "%s", m->hardware->name);
    engine->gpu_price_per_hour = m->hardware->spec.price_per_hour;
  }
  engine->gpu_price_per_hour =
      opt_field_number(L, index, "gpu_price_per_hour", engine->gpu_price_per_hour);
  engine->tp = m->parallelism.tp;
  engine->dp = m->parallelism.dp;
}

/* Returns the state that moves with the KV of a sequence in addition to its tokens. A stated number
   of bytes per token includes everything. */
static blis_fixed_kv fixed_kv_of(lua_State *L, int index, const bind_engine_model *m) {
  if (m->layered == NULL || opt_field_number(L, index, "kv_bytes_per_token", 0) > 0) {
    return (blis_fixed_kv){0};
  }
  const blis_model_cache cache = kept_cache(L, index, m);
  return (blis_fixed_kv){.state_bytes = cache.state_bytes,
                         .window_bytes = cache.window_bytes,
                         .window_tokens = cache.span_tokens};
}

/* Sets the bytes that are transferred per token of KV. The model may be unknown. */
static void set_kv_bytes(lua_State *L, int index, const bind_engine_model *m, bind_engine *engine) {
  blis_error error;
  double bytes = 0;
  if (m->layered != NULL) {
    bytes = kept_cache(L, index, m).token_bytes;
  } else if (m->spec != NULL &&
             blis_kv_bytes_per_token(m->spec, m->parallelism.tp, &bytes, &error) != BLIS_OK) {
    bytes = 0;
  }
  engine->kv_bytes_per_token = opt_field_number(L, index, "kv_bytes_per_token", bytes);
  engine->fixed_kv = fixed_kv_of(L, index, m);
}

void check_engine(lua_State *L, int index, bind_engine *engine) {
  int top = lua_gettop(L);
  bind_engine_model m;
  check_engine_model(L, index, opt_field_integer(L, index, "kv_blocks", 0) > 0, &m);
  set_names(L, index, &m, engine);
  set_kv_bytes(L, index, &m, engine);
  check_ranks(L, index, &m, engine);
  check_latency(L, index, &m, engine);
  check_instance_config(L, index, &m, engine);
  lua_settop(L, top);
}

void check_engine_latency(lua_State *L, int index, bind_engine *engine) {
  int top = lua_gettop(L);
  bind_engine_model m;
  check_engine_model(L, index, true, &m);
  set_names(L, index, &m, engine);
  check_latency(L, index, &m, engine);
  lua_settop(L, top);
}

const blis_coverage *bind_engine_coverage(const bind_engine *engine) {
  bool is_scripted = engine->latency.ops == NULL;
  return is_scripted ? NULL : blis_latency_coverage(&engine->latency);
}

void bind_engine_close(bind_engine *engine) {
  blis_latency_free(&engine->latency);
}
