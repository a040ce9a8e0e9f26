/*
 * block_namer.h - assigns identities to the KV blocks of requests.
 *
 * Two blocks get equal identities exactly when they have the same size and hold
 * equal tokens after equal tokens (base/block_chain.h). Tokens are never compared:
 * a prompt is a list of segments, and a token is its (stream, position).
 *
 * Blocks wholly inside a request's segments are shared. They are named by interning
 * (identity of the block before, content). The names are 1, 2, 3, ... in the order
 * of first sight, so a block is new exactly when its identity is higher than all
 * before. Keys are compared whole, not only by hash: two different blocks cannot
 * get the same name. Blocks with a token of the request's own are counted up from a
 * counter of the run and cost nothing.
 *
 * One namer serves one run. A request without segments costs a few ns. A request
 * with only the prefix of its group costs one lookup, because its chain is built
 * once and shared by pointer. Any other request costs one lookup per stretch of
 * content that was first seen together, and 8 bytes per shared block, taken from a
 * pool.
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

/* Frees the namer, and ends every chain that is not released yet. NULL is allowed. */
void blis_block_namer_free(blis_block_namer *namer);

/*
 * Gives blocks under different adapters different names. Call it before the first
 * chain.
 */
void blis_block_namer_part_adapters(blis_block_namer *namer);

/*
 * The chain of a request's blocks of block_size tokens, block_size > 0. Blocks of a
 * shared output are named with it. Private identities are reserved for the blocks
 * of prompt and output and two more. The caller returns the chain with
 * blis_block_namer_release. A repeated call for the same request gives equal shared
 * and other private identities. BLIS_ERR_NOMEM leaves *chain and all earlier names
 * unchanged.
 */
BLIS_MUSTUSE blis_status blis_block_namer_chain(blis_block_namer *namer,
                                                const blis_request *request, uint32_t block_size,
                                                blis_block_chain *chain, blis_error *error);

/* Ends the use of a chain of this namer and makes it an empty chain. */
void blis_block_namer_release(blis_block_namer *namer, blis_block_chain *chain);

/* The number of shared identities so far, which is also the highest. */
uint64_t blis_block_namer_shared_count(const blis_block_namer *namer);

#endif
