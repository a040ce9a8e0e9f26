#include "policy/memory/load_counters.h"

#include <stdbool.h>

#include "base/invariant.h"

/* Contents of a ticket. */
enum {
  PENDING_TOKENS, /* counted as pending prefill */
  PROMPT          /* twice the prompt length, plus 1 if the request is decoding */
};

blis_status blis__load_counters_reserve(blis__load_counters *counters, const blis_alloc *alloc,
                                        const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(alloc, counters, instances));
  while (counters->count < instances) {
    counters->items[counters->count++] = (blis__load){0};
  }
  return BLIS_OK;
}

void blis__load_counters_add(blis__load_counters *counters, blis_ticket *ticket, uint32_t instance,
                             int64_t prefill_tokens, int64_t prompt_tokens) {
  blis__load *load = &counters->items[instance];
  load->requests++;
  load->pending_prefill_tokens += prefill_tokens;
  load->ongoing_tokens += prompt_tokens;
  ticket->values[PENDING_TOKENS] = prefill_tokens;
  ticket->values[PROMPT] = 2 * prompt_tokens;
}

void blis__load_counters_first_token(blis__load_counters *counters, blis_ticket *ticket,
                                     uint32_t instance) {
  blis__load *load = &counters->items[instance];
  load->pending_prefill_tokens -= ticket->values[PENDING_TOKENS];
  ticket->values[PENDING_TOKENS] = 0;
  bool is_decoding = ticket->values[PROMPT] % 2 != 0;
  if (!is_decoding) {
    load->decoding++;
    load->decode_tokens += ticket->values[PROMPT] / 2;
    ticket->values[PROMPT]++;
  }
}

void blis__load_counters_ended(blis__load_counters *counters, blis_ticket *ticket,
                               uint32_t instance) {
  blis__load *load = &counters->items[instance];
  int64_t prompt_tokens = ticket->values[PROMPT] / 2;
  bool is_decoding = ticket->values[PROMPT] % 2 != 0;
  load->requests--;
  load->pending_prefill_tokens -= ticket->values[PENDING_TOKENS];
  load->ongoing_tokens -= prompt_tokens;
  load->decoding -= is_decoding;
  load->decode_tokens -= is_decoding ? prompt_tokens : 0;
  BLIS_ASSERT(load->requests >= 0 && load->pending_prefill_tokens >= 0);
  BLIS_ASSERT(load->requests > 0 || load->ongoing_tokens == 0);
}
