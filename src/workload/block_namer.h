/*
 * block_namer.h - assigns ids to the KV blocks of requests.
 *
 * Two blocks get equal ids if and only if they have the same size, contain equal tokens, and follow
 * equal tokens (base/block_chain.h). Tokens are never compared: a prompt is a list of segments, and
 * a token is its (stream, position).
 *
 * Blocks that lie entirely within a request's segments are shared. Their ids are assigned by
 * interning (id of the previous block, content). The ids are 1, 2, 3, ... in order of first
 * appearance, so a block is new if and only if its id is higher than all previous ids. Complete
 * keys are compared, not only hashes, so two different blocks cannot get the same id. Blocks that
 * contain unique tokens of the request get ids from a counter of the run, at no cost.
 *
 * One namer serves one run. A request without segments costs a few ns. A request with only the
 * prefix of its group costs one lookup, because its chain is built once and shared by pointer. Any
 * other request costs one lookup per run of content that first appeared together, and 8 bytes per
 * shared block, taken from a pool.
 */
#ifndef BLIS_WORKLOAD_BLOCK_NAMER_H
#define BLIS_WORKLOAD_BLOCK_NAMER_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"
#include "workload/request.h"

typedef struct blis_block_namer blis_block_namer;

/* The caller owns the namer. Copies *alloc. NULL = out of memory. */
blis_block_namer *blis_block_namer_new(const blis_alloc *alloc);

/* Frees the namer and every chain that has not been released. NULL is allowed. */
void blis_block_namer_free(blis_block_namer *namer);

/* Assigns different ids to blocks with different adapters. Call it before the first chain. */
void blis_block_namer_part_adapters(blis_block_namer *namer);

/*
 * Creates the chain of a request's blocks of block_size > 0 tokens. It includes the blocks of a
 * shared output. Private ids are reserved for the blocks of prompt and output, plus two more. The
 * caller returns the chain with blis_block_namer_release. A repeated call for the same request
 * returns equal shared ids and different private ids. BLIS_ERR_NOMEM leaves *chain and all earlier
 * ids unchanged.
 */
BLIS_MUSTUSE blis_status blis_block_namer_chain(blis_block_namer *namer,
                                                const blis_request *request, uint32_t block_size,
                                                blis_block_chain *chain, blis_error *error);

/* Releases a chain of this namer and makes it an empty chain. */
void blis_block_namer_release(blis_block_namer *namer, blis_block_chain *chain);

/* Returns the number of shared ids so far, which is also the highest id. */
uint64_t blis_block_namer_shared_count(const blis_block_namer *namer);

#endif
