#include "instance/stepwise/serving.h"

blis_status blis__serving_check(const blis_instance_config *config, const char *backend,
                                blis_error *error) {
  const blis_engine_rules *rules = &config->rules;
  const struct {
    bool is_set;
    const char *what;
  } others[] = {
      {!rules->leaves_at_step_end || !rules->resumes_preempted || !rules->recomputes_last_token ||
           !rules->drops_last_kv || !rules->knows_cached_context,
       "profile go-blis"},
      {config->sglang != NULL && config->trtllm != NULL, "another backend"},
      {config->make_batch != NULL, "a batch scheduler in Lua"},
      {config->preemption != BLIS_PREEMPTION_FCFS, "another preemption policy"},
      {config->adapters != NULL, "LoRA adapters"},
      {config->speculation != NULL, "speculative decoding"},
      {config->gate != NULL || (config->ranks != NULL && config->ranks->prefill_interval > 1),
       "a barrier of data-parallel ranks or their prefill_interval"},
      {config->kv_layout != NULL, "a kv_layout of several groups"},
      {config->kv_source != NULL, "KV tiers"},
      {config->blocks != NULL, "KV events"},
      {config->cpu_blocks > 0, "a CPU tier (kv_cpu_blocks)"},
      {rules->joins_at_boundaries || rules->reserves_whole || rules->keeps_shared_only ||
           config->max_reserved_tokens > 0,
       "the rules of engine_preset \"routesim\""},
      {config->long_prefill_threshold_tokens > 0, "long_prefill_token_threshold"},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (others[i].is_set) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "backend \"%s\" cannot be combined with %s; expected one of them", backend,
                       others[i].what);
    }
  }
  return BLIS_OK;
}
