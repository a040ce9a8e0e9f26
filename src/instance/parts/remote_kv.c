#include "instance/parts/remote_kv.h"

#include "base/invariant.h"

bool blis_can_bring_first_token(const blis_instance_config *config,
                                const blis_live_request *request, int64_t tokens) {
  int64_t limit = config->max_model_len_tokens;
  return tokens == request->prompt_tokens && request->output_tokens >= 2 &&
         (limit == 0 || tokens < limit - 1);
}

void blis__note_kv(const blis_instance_config *config, blis_live_request *request,
                   const blis_kv_arrival *arrival, int64_t now_us) {
  BLIS_ASSERT(request->state == BLIS_REQUEST_ARRIVED);
  BLIS_ASSERT(arrival->tokens >= 1 && arrival->tokens <= request->prompt_tokens);
  BLIS_ASSERT(request->output_tokens >= 1);
  BLIS_ASSERT(now_us >= request->arrival_us);
  BLIS_ASSERT(request->deadline_us == 0 || now_us <= request->deadline_us);
  request->was_counted = true;
  request->progress_tokens = arrival->tokens;
  request->computed_tokens = arrival->tokens;
  request->scheduling_delay_us = arrival->scheduling_delay_us;
  if (arrival->ttft_us >= 0) {
    BLIS_ASSERT(config->rules.resumes_preempted &&
                blis_can_bring_first_token(config, request, arrival->tokens));
    request->has_first_token = true;
    request->ttft_us = arrival->ttft_us;
    request->prefill_tokens = request->prompt_tokens + 1;
  } else if (arrival->tokens == request->prompt_tokens) {
    BLIS_ASSERT(!config->rules.resumes_preempted);
    request->ttft_us = 0; /* its latencies are counted from its first step */
  }
}

void blis__note_lost_kv(blis_live_request *request) {
  BLIS_ASSERT(request->state == BLIS_REQUEST_QUEUED);
  request->progress_tokens = 0;
  request->computed_tokens = 0;
}
