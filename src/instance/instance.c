#include "instance/instance.h"

#include <inttypes.h>
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/parts/adapters.h"
#include "instance/parts/arrival.h"
#include "instance/parts/engine.h"
#include "instance/parts/speculation.h"
#include "instance/parts/timing.h"
#include "instance/sglang/sglang.h"
#include "instance/stepwise/serving.h"
#include "instance/trtllm/trtllm.h"
#include "latency/step/slowed.h"

struct blis_instance {
  blis_alloc alloc;
  blis_instance_config config;
  blis__engine engine;
  blis__adapters *adapters; /* NULL = no adapters */
  blis__power power;        /* with config.power */
  /* Failure of run_next, after which the engine may be in the middle of a step. */
  blis_error failure;
  blis_slowed_latency capped; /* with the factors of the configuration */
  blis_latency_model capped_model;
  blis_slowed_latency slowed; /* with the factor of blis_instance_slow_down */
  blis_latency_model slowed_model;
  blis_block_journal journal; /* journal of the prefix table, with is_watched */
  bool is_watched;
  bool has_past;
  blis_instance_events events;
  blis_instance_stats past; /* counters of the engines before the last restart */
  blis_draft_stats past_drafts;
};

typedef struct limit {
  const char *field;
  int64_t value;
  int64_t min;
  int64_t max;
} limit;

static blis_status check_limits(const blis_instance_config *config, blis_error *error) {
  const int64_t max_blocks = UINT32_MAX - 1;
  const limit limits[] = {
      {"kv_blocks", config->kv_blocks, 1, max_blocks},
      {"block_size_tokens", config->block_size_tokens, 1, max_blocks},
      {"max_num_seqs", config->max_num_seqs, 1, INT64_MAX},
      {"max_batched_tokens", config->max_batched_tokens, 1, INT64_MAX},
      {"long_prefill_threshold_tokens", config->long_prefill_threshold_tokens, 0, INT64_MAX},
      {"max_model_len_tokens", config->max_model_len_tokens, 0, INT64_MAX},
      {"horizon_us", config->horizon_us, 0, INT64_MAX},
      {"cpu_blocks", config->cpu_blocks, 0, max_blocks},
  };
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    const limit *l = &limits[i];
    if (l->value < l->min || l->value > l->max) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s is %" PRId64 "; expected %" PRId64 " to %" PRId64, l->field, l->value,
                       l->min, l->max);
    }
  }
  return BLIS_OK;
}

static blis_status check_tier(const blis_instance_config *config, blis_error *error) {
  if (config->cpu_blocks == 0) {
    return BLIS_OK;
  }
  if (!(config->cpu_bandwidth_tokens_per_us > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID, "cpu_bandwidth_tokens_per_us is %g, must be above 0",
                     config->cpu_bandwidth_tokens_per_us);
  }
  if (config->cpu_base_latency_us < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "cpu_base_latency_us is %" PRId64 ", must not be below 0",
                     config->cpu_base_latency_us);
  }
  return BLIS_OK;
}

static blis_status refuse_layout(const char *what, blis_error *error) {
  return blis_fail(
      error, BLIS_ERR_INVALID,
      "kv_layout has several KV groups and cannot be combined with %s; expected one of "
      "them",
      what);
}

/* States are cached where steps end, so a step must be able to reach the next block border. */
static blis_status check_aligned_steps(const blis_instance_config *config, blis_error *error) {
  int64_t border = blis_kv_layout_hit_tokens(config->kv_layout);
  int64_t threshold = config->long_prefill_threshold_tokens;
  if (!blis_kv_layout_aligns_steps(config->kv_layout)) {
    return BLIS_OK;
  }
  if (config->max_batched_tokens < border) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "max_batched_tokens is %" PRId64 "; expected at least %" PRId64
                     ", the distance of the states that kv_layout keeps",
                     config->max_batched_tokens, border);
  }
  if (threshold > 0 && threshold < border) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "long_prefill_threshold_tokens is %" PRId64 "; expected 0 or at least %" PRId64
                     ", the distance of the states that kv_layout keeps",
                     threshold, border);
  }
  return BLIS_OK;
}

static blis_status check_layout(const blis_instance_config *config, blis_error *error) {
  BLIS_TRY(blis_kv_layout_check(config->kv_layout, config->block_size_tokens, error));
  if (blis_kv_layout_is_plain(config->kv_layout, config->block_size_tokens)) {
    return BLIS_OK;
  }
  if (config->defects.has_plain_kv || !config->rules.recomputes_last_token) {
    return refuse_layout("profile go-blis", error);
  }
  if (config->cpu_blocks > 0) {
    return refuse_layout("a CPU tier (kv_cpu_blocks; use kv_tiers)", error);
  }
  if (config->rules.reserves_whole || config->rules.keeps_shared_only) {
    return refuse_layout("the rules of engine_preset \"routesim\"", error);
  }
  if (config->rules.admits_whole_prompts) {
    return refuse_layout("scheduler_reserve_full_isl", error);
  }
  if (config->kv_source != NULL && config->kv_source->evicted != NULL) {
    return refuse_layout("KV tiers that store evicted blocks", error);
  }
  return check_aligned_steps(config, error);
}

static blis_status check_slowdown(const char *name, double factor, blis_error *error) {
  if (!(factor >= 0) || isinf(factor)) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s is %g, must be a finite number of at least 0",
                     name, factor);
  }
  return BLIS_OK;
}

static blis_status check_config(const blis_instance_config *config, blis_error *error) {
  BLIS_TRY(check_limits(config, error));
  BLIS_TRY(check_slowdown("prefill_slowdown", config->prefill_slowdown, error));
  BLIS_TRY(check_slowdown("decode_slowdown", config->decode_slowdown, error));
  BLIS_TRY(check_tier(config, error));
  BLIS_TRY(blis__check_latency_constants(config->latency, error));
  if (config->adapters != NULL) {
    BLIS_TRY(blis__adapters_check(config->adapters, error));
  }
  if (config->power != NULL) {
    BLIS_TRY(blis__power_check(config->power, error));
  }
  if (config->speculation != NULL) {
    BLIS_TRY(blis__speculation_check(config->speculation, error));
  }
  if (config->kv_layout != NULL) {
    BLIS_TRY(check_layout(config, error));
  }
  int64_t model = config->max_model_len_tokens;
  int64_t model_blocks = blis__peak_blocks(config, model);
  if (model_blocks > config->kv_blocks) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "max_model_len_tokens is %" PRId64 ", which needs %" PRId64
                     " KV blocks; kv_blocks is only %" PRId64,
                     model, model_blocks, config->kv_blocks);
  }
  if (config->scheduler == BLIS_SCHEDULER_SCRIPTED && config->goes_before == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "a scripted scheduler needs goes_before");
  }
  if (config->preemption == BLIS_PREEMPTION_SCRIPTED && config->choose_victim == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "a scripted preemption needs choose_victim");
  }
  if (config->kv_source != NULL && config->defects.has_plain_kv) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "profile go-blis supports only its own CPU tier (kv_cpu_blocks)");
  }
  if (config->sglang != NULL) {
    BLIS_TRY(blis__sglang_check(config, error));
  }
  if (config->trtllm != NULL) {
    BLIS_TRY(blis__trtllm_check(config, error));
  }
  if (config->make_batch != NULL && config->ranks != NULL && config->ranks->prefill_interval > 1) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "make_batch and prefill_interval both determine when prompts "
                     "are computed; expected only one of them");
  }
  if (config->make_batch != NULL && config->rules.joins_at_boundaries) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "make_batch says who joins a batch, and so does batching "
                     "= \"boundary\"; expected one of them (with "
                     "engine_preset, batching = \"iteration\" leaves it out)");
  }
  return BLIS_OK;
}

static bool is_stepped(const blis_instance_config *config) {
  const blis_engine_rules *rules = &config->rules;
  return rules->joins_at_boundaries || rules->admits_whole_prompts || rules->reserves_whole ||
         rules->keeps_shared_only || config->speculation != NULL ||
         (rules->names_whole_blocks && config->block_size_tokens == 1) || config->gate != NULL ||
         (config->ranks != NULL && config->ranks->prefill_interval > 1) ||
         config->max_queue_depth > 0 || config->max_reserved_tokens > 0 || config->sglang != NULL ||
         config->trtllm != NULL;
}

/* Returns whether the fast engine supports the configuration. It has no CPU tier and no rules of
   RouteSim, and it needs one counter per token of a block. */
static bool can_be_fast(const blis_instance_config *config) {
  const int64_t max_block_size_tokens = 1 << 20;
  bool hears = config->kv_source != NULL && config->kv_source->evicted != NULL;
  return config->engine == BLIS_ENGINE_FAST && config->cpu_blocks == 0 &&
         config->make_batch == NULL && !is_stepped(config) && !hears && config->blocks == NULL &&
         config->block_size_tokens <= max_block_size_tokens;
}

static const blis__serving_ops *serving_of(const blis_instance_config *config) {
  return config->sglang != NULL   ? &blis__serving_sglang
         : config->trtllm != NULL ? &blis__serving_trtllm
                                  : &blis__serving_vllm;
}

static blis_status new_engine(blis_instance *instance, blis__engine *engine, blis_error *error) {
  const blis_instance_config *config = &instance->config;
  blis__power *power = config->power != NULL ? &instance->power : NULL;
  return can_be_fast(config)
             ? blis__fast_new(&instance->alloc, config, &instance->events, instance->adapters,
                              power, engine, error)
             : blis__stepwise_new(&instance->alloc, config, &instance->events, instance->adapters,
                                  power, serving_of(config), engine, error);
}

static blis_status new_adapters(blis_instance *instance, blis_error *error) {
  const blis_adapter_config *config = instance->config.adapters;
  if (config == NULL) {
    return BLIS_OK;
  }
  instance->adapters = blis__adapters_new(&instance->alloc, config, &instance->events);
  BLIS_TRY_NEW(instance->adapters, error);
  return BLIS_OK;
}

/* Sets the factor of step times, in addition to the factors of experts and power caps. */
static void set_factor(blis_instance *instance, double factor) {
  const blis_rank_config *ranks = instance->config.ranks;
  double whole = ranks == NULL ? factor : factor * ranks->expert_factor;
  instance->slowed.prefill_factor = whole;
  instance->slowed.decode_factor = whole;
  instance->config.latency = whole == 1 ? instance->slowed.model : &instance->slowed_model;
}

static void set_latency(blis_instance *i, const blis_instance_config *config) {
  double prefill = config->prefill_slowdown;
  double decode = config->decode_slowdown;
  bool is_capped = (prefill > 0 && prefill != 1) || (decode > 0 && decode != 1);
  i->capped = (blis_slowed_latency){.model = config->latency,
                                    .prefill_factor = prefill > 0 ? prefill : 1,
                                    .decode_factor = decode > 0 ? decode : 1};
  i->capped_model = blis_slowed_latency_model(&i->capped);
  i->slowed = (blis_slowed_latency){.model = is_capped ? &i->capped_model : config->latency};
  i->slowed_model = blis_slowed_latency_model(&i->slowed);
  set_factor(i, 1);
}

blis_status blis_instance_new(const blis_alloc *alloc, const blis_instance_config *config,
                              const blis_instance_events *events, blis_instance **instance,
                              blis_error *error) {
  BLIS_ASSERT(config->latency != NULL && events->ended != NULL);
  BLIS_TRY(check_config(config, error));
  blis_instance *i = blis_alloc_zeroed(alloc, 1, sizeof *i);
  BLIS_TRY_NEW(i, error);
  i->alloc = *alloc;
  i->config = *config;
  if (config->kv_layout != NULL &&
      blis_kv_layout_is_plain(config->kv_layout, config->block_size_tokens)) {
    i->config.kv_layout = NULL;
  }
  if (config->sglang != NULL) {
    i->config.max_model_len_tokens = blis__sglang_longest(config);
  } else if (config->trtllm != NULL) {
    i->config.max_model_len_tokens = blis__trtllm_longest(config);
  }
  i->events = *events;
  set_latency(i, config);
  i->power = blis__power_of(config->power, config->latency);
  blis_block_journal_init(&i->journal, alloc);
  blis_status status = new_adapters(i, error);
  if (status == BLIS_OK) {
    status = new_engine(i, &i->engine, error);
  }
  if (status != BLIS_OK) {
    blis__adapters_free(i->adapters);
    blis_alloc_free(alloc, i, sizeof *i);
    return status;
  }
  *instance = i;
  return BLIS_OK;
}

void blis_instance_free(blis_instance *instance) {
  if (instance == NULL) {
    return;
  }
  blis_alloc alloc = instance->alloc;
  instance->engine.ops->free(instance->engine.state);
  blis__adapters_free(instance->adapters);
  blis_block_journal_deinit(&instance->journal);
  blis_alloc_free(&alloc, instance, sizeof *instance);
}

static blis_status report_failure(const blis_instance *instance, blis_error *error) {
  const blis_error *failure = &instance->failure;
  return failure->status == BLIS_OK ? BLIS_OK
                                    : blis_fail(error, failure->status, "%s", failure->message);
}

blis_status blis_instance_inject(blis_instance *instance, blis_live_request *request,
                                 int64_t now_us, blis_error *error) {
  BLIS_TRY(instance->engine.ops->inject(instance->engine.state, request, now_us, error));
  request->may_draft = instance->config.speculation != NULL;
  return BLIS_OK;
}

blis_status blis_instance_evict(blis_instance *instance, blis_live_request *request, int64_t now_us,
                                blis_error *error) {
  blis_error *failure = &instance->failure;
  BLIS_ASSERT(request->engine != NULL);
  if (failure->status == BLIS_OK) {
    failure->status = instance->engine.ops->evict(instance->engine.state, request, now_us, failure);
  }
  return report_failure(instance, error);
}

blis_status blis_instance_leave_at(blis_instance *instance, blis_live_request *request,
                                   int64_t deadline_us, blis_error *error) {
  blis_error *failure = &instance->failure;
  BLIS_ASSERT(request->engine != NULL);
  if (failure->status == BLIS_OK) {
    failure->status =
        instance->engine.ops->leave_at(instance->engine.state, request, deadline_us, failure);
  }
  return report_failure(instance, error);
}

bool blis_instance_serves(const blis_instance *instance, const blis_live_request *request) {
  return blis__judge_arrival(&instance->config, request, 0) != BLIS__VERDICT_UNSERVABLE;
}

blis_status blis_instance_reserve(blis_instance *instance, blis_live_request *request,
                                  const blis_kv_demand *demand, int64_t *cached_tokens,
                                  bool *is_done, blis_error *error) {
  BLIS_ASSERT(request->engine == NULL && demand->tokens >= 1 &&
              demand->tokens <= request->prompt_tokens);
  BLIS_TRY(instance->engine.ops->reserve(instance->engine.state, request, demand, cached_tokens,
                                         is_done, error));
  request->may_draft = instance->config.speculation != NULL;
  return BLIS_OK;
}

blis_status blis_instance_activate(blis_instance *instance, blis_live_request *request,
                                   const blis_kv_arrival *arrival, int64_t now_us,
                                   blis_error *error) {
  BLIS_ASSERT(request->engine != NULL);
  return instance->engine.ops->activate(instance->engine.state, request, arrival, now_us, error);
}

blis_status blis_instance_loaded(blis_instance *instance, blis_live_request *request, uint32_t end,
                                 int64_t now_us, blis_error *error) {
  BLIS_ASSERT(request->engine != NULL);
  return instance->engine.ops->loaded(instance->engine.state, request, end, now_us, error);
}

/* Handles the case that only the clock can still advance. */
static blis_status run_out(blis_instance *instance, blis_error *error) {
  int64_t horizon_us = instance->config.horizon_us;
  for (int64_t us = blis_instance_next_us(instance); us <= horizon_us && us < BLIS_TIME_NEVER_US;
       us = blis_instance_next_us(instance)) {
    bool clock_moved;
    BLIS_TRY(blis_instance_run_next(instance, blis_time_after_us(us, 1), &clock_moved, error));
  }
  return BLIS_OK;
}

blis_status blis_instance_hang(blis_instance *instance, blis_error *error) {
  return instance->engine.ops->hang(instance->engine.state, error);
}

blis_status blis_instance_restart(blis_instance *instance, blis_error *error) {
  BLIS_TRY(blis_instance_hang(instance, error)); /* a step ends here */
  BLIS_TRY(run_out(instance, error));
  BLIS_TRY(blis_instance_close(instance, error));
  blis__engine fresh;
  BLIS_TRY(new_engine(instance, &fresh, error));
  blis_instance_stats past;
  blis_instance_get_stats(instance, &past);
  instance->past = past;
  blis_instance_get_drafts(instance, &instance->past_drafts);
  instance->has_past = true;
  if (instance->config.blocks != NULL) {
    BLIS_TRY(blis_instance_forget_cache(instance, error)); /* reports the loss of every block */
  }
  instance->engine.ops->free(instance->engine.state);
  instance->engine = fresh;
  if (instance->adapters != NULL) {
    blis__adapters_restart(instance->adapters);
  }
  if (instance->is_watched) {
    blis_block_journal_mark(&instance->journal);
    fresh.ops->set_journal(fresh.state, &instance->journal);
  }
  return BLIS_OK;
}

blis_status blis_instance_forget_cache(blis_instance *instance, blis_error *error) {
  return instance->engine.ops->forget(instance->engine.state, error);
}

void blis_instance_slow_down(blis_instance *instance, double factor) {
  BLIS_ASSERT(factor > 0 && isfinite(factor));
  set_factor(instance, factor);
  if (instance->engine.ops->retime != NULL) {
    instance->engine.ops->retime(instance->engine.state);
  }
}

const blis_latency_model *blis_instance_usual_latency(const blis_instance *instance) {
  return instance->slowed.model;
}

int64_t blis_instance_next_us(const blis_instance *instance) {
  return instance->engine.ops->next_us(instance->engine.state);
}

int64_t blis_instance_next_work_us(const blis_instance *instance) {
  const blis__engine *engine = &instance->engine;
  return engine->ops->next_work_us != NULL ? engine->ops->next_work_us(engine->state)
                                           : engine->ops->next_us(engine->state);
}

blis_status blis_instance_run_next(blis_instance *instance, int64_t limit_us, bool *clock_moved,
                                   blis_error *error) {
  blis_error *failure = &instance->failure;
  if (failure->status == BLIS_OK) {
    BLIS_ASSERT(blis_instance_next_us(instance) < limit_us &&
                blis_instance_next_us(instance) <= instance->config.horizon_us);
    failure->status =
        instance->engine.ops->run_next(instance->engine.state, limit_us, clock_moved, failure);
  }
  return report_failure(instance, error);
}

int64_t blis_instance_open_us(const blis_instance *instance) {
  const blis__engine *engine = &instance->engine;
  return engine->ops->open_us != NULL ? engine->ops->open_us(engine->state) : -1;
}

blis_status blis_instance_go_on(blis_instance *instance, int64_t step_us, blis_error *error) {
  blis_error *failure = &instance->failure;
  BLIS_ASSERT(blis_instance_open_us(instance) >= 0 && step_us >= 1);
  if (failure->status == BLIS_OK) {
    failure->status = instance->engine.ops->go_on(instance->engine.state, step_us, failure);
  }
  return report_failure(instance, error);
}

blis_status blis_instance_be_busy(blis_instance *instance, int64_t start_us, int64_t us,
                                  blis_error *error) {
  BLIS_ASSERT(instance->config.gate != NULL && us >= 0);
  return instance->engine.ops->be_busy(instance->engine.state, start_us, us, error);
}

static void add_past(blis_instance_stats *stats, const blis_instance_stats *past) {
#define ADD(counter) stats->counter += past->counter
  ADD(cache_hits);
  ADD(cache_misses);
  ADD(cpu_reloads);
  ADD(cpu_immediate_reloads);
  ADD(cpu_misses);
  ADD(cpu_saved);
  ADD(cpu_evictions);
  ADD(cpu_transfers);
  ADD(cpu_transfer_us);
  ADD(preemptions);
  ADD(kv_allocation_failures);
  ADD(completed);
  ADD(length_capped);
  ADD(timed_out);
  ADD(unservable);
  ADD(prompt_tokens);
  ADD(output_tokens);
  ADD(steps);
  ADD(uncovered_steps);
  ADD(busy_us);
  ADD(prefill_us);
  ADD(queue_depth_sum);
#undef ADD
  stats->end_us = blis_max_i64(stats->end_us, past->end_us);
}

void blis_instance_get_stats(const blis_instance *instance, blis_instance_stats *stats) {
  instance->engine.ops->get_stats(instance->engine.state, stats);
  BLIS_ASSERT(stats->used_kv_blocks >= 0 && stats->used_kv_blocks <= stats->kv_blocks);
  BLIS_ASSERT(stats->length_capped <= stats->completed);
  if (instance->has_past) {
    add_past(stats, &instance->past);
  }
}

blis_instance_load blis_instance_get_load(const blis_instance *instance) {
  return instance->engine.ops->get_load(instance->engine.state);
}

void blis_draft_stats_add(blis_draft_stats *sum, const blis_draft_stats *stats) {
  sum->drafts += stats->drafts;
  sum->draft_tokens += stats->draft_tokens;
  sum->accepted_tokens += stats->accepted_tokens;
  sum->itl_zeros += stats->itl_zeros;
  for (int i = 0; i < BLIS_SPECULATION_MAX; i++) {
    sum->accepted_at[i] += stats->accepted_at[i];
  }
}

void blis_instance_get_drafts(const blis_instance *instance, blis_draft_stats *stats) {
  const blis__engine *engine = &instance->engine;
  blis_draft_stats past = instance->past_drafts; /* may be *stats */
  *stats = (blis_draft_stats){0};
  if (engine->ops->drafts != NULL) {
    *stats = *engine->ops->drafts(engine->state);
  }
  blis_draft_stats_add(stats, &past);
}

void blis_instance_get_adapters(const blis_instance *instance, blis_adapter_stats *stats) {
  *stats = (blis_adapter_stats){0};
  if (instance->adapters != NULL) {
    blis__adapters_get_stats(instance->adapters, stats);
  }
}

void blis_instance_get_energy(const blis_instance *instance, blis_instance_energy *energy) {
  *energy = (blis_instance_energy){.busy_nj = instance->power.busy_nj,
                                   .prefill_nj = instance->power.prefill_nj,
                                   .rest_nj = instance->power.rest.nj + instance->power.nobody_nj,
                                   .carbon_g = instance->power.carbon_g,
                                   .carbon_us = instance->power.carbon_us};
}

blis_adapter_state blis_instance_adapter(const blis_instance *instance, uint32_t adapter) {
  return instance->adapters == NULL ? (blis_adapter_state){0}
                                    : blis__adapters_state(instance->adapters, adapter);
}

blis_status blis_instance_close(blis_instance *instance, blis_error *error) {
  return instance->engine.ops->close(instance->engine.state, error);
}

uint32_t blis_instance_cached_blocks(const blis_instance *instance, const blis_block_chain *chain) {
  return instance->engine.ops->cached_blocks(instance->engine.state, chain);
}

void blis_instance_mark_cache(blis_instance *instance) {
  blis_block_journal_mark(&instance->journal);
  if (!instance->is_watched) {
    instance->is_watched = true;
    instance->engine.ops->set_journal(instance->engine.state, &instance->journal);
  }
}

blis_status blis_instance_cached_blocks_at_mark(const blis_instance *instance,
                                                const blis_block_chain *chain, uint32_t *count) {
  BLIS_ASSERT(instance->is_watched);
  if (blis_block_journal_is_broken(&instance->journal)) {
    return BLIS_ERR_NOMEM;
  }
  *count = instance->engine.ops->cached_blocks_at_mark(instance->engine.state, chain);
  return BLIS_OK;
}

const blis_instance_config *blis_instance_get_config(const blis_instance *instance) {
  return &instance->config;
}

bool blis_instance_check(const blis_instance *instance) {
  return instance->engine.ops->check(instance->engine.state);
}
