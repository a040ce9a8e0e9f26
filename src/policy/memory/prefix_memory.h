/*
 * prefix_memory.h - a router's memory of sent prompts: a prefix index
 * (policy/memory/prefix_index.h), and the matches of one request.
 *
 * It represents the radix and hash trees of gateways. Those compare characters or tokens; this
 * module compares whole blocks of block_size tokens. When an instance has capacity_blocks blocks,
 * its oldest blocks are evicted.
 */
#ifndef BLIS_POLICY_MEMORY_PREFIX_MEMORY_H
#define BLIS_POLICY_MEMORY_PREFIX_MEMORY_H

#include "base/array.h"
#include "policy/contract/entry.h"
#include "policy/memory/prefix_index.h"

/* A zeroed struct is an empty memory that can be freed. */
typedef struct blis__prefix_memory {
  blis_alloc alloc;
  blis_prefix_index *index;
  uint32_t block_size_tokens;
  uint32_t max_blocks;         /* maximum number of blocks of a prompt that are compared; 0 = all */
  uint32_t prompt_blocks;      /* full blocks that were compared at the last lookup */
  BLIS_ARRAY(uint32_t) blocks; /* matched blocks by instance number */
  BLIS_ARRAY(uint32_t) few;    /* instances with matches; has capacity for all */
} blis__prefix_memory;

/* block_size and capacity_blocks must be >= 1. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__prefix_memory_init(blis__prefix_memory *memory,
                                                  const blis_alloc *alloc,
                                                  uint32_t block_size_tokens,
                                                  uint64_t capacity_blocks);
/* Initializes the memory from the parameters block_size and capacity of a policy. */
BLIS_MUSTUSE blis_status blis__prefix_memory_setup(blis__prefix_memory *memory,
                                                   const blis_policy_setup *setup);

void blis__prefix_memory_deinit(blis__prefix_memory *memory);

/*
 * Matches the prompt against every candidate, but visits only candidates with a match. Returns
 * BLIS_OK or BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__prefix_memory_look_up(blis__prefix_memory *memory,
                                                     const blis_routing_request *request,
                                                     const blis_routing_view *view);

/* Records that the prompt is sent to an instance. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__prefix_memory_observe(blis__prefix_memory *memory,
                                                     const blis_routing_request *request,
                                                     uint32_t instance);

/* Returns the leading prompt tokens predicted to be cached on a candidate of the last lookup. */
static inline int64_t blis__prefix_memory_tokens(const blis__prefix_memory *memory,
                                                 const blis_routing_view *view, size_t candidate) {
  return (int64_t)memory->blocks.items[view->instances[candidate]] *
         (int64_t)memory->block_size_tokens;
}

/* Returns these tokens as a fraction of the full blocks of the prompt, 0 to 1. */
static inline double blis__prefix_memory_share(const blis__prefix_memory *memory,
                                               const blis_routing_view *view, size_t candidate) {
  double total = memory->prompt_blocks > 0 ? (double)memory->prompt_blocks : 1;
  return (double)memory->blocks.items[view->instances[candidate]] / total;
}

#endif
