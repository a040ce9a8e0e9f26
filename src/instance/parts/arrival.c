#include "instance/parts/arrival.h"

#include "base/inline.h"
#include "base/invariant.h"
#include "base/minmax.h"

void blis__reset_request(blis_live_request *request) {
  request->state = BLIS_REQUEST_ARRIVED;
  request->has_first_token = false;
  request->may_draft = false;
  request->was_counted = false;
  request->had_hit = false;
  request->cached_tokens = 0;
  request->was_brought = false;
  request->rejection = NULL;
  request->prefill_tokens = request->prompt_tokens;
  request->progress_tokens = 0;
  request->new_tokens = 0;
  request->computed_tokens = 0;
  request->ttft_us = -1;
  request->scheduling_delay_us = -1;
  request->delivery_us = 0;
  request->frontend_us = 0;
  request->itl_sum_us = 0;
  request->itl_count = 0;
  request->drafted_tokens = 0;
  request->accepted_tokens = 0;
  request->first_itl_us = -1;
  request->e2e_us = -1;
  request->adapter_asked_us = -1;
  request->adapter_wait_us = 0;
  request->is_adapter_counted = false;
  request->had_adapter = false;
  BLIS_ASSERT(!request->pins_adapter);
}

static int64_t blocks_of(const blis_instance_config *config, int64_t tokens) {
  int64_t size = config->block_size_tokens;
  return tokens / size + (tokens % size != 0);
}

static BLIS_NOT_INLINE int64_t peak_of_layout(const blis_instance_config *config, int64_t tokens) {
  int64_t drafts = config->speculation == NULL ? 0 : config->speculation->tokens;
  int64_t step = config->max_batched_tokens;
  if (config->long_prefill_threshold_tokens > 0) {
    step = blis_min_i64(step, config->long_prefill_threshold_tokens);
  }
  return blis_kv_layout_peak_blocks(config->kv_layout, tokens, blis_max_i64(step, drafts + 1),
                                    drafts);
}

int64_t blis__peak_blocks(const blis_instance_config *config, int64_t tokens) {
  return config->kv_layout == NULL ? blocks_of(config, tokens) : peak_of_layout(config, tokens);
}

/* The step that computes the last output token does not store it. */
static BLIS_NOT_INLINE int64_t needed_by_layout(const blis_instance_config *config,
                                                const blis_live_request *request) {
  int64_t prompt = request->prompt_tokens;
  int64_t output = request->output_tokens;
  int64_t drafts = config->speculation == NULL ? 0 : config->speculation->tokens;
  int64_t last = output > 0 && prompt > 0 ? output - 1 : output;
  return blis__peak_blocks(config, prompt + last + drafts);
}

int64_t blis__needed_blocks(const blis_instance_config *config, const blis_live_request *request) {
  int64_t prompt = request->prompt_tokens;
  int64_t output = request->output_tokens;
  if (config->kv_layout != NULL) {
    return needed_by_layout(config, request);
  }
  if (prompt == 0) {
    return blocks_of(config, output); /* its first token is stored twice */
  }
  /* The step that computes the last output token does not store it. */
  return blocks_of(config, prompt + (output > 0 ? output - 1 : 0));
}

static bool exceeds_model(const blis_instance_config *config, const blis_live_request *request) {
  int64_t limit = config->max_model_len_tokens;
  int64_t budget = request->output_budget_tokens;
  if (budget < 0) {
    return true;
  }
  /* A budget of 0 means the rest of the model length. */
  return limit > 0 && (request->prompt_tokens >= limit || budget > limit - request->prompt_tokens);
}

static bool exceeds_cache(const blis_instance_config *config, const blis_live_request *request) {
  if (blis__peak_blocks(config, request->prompt_tokens) > config->kv_blocks) {
    return true;
  }
  /* A maximum model length keeps every request below the cache's size. */
  return config->max_model_len_tokens == 0 && !config->defects.admits_too_long &&
         blis__needed_blocks(config, request) > config->kv_blocks;
}

blis__verdict blis__judge_arrival(const blis_instance_config *config,
                                  const blis_live_request *request, int64_t now_us) {
  if (exceeds_model(config, request) || exceeds_cache(config, request)) {
    return BLIS__VERDICT_UNSERVABLE;
  }
  if (request->deadline_us > 0 && request->deadline_us <= now_us) {
    return BLIS__VERDICT_LATE;
  }
  return BLIS__VERDICT_SERVE;
}
