/*
 * block_chain.h - the identities of the KV blocks of one request.
 *
 * An identity represents a full block: two blocks with equal identities have equal tokens, and so
 * do all blocks before them. Identities are integers, assigned once per run
 * (workload/block_namer.h), so caches and router indexes compare and hash integers and never read
 * tokens.
 *
 * shared[] contains the identities of blocks that other requests may have as well. The first block
 * with a private token, and all later ones, can never equal a block of another request. Their
 * identities count up from private_base and take no memory.
 */
#ifndef BLIS_BASE_CONTAINERS_BLOCK_CHAIN_H
#define BLIS_BASE_CONTAINERS_BLOCK_CHAIN_H

#include <stdint.h>

typedef uint64_t blis_block_id;

/* No block; never assigned. */
#define BLIS_BLOCK_NONE ((blis_block_id)0)

/* Set in every identity that belongs to a single request. */
#define BLIS_BLOCK_PRIVATE ((blis_block_id)1 << 63)

/*
 * Set together with PRIVATE in the identities of blocks that are not part of any chain, such as
 * output stored without its prompt (kv/block_pool.h). Chains never use it.
 */
#define BLIS_BLOCK_OFF_CHAIN ((blis_block_id)1 << 62)

typedef struct blis_block_chain {
  /* Ascending, because a block gets its identity after the block before it. Borrowed from the namer
     or the request. */
  const blis_block_id *shared;
  /*
   * Exceeds prompt_blocks if the output becomes part of a later prompt: the blocks that decoding
   * fills then have identities as well.
   */
  uint32_t shared_count;
  uint32_t prompt_blocks;     /* full blocks of the prompt */
  blis_block_id private_base; /* identity of block k is private_base + k */
} blis_block_chain;

/*
 * Returns the identity of block k. k may exceed the prompt and the shared blocks: blocks that
 * decoding fills continue with private identities.
 */
static inline blis_block_id blis_block_chain_at(const blis_block_chain *chain, uint32_t k) {
  return k < chain->shared_count ? chain->shared[k] : chain->private_base + k;
}

/*
 * Returns how many blocks, starting at block k and at most limit (>= 1), have identities that count
 * up by one. Equal identities in such a run are equal blocks.
 */
uint32_t blis_block_chain_run(const blis_block_chain *chain, uint32_t k, uint32_t limit);

/* Returns the chain without the blocks after the prompt. */
static inline blis_block_chain blis_block_chain_of_prompt(const blis_block_chain *chain) {
  blis_block_chain prompt = *chain;
  if (prompt.shared_count > prompt.prompt_blocks) {
    prompt.shared_count = prompt.prompt_blocks;
  }
  return prompt;
}

#endif
