#include "instance/live_request.h"

blis_live_request blis_live_request_of(const blis_request *request, uint32_t slot) {
  return (blis_live_request){
      .arrival_us = request->arrival_us,
      .deadline_us = request->deadline_us,
      .number = request->number,
      .round_index = request->round_index,
      .prompt_tokens = request->prompt_tokens,
      .output_tokens = request->output_tokens,
      .output_budget_tokens = request->max_output_tokens,
      .max_output_tokens = request->max_output_tokens,
      .slot = slot,
      .state = BLIS_REQUEST_ARRIVED,
      .ttft_us = -1,
      .scheduling_delay_us = -1,
      .e2e_us = -1,
      .adapter_asked_us = -1,
  };
}
