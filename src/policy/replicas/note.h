/*
 * note.h - a routing decision that other replicas receive later.
 *
 * A note owns its data: the request and its block chains remain valid after the request has ended.
 * It contains the chains that the deciding policy has requested (recorded by a spy); another
 * replica needs the same chains, since all replicas have the same policy.
 */
#ifndef BLIS_POLICY_REPLICAS_NOTE_H
#define BLIS_POLICY_REPLICAS_NOTE_H

#include "policy/contract/view.h"

/* Maximum number of block sizes per policy; further block sizes are not stored. */
enum { BLIS__NOTE_CHAINS = 4 };

/* Records which chains of a request a policy requests during a decision. */
typedef struct blis__chain_spy {
  const blis_routing_request *request; /* borrowed: the original request */
  uint32_t count;
  uint32_t sizes[BLIS__NOTE_CHAINS];
  const blis_block_chain *chains[BLIS__NOTE_CHAINS];
} blis__chain_spy;

/* Initializes *shown so that its chains are requested through the spy. The spy must not move
   during the decision. */
void blis__chain_spy_init(blis__chain_spy *spy, const blis_routing_request *request,
                          blis_routing_request *shown);

typedef struct blis__note blis__note;

/* Creates a note; call it during the decision. The caller owns the first reference. NULL = out
   of memory. */
blis__note *blis__note_new(const blis_alloc *alloc, const blis__chain_spy *spy, uint32_t instance);
void blis__note_keep(blis__note *note);
/* Releases a reference; the last release frees the note. */
void blis__note_release(const blis_alloc *alloc, blis__note *note);

/* Returns the request, without the data that exists only during its decision: traffic, pool, and
   program. */
const blis_routing_request *blis__note_request(const blis__note *note);
uint32_t blis__note_instance(const blis__note *note);

/* Returns the number of index entries that the note adds: the full blocks of the prompt, at
   least 1. */
int64_t blis__note_entries(const blis__note *note);

#endif
