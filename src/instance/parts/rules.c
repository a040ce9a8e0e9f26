#include "instance/parts/rules.h"

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "instance/parts/timing.h"

uint32_t blis__findable_blocks(const blis_instance_config *config,
                               const blis_live_request *request) {
  int64_t tokens = request->prefill_tokens;
  if (config->kv_layout != NULL && blis_kv_layout_has_no_hits(config->kv_layout)) {
    return 0;
  }
  /* The last token of lost output has never been computed. */
  bool computes_last = config->rules.recomputes_last_token || tokens > request->prompt_tokens;
  return (uint32_t)((tokens - (computes_last && tokens > 0)) / config->block_size_tokens);
}

int64_t blis__aligned_chunk(const blis_instance_config *config, const blis_live_request *request,
                            int64_t done, int64_t tokens) {
  if (config->kv_layout == NULL || !blis_kv_layout_aligns_steps(config->kv_layout)) {
    return tokens;
  }
  int64_t size = blis_kv_layout_hit_tokens(config->kv_layout);
  int64_t last_border = request->prefill_tokens - request->prefill_tokens % size;
  int64_t end = done + tokens;
  if (done >= last_border) {
    return tokens;
  }
  return blis_max_i64(blis_min_i64(end - end % size, last_border) - done, 0);
}

bool blis__lacks_first_blocks(const blis_instance_config *config, const blis_live_request *request,
                              int64_t free_blocks) {
  return config->kv_layout != NULL && request->prefill_tokens == 0 && request->output_tokens > 0 &&
         !config->rules.reserves_whole && free_blocks < blis_kv_layout_groups(config->kv_layout);
}

int64_t blis__delivery_us(const blis_instance_config *config, int64_t step_us) {
  blis_first_token first = blis_latency_first_token(config->latency);
  double late_us = first.depth * (double)step_us;
  return first.delay_us +
         (late_us < (double)BLIS__DURATION_MAX_US ? (int64_t)late_us : BLIS__DURATION_MAX_US);
}

void blis__note_readmission(const blis_instance_config *config, const blis_instance_events *events,
                            blis_live_request *request, int64_t now_us) {
  if (!config->rules.resumes_preempted) {
    request->scheduling_delay_us = now_us - request->arrival_us;
  }
  if (events->readmitted != NULL) {
    events->readmitted(events->ud, request, now_us);
  }
}

void blis__count_prompt_blocks(const blis_instance_config *config, blis_live_request *request,
                               int64_t cached_blocks, blis_instance_stats *stats) {
  if (request->scheduling_delay_us >= 0) {
    return; /* it was admitted before */
  }
  int64_t size = config->block_size_tokens;
  int64_t tokens = request->prompt_tokens;
  request->had_hit |= cached_blocks > 0;
  request->cached_tokens = cached_blocks * size;
  stats->cache_hits += cached_blocks;
  stats->cache_misses += tokens / size + (tokens % size != 0) - cached_blocks;
  const blis_kv_source *source = config->kv_source;
  if (source != NULL && source->admitted != NULL) {
    source->admitted(source->ud, request, cached_blocks * size);
  }
}

void blis__note_preemption(const blis_instance_config *config, const blis_instance_events *events,
                           blis_live_request *request, int64_t progress_tokens, int64_t now_us) {
  BLIS_ASSERT(request->state == BLIS_REQUEST_RUNNING);
  if (events->preempted != NULL) {
    events->preempted(events->ud, request, now_us);
  }
  request->state = BLIS_REQUEST_QUEUED;
  request->progress_tokens = 0;
  request->new_tokens = 0;
  request->computed_tokens = 0;
  if (!config->rules.resumes_preempted) {
    request->has_first_token = false;
    request->itl_sum_us = 0;
    request->itl_count = 0;
  } else if (progress_tokens >= request->prefill_tokens) {
    /* The last emitted token has not been computed yet. */
    request->prefill_tokens = progress_tokens + 1;
  }
}

void blis__note_first_token(blis_live_request *request, int64_t token_us) {
  BLIS_ASSERT(!request->has_first_token && token_us >= request->arrival_us);
  request->has_first_token = true;
  request->ttft_us = blis_time_after_us(token_us - request->arrival_us, request->delivery_us);
}

int64_t blis__leaves_at_us(const blis_instance_config *config, const blis_live_request *request,
                           int64_t step_end_us) {
  if (!config->rules.leaves_at_step_end) {
    return step_end_us;
  }
  /*
   * The E2E latency may exclude steps (see resumes_preempted), so the sum can be before the end of
   * the step.
   */
  return blis_max_i64(step_end_us, blis_time_after_us(request->arrival_us, request->e2e_us));
}
