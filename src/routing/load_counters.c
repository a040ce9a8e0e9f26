#include "routing/load_counters.h"

/* What a ticket holds. */
enum {
  PENDING_TOKENS, /* counted as pending prefill */
  IS_DECODING
};

blis_status blis__load_counters_reserve(blis__load_counters *counters,
                                        const blis_alloc *alloc,
                                        const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(alloc, counters, instances));
  while (counters->count < instances) {
    counters->items[counters->count++] = (blis__load){0};
  }
  return BLIS_OK;
}

void blis__load_counters_add(blis__load_counters *counters, blis_ticket *ticket,
                             uint32_t instance, int64_t prefill_tokens) {
  blis__load *load = &counters->items[instance];
  load->requests++;
  load->pending_prefill_tokens += prefill_tokens;
  ticket->values[PENDING_TOKENS] = prefill_tokens;
  ticket->values[IS_DECODING] = 0;
}

void blis__load_counters_first_token(blis__load_counters *counters,
                                     blis_ticket *ticket, uint32_t instance) {
  blis__load *load = &counters->items[instance];
  load->pending_prefill_tokens -= ticket->values[PENDING_TOKENS];
  load->decoding += 1 - ticket->values[IS_DECODING];
  ticket->values[PENDING_TOKENS] = 0;
  ticket->values[IS_DECODING] = 1;
}

void blis__load_counters_ended(blis__load_counters *counters,
                               blis_ticket *ticket, uint32_t instance) {
  blis__load *load = &counters->items[instance];
  load->requests--;
  load->pending_prefill_tokens -= ticket->values[PENDING_TOKENS];
  load->decoding -= ticket->values[IS_DECODING];
}
