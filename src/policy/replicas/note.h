/*
 * note.h - a routing decision that other replicas receive later.
 *
 * A note owns its data: the request and its block chains stay valid when the request has ended. It
 * contains the chains that the deciding policy has requested (recorded by a spy); another replica
 * needs the same chains, since all replicas have the same policy.
 */
#ifndef BLIS_POLICY_REPLICAS_NOTE_H
#define BLIS_POLICY_REPLICAS_NOTE_H

#include "policy/contract/view.h"

/* Maximum number of block sizes per policy; further ones are not noted. */
enum { BLIS__NOTE_CHAINS = 4 };

/* Stands between a policy and the chains of a request during a decision. */
typedef struct blis__chain_spy {
  const blis_routing_request *request; /* borrowed: the real one */
  uint32_t count;
  uint32_t sizes[BLIS__NOTE_CHAINS];
  const blis_block_chain *chains[BLIS__NOTE_CHAINS];
} blis__chain_spy;

/* Makes *shown request its chains through the spy, which must not move during the decision. */
void blis__chain_spy_init(blis__chain_spy *spy, const blis_routing_request *request,
                          blis_routing_request *shown);

typedef struct blis__note blis__note;

/* During the decision. NULL = out of memory. The caller has the first reference. */
blis__note *blis__note_new(const blis_alloc *alloc, const blis__chain_spy *spy, uint32_t instance);
void blis__note_keep(blis__note *note);
/* The last one frees it. */
void blis__note_release(const blis_alloc *alloc, blis__note *note);

/* The request, without what only its own decision has: traffic, pool, program. */
const blis_routing_request *blis__note_request(const blis__note *note);
uint32_t blis__note_instance(const blis__note *note);

/* Entries of an index that it adds: full blocks of the prompt, at least 1. */
int64_t blis__note_entries(const blis__note *note);

#endif
