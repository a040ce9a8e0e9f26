#include "policy/cognitora/permits.h"

#include "base/invariant.h"
#include "policy/contract/facts.h"

enum { ROLES = 3, PERMIT = 0 /* index in the ticket, which stores the kind + 1 */ };

void blis__permits_deinit(blis__permits *permits, const blis_alloc *alloc) {
  blis_held_deinit(&permits->held, alloc);
  blis_array_deinit(alloc, &permits->taken);
}

static size_t role_of(const blis_routing_request *request) {
  switch (request->stage) {
  case BLIS_ROLE_PREFILL:
    return 1;
  case BLIS_ROLE_DECODE:
    return 2;
  default:
    return 0;
  }
}

static void release(blis__permits *permits, int64_t kind) {
  BLIS_ASSERT(permits->taken.items[kind] > 0);
  permits->taken.items[kind]--;
}

blis_status blis__permits_take(blis__permits *permits, const blis_alloc *alloc,
                               const blis_routing_request *request, int64_t now_us,
                               bool *is_taken) {
  request->ticket->values[PERMIT] = 0;
  *is_taken = true;
  if (permits->limit == 0) {
    return BLIS_OK;
  }
  int64_t due;
  while (blis_held_take_due(&permits->held, now_us, &due)) {
    release(permits, due);
  }
  size_t kind = (size_t)request->model * ROLES + role_of(request);
  BLIS_TRY(blis_array_reserve(alloc, &permits->taken, kind + 1));
  while (permits->taken.count <= kind) {
    permits->taken.items[permits->taken.count++] = 0;
  }
  *is_taken = (double)permits->taken.items[kind] < permits->limit;
  if (*is_taken) {
    permits->taken.items[kind]++;
    request->ticket->values[PERMIT] = (int64_t)kind + 1;
  }
  return BLIS_OK;
}

void blis__permits_give(blis__permits *permits, const blis_alloc *alloc, blis_ticket *ticket,
                        int64_t now_us, int64_t end_us) {
  int64_t kind = ticket->values[PERMIT] - 1;
  if (kind < 0) {
    return;
  }
  if (!blis_held_add(&permits->held, alloc, now_us, end_us, kind)) {
    release(permits, kind);
  }
  ticket->values[PERMIT] = 0;
}
