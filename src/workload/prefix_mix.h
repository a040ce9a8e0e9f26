/*
 * prefix_mix.h - a source whose prompts start with one of several shared
 * prefixes, as when applications with long system prompts share a cluster.
 *
 * Every request of the source below draws its group from the random stream
 * "prefixes", with weights 1 / rank^zipf, and gets that group's tokens in
 * front of its own. Arrivals and lengths stay those of the source. A request
 * costs a draw and a binary search.
 */
#ifndef BLIS_WORKLOAD_PREFIX_MIX_H
#define BLIS_WORKLOAD_PREFIX_MIX_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"

typedef struct blis_prefix_mix_spec {
  int64_t seed;
  int64_t groups; /* 1 to 1,000,000; named prefix_0, prefix_1, ... */
  int64_t tokens; /* of each prefix, >= 1 */
  double zipf;    /* finite and >= 0; 0 = all groups are equally likely */
} blis_prefix_mix_spec;

typedef struct blis_prefix_mix blis_prefix_mix;

/*
 * Borrows *source and what it borrows. Its string table must be complete, and
 * its requests may have no segments of their own. BLIS_ERR_INVALID names the
 * field, its value and what is allowed. The caller owns *mix.
 */
BLIS_MUSTUSE blis_status blis_prefix_mix_new(const blis_alloc *alloc,
                                             const blis_request_source *source,
                                             const blis_prefix_mix_spec *spec,
                                             blis_prefix_mix **mix,
                                             blis_error *error);

/* NULL is allowed. */
void blis_prefix_mix_free(blis_prefix_mix *mix);

/* Borrows the mix. */
blis_request_source blis_prefix_mix_source(blis_prefix_mix *mix);

#endif
