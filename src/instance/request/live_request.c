#include "instance/request/live_request.h"

#include <string.h>

/* Initializes the record in place, because it is large. */
void blis_live_request_init(blis_live_request *live, const blis_request *request, uint32_t slot) {
  memset(live, 0, sizeof *live);
  live->arrival_us = request->arrival_us;
  live->deadline_us = request->deadline_us;
  live->number = request->number;
  live->round_index = request->round_index;
  live->prompt_tokens = request->prompt_tokens;
  live->output_tokens = request->output_tokens;
  live->output_budget_tokens = request->max_output_tokens;
  live->max_output_tokens = request->max_output_tokens;
  live->slot = slot;
  live->state = BLIS_REQUEST_ARRIVED;
  live->ttft_us = -1;
  live->scheduling_delay_us = -1;
  live->e2e_us = -1;
  live->adapter_asked_us = -1;
}
