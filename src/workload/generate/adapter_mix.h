/*
 * adapter_mix.h - assigns LoRA adapters to requests without one, by weights.
 *
 * It wraps another source. The adapter of a request is determined by the seed and the request's
 * number or session, so it does not depend on the order of arrivals. Requests that specify an
 * adapter keep it. O(log adapters) per request.
 */
#ifndef BLIS_WORKLOAD_GENERATE_ADAPTER_MIX_H
#define BLIS_WORKLOAD_GENERATE_ADAPTER_MIX_H

#include "base/alloc.h"
#include "workload/request.h"

typedef struct blis_adapter_mix blis_adapter_mix;

/* An adapter and its fraction of the requests. */
typedef struct blis_adapter_share {
  const char *name;
  double weight; /* >= 0, finite */
} blis_adapter_share;

/*
 * Borrows *source, to whose strings the names are added, and copies everything else. The sum of the
 * weights must be > 0. The message of BLIS_ERR_INVALID names the weight that is out of range.
 */
BLIS_MUSTUSE blis_status blis_adapter_mix_new(const blis_alloc *alloc,
                                              const blis_request_source *source,
                                              const blis_adapter_share *shares, size_t count,
                                              int64_t seed, blis_adapter_mix **mix,
                                              blis_error *error);
void blis_adapter_mix_free(blis_adapter_mix *mix);

/* Returns the source of the mix, with the count and the strings of the wrapped source. */
blis_request_source blis_adapter_mix_source(blis_adapter_mix *mix);

#endif
